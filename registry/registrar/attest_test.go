package registrar_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/internal/nameserver"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/attestation"
	"gazetteer/registry/evidence"
	"gazetteer/registry/registrar"
	"gazetteer/registry/resolve"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// documents resolves DIDs of other hosts: each to the key of that number.
type documents map[string]byte

func (d documents) Resolve(_ context.Context, id string) (resolve.Result, error) {
	n, ok := d[id]
	if !ok {
		return resolve.Result{}, resolve.ErrAbsent
	}
	key := id + did.KeyFragment
	return resolve.Result{URL: "https://there.test/did.json", Document: did.Document{ID: id, Authentication: []string{key},
		VerificationMethod: []did.VerificationMethod{{ID: key, Controller: id, PublicKeyMultibase: multikey(n)}}}}, nil
}

// owner registers an agent whose creator's DID is on a separate host and lists its key.
func (d documents) owner(t testing.TB, r *registrar.Registrar, host string, key byte) (registry.Agent, string) {
	t.Helper()
	d["did:wba:"+host] = key
	return register(t, r, registry.Registration{Name: host, PublicKey: keyText(key), CreatorDID: "did:wba:" + host})
}

// signAttestation returns a signed attestation of subject by an agent.
func signAttestation(t testing.TB, subject string, attester registry.Agent, key byte, kind string, now time.Time) attestation.Request {
	t.Helper()
	q := attestation.Request{Attester: attester.AirID, Type: kind, SignedAt: now.Format("2006-01-02T15:04:05.000Z"), Statement: "seen <it> & \"more\""}
	payload, err := q.Payload(subject)
	if err != nil {
		t.Fatal(err)
	}
	q.Signature = did.FormatSignature(ed25519.Sign(privateKey(key), payload))
	return q
}

// The numbers are those that the reference answered in the recording.
func TestAttestationWeightsMatchReference(t *testing.T) {
	c, d := newClock(), documents{}
	r := open(t, registrar.Options{Now: c.Now, Resolver: d})
	third, secret3 := d.owner(t, r, "deep.three.example.co.uk", 3)
	c.Advance(300 * 24 * time.Hour)
	first, secret1 := d.owner(t, r, "one.example", 1)
	second, secret2 := d.owner(t, r, "two.example.org", 2)
	c.Advance(100 * 24 * time.Hour)
	alice, _ := register(t, r, registry.Registration{Name: "Alice", PublicKey: keyText(4)})

	made, _, err := r.Attest(t.Context(), alice.AirID, signAttestation(t, alice.AirID, first, 1, "identity_verification", c.Now()), registry.Credentials{Secret: secret1})
	if err != nil || made.N != 1 || made.Root != "one.example" || made.Tenure != 1 || made.Trust != 375 || made.Weight != float64(made.Trust) {
		t.Fatalf("%+v, %v", made, err)
	}
	if _, _, err := r.Attest(t.Context(), alice.AirID, signAttestation(t, alice.AirID, second, 2, "dependency", c.Now()), registry.Credentials{Secret: secret2}); err != nil {
		t.Fatal(err)
	}
	made, alice, err = r.Attest(t.Context(), alice.AirID, signAttestation(t, alice.AirID, third, 3, "safety_review", c.Now()), registry.Credentials{Secret: secret3})
	if err != nil || made.Root != "example.co.uk" || made.Tenure != 1.5 {
		t.Fatalf("%+v, %v", made, err)
	}
	view := airjson.NewRecordView(r, alice)
	if s := view.VerificationStatus; !view.Verified || !s.Verified || s.Score != 1313 || s.AttestationCount != 3 || s.DistinctWhoisRoots != 3 || view.Evidence.Label != "Verified" {
		t.Errorf("%+v %+v", s, view.Evidence)
	}
	about, err := r.Attestations(t.Context(), alice)
	if err != nil || len(about) != 3 || !strings.HasPrefix(about[0].Payload, `{"attestation_type":"identity_verification","attester_air_id":"`+first.AirID+`","signed_at":"`) {
		t.Errorf("%+v, %v", about, err)
	}
	if recent, err := r.Recent(t.Context(), 2); err != nil || len(recent) != 2 || recent[0].N != 3 || recent[1].N != 2 {
		t.Errorf("%+v, %v", recent, err)
	}
	if history, n, err := r.History(t.Context(), alice.AirID, 1, 1); err != nil || n != 4 || history[0].Event != registry.EventAttested || history[0].Attestation.N != 1 {
		t.Errorf("%+v, %v", history, err)
	}

	// The answers have the shapes of the recording, member for member.
	stampOf := c.Now().Format("2006-01-02T15:04:05.000Z")
	graph, err := airjson.NewGraphView(t.Context(), r, alice)
	sameJSON(t, err, graph, fmt.Sprintf(`{"air_id":%q,"inbound":[`+
		`{"attester_air_id":%q,"attestation_type":"identity_verification","attester_whois_root":"one.example","weight":375,"signed_at":%[5]q},`+
		`{"attester_air_id":%[3]q,"attestation_type":"dependency","attester_whois_root":"example.org","weight":375,"signed_at":%[5]q},`+
		`{"attester_air_id":%[4]q,"attestation_type":"safety_review","attester_whois_root":"example.co.uk","weight":562.5,"signed_at":%[5]q}],`+
		`"outbound":[],"inbound_count":3,"outbound_count":0}`, alice.AirID, first.AirID, second.AirID, third.AirID, stampOf))
	dependents, err := airjson.NewDependentsView(t.Context(), r, alice, 0, 0)
	sameJSON(t, err, dependents, fmt.Sprintf(`{"air_id":%q,"dependents":[{"air_id":%q,"depth":1}],"total":1,"max_depth":6,"truncated":false}`, alice.AirID, second.AirID))
	stats, err := airjson.NewGraphStatsView(t.Context(), r)
	tops := []string{first.AirID, second.AirID, third.AirID}
	slices.Sort(tops)
	sameJSON(t, err, stats, fmt.Sprintf(`{"nodes":{"subjects":1,"attesters":3,"total_distinct":4},"edges":{"active":3,"by_type":{"dependency":1,"identity_verification":1,"safety_review":1}},`+
		`"top_attested":[{"air_id":%q,"count":3}],"top_attesters":[{"air_id":%q,"count":1},{"air_id":%q,"count":1},{"air_id":%q,"count":1}]}`, alice.AirID, tops[0], tops[1], tops[2]))
	sameJSON(t, nil, airjson.NewAttestedView(made, alice), fmt.Sprintf(`{"attestation_id":3,"subject_air_id":%q,"attester_air_id":%q,"attestation_type":"safety_review",`+
		`"statement":"seen \u003cit\u003e \u0026 \"more\"","signed_at":%q,"attester_whois_root":"example.co.uk","attester_trust_at_issue":375,"tenure_multiplier_at_issue":1.5,"weight":562.5,`+
		`"verified_status":{"verified":true,"verification_score":1313,"distinct_whois_roots":3,"attestation_count":3}}`, alice.AirID, third.AirID, stampOf))
	recent, err := airjson.NewRecentView(t.Context(), r, 1)
	sameJSON(t, err, recent, fmt.Sprintf(`{"attestations":[{"id":3,"subject_air_id":%q,"attester_air_id":%q,"attester_whois_root":"example.co.uk","attestation_type":"safety_review",`+
		`"statement":"seen \u003cit\u003e \u0026 \"more\"","signed_at":%[3]q,"weight":562.5,"created_at":%[3]q}],"total":1,"limit":1}`, alice.AirID, third.AirID, stampOf))

	// Revoking: only the attester, once.
	_, _, err = r.RevokeAttestation(t.Context(), alice.AirID, 1, registry.Credentials{Secret: secret2})
	if !errors.Is(err, registry.ErrWrongSecret) {
		t.Errorf("another's secret: %v", err)
	}
	_, alice, err = r.RevokeAttestation(t.Context(), alice.AirID, 1, registry.Credentials{Secret: secret1})
	if err != nil || alice.Standing.Count != 2 || airjson.NewRecordView(r, alice).Verified {
		t.Errorf("%+v, %v", alice.Standing, err)
	}
	_, _, err = r.RevokeAttestation(t.Context(), alice.AirID, 1, registry.Credentials{Secret: secret1})
	refusal(t, err, "attestation-revoked")
	_, _, err = r.Attest(t.Context(), alice.AirID, signAttestation(t, alice.AirID, first, 1, "identity_verification", c.Now()), registry.Credentials{Secret: secret1})
	refusal(t, err, "attestation-repeated")
	_, _, err = r.RevokeAttestation(t.Context(), alice.AirID, 999, registry.Credentials{Secret: secret1})
	refusal(t, err, "attestation-unknown")
	_, _, err = r.RevokeAttestation(t.Context(), first.AirID, 2, registry.Credentials{Secret: secret2})
	if refused(t, err).Message != "attestation does not belong to this subject" {
		t.Error(err)
	}
	_, _, err = r.RevokeAttestation(t.Context(), alice.AirID, 0, registry.Credentials{Secret: secret2})
	refused(t, err)

	list, err := airjson.NewAttestationListView(t.Context(), r, alice)
	if err != nil || list.Total != 3 || list.Active != 2 || list.Attestations[0].IsActive || list.Attestations[0].RevokedAt == nil || *list.Attestations[0].RevokedAt != stampOf ||
		list.Attestations[1].RevokedAt != nil || list.VerifiedStatus != (airjson.VerifiedStatus{VerificationScore: 938, DistinctWhoisRoots: 2, AttestationCount: 2}) {
		t.Errorf("%+v, %v", list, err)
	}

	// The attestations of an agent that has ended have no weight.
	if _, err := r.Delete(t.Context(), second.AirID, "by request"); err != nil {
		t.Fatal(err)
	}
	if alice, _, err = r.Agent(t.Context(), alice.AirID); err != nil || alice.Standing.Count != 1 {
		t.Errorf("after an attester was deleted: %+v, %v", alice.Standing, err)
	}
}

func TestRefusedAttestations(t *testing.T) {
	c, d := newClock(), documents{}
	r := open(t, registrar.Options{Now: c.Now, Resolver: d})
	attester, secret := d.owner(t, r, "one.example", 1)
	sibling, siblingSecret := d.owner(t, r, "www.one.example", 2)
	homeless, homelessSecret := register(t, r, someone(3))
	keyless, keylessSecret := register(t, r, registry.Registration{Name: "K", CreatorDID: "did:example:1"})
	c.Advance(40 * 24 * time.Hour)
	young, youngSecret := d.owner(t, r, "young.example", 5)
	alice, _ := register(t, r, someone(4))
	gone, _ := register(t, r, someone(6))
	if _, err := r.Delete(t.Context(), gone.AirID, ""); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Attest(t.Context(), alice.AirID, signAttestation(t, alice.AirID, attester, 1, "dependency", c.Now()), registry.Credentials{Secret: secret}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name    string
		subject string
		request attestation.Request
		secret  string
		code    string
	}{
		{"twice", alice.AirID, signAttestation(t, alice.AirID, attester, 1, "safety_review", c.Now()), secret, "attested"},
		{"by an agent of the same registrable domain", alice.AirID, signAttestation(t, alice.AirID, sibling, 2, "dependency", c.Now()), siblingSecret, "attester-shared-root"},
		{"by one's own second agent", attester.AirID, signAttestation(t, attester.AirID, sibling, 2, "dependency", c.Now()), siblingSecret, "attester-shared-root"},
		{"by an agent without a domain", alice.AirID, signAttestation(t, alice.AirID, homeless, 3, "dependency", c.Now()), homelessSecret, "attester-not-eligible"},
		{"by a young agent", alice.AirID, signAttestation(t, alice.AirID, young, 5, "dependency", c.Now()), youngSecret, "attester-not-eligible"},
		{"about one who is gone", gone.AirID, signAttestation(t, gone.AirID, attester, 1, "dependency", c.Now()), secret, "subject-inactive"},
		{"by nobody", alice.AirID, signAttestation(t, alice.AirID, registry.Agent{AirID: "AIR-0000-0000-0000"}, 1, "dependency", c.Now()), secret, "attester-unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := r.Attest(t.Context(), test.subject, test.request, registry.Credentials{Secret: test.secret})
			refusal(t, err, test.code)
		})
	}
	if _, _, err := r.Attest(t.Context(), alice.AirID, signAttestation(t, alice.AirID, keyless, 3, "dependency", c.Now()), registry.Credentials{Secret: keylessSecret}); !errors.Is(err, registry.ErrNoKey) {
		t.Errorf("by an agent without a key: %v", err)
	}
	_, _, err := r.Attest(t.Context(), alice.AirID, signAttestation(t, alice.AirID, attester, 1, "dependency", c.Now()), registry.Credentials{Secret: secret})
	view, _ := airjson.NewAttestationErrorView(err, alice.AirID)
	sameJSON(t, nil, view, `{"error":"an active attestation from this attester to this subject already exists","hint":"revoke the existing attestation before issuing a new one","attestation_id":1}`)
	_, _, err = r.Attest(t.Context(), alice.AirID, signAttestation(t, alice.AirID, young, 5, "dependency", c.Now()), registry.Credentials{Secret: youngSecret})
	if view, _ = airjson.NewAttestationErrorView(err, alice.AirID); view.Reason != "Lock 3: attester tenure 0.0d < required 30d" {
		t.Errorf("%+v", view)
	}
	_, _, err = r.Attest(t.Context(), "AIR-0000-0000-0000", signAttestation(t, "AIR-0000-0000-0000", attester, 1, "dependency", c.Now()), registry.Credentials{Secret: secret})
	view, _ = airjson.NewAttestationErrorView(err, "AIR-0000-0000-0000")
	sameJSON(t, nil, view, `{"error":"subject agent not found","air_id":"AIR-0000-0000-0000"}`)
	bob, _ := register(t, r, someone(7))
	for _, test := range []struct {
		name, says string
		request    attestation.Request
	}{
		{"by oneself", "self-attestation is not allowed", signAttestation(t, bob.AirID, bob, 7, "dependency", c.Now())},
		{"of another type", "invalid attestation_type", signAttestation(t, bob.AirID, attester, 1, "nope", c.Now())},
		{"signed two hours ago", "too old", signAttestation(t, bob.AirID, attester, 1, "dependency", c.Now().Add(-2*time.Hour))},
		{"signed in ten minutes", "in the future", signAttestation(t, bob.AirID, attester, 1, "dependency", c.Now().Add(10*time.Minute))},
		{"signed for another", "Lock 1", signAttestation(t, alice.AirID, attester, 1, "dependency", c.Now())},
		{"signed with another key", "Lock 1", signAttestation(t, bob.AirID, attester, 2, "dependency", c.Now())},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := r.Attest(t.Context(), bob.AirID, test.request, registry.Credentials{Secret: secret})
			if e := refused(t, err); !strings.Contains(e.Message, test.says) {
				t.Errorf("%+v", e)
			}
		})
	}
	q := signAttestation(t, bob.AirID, attester, 1, "dependency", c.Now())
	for _, who := range []registry.Credentials{{}, registry.Credentials{Secret: "x"}} {
		if _, _, err := r.Attest(t.Context(), bob.AirID, q, who); !errors.Is(err, registry.ErrNoSecret) && !errors.Is(err, registry.ErrWrongSecret) {
			t.Errorf("%+v: %v", who, err)
		}
	}
	// The domain must vouch for the key at that very time.
	delete(d, "did:wba:one.example")
	_, _, err = r.Attest(t.Context(), bob.AirID, q, registry.Credentials{Secret: secret})
	refusal(t, err, "attester-not-eligible")
	d["did:wba:one.example"] = 9
	_, _, err = r.Attest(t.Context(), bob.AirID, q, registry.Credentials{Secret: secret})
	refusal(t, err, "attester-not-eligible")
}

// TestRevokedAttestationIsNotRestored checks that the same signed attestation is refused after its
// revocation, also by a registry that was started anew, and that one signed later is stored.
func TestRevokedAttestationIsNotRestored(t *testing.T) {
	c, d, store := newClock(), documents{}, openStore(t)
	r := open(t, registrar.Options{Store: store, Now: c.Now, Resolver: d})
	attester, secret := d.owner(t, r, "one.example", 1)
	c.Advance(40 * 24 * time.Hour)
	alice, _ := register(t, r, someone(4))
	signed := signAttestation(t, alice.AirID, attester, 1, "dependency", c.Now())
	owner := registry.Credentials{Secret: secret}
	made, _, err := r.Attest(t.Context(), alice.AirID, signed, owner)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.RevokeAttestation(t.Context(), alice.AirID, made.N, owner); err != nil {
		t.Fatal(err)
	}
	c.Advance(59 * time.Minute)
	for _, r := range []*registrar.Registrar{r, open(t, registrar.Options{Store: store, Now: c.Now, Resolver: d})} {
		_, _, err := r.Attest(t.Context(), alice.AirID, signed, owner)
		refusal(t, err, "attestation-repeated")
	}
	if _, _, err := r.Attest(t.Context(), alice.AirID, signAttestation(t, alice.AirID, attester, 1, "dependency", c.Now()), owner); err != nil {
		t.Error(err)
	}
}

// TestAttestationCountsWhileItsAttesterShowsItsDomain checks the evidence, a directory that has followed the
// changes, and a new one.
func TestAttestationCountsWhileItsAttesterShowsItsDomain(t *testing.T) {
	c, documents, ns, s := newClock(), documents{}, nameserver.New(t), openStore(t)
	r := open(t, registrar.Options{Now: c.Now, Resolver: documents, Store: s, DNS: evidence.NewDNS(ns.Address)})
	attester := proved(t, r, 1, nil)
	ns.Publish("_gazetteer.example.com", r.DomainRecord(attester))
	prove(t, r, c, attester, 1, "example.com")
	subject, _ := documents.owner(t, r, "subject.example", 2)
	d, wait := running(t, s, r)
	c.Advance(31 * 24 * time.Hour)
	if _, _, err := r.Attest(t.Context(), subject.AirID, signAttestation(t, subject.AirID, attester, 1, "dependency", c.Now()), by(t, r, attester, 1, c.Now())); err != nil {
		t.Fatal(err)
	}
	counts := func(when string, want bool, detail string) {
		t.Helper()
		wait()
		now, _, err := r.Agent(t.Context(), subject.AirID)
		if err != nil {
			t.Fatal(err)
		}
		fresh, _ := running(t, s, r)
		signal := collectEvidence(t, r, now, registry.SignalAttestations)[0]
		if got := shows(t, r, now, registry.SignalAttestations); got != want || slices.Contains(attested(d), subject.AirID) != want || slices.Contains(attested(fresh), subject.AirID) != want || signal.Holds != want || signal.Detail != detail {
			t.Errorf("%s: it counts %t, want %t; listed %v, after a restart %v, %+v", when, got, want, attested(d), attested(fresh), signal)
		}
	}
	const ended = "1 more are not counted: the attester is suspended, or has not proved its domain again"
	counts("at first", true, "")
	if _, err := r.Suspend(t.Context(), attester.AirID, "sells attestations"); err != nil {
		t.Fatal(err)
	}
	counts("the attester is suspended", false, ended)
	if _, err := r.Restore(t.Context(), attester.AirID); err != nil {
		t.Fatal(err)
	}
	counts("the suspension ended", true, "")
	ns.Publish("_gazetteer.example.com")
	for range 2 {
		c.Advance(24 * time.Hour)
		if err := r.Recheck(t.Context(), attester.AirID); err != nil {
			t.Fatal(err)
		}
	}
	counts("two checks of the domain failed", true, "")
	c.Advance(24 * time.Hour)
	if err := r.Recheck(t.Context(), attester.AirID); err != nil {
		t.Fatal(err)
	}
	counts("the proof of the domain was withdrawn", false, ended)
	ns.Publish("_gazetteer.example.com", r.DomainRecord(attester))
	c.Advance(time.Hour)
	prove(t, r, c, attester, 1, "example.com")
	counts("the domain is proved again", true, "")
}

// TestNamesOfProvidersCountAsOneDomain checks attesters whose names cost nothing: three of them with enough
// weight verify nobody, and the evidence says what they cost.
func TestNamesOfProvidersCountAsOneDomain(t *testing.T) {
	c, documents := newClock(), documents{}
	r := open(t, registrar.Options{Now: c.Now, Resolver: documents})
	subject, _ := documents.owner(t, r, "subject.example", 9)
	names := []string{"a.github.io", "b.github.io", "c.netlify.app", "other.example"}
	var attesters []registry.Agent
	var secrets []string
	for i, name := range names {
		attester, secret := documents.owner(t, r, name, byte(i+1))
		attesters, secrets = append(attesters, attester), append(secrets, secret)
	}
	c.Advance(400 * 24 * time.Hour)
	for i, want := range []struct {
		roots              int
		what, detail, cost string
	}{
		{1, "by agents of 1 domain", "", "an account at the provider of the name, which may cost nothing, and 30 days of waiting"},
		{1, "by agents of 1 domain", "2 names of providers, such as a.github.io, count as one domain", "an account at the provider of the name, which may cost nothing, and 30 days of waiting"},
		{1, "by agents of 1 domain", "3 names of providers, such as a.github.io, count as one domain", "an account at the provider of the name, which may cost nothing, and 30 days of waiting"},
		{2, "by agents of 2 domains", "3 names of providers, such as a.github.io, count as one domain", "one registrable domain for each, and 30 days of waiting"},
	} {
		_, now, err := r.Attest(t.Context(), subject.AirID, signAttestation(t, subject.AirID, attesters[i], byte(i+1), "dependency", c.Now()), registry.Credentials{Secret: secrets[i]})
		if err != nil {
			t.Fatal(err)
		}
		signal := collectEvidence(t, r, now, registry.SignalAttestations)[0]
		if now.Standing.Roots != want.roots || now.Standing.IsVerified() || signal.What != want.what || signal.Detail != want.detail || signal.Cost != want.cost {
			t.Errorf("after %s: %+v, %+v", names[i], now.Standing, signal)
		}
		if i == 2 && now.Standing.Weight < registry.VerifiedWeight {
			t.Errorf("the weight %v is too low to show anything", now.Standing.Weight)
		}
	}
}

func TestReadAttestation(t *testing.T) {
	good := `{"attester_air_id":"AIR-0000-0000-0000","attestation_type":"dependency","signed_at":"2026-01-01T00:00:00Z","statement":"","signature_multibase":"z1"}`
	if q, err := airjson.ReadAttestation([]byte(good)); err != nil || q.Attester != "AIR-0000-0000-0000" || q.Signature != "z1" {
		t.Errorf("%+v, %v", q, err)
	}
	for body, says := range map[string]string{
		`{`: "invalid JSON body", `{}`: "missing or invalid 'attester_air_id'", `{"attester_air_id":5}`: "attester_air_id",
		`{"attester_air_id":"x","attestation_type":"y","signed_at":"z"}`: "missing or invalid 'signature_multibase'",
	} {
		if _, err := airjson.ReadAttestation([]byte(body)); !strings.Contains(refused(t, err).Message, says) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestAttestationRingDoesNotCount checks that attestations of fifty agents in a ring, each with its
// own domain, do not count.
func TestAttestationRingDoesNotCount(t *testing.T) {
	c, d := newClock(), documents{}
	r := open(t, registrar.Options{Now: c.Now, Resolver: d})
	var agents []registry.Agent
	var secrets []string
	for i := range 50 {
		a, secret := d.owner(t, r, fmt.Sprintf("ring%d.example", i), byte(i+1))
		agents, secrets = append(agents, a), append(secrets, secret)
	}
	// Fresh ones cannot attest at all.
	_, _, err := r.Attest(t.Context(), agents[1].AirID, signAttestation(t, agents[1].AirID, agents[0], 1, "dependency", c.Now()), registry.Credentials{Secret: secrets[0]})
	refusal(t, err, "attester-not-eligible")
	c.Advance(31 * 24 * time.Hour)
	for i := range 50 {
		subject := agents[(i+1)%50].AirID
		made, _, err := r.Attest(t.Context(), subject, signAttestation(t, subject, agents[i], byte(i+1), "dependency", c.Now()), registry.Credentials{Secret: secrets[i]})
		if err != nil || (made.Weight == 0) != (i == 49) || (made.Why != "") != (i == 49) {
			t.Fatalf("%d: %+v, %v", i, made, err)
		}
	}
	for i := range 50 {
		a, _, err := r.Agent(t.Context(), agents[i].AirID)
		if err != nil || airjson.NewRecordView(r, a).Verified {
			t.Fatalf("%d: verified by a ring, %v", i, err)
		}
		signals, err := r.Evidence(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range signals {
			if s.Signal == registry.SignalAttestations && (s.Holds || s.Detail == "") {
				t.Fatalf("%d: %+v", i, s)
			}
		}
	}
}

func TestAttestationsPerWeekAreLimited(t *testing.T) {
	c, d := newClock(), documents{}
	r := open(t, registrar.Options{Now: c.Now, Resolver: d})
	a, secret := d.owner(t, r, "one.example", 1)
	c.Advance(31 * 24 * time.Hour)
	attest := func(n byte) error {
		subject, _ := register(t, r, someone(n))
		made, _, err := r.Attest(t.Context(), subject.AirID, signAttestation(t, subject.AirID, a, 1, "dependency", c.Now()), registry.Credentials{Secret: secret})
		if err == nil {
			// Revoking does not make room.
			_, _, err = r.RevokeAttestation(t.Context(), subject.AirID, made.N, registry.Credentials{Secret: secret})
		}
		return err
	}
	for n := range byte(10) {
		if err := attest(n + 10); err != nil {
			t.Fatal(err)
		}
	}
	refusal(t, attest(30), "attester-not-eligible")
	c.Advance(8 * 24 * time.Hour)
	if err := attest(31); err != nil {
		t.Error(err)
	}
}

func TestConcurrentAttestationsAllCount(t *testing.T) {
	c, d := newClock(), documents{}
	s := openStore(t)
	r := open(t, registrar.Options{Now: c.Now, Resolver: d, Store: s})
	var agents []registry.Agent
	var secrets []string
	for i := range 16 {
		a, secret := d.owner(t, r, fmt.Sprintf("a%d.example", i), byte(i+1))
		agents, secrets = append(agents, a), append(secrets, secret)
	}
	c.Advance(31 * 24 * time.Hour)
	subject, _ := register(t, r, someone(99))
	var requests []attestation.Request
	for i, a := range agents {
		requests = append(requests, signAttestation(t, subject.AirID, a, byte(i+1), "dependency", c.Now()))
	}
	if won := race(t, 16, func(i int) error {
		_, _, err := r.Attest(context.Background(), subject.AirID, requests[i], registry.Credentials{Secret: secrets[i]})
		return err
	}); won != 16 {
		t.Fatalf("%d of 16 were stored", won)
	}
	got, _, err := r.Agent(t.Context(), subject.AirID)
	if err != nil || got.Standing.Count != 16 || got.Standing.Roots != 16 || len(got.Attested) != 16 {
		t.Errorf("%+v, %v", got.Standing, err)
	}
	// The numbers have no gaps, also after a restart of the registry.
	if recent, err := open(t, registrar.Options{Store: s}).Recent(t.Context(), 200); err != nil || len(recent) != 16 || recent[0].N != 16 {
		t.Errorf("%d recent, %v", len(recent), err)
	}
}

func TestErasureKeepsName(t *testing.T) {
	c, d := newClock(), documents{}
	s := openStore(t)
	r := open(t, registrar.Options{Now: c.Now, Resolver: d, Store: s})
	attester, secret := d.owner(t, r, "one.example", 1)
	handle := "somebody"
	if _, _, err := r.Update(t.Context(), attester.AirID, by(t, r, attester, 1, c.Now()), registry.Update{Username: &handle}); err != nil {
		t.Fatal(err)
	}
	c.Advance(31 * 24 * time.Hour)
	subject, _ := register(t, r, registry.Registration{Name: "Subject", PublicKey: keyText(2)})
	if _, _, err := r.Attest(t.Context(), subject.AirID, signAttestation(t, subject.AirID, attester, 1, "dependency", c.Now()), registry.Credentials{Secret: secret}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Erase(t.Context(), attester.AirID, registry.Credentials{Secret: "wrong"}); !errors.Is(err, registry.ErrWrongSecret) {
		t.Error(err)
	}
	erased, err := r.Erase(t.Context(), attester.AirID, registry.Credentials{Secret: secret})
	if err != nil || erased.Status != registry.Erased || erased.Name != "" || len(erased.PublicKey) != 0 || erased.CreatorDID != "" {
		t.Fatalf("%+v, %v", erased, err)
	}
	if !errors.Is(erased.Resolvable(), registry.ErrGone) {
		t.Error(erased.Resolvable())
	}
	// Nothing of the content is left, but the fact that there was some.
	for record, err := range s.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"one.example", "seen", "signed_payload\":\"{"} {
			if strings.Contains(string(record.Value), text) {
				t.Errorf("%s is in %s: %s", text, record.Key, record.Value)
			}
		}
	}
	history, _, err := r.History(t.Context(), attester.AirID, 0, 0)
	if err != nil || len(history) != 1 || history[0].Event != registry.EventErased || history[0].Agent != nil {
		t.Errorf("%+v, %v", history, err)
	}
	if got, _, err := r.Agent(t.Context(), subject.AirID); err != nil || got.Standing.Count != 0 {
		t.Errorf("the erased agent still vouches: %+v, %v", got.Standing, err)
	}
	// Its key cannot be registered again, its handle is reserved, its number is not assigned again.
	_, _, err = r.Register(t.Context(), someone(1))
	refusal(t, err, "key-taken")
	if v, err := r.CheckUsername(t.Context(), handle); err != nil || v.Reason != "cooldown" {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := r.Erase(t.Context(), attester.AirID, registry.Credentials{Secret: secret}); !errors.Is(err, registry.ErrWrongSecret) && !errors.Is(err, registry.ErrGone) {
		t.Error(err)
	}
	other, otherSecret := d.owner(t, r, "other.example", 5)
	c.Advance(31 * 24 * time.Hour)
	if made, _, err := r.Attest(t.Context(), subject.AirID, signAttestation(t, subject.AirID, other, 5, "dependency", c.Now()), registry.Credentials{Secret: otherSecret}); err != nil || made.N != 2 {
		t.Errorf("%+v, %v", made, err)
	}
	if _, err := r.EraseByOperator(t.Context(), subject.AirID); err != nil {
		t.Error(err)
	}
}

// TestErasureOfAttesterOnFullDisk erases an agent that has issued attestations while the disk is
// full: the revocations make the histories of the subjects longer than what is erased, so they use
// the reserve. Without a reserve nothing changes.
func TestErasureOfAttesterOnFullDisk(t *testing.T) {
	const issued, inWindow = 50, 10
	c, d := newClock(), documents{}
	dir := filepath.Join(t.TempDir(), "data")
	openFull := func(minFree int64) (*boltstore.Store, *registrar.Registrar) {
		s, err := boltstore.Open(t.Context(), dir, boltstore.Options{MinFree: minFree})
		if err != nil {
			t.Fatal(err)
		}
		return s, open(t, registrar.Options{Now: c.Now, Resolver: d, Store: s})
	}
	s, r := openFull(-1)
	attester, secret := d.owner(t, r, "one.example", 1)
	who := registry.Credentials{Secret: secret}
	c.Advance(31 * 24 * time.Hour)
	var subjects []string
	for n := range issued {
		if n > 0 && n%inWindow == 0 {
			c.Advance(8 * 24 * time.Hour)
		}
		subject, _ := register(t, r, someone(byte(2+n)))
		subjects = append(subjects, subject.AirID)
		if _, _, err := r.Attest(t.Context(), subject.AirID, signAttestation(t, subject.AirID, attester, 1, "dependency", c.Now()), who); err != nil {
			t.Fatal(err)
		}
	}
	upkeep, err := s.Upkeep(t.Context())
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	free := upkeep.DiskFree
	if free <= 0 {
		t.Fatal("the free space of the disk is unknown")
	}

	s, r = openFull(3 * free)
	head := s.Head()
	if _, err := r.Erase(t.Context(), attester.AirID, who); !errors.Is(err, store.ErrFull) || s.Head() != head {
		t.Errorf("below the reserve: %v, want ErrFull; the store was changed: %v", err, s.Head() != head)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, r = openFull(free + free/4)
	defer s.Close()
	if _, _, err := r.Register(t.Context(), someone(100)); !errors.Is(err, store.ErrFull) {
		t.Errorf("a registration: %v, want ErrFull", err)
	}
	if erased, err := r.Erase(t.Context(), attester.AirID, who); err != nil || erased.Status != registry.Erased {
		t.Fatalf("%+v, %v", erased, err)
	}
	for _, airID := range subjects {
		subject, _, err := r.Agent(t.Context(), airID)
		if err != nil {
			t.Fatal(err)
		}
		about, err := r.Attestations(t.Context(), subject)
		if err != nil || subject.Standing.Count != 0 || len(about) != 1 || about[0].Revoked.IsZero() || about[0].Statement != "" {
			t.Errorf("%s: %+v, %+v, %v", airID, subject.Standing, about, err)
		}
		if history, _, err := r.History(t.Context(), airID, 0, 0); err != nil || len(history) == 0 || history[len(history)-1].Event != registry.EventRevoked {
			t.Errorf("%s: %+v, %v", airID, history, err)
		}
	}
}

func TestErasureOfLongHistory(t *testing.T) {
	s := openStore(t)
	r := open(t, registrar.Options{Store: s})
	a, secret := register(t, r, someone(1))
	record, err := s.Get(t.Context(), store.AgentKey(a.AirID))
	if err != nil {
		t.Fatal(err)
	}
	const entries = 25_000
	a.Entries = entries
	value, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	writes := []store.Write{store.PutIf(record.Key, value, record.Seq)}
	for n := 2; n <= entries; n++ {
		writes = append(writes, store.Put(store.EntryKey(a.AirID, n), []byte("{}")))
	}
	for part := range slices.Chunk(writes, 10_000) {
		if _, err := s.Apply(t.Context(), part...); err != nil {
			t.Fatal(err)
		}
	}
	left := func() (n int) {
		for _, err := range s.List(t.Context(), store.EntriesOf(a.AirID), "") {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	if _, err := r.Erase(t.Context(), a.AirID, registry.Credentials{Secret: secret}); err != nil || left() != 1 {
		t.Fatalf("%d entries are left, %v", left(), err)
	}
	// What a crash left behind, the operator can remove.
	if _, err := s.Apply(t.Context(), store.Put(store.EntryKey(a.AirID, 20_000), []byte("{}"))); err != nil {
		t.Fatal(err)
	}
	if _, err := r.EraseByOperator(t.Context(), a.AirID); err != nil || left() != 1 {
		t.Errorf("%d entries are left, %v", left(), err)
	}
}

func TestDeactivationIsPermanent(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a, secret := register(t, r, someone(1))
	handle := "somebody"
	if _, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, registry.Update{Username: &handle}); err != nil {
		t.Fatal(err)
	}
	c.Advance(30 * 24 * time.Hour) // others have come to know the handle
	if _, err := r.Deactivate(t.Context(), a.AirID, registry.Credentials{Secret: "x"}); !errors.Is(err, registry.ErrWrongSecret) {
		t.Error(err)
	}
	a, err := r.Deactivate(t.Context(), a.AirID, registry.Credentials{Secret: secret})
	if err != nil || a.Status != registry.Deactivated || a.Handle != "" {
		t.Fatalf("%+v, %v", a, err)
	}
	if !errors.Is(a.Resolvable(), registry.ErrGone) {
		t.Error(a.Resolvable())
	}
	_, _, err = r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, registry.Update{Username: &handle})
	refusal(t, err, registry.Deactivated)
	_, err = r.Rotate(t.Context(), a.AirID, rotation(r, a, 1, 2, c.Now()))
	refusal(t, err, registry.Deactivated)
	_, err = r.Deactivate(t.Context(), a.AirID, registry.Credentials{Secret: secret})
	refusal(t, err, registry.Deactivated)
	_, err = r.Restore(t.Context(), a.AirID)
	refusal(t, err, "not-suspended")
	if v, err := r.CheckUsername(t.Context(), handle); err != nil || v.Reason != "cooldown" {
		t.Errorf("%+v, %v", v, err)
	}
	// What it signed before can still be judged.
	if keys := a.Keys(); len(keys) != 1 || did.FormatMultikey(keys[0].PublicKey) != multikey(1) {
		t.Errorf("its keys are %+v", keys)
	}
	if agents, _, err := r.List(t.Context(), registry.Filter{}, "", 0); err != nil || len(agents) != 0 {
		t.Errorf("%d agents are listed, %v", len(agents), err)
	}
	if agents, _, err := r.List(t.Context(), registry.Filter{All: true}, "", 0); err != nil || len(agents) != 1 {
		t.Errorf("%d of all agents are listed, %v", len(agents), err)
	}
	bob, bobs := register(t, r, someone(2))
	claim := func() error {
		_, _, err := r.Update(t.Context(), bob.AirID, registry.Credentials{Secret: bobs}, registry.Update{Username: &handle})
		return err
	}
	ended := c.Now()
	c.Advance(30*24*time.Hour - time.Second)
	var taken *registry.HandleTakenError
	if err := claim(); !errors.As(err, &taken) || !taken.Free.Equal(ended.Add(30*24*time.Hour)) {
		t.Errorf("its handle, claimed within 30 days: %v", err)
	}
	c.Advance(time.Second)
	if err := claim(); err != nil {
		t.Errorf("its handle, claimed after 30 days: %v", err)
	}
}

func TestSuspensionEnds(t *testing.T) {
	r := open(t, registrar.Options{})
	a, secret := register(t, r, someone(1))
	a, err := r.Suspend(t.Context(), a.AirID, "sends junk")
	if err != nil || !errors.Is(a.Resolvable(), registry.ErrForbidden) || !strings.Contains(a.Resolvable().Error(), "sends junk") {
		t.Fatalf("%+v, %v", a, err)
	}
	// The operator is not told to ask the operator.
	_, err = r.Suspend(t.Context(), a.AirID, "sends more junk")
	refusal(t, err, "suspended-already")
	if !strings.Contains(err.Error(), `"sends junk"`) || strings.Contains(err.Error(), "ask the operator") {
		t.Error(err)
	}
	description := "x"
	_, _, err = r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, changeDescription(description))
	refusal(t, err, "suspended")
	_, err = r.Erase(t.Context(), a.AirID, registry.Credentials{Secret: secret})
	refusal(t, err, "suspended")
	if a, err = r.Restore(t.Context(), a.AirID); err != nil || a.Resolvable() != nil || a.Reason != "" {
		t.Errorf("%+v, %v", a, err)
	}
	if _, _, err = r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, changeDescription(description)); err != nil {
		t.Error(err)
	}
	if _, err := r.Delete(t.Context(), a.AirID, "x"); err != nil {
		t.Error(err)
	}
	if _, err := r.Delete(t.Context(), a.AirID, "x"); !errors.Is(err, registry.ErrNoAgent) {
		t.Errorf("deleted twice: %v", err)
	}
}

// The formula is the reference's: SHA-256 over six lines.
func TestHistoryIsChained(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a, secret := register(t, r, someone(1))
	description, open := "x", true
	if _, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, registry.Update{Description: description, Editable: registry.Editable{OpenSource: open}, Changed: []string{"open_source", "description"}}); err != nil {
		t.Fatal(err)
	}
	history, n, err := r.History(t.Context(), a.AirID, 0, 0)
	if err != nil || n != 2 {
		t.Fatal(n, err)
	}
	first := sha(a.AirID + "\nregistered\n\nregistrant\n2026-05-04T03:02:01.000Z\nGENESIS")
	second := sha(a.AirID + "\nupdated\n[\"description\",\"open_source\"]\nowner\n2026-05-04T03:02:01.000Z\n" + first)
	if history[0].Hash != first || history[0].PrevHash != "GENESIS" || history[1].Hash != second || history[1].PrevHash != first {
		t.Errorf("%+v", history)
	}
	text, err := json.Marshal(history)
	if err != nil || strings.Contains(string(text), "secret_hash") || strings.Contains(string(text), `"nonces"`) {
		t.Errorf("the history holds what is nobody's business: %s, %v", text, err)
	}
	if _, _, err := r.History(t.Context(), "AIR-0000-0000-0000", 0, 0); !errors.Is(err, registry.ErrNoAgent) {
		t.Error(err)
	}
}

// sameJSON compares an answer with JSON, member for member in order.
func sameJSON(t testing.TB, err error, got any, want string) {
	t.Helper()
	text, wrong := json.Marshal(got)
	if err != nil || wrong != nil || string(text) != want {
		t.Errorf("%v %v\ngot  %s\nwant %s", err, wrong, text, want)
	}
}

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
