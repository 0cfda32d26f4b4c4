package lint

import (
	"bytes"
	"cmp"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/lint/repair"
	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/english"
	"gazetteer/protocol/yaml"
)

// An Input is one text to check.
type Input struct {
	// Name is the name of the text in results: a file name, an address, "<stdin>".
	Name string
	Text []byte
	// Kind is the format; "" derives it from the text and the name.
	Kind document.Kind
	// URL is the address of the text, or the one where it will be published. Relative endpoints
	// belong to its host. It may be empty.
	URL string
	// Fetched is the fetch that returned the text, nil for other texts. Its findings join those of
	// the document; its kind and address replace an empty Kind and URL. An answer without a body
	// has no text to check.
	Fetched *fetch.Answer
}

// Options set how to check. The zero value is usable.
type Options struct {
	// Today is compared with the dates of a document, unless it is zero.
	Today time.Time
	// Strict makes [Result.Failed] count warnings. Severities and [Result.Valid] stay as they are:
	// strictness is a choice of the caller, not a property of the document.
	Strict bool
	// Level 2 turns the absence of what AGIS Level 2 requires into an error.
	Level int
	// Baseline hides the findings that it accepts; nil hides none.
	Baseline *Baseline
}

// A Result is the outcome of the check of one text.
type Result struct {
	Input string
	// Kind is "" for a text of no known kind.
	Kind document.Kind
	// Valid means that the text can be read and has no error, hidden findings included.
	Valid bool
	// Level is the conformance level: 0 for a text that is not valid, 2 for an AGIS document that
	// declares everything that Level 2 requires, and otherwise 1.
	Level int
	// Findings are in the order of the text, after those without a place.
	Findings []protocol.Finding
	// Hidden is the number of findings that the baseline accepts.
	Hidden int
	// Operations is the number of operations of the service.
	Operations int
	Tokens     Tokens
	// Savings says what to shorten, largest saving first. Only AI Discovery documents have it, since
	// agents read them whole.
	Savings []aidiscovery.Saving

	unread bool // the text is not a document of its kind
	strict bool
}

// A Group is a kind of finding in a document: all findings of a rule with the same words.
type Group struct {
	Code     string            `json:"code" doc:"the rule"`
	Severity protocol.Severity `json:"severity"`
	Message  string            `json:"message" doc:"what is wrong"`
	Count    int               `json:"count" doc:"how many findings there are of this kind"`
	// Findings are their positions in the list of findings, in its order.
	Findings []int `json:"findings" doc:"their positions in findings, from 0"`
}

// GroupFindings returns the kinds of findings of a list, the most severe first, otherwise in the
// order of the list.
func GroupFindings(findings []protocol.Finding) []Group {
	type kind struct {
		code, message, help string
		severity            protocol.Severity
	}
	at := map[kind]int{}
	groups := []Group{}
	for n, f := range findings {
		key := kind{f.Code, f.Message, f.Help, f.Severity}
		i, seen := at[key]
		if !seen {
			i = len(groups)
			at[key] = i
			groups = append(groups, Group{Code: f.Code, Severity: f.Severity, Message: f.Message})
		}
		groups[i].Count++
		groups[i].Findings = append(groups[i].Findings, n)
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return int(b.Severity) - int(a.Severity) })
	return groups
}

// Tokens estimates the tokens that a language model needs for a document ([protocol.Tokens]), as
// published and as JSON without white space.
type Tokens struct {
	Served  int `json:"served"`
	Compact int `json:"compact"`
}

// Failed reports whether the result should stop a build: it has an error that the baseline does not
// accept (with Options.Strict also a warning), or the text is not a document.
func (r Result) Failed() bool {
	limit := protocol.Error
	if r.strict {
		limit = protocol.Warning
	}
	worst, any := protocol.Worst(r.Findings)
	return any && worst >= limit || r.unread && r.Hidden == 0
}

// Check checks one text.
func Check(in Input, o Options) Result {
	c := checkInput(in, o)
	return c.buildResult(o)
}

// CheckAll checks several texts. It also compares each AGIS summary with the full document of the
// same service among them (AGIS §11.1). Differences are findings of the summary.
func CheckAll(inputs []Input, o Options) []Result {
	checks := make([]*checkedInput, len(inputs))
	for i, in := range inputs {
		checks[i] = checkInput(in, o)
	}
	compareSummaries(checks)
	compareOperations(inputs, checks)
	results := make([]Result, len(checks))
	for i, c := range checks {
		results[i] = c.buildResult(o)
	}
	return results
}

// checkedInput is one text while it is checked.
type checkedInput struct {
	Result
	url    string // where the text comes from
	pasted bool   // the text has more than the document, which was checked without it
	parsed document.Parsed
}

func checkInput(in Input, o Options) *checkedInput {
	c := &checkedInput{Result: Result{Input: in.Name, Kind: in.Kind, strict: o.Strict}}
	if in.Fetched != nil {
		in.Kind, in.URL = cmp.Or(in.Kind, document.Kind(in.Fetched.Kind)), cmp.Or(in.URL, in.Fetched.URL)
		c.Kind = in.Kind
	}
	c.url = in.URL
	text, _ := protocol.TrimBOM(in.Text)
	root, _, err := Tree(text)
	guess := guessKind(in.Name, text, root)
	if in.Fetched == nil {
		if plain, findings := pastedDocument(in, guess, root, err); findings != nil {
			in.Text, c.Findings, c.pasted = plain, findings, true
			root, _, err = Tree(plain)
			guess = guessKind(in.Name, plain, root)
		}
	}
	c.Kind = cmp.Or(c.Kind, guess.Kind)
	c.Tokens.Served = protocol.Tokens(string(in.Text))
	if root != nil {
		c.Tokens.Compact = protocol.Tokens(string(protocol.WriteJSON(root, "")))
	}
	if in.Fetched != nil {
		c.Findings = slices.Clone(transportFindings(in.Fetched, c.Kind))
		if in.Fetched.Body == nil {
			c.unread = true
			return c
		}
	}
	c.readDocument(in, o, guess, err)
	return c
}

// transportFindings returns the findings of a fetch. An answer that was requested without a kind is
// checked as the kind of its text.
func transportFindings(a *fetch.Answer, kind document.Kind) []protocol.Finding {
	if a.Kind == "" && kind != "" {
		return a.As(kind).Findings
	}
	return a.Findings
}

// readDocument runs the reader of the kind.
func (c *checkedInput) readDocument(in Input, o Options, guess Guess, syntax error) {
	format, ok := document.FormatOf(c.Kind)
	if !ok {
		c.unread = true
		c.Findings = append(c.Findings, unreadableFinding(in, guess, syntax))
		return
	}
	p, err := parseText(format, in.Text, document.ParseOptions{Host: hostOf(in.URL), Today: o.Today, Level: o.Level})
	c.addFindings(p.Findings, err)
	c.parsed, c.Operations = p, p.Operations
	if ai, ok := p.Document.(*aidiscovery.Document); ok && !c.unread && !c.Kind.IsAlias() {
		c.Savings = aidiscovery.Savings(ai.Root)
	}
}

// parseText runs the reader of a format. If a JSON text has trailing commas, comments or single
// quotes, these are findings of the rule about its syntax, and the rest is checked as well. The text
// counts as unreadable all the same.
func parseText(format document.Format, text []byte, o document.ParseOptions) (document.Parsed, error) {
	p, err := format.Parse(text, o)
	at := slices.IndexFunc(p.Findings, func(f protocol.Finding) bool { return f.Code == format.SyntaxCode })
	if err == nil || format.Syntax != document.JSON || at < 0 {
		return p, err
	}
	body, marked := protocol.TrimBOM(text)
	again, faults := parseNearJSON(format, body, o)
	if len(faults) == 0 {
		return p, err
	}
	findings := repair.SyntaxFindings(body, p.Findings[at], faults)
	if marked {
		findings = append(findings, p.Findings[0]) // about the byte order mark
	}
	again.Findings = append(findings, again.Findings...)
	return again, err
}

// parseNearJSON reads a JSON text without its trailing commas, comments and single quotes, and returns
// these faults. There are none if the text cannot be read without them either.
func parseNearJSON(format document.Format, text []byte, o document.ParseOptions) (document.Parsed, []repair.SyntaxFault) {
	standard, faults := repair.StandardJSON(text)
	if len(faults) == 0 {
		return document.Parsed{}, nil
	}
	p, err := format.Parse(standard, o)
	if err != nil {
		return document.Parsed{}, nil
	}
	return p, faults
}

// NearJSON returns the text of a document that is JSON except for trailing commas, comments and single
// quotes as JSON, and the first of these faults with its line. The fault is "" for any other text, which
// is returned unchanged.
func NearJSON(kind document.Kind, text []byte) (standard []byte, fault string) {
	format, known := document.FormatOf(kind)
	if !known || format.Syntax != document.JSON {
		return text, ""
	}
	if _, err := format.Parse(text, document.ParseOptions{}); err == nil {
		return text, ""
	}
	body, _ := protocol.TrimBOM(text)
	_, faults := parseNearJSON(format, body, document.ParseOptions{})
	if len(faults) == 0 {
		return text, ""
	}
	standard, _ = repair.StandardJSON(body)
	return standard, fmt.Sprintf("%s in line %d", faults[0].Name, 1+bytes.Count(body[:faults[0].Offset], []byte("\n")))
}

func (c *checkedInput) addFindings(findings []protocol.Finding, err error) {
	c.unread = err != nil || c.pasted
	c.Findings = append(c.Findings, findings...)
}

// buildResult computes what depends on all findings, then hides those that the baseline accepts.
func (c *checkedInput) buildResult(o Options) Result {
	slices.SortStableFunc(c.Findings, func(a, b protocol.Finding) int {
		return cmp.Or(cmp.Compare(findingRank(a), findingRank(b)), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	// The fetch and the reader may report the same fault.
	seen := map[protocol.Finding]bool{}
	c.Findings = slices.DeleteFunc(c.Findings, func(f protocol.Finding) bool {
		twice := seen[f]
		seen[f] = true
		return twice
	})
	worst, any := protocol.Worst(c.Findings)
	c.Valid = !c.unread && (!any || worst < protocol.Error)
	if c.Valid {
		c.Level = c.parsed.Level()
	}
	if o.Baseline != nil {
		all := len(c.Findings)
		c.Findings = slices.DeleteFunc(c.Findings, func(f protocol.Finding) bool { return o.Baseline.Knows(c.Input, f) })
		c.Hidden = all - len(c.Findings)
	}
	return c.Result
}

// findingRank sorts the note about a shortened list after the list.
func findingRank(f protocol.Finding) int {
	if f.Code == protocol.CodeMore {
		return 1
	}
	return 0
}

// compareSummaries compares each summary with the full documents of its service.
func compareSummaries(checks []*checkedInput) {
	for _, s := range checks {
		summary, ok := s.parsed.Document.(*agis.Summary)
		if !ok {
			continue
		}
		for _, d := range checks {
			if full, ok := d.parsed.Document.(*agis.Document); ok && sameService(summary, full, d.url) {
				s.Findings = append(s.Findings, agis.CrossCheck(summary, full)...)
			}
		}
	}
}

// compareOperations compares each AI Discovery document with the AGIS document of its host, or of its
// folder. Contradictions are findings of the first.
func compareOperations(inputs []Input, checks []*checkedInput) {
	for i, ai := range checks {
		if ai.Kind != document.AI || ai.unread {
			continue
		}
		for j, agis := range checks {
			if agis.Kind != document.AGIS || agis.unread || placeOf(inputs[i]) != placeOf(inputs[j]) {
				continue
			}
			one, err := document.Read(document.Input{Kind: document.AI, Host: hostOf(ai.url), Bytes: inputs[i].Text})
			other, otherErr := document.Read(document.Input{Kind: document.AGIS, Host: hostOf(agis.url), Bytes: inputs[j].Text})
			if err == nil && otherErr == nil {
				ai.Findings = append(ai.Findings, document.Contradictions(one, other, inputs[i].Text)...)
			}
		}
	}
}

// placeOf returns the host that publishes a text, or the folder of its file.
func placeOf(in Input) string {
	if in.Fetched != nil {
		return hostOf(in.Fetched.URL)
	}
	if host := hostOf(in.URL); host != "" {
		return host
	}
	return filepath.ToSlash(filepath.Dir(in.Name)) + "/"
}

// sameService reports whether a document is the full one of a summary: it is at the address in the
// summary, or has the same agtp address or service.
func sameService(s *agis.Summary, full *agis.Document, address string) bool {
	same := func(a, b string) bool { return a != "" && strings.EqualFold(a, b) }
	return same(s.Links.AGISDocument, address) || same(s.AGTP, full.AGTP) || same(s.Service, full.Service)
}

// conversionHelp says how a text of a format that is not checked becomes one that is.
func conversionHelp(format string) string {
	if format == "openapi" {
		return "make an AI Discovery document from it with gazlint init --openapi FILE, or an AGIS document with gazlint init --format agis --openapi FILE"
	}
	return "make an AGIS document from it with gazlint convert --from " + format + " --to agis FILE"
}

// unreadableFinding returns the finding for a text of no known format.
func unreadableFinding(in Input, guess Guess, syntax error) protocol.Finding {
	if in.Kind != "" {
		return newFinding("DOC103", fmt.Sprintf("no kind of document is called %s", protocol.Quote(string(in.Kind))), "the kinds are "+document.ListKinds(document.AuthoritativeKinds(), "and"))
	}
	if len(bytes.TrimSpace(in.Text)) == 0 {
		return newFinding("DOC101", "there is nothing here: the text is empty", "to make a document, begin with the command init")
	}
	if isHTML(in.Text) {
		return newFinding("DOC102", "this is a web page (HTML), not a document for agents", "look where the document itself is served, for example at /.well-known/ai")
	}
	if guess.Other != "" {
		help := "an AI Discovery document has the member aiendpoint, an AGIS document the field agis"
		if guess.Format != "" {
			help = conversionHelp(guess.Format)
		}
		return newFinding("DOC102", "this is a document of another format: "+guess.Other, help)
	}
	if f, ok := wrappedFinding(in); ok {
		return f
	}
	if e, ok := syntax.(*protocol.SyntaxError); ok && endsEarly(in.Text, e) {
		f := newFinding("DOC101", "the text ends too early, so its kind cannot be determined: "+e.Message, cmp.Or(protocol.DescribeJSONRepair(e.Message), yaml.DescribeRepair(e.Message)))
		f.Line, f.Column = e.Line, e.Column
		return f
	}
	help := describeSigns() + "; if it is one of them, name it with --as " + document.ListKinds(document.AuthoritativeKinds(), "or")
	if e, ok := syntax.(*protocol.SyntaxError); ok {
		f := newFinding("DOC101", "the text cannot be read as JSON or YAML, and its kind cannot be determined: "+e.Message, help)
		f.Line, f.Column = e.Line, e.Column
		return f
	}
	f := newFinding("DOC101", "the kind of this document cannot be determined", help)
	f.Line, f.Column = 1, 1
	if m, sign := misspelledSign(in.Text); m != nil {
		f.Message += ": it has the member " + protocol.Quote(m.Key)
		f.Help = "did you mean " + sign + "? Letter case matters"
		f.Line, f.Column, f.Pointer = m.KeyLine, m.KeyColumn, m.Pointer
	}
	return f
}

// pastedDocument returns the document of a text without what a chat or a word processor added, with the
// same lines and columns, and the findings about that. There are none if the text can be read as it is,
// or is not of a known kind without it either.
func pastedDocument(in Input, guess Guess, root *protocol.Node, err error) (plain []byte, findings []protocol.Finding) {
	kind := cmp.Or(in.Kind, guess.Kind)
	if format, known := document.FormatOf(kind); known && format.Syntax == document.PlainText || err == nil && !repair.MayBePasted(root) {
		return nil, nil
	}
	plain, faults := repair.FindPasteFaults(in.Text)
	if len(faults) == 0 || in.Kind == "" && Tell("", plain).Kind == "" {
		return nil, nil
	}
	for _, fault := range faults {
		f := newFinding(repair.CodePasted, fault.Message, fault.Help)
		f.Line, f.Column = protocol.Place(in.Text, fault.Offset)
		findings = append(findings, f)
	}
	return plain, findings
}

// KindOf returns the kind of a text, also of one that was pasted with more than the document; "" if it
// has none.
func KindOf(name string, text []byte) document.Kind {
	root, _, err := Tree(text)
	guess := guessKind(name, text, root)
	if plain, findings := pastedDocument(Input{Name: name, Text: text}, guess, root, err); findings != nil {
		return Tell(name, plain).Kind
	}
	return guess.Kind
}

// wrappedFinding returns the finding for a document of a known kind that is the only element of an array.
func wrappedFinding(in Input) (protocol.Finding, bool) {
	root, _, _ := Tree(in.Text)
	if root != nil && root.Kind == protocol.Array && len(root.Items) == 1 && Tell("", protocol.WriteJSON(root.Items[0], "")).Kind != "" {
		f := newFinding("DOC101", "the document is in an array", "remove the brackets around the object")
		f.Line, f.Column = 1, 1
		return f, true
	}
	return protocol.Finding{}, false
}

// endsEarly reports whether a text could be read up to its end and is not complete there.
func endsEarly(text []byte, e *protocol.SyntaxError) bool {
	text, _ = protocol.TrimBOM(text)
	return e.Problem == protocol.Invalid && e.Offset >= len(bytes.TrimRight(text, " \t\r\n"))
}

// misspelledSign returns the member of a text whose name is probably that of a format, and the right
// name; nil if there is none.
func misspelledSign(text []byte) (m *protocol.Node, sign string) {
	root, _, err := Tree(text)
	if err != nil || root.Kind != protocol.Object {
		return nil, ""
	}
	for _, m := range root.Items {
		if sign := english.NearName(m.Key, []string{"aiendpoint", "agis"}); sign != "" {
			return m, sign
		}
	}
	return nil, ""
}

// describeSigns lists the members that identify each format.
func describeSigns() string {
	var signs []string
	for _, f := range document.Formats {
		if f.Sign != "" {
			signs = append(signs, f.Sign)
		}
	}
	return strings.Join(signs, ", ")
}

// isHTML reports whether a text begins as a web page does.
func isHTML(text []byte) bool {
	text = bytes.TrimSpace(text)
	begin := bytes.ToLower(text[:min(len(text), len("<!doctype html"))])
	return bytes.HasPrefix(begin, []byte("<!doctype html")) || bytes.HasPrefix(begin, []byte("<html"))
}

// hostOf returns the host of an address in lower case, "" when it has none.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}
