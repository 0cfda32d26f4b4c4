package census

import (
	"fmt"
	"html/template"
	"strings"
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

// htmlPage is census.html, which needs no other file.
var htmlPage = template.Must(template.New("census").Funcs(template.FuncMap{
	"plain": func(text string) string { return strings.ReplaceAll(text, "`", "") }, "rows": sampleRows, "clip": clipText, "rest": describeRest,
}).Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<title>{{.Title}}</title><style>{{.Style}}</style></head><body><main>
<h1>{{.Title}}</h1><p>{{.History}} <a href="METHOD.md">METHOD.md</a> defines every figure; <a href="data/">data</a> has what they are counted from.</p>
<nav aria-label="Tables"><ul>{{range .Tables}}<li><a href="#{{.Name}}">{{.Title}}</a></li>{{end}}</ul></nav>
{{range .Tables}}<section id="{{.Name}}"><h2>{{.Title}}</h2><p class="definition">{{plain .Definition}}</p>
{{if .Chart}}<figure role="region" aria-label="Plot of {{.Title}}" tabindex="0">{{.Chart.SVG}}</figure>{{end}}
{{if .Rows}}<div class="scrolls" role="region" aria-label="Figures of {{.Title}}" tabindex="0"><table><thead><tr>{{range $i, $c := .Columns}}<th scope="col"{{if $i}} class="number"{{end}}>{{$c}}</th>{{end}}</tr></thead><tbody>
{{range rows .}}<tr>{{range $i, $c := .Cells}}{{if $i}}<td class="number">{{clip $c}}</td>{{else}}<th scope="row"><bdi>{{clip $c}}</bdi></th>{{end}}{{end}}</tr>
{{end}}</tbody></table></div><p class="rest">{{rest .}} <a href="data/{{.Name}}.csv">Open it</a></p>{{else}}<p>Nothing recorded yet.</p>{{end}}</section>
{{end}}</main></body></html>
`))

const htmlStyle = plot.ChartStyle + `
:root{color-scheme:light dark;--ground:#fbfaf7;--ink:#1f211e;--soft:#5a5d56;--line:#e2dfd6;--accent:#0c5f56}
@media (prefers-color-scheme:dark){:root{--ground:#141614;--ink:#e7e6df;--soft:#a8aaa1;--line:#2f332e;--accent:#83cdc1}}
body{margin:0;background:var(--ground);color:var(--ink);font:16px/1.55 system-ui,"Noto Sans","DejaVu Sans",sans-serif}
main{max-width:46rem;margin:0 auto;padding:2rem 1.25rem 4rem}h1{font-size:1.9rem;line-height:1.2}
section{margin-top:3rem;break-inside:avoid-page}a{color:var(--accent)}nav ul{columns:3 12rem;padding-left:1.25rem}
.definition,.rest{color:var(--soft);font-size:.9rem}figure{margin:1rem 0}figure svg{display:block;width:100%;max-width:32rem;height:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:.9rem}
th,td{text-align:left;padding:.2rem .5rem .2rem 0;border-bottom:1px solid var(--line);overflow-wrap:anywhere;font-weight:400}
thead th{font-weight:600;overflow-wrap:normal}tbody th{min-width:5.5rem}td.number{overflow-wrap:normal}.number{text-align:right;padding:.2rem 0 .2rem .75rem}
.scrolls{overflow-x:auto}
@media print{:root{--ground:#fff;--ink:#000;--soft:#333;--line:#bbb;--accent:#000}main{max-width:none;padding:0}nav{display:none}figure{break-inside:avoid}figure svg{max-width:22rem}.scrolls{overflow:visible}table{font-size:.7rem}.number{padding-left:.25rem;overflow-wrap:normal}thead th,thead .number{overflow-wrap:anywhere}}
`

// renderHTML writes census.html.
func renderHTML(f *Figures, tables []Table) (string, error) {
	data := struct {
		Title, History string
		Style          template.CSS
		Tables         []Table
	}{titleOf(f), describeHistory(f), template.CSS(htmlStyle), tables}
	var b strings.Builder
	err := htmlPage.Execute(&b, data)
	return b.String(), err
}

// renderMethod writes METHOD.md.
func renderMethod(f *Figures, tables []Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, methodHead, f.At.Format(time.RFC3339), describeHistory(f))
	b.WriteString("\n## The facts\n\nTimes are UTC. Empty cells are unknown or do not apply.\n\n| file | holds | columns |\n|---|---|---|\n")
	for _, file := range factFiles {
		fmt.Fprintf(&b, "| data/%s.csv | %s | %s |\n", file.name, file.title, "`"+strings.Join(file.columns, "`, `")+"`")
	}
	b.WriteString("| data/hosts.ndjson.zst | one JSON object for each host, with its documents, outcomes and verbs (`counted_verbs`: of the operations that count for the host) | |\n| data/series.ndjson.zst | every figure over time, one JSON object for each | |\n")
	b.WriteString(methodColumns)
	b.WriteString("\n## The figures\n")
	for _, t := range tables {
		fmt.Fprintf(&b, "\n### %s (data/%s.csv)\n\n%s Columns: `%s`.\n", t.Title, t.Name, t.Definition, strings.Join(t.Columns, "`, `"))
	}
	b.WriteString(methodRecipes)
	return b.String()
}

const methodHead = `# How the figures are made

The census counts the records up to %s. %s

- A **host** is a network host that the crawler knows. Hosts whose owners opted out are in no file;
  only their number is given.
- A **document** is current if the host published it at the date. For a date in the past it is the
  version that was current then, read again by the current rules. A document that was withdrawn
  before the date is in ` + "`versions.csv` and `spans.csv`" + `, and in no figure of the date.
- The **standing** of a host (its class and the five states) is judged by its last visit up to the
  date (` + "`judged_from` is `visit`" + `). If the host was visited again after the date, it is that of the last
  recorded change (` + "`history`" + `), and ` + "`unknown`" + ` where there is none; TLS, robots.txt and the outcomes of
  requests are not counted then.
- A **figure** of a family counts hosts, each once, however many of its documents have the value. Its
  **domains** are the registered ones of these hosts (by the ICANN part of the public suffix list: all
  hosts below ` + "`netlify.app`" + ` have one domain). Anyone can have any number of hosts below a domain, so the
  number of owners is between that of domains and that of hosts.
  Figures over time and of survival count hosts alone.
- Records that are dated after the date do not count. Where a clock went back, a change of states
  counts from the time of the change before it.
- Texts that strangers chose are as published, except that control characters and characters that
  reorder or hide text are written as \u{...}, and that a cell that a spreadsheet would take for a
  formula begins with an apostrophe. A value of a figure that is longer than 120 characters ends in
  an ellipsis.
- A family has at most 200,000 values; the summary says how many are left out.
- Tables are in order of the figure, the largest first, and then of the value; or in the order of the
  value, if it has one. If strangers choose the values, the order is that of the domains first.
`

const methodRecipes = `
## Recomputing figures

The CSV files are RFC 4180. Cells with strangers' texts can hold commas and quotes, so they stand in
the last columns; the first columns can be cut at commas. With standard tools:

` + "```sh" + `
# Hosts by class, and the domains that they are below (class.csv), the largest first
awk -F, 'NR > 1 { n[$5]++; if (!met[$5, $18]++) d[$5]++ } END { for (c in n) print c "," n[c] "," d[c] }' data/hosts.csv | sort -t, -k2,2nr -k1,1

# Hosts that publish a format (format.csv)
awk -F, 'NR > 1 { print $1 "," $2 }' data/documents.csv | sort -u | awk -F, '{ n[$2]++ } END { for (f in n) print f "," n[f] }' | sort -t, -k2,2nr -k1,1

# Most frequently broken rules (the columns rule and hosts of rule.csv)
awk -F, 'NR > 1 { m = split($11, r, " "); for (i = 1; i <= m; i++) print $1 "," r[i] }' data/documents.csv | sort -u | awk -F, '{ n[$2]++ } END { for (c in n) print c "," n[c] }' | sort -t, -k2,2nr -k1,1

# Formats together (formats.csv)
awk -F, 'NR > 1 && $14 != "" { n[$14]++ } END { for (f in n) print f "," n[f] }' data/hosts.csv | sort -t, -k2,2nr -k1,1

# Severity of changes (severities.csv)
awk -F, 'NR > 1 && $8 != "" { n[$8]++ } END { for (s in n) print s "," n[s] }' data/versions.csv

# The verdict yes on the five states (state.csv)
awk -F, 'NR > 1 { for (i = 6; i <= 10; i++) if ($i == "yes") n[i]++ } END { print n[6], n[7], n[8], n[9], n[10] }' data/hosts.csv
` + "```" + `

## A figure of your own

This one compares the conformance of the formats. A line has a format, the number of its current
documents, and how many of them have no error:

` + "```sh" + `
awk -F, 'NR > 1 { n[$2]++; if ($8 == 0) c[$2]++ } END { for (f in n) print f "," n[f] "," c[f] + 0 }' data/documents.csv | sort
` + "```" + `

To cite it, cite this folder with the line of data/documents.csv in SHA256SUMS, and the command.
`

// methodColumns defines the columns of the facts that do not explain themselves.
const methodColumns = `
A document conforms to its draft if ` + "`errors`" + ` is 0: no finding has severity error. ` + "`errors` and `warnings`" + `
count the findings, of which one rule can give several; ` + "`rules`" + ` names each rule of them once.
` + "`level`" + ` is 0 if there is an error, 2 for an AGIS document that declares all that Level 2 asks (AGIS §3.3), and
1 for any other. ` + "`fetched`" + ` is when it was last fetched.
`

const dataLicense = `The data and figures of this census

SPDX-License-Identifier: CC0-1.0

To the extent possible under law, those who made this census waive all copyright and related or
neighboring rights to its data, figures, plots and texts (Creative Commons CC0 1.0 Universal,
https://creativecommons.org/publicdomain/zero/1.0/legalcode).

Words that hosts publish about themselves (names of verbs, namespaces, categories, data classes and
the like) are quoted as facts. They remain those of their owners, as do the documents, which are not
part of the census: their digests and addresses lead to them.
`
