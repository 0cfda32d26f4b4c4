package api_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/internal/testclock"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/registrar"
)

// fromNetwork is the options of a server that believes where its clients say they come from, as
// behind a proxy.
func fromNetwork(limits admission.Limits) options {
	return options{registry: registrar.Options{Limits: limits}, api: func(o *api.Options) { o.TrustedProxies = []string{"127.0.0.1"} }}
}

// rotateFrom sends a rotation of an agent's key from an address.
func rotateFrom(t *testing.T, h *testServer, o owner, seed byte, from string) bufferedResponse {
	t.Helper()
	x := registry.NewRotation(o.CreatorDID, o.key, keyFromSeed(int(seed)), "", time.Now())
	return h.request("POST", o.path+"/keys", rotationBody(t, x), "Content-Type", jsonType, "X-Forwarded-For", from)
}

// TestClientsUseOnlyTheirOwnQuota checks that writes that prove nothing, to agents that do not
// exist, from 52 addresses, and wrong secrets from more networks than are counted, leave every
// owner free to update, to rotate a key and to deactivate.
func TestClientsUseOnlyTheirOwnQuota(t *testing.T) {
	h := newTestServer(t, fromNetwork(admission.Limits{Registrations: -1, AllRegistrations: -1, Changes: 20, AllChanges: 100, Failures: 3, Reports: -1}))
	victim, other := registerProved(t, h, 1, ""), registerProved(t, h, 2, "")
	refused := 0
	for i := range 52 * 25 {
		from := fmt.Sprintf("192.0.%d.1", i%52)
		r := h.request("PUT", "/api/v1/agents/AIR-0000-0000-0000", `{"description": "x"}`, "Content-Type", jsonType, "X-Agent-Secret", "x", "X-Forwarded-For", from)
		if r.StatusCode == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused != 52*5 {
		t.Errorf("%d of the writes of strangers were refused, want %d", refused, 52*5)
	}
	for i := range 400 {
		from := fmt.Sprintf("2001:db8:%x:%x::1", i/16, i)
		h.request("PUT", victim.path, `{"description": "x"}`, "Content-Type", jsonType, "X-Agent-Secret", fmt.Sprintf("%032x", i), "X-Forwarded-For", from)
	}
	if r := rotateFrom(t, h, victim, 9, "203.0.113.1"); r.StatusCode != http.StatusOK {
		t.Errorf("the rotation of a stolen key: %s %s", r.Status, r.body)
	}
	if r := other.send("PUT", "", `{"description": "mine"}`); r.StatusCode != http.StatusOK {
		t.Errorf("a signed update: %s %s", r.Status, r.body)
	}
	if r := other.send("POST", "/deactivate", ""); r.StatusCode != http.StatusOK {
		t.Errorf("a signed deactivation: %s %s", r.Status, r.body)
	}
}

// TestSecretGuessesDoNotBlockProofs checks that the network from which very many guesses came may
// still rotate a key, and use the right secret.
func TestSecretGuessesDoNotBlockProofs(t *testing.T) {
	h := newTestServer(t, fromNetwork(admission.Limits{Registrations: -1, AllRegistrations: -1, Changes: -1, AllChanges: -1, Failures: 3, Reports: -1}))
	o, a := registerProved(t, h, 1, ""), registerAgent(t, h)
	const from = "192.0.2.1"
	guess := func(secret string) bufferedResponse {
		return h.request("PUT", "/api/v1/agents/"+a.AirID, `{"description": "x"}`, "Content-Type", jsonType, "X-Agent-Secret", secret, "X-Forwarded-For", from)
	}
	for i := range 20 {
		guess(fmt.Sprintf("%032x", i))
	}
	if r := guess("f"); r.StatusCode != http.StatusTooManyRequests || r.problem(t).Rule != "too-many-failures" {
		t.Errorf("a guess after 20: %s", r.Status)
	}
	if r := guess(a.Secret); r.StatusCode != http.StatusOK {
		t.Errorf("the right secret: %s %s", r.Status, r.body)
	}
	if r := rotateFrom(t, h, o, 9, from); r.StatusCode != http.StatusOK {
		t.Errorf("a rotation: %s %s", r.Status, r.body)
	}
}

// TestOneNetworkCannotUseAllRegistrations checks that what 50 /48 networks register in one go
// leaves others able to register, also where the operator approves.
func TestOneNetworkCannotUseAllRegistrations(t *testing.T) {
	for _, mode := range []string{admission.ModeOpen, admission.ModeApproval} {
		t.Run(mode, func(t *testing.T) {
			o := fromNetwork(admission.Limits{Registrations: 20, AllRegistrations: 1000, Changes: -1, AllChanges: -1, Reports: -1})
			o.registry.Mode = mode
			h := newTestServer(t, o)
			reg := func(from netip.Addr) error {
				_, _, err := h.answers.Registry.Register(context.Background(), registry.Registration{Name: "crowd", PublicKey: newKey(t), Client: from})
				return err
			}
			taken := 0
			for i := range 4000 {
				if reg(netip.MustParseAddr(fmt.Sprintf("2001:%x:%x:%x::1", i%50+0x100, i%50, i))) == nil {
					taken++
				}
			}
			r := h.request("POST", "/api/v1/agents/register", `{"name": "A", "public_key": "`+newKey(t)+`"}`, "Content-Type", jsonType, "X-Forwarded-For", "203.0.113.1")
			if r.StatusCode != http.StatusCreated && r.StatusCode != http.StatusAccepted {
				t.Errorf("after %d registrations of the crowd: %s %s", taken, r.Status, r.body)
			}
		})
	}
}

// TestStrangerCannotBlockDomainProof checks that an agent that has a domain checked as often as it
// may leaves the owner of the domain a check.
func TestStrangerCannotBlockDomainProof(t *testing.T) {
	records := zone{}
	h := newTestServer(t, options{registry: registrar.Options{DNS: records}})
	stranger, rightful := registerProved(t, h, 1, ""), registerProved(t, h, 2, "")
	prove := func(o owner, domain string) bufferedResponse {
		return o.send("POST", "/domains", `{"domain": "`+domain+`"}`)
	}
	busy := false
	for range 20 {
		busy = prove(stranger, "victim.example").StatusCode == http.StatusTooManyRequests || busy
	}
	if !busy {
		t.Error("a stranger may have a domain checked without limit")
	}
	if r := prove(rightful, "victim.example"); r.StatusCode != http.StatusAccepted && r.StatusCode != http.StatusOK {
		t.Errorf("the owner: %s %s", r.Status, r.body)
	}
}

// TestLogVerificationIsRateLimited checks that a client has so many entries of the log checked and
// no more.
func TestLogVerificationIsRateLimited(t *testing.T) {
	h := newTestServer(t, options{log: true})
	statuses := map[int]int{}
	for range 70 {
		r := h.request("GET", "/api/v1/audit/verify", "")
		statuses[r.StatusCode]++
		if r.StatusCode == http.StatusTooManyRequests && r.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	if statuses[http.StatusOK] != 60 || statuses[http.StatusTooManyRequests] != 10 {
		t.Errorf("%v", statuses)
	}
}

// TestOwnersClaimTheirName checks that the owner of a proved domain, and only that owner, can take
// the handle of the domain's name from an agent without a proof.
func TestOwnersClaimTheirName(t *testing.T) {
	records := zone{}
	h := newTestServer(t, options{registry: registrar.Options{DNS: records}})
	squatter, rightful := registerProved(t, h, 1, ""), registerProved(t, h, 2, "")
	claim := func(o owner) bufferedResponse {
		return o.send("PUT", "", `{"username": "brand_example"}`)
	}
	if r := claim(squatter); r.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	if r := claim(rightful); r.StatusCode != http.StatusConflict {
		t.Errorf("before the domain is proved: %s %s", r.Status, r.body)
	}
	records["_gazetteer.brand.example"] = []string{"gazetteer-agent=" + rightful.CreatorDID + "; key=" + encodeMultikey(rightful.key)}
	if r := rightful.send("POST", "/domains", `{"domain": "brand.example"}`); r.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	if r := claim(rightful); r.StatusCode != http.StatusOK {
		t.Errorf("after it was proved: %s %s", r.Status, r.body)
	}
	if r := h.get("/api/v1/agents/by-username/brand_example", 200); !strings.Contains(string(r.body), rightful.AirID) {
		t.Errorf("%s", r.body)
	}
	if r := h.get("/api/v1/agents/"+squatter.AirID, 200); !strings.Contains(string(r.body), `"handle_lost":{"handle":"brand_example","to":"`+rightful.AirID+`"`) {
		t.Errorf("the record of the squatter does not say who has the handle: %s", r.body)
	}
	if r := claim(squatter); r.StatusCode != http.StatusConflict || !strings.Contains(string(r.body), "prove the domain") {
		t.Errorf("the squatter claims it again: %s %s", r.Status, r.body)
	}
	if r := squatter.send("PUT", "", `{"username": "another_name"}`); r.StatusCode != http.StatusOK {
		t.Errorf("%s %s", r.Status, r.body)
	}
	if r := h.get("/api/v1/agents/"+squatter.AirID, 200); strings.Contains(string(r.body), "handle_lost") {
		t.Errorf("after a claim of another handle: %s", r.body)
	}

	// The domain was sold while the agent that has its handle was suspended, so that nobody checks its proof.
	buyer := registerProved(t, h, 3, "")
	if _, err := h.answers.Registry.Suspend(t.Context(), rightful.AirID, "spam"); err != nil {
		t.Fatal(err)
	}
	if r := claim(buyer); r.StatusCode != http.StatusConflict {
		t.Errorf("a stranger takes the handle of a suspended agent: %s %s", r.Status, r.body)
	}
	records["_gazetteer.brand.example"] = []string{"gazetteer-agent=" + buyer.CreatorDID + "; key=" + encodeMultikey(buyer.key)}
	if r := buyer.send("POST", "/domains", `{"domain": "brand.example"}`); r.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	if r := claim(buyer); r.StatusCode != http.StatusOK {
		t.Errorf("the buyer of the domain: %s %s", r.Status, r.body)
	}
	if r := h.get("/api/v1/agents/by-username/brand_example", 200); !strings.Contains(string(r.body), buyer.AirID) {
		t.Errorf("%s", r.body)
	}
}

// TestNamesThatReadLikeIdentifiers checks that no agent has a name that reads like the identifier of
// another one, nor the handle of the registry's own host.
func TestNamesThatReadLikeIdentifiers(t *testing.T) {
	records := zone{}
	h := newTestServer(t, options{registry: registrar.Options{DNS: records}})
	owner := registerProved(t, h, 1, "")
	body := strings.TrimPrefix(owner.AirID, "AIR")
	for _, name := range []string{
		owner.CreatorDID, owner.AirID, strings.ToLower(owner.AirID), "From " + owner.AirID, strings.ReplaceAll(owner.AirID, "-", "\u2010"), strings.ReplaceAll(owner.AirID, "-", "\u2212"),
		"\uff21\uff29\uff32" + strings.TrimPrefix(owner.AirID, "AIR"), "Alice (did:web:alice.example)", "@alice", "\uff20alice",
		"Alice (@bob)", "d\u0456d:web:alice.example", "\u0501id\u02d0web\u02d0alice.example", "did: web: alice.example",
		"\u0410\u0406R" + body, "\u0391\u0399R" + body, "\u13aaIR" + body, "A1R" + body, "AlR" + body, "A|R" + body, "\u00c1IR" + body, "A\u0332IR" + body, "A\u200dI\u200dR" + body,
		"AI\u00adR" + body, "A\u2800I\u2800R" + body, "_AIR" + body, "A.I.R." + body, "A I R " + body[1:], strings.Join(strings.Split(owner.AirID, ""), " "),
		strings.ReplaceAll(owner.AirID, "-", " "), strings.ReplaceAll(owner.AirID, "-", "\u30fc"), strings.ReplaceAll(owner.AirID, "-", " - "), strings.ReplaceAll(owner.AirID, "-", "."), strings.ReplaceAll(owner.AirID, "-", ""),
		"x" + owner.AirID, owner.AirID + "s", "the\u0410\u0406R" + body + "agent", "repair-shop-fast-food" + owner.AirID, "xdid:web:alice.example",
	} {
		r := h.request("POST", "/api/v1/agents/register", string(encodeJSON(t, map[string]string{"name": name, "public_key": publicKey(keyFromSeed(2))})), "Content-Type", jsonType)
		if r.StatusCode != http.StatusBadRequest || !strings.Contains(string(r.body), "name-identifier") {
			t.Errorf("the name %q: %s %s", name, r.Status, r.body)
		}
	}
	if r := h.request("POST", "/api/v1/agents/register", `{"name": "N", "creator_name": "\u0410IR`+body+`", "public_key": "`+publicKey(keyFromSeed(2))+`"}`, "Content-Type", jsonType); r.StatusCode != http.StatusBadRequest || !strings.Contains(string(r.body), "name-identifier") {
		t.Errorf("the name of a creator: %s %s", r.Status, r.body)
	}
	for i, name := range []string{"Air France", "AIR-2000 booker", "Did: a diary", "alice@example", "air-conditioning",
		"Air taxi ride book", "Repair-shop-fast-food", "\u0410\u044d\u0440\u043e\u0444\u043b\u043e\u0442", "Air Berlin 4 you 2", "Did: it", "Candid: food: fun", "Hair-style-shop-24", "Flight 2000 (Air Malta)", "\u822a\u7a7a\u5238 2000"} {
		if r := h.request("POST", "/api/v1/agents/register", string(encodeJSON(t, map[string]string{"name": name, "public_key": publicKey(keyFromSeed(10 + i))})), "Content-Type", jsonType); r.StatusCode != http.StatusCreated {
			t.Errorf("the name %q: %s %s", name, r.Status, r.body)
		}
	}
	const host = "registry.example"
	handle := strings.NewReplacer(".", "_", "-", "_").Replace(host)
	for _, text := range []string{handle, strings.ToUpper(handle), strings.ReplaceAll(handle, "_", ""), strings.Replace(handle, "i", "1", 1)} {
		if r := owner.send("PUT", "", `{"username": "`+text+`"}`); r.StatusCode != http.StatusBadRequest || !strings.Contains(string(r.body), "handle-reserved") {
			t.Errorf("the handle %q at %s: %s %s", text, host, r.Status, r.body)
		}
		if r := h.get("/api/v1/agents/check-username?username="+text, 200); strings.Contains(string(r.body), `"available":true`) {
			t.Errorf("the handle %q at %s: %s", text, host, r.body)
		}
	}
	records["_gazetteer."+host] = []string{"gazetteer-agent=" + owner.CreatorDID + "; key=" + encodeMultikey(owner.key)}
	if r := owner.send("POST", "/domains", `{"domain": "`+host+`"}`); r.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	if r := owner.send("PUT", "", `{"username": "`+handle+`"}`); r.StatusCode != http.StatusOK {
		t.Errorf("the owner of the host: %s %s", r.Status, r.body)
	}
}

// TestReleasedHandles checks that a handle that was held for less than an hour stays reserved for an hour
// after it is given up, and one that was held for longer for as long as it was held; and that an agent
// without a proved domain claims three handles at most.
func TestReleasedHandles(t *testing.T) {
	clock := testclock.New(time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC))
	h := newTestServer(t, options{registry: registrar.Options{Now: clock.Now}})
	register := func(seed int) (claim func(handle string, want int)) {
		t.Helper()
		var a registeredAgent
		decodeInto(t, h.request("POST", "/api/v1/agents/register", `{"name": "A", "public_key": "`+publicKey(keyFromSeed(seed))+`"}`, "Content-Type", jsonType), &a)
		return func(handle string, want int) {
			t.Helper()
			r := h.request("PUT", "/api/v1/agents/"+a.AirID, `{"username": "`+handle+`"}`, "Content-Type", jsonType, "X-Agent-Secret", a.Secret)
			if r.StatusCode != want {
				t.Errorf("agent %d claims %q: %s %s", seed, handle, r.Status, r.body)
			}
		}
	}
	first, second, third := register(1), register(2), register(3)
	first("brief", 200)
	clock.Advance(59 * time.Minute)
	first("known", 200) // and gives the other one up
	second("brief", 409)
	clock.Advance(61 * time.Minute)
	second("brief", 200)
	clock.Advance(time.Hour)
	first("other", 200)
	first("fourth", 429) // without a proved domain, three within 30 days
	third("known", 409)
	h.get("/api/v1/agents/by-username/known", 404)
	if r := h.get("/api/v1/agents/check-username?username=known", 200); !strings.Contains(string(r.body), "cooldown") {
		t.Errorf("%s", r.body)
	}
	clock.Advance(2 * time.Hour)
	third("known", 409)
	clock.Advance(2 * time.Minute)
	third("known", 200)
}

// TestThievesCannotBlockTheOwner checks that a thief who uses up what an agent may write, with its
// secret or with its key, leaves the owner free to sign, to rotate the key and to recover it.
func TestThievesCannotBlockTheOwner(t *testing.T) {
	h := newTestServer(t, fromNetwork(admission.Limits{Registrations: -1, AllRegistrations: -1, Writes: 5}))
	key, recoveryKey := keyFromSeed(1), keyFromSeed(2)
	body := `{"name": "Alice", "public_key": "` + publicKey(key) + `", "recovery_commitment": "` + registry.RecoveryCommitment(recoveryKey.Public().(ed25519.PublicKey)) + `"}`
	r := h.requestSigned(key, encodeMultikey(key), "POST", "/api/v1/agents/register", body, httpsig.SignOptions{})
	o := owner{h: h, key: key}
	decodeInto(t, r, &o.registeredAgent)
	o.path = "/api/v1/agents/" + o.AirID
	refused := func(write func(i int) bufferedResponse) {
		t.Helper()
		for i := range 20 {
			if r := write(i); r.StatusCode == http.StatusTooManyRequests && r.problem(t).Rule != "agent-writes" {
				t.Fatalf("write %d of the thief: %s %s", i, r.Status, r.body)
			}
		}
		if r := write(20); r.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("a write of the thief after 20: %s %s", r.Status, r.body)
		}
	}
	refused(func(i int) bufferedResponse {
		return h.request("PUT", o.path, fmt.Sprintf(`{"description": "secret %d"}`, i), "Content-Type", jsonType, "X-Agent-Secret", o.Secret)
	})
	if r := o.send("PUT", "", `{"no_secret": true}`); r.StatusCode != http.StatusOK {
		t.Errorf("the owner switches a stolen secret off: %s %s", r.Status, r.body)
	}
	refused(func(i int) bufferedResponse {
		return o.send("PUT", "", fmt.Sprintf(`{"description": "key %d"}`, i))
	})
	for i := range 70 { // no more are admitted in an hour
		if r := rotateFrom(t, h, o, 1, "192.0.2.66"); r.StatusCode != http.StatusConflict {
			t.Fatalf("rotation %d to the same key: %s %s", i, r.Status, r.body)
		}
	}
	if r := rotateFrom(t, h, o, 9, "203.0.113.1"); r.StatusCode != http.StatusOK {
		t.Errorf("the owner rotates a stolen key: %s %s", r.Status, r.body)
	}
	x := registry.NewRecovery(o.CreatorDID, encodeMultikey(keyFromSeed(9)), recoveryKey, keyFromSeed(13), "", time.Now())
	recovery := string(encodeJSON(t, map[string]string{"agent": x.Agent, "current_key": x.From, "public_key": x.To, "recovery_key": x.Key,
		"created": x.Created.Format(time.RFC3339), "nonce": x.Nonce, "recovery_signature": x.RecoverySignature, "new_signature": x.NewSignature}))
	if r := h.request("POST", o.path+"/recovery", recovery, "Content-Type", jsonType); r.StatusCode != http.StatusAccepted {
		t.Errorf("the owner recovers a stolen key: %s %s", r.Status, r.body)
	}
}

// TestPersistentCrowdDoesNotBlockOwners checks that a crowd of agents that write as much as they may,
// and of networks that register, leaves room for others.
func TestPersistentCrowdDoesNotBlockOwners(t *testing.T) {
	begun := time.Now()
	clock := testclock.New(begun)
	o := fromNetwork(admission.Limits{Registrations: 20, AllRegistrations: 100, Changes: -1, Writes: 6, AllChanges: 200, Reports: -1})
	o.registry.Now = clock.Now
	h := newTestServer(t, o)
	victim := registerAgent(t, h)
	var crowd []registry.Agent
	var secrets []string
	for i := 0; clock.Now().Sub(begun) < 5*time.Hour; i++ {
		for n := range 30 { // each of them from a /16 of its own
			a, secret, err := h.answers.Registry.Register(t.Context(), registry.Registration{Name: "crowd", PublicKey: newKey(t), Client: netip.AddrFrom4([4]byte{11, byte(n), 1, 1})})
			if err == nil && len(crowd) < 40 {
				crowd, secrets = append(crowd, a), append(secrets, secret)
			}
		}
		for n, a := range crowd {
			for k := range 3 {
				u := registry.Update{Changed: []string{"description"}, Description: fmt.Sprint(i, k)}
				who := registry.Credentials{Secret: secrets[n], Client: netip.AddrFrom4([4]byte{11, byte(n), 1, 1})}
				if _, _, err := h.answers.Registry.Update(t.Context(), a.AirID, who, u); err != nil {
					break
				}
			}
		}
		r := h.request("POST", "/api/v1/agents/register", `{"name": "A", "public_key": "`+newKey(t)+`"}`, "Content-Type", jsonType, "X-Forwarded-For", fmt.Sprintf("203.%d.113.1", i))
		if r.StatusCode != http.StatusCreated {
			t.Fatalf("a new owner after %v, beside %d of the crowd: %s %s", clock.Now().Sub(begun), len(crowd), r.Status, r.body)
		}
		if i%31 == 0 { // an event may cost what returns in an hour
			if r := h.request("PUT", "/api/v1/agents/"+victim.AirID, fmt.Sprintf(`{"description": "mine %d"}`, i), "Content-Type", jsonType, "X-Agent-Secret", victim.Secret); r.StatusCode != http.StatusOK {
				t.Fatalf("an update after %v: %s %s", clock.Now().Sub(begun), r.Status, r.body)
			}
		}
		clock.Advance(2 * time.Minute)
	}
}
