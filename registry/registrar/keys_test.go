package registrar_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/registrar"
	"gazetteer/registry/resolve"
)

// rotation returns a rotation of an agent from one key to another.
func rotation(r *registrar.Registrar, a registry.Agent, from, to byte, now time.Time) registry.Rotation {
	return registry.NewRotation(r.DID(a.AirID), privateKey(from), privateKey(to), "", now)
}

func commitment(key byte) string {
	return registry.RecoveryCommitment(privateKey(key).Public().(ed25519.PublicKey))
}

func TestKeyLifecycle(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a := proved(t, r, 1, nil)
	c.Advance(24 * time.Hour)
	a, err := r.Rotate(t.Context(), a.AirID, rotation(r, a, 1, 2, c.Now()))
	if err != nil {
		t.Fatal(err)
	}
	// #key-1 is the current key; the old one is listed and may do nothing.
	d := r.DIDDocument(a)
	key, err := d.Key()
	if err != nil || did.FormatMultikey(key) != multikey(2) || len(d.VerificationMethod) != 2 || len(d.Authentication) != 1 {
		t.Fatalf("%v, %+v", err, d)
	}
	if old := d.VerificationMethod[1]; old.ID != d.ID+"#retired-1" || old.Revoked != "2026-05-05T03:02:01.000Z" || old.PublicKeyMultibase != multikey(1) {
		t.Errorf("the retired key stands as %+v", old)
	}
	if d.Vouches(privateKey(1).Public().(ed25519.PublicKey)) {
		t.Error("the document vouches for the retired key")
	}
	sameJSON(t, nil, airjson.NewKeysView(r, a), `{"air_id":"`+a.AirID+`","did":"`+d.ID+`","keys":[`+
		`{"id":"`+d.ID+`#key-1","publicKeyMultibase":"`+multikey(2)+`","from":"2026-05-05T03:02:01.000Z","until":null,"proof":"statement"},`+
		`{"id":"`+d.ID+`#retired-1","publicKeyMultibase":"`+multikey(1)+`","from":"2026-05-04T03:02:01.000Z","until":"2026-05-05T03:02:01.000Z","proof":"challenge","retired_by":"rotation"}]}`)
	// The old key signs no more writes, and no other agent gets it.
	description := "x"
	_, _, err = r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), changeDescription(description))
	refusal(t, err, "signature-invalid")
	if _, _, err := r.Update(t.Context(), a.AirID, by(t, r, a, 2, c.Now()), changeDescription(description)); err != nil {
		t.Error(err)
	}
	_, _, err = r.Register(t.Context(), someone(1))
	refusal(t, err, "key-taken")
	// Anybody can follow the chain from the history.
	history, _, err := r.History(t.Context(), a.AirID, 0, 1)
	if err != nil || history[0].Event != registry.EventRotated {
		t.Fatalf("%+v, %v", history, err)
	}
	for _, k := range []byte{1, 2} {
		signature, err := did.ParseSignature(history[0].Authority.Signatures[multikey(k)])
		if err != nil || !ed25519.Verify(privateKey(k).Public().(ed25519.PublicKey), []byte(history[0].Authority.Signed), signature) {
			t.Errorf("key %d did not sign the rotation: %v", k, err)
		}
	}
}

func TestRefusedRotations(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a, other := proved(t, r, 1, nil), proved(t, r, 9, nil)
	x := rotation(r, a, 1, 2, c.Now())
	if _, err := r.Rotate(t.Context(), a.AirID, x); err != nil {
		t.Fatal(err)
	}
	resigned := func(change func(x *registry.Rotation)) registry.Rotation {
		x := rotation(r, a, 2, 3, c.Now())
		change(&x)
		x.OldSignature = did.FormatSignature(ed25519.Sign(privateKey(2), x.Statement()))
		x.NewSignature = did.FormatSignature(ed25519.Sign(privateKey(3), x.Statement()))
		return x
	}
	unsigned := func(change func(x *registry.Rotation)) registry.Rotation {
		x := rotation(r, a, 2, 3, c.Now())
		change(&x)
		return x
	}
	for _, test := range []struct {
		name     string
		rotation registry.Rotation
		code     string
	}{
		{"replayed", x, "key-retired"},
		{"from a retired key", rotation(r, a, 1, 3, c.Now()), "key-retired"},
		{"from a key of nobody", rotation(r, a, 7, 3, c.Now()), "key-not-current"},
		{"to the same key", rotation(r, a, 2, 2, c.Now()), "key-same"},
		{"to a retired key", rotation(r, a, 2, 1, c.Now()), "key-used"},
		{"to another agent's key", rotation(r, a, 2, 9, c.Now()), "key-taken"},
		{"for another agent", rotation(r, other, 2, 3, c.Now()), "statement-agent"},
		{"an hour ago", rotation(r, a, 2, 3, c.Now().Add(-time.Hour)), "statement-created"},
		{"in an hour", rotation(r, a, 2, 3, c.Now().Add(time.Hour)), "statement-created"},
		{"to a key that did not sign", unsigned(func(x *registry.Rotation) { x.NewSignature = x.OldSignature }), "statement-signature"},
		{"not signed by the old key", unsigned(func(x *registry.Rotation) { x.OldSignature = x.NewSignature }), "statement-signature"},
		{"with another nonce than signed", unsigned(func(x *registry.Rotation) { x.Nonce += "x" }), "statement-signature"},
		{"with a commitment that was not signed", unsigned(func(x *registry.Rotation) { x.Commitment = commitment(5) }), "statement-signature"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := r.Rotate(t.Context(), a.AirID, test.rotation)
			refusal(t, err, test.code)
		})
	}
	zero := did.FormatMultikey(append([]byte{1}, make([]byte, 31)...)) // the neutral point
	for name, x := range map[string]registry.Rotation{
		"a neutral point": resigned(func(x *registry.Rotation) { x.To = zero }),
		"no key":          resigned(func(x *registry.Rotation) { x.To = "" }),
		"31 bytes":        resigned(func(x *registry.Rotation) { x.To = multikey(3)[:47] }),
		"a short nonce":   resigned(func(x *registry.Rotation) { x.Nonce = "1" }),
		"a long nonce":    resigned(func(x *registry.Rotation) { x.Nonce = strings.Repeat("n", 200) }),
		"a broken line":   resigned(func(x *registry.Rotation) { x.Nonce = "12345678\nto: x" }),
		"no commitment":   resigned(func(x *registry.Rotation) { x.Commitment = "md5:x" }),
	} {
		if _, err := r.Rotate(t.Context(), a.AirID, x); refused(t, err).Field == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	keyless, _ := register(t, r, registry.Registration{Name: "K", CreatorDID: "did:example:1"})
	if _, err := r.Rotate(t.Context(), keyless.AirID, rotation(r, keyless, 2, 3, c.Now())); !errors.Is(err, registry.ErrNoKey) {
		t.Errorf("an agent without a key: %v", err)
	}
	if _, err := r.Rotate(t.Context(), "AIR-0000-0000-0000", x); !errors.Is(err, registry.ErrNoAgent) {
		t.Errorf("no agent: %v", err)
	}
	if got, _, err := r.Agent(t.Context(), a.AirID); err != nil || len(got.Retired) != 1 || did.FormatMultikey(got.PublicKey) != multikey(2) {
		t.Errorf("after all that the agent has %+v, %v", got, err)
	}
}

// TestRotationsStopAtFullDisk checks the daily limit of key rotations of an agent, which exists
// because every entry of a history holds all retired keys. A recovery is still possible, and the
// next day rotations are.
func TestRotationsStopAtFullDisk(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a := proved(t, r, 1, nil)
	const most = 24
	for n := byte(1); n <= most; n++ {
		if _, err := r.Rotate(t.Context(), a.AirID, rotation(r, a, n, n+1, c.Now())); err != nil {
			t.Fatalf("rotation %d: %v", n, err)
		}
		c.Advance(time.Minute)
	}
	_, err := r.Rotate(t.Context(), a.AirID, rotation(r, a, most+1, most+2, c.Now()))
	refusal, ok := errors.AsType[*registry.Refusal](err)
	if !ok || !errors.Is(err, registry.ErrTooMany) || refusal.Code != "key-rotations" || refusal.Wait <= 0 || refusal.Wait > 24*time.Hour {
		t.Fatalf("one more: %v", err)
	}
	c.Advance(refusal.Wait)
	if _, err := r.Rotate(t.Context(), a.AirID, rotation(r, a, most+1, most+2, c.Now())); err != nil {
		t.Errorf("after the wait: %v", err)
	}
}

func TestConcurrentRotationsHaveOneWinner(t *testing.T) {
	r := open(t, registrar.Options{})
	a := proved(t, r, 1, nil)
	now := time.Now()
	var all []registry.Rotation
	for i := range byte(64) {
		all = append(all, rotation(r, a, 1, i+2, now))
	}
	won := race(t, 64, func(i int) error {
		_, err := r.Rotate(context.Background(), a.AirID, all[i])
		return err
	}, "key-retired")
	got, _, err := r.Agent(t.Context(), a.AirID)
	if won != 1 || err != nil || len(got.Retired) != 1 {
		t.Errorf("%d won, %d keys are retired, %v", won, len(got.Retired), err)
	}
}

func TestRotationProvesClaimedKey(t *testing.T) {
	r := open(t, registrar.Options{})
	a, _ := register(t, r, someone(1))
	a, err := r.Rotate(t.Context(), a.AirID, rotation(r, a, 1, 2, time.Now()))
	if err != nil || a.Retired[0].Proof == "" || a.KeyProof == "" {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestReadRotation(t *testing.T) {
	r := open(t, registrar.Options{})
	a := proved(t, r, 1, nil)
	x := registry.NewRotation(r.DID(a.AirID), privateKey(1), privateKey(2), commitment(5), time.Now())
	members := map[string]any{"agent": x.Agent, "current_key": keyText(1), "public_key": x.To, "created": x.Created.Format(time.RFC3339), "nonce": x.Nonce,
		"recovery_commitment": x.Commitment, "old_signature": x.OldSignature, "new_signature": x.NewSignature}
	body, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	got, err := airjson.ReadRotation(body)
	if err != nil || got != x {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err := r.Rotate(t.Context(), a.AirID, got); err != nil || got.Commitment != commitment(5) {
		t.Error(err)
	}
	for _, bad := range []string{`{}`, `[]`, `{"created":1}`, `{"created":"2026-01-01"}`, `{"created":"2026-01-01T00:00:00.5Z"}`, `{"created":"2026-01-01T01:00:00+01:00"}`, `{"created":"x","created":"y"}`} {
		_, err := airjson.ReadRotation([]byte(bad))
		refused(t, err)
		_, err = airjson.ReadRecovery([]byte(bad))
		refused(t, err)
	}
}

// recovery returns a recovery of an agent by one key to another.
func recovery(r *registrar.Registrar, a registry.Agent, current, by, to byte, next string, now time.Time) registry.Recovery {
	var key ed25519.PrivateKey
	if to != 0 {
		key = privateKey(to)
	}
	return registry.NewRecovery(r.DID(a.AirID), multikey(current), privateKey(by), key, next, now)
}

func TestRecoveryTakesEffectAfterDelay(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now, RecoveryDelay: 48 * time.Hour})
	a := proved(t, r, 1, map[string]any{"recovery_commitment": commitment(100)})
	asked := c.Now()
	a, err := r.Recover(t.Context(), a.AirID, recovery(r, a, 1, 100, 2, commitment(101), c.Now()))
	if err != nil || a.Recovery == nil || !a.Recovery.Due.Equal(asked.Add(48*time.Hour)) || did.FormatMultikey(a.PublicKey) != multikey(1) {
		t.Fatalf("%+v, %v", a, err)
	}
	// Until then the key in use signs, but a thief of it can neither rotate it
	// away nor end the agent.
	description := "still here"
	if _, _, err := r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), changeDescription(description)); err != nil {
		t.Error(err)
	}
	_, err = r.Rotate(t.Context(), a.AirID, rotation(r, a, 1, 3, c.Now()))
	refusal(t, err, "recovery-pending")
	_, err = r.Deactivate(t.Context(), a.AirID, by(t, r, a, 1, c.Now()))
	refusal(t, err, "recovery-pending")
	_, err = r.Erase(t.Context(), a.AirID, by(t, r, a, 1, c.Now()))
	refusal(t, err, "recovery-pending")
	c.Advance(48*time.Hour - time.Second)
	if got, _, err := r.Agent(t.Context(), a.AirID); err != nil || did.FormatMultikey(got.PublicKey) != multikey(1) {
		t.Fatalf("a second too early: %v", err)
	}
	c.Advance(time.Second)
	got, _, err := r.Agent(t.Context(), a.AirID)
	if err != nil || did.FormatMultikey(got.PublicKey) != multikey(2) || got.Commitment != commitment(101) || got.Recovery != nil {
		t.Fatalf("when it is due: %+v, %v", got, err)
	}
	// The next write keeps it, and the history says so.
	c.Advance(time.Hour)
	if got, _, err = r.Update(t.Context(), a.AirID, by(t, r, a, 2, c.Now()), changeDescription(description)); err != nil {
		t.Fatal(err)
	}
	if k := got.Retired[0]; !k.Until.Equal(asked.Add(48*time.Hour)) || k.By != "recovery" || !got.KeySince.Equal(k.Until) {
		t.Errorf("the old key was in use until %v (%s), the new one since %v", k.Until, k.By, got.KeySince)
	}
	history, _, err := r.History(t.Context(), a.AirID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, e := range history {
		events = append(events, e.Event)
	}
	if got := strings.Join(events, " "); got != "registered recovery-asked updated recovered updated" {
		t.Errorf("history: %s", got)
	}
}

// TestOldKeyDuringRecovery checks that the key, which may be a thief's, neither makes nor revokes
// attestations, and does not remove the addresses of the agent.
func TestOldKeyDuringRecovery(t *testing.T) {
	c, documents := newClock(), documents{}
	r := open(t, registrar.Options{Now: c.Now, Resolver: documents})
	documents["did:wba:a.example"] = 1
	a := proved(t, r, 1, map[string]any{"recovery_commitment": commitment(100), "creator_did": "did:wba:a.example"})
	known, _ := documents.owner(t, r, "known.example", 2)
	other, _ := documents.owner(t, r, "other.example", 3)
	c.Advance(31 * 24 * time.Hour)
	attest := func(subject registry.Agent, key byte) (registry.Attestation, error) {
		made, _, err := r.Attest(t.Context(), subject.AirID, signAttestation(t, subject.AirID, a, key, "dependency", c.Now()), by(t, r, a, key, c.Now()))
		return made, err
	}
	made, err := attest(known, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Recover(t.Context(), a.AirID, recovery(r, a, 1, 100, 7, "", c.Now())); err != nil {
		t.Fatal(err)
	}
	_, err = attest(other, 1)
	refusal(t, err, "recovery-pending")
	_, _, err = r.RevokeAttestation(t.Context(), known.AirID, made.N, by(t, r, a, 1, c.Now()))
	refusal(t, err, "recovery-pending")
	_, _, err = r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), registry.Update{Changed: []string{"service_endpoints"}})
	refusal(t, err, "recovery-pending")
	c.Advance(72 * time.Hour)
	documents["did:wba:a.example"] = 7
	if _, err = attest(other, 7); err != nil {
		t.Errorf("the new key: %v", err)
	}
}

func TestOnlyRecoveryKeyWithdrawsRecovery(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a := proved(t, r, 1, map[string]any{"recovery_commitment": commitment(100)})
	if _, err := r.Recover(t.Context(), a.AirID, recovery(r, a, 1, 100, 2, "", c.Now())); err != nil {
		t.Fatal(err)
	}
	_, err := r.Recover(t.Context(), a.AirID, recovery(r, a, 1, 1, 0, "", c.Now()))
	refusal(t, err, "recovery-key")
	a, err = r.Recover(t.Context(), a.AirID, recovery(r, a, 1, 100, 0, "", c.Now()))
	if err != nil || a.Recovery != nil {
		t.Fatal(err)
	}
	_, err = r.Recover(t.Context(), a.AirID, recovery(r, a, 1, 100, 0, "", c.Now()))
	refusal(t, err, "recovery-none-pending")
	c.Advance(30 * 24 * time.Hour)
	if got, _, err := r.Agent(t.Context(), a.AirID); err != nil || did.FormatMultikey(got.PublicKey) != multikey(1) {
		t.Errorf("a recovery that was withdrawn came into force: %v", err)
	}
}

func TestRefusedRecoveries(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	plain := proved(t, r, 1, nil)
	_, err := r.Recover(t.Context(), plain.AirID, recovery(r, plain, 1, 100, 2, "", c.Now()))
	refusal(t, err, "recovery-none")
	a := proved(t, r, 3, map[string]any{"recovery_commitment": commitment(100)})
	for _, test := range []struct {
		name     string
		recovery registry.Recovery
		code     string
	}{
		{"by a key not committed to", recovery(r, a, 3, 101, 4, "", c.Now()), "recovery-key"},
		{"for another agent", recovery(r, plain, 3, 100, 4, "", c.Now()), "statement-agent"},
		{"from another key", recovery(r, a, 1, 100, 4, "", c.Now()), "key-not-current"},
		{"old", recovery(r, a, 3, 100, 4, "", c.Now().Add(-time.Hour)), "statement-created"},
		{"to the recovery key itself", recovery(r, a, 3, 100, 100, "", c.Now()), "recovery-reused"},
		{"with the same recovery key next", recovery(r, a, 3, 100, 4, commitment(100), c.Now()), "recovery-reused"},
		{"with the new key as recovery key", recovery(r, a, 3, 100, 4, commitment(4), c.Now()), "recovery-reused"},
		{"to another agent's key", recovery(r, a, 3, 100, 1, "", c.Now()), "key-taken"},
		{"to the key in use", recovery(r, a, 3, 100, 3, "", c.Now()), "key-same"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := r.Recover(t.Context(), a.AirID, test.recovery)
			refusal(t, err, test.code)
		})
	}
	x := recovery(r, a, 3, 100, 4, "", c.Now())
	x.NewSignature = x.RecoverySignature
	_, err = r.Recover(t.Context(), a.AirID, x)
	refusal(t, err, "statement-signature")
	// A commitment that is set is changed by nothing but a recovery.
	other := commitment(102)
	_, _, err = r.Update(t.Context(), a.AirID, by(t, r, a, 3, c.Now()), registry.Update{Commitment: &other})
	refusal(t, err, "recovery-set")
	_, err = r.Rotate(t.Context(), a.AirID, registry.NewRotation(r.DID(a.AirID), privateKey(3), privateKey(5), other, c.Now()))
	refusal(t, err, "recovery-set")
	if got, fields, err := r.Update(t.Context(), plain.AirID, by(t, r, plain, 1, c.Now()), registry.Update{Commitment: &other}); err != nil || got.Commitment != other || fmt.Sprint(fields) != "[recovery_commitment]" {
		t.Errorf("a first commitment: %v, %v", fields, err)
	}
	if _, err := r.Recover(t.Context(), a.AirID, recovery(r, a, 3, 100, 4, "", c.Now())); err != nil {
		t.Fatal(err)
	}
	_, err = r.Recover(t.Context(), a.AirID, recovery(r, a, 3, 100, 6, "", c.Now()))
	refusal(t, err, "recovery-pending")
}

// TestThiefOfASecretCannotRecover commits to a recovery key with a secret, which many clients send with
// each write: the thief of one could replace the key 72 hours later, and the owner could not rotate it.
func TestThiefOfASecretCannotRecover(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a, secret := register(t, r, someone(1))
	thief, none := commitment(100), ""
	_, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, registry.Update{Commitment: &thief})
	refusal(t, err, "recovery-unsigned")
	if _, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, registry.Update{Commitment: &none}); !errors.Is(err, registry.ErrNothingToUpdate) {
		t.Error(err)
	}
	_, err = r.Recover(t.Context(), a.AirID, recovery(r, a, 1, 100, 2, "", c.Now()))
	refusal(t, err, "recovery-none")
	own := commitment(101)
	if a, _, err := r.Update(t.Context(), a.AirID, by(t, r, a, 1, c.Now()), registry.Update{Commitment: &own}); err != nil || a.Commitment != own {
		t.Errorf("signed: %v", err)
	}
}

func TestResolutions(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a := proved(t, r, 1, nil)
	v := r.Resolution(a, did.MethodWBA)
	if v.Document == nil || v.Document.ID != r.DID(a.AirID) || v.DocumentMetadata != (registry.DocumentMetadata{Created: "2026-05-04T03:02:01Z", VersionID: "1"}) {
		t.Errorf("%+v", v)
	}
	suspended, err := r.Suspend(t.Context(), a.AirID, "junk")
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Resolution(suspended, did.MethodWBA); v.Document != nil || v.Metadata.Error != "notFound" || v.DocumentMetadata.Deactivated {
		t.Errorf("suspended: %+v", v)
	}
	gone, err := r.Delete(t.Context(), a.AirID, "")
	if err != nil {
		t.Fatal(err)
	}
	if v := r.Resolution(gone, did.MethodWBA); v.Document != nil || v.Metadata.Error != "" || !v.DocumentMetadata.Deactivated {
		t.Errorf("gone: %+v", v)
	}
	d := r.RegistryDocument(privateKey(9).Public().(ed25519.PublicKey))
	if key, err := d.Key(); err != nil || did.FormatMultikey(key) != multikey(9) || d.ID != "did:wba:registry.test" || len(r.RegistryDocument(nil).VerificationMethod) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	// The resolver finds the registry's own agents without a request.
	b := proved(t, r, 2, nil)
	for _, test := range []struct {
		id   string
		ours bool
		want error
	}{
		{r.DID(b.AirID), true, nil}, {"did:web:registry.test:agents:" + b.AirID, true, nil}, {r.DID(a.AirID), true, registry.ErrGone}, {"did:wba:registry.test:agents:AIR-0000-0000-0000", true, registry.ErrNoAgent},
		{"did:wba:registry.test", true, registry.ErrNoAgent}, {"did:wba:other.test:agents:" + b.AirID, false, nil},
	} {
		w, err := did.ParseWeb(test.id)
		if err != nil {
			t.Fatal(err)
		}
		d, ours, err := r.Local(t.Context(), w)
		if ours != test.ours || !errors.Is(err, test.want) || ours && err == nil && d.ID != test.id || (err != nil) != errors.Is(err, resolve.ErrAbsent) {
			t.Errorf("%s: %+v, %t, %v", test.id, d, ours, err)
		}
	}
}
