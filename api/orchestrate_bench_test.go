package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"gazetteer/index/query"
	"gazetteer/join"
	"gazetteer/registry"
	"gazetteer/store"
)

// benchServices is how many services the benchmark of the join has; each has an
// agent that proved its domain, and one host a crowd that claims it.
const (
	benchServices = 1000
	crowd         = 50_000
)

// BenchmarkOrchestrate holds the question of an orchestrator against the search
// that it begins with, in one run, with 100,000 agents stored: "times-search" says
// how much longer it takes with a page of 20 operations.
func BenchmarkOrchestrate(b *testing.B) {
	h := newTestServer(b, options{})
	var hosts []string
	for i := range benchServices {
		hosts = append(hosts, fmt.Sprintf("s%04d.example", i))
	}
	h.publishAll(hosts...)
	h.storeTied(b, hosts)
	for name, q := range map[string]query.Query{
		"words":               {Words: "book a table", Limit: 20},
		"verb":                {Verbs: []string{"BOOK"}, Limit: 20},
		"a host with a crowd": {Words: "book a table", Hosts: hosts[:1], Limit: 20},
	} {
		b.Run(name, func(b *testing.B) {
			var ours, search time.Duration
			for b.Loop() {
				begun := time.Now()
				offers, err := h.answers.Orchestrate(b.Context(), q, join.Want{}, false, time.Now())
				between := time.Now()
				if err != nil || len(offers.Operations[0].Agents) == 0 {
					b.Fatalf("%v, %+v", err, offers)
				}
				if _, err := h.answers.Search(b.Context(), q); err != nil {
					b.Fatal(err)
				}
				ours += between.Sub(begun)
				search += time.Since(between)
			}
			b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N), "ours-ns/op")
			b.ReportMetric(float64(search.Nanoseconds())/float64(b.N), "search-ns/op")
			b.ReportMetric(float64(ours)/float64(search), "times-search")
		})
	}
}

// storeTied stores agents as they would be after years: one that proved each host,
// a crowd that claims the first, and others elsewhere.
func (h *testServer) storeTied(b *testing.B, hosts []string) {
	like, _, err := h.answers.Registry.Agent(b.Context(), registerAgent(b, h).AirID)
	if err != nil {
		b.Fatal(err)
	}
	var writes []store.Write
	for i := range agentsStored {
		like.AirID, like.Domains = fmt.Sprintf("AIR-%04d-%04d-BNCH", i/10_000, i%10_000), nil
		endpoint := fmt.Sprintf("https://e%d.example/inbox", i)
		switch {
		case i < len(hosts):
			like.Domains = []registry.Domain{{Name: hosts[i], Method: "dns", Requested: seen, Since: seen, Checked: seen}}
		case i < len(hosts)+crowd:
			endpoint = "https://" + hosts[0] + "/inbox"
		}
		like.ServiceEndpoints = []registry.ServiceEndpoint{{Type: "A2AInbox", ServiceEndpoint: endpoint}}
		value, err := json.Marshal(like)
		if err != nil {
			b.Fatal(err)
		}
		writes = append(writes, store.Put(store.AgentKey(like.AirID), value))
		if len(writes) == 1000 {
			if _, err := h.store.Apply(b.Context(), writes...); err != nil {
				b.Fatal(err)
			}
			writes = nil
		}
	}
	head := h.store.Head().Seq
	if err := errors.Join(h.answers.Directory.WaitFor(b.Context(), head), h.index.WaitFor(b.Context(), head)); err != nil {
		b.Fatal(err)
	}
}
