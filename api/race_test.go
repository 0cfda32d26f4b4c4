package api_test

import (
	"crypto/ed25519"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
)

// racers is how many clients want the same at once: fewer than the changes that one agent may have in an
// hour (60), of which each takes one until it is refused.
const racers = 48

// sendTogether lets all requests go at once, over connections of their own, and returns
// how many were answered with each status.
func sendTogether(t *testing.T, requests []*http.Request) map[int]int {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: len(requests)}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	statuses := map[int]int{}
	start := make(chan struct{})
	var all sync.WaitGroup
	for i, r := range requests {
		all.Go(func() {
			<-start
			response, err := client.Do(r)
			if err != nil {
				t.Errorf("client %d: %v", i, err)
				return
			}
			defer response.Body.Close()
			io.Copy(io.Discard, response.Body)
			mu.Lock()
			defer mu.Unlock()
			statuses[response.StatusCode]++
		})
	}
	close(start)
	all.Wait()
	return statuses
}

// signedRequest makes a request to a server, signed if there is a key.
func signedRequest(t *testing.T, h *testServer, method, path, body, keyID string, key ed25519.PrivateKey, o httpsig.SignOptions) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, h.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "registry.example"
	r.Header.Set("Content-Type", jsonType)
	if key == nil {
		return r
	}
	o.KeyID = keyID
	if err := httpsig.Sign(r, []byte(body), key, o); err != nil {
		t.Fatal(err)
	}
	return r
}

// oneWinner wants one success, and all others refused with that status.
func oneWinner(t *testing.T, got map[int]int, success, refusal int) {
	t.Helper()
	if got[success] != 1 || got[refusal] != racers-1 {
		t.Errorf("statuses %v, want one %d and %d times %d", got, success, racers-1, refusal)
	}
}

func TestConcurrentClaimsHaveOneWinner(t *testing.T) {
	t.Run("handle", func(t *testing.T) {
		h := newTestServer(t, options{})
		var requests []*http.Request
		for range racers {
			a := registerAgent(t, h)
			r := signedRequest(t, h, "PUT", "/api/v1/agents/"+a.AirID, `{"username": "wanted"}`, "", nil, httpsig.SignOptions{})
			r.Header.Set("X-Agent-Secret", a.Secret)
			requests = append(requests, r)
		}
		oneWinner(t, sendTogether(t, requests), 200, 409)
	})
	t.Run("challenge", func(t *testing.T) {
		h := newTestServer(t, options{})
		var c registry.Challenge
		decodeInto(t, h.request("POST", "/api/v1/challenges", ""), &c)
		var requests []*http.Request
		for i := range racers {
			key := keyFromSeed(100 + i)
			body := `{"name": "Racer", "public_key": "` + publicKey(key) + `"}`
			text := registrationStatement(t, "registry.example", c.Challenge, encodeMultikey(key), []byte(body))
			proof := `, "proof": {"challenge": "` + c.Challenge + `", "signature": "` + did.FormatSignature(ed25519.Sign(key, text)) + `"}}`
			requests = append(requests, signedRequest(t, h, "POST", "/api/v1/agents/register", strings.TrimSuffix(body, "}")+proof, "", nil, httpsig.SignOptions{}))
		}
		oneWinner(t, sendTogether(t, requests), 201, 401)
	})
	t.Run("nonce", func(t *testing.T) {
		h := newTestServer(t, options{})
		a := registerProved(t, h, 1, "")
		var requests []*http.Request
		for i := range racers {
			requests = append(requests, signedRequest(t, h, "PUT", a.path, fmt.Sprintf(`{"description": "edition %d"}`, i), a.CreatorDID+did.KeyFragment, a.key, httpsig.SignOptions{Nonce: "the-only-one-there-is"}))
		}
		oneWinner(t, sendTogether(t, requests), 200, 401)
	})
	t.Run("rotation", func(t *testing.T) {
		h := newTestServer(t, options{})
		a := registerProved(t, h, 1, "")
		var requests []*http.Request
		for i := range racers {
			x := registry.NewRotation(a.CreatorDID, a.key, keyFromSeed(100+i), "", time.Now())
			requests = append(requests, signedRequest(t, h, "POST", a.path+"/keys", rotationBody(t, x), "", nil, httpsig.SignOptions{}))
		}
		oneWinner(t, sendTogether(t, requests), 200, 409)
		var keys airjson.KeysView
		if decodeInto(t, h.get(a.path+"/keys", 200), &keys); len(keys.Keys) != 2 {
			t.Errorf("%d keys, want the new one and the old one", len(keys.Keys))
		}
	})
	t.Run("key", func(t *testing.T) {
		h := newTestServer(t, options{})
		key := keyFromSeed(1)
		var requests []*http.Request
		for i := range racers {
			body := fmt.Sprintf(`{"name": "Racer %d", "public_key": %q, "no_secret": true}`, i, publicKey(key))
			requests = append(requests, signedRequest(t, h, "POST", "/api/v1/agents/register", body, encodeMultikey(key), key, httpsig.SignOptions{}))
		}
		oneWinner(t, sendTogether(t, requests), 201, 409)
	})
}

// TestSameRegistrationTogether sends copies of one signed registration at once, as a proxy does that
// repeats a request: one of them registers the agent, and all are told so.
func TestSameRegistrationTogether(t *testing.T) {
	h := newTestServer(t, options{})
	for round := range 5 {
		key := keyFromSeed(100 + round)
		body := `{"name": "Alice", "public_key": "` + publicKey(key) + `", "no_secret": true}`
		first := signedRequest(t, h, "POST", "/api/v1/agents/register", body, encodeMultikey(key), key, httpsig.SignOptions{})
		requests := []*http.Request{first}
		for range 5 {
			again := first.Clone(t.Context())
			again.Body = io.NopCloser(strings.NewReader(body))
			requests = append(requests, again)
		}
		if statuses := sendTogether(t, requests); statuses[201] != 1 || statuses[200] != 5 {
			t.Errorf("round %d: answers by status: %v, want one 201 and five 200", round, statuses)
		}
	}
}
