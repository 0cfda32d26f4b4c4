package format

import (
	"bytes"
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"gazetteer/lint"
	"gazetteer/protocol"
)

// The part of SARIF 2.1.0 (OASIS, errata 01) that writeSARIF uses.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool       `json:"tool"`
		ColumnKind string          `json:"columnKind"`
		Artifacts  []sarifArtifact `json:"artifacts,omitempty"`
		Results    []sarifResult   `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID                   string         `json:"id"`
		Name                 string         `json:"name"`
		ShortDescription     sarifText      `json:"shortDescription"`
		FullDescription      *sarifText     `json:"fullDescription,omitempty"`
		Help                 *sarifMarkdown `json:"help,omitempty"`
		DefaultConfiguration sarifLevel     `json:"defaultConfiguration"`
		Properties           sarifRuleBag   `json:"properties"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifMarkdown struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown"`
	}
	sarifLevel struct {
		Level string `json:"level"`
	}
	sarifRuleBag struct {
		Section string   `json:"section"`
		Basis   string   `json:"basis"`
		Tags    []string `json:"tags"`
	}
	sarifArtifact struct {
		Location sarifURI `json:"location"`
		Length   int      `json:"length"`
	}
	sarifURI struct {
		URI string `json:"uri"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifIndexed `json:"artifactLocation"`
		Region   *sarifRegion `json:"region,omitempty"`
	}
	sarifIndexed struct {
		URI   string `json:"uri"`
		Index int    `json:"index"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
)

const sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

// writeSARIF writes one run with every input as an artifact. Columns are those
// of the findings: characters, from 1.
func writeSARIF(w *bytes.Buffer, reports []Report, o Options) error {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: o.Tool, Version: o.Version, Rules: []sarifRule{}}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	index := map[string]int{}
	for i, r := range reports {
		run.Artifacts = append(run.Artifacts, sarifArtifact{sarifURI{inputURI(r.Input)}, len(r.Text)})
		var src *source
		if len(r.Findings) > 0 {
			src = newSource(r.Text)
		}
		for _, f := range r.Findings {
			at, known := index[f.Code]
			if !known {
				at = len(run.Tool.Driver.Rules)
				index[f.Code] = at
				run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRuleOf(f))
			}
			location := sarifLocation{Physical: sarifPhysical{Artifact: sarifIndexed{inputURI(r.Input), i}, Region: src.findingRegion(f)}}
			if f.Pointer != "" {
				location.Logical = []sarifLogical{{f.Pointer, "member"}}
			}
			run.Results = append(run.Results, sarifResult{
				f.Code, at, severityWord(f.Severity, "note"), sarifText{noLinks(messageText(f))}, []sarifLocation{location},
			})
		}
	}
	return encodeJSON(w, sarifLog{sarifSchema, "2.1.0", []sarifRun{run}}, "  ")
}

// noLinks prevents foreign text from being shown as a link: viewers turn [text](address) into one
// unless the brackets are escaped (SARIF §3.11.6).
func noLinks(text string) string {
	if !strings.Contains(text, "](") {
		return text
	}
	return strings.NewReplacer("[", `\[`, "]", `\]`).Replace(text)
}

// messageText returns the problem and its repair as one text.
func messageText(f protocol.Finding) string {
	text := Visible(f.Message)
	if f.Help != "" {
		text += ". " + capitalize(Visible(f.Help))
	}
	return text + "."
}

func capitalize(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	return strings.ToUpper(string(r)) + s[size:]
}

func sarifRuleOf(f protocol.Finding) sarifRule {
	rule, ok := lint.Rule(f.Code)
	if !ok {
		rule = protocol.Rule{Code: f.Code, Slug: f.Code, Severity: f.Severity, Section: f.Section}
	}
	out := sarifRule{
		ID: rule.Code, Name: rule.Slug,
		ShortDescription:     sarifText{strings.ReplaceAll(rule.Slug, "-", " ")},
		DefaultConfiguration: sarifLevel{severityWord(rule.Severity, "note")},
		Properties:           sarifRuleBag{rule.Section, rule.Basis, []string{draftOf(rule.Section)}},
	}
	if rule.Text != "" {
		out.FullDescription = &sarifText{rule.Text}
		help := rule.Text + " (" + rule.Section + ")"
		markdown := help
		if rule.Bad != "" {
			markdown += "\n\nNot like this:\n\n" + fencedCode(rule.Bad) + "\n\nLike this:\n\n" + fencedCode(rule.Good)
		}
		out.Help = &sarifMarkdown{help, markdown}
	}
	return out
}

// fencedCode writes a block of code in Markdown, with a fence longer than any in it.
func fencedCode(code string) string {
	ticks := "```"
	for strings.Contains(code, ticks) {
		ticks += "`"
	}
	return ticks + "\n" + strings.TrimRight(code, "\n") + "\n" + ticks
}

// draftOf names the draft of a section: "AI Discovery §3.3" is of "ai-discovery".
func draftOf(section string) string {
	draft, _, _ := strings.Cut(section, "§")
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(draft), " ", "-"))
}

// findingRegion returns the place of a finding, nil if it has no place in the text.
func (s *source) findingRegion(f protocol.Finding) *sarifRegion {
	if f.Line == 0 {
		return nil
	}
	region := &sarifRegion{StartLine: f.Line, StartColumn: max(f.Column, 1)}
	start, end, ok := s.findingExtent(f)
	if !ok || end <= start {
		return region
	}
	if line, column := s.placeOf(start); line != region.StartLine || column != region.StartColumn {
		return region // what the reader says counts; an extent elsewhere does not fit it
	}
	region.EndLine, region.EndColumn = s.placeOf(end)
	return region
}

// inputURI returns an input as a URI reference: an address unchanged, a file relative unless its
// path is absolute.
func inputURI(input string) string {
	if isAddress(input) {
		if u, err := url.Parse(input); err == nil {
			return u.String()
		}
	}
	path := filepath.ToSlash(input)
	if filepath.IsAbs(input) {
		return (&url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(path, "/")}).String()
	}
	for strings.HasPrefix(path, "./") {
		path = path[2:]
	}
	return (&url.URL{Path: path}).String()
}
