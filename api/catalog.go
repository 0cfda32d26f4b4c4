package api

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/index/query"
)

// catalogRoutes declares the lists of verbs, namespaces and data classes.
func (a *API) catalogRoutes(h huma.API) {
	route.Handle(a.Mux, h, route.Op("list-verbs"), a.listVerbs)
	route.Handle(a.Mux, h, route.Op("verb"), a.getVerb)
	route.Handle(a.Mux, h, route.Op("list-namespaces"), a.listNamespaces)
	route.Handle(a.Mux, h, route.Op("namespace"), a.getNamespace)
	route.Handle(a.Mux, h, route.Op("list-data-classes"), a.listDataClasses)
	route.Handle(a.Mux, h, route.Op("data-class"), a.getDataClass)
}

// catalogInput asks for a page of a list of names.
type catalogInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"1000" doc:"how many on one page, 1 to 1,000"`
	Cursor string `query:"cursor" doc:"where the page begins, from the answer before"`
}

// NameList is what the pages of all lists of names have in common.
type NameList struct {
	Total  int    `json:"total" doc:"how many names the whole list has"`
	Behind uint64 `json:"behind,omitempty" doc:"the number of records that the index is behind the store"`
	Next   string `json:"next,omitempty" doc:"the cursor of the next page; absent on the last"`
}

// A nameSource is a list of names in their order.
type nameSource[T any] struct {
	path string
	read func(context.Context) ([]T, error)
	name func(T) string
}

// pageOfNames reads one page of a list. It returns the entries, the rest of the page, and the link
// to the next one.
func pageOfNames[T any](ctx context.Context, a *API, in *catalogInput, s nameSource[T]) (
	entries []T, page NameList, link string, err error,
) {
	done := a.Answers.TrackSequence()
	all, err := s.read(ctx)
	if err != nil {
		return nil, page, "", err
	}
	page.Total = len(all)
	_, page.Behind = done()
	list := path.Base(s.path)
	c, err := a.ReadCursor(ctx, in.Cursor, list)
	if err != nil {
		return nil, page, "", err
	}
	from, found := slices.BinarySearchFunc(all, c.After, func(v T, after string) int {
		return strings.Compare(s.name(v), after)
	})
	if found && c.After != "" {
		from++
	}
	entries = all[from:min(len(all), from+in.Limit)]
	if from+len(entries) < len(all) {
		last := s.name(entries[len(entries)-1])
		page.Next, link = a.NextPage(ctx, s.path, list, route.Cursor{After: last})
	}
	return answer.OrEmpty(entries), page, link, nil
}

// VerbList is a page of the verbs.
type VerbList struct {
	Verbs []index.VerbCount `json:"verbs"`
	NameList
}

func (a *API) listVerbs(ctx context.Context, in *catalogInput) (*route.Output[VerbList], error) {
	out := route.JSON(VerbList{})
	var err error
	out.Body.Verbs, out.Body.NameList, out.Link, err = pageOfNames(ctx, a, in, nameSource[index.VerbCount]{
		"/api/v1/verbs", a.Answers.Verbs, func(v index.VerbCount) string { return v.Verb },
	})
	return out, err
}

// OperationsInput asks for a page of the operations that have something in common.
type OperationsInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"how many operations on one page, 1 to 100"`
	Cursor string `query:"cursor" doc:"where the page begins, from the answer before"`
}

type verbInput struct {
	Verb string `path:"verb" maxLength:"500" doc:"an imperative word such as BOOK, in any case"`
	OperationsInput
}

// VerbPage is a verb with the verbs related to it and one page of its operations.
type VerbPage struct {
	index.VerbCount
	Family []answer.Relative `json:"family" doc:"verbs that are offered and related to it, the nearest relation first"`
	OperationPage
	// Intents are the intents of the operations with this verb, side by side.
	Intents []Intent `json:"intents" doc:"what those on this page mean by the verb, side by side"`
}

// OperationPage is one page of operations that have something in common.
type OperationPage struct {
	Hits   []answer.Hit `json:"hits"`
	Total  int          `json:"total" doc:"how many there are, on this page or not"`
	Seq    uint64       `json:"seq" doc:"the sequence number of the store that the answer is based on"`
	Behind uint64       `json:"behind,omitempty" doc:"the number of records that the index is behind the store"`
	Moved  uint64       `json:"moved,omitempty" doc:"the number of records that the index has read since the previous page"`
	Next   string       `json:"next,omitempty" doc:"the cursor of the next page; absent on the last"`
}

// Intent is the intent of one operation.
type Intent struct {
	ID         string          `json:"id"`
	Host       string          `json:"host"`
	Service    string          `json:"service,omitempty"`
	Path       string          `json:"path,omitempty"`
	Intent     string          `json:"intent,omitempty"`
	Outcome    string          `json:"outcome,omitempty"`
	Effect     document.Effect `json:"effect"`
	Idempotent *bool           `json:"idempotent,omitempty"`
	Caution    string          `json:"caution,omitempty" doc:"set when a text of the service tries to instruct a model"`
}

func (a *API) getVerb(ctx context.Context, in *verbInput) (*route.Output[VerbPage], error) {
	count, family, err := a.Answers.Verb(ctx, in.Verb)
	if errors.Is(err, answer.ErrNoVerb) {
		return nil, a.verbProblem(ctx, in.Verb, family, err)
	}
	if err != nil {
		return nil, err
	}
	path := "/api/v1/verbs/" + url.PathEscape(count.Verb)
	q := query.Query{Verbs: []string{count.Verb}}
	page, link, err := a.listOperations(ctx, in.OperationsInput, q, path, "verb "+count.Verb)
	if err != nil {
		return nil, err
	}
	out := route.JSON(VerbPage{VerbCount: count, Family: family, OperationPage: page, Intents: listIntents(page.Hits)})
	out.Link = link
	return out, nil
}

// verbProblem suggests alternatives to a verb that nobody offers.
func (a *API) verbProblem(ctx context.Context, verb string, family []answer.Relative, cause error) error {
	near, err := a.Answers.NearVerbs(ctx, strings.ToUpper(verb))
	if err != nil {
		return err
	}
	problem := route.ProblemFor(cause)
	if len(family) > 0 {
		problem = route.NewProblem(route.NoVerb, "no operation has this verb",
			"offered and related to it are "+joinRelatives(family)).WithCause(cause)
	}
	return problem.WithAlternatives(near)
}

// joinRelatives formats verbs for a person.
func joinRelatives(family []answer.Relative) string {
	var words []string
	for _, r := range family[:min(len(family), answer.MaxNear)] {
		words = append(words, r.Verb+" ("+r.Relation+")")
	}
	return route.JoinWords(words)
}

func listIntents(hits []answer.Hit) []Intent {
	out := []Intent{}
	for _, h := range hits {
		o := h.Operation
		out = append(out, Intent{
			h.ID, h.Host, h.Service.Name, o.Path, o.Intent, o.Outcome, o.Effect, o.Idempotent, h.Caution,
		})
	}
	return out
}

// listOperations returns one page of the operations that filters select, in order of host.
func (a *API) listOperations(ctx context.Context, in OperationsInput, q query.Query, path, list string) (
	OperationPage, string, error,
) {
	c, err := a.ReadCursor(ctx, in.Cursor, list)
	if err != nil {
		return OperationPage{}, "", err
	}
	q.Limit, q.Offset = in.Limit, c.Offset
	r, err := a.Answers.Search(ctx, q)
	if err != nil {
		return OperationPage{}, "", err
	}
	hits, err := a.Answers.Hits(ctx, r.Hits, a.Now())
	if err != nil {
		return OperationPage{}, "", err
	}
	page := OperationPage{Hits: hits, Total: r.Total, Seq: r.Seq, Behind: a.Answers.Behind(r.Seq)}
	if c.Seq > 0 && r.Seq > c.Seq {
		page.Moved = r.Seq - c.Seq
	}
	link := ""
	if r.More && q.Offset+q.Limit <= route.MaxOffset {
		page.Next, link = a.NextPage(ctx, path, list, route.Cursor{Offset: q.Offset + q.Limit, Seq: r.Seq})
	}
	return page, link, nil
}

// NamespaceList is a page of the namespaces.
type NamespaceList struct {
	Namespaces []answer.NamespaceCount `json:"namespaces"`
	NameList
}

func (a *API) listNamespaces(ctx context.Context, in *catalogInput) (*route.Output[NamespaceList], error) {
	out := route.JSON(NamespaceList{})
	var err error
	out.Body.Namespaces, out.Body.NameList, out.Link, err = pageOfNames(ctx, a, in, nameSource[answer.NamespaceCount]{
		"/api/v1/namespaces", a.Answers.Namespaces, func(v answer.NamespaceCount) string { return v.Namespace },
	})
	return out, err
}

type namespaceInput struct {
	NS string `path:"ns" maxLength:"500" doc:"a namespace such as acme-reservations, in any case"`
	OperationsInput
}

// NamespacePage is a namespace with one page of its operations.
type NamespacePage struct {
	answer.Namespace
	OperationPage
}

func (a *API) getNamespace(ctx context.Context, in *namespaceInput) (*route.Output[NamespacePage], error) {
	n, err := a.Answers.Namespace(ctx, in.NS)
	if errors.Is(err, answer.ErrNoNamespace) {
		alike, nearErr := a.Answers.NearNamespaces(ctx, strings.ToLower(strings.TrimSpace(in.NS)))
		return nil, cmp.Or(nearErr, error(route.ProblemFor(err).WithAlternatives(alike)))
	}
	if err != nil {
		return nil, err
	}
	name := n.NamespaceCount.Namespace
	path := "/api/v1/namespaces/" + url.PathEscape(name)
	q := query.Query{Namespaces: []string{name}}
	page, link, err := a.listOperations(ctx, in.OperationsInput, q, path, "namespace "+name)
	if err != nil {
		return nil, err
	}
	out := route.JSON(NamespacePage{n, page})
	out.Link = link
	return out, nil
}

// ClassList is a page of the data classes.
type ClassList struct {
	Classes []answer.ClassCount `json:"classes"`
	NameList
}

func (a *API) listDataClasses(ctx context.Context, in *catalogInput) (*route.Output[ClassList], error) {
	out := route.JSON(ClassList{})
	var err error
	out.Body.Classes, out.Body.NameList, out.Link, err = pageOfNames(ctx, a, in, nameSource[answer.ClassCount]{
		"/api/v1/data-classes", a.Answers.DataClasses, func(v answer.ClassCount) string { return v.Class },
	})
	return out, err
}

type dataClassInput struct {
	Class string `path:"class" maxLength:"500" doc:"a data class such as reservation, in any case"`
	OperationsInput
}

// DataClassPage is a data class with one page of the operations of its holders.
type DataClassPage struct {
	answer.DataClass
	OperationPage
}

func (a *API) getDataClass(ctx context.Context, in *dataClassInput) (*route.Output[DataClassPage], error) {
	c, err := a.Answers.DataClass(ctx, in.Class)
	if errors.Is(err, answer.ErrNoClass) {
		near, nearErr := a.Answers.NearClasses(ctx, strings.ToLower(strings.TrimSpace(in.Class)))
		return nil, cmp.Or(nearErr, error(route.ProblemFor(err).WithAlternatives(near)))
	}
	if err != nil {
		return nil, err
	}
	path := "/api/v1/data-classes/" + url.PathEscape(c.Class)
	q := query.Query{Classes: []string{c.Class}}
	page, link, err := a.listOperations(ctx, in.OperationsInput, q, path, "data class "+c.Class)
	if err != nil {
		return nil, err
	}
	out := route.JSON(DataClassPage{c, page})
	out.Link = link
	return out, nil
}
