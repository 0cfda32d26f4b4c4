package search

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gazetteer/api/answer"
	"gazetteer/call"
	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/internal/cli"
	"gazetteer/lint/format"
	"gazetteer/protocol/agis/agishttp"
)

// searchAnswer is the part of an answer that a user reads.
type searchAnswer struct {
	index.Result
	Hits   []searchHit `json:"hits"`
	Next   string      `json:"next"`
	Behind uint64      `json:"behind"`
}

// searchHit is a hit with the additions of the answer.
type searchHit struct {
	index.Hit
	Caution   string           `json:"caution"`
	Freshness answer.Freshness `json:"freshness"`
}

func (a *verbs) printHits(r searchAnswer, words string, view viewFlags) {
	a.printReading(r)
	if len(r.Hits) == 0 {
		fmt.Fprintf(a.Out, "Nothing offers %q.\n", format.Visible(words))
		if r.Note != "" {
			fmt.Fprintln(a.Out, format.Visible(formatNote(r.Note)))
		}
		return
	}
	now := a.Environment.Now()
	var rows []row
	for _, h := range r.Hits {
		if view.long {
			printHit(a, h.Hit, now, h.listRemarks()...)
		} else {
			rows = append(rows, hitRow(h.Hit, h.listRemarks()))
		}
	}
	a.printRows(rows)
	for _, field := range slices.Sorted(maps.Keys(r.Facets)) {
		fmt.Fprintf(a.Out, "%-12s %s\n", format.Visible(field), format.Visible(formatCounts(r.Facets[field])))
	}
	view.printPosition(a, len(r.Hits), r.Total, r.Next != "")
	if r.Note != "" {
		fmt.Fprintln(a.Out, format.Visible(formatNote(r.Note)))
	}
	a.printBehind(r.Behind)
}

// printReading prints how the search interpreted the words if that differs from their text: another
// spelling, or an exclusion.
func (a *verbs) printReading(r searchAnswer) {
	if r.Correction != nil {
		fmt.Fprintf(a.Out, "Showing results for: %s\n", format.Visible(r.Correction.Query))
		fmt.Fprintf(a.Out, "Search instead for %s: --exact\n", format.Visible(askedWords(r.Correction)))
	}
	for _, l := range r.LeftOut {
		fmt.Fprintf(a.Out, "Left out because of %q: %s\n", format.Visible(l.Text), cli.Plural(l.Operations, "operation"))
	}
}

// askedWords returns the original spelling of the corrected words.
func askedWords(c *index.Correction) string {
	var words []string
	for _, w := range c.Words {
		words = append(words, w.Asked)
	}
	return strings.Join(words, ", ")
}

// formatNote formats a note as a sentence.
func formatNote(note string) string { return strings.ToUpper(note[:1]) + note[1:] + "." }

// printBehind warns that an answer may lack recent changes.
func (a *verbs) printBehind(records uint64) {
	if records > 0 {
		fmt.Fprintf(a.Out, "The index is behind by %s: new content may be missing.\n", cli.Plural(int(min(records, math.MaxInt32)), "record"))
	}
}

// A remark is one more line about a hit.
type remark struct{ name, text string }

// listRemarks returns what a user should know before using a hit.
func (h searchHit) listRemarks() []remark {
	var remarks []remark
	if h.Far {
		remarks = append(remarks, remark{"weak", "a weak match: it probably does not fit the request"})
	}
	return append(remarks, cautions(h.Freshness, h.Caution)...)
}

// cautions returns the remarks that a hit and an offer can have.
func cautions(f answer.Freshness, caution string) (remarks []remark) {
	if f.Stale {
		remarks = append(remarks, remark{"stale", f.Why})
	}
	if caution != "" {
		remarks = append(remarks, remark{"caution", caution})
	}
	return remarks
}

func formatCounts(counts []index.Count) string {
	parts := make([]string, len(counts))
	for i, c := range counts {
		parts[i] = c.Value + " " + strconv.Itoa(c.Operations)
	}
	return strings.Join(parts, ", ")
}

// printHit writes one operation: its purpose, its service, its call, the reason for the match, the
// age of the evidence, and further details.
func printHit(a *verbs, h index.Hit, now time.Time, more ...remark) {
	printHitLines(a, h, now, more...)
	fmt.Fprintln(a.Out)
}

func printHitLines(a *verbs, h index.Hit, now time.Time, more ...remark) {
	o := h.Operation
	fmt.Fprintln(a.Out, strings.TrimSpace(format.Visible(o.Verb)+" "+format.Visible(OperationName(o))))
	field := a.printDetail
	field("does", o.Intent)
	field("service", h.Service.Name+" ("+h.Host+")")
	field("call", formatCall(o))
	if h.Also != nil {
		field("or", formatCall(document.Operation{ID: h.Also.ID, Verb: h.Also.Verb, Call: h.Also.Call}))
	} else if address, err := call.HTTPBinding(o); err == nil {
		field("or", "POST "+address+" with "+agishttp.MethodHeader+": "+o.Verb+", if the service has the HTTP binding of AGIS")
	}
	field("with", formatParameters(o.Parameters))
	field("effect", formatEffect(h.Effect))
	field("why", formatReason(h.Why))
	field("fresh", fmt.Sprintf("fetched %s from %s, %s", cli.FormatAge(now, h.FetchedAt), h.Document, shortenDigest(h.Digest)))
	switch h.Findings {
	case "error":
		field("caution", "its document breaks its draft: see /services/"+h.Host)
	case "warning":
		field("caution", "its document has warnings: see /services/"+h.Host)
	}
	for _, r := range more {
		field(r.name, r.text)
	}
}

// formatEffect describes the effect of an operation, and the source of that information.
func formatEffect(e index.Effect) string {
	if e.Value == "" || e.Value == string(document.EffectUnknown) {
		return ""
	}
	text := e.Value + ", as declared"
	if e.Source == index.EffectInferred {
		text = e.Value + ", inferred from " + e.From
	}
	if e.Destructive {
		text += " (destructive)"
	}
	return text
}

// OperationName returns the operation's path, or its id if it has none.
func OperationName(o document.Operation) string {
	if o.Path != "" {
		return o.Path
	}
	if o.ID == o.Verb {
		return ""
	}
	return o.ID
}

func formatCall(o document.Operation) string {
	switch o.Call.Protocol {
	case "http":
		return o.Call.Method + " " + o.Call.URL
	case "agtp":
		line := strings.Join(slices.DeleteFunc([]string{o.Verb, o.Path, "at", o.Call.URL}, func(s string) bool { return s == "" }), " ")
		if _, err := call.HTTPBinding(o); err != nil {
			return line + " (not over HTTP: " + err.Error() + ")"
		}
		return line
	default:
		return ""
	}
}

// formatParameters lists parameters with their locations; * marks required ones.
func formatParameters(params []document.Parameter) string {
	parts := make([]string, 0, len(params))
	for _, p := range params {
		text := p.Name
		if p.Required {
			text += "*"
		}
		if p.In != "" {
			text += " (" + p.In + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func formatReason(w index.Why) string {
	var parts []string
	if w.Clause != "" {
		parts = append(parts, `answers "`+w.Clause+`"`)
	}
	if w.Verb != nil {
		parts = append(parts, fmt.Sprintf("offers the verb %s (%s)", w.Verb.Offered, w.Verb.Relation))
	}
	for _, m := range w.Matched {
		text := m.Term
		switch {
		case m.Kind == "vector":
			text += ", near in meaning to " + m.Text + ","
		case m.Text != "" && !strings.EqualFold(m.Text, m.Term):
			text += "→" + m.Text
		}
		parts = append(parts, text+" in "+fieldNames[m.Field])
	}
	if len(w.Missing) > 0 {
		parts = append(parts, "without: "+strings.Join(w.Missing, ", "))
	}
	if len(parts) == 0 {
		return "passes the filters"
	}
	return strings.Join(parts, "; ")
}

// fieldNames describes in words the fields that contain a query word.
var fieldNames = map[string]string{
	"act":  "what it is called",
	"what": "what it does",
	"ctx":  "its service, data or parameters",
}

func shortenDigest(digest string) string {
	if len(digest) > 19 {
		return digest[:19]
	}
	return digest
}
