package llmstxt

import (
	"slices"

	"gazetteer/protocol"
)

// ruleTable is the table of all rules. A code keeps its meaning permanently; new rules get new
// codes.
var ruleTable = []protocol.Rule{
	{Code: "LLMS101", Slug: "llms-unreadable", Severity: protocol.Error, Section: "llmstxt.org, Format", Basis: "must",
		Text: "The file is UTF-8 text and begins with a heading of level 1, the name of the site. It is the only part that is required.",
		Bad:  "<!doctype html>\n", Good: "# Acme Notes\n"},
	{Code: "LLMS102", Slug: "llms-second-title", Severity: protocol.Warning, Section: "llmstxt.org, Format", Basis: "inferred",
		Text: "There is one heading of level 1: the name of the site.",
		Bad:  "# Acme Notes\n\n# API\n", Good: "# Acme Notes\n\n## API\n"},
	{Code: "LLMS103", Slug: "llms-summary-missing", Severity: protocol.Info, Section: "llmstxt.org, Format", Basis: "may",
		Text: "A quoted paragraph after the title gives in a sentence or two the background for the rest.",
		Bad:  "# Acme Notes\n", Good: "# Acme Notes\n\n> Notes that several people edit at once.\n"},
	{Code: "LLMS104", Slug: "llms-heading-level", Severity: protocol.Warning, Section: "llmstxt.org, Format", Basis: "must",
		Text: "Sections begin with headings of level 2. There are no deeper headings.",
		Bad:  "# Acme Notes\n\n> Notes.\n\n### API\n", Good: "# Acme Notes\n\n> Notes.\n\n## API\n\n- [Calls](https://notes.example/calls.md)\n"},
	{Code: "LLMS105", Slug: "llms-entry-without-link", Severity: protocol.Warning, Section: "llmstxt.org, Format", Basis: "must",
		Text: "Each entry of a list below a section is a link, with optional notes after a colon.",
		Bad:  "# Acme Notes\n\n> Notes.\n\n## API\n\n- see the handbook\n", Good: "# Acme Notes\n\n> Notes.\n\n## API\n\n- [Handbook](https://notes.example/handbook.md): all calls\n"},
	{Code: "LLMS106", Slug: "llms-empty-section", Severity: protocol.Info, Section: "llmstxt.org, Format", Basis: "inferred",
		Text: "A section has a list of links. Other text belongs before the first section.",
		Bad:  "# Acme Notes\n\n> Notes.\n\n## About\n\nWe make notes.\n", Good: "# Acme Notes\n\n> Notes.\n\nWe make notes.\n"},
	{Code: "LLMS107", Slug: "llms-address", Severity: protocol.Warning, Section: "llmstxt.org, Format", Basis: "inferred",
		Text: "Links lead to pages of the web.",
		Bad:  "# Acme Notes\n\n> Notes.\n\n## API\n\n- [Mail](mailto:notes@notes.example)\n", Good: "# Acme Notes\n\n> Notes.\n\n## API\n\n- [Contact](https://notes.example/contact)\n"},
	{Code: "LLMS108", Slug: "llms-reader-limit", Severity: protocol.Error, Section: "llmstxt.org, Format", Basis: "own",
		Text: "This reader reads 5,000 sections and 5,000 links of a file.",
		Bad:  "(5,001 sections)", Good: "# Acme Notes\n"},
}

// Rules returns every rule, in the order of the codes.
func Rules() []protocol.Rule { return slices.Clone(ruleTable) }
