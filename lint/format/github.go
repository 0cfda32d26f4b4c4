package format

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"gazetteer/protocol"
)

// writeGitHub writes workflow commands, which GitHub shows beside the lines of a
// change, and a closing count for the log.
func writeGitHub(w *bytes.Buffer, reports []Report, _ Options) error {
	for _, r := range reports {
		if len(r.Findings) == 0 {
			continue
		}
		src := newSource(r.Text)
		for _, f := range r.Findings {
			fmt.Fprintf(w, "::%s %s::%s\n", severityWord(f.Severity, "notice"),
				annotationProperties(r.Input, src, f), dataEscaper.Replace(githubText(r.Input, f)))
		}
	}
	// A line of plain log must not be read as a command.
	fmt.Fprintf(w, "%s\n", strings.ReplaceAll(formatTotals(reports), "::", ": :"))
	return nil
}

// severityWord returns error, warning, or the word of the format for an info.
func severityWord(s protocol.Severity, info string) string {
	if s == protocol.Info {
		return info
	}
	return s.String()
}

// annotationProperties writes the place. GitHub accepts endColumn only within one line.
func annotationProperties(input string, src *source, f protocol.Finding) string {
	var parts []string
	add := func(name string, value any) {
		parts = append(parts, name+"="+propertyEscaper.Replace(fmt.Sprint(value)))
	}
	if !isAddress(input) {
		add("file", strings.TrimPrefix(Visible(input), "./"))
		if region := src.findingRegion(f); region != nil {
			add("line", region.StartLine)
			if region.EndLine == region.StartLine {
				add("col", region.StartColumn)
				add("endColumn", region.EndColumn)
			} else if region.EndLine == 0 {
				add("col", region.StartColumn)
			} else {
				add("endLine", region.EndLine)
			}
		}
	}
	add("title", f.Code)
	return strings.Join(parts, ",")
}

// githubText returns the text of an annotation, with the place in words where GitHub cannot show
// it.
func githubText(input string, f protocol.Finding) string {
	text := messageText(f)
	if isAddress(input) {
		text = formatPlace(input, f) + ": " + text
	}
	if f.Pointer != "" {
		text += " (" + Visible(f.Pointer) + ")"
	}
	return text
}

// isAddress reports whether an input is an address and not a file.
func isAddress(input string) bool {
	return strings.HasPrefix(input, "https://") || strings.HasPrefix(input, "http://")
}

// The escapes of workflow commands: foreign text must not begin a command or end a property.
var (
	dataEscaper     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscaper = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// formatTotals counts inputs and findings in one line.
func formatTotals(reports []Report) string {
	failed, n := 0, map[protocol.Severity]int{}
	for _, r := range reports {
		if r.Failed() {
			failed++
		}
		for _, f := range r.Findings {
			n[f.Severity]++
		}
	}
	return fmt.Sprintf("%s, %d failed: %s, %s, %s", Plural(len(reports), "document"), failed,
		Plural(n[protocol.Error], "error"), Plural(n[protocol.Warning], "warning"), Plural(n[protocol.Info], "note"))
}

// maxRows is how many findings a summary lists; GitHub refuses pages over a megabyte.
const maxRows = 200

// Summary writes the page for GITHUB_STEP_SUMMARY: a table of the inputs and one
// of the findings, in Markdown.
func Summary(w io.Writer, reports []Report) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### Documents for agents\n\n%s\n\n", escapeMarkdown(formatTotals(reports)))
	b.WriteString("| document | kind | valid | errors | warnings | operations | tokens |\n|---|---|---|---:|---:|---:|---:|\n")
	for _, r := range reports[:min(len(reports), maxRows)] {
		valid := "yes"
		if !r.Valid {
			valid = "**no**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %d | %d | %d |\n", escapeMarkdown(r.Input), escapeMarkdown(string(r.Kind)), valid,
			countSeverity(r, protocol.Error), countSeverity(r, protocol.Warning), r.Operations, r.Tokens.Served)
	}
	rows := 0
	for _, r := range reports {
		for _, f := range r.Findings {
			if rows++; rows == 1 {
				b.WriteString("\n| | rule | where | what |\n|---|---|---|---|\n")
			}
			if rows <= maxRows {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.Severity, escapeMarkdown(f.Code), escapeMarkdown(formatPlace(r.Input, f)), escapeMarkdown(messageText(f)))
			}
		}
	}
	if rows > maxRows {
		fmt.Fprintf(&b, "\n%d more are in the log.\n", rows-maxRows)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// escapeMarkdown makes foreign text plain in a table cell: no markup, no links, no mentions, one
// line.
func escapeMarkdown(s string) string {
	var b strings.Builder
	for _, r := range Visible(s) {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@':
			b.WriteString("&#64;") // or it would call a person of that name
		case r == '#':
			b.WriteString("&#35;") // or it would link to an issue
		case strings.ContainsRune("\\`*_[]|~", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return strings.NewReplacer("://", "&#58;//", "www.", "www&#46;").Replace(b.String())
}
