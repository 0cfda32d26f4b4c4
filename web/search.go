package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"gazetteer/api/answer"
	"gazetteer/call"
	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/protocol/wording"
	"gazetteer/web/agentpages"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// resultsView is a page of results, or the query that has none because it cannot
// be read.
type resultsView struct {
	Search  searchbox
	Mistake *frame.QueryMistake
	Hits    []hitView
	Total   int
	First   int // number of the first hit shown, from 1
	Last    int
	Grouped bool // at most three operations of a service are shown
	Pages   frame.PageLinks
	Note    string
	// Readings are links to the same query, read in another way.
	Readings []readingLink
	Near     []string
	Unknown  []frame.UnknownFilter // filters that match nothing
	Agent    string                // the query, when it looks like the id of an agent
	// Services and Classes answer the words as a whole.
	Services []sideView
	Classes  []sideView
	Facets   []facetView
	// More are the services with more operations that match than a grouped list shows.
	More []moreView
}

// moreView leads to the operations of a service that match.
type moreView struct {
	Service, Address string
	Count            int // of those that are not listed, without those that are only near in meaning
}

// searchbox is the search field with its labels and links.
type searchbox struct {
	Query       string
	Told        string // what those hear who do not see the results change
	Suggestions []suggestion
}

// sideView is a service or a data class that is shown beside the operations.
type sideView struct {
	Text    string
	Address string
	Detail  string
}

type hitView struct {
	Op      operationView
	Host    string
	Service string
	Number  int           // from 1, on this page
	Marked  template.HTML // the title with the words of the query marked
	Whole   template.HTML // the whole intent with the words of the query marked, "" if the title is all of it
	calling
	TestSet  bool
	Why      *whyView // nil on a page that lists all that there is
	Kind     string
	KindID   string
	Fetched  frame.Moment
	Findings string
	Digest   string
	Also     string // how else it is called, by another document of the host
	Far      bool   // it probably does not fit the request
	Stale    string // why the evidence is older than it should be
	Caution  string // what in its texts speaks to a model instead of describing
	Invalid  bool   // its document has errors
	Inherits bool   // another document of its service declares the value of the page, not its own
}

// searchPage is the front page, and with a query the results.
func (p *Pages) searchPage(c *gin.Context) (frame.WebPage, error) {
	text := c.Query("q")
	if filters := readFilters(c); filters.Filtered() { // written as for the API
		to := c.Request.URL.Query()
		for _, f := range query.Filters() {
			to.Del(f.Key)
		}
		to.Set("q", strings.TrimSpace(text+" "+filters.String()))
		return frame.WebPage{Status: http.StatusSeeOther, Location: "/?" + to.Encode()}, nil
	}
	if strings.TrimSpace(text) == "" {
		return p.homePage(c)
	}
	number, err := frame.PageNumber(c)
	if err != nil {
		return frame.WebPage{}, err
	}
	reading, err := readReading(c)
	if err != nil {
		return frame.WebPage{}, err
	}
	v, err := p.findResults(c.Request.Context(), text, number, reading)
	if e, ok := errors.AsType[*query.Error](err); ok {
		m := mistakeIn(e)
		v = resultsView{Search: searchbox{Query: text, Told: m.What + " " + m.Help}, Mistake: &m}
		return frame.WebPage{Name: "results", Title: "The query is not valid", Status: http.StatusBadRequest, Body: v, Live: true}, nil
	}
	return frame.WebPage{Name: "results", Title: frame.PlainText(text), Body: v, Live: true}, err
}

// readFilters reads the filters that are parameters of the address, as in the API.
func readFilters(c *gin.Context) query.Query {
	var q query.Query
	for _, f := range query.Filters() {
		for _, value := range c.QueryArray(f.Key) {
			if value = strings.TrimSpace(value); value != "" {
				values := f.Values(&q)
				*values = append(*values, value)
			}
		}
	}
	return q
}

// A reading holds the options by which a query is read and results are excluded. Its fields are
// parameters of the address, as in the API.
type reading struct {
	exact, safe bool
	minFit      float64
}

// readReading reads the parameters exact, safe and min_fit.
func readReading(c *gin.Context) (reading, error) {
	r := reading{exact: c.Query("exact") == "true", safe: c.Query("safe") == "true"}
	if text := c.Query("min_fit"); text != "" {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !(n >= 0 && n <= 1) {
			return r, frame.BadRequest(fmt.Sprintf("There is no fit %q", frame.ClipPlain(30, text)), "A fit is a number from 0 to 1.")
		}
		r.minFit = n
	}
	return r, nil
}

// queryValues returns the parameters of the page with a query and this reading.
func (r reading) queryValues(text string) url.Values {
	v := url.Values{"q": {text}}
	if r.exact {
		v.Set("exact", "true")
	}
	if r.safe {
		v.Set("safe", "true")
	}
	if r.minFit > 0 {
		v.Set("min_fit", strconv.FormatFloat(r.minFit, 'g', -1, 64))
	}
	return v
}

// readingLinks returns links to the same query, read in another way.
func (r reading) readingLinks(text string, found index.Result) []readingLink {
	var links []readingLink
	add := func(text string, to url.Values) { links = append(links, readingLink{text, "/?" + to.Encode()}) }
	if found.Correction != nil {
		exact := r
		exact.exact = true
		add(`Search instead for "`+text+`"`, exact.queryValues(text))
	}
	if r.exact {
		loose := r
		loose.exact = false
		add("Correct misspelled words again", loose.queryValues(text))
	}
	ends, far := false, false
	for _, h := range found.Hits {
		ends, far = ends || h.Effect.Destructive, far || h.Far
	}
	if ends || r.safe {
		other := r
		other.safe = !r.safe
		if r.safe {
			add("Show operations that remove or end something", other.queryValues(text))
		} else {
			add("Hide operations that remove or end something", other.queryValues(text))
		}
	}
	if far || r.minFit > 0 {
		other := r
		if r.minFit > 0 {
			other.minFit = 0
			add("Show weak matches", other.queryValues(text))
		} else {
			other.minFit = index.FarFit
			add("Hide weak matches", other.queryValues(text))
		}
	}
	return links
}

// A readingLink leads to the same query, read in another way.
type readingLink struct{ Text, Address string }

// findResults answers a query.
func (p *Pages) findResults(ctx context.Context, text string, number int, as reading) (resultsView, error) {
	q, err := query.Parse(text)
	if err != nil {
		return resultsView{}, err
	}
	q.Verbatim, q.Safe, q.MinFit = as.exact, as.safe, as.minFit
	asked := q
	q.Limit, q.Offset, q.Facets = frame.PerPage, (number-1)*frame.PerPage, append(facetFields(), query.HostKey)
	r, err := p.answers.Search(ctx, q)
	if err != nil {
		return resultsView{}, err
	}
	suggested, err := p.makeSuggestions(ctx, text)
	if err != nil {
		return resultsView{}, err
	}
	text = strings.TrimSpace(text)
	v := resultsView{
		Search: searchbox{Query: text, Told: resultSentence(r), Suggestions: suggested},
		Total:  r.Total, Note: noteOf(r), Near: r.Near, First: q.Offset + 1, Last: q.Offset + len(r.Hits),
		Grouped: q.Words != "" && len(q.Hosts) == 0, Facets: facetsOf(asked, r), Readings: as.readingLinks(text, r),
	}
	if v.Hits, err = p.completeHits(ctx, r.Hits); err != nil {
		return resultsView{}, err
	}
	if r.Total == 0 && asked.Filtered() {
		if err := p.explainEmptyFilters(ctx, asked, as, &v); err != nil {
			return resultsView{}, err
		}
	}
	v.Services, v.Classes = listOtherHits(q, r)
	v.Pages = frame.LinkPages("/", as.queryValues(text), number, r.Total, frame.PerPage)
	if v.Grouped {
		// The number of pages is unknown before the last one is computed.
		v.Pages.Count = 0
	}
	if !r.More {
		v.Pages.Next = ""
		if len(r.Hits) > 0 {
			v.Pages.Count = number
		}
	}
	if v.Grouped {
		v.More = moreOfServices(asked, as, r)
	}
	if agentpages.AgentID.MatchString(text) {
		v.Agent = text
	}
	return v, nil
}

// perService is the number of operations of a service in a grouped list.
const perService = 3

// moreOfServices returns the services on a page of a grouped list that have more operations which match.
func moreOfServices(q query.Query, as reading, r index.Result) []moreView {
	var more []moreView
	for _, c := range r.Facets[query.HostKey] {
		at := slices.IndexFunc(r.Hits, func(h index.Hit) bool { return h.Host == c.Value })
		if at < 0 || c.Operations <= perService {
			continue
		}
		if one, ok := q.Toggled(query.HostKey, c.Value); ok {
			more = append(more, moreView{cmp.Or(r.Hits[at].Service.Name, c.Value), "/?" + as.queryValues(one.String()).Encode(), c.Operations - perService})
		}
	}
	return more
}

// noteOf describes how the words were read, if that differs from the text.
func noteOf(r index.Result) string {
	note := frame.AsSentence(r.Note)
	if r.Correction != nil {
		note += ` Showing results for "` + r.Correction.Query + `".`
	}
	for _, l := range r.LeftOut {
		note += ` Left out because of "` + l.Text + `": ` + frame.FormatCount(l.Operations, "operation") + "."
	}
	return strings.TrimSpace(note)
}

// listOtherHits lists the services and the classes of data that answer the words as a whole, each
// once: a service may be described by several documents. Beside operations it lists only those
// that the words name: others would compete with the operations without being ranked among them.
func listOtherHits(q query.Query, r index.Result) (services, classes []sideView) {
	met := map[string]bool{}
	named := func(name string) bool { return len(r.Hits) == 0 || containsWords(name, q.Words) }
	for _, s := range r.Services {
		if !met[s.Host] && named(s.Service.Name+" "+s.Host) {
			services = append(services, sideView{Text: cmp.Or(s.Service.Name, s.Host), Address: frame.ServicePath(s.Host), Detail: frame.FormatCount(s.Operations, "operation")})
			met[s.Host] = true
		}
	}
	for _, k := range r.Classes {
		if key := k.Host + " " + k.Class.Name; !met[key] && named(k.Class.Name) {
			classes = append(classes, sideView{Text: k.Class.Name, Address: classListing.valueAddress(strings.ToLower(k.Class.Name)), Detail: "held by " + k.Host})
			met[key] = true
		}
	}
	return services, classes
}

// containsWords reports whether a name has all of the words, in any letter case.
func containsWords(name, words string) bool {
	split := func(text string) []string {
		return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	}
	parts := split(name)
	return !slices.ContainsFunc(split(words), func(word string) bool { return !slices.Contains(parts, word) })
}

// resultSentence describes the result in one sentence.
func resultSentence(r index.Result) string {
	switch {
	case r.Total == 0 && r.Note != "":
		return frame.AsSentence(r.Note)
	case r.Total == 0:
		return "No operation matches."
	case r.Total == 1:
		return strings.TrimSpace("One operation matches. " + frame.AsSentence(r.Note))
	}
	return strings.TrimSpace(frame.FormatNumber(r.Total) + " operations match. " + frame.AsSentence(r.Note))
}

// completeHits adds the age of the evidence to the hits, as rows of a list.
func (p *Pages) completeHits(ctx context.Context, found []index.Hit) ([]hitView, error) {
	hits, err := p.answers.Hits(ctx, found, p.Now())
	if err != nil {
		return nil, err
	}
	views := make([]hitView, 0, len(hits))
	room := maxHitPrograms
	for i, h := range hits {
		v := p.hitViewOf(h)
		v.Number = i + 1
		v.Programs = append(v.Programs, toolOf(h))
		v.fit(&room, operationPath(h.Host, string(h.Kind), h.Operation.ID))
		views = append(views, v)
	}
	return views, nil
}

func (p *Pages) hitViewOf(h answer.Hit) hitView {
	why := whyOf(h.Why)
	v := hitView{
		Op:       operationOf(h.Operation, h.Service).withFewParameters(),
		Host:     h.Host,
		Service:  h.Service.Name,
		Why:      &why,
		Kind:     frame.KindName(string(h.Kind)),
		KindID:   string(h.Kind),
		Fetched:  p.MomentOf(h.Freshness.FetchedAt),
		Findings: findingsWords[h.Findings],
		Digest:   shortDigest(h.Digest),
		Caution:  frame.AsSentence(h.Caution),
		Invalid:  h.Findings == "error",
		calling:  callingOf(h.Operation, h.Service),
		TestSet:  slices.Contains(h.Service.Categories, testCategory) || h.Service.Domain == testCategory,
		Far:      h.Far,
	}
	v.Op.Effect = frame.EffectOf(h.Effect)
	intent, words := titleOfOperation(h.Operation), matchedWords(h.Why)
	title := shortTitle(intent)
	v.Marked = frame.MarkWords(maxIntent, title, words)
	if len(intent)-len(title) > len("。") || strings.HasSuffix(title, "…") {
		v.Whole = frame.MarkWords(maxIntent, intent, words)
	}
	if h.Freshness.Stale {
		v.Stale = frame.AsSentence(h.Freshness.Why)
	}
	if o, s, ok := h.HTTPTwin(); ok {
		twin := operationOf(o, s).withFewParameters()
		v.Also = strings.TrimSpace(v.Op.Call.Method + " " + v.Op.Call.URL)
		v.Op.Call, v.Op.Parameters, v.Op.More, v.calling = twin.Call, twin.Parameters, twin.More, callingOf(o, s)
	} else if h.Also != nil && h.Also.Call.URL != "" {
		v.Also = strings.TrimSpace(cmp.Or(h.Also.Call.Method, h.Also.Verb) + " " + h.Also.Call.URL)
	}
	v.Service = cmp.Or(v.Service, h.Host)
	return v
}

const (
	maxTitle  = 80   // characters: two lines of a phone
	maxIntent = 1000 // characters of a description
)

// shortTitle returns the first sentence of an intent, cut to the length of a title.
func shortTitle(intent string) string {
	return wording.Shorten(wording.FirstSentence(intent), maxTitle)
}

// titleOfOperation is the intent of an operation, or its id if it has none.
func titleOfOperation(o document.Operation) string { return cmp.Or(o.Intent, o.ID) }

// matchedWords lists the words of an operation that matched words of the query.
func matchedWords(w index.Why) []string {
	var words []string
	for _, m := range w.Matched {
		if words = append(words, m.Text); !strings.Contains(m.Term, " ") { // an expression stands for other words
			words = append(words, m.Term)
		}
	}
	return words
}

// calling shows how to call an operation.
type calling struct {
	Programs  []programView
	Bound     bool   // they use the HTTP binding of AGTP, which a service may lack
	Elsewhere string // the page that has the programs, where this one has no room for them
}

// The number of bytes of programs on a page: one of results, and one of a service, whose operations
// have all of their parameters.
const (
	maxHitPrograms     = 36 << 10
	maxServicePrograms = 26 << 10
)

func callingOf(o document.Operation, s document.Service) calling {
	return calling{Programs: programsOf(o, s), Bound: call.Of(o, s).HTTPBinding != ""}
}

// fit takes room for the programs, or moves them to another page if there is not enough.
func (c *calling) fit(room *int, elsewhere string) {
	size := 0
	for _, p := range c.Programs {
		size += len(p.Text)
	}
	if size > *room {
		c.Programs, c.Elsewhere = nil, elsewhere
		return
	}
	*room -= size
}

// toolOf writes an operation as a tool of MCP.
func toolOf(h answer.Hit) programView {
	tools := call.Tools([]call.ToolSource{{ID: h.ID, Host: h.Host, Service: h.Service, Operation: h.Operation, Ends: h.Effect.Destructive}})
	text, err := json.MarshalIndent(call.ToMCP(tools, "").Tools[0], "", "  ")
	if err != nil { // its parts were JSON
		return programView{}
	}
	return programView{"MCP tool", frame.PlainText(string(text))}
}

// operationPath is the page of a service at one of its operations.
func operationPath(host, kind, id string) string {
	return frame.ServicePath(host) + "?" + url.Values{"kind": {kind}, "op": {id}}.Encode() + "#op"
}

// A programView is a program that calls an operation.
type programView struct{ Language, Text string }

// programsOf writes programs that call an operation over HTTP; none for one that HTTP cannot call.
func programsOf(o document.Operation, s document.Service) []programView {
	how := call.Of(o, s)
	var programs []programView
	for _, p := range []struct {
		language string
		write    func() (string, bool)
	}{{"curl", how.CurlBlock}, {"Python", how.Python}, {"JavaScript", how.JavaScript}} {
		if text, ok := p.write(); ok {
			programs = append(programs, programView{p.language, frame.PlainText(text)})
		}
	}
	return programs
}
