package census

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"gazetteer/census/tally"
	"gazetteer/document"
	"gazetteer/registry"
)

// Figures are all figures of a census.
type Figures struct {
	// At is the date: later records do not count.
	At time.Time
	// HistoryFrom is the first change of a state that is recorded, zero for none.
	HistoryFrom time.Time
	Hosts       int // known
	Domains     int // registered domains of the known hosts
	Visited     int
	Services    int // hosts with a current document that is not an alias
	Documents   int
	Operations  int
	Versions    int
	// OptedOut counts hosts whose owner does not want them visited. Nothing else of them is stored,
	// and nothing of them is in the census.
	OptedOut int
	// Features says how many hosts have a feature, below how many registered domains.
	Features map[Feature]tally.Count
	// VerbOperations says how many operations have a verb.
	VerbOperations map[string]int
	Series         []tally.Series
	Survival       []tally.SurvivalPoint
	Changes        []ChangeRate
	Severities     []SeverityCount
	Agents         AgentFigures
	// Later counts hosts that were first recorded after the date, Damaged the records that cannot
	// be read, Left the features that are not counted because there are too many of their family.
	Later, Damaged, Left int
}

// ChangeRate says how many documents of a format changed in the last 30 days.
type ChangeRate struct {
	Kind string `json:"format"`
	// Documents counts those that the host published 30 days before the date and still does,
	// Changed those with a new version since.
	Documents int `json:"documents"`
	Changed   int `json:"changed"`
}

// SeverityCount counts changes by their severity for callers.
type SeverityCount struct {
	Severity string `json:"severity"`
	Changes  int    `json:"changes"`
}

// AgentFigures count registered agents by strength of evidence.
type AgentFigures struct {
	Active int
	// Signals says how many active agents hold a signal, Strength how many hold a number of signals.
	Signals  map[string]int
	Strength map[int]int
}

// changeWindow is the time before the date in which changes are counted.
const changeWindow = 30 * 24 * time.Hour

// maxValues bounds the values of a family that are counted. Strangers choose many of them.
const maxValues = 200_000

// addLifetime counts a host and returns for how many days it was observed, -1 for one that has not
// published.
func (b *figureBuilder) addLifetime(spans []Span) int {
	from, until, alive := hostLifetime(spans)
	if from.IsZero() || from.After(b.f.At) {
		return -1
	}
	if alive {
		until = b.f.At
	}
	return b.lifetimes.Add(until.Sub(from), alive)
}

// hostLifetime returns when a host began to publish, and when it ended or that it still does.
func hostLifetime(spans []Span) (from, until time.Time, alive bool) {
	for _, s := range spans {
		if from.IsZero() || s.From.Before(from) {
			from = s.From
		}
		if s.Until.IsZero() {
			alive = true
		} else if s.Until.After(until) {
			until = s.Until
		}
	}
	return from, until, alive
}

// A figureBuilder counts the facts of one host after the other.
type figureBuilder struct {
	f          Figures
	series     *seriesBuilder
	lifetimes  tally.Lifetimes
	families   map[string]int // how many values are counted
	digests    map[string]int // of current documents: the host that has it
	duplicates []duplicateState
	numbers    tally.DomainNumbers
	domainOf   []uint32 // the domains of the hosts, as duplicates
	domains    map[Feature]tally.DomainSet
	changes    map[string]*ChangeRate
	severities map[string]int
}

type duplicateState uint8

const (
	noDocument duplicateState = iota
	noDuplicate
	isDuplicate
)

func newFigureBuilder(at time.Time) *figureBuilder {
	return &figureBuilder{
		f:      Figures{At: at, Features: map[Feature]tally.Count{}, VerbOperations: map[string]int{}, Agents: AgentFigures{Signals: map[string]int{}, Strength: map[int]int{}}},
		series: &seriesBuilder{weeks: tally.NewWeeks(at)}, families: map[string]int{}, digests: map[string]int{}, changes: map[string]*ChangeRate{}, severities: map[string]int{},
		numbers: tally.DomainNumbers{}, domains: map[Feature]tally.DomainSet{},
	}
}

// describesOperations reports whether a document describes the operations that a summary only names.
func describesOperations(kind string, operations int) bool {
	k := document.Kind(kind)
	return operations > 0 && !k.IsSummary() && !k.IsAlias()
}

// countsOperations reports whether the operations of a document count for its host. Those of an alias
// are at another address, and those of a summary are in the full document, if there is one.
func countsOperations(kind string, full bool) bool {
	k := document.Kind(kind)
	return !k.IsAlias() && (!k.IsSummary() || !full)
}

// addHost counts a host.
func (b *figureBuilder) addHost(h *Facts) {
	b.f.Hosts++
	domain := b.numbers.NumberOf(h.Host)
	if !h.Visited.IsZero() || len(h.Turns) > 0 {
		b.f.Visited++
	}
	for f := range h.all {
		b.addFeature(f, domain)
	}
	index := len(b.duplicates)
	b.duplicates, b.domainOf = append(b.duplicates, noDocument), append(b.domainOf, domain)
	service := false
	for i := range h.Documents {
		d := &h.Documents[i]
		b.f.Documents++
		service = service || !document.Kind(d.Kind).IsAlias()
		b.f.Operations += len(d.Counted)
		for _, verb := range d.Counted {
			if verb != "" {
				b.f.VerbOperations[valueOf(verb)]++
			}
		}
		b.duplicates[index] = max(b.duplicates[index], noDuplicate)
		if other, seen := b.digests[d.Digest]; seen {
			b.duplicates[index], b.duplicates[other] = isDuplicate, isDuplicate
		} else {
			b.digests[d.Digest] = index
		}
	}
	if service {
		b.f.Services++
	}
	for _, f := range observedFeatures(b.addHistory(h.Added, h.Spans, h.Versions, h.Turns)) {
		b.addFeature(f, domain)
	}
}

// addFeature counts a feature of a host below a domain.
func (b *figureBuilder) addFeature(f Feature, domain uint32) {
	n := b.f.Features[f]
	if n.Hosts == 0 {
		if b.families[f.Family] == maxValues {
			b.f.Left++
			return
		}
		b.families[f.Family]++
	}
	seen := b.domains[f]
	if n.Hosts++; seen.Add(domain) {
		n.Domains++
		b.domains[f] = seen
	}
	b.f.Features[f] = n
}

// addHistory counts what a host was, and returns for how many days it was observed, -1 for one that
// has not published.
func (b *figureBuilder) addHistory(added time.Time, spans []Span, versions []Version, turns []Turn) int {
	b.f.Versions += len(versions)
	b.series.addHost(added, spans, versions, turns)
	days := b.addLifetime(spans)
	since := b.f.At.Add(-changeWindow)
	for _, v := range versions {
		if v.Severity != "" {
			b.severities[v.Severity]++
		}
	}
	for _, s := range spans {
		if !s.Until.IsZero() || s.From.After(since) {
			continue
		}
		rate := b.changes[s.Kind]
		if rate == nil {
			rate = &ChangeRate{Kind: s.Kind}
			b.changes[s.Kind] = rate
		}
		rate.Documents++
		if slices.ContainsFunc(versions, func(v Version) bool { return v.Kind == s.Kind && !v.First && v.Seen.After(since) }) {
			rate.Changed++
		}
	}
	return days
}

// addAgent counts a registered agent.
func (b *figureBuilder) addAgent(a *registry.Agent) {
	if a.Created.After(b.f.At) || a.Status != registry.Active {
		return
	}
	b.f.Agents.Active++
	held := 0
	for _, signal := range registry.Signals() {
		holds := a.HoldsSignal(signal, b.f.At)
		if signal == registry.SignalAttestations {
			holds = a.Standing.Roots > 0
		}
		if holds {
			b.f.Agents.Signals[signal]++
			held++
		}
	}
	b.f.Agents.Strength[held]++
}

// notCompared is the severity of a change whose versions cannot be read.
const notCompared = "not compared"

// severityOrder is the order of a table of severities.
var severityOrder = []string{"high", "medium", "low", "none", notCompared}

// buildFigures returns the figures of all that was counted.
func (b *figureBuilder) buildFigures() *Figures {
	b.f.Domains = len(b.numbers)
	for i, d := range b.duplicates {
		switch d {
		case isDuplicate:
			b.addFeature(Feature{"duplicate", "yes"}, b.domainOf[i])
		case noDuplicate:
			b.addFeature(Feature{"duplicate", "no"}, b.domainOf[i])
		}
	}
	f := b.f
	b.addHistories(&f)
	return &f
}

// addHistories adds the figures over time.
func (b *figureBuilder) addHistories(f *Figures) {
	f.HistoryFrom, f.Series, f.Survival = b.series.turns, b.series.listSeries(), b.lifetimes.EstimateSurvival()
	for _, kind := range slices.Sorted(maps.Keys(b.changes)) {
		f.Changes = append(f.Changes, *b.changes[kind])
	}
	for _, s := range severityOrder {
		if n := b.severities[s]; n > 0 {
			f.Severities = append(f.Severities, SeverityCount{s, n})
		}
	}
}

// A Value is a figure of a family.
type Value struct {
	Feature Feature
	tally.Count
}

// Values returns the figures of a family in the order of its table: the largest first, or in the
// order of the values. If services choose the values, that with most domains comes first, so that no
// owner of many hosts fills a table with words of his own.
func (f *Figures) Values(family Family) []Value {
	var list []Value
	for feature, n := range f.Features {
		if feature.Family == family.Name {
			list = append(list, Value{feature, n})
		}
	}
	sortValues(family, list)
	return list
}

func sortValues(family Family, list []Value) {
	order := map[string]int{}
	if family.Name == "state" {
		for _, v := range stateValues() {
			order[v] = len(order)
		}
	}
	slices.SortFunc(list, func(a, b Value) int {
		if family.Fixed {
			return cmp.Or(order[a.Feature.Value]-order[b.Feature.Value], rangeStart(a.Feature.Value)-rangeStart(b.Feature.Value), cmp.Compare(a.Feature.Value, b.Feature.Value))
		}
		if family.Strangers && a.Domains != b.Domains {
			return b.Domains - a.Domains
		}
		return cmp.Or(b.Hosts-a.Hosts, cmp.Compare(a.Feature.Value, b.Feature.Value))
	})
}
