package registrar_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"gazetteer/internal/nameserver"
	"gazetteer/registry"
	"gazetteer/registry/evidence"
	"gazetteer/registry/registrar"
	"gazetteer/store"
)

// awaitDomain waits until the only domain of an agent meets a condition.
func awaitDomain(t *testing.T, s store.Store, airID, what string, condition func(registry.Domain) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var got registry.Agent
	for record, err := range s.Changes(ctx, store.Cursor{}) {
		if err != nil {
			break
		}
		if record.Key != store.AgentKey(airID) {
			continue
		}
		got = registry.Agent{}
		if json.Unmarshal(record.Value, &got) == nil && len(got.Domains) == 1 && condition(got.Domains[0]) {
			return
		}
	}
	t.Fatalf("%s: %+v", what, got.Domains)
}

// TestSoldDomain checks that a proof ends as soon as another agent has proved the domain and the
// domain answers without naming the first one, that the new owner can then take the handle of its
// name, and that a failure to answer ends nothing.
func TestSoldDomain(t *testing.T) {
	wall, ns, p, s := newClock(), nameserver.New(t), newPlace(t), openStore(t)
	r := open(t, registrar.Options{Store: s, Now: wall.Now, DNS: evidence.NewDNS(ns.Address), Web: p.https})
	seller, buyer := proved(t, r, 1, nil), proved(t, r, 2, nil)
	const label = "_gazetteer.example.com"
	handle := "example_com"
	claim := func(a registry.Agent, key byte) error {
		_, _, err := r.Update(t.Context(), a.AirID, by(t, r, a, key, wall.Now()), registry.Update{Username: &handle})
		return err
	}
	ns.Publish(label, r.DomainRecord(seller))
	prove(t, r, wall, seller, 1, "example.com")
	if err := claim(seller, 1); err != nil {
		t.Fatal(err)
	}
	wall.Advance(time.Hour)
	ns.Publish(label, r.DomainRecord(buyer))
	prove(t, r, wall, buyer, 2, "example.com")
	if err := claim(buyer, 2); err == nil {
		t.Error("the handle of the name has two owners, and the second one takes it")
	}

	ns.Fail(true)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	wall.Advance(time.Minute)
	awaitDomain(t, s, seller.AirID, "without an answer", func(d registry.Domain) bool {
		return d.Proved() && d.Failures == 0 && len(d.Probes) > 0 && d.Probes[0].Problem != ""
	})
	ns.Fail(false)
	wall.Advance(2 * time.Hour)
	prove(t, r, wall, proved(t, r, 3, nil), 3, "example.org") // its next check wakes the rechecks
	awaitDomain(t, s, seller.AirID, "with an answer", func(d registry.Domain) bool { return !d.Withdrawn.IsZero() })
	awaitDomain(t, s, buyer.AirID, "the new owner", registry.Domain.Proved)
	if err := claim(buyer, 2); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestProofsBesideEachOther checks that a proof stays if the domain names both agents, that the
// first one is checked at once, and that a stranger who proves nothing causes no check.
func TestProofsBesideEachOther(t *testing.T) {
	wall, ns, p, s := newClock(), nameserver.New(t), newPlace(t), openStore(t)
	r := open(t, registrar.Options{Store: s, Now: wall.Now, DNS: evidence.NewDNS(ns.Address), Web: p.https})
	first, second, stranger := proved(t, r, 1, nil), proved(t, r, 2, nil), proved(t, r, 3, nil)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	ns.Publish("_gazetteer.example.com", r.DomainRecord(first), r.DomainRecord(second))
	prove(t, r, wall, first, 1, "example.com")
	begin := wall.Now()
	wall.Advance(time.Hour)
	if d, _ := prove(t, r, wall, stranger, 3, "example.com"); d.Proved() {
		t.Fatalf("%+v", d)
	}
	wall.Advance(2 * time.Minute)
	got, _, err := r.Agent(t.Context(), first.AirID)
	if err != nil || !got.Domains[0].Checked.Equal(begin) {
		t.Errorf("a stranger without a proof caused a check: %+v, %v", got.Domains, err)
	}
	prove(t, r, wall, second, 2, "example.com")
	isChecked := func() bool {
		got, _, err := r.Agent(t.Context(), first.AirID)
		if err != nil {
			t.Fatal(err)
		}
		d := got.Domains[0]
		return d.Proved() && d.Failures == 0 && d.Checked.After(begin)
	}
	// An agent is rechecked at most once in a minute of this clock, and another proof wakes the rechecks.
	for n := byte(4); !isChecked(); n++ {
		if n == 34 {
			t.Fatal("the first proof is not checked")
		}
		wall.Advance(2 * time.Minute)
		prove(t, r, wall, proved(t, r, n, nil), n, "example.org")
		for end := time.Now().Add(time.Second); !isChecked() && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
	}
	awaitDomain(t, s, second.AirID, "with both records", registry.Domain.Proved)
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestNoCheckBesideTheRequest checks that a domain is not due while its owner's request checks it: it
// would be asked twice.
func TestNoCheckBesideTheRequest(t *testing.T) {
	wall, p := newClock(), newPlace(t)
	r := open(t, registrar.Options{Now: wall.Now, DNS: evidence.NewDNS(nameserver.New(t).Address), Web: p.https})
	a := proved(t, r, 1, nil)
	asked := make(chan time.Time, 10)
	p.mu.Lock()
	p.pages["example.com"+evidence.DomainFile] = func(w http.ResponseWriter, _ *http.Request) {
		got, _, err := r.Agent(context.Background(), a.AirID)
		if err != nil {
			t.Error(err)
		}
		asked <- r.NextCheck(got)
		io.WriteString(w, r.DomainRecord(a))
	}
	p.mu.Unlock()
	if d, _ := prove(t, r, wall, a, 1, "example.com"); !d.Proved() || len(asked) != 1 {
		t.Fatalf("asked %d times: %+v", len(asked), d)
	}
	if due := <-asked; !due.After(wall.Now()) {
		t.Errorf("the domain is due at %s while it is checked at %s", due, wall.Now())
	}
}
