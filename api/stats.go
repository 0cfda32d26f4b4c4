package api

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/census"
	"gazetteer/census/tally"
	"gazetteer/lint"
)

// Stats are the figures of all hosts.
type Stats struct {
	At          time.Time             `json:"at" doc:"when the figures were counted"`
	Seq         uint64                `json:"seq" doc:"the sequence number of the store that they go up to, some seconds old"`
	HistoryFrom time.Time             `json:"history_from,omitzero" doc:"since when changes of the five states are recorded"`
	LastVisit   time.Time             `json:"last_visit,omitzero" doc:"when the last visit to any host ended"`
	Hosts       int                   `json:"hosts" doc:"Hosts are network hosts that the crawler knows."`
	Domains     int                   `json:"domains" doc:"Domains are the registered domains of these hosts: example.co.uk for www.example.co.uk, and netlify.app for a host below this public suffix of a provider. Anyone can have any number of hosts below one domain, so each figure that counts hosts also says how many domains they are below; the number of owners is between the two."`
	Visited     int                   `json:"visited" doc:"A visited host had at least one visit that ended."`
	Services    int                   `json:"services" doc:"A service is a host with a current document at an authoritative address: a host whose only document is at /ai publishes, and is no service (AI Discovery §4.1)."`
	Documents   int                   `json:"documents" doc:"Documents are the current ones; a summary counts as a document."`
	Operations  int                   `json:"operations" doc:"Operations are those of current documents. Those of a summary count only if no other document describes them, those of an alias do not count for its host, and what an AI Discovery and an AGIS document of a host both describe counts once."`
	Versions    int                   `json:"versions" doc:"Versions of documents are all that are stored."`
	OptedOut    int                   `json:"opted_out" doc:"Opted out are hosts whose owners do not want to be visited: nothing of them is in any other figure."`
	Agents      int                   `json:"agents" doc:"Agents are the active agents of the registry."`
	Signals     []SignalFigure        `json:"signals" doc:"active agents by their evidence"`
	Survival    []tally.SurvivalPoint `json:"survival" doc:"the share of hosts that still publish that many days after they began"`
	Changes     []census.ChangeRate   `json:"changes" doc:"documents that changed in the last 30 days"`
	Definitions map[string]string     `json:"definitions" doc:"what the figures outside the families count, by member, to cite with a figure"`
	Families    []FigureFamily        `json:"families" doc:"what hosts have, family by family"`
}

// SignalFigure is the number of agents that hold a signal.
type SignalFigure struct {
	Signal string `json:"signal"`
	Agents int    `json:"agents"`
	List   string `json:"list" doc:"the agents"`
}

// FigureFamily is a table of figures.
type FigureFamily struct {
	Family     string        `json:"family"`
	Title      string        `json:"title"`
	Definition string        `json:"definition" doc:"when a host counts"`
	Total      int           `json:"total" doc:"how many different values there are"`
	Values     []HostsFigure `json:"values" doc:"the largest figures first, or in the order of the values"`
}

// HostsFigure is the number of hosts that have a value.
type HostsFigure struct {
	Value   string `json:"value" doc:"can be a text of a stranger"`
	Hosts   int    `json:"hosts"`
	Of      int    `json:"of" doc:"how many hosts it could count: the known hosts, and for a rule about documents those with a document of its format"`
	Domains int    `json:"domains" doc:"the registered domains that these hosts are below"`
	List    string `json:"list" doc:"the hosts that it counts"`

	Severity string `json:"severity,omitempty" doc:"of a rule: error, warning or info"`
	Basis    string `json:"basis,omitempty" doc:"of a rule: the word of its draft (must, should, may), inferred or own"`
}

// hostsFigureOf returns a figure, with the severity and the basis of a rule.
func hostsFigureOf(s *census.Stats, f census.Feature) HostsFigure {
	v := HostsFigure{Value: f.Value, Hosts: s.Features[f].Hosts, Of: s.HostsOf(f), Domains: s.Features[f].Domains, List: countedPath + "?" + url.Values{"figure": {f.String()}}.Encode()}
	if r, ok := lint.Rule(f.Value); ok && f.Family == "rule" {
		v.Severity, v.Basis = r.Severity.String(), r.Basis
	}
	return v
}

type statsInput struct {
	Family string `query:"family" maxLength:"40" doc:"one family alone, such as verb"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"how many values of each family, 1 to 100"`
}

type seriesInput struct {
	Family string `query:"family" enum:"hosts,format,state,class,changes" doc:"one family alone"`
}

// SeriesList contains figures over time.
type SeriesList struct {
	At          time.Time      `json:"at" doc:"when the figures were counted: the time of the newest points"`
	HistoryFrom time.Time      `json:"history_from,omitzero" doc:"since when changes of the five states are recorded"`
	Series      []tally.Series `json:"series" doc:"one point for each week, the newest last"`
}

type countedInput struct {
	Figure string `query:"figure" required:"true" maxLength:"600" doc:"a family and a value of it, such as state:conformant=yes, format:agis or verb:BOOK"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"how many hosts on one page, 1 to 100"`
	Cursor string `query:"cursor" doc:"where the page begins, from the answer before"`
}

// CountedHosts is one page of the hosts behind a figure.
type CountedHosts struct {
	Figure  string    `json:"figure"`
	At      time.Time `json:"at" doc:"when the hosts were counted"`
	Total   int       `json:"total"`
	Of      int       `json:"of" doc:"how many hosts the figure could count: the known hosts, and for a rule about documents those with a document of its format"`
	Domains int       `json:"domains" doc:"the registered domains that these hosts are below"`
	Note    string    `json:"note,omitempty" doc:"why the figure counts nothing, if its definition excludes it"`
	Hosts   []string  `json:"hosts" doc:"in the order in which this server first read them"`
	Next    string    `json:"next,omitempty" doc:"the cursor of the next page; absent on the last"`
}

func (a *API) statsRoutes(h huma.API) {
	route.Handle(a.Mux, h, route.Op("stats"), a.getStats)
	route.Handle(a.Mux, h, route.Op("stats-series"), a.getSeries)
	route.Handle(a.Mux, h, route.Op("stats-hosts"), a.listCountedHosts)
}

func (a *API) getStats(ctx context.Context, in *statsInput) (*route.Output[Stats], error) {
	s, err := a.Answers.Stats(ctx)
	if err != nil {
		return nil, err
	}
	families := census.Families()
	if in.Family != "" {
		f, err := answer.FigureFamily(in.Family)
		if err != nil {
			return nil, route.ProblemFor(err).WithLocation(route.Location{Parameter: "family"})
		}
		families = []census.Family{f}
	}
	v := Stats{
		At: s.Counted, Seq: s.Cursor.Seq, HistoryFrom: s.HistoryFrom, LastVisit: s.LastVisit, Hosts: s.Hosts, Domains: s.Domains, Visited: s.Visited, Services: s.Services, Documents: s.Documents,
		Operations: s.Operations, Versions: s.Versions, OptedOut: s.OptedOut, Agents: s.Agents.Active, Signals: []SignalFigure{},
		Survival: answer.OrEmpty(s.Survival), Changes: answer.OrEmpty(s.Changes), Families: []FigureFamily{},
		Definitions: map[string]string{},
	}
	for _, row := range s.Table("agents").Rows {
		n := s.Agents.Signals[row.Cells[0]]
		v.Signals = append(v.Signals, SignalFigure{row.Cells[0], n, "/api/v1/agents?" + url.Values{"require": {row.Cells[0]}}.Encode()})
	}
	for _, t := range census.Totals() {
		v.Definitions[t.Name] = t.Definition
	}
	for member, table := range map[string]string{"signals": "agents", "survival": "survival", "changes": "changes"} {
		v.Definitions[member] = s.Table(table).Definition
	}
	for _, f := range families {
		t := s.Table(f.Name)
		list := FigureFamily{Family: f.Name, Title: f.Title, Definition: f.Definition, Total: s.Totals[f.Name], Values: []HostsFigure{}}
		for _, row := range t.Rows[:min(len(t.Rows), in.Limit)] {
			list.Values = append(list.Values, hostsFigureOf(s, row.Feature))
		}
		v.Families = append(v.Families, list)
	}
	return route.JSON(v), nil
}

func (a *API) getSeries(ctx context.Context, in *seriesInput) (*route.Output[SeriesList], error) {
	s, err := a.Answers.Stats(ctx)
	if err != nil {
		return nil, err
	}
	v := SeriesList{At: s.Counted, HistoryFrom: s.HistoryFrom, Series: []tally.Series{}}
	for _, series := range s.Series {
		if in.Family == "" || series.Family == in.Family {
			v.Series = append(v.Series, series)
		}
	}
	return route.JSON(v), nil
}

// countedPath returns the address of the hosts behind a figure.
const countedPath = "/api/v1/stats/hosts"

func (a *API) listCountedHosts(ctx context.Context, in *countedInput) (*route.Output[CountedHosts], error) {
	if in.Figure == "" {
		return nil, route.NewProblem(route.BadParameter, "figure is missing", "write a family and a value, such as state:conformant=yes; /api/v1/stats lists them").
			WithLocation(route.Location{Parameter: "figure"})
	}
	list := "counted " + in.Figure
	c, err := a.ReadCursor(ctx, in.Cursor, list)
	if err != nil {
		return nil, err
	}
	found, err := a.Answers.CountedHosts(ctx, in.Figure, c.After, in.Limit)
	if errors.Is(err, answer.ErrNoFigure) {
		return nil, route.ProblemFor(err).WithLocation(route.Location{Parameter: "figure"})
	}
	if err != nil {
		return nil, err
	}
	out := route.JSON(CountedHosts{Figure: in.Figure, At: found.At, Total: found.All.Hosts, Of: found.Of, Domains: found.All.Domains, Note: found.Note, Hosts: answer.OrEmpty(found.Hosts)})
	if found.After != "" {
		out.Body.Next, out.Link = a.NextPage(ctx, countedPath, list, route.Cursor{After: found.After})
	}
	return out, nil
}
