package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/api/air"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/teststore"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/attestation"
)

// TestErasedContentIsInNoFile checks that, after the erasure of an agent, a kill right after it and
// the next compaction, no file of the data directory contains a word that the agent registered,
// changed, claimed or received.
func TestErasedContentIsInNoFile(t *testing.T) {
	t.Parallel()
	p, proxy := startBehindLosingProxy(t, "registry.allow_loopback=true")
	proxy.lost.Store(1) // it loses nothing
	must := func(words ...string) string {
		t.Helper()
		out, code := p.cli(words...)
		if code != 0 {
			t.Fatalf("%v: exit code %d: %s", words, code, out)
		}
		return out
	}
	must("agent", "new", "Ephemeralname", "--inbox", "here", "--description", "quicksilverdescription", "--capability", "vanishingcapability", "--creator-name", "Transientcreator")
	must("agent", "update", "--description", "secondfleetingtext", "--repository", "https://code.evanescent.example/x")
	must("agent", "update", "--description", "thirdfleetingtext", "--endpoint", "AgentCard=https://card.evanescent.example/card.json", "--inbox", "here")
	must("agent", "update", "--handle", "shortlivedhandle")
	must("agent", "new", "Remaining", "--key", "sender.key")
	airID := airIDs.FindString(must("agent", "show"))
	must("send", airID, "--offer", "mailthatwasdeleted", "--price", "0EUR", "--key", "sender.key")
	status, body := p.ask("POST", "/api/v1/agents/"+airID+"/reports", `{"reason": "spam", "text": "reporttextaboutit"}`)
	if status/100 != 2 {
		t.Fatalf("%d %s", status, body)
	}
	markers := []string{"Ephemeralname", "quicksilverdescription", "vanishingcapability", "Transientcreator", "secondfleetingtext", "code.evanescent", "thirdfleetingtext", "card.evanescent", "mailthatwasdeleted"}
	seen := 0
	for _, text := range markers {
		if found, _ := teststore.FilesWith(t, p.data(), text); len(found) > 0 {
			seen++
		}
	}
	if seen < len(markers)-1 { // mail may be sealed
		t.Fatalf("only %d of %d texts were in the data directory before", seen, len(markers))
	}
	must("agent", "deactivate", "--erase", "--yes")
	p.end(os.Kill) // the erasure is stored; the files of the log, the feed and the mail are not written again
	if found, _ := teststore.FilesWith(t, p.data(), "Ephemeralname"); len(found) == 0 {
		t.Error("the kill came too late to test anything")
	}
	p = startProgramIn(t, p.dir, "crawler.enabled=false", "registry.allow_loopback=true", "public_url="+proxy.URL)
	must("compact", "--keep", "0s")
	for _, text := range markers {
		if found, files := teststore.FilesWith(t, p.data(), text); len(found) > 0 || files < 5 {
			t.Errorf("%s is still in %v (%d files)", text, found, files)
		}
	}
	must("agent", "show", "--key", "sender.key")
	p.end(os.Interrupt)
	for _, text := range markers {
		if found, _ := teststore.FilesWith(t, p.data(), text); len(found) > 0 {
			t.Errorf("after the stop %s is in %v", text, found)
		}
	}
}

// TestErasedAttestationIsInNoFile erases an agent that has attested another one: its statement is in no
// file any more, also not in the history of the other agent, which still names the attestation.
func TestErasedAttestationIsInNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	attester := prepareAttesters(t, filepath.Join(dir, "data"), 1)[0]
	p := startProgramIn(t, dir, "crawler.enabled=false", "public_url=http://"+killHost)
	c := caller{base: p.base, book: &book{t: t}}
	must := func(words ...string) string {
		t.Helper()
		out, code := p.cli(words...)
		if code != 0 {
			t.Fatalf("%v: exit code %d: %s", words, code, out)
		}
		return out
	}
	var subject air.RegistrationAnswer
	if status := c.send(t.Context(), "POST", "/api/v1/agents/register", map[string]string{"name": "Subject", "public_key": newPublicKey(t)}, "", nil, &subject); status != 201 {
		t.Fatal(status)
	}
	const statement = "evanescentstatement"
	q := attestation.Request{Attester: attester.airID, Type: "dependency", SignedAt: time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), Statement: statement}
	payload, err := q.Payload(subject.AirID)
	if err != nil {
		t.Fatal(err)
	}
	signature := did.FormatSignature(ed25519.Sign(attester.key, payload))
	var answer []byte
	if status := c.send(t.Context(), "POST", cli.AgentPath(subject.AirID, "/attestations"), map[string]string{"attester_air_id": attester.airID, "attestation_type": q.Type, "statement": q.Statement,
		"signed_at": q.SignedAt, "signature_multibase": signature}, didOf(attester.airID)+did.KeyFragment, attester.key, &answer); status != 201 {
		t.Fatalf("%d %s", status, answer)
	}
	stopped(t, p) // which writes the snapshot of the census
	p = startProgramIn(t, dir, "crawler.enabled=false", "public_url=http://"+killHost)
	c.base = p.base
	const domain = "attester-0.example"
	if found, _ := teststore.FilesWith(t, p.data(), domain); !slices.Contains(found, "census.snapshot") {
		t.Fatalf("before, %s is in %v", domain, found)
	}
	texts := []string{statement, signature, domain}
	for _, text := range texts {
		if found, _ := teststore.FilesWith(t, p.data(), text); len(found) == 0 {
			t.Fatalf("%s was never in the data directory", text)
		}
	}
	must("registry", "erase", attester.airID, "--yes")
	must("compact", "--keep", "0s")
	for _, text := range texts {
		if found, files := teststore.FilesWith(t, p.data(), text); len(found) > 0 || files < 5 {
			t.Errorf("%s is still in %v (%d files)", text, found, files)
		}
	}
	var history struct {
		Entries []json.RawMessage `json:"entries"`
	}
	if status := c.send(t.Context(), "GET", "/log/entries?key=agent/"+subject.AirID, nil, "", nil, &history); status != 200 || len(history.Entries) != 3 {
		t.Fatalf("%d, %s", status, history.Entries)
	}
	for _, event := range []string{registry.EventAttested, registry.EventRevoked} {
		named := `\"attester_air_id\":\"` + attester.airID
		if !slices.ContainsFunc(history.Entries, func(e json.RawMessage) bool {
			return bytes.Contains(e, []byte(named)) && bytes.Contains(e, []byte(`\"event\":\"`+event+`\"`))
		}) {
			t.Errorf("the history does not name the attestation as %s: %s", event, history.Entries)
		}
	}
}

// TestErasureWithSilentLock erases an agent while the lock of the log does not answer: after a
// compaction no file has the content, and the checks count what the log has yet to declare. When the
// log signs again, it declares all.
func TestErasureWithSilentLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock := ownKey(t, t.TempDir(), "witness.key", "lock.example/witness")
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	settings := []string{"crawler.enabled=false", "registry.did_host=first.example"}
	silent := append(slices.Clip(settings), "registry.lock_witness="+lock.PublicWitness()+" http://"+address)
	p := startTroubledProgram(t, dir, settings...)
	must := func(words ...string) string {
		t.Helper()
		out, code := p.cli(words...)
		if code != exit.OK {
			t.Fatalf("%v: exit code %d: %s", words, code, out)
		}
		return out
	}
	must("agent", "new", "Ephemeralname", "--description", "quicksilverdescription")
	p.awaitLeaves(1)
	stopped(t, p)

	p = startTroubledProgram(t, dir, silent...)
	must("agent", "deactivate", "--erase", "--yes")
	must("compact", "--keep", "0s")
	for _, text := range []string{"Ephemeralname", "quicksilverdescription"} {
		if found, _ := teststore.FilesWith(t, p.data(), text); len(found) > 0 {
			t.Errorf("%s is still in %v", text, found)
		}
	}
	stopped(t, p)
	for _, words := range [][]string{{"check"}, {"log", "verify", filepath.Join(p.data(), "log")}} {
		if out := must(words...); !strings.Contains(out, "1 erased leaf is not declared yet") {
			t.Errorf("%v: %s", words, out)
		}
	}

	p = startTroubledProgram(t, dir, settings...)
	p.awaitLeaves(3)
	stopped(t, p)
	for _, words := range [][]string{{"check"}, {"log", "verify", filepath.Join(p.data(), "log")}} {
		if out := must(words...); strings.Contains(out, "declared") {
			t.Errorf("after the next signature, %v: %s", words, out)
		}
	}
}
