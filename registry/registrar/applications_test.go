package registrar_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/registrar"
	"gazetteer/store"
)

const hostile = "<script>alert(1)</script> ${x} ' OR 1=1 --"

func TestRegistrationWaitsForApproval(t *testing.T) {
	c, s := newClock(), openStore(t)
	r := open(t, registrar.Options{Store: s, Now: c.Now, Mode: admission.ModeApproval})
	setPolicy(t, r, admission.ModeApproval, "we look every Monday")
	body := answered(t, registration(t, hostile, 1, map[string]any{"description": hostile}), challengeOf(t, r), 1)
	reg, err := airjson.ReadRegistration(body)
	if err != nil {
		t.Fatal(err)
	}
	reg.Client = client("192.0.2.9")
	a, secret := register(t, r, reg)
	if a.Status != registry.Pending || secret == "" || a.Entries != 0 {
		t.Fatalf("%+v", a)
	}
	if v := airjson.NewRegistrationView(r, a, secret); v.Status != "pending" || !strings.Contains(v.Message, "approval") || v.AgentSecret != secret {
		t.Errorf("the registrant is told %+v", v)
	}
	// Meanwhile there is no such agent, for its owner neither, and no history.
	_, _, err = r.Agent(t.Context(), a.AirID)
	if e := refusal(t, err, "application-pending"); !errors.Is(e, registry.ErrNoAgent) || !strings.Contains(e.Help, "every Monday") || !strings.Contains(e.Help, "2026-05-18") {
		t.Error(e)
	}
	text := "x"
	_, _, err = r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, changeDescription(text))
	refusal(t, err, "application-pending")
	if list, _, err := r.List(t.Context(), registry.Filter{All: true}, "", 0); err != nil || len(list) != 0 {
		t.Errorf("listed: %v, %v", list, err)
	}
	for record, err := range s.List(t.Context(), store.AgentPrefix, "") {
		t.Errorf("%s, %v", record.Key, err)
	}
	seen, err := r.Application(t.Context(), a.AirID)
	if err != nil || seen.Network != "" || seen.Agent.SecretHash != nil || seen.Agent.Name != hostile {
		t.Errorf("%+v, %v", seen, err)
	}
	waiting, next, err := r.Applications(t.Context(), "", 0)
	if err != nil || len(waiting) != 1 || next != "" || waiting[0].Network != "192.0.2.0/24" || waiting[0].Agent.SecretHash != nil {
		t.Fatalf("%+v, %q, %v", waiting, next, err)
	}
	// The key is kept for it.
	_, _, err = r.Register(t.Context(), someone(1))
	refusal(t, err, "key-taken")

	c.Advance(5 * 24 * time.Hour)
	approved, err := r.Approve(t.Context(), a.AirID)
	if err != nil || approved.Status != registry.Active || !approved.Created.Equal(c.Now()) || approved.KeyProof != registry.ProofChallenge {
		t.Fatalf("%+v, %v", approved, err)
	}
	history, n, err := r.History(t.Context(), a.AirID, 0, 0)
	if err != nil || n != 2 || history[0].Event != registry.EventRegistered || history[0].Authority == nil || history[1].Event != registry.EventApproved || history[1].PrevHash != history[0].Hash {
		t.Errorf("%+v, %v", history, err)
	}
	if _, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, changeDescription(text)); err != nil {
		t.Error(err)
	}
	_, err = r.Approve(t.Context(), a.AirID)
	refusal(t, err, "application-unknown")
	if !strings.Contains(err.Error(), ": the agent is registered") {
		t.Errorf("a second approval says %q", err)
	}
	if waiting, _, _ := r.Applications(t.Context(), "", 0); len(waiting) != 0 {
		t.Errorf("still waiting: %+v", waiting)
	}
}

func TestRefusedApplication(t *testing.T) {
	c, s := newClock(), openStore(t)
	r := open(t, registrar.Options{Store: s, Now: c.Now, Mode: admission.ModeApproval})
	a := proved(t, r, 1, map[string]any{"description": "secret plans"})
	refused(t, r.RefuseApplication(t.Context(), a.AirID, strings.Repeat("x", 10000)))
	if err := r.RefuseApplication(t.Context(), a.AirID, "no robots"); err != nil {
		t.Fatal(err)
	}
	_, _, err := r.Agent(t.Context(), a.AirID)
	if e := refusal(t, err, "application-refused"); !strings.Contains(e.Help, "no robots") {
		t.Error(e)
	}
	_, err = r.Approve(t.Context(), a.AirID)
	refusal(t, err, "application-refused")
	refusal(t, r.RefuseApplication(t.Context(), a.AirID, ""), "application-refused")
	record, err := s.Get(t.Context(), store.PendingKey(a.AirID))
	if err != nil || strings.Contains(string(record.Value), "plans") {
		t.Errorf("what was refused is kept: %s, %v", record.Value, err)
	}
	proved(t, r, 1, nil) // with the same key
	c.Advance(14 * 24 * time.Hour)
	if err := r.DeleteExpired(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Agent(t.Context(), a.AirID); !errors.Is(err, registry.ErrNoAgent) {
		t.Error(err)
	}
	for record, err := range s.List(t.Context(), store.PendingPrefix, "") {
		t.Errorf("%s, %v", record.Key, err)
	}
}

func TestUnapprovedRegistrationExpires(t *testing.T) {
	c, s := newClock(), openStore(t)
	r := open(t, registrar.Options{Store: s, Now: c.Now, Mode: admission.ModeApproval})
	a := proved(t, r, 1, nil)
	c.Advance(14 * 24 * time.Hour)
	_, _, err := r.Agent(t.Context(), a.AirID)
	refusal(t, err, "application-expired")
	_, err = r.Approve(t.Context(), a.AirID)
	refusal(t, err, "application-expired")
	b := proved(t, r, 1, nil) // the key is free before anybody has swept
	if err := r.DeleteExpired(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Approve(t.Context(), b.AirID); err != nil {
		t.Error(err)
	}
	_, _, err = r.Register(t.Context(), someone(1))
	refusal(t, err, "key-taken")
}

func TestPendingSignedRegistrationIsNotReplayed(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now, Mode: admission.ModeApproval})
	body := registration(t, "A", 1, nil)
	reg, err := airjson.ReadRegistration(body)
	if err != nil {
		t.Fatal(err)
	}
	reg.Request = signed(t, "POST", "https://registry.test/api/v1/agents", string(body), privateKey(1), httpsig.SignOptions{KeyID: multikey(1), Created: c.Now()})
	register(t, r, reg)
	_, _, err = r.Register(t.Context(), reg)
	refusal(t, err, "key-taken")
}

func TestPendingRegistrationsAreLimited(t *testing.T) {
	c, s := newClock(), openStore(t)
	r := open(t, registrar.Options{Store: s, Now: c.Now, Mode: admission.ModeApproval, Limits: admission.Limits{Registrations: -1, AllRegistrations: -1}})
	from := func(i int) error {
		reg := someone(byte(i + 1))
		reg.Client = client(fmt.Sprintf("192.0.2.%d", i))
		_, _, err := r.Register(t.Context(), reg)
		return err
	}
	if won := race(t, 64, from, "applications-network"); won != 20 {
		t.Errorf("%d of a network wait", won)
	}
	r = open(t, registrar.Options{Store: s, Now: c.Now, Mode: admission.ModeApproval})
	e := refusal(t, from(70), "applications-network")
	if e.Wait == 0 {
		t.Error(e)
	}
	waiting, _, err := r.Applications(t.Context(), "", 0)
	if err != nil || len(waiting) != 20 {
		t.Fatal(len(waiting), err)
	}
	if _, err := r.Approve(t.Context(), waiting[0].Agent.AirID); err != nil {
		t.Fatal(err)
	}
	if err := from(71); err != nil {
		t.Error(err)
	}
	refusal(t, from(72), "applications-network")
	c.Advance(14 * 24 * time.Hour) // those that run out make room at once
	if err := from(73); err != nil {
		t.Error(err)
	}
}

// TestFloodGivesWayInFullQueue fills the queue from 4,000 networks in 400 wider ones. Others still
// apply: each displaces one of the flood.
func TestFloodGivesWayInFullQueue(t *testing.T) {
	c, s := newClock(), openStore(t)
	o := registrar.Options{Store: s, Now: c.Now, Mode: admission.ModeApproval, Limits: admission.Limits{Registrations: -1, AllRegistrations: -1}}
	r := open(t, o)
	apply := func(from string) (string, error) {
		t.Helper()
		c.Advance(time.Millisecond)
		reg := someone(1)
		reg.Client = client(from)
		agent, _, err := r.Register(t.Context(), reg)
		return agent.AirID, err
	}
	owner, err := apply("203.0.113.1")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4000 {
		apply(fmt.Sprintf("%d.%d.%d.1", 10+i%2, i/2%200, i/400))
	}
	waiting, err := countApplications(t, r)
	if err != nil || waiting != 950 {
		t.Fatal(waiting, err)
	}
	for i := range 200 {
		if _, err := apply(fmt.Sprintf("172.%d.0.1", i)); err != nil {
			t.Fatalf("newcomer %d: %v", i, err)
		}
	}
	if _, err := r.Application(t.Context(), owner); err != nil {
		t.Errorf("the first application of a network of its own: %v", err)
	}
	if waiting, err := countApplications(t, r); err != nil || waiting != 950 {
		t.Error(waiting, err)
	}
	refusalAfter := func(r *registrar.Registrar) {
		t.Helper()
		reg := someone(1)
		reg.Client = client("10.7.200.1") // of the crowd
		_, _, err := r.Register(t.Context(), reg)
		if err == nil {
			t.Error("the crowd displaces others")
		}
	}
	refusalAfter(r)
	refusalAfter(open(t, o))
}

func countApplications(t *testing.T, r *registrar.Registrar) (n int, err error) {
	t.Helper()
	for after := ""; ; {
		waiting, next, err := r.Applications(t.Context(), after, 0)
		if n += len(waiting); err != nil || next == "" {
			return n, err
		}
		after = next
	}
}

// TestRefusedApplicationsMakeRoom checks that the operator empties a queue by refusing, also after a
// restart.
func TestRefusedApplicationsMakeRoom(t *testing.T) {
	c, s := newClock(), openStore(t)
	o := registrar.Options{Store: s, Now: c.Now, Mode: admission.ModeApproval, Limits: admission.Limits{Registrations: -1, AllRegistrations: -1}}
	r := open(t, o)
	for round := range 3 {
		for i := range 20 {
			reg := someone(byte(i + 1))
			reg.Client = client("192.0.2.1")
			if _, _, err := r.Register(t.Context(), reg); err != nil {
				t.Fatalf("round %d, %d: %v", round, i, err)
			}
		}
		reg := someone(99)
		reg.Client = client("192.0.2.1")
		_, _, err := r.Register(t.Context(), reg)
		refusal(t, err, "applications-network")
		waiting, _, err := r.Applications(t.Context(), "", 0)
		if err != nil || len(waiting) != 20 {
			t.Fatal(len(waiting), err)
		}
		for _, a := range waiting {
			if err := r.RefuseApplication(t.Context(), a.Agent.AirID, "a flood"); err != nil {
				t.Fatal(err)
			}
		}
		if round == 1 {
			r = open(t, o)
		}
	}
}

// TestFailedCommitsOfApplications checks that an application has a slot exactly while it is in the store, when
// the commit of the application, of its approval or of its deletion is reported as failed and may be
// stored.
func TestFailedCommitsOfApplications(t *testing.T) {
	for _, stored := range []bool{false, true} {
		c, s := newClock(), &endingStore{Store: openStore(t)}
		r := open(t, registrar.Options{Store: s, Now: c.Now, Mode: admission.ModeApproval, Limits: admission.Limits{Registrations: -1, AllRegistrations: -1}})
		next := byte(0)
		from := func() error {
			next++
			reg := someone(next)
			reg.Client = client("192.0.2.1")
			_, _, err := r.Register(t.Context(), reg)
			return err
		}
		failing := func(call func() error) {
			t.Helper()
			s.before, s.after = !stored, stored
			if err := call(); !errors.Is(err, errEnded) {
				t.Fatal(err)
			}
			s.before, s.after = false, false
		}
		// fill registers until the limit of the network is reached.
		fill := func(want int) {
			t.Helper()
			for range want {
				if err := from(); err != nil {
					t.Fatal(err)
				}
			}
			refusal(t, from(), "applications-network")
		}
		changed := 0 // slots that a failed commit takes or ends
		if stored {
			changed = 1
		}
		if err := from(); err != nil { // its first write is not the application
			t.Fatal(err)
		}
		failing(from)
		fill(19 - changed)
		waiting, _, err := r.Applications(t.Context(), "", 0)
		if err != nil || len(waiting) != 20 {
			t.Fatal(len(waiting), err)
		}
		failing(func() error {
			_, err := r.Approve(t.Context(), waiting[0].Agent.AirID)
			return err
		})
		fill(changed)
		c.Advance(14 * 24 * time.Hour)
		failing(func() error { return r.DeleteExpired(t.Context()) })
		if err := r.DeleteExpired(t.Context()); err != nil { // the rest
			t.Fatal(err)
		}
		fill(20)
	}
}

func TestConcurrentDecisionsHaveOneWinner(t *testing.T) {
	r := open(t, registrar.Options{Mode: admission.ModeApproval})
	for round := range byte(4) {
		a := proved(t, r, round+1, nil)
		won := race(t, 64, func(i int) error {
			if i%2 == 0 {
				return r.RefuseApplication(t.Context(), a.AirID, "no")
			}
			_, err := r.Approve(t.Context(), a.AirID)
			return err
		}, "application-unknown", "application-refused")
		if won != 1 {
			t.Errorf("%d decisions", won)
		}
	}
}

func TestApplicationIsCheckedAgainOnApproval(t *testing.T) {
	r := open(t, registrar.Options{Mode: admission.ModeApproval})
	a, _ := register(t, r, registry.Registration{Name: "A", PublicKey: keyText(1), Editable: registry.Editable{CodeRepository: "https://bad.test/"}})
	ban(t, r, admission.BanDomain, "bad.test")
	_, err := r.Approve(t.Context(), a.AirID)
	refusal(t, err, "banned-domain")
	for _, id := range []string{"", "x", "AIR-0000-0000-0000/1", strings.Repeat("A", 10000)} {
		_, err := r.Approve(t.Context(), id)
		refused(t, err)
		_, err = r.Application(t.Context(), id)
		refused(t, err)
		refused(t, r.RefuseApplication(t.Context(), id, ""))
	}
}

func TestApplicationSizeIsLimited(t *testing.T) {
	r := open(t, registrar.Options{Mode: admission.ModeApproval})
	for _, name := range []string{strings.Repeat("n", 10<<10), "a\u202eb", "\x00"} {
		_, _, err := r.Register(t.Context(), registry.Registration{Name: name, PublicKey: keyText(1)})
		refused(t, err)
	}
	if waiting, _, err := r.Applications(t.Context(), "", 0); err != nil || len(waiting) != 0 {
		t.Error(waiting, err)
	}
	a, _ := register(t, r, someone(1))
	p, err := r.Application(t.Context(), a.AirID)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(p); err != nil || strings.Contains(string(text), "secret_hash") {
		t.Errorf("%s, %v", text, err)
	}
}
