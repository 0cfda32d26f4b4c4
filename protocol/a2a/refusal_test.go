package a2a_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/protocol/jcs"

	"github.com/mr-tron/base58"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	alice = "did:wba:agents.example:agents:AIR-A1B2-C3D4-E5F6"
	bob   = "did:wba:agents.example:agents:AIR-B0B0-B0B0-B0B0"
	carol = "did:wba:agents.example:agents:AIR-CAR0-L003-0003"
)

// noon is when everything here happens.
var noon = time.Date(2026, 5, 28, 12, 0, 0, 0, time.UTC)

// people are the DIDs with their keys: alice has that of seed 1, bob of 2, carol of 3.
func people() directory {
	d := directory{}
	for i, id := range []string{alice, bob, carol} {
		d.add(id, seeded(byte(i+1)))
	}
	return d
}

func keyOf(id string) ed25519.PrivateKey {
	return seeded(byte(slices.Index([]string{alice, bob, carol}, id) + 1))
}

// text is an envelope of alice to bob without a signature, with changes: a member
// and its JSON, "" to leave it out.
func text(changes ...string) []byte {
	members := []string{"id", `"018fde3a-1234-4abc-8def-aabbccddeeff"`, "from", `"` + alice + `"`, "to", `"` + bob + `"`, "timestamp", `"2026-05-28T12:00:00.000Z"`,
		"thread_id", `"018fde3a-5678-4abc-9012-aabbccddeeff"`, "nonce", `"r4nd0mN0nc3-abc123xyz789"`,
		"body", `{"type":"Offer","description":"Translate","price":{"amount_cents":500,"currency":"USD"},"expires_at":"2026-05-28T13:00:00.000Z"}`}
	for i := 0; i < len(changes); i += 2 {
		at := slices.Index(members, changes[i])
		switch {
		case at < 0 && changes[i+1] == "":
		case at < 0:
			members = append(members, changes[i], changes[i+1])
		case changes[i+1] == "":
			members = slices.Delete(members, at, at+2)
		default:
			members[at+1] = changes[i+1]
		}
	}
	var b strings.Builder
	for i := 0; i < len(members); i += 2 {
		fmt.Fprintf(&b, `,%q:%s`, members[i], members[i+1])
	}
	return []byte("{" + b.String()[1:] + "}")
}

func signed(t testing.TB, changes ...string) []byte {
	t.Helper()
	e, err := a2a.SignText(text(changes...), a2a.Wire, keyOf(alice))
	if err != nil {
		t.Fatal(err)
	}
	return e.Text
}

// withSignature puts a signature's text into an envelope.
func withSignature(envelope []byte, signature string) []byte {
	return append(envelope[:len(envelope)-1:len(envelope)-1], []byte(`,"signature":`+signature+`}`)...)
}

func verifier(p a2a.Profile) a2a.Verifier {
	return a2a.Verifier{Profile: p, Keys: a2a.DocumentKeys{Resolver: people()}, Now: func() time.Time { return noon }}
}

// TestForm checks the status in both profiles, and the rule, for each invalid form of an envelope
// and for forms that only look invalid.
func TestForm(t *testing.T) {
	offer := func(change string) string {
		return `{"type":"Offer","description":"x","price":{"amount_cents":500,"currency":"USD"},"expires_at":"2026-05-28T13:00:00.000Z"` + change + `}`
	}
	price := func(price string) string {
		return `{"type":"Accept","accepted_price":` + price + `}`
	}
	sealed := func(changes ...string) string {
		b := `{"type":"encrypted","alg":"x25519-hkdf-sha256-chacha20poly1305","v":1,"epk":"z6LSd1FDxqS6PDoWwxco3fnM3DGEuXyse6pr7uRRYamJDqit","nonce":"AAAAAAAAAAAAAAAA","ct":"AAAAAAAAAAAAAAAAAAAAAAAA"}`
		return strings.NewReplacer(changes...).Replace(b)
	}
	long := strings.Repeat("x", 200)
	tests := []struct {
		name         string
		envelope     []byte
		strict, wire int // 0: well-formed
		rule         string
	}{
		{"as it should be", text(), 0, 0, ""},
		{"pretty", []byte(strings.ReplaceAll(string(text()), `,"`, ",\n\t \"")), 0, 0, ""},
		{"escapes", bytes.ReplaceAll(text(), []byte(`"from"`), []byte(`"\u0066r\u006fm"`)), 0, 0, ""},
		{"no text", nil, 400, 400, "syntax"},
		{"two values", append(text(), text()...), 400, 400, "syntax"},
		{"byte order mark", append([]byte("\ufeff"), text()...), 400, 400, "syntax"},
		{"array", []byte(`[]`), 400, 400, "object"},
		{"wrapped by DIDComm", []byte(`{"protected":"eyJ0eXAiOiJhcHBsaWNhdGlvbi9kaWRjb21tLWVuY3J5cHRlZCtqc29uIn0","recipients":[],"iv":"AAAA","ciphertext":"` + base64.RawURLEncoding.EncodeToString(text()) + `","tag":"AAAA"}`), 400, 400, "required"},
		{"string", []byte(`"x"`), 400, 400, "object"},
		{"null", []byte(`null`), 400, 400, "object"},
		{"not UTF-8", text("nonce", "\"\xff\""), 400, 400, "utf-8"},
		{"half a surrogate pair", text("nonce", `"\ud800"`), 400, 400, "surrogate"},
		{"duplicate", append(text()[:len(text())-1], []byte(`,"id":"x"}`)...), 400, 400, "duplicate-key"},
		{"escaped duplicate", append(text()[:len(text())-1], []byte(`,"\u0069d":"x"}`)...), 400, 400, "duplicate-key"},
		{"nested duplicate", text("body", offer(`,"x":[{"a":1,"a":1}]`)), 400, 400, "duplicate-key"},
		{"1.0", text("body", price(`{"amount_cents":1.0,"currency":"USD"}`)), 400, 400, "float"},
		{"1e2", text("body", price(`{"amount_cents":1e2,"currency":"USD"}`)), 400, 400, "float"},
		{"float in a member of no meaning", text("x", `0.5`), 400, 400, "float"},
		{"-0 is 0", text("body", price(`{"amount_cents":-0,"currency":"USD"}`)), 0, 0, ""},
		{"2^53+1", text("body", price(`{"amount_cents":9007199254740993,"currency":"USD"}`)), 0, 0, ""},
		{"2^64-1", text("body", price(`{"amount_cents":18446744073709551615,"currency":"USD"}`)), 0, 0, ""},
		{"2^64", text("body", price(`{"amount_cents":18446744073709551616,"currency":"USD"}`)), 400, 400, "integer-range"},
		{"negative amount", text("body", price(`{"amount_cents":-1,"currency":"USD"}`)), 400, 0, "money"},
		{"amount as text", text("body", price(`{"amount_cents":"1","currency":"USD"}`)), 400, 0, "money"},
		{"no currency", text("body", price(`{"amount_cents":1}`)), 400, 0, "money"},
		{"currency in lower case", text("body", price(`{"amount_cents":1,"currency":"usd"}`)), 400, 0, "money"},
		{"member of a price", text("body", price(`{"amount_cents":1,"currency":"USD","x":1}`)), 400, 0, "unknown-member"},
		{"price as text", text("body", price(`"5 USD"`)), 400, 0, "body-member"},
		{"no price", text("body", `{"type":"Accept"}`), 400, 0, "body-member"},
		{"nested too deeply", text("body", strings.Repeat(`[`, 30000)), 400, 400, "depth"},
		{"8,000 members", text("body", `{"type":"x"`+strings.Repeat(`,"":0`, 8000)+"}"), 400, 400, "count"},
		{"65,536 bytes", text("body", `{"type":"x","y":"`+strings.Repeat("x", a2a.MaxEnvelope-len(text("body", `{"type":"x","y":""}`)))+`"}`), 400, 0, "body-type"},
		{"65,537 bytes", text("body", `{"type":"x","y":"`+strings.Repeat("x", a2a.MaxEnvelope+1-len(text("body", `{"type":"x","y":""}`)))+`"}`), 413, 413, "size"},
		{"id missing", text("id", ""), 400, 400, "required"},
		{"nonce missing", text("nonce", ""), 400, 400, "required"},
		{"body missing", text("body", ""), 400, 400, "required"},
		{"from null", text("from", `null`), 400, 400, "null"},
		{"in_reply_to null", text("in_reply_to", `null`), 400, 0, "null"},
		{"body null", text("body", `null`), 400, 400, "null"},
		{"other member null", text("x", `null`), 400, 400, "unknown-member"},
		{"id a number", text("id", `1`), 400, 400, "type"},
		{"timestamp a number", text("timestamp", `1779969600`), 400, 400, "type"},
		{"body an array", text("body", `[]`), 400, 400, "type"},
		{"body a string", text("body", `"x"`), 400, 400, "type"},
		{"in_reply_to a number", text("in_reply_to", `1`), 400, 400, "type"},
		{"id no UUID", text("id", `"e1"`), 400, 0, "identifier"},
		{"id of version 7", text("id", `"018fde3a-1234-7abc-8def-aabbccddeeff"`), 400, 0, "identifier"},
		{"id in upper case", text("id", `"018FDE3A-1234-4ABC-8DEF-AABBCCDDEEFF"`), 400, 0, "identifier"},
		{"id of another variant", text("id", `"018fde3a-1234-4abc-cdef-aabbccddeeff"`), 400, 0, "identifier"},
		{"id empty", text("id", `""`), 400, 400, "identifier"},
		{"id of 128 bytes", text("id", `"`+long[:128]+`"`), 400, 0, "identifier"},
		{"id of 129 bytes", text("id", `"`+long[:129]+`"`), 400, 400, "identifier"},
		{"in_reply_to empty", text("in_reply_to", `""`), 400, 400, "identifier"},
		{"from no DID", text("from", `"alice"`), 400, 400, "did"},
		{"from a did:web", text("from", `"did:web:agents.example"`), 400, 0, "did"},
		{"from an email", text("to", `"mailto:bob@example.com"`), 400, 400, "did"},
		{"from of 600 bytes", text("from", `"did:wba:`+strings.Repeat(long, 3)+`"`), 400, 400, "did"},
		{"time without milliseconds", text("timestamp", `"2026-05-28T12:00:00Z"`), 0, 0, ""},
		{"time of nanoseconds and more", text("timestamp", `"2026-05-28T12:00:00.1234567890123Z"`), 0, 0, ""},
		{"time with an offset", text("timestamp", `"2026-05-28T12:00:00.000+00:00"`), 400, 400, "timestamp"},
		{"time in lower case", text("timestamp", `"2026-05-28t12:00:00.000z"`), 400, 400, "timestamp"},
		{"time without a zone", text("timestamp", `"2026-05-28T12:00:00"`), 400, 400, "timestamp"},
		{"time with a bare point", text("timestamp", `"2026-05-28T12:00:00.Z"`), 400, 400, "timestamp"},
		{"30 February", text("timestamp", `"2026-02-30T12:00:00Z"`), 400, 400, "timestamp"},
		{"24:00", text("timestamp", `"2026-05-28T24:00:00Z"`), 400, 400, "timestamp"},
		{"digits of another script", text("timestamp", `"２026-05-28T12:00:00Z"`), 400, 400, "timestamp"},
		{"nonce empty", text("nonce", `""`), 400, 400, "nonce"},
		{"nonce of 200 characters", text("nonce", `"`+long+`"`), 0, 0, ""},
		{"unknown member", text("priority", `1`), 400, 0, "unknown-member"},
		{"unknown member of the body", text("body", offer(`,"x":1`)), 400, 0, "unknown-member"},
		{"body without a type", text("body", `{"x":1}`), 400, 400, "body-type"},
		{"type null", text("body", `{"type":null}`), 400, 400, "body-type"},
		{"type empty", text("body", `{"type":""}`), 400, 400, "body-type"},
		{"type in lower case", text("body", `{"type":"offer"}`), 400, 0, "body-type"},
		{"type of a client", text("body", `{"type":"text","text":"hello","mentions":[]}`), 400, 0, "body-type"},
		{"empty array in the body", text("body", offer(`,"x":[]`)), 400, 0, "unknown-member"},
		{"null in the body", text("body", `{"type":"Decline","reason":null}`), 400, 0, "body-member"},
		{"2,048 characters", text("body", strings.Replace(offer(""), `"x"`, `"`+strings.Repeat("😀", 2048)+`"`, 1)), 0, 0, ""},
		{"2,049 characters", text("body", strings.Replace(offer(""), `"x"`, `"`+strings.Repeat("é", 2049)+`"`, 1)), 400, 0, "length"},
		{"reason of 512 characters", text("body", `{"type":"Decline","reason":"`+strings.Repeat("예", 512)+`"}`), 0, 0, ""},
		{"reason of 513 characters", text("body", `{"type":"Decline","reason":"`+strings.Repeat("x", 513)+`"}`), 400, 0, "length"},
		{"expires_at no time", text("body", strings.Replace(offer(""), "T13", " 13", 1)), 400, 0, "timestamp"},
		{"withdrawn_id no UUID", text("body", `{"type":"Withdraw","withdrawn_id":"e1"}`), 400, 0, "identifier"},
		{"sealed", text("body", sealed()), 0, 0, ""},
		{"sealed with another suite", text("body", sealed("chacha20poly1305", "aes-gcm")), 400, 400, "sealed-body"},
		{"sealed, version 2", text("body", sealed(`"v":1`, `"v":2`)), 400, 400, "sealed-body"},
		{"sealed, version as text", text("body", sealed(`"v":1`, `"v":"1"`)), 400, 400, "sealed-body"},
		{"sealed, epk of another alphabet", text("body", sealed("z6LSd", "z6LS0")), 400, 0, "sealed-body"},
		{"sealed, padded", text("body", sealed(`AAAA"}`, `AA=="}`)), 400, 0, "sealed-body"},
		{"sealed, no nonce", text("body", sealed(`"nonce":"AAAAAAAAAAAAAAAA",`, ``)), 400, 0, "sealed-body"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, p := range []a2a.Profile{a2a.Strict, a2a.Wire} {
				want := tt.strict
				if p == a2a.Wire {
					want = tt.wire
				}
				_, err := a2a.Read(tt.envelope, p)
				r, _ := errors.AsType[*a2a.Refusal](err)
				if statusOf(err) != want || err != nil && r == nil {
					t.Errorf("%s: %v, want %d", p, err, want)
				}
				// A verifier says the same, before it looks at the signature.
				wantVerdict := want
				if want == 0 {
					wantVerdict = 401
				}
				if _, err := verifier(p).Verify(context.Background(), tt.envelope); statusOf(err) != wantVerdict {
					t.Errorf("%s, verify: %v, want %d", p, err, wantVerdict)
				}
				if want != 0 && p == a2a.Strict && (r.Rule != tt.rule || want == 400 && r.Reason != "Bad Request") {
					t.Errorf("%s: rule %s (%s), want %s", p, r.Rule, r, tt.rule)
				}
			}
			// The linter agrees with the reader.
			report := a2a.Check(tt.envelope)
			broken := func(of func(a2a.Finding) a2a.RuleResult) bool {
				return slices.ContainsFunc(report.Findings, func(f a2a.Finding) bool {
					return of(f) == a2a.Broken && f.Rule.Code != a2a.RuleSignatureText
				})
			}
			if s, w := broken(func(f a2a.Finding) a2a.RuleResult { return f.Strict }), broken(func(f a2a.Finding) a2a.RuleResult { return f.Wire }); s != (tt.strict != 0) || w != (tt.wire != 0) {
				t.Errorf("the linter says strict %v, wire %v", s, w)
			}
		})
	}
}

// TestCheckNamesThePlace checks that the linter says where a text is not valid JSON of an envelope.
func TestCheckNamesThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"{\n \"id\": \"x\",\n \"id\": \"y\"}": "(line 3, column 2)",
		"{\"größe\": 1.5}":                    "(line 1, column 11)",
		"{\r\n\t\"a\": \"\\ud800\"}":          "(line 2, column 8)",
		"{\"a\": 18446744073709551616}":       "(line 1, column 7)",
		"{\n":                                 "(line 2, column 1)",
		"":                                    "(line 1, column 1)",
	} {
		findings := a2a.Check([]byte(text)).Findings
		if !slices.ContainsFunc(findings, func(f a2a.Finding) bool { return f.Wire == a2a.Broken && strings.HasSuffix(f.Detail, want) }) {
			t.Errorf("%q: want %s, got %+v", text, want, findings)
		}
	}
}

// The strict profile is the published schema, but for what a schema cannot see and
// for times that are none.
func TestStrictEqualsSchema(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(readFile(t, "envelope.schema.json")))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiler.AddResource("envelope.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("envelope.json")
	if err != nil {
		t.Fatal(err)
	}
	values := []string{"", `null`, `1`, `-1`, `true`, `""`, `"x"`, `[]`, `{}`, `"018fde3a-1234-4abc-8def-aabbccddeeff"`, `"2026-05-28T12:00:00Z"`, `"did:wba:x"`, `"USD"`, `"usd"`, `"` + strings.Repeat("é", 513) + `"`,
		`"` + strings.Repeat("é", 2049) + `"`, `{"amount_cents":1,"currency":"EUR"}`, `{"amount_cents":1}`, `"Offer"`, `"Counter"`, `"Accept"`, `"Decline"`, `"Withdraw"`, `"encrypted"`, `"A-_9"`, `"z6LS"`, `"x25519-hkdf-sha256-chacha20poly1305"`}
	bodies := []string{
		`"type":"Offer","description":"x","price":{"amount_cents":500,"currency":"USD"},"expires_at":"2026-05-28T13:00:00.000Z"`,
		`"type":"Counter","description":"x","price":{"amount_cents":500,"currency":"USD"},"expires_at":"2026-05-28T13:00:00.000Z"`,
		`"type":"Accept","accepted_price":{"amount_cents":500,"currency":"USD"}`, `"type":"Decline","reason":"x"`, `"type":"Withdraw","withdrawn_id":"018fde3a-1234-4abc-8def-aabbccddeeff","reason":"x"`,
		`"type":"encrypted","alg":"x25519-hkdf-sha256-chacha20poly1305","v":1,"epk":"zA","nonce":"AA","ct":"AA"`,
	}
	var envelopes [][]byte
	for _, member := range []string{"id", "from", "to", "timestamp", "in_reply_to", "thread_id", "nonce", "body", "x"} {
		for _, v := range values {
			envelopes = append(envelopes, text(member, v))
		}
	}
	for _, body := range bodies {
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte("{"+body+"}"), &object); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"type", "description", "price", "expires_at", "accepted_price", "reason", "withdrawn_id", "alg", "v", "epk", "nonce", "ct", "x"} {
			for _, v := range values {
				before, had := object[name]
				if object[name] = json.RawMessage(v); v == "" {
					delete(object, name)
				}
				changed, err := json.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				envelopes = append(envelopes, text("body", string(changed)))
				if object[name] = before; !had {
					delete(object, name)
				}
			}
		}
	}
	good := 0
	for _, e := range envelopes {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(withSignature(e, `"z2"`)))
		if err != nil {
			t.Fatal(err)
		}
		schemaErr := schema.Validate(value)
		_, err = a2a.Read(e, a2a.Strict)
		if (err == nil) != (schemaErr == nil) {
			t.Errorf("%s: %v, the schema says %v", e, err, schemaErr)
		}
		if err == nil {
			good++
			if _, err := a2a.Read(e, a2a.Wire); err != nil {
				t.Errorf("%s is strict and not wire: %v", e, err)
			}
		}
	}
	if good < 20 || len(envelopes)-good < 1000 {
		t.Errorf("%d of %d envelopes are well-formed: the test shows little", good, len(envelopes))
	}
}

// TestSpellingsAndChanges checks that an envelope in another spelling keeps its verdict, and that a
// changed one loses it.
func TestSpellingsAndChanges(t *testing.T) {
	e := signed(t)
	reordered := []byte(`{"signature":` + string(e[bytes.Index(e, []byte(`"signature":`))+12:bytes.Index(e, []byte(`,"thread_id"`))]) + "," + string(text()[1:]))
	for name, spelling := range map[string][]byte{
		"canonical": e, "reordered": reordered, "pretty": []byte(strings.ReplaceAll(string(e), `":`, "\" :\r\n\t")),
		"escaped": bytes.ReplaceAll(e, []byte("Translate"), []byte(`\u0054ranslat\u0065`)),
	} {
		v, err := verifier(a2a.Strict).Verify(context.Background(), spelling)
		if err != nil || v.Form != a2a.Removed || string(v.Canonical()) != string(mustRead(t, e).Canonical()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, change := range [][2]string{
		{"Translate", "Trans1ate"}, {alice, bob}, {`500`, `501`}, {`aabbccddeeff`, `aabbccddeefe`}, {"12:00:00.000Z", "12:00:00.001Z"}, {"12:00:00.000Z", "12:00:00Z"}, {`"nonce":"`, `"nonce":"x`},
	} {
		changed := bytes.Replace(e, []byte(change[0]), []byte(change[1]), 1)
		if _, err := verifier(a2a.Strict).Verify(context.Background(), changed); statusOf(err) != 401 {
			t.Errorf("%s changed to %s: %v, want 401", change[0], change[1], err)
		}
	}
	// Normalization is not a change.
	decomposed := signed(t, "nonce", "\"cafe\u0301\"")
	composed := bytes.ReplaceAll(decomposed, []byte("e\u0301"), []byte("é"))
	if _, err := verifier(a2a.Strict).Verify(context.Background(), composed); err != nil {
		t.Errorf("composed: %v", err)
	}
}

func mustRead(t testing.TB, text []byte) *a2a.Envelope {
	t.Helper()
	e, err := a2a.Read(text, a2a.Wire)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The text of §5.3 signs "signature":null: accepted, and reported.
func TestNullForm(t *testing.T) {
	e := mustRead(t, withSignature(text(), "null"))
	withNull := bytes.Replace(e.Canonical(), []byte(`,"thread_id"`), []byte(`,"signature":null,"thread_id"`), 1)
	signature := did.FormatSignature(ed25519.Sign(keyOf(alice), withNull))
	v, err := verifier(a2a.Strict).Verify(context.Background(), withSignature(text(), `"`+signature+`"`))
	if err != nil || v.Form != a2a.Null {
		t.Fatalf("%v", err)
	}
}

func TestSignatures(t *testing.T) {
	e := mustRead(t, signed(t))
	raw, err := did.ParseSignature(e.Signature)
	if err != nil {
		t.Fatal(err)
	}
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	s := slices.Clone(raw[32:])
	slices.Reverse(s)
	sPlusL := new(big.Int).Add(new(big.Int).SetBytes(s), order).FillBytes(make([]byte, 32))
	slices.Reverse(sPlusL)
	otherR := slices.Clone(raw)
	otherR[0] ^= 1
	for name, signature := range map[string]string{
		"empty": `""`, "null": `null`, "number": `1`, "object": `{}`, "no prefix": `"` + e.Signature[1:] + `"`, "only the prefix": `"z"`,
		"another multibase": `"m` + base64.RawStdEncoding.EncodeToString(raw) + `"`, "base64url multibase": `"u` + base64.RawURLEncoding.EncodeToString(raw) + `"`,
		"base58 of Flickr": `"z` + base58.EncodeAlphabet(raw, base58.FlickrAlphabet) + `"`, "letters outside the alphabet": `"z0OIl` + e.Signature[5:] + `"`,
		"white space": `"` + e.Signature + ` "`, "63 bytes": `"z` + base58.Encode(raw[:63]) + `"`, "65 bytes": `"z` + base58.Encode(append(raw[:64:64], 0)) + `"`, "a zero before": `"z1` + e.Signature[1:] + `"`,
		"0 bytes": `"z1"`, "S plus L": `"z` + base58.Encode(append(raw[:32:32], sPlusL...)) + `"`, "another R": `"z` + base58.Encode(otherR) + `"`,
		"all zero": `"z` + strings.Repeat("1", 64) + `"`, "100 kB": `"z` + strings.Repeat("z", 60000) + `"`, "of another envelope": `"` + mustRead(t, signed(t, "nonce", `"other"`)).Signature + `"`,
		"of another key": `"` + did.FormatSignature(ed25519.Sign(keyOf(bob), e.Canonical())) + `"`,
	} {
		for _, p := range []a2a.Profile{a2a.Strict, a2a.Wire} {
			_, err := verifier(p).Verify(context.Background(), withSignature(text(), signature))
			r, _ := errors.AsType[*a2a.Refusal](err)
			if statusOf(err) != 401 || r.Reason != "Bad Signature" {
				t.Errorf("%s, %s: %v, want 401", name, p, err)
			}
		}
	}
	// Base58 of 64 zero bytes decodes; the missing member is the same refusal.
	if _, err := verifier(a2a.Strict).Verify(context.Background(), text()); statusOf(err) != 401 {
		t.Errorf("without a signature: %v", err)
	}
}

func TestSenders(t *testing.T) {
	ctx := context.Background()
	e := signed(t)
	verify := func(change func(d directory)) error {
		d := people()
		change(d)
		v := verifier(a2a.Strict)
		v.Keys = a2a.DocumentKeys{Resolver: d}
		_, err := v.Verify(ctx, e)
		return err
	}
	method := func(d directory, change func(m *did.VerificationMethod)) {
		document := d[alice]
		document.VerificationMethod = slices.Clone(document.VerificationMethod)
		change(&document.VerificationMethod[0])
		d[alice] = document
	}
	neutral := make([]byte, 32)
	neutral[0] = 1
	tests := map[string]struct {
		change func(d directory)
		want   int
	}{
		"as it is":               {func(directory) {}, 0},
		"unknown":                {func(d directory) { delete(d, alice) }, 404},
		"another's document":     {func(d directory) { d[alice] = d[bob] }, 404},
		"no key":                 {func(d directory) { d[alice] = did.Document{ID: alice} }, 404},
		"key under another id":   {func(d directory) { method(d, func(m *did.VerificationMethod) { m.ID = alice + "#key-2" }) }, 404},
		"id that ends in #key-1": {func(d directory) { method(d, func(m *did.VerificationMethod) { m.ID = bob + "#key-1" }) }, 404},
		"another controls it":    {func(d directory) { method(d, func(m *did.VerificationMethod) { m.Controller = bob }) }, 404},
		"revoked":                {func(d directory) { method(d, func(m *did.VerificationMethod) { m.Revoked = "2026-01-01T00:00:00Z" }) }, 404},
		"no multikey":            {func(d directory) { method(d, func(m *did.VerificationMethod) { m.PublicKeyMultibase = "z6Mk" }) }, 404},
		"a key for agreement": {func(d directory) {
			method(d, func(m *did.VerificationMethod) { m.PublicKeyMultibase = did.FormatX25519(neutral) })
		}, 404},
		"the neutral point": {func(d directory) {
			method(d, func(m *did.VerificationMethod) { m.PublicKeyMultibase = did.FormatMultikey(neutral) })
		}, 401},
		"no point of the curve": {func(d directory) {
			method(d, func(m *did.VerificationMethod) {
				m.PublicKeyMultibase = did.FormatMultikey(notOnCurve(t))
			})
		}, 401},
		"another key":             {func(d directory) { d.add(alice, keyOf(carol)) }, 401},
		"two, the first is wrong": {func(d directory) { method(d, func(m *did.VerificationMethod) { m.ID = alice + "#key-0" }) }, 404},
	}
	for name, tt := range tests {
		if err := verify(tt.change); statusOf(err) != tt.want || (err == nil) != (tt.want == 0) {
			t.Errorf("%s: %v, want %d", name, err, tt.want)
		}
	}
	// With the neutral point as key, a signature over anything verifies in crypto/ed25519.
	forged := withSignature(text(), `"`+did.FormatSignature(append(slices.Clone(neutral), make([]byte, 32)...))+`"`)
	d := people()
	method(d, func(m *did.VerificationMethod) { m.PublicKeyMultibase = did.FormatMultikey(neutral) })
	v := verifier(a2a.Strict)
	v.Keys = a2a.DocumentKeys{Resolver: d}
	if !ed25519.Verify(neutral, mustRead(t, forged).Canonical(), append(slices.Clone(neutral), make([]byte, 32)...)) {
		t.Error("the forgery is none")
	}
	if _, err := v.Verify(ctx, forged); statusOf(err) != 401 {
		t.Errorf("forged under the neutral point: %v", err)
	}
	// A registry that does not answer is not a sender that is not there.
	v.Keys = a2a.DocumentKeys{Resolver: failing{}}
	if _, err := v.Verify(ctx, e); statusOf(err) != 502 || !errors.Is(err, errDown) {
		t.Errorf("registry down: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := v.Verify(ended, e); !errors.Is(err, context.Canceled) {
		t.Errorf("context ended: %v", err)
	}
}

var errDown = errors.New("down")

type failing struct{}

func (failing) Resolve(context.Context, string) (did.Document, error) { return did.Document{}, errDown }

// A key that was retired after the envelope was signed still counts; one that was
// retired before does not.
func TestRotation(t *testing.T) {
	e := signed(t) // at noon, by the key of seed 1
	for revoked, want := range map[string]int{"2026-05-28T12:00:01Z": 0, "2026-05-28T12:00:00Z": 401, "2026-05-28T11:00:00Z": 401} {
		d := people()
		d.add(alice, seeded(9))
		document := d[alice]
		document.VerificationMethod = append(document.VerificationMethod, did.VerificationMethod{ID: alice + "#retired-1", Controller: alice,
			PublicKeyMultibase: did.FormatMultikey(keyOf(alice).Public().(ed25519.PublicKey)), Revoked: revoked})
		d[alice] = document
		v := verifier(a2a.Strict)
		v.Keys = a2a.DocumentKeys{Resolver: d}
		if _, err := v.Verify(context.Background(), e); statusOf(err) != want {
			t.Errorf("retired at %s: %v, want %d", revoked, err, want)
		}
	}
}

func TestClock(t *testing.T) {
	e := signed(t)
	for offset, want := range map[time.Duration]int{
		0: 0, 300 * time.Second: 0, 300*time.Second + time.Millisecond: 409, 301 * time.Second: 409, -30 * time.Second: 0, -30*time.Second - time.Millisecond: 409, -301 * time.Second: 409,
		math.MinInt64: 409, math.MaxInt64: 409,
	} {
		v := verifier(a2a.Strict)
		v.Now = func() time.Time { return noon.Add(offset) }
		_, err := v.Verify(context.Background(), e)
		if r, _ := errors.AsType[*a2a.Refusal](err); statusOf(err) != want || r != nil && r.Reason != "Stale Timestamp" {
			t.Errorf("%s later: %v, want %d", offset, err, want)
		}
	}
	// The signature is checked before the time.
	v := verifier(a2a.Strict)
	v.Now = func() time.Time { return noon.Add(time.Hour) }
	if _, err := v.Verify(context.Background(), withSignature(text(), `"`+did.FormatSignature(make([]byte, 64))+`"`)); statusOf(err) != 401 {
		t.Errorf("old and not signed: %v", err)
	}
}

// The error body of §9.3.
func TestErrorBody(t *testing.T) {
	_, err := verifier(a2a.Strict).Verify(context.Background(), []byte(`{`))
	body, jsonErr := json.Marshal(err)
	if jsonErr != nil || !strings.HasPrefix(string(body), `{"error":"Bad Request","detail":"`) {
		t.Errorf("%s, %v", body, jsonErr)
	}
	d := people()
	delete(d, alice)
	v := verifier(a2a.Strict)
	v.Keys = a2a.DocumentKeys{Resolver: d}
	_, err = v.Verify(context.Background(), signed(t))
	body, _ = json.Marshal(err)
	if string(body) != `{"error":"Not Found","detail":"the sender's DID cannot be resolved","air_id":"AIR-A1B2-C3D4-E5F6"}` {
		t.Errorf("%s", body)
	}
}

func TestRulesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range a2a.Rules() {
		if seen[r.Code] || r.Code == "" || r.Title == "" || r.Status < 400 || r.Reason == "" {
			t.Errorf("rule %+v", r)
		}
		seen[r.Code] = true
	}
	for _, code := range []jcs.Problem{jcs.Syntax, jcs.Encoding, jcs.Surrogate, jcs.Duplicate, jcs.Float, jcs.Range, jcs.Depth, jcs.Count} {
		if !seen[string(code)] {
			t.Errorf("no rule says that a text with the problem %q is refused", code)
		}
	}
}
