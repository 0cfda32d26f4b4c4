package api_test

import (
	"crypto/ed25519"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/testclock"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/admission"
)

// largeUpdate returns an update whose record has about the largest possible size.
func largeUpdate(i int) string {
	item := strings.Repeat("<", 190)
	var items []string
	for n := range 20 {
		items = append(items, fmt.Sprintf("%q", fmt.Sprintf("%d %d %s", i, n, item)))
	}
	return fmt.Sprintf(`{"description": "%d %s", "capabilities": [%s], "security_certifications": [%s]}`,
		i, strings.Repeat("<", 1900), strings.Join(items, ","), strings.Join(items[:10], ","))
}

// TestGrowthOfAnAgentIsBoundedByBytes checks that changes of a large record count by their size against
// the quotas of the agent and of the network, that Retry-After is true, and that neither delays the end
// of a secret or a rotation.
func TestGrowthOfAnAgentIsBoundedByBytes(t *testing.T) {
	const writes, changes = 60, 200
	clock := testclock.New(time.Now())
	limits := fromNetwork(admission.Limits{Registrations: -1, AllRegistrations: -1, Writes: writes, Changes: changes})
	limits.registry.Now = clock.Now
	h := newTestServer(t, limits)
	agent := func(seed int) owner {
		key := keyFromSeed(seed)
		body := `{"name": "Alice", "public_key": "` + publicKey(key) + `", "recovery_commitment": "` + registry.RecoveryCommitment(keyFromSeed(seed+100).Public().(ed25519.PublicKey)) + `"}`
		r := h.requestSigned(key, encodeMultikey(key), "POST", "/api/v1/agents/register", body, httpsig.SignOptions{})
		o := owner{h: h, key: key}
		decodeInto(t, r, &o.registeredAgent)
		o.path = "/api/v1/agents/" + o.AirID
		return o
	}
	bySecret := func(o owner, body string) bufferedResponse {
		return h.request("PUT", o.path, body, "Content-Type", jsonType, "X-Agent-Secret", o.Secret)
	}
	// refused writes until it is refused by a rule, and returns how often and how many bytes it wrote.
	refused := func(o owner, rule string, write func(i int) bufferedResponse) (wait time.Duration, n, bytes int) {
		t.Helper()
		for ; n < 1000; n++ {
			r := write(n)
			if r.StatusCode == http.StatusTooManyRequests {
				if got := r.problem(t).Rule; got != rule {
					t.Fatalf("write %d is refused by %s, want %s: %s", n, got, rule, r.body)
				}
				seconds, err := strconv.Atoi(r.Header.Get("Retry-After"))
				if err != nil {
					t.Fatal(err)
				}
				return time.Duration(seconds) * time.Second, n, bytes
			}
			if r.StatusCode != http.StatusOK {
				t.Fatalf("write %d: %s %s", n, r.Status, r.body)
			}
			bytes += len(encodeJSON(t, h.newestEntry(o.AirID)))
		}
		t.Fatalf("%d writes were not refused", n)
		return 0, 0, 0
	}

	first := agent(1)
	for _, w := range []struct {
		name  string
		write func(i int) bufferedResponse
	}{
		{"secret", func(i int) bufferedResponse { return bySecret(first, largeUpdate(i)) }},
		{"key", func(i int) bufferedResponse { return first.send("PUT", "", largeUpdate(1000+i)) }},
	} {
		wait, n, bytes := refused(first, "agent-writes", w.write)
		if most := (writes + 20) * registry.SizeUnit; bytes > most || n < 3 {
			t.Errorf("by %s, %d writes added %d bytes to the history, want at most %d", w.name, n, bytes, most)
		}
		if wait <= 0 || wait > 2*time.Hour {
			t.Errorf("by %s: Retry-After %v", w.name, wait)
		}
	}
	if r := first.send("PUT", "", `{"no_secret": true}`); r.StatusCode != http.StatusOK {
		t.Errorf("the owner switches the secret off after large writes: %s %s", r.Status, r.body)
	}
	if r := rotateFrom(t, h, first, 9, "192.0.2.1"); r.StatusCode != http.StatusOK {
		t.Errorf("the owner rotates the key after large writes: %s %s", r.Status, r.body)
	}

	// More agents of the network, until its own quota is used up.
	var last owner
	var wait time.Duration
	for seed := 2; wait == 0; seed++ {
		last = agent(seed)
		for i := range writes {
			r := bySecret(last, largeUpdate(i))
			if r.StatusCode == http.StatusTooManyRequests {
				if r.problem(t).Rule == "changes-size" {
					seconds, _ := strconv.Atoi(r.Header.Get("Retry-After"))
					wait = time.Duration(seconds) * time.Second
				}
				break
			}
		}
		if seed > 50 {
			t.Fatal("50 agents of one network write without limit")
		}
	}
	if r := bySecret(last, `{"description": "small"}`); r.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a small change of the network: %s", r.Status)
	}
	if r := h.request("PUT", last.path, largeUpdate(5000), "Content-Type", jsonType, "X-Agent-Secret", last.Secret, "X-Forwarded-For", "198.51.100.1"); r.StatusCode != http.StatusOK {
		t.Errorf("a change from another network: %s %s", r.Status, r.body)
	}
	if r := last.send("PUT", "", `{"no_secret": true}`); r.StatusCode != http.StatusOK {
		t.Errorf("the owner switches the secret off from that network: %s %s", r.Status, r.body)
	}
	if r := rotateFrom(t, h, last, 120, "127.0.0.1"); r.StatusCode != http.StatusOK {
		t.Errorf("the owner rotates the key from that network: %s %s", r.Status, r.body)
	}
	other := agent(99)
	clock.Advance(wait)
	if r := bySecret(other, `{"description": "small"}`); r.StatusCode != http.StatusOK {
		t.Errorf("after Retry-After, %v: %s %s", wait, r.Status, r.body)
	}
}

// newestEntry returns the newest entry in the history of an agent.
func (h *testServer) newestEntry(airID string) registry.HistoryEntry {
	h.t.Helper()
	a, _, err := h.answers.Registry.Agent(h.t.Context(), airID)
	if err != nil {
		h.t.Fatal(err)
	}
	entries, _, err := h.answers.Registry.History(h.t.Context(), airID, 1, a.Entries-1)
	if err != nil || len(entries) != 1 {
		h.t.Fatalf("%d entries, %v", len(entries), err)
	}
	return entries[0]
}

// TestRecoveriesOfAnAgentAreBounded checks that an owner who begins and ends recoveries again and again
// adds few entries to the history, can always end the last one, and begins another one after Retry-After.
func TestRecoveriesOfAnAgentAreBounded(t *testing.T) {
	clock := testclock.New(time.Now())
	limits := fromNetwork(admission.Limits{Registrations: -1, AllRegistrations: -1, Changes: -1})
	limits.registry.Now = clock.Now
	h := newTestServer(t, limits)
	key, recoveryKey := keyFromSeed(1), keyFromSeed(2)
	body := `{"name": "Alice", "public_key": "` + publicKey(key) + `", "recovery_commitment": "` + registry.RecoveryCommitment(recoveryKey.Public().(ed25519.PublicKey)) + `"}`
	r := h.requestSigned(key, encodeMultikey(key), "POST", "/api/v1/agents/register", body, httpsig.SignOptions{})
	var a registeredAgent
	decodeInto(t, r, &a)
	recover := func(next ed25519.PrivateKey) bufferedResponse {
		x := registry.NewRecovery(a.CreatorDID, encodeMultikey(key), recoveryKey, next, "", clock.Now())
		body := map[string]string{"agent": x.Agent, "current_key": x.From, "public_key": x.To, "recovery_key": x.Key,
			"created": x.Created.Format(time.RFC3339), "nonce": x.Nonce, "recovery_signature": x.RecoverySignature, "new_signature": x.NewSignature}
		if next == nil {
			delete(body, "public_key")
			delete(body, "new_signature")
		}
		return h.request("POST", "/api/v1/agents/"+a.AirID+"/recovery", string(encodeJSON(t, body)), "Content-Type", jsonType)
	}
	begun := 0
	for ; begun < 60; begun++ {
		if r = recover(keyFromSeed(10 + begun)); r.StatusCode != http.StatusAccepted {
			break
		}
		if r := recover(nil); r.StatusCode != http.StatusOK && r.StatusCode != http.StatusAccepted {
			t.Fatalf("the end of recovery %d: %s %s", begun, r.Status, r.body)
		}
	}
	if begun != 12 || r.StatusCode != http.StatusTooManyRequests || r.problem(t).Rule != "recoveries" {
		t.Fatalf("%d recoveries, then %s %s", begun, r.Status, r.body)
	}
	seconds, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil || seconds < 1 || seconds > 24*3600 {
		t.Fatalf("Retry-After %q", r.Header.Get("Retry-After"))
	}
	clock.Advance(time.Duration(seconds) * time.Second)
	if r := recover(keyFromSeed(99)); r.StatusCode != http.StatusAccepted {
		t.Errorf("after Retry-After: %s %s", r.Status, r.body)
	}
}

// TestRotationsOfLargeRecordsAreBoundedByBytes checks that agents of one network that rotate again and again
// store a bounded number of bytes, that the first rotation of an agent never waits, nor one from another
// network, and that Retry-After is true.
func TestRotationsOfLargeRecordsAreBoundedByBytes(t *testing.T) {
	const changes = 200
	clock := testclock.New(time.Now())
	limits := fromNetwork(admission.Limits{Registrations: -1, AllRegistrations: -1, Changes: changes})
	limits.registry.Now = clock.Now
	h := newTestServer(t, limits)
	register := func(seed int) owner {
		key := keyFromSeed(seed)
		body := `{"name": "Alice", "public_key": "` + publicKey(key) + `"}`
		o := owner{h: h, key: key}
		decodeInto(t, h.requestSigned(key, encodeMultikey(key), "POST", "/api/v1/agents/register", body, httpsig.SignOptions{}), &o.registeredAgent)
		o.path = "/api/v1/agents/" + o.AirID
		if r := h.request("PUT", o.path, largeUpdate(seed), "Content-Type", jsonType, "X-Agent-Secret", o.Secret, "X-Forwarded-For", fmt.Sprintf("198.51.%d.1", seed)); r.StatusCode != http.StatusOK {
			t.Fatalf("%s %s", r.Status, r.body)
		}
		return o
	}
	rotate := func(o *owner, seed int, from string) bufferedResponse {
		next := keyFromSeed(seed)
		x := registry.NewRotation(o.CreatorDID, o.key, next, "", clock.Now())
		r := h.request("POST", o.path+"/keys", rotationBody(t, x), "Content-Type", jsonType, "X-Forwarded-For", from)
		if r.StatusCode == http.StatusOK {
			o.key = next
		}
		return r
	}
	bytes, seed := 0, 100
	var last owner
	var refused bufferedResponse
	for agent := 1; agent < 20 && refused.Response == nil; agent++ {
		last = register(agent)
		for range 20 {
			seed++
			r := rotate(&last, seed, "192.0.2.1")
			if r.StatusCode != http.StatusOK {
				refused = r
				break
			}
			bytes += len(encodeJSON(t, h.newestEntry(last.AirID)))
		}
	}
	if refused.Response == nil || refused.StatusCode != http.StatusTooManyRequests || refused.problem(t).Rule != "rotations-size" {
		t.Fatalf("after %d bytes: %+v %s", bytes, refused.Response, refused.body)
	}
	if most := (changes + 50) * registry.SizeUnit; bytes > most {
		t.Errorf("rotations stored %d bytes, want at most %d", bytes, most)
	}
	if r := rotate(&last, 901, "203.0.113.1"); r.StatusCode != http.StatusOK {
		t.Errorf("from another network: %s %s", r.Status, r.body)
	}
	first := register(50)
	if r := rotate(&first, 902, "192.0.2.1"); r.StatusCode != http.StatusOK {
		t.Errorf("the first rotation of an agent: %s %s", r.Status, r.body)
	}
	// The first rotation was charged, too.
	seconds, err := strconv.Atoi(rotate(&first, 903, "192.0.2.1").Header.Get("Retry-After"))
	if err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Duration(seconds) * time.Second)
	if r := rotate(&first, 904, "192.0.2.1"); r.StatusCode != http.StatusOK {
		t.Errorf("after %d s: %s %s", seconds, r.Status, r.body)
	}
}

// TestKeyChangesOfManyLargeRecordsAreBoundedByBytes checks that first rotations and recoveries of many agents
// with large records store a bounded number of bytes from one network, that an agent with a small record
// and a client of another network do not wait for them, and that Retry-After is true.
func TestKeyChangesOfManyLargeRecordsAreBoundedByBytes(t *testing.T) {
	const changes = 200
	for name, change := range map[string]func(h *testServer, o owner, seed int, now time.Time, from string) bufferedResponse{
		"rotation": func(h *testServer, o owner, seed int, now time.Time, from string) bufferedResponse {
			x := registry.NewRotation(o.CreatorDID, o.key, keyFromSeed(1000+seed), "", now)
			return h.request("POST", o.path+"/keys", rotationBody(t, x), "Content-Type", jsonType, "X-Forwarded-For", from)
		},
		"recovery": func(h *testServer, o owner, seed int, now time.Time, from string) bufferedResponse {
			x := registry.NewRecovery(o.CreatorDID, encodeMultikey(o.key), keyFromSeed(500+seed), keyFromSeed(1000+seed), "", now)
			body := map[string]string{"agent": x.Agent, "current_key": x.From, "public_key": x.To, "recovery_key": x.Key,
				"created": x.Created.Format(time.RFC3339), "nonce": x.Nonce, "recovery_signature": x.RecoverySignature, "new_signature": x.NewSignature}
			return h.request("POST", o.path+"/recovery", string(encodeJSON(t, body)), "Content-Type", jsonType, "X-Forwarded-For", from)
		},
	} {
		clock := testclock.New(time.Now())
		limits := fromNetwork(admission.Limits{Registrations: -1, AllRegistrations: -1, Changes: changes})
		limits.registry.Now = clock.Now
		h := newTestServer(t, limits)
		register := func(seed int, update string) owner {
			o := owner{h: h, key: keyFromSeed(seed)}
			body := `{"name": "Alice", "public_key": "` + publicKey(o.key) + `", "recovery_commitment": "` + registry.RecoveryCommitment(keyFromSeed(500+seed).Public().(ed25519.PublicKey)) + `"}`
			decodeInto(t, h.requestSigned(o.key, encodeMultikey(o.key), "POST", "/api/v1/agents/register", body, httpsig.SignOptions{}), &o.registeredAgent)
			o.path = "/api/v1/agents/" + o.AirID
			if r := h.request("PUT", o.path, update, "Content-Type", jsonType, "X-Agent-Secret", o.Secret, "X-Forwarded-For", fmt.Sprintf("198.51.%d.1", seed)); r.StatusCode != http.StatusOK {
				t.Fatalf("%s %s", r.Status, r.body)
			}
			return o
		}
		bytes, seed := 0, 1
		var last owner
		var refused bufferedResponse
		for ; seed < 100 && refused.Response == nil; seed++ {
			last = register(seed, largeUpdate(seed))
			if r := change(h, last, seed, clock.Now(), "192.0.2.1"); r.StatusCode >= 300 {
				refused = r
				break
			}
			bytes += len(encodeJSON(t, h.newestEntry(last.AirID)))
		}
		if refused.Response == nil || refused.StatusCode != http.StatusTooManyRequests || refused.problem(t).Rule != "large-records" {
			t.Fatalf("%s: %d bytes, then %+v %s", name, bytes, refused.Response, refused.body)
		}
		if most := (changes + 50) * registry.SizeUnit; bytes > most {
			t.Errorf("%s: %d bytes, want at most %d", name, bytes, most)
		}
		small := register(200, `{"description": "small"}`)
		if r := change(h, small, 200, clock.Now(), "192.0.2.1"); r.StatusCode >= 300 {
			t.Errorf("%s of a small record: %s %s", name, r.Status, r.body)
		}
		other := register(201, largeUpdate(201))
		if r := change(h, other, 201, clock.Now(), "203.0.113.1"); r.StatusCode >= 300 {
			t.Errorf("%s from another network: %s %s", name, r.Status, r.body)
		}
		seconds, err := strconv.Atoi(refused.Header.Get("Retry-After"))
		if err != nil || seconds < 1 || seconds > 3600 {
			t.Fatalf("%s: Retry-After %q", name, refused.Header.Get("Retry-After"))
		}
		clock.Advance(time.Duration(seconds) * time.Second)
		if r := change(h, last, seed, clock.Now(), "192.0.2.1"); r.StatusCode >= 300 {
			t.Errorf("%s after %d s: %s %s", name, seconds, r.Status, r.body)
		}
	}
}
