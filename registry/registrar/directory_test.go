package registrar_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/nameserver"
	"gazetteer/registry"
	"gazetteer/registry/directory"
	"gazetteer/registry/evidence"
	"gazetteer/registry/registrar"
	"gazetteer/store"
)

// running returns a directory that follows the store, and a function that waits
// until it has followed up to now.
func running(t testing.TB, s store.Store, r *registrar.Registrar) (*directory.Directory, func()) {
	t.Helper()
	d := r.NewDirectory()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	wait := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		if err := d.WaitFor(ctx, s.Head().Seq); err != nil {
			t.Fatal(err)
		}
	}
	wait()
	return d, wait
}

func TestTheDirectory(t *testing.T) {
	c, ns := newClock(), nameserver.New(t)
	s := openStore(t)
	r := open(t, registrar.Options{Now: c.Now, DNS: evidence.NewDNS(ns.Address), Store: s})
	claimer, _ := register(t, r, registry.Registration{Name: "Weather Bot", PublicKey: keyText(1), Editable: registry.Editable{OpenSource: true, SecurityCertifications: []string{"1", "2", "3"}, CodeRepository: "https://a.test/", DocumentationURL: "https://a.test/", Capabilities: []string{"Forecast"}}, CreatorName: "Everybody", CreatorType: "organization"})
	prover := proved(t, r, 2, map[string]any{"name": "weather  bot", "description": "tells RAIN", "capabilities": []string{"forecast", "radar"}})
	d, wait := running(t, s, r)

	found := func(q directory.Query) string {
		agents, total := d.Search(q)
		var names []string
		for _, a := range agents {
			names = append(names, a.AirID)
			if len(a.SecretHash) != 0 || len(a.Nonces) != 0 {
				t.Errorf("%+v shows what is nobody's business", a)
			}
		}
		return fmt.Sprint(total, names)
	}
	both := fmt.Sprint(2, []string{prover.AirID, claimer.AirID})
	one := func(a registry.Agent) string { return fmt.Sprint(1, []string{a.AirID}) }
	for _, test := range []struct {
		query directory.Query
		want  string
	}{
		// The agent that has proved its key is first, whatever the other claims.
		{directory.Query{}, both},
		{directory.Query{Words: "BOT weather"}, both},
		{directory.Query{Words: "rain"}, one(prover)},
		{directory.Query{Words: claimer.AirID}, one(claimer)},
		{directory.Query{Words: "weather snow"}, "0 []"},
		{directory.Query{Capability: "FORECAST"}, both},
		{directory.Query{Capability: "radar"}, one(prover)},
		{directory.Query{Capability: "rad"}, "0 []"},
		{directory.Query{Require: []string{"key"}}, one(prover)},
		{directory.Query{Require: []string{"domain"}}, "0 []"},
		{directory.Query{Limit: 1}, fmt.Sprint(2, []string{prover.AirID})},
		{directory.Query{Limit: 1, Offset: 1}, fmt.Sprint(2, []string{claimer.AirID})},
		{directory.Query{Offset: 2}, "2 []"},
		{directory.Query{Offset: -5, Limit: -1}, both},
	} {
		if got := found(test.query); got != test.want {
			t.Errorf("%+v: %s, want %s", test.query, got, test.want)
		}
	}
	view, err := d.CheckName("WEATHER bot ")
	sameJSON(t, err, view, fmt.Sprintf(`{"name":"WEATHER bot","exists":true,"count":2,"existing_agents":[{"air_id":%q,"name":"weather  bot"},{"air_id":%q,"name":"Weather Bot"}]}`, prover.AirID, claimer.AirID))
	view, err = d.CheckName("nobody")
	sameJSON(t, err, view, `{"name":"nobody","exists":false,"count":0,"existing_agents":[]}`)
	for _, bad := range []string{"", " ", string(make([]byte, 10<<10)), "a\u202eb"} {
		_, err := d.CheckName(bad)
		refused(t, err)
	}

	// What changes is found as it is now.
	for n := range byte(7) {
		register(t, r, registry.Registration{Name: "Same Name", PublicKey: keyText(n + 10)})
	}
	wait()
	if got := found(directory.Query{Words: "same", Limit: 1}); !strings.HasPrefix(got, "7 ") {
		t.Errorf("seven new agents: %s", got)
	}
	if v, err := d.CheckName("same name"); err != nil || v.Count != 7 || len(v.ExistingAgents) != 5 {
		t.Errorf("%+v, %v", v, err)
	}
	description := "tells snow"
	if _, _, err := r.Update(t.Context(), prover.AirID, by(t, r, prover, 2, c.Now()), changeDescription(description)); err != nil {
		t.Fatal(err)
	}
	wait()
	if snow, rain := found(directory.Query{Words: "snow"}), found(directory.Query{Words: "rain"}); snow != one(prover) || rain != "0 []" {
		t.Errorf("after an update: %s, %s", snow, rain)
	}
	ns.Publish("example.com", r.DomainRecord(prover))
	prove(t, r, c, prover, 2, "example.com")
	if _, err := r.Suspend(t.Context(), claimer.AirID, ""); err != nil {
		t.Fatal(err)
	}
	wait()
	if got := found(directory.Query{Words: claimer.AirID}); got != "0 []" {
		t.Errorf("a suspended agent: %s", got)
	}
	if got := found(directory.Query{Require: []string{"domain", "key"}}); got != one(prover) {
		t.Errorf("after the proof of a domain: %s", got)
	}
	if v, err := d.CheckName("weather bot"); err != nil || v.Count != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}

// BenchmarkDirectory100k searches among 100,000 agents.
func BenchmarkDirectory100k(b *testing.B) {
	s := openStore(b)
	r := open(b, registrar.Options{Store: s})
	var writes []store.Write
	for n := range 100_000 {
		id := fmt.Sprintf("AIR-%04d-%04d-0000", n/10000, n%10000)
		value, err := json.Marshal(registry.Agent{AirID: id, Name: fmt.Sprint("Agent ", n), Description: "tells the weather of tomorrow and of the day after", Editable: registry.Editable{Capabilities: []string{"forecast", "radar"}}, Status: registry.Active, PublicKey: make([]byte, 32), Created: time.Unix(int64(n), 0)})
		if err != nil {
			b.Fatal(err)
		}
		writes = append(writes, store.Put(store.AgentKey(id), value))
		if len(writes) == 20_000 {
			if _, err := s.Apply(b.Context(), writes...); err != nil {
				b.Fatal(err)
			}
			writes = nil
		}
	}
	start := time.Now()
	d, _ := running(b, s, r)
	b.Logf("filled in %v", time.Since(start))
	for _, words := range []string{"", "weather", "agent 77777"} {
		b.Run("words="+words, func(b *testing.B) {
			for b.Loop() {
				if _, total := d.Search(directory.Query{Words: words}); total == 0 {
					b.Fatal("nothing was found")
				}
			}
		})
	}
}
