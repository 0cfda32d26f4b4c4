package api_test

import (
	"crypto/ed25519"
	"net/http"
	"slices"
	"testing"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry/attestation"
	"gazetteer/registry/registrar"
)

// attest has an agent attest another over HTTP.
func (o owner) attest(about owner, now time.Time) {
	o.h.t.Helper()
	q := attestation.Request{Attester: o.AirID, Type: "dependency", SignedAt: now.UTC().Format(time.RFC3339), Statement: "we call it"}
	payload, err := q.Payload(about.AirID)
	if err != nil {
		o.h.t.Fatal(err)
	}
	body := encodeJSON(o.h.t, map[string]string{"attester_air_id": q.Attester, "attestation_type": q.Type, "signed_at": q.SignedAt, "statement": q.Statement,
		"signature_multibase": did.FormatSignature(ed25519.Sign(o.key, payload))})
	if r := o.h.requestSigned(o.key, encodeMultikey(o.key), "POST", about.path+"/attestations", string(body), httpsig.SignOptions{}); r.StatusCode != http.StatusCreated {
		o.h.t.Fatalf("%s %s", r.Status, r.body)
	}
}

// TestMutualAttestationsAreHidden checks that two agents that attest each other show no
// attestations: neither in the list, nor in a lookup that requires attestations, nor in the
// evidence.
func TestMutualAttestationsAreHidden(t *testing.T) {
	now := time.Now()
	d := documents{}
	for i, id := range []string{"did:wba:one.example", "did:wba:two.example"} {
		d[id] = did.Document{ID: id, VerificationMethod: []did.VerificationMethod{{ID: id + did.KeyFragment, Type: did.TypeEd25519, Controller: id, PublicKeyMultibase: encodeMultikey(keyFromSeed(i + 1))}},
			Authentication: []string{id + did.KeyFragment}}
	}
	h := newTestServer(t, options{registry: registrar.Options{Resolver: d}})
	one, two := registerProved(t, h, 1, `, "creator_did": "did:wba:one.example"`), registerProved(t, h, 2, `, "creator_did": "did:wba:two.example"`)
	for _, o := range []owner{one, two} {
		makeOlder(t, h, o.AirID, now.AddDate(0, 0, -60))
	}
	shown := func(want ...owner) {
		t.Helper()
		if err := h.answers.Directory.WaitFor(t.Context(), h.store.Head().Seq); err != nil {
			t.Fatal(err)
		}
		var list struct {
			Agents []struct {
				AirID string `json:"air_id"`
			}
		}
		decodeInto(t, h.get("/api/v1/agents?require=attestations", 200), &list)
		if len(list.Agents) != len(want) {
			t.Errorf("%d agents are listed, want %d", len(list.Agents), len(want))
		}
		for _, o := range []owner{one, two} {
			status := http.StatusPreconditionFailed
			if slices.ContainsFunc(want, func(w owner) bool { return w.AirID == o.AirID }) {
				status = http.StatusOK
			}
			if r := h.request("GET", o.path+"?require=attestations", ""); r.StatusCode != status {
				t.Errorf("looked up: %s %s, want %d", r.Status, r.body, status)
			}
		}
	}
	shown()
	one.attest(two, now)
	shown(two)
	two.attest(one, now)
	shown()
}
