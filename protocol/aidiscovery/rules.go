package aidiscovery

import (
	"slices"

	"gazetteer/protocol"
)

// ruleTable is the table of all rules, including those that need a fetch or a second document. A
// code keeps its meaning permanently; new rules get new codes. AI207 is our own: a limit of this
// reader other than depth.
var ruleTable = []protocol.Rule{
	{Code: "AI101", Slug: "https-only", Severity: protocol.Error, Section: "AI Discovery §6.4", Basis: "must"},
	{Code: "AI102", Slug: "tls-invalid", Severity: protocol.Error, Section: "AI Discovery §6.4", Basis: "must"},
	{Code: "AI103", Slug: "redirect-downgrade", Severity: protocol.Error, Section: "AI Discovery §2.2", Basis: "must"},
	{Code: "AI104", Slug: "redirect-limit", Severity: protocol.Error, Section: "AI Discovery §2.2", Basis: "must"},
	{Code: "AI105", Slug: "redirect-cross-host", Severity: protocol.Warning, Section: "AI Discovery §2.2, §3.3", Basis: "inferred"},
	{Code: "AI106", Slug: "status-not-200", Severity: protocol.Error, Section: "AI Discovery §2.2, §4.3", Basis: "must"},
	{Code: "AI107", Slug: "auth-required", Severity: protocol.Error, Section: "AI Discovery §2.2", Basis: "must"},
	{Code: "AI108", Slug: "media-type", Severity: protocol.Error, Section: "AI Discovery §2.3", Basis: "must"},
	{Code: "AI109", Slug: "charset", Severity: protocol.Warning, Section: "AI Discovery §2.3", Basis: "should"},
	{Code: "AI110", Slug: "slow-response", Severity: protocol.Warning, Section: "AI Discovery §2.2", Basis: "should"},
	{Code: "AI111", Slug: "no-cache-headers", Severity: protocol.Info, Section: "AI Discovery §4.2", Basis: "should"},
	{Code: "AI112", Slug: "alias-differs", Severity: protocol.Warning, Section: "AI Discovery §2.1", Basis: "must"},
	{Code: "AI113", Slug: "alias-only", Severity: protocol.Warning, Section: "AI Discovery §2.1, §4.1", Basis: "must"},
	{Code: "AI114", Slug: "url-has-query", Severity: protocol.Error, Section: "AI Discovery §2.1", Basis: "must"},
	{Code: "AI115", Slug: "size-over-64k", Severity: protocol.Warning, Section: "AI Discovery §4.5", Basis: "should"},
	{Code: "AI116", Slug: "size-over-256k", Severity: protocol.Error, Section: "AI Discovery §4.5", Basis: "may"},
	{Code: "AI120", Slug: "other-format", Severity: protocol.Info, Section: "AI Discovery §4.3", Basis: "inferred"},
	{Code: "AI201", Slug: "not-utf8", Severity: protocol.Error, Section: "AI Discovery §2.4", Basis: "must"},
	{Code: "AI202", Slug: "bom", Severity: protocol.Warning, Section: "AI Discovery §2.4", Basis: "inferred"},
	{Code: "AI203", Slug: "invalid-json", Severity: protocol.Error, Section: "AI Discovery §4.3", Basis: "must"},
	{Code: "AI204", Slug: "not-object", Severity: protocol.Error, Section: "AI Discovery §3", Basis: "must"},
	{Code: "AI205", Slug: "duplicate-key", Severity: protocol.Error, Section: "AI Discovery §3", Basis: "inferred"},
	{Code: "AI206", Slug: "too-deep", Severity: protocol.Error, Section: "AI Discovery §6.5", Basis: "should"},
	{Code: "AI207", Slug: "reader-limit", Severity: protocol.Error, Section: "AI Discovery §6.5", Basis: "own"},
	{Code: "AI210", Slug: "version-missing", Severity: protocol.Error, Section: "AI Discovery §3.1", Basis: "must"},
	{Code: "AI211", Slug: "version-type", Severity: protocol.Error, Section: "AI Discovery §3.1", Basis: "must"},
	{Code: "AI212", Slug: "version-not-1.0", Severity: protocol.Error, Section: "AI Discovery §3.1", Basis: "must"},
	{Code: "AI213", Slug: "version-newer", Severity: protocol.Info, Section: "AI Discovery §4.4", Basis: "must"},
	{Code: "AI214", Slug: "service-missing", Severity: protocol.Error, Section: "AI Discovery §3.1", Basis: "must"},
	{Code: "AI215", Slug: "service-type", Severity: protocol.Error, Section: "AI Discovery §3.1", Basis: "must"},
	{Code: "AI216", Slug: "capabilities-missing", Severity: protocol.Error, Section: "AI Discovery §3.1", Basis: "must"},
	{Code: "AI217", Slug: "capabilities-type", Severity: protocol.Error, Section: "AI Discovery §3.1", Basis: "must"},
	{Code: "AI218", Slug: "capabilities-empty", Severity: protocol.Error, Section: "AI Discovery §3.1, §3.3", Basis: "must"},
	{Code: "AI219", Slug: "unknown-top-level", Severity: protocol.Error, Section: "AI Discovery §3.1", Basis: "must"},
	{Code: "AI220", Slug: "unknown-nested", Severity: protocol.Warning, Section: "AI Discovery §3, appendix B", Basis: "inferred"},
	{Code: "AI221", Slug: "member-type", Severity: protocol.Error, Section: "AI Discovery §3.1", Basis: "must"},
	{Code: "AI301", Slug: "name-missing", Severity: protocol.Error, Section: "AI Discovery §3.2", Basis: "must"},
	{Code: "AI302", Slug: "name-type", Severity: protocol.Error, Section: "AI Discovery §3.2", Basis: "must"},
	{Code: "AI303", Slug: "name-length", Severity: protocol.Error, Section: "AI Discovery §3.2", Basis: "must"},
	{Code: "AI304", Slug: "description-missing", Severity: protocol.Error, Section: "AI Discovery §3.2", Basis: "must"},
	{Code: "AI305", Slug: "description-type", Severity: protocol.Error, Section: "AI Discovery §3.2", Basis: "must"},
	{Code: "AI306", Slug: "description-length", Severity: protocol.Error, Section: "AI Discovery §3.2", Basis: "must"},
	{Code: "AI307", Slug: "description-long", Severity: protocol.Info, Section: "AI Discovery §3.2", Basis: "should"},
	{Code: "AI308", Slug: "category-type", Severity: protocol.Error, Section: "AI Discovery §3.2", Basis: "must"},
	{Code: "AI309", Slug: "category-empty", Severity: protocol.Error, Section: "AI Discovery §3.2", Basis: "must"},
	{Code: "AI310", Slug: "category-duplicate", Severity: protocol.Error, Section: "AI Discovery §3.2", Basis: "must"},
	{Code: "AI311", Slug: "category-unknown", Severity: protocol.Warning, Section: "AI Discovery §3.2", Basis: "should"},
	{Code: "AI312", Slug: "language-type", Severity: protocol.Error, Section: "AI Discovery §3.2", Basis: "must"},
	{Code: "AI313", Slug: "language-empty", Severity: protocol.Error, Section: "AI Discovery §3.2", Basis: "must"},
	{Code: "AI314", Slug: "language-duplicate", Severity: protocol.Error, Section: "AI Discovery §3.2", Basis: "must"},
	{Code: "AI315", Slug: "language-tag", Severity: protocol.Error, Section: "AI Discovery §3.2", Basis: "must"},
	{Code: "AI316", Slug: "text-blank", Severity: protocol.Warning, Section: "AI Discovery §3.2, §3.3", Basis: "inferred"},
	{Code: "AI317", Slug: "language-unknown", Severity: protocol.Warning, Section: "AI Discovery §3.2", Basis: "inferred"},
	{Code: "AI401", Slug: "capability-type", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI402", Slug: "id-missing", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI403", Slug: "id-type", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI404", Slug: "id-pattern", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI405", Slug: "id-length", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI406", Slug: "id-duplicate", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI407", Slug: "cap-description-missing", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI408", Slug: "cap-description-type", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI409", Slug: "cap-description-length", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI410", Slug: "endpoint-missing", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI411", Slug: "endpoint-type", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI412", Slug: "endpoint-empty", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI413", Slug: "endpoint-form", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI414", Slug: "endpoint-scheme", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "inferred"},
	{Code: "AI415", Slug: "endpoint-network-path", Severity: protocol.Error, Section: "AI Discovery §3.3, §6.4", Basis: "inferred"},
	{Code: "AI416", Slug: "method-missing", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI417", Slug: "method-type", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI418", Slug: "method-value", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI419", Slug: "params-type", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI420", Slug: "params-pattern", Severity: protocol.Warning, Section: "AI Discovery §3.3", Basis: "should"},
	{Code: "AI421", Slug: "params-unknown-type", Severity: protocol.Warning, Section: "AI Discovery §3.3", Basis: "should"},
	{Code: "AI422", Slug: "returns-type", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI423", Slug: "returns-length", Severity: protocol.Error, Section: "AI Discovery §3.3", Basis: "must"},
	{Code: "AI424", Slug: "returns-missing", Severity: protocol.Info, Section: "AI Discovery §3.3", Basis: "should"},
	{Code: "AI425", Slug: "path-param-undeclared", Severity: protocol.Warning, Section: "AI Discovery §3.3", Basis: "inferred"},
	{Code: "AI426", Slug: "too-many-capabilities", Severity: protocol.Warning, Section: "AI Discovery §6.5", Basis: "should"},
	{Code: "AI501", Slug: "auth-type-missing", Severity: protocol.Error, Section: "AI Discovery §3.4", Basis: "must"},
	{Code: "AI502", Slug: "auth-type-value", Severity: protocol.Error, Section: "AI Discovery §3.4", Basis: "must"},
	{Code: "AI503", Slug: "auth-header-type", Severity: protocol.Error, Section: "AI Discovery §3.4", Basis: "must"},
	{Code: "AI504", Slug: "auth-header-name", Severity: protocol.Error, Section: "AI Discovery §3.4, §6.2", Basis: "must"},
	{Code: "AI505", Slug: "auth-docs-uri", Severity: protocol.Error, Section: "AI Discovery §3.4", Basis: "must"},
	{Code: "AI506", Slug: "auth-absent", Severity: protocol.Warning, Section: "AI Discovery §3.4", Basis: "should"},
	{Code: "AI507", Slug: "auth-header-missing", Severity: protocol.Info, Section: "AI Discovery §3.4", Basis: "inferred"},
	{Code: "AI508", Slug: "auth-header-mismatch", Severity: protocol.Warning, Section: "AI Discovery §3.4", Basis: "inferred"},
	{Code: "AI601", Slug: "hint-type", Severity: protocol.Error, Section: "AI Discovery §3.5", Basis: "must"},
	{Code: "AI701", Slug: "rpm-value", Severity: protocol.Error, Section: "AI Discovery §3.6", Basis: "must"},
	{Code: "AI702", Slug: "agent-tier-type", Severity: protocol.Error, Section: "AI Discovery §3.6", Basis: "must"},
	{Code: "AI703", Slug: "agent-tier-docs", Severity: protocol.Warning, Section: "AI Discovery §3.6", Basis: "inferred"},
	{Code: "AI801", Slug: "last-updated-format", Severity: protocol.Error, Section: "AI Discovery §3.7", Basis: "must"},
	{Code: "AI802", Slug: "changelog-uri", Severity: protocol.Error, Section: "AI Discovery §3.7", Basis: "must"},
	{Code: "AI803", Slug: "status-uri", Severity: protocol.Error, Section: "AI Discovery §3.7", Basis: "must"},
	{Code: "AI804", Slug: "last-updated-future", Severity: protocol.Warning, Section: "AI Discovery §3.7", Basis: "inferred"},
	{Code: "AI805", Slug: "meta-custom", Severity: protocol.Info, Section: "AI Discovery §3.1, §3.7", Basis: "should"},
	{Code: "AI901", Slug: "credential-in-document", Severity: protocol.Error, Section: "AI Discovery §6.2", Basis: "must"},
	{Code: "AI902", Slug: "none-with-write", Severity: protocol.Warning, Section: "AI Discovery §6.2", Basis: "must"},
	{Code: "AI903", Slug: "cleartext-endpoint", Severity: protocol.Warning, Section: "AI Discovery §6.4", Basis: "inferred"},
	{Code: "AI904", Slug: "instruction-text", Severity: protocol.Warning, Section: "AI Discovery §6.4", Basis: "inferred"},
	{Code: "AI905", Slug: "foreign-endpoint", Severity: protocol.Info, Section: "AI Discovery §3.3, §6.4", Basis: "inferred"},
	{Code: "AI906", Slug: "private-endpoint", Severity: protocol.Error, Section: "AI Discovery §6.1", Basis: "inferred"},
	{Code: "AI907", Slug: "admin-endpoint", Severity: protocol.Warning, Section: "AI Discovery §6.1", Basis: "must"},
}

var rules = protocol.ByCode(ruleTable)

// Rules returns all rules in the order of their codes, each with its explanation and an example
// text that breaks it, broken and corrected.
func Rules() []protocol.Rule {
	table := slices.Clone(ruleTable)
	at := make(map[string]int, len(table))
	for i, r := range table {
		at[r.Code] = i
	}
	for _, e := range explanations {
		r := &table[at[e.code]]
		r.Text, r.Bad, r.Good = e.text, e.bad, e.good
	}
	return table
}
