package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// Catalog lists the names that operations have in common. The index implements it, and so does an
// [answer.LimitedSearcher] around the index.
type Catalog interface {
	// Namespaces and DataClasses list all values, sorted.
	Namespaces(ctx context.Context) ([]index.ValueCount, error)
	DataClasses(ctx context.Context) ([]index.ValueCount, error)
	// Suggest returns completions of a text behind another one, with values of the given kinds.
	Suggest(ctx context.Context, before, typed string, limit int, kinds ...string) ([]index.Suggestion, error)
	// Similar returns the services most like that of a host.
	Similar(ctx context.Context, host string, limit int) ([]index.SimilarService, error)
	// VerbFamily returns the verbs that are offered and related to a word.
	VerbFamily(ctx context.Context, word string) ([]index.RelatedVerb, error)
}

var (
	_ Catalog = (*index.Index)(nil)
	_ Catalog = (*answer.LimitedSearcher)(nil)
)

// A listing is one kind of names by which operations are listed, except for verbs.
type listing struct {
	path   string // of the list
	key    string // of the query language
	title  string
	lead   template.HTML
	thing  string // one of them
	plural string // several of them
	every  func(c Catalog, ctx context.Context) ([]index.ValueCount, error)
	filter func(value string) query.Query
	// users lists the services that use a value, with any problems.
	users func(p *Pages, ctx context.Context, s listing, value string) ([]nameUser, []nameWarning, error)
	using string // what users do with it
	hits  string // heading of the operations
	// ofService says that a service has a value as a whole: the operations need not be about it.
	ofService bool
	// declares reports whether the document of an operation declares a value. What one document of a
	// service declares holds for the operations of all of them.
	declares func(h index.Hit, value string) bool
	seen     string // what is told of the time of a user
}

var namespaceListing = listing{
	path: "/namespaces", key: "ns", title: "Namespaces", thing: "namespace", plural: "namespaces",
	lead:   "A namespace distinguishes verbs of the same name that belong to different services. A service that declares no namespace is listed under the <code>domain</code> of its AGIS document. Services with neither are not listed here.",
	every:  Catalog.Namespaces,
	filter: func(value string) query.Query { return query.Query{Namespaces: []string{value}} },
	users:  (*Pages).namespaceUsers, using: "Services and their evidence", hits: "Operations", seen: "first seen",
	declares: func(h index.Hit, value string) bool {
		return query.CanonicalWord(cmp.Or(h.Service.Namespace, h.Service.Domain)) == value
	},
}

var classListing = listing{
	path: "/data-classes", key: "class", title: "Classes of data", thing: "class of data", plural: "classes of data",
	lead:   "Data that services say they hold. An agent can ask such a service for the data even if no operation of that name is listed.",
	every:  Catalog.DataClasses,
	filter: func(value string) query.Query { return query.Query{Classes: []string{value}} },
	users:  (*Pages).classUsers, using: "Services that hold it", hits: "Operations closest to it", ofService: true, seen: "checked",
	declares: func(h index.Hit, value string) bool {
		return slices.ContainsFunc(h.DataClasses, func(class string) bool { return query.CanonicalWord(class) == value })
	},
}

// listingPage lists the values of a listing.
func (p *Pages) listingPage(s listing) func(c *gin.Context) (frame.WebPage, error) {
	return func(c *gin.Context) (frame.WebPage, error) {
		all, err := s.every(p.catalog, c.Request.Context())
		if err != nil {
			return frame.WebPage{}, err
		}
		v := directoryView{Path: s.path, Title: s.title, Lead: s.lead, Thing: s.thing, Plural: s.plural, OfServices: s.ofService}
		return v.showDirectory(c, all, s.valueAddress)
	}
}

// valueAddress is the page of a value. Services choose the names, which can contain a slash or be
// "..", and a path cannot express these: such a value has its search instead.
func (s listing) valueAddress(value string) string {
	if value == "." || value == ".." || strings.ContainsAny(value, "/\\") || frame.PlainText(value) != value {
		return searchPath(s.filter(value).String())
	}
	return s.path + "/" + url.PathEscape(value)
}

type valueView struct {
	Path   string
	Shelf  string
	Thing  string // what the value is, such as "Namespace"
	Text   string
	Search string // address of the search for it
	Count  index.ValueCount
	// Users and Warnings are on the first page only.
	Users     []nameUser
	Warnings  []nameWarning
	More      int // users that are not named
	Using     string
	Listed    string // heading of the operations
	OfService bool
	Seen      string
	Hits      []hitView
	Total     int
	First     int
	Last      int
	Pages     frame.PageLinks
}

// valuePage is the page of one value: the operations that have it.
func (p *Pages) valuePage(s listing) func(c *gin.Context) (frame.WebPage, error) {
	return func(c *gin.Context) (frame.WebPage, error) {
		ctx := c.Request.Context()
		value := strings.ToLower(strings.TrimSpace(c.Param("value")))
		number, err := frame.PageNumber(c)
		if err != nil {
			return frame.WebPage{}, err
		}
		all, err := s.every(p.catalog, ctx)
		if err != nil {
			return frame.WebPage{}, err
		}
		at := slices.IndexFunc(all, func(v index.ValueCount) bool { return v.Value == value })
		if at < 0 {
			return frame.WebPage{}, newUnknownValue(s, value, answer.NearValues(value, all, func(v index.ValueCount) string { return v.Value }))
		}
		if s.ofService {
			number = 1 // the other operations are in the search
		}
		q := s.operationsQuery(value, number)
		r, err := p.answers.Search(ctx, q)
		if err != nil {
			return frame.WebPage{}, err
		}
		r.Hits = s.orderHits(r.Hits, value)
		v := valueView{
			Path: s.path, Shelf: s.title, Thing: frame.TitleOf(s.thing), Text: value, Search: searchPath(s.filter(value).String()), Count: all[at],
			Using: s.using, Listed: s.hits, OfService: s.ofService, Seen: s.seen, Total: r.Total, First: q.Offset + 1, Last: q.Offset + len(r.Hits),
		}
		var users []nameUser
		if number == 1 {
			users, v.Warnings, err = s.users(p, ctx, s, value)
			if errors.Is(err, answer.ErrNoNamespace) || errors.Is(err, answer.ErrNoClass) { // it has gone in the meantime
				return frame.WebPage{}, newUnknownValue(s, value, nil)
			}
			if err != nil {
				return frame.WebPage{}, err
			}
			v.Users, v.More = frame.SplitAt(users, maxUsers)
		}
		if v.Hits, err = p.completeHits(ctx, r.Hits); err != nil {
			return frame.WebPage{}, err
		}
		for i := range v.Hits {
			v.Hits[i].Why, v.Hits[i].Inherits = nil, !s.declares(r.Hits[i], value)
		}
		if !s.ofService {
			orderByEvidence(v.Hits, users)
			v.Pages = frame.LinkPages(s.valueAddress(value), url.Values{}, number, r.Total, frame.PerPage)
		}
		return frame.WebPage{Name: "shelved", Title: fmt.Sprintf("%s: %s", s.title, frame.ClipPlain(80, value)), Body: v,
			Description: fmt.Sprintf("%s %s: the services, the evidence for each, and the operations.", frame.TitleOf(s.thing), frame.ClipPlain(80, value))}, nil
	}
}

// maxValueWords is the number of characters of a value that are searched for.
const maxValueWords = 100

// operationsQuery finds the operations for a page of a value: those that have it or, if services have
// it as a whole, the best that its words find among the operations of these services.
func (s listing) operationsQuery(value string, page int) query.Query {
	q := s.filter(value)
	q.Limit, q.Offset = frame.PerPage, (page-1)*frame.PerPage
	if s.ofService {
		q.Words = frame.ClipPlain(maxValueWords, strings.NewReplacer("-", " ", "_", " ").Replace(value))
	}
	return q
}

// orderHits puts the operations whose own document declares the value first, and omits those that are
// not about a value of services.
func (s listing) orderHits(hits []index.Hit, value string) []index.Hit {
	if s.ofService {
		hits = slices.DeleteFunc(hits, func(h index.Hit) bool { return h.Far })
	}
	rank := func(h index.Hit) int {
		if s.declares(h, value) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(hits, func(a, b index.Hit) int { return cmp.Compare(rank(a), rank(b)) })
	return hits
}

// newUnknownValue returns the problem of a value that no service names, with values of a similar name.
func newUnknownValue(l listing, value string, near []string) *frame.Problem {
	v := frame.NewNotFound(l.thing, fmt.Sprintf("No service names the %s %q.", l.thing, frame.ClipPlain(60, value)), "It may have been withdrawn, or be spelled differently.")
	v.MayAppear = true
	for _, n := range near {
		v.Links = append(v.Links, frame.Link{Text: frame.PlainText(n), Address: l.valueAddress(n)})
	}
	v.Links = append(v.Links, frame.Link{Text: l.title, Address: l.path}, frame.SearchLink)
	return v
}
