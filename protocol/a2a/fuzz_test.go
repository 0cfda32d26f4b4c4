package a2a_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"slices"
	"strings"
	"testing"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/jcs"
)

// FuzzRead reads untrusted input: no panic, the profiles in their order, the same canonical form
// for every spelling, and the same judgment by the linter and the verifier.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add(text())
	f.Add(signed(f))
	f.Add(text("in_reply_to", "null", "body", `{"type":"encrypted","alg":"x25519-hkdf-sha256-chacha20poly1305","v":1,"epk":"z6LS","nonce":"AA","ct":"AA"}`))
	f.Add(text("body", `{"type":"Withdraw","withdrawn_id":"018fde3a-1234-4abc-8def-aabbccddeeff","reason":"cafe\u0301"}`))
	f.Fuzz(func(t *testing.T, envelope []byte) {
		_, strict := a2a.Read(envelope, a2a.Strict)
		e, wire := a2a.Read(envelope, a2a.Wire)
		if strict == nil && wire != nil {
			t.Fatalf("%q is strict, but not wire: %v", envelope, wire)
		}
		for _, err := range []error{strict, wire} {
			if status := statusOf(err); err != nil && status != 400 && status != 413 {
				t.Fatalf("%q: %v", envelope, err)
			}
		}
		report := a2a.Check(envelope)
		for i, err := range []error{strict, wire} {
			broken := slices.ContainsFunc(report.Findings[:len(report.Findings)-1], func(f a2a.Finding) bool { return []a2a.RuleResult{f.Strict, f.Wire}[i] == a2a.Broken })
			if broken != (err != nil) {
				t.Fatalf("%q: the linter says %v of profile %d, the reader %v", envelope, broken, i, err)
			}
		}
		for _, p := range []a2a.Profile{a2a.Strict, a2a.Wire} {
			if _, err := verifier(p).Verify(context.Background(), envelope); err != nil {
				if r, ok := errors.AsType[*a2a.Refusal](err); !ok || r.Reason == "" || r.Rule == "" {
					t.Fatalf("%q: %v", envelope, err)
				}
			}
		}
		if wire != nil {
			return
		}
		again, err := a2a.Read(e.Canonical(), a2a.Wire)
		if err != nil || !bytes.Equal(again.Canonical(), e.Canonical()) {
			t.Fatalf("%q has the canonical form %q, which is read as %v", envelope, e.Canonical(), err)
		}
		if s, err := a2a.SignText(envelope, a2a.Wire, keyOf(alice)); err == nil {
			if v, err := (a2a.Verifier{Profile: a2a.Wire, Keys: keyList{keyOf(alice).Public().(ed25519.PublicKey)}}).Authenticate(context.Background(), s.Text); err != nil || !bytes.Equal(v.Canonical(), e.Canonical()) {
				t.Fatalf("%q is signed and then refused: %v", envelope, err)
			}
		} else if len(envelope) < a2a.MaxEnvelope/8 {
			t.Fatalf("%q is read and not signed: %v", envelope, err)
		}
		var thread a2a.Thread
		next, err := thread.Next(a2a.EventOf(e, nil))
		if err == nil && next.State != "" && next.State != a2a.Offered {
			t.Fatalf("%q makes a new thread %s", envelope, next.State)
		}
	})
}

// FuzzSealedBody opens untrusted sealed bodies, and seals and opens valid bodies.
func FuzzSealedBody(f *testing.F) {
	f.Add([]byte(`{"type":"text"}`), "z6LSd1FDxqS6PDoWwxco3fnM3DGEuXyse6pr7uRRYamJDqit", "AAAAAAAAAAAAAAAA", "ObWXC6zMG9wzsDi3qsIEd27fWIqwiFpb8KDpXTTfEAuCuZEFRgpHhG9Al5jqNtzJRbHC")
	f.Add([]byte(`{"a":[1,"é"]}`), "z6LS", "", "AA==")
	f.Fuzz(func(t *testing.T, body []byte, epk, nonce, ct string) {
		b := []byte(`{"type":"encrypted","alg":"` + a2a.SealAlgorithm + `","v":1,"epk":`)
		b = append(jcs.AppendString(b, epk), `,"nonce":`...)
		b = append(jcs.AppendString(b, nonce), `,"ct":`...)
		b = append(jcs.AppendString(b, ct), '}')
		if opened, err := open(t, string(b)); err == nil {
			t.Fatalf("%s opens as %s", b, opened.Plaintext)
		}
		canonical, err := jcs.Canonicalize(body, jcs.Options{Depth: 512, Values: 4096})
		if err != nil || canonical[0] != '{' || len(canonical) > 40000 {
			return
		}
		m := a2a.Message{ID: a2a.NewID(), ThreadID: a2a.NewID(), Timestamp: noon, From: alice, To: bob, Body: a2a.Other{Kind: "x", JSON: body}}
		if err := m.Seal(keyOf(bob).Public().(ed25519.PublicKey)); err != nil {
			t.Fatalf("%q is not sealed: %v", body, err)
		}
		v, err := verifier(a2a.Strict).Verify(context.Background(), sign(t, m))
		if err != nil {
			t.Fatal(err)
		}
		opened, err := v.Open(keyOf(bob))
		if err != nil || !bytes.Equal(opened.Plaintext, canonical) || !opened.Canonical {
			t.Fatalf("%q is sealed and opens as %q, %v", body, opened.Plaintext, err)
		}
		if strings.Contains(string(v.Text), string(canonical)) && len(canonical) > 8 {
			t.Fatalf("%q is not hidden", body)
		}
	})
}
