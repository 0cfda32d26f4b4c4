package airjson

import (
	"bytes"
	"testing"
)

// FuzzCanonicalRegistration checks that the text that a proof signs does not depend on the spelling
// of a registration, and does not contain the proof.
func FuzzCanonicalRegistration(f *testing.F) {
	f.Add([]byte(`{"name":"A","public_key":"x","proof":{"challenge":"c","signature":"z"},"no_secret":true}`))
	f.Add([]byte(`{"name":"\ud83d\ude00","n":123456789012345678901234567890,"m":-0.0}`))
	f.Add([]byte(`{"proof":1}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := ReadRegistration(body); err != nil {
			return
		}
		first, err := canonicalWithout(body, "proof")
		if err != nil {
			return // a number that has no canonical form
		}
		spaced, err := canonicalWithout(append([]byte(" \n"), body...), "proof")
		if err != nil || !bytes.Equal(first, spaced) {
			t.Errorf("%v: %s is not %s", err, spaced, first)
		}
		again, err := canonicalWithout(first, "proof")
		if err != nil || !bytes.Equal(first, again) {
			t.Errorf("%v: %s is not %s", err, again, first)
		}
	})
}
