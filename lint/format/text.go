package format

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gazetteer/document"
	"gazetteer/lint"
	"gazetteer/protocol"
)

// How many columns of a long line are shown: no more than a person reads at a glance, and enough to
// be useful.
const (
	maxColumns = 100
	minColumns = 20
)

// columnsLeft returns how many columns of the terminal are left beside a margin.
func (o Options) columnsLeft(margin int) int {
	if o.Width == 0 {
		return maxColumns
	}
	return max(minColumns, min(maxColumns, o.Width-margin))
}

// writeText writes findings as a compiler does: the problem, its place, the line with a mark under
// it, the rule, and how to repair it.
func writeText(w *bytes.Buffer, reports []Report, o Options) error {
	t := textWriter{Buffer: w, Options: o}
	for _, r := range reports {
		t.writeReport(r)
	}
	if !o.Quiet {
		t.writeSummary(reports)
	}
	return nil
}

type textWriter struct {
	*bytes.Buffer
	Options
}

// The colors of a terminal (ECMA-48 SGR).
const (
	bold   = "1"
	red    = "1;31"
	yellow = "1;33"
	cyan   = "1;36"
	blue   = "1;34"
	green  = "1;32"
)

func (t textWriter) paintText(color, s string) string {
	if !t.Color || s == "" {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}

func colorOf(s protocol.Severity) string {
	switch s {
	case protocol.Error:
		return red
	case protocol.Warning:
		return yellow
	default:
		return cyan
	}
}

// writeReport writes the findings of a document in their order. Findings with the same words are
// written once, at the first of their places; the others follow it.
func (t textWriter) writeReport(r Report) {
	if len(r.Findings) == 0 {
		return
	}
	src := newSource(r.Text)
	groups := lint.GroupFindings(r.Findings)
	slices.SortFunc(groups, func(a, b lint.Group) int { return a.Findings[0] - b.Findings[0] })
	more := map[string][]protocol.Finding{} // by rule: those that are not shown in full
	shown := map[string]int{}
	for _, g := range groups {
		if shown[g.Code]++; shown[g.Code] > maxShownInFull {
			more[g.Code] = append(more[g.Code], findingsOf(r, g)...)
		}
	}
	written := map[string]int{}
	for _, g := range groups {
		if written[g.Code]++; written[g.Code] > maxShownInFull {
			continue
		}
		t.writeGroup(r.Input, src, findingsOf(r, g))
		if written[g.Code] == maxShownInFull {
			t.writeMore(r.Input, more[g.Code])
		}
	}
}

func findingsOf(r Report, g lint.Group) []protocol.Finding {
	out := make([]protocol.Finding, len(g.Findings))
	for i, n := range g.Findings {
		out[i] = r.Findings[n]
	}
	return out
}

// maxShownInFull is how many kinds of findings of a rule a document shows with their line and their
// help. Of the rest a line each names the place.
const maxShownInFull = 3

// writeMore writes the findings of a rule that are not shown in full.
func (t textWriter) writeMore(input string, more []protocol.Finding) {
	if len(more) == 0 {
		return
	}
	fmt.Fprintf(t, "%s\n", t.paintText(colorOf(more[0].Severity), fmt.Sprintf("%s[%s]: %d more of this rule", severityWord(more[0].Severity, "note"), more[0].Code, len(more))))
	for _, f := range more {
		fmt.Fprintf(t, " %s %s: %s\n", t.paintText(blue, "-->"), placeAndPointer(input, f), protocol.ClipRunes(Visible(f.Message), maxColumns))
	}
	t.WriteByte('\n')
}

// placeAndPointer writes where a finding is: "ai.json:14:17  /capabilities/0/method".
func placeAndPointer(input string, f protocol.Finding) string {
	if f.Pointer == "" {
		return formatPlace(input, f)
	}
	return formatPlace(input, f) + "  " + protocol.ClipRunes(Visible(f.Pointer), maxColumns)
}

// writeGroup writes findings with the same words: the first in full, then the places of the others.
func (t textWriter) writeGroup(input string, src *source, findings []protocol.Finding) {
	f := findings[0]
	color := colorOf(f.Severity)
	fmt.Fprintf(t, "%s%s\n", t.paintText(color, severityWord(f.Severity, "note")+"["+f.Code+"]"), t.paintText(bold, ": "+Visible(f.Message)))
	margin := len(strconv.Itoa(max(f.Line, 1)))
	gutter := strings.Repeat(" ", margin)
	fmt.Fprintf(t, "%s%s %s\n", gutter, t.paintText(blue, "-->"), placeAndPointer(input, f))
	bar := t.paintText(blue, "|")
	if shown, marks, ok := src.excerptLine(f, t.columnsLeft(margin+len(" | "))); ok {
		fmt.Fprintf(t, "%s %s\n", gutter, bar)
		fmt.Fprintf(t, "%s %s %s\n", t.paintText(blue, strconv.Itoa(f.Line)), bar, shown)
		fmt.Fprintf(t, "%s %s %s\n", gutter, bar, t.paintMarks(color, marks))
	}
	note := func(name, text string) {
		fmt.Fprintf(t, "%s %s %s %s\n", gutter, t.paintText(blue, "="), t.paintText(bold, name+":"), text)
	}
	if rule := ruleText(f); rule != "" {
		note("rule", rule)
	}
	if f.Help != "" {
		note("help", Visible(f.Help))
	}
	for _, other := range findings[1:] {
		note("also", placeAndPointer(input, other))
	}
	t.WriteByte('\n')
}

func (t textWriter) paintMarks(color, marks string) string {
	blank := len(marks) - len(strings.TrimLeft(marks, " "))
	return marks[:blank] + t.paintText(color, marks[blank:])
}

// bases describes the source of a rule.
var bases = map[string]string{
	"must":     "the draft requires it",
	"should":   "the draft advises it",
	"may":      "the draft allows readers to refuse it",
	"inferred": "the draft leaves it to the reader; this is our reading",
	"own":      "a rule of this program, not of the draft",
}

// Basis describes the source of a rule: "the draft requires it".
func Basis(r protocol.Rule) string { return bases[r.Basis] }

// ruleText names the rule of a finding: "method-value, AI Discovery §3.3 (the
// draft requires it)".
func ruleText(f protocol.Finding) string {
	rule, ok := lint.Rule(f.Code)
	if !ok {
		return Visible(f.Section)
	}
	text := rule.Slug
	if f.Section != "" {
		text += ", " + f.Section
	}
	if basis := Basis(rule); basis != "" {
		text += " (" + basis + ")"
	}
	return text
}

// excerptLine returns the line of a finding as a terminal shows it, with the marks
// that stand under the extent of the value. A line of more than room columns is
// cut on both sides.
func (s *source) excerptLine(f protocol.Finding, room int) (shown, marks string, ok bool) {
	start, end, ok := s.findingExtent(f)
	if !ok {
		return "", "", false
	}
	lineStart, lineEnd, _ := s.lineBounds(f.Line)
	if start < lineStart || start > lineEnd {
		return "", "", false
	}
	if end = min(end, lineEnd); s.isWideValue(f, start, end) {
		end = min(start+1, end) // its first character stands for the whole
	}
	from := lineStart
	if s.isLongLine(lineStart, lineEnd, room) {
		from = s.excerptStart(lineStart, start, room)
	}
	var line, mark strings.Builder
	column := 0
	if from > lineStart {
		line.WriteString("…")
		mark.WriteString(" ")
		column = 1
	}
	marked := false
	i := from
	for i < lineEnd {
		r, size := utf8.DecodeRune(s.text[i:])
		text, columns := runeCell(r, column)
		if column+columns > room || column+columns == room && i+size < lineEnd {
			line.WriteString("…")
			break
		}
		line.WriteString(text)
		within := i >= start && i < end
		mark.WriteString(strings.Repeat(map[bool]string{true: "^", false: " "}[within], columns))
		marked = marked || within && columns > 0
		column += columns
		i += size
	}
	marks = strings.TrimRight(mark.String(), " ")
	if !marked { // an empty place, such as the end of a line
		marks = strings.Repeat(" ", s.countColumns(from, start, from > lineStart)) + "^"
	}
	return strings.TrimRight(line.String(), " "), marks, true
}

// isLongLine reports whether a line takes more columns than are shown.
func (s *source) isLongLine(lineStart, lineEnd, room int) bool {
	return lineEnd-lineStart > utf8.UTFMax*room || s.countColumns(lineStart, lineEnd, false) > room
}

// widest is how many bytes of an object or array are marked as a whole.
const widest = 40

// isWideValue reports whether a finding is about an object or array that is too long to be marked,
// or that has no brackets (YAML).
func (s *source) isWideValue(f protocol.Finding, start, end int) bool {
	n := s.nodes[f.Pointer]
	if n == nil || n.Kind != protocol.Array && n.Kind != protocol.Object || n.Line != f.Line || n.Column != f.Column {
		return false
	}
	bracket := start < end && (s.text[start] == '{' || s.text[start] == '[')
	return !bracket || end-start > widest || end < n.End
}

// excerptStart returns where the excerpt of a long line begins: at the start of the line if the
// offset is near, otherwise so that two fifths of the room are before the offset.
func (s *source) excerptStart(lineStart, offset, room int) int {
	if offset-lineStart <= utf8.UTFMax*room && s.countColumns(lineStart, offset, false) <= room*3/5 {
		return lineStart
	}
	for columns := 0; offset > lineStart; {
		r, size := utf8.DecodeLastRune(s.text[lineStart:offset])
		_, n := runeCell(r, 0)
		if columns += n; columns > room*2/5 {
			break
		}
		offset -= size
	}
	return offset
}

// countColumns returns how many columns the bytes from a to b take.
func (s *source) countColumns(a, b int, cut bool) int {
	column := 0
	if cut {
		column = 1
	}
	for i := a; i < b; {
		r, size := utf8.DecodeRune(s.text[i:])
		_, n := runeCell(r, column)
		column += n
		i += size
	}
	return column
}

// writeSummary writes the result of each input, and the total.
func (t textWriter) writeSummary(reports []Report) {
	failed := 0
	var worst *protocol.Finding
	for _, r := range reports {
		t.writeVerdict(r)
		if r.Failed() {
			failed++
		}
		for i, f := range r.Findings {
			if worst == nil || f.Severity > worst.Severity {
				worst = &r.Findings[i]
			}
		}
	}
	if len(reports) > 1 {
		fmt.Fprintf(t, "%s: %d passed, %d failed\n", Plural(len(reports), "document"), len(reports)-failed, failed)
	}
	t.writeCounts(reports)
	t.writeRepairable(reports)
	if worst != nil && t.Explain != "" {
		fmt.Fprintf(t, "To read more about a rule: %s %s\n", t.Explain, worst.Code)
	}
}

// maxRuleCounts is how many rules the summary counts.
const maxRuleCounts = 8

// writeCounts writes how many findings each rule has, most first, where some rule has several.
func (t textWriter) writeCounts(reports []Report) {
	counts, total := map[string]int{}, 0
	for _, r := range reports {
		for _, f := range r.Findings {
			counts[f.Code]++
			total++
		}
	}
	if total == len(counts) {
		return
	}
	codes := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	var parts []string
	for _, code := range codes[:min(len(codes), maxRuleCounts)] {
		name := code
		if rule, ok := lint.Rule(code); ok {
			name += " " + rule.Slug
		}
		parts = append(parts, fmt.Sprintf("%d %s", counts[code], name))
	}
	if more := len(codes) - maxRuleCounts; more > 0 {
		parts = append(parts, "and "+Plural(more, "more rule"))
	}
	fmt.Fprintf(t, "By rule: %s\n", strings.Join(parts, ", "))
}

// writeRepairable writes which files can be repaired by the program.
func (t textWriter) writeRepairable(reports []Report) {
	repairs := 0
	var names []string
	for _, r := range reports {
		if r.Repairable > 0 {
			repairs += r.Repairable
			names = append(names, Visible(r.Input))
		}
	}
	switch {
	case t.Repair == "" || repairs == 0:
	case len(names) <= maxNames:
		fmt.Fprintf(t, "%s can be repaired automatically: %s %s\n", Plural(repairs, "finding"), t.Repair, strings.Join(names, " "))
	default:
		fmt.Fprintf(t, "%s in %d files can be repaired automatically: %s FILE\n", Plural(repairs, "finding"), len(names), t.Repair)
	}
}

// maxNames is how many names of files one line lists.
const maxNames = 5

func (t textWriter) writeVerdict(r Report) {
	word, color := "valid", green
	switch {
	case !r.Valid:
		word, color = "not valid", red
	case r.Failed():
		word, color = "valid, but not without warnings", yellow
	}
	kind := cmp.Or(r.Kind.Describe(), "kind unknown")
	if isAddress(r.Input) && len(r.Text) == 0 {
		word, kind = "not fetched", r.Kind.Describe()
	}
	fmt.Fprintf(t, "%s: %s", Visible(r.Input), t.paintText(color, word))
	if kind != "" {
		fmt.Fprintf(t, "; %s", kind)
	}
	if r.Valid && r.Kind.HasLevels() {
		fmt.Fprintf(t, ", level %d", r.Level)
	}
	if r.Operations > 0 {
		what := "operation"
		if r.Kind == document.AGISSummary {
			what = "verb" // it names the verbs of the operations, each once
		}
		fmt.Fprintf(t, ", %s", Plural(r.Operations, what))
	}
	if r.Tokens.Served > 0 && r.Kind != "" {
		fmt.Fprintf(t, ", about %d tokens", r.Tokens.Served)
		if r.Tokens.Compact > 0 && r.Tokens.Compact < r.Tokens.Served {
			fmt.Fprintf(t, " (%d without white space)", r.Tokens.Compact)
		}
	}
	if counts := countText(r); counts != "" {
		fmt.Fprintf(t, "; %s", counts)
	}
	t.WriteByte('\n')
	for _, c := range r.Savings[:min(len(r.Savings), maxCuts)] {
		if c.Tokens*worthwhile < r.Tokens.Served {
			break
		}
		where := ""
		if c.Pointer != "" {
			where = Visible(c.Pointer) + ": "
		}
		fmt.Fprintf(t, "  %s%s (saves about %s)\n", where, Visible(c.Message), Plural(c.Tokens, "token"))
	}
}

// Advice on size is given for the largest cuts, and for none below a twentieth
// of the document.
const (
	maxCuts    = 3
	worthwhile = 20
)

// countText counts findings: "2 errors, 1 warning, 3 known ones hidden".
func countText(r Report) string {
	var parts []string
	for _, s := range []struct {
		severity protocol.Severity
		word     string
	}{{protocol.Error, "error"}, {protocol.Warning, "warning"}, {protocol.Info, "note"}} {
		if n := countSeverity(r, s.severity); n > 0 {
			parts = append(parts, Plural(n, s.word))
		}
	}
	if r.Hidden > 0 {
		parts = append(parts, fmt.Sprintf("%d known and hidden by the baseline", r.Hidden))
	}
	return strings.Join(parts, ", ")
}

func countSeverity(r Report, s protocol.Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Plural writes "1 error" and "2 errors".
func Plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
