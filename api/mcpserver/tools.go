package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/api/feed"
	"gazetteer/call"
	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/protocol"
)

// operationTokens is the approximate number of tokens of one operation in a result.
const operationTokens = 100

// An operation is an operation of a service as a model sees it.
type operation struct {
	ID       string        `json:"id,omitempty"`
	Host     string        `json:"host,omitempty"`
	Verb     string        `json:"verb,omitempty"`
	Effect   string        `json:"effect,omitempty"`
	Fetched  string        `json:"fetched,omitempty"`
	Stale    bool          `json:"stale,omitempty"`
	Far      bool          `json:"far,omitempty"`      // probably does not fit the request
	Findings string        `json:"findings,omitempty"` // worst severity, from warning on
	Caution  bool          `json:"caution,omitempty"`  // a text of the service speaks to a model
	Relation string        `json:"relation,omitempty"` // of the host to a namespace
	Agents   []agent       `json:"agents,omitempty"`
	More     int           `json:"more_agents,omitempty"`
	Texts    operationText `json:"untrusted,omitzero"`
}

// operationText has the service's texts about an operation.
type operationText struct {
	Service string `json:"service,omitempty"`
	Does    string `json:"does,omitempty"`
	Call    string `json:"call,omitempty"`
	Takes   string `json:"takes,omitempty"`
}

// An agent is an agent that serves an operation.
type agent struct {
	AirID    string    `json:"air_id,omitempty"`
	DID      string    `json:"did"`
	Inbox    string    `json:"inbox,omitempty"`
	Strength string    `json:"strength"`
	By       []string  `json:"by,omitempty"`
	Texts    agentText `json:"untrusted,omitzero"`
}

// agentText has the owner's texts about an agent.
type agentText struct {
	Name   string `json:"name,omitempty"`
	Handle string `json:"handle,omitempty"`
}

// newOperation shapes a hit.
func (t tools) newOperation(h answer.Hit) operation {
	key := h.ID + " " + h.Provenance.Digest
	if _, _, ok := h.HTTPTwin(); ok { // another document says how it is called
		return addFreshness(shapeOperation(h), h)
	}
	o, known := t.shaped.Lookup(key)
	if !known {
		o = shapeOperation(h)
		if h.Provenance.Digest != "" { // a server elsewhere names no version
			t.shaped.Put(key, o, 2*len(key)+len(o.Effect)+len(o.Texts.Service)+len(o.Texts.Does)+len(o.Texts.Call)+len(o.Texts.Takes)+300)
		}
	}
	return addFreshness(o, h)
}

// addFreshness adds what depends on the time and on the search.
func addFreshness(o operation, h answer.Hit) operation {
	o.Fetched, o.Stale, o.Far = h.FetchedAt.UTC().Format(time.DateOnly), h.Freshness.Stale, h.Far
	if h.Findings == "warning" || h.Findings == "error" {
		o.Findings = h.Findings
	}
	return o
}

// shapeOperation returns what does not change while a document is the same.
func shapeOperation(h answer.Hit) operation {
	c, id := h.Compact(), shownID(h.ID)
	return operation{
		ID: id, Host: h.Host, Verb: safeWord(c.Verb), Effect: c.Effect, Caution: h.Caution != "" || id == "",
		Texts: operationText{
			Service: strangerText(c.Service, maxText), Does: strangerText(h.Operation.Intent, maxText),
			Call: strangerText(c.Call, maxText), Takes: strangerText(c.Takes, maxText),
		},
	}
}

// searchInput is the input of a search for operations beside its filters.
type searchInput struct {
	Query        string `json:"query,omitempty" jsonschema:"what is to be done, in words"`
	Cursor       string `json:"cursor,omitempty" jsonschema:"next of an earlier result"`
	WithinTokens int    `json:"within_tokens,omitempty" jsonschema:"size limit of the result in tokens, default 1500"`
}

// operationPage is a page of operations.
type operationPage struct {
	Operations []operation `json:"operations"`
	Total      int         `json:"total"`
	Next       string      `json:"next,omitempty"`
	Note       string      `json:"note,omitempty"`
	Try        []string    `json:"try_verbs,omitempty"`
}

func (t tools) searchOperations(ctx context.Context, from http.Header, in searchInput, q url.Values) (any, error) {
	if err := requireQuery(in.Query, q); err != nil {
		return nil, err
	}
	setText(q, "q", in.Query)
	setText(q, "cursor", in.Cursor)
	tokens := tokenLimit(in.WithinTokens)
	return t.fitPage(ctx, tokens, func(limit int) (operationPage, error) {
		q.Set("limit", strconv.Itoa(limit))
		var slot api.PageSlot
		page := &slot.Page
		if _, err := t.sendRequest(ctx, Request{Method: http.MethodGet, Path: "/api/v1/search?" + q.Encode(), From: from, Search: &slot}, page); err != nil {
			return operationPage{}, err
		}
		out := operationPage{Operations: []operation{}, Total: page.Total, Next: page.Next, Note: page.Note, Try: safeWords(page.Near)}
		for _, h := range page.Hits {
			out.Operations = append(out.Operations, t.newOperation(h))
		}
		return out, nil
	})
}

// requireQuery returns an error for a search without words and filters, in the words of the tools: the
// API calls the argument q.
func requireQuery(words string, filters url.Values) error {
	if strings.TrimSpace(words) != "" || len(filters) > 0 {
		return nil
	}
	return &toolError{Code: "bad-query", Detail: "there is nothing to search for", Help: "give query, in plain words, or a filter such as verb"}
}

// fitPage reads as many operations as about fit the tokens. When they do not fit, it reads fewer,
// so that the cursor of the answer continues behind the last one that is shown.
func (t tools) fitPage(ctx context.Context, tokens int, read func(limit int) (operationPage, error)) (any, error) {
	limit := min(max(tokens/operationTokens, 1), answer.MaxLimit)
	page, err := read(limit)
	if err != nil {
		return nil, err
	}
	if page.Total == 0 && page.Note == "" {
		page.Note = "no operation matches: use other words or fewer filters"
	}
	whole, err := json.Marshal(page)
	if err != nil {
		return nil, fmt.Errorf("write the result: %w", err)
	}
	if protocol.Tokens(string(whole)) <= tokens {
		return json.RawMessage(whole), nil
	}
	fit, err := fitItems(len(page.Operations), tokens, func(n int) any {
		shown := page
		shown.Operations = page.Operations[:n]
		return shown
	})
	if err != nil || fit == len(page.Operations) {
		return page, err
	}
	if fit == 0 {
		return operationPage{Operations: []operation{}, Total: page.Total, Note: fmt.Sprintf("the next operation does not fit into %d tokens: ask for more", tokens)}, nil
	}
	return read(fit)
}

// findInput is the input of a search for agents beside its filters.
type findInput struct {
	Query        string `json:"query,omitempty" jsonschema:"what is to be done, in words"`
	Join         string `json:"join,omitempty" jsonschema:"weakest link between agent and service: proved, mutual or claimed"`
	Require      string `json:"require,omitempty" jsonschema:"evidence an agent must show, e.g. key,domain,inbox; leaves out operations without such an agent"`
	Joined       bool   `json:"joined,omitempty" jsonschema:"only operations with an agent"`
	Cursor       string `json:"cursor,omitempty" jsonschema:"next of an earlier result"`
	WithinTokens int    `json:"within_tokens,omitempty" jsonschema:"size limit of the result in tokens, default 1500"`
}

func (t tools) findAgents(ctx context.Context, from http.Header, in findInput, q url.Values) (any, error) {
	if err := requireQuery(in.Query, q); err != nil {
		return nil, err
	}
	setText(q, "q", in.Query)
	setText(q, "cursor", in.Cursor)
	setText(q, "join", in.Join)
	setText(q, "require", in.Require)
	if in.Joined || in.Require != "" { // an operation without an agent has none with that evidence
		q.Set("joined", "true")
	}
	return t.fitPage(ctx, tokenLimit(in.WithinTokens), func(limit int) (operationPage, error) {
		q.Set("limit", strconv.Itoa(limit))
		var page api.OrchestratePage
		if _, err := t.sendRequest(ctx, Request{Method: http.MethodGet, Path: "/api/v1/orchestrate?" + q.Encode(), From: from}, &page); err != nil {
			return operationPage{}, err
		}
		out := operationPage{Operations: []operation{}, Total: page.Total, Next: page.Next, Note: page.Note, Try: safeWords(page.Near)}
		for _, served := range page.Operations {
			o := t.newOperation(served.Hit)
			o.More = served.More
			for _, a := range served.Agents {
				shown := agent{AirID: a.AirID, DID: cleanText(a.DID, 500), Inbox: cleanText(a.Inbox, 2048), Strength: string(a.Strength), Texts: agentText{strangerText(a.Name, 100), strangerText(a.Handle, 100)}}
				for _, l := range a.Links {
					shown.By = append(shown.By, l.By)
				}
				o.Agents = append(o.Agents, shown)
			}
			out.Operations = append(out.Operations, o)
		}
		if out.Note == "" && len(out.Operations) > 0 && !slices.ContainsFunc(out.Operations, func(o operation) bool { return o.Agents != nil }) {
			out.Note = "no agent is known for these operations: export_tools writes calls of them"
		}
		return out, nil
	})
}

// showInput is the input of the tool that shows a service.
type showInput struct {
	Host         string `json:"host" jsonschema:"e.g. taxi.test"`
	WithinTokens int    `json:"within_tokens,omitempty" jsonschema:"size limit of the result in tokens, default 1500"`
}

// service is a service as a model sees it.
type service struct {
	Host       string            `json:"host"`
	Documents  []serviceDocument `json:"documents"`
	Operations []operation       `json:"operations"`
	LeftOut    int               `json:"left_out,omitempty"`
	Related    []string          `json:"related_hosts,omitempty"`
	Texts      serviceText       `json:"untrusted,omitzero"`
}

// serviceDocument is one document of a service.
type serviceDocument struct {
	Kind       string `json:"kind"`
	Fetched    string `json:"fetched"`
	Digest     string `json:"digest"`
	Level      int    `json:"level"`
	Valid      bool   `json:"valid"`
	Operations int    `json:"operations"`
}

// serviceText has the service's texts about itself.
type serviceText struct {
	Name        string   `json:"name,omitempty"`
	Description string   `json:"description,omitempty"`
	Namespace   string   `json:"namespace,omitempty"`
	Languages   []string `json:"languages,omitempty"`
	Auth        string   `json:"auth,omitempty"`
	Docs        string   `json:"docs,omitempty"`
}

func (t tools) showService(ctx context.Context, from http.Header, in showInput) (any, error) {
	var v answer.Service
	if _, err := t.sendRequest(ctx, Request{Method: http.MethodGet, Path: "/api/v1/services/" + url.PathEscape(in.Host), From: from}, &v); err != nil {
		return nil, err
	}
	// A summary has verbs alone, without what they do.
	isDescribed := slices.ContainsFunc(v.Documents, func(d answer.DocumentView) bool { return !d.Kind.IsSummary() && len(d.Operations) > 0 })
	out := service{Host: v.Host, Documents: []serviceDocument{}, Operations: []operation{}, Texts: serviceText{
		Name: strangerText(v.Name, 100), Description: strangerText(v.Description, maxText), Namespace: strangerText(v.Namespace, 100),
	}}
	out.Related = v.Related[:min(len(v.Related), 10)]
	for _, d := range v.Documents {
		out.Documents = append(out.Documents, serviceDocument{string(d.Kind), d.FetchedAt.UTC().Format(time.DateOnly), d.Digest, d.Level, d.Valid(), len(d.Operations)})
		if out.Texts.Languages == nil {
			for _, l := range d.Service.Languages[:min(len(d.Service.Languages), 10)] {
				out.Texts.Languages = append(out.Texts.Languages, strangerText(l, 20))
			}
		}
		if out.Texts.Auth == "" {
			out.Texts.Auth = strangerText(d.Service.Auth, 100)
		}
		if out.Texts.Docs == "" {
			out.Texts.Docs = strangerText(d.Service.Docs, maxText)
		}
		if isDescribed && d.Kind.IsSummary() {
			continue
		}
		for _, o := range d.Operations {
			out.Operations = append(out.Operations, describeOperation(v.Host, d.Document, o))
		}
	}
	all := out.Operations
	fit, err := fitItems(len(all), tokenLimit(in.WithinTokens), func(n int) any {
		out.Operations, out.LeftOut = all[:n], len(all)-n
		return out
	})
	out.Operations, out.LeftOut = all[:fit], len(all)-fit
	return out, err
}

// describeOperation shapes an operation of a document.
func describeOperation(host string, d document.Document, o document.Operation) operation {
	how := call.Of(o, d.Service)
	id := shownID(host + "/" + string(d.Kind) + "/" + o.ID)
	v := operation{
		ID: id, Verb: safeWord(o.Verb), Caution: id == "" || call.Caution(o, d.Service) != "",
		Effect: answer.DescribeEffect(index.EffectOf(&o)),
		Texts:  operationText{Does: strangerText(o.Intent, maxText), Call: strangerText(how.String(), maxText)},
	}
	return v
}

// resolveInput is the input of the tool that resolves a name.
type resolveInput struct {
	Name         string `json:"name" jsonschema:"AIR ID, @handle, did:wba, did:web or NAMESPACE.VERB"`
	WithinTokens int    `json:"within_tokens,omitempty" jsonschema:"size limit of the result in tokens, default 1500"`
}

// resolution is where a name leads.
type resolution struct {
	Kind       string      `json:"kind"`
	AirID      string      `json:"air_id,omitempty"`
	DID        string      `json:"did,omitempty"`
	Inbox      string      `json:"inbox,omitempty"`
	Key        string      `json:"public_key_multibase,omitempty"`
	Ambiguous  bool        `json:"ambiguous,omitempty"`
	Total      int         `json:"total,omitempty"`
	LeftOut    int         `json:"left_out,omitempty"`
	Concerns   []string    `json:"concerns,omitempty"` // codes
	Operations []operation `json:"operations,omitempty"`
}

func (t tools) resolveName(ctx context.Context, from http.Header, in resolveInput) (any, error) {
	var v answer.Resolution
	if _, err := t.sendRequest(ctx, Request{Method: http.MethodGet, Path: "/api/v1/resolve?" + url.Values{"name": {in.Name}}.Encode(), From: from}, &v); err != nil {
		if problem := (*toolError)(nil); errors.As(err, &problem) {
			switch {
			case problem.Code == "no-agent" && !strings.Contains(problem.Detail, "is not an AIR ID"):
				problem.Help = "check the characters; a verb is named with its namespace, as in taxi.BOOK; search_operations and find_agents search by words"
			case problem.Code == "no-name":
				problem.Help = "a name is NAMESPACE.VERB, as in taxi.BOOK; show_service shows a host, search_operations searches by words"
			}
		}
		return nil, err
	}
	out := resolution{Kind: v.Kind, AirID: v.AirID, DID: cleanText(v.DID, 500), Inbox: cleanText(v.Inbox, 2048), Ambiguous: v.Ambiguous, Total: v.Total}
	if v.Key != nil {
		out.Key = v.Key.PublicKeyMultibase
	}
	for _, c := range v.Concerns {
		out.Concerns = append(out.Concerns, c.Code)
	}
	var all []operation
	for _, c := range v.Candidates {
		o := t.newOperation(c.Hit)
		o.Relation = c.Claim.Relation
		all = append(all, o)
	}
	fit, err := fitItems(len(all), tokenLimit(in.WithinTokens), func(n int) any {
		out.Operations, out.LeftOut = all[:n], v.Total-n
		return out
	})
	out.Operations, out.LeftOut = all[:fit], v.Total-fit
	return out, err
}

// validateInput is the input of the tool that checks a document.
type validateInput struct {
	Text         string `json:"text,omitempty" jsonschema:"the document; or give url"`
	URL          string `json:"url,omitempty" jsonschema:"https address or host to fetch from"`
	Kind         string `json:"kind,omitempty" jsonschema:"ai, agis or agis-summary; left out, the text tells"`
	WithinTokens int    `json:"within_tokens,omitempty" jsonschema:"size limit of the result in tokens, default 1500"`
}

// verdict is the result for all checked documents.
type verdict struct {
	Valid     bool              `json:"valid"`
	Documents []verdictDocument `json:"documents"`
	Findings  []finding         `json:"findings"`
	LeftOut   int               `json:"left_out,omitempty"`
}

// verdictDocument is the result for one document.
type verdictDocument struct {
	Kind       string `json:"kind,omitempty"`
	Valid      bool   `json:"valid"`
	Level      int    `json:"level"`
	Operations int    `json:"operations"`
	Findings   int    `json:"findings"`
}

// A finding is one broken rule.
type finding struct {
	Document int         `json:"document,omitempty"` // its place among the documents, from 0
	Rule     string      `json:"rule"`
	Severity string      `json:"severity"`
	Line     int         `json:"line,omitempty"`
	Column   int         `json:"column,omitempty"`
	Section  string      `json:"section,omitempty"`
	Texts    findingText `json:"untrusted"`
}

// findingText can quote the document.
type findingText struct {
	Message string `json:"message"`
	Help    string `json:"help,omitempty"`
	Pointer string `json:"pointer,omitempty"`
}

func (t tools) validateDocument(ctx context.Context, from http.Header, in validateInput) (any, error) {
	if (in.Text == "") == (in.URL == "") {
		return nil, &toolError{Code: "bad-field", Detail: "give text or url, one of the two", Help: "text is the document itself, url an https address or a host"}
	}
	body, mediaType := []byte(in.Text), "application/octet-stream"
	if in.URL != "" {
		var err error
		if body, err = json.Marshal(map[string]string{"url": in.URL}); err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
		mediaType = "application/json"
	}
	q := url.Values{}
	setText(q, "as", in.Kind)
	var v api.Validation
	if _, err := t.sendRequest(ctx, Request{Method: http.MethodPost, Path: "/api/v1/validate?" + q.Encode(), Body: body, MediaType: mediaType, From: from}, &v); err != nil {
		if problem := (*toolError)(nil); errors.As(err, &problem) && problem.Code == "bad-parameter" && in.Kind != "" {
			problem.Detail, problem.Help = "kind"+strings.TrimPrefix(problem.Detail, "as"), "leave kind out: the text tells it"
		}
		return nil, err
	}
	out := verdict{Valid: v.Valid, Documents: []verdictDocument{}, Findings: []finding{}}
	var all []finding
	for i, r := range v.Results {
		out.Documents = append(out.Documents, verdictDocument{string(r.Kind), r.Valid, r.Level, r.Operations, len(r.Findings)})
		for _, f := range r.Findings {
			all = append(all, newFinding(i, f))
		}
	}
	// What does not fit is left out from the end.
	slices.SortStableFunc(all, func(a, b finding) int { return cmp.Compare(severityOrder(a.Severity), severityOrder(b.Severity)) })
	fit, err := fitItems(len(all), tokenLimit(in.WithinTokens), func(n int) any {
		out.Findings, out.LeftOut = all[:n:n], len(all)-n
		return out
	})
	out.Findings, out.LeftOut = append([]finding{}, all[:fit]...), len(all)-fit
	return out, err
}

// severityOrder is the place of a severity in the order from the worst to the mildest.
func severityOrder(severity string) int {
	return slices.Index([]string{protocol.Error.String(), protocol.Warning.String(), protocol.Info.String()}, severity)
}

func newFinding(at int, f protocol.Finding) finding {
	return finding{
		Document: at, Rule: f.Code, Severity: f.Severity.String(), Line: f.Line, Column: f.Column, Section: f.Section,
		Texts: findingText{strangerText(f.Message, maxText), strangerText(strings.Replace(f.Help, "name it with the parameter as: ", "name it with kind ", 1), maxText), strangerText(f.Pointer, maxText)},
	}
}

// exportInput is the input of the tool that exports operations.
type exportInput struct {
	Operations   []string `json:"operations" jsonschema:"ids that search_operations returned"`
	As           string   `json:"as,omitempty" jsonschema:"mcp (default), functions or curl"`
	WithinTokens int      `json:"within_tokens,omitempty" jsonschema:"size limit of the result in tokens, default 1500"`
}

// exported holds operations in a form for callers. All texts in it come from services.
type exported struct {
	As      string       `json:"as"`
	LeftOut int          `json:"left_out,omitempty"`
	Note    string       `json:"note,omitempty"`
	Texts   exportedText `json:"untrusted"`
}

// exportedText has one of its members.
type exportedText struct {
	Tools     []call.MCPTool       `json:"tools,omitempty"`
	Functions []call.Function      `json:"functions,omitempty"`
	Calls     map[string]call.Meta `json:"calls,omitempty"`
	Curl      []string             `json:"curl,omitempty"`
}

func (t tools) exportTools(ctx context.Context, from http.Header, in exportInput) (any, error) {
	in.As = cmp.Or(in.As, "mcp")
	ids := make([]string, len(in.Operations))
	for i, id := range in.Operations {
		ids[i] = decodeID(id)
	}
	body, err := json.Marshal(api.ExportBody{Operations: ids, As: in.As})
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	response, err := t.sendRequest(ctx, Request{Method: http.MethodPost, Path: "/api/v1/export", Body: body, MediaType: "application/json", From: from}, nil)
	if err != nil {
		if problem := (*toolError)(nil); errors.As(err, &problem) && problem.Code == "no-operation" {
			problem.Help = "give the ids unchanged, as search_operations returned them"
		}
		return nil, err
	}
	var all exportedText
	if in.As == "curl" {
		all.Curl = strings.Split(strings.TrimSpace(string(response.Body)), "\n")
	} else if err := json.Unmarshal(response.Body, &all); err != nil {
		return nil, fmt.Errorf("read the export: %w", err)
	}
	items := len(all.Tools) + len(all.Functions) + len(all.Curl) // only one of them has any
	build := func(n int) exported {
		out := exported{As: in.As, LeftOut: items - n}
		switch {
		case all.Tools != nil:
			out.Texts.Tools = all.Tools[:n]
		case all.Functions != nil:
			out.Texts.Functions, out.Texts.Calls = all.Functions[:n], map[string]call.Meta{}
			for _, f := range all.Functions[:n] {
				out.Texts.Calls[f.Name] = all.Calls[f.Name]
			}
		default:
			out.Texts.Curl = all.Curl[:n]
		}
		return out
	}
	tokens := tokenLimit(in.WithinTokens)
	fit, err := fitItems(items, tokens, func(n int) any { return build(n) })
	out := build(fit)
	if fit == 0 && items > 0 {
		out.Note = fmt.Sprintf("the first operation does not fit into %d tokens: ask for more", tokens)
	}
	return out, err
}

// changesInput is the input of the tool that lists changes.
type changesInput struct {
	Since        string   `json:"since,omitempty" jsonschema:"next of an earlier result"`
	Severity     string   `json:"severity,omitempty" jsonschema:"least: low, medium, high"`
	Host         []string `json:"host,omitempty" jsonschema:"e.g. taxi.test"`
	Verb         []string `json:"verb,omitempty" jsonschema:"e.g. BOOK"`
	Agent        []string `json:"agent,omitempty" jsonschema:"AIR IDs"`
	WithinTokens int      `json:"within_tokens,omitempty" jsonschema:"size limit of the result in tokens, default 1500"`
}

// changePage is a page of the feed of changes, oldest first.
type changePage struct {
	Changes []change `json:"changes"`
	More    bool     `json:"more"`
	Next    string   `json:"next"`
}

// A change is one change as a model sees it.
type change struct {
	Kind     string     `json:"kind"`
	At       string     `json:"at"`
	Severity string     `json:"severity"`
	Host     string     `json:"host,omitempty"`
	AirID    string     `json:"air_id,omitempty"`
	Changes  []string   `json:"changes,omitempty"` // their kinds, each once
	Texts    changeText `json:"untrusted,omitzero"`
}

// changeText quotes the documents.
type changeText struct {
	Title string `json:"title,omitempty"`
}

func (t tools) listChanges(ctx context.Context, from http.Header, in changesInput) (any, error) {
	const changeTokens = 75
	if err := t.findAirIDs(ctx, from, in.Agent); err != nil {
		return nil, err
	}
	tokens := tokenLimit(in.WithinTokens)
	limit := min(max(tokens/changeTokens, 1), answer.MaxLimit)
	read := func(limit int) (changePage, error) {
		q := url.Values{"limit": {strconv.Itoa(limit)}, "host": in.Host, "verb": in.Verb, "agent": in.Agent}
		setText(q, "since", in.Since)
		setText(q, "severity", in.Severity)
		var v feed.ChangeList
		if _, err := t.sendRequest(ctx, Request{Method: http.MethodGet, Path: "/api/v1/changes?" + q.Encode(), From: from}, &v); err != nil {
			return changePage{}, err
		}
		page := changePage{Changes: []change{}, More: v.More, Next: v.Next}
		for _, c := range v.Changes {
			out := change{
				Kind: string(c.Kind), At: c.At.UTC().Format(time.RFC3339), Severity: c.Severity.String(), Host: c.Host, AirID: c.Agent,
				Texts: changeText{Title: strangerText(c.Title, maxText)},
			}
			for _, one := range c.Changes {
				if !slices.Contains(out.Changes, string(one.Kind)) {
					out.Changes = append(out.Changes, string(one.Kind))
				}
			}
			page.Changes = append(page.Changes, out)
		}
		return page, nil
	}
	page, err := read(limit)
	if err != nil {
		return nil, err
	}
	fit, err := fitItems(len(page.Changes), tokens, func(n int) any {
		shown := page
		shown.Changes = page.Changes[:n]
		return shown
	})
	if err != nil || fit == len(page.Changes) {
		return page, err
	}
	return read(max(fit, 1)) // its next goes on behind the last one that is shown
}

// findAirIDs replaces the handles among the names of agents by AIR IDs, which the feed has.
func (t tools) findAirIDs(ctx context.Context, from http.Header, names []string) error {
	for i, name := range names {
		if strings.ContainsAny(name, "-:") { // an AIR ID or a DID; handles have neither sign
			continue
		}
		var v answer.Resolution
		if _, err := t.sendRequest(ctx, Request{Method: http.MethodGet, Path: "/api/v1/resolve?" + url.Values{"name": {name}}.Encode(), From: from}, &v); err != nil {
			return err
		}
		names[i] = v.AirID
	}
	return nil
}

// setText sets a parameter unless it is empty.
func setText(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}
