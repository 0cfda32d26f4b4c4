package search

import (
	"crypto/ed25519"
	"encoding/json"
	"testing"

	"gazetteer/join"
	"gazetteer/protocol/did"
	"gazetteer/registry"
)

// TestResolutionIsComparedWithLeaf checks that an answer whose id, key, inbox or other DID is not that of the
// agent's newest leaf is noticed, wherever the key stands.
func TestResolutionIsComparedWithLeaf(t *testing.T) {
	key, other := make(ed25519.PublicKey, 32), make(ed25519.PublicKey, 32)
	key[0], other[0] = 1, 2
	agent := registry.Agent{PublicKey: key}
	agent.ServiceEndpoints = []registry.ServiceEndpoint{{Type: did.TypeInbox, ServiceEndpoint: "https://a.example/inbox"}}
	leaf := registry.HistoryEntry{AirID: "AIR-1", Agent: &agent}
	document := func(key ed25519.PublicKey) json.RawMessage {
		return json.RawMessage(`{"verificationMethod":[{"publicKeyMultibase":"` + did.FormatMultikey(key) + `"}]}`)
	}
	right := func() Resolution {
		return Resolution{AirID: "AIR-1", Inbox: "https://a.example/inbox", Key: &join.Key{PublicKeyMultibase: did.FormatMultikey(key)}, Document: document(key)}
	}
	for want, change := range map[string]func(*Resolution){
		"":      func(*Resolution) {},
		"id":    func(r *Resolution) { r.AirID = "AIR-2" },
		"key":   func(r *Resolution) { r.Key.PublicKeyMultibase = did.FormatMultikey(other) },
		"inbox": func(r *Resolution) { r.Inbox = "https://b.example/inbox" },
		"other DID": func(r *Resolution) {
			r.Document = append([]byte(`{"alsoKnownAs":["did:web:thief.test"],`), r.Document[1:]...)
		},
	} {
		r := right()
		if change(&r); differsFromLeaf(r, leaf) != want {
			t.Errorf("%+v: %q differs, want %q", r, differsFromLeaf(r, leaf), want)
		}
	}
	r := right()
	r.Key, r.Document = nil, document(other)
	if got := differsFromLeaf(r, leaf); got != "key" {
		t.Errorf("another key in the document alone: %q differs", got)
	}
}

func TestDescribeInbox(t *testing.T) {
	for want, r := range map[string]Resolution{
		"https://a.example/inbox":                        {Inbox: "https://a.example/inbox", Document: []byte(`{"service": [{"type": "A2AInbox"}]}`)},
		"none: this agent has not published an A2AInbox": {Document: []byte(`{"service": []}`)},
		"none that can be used: an A2AInbox needs an https address, and its DID document the key #key-1": {Document: []byte(`{"service": [{"type": "A2AInbox"}]}`)},
	} {
		if got := describeInbox(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
