package web

import (
	"cmp"
	"html/template"
	"net/url"
	"slices"
	"strings"

	"gazetteer/index"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// directoryView is a list of names that operations are found under: verbs, namespaces, classes of
// data. A filter narrows it.
type directoryView struct {
	Path         string
	Title        string
	Lead         template.HTML
	Thing        string // one of what is listed
	Plural       string // several of it
	Query, Sort  string
	Sorts        []frame.Choice
	Verbs        bool // the names are verbs
	OfServices   bool // services have the names as a whole, so their operations are not counted
	Names        []directoryName
	Total        int // that the filter leaves
	All          int
	First, Last  int
	Pages        frame.PageLinks
	SearchInText string // address of a search for the words of the filter
}

// directoryName is a name with its number of operations.
type directoryName struct {
	Text, Address        string
	Services, Operations int
	Share                int // of the services of the most used name, in hundredths
}

// directoryPerPage bounds a page: third parties choose the names.
const directoryPerPage = 100

// directorySorts are the orders of a directory, the first by default.
var directorySorts = []struct {
	value, name string
	compare     func(a, b index.ValueCount) int
}{
	{"", "Most services", func(a, b index.ValueCount) int {
		return cmp.Or(cmp.Compare(b.Services, a.Services), cmp.Compare(b.Operations, a.Operations), strings.Compare(a.Value, b.Value))
	}},
	{"operations", "Most operations", func(a, b index.ValueCount) int {
		return cmp.Or(cmp.Compare(b.Operations, a.Operations), strings.Compare(a.Value, b.Value))
	}},
	{"name", "Name", func(a, b index.ValueCount) int { return strings.Compare(a.Value, b.Value) }},
}

// showDirectory adds the filtered names to v in the requested order. address returns the address of
// the page of a name.
func (v directoryView) showDirectory(c *gin.Context, all []index.ValueCount, address func(name string) string) (frame.WebPage, error) {
	number, err := frame.PageNumber(c)
	if err != nil {
		return frame.WebPage{}, err
	}
	v.Query, v.Sort, v.All = strings.TrimSpace(c.Query("q")), c.Query("sort"), len(all)
	most := 1
	var found []index.ValueCount
	for _, n := range all {
		most = max(most, n.Services)
		if strings.Contains(strings.ToLower(n.Value), strings.ToLower(v.Query)) {
			found = append(found, n)
		}
	}
	compare := directorySorts[0].compare
	for _, o := range directorySorts {
		if v.OfServices && o.value == "operations" {
			continue
		}
		v.Sorts = append(v.Sorts, frame.Choice{Value: o.value, Name: o.name, Chosen: o.value == v.Sort})
		if o.value == v.Sort {
			compare = o.compare
		}
	}
	slices.SortStableFunc(found, compare)
	from := min((number-1)*directoryPerPage, len(found))
	shown := found[from:min(from+directoryPerPage, len(found))]
	v.Total, v.First, v.Last = len(found), from+1, from+len(shown)
	for _, n := range shown {
		v.Names = append(v.Names, directoryName{n.Value, address(n.Value), n.Services, n.Operations, max(1, 100*n.Services/most)})
	}
	q := url.Values{}
	if v.Query != "" {
		q.Set("q", v.Query)
		v.SearchInText = searchPath(v.Query)
	}
	if v.Sort != "" {
		q.Set("sort", v.Sort)
	}
	v.Pages = frame.LinkPages(v.Path, q, number, len(found), directoryPerPage)
	return frame.WebPage{Name: "directory", Title: v.Title, Description: v.Title + " that services offer to agents, each with the number of services and operations.", Body: v}, nil
}
