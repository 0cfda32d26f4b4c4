package census

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
	texttemplate "text/template"
	"time"

	"gazetteer/lint/format"
	"gazetteer/protocol"
	"gazetteer/web/plot"
)

// shownRows is how many rows of a table the pages show; the file of the table has all.
const shownRows = 25

// maxCellText is the number of characters of an untrusted text that the pages show.
const maxCellText = 80

// clipText shortens a text that is shown.
func clipText(text string) string {
	return protocol.ClipRunes(format.Visible(text), maxCellText)
}

// markdownEscapes are the characters that mean something in Markdown.
var markdownEscapes = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "{", `\{`, "}", `\}`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "#", `\#`, "|", `\|`, "!", `\!`, "~", `\~`, "$", `\$`, "://", `:\//`, "@", `\@`, "www.", `www\.`)

// sampleRows returns the rows that a page shows: the first, or an even choice of a table over time.
func sampleRows(t Table) []Row {
	if len(t.Rows) <= shownRows || !strings.EqualFold(t.Columns[0], "date") {
		return t.Rows[:min(len(t.Rows), shownRows)]
	}
	every := (len(t.Rows) + shownRows - 1) / shownRows
	var rows []Row
	for i := len(t.Rows) - 1; i >= 0; i -= every {
		rows = append(rows, t.Rows[i])
	}
	return rows
}

// DescribeDate names a whole day without a time: today's census ends in the future.
func DescribeDate(at time.Time) string {
	if at.Format(time.TimeOnly) == "23:59:59" {
		return at.Format("2 January 2006 (UTC)")
	}
	return at.Format("2 January 2006, 15:04 UTC")
}

func titleOf(f *Figures) string { return "Census of " + DescribeDate(f.At) }

// renderMarkdown writes census.md.
func renderMarkdown(f *Figures, tables []Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\nMETHOD.md defines every figure, `data/` has what they are counted from, and SHA256SUMS\nthe checksums of all files.\n", titleOf(f), describeHistory(f))
	for _, t := range tables {
		fmt.Fprintf(&b, "\n## %s\n\n", t.Title)
		if t.Chart != nil {
			fmt.Fprintf(&b, "![%s](plots/%s.svg)\n\n", t.Title, t.Name)
		}
		if len(t.Rows) == 0 {
			b.WriteString("Nothing recorded yet.\n")
			continue
		}
		fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(t.Columns, " | "), "---|"+strings.Repeat("---:|", len(t.Columns)-1))
		for _, row := range sampleRows(t) {
			b.WriteString("|")
			for _, c := range row.Cells {
				b.WriteString(" " + markdownEscapes.Replace(clipText(c)) + " |")
			}
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "\n%s\n", describeRest(t))
	}
	return b.String()
}

// describeHistory says since when there is a history of states.
func describeHistory(f *Figures) string {
	switch {
	case f.Hosts == 0:
		return "No host was known at this date."
	case f.HistoryFrom.IsZero():
		return "The store has no history of the five states: figures of them are those of the date alone."
	}
	return "The history of the five states begins on " + f.HistoryFrom.UTC().Format("2 January 2006, 15:04 UTC") + "."
}

// describeRest says where all rows of a table are.
func describeRest(t Table) string {
	if shown := len(sampleRows(t)); shown < len(t.Rows) {
		return fmt.Sprintf("%d of %d rows; all are in data/%s.csv.", shown, len(t.Rows), t.Name)
	}
	return fmt.Sprintf("All rows; also in data/%s.csv.", t.Name)
}

var (
	//go:embed texts/census.html
	htmlText string
	//go:embed texts/census.css
	htmlStyle template.CSS
	//go:embed texts/method.md
	methodText string
	//go:embed texts/LICENSE.txt
	dataLicense string
)

// htmlPage is census.html, which needs no other file.
var htmlPage = template.Must(template.New("census.html").Funcs(template.FuncMap{
	"plain": func(text string) string { return strings.ReplaceAll(text, "`", "") }, "rows": sampleRows, "clip": clipText, "rest": describeRest,
}).Parse(htmlText))

// renderHTML writes census.html.
func renderHTML(f *Figures, tables []Table) (string, error) {
	data := struct {
		Title, History string
		Style          template.CSS
		Tables         []Table
	}{titleOf(f), describeHistory(f), plot.ChartStyle + "\n" + htmlStyle, tables}
	var b strings.Builder
	err := htmlPage.Execute(&b, data)
	return b.String(), err
}

// methodPage is METHOD.md.
var methodPage = texttemplate.Must(texttemplate.New("METHOD.md").Funcs(texttemplate.FuncMap{
	"code": func(names []string) string { return "`" + strings.Join(names, "`, `") + "`" },
}).Parse(methodText))

// renderMethod writes METHOD.md.
func (w *folderWriter) renderMethod(f *Figures, tables []Table) (string, error) {
	data := struct {
		At, History, Program string
		Early                bool
		Facts                []factFile
		Tables               []Table
	}{f.At.Format(time.RFC3339), describeHistory(f), format.Visible(w.program), w.early, factFiles, tables}
	var b strings.Builder
	err := methodPage.Execute(&b, data)
	return b.String(), err
}
