package registrar_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/registry"
	"gazetteer/registry/registrar"
	"gazetteer/registry/transfer"
)

// movedTo returns an update that says where an agent continues.
func movedTo(text string) registry.Update { return registry.Update{MovedTo: &text} }

// TestOnlyTheKeySaysWhereAnAgentContinues checks who may name the new DID of an agent, which DIDs are
// accepted, and where they are shown.
func TestOnlyTheKeySaysWhereAnAgentContinues(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a, secret := register(t, r, someone(1))
	there := "did:wba:other.test:agents:" + a.AirID
	_, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, movedTo(there))
	refusal(t, err, "moved-unsigned")
	for text, want := range map[string]string{
		"elsewhere": "Invalid moved_to", "did:key:z6Mk": "Invalid moved_to", "https://other.test/": "Invalid moved_to", "did:web:127.0.0.1": "Invalid moved_to",
		r.DID(a.AirID): "is a DID of this registry", "did:web:registry.test:agents:" + a.AirID: "is a DID of this registry",
	} {
		if _, _, err := r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), movedTo(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		c.Advance(time.Second)
	}
	a, fields, err := r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), movedTo(there))
	if err != nil || a.MovedTo != there || !slices.Equal(fields, []string{"moved_to"}) || !slices.Equal(r.DIDDocument(a).AlsoKnownAs, []string{there}) {
		t.Errorf("%v %v, the document names %q (%v)", a.MovedTo, fields, r.DIDDocument(a).AlsoKnownAs, err)
	}
	if !slices.Contains(a.NamedDomains(), "other.test") {
		t.Error("the block list of domains does not count for the new DID")
	}
	c.Advance(time.Second)
	ended, err := r.Deactivate(t.Context(), a.AirID, by(t, r, a, 1, c.Now()))
	if err != nil {
		t.Fatal(err)
	}
	refused, _ := ended.Usable().(*registry.Refusal)
	if refused == nil || !strings.Contains(refused.Help, "use "+there) {
		t.Errorf("the agent that has moved is refused with %+v", refused)
	}
}

// TestMoveIsNotNamedDuringRecovery checks that a thief of the current key cannot lead the mail elsewhere
// while its owner replaces the key, and that a withdrawn move is gone.
func TestMoveIsNotNamedDuringRecovery(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a := proved(t, r, 1, map[string]any{"recovery_commitment": commitment(100)})
	for _, text := range []string{"did:web:agent.test", ""} {
		var err error
		if a, _, err = r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), movedTo(text)); err != nil || a.MovedTo != text {
			t.Fatal(a.MovedTo, err)
		}
		c.Advance(time.Second)
	}
	if d := r.DIDDocument(a); d.AlsoKnownAs != nil {
		t.Errorf("a withdrawn move stays in the document: %q", d.AlsoKnownAs)
	}
	if _, err := r.Recover(t.Context(), a.AirID, recovery(r, a, 1, 100, 2, "", c.Now())); err != nil {
		t.Fatal(err)
	}
	_, _, err := r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), movedTo("did:web:thief.test"))
	refusal(t, err, "recovery-pending")
}

// TestMovedAgentArrives imports an agent that has named its new DID: at that place it has not moved,
// elsewhere it still names it, and a history in which nobody has signed the move is refused.
func TestMovedAgentArrives(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a := proved(t, r, 1, nil)
	there := "did:wba:other.test:agents:" + a.AirID
	a, _, err := r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), movedTo(there))
	if err != nil {
		t.Fatal(err)
	}
	text := export(t, r, a.AirID, transfer.ExportOptions{})
	for host, want := range map[string]string{"other.test": "", "third.test": there} {
		c.Advance(time.Hour)
		other := open(t, registrar.Options{Now: c.Now, DIDHost: host})
		got, err := other.Import(t.Context(), strings.NewReader(text))
		if err != nil || got.Agent.MovedTo != want {
			t.Fatalf("%s: it has moved to %q, want %q (%v)", host, got.Agent.MovedTo, want, err)
		}
		again := open(t, registrar.Options{Now: c.Now, DIDHost: "last.test"})
		if _, err := again.Import(t.Context(), strings.NewReader(export(t, other, a.AirID, transfer.ExportOptions{}))); err != nil {
			t.Errorf("from %s onwards: %v", host, err)
		}
	}
	operator := open(t, registrar.Options{Now: c.Now})
	b := proved(t, operator, 2, nil)
	_, err = operator.ChangeAgent(t.Context(), b.AirID, func(change *registry.Change) error {
		change.Agent.MovedTo = there
		return change.AddEntry(registry.HistoryEntry{Event: registry.EventUpdated, Actor: registry.ActorAdmin, Fields: []string{"moved_to"}})
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = open(t, registrar.Options{Now: c.Now, DIDHost: "third.test"}).Import(t.Context(), strings.NewReader(export(t, operator, b.AirID, transfer.ExportOptions{})))
	if err == nil || !strings.Contains(err.Error(), "without a signature of its key") {
		t.Errorf("a move that nobody has signed is imported: %v", err)
	}
}
