package relayhttp_test

import (
	"bytes"
	"crypto/ed25519"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/limit"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/relay"
	"gazetteer/relay/boltqueue"
	"gazetteer/relay/relayhttp"
	"gazetteer/store/boltfile"
)

// TestLongestWait checks that a pull of an empty inbox waits as long as the client asks for, but at most
// 25 seconds. There is no socket: the time of the bubble would stand still while the server reads from it.
func TestLongestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue, err := boltqueue.Open(t.Context(), t.TempDir(), boltqueue.Options{File: boltfile.Options{MinFree: -1}})
		if err != nil {
			t.Fatal(err)
		}
		defer queue.Close()
		keys := agents{keys: map[string]ed25519.PrivateKey{bob: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, 32))}}
		limits := &limit.Set{}
		handler, err := relayhttp.New(relayhttp.Options{Limits: limits, Relay: relay.New(relay.Options{
			Queue: queue, Senders: a2a.DocumentKeys{Resolver: keys}, Inboxes: keys,
			DID: "did:wba:registry.test", Key: keys.keys[bob], Profile: a2a.Wire, Limits: limits,
		})})
		if err != nil {
			t.Fatal(err)
		}
		defer handler.End()
		for _, path := range []string{"/inbox/" + bob + "/pull", "/pull/" + bob} {
			for query, want := range map[string]time.Duration{"": 0, "?wait=0": 0, "?wait=7": 7 * time.Second, "?wait=25s": 25 * time.Second, "?wait=26": 25 * time.Second, "?wait=9223372036854775807": 25 * time.Second} {
				request := httptest.NewRequest("GET", "http://registry.test"+path+query, nil)
				if err := httpsig.Sign(request, nil, keys.keys[bob], httpsig.SignOptions{KeyID: prefix + bob + did.KeyFragment}); err != nil {
					t.Fatal(err)
				}
				begin, answer := time.Now(), httptest.NewRecorder()
				handler.ServeHTTP(answer, request)
				if took := time.Since(begin); answer.Code != 200 || took != want {
					t.Errorf("%s%s: %d after %s, want 200 after %s: %s", path, query, answer.Code, took, want, answer.Body)
				}
			}
		}
	})
}
