package api

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/protocol"
)

// exploreRoutes declares counts, completions and similar services.
func (a *API) exploreRoutes(h huma.API) {
	op := route.Complete(huma.Operation{OperationID: "explore", Description: "Counts over all operations that a search would find; the filters are those of a search. Without any, everything is counted."})
	route.HandleBody[ExploreBody](a.Mux, h, op, a.exploreFacets)
	route.Handle(a.Mux, h, route.Op("suggest"), a.suggestQueries)
	route.Handle(a.Mux, h, route.Op("similar-services"), a.listSimilar)
}

// ExploreBody documents the body of an exploration.
type ExploreBody struct {
	Fields Texts  `json:"fields" doc:"the fields to count"`
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"1000" doc:"how many values of each, the most frequent first; 20 when left out"`
	Q      string `json:"q,omitempty" doc:"as the parameter of a search; so are the others"`
	FilterBody
}

// An Exploration is the counts of the values of fields.
type Exploration struct {
	Facets map[string][]index.Count `json:"facets" doc:"by field: its values with the number of operations that have them, the most frequent first"`
	// More lists the fields that have further values.
	More   []string  `json:"more,omitempty" doc:"the fields that have further values"`
	Seq    uint64    `json:"seq" doc:"the sequence number of the store that the answer is based on"`
	Behind uint64    `json:"behind,omitempty" doc:"the number of records that the index is behind the store"`
	Query  QueryView `json:"query" doc:"how the filters were understood"`
}

func (a *API) exploreFacets(ctx context.Context, in *route.JSONBody) (*route.Output[Exploration], error) {
	b, err := a.readBodyQuery(in.Text, []string{"facets", "limit", "cursor", "within_tokens", "as", "min_fit", "fields", "explain"}, []string{"fields", "limit"})
	if err != nil {
		return nil, err
	}
	q, err := readQuery(b.values)
	if err != nil {
		return nil, b.locateError(err)
	}
	fields, err := exploredFields(b.members["fields"])
	if err != nil {
		return nil, err
	}
	limit, err := exploredLimit(b.members["limit"])
	if err != nil {
		return nil, err
	}
	done := a.Answers.TrackSequence()
	counts, err := a.Answers.Index.Explore(ctx, q, fields, min(limit+1, answer.MaxExplored))
	if err != nil {
		return nil, b.locateError(err)
	}
	out := route.JSON(Exploration{Facets: map[string][]index.Count{}, Query: viewQuery(q)})
	out.Body.Seq, out.Body.Behind = done()
	for _, field := range fields {
		found := counts[field]
		if len(found) > limit || limit == answer.MaxExplored && len(found) == limit {
			out.Body.More = append(out.Body.More, field)
		}
		out.Body.Facets[field] = answer.OrEmpty(found[:min(len(found), limit)])
	}
	return out, nil
}

// exploredFields reads the member fields: a text, or a list of texts.
func exploredFields(n *protocol.Node) ([]string, error) {
	allowed := "the fields are " + route.JoinWords(query.FacetFields())
	bad := func(n *protocol.Node, message, help string) error {
		w := route.Location{Pointer: "/fields"}
		if n != nil {
			w = route.BodyLocation(n)
		}
		return route.NewProblem(route.BadField, message, help).WithLocation(w)
	}
	if n == nil {
		return nil, bad(nil, "fields is missing", allowed)
	}
	nodes := []*protocol.Node{n}
	if n.Kind == protocol.Array {
		nodes = n.Items
	}
	var fields []string
	for _, item := range nodes {
		if item.Kind != protocol.String {
			return nil, bad(item, describeWrongKind("the name of a field", protocol.String, item.Kind), allowed)
		}
		named, err := readFacetFields([]string{item.Text}, "fields")
		if err != nil {
			unknown := route.ProblemFor(err).Problem
			return nil, bad(item, unknown.Detail, unknown.Help)
		}
		for _, field := range named {
			if !slices.Contains(fields, field) {
				fields = append(fields, field)
			}
		}
	}
	if len(fields) == 0 {
		return nil, bad(n, "fields names no field", allowed)
	}
	return fields, nil
}

func exploredLimit(n *protocol.Node) (int, error) {
	if n == nil {
		return route.DefaultLimit, nil
	}
	limit, err := strconv.Atoi(n.Text)
	if n.Kind != protocol.Number || err != nil || limit < 1 || limit > answer.MaxExplored {
		return 0, route.NewProblem(route.BadField, "limit is no number of values", fmt.Sprintf("give a whole number from 1 to %d", answer.MaxExplored)).WithLocation(route.BodyLocation(n))
	}
	return limit, nil
}

type suggestInput struct {
	Q     string `query:"q" maxLength:"200" doc:"the beginning of a word, as typed; with none, nothing is suggested"`
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"10" doc:"how many suggestions, 1 to 100"`
}

// Suggestions complete a text that is being typed.
type Suggestions struct {
	Q           string       `json:"q" doc:"what was typed"`
	Suggestions []Suggestion `json:"suggestions" doc:"exact matches first, then verbs, nouns, data classes, services and namespaces, in each kind the most offered first; a fifth of the places is reserved for each kind that has enough"`
	Behind      uint64       `json:"behind,omitempty" doc:"the number of records that the index is behind the store"`
	Note        string       `json:"note,omitempty" doc:"why there are none"`
}

// A Suggestion is a name that begins with the typed text.
type Suggestion struct {
	index.Suggestion
	// Query is the query for the operations of the suggestion.
	Query string `json:"query" doc:"the query that finds its operations"`
}

func (a *API) suggestQueries(ctx context.Context, in *suggestInput) (*route.Output[Suggestions], error) {
	done := a.Answers.TrackSequence()
	found, err := a.Answers.Index.Suggest(ctx, "", in.Q, in.Limit)
	if err != nil {
		return nil, err
	}
	out := route.JSON(Suggestions{Q: in.Q, Suggestions: []Suggestion{}})
	_, out.Body.Behind = done()
	for _, s := range found {
		out.Body.Suggestions = append(out.Body.Suggestions, Suggestion{s, queryFor(s)})
	}
	switch {
	case strings.TrimSpace(in.Q) == "":
		out.Body.Note = "nothing was typed: every verb is listed at /api/v1/verbs"
	case len(found) == 0:
		out.Body.Note = "nothing that is offered begins so"
	}
	return out, nil
}

// queryFor returns the query for the operations of a suggestion.
func queryFor(s index.Suggestion) string {
	key := map[string]string{index.SuggestVerb: "verb", index.SuggestNamespace: "ns", index.SuggestClass: "class", index.SuggestService: "host"}[s.Kind]
	if key == "" {
		return s.Text
	}
	text := key + ":" + s.Text
	if strings.ContainsAny(s.Text, " \t\n") {
		text = key + `:"` + s.Text + `"`
	}
	if _, err := query.Parse(text); err != nil {
		return "" // a name that no query can hold, such as one with a quotation mark
	}
	return text
}

type similarInput struct {
	Host  string `path:"host" doc:"the name of a host, such as www.example.com"`
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"10" doc:"how many services, 1 to 100"`
}

// SimilarServices are services with operations similar to those of one service.
type SimilarServices struct {
	Host     string                 `json:"host"`
	Services []index.SimilarService `json:"services" doc:"the most similar first"`
	Behind   uint64                 `json:"behind,omitempty" doc:"the number of records that the index is behind the store"`
	Note     string                 `json:"note,omitempty" doc:"why there are none"`
}

func (a *API) listSimilar(ctx context.Context, in *similarInput) (*route.Output[SimilarServices], error) {
	host, err := fetch.CheckHost(in.Host)
	if err != nil {
		return nil, err
	}
	done := a.Answers.TrackSequence()
	found, err := a.Answers.Index.Similar(ctx, host, in.Limit)
	if err != nil {
		return nil, err
	}
	out := route.JSON(SimilarServices{Host: host, Services: answer.OrEmpty(found)})
	_, out.Body.Behind = done()
	if len(found) > 0 {
		return out, nil
	}
	switch publishes, known, err := a.Answers.HostKnown(ctx, host); {
	case err != nil:
		return nil, err
	case !known:
		return nil, fmt.Errorf("%w: %s", answer.ErrNoService, host)
	case !publishes:
		out.Body.Note = "the host publishes nothing that could be compared"
	default:
		out.Body.Note = "no other service does anything alike"
	}
	return out, nil
}
