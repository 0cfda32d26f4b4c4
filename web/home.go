package web

import (
	"context"
	"errors"
	"slices"
	"time"

	"gazetteer/api/answer"
	"gazetteer/api/feed"
	"gazetteer/census"
	"gazetteer/changefeed"
	"gazetteer/document/diff"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/registry/directory"
	"gazetteer/web/censuspages"
	"gazetteer/web/changepages"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// homeView is the front page.
type homeView struct {
	Search     searchbox
	Figures    answer.Figures
	Visited    frame.Moment
	Examples   []string
	Categories []categoryLink
	New        []summaryView
	Changed    []changepages.Change
	Agents     []homeAgent
	AgentTotal int
	Hosts      int
	States     []censuspages.Figure // hosts by state
	Alias      censuspages.Figure   // hosts that publish only at /ai
	Verbs      []index.VerbCount
	Programs   []programView // that search
}

// homeAgent is an agent as the front page names it.
type homeAgent struct{ AirID, Name, Handle, Description string }

// homeContents holds the lists of the front page, read together.
type homeContents struct {
	until      time.Time // when they are read again
	figures    answer.Figures
	verbs      []index.VerbCount
	examples   []string
	agents     []homeAgent
	total      int // agents
	hosts      int
	states     []censuspages.Figure
	alias      censuspages.Figure
	categories []census.CategoryCount
	newest     []answer.ServiceSummary
	changed    []feed.Change
}

// minHomeAge is how long the front page is kept at least. One that takes long to read is kept longer, so
// that at most a twentieth of the time is spent on it.
const minHomeAge = 5 * time.Second

const (
	homeExamples   = 6
	homeCategories = 16
	homeAgents     = 4
	homeVerbs      = 12
)

// exampleQueries are requests as people say them, in the order in which the front page tries them.
var exampleQueries = []string{
	"book a table for two", "exchange rates", "einen Termin beim Arzt vereinbaren", "send a text message",
	"réserver une chambre d'hôtel", "track a parcel", "pedir un taxi", "weather forecast", "translate a text", "create a payment",
	"verb:BOOK effect:reversible", "send money", "find a hotel",
}

// readHome reads the lists of the front page.
func (p *Pages) readHome(ctx context.Context) (homeContents, error) {
	var v homeContents
	verbs, err := p.answers.Verbs(ctx)
	if err != nil {
		return v, err
	}
	top := mostOffered(verbs)
	v.verbs = top
	if v.figures, err = p.answers.Figures(ctx); err != nil {
		return v, err
	}
	if v.figures.Operations > 0 {
		if v.examples, err = p.findExamples(ctx); err != nil {
			return v, err
		}
	}
	found, total, err := p.answers.FindAgents(ctx, directory.Query{Limit: homeAgents}, "")
	switch {
	case errors.Is(err, answer.ErrReading), errors.Is(err, answer.ErrNoDirectory):
	case err != nil:
		return v, err
	}
	if err := p.readHomeLists(ctx, &v); err != nil {
		return v, err
	}
	v.total, v.verbs = total, v.verbs[:min(len(v.verbs), homeVerbs)]
	for _, a := range found {
		v.agents = append(v.agents, homeAgent{a.AirID, a.Name, a.Handle, a.Description})
	}
	return v, nil
}

// readHomeLists reads the categories, the newest services and the last changes, and puts the verbs of
// most domains first.
func (p *Pages) readHomeLists(ctx context.Context, v *homeContents) error {
	var err error
	if v.changed, err = p.lastBreakingChanges(ctx); err != nil {
		return err
	}
	s, err := p.answers.Stats(ctx)
	if errors.Is(err, answer.ErrNoCensus) {
		return nil
	}
	if err != nil {
		return err
	}
	if s.Hosts > 0 {
		v.hosts, v.states, v.alias = int(s.Hosts), censuspages.StateFigures(s), censuspages.AliasOnly(s)
	}
	for _, row := range s.Table("category").Rows {
		v.categories = append(v.categories, census.CategoryCount{Name: row.Feature.Value, Services: s.Features[row.Feature].Hosts})
	}
	domains := func(c index.VerbCount) int { return s.Features[census.Feature{Family: "verb", Value: c.Verb}].Domains }
	slices.SortStableFunc(v.verbs, func(a, b index.VerbCount) int { return domains(b) - domains(a) })
	v.newest = p.newestServices(ctx, s)
	return nil
}

// breakingKinds are the changes of services that can break callers, if they are severe enough.
var breakingKinds = []changefeed.Kind{
	changefeed.ServiceGone, changefeed.ServiceReturned,
	changefeed.DocumentRemoved, changefeed.DocumentReturned, changefeed.DocumentChanged, changefeed.DocumentFlapping,
}

// maxBreaking is the number of changes among which the front page looks for those of different hosts.
const maxBreaking = 30

// lastBreakingChanges returns the last changes that can break callers, one for each host.
func (p *Pages) lastBreakingChanges(ctx context.Context) ([]feed.Change, error) {
	page, err := p.answers.LatestChanges(ctx, changefeed.Filter{Severity: diff.Medium, Kinds: breakingKinds}, 0, maxBreaking)
	if errors.Is(err, answer.ErrNoFeed) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var last []feed.Change
	for _, c := range feed.ViewChanges(page.Items) {
		if len(last) < maxRecent && !slices.ContainsFunc(last, func(shown feed.Change) bool { return shown.Host == c.Host }) {
			last = append(last, c)
		}
	}
	return last, nil
}

// findExamples returns the first examples that find something: an example without results teaches
// the wrong thing.
func (p *Pages) findExamples(ctx context.Context) ([]string, error) {
	var found []string
	for _, text := range exampleQueries {
		q, err := query.Parse(text)
		if err != nil {
			return nil, err
		}
		q.Limit = 1
		r, err := p.answers.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		if len(r.Hits) > 0 && !r.Hits[0].Far {
			found = append(found, text)
		}
		if len(found) == homeExamples {
			break
		}
	}
	return found, nil
}

// homePage shows what there is to search and to browse.
func (p *Pages) homePage(c *gin.Context) (frame.WebPage, error) {
	ctx := c.Request.Context()
	home, err := p.home.Get(ctx, func(v homeContents) bool { return p.Now().Before(v.until) }, func() (homeContents, error) {
		began := p.Now()
		v, err := p.readHome(ctx)
		v.until = began.Add(max(minHomeAge, 20*p.Now().Sub(began)))
		return v, err
	})
	if err != nil {
		return frame.WebPage{}, err
	}
	v := homeView{
		Figures: home.figures, Visited: p.MomentOf(home.figures.Visited), Examples: home.examples, Verbs: home.verbs,
		Hosts: home.hosts, States: home.states, Alias: home.alias, Agents: home.agents, AgentTotal: home.total, Programs: searchPrograms(p.BaseAddress),
	}
	for _, n := range home.categories {
		if n.Name != testCategory && len(v.Categories) < homeCategories {
			v.Categories = append(v.Categories, categoryLink{Name: n.Name, Address: categoryPath(n.Name), Services: n.Services})
		}
	}
	for _, s := range home.newest {
		v.New = append(v.New, p.summaryOf(s))
	}
	for _, c := range home.changed {
		v.Changed = append(v.Changed, p.changes.ViewChange(c))
	}
	return frame.WebPage{
		Name: "home", Body: v, Live: true,
		Description: "A search engine and registry of the agent web: find services for a task, see how to call them, and which agents serve them.",
	}, nil
}

// searchPrograms are programs that search here, to be copied.
func searchPrograms(base string) []programView {
	return []programView{
		{"curl", `curl -G '` + base + `/api/v1/search' \
  -d limit=3 \
  --data-urlencode 'q=book a table'
`},
		{"Python", `import json, urllib.parse, urllib.request

base = "` + base + `"
query = {"q": "book a table", "limit": 3}
address = (base + "/api/v1/search?"
           + urllib.parse.urlencode(query))
with urllib.request.urlopen(address) as answer:
    for hit in json.load(answer)["hits"]:
        operation = hit["operation"]
        print(hit["host"], operation["verb"],
              operation.get("intent", ""))
`},
		{"JavaScript", `const base = "` + base + `"
const query = new URLSearchParams({
  q: "book a table", limit: 3 })
const answer = await fetch(
  base + "/api/v1/search?" + query)
const {hits} = await answer.json()
for (const {host, operation} of hits)
  console.log(host, operation.verb,
    operation.intent)
`},
		{"MCP configuration", `{
  "mcpServers": {
    "gazetteer": {
      "type": "http",
      "url": "` + base + `/mcp"
    }
  }
}
`},
	}
}

// newestServices returns the services that came last, for the front page.
func (p *Pages) newestServices(ctx context.Context, s *census.Stats) (newest []answer.ServiceSummary) {
	for _, r := range s.New {
		if len(newest) == maxRecent {
			break
		}
		if service, err := p.answers.Service(ctx, r.Host); err == nil { // else it has gone in the meantime
			service.ChangedAt = r.At
			newest = append(newest, service.ServiceSummary)
		}
	}
	return newest
}
