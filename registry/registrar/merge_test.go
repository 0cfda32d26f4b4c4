package registrar_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/registrar"
	"gazetteer/registry/transfer"
)

// claim gives an agent that has no secret a handle.
func claim(t testing.TB, r *registrar.Registrar, a registry.Agent, key byte, handle string, now time.Time) registry.Agent {
	t.Helper()
	a, _, err := r.Update(t.Context(), a.AirID, by(t, r, a, key, now), registry.Update{Username: &handle})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// joined returns the merge of two agents with their keys.
func joined(r *registrar.Registrar, from, into registry.Agent, fromKey, intoKey byte, now time.Time) transfer.Merge {
	return transfer.NewMerge(r.DID(from.AirID), r.DID(into.AirID), privateKey(fromKey), privateKey(intoKey), now)
}

func TestAgentsOfOneOwnerAreMerged(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	from := claim(t, r, proved(t, r, 1, nil), 1, "old_name", c.Now())
	into := proved(t, r, 2, nil)
	into, err := r.Merge(t.Context(), from.AirID, joined(r, from, into, 1, 2, c.Now()))
	if err != nil {
		t.Fatal(err)
	}
	if into.Handle != "old_name" || len(into.Absorbed) != 1 || into.Absorbed[0] != from.AirID || into.Status != registry.Active {
		t.Errorf("%+v", into)
	}
	if found, _, err := r.ByHandle(t.Context(), "old_name"); err != nil || found.AirID != into.AirID {
		t.Errorf("the handle leads to %s, %v", found.AirID, err)
	}
	gone, _, err := r.Agent(t.Context(), from.AirID)
	if err != nil || gone.Status != registry.Merged || gone.MergedInto != into.AirID || gone.Handle != "" {
		t.Errorf("%+v, %v", gone, err)
	}
	if e := refusal(t, gone.Resolvable(), "merged"); !errors.Is(e, registry.ErrGone) || !strings.Contains(e.Message, into.AirID) {
		t.Error(e)
	}
	if v := r.Resolution(gone, did.MethodWBA); !v.DocumentMetadata.Deactivated || v.Document != nil {
		t.Errorf("%+v", v)
	}
	for _, test := range []struct{ id, event string }{{from.AirID, registry.EventMerged}, {into.AirID, registry.EventAbsorbed}} {
		history, n, err := r.History(t.Context(), test.id, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		last := history[n-1]
		if last.Event != test.event || len(last.Authority.Signatures) != 2 {
			t.Errorf("%+v", last)
		}
	}
	// It is for good, and the key is not free.
	text := "x"
	_, _, err = r.Update(t.Context(), from.AirID, by(t, r, from, 1, c.Now()), changeDescription(text))
	refusal(t, err, "merged")
	_, _, err = r.Register(t.Context(), someone(1))
	refusal(t, err, "key-taken")
	c.Advance(time.Second)
	_, err = r.Merge(t.Context(), from.AirID, joined(r, from, into, 1, 2, c.Now()))
	refusal(t, err, "merged")
}

func TestMergedAgentKeepsHandle(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	from := claim(t, r, proved(t, r, 1, nil), 1, "first_name", c.Now())
	into := claim(t, r, proved(t, r, 2, nil), 2, "second_name", c.Now())
	other := proved(t, r, 3, nil)
	if _, err := r.Merge(t.Context(), from.AirID, joined(r, from, into, 1, 2, c.Now())); err != nil {
		t.Fatal(err)
	}
	c.Advance(24 * time.Hour)
	handle := "first_name"
	_, _, err := r.Update(t.Context(), other.AirID, by(t, r, other, 3, c.Now()), registry.Update{Username: &handle})
	if !errors.Is(err, registry.ErrHandleTaken) {
		t.Error(err)
	}
	if into = claim(t, r, into, 2, "first_name", c.Now()); into.Handle != "first_name" {
		t.Error(into.Handle)
	}
}

func TestRefusedMerges(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now, RecoveryDelay: time.Hour})
	from, into, other := proved(t, r, 1, nil), proved(t, r, 2, nil), proved(t, r, 3, nil)
	keyless, _ := register(t, r, registry.Registration{Name: "K", CreatorDID: "did:example:x"})
	suspended := proved(t, r, 4, nil)
	if _, err := r.Suspend(t.Context(), suspended.AirID, "x"); err != nil {
		t.Fatal(err)
	}
	now := c.Now()
	spoiled := func(spoil func(*transfer.Merge)) transfer.Merge {
		x := joined(r, from, into, 1, 2, now)
		spoil(&x)
		return x
	}
	for name, test := range map[string]struct {
		x    transfer.Merge
		code string
	}{
		"only one key":       {spoiled(func(x *transfer.Merge) { x.IntoSignature = x.FromSignature }), "statement-signature"},
		"the other one":      {spoiled(func(x *transfer.Merge) { x.FromSignature = x.IntoSignature }), "statement-signature"},
		"for another agent":  {joined(r, other, into, 3, 2, now), "statement-agent"},
		"key of another":     {joined(r, from, into, 3, 2, now), "key-not-current"},
		"key of nobody":      {joined(r, from, into, 1, 9, now), "key-not-current"},
		"an hour ago":        {joined(r, from, into, 1, 2, now.Add(-time.Hour)), "statement-created"},
		"in an hour":         {joined(r, from, into, 1, 2, now.Add(time.Hour)), "statement-created"},
		"turned round":       {spoiled(func(x *transfer.Merge) { x.From, x.Into = x.Into, x.From }), "merge-same"},
		"into itself":        {joined(r, from, from, 1, 1, now), "merge-same"},
		"into one suspended": {joined(r, from, suspended, 1, 4, now), "suspended"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Merge(t.Context(), from.AirID, test.x)
			refusal(t, err, test.code)
		})
	}
	x := joined(r, from, keyless, 1, 2, now)
	if _, err := r.Merge(t.Context(), from.AirID, x); !errors.Is(err, registry.ErrNoKey) {
		t.Error(err)
	}
	x.Into = r.DID("AIR-0000-0000-0000")
	if _, err := r.Merge(t.Context(), from.AirID, x); !errors.Is(err, registry.ErrNoAgent) {
		t.Error(err)
	}
	x.Into = "did:" + strings.Repeat("x", 10000)
	_, err := r.Merge(t.Context(), from.AirID, x)
	refused(t, err)
	x.Nonce = "\x00"
	_, err = r.Merge(t.Context(), from.AirID, x)
	refused(t, err)
	if a, _, err := r.Agent(t.Context(), from.AirID); err != nil || a.Status != registry.Active {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestConcurrentMergesHaveOneWinner(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	var all []registry.Agent
	for key := byte(1); key <= 64; key++ {
		all = append(all, proved(t, r, key, nil))
	}
	from := proved(t, r, 100, nil)
	from = claim(t, r, from, 100, "the_name", c.Now())
	won := race(t, 64, func(i int) error {
		_, err := r.Merge(t.Context(), from.AirID, joined(r, from, all[i], 100, byte(i+1), c.Now()))
		return err
	}, "merged")
	from, _, err := r.Agent(t.Context(), from.AirID)
	if err != nil || won != 1 {
		t.Fatalf("%d won, %v", won, err)
	}
	if holder, _, err := r.ByHandle(t.Context(), "the_name"); err != nil || holder.AirID != from.MergedInto {
		t.Errorf("the handle leads to %s, the agent to %s, %v", holder.AirID, from.MergedInto, err)
	}
	absorbed := 0
	for _, a := range all {
		a, _, err := r.Agent(t.Context(), a.AirID)
		if err != nil {
			t.Fatal(err)
		}
		absorbed += len(a.Absorbed)
	}
	if absorbed != 1 {
		t.Errorf("%d agents have absorbed it", absorbed)
	}
}

func TestOperatorMerges(t *testing.T) {
	r := open(t, registrar.Options{})
	from, _ := register(t, r, someone(1))
	into, _ := register(t, r, someone(2))
	_, err := r.MergeByOperator(t.Context(), from.AirID, into.AirID, strings.Repeat("x", 10000))
	refused(t, err)
	if _, err := r.MergeByOperator(t.Context(), from.AirID, into.AirID, "lost key, passport seen"); err != nil {
		t.Fatal(err)
	}
	history, n, err := r.History(t.Context(), from.AirID, 0, 0)
	if err != nil || history[n-1].Actor != registry.ActorAdmin || history[n-1].Authority != nil || history[n-1].Agent.Reason != "lost key, passport seen" {
		t.Errorf("%+v, %v", history, err)
	}
	// So many, and no more.
	for i := range byte(20) {
		a, _ := register(t, r, someone(i+10))
		_, err := r.MergeByOperator(t.Context(), a.AirID, into.AirID, "")
		if i < 19 && err != nil {
			t.Fatal(err)
		}
		if i == 19 {
			refusal(t, err, "merged-enough")
		}
	}
}

func TestReadMerge(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	from, into := proved(t, r, 1, nil), proved(t, r, 2, nil)
	x := joined(r, from, into, 1, 2, c.Now())
	body, err := json.Marshal(map[string]string{"from": x.From, "from_key": keyText(1), "into": x.Into, "into_key": x.IntoKey, "created": "2026-05-04T03:02:01Z",
		"nonce": x.Nonce, "from_signature": x.FromSignature, "into_signature": x.IntoSignature})
	if err != nil {
		t.Fatal(err)
	}
	got, err := airjson.ReadMerge(body)
	if err != nil || got != x {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := r.Merge(t.Context(), from.AirID, got); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{`{}`, `{"created":"now"}`, `[]`, `{"from":1}`} {
		_, err := airjson.ReadMerge([]byte(bad))
		refused(t, err)
	}
}
