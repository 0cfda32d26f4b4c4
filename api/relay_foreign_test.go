package api_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/relay"
	"gazetteer/relay/recipients"
	"gazetteer/relay/relayhttp"
)

// foreignDocuments are the DID documents of other hosts, beside those of the registry.
type foreignDocuments struct {
	ours    a2a.Resolver
	foreign map[string]did.Document
}

var errSilent = errors.New("dial tcp 192.0.2.7:443: connection refused")

func (d foreignDocuments) Resolve(ctx context.Context, id string) (did.Document, error) {
	if id == partnerSilent {
		return did.Document{}, errSilent
	}
	if document, ok := d.foreign[id]; ok {
		return document, nil
	}
	if strings.HasPrefix(id, "did:wba:registry.example") {
		return d.ours.Resolve(ctx, id)
	}
	return did.Document{}, a2a.ErrUnknownSender
}

// documentOf is the DID document of a holder of one key.
func documentOf(id string, key ed25519.PrivateKey) did.Document {
	return did.Document{ID: id, VerificationMethod: []did.VerificationMethod{{
		ID: id + did.KeyFragment, Controller: id, PublicKeyMultibase: did.FormatMultikey(key.Public().(ed25519.PublicKey)),
	}}}
}

const (
	partnerAnn  = "did:wba:partner.example:user:ann"
	partnerHost = "did:wba:partner.example"
	strangerBob = "did:wba:stranger.example:user:bob"

	partnerSilent = "did:wba:partner.example:user:silent" // its host does not answer
)

// newForeignRelay serves a relay that gives inboxes to agents of partner.example.
func newForeignRelay(t *testing.T, require ...string) (h *testServer, keys map[string]ed25519.PrivateKey) {
	keys = map[string]ed25519.PrivateKey{partnerAnn: keyFromSeed(201), partnerHost: keyFromSeed(202), strangerBob: keyFromSeed(203)}
	documents := foreignDocuments{foreign: map[string]did.Document{}}
	for id, key := range keys {
		documents.foreign[id] = documentOf(id, key)
	}
	h = newTestServer(t, options{relay: func(ro *relay.Options, _ *relayhttp.Options) {
		documents.ours = ro.Senders.(a2a.DocumentKeys).Resolver
		ro.Senders = a2a.DocumentKeys{Resolver: documents}
		boxes := ro.Inboxes.(recipients.Recipients)
		boxes.Foreign, boxes.Resolver, boxes.Require = []string{"partner.example"}, documents, require
		ro.Inboxes = boxes
	}})
	return h, keys
}

// push sends an envelope to an inbox.
func (h *testServer) push(from string, key ed25519.PrivateKey, to string) bufferedResponse {
	h.t.Helper()
	e, err := a2a.Sign(a2a.Message{From: from, To: to, Body: a2a.Withdraw{}}, a2a.Wire, key)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.request("POST", "/inbox/"+to, string(e.Text))
}

// An agent of a host that the operator lists has an inbox here, which it alone reads; agents of other
// hosts have none.
func TestInboxesOfForeignAgents(t *testing.T) {
	h, keys := newForeignRelay(t)
	alice := registerProved(t, h, 1, "")
	if r := h.push(alice.CreatorDID, alice.key, partnerAnn); r.StatusCode != http.StatusAccepted {
		t.Fatalf("mail for an agent of a listed host: %s %s", r.Status, r.body)
	}
	if r := h.push(strangerBob, keys[strangerBob], partnerAnn); r.StatusCode != http.StatusAccepted {
		t.Errorf("mail of a stranger who signed: %s %s", r.Status, r.body)
	}
	if r := h.push(alice.CreatorDID, alice.key, strangerBob); r.StatusCode != http.StatusNotFound {
		t.Errorf("mail for an agent of a host that is not listed: %s %s", r.Status, r.body)
	}
	if r := h.push(alice.CreatorDID, alice.key, "did:wba:partner.example:user:nobody"); r.StatusCode != http.StatusNotFound {
		t.Errorf("mail for an agent without a DID document: %s %s", r.Status, r.body)
	}
	for _, sender := range []string{"did:wba:registry.example:agents:AIR-0000-0000-0000", "did:wba:registry.example", "did:wba:registry.example:user:x"} {
		if r := h.push(sender, keys[strangerBob], partnerAnn); r.StatusCode != http.StatusNotFound {
			t.Errorf("mail of %s, which has no DID document here: %s %s", sender, r.Status, r.body)
		}
	}
	if r := h.push(alice.CreatorDID, keys[strangerBob], partnerAnn); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("mail signed by another key: %s %s", r.Status, r.body)
	}
	pull := "/inbox/" + partnerAnn + "/pull"
	read := httpsig.SignOptions{Components: httpsig.ReadComponents()}
	r := h.requestSigned(keys[partnerAnn], partnerAnn+did.KeyFragment, "GET", pull, "", read)
	var page struct {
		Envelopes []json.RawMessage `json:"envelopes"`
	}
	if err := json.Unmarshal(r.body, &page); err != nil || r.StatusCode != http.StatusOK || len(page.Envelopes) != 2 {
		t.Fatalf("its owner reads it: %s %s", r.Status, r.body)
	}
	for who, id := range map[string]string{"another agent of the host": partnerHost, "a stranger": strangerBob} {
		if r := h.requestSigned(keys[id], id+did.KeyFragment, "GET", pull, "", read); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s reads the inbox: %s %s", who, r.Status, r.body)
		}
		if r := h.requestSigned(keys[id], partnerAnn+did.KeyFragment, "GET", pull, "", read); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s reads the inbox in its owner's name: %s %s", who, r.Status, r.body)
		}
	}
	if r := h.requestSigned(alice.key, alice.CreatorDID+did.KeyFragment, "GET", pull, "", read); r.StatusCode != http.StatusUnauthorized {
		t.Errorf("an agent of the registry reads it: %s %s", r.Status, r.body)
	}
}

// While the host of a foreign recipient does not answer, senders and the recipient are asked to try again
// (A2A §9.1), and learn nothing of the connection.
func TestSilentHostOfForeignInbox(t *testing.T) {
	h, _ := newForeignRelay(t)
	alice := registerProved(t, h, 1, "")
	pull := h.requestSigned(keyFromSeed(204), partnerSilent+did.KeyFragment, "GET", "/inbox/"+partnerSilent+"/pull", "", httpsig.SignOptions{Components: httpsig.ReadComponents()})
	for name, r := range map[string]bufferedResponse{"push": h.push(alice.CreatorDID, alice.key, partnerSilent), "pull": pull} {
		var problem struct{ Error string }
		if err := json.Unmarshal(r.body, &problem); err != nil || r.StatusCode != http.StatusBadGateway || problem.Error != a2a.ErrorBadGateway || r.Header.Get("Retry-After") != "5" || strings.Contains(string(r.body), "192.0.2.7") {
			t.Errorf("%s: %s, Retry-After %q: %s", name, r.Status, r.Header.Get("Retry-After"), r.body)
		}
	}
}

// A relay that asks for evidence takes mail only from senders that have it. What the verified signature
// of a foreign sender shows counts; what another registry says of it does not.
func TestRelayRequiresEvidence(t *testing.T) {
	h, keys := newForeignRelay(t, registry.SignalDomain)
	alice := registerProved(t, h, 1, "")
	refused := func(what string, r bufferedResponse) {
		t.Helper()
		if r.StatusCode != http.StatusForbidden || !strings.Contains(string(r.body), registry.SignalDomain) {
			t.Errorf("%s: %s %s, want 403 that names the evidence", what, r.Status, r.body)
		}
	}
	refused("an agent of the registry without a domain", h.push(alice.CreatorDID, alice.key, alice.CreatorDID))
	refused("a user of a host", h.push(partnerAnn, keys[partnerAnn], alice.CreatorDID))
	if r := h.push(partnerHost, keys[partnerHost], alice.CreatorDID); r.StatusCode != http.StatusAccepted {
		t.Errorf("the host itself: %s %s", r.Status, r.body)
	}
}

// TestDraftLabel checks the label of the draft. The tests of protocol/a2a hold every build against its
// published vectors (A2A §13).
func TestDraftLabel(t *testing.T) {
	h, _ := newForeignRelay(t)
	for _, path := range []string{"/health", "/api/v1/health"} {
		var health struct{ Status, Draft string }
		if r := h.request("GET", path, ""); json.Unmarshal(r.body, &health) != nil || health.Status != "ok" || health.Draft != "draft-1" {
			t.Errorf("%s: %s", path, r.body)
		}
	}
}

// seriesOf returns the names of the series of the metrics, with their labels.
func seriesOf(h *testServer) map[string]bool {
	w := httptest.NewRecorder()
	h.api.MetricsHandler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	names := map[string]bool{}
	for line := range strings.Lines(w.Body.String()) {
		if name, _, ok := strings.Cut(line, " "); ok && name != "#" {
			names[name] = true
		}
	}
	return names
}

// The metrics and the status count the relay's work without naming senders or recipients.
func TestFiguresOfTheRelay(t *testing.T) {
	h, keys := newForeignRelay(t)
	before := seriesOf(h)
	alice := registerProved(t, h, 1, "")
	for range 2 {
		h.push(alice.CreatorDID, alice.key, partnerAnn)
	}
	h.push(alice.CreatorDID, keys[strangerBob], partnerAnn)
	h.push(alice.CreatorDID, alice.key, strangerBob)
	read := httpsig.SignOptions{Components: httpsig.ReadComponents()}
	r := h.requestSigned(keys[partnerAnn], partnerAnn+did.KeyFragment, "GET", "/inbox/"+partnerAnn+"/pull", "", read)
	var page struct{ Envelopes []struct{ ID string } }
	if err := json.Unmarshal(r.body, &page); err != nil || len(page.Envelopes) != 2 {
		t.Fatalf("%s %s", r.Status, r.body)
	}
	ack := h.requestSigned(keys[partnerAnn], partnerAnn+did.KeyFragment, "POST", "/inbox/"+partnerAnn+"/ack", `{"envelope_ids":["`+page.Envelopes[0].ID+`"]}`, httpsig.SignOptions{})
	if ack.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", ack.Status, ack.body)
	}
	w := httptest.NewRecorder()
	h.api.MetricsHandler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		"accepted_total 2", `refused_total{reason="signature"} 1`, `refused_total{reason="unknown_recipient"} 1`, "pulled_total 2",
		"acknowledged_total 1", "expired_total 0", "wakeups_total 0", "waiting 1", "inboxes 1",
	} {
		if !strings.Contains(w.Body.String(), "\ngazetteer_relay_"+line+"\n") {
			t.Errorf("the metrics lack gazetteer_relay_%s", line)
		}
	}
	// Every series exists before its first event.
	for name := range seriesOf(h) {
		if !before[name] {
			t.Errorf("the series %s began with its first event", name)
		}
	}
	for _, name := range []string{`gazetteer_relay_refused_total{reason="relay_unavailable"}`, "gazetteer_store_last_compaction_pause_seconds"} {
		if !before[name] {
			t.Errorf("the series %s is missing", name)
		}
	}
	status := h.request("GET", "/api/v1/status", "")
	var shown struct{ Relay relay.Status }
	if err := json.Unmarshal(status.body, &shown); err != nil || shown.Relay.Accepted != 2 || shown.Relay.Refused["signature"] != 1 || shown.Relay.Waiting != 1 ||
		shown.Relay.Acknowledged != 1 || shown.Relay.Oldest.IsZero() {
		t.Errorf("the status shows %+v, %v", shown.Relay, err)
	}
	for name, text := range map[string]string{"metrics": w.Body.String(), "status": string(status.body)} {
		if strings.Contains(text, "partner.example") || strings.Contains(text, alice.AirID) {
			t.Errorf("the %s name a sender or a recipient", name)
		}
	}
}
