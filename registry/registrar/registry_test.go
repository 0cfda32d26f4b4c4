package registrar_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/registrar"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

func openStore(t testing.TB) store.Store {
	t.Helper()
	s, err := boltstore.Open(context.Background(), filepath.Join(t.TempDir(), "data"), boltstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// open returns a registry on a fresh store, for registry.test when no host is
// named, whose registration does not close itself unless an option says so.
func open(t testing.TB, o registrar.Options) *registrar.Registrar {
	t.Helper()
	if o.Store == nil {
		o.Store = openStore(t)
	}
	if o.DIDHost == "" {
		o.DIDHost = "registry.test"
	}
	if o.Unattended == 0 {
		o.Unattended = -1
	}
	r, err := registrar.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// keyText returns a public key as registration takes it; equal numbers give
// equal keys.
func keyText(n byte) string {
	seed := bytes.Repeat([]byte{n}, ed25519.SeedSize)
	return did.FormatPublicKey(ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey))
}

// changeDescription returns an update of the description alone.
func changeDescription(text string) registry.Update {
	return registry.Update{Description: text, Changed: []string{"description"}}
}

func register(t testing.TB, r *registrar.Registrar, reg registry.Registration) (registry.Agent, string) {
	t.Helper()
	agent, secret, err := r.Register(context.Background(), reg)
	if err != nil {
		t.Fatal(err)
	}
	return agent, secret
}

func someone(n byte) registry.Registration {
	return registry.Registration{Name: fmt.Sprintf("Agent %d", n), PublicKey: keyText(n)}
}

// refused returns the error as one about a field, or fails.
func refused(t testing.TB, err error) *registry.Error {
	t.Helper()
	var e *registry.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a refusal of a field", err)
	}
	if e.Code == "" || e.Message == "" {
		t.Errorf("a refusal without a rule: %#v", e)
	}
	return e
}

func TestRegisteredAgentIsFoundByEveryName(t *testing.T) {
	now := time.Date(2026, 5, 4, 3, 2, 1, 987654321, time.FixedZone("", 3600))
	r := open(t, registrar.Options{DIDHost: "registry.test:8443", Now: func() time.Time { return now }})
	agent, secret := register(t, r, registry.Registration{Name: "  Weather ", Description: "tells\nthe weather", Editable: registry.Editable{Capabilities: []string{"forecast"}, ServiceEndpoints: []registry.ServiceEndpoint{{Type: "A2AInbox", ServiceEndpoint: "https://relay.test/in"}}}, PublicKey: keyText(1)})
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(secret) {
		t.Errorf("secret %q", secret)
	}
	if agent.Name != "Weather" || agent.Status != "active" || agent.CreatorType != "individual" {
		t.Errorf("registered %+v", agent)
	}
	if want := "2026-05-04T02:02:01.987Z"; agent.Created.Format(time.RFC3339Nano) != want || !agent.Updated.Equal(agent.Created) {
		t.Errorf("created %v, updated %v, want %s", agent.Created, agent.Updated, want)
	}
	self := "did:wba:registry.test%3A8443:agents:" + agent.AirID
	if r.DID(agent.AirID) != self || agent.CreatorDID != self {
		t.Errorf("DID %s, creator %s, want %s", r.DID(agent.AirID), agent.CreatorDID, self)
	}
	handle := "Weather_Bot"
	agent, fields, err := r.Update(t.Context(), agent.AirID, registry.Credentials{Secret: secret}, registry.Update{Username: &handle})
	if err != nil || !slices.Equal(fields, []string{"username"}) || agent.Handle != "weather_bot" {
		t.Fatalf("claim: %v, %v, %q", err, fields, agent.Handle)
	}
	for _, id := range []string{agent.AirID, self, strings.Replace(self, "wba", "web", 1), strings.Replace(self, "registry", "REGISTRY", 1), "weather_bot", "WEATHER_BOT", "ｗｅａｔｈｅｒ_bot"} {
		found, seq, err := r.Find(t.Context(), id)
		if err != nil || found.AirID != agent.AirID || seq == 0 {
			t.Errorf("Find(%s) = %s, %d, %v", id, found.AirID, seq, err)
		}
	}
	for _, id := range []string{
		"AIR-0000-0000-0000", "AIR-ILOU-ILOU-ILOU", "nobody", "did:wba:registry.test:agents:" + agent.AirID,
		"did:wba:other.test:agents:" + agent.AirID, "did:wba:registry.test%3A8443", self + ":more",
	} {
		if _, _, err := r.Find(t.Context(), id); !errors.Is(err, registry.ErrNoAgent) {
			t.Errorf("Find(%s): %v, want ErrNoAgent", id, err)
		}
	}
	for _, id := range []string{"", "ab", "a b", "did:", "did:wba:", self + "#key-1", strings.ToLower(agent.AirID), "AIR-0", "AIR-0000-0000-0000/x", "host/com.example", strings.Repeat("x", 1<<16)} {
		_, _, err := r.Find(t.Context(), id)
		if e := refused(t, err); len(e.Error()) > 1000 {
			t.Errorf("a message of %d bytes for an id of %d", len(e.Error()), len(id))
		}
	}
}

func TestDIDDocument(t *testing.T) {
	r := open(t, registrar.Options{BaseURL: "http://localhost:8080/"})
	agent, _ := register(t, r, registry.Registration{Name: "A", PublicKey: keyText(1), CreatorDID: "did:web:owner.test:bob",
		Editable: registry.Editable{ServiceEndpoints: []registry.ServiceEndpoint{
			{Type: "A2AInbox", ServiceEndpoint: "https://relay.test/1"},
			{Type: "A2AInbox", ServiceEndpoint: "https://relay.test/2"},
			{Type: "https://acme.test/spec#Inbox", ServiceEndpoint: "https://relay.test/3"},
		}}})
	got, err := json.Marshal(r.DIDDocument(agent))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(`{"@context":["https://www.w3.org/ns/did/v1","https://w3id.org/security/suites/ed25519-2020/v1"],"id":"SELF",`+
		`"alsoKnownAs":["did:web:owner.test:bob"],"verificationMethod":[{"id":"SELF#key-1","type":"Ed25519VerificationKey2020",`+
		`"controller":"SELF","publicKeyMultibase":"`+did.FormatMultikey(agent.PublicKey)+`"}],`+
		`"authentication":["SELF#key-1"],"assertionMethod":["SELF#key-1"],"service":[`+
		`{"id":"SELF#trust-score","type":"AIRTrustScore","serviceEndpoint":"http://localhost:8080/api/v1/agents/`+agent.AirID+`/trust-score"},`+
		`{"id":"SELF#A2AInbox","type":"A2AInbox","serviceEndpoint":"https://relay.test/1"},`+
		`{"id":"SELF#A2AInbox-2","type":"A2AInbox","serviceEndpoint":"https://relay.test/2"},`+
		`{"id":"SELF#https://acme.test/spec%23Inbox","type":"https://acme.test/spec#Inbox","serviceEndpoint":"https://relay.test/3"}]}`,
		"SELF", "did:wba:registry.test:agents:"+agent.AirID)
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if inbox := r.DIDDocument(agent).Inbox(); inbox != "https://relay.test/1" {
		t.Errorf("inbox %q", inbox)
	}
}

func TestAgentWithoutKeyCannotBeVerified(t *testing.T) {
	r := open(t, registrar.Options{})
	agent, _ := register(t, r, registry.Registration{Name: "A", CreatorDID: "did:key:z6MkjPu1MQQgg8pebFGHd1RiarJCrPSgnhAojpdsH2hwzW6v"})
	text, err := json.Marshal(r.DIDDocument(agent))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"verificationMethod":[]`, `"authentication":[]`, `"assertionMethod":[]`} {
		if !bytes.Contains(text, []byte(part)) {
			t.Errorf("%s is not in %s", part, text)
		}
	}
}

func TestOnlySecretHashIsStored(t *testing.T) {
	s := openStore(t)
	var log bytes.Buffer
	r := open(t, registrar.Options{Store: s, Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	agent, secret := register(t, r, someone(1))
	description := "new"
	if _, _, err := r.Update(t.Context(), agent.AirID, registry.Credentials{Secret: secret}, changeDescription(description)); err != nil {
		t.Fatal(err)
	}
	record, err := s.Get(t.Context(), store.AgentKey(agent.AirID))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(record.Value, []byte(secret)) || strings.Contains(log.String(), secret) {
		t.Error("the secret stands in the store or the log")
	}
	if !strings.Contains(log.String(), agent.AirID) {
		t.Errorf("the log does not tell what happened: %s", log.String())
	}
	if sum := sha256.Sum256([]byte(secret)); !bytes.Equal(agent.SecretHash, sum[:]) {
		t.Error("the kept hash is not the SHA-256 of the secret")
	}
}

func TestUpdatePermissions(t *testing.T) {
	r := open(t, registrar.Options{})
	agent, secret := register(t, r, someone(1))
	_, others := register(t, r, someone(2))
	text := "x"
	u := changeDescription(text)
	for name, test := range map[string]struct {
		airID, secret string
		want          error
	}{
		"no secret":            {agent.AirID, "", registry.ErrNoSecret},
		"another's secret":     {agent.AirID, others, registry.ErrWrongSecret},
		"zeros":                {agent.AirID, strings.Repeat("0", 32), registry.ErrWrongSecret},
		"the beginning of it":  {agent.AirID, secret[:31], registry.ErrWrongSecret},
		"upper case":           {agent.AirID, strings.ToUpper(secret) + "F", registry.ErrWrongSecret},
		"the kept hash":        {agent.AirID, fmt.Sprintf("%x", agent.SecretHash), registry.ErrWrongSecret},
		"nobody":               {"AIR-0000-0000-0000", secret, registry.ErrNoAgent},
		"nobody and no secret": {"AIR-0000-0000-0000", "", registry.ErrNoAgent},
	} {
		if _, _, err := r.Update(t.Context(), test.airID, registry.Credentials{Secret: test.secret}, u); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
	if got, _, err := r.Agent(t.Context(), agent.AirID); err != nil || got.Description != "" {
		t.Errorf("the agent is %+v, %v", got, err)
	}
	if _, _, err := r.Update(t.Context(), agent.AirID, registry.Credentials{Secret: secret}, registry.Update{}); !errors.Is(err, registry.ErrNothingToUpdate) {
		t.Errorf("an update of nothing: %v", err)
	}
}

func TestUpdateChangesNamedMembersOnly(t *testing.T) {
	r := open(t, registrar.Options{})
	agent, secret := register(t, r, registry.Registration{Name: "A", PublicKey: keyText(1), Description: "old", Editable: registry.Editable{Capabilities: []string{"a"}, OpenSource: true, CodeRepository: "https://code.test/x"}})
	description, link, open := " new ", "", false
	got, fields, err := r.Update(t.Context(), agent.AirID, registry.Credentials{Secret: secret}, registry.Update{Description: description, Editable: registry.Editable{CodeRepository: link, OpenSource: open, SecurityCertifications: []string{"ISO"}, DocumentationURL: "https://docs.test/", Capabilities: []string{}}, Changed: []string{"description", "code_repository", "open_source", "security_certifications", "documentation_url", "capabilities"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"description", "capabilities", "security_certifications", "open_source", "code_repository", "documentation_url"}; !slices.Equal(fields, want) {
		t.Errorf("fields %v, want %v", fields, want)
	}
	stored, _, err := r.Agent(t.Context(), agent.AirID)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []registry.Agent{got, stored} {
		if a.Description != "new" || a.CodeRepository != "" || a.OpenSource || len(a.Capabilities) != 0 || a.SecurityCertifications[0] != "ISO" ||
			a.DocumentationURL != "https://docs.test/" || a.Name != "A" || !bytes.Equal(a.PublicKey, agent.PublicKey) {
			t.Errorf("updated to %+v", a)
		}
	}
	bad := "javascript:alert(1)"
	if _, _, err := r.Update(t.Context(), agent.AirID, registry.Credentials{Secret: secret}, registry.Update{Description: bad, Editable: registry.Editable{DocumentationURL: bad}, Changed: []string{"description", "documentation_url"}}); refused(t, err).Field != "documentation_url" {
		t.Error(err)
	}
	if after, _, _ := r.Agent(t.Context(), agent.AirID); after.Description != "new" {
		t.Error("half of a refused update was kept")
	}
}

func TestConcurrentUpdatesAreAllKept(t *testing.T) {
	r := open(t, registrar.Options{})
	agent, secret := register(t, r, someone(1))
	updates := []registry.Update{
		{Description: "d", Changed: []string{"description"}}, {Editable: registry.Editable{CodeRepository: "https://c.test/"}, Changed: []string{"code_repository"}}, {Editable: registry.Editable{DocumentationURL: "https://d.test/"}, Changed: []string{"documentation_url"}}, {Editable: registry.Editable{OpenSource: true}, Changed: []string{"open_source"}},
		{Editable: registry.Editable{Capabilities: []string{"c"}}, Changed: []string{"capabilities"}}, {Editable: registry.Editable{SecurityCertifications: []string{"s"}}, Changed: []string{"security_certifications"}}, {Username: new("handle")},
		{Editable: registry.Editable{ServiceEndpoints: []registry.ServiceEndpoint{{Type: "A2AInbox", ServiceEndpoint: "https://i.test/"}}}, Changed: []string{"service_endpoints"}},
	}
	var wait sync.WaitGroup
	for _, u := range updates {
		wait.Go(func() {
			if _, _, err := r.Update(t.Context(), agent.AirID, registry.Credentials{Secret: secret}, u); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	a, _, err := r.Agent(t.Context(), agent.AirID)
	if err != nil {
		t.Fatal(err)
	}
	if a.Description == "" || a.CodeRepository == "" || a.DocumentationURL == "" || !a.OpenSource || len(a.Capabilities) == 0 ||
		len(a.SecurityCertifications) == 0 || a.Handle == "" || len(a.ServiceEndpoints) == 0 {
		t.Errorf("an update was lost: %+v", a)
	}
}

func TestConcurrentHandleClaimsHaveOneWinner(t *testing.T) {
	const rounds, claimants = 100, 8
	s, c := openStore(t), newClock()
	r := open(t, registrar.Options{Store: s, Now: c.Now})
	agents, secrets := make([]registry.Agent, claimants), make([]string, claimants)
	for i := range agents {
		agents[i], secrets[i] = register(t, r, someone(byte(i)))
	}
	for round := range rounds {
		c.Advance(11 * 24 * time.Hour) // three claims in 30 days are free
		handle := fmt.Sprintf("handle_%d", round)
		won := make([]bool, claimants)
		var wait sync.WaitGroup
		for i := range agents {
			wait.Go(func() {
				_, _, err := r.Update(t.Context(), agents[i].AirID, registry.Credentials{Secret: secrets[i]}, registry.Update{Username: &handle})
				if err != nil && !errors.Is(err, registry.ErrHandleTaken) {
					t.Errorf("%s: %v", handle, err)
				}
				won[i] = err == nil
			})
		}
		wait.Wait()
		winner := slices.Index(won, true)
		if winner < 0 || slices.Contains(won[winner+1:], true) {
			t.Fatalf("%s: won by %v", handle, won)
		}
		holder, _, err := r.ByHandle(t.Context(), handle)
		if err != nil || holder.AirID != agents[winner].AirID || holder.Handle != handle {
			t.Fatalf("%s belongs to %s (%v), won by %s", handle, holder.AirID, err, agents[winner].AirID)
		}
	}
	// Each winner gave its earlier handle back: as many are held as agents have.
	held := map[string]bool{}
	for record, err := range s.List(t.Context(), store.HandlePrefix, "") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(record.Value), " until ") {
			continue // given back
		}
		a, _, err := r.Agent(t.Context(), string(record.Value))
		if err != nil || store.HandleKey(a.Handle) != record.Key || held[a.AirID] {
			t.Errorf("%s is held by %s, whose handle is %q (%v)", record.Key, record.Value, a.Handle, err)
		}
		held[a.AirID] = true
	}
	if len(held) == 0 {
		t.Error("nobody holds a handle")
	}
}

// TestHandleLookupDoesNotReserve checks that an agent that has proved nothing claims three handles
// in 30 days and locks none of them by giving it up at once.
func TestHandleLookupDoesNotReserve(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	squatter, secret := register(t, r, someone(1))
	other, otherSecret := register(t, r, someone(2))
	update := func(a registry.Agent, secret, handle string) error {
		_, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, registry.Update{Username: &handle})
		return err
	}
	claimed := 0
	for i := range 300 {
		if err := update(squatter, secret, fmt.Sprintf("name%d", i)); err == nil {
			claimed++
			continue
		} else if e := refusal(t, err, "handle-claims"); e.Kind != registry.ErrTooMany || e.Wait != 30*24*time.Hour {
			t.Fatalf("%+v", e)
		}
	}
	if claimed != 3 {
		t.Errorf("%d handles were claimed, want 3", claimed)
	}
	c.Advance(time.Hour)
	if err := update(other, otherSecret, "name0"); err != nil {
		t.Errorf("an hour later a handle that was held for a moment is locked: %v", err)
	}
	c.Advance(30 * 24 * time.Hour)
	if err := update(squatter, secret, "name3"); err != nil {
		t.Errorf("30 days later: %v", err)
	}
}

func TestHandleLifecycle(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	alice, secretA := register(t, r, someone(1))
	bob, secretB := register(t, r, someone(2))
	update := func(a registry.Agent, secret, handle string) ([]string, error) {
		_, fields, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, registry.Update{Username: &handle})
		return fields, err
	}
	if _, err := update(alice, secretA, "first"); err != nil {
		t.Fatal(err)
	}
	_, err := update(bob, secretB, "ＦＩＲＳＴ")
	var taken *registry.HandleTakenError
	if !errors.As(err, &taken) || taken.Handle != "first" {
		t.Errorf("a look-alike of a taken handle: %v", err)
	}
	if _, err := update(alice, secretA, "first"); !errors.Is(err, registry.ErrNothingToUpdate) {
		t.Errorf("the same handle again: %v", err)
	}
	c.Advance(30 * 24 * time.Hour) // others have come to know it
	if _, err := update(alice, secretA, "second"); err != nil {
		t.Fatal(err)
	}
	// A handle that was given back waits 30 days for anybody but its last holder.
	if _, err := update(bob, secretB, "first"); !errors.As(err, &taken) || !taken.Free.Equal(c.Now().Add(30*24*time.Hour)) {
		t.Errorf("a handle that was given back a moment ago: %v", err)
	}
	if v, err := r.CheckUsername(t.Context(), "First"); err != nil || v != (registry.UsernameView{Username: "first", Valid: true, Reason: "cooldown"}) {
		t.Errorf("check: %+v, %v", v, err)
	}
	if _, err := update(alice, secretA, "first"); err != nil {
		t.Errorf("its last holder claims it again: %v", err)
	}
	c.Advance(30 * 24 * time.Hour)
	if _, err := update(alice, secretA, "second"); err != nil {
		t.Fatal(err)
	}
	c.Advance(30*24*time.Hour - time.Second)
	if _, err := update(bob, secretB, "first"); !errors.Is(err, registry.ErrHandleTaken) {
		t.Errorf("after 29 days: %v", err)
	}
	c.Advance(time.Second)
	if _, err := update(bob, secretB, "first"); err != nil {
		t.Errorf("after 30 days: %v", err)
	}
	if _, err := update(alice, secretA, "first"); !errors.As(err, &taken) || !taken.Free.IsZero() {
		t.Errorf("claiming it again: %v", err)
	}
	if a, _, err := r.ByHandle(t.Context(), "second"); err != nil || a.AirID != alice.AirID {
		t.Errorf("a claim that failed cost the handle held before: %v", err)
	}
	if fields, err := update(alice, secretA, ""); err != nil || len(fields) != 1 {
		t.Errorf("giving back: %v, %v", fields, err)
	}
	if _, _, err := r.ByHandle(t.Context(), "second"); !errors.Is(err, registry.ErrNoAgent) {
		t.Errorf("a handle that nobody holds: %v", err)
	}
	for _, bad := range []string{"ad", "admin", "a-b", "аdmin", "air7g3km9jqx2pt", strings.Repeat("a", 31)} {
		if _, err := update(bob, secretB, bad); refused(t, err).Field != "username" {
			t.Errorf("claim %q: %v", bad, err)
		}
	}
}

// TestClockAheadFreesNoHandle checks that while the clock is ahead, no other agent can claim a handle
// that was released lately, and that claims still count.
func TestClockAheadFreesNoHandle(t *testing.T) {
	wall, due := newClock(), newClock()
	r := open(t, registrar.Options{Now: wall.Now, Due: due.Now})
	alice, secretA := register(t, r, someone(1))
	bob, secretB := register(t, r, someone(2))
	update := func(a registry.Agent, secret, handle string) error {
		_, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, registry.Update{Username: &handle})
		return err
	}
	claim := func(handles ...string) {
		t.Helper()
		for _, handle := range handles {
			if err := update(alice, secretA, handle); err != nil {
				t.Fatal(err)
			}
		}
	}
	reason := func() string {
		t.Helper()
		v, err := r.CheckUsername(t.Context(), "first")
		if err != nil {
			t.Fatal(err)
		}
		return v.Reason
	}
	claim("first")
	wall.Advance(30 * 24 * time.Hour)
	due.Advance(30 * 24 * time.Hour)
	claim("second", "third", "fourth")
	wall.Advance(2000 * time.Hour)
	due.Advance(time.Hour) // it catches up
	if err := update(bob, secretB, "first"); !errors.Is(err, registry.ErrHandleTaken) {
		t.Errorf("claimed while the clock is ahead: %v", err)
	}
	if got := reason(); got != "cooldown" {
		t.Errorf("check while the clock is ahead: %q", got)
	}
	if err := r.CheckHandleAvailable(t.Context(), "first", bob.AirID); !errors.Is(err, registry.ErrHandleTaken) {
		t.Errorf("imported while the clock is ahead: %v", err)
	}
	refusal(t, update(alice, secretA, "fifth"), "handle-claims")
	due.Set(wall.Now())
	if got := reason(); got != "available" {
		t.Errorf("check when the due clock has caught up: %q", got)
	}
	if err := update(bob, secretB, "first"); err != nil {
		t.Errorf("claimed when the due clock has caught up: %v", err)
	}
	claim("fifth")
}

// TestClaimsAfterClockWasAhead checks that claims made while the clock is ahead stop counting 30 days
// later.
func TestClaimsAfterClockWasAhead(t *testing.T) {
	wall, due := newClock(), newClock()
	r := open(t, registrar.Options{Now: wall.Now, Due: due.Now})
	a, secret := register(t, r, someone(1))
	update := func(handle string) error {
		_, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, registry.Update{Username: &handle})
		return err
	}
	wall.Advance(2000 * time.Hour)
	for _, handle := range []string{"first", "second", "third"} {
		if err := update(handle); err != nil {
			t.Fatal(err)
		}
	}
	refusal(t, update("fourth"), "handle-claims")
	due.Advance(30 * 24 * time.Hour)
	wall.Set(due.Now()) // it is right again
	if err := update("fourth"); err != nil {
		t.Errorf("30 days later: %v", err)
	}
}

func TestAirIDIsNotReused(t *testing.T) {
	s := openStore(t)
	// A source that starts again returns the same ID again; the next bytes do not.
	first := bytes.Repeat([]byte{1}, 8+16)
	second := append(slices.Clone(first), bytes.Repeat([]byte{2}, 8+16)...)
	a, _ := register(t, open(t, registrar.Options{Store: s, Rand: bytes.NewReader(first)}), registry.Registration{Name: "first", PublicKey: keyText(1)})
	b, _ := register(t, open(t, registrar.Options{Store: s, Rand: bytes.NewReader(second)}), registry.Registration{Name: "second", PublicKey: keyText(2)})
	if a.AirID == b.AirID {
		t.Fatal("both have " + a.AirID)
	}
	r := open(t, registrar.Options{Store: s})
	if kept, _, err := r.Agent(t.Context(), a.AirID); err != nil || kept.Name != "first" {
		t.Errorf("the first agent is %+v, %v", kept, err)
	}
	stuck := open(t, registrar.Options{Store: s, Rand: repeating(1)})
	if _, _, err := stuck.Register(t.Context(), someone(3)); err == nil || !strings.Contains(err.Error(), "randomness") {
		t.Errorf("a source that never changes: %v", err)
	}
	dry := open(t, registrar.Options{Store: s, Rand: bytes.NewReader(nil)})
	if _, _, err := dry.Register(t.Context(), someone(3)); !errors.Is(err, io.EOF) {
		t.Errorf("a source that is dry: %v", err)
	}
}

type repeating byte

func (r repeating) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

func TestListReturnsAllAgentsInOrder(t *testing.T) {
	r := open(t, registrar.Options{})
	var want []string
	for i := range 7 {
		a, _ := register(t, r, someone(byte(i)))
		want = append(want, a.AirID)
	}
	slices.Sort(want)
	var got []string
	for after := ""; ; {
		page, _, err := r.List(t.Context(), registry.Filter{}, after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range page {
			got = append(got, a.AirID)
		}
		if len(page) < 3 {
			break
		}
		after = page[len(page)-1].AirID
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, limit := range []int{-1, 0, 1 << 40} {
		if page, _, err := r.List(t.Context(), registry.Filter{}, "", limit); err != nil || len(page) != 7 {
			t.Errorf("limit %d: %d agents, %v", limit, len(page), err)
		}
	}
}

func TestInvalidAgentRecordIsAnError(t *testing.T) {
	s := openStore(t)
	if _, err := s.Apply(t.Context(), store.Put(store.AgentKey("AIR-0000-0000-0000"), []byte("{"))); err != nil {
		t.Fatal(err)
	}
	r := open(t, registrar.Options{Store: s})
	if _, _, err := r.Agent(t.Context(), "AIR-0000-0000-0000"); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("Agent: %v", err)
	}
	if _, _, err := r.List(t.Context(), registry.Filter{}, "", 10); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("List: %v", err)
	}
}

func TestRefusedOptions(t *testing.T) {
	for name, o := range map[string]registrar.Options{
		"no host":           {},
		"IP address":        {DIDHost: "127.0.0.1"},
		"URL":               {DIDHost: "https://example.com"},
		"path":              {DIDHost: "example.com:8080:agents"},
		"IPv6":              {DIDHost: "[::1]:80"},
		"bad port":          {DIDHost: "example.com:0"},
		"base not absolute": {DIDHost: "example.com", BaseURL: "/x"},
		"base of a scheme":  {DIDHost: "example.com", BaseURL: "ftp://example.com"},
		"base with query":   {DIDHost: "example.com", BaseURL: "https://example.com/?x=1"},
	} {
		if _, err := registrar.New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestReferenceTrustScore(t *testing.T) {
	full := registry.Agent{CreatorDID: "did:x:y", CreatorName: "Org", CreatorType: "organization", Editable: registry.Editable{OpenSource: true, CodeRepository: "c", DocumentationURL: "d", SecurityCertifications: []string{"1", "2", "3", "4"}}}
	for name, test := range map[string]struct {
		agent  registry.Agent
		weight float64
		total  int
		grade  string
		peer   int
	}{
		// Totals as recorded, and by the reference's own code for the extremes.
		"only a key":               {registry.Agent{CreatorDID: "did:x:y", CreatorType: "individual"}, 0, 375, "C", 300},
		"an organisation":          {registry.Agent{CreatorDID: "did:x:y", CreatorName: "Org0", CreatorType: "organization"}, 0, 425, "B", 300},
		"all there is to claim":    {full, 0, 540, "BB", 300},
		"attested with 1063":       {registry.Agent{CreatorDID: "did:x:y"}, 1063, 463, "B", 887},
		"attested beyond measure":  {full, 1 << 40, 645, "BBB", 1000},
		"open source alone is 450": {registry.Agent{CreatorDID: "did:x:y", Editable: registry.Editable{OpenSource: true}}, 0, 405, "B", 300},
	} {
		test.agent.Standing.Weight = test.weight
		got := registry.TrustScore(test.agent)
		if got.Total != test.total || got.Grade != test.grade || got.Components.PeerAttestations != test.peer {
			t.Errorf("%s: %+v, want %d %s", name, got, test.total, test.grade)
		}
	}
}

func BenchmarkDIDDocument(b *testing.B) {
	r := open(b, registrar.Options{Store: nothing{}})
	a := registry.Agent{AirID: "AIR-0000-0000-0000", PublicKey: bytes.Repeat([]byte{7}, 32), CreatorDID: "did:wba:owner.test",
		Editable: registry.Editable{ServiceEndpoints: []registry.ServiceEndpoint{{ID: "did:wba:registry.test:agents:AIR-0000-0000-0000#A2AInbox", Type: "A2AInbox", ServiceEndpoint: "https://relay.test/inbox"}}}}
	b.Run("compute", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r.DIDDocument(a)
		}
	})
	b.Run("compute and write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(r.DIDDocument(a)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write a document that is ready", func(b *testing.B) {
		d := r.DIDDocument(a)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(d); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// nothing is the store of a benchmark that never touches it.
type nothing struct{ store.Store }

func BenchmarkAgent(b *testing.B) {
	r := open(b, registrar.Options{})
	a, _ := register(b, r, someone(1))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := r.Agent(b.Context(), a.AirID); err != nil {
			b.Fatal(err)
		}
	}
}
