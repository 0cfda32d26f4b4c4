package registrar_test

import (
	"testing"

	"gazetteer/api/airjson"
)

// FuzzReadBodies checks that every body is read or refused with words.
func FuzzReadBodies(f *testing.F) {
	f.Add([]byte(`{"name":"A","public_key":"x","proof":{"challenge":"c","signature":"z"},"no_secret":true,"recovery_commitment":null}`))
	f.Add([]byte(`{"agent":"did:wba:a.test","current_key":"z6Mk","public_key":"","created":"2026-01-01T00:00:00Z","nonce":"12345678"}`))
	f.Add([]byte(`{"attester_air_id":"AIR-0000-0000-0000","attestation_type":"dependency","signed_at":"2026","signature_multibase":"z","x":1e999}`))
	f.Add([]byte(`{"name":"\ud83d\ude00","n":123456789012345678901234567890,"m":-0.0}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for name, read := range map[string]func() error{
			"registration": func() error { _, err := airjson.ReadRegistration(body); return err },
			"update":       func() error { _, err := airjson.ReadUpdate(body); return err },
			"rotation":     func() error { _, err := airjson.ReadRotation(body); return err },
			"recovery":     func() error { _, err := airjson.ReadRecovery(body); return err },
			"attestation":  func() error { _, err := airjson.ReadAttestation(body); return err },
		} {
			if err := read(); err != nil {
				if e := refused(t, err); len(e.Error()) > 10000 {
					t.Errorf("%s: %d bytes of words", name, len(e.Error()))
				}
			}
		}
	})
}
