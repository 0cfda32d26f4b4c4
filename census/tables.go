package census

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gazetteer/census/tally"
	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/lint"
	"gazetteer/lint/format"
	"gazetteer/registry"
	"gazetteer/web/plot"
)

// A Table has figures, their explanation and a plot.
type Table struct {
	Name       string // of its file: data/NAME.csv
	Title      string
	Definition string
	Columns    []string
	Rows       []Row
	// Chart draws the rows, nil where there is nothing to draw.
	Chart *plot.Chart

	onPage []string // the columns on pages besides the first, nil for all
}

// OnPage returns the table with the columns that pages show.
func (t Table) OnPage() Table {
	if t.onPage == nil {
		return t
	}
	shown := func(cells []string) (list []string) {
		for i, c := range cells {
			if i == 0 || slices.Contains(t.onPage, t.Columns[i]) {
				list = append(list, c)
			}
		}
		return list
	}
	page := t
	page.Columns, page.Rows = shown(t.Columns), make([]Row, len(t.Rows))
	for i, row := range t.Rows {
		page.Rows[i] = Row{Cells: shown(row.Cells), Feature: row.Feature}
	}
	return page
}

// A Row is a line of a table. Its first cell can be an untrusted text.
type Row struct {
	Cells []string
	// Feature is what the row counts, zero for rows that have no list of hosts behind them.
	Feature Feature
}

// MaxBars is the number of bars that a drawing has at most.
const MaxBars = 20

// BarLabel returns the name of what the bars of a table's drawing are, with the number of those that
// are drawn unless all are.
func (t Table) BarLabel(name string) string {
	if len(t.Rows) <= MaxBars {
		return name
	}
	return fmt.Sprintf("%s (%d of %d)", name, MaxBars, len(t.Rows))
}

// Tables returns all tables in the order of the census.
func (f *Figures) Tables() []Table {
	tables := []Table{f.summaryTable()}
	for _, s := range seriesTables {
		if t, ok := f.seriesTable(s); ok {
			tables = append(tables, t)
		}
	}
	for _, family := range families {
		tables = append(tables, f.familyTable(family))
	}
	return append(tables, f.survivalTable(), f.changesTable(), f.severitiesTable(), f.agentsTable(), f.strengthTable())
}

func (f *Figures) summaryTable() Table {
	t := Table{Name: "summary", Title: "At a glance", Columns: []string{"figure", "value"}, Definition: defineTotals()}
	add := func(name string, value any) { t.Rows = append(t.Rows, Row{Cells: []string{name, fmt.Sprint(value)}}) }
	add("hosts", f.Hosts)
	add("domains", f.Domains)
	add("visited hosts", f.Visited)
	add("services", f.Services)
	add("documents", f.Documents)
	add("operations", f.Operations)
	add("versions", f.Versions)
	add("opted out", f.OptedOut)
	add("active agents", f.Agents.Active)
	from := "none"
	if !f.HistoryFrom.IsZero() {
		from = f.HistoryFrom.UTC().Format(time.RFC3339)
	}
	add("history of states from", from)
	add("hosts recorded after the date", f.Later)
	add("damaged records", f.Damaged)
	add("values beyond the limit of a family", f.Left)
	return t
}

// timeTable is a table over time.
type timeTable struct {
	name, title, definition, family string
	names                           []string // drawn and on the page; nil for all
	axis                            string
}

// seriesTables are the tables over time: which series each of them has.
var seriesTables = []timeTable{
	{"adoption", "Adoption by format over time", "The number of hosts that publish a format at the end of each week before the date. A host counts from the first stored version of the format on, for as long as it is current; a format that it no longer publishes counts until the history says that the host published nothing, and where there is no such history until its last version was first seen.", seriesFormats, nil, "hosts"},
	{"states", "The five states over time", "The number of hosts with a verdict on a state, by the last recorded change of the host before that time. It begins with the history of states. Plots and pages have only the verdict yes.", seriesStates, yesNames(), "hosts"},
	{"classes", "Classes of hosts over time", "The number of hosts of a class, by the last recorded change of the host before that time. It begins with the history of states. The plot has the six largest classes.", seriesClasses, nil, "hosts"},
	{"changes-by-week", "New versions by week", "The number of new versions of documents that were first seen in the week that ends at the point, without the first version of a document.", seriesChanges, nil, "versions"},
}

func yesNames() []string {
	var names []string
	for _, n := range conformance.Names() {
		names = append(names, string(n)+"="+string(conformance.Yes))
	}
	return names
}

// seriesTable is a table over time; false where there is nothing to tell.
func (f *Figures) seriesTable(s timeTable) (Table, bool) {
	t := Table{Name: s.name, Title: s.title, Definition: s.definition, Columns: []string{"date"}, onPage: s.names}
	var all []tally.Series
	var lines []plot.Line
	for _, series := range f.Series {
		if series.Family != s.family {
			continue
		}
		all = append(all, series)
		t.Columns = append(t.Columns, series.Name)
		l := plot.Line{Name: strings.TrimSuffix(series.Name, "=yes")}
		some := false
		for _, p := range series.Points {
			some = some || p.Value > 0
			switch {
			case f.isUnknown(s, p.At):
			case s.family == seriesChanges: // the figure is that of the week before the point
				l.Points = append(l.Points, plot.Point{At: p.At.Add(-tally.Week), Value: float64(p.Value)})
			default:
				l.Points = append(l.Points, plot.Point{At: p.At, Value: float64(p.Value)})
			}
		}
		if n := len(l.Points); n > 0 && s.family == seriesChanges {
			l.Points = append(l.Points, plot.Point{At: l.Points[n-1].At.Add(tally.Week), Value: l.Points[n-1].Value})
		}
		if s.names == nil && some || slices.Contains(s.names, series.Name) {
			lines = append(lines, l)
		}
	}
	if len(all) == 0 {
		return t, false
	}
	for i, p := range all[0].Points {
		if f.isUnknown(s, p.At) {
			continue
		}
		row := Row{Cells: []string{p.At.UTC().Format("2006-01-02")}}
		for _, series := range all {
			row.Cells = append(row.Cells, fmt.Sprint(series.Points[i].Value))
		}
		t.Rows = append(t.Rows, row)
	}
	slices.SortStableFunc(lines, func(a, b plot.Line) int {
		if s.names != nil {
			return 0
		}
		return int(lastValue(b) - lastValue(a))
	})
	// States without a recorded change have no time before the date.
	if s.family != seriesStates && s.family != seriesClasses || !f.HistoryFrom.IsZero() {
		t.Chart = plot.NewLines(s.title, s.axis, lines)
	}
	return t, true
}

// isUnknown reports whether a table has no figures of a time, because the history of states begins later.
func (f *Figures) isUnknown(s timeTable, at time.Time) bool {
	return (s.family == seriesStates || s.family == seriesClasses) && at.Before(f.HistoryFrom)
}

// lastValue returns the newest value of a line, 0 for one without any.
func lastValue(l plot.Line) float64 {
	if len(l.Points) == 0 {
		return 0
	}
	return l.Points[len(l.Points)-1].Value
}

func (f *Figures) familyTable(family Family) Table {
	t := Table{Name: family.Name, Title: family.Title, Definition: family.Definition, Columns: []string{family.Column, "hosts", "domains"}}
	switch family.Name {
	case "verb":
		t.Columns = append(t.Columns, "operations")
	case "rule":
		t.onPage, t.Columns = []string{"hosts", "domains", "of hosts", "severity"}, append(t.Columns, "severity", "section", "basis", "of hosts")
	}
	var bars []plot.Bar
	values := f.Values(family)
	for i, v := range values {
		row := Row{Cells: []string{v.Feature.Value, fmt.Sprint(v.Hosts), fmt.Sprint(v.Domains)}, Feature: v.Feature}
		switch family.Name {
		case "verb":
			row.Cells = append(row.Cells, fmt.Sprint(f.VerbOperations[v.Feature.Value]))
		case "rule":
			r, _ := lint.Rule(v.Feature.Value)
			row.Cells = append(row.Cells, r.Severity.String(), r.Section, r.Basis, f.hostsUnder(r.Code))
		}
		t.Rows = append(t.Rows, row)
		if family.Ranges && i > 0 { // an axis of ranges has no gaps
			for _, empty := range missingRanges(values[i-1].Feature.Value, v.Feature.Value) {
				bars = append(bars, plot.Bar{Label: empty})
			}
		}
		if len(bars) < MaxBars {
			bars = append(bars, plot.Bar{Label: format.Visible(v.Feature.Value), Value: float64(v.Hosts)})
		}
	}
	t.Chart = plot.NewBars(family.Title, t.BarLabel(family.Column), "hosts", bars)
	return t
}

// hostsUnder returns the number of hosts that could break a rule, "" for a rule that is about no format.
func (f *Figures) hostsUnder(code string) string {
	if FormatsOfRule(code) == nil {
		return ""
	}
	return fmt.Sprint(f.HostsOf(Feature{"rule", code}))
}

// HostsOf returns how many hosts could have a feature: the known hosts, and for a rule about documents
// those with a document of its format.
func (f *Figures) HostsOf(feature Feature) int {
	formats := FormatsOfRule(feature.Value)
	if feature.Family != "rule" || formats == nil {
		return f.Hosts
	}
	n := 0
	for _, format := range formats {
		n += f.Features[Feature{"format", format}].Hosts
	}
	return n
}

// minAtRisk is the number of hosts from which on the plot of the survival has a share.
const minAtRisk = 5

func (f *Figures) survivalTable() Table {
	t := Table{Name: "survival", Title: "Survival of hosts", Columns: []string{"days", "share", "at risk"},
		Definition: "The estimated share of hosts that still publish a document that many days after the first one was seen (Kaplan and Meier: at each day with ends, the share is multiplied by 1 − ends/at risk; a host that still publishes at the date is at risk for as long as it was observed). The plot ends where fewer than five hosts are at risk. A host ends when the last of its formats does, see spans.csv. At risk is the number of hosts that were observed for at least that many days."}
	var days []int
	var shares []float64
	axis := ""
	for _, p := range f.Survival {
		t.Rows = append(t.Rows, Row{Cells: []string{fmt.Sprint(p.Days), fmt.Sprintf("%.4f", p.Share), fmt.Sprint(p.AtRisk)}, Feature: observedFeature(p.Days)})
		if p.AtRisk >= minAtRisk {
			days, shares = append(days, p.Days), append(shares, p.Share)
			axis = fmt.Sprintf("share of %d hosts (%d on day %d)", f.Survival[0].AtRisk, p.AtRisk, p.Days)
		}
	}
	t.Chart = plot.NewSteps(t.Title, "still publish", axis, days, shares)
	return t
}

func (f *Figures) changesTable() Table {
	t := Table{Name: "changes", Title: "Change rates", Columns: []string{"format", "documents", "changed"},
		Definition: "Documents that were published 30 days before the date and still are, and how many of them have a new version since."}
	var bars []plot.Bar
	for _, c := range f.Changes {
		t.Rows = append(t.Rows, Row{Cells: []string{c.Kind, fmt.Sprint(c.Documents), fmt.Sprint(c.Changed)}, Feature: Feature{"format", c.Kind}})
		bars = append(bars, plot.Bar{Label: document.Kind(c.Kind).Describe(), Value: 100 * float64(c.Changed) / float64(max(c.Documents, 1))})
	}
	t.Chart = plot.NewBars("Documents that changed in 30 days", "format", "percent", bars)
	return t
}

func (f *Figures) severitiesTable() Table {
	t := Table{Name: "severities", Title: "Severity of changes", Columns: []string{"severity", "changes"},
		Definition: "Each new version of the 30 days before the date is compared with the one before it. The severity is that of its worst change for callers; " + diff.Meaning + "; none: the same meaning. Not compared are versions whose bytes are not stored or cannot be read."}
	var bars []plot.Bar
	for _, s := range f.Severities {
		t.Rows = append(t.Rows, Row{Cells: []string{s.Severity, fmt.Sprint(s.Changes)}})
		bars = append(bars, plot.Bar{Label: s.Severity, Value: float64(s.Changes)})
	}
	t.Chart = plot.NewBars(t.Title, "severity", "changes", bars)
	return t
}

func (f *Figures) agentsTable() Table {
	t := Table{Name: "agents", Title: "Agents by signal", Columns: []string{"signal", "agents"},
		Definition: "Active agents of the registry that hold a signal of evidence at the date: proved, or observed by the registry in the last seven days. key: the agent holds its key. age: its key is in use for at least 30 days. domain: the owner of a domain names the agent. did: the DID document of its creator lists the key of the agent, and the agent holds it. inbox: the inbox answers. agis: what its domain publishes for agents names it. repository: its code repository names it. attestations: an agent of at least one registrable domain attests to it; rings are counted too."}
	var bars []plot.Bar
	for _, signal := range registry.Signals() {
		n := f.Agents.Signals[signal]
		t.Rows = append(t.Rows, Row{Cells: []string{signal, fmt.Sprint(n)}})
		bars = append(bars, plot.Bar{Label: signal, Value: float64(n)})
	}
	if f.Agents.Active > 0 {
		t.Chart = plot.NewBars(t.Title, "signal", "agents", bars)
	}
	return t
}

func (f *Figures) strengthTable() Table {
	t := Table{Name: "agent-strength", Title: "Agents by strength of evidence", Columns: []string{"signals", "agents"},
		Definition: "Active agents by the number of signals that they hold. The list of agents begins with those that hold most."}
	var bars []plot.Bar
	for _, n := range slices.Sorted(maps.Keys(f.Agents.Strength)) {
		t.Rows = append(t.Rows, Row{Cells: []string{fmt.Sprint(n), fmt.Sprint(f.Agents.Strength[n])}})
		bars = append(bars, plot.Bar{Label: fmt.Sprint(n), Value: float64(f.Agents.Strength[n])})
	}
	t.Chart = plot.NewBars(t.Title, "signals", "agents", bars)
	return t
}
