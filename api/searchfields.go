package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/index"
	"gazetteer/protocol/english"
)

// A result of a search has three forms: the short one ([answer.ShortHit]), which is the default; the
// whole one ([answer.Hit], fields=all); and those members of the whole one that fields names.

// allFields is the value of the parameter fields for the full form.
const allFields = "all"

// A hitForm is the requested form of results. The zero value is the short form.
type hitForm struct {
	whole   bool
	explain bool     // the short form, with why each result matches
	members []string // of the whole form; nil for all or the short form
}

// brief reports whether no result is explained in full.
func (f hitForm) brief() bool { return !f.whole && !f.explain && !slices.Contains(f.members, "why") }

// readHitForm reads the parameters fields and explain.
func readHitForm(lists []string, explain bool) (hitForm, error) {
	form := hitForm{explain: explain}
	if len(lists) == 0 {
		return form, nil
	}
	known := hitMembers()
	for i, names := range lists {
		for name := range strings.SplitSeq(names, ",") {
			switch name = strings.TrimSpace(name); {
			case name == "":
			case name == allFields:
				form.whole = true
			case slices.Contains(known, name):
				form.members = append(form.members, name)
			default:
				return form, route.NewProblem(route.BadParameter, fmt.Sprintf("a result has no field %.40q", name), english.DidYouMean(name, known)+"the fields are "+route.JoinWords(known)+", and all").
					WithLocation(route.Location{Parameter: "fields"}).WithValueIndex(i)
			}
		}
	}
	if form.whole {
		form.members = nil
	} else if explain && form.members != nil {
		form.members = append(form.members, "why")
	}
	return form, nil
}

// ShortPage is one page of a search with results in their short form.
type ShortPage struct {
	Hits []answer.ShortHit `json:"hits" doc:"the results, in order of relevance"`
	PageState
	Services []ShortServiceHit `json:"services,omitempty" doc:"services that match the query as a whole; on the first page"`
	Query    *QueryView        `json:"query,omitempty" doc:"how the search was understood; with explain=true"`
}

// ShortServiceHit is a service that answers the words of a search as a whole, in few words.
type ShortServiceHit struct {
	Host       string              `json:"host"`
	Service    answer.ShortService `json:"service"`
	Operations int                 `json:"operations"`
	Score      float64             `json:"score"`
}

// PartialPage is one page of a search with the members of each result that fields names.
type PartialPage struct {
	Hits []PartialHit `json:"hits" doc:"the results, in order of relevance"`
	PageState
}

// PartialHit is a result of which only some members are shown.
type PartialHit struct {
	hit     *answer.Hit
	members []string
}

// hitMembers returns the names of the members of a result in its whole form, in their order.
func hitMembers() []string {
	var names []string
	eachHitMember(func(name string, _ bool, _ []int) { names = append(names, name) })
	return names
}

// eachHitMember calls f for each member of the whole form of a result: its name in JSON, whether it is
// left out when it is empty, and its place in [answer.Hit].
func eachHitMember(f func(name string, omit bool, place []int)) {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[answer.Hit]()) {
		if name, options, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			f(name, strings.HasPrefix(options, "omit"), field.Index)
		}
	}
}

// MarshalJSON writes the id and the members that are shown.
func (p PartialHit) MarshalJSON() ([]byte, error) {
	text, v := []byte{'{'}, reflect.ValueOf(p.hit).Elem()
	var err error
	eachHitMember(func(name string, omit bool, place []int) {
		member := v.FieldByIndex(place)
		if err != nil || name != "id" && !slices.Contains(p.members, name) || omit && member.IsZero() {
			return
		}
		var value []byte
		value, err = json.Marshal(member.Interface())
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(fmt.Appendf(text, "%q:", name), value...)
	})
	return append(text, '}'), err
}

// Schema describes a result with any of its members (huma.SchemaProvider).
func (PartialHit) Schema(r huma.Registry) *huma.Schema {
	whole := r.SchemaFromRef(r.Schema(reflect.TypeFor[answer.Hit](), true, "Hit").Ref)
	return &huma.Schema{Type: huma.TypeObject, Properties: whole.Properties, Required: []string{"id"}}
}

// shortPage returns a [ShortPage] in JSON.
func (a *API) shortPage(ctx context.Context, s searchRequest, r index.Result, state PageState) ([]byte, error) {
	rest := struct { // of a ShortPage, without its hits
		PageState
		Services []ShortServiceHit `json:"services,omitempty"`
		Query    *QueryView        `json:"query,omitempty"`
	}{PageState: state}
	for _, h := range r.Services {
		if slices.ContainsFunc(rest.Services, func(other ShortServiceHit) bool { return other.Host == h.Host }) {
			continue // another document of the host, which this form does not name
		}
		rest.Services = append(rest.Services, ShortServiceHit{h.Host, answer.ShortService{Name: h.Service.Name}, h.Operations, h.Score})
	}
	if s.form.explain {
		view := viewQuery(s.query)
		rest.Query = &view
	}
	const usualHit, usualRest = 1200, 1000 // bytes
	page, err := a.Answers.AppendShortHits(ctx, append(make([]byte, 0, usualRest+usualHit*len(r.Hits)), `{"hits":`...), r.Hits, s.form.explain, a.Now())
	if err != nil {
		return nil, err
	}
	from := len(page)
	b := bytes.NewBuffer(page)
	if err := huma.DefaultJSONFormat.Marshal(b, rest); err != nil {
		return nil, fmt.Errorf("write the answer: %w", err)
	}
	page = b.Bytes()
	page[from] = ',' // the first bracket of the rest
	return page, nil
}

// searchPageOf returns a page of a search in the requested form.
func (a *API) searchPageOf(ctx context.Context, s searchRequest, r index.Result, state PageState) (any, error) {
	hits, err := a.Answers.Hits(ctx, r.Hits, a.Now())
	if err != nil {
		return nil, err
	}
	if s.form.whole {
		return SearchPage{Hits: hits, PageState: state, Services: r.Services, Query: viewQuery(s.query)}, nil
	}
	state.Classes = nil // who names fields asks for operations alone
	if !slices.Contains(s.form.members, "fit") {
		state.FarBelow = 0
	}
	page := PartialPage{Hits: make([]PartialHit, len(hits)), PageState: state}
	for i := range hits {
		page.Hits[i] = PartialHit{&hits[i], s.form.members}
	}
	return page, nil
}
