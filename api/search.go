package api

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/call"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/internal/nearest"
	"gazetteer/protocol"
)

const searchPath = "/api/v1/search"

// searchRoutes declares the routes that read the index.
func (a *API) searchRoutes(h huma.API) {
	op := route.Op("search")
	op.Description = "Words rank operations by their own descriptions; filters narrow the result. Values of one filter are alternatives; " +
		"different filters must all match.\n\n" +
		"A result has what a caller needs to choose and call an operation. `fields` selects members of the full form, `fields=all` returns all of them, and " +
		"`explain=true` adds the reasons for each match. `within_tokens` returns as many results as fit, in a short form. `as` returns a form for callers: the " +
		"result of `tools/list` of MCP, functions with a JSON Schema, or lines for curl.\n\n" +
		"A cursor opens the next page of the same search; `fields`, `explain`, `within_tokens` and `limit` may change from page to page, and `as` from one form for callers to another. The header `Link` also " +
		"has the address of the next page."
	op.Responses = searchResponses(h)
	route.Handle(a.Mux, h, addFilterParameters(op, query.Filters(), maxFilterValues), a.searchOperations)
	byBody := route.Complete(huma.Operation{OperationID: "search-by-body", Responses: searchResponses(h), Description: "Its members are the parameters of GET with the same names. An unknown member is refused, with its JSON Pointer."})
	route.HandleBody[SearchBody](a.Mux, h, byBody, a.searchByBody)
	a.searchParameters = h.OpenAPI().Paths[searchPath].Get.Parameters
	describeFacetParameter(a.searchParameters)
}

// searchResponses describes the forms of an answer.
func searchResponses(h huma.API) map[string]*huma.Response {
	either := &huma.Schema{AnyOf: []*huma.Schema{route.SchemaOf[ShortPage](h), route.SchemaOf[SearchPage](h), route.SchemaOf[PartialPage](h), route.SchemaOf[CompactPage](h), route.SchemaOf[call.MCP](h), route.SchemaOf[call.Functions](h)}}
	return map[string]*huma.Response{"200": {
		Description: "A page of results in their short form; with fields, within_tokens, as=mcp, as=functions or as=curl in another form.",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: either}, "text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
}

// searchInput documents the parameters of a search except the filters, which addFilterParameters
// describes. readSearch reads them from the query of the address or from a body.
type searchInput struct {
	Q            string   `query:"q" doc:"what to look for: words, \"a phrase\", -word, and the filters below as in verb:BOOK; at most 2,000 characters and 200 words"`
	Aliases      bool     `query:"aliases" doc:"true to search also what only /ai answered, which is not authoritative"`
	Exact        bool     `query:"exact" doc:"true to disable spelling correction"`
	Safe         bool     `query:"safe" doc:"true to leave out operations that end or remove something or cannot be undone, as declared or by inference"`
	MinFit       float64  `query:"min_fit" minimum:"0" maximum:"1" doc:"the least fit of a result, 0 to 1; others are left out, so a page can be shorter. Results below far_below of the answer probably do not fit the request"`
	Facets       []string `query:"facets,explode" maxItems:"16" doc:"fields to count the values of, with commas between"`
	Limit        int      `query:"limit" minimum:"1" maximum:"100" doc:"how many operations on one page, 1 to 100; 20 by default, or as many as fit with within_tokens"`
	Cursor       string   `query:"cursor" doc:"where the page begins, from the answer before"`
	WithinTokens int      `query:"within_tokens" minimum:"100" maximum:"100000" doc:"a number of tokens, 100 to 100,000: as many results as fit, in a short form"`
	As           string   `query:"as" enum:"mcp,functions,curl" doc:"mcp, functions or curl: the results in that form, for callers. Documents with errors are left out, unless state or level asks for them, as in state=invalid"`
	Fields       []string `query:"fields,explode" maxItems:"50" doc:"the members of the full form of a result to return in addition to its id, separated by commas; all for the full form. The default is the short form: everything that a caller needs to choose and to call"`
	Explain      bool     `query:"explain" doc:"true to add why each result matches, word by word, and how the search was understood"`
}

// SearchBody documents the body of a search.
type SearchBody struct {
	Q string `json:"q,omitempty" doc:"as the parameter of GET; so are the others"`
	FilterBody
	MinFit       float64 `json:"min_fit,omitempty" minimum:"0" maximum:"1" doc:"leaves out results that fit less"`
	Facets       Texts   `json:"facets,omitempty"`
	Limit        int     `json:"limit,omitempty"`
	Cursor       string  `json:"cursor,omitempty"`
	WithinTokens int     `json:"within_tokens,omitempty"`
	As           string  `json:"as,omitempty"`
	Fields       Texts   `json:"fields,omitempty"`
	Explain      bool    `json:"explain,omitempty" doc:"true to add why each result matches"`
}

// Texts documents a text or a list of texts.
type Texts []string

// Schema returns the schema of both (huma.SchemaProvider).
func (Texts) Schema(huma.Registry) *huma.Schema {
	text := &huma.Schema{Type: huma.TypeString}
	return &huma.Schema{OneOf: []*huma.Schema{text, {Type: huma.TypeArray, Items: text}}}
}

// SearchPage is one page of a search with results in their whole form.
type SearchPage struct {
	Hits []answer.Hit `json:"hits" doc:"the results, in order of relevance"`
	PageState
	Services []index.ServiceHit `json:"services,omitempty" doc:"services that match the query as a whole; on the first page"`
	Query    QueryView          `json:"query" doc:"how the search was understood"`
}

// A PageSlot takes the page of a search that was requested inside of this process, so that it is not
// encoded and decoded again. Only Hits and PageState are set.
type PageSlot struct {
	Page   SearchPage
	Filled bool
}

type pageSlotKey struct{}

// WithPageSlot returns the context for such a request. Its answer has no body if the slot is filled.
func WithPageSlot(ctx context.Context, slot *PageSlot) context.Context {
	return context.WithValue(ctx, pageSlotKey{}, slot)
}

// PageState has the members of a page of a search beside its results.
type PageState struct {
	Total int    `json:"total" doc:"operations that match, on this page or not; a search by words lists at most three of one service"`
	More  bool   `json:"more" doc:"there is a next page; a search by words shows at most three operations of a service"`
	Seq   uint64 `json:"seq" doc:"the sequence number of the store that the answer is based on"`
	// Behind and Moved report the age of the answer.
	Behind uint64 `json:"behind,omitempty" doc:"the number of records that the index is behind the store"`
	Moved  uint64 `json:"moved,omitempty" doc:"the number of records that the index has read since the previous page: results may be missing, or on both pages"`
	Note   string `json:"note,omitempty" doc:"what a person should know about the answer"`
	// Correction and LeftOut report words that the server read in another way than they are
	// written.
	Correction *index.Correction `json:"correction,omitempty" doc:"the search also used this spelling, because no operation contains the original words"`
	LeftOut    []index.LeftOut   `json:"left_out,omitempty" doc:"operations left out because the query rules them out, as in: do not send it"`
	// FarBelow is the fit below which a hit is far.
	FarBelow float64                  `json:"far_below,omitempty" doc:"hits with a lower fit are marked as far: they probably do not fit the request. Absent in queries without words"`
	Facets   map[string][]index.Count `json:"facets,omitempty" doc:"the values of the requested fields over all matches, the most frequent 20 of each; with words, a search with such a filter can find more operations than are counted here"`
	Classes  []index.ClassHit         `json:"classes,omitempty" doc:"data classes that match the query; on the first page"`
	Near     []string                 `json:"near,omitempty" doc:"verbs to try instead, when nothing was found"`
	Next     string                   `json:"next,omitempty" doc:"the cursor of the next page; absent on the last"`
}

// CompactPage is the part of a page that fits a number of tokens.
type CompactPage struct {
	Hits    []answer.CompactHit      `json:"hits"`
	Total   int                      `json:"total" doc:"operations that match"`
	LeftOut int                      `json:"left_out" doc:"how many of them are neither here nor on a page before"`
	Tokens  int                      `json:"tokens" doc:"the size of this answer, by the estimate of token_method"`
	Method  string                   `json:"token_method" doc:"how tokens are counted"`
	Behind  uint64                   `json:"behind,omitempty" doc:"the number of records that the index is behind the store"`
	Moved   uint64                   `json:"moved,omitempty" doc:"the number of records that the index has read since the previous page: results may be missing, or on both pages"`
	Note    string                   `json:"note,omitempty" doc:"what a person should know about the answer"`
	Facets  map[string][]index.Count `json:"facets,omitempty" doc:"the values of the requested fields"`
	Near    []string                 `json:"near,omitempty" doc:"verbs to try instead, when nothing was found"`
}

// A searchRequest is the request of a search.
type searchRequest struct {
	query  query.Query
	within int    // tokens; 0 for the whole form
	as     string // form for callers, "" for none
	form   hitForm
	cursor string
	values url.Values // all of it, which a cursor is bound to
}

// validOnly reports whether the answer has only operations of documents without errors: a caller must
// know that a document is valid before it calls anything that the document describes (AI Discovery
// §4.1, AGIS §11). A filter that asks for other documents decides for itself.
func (s searchRequest) validOnly() bool {
	return s.as != "" && len(s.query.Levels) == 0 && len(s.query.States) == 0
}

// list names the list that a cursor of the request is a position in.
func (s searchRequest) list() string {
	if s.validOnly() {
		return "search of valid documents"
	}
	return "search"
}

func (a *API) searchOperations(ctx context.Context, _ *searchInput) (*route.PageOutput, error) {
	s, err := readSearch(route.Query(ctx))
	if err != nil {
		return nil, err
	}
	return a.runSearch(ctx, s)
}

// readSearch reads parameters that their schemas have already checked.
func readSearch(values url.Values) (searchRequest, error) {
	s := searchRequest{cursor: values.Get("cursor"), as: values.Get("as"), within: intValue(values, "within_tokens"), values: values}
	var err error
	if s.query, err = readQuery(values); err != nil {
		return s, err
	}
	if s.form, err = readHitForm(values["fields"], values.Get("explain") == "true"); err != nil {
		return s, err
	}
	if (s.as != "" || s.within > 0) && (s.form.explain || s.form.whole || s.form.members != nil) {
		parameter := "fields"
		if s.form.explain {
			parameter = "explain"
		}
		return s, route.NewProblem(route.BadParameter, parameter+" cannot be combined with as and within_tokens, which are separate forms", "leave "+parameter+" out, or as and within_tokens").
			WithLocation(route.Location{Parameter: parameter})
	}
	s.query.Brief = s.form.brief()
	if s.query.Facets, err = readFacetFields(values["facets"], "facets"); err != nil {
		return s, err
	}
	s.query.Limit = intValue(values, "limit")
	if s.query.Limit == 0 && s.within > 0 {
		s.query.Limit = min(answer.MaxLimit, s.within/minHitTokens+1)
	}
	return s, nil
}

// minHitTokens is the least number of tokens of a compact hit.
const minHitTokens = 30

// intValue returns the value of a parameter that was checked to be a number, 0 if it is absent.
func intValue(values url.Values, name string) int {
	n, err := strconv.Atoi(values.Get(name))
	if err != nil {
		return 0
	}
	return n
}

// readQuery joins q with the filters beside it.
func readQuery(values url.Values) (query.Query, error) {
	var q query.Query
	if text := values.Get("q"); strings.TrimSpace(text) != "" {
		var err error
		if q, err = query.Parse(text); err != nil {
			return q, err
		}
	}
	for _, f := range query.Filters() {
		to := f.Values(&q)
		for i, v := range values[f.Key] {
			if v = strings.TrimSpace(v); v == "" {
				return q, route.NewProblem(route.BadParameter, f.Key+" is empty", "give it a value, or leave it out").WithLocation(route.Location{Parameter: f.Key}).WithValueIndex(i)
			}
			if at := strings.IndexFunc(v, query.IsBidiControl); at >= 0 {
				return q, route.NewProblem(route.BadParameter, f.Key+" contains a character that changes the appearance of text", "remove it").
					WithLocation(route.Location{Parameter: f.Key, Column: utf8.RuneCountInString(v[:at]) + 1}).WithValueIndex(i)
			}
			if !slices.Contains(*to, v) {
				*to = append(*to, v)
			}
		}
	}
	q.Aliases = values.Get("aliases") == "true"
	q.Verbatim = values.Get("exact") == "true"
	q.Safe = values.Get("safe") == "true"
	if text := values.Get("min_fit"); text != "" {
		q.MinFit, _ = strconv.ParseFloat(text, 64) // was judged to be a number
	}
	return q, nil
}

// checkQuery refuses a search for nothing.
func checkQuery(q query.Query) error {
	if q.Words != "" || len(q.Phrases) > 0 || q.Filtered() {
		return nil
	}
	var names []string
	for _, f := range query.Filters() {
		names = append(names, f.Key)
	}
	return route.NewProblem(route.BadQuery, "there is nothing to search for", "give words in q, or a filter: "+route.JoinWords(names)).WithLocation(route.Location{Parameter: "q", Column: 1})
}

// readFacetFields reads field names separated by commas.
func readFacetFields(lists []string, parameter string) ([]string, error) {
	var fields []string
	for i, names := range lists {
		for name := range strings.SplitSeq(names, ",") {
			if name = strings.ToLower(strings.TrimSpace(name)); name == "" || slices.Contains(fields, name) {
				continue
			}
			if !slices.Contains(query.FacetFields(), name) {
				help := "the fields are " + route.JoinWords(query.FacetFields())
				if question := nearest.Question(name, query.FacetFields()); question != "" {
					help = question + " " + help
				}
				return nil, route.NewProblem(route.BadParameter, fmt.Sprintf("there is no field %.40q to count", name), help).
					WithLocation(route.Location{Parameter: parameter}).WithValueIndex(i)
			}
			fields = append(fields, name)
		}
	}
	return fields, nil
}

// runSearch searches and writes the answer in the requested form.
func (a *API) runSearch(ctx context.Context, s searchRequest) (*route.PageOutput, error) {
	if err := checkQuery(s.query); err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, route.QueryKey{}, s.values)
	c, err := a.ReadCursor(ctx, s.cursor, s.list())
	if err != nil {
		return nil, err
	}
	s.query.Offset = c.Offset
	asked := s.query
	if s.validOnly() {
		asked.States = []string{query.StateValid, query.StateFlawed}
	}
	r, err := a.Answers.Search(ctx, asked)
	if err != nil {
		return nil, err
	}
	state := PageState{
		Total: r.Total, More: r.More, Seq: r.Seq, Behind: a.Answers.Behind(r.Seq), Note: r.Note, Facets: r.Facets,
		Classes: r.Classes, Near: r.Near, Correction: r.Correction, LeftOut: r.LeftOut,
	}
	if strings.TrimSpace(s.query.Words) != "" {
		state.FarBelow = index.FarFit
	}
	if c.Seq > 0 && r.Seq > c.Seq {
		state.Moved = r.Seq - c.Seq
	}
	if r.Total == 0 && state.Note == "" {
		if state.Note, err = a.Answers.NoteEmptyFilters(ctx, asked); err != nil {
			return nil, err
		}
	}
	if r.Total == 0 && ctx.Value(pageSlotKey{}) == nil { // pages and MCP have words of their own for this
		state.Note = cmp.Or(state.Note, "no operation matches: use other words or fewer filters")
	}
	if s.as != "" || s.within > 0 {
		hits, err := a.Answers.Hits(ctx, r.Hits, a.Now())
		if err != nil {
			return nil, err
		}
		return a.writeOtherForm(ctx, s, hits, state)
	}
	link := ""
	if r.More {
		state.Next, link = a.nextSearchPage(ctx, s, max(s.query.Limit, len(r.Hits)), r.Seq)
	}
	if slot, ok := ctx.Value(pageSlotKey{}).(*PageSlot); ok {
		hits, err := a.Answers.Hits(ctx, r.Hits, a.Now())
		slot.Page, slot.Filled = SearchPage{Hits: hits, PageState: state}, err == nil
		return &route.PageOutput{ContentType: "application/json"}, err
	}
	if !s.form.whole && s.form.members == nil {
		text, err := a.shortPage(ctx, s, r, state)
		return &route.PageOutput{ContentType: "application/json", Link: link, Body: text}, err
	}
	page, err := a.searchPageOf(ctx, s, r, state)
	if err != nil {
		return nil, err
	}
	return route.JSONPage(page, link)
}

// writeOtherForm writes a page in a form for callers, or as much of it as fits a number of tokens.
func (a *API) writeOtherForm(ctx context.Context, s searchRequest, hits []answer.Hit, state PageState) (*route.PageOutput, error) {
	switch {
	case s.as == "":
		return a.compactPage(ctx, s, hits, state)
	case s.within > 0:
		return a.exportWithin(ctx, s.as, callOffers(hits), s.within, func(n int) (string, string) {
			if n == len(hits) && !state.More {
				return "", ""
			}
			s.query.Limit = n
			return a.nextSearchPage(ctx, s, n, state.Seq)
		})
	}
	next, link := "", ""
	if state.More {
		next, link = a.nextSearchPage(ctx, s, max(s.query.Limit, len(hits)), state.Seq)
	}
	return a.exportOperations(ctx, s.as, callOffers(hits), next, link)
}

// nextSearchPage returns the cursor and Link of the page after that many results; both are "" if
// there cannot be any.
func (a *API) nextSearchPage(ctx context.Context, s searchRequest, shown int, seq uint64) (next, link string) {
	if s.query.Limit == 0 {
		shown = max(shown, route.DefaultLimit)
	}
	if s.query.Offset+shown > route.MaxOffset {
		return "", ""
	}
	return a.NextPage(ctx, searchPath, s.list(), route.Cursor{Offset: s.query.Offset + shown, Seq: seq})
}

// compactPage keeps as many hits as fit the tokens, in their order. The cursor of the next page,
// which a model cannot use, is in Link alone.
func (a *API) compactPage(ctx context.Context, s searchRequest, hits []answer.Hit, page PageState) (*route.PageOutput, error) {
	p := CompactPage{
		Hits: []answer.CompactHit{}, Total: page.Total, LeftOut: page.Total, Tokens: s.within, Method: protocol.TokenMethod,
		Behind: page.Behind, Moved: page.Moved, Note: page.Note, Facets: page.Facets, Near: page.Near,
	}
	spent, err := tokenCost(p)
	if err != nil {
		return nil, err
	}
	all := spent
	if spent > float64(s.within) {
		p.Facets, p.Near, p.Note = nil, nil, "the tokens are too few for an answer with everything that was requested"
		if spent, err = tokenCost(p); err != nil {
			return nil, err
		}
	}
	for _, h := range hits {
		hit := h.Compact()
		cost, err := tokenCost(hit)
		if err != nil {
			return nil, err
		}
		cost += protocol.TokenCost(",")
		if spent += cost; spent <= float64(s.within) {
			p.Hits = append(p.Hits, hit)
			continue
		}
		if len(p.Hits) == 0 {
			p.Facets, p.Near = nil, nil // or this might not fit either
			p.Note = fmt.Sprintf("the next result does not fit: ask for %d tokens or more", int(all+cost)+2)
		}
		break
	}
	link := ""
	if len(p.Hits) < len(hits) {
		if len(p.Hits) > 0 {
			s.query.Limit = len(p.Hits)
			_, link = a.nextSearchPage(ctx, s, len(p.Hits), page.Seq)
		}
	} else if page.More {
		_, link = a.nextSearchPage(ctx, s, max(s.query.Limit, len(p.Hits)), page.Seq)
	}
	p.LeftOut = max(0, page.Total-s.query.Offset-len(p.Hits))
	p.Tokens = 0
	for {
		cost, err := tokenCost(p)
		if err != nil {
			return nil, err
		}
		if int(cost) < p.Tokens {
			break
		}
		p.Tokens = int(cost) + 1
	}
	return route.JSONPage(p, link)
}

// tokenCost returns how many tokens a value takes as JSON.
func tokenCost(v any) (float64, error) {
	var b bytes.Buffer
	if err := huma.DefaultJSONFormat.Marshal(&b, v); err != nil {
		return 0, fmt.Errorf("write the answer: %w", err)
	}
	return protocol.TokenCost(b.String()), nil
}
