package web

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// verbsPage lists the verbs that are offered.
func (p *Pages) verbsPage(c *gin.Context) (frame.WebPage, error) {
	all, err := p.answers.Verbs(c.Request.Context())
	if err != nil {
		return frame.WebPage{}, err
	}
	counts := make([]index.ValueCount, len(all))
	for i, n := range all {
		counts[i] = index.ValueCount{Value: n.Verb, Operations: n.Operations, Services: n.Services}
	}
	v := directoryView{Path: "/verbs", Title: "Verbs", Thing: "verb", Plural: "verbs", Verbs: true,
		Lead: "Verbs name what operations do. The page of a verb lists its operations and the related verbs."}
	return v.showDirectory(c, counts, frame.VerbPath)
}

type verbView struct {
	Verb     string
	Services int
	Family   []relatedView
	Hits     []hitView
	Total    int
	First    int
	Last     int
	Pages    frame.PageLinks
}

// relatedView is another offered verb and its relation to this one.
type relatedView struct {
	index.VerbCount
	Relation string
}

// relationWords describe the relation between two verbs.
var relationWords = map[string]string{
	"stem":     "another form of it",
	"synonym":  "a similar meaning",
	"hypernym": "a related meaning",
	"antonym":  "the opposite",
}

// maxFamily bounds the related verbs of a page.
const maxFamily = 24

// verbPage lists the operations that bear one verb, and the verbs near it.
func (p *Pages) verbPage(c *gin.Context) (frame.WebPage, error) {
	ctx := c.Request.Context()
	verb := strings.ToUpper(c.Param("verb"))
	number, err := frame.PageNumber(c)
	if err != nil {
		return frame.WebPage{}, err
	}
	q := query.Query{Verbs: []string{verb}, Limit: frame.PerPage, Offset: (number - 1) * frame.PerPage}
	r, err := p.answers.Search(ctx, q)
	if err != nil {
		return frame.WebPage{}, err
	}
	if r.Total == 0 {
		return frame.WebPage{}, newUnknownVerb(verb, r.Near)
	}
	v := verbView{Verb: verb, Total: r.Total, First: q.Offset + 1, Last: q.Offset + len(r.Hits)}
	family, err := p.catalog.VerbFamily(ctx, verb)
	if err != nil {
		return frame.WebPage{}, err
	}
	for _, f := range family {
		if f.Verb == verb {
			v.Services = f.Services
		} else if len(v.Family) < maxFamily {
			v.Family = append(v.Family, relatedView{f.VerbCount, relationWords[f.Relation]})
		}
	}
	if v.Hits, err = p.completeHits(ctx, r.Hits); err != nil {
		return frame.WebPage{}, err
	}
	v.Pages = frame.LinkPages(frame.VerbPath(verb), url.Values{}, number, r.Total, frame.PerPage)
	return frame.WebPage{Name: "verb", Title: frame.PlainText(verb), Body: v,
		Description: fmt.Sprintf("%s with the verb %s: what each does, who offers it, and how it is called.", frame.FormatCount(v.Total, "operation"), frame.ClipPlain(80, verb))}, nil
}

// mostOffered orders verbs by the services that offer them, then by name.
func mostOffered(verbs []index.VerbCount) []index.VerbCount {
	top := slices.Clone(verbs)
	slices.SortStableFunc(top, func(a, b index.VerbCount) int {
		return cmp.Or(cmp.Compare(b.Services, a.Services), strings.Compare(a.Verb, b.Verb))
	})
	return top
}
