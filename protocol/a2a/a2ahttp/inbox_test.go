package a2ahttp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/protocol/httpsig"
)

// TestInboxRequests checks what a relay receives from a recipient (§7.3, §11.3): the first pull without
// a cursor, later ones with the relay's own, each acknowledgement with at most 500 ids, and on each
// request the version and a signature of its own.
func TestInboxRequests(t *testing.T) {
	var mu sync.Mutex
	var lines, nonces []string // guarded by mu
	answers := map[string]string{
		"limit=200":                                `{"envelopes":[{"a": 1},{"b":2}],"receipts":[{"r":1},null],"cursor":"opaque & more","has_more":true}`,
		"limit=200&since=opaque+%26+more":          `{"envelopes":[],"cursor":9007199254740991}`,
		"limit=200&since=9007199254740991&wait=25": `{"envelopes":[]}`,
	}
	relay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in struct {
			IDs []string `json:"envelope_ids"`
		}
		json.Unmarshal(body, &in)
		signatures, err := httpsig.Read(httpsig.FromRequest(r, body))
		if err != nil || len(signatures) != 1 || signatures[0].Nonce == "" || r.Header.Get("X-A2A-Version") != "draft-1" {
			t.Errorf("%s %s: the version %q, signatures %+v, %v", r.Method, r.URL, r.Header.Get("X-A2A-Version"), signatures, err)
			return
		}
		mu.Lock()
		lines = append(lines, fmt.Sprintf("%s %s %s %d", r.Method, r.URL, r.Header.Get("Content-Type"), len(in.IDs)))
		nonces = append(nonces, signatures[0].Nonce)
		mu.Unlock()
		if r.Method == http.MethodPost {
			io.WriteString(w, `{"status":"acked"}`)
			return
		}
		io.WriteString(w, answers[r.URL.RawQuery])
	}))
	defer relay.Close()
	inbox := a2ahttp.Inbox{Address: relay.URL + "/inbox/bob/", Key: keyOf(2), KeyID: bob + "#key-1"}
	first, err := inbox.Pull(t.Context(), "", 0)
	if err != nil || len(first.Mail) != 2 || !first.More || string(first.Mail[0].Text) != `{"a": 1}` || string(first.Mail[0].Receipt) != `{"r":1}` || first.Mail[1].Receipt != nil {
		t.Fatalf("%+v, %v", first, err)
	}
	second, err := inbox.Pull(t.Context(), first.Cursor, 0)
	if err != nil || len(second.Mail) != 0 || second.More {
		t.Fatalf("%+v, %v", second, err)
	}
	if third, err := inbox.Pull(t.Context(), second.Cursor, 25*time.Second); err != nil || third.Cursor != second.Cursor {
		t.Fatalf("%+v, %v", third, err)
	}
	if err := inbox.Acknowledge(t.Context(), make([]string, 1001)...); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{
		"GET /inbox/bob/pull?limit=200  0", "GET /inbox/bob/pull?limit=200&since=opaque+%26+more  0", "GET /inbox/bob/pull?limit=200&since=9007199254740991&wait=25  0",
		"POST /inbox/bob/ack application/json 500", "POST /inbox/bob/ack application/json 500", "POST /inbox/bob/ack application/json 1",
	}; !slices.Equal(lines, want) {
		t.Errorf("the relay received %q", lines)
	}
	slices.Sort(nonces)
	if len(slices.Compact(nonces)) != len(lines) {
		t.Errorf("the nonces %q repeat", nonces)
	}
}

// TestInboxRefusals checks that a redirect is not followed, and that refusals in both dialects and
// answers that are none of a relay are errors.
func TestInboxRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		reply     reply
		reason    string
		transient bool
		wait      time.Duration
	}{
		"redirect":     {reply{status: 307}, "", false, 0},
		"unauthorized": {reply{401, "", `{"error":"Unauthorized","detail":"x"}`}, "Unauthorized", false, 0},
		"rate":         {reply{429, "7", `{"error":"rate_limited","message":"x"}`}, "rate_limited", true, 7 * time.Second},
		"relay error":  {reply{500, "", `{"error":"Relay Error"}`}, "Relay Error", true, 0},
		"no JSON":      {reply{503, "", `<html>`}, "", true, 0},
	} {
		server := &inbox{replies: []reply{tt.reply}}
		relay := httptest.NewServer(server)
		in := a2ahttp.Inbox{Address: relay.URL + "/inbox/bob", Key: keyOf(2), KeyID: bob + "#key-1"}
		_, err := in.Pull(t.Context(), "", 0)
		relay.Close()
		e, ok := errors.AsType[*a2ahttp.InboxError](err)
		if !ok || e.Status != tt.reply.status || e.Reason != tt.reason || e.RetryAfter != tt.wait || a2ahttp.IsTransient(err) != tt.transient || len(server.got) != 1 {
			t.Errorf("%s: %v (%+v), %d requests", name, err, e, len(server.got))
		}
		if _, err := in.Pull(t.Context(), "", 0); !a2ahttp.IsTransient(err) {
			t.Errorf("%s, without a relay: %v", name, err)
		}
	}
	relay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }))
	defer relay.Close()
	in := a2ahttp.Inbox{Address: relay.URL, Key: keyOf(2), KeyID: bob + "#key-1"}
	if page, err := in.Pull(t.Context(), "", 0); err == nil || a2ahttp.IsTransient(err) {
		t.Errorf("a page that is none: %+v, %v", page, err)
	}
}

// TestPollInterval checks that recipients who begin together do not stay together (§7.5).
func TestPollInterval(t *testing.T) {
	var intervals []time.Duration
	for range 1000 {
		intervals = append(intervals, a2ahttp.PollInterval())
	}
	if least, most := slices.Min(intervals), slices.Max(intervals); least < 4*time.Second || least > 4500*time.Millisecond || most < 5500*time.Millisecond || most > 6*time.Second {
		t.Errorf("between %s and %s", least, most)
	}
}
