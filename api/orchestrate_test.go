package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gazetteer/api"
	"gazetteer/api/air"
	"gazetteer/api/answer"
	"gazetteer/document"
	"gazetteer/join"
	"gazetteer/registry/registrar"
	"gazetteer/registry/resolve"
)

// A web answers for the hosts of others.
type web map[string]string

func (w web) Get(_ context.Context, address, _ string, _ int) (resolve.Page, error) {
	page := resolve.Page{URL: address, Status: http.StatusNotFound}
	if body, ok := w[address]; ok {
		page.Status, page.MediaType, page.Body = http.StatusOK, "application/did+json", []byte(body)
	}
	return page, nil
}

// orchestrate asks who can do something.
func (h *testServer) orchestrate(query string) (page api.OrchestratePage) {
	h.t.Helper()
	if err := json.Unmarshal(h.get("/api/v1/orchestrate?"+query, 200).body, &page); err != nil {
		h.t.Fatal(err)
	}
	return page
}

// agentAt registers an agent with an inbox.
func (h *testServer) agentAt(inbox string) registeredAgent {
	h.t.Helper()
	agent := registerAgent(h.t, h)
	body := `{"service_endpoints": [{"type": "A2AInbox", "serviceEndpoint": "` + inbox + `"}]}`
	if r := h.request("PUT", "/api/v1/agents/"+agent.AirID, body, "Content-Type", jsonType, "X-Agent-Secret", agent.Secret); r.StatusCode != 200 {
		h.t.Fatalf("%s %s", r.Status, r.body)
	}
	h.awaitFiled()
	return agent
}

func (h *testServer) proveDomain(z zone, agent registeredAgent, domain string) {
	h.t.Helper()
	a, _, err := h.answers.Registry.Agent(h.t.Context(), agent.AirID)
	if err != nil {
		h.t.Fatal(err)
	}
	z["_gazetteer."+domain] = []string{h.answers.Registry.DomainRecord(a)}
	if r := h.request("POST", "/api/v1/agents/"+agent.AirID+"/domains", `{"domain": "`+domain+`"}`, "Content-Type", jsonType, "X-Agent-Secret", agent.Secret); r.StatusCode != 200 {
		h.t.Fatalf("%s %s", r.Status, r.body)
	}
	h.awaitFiled()
}

func agentsOf(o answer.ServedOperation) string {
	var all []string
	for _, a := range o.Agents {
		all = append(all, a.AirID+" "+string(a.Strength))
	}
	return strings.Join(all, ", ")
}

func TestServicesThatBookATable(t *testing.T) {
	z := zone{}
	h := newTestServer(t, options{registry: registrar.Options{DNS: z}})
	h.publish("trattoria.example", document.AI, "application/json", aiText("Trattoria"), seen)
	h.publish("osteria.example", document.AGIS, "application/json", agisText("osteria", "Books a table for the agent"), seen)
	own := h.agentAt("https://relay.example/inbox/1")
	h.proveDomain(z, own, "trattoria.example")
	stranger := h.agentAt("https://trattoria.example/inbox/2")

	page := h.orchestrate("q=book+a+table")
	var search api.SearchPage
	if err := json.Unmarshal(h.get("/api/v1/search?q=book+a+table", 200).body, &search); err != nil {
		t.Fatal(err)
	}
	if len(page.Operations) != len(search.Hits) || page.Total != search.Total || page.Seq == 0 {
		t.Fatalf("%d operations of %d, a search has %d of %d", len(page.Operations), page.Total, len(search.Hits), search.Total)
	}
	for i, o := range page.Operations {
		if o.Host != search.Hits[i].Host || o.Operation.ID != search.Hits[i].Operation.ID || o.Score != search.Hits[i].Score {
			t.Errorf("%d: %s %s is not what a search says", i, o.Host, o.Operation.ID)
		}
		want := ""
		if o.Host == "trattoria.example" {
			want = own.AirID + " proved, " + stranger.AirID + " claimed"
		}
		if agentsOf(o) != want || (want == "") != (o.None != "") || o.FetchedAt.IsZero() || o.Digest == "" || o.How.URL == "" && o.How.Protocol == "http" {
			t.Errorf("%s: %s, want %s; none: %q", o.Host, agentsOf(o), want, o.None)
		}
	}
	for query, want := range map[string]string{
		"q=book+a+table&host=trattoria.example&limit=1&join=proved": own.AirID + " proved",
		"verb=BOOK&host=trattoria.example&require=domain":           own.AirID + " proved",
		"verb=book&require=domain&joined=true":                      own.AirID + " proved",
		"verb=BOOK&host=trattoria.example&require=domain,age":       "",
		"verb=BOOK&ns=osteria":                                      "",
	} {
		page := h.orchestrate(query)
		if len(page.Operations) == 0 || agentsOf(page.Operations[0]) != want {
			t.Errorf("%s: %+v, want %s", query, page, want)
		}
	}
	left := h.orchestrate("verb=BOOK&host=trattoria.example&require=domain,age").Operations[0]
	if len(left.Omitted) != 2 || !strings.Contains(left.None, "required evidence is missing") || fmt.Sprint(left.Omitted[0].Missing, left.Omitted[1].Missing) == "[] []" {
		t.Errorf("%q, %+v", left.None, left.Omitted)
	}
	if page := h.orchestrate("verb=BOOK&require=domain,age&joined=true"); len(page.Operations) != 0 || page.Passed == 0 || page.Next != "" {
		t.Errorf("%+v", page)
	}

	// The result of orchestrate for an agent agrees with that of resolve.
	offered := h.orchestrate("q=book+a+table&host=trattoria.example").Operations[0].Agents[0]
	var r answer.Resolution
	for _, name := range []string{offered.AirID, offered.DID} {
		if err := json.Unmarshal(h.get("/api/v1/resolve?name="+url.QueryEscape(name), 200).body, &r); err != nil {
			t.Fatal(err)
		}
		if offered.Inbox != "https://relay.example/inbox/1" || r.Inbox != offered.Inbox || r.DID != offered.DID || r.AirID != offered.AirID || r.Key == nil || r.Key.ID != offered.Key.ID || r.Key.PublicKeyMultibase != offered.Key.PublicKeyMultibase {
			t.Errorf("resolve says %+v, orchestrate %+v", r, offered.Contact)
		}
	}

	// An agent that is suspended is neither.
	if _, err := h.answers.Registry.Suspend(t.Context(), own.AirID, "spam"); err != nil {
		t.Fatal(err)
	}
	if o := h.orchestrate("verb=BOOK&host=trattoria.example").Operations[0]; agentsOf(o) != stranger.AirID+" claimed" {
		t.Errorf("after the suspension: %s", agentsOf(o))
	}
	h.get("/api/v1/resolve?name="+own.AirID, 403)
}

// TestAgentsByVerbsOfTheirDomains checks that agents are listed by the verbs offered at a domain
// proved to be theirs or, by DNS, below it; their own claims do not count.
func TestAgentsByVerbsOfTheirDomains(t *testing.T) {
	z := zone{}
	h := newTestServer(t, options{registry: registrar.Options{DNS: z}})
	h.publish("trattoria.example", document.AI, "application/json", aiText("Trattoria"), seen)
	h.publish("tables.osteria.example", document.AGIS, "application/json", agisText("osteria", "Books a table for the agent"), seen)
	at, above, silent := h.agentAt("https://relay.example/inbox/1"), h.agentAt("https://relay.example/inbox/2"), h.agentAt("https://relay.example/inbox/3")
	h.proveDomain(z, at, "trattoria.example")
	h.proveDomain(z, above, "osteria.example")
	h.proveDomain(z, silent, "silent.example")
	stranger := h.agentAt("https://trattoria.example/inbox/4")
	if r := h.request("PUT", "/api/v1/agents/"+stranger.AirID, `{"name": "BOOK", "capabilities": ["BOOK"]}`, "Content-Type", jsonType, "X-Agent-Secret", stranger.Secret); r.StatusCode != 200 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	h.awaitFiled()
	for query, want := range map[string][]registeredAgent{
		"verb=BOOK": {at, above}, "verb=%20book&require=domain": {at, above}, "verb=BOOK&q=nobody": nil, "verb=FLY": nil,
		"capability=BOOK": {stranger}, "verb=BOOK&capability=BOOK": nil, "": {at, above, silent, stranger},
	} {
		var list air.AgentList
		decodeInto(t, h.get("/api/v1/agents?"+query, 200), &list)
		var got, ids []string
		for _, a := range list.Agents {
			got = append(got, a.AirID)
		}
		for _, a := range want {
			ids = append(ids, a.AirID)
		}
		slices.Sort(got)
		slices.Sort(ids)
		if !slices.Equal(got, ids) || list.Total != len(ids) {
			t.Errorf("%s: %v of %d, want %v", query, got, list.Total, ids)
		}
	}
}

func TestOffersInPages(t *testing.T) {
	z := zone{}
	h := newTestServer(t, options{registry: registrar.Options{DNS: z}})
	var hosts []string
	for i := range 120 {
		hosts = append(hosts, fmt.Sprintf("s%03d.example", i))
	}
	h.publishAll(hosts...)
	agent := h.agentAt("https://relay.example/inbox/1")
	for _, i := range []int{3, 70, 110} {
		h.proveDomain(z, agent, hosts[i])
	}
	for query, want := range map[string]int{"verb=BOOK": 120, "verb=BOOK&joined=true": 3, "verb=BOOK&joined=true&join=proved&require=domain": 3} {
		seen, pages := map[string]bool{}, 0
		for cursor := ""; pages == 0 || cursor != ""; pages++ {
			page := h.orchestrate(query + "&limit=2&cursor=" + cursor)
			for _, o := range page.Operations {
				if seen[o.Host] {
					t.Errorf("%s: %s twice", query, o.Host)
				}
				seen[o.Host] = true
			}
			cursor = page.Next
		}
		if len(seen) != want || pages > want/2+2 {
			t.Errorf("%s: %d hosts on %d pages, want %d", query, len(seen), pages, want)
		}
	}
	page := h.orchestrate("verb=BOOK&limit=2")
	h.get("/api/v1/orchestrate?verb=LIST&limit=2&cursor="+page.Next, 400)
}

func TestForeignAgent(t *testing.T) {
	const far, gone = "did:wba:elsewhere.example:agents:AIR-7G3K-M9JQ-X2PT", "did:web:elsewhere.example:gone"
	const inbox = "https://elsewhere.example/inbox/1"
	pages := web{"https://elsewhere.example/agents/AIR-7G3K-M9JQ-X2PT/did.json": `{"id": "` + far + `", "service": [{"id": "` + far + `#inbox", "type": "A2AInbox", "serviceEndpoint": "` + inbox + `"}]}`}
	resolver, err := resolve.New(resolve.Options{Fetcher: pages})
	if err != nil {
		t.Fatal(err)
	}
	h := newTestServer(t, options{registry: registrar.Options{Resolver: resolver}})
	text := aiText("Trattoria")
	h.publish("trattoria.example", document.AI, "application/json", text[:len(text)-1]+`, "meta": {"agents": ["`+far+`", "`+gone+`"]}}`, seen)
	o := h.orchestrate("verb=BOOK").Operations[0]
	if len(o.Agents) != 1 || o.Agents[0].DID != far || o.Agents[0].Inbox != inbox || o.Agents[0].Strength != join.Claimed || o.Agents[0].ResolvedAt.IsZero() || len(o.Omitted) != 1 || o.Omitted[0].DID != gone {
		t.Errorf("%+v, left out %+v", o.Agents, o.Omitted)
	}
	var r answer.Resolution
	if err := json.Unmarshal(h.get("/api/v1/resolve?name="+far, 200).body, &r); err != nil {
		t.Fatal(err)
	}
	if r.Inbox != inbox || r.DID != far || r.AirID != "AIR-7G3K-M9JQ-X2PT" || !reflect.DeepEqual(r.Key, o.Agents[0].Key) {
		t.Errorf("%+v", r)
	}
	h.get("/api/v1/resolve?name="+gone, 404)
}

// TestOfferContainsFieldsOfHit checks that an offer has the fields of a search hit: the notes about
// a namespace, and the age of each operation.
func TestOfferContainsFieldsOfHit(t *testing.T) {
	h := newTestServer(t, options{})
	for _, host := range []string{"ristorante.example", "thief.example"} {
		h.publish(host, document.AGIS, "application/json", agisText("ristorante", "Books a table for the agent"), seen)
	}
	page := h.orchestrate("verb=BOOK&ns=Ristorante")
	var codes []string
	for _, c := range page.Concerns {
		codes = append(codes, c.Namespace+" "+c.Code+" "+strings.Join(c.Hosts, " "))
	}
	if want := []string{"ristorante collision ristorante.example thief.example", "ristorante foreign-name thief.example"}; !slices.Equal(codes, want) {
		t.Errorf("got %q, want %q", codes, want)
	}
	if page := h.orchestrate("q=book+a+table"); len(page.Concerns) > 0 {
		t.Errorf("no namespace was asked for: %+v", page.Concerns)
	}
	hits := readAs[api.SearchPage](h, "/api/v1/search?verb=BOOK&ns=ristorante&fields=all", 200).Hits
	if len(hits) != 2 || len(page.Operations) != 2 {
		t.Fatalf("%d hits, %d offers", len(hits), len(page.Operations))
	}
	for i, o := range page.Operations {
		if o.ID != hits[i].ID || o.Freshness != hits[i].Freshness || o.Provenance != hits[i].Provenance || o.Freshness.FetchedAt.IsZero() {
			t.Errorf("%+v is not what a search says: %+v", o.Hit, hits[i])
		}
	}
	for query, want := range map[string]string{
		"q=book&verb=":         "verb is empty",
		"q=book&ns=%20":        "ns is empty",
		"verb=BO%E2%80%AEOK":   "changes the appearance of text",
		"class=":               "class is empty",
		"protocol=&host=a.com": "protocol is empty",
	} {
		if p := h.get("/api/v1/orchestrate?"+query, 400).problem(t); !strings.Contains(p.Detail, want) || p.Where == nil || p.Where.Parameter == "" {
			t.Errorf("%s: %+v", query, p)
		}
	}
	for query, want := range map[string]string{"!!!": "only signs", "。、？": "only signs", "the of": "too common"} {
		if page := h.orchestrate("q=" + url.QueryEscape(query)); !strings.Contains(page.Note, want) || len(page.Near) > 0 { // nothing was meant, so nothing is proposed
			t.Errorf("%q: %+v", query, page)
		}
	}
}
