package registrar_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gazetteer/registry"
	"gazetteer/registry/directory"
	"gazetteer/registry/registrar"
)

// shows reports whether a caller that requires a signal gets the agent.
func shows(t testing.TB, r *registrar.Registrar, a registry.Agent, signal string) bool {
	t.Helper()
	lacks, err := r.MissingSignals(t.Context(), a, []string{signal})
	if err != nil {
		t.Fatal(err)
	}
	return len(lacks) == 0
}

// attested returns the AIR IDs of the agents that the directory lists for attestations, sorted.
func attested(d *directory.Directory) []string {
	found, _ := d.Search(directory.Query{Require: []string{registry.SignalAttestations}, Limit: registry.MaxList})
	var out []string
	for _, a := range found {
		out = append(out, a.AirID)
	}
	slices.Sort(out)
	return out
}

// TestRingMeetsNoRequirement checks that an agent that only a ring attests is not listed as
// attested, neither by a directory that followed the growth of the ring nor by a new one; when the
// ring is broken, the remaining attestations count.
func TestRingMeetsNoRequirement(t *testing.T) {
	c, documents := newClock(), documents{}
	s := openStore(t)
	r := open(t, registrar.Options{Now: c.Now, Resolver: documents, Store: s})
	const n = 5
	var agents []registry.Agent
	var secrets []string
	for i := range n + 1 { // the last one is outside
		a, secret := documents.owner(t, r, fmt.Sprintf("r%d.example", i), byte(i+1))
		agents, secrets = append(agents, a), append(secrets, secret)
	}
	d, wait := running(t, s, r)
	c.Advance(31 * 24 * time.Hour)
	attest := func(by, about int) registry.Attestation {
		t.Helper()
		subject := agents[about].AirID
		made, _, err := r.Attest(t.Context(), subject, signAttestation(t, subject, agents[by], byte(by+1), "dependency", c.Now()), registry.Credentials{Secret: secrets[by]})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	listed := func(want ...int) {
		t.Helper()
		wait()
		var ids []string
		for _, i := range want {
			ids = append(ids, agents[i].AirID)
		}
		slices.Sort(ids)
		fresh, _ := running(t, s, r)
		if got := attested(d); !slices.Equal(got, ids) || !slices.Equal(attested(fresh), ids) {
			t.Errorf("attested are %v, and after a restart %v, want %v", got, attested(fresh), ids)
		}
		for i, a := range agents {
			now, _, err := r.Agent(t.Context(), a.AirID)
			if err != nil {
				t.Fatal(err)
			}
			if got := shows(t, r, now, registry.SignalAttestations); got != slices.Contains(want, i) {
				t.Errorf("%d: attested %t", i, got)
			}
		}
	}
	listed()
	var made []registry.Attestation
	for i := range n - 1 {
		made = append(made, attest(i, i+1))
	}
	listed(1, 2, 3, 4)
	attest(n-1, 0) // closes the ring
	listed()
	attest(n-1, n) // who attests nobody is in no ring
	listed(n)
	attest(n, 0) // the ring is larger now
	listed()
	if _, _, err := r.RevokeAttestation(t.Context(), agents[1].AirID, made[0].N, registry.Credentials{Secret: secrets[0]}); err != nil {
		t.Fatal(err)
	}
	listed(2, 3, 4, n) // what closed a ring never counts: nobody else attests 0 or 1
}

// The directory, which keeps all attestations in memory, and the evidence, which
// looks for the way from a subject to its attester in the store, agree on any
// attestations.
func TestRingsAgreeInDirectoryAndEvidence(t *testing.T) {
	c, documents := newClock(), documents{}
	s := openStore(t)
	r := open(t, registrar.Options{Now: c.Now, Resolver: documents, Store: s})
	const n = 12
	var agents []registry.Agent
	var secrets []string
	for i := range n {
		a, secret := documents.owner(t, r, fmt.Sprintf("r%d.example", i), byte(i+1))
		agents, secrets = append(agents, a), append(secrets, secret)
	}
	d, wait := running(t, s, r)
	c.Advance(31 * 24 * time.Hour)
	random := rand.New(rand.NewPCG(1, 2))
	var made []registry.Attestation
	some, none := 0, 0 // of whom attestations hold, and of whom they only seem to
	for step := range 150 {
		if by, about := random.IntN(n), random.IntN(n); random.IntN(3) > 0 || len(made) == 0 {
			subject := agents[about].AirID
			m, _, err := r.Attest(t.Context(), subject, signAttestation(t, subject, agents[by], byte(by+1), "dependency", c.Now()), registry.Credentials{Secret: secrets[by]})
			if refusal := (*registry.Refusal)(nil); err != nil && by != about && !errors.As(err, &refusal) {
				t.Fatal(err)
			}
			if err == nil {
				made = append(made, m)
			}
			c.Advance(17 * time.Hour) // ten a week
		} else {
			i := random.IntN(len(made))
			by := slices.IndexFunc(agents, func(a registry.Agent) bool { return a.AirID == made[i].Attester })
			if _, _, err := r.RevokeAttestation(t.Context(), made[i].Subject, made[i].N, registry.Credentials{Secret: secrets[by]}); err != nil {
				t.Fatal(err)
			}
			made = slices.Delete(made, i, i+1)
		}
		if step%5 > 0 {
			continue
		}
		wait()
		var want []string
		for _, a := range agents {
			now, _, err := r.Agent(t.Context(), a.AirID)
			if err != nil {
				t.Fatal(err)
			}
			holds := collectEvidence(t, r, now, registry.SignalAttestations)[0].Holds
			if holds != shows(t, r, now, registry.SignalAttestations) {
				t.Fatalf("step %d: %s: the evidence says %t, the requirement does not", step, a.Name, holds)
			}
			if holds {
				want = append(want, a.AirID)
				some++
			} else if now.Standing.Roots > 0 {
				none++
			}
		}
		slices.Sort(want)
		if got := attested(d); !slices.Equal(got, want) {
			t.Fatalf("step %d: the directory lists %v, the evidence %v", step, got, want)
		}
	}
	if some < 20 || none < 20 {
		t.Errorf("attestations hold %d times, %d times they lie in a ring: too few to tell", some, none)
	}
}
