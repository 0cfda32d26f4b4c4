package api

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/index/query"
)

// catalogueRoutes declares what there is, by verb, namespace and data class.
func (a *API) catalogueRoutes(h huma.API) {
	addRoute(a, h, getOperation("list-verbs", "/api/v1/verbs", "The verbs that are offered, in order"), a.listVerbs)
	addRoute(a, h, getOperation("verb", "/api/v1/verbs/{verb}", "A verb, its family, and the operations that bear it"), a.getVerb)
	addRoute(a, h, getOperation("list-namespaces", "/api/v1/namespaces", "The namespaces that qualify verbs, in order"), a.listNamespaces)
	addRoute(a, h, getOperation("namespace", "/api/v1/namespaces/{ns}", "A namespace: who uses it and with what right, its verbs and operations"), a.getNamespace)
	addRoute(a, h, getOperation("list-data-classes", "/api/v1/data-classes", "The data classes that services hold, in order"), a.listDataClasses)
	addRoute(a, h, getOperation("data-class", "/api/v1/data-classes/{class}", "A data class: who holds it, and the operations of those services"), a.getDataClass)
}

// Errors of the catalogue. Test with errors.Is.
var (
	ErrNoNamespace = errors.New("no service uses this namespace")
	ErrNoClass     = errors.New("no service holds this data class")
)

// catalogueInput asks for a page of a list of names.
type catalogueInput struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"1000" doc:"how many on one page, 1 to 1,000"`
	Cursor string `query:"cursor" doc:"where the page begins, from the answer before"`
}

// pageOfNames cuts a page out of a sorted list of names.
func pageOfNames[T any](ctx context.Context, a *API, in *catalogueInput, path, route string, all []T, name func(T) string) (page []T, next, link string, err error) {
	c, err := a.readCursor(ctx, in.Cursor, route)
	if err != nil {
		return nil, "", "", err
	}
	from, _ := slices.BinarySearchFunc(all, c.After, func(v T, after string) int { return strings.Compare(name(v), after) })
	if c.After != "" && from < len(all) && name(all[from]) == c.After {
		from++
	}
	page = all[from:min(len(all), from+in.Limit)]
	if from+len(page) < len(all) {
		next, link = a.nextPage(ctx, path, route, cursor{After: name(page[len(page)-1])})
	}
	return orEmpty(page), next, link, nil
}

// VerbList is a page of the verbs.
type VerbList struct {
	Verbs  []index.VerbCount `json:"verbs"`
	Total  int               `json:"total" doc:"how many verbs are offered"`
	Behind uint64            `json:"behind,omitempty" doc:"how many records the index is behind the store"`
	Next   string            `json:"next,omitempty" doc:"the cursor of the next page; absent on the last"`
}

func (a *API) listVerbs(ctx context.Context, in *catalogueInput) (*output[VerbList], error) {
	done := a.answers.trackSequence()
	verbs, err := a.answers.Verbs(ctx)
	if err != nil {
		return nil, err
	}
	out := jsonOutput(VerbList{Total: len(verbs)})
	_, out.Body.Behind = done()
	out.Body.Verbs, out.Body.Next, out.Link, err = pageOfNames(ctx, a, in, "/api/v1/verbs", "verbs", verbs, func(v index.VerbCount) string { return v.Verb })
	return out, err
}

type verbInput struct {
	Verb   string `path:"verb" maxLength:"500" doc:"an imperative word such as BOOK, in any case"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"how many operations on one page, 1 to 100"`
	Cursor string `query:"cursor" doc:"where the page begins, from the answer before"`
}

// VerbPage is a verb with its family and one page of its operations.
type VerbPage struct {
	index.VerbCount
	Family []Relative `json:"family" doc:"verbs that are offered and related to it, the nearest relation first"`
	OperationPage
	// Intents stand side by side: what those who offer the verb mean by it.
	Intents []Intent `json:"intents" doc:"what those on this page mean by the verb, side by side"`
}

// OperationPage is one page of operations that have something in common.
type OperationPage struct {
	Hits   []Hit  `json:"hits"`
	Total  int    `json:"total" doc:"how many there are, on this page or not"`
	Seq    uint64 `json:"seq" doc:"the sequence of the store that the answer is based on"`
	Behind uint64 `json:"behind,omitempty" doc:"how many records the index is behind the store"`
	Moved  uint64 `json:"moved,omitempty" doc:"how many records the index took in since the page before"`
	Next   string `json:"next,omitempty" doc:"the cursor of the next page; absent on the last"`
}

// A Relative is a verb that is offered and related to another, with who offers it.
type Relative struct {
	index.RelatedVerb
	OfferedBy []index.Count `json:"offered_by" doc:"hosts that offer it, those with the most operations first; at most ten"`
}

// Intent is what one operation says that it does.
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

const (
	// maxFamily is how many relatives of a verb are named, maxOfferers how many
	// hosts of each.
	maxFamily   = 30
	maxOfferers = 10
)

// Verb returns a verb with the verbs that are related to it and who offers each.
// The error is [ErrNoVerb] when nobody offers it; its relatives are returned all
// the same. The case of the verb does not matter.
func (a *Answers) Verb(ctx context.Context, verb string) (index.VerbCount, []Relative, error) {
	verb = strings.ToUpper(verb)
	related, err := a.Index.VerbFamily(ctx, verb)
	if err != nil {
		return index.VerbCount{}, nil, err
	}
	own := index.VerbCount{Verb: verb}
	family := []Relative{}
	for _, r := range related[:min(len(related), maxFamily)] {
		counts, err := a.Index.Explore(ctx, query.Query{Verbs: []string{r.Verb}}, []string{"host"}, maxOfferers)
		if err != nil {
			return own, nil, err
		}
		family = append(family, Relative{r, orEmpty(counts["host"])})
		if r.Verb == verb {
			own = r.VerbCount
		}
	}
	if own.Operations == 0 {
		return own, family, fmt.Errorf("%w: %s", ErrNoVerb, verb)
	}
	return own, family, nil
}

func (a *API) getVerb(ctx context.Context, in *verbInput) (*output[VerbPage], error) {
	count, family, err := a.answers.Verb(ctx, in.Verb)
	if errors.Is(err, ErrNoVerb) && len(family) > 0 {
		return nil, newProblem(noVerb, "no operation bears this verb", "offered and related to it are "+joinRelatives(family)).withCause(err)
	}
	if err != nil {
		return nil, err
	}
	page, link, err := a.listOperations(ctx, query.Query{Verbs: []string{count.Verb}, Limit: in.Limit}, in.Cursor, "/api/v1/verbs/"+url.PathEscape(count.Verb), "verb "+count.Verb)
	if err != nil {
		return nil, err
	}
	out := jsonOutput(VerbPage{VerbCount: count, Family: family, OperationPage: page, Intents: listIntents(page.Hits)})
	out.Link = link
	return out, nil
}

// joinRelatives names verbs for a person.
func joinRelatives(family []Relative) string {
	var words []string
	for _, r := range family[:min(len(family), maxNear)] {
		words = append(words, r.Verb+" ("+r.Relation+")")
	}
	return joinWords(words)
}

func listIntents(hits []Hit) []Intent {
	out := []Intent{}
	for _, h := range hits {
		o := h.Operation
		out = append(out, Intent{h.ID, h.Host, h.Service.Name, o.Path, o.Intent, o.Outcome, o.Effect, o.Idempotent, h.Caution})
	}
	return out
}

// listOperations returns one page of what filters find, in order of host.
func (a *API) listOperations(ctx context.Context, q query.Query, cursorText, path, route string) (OperationPage, string, error) {
	c, err := a.readCursor(ctx, cursorText, route)
	if err != nil {
		return OperationPage{}, "", err
	}
	q.Offset = c.Offset
	r, err := a.answers.Search(ctx, q)
	if err != nil {
		return OperationPage{}, "", err
	}
	hits, err := a.answers.Hits(ctx, r.Hits, a.now())
	if err != nil {
		return OperationPage{}, "", err
	}
	page := OperationPage{Hits: hits, Total: r.Total, Seq: r.Seq, Behind: a.answers.Behind(r.Seq)}
	if c.Seq > 0 && r.Seq > c.Seq {
		page.Moved = r.Seq - c.Seq
	}
	link := ""
	if r.More && q.Offset+q.Limit <= maxOffset {
		page.Next, link = a.nextPage(ctx, path, route, cursor{Offset: q.Offset + q.Limit, Seq: r.Seq})
	}
	return page, link, nil
}

// NamespaceCount is one namespace of the catalogue.
type NamespaceCount struct {
	Namespace  string `json:"namespace"`
	Operations int    `json:"operations"`
	Services   int    `json:"services"`
}

// NamespaceList is a page of the namespaces.
type NamespaceList struct {
	Namespaces []NamespaceCount `json:"namespaces"`
	Total      int              `json:"total" doc:"how many namespaces there are"`
	Behind     uint64           `json:"behind,omitempty" doc:"how many records the index is behind the store"`
	Next       string           `json:"next,omitempty" doc:"the cursor of the next page; absent on the last"`
}

// Namespaces lists the namespaces that qualify verbs, in order. The domain of a
// vocabulary stands for one where a document declares none (AGIS §8.2).
func (a *Answers) Namespaces(ctx context.Context) ([]NamespaceCount, error) {
	values, err := a.Index.Namespaces(ctx)
	list := make([]NamespaceCount, len(values))
	for i, v := range values {
		list[i] = NamespaceCount{v.Value, v.Operations, v.Services}
	}
	return list, err
}

func (a *API) listNamespaces(ctx context.Context, in *catalogueInput) (*output[NamespaceList], error) {
	done := a.answers.trackSequence()
	all, err := a.answers.Namespaces(ctx)
	if err != nil {
		return nil, err
	}
	out := jsonOutput(NamespaceList{Total: len(all)})
	_, out.Body.Behind = done()
	out.Body.Namespaces, out.Body.Next, out.Link, err = pageOfNames(ctx, a, in, "/api/v1/namespaces", "namespaces", all, func(n NamespaceCount) string { return n.Namespace })
	return out, err
}

type namespaceInput struct {
	NS     string `path:"ns" maxLength:"500" doc:"a namespace such as acme-reservations, in any case"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"how many operations on one page, 1 to 100"`
	Cursor string `query:"cursor" doc:"where the page begins, from the answer before"`
}

// A Namespace is all that is known of one namespace.
type Namespace struct {
	NamespaceCount
	Claims   []Claim       `json:"claims" doc:"the hosts that use it and what each has to show for it, the best proved first; at most 100"`
	Concerns []Concern     `json:"concerns,omitempty" doc:"collisions, and what looks like squatting"`
	Verbs    []index.Count `json:"verbs" doc:"its verbs, the most frequent first"`
}

// NamespacePage is a namespace with one page of its operations.
type NamespacePage struct {
	Namespace
	OperationPage
}

// Namespace returns all that is known of a namespace, in any case. The error is
// [ErrNoNamespace] when no service uses it.
func (a *Answers) Namespace(ctx context.Context, name string) (Namespace, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	all, err := a.Namespaces(ctx)
	if err != nil {
		return Namespace{}, err
	}
	at := slices.IndexFunc(all, func(n NamespaceCount) bool { return n.Namespace == name })
	if at < 0 {
		return Namespace{}, fmt.Errorf("%w: %s", ErrNoNamespace, name)
	}
	n := Namespace{NamespaceCount: all[at]}
	if n.Claims, n.Concerns, err = a.judgeClaims(ctx, name); err != nil {
		return n, err
	}
	counts, err := a.Index.Explore(ctx, query.Query{Namespaces: []string{name}}, []string{"verb"}, maxExplored)
	n.Claims, n.Verbs = orEmpty(n.Claims), orEmpty(counts["verb"])
	return n, err
}

func (a *API) getNamespace(ctx context.Context, in *namespaceInput) (*output[NamespacePage], error) {
	n, err := a.answers.Namespace(ctx, in.NS)
	if err != nil {
		return nil, err
	}
	name := n.NamespaceCount.Namespace
	path := "/api/v1/namespaces/" + url.PathEscape(name)
	page, link, err := a.listOperations(ctx, query.Query{Namespaces: []string{name}, Limit: in.Limit}, in.Cursor, path, "namespace "+name)
	if err != nil {
		return nil, err
	}
	out := jsonOutput(NamespacePage{n, page})
	out.Link = link
	return out, nil
}

// ClassCount is one data class of the catalogue.
type ClassCount struct {
	Class      string `json:"class"`
	Operations int    `json:"operations" doc:"of the services that hold it"`
	Services   int    `json:"services"`
}

// ClassList is a page of the data classes.
type ClassList struct {
	Classes []ClassCount `json:"classes"`
	Total   int          `json:"total" doc:"how many data classes there are"`
	Behind  uint64       `json:"behind,omitempty" doc:"how many records the index is behind the store"`
	Next    string       `json:"next,omitempty" doc:"the cursor of the next page; absent on the last"`
}

// DataClasses lists the data classes that services hold, in order.
func (a *Answers) DataClasses(ctx context.Context) ([]ClassCount, error) {
	values, err := a.Index.DataClasses(ctx)
	list := make([]ClassCount, len(values))
	for i, v := range values {
		list[i] = ClassCount{v.Value, v.Operations, v.Services}
	}
	return list, err
}

func (a *API) listDataClasses(ctx context.Context, in *catalogueInput) (*output[ClassList], error) {
	done := a.answers.trackSequence()
	all, err := a.answers.DataClasses(ctx)
	if err != nil {
		return nil, err
	}
	out := jsonOutput(ClassList{Total: len(all)})
	_, out.Body.Behind = done()
	out.Body.Classes, out.Body.Next, out.Link, err = pageOfNames(ctx, a, in, "/api/v1/data-classes", "data-classes", all, func(c ClassCount) string { return c.Class })
	return out, err
}

type dataClassInput struct {
	Class  string `path:"class" maxLength:"500" doc:"a data class such as reservation, in any case"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"how many operations on one page, 1 to 100"`
	Cursor string `query:"cursor" doc:"where the page begins, from the answer before"`
}

// A DataClass is all that is known of one data class.
type DataClass struct {
	ClassCount
	Holders []Holder `json:"holders" doc:"the services that say they hold it, those with the most operations first; at most 100"`
}

// A Holder is a service that says it holds a data class.
type Holder struct {
	Host                  string        `json:"host"`
	Service               string        `json:"service,omitempty"`
	Kind                  document.Kind `json:"kind" doc:"the document that says so"`
	Operations            int           `json:"operations"`
	Description           string        `json:"description,omitempty" doc:"of the class, by this service"`
	Sensitivity           string        `json:"sensitivity,omitempty"`
	RequiresAuthorization bool          `json:"requires_authorization,omitempty"`
	FetchedAt             time.Time     `json:"fetched_at"`
	Digest                string        `json:"digest"`
}

// DataClassPage is a data class with one page of the operations of its holders.
type DataClassPage struct {
	DataClass
	OperationPage
}

// DataClass returns all that is known of a data class, in any case. The error is
// [ErrNoClass] when no service holds it.
func (a *Answers) DataClass(ctx context.Context, name string) (DataClass, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	all, err := a.DataClasses(ctx)
	if err != nil {
		return DataClass{}, err
	}
	at := slices.IndexFunc(all, func(c ClassCount) bool { return c.Class == name })
	if at < 0 {
		return DataClass{}, fmt.Errorf("%w: %s", ErrNoClass, name)
	}
	c := DataClass{ClassCount: all[at], Holders: []Holder{}}
	counts, err := a.Index.Explore(ctx, query.Query{Classes: []string{name}}, []string{"host"}, maxClaims)
	if err != nil {
		return c, err
	}
	for _, host := range counts["host"] {
		holder, found, err := a.readHolder(ctx, host.Value, name)
		if err != nil {
			return c, err
		}
		if found {
			holder.Operations = host.Operations
			c.Holders = append(c.Holders, holder)
		}
	}
	return c, nil
}

// readHolder reads what a host says of a data class.
func (a *Answers) readHolder(ctx context.Context, host, class string) (Holder, bool, error) {
	for _, kind := range []document.Kind{document.AGIS, document.AGISSummary} {
		d, there, err := a.readDocument(ctx, host, kind)
		if err != nil {
			return Holder{}, false, err
		}
		at := slices.IndexFunc(d.DataClasses, func(c document.DataClass) bool { return strings.EqualFold(strings.TrimSpace(c.Name), class) })
		if !there || at < 0 {
			continue
		}
		c := d.DataClasses[at]
		return Holder{
			Host: host, Service: d.Service.Name, Kind: kind, Description: c.Description, Sensitivity: c.Sensitivity,
			RequiresAuthorization: c.RequiresAuthorization, FetchedAt: d.FetchedAt, Digest: d.Digest,
		}, true, nil
	}
	return Holder{}, false, nil
}

func (a *API) getDataClass(ctx context.Context, in *dataClassInput) (*output[DataClassPage], error) {
	c, err := a.answers.DataClass(ctx, in.Class)
	if err != nil {
		return nil, err
	}
	path := "/api/v1/data-classes/" + url.PathEscape(c.Class)
	page, link, err := a.listOperations(ctx, query.Query{Classes: []string{c.Class}, Limit: in.Limit}, in.Cursor, path, "data class "+c.Class)
	if err != nil {
		return nil, err
	}
	out := jsonOutput(DataClassPage{c, page})
	out.Link = link
	return out, nil
}
