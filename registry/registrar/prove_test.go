package registrar_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/internal/testclock"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/protocol/jcs"
	"gazetteer/registry"
	"gazetteer/registry/proofofwork"
	"gazetteer/registry/registrar"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

func newClock() *testclock.Clock { return testclock.New(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)) }

func privateKey(n byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
}

func multikey(n byte) string {
	return did.FormatMultikey(privateKey(n).Public().(ed25519.PublicKey))
}

// signed returns a request as the registry gets it, signed with a key.
func signed(t testing.TB, method, target, body string, key ed25519.PrivateKey, o httpsig.SignOptions) *httpsig.Message {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if err := httpsig.Sign(r, []byte(body), key, o); err != nil {
		t.Fatal(err)
	}
	m := httpsig.FromRequest(r, []byte(body))
	return &m
}

// refusal returns the error as a refusal with that code, or fails.
func refusal(t testing.TB, err error, code string) *registry.Refusal {
	t.Helper()
	var e *registry.Refusal
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want a refusal with the code %s", err, code)
	}
	if e.Kind == nil || e.Message == "" || !errors.Is(err, e.Kind) {
		t.Errorf("a refusal without words: %#v", e)
	}
	if _, ok := airjson.NewErrorView(err, ""); !ok {
		t.Errorf("no words for %v", err)
	}
	return e
}

// registration returns the body of a registration with a key.
func registration(t testing.TB, name string, key byte, more map[string]any) []byte {
	t.Helper()
	members := map[string]any{"name": name, "public_key": keyText(key)}
	for member, value := range more {
		members[member] = value
	}
	body, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// answered returns the body with the proof that answers a challenge.
func answered(t testing.TB, body []byte, challenge string, key byte) []byte {
	t.Helper()
	text := registrationStatement(t, "registry.test", challenge, multikey(key), body)
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	members["proof"] = map[string]string{"challenge": challenge, "signature": did.FormatSignature(ed25519.Sign(privateKey(key), text))}
	body, err := json.MarshalIndent(members, "", "  ") // another spelling of the same registration
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func registerBody(r *registrar.Registrar, body []byte) (registry.Agent, string, error) {
	reg, err := airjson.ReadRegistration(body)
	if err != nil {
		return registry.Agent{}, "", err
	}
	return r.Register(context.Background(), reg)
}

func challengeOf(t testing.TB, r *registrar.Registrar) string {
	t.Helper()
	c, err := r.Challenge()
	if err != nil {
		t.Fatal(err)
	}
	return c.Challenge
}

func TestChallengeProvesPossession(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now, RequireProof: true})
	challenge, err := r.Challenge()
	if err != nil || challenge.Expires.Sub(c.Now()) != 5*time.Minute || !strings.Contains(challenge.Statement, challenge.Challenge) {
		t.Fatalf("%+v, %v", challenge, err)
	}
	c.Advance(5*time.Minute - time.Second)
	agent, secret, err := registerBody(r, answered(t, registration(t, "A", 1, map[string]any{"no_secret": true, "description": "äö <&>\u2028"}), challenge.Challenge, 1))
	if err != nil || agent.KeyProof != registry.ProofChallenge || secret != "" || len(agent.SecretHash) != 0 {
		t.Fatalf("%+v, %q, %v", agent, secret, err)
	}
	history, n, err := r.History(t.Context(), agent.AirID, 0, 0)
	if err != nil || n != 1 || history[0].Event != registry.EventRegistered {
		t.Fatalf("%+v, %d, %v", history, n, err)
	}
	// What was signed is kept, so that anybody can check it.
	a := history[0].Authority
	signature, err := did.ParseSignature(a.Signatures[multikey(1)])
	if err != nil || !ed25519.Verify(agent.PublicKey, []byte(a.Signed), signature) {
		t.Errorf("authority %+v, %v", a, err)
	}
}

func TestRefusedChallengeResponses(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	other := open(t, registrar.Options{Now: c.Now, DIDHost: "other.test"})
	body := registration(t, "A", 1, map[string]any{"service_endpoints": []any{map[string]any{"type": "A2AInbox", "serviceEndpoint": "https://relay.test/in"}}})
	used := challengeOf(t, r)
	if _, _, err := registerBody(r, answered(t, registration(t, "Z", 9, nil), used, 9)); err != nil {
		t.Fatal(err)
	}
	old := challengeOf(t, r)
	c.Advance(5 * time.Minute)
	fresh := challengeOf(t, r)
	change := func(from, to string) []byte {
		return bytes.Replace(answered(t, body, fresh, 1), []byte(from), []byte(to), 1)
	}
	for _, test := range []struct {
		name string
		body []byte
		code string
	}{
		{"used", answered(t, body, used, 1), "challenge-used"}, // as old as it is, it was used: see below
		{"old", answered(t, body, old, 1), "challenge-expired"},
		{"of another registry", answered(t, body, challengeOf(t, other), 1), "challenge-unknown"},
		{"invented", answered(t, body, strings.Repeat("A", 54), 1), "challenge-unknown"},
		{"none", answered(t, body, "", 1), "challenge-unknown"},
		{"signed by another key", answered(t, body, fresh, 2), "statement-signature"},
		{"carried to another name", change(`"A"`, `"B"`), "statement-signature"},
		{"carried to another inbox", change("relay.test", "evil.test"), "statement-signature"},
		{"with a member more", change(`"name"`, `"open_source": true, "name"`), "statement-signature"},
		{"with an unknown member more", change(`"name"`, `"x": 1, "name"`), "statement-signature"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.name == "used" {
				c.Advance(-5 * time.Minute)
				defer c.Advance(5 * time.Minute)
			}
			_, _, err := registerBody(r, test.body)
			if e := refusal(t, err, test.code); !errors.Is(err, registry.ErrUnauthorized) || e.Help == "" {
				t.Errorf("%#v", e)
			}
		})
	}
	// A registration that is refused for another mistake does not use up the challenge.
	if _, _, err := registerBody(r, answered(t, registration(t, "", 1, nil), fresh, 1)); refused(t, err).Field != "name" {
		t.Error(err)
	}
	if _, _, err := registerBody(r, answered(t, body, fresh, 1)); err != nil {
		t.Error(err)
	}
	// A restart invalidates the issued challenges.
	_, _, err := registerBody(open(t, registrar.Options{Now: c.Now}), answered(t, body, challengeOf(t, r), 1))
	refusal(t, err, "challenge-unknown")
}

// TestChallengesAfterClockWasAhead checks that challenges and proofs of work are accepted after the
// clock was ahead for some minutes while others were used, and that each still counts once and
// expires after five minutes.
func TestChallengesAfterClockWasAhead(t *testing.T) {
	wall, steady := newClock(), newClock()
	r := open(t, registrar.Options{Now: wall.Now, Steady: steady.Now, RequireProof: true})
	pass := func(d time.Duration) {
		wall.Advance(d)
		steady.Advance(d)
	}
	last := byte(0)
	useChallenge := func(challenge string) error {
		last++
		_, _, err := registerBody(r, answered(t, registration(t, fmt.Sprint("A", last), last, nil), challenge, last))
		return err
	}
	key := privateKey(1).Public().(ed25519.PublicKey)
	solveWork := func() string {
		t.Helper()
		work, err := r.NewWork(1)
		if err != nil {
			t.Fatal(err)
		}
		solution, err := proofofwork.Solve(t.Context(), work, key)
		if err != nil {
			t.Fatal(err)
		}
		return solution
	}
	useWork := func(solution string) error {
		_, err := r.UseWork(solution, key)
		return err
	}
	useBoth := func(when string) {
		t.Helper()
		if err := useChallenge(challengeOf(t, r)); err != nil {
			t.Errorf("%s: a challenge: %v", when, err)
		}
		if err := useWork(solveWork()); err != nil {
			t.Errorf("%s: a proof of work: %v", when, err)
		}
	}
	before, workBefore := challengeOf(t, r), solveWork()
	if err := errors.Join(useChallenge(before), useWork(workBefore)); err != nil {
		t.Fatal(err)
	}
	unused := challengeOf(t, r)
	wall.Advance(3 * time.Hour)
	useBoth("ahead")
	ahead, workAhead := challengeOf(t, r), solveWork()
	if err := errors.Join(useChallenge(ahead), useWork(workAhead)); err != nil {
		t.Fatal(err)
	}
	if err := useChallenge(unused); err != nil {
		t.Errorf("a challenge from before the jump: %v", err)
	}
	pass(6 * time.Minute) // forgets those that were used
	useBoth("six minutes later")
	wall.Advance(-3 * time.Hour)
	useBoth("back")
	for _, challenge := range []string{before, ahead} {
		refusal(t, useChallenge(challenge), "challenge-expired")
	}
	for _, solution := range []string{workBefore, workAhead} {
		refusal(t, useWork(solution), "challenge-expired")
	}
	wall.Advance(-6 * time.Minute) // before the first one was issued
	refusal(t, useChallenge(before), "challenge-expired")
	late := challengeOf(t, r)
	pass(5*time.Minute - time.Second)
	if err := useChallenge(late); err != nil {
		t.Errorf("just before it expires: %v", err)
	}
	late = challengeOf(t, r)
	pass(5 * time.Minute)
	refusal(t, useChallenge(late), "challenge-expired")
}

func TestSignedRequestProvesPossession(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now, RequireProof: true, BaseURL: "https://api.registry.test"})
	const path = "/api/v1/agents/register"
	for i, keyID := range []string{multikey(1), "did:key:" + multikey(1), keyText(1)} {
		body := registration(t, fmt.Sprint("A", i), 1, nil)
		reg, err := airjson.ReadRegistration(body)
		if err != nil {
			t.Fatal(err)
		}
		reg.Request = signed(t, "POST", "https://api.registry.test"+path, string(body), privateKey(1), httpsig.SignOptions{KeyID: keyID, Created: c.Now()})
		agent, _, err := r.Register(t.Context(), reg)
		if i > 0 {
			// One key is one agent, and so a registration cannot be replayed.
			if e := refusal(t, err, "key-taken"); !errors.Is(e, registry.ErrState) {
				t.Error(e)
			}
			continue
		}
		if err != nil || agent.KeyProof != registry.ProofSignature {
			t.Fatalf("%+v, %v", agent, err)
		}
	}
	body := string(registration(t, "B", 2, nil))
	for _, test := range []struct {
		name    string
		request *httpsig.Message
		code    string
	}{
		{"signed by another key", signed(t, "POST", "https://api.registry.test"+path, body, privateKey(3), httpsig.SignOptions{KeyID: multikey(2), Created: c.Now()}), httpsig.CodeInvalid},
		{"with the name of another key", signed(t, "POST", "https://api.registry.test"+path, body, privateKey(2), httpsig.SignOptions{KeyID: multikey(3), Created: c.Now()}), "signature-keyid"},
		{"for another host", signed(t, "POST", "https://evil.test"+path, body, privateKey(2), httpsig.SignOptions{KeyID: multikey(2), Created: c.Now()}), "signature-host"},
		{"six minutes ago", signed(t, "POST", "https://api.registry.test"+path, body, privateKey(2), httpsig.SignOptions{KeyID: multikey(2), Created: c.Now().Add(-6 * time.Minute)}), httpsig.CodeCreated},
		{"without a nonce", signed(t, "POST", "https://api.registry.test"+path, body, privateKey(2), httpsig.SignOptions{KeyID: multikey(2), Created: c.Now(), Nonce: "x"}), httpsig.CodeNonce},
		{"not at all", nil, "proof-missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			reg, err := airjson.ReadRegistration([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			reg.Request = test.request
			_, _, err = r.Register(t.Context(), reg)
			refusal(t, err, test.code)
		})
	}
}

func TestProvedKeyCannotBeClaimed(t *testing.T) {
	r := open(t, registrar.Options{})
	// Claims alone are worth nothing: there may be any number, as in the reference.
	squatter, _ := register(t, r, someone(1))
	register(t, r, someone(1))
	owner, _, err := registerBody(r, answered(t, registration(t, "Owner", 1, nil), challengeOf(t, r), 1))
	if err != nil || owner.KeyProof == "" || squatter.KeyProof != "" {
		t.Fatal(err)
	}
	_, _, err = r.Register(t.Context(), someone(1))
	refusal(t, err, "key-taken")
	_, _, err = registerBody(r, answered(t, registration(t, "Again", 1, nil), challengeOf(t, r), 1))
	refusal(t, err, "key-taken")
	// The squatter's record stays, and says that its key is only claimed.
	signals, err := r.Evidence(t.Context(), squatter)
	if err != nil || signals[0].Grade != registry.Claimed || signals[0].Holds {
		t.Errorf("%+v, %v", signals, err)
	}
	if _, _, err := registerBody(r, registration(t, "No proof", 7, map[string]any{"no_secret": true})); refused(t, err).Field != "no_secret" {
		t.Error(err)
	}
}

func TestConcurrentChallengeResponsesHaveOneWinner(t *testing.T) {
	r := open(t, registrar.Options{})
	for round := range byte(3) {
		challenge := challengeOf(t, r)
		var bodies [][]byte
		for i := range byte(64) {
			key := 64*round + i + 1
			bodies = append(bodies, answered(t, registration(t, "A", key, nil), challenge, key))
		}
		won := race(t, 64, func(i int) error {
			_, _, err := registerBody(r, bodies[i])
			return err
		}, "challenge-used")
		if won != 1 {
			t.Fatalf("%d won", won)
		}
	}
}

// race lets n clients do something at once and returns how many succeeded. The
// others must be refused with one of the codes.
func race(t testing.TB, n int, do func(i int) error, codes ...string) int {
	t.Helper()
	var won atomic.Int64
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			err := do(i)
			var e *registry.Refusal
			switch {
			case err == nil:
				won.Add(1)
			case !errors.As(err, &e):
				t.Errorf("client %d: %v", i, err)
			case !strings.Contains(strings.Join(codes, " "), e.Code):
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	close(start)
	all.Wait()
	return int(won.Load())
}

// proved registers an agent with a proved key and no secret.
func proved(t testing.TB, r *registrar.Registrar, key byte, more map[string]any) registry.Agent {
	t.Helper()
	members := map[string]any{"no_secret": true}
	for member, value := range more {
		members[member] = value
	}
	agent, _, err := registerBody(r, answered(t, registration(t, fmt.Sprint("Agent ", key), key, members), challengeOf(t, r), key))
	if err != nil {
		t.Fatal(err)
	}
	return agent
}

// by returns the credentials of a write that an agent signs.
func by(t testing.TB, r *registrar.Registrar, a registry.Agent, key byte, now time.Time) registry.Credentials {
	t.Helper()
	return registry.Credentials{Request: signed(t, "PUT", "https://registry.test/api/v1/agents/"+a.AirID, "{}", privateKey(key),
		httpsig.SignOptions{KeyID: r.DID(a.AirID) + did.KeyFragment, Created: now})}
}

func TestSignedUpdate(t *testing.T) {
	c := newClock()
	s := openStore(t)
	r := open(t, registrar.Options{Now: c.Now, Store: s})
	a := proved(t, r, 1, nil)
	stranger := proved(t, r, 2, nil)
	description := "new"
	update := changeDescription(description)
	body := `{"description":"new"}`
	request := func(o httpsig.SignOptions) *httpsig.Message {
		if o.Created.IsZero() {
			o.Created = c.Now()
		}
		if o.KeyID == "" {
			o.KeyID = r.DID(a.AirID) + "#key-1"
		}
		return signed(t, "PUT", "https://registry.test/api/v1/agents/"+a.AirID, body, privateKey(1), o)
	}
	good := request(httpsig.SignOptions{})
	if _, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Request: good}, update); err != nil {
		t.Fatal(err)
	}
	_, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Request: good}, update)
	refusal(t, err, "nonce-used")
	// A restart forgets nothing.
	_, _, err = open(t, registrar.Options{Now: c.Now, Store: s}).Update(t.Context(), a.AirID, registry.Credentials{Request: good}, update)
	refusal(t, err, "nonce-used")
	// The same nonce in another signature is the same nonce.
	all, err := httpsig.Read(*good)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = r.Update(t.Context(), a.AirID, registry.Credentials{Request: request(httpsig.SignOptions{Nonce: all[0].Nonce, Created: c.Now().Add(time.Second)})}, update)
	refusal(t, err, "nonce-used")
	_, _, err = r.Update(t.Context(), stranger.AirID, registry.Credentials{Request: request(httpsig.SignOptions{})}, update)
	refusal(t, err, "signature-keyid")

	altered := func(change func(m *httpsig.Message)) *httpsig.Message {
		m := request(httpsig.SignOptions{})
		change(m)
		return m
	}
	for _, test := range []struct {
		name    string
		request *httpsig.Message
		code    string
	}{
		{"to another agent's path", altered(func(m *httpsig.Message) { m.Path = "/api/v1/agents/" + stranger.AirID }), httpsig.CodeInvalid},
		{"another method", altered(func(m *httpsig.Message) { m.Method = "DELETE" }), httpsig.CodeInvalid},
		{"another body", altered(func(m *httpsig.Message) { m.Body = []byte("{}") }), httpsig.CodeDigest},
		{"another host", altered(func(m *httpsig.Message) { m.Authority = "evil.test" }), "signature-host"},
		{"created six minutes ago", request(httpsig.SignOptions{Created: c.Now().Add(-6 * time.Minute)}), httpsig.CodeCreated},
		{"created in a minute", request(httpsig.SignOptions{Created: c.Now().Add(time.Minute)}), httpsig.CodeCreated},
		{"without the host", request(httpsig.SignOptions{Components: []string{"@method", "@path", "@query", "content-digest"}}), httpsig.CodeCoverage},
		{"a key of nobody", request(httpsig.SignOptions{KeyID: multikey(9)}), "signature-keyid"},
		{"no signature", &httpsig.Message{Authority: "registry.test", Header: http.Header{"Signature-Input": {"x=()"}}}, httpsig.CodeSyntax},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Request: test.request}, update)
			if e := refusal(t, err, test.code); !errors.Is(e, registry.ErrUnauthorized) {
				t.Error(e)
			}
		})
	}
	if _, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{}, update); !errors.Is(err, registry.ErrNoSecret) {
		t.Errorf("nothing at all: %v", err)
	}
	// Nonces that are too old to be replayed are dropped.
	c.Advance(10 * time.Minute)
	got, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Request: request(httpsig.SignOptions{})}, update)
	if err != nil || len(got.Nonces) != 1 {
		t.Errorf("%d nonces are kept, %v", len(got.Nonces), err)
	}
}

func TestConcurrentWritesWithOneNonceHaveOneWinner(t *testing.T) {
	r := open(t, registrar.Options{})
	a := proved(t, r, 1, nil)
	who := by(t, r, a, 1, time.Now())
	won := race(t, 64, func(i int) error {
		description := fmt.Sprint(i)
		_, _, err := r.Update(context.Background(), a.AirID, who, changeDescription(description))
		return err
	}, "nonce-used")
	if won != 1 {
		t.Errorf("%d won", won)
	}
	if _, n, err := r.History(t.Context(), a.AirID, 0, 0); err != nil || n != 2 {
		t.Errorf("%d entries, %v", n, err)
	}
}

func TestSignedWritesAreLimited(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a := proved(t, r, 1, nil)
	var err error
	n := 0
	for ; err == nil && n < 1000; n++ {
		description := fmt.Sprint(n)
		_, _, err = r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), changeDescription(description))
	}
	if e := refusal(t, err, "too-many-writes"); e.Wait == 0 || n != 301 {
		t.Errorf("after %d writes: %+v", n, e)
	}
	c.Advance(6 * time.Minute)
	description := "later"
	if _, _, err := r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), changeDescription(description)); err != nil {
		t.Error(err)
	}
}

func TestDisableSecret(t *testing.T) {
	r := open(t, registrar.Options{})
	a, secret := register(t, r, someone(1))
	off := registry.Update{NoSecret: true}
	_, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, off)
	refusal(t, err, "secret-off-unsigned")
	// The first signature proves the key, too.
	got, fields, err := r.Update(t.Context(), a.AirID, by(t, r, a, 1, time.Now()), off)
	if err != nil || got.KeyProof != registry.ProofSignature || fmt.Sprint(fields) != "[no_secret]" {
		t.Fatalf("%+v, %v, %v", got, fields, err)
	}
	for _, guess := range []string{secret, strings.Repeat("0", 32), "x"} {
		_, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: guess}, off)
		if refusal(t, err, "secret-off"); !errors.Is(err, registry.ErrWrongSecret) {
			t.Error(err)
		}
	}
}

func TestSignaturePrecedesSecret(t *testing.T) {
	r := open(t, registrar.Options{})
	a, secret := register(t, r, someone(1))
	who := by(t, r, a, 2, time.Now()) // of another key
	who.Secret = secret
	description := "x"
	_, _, err := r.Update(t.Context(), a.AirID, who, changeDescription(description))
	if e := refusal(t, err, httpsig.CodeInvalid); e.Base == "" || strings.Contains(err.Error()+e.Base, secret) {
		t.Errorf("%+v", e)
	}
}

func TestSignedReadNeedsNoNonce(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a := proved(t, r, 1, nil)
	m := signed(t, "GET", "https://registry.test/inbox/"+a.AirID+"/pull?since=1", "", privateKey(1), httpsig.SignOptions{KeyID: r.DID(a.AirID), Created: c.Now(), Nonce: "x"})
	for range 3 {
		if err := r.VerifyRead(a, *m); err != nil {
			t.Fatal(err)
		}
	}
	other := *m
	other.Query = "since=2"
	refusal(t, r.VerifyRead(a, other), httpsig.CodeInvalid)
	c.Advance(6 * time.Minute)
	refusal(t, r.VerifyRead(a, *m), httpsig.CodeCreated)
}

// TestAcknowledgedWritesSurviveReopening checks that a crash loses a proof of a key only if it was
// not acknowledged.
func TestAcknowledgedWritesSurviveReopening(t *testing.T) {
	dir := t.TempDir() + "/data"
	reopen := func() (*boltstore.Store, *registrar.Registrar) {
		s, err := boltstore.Open(context.Background(), dir, boltstore.Options{MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		return s, open(t, registrar.Options{Store: s})
	}
	s, r := reopen()
	a := proved(t, r, 1, nil)
	who := by(t, r, a, 1, time.Now())
	description := "kept"
	if _, _, err := r.Update(t.Context(), a.AirID, who, changeDescription(description)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, r = reopen()
	defer s.Close()
	got, _, err := r.Agent(t.Context(), a.AirID)
	if err != nil || got.Description != "kept" || got.KeyProof == "" {
		t.Errorf("%+v, %v", got, err)
	}
	_, _, err = r.Update(t.Context(), a.AirID, who, changeDescription(description))
	refusal(t, err, "nonce-used")
	_, _, err = r.Register(t.Context(), someone(1))
	refusal(t, err, "key-taken")
	if record, err := s.Get(t.Context(), store.KeyKey(multikey(1))); err != nil || string(record.Value) != a.AirID {
		t.Errorf("the key belongs to %s, %v", record.Value, err)
	}
}

// registrationStatement returns the text that a client signs for a registration by challenge, as
// [registry.Challenge] describes it. The body has no proof yet.
func registrationStatement(t testing.TB, host, challenge, multikey string, body []byte) []byte {
	t.Helper()
	canonical, err := jcs.Canonicalize(body, jcs.Options{Numbers: jcs.Doubles, KeepForm: true})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(canonical)
	return registry.FormatStatement("registration", [2]string{"registry", host}, [2]string{"challenge", challenge}, [2]string{"key", multikey},
		[2]string{"registration", "sha-256:" + base64.RawURLEncoding.EncodeToString(sum[:])})
}
