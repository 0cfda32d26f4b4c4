package api

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/route"
	"gazetteer/index/query"
)

// The descriptions of search filters come from the rows of the query language ([query.Filters]): a
// new filter is a new row there.

// maxFilterValues is how many values of one filter a search may have.
const maxFilterValues = 50

// addFilterParameters describes filters as parameters of an operation, each with at most that many
// values. They come before parameters that are described later.
func addFilterParameters(op huma.Operation, filters []query.Filter, most int) huma.Operation {
	explode := true
	for _, f := range filters {
		items, limit := &huma.Schema{Type: huma.TypeString}, most
		for _, value := range f.Enum() {
			items.Enum = append(items.Enum, value)
		}
		if f.Allowed != nil {
			limit = min(most, len(f.Enum()))
		}
		items.PrecomputeMessages()
		schema := &huma.Schema{Type: huma.TypeArray, Items: items, MaxItems: &limit}
		schema.PrecomputeMessages()
		op.Parameters = append(op.Parameters, &huma.Param{Name: f.Key, In: "query", Explode: &explode, Description: f.Doc + describeCombination(f), Schema: schema})
	}
	return op
}

// describeCombination describes how several values of a filter combine.
func describeCombination(f query.Filter) string {
	if f.All {
		return ""
	}
	return "; any of several"
}

// describeFacetParameter lists the fields that can be counted.
func describeFacetParameter(parameters []*huma.Param) {
	for _, p := range parameters {
		if p.Name == "facets" {
			p.Description = "fields to count the values of, with commas between: " + route.JoinWords(query.FacetFields())
			p.Schema.Description = p.Description
		}
	}
}

// FilterBody documents the filters in the body of a search or an exploration. Those of the query
// language are added by TransformSchema.
type FilterBody struct {
	Aliases bool `json:"aliases,omitempty"`
	Exact   bool `json:"exact,omitempty" doc:"true to correct no word"`
	Safe    bool `json:"safe,omitempty" doc:"true to leave out what ends or removes something"`
}

// TransformSchema adds the filters of the query language (huma.SchemaTransformer).
func (FilterBody) TransformSchema(r huma.Registry, s *huma.Schema) *huma.Schema {
	for _, f := range query.Filters() {
		s.Properties[f.Key] = Texts{}.Schema(r)
		s.Properties[f.Key].Description = f.Doc + "; a text, or a list of texts"
	}
	counted := "the fields to count: " + route.JoinWords(query.FacetFields())
	switch facets, fields := s.Properties["facets"], s.Properties["fields"]; {
	case facets != nil: // a search
		facets.Description = counted
		fields.Description = "the members of the whole form of a result that are wanted, or all: " + route.JoinWords(hitMembers())
	case fields != nil: // an exploration
		fields.Description = counted
	}
	return s
}

// QueryView is a query as the server understood it. In JSON the values of each filter are a member
// with the plural of its key, such as "verbs".
type QueryView struct {
	Words   string              `json:"words,omitempty"`
	Phrases []string            `json:"phrases,omitempty"`
	Without []string            `json:"without,omitempty"`
	Filters map[string][]string `json:"-"` // by the key of the filter
	Exact   bool                `json:"exact,omitempty"`
	Safe    bool                `json:"safe,omitempty"`
	MinFit  float64             `json:"min_fit,omitempty"`
}

func viewQuery(q query.Query) QueryView {
	v := QueryView{Words: q.Words, Phrases: q.Phrases, Without: q.Without, Exact: q.Verbatim, Safe: q.Safe, MinFit: q.MinFit, Filters: map[string][]string{}}
	for _, f := range query.Filters() {
		v.Filters[f.Key] = slices.Clone(*f.Values(&q))
	}
	return v
}

// otherMembers is a QueryView without its filters.
type otherMembers QueryView

// MarshalJSON writes the filters beside the other members.
func (v QueryView) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(otherMembers(v))
	if err != nil {
		return nil, err
	}
	text = text[:len(text)-1]
	for _, f := range query.Filters() {
		if len(v.Filters[f.Key]) == 0 {
			continue
		}
		values, err := json.Marshal(v.Filters[f.Key])
		if err != nil {
			return nil, err
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, "%q:%s", f.Plural, values)
	}
	return append(text, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON has written, for clients in Go.
func (v *QueryView) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, (*otherMembers)(v)); err != nil {
		return err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return err
	}
	v.Filters = map[string][]string{}
	for _, f := range query.Filters() {
		var values []string
		if text := members[f.Plural]; text != nil {
			if err := json.Unmarshal(text, &values); err != nil {
				return err
			}
			v.Filters[f.Key] = values
		}
	}
	return nil
}

// TransformSchema adds the filters (huma.SchemaTransformer).
func (QueryView) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	for _, f := range query.Filters() {
		s.Properties[f.Plural] = &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}
	}
	return s
}
