package censuspages

import (
	"slices"
	"strconv"
	"strings"

	"gazetteer/census"
	"gazetteer/conformance"
	"gazetteer/fetch"
	"gazetteer/lint"
	"gazetteer/lint/format"
	"gazetteer/protocol/wording"
	"gazetteer/web/agentpages"
	"gazetteer/web/frame"
	"gazetteer/web/plot"
)

// censusStates name the states of hosts as the definitions of the census do, with the words for a host
// that is in a state and for one that is not.
var censusStates = map[string]struct{ yes, no string }{
	"reachable":   {"Reachable", "Not reachable"},
	"well-formed": {"Readable", "Not readable"},
	"conformant":  {"Conforms to its draft", "Does not conform to its draft"},
	"consistent":  {"Documents agree", "Documents disagree"},
	"answers":     {"Serves its documents", "Does not serve its documents"},
}

// stateClauses say how many hosts are in a state, after the number.
var stateClauses = map[string]string{
	"reachable":   "can be reached",
	"well-formed": "have documents that can be read",
	"conformant":  "conform to their drafts",
	"consistent":  "have documents without contradictions",
	"answers":     "answer today",
}

// censusWords are the words for values of the closed families, under the name of the family, a
// colon and the value.
var censusWords = map[string]string{
	"class:publishes":          "Publishes a document",
	"class:other-dialect":      "Publishes another dialect",
	"class:other-format":       "Publishes another format",
	"class:catch-all":          "Same answer to every path",
	"class:withheld-by-robots": "Disallowed by robots.txt",
	"class:unreadable":         "Publishes no readable document",
	"class:failing":            "Answers with errors",
	"class:nothing":            "Publishes nothing",
	"class:silent":             "No answer at all",
	"class:unvisited":          "Not visited yet",
	"class:unknown":            "Unknown",
	"alias-only:yes":           "Only at /ai",
	"alias-only:no":            "At /.well-known/ai",
	"duplicate:yes":            "Same bytes as another document",
	"duplicate:no":             "Different from all others",
	"robots:open":              "Allows all paths",
	"robots:closed":            "Disallows all paths",
	"robots:partly":            "Disallows some paths",
	"robots:none":              "No robots.txt",
	"robots:failed":            "Could not be read",
	"robots:unknown":           "Not requested",
}

// describeFigure names the value of a family for people; a value that the program did not choose
// stands for itself.
func describeFigure(family, value string) string {
	if word, ok := censusWords[family+":"+value]; ok {
		return word
	}
	switch family {
	case "state":
		name, verdict, _ := strings.Cut(value, "=")
		words, known := censusStates[name]
		switch {
		case !known:
			return value
		case verdict == string(conformance.No):
			return words.no
		case verdict == string(conformance.Unknown):
			return words.yes + ": not known"
		}
		return words.yes
	case "format":
		return formatWord(value)
	case "formats":
		parts := strings.Split(value, "+")
		for i, kind := range parts {
			parts[i] = formatWord(kind)
		}
		return strings.Join(parts, " + ")
	case "outcome":
		kind, outcome, _ := strings.Cut(value, " ")
		return formatWord(kind) + ": " + strings.ReplaceAll(lowerFirst(frame.DescribeOutcome(fetch.Outcome(outcome))), ": ", ", ")
	case "media-type":
		kind, mediaType, _ := strings.Cut(value, " ")
		return formatWord(kind) + ": " + mediaType
	case "rule":
		if r, ok := lint.Rule(value); ok {
			return value + " " + wording.Shorten(strings.ReplaceAll(wording.FirstSentence(r.Text), "`", ""), maxRuleTitle)
		}
	case "size", "tokens", "operations", "version-count":
		if from, to, ok := parseRange(value); ok {
			return describeRange(family, from, to)
		}
	case "language":
		return frame.DescribeLanguage(value)
	case "signal":
		return agentpages.DescribeSignal(value)
	}
	return value
}

// parseRange reads a range of whole numbers, "4-7", or one number.
func parseRange(text string) (from, to int, ok bool) {
	first, last, isRange := strings.Cut(text, "-")
	from, err := strconv.Atoi(first)
	if !isRange {
		return from, from, err == nil
	}
	to, errTo := strconv.Atoi(last)
	return from, to, err == nil && errTo == nil && to > from
}

// describeRange writes a range for people: "512 to 1,023", and "128 to 256 KiB" for sizes.
func describeRange(family string, from, to int) string {
	switch {
	case from == to:
		return frame.FormatNumber(from)
	case family == "size" && from >= 1<<20:
		return frame.FormatNumber(from>>20) + " to " + frame.FormatNumber((to+1)>>20) + " MiB"
	case family == "size" && from >= 1<<10:
		return frame.FormatNumber(from>>10) + " to " + frame.FormatNumber((to+1)>>10) + " KiB"
	}
	return frame.FormatNumber(from) + " to " + frame.FormatNumber(to)
}

// missingBars are the ranges between two that a drawing shows, for hosts that there are none of.
func missingBars(family, before, next string) (bars []plot.Bar) {
	_, last, ok := parseRange(before)
	from, _, isRange := parseRange(next)
	for n := last + 1; ok && isRange && n < from; n *= 2 {
		bars = append(bars, plot.Bar{Label: describeRange(family, n, 2*n-1)})
	}
	return bars
}

// formatWord names a format in few characters, for legends.
func formatWord(kind string) string {
	return strings.Replace(frame.KindName(kind), " document", "", 1)
}

// lowerFirst writes a phrase of ours inside of a sentence.
func lowerFirst(s string) string { return strings.ToLower(s[:min(len(s), 1)]) + s[min(len(s), 1):] }

// describedFamilies are the families of rows and columns whose values have words for people.
var describedFamilies = map[string]string{
	"adoption": "format", "changes-by-week": "format", "states": "state", "classes": "class", // over time
	"class": "class", "state": "state", "format": "format", "formats": "formats", "alias-only": "alias-only", "duplicate": "duplicate",
	"robots": "robots", "rule": "rule", "size": "size", "tokens": "tokens", "operations": "operations", "version-count": "version-count", "outcome": "outcome", "media-type": "media-type", "changes": "format", "agents": "signal",
	"language": "language",
}

// titleColumn begins the heading of a column with a capital letter. robots.txt is the name of a file.
func titleColumn(name string) string {
	if strings.HasSuffix(name, ".txt") {
		return name
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

// percentOf writes a share between 0 and 1 in percent.
func percentOf(share string) string {
	f, err := strconv.ParseFloat(share, 64)
	if err != nil {
		return share
	}
	return strconv.FormatFloat(100*f, 'f', 1, 64) + " %"
}

// maxRuleTitle is the number of characters of a rule in a table and its drawing.
const maxRuleTitle = 96

// DescribeTable returns a table with words for people in place of the values of a described family,
// also in its drawing. Columns of the table that a page leaves out must be left out before.
func DescribeTable(t census.Table) census.Table {
	family, described := describedFamilies[t.Name]
	words := t
	if t.Columns[0] == "date" {
		words.Columns = append([]string{"Date"}, t.Columns[1:]...)
		var legend []string
		for i, name := range words.Columns[1:] {
			words.Columns[i+1] = describeFigure(family, name)
			legend = append(legend, strings.TrimSuffix(name, "=yes"), words.Columns[i+1])
		}
		if t.Chart != nil {
			words.Chart = t.Chart.WithNames(legend...)
		}
		return words
	}
	if t.Name == "alias-only" { // whose values have words that name the address
		words.Columns = append([]string{"address"}, t.Columns[1:]...)
	}
	share := slices.Index(t.Columns, "share")
	words.Rows = make([]census.Row, len(t.Rows))
	var bars []plot.Bar
	for i, row := range t.Rows {
		label := describeFigure(family, row.Cells[0])
		words.Rows[i] = census.Row{Cells: append([]string{label}, row.Cells[1:]...), Feature: row.Feature}
		if share > 0 {
			words.Rows[i].Cells[share] = percentOf(row.Cells[share])
		}
		if f, _ := census.FamilyOf(family); f.Ranges && i > 0 { // an axis of ranges has no gaps
			bars = append(bars, missingBars(family, t.Rows[i-1].Cells[0], row.Cells[0])...)
		}
		if n, err := strconv.Atoi(row.Cells[1]); err == nil && len(bars) < census.MaxBars {
			bars = append(bars, plot.Bar{Label: format.Visible(label), Value: float64(n)})
		}
	}
	if t.Chart != nil && described && t.Name != "changes" { // that draws shares, under names of formats
		words.Chart = plot.NewBars(t.Title, t.BarLabel(words.Columns[0]), words.Columns[1], bars)
	}
	return words
}
