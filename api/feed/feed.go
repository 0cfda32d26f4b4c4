// Package feed has the routes of the public feed of changes: pages, Atom, JSON Feed and server-sent
// events.
package feed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/route"
	"gazetteer/changefeed"
	"gazetteer/document/diff"
	"gazetteer/fetch"
	"gazetteer/protocol/did"
	"gazetteer/store"
)

// Routes serves the feed.
type Routes struct {
	*route.Mux
	publicURL string // of absolute addresses; "": that of the request
	events    changeEvents
}

// New returns the routes of the feed on a mux.
func New(m *route.Mux, publicURL string) *Routes { return &Routes{Mux: m, publicURL: publicURL} }

// Declare declares the feed in its four forms.
func (a *Routes) Declare(h huma.API) {
	list := route.Op("list-changes")
	list.Description = "Without since, the newest changes, oldest first; next continues from there. With since, the changes after that position. With before, older " +
		"changes, newest first. A position does not expire and fits every filter; 410 means that the feed no longer reaches back to it, and names a new position to begin. " +
		"Values of one filter are alternatives, different filters must all hold."
	route.Handle(a.Mux, h, addChangeFilters(list), a.listChanges)
	atom := route.Respond(route.Op("changes-atom"), "200", "The feed as Atom (RFC 4287); older entries follow at the link next.", atomType, route.TextSchema())
	route.Handle(a.Mux, h, addChangeFilters(atom), a.sendAtom)
	feed := route.Respond(route.Op("changes-json-feed"), "200", "The feed as JSON Feed 1.1; older items follow at next_url. Each item has the change, in the form of a page, in the member _gazetteer.", jsonFeedType, route.SchemaOf[jsonFeed](h))
	route.Handle(a.Mux, h, addChangeFilters(feed), a.sendJSONFeed)
	stream := route.Respond(route.Op("stream-changes"), "200", "An event named change for each change; its data is the change in the form of a page, its id a position in the feed. A comment is sent every 15 seconds. "+
		"The stream ends after half an hour, or when the client does not read for a minute; resume with Last-Event-ID.", "text/event-stream", route.TextSchema())
	route.Handle(a.Mux, h, addChangeFilters(stream), a.followChanges)
}

// changeFilters are the filters of the feed: the parameter, its description, and the accepted
// values, nil for any.
var changeFilters = []struct {
	name, doc string
	values    func() []any
}{
	{"kind", "what happened", func() []any {
		var kinds []any
		for _, k := range changefeed.Kinds() {
			kinds = append(kinds, string(k))
		}
		return kinds
	}},
	{"host", "the host that changed", nil},
	{"verb", "a verb of the operations concerned, such as BOOK", nil},
	{"ns", "the namespace of the service", nil},
	{"rule", "the code of a rule that was broken or satisfied again, such as AI210", nil},
	{"agent", "the AIR ID of the agent that changed", nil},
}

// maxChangeValues is how many values of one filter a request may have.
const maxChangeValues = 50

// addChangeFilters describes the filters of the feed as parameters of an operation.
func addChangeFilters(op huma.Operation) huma.Operation {
	explode, most := true, maxChangeValues
	for _, f := range changeFilters {
		items := &huma.Schema{Type: huma.TypeString}
		if f.values != nil {
			items.Enum = f.values()
		}
		items.PrecomputeMessages()
		schema := &huma.Schema{Type: huma.TypeArray, Items: items, MaxItems: &most}
		schema.PrecomputeMessages()
		op.Parameters = append(op.Parameters, &huma.Param{Name: f.name, In: "query", Explode: &explode, Description: f.doc + "; any of several", Schema: schema})
	}
	severity := &huma.Schema{Type: huma.TypeString, Enum: []any{"none", "low", "medium", "high"}}
	severity.PrecomputeMessages()
	op.Parameters = append(op.Parameters, &huma.Param{Name: "severity", In: "query", Description: "the least severity: none, low, medium or high", Schema: severity})
	return op
}

// readChangeFilter reads parameters that their schemas have already checked.
func readChangeFilter(values url.Values) (changefeed.Filter, error) {
	f := changefeed.Filter{Verbs: values["verb"], Namespaces: values["ns"], Rules: values["rule"], Agents: values["agent"]}
	for _, k := range values["kind"] {
		f.Kinds = append(f.Kinds, changefeed.Kind(k))
	}
	for _, host := range values["host"] {
		name, err := fetch.CheckHost(host)
		if err != nil {
			return f, err
		}
		f.Hosts = append(f.Hosts, name)
	}
	for _, agent := range values["agent"] {
		if did.CheckAirID(agent) != nil {
			return f, route.NewProblem(route.BadParameter, fmt.Sprintf("agent: %.60q is not an AIR ID", agent), "an AIR ID looks like AIR-7G3K-M9JQ-X2PT; GET /api/v1/resolve finds that of a handle or a DID").WithLocation(route.Location{Parameter: "agent"})
		}
	}
	f.Severity, _ = diff.ParseSeverity(values.Get("severity"))
	return f, nil
}

type changesInput struct {
	Since  string `query:"since" maxLength:"1200" doc:"next of an earlier answer, or the id of an event: only later changes"`
	Before string `query:"before" maxLength:"1200" doc:"earlier of an earlier answer: only earlier changes, newest first"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"how many changes on one page, 1 to 100"`
}

// Change is one change as the feed shows it.
type Change struct {
	changefeed.Item
	Page string `json:"page,omitempty" doc:"the page for people"`
	API  string `json:"api,omitempty" doc:"the resource that changed; for a document that changed, what changed"`
}

// ChangeList is one page of the feed of changes.
type ChangeList struct {
	Changes []Change `json:"changes" doc:"oldest first; with before, newest first"`
	More    bool     `json:"more" doc:"there are more in this direction: ask again at once"`
	Next    string   `json:"next,omitempty" doc:"since of the next request; absent with before. It does not expire, and a server that was restored from a backup refuses it with cursor-gone"`
	Behind  uint64   `json:"behind,omitempty" doc:"the number of records that the feed is behind the store"`
	Earlier string   `json:"earlier,omitempty" doc:"before of a request for older changes; absent on the oldest page and with since"`
}

func (a *Routes) listChanges(ctx context.Context, in *changesInput) (*route.Output[ChangeList], error) {
	filter, err := readChangeFilter(route.Query(ctx))
	if err != nil {
		return nil, err
	}
	if in.Since != "" && in.Before != "" {
		return nil, route.NewProblem(route.BadParameter, "since and before lead in opposite directions", "give one of them").WithLocation(route.Location{Parameter: "before"})
	}
	if in.Since != "" {
		return a.changesSince(ctx, filter, in)
	}
	before, err := a.parsePosition(in.Before, "before")
	if err != nil {
		return nil, err
	}
	complete := a.feedCursor() // read first: what comes meanwhile is on the next page
	page, err := a.Answers.LatestChanges(ctx, filter, before, in.Limit)
	if err != nil {
		return nil, err
	}
	out := route.JSON(ChangeList{Changes: ViewChanges(page.Items), Behind: a.Answers.Behind(complete.Seq)})
	if page.More {
		out.Body.Earlier = a.formatPosition(page.Next)
	}
	if in.Before != "" {
		out.Body.More = page.More
		out.Link = linkChanges(ctx, route.ChangesPath, "before", out.Body.Earlier)
		return out, nil
	}
	slices.Reverse(out.Body.Changes)
	next := complete.Seq
	if len(page.Items) > 0 {
		next = max(next, page.Items[0].Position)
	}
	out.Body.Next = a.formatPosition(next)
	return out, nil
}

// changesSince answers with the changes after a position.
func (a *Routes) changesSince(ctx context.Context, filter changefeed.Filter, in *changesInput) (*route.Output[ChangeList], error) {
	position, err := a.parsePosition(in.Since, "since")
	if err != nil {
		return nil, err
	}
	complete := a.feedCursor()
	page, err := a.Answers.ChangesAfter(ctx, filter, position, in.Limit)
	if err != nil {
		return nil, explainGone(err, route.Location{Parameter: "since"})
	}
	out := route.JSON(ChangeList{Changes: ViewChanges(page.Items), More: page.More, Next: a.formatPosition(page.Next), Behind: a.Answers.Behind(complete.Seq)})
	if page.More {
		out.Link = linkChanges(ctx, route.ChangesPath, "since", out.Body.Next)
	}
	return out, nil
}

// explainGone turns an error of the feed into a problem.
func explainGone(err error, at route.Location) error {
	if errors.Is(err, changefeed.ErrGone) {
		return route.ChangesGone("the feed no longer reaches back to this position").WithLocation(at)
	}
	return err
}

// linkChanges returns the Link of the next page, "" without one.
func linkChanges(ctx context.Context, path, parameter, cursor string) string {
	if cursor == "" {
		return ""
	}
	return "<" + changesAddress(ctx, path, parameter, cursor) + `>; rel="next"`
}

// changesAddress returns the address of the request with another cursor.
func changesAddress(ctx context.Context, path, parameter, cursor string) string {
	to := url.Values{}
	maps.Copy(to, route.Query(ctx))
	to.Set(parameter, cursor)
	return path + "?" + to.Encode()
}

// feedCursor is the position up to which the feed is complete.
func (a *Routes) feedCursor() store.Cursor {
	if a.Answers.Feed == nil {
		return store.Cursor{}
	}
	return a.Answers.Feed.Cursor()
}

// formatPosition returns the cursor of a position.
func (a *Routes) formatPosition(position uint64) string {
	at := a.Answers.Store.Head()
	at.Seq = position
	return a.Cursors.EncodeFeedCursor(at)
}

// parsePosition reads a cursor; "" is position 0.
func (a *Routes) parsePosition(text, parameter string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	position, err := a.Cursors.DecodeFeedCursor(text, a.Answers.Store.Head())
	if e, ok := errors.AsType[*route.Error](err); ok {
		return 0, e.WithLocation(route.Location{Parameter: parameter})
	}
	return position, err
}

// ViewChanges returns changes as the API shows them, with addresses.
func ViewChanges(items []changefeed.Item) []Change {
	changes := make([]Change, len(items))
	for n, item := range items {
		changes[n] = viewChange(item)
	}
	return changes
}

func viewChange(i changefeed.Item) Change {
	c := Change{Item: i}
	switch {
	case i.Agent != "":
		c.Page, c.API = "/agents/"+url.PathEscape(i.Agent), "/api/v1/agents/"+url.PathEscape(i.Agent)
	case i.Kind == changefeed.ServiceWithdrawn:
		c.Page = "/services/" + i.Host
	case i.From != "" && i.To != "" && len(i.Documents) > 0:
		query := "/documents/" + string(i.Documents[0]) + "/diff?" + url.Values{"from": {i.From}, "to": {i.To}}.Encode()
		c.Page, c.API = "/services/"+i.Host+query, "/api/v1/services/"+i.Host+query
	default:
		c.Page, c.API = "/services/"+i.Host, "/api/v1/services/"+i.Host
	}
	return c
}
