package driver_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/cputime"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/driver"
	"gazetteer/protocol/did"
)

const (
	alice = "did:wba:agents.example:agents:AIR-A1B2-C3D4-E5F6"
	bob   = "did:wba:agents.example:agents:AIR-B0B0-B0B0-B0B0"
	carol = "did:wba:agents.example:agents:AIR-CAR0-L003-0003"
)

var noon = time.Date(2026, 5, 28, 12, 0, 0, 0, time.UTC)

func keyOf(id string) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, id[len(id)-14:])
	return ed25519.NewKeyFromSeed(seed)
}

func documentOf(id string) did.Document {
	return did.Document{ID: id, VerificationMethod: []did.VerificationMethod{
		{ID: id + did.KeyFragment, Controller: id, PublicKeyMultibase: did.FormatMultikey(keyOf(id).Public().(ed25519.PublicKey))}}}
}

func world(ids ...string) map[string]did.Document {
	documents := map[string]did.Document{}
	for _, id := range ids {
		documents[id] = documentOf(id)
	}
	return documents
}

type object = map[string]any

// answer runs one case and returns the answers in strict and wire.
func answer(t testing.TB, op string, input any) [2]object {
	t.Helper()
	line, err := json.Marshal(object{"id": op, "op": op, "input": input})
	if err != nil {
		t.Fatal(err)
	}
	return answerLine(t, string(line))
}

func answerLine(t testing.TB, line string) (out [2]object) {
	t.Helper()
	var b bytes.Buffer
	begin := cputime.Used()
	if err := driver.Run(context.Background(), strings.NewReader(line+"\n"), &b); err != nil {
		t.Fatal(err)
	}
	if took := cputime.Used() - begin; took > time.Minute { // 2 s without the race detector, 11 with it on a busy machine
		t.Errorf("%.80s took %s", line, took)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%.80s has %d answers: %.200s", line, len(lines), b.String())
	}
	for i, profile := range []string{"strict", "wire"} {
		if err := json.Unmarshal([]byte(lines[i]), &out[i]); err != nil {
			t.Fatal(err)
		}
		if out[i]["profile"] != profile {
			t.Fatalf("answer %d is of profile %v", i, out[i]["profile"])
		}
	}
	return out
}

func b64(text []byte) string { return base64.StdEncoding.EncodeToString(text) }

func verdict(o object) string {
	return fmt.Sprint(o["verdict"], " ", o["status"], " ", o["error"])
}

func sign(t testing.TB, m a2a.Message) []byte {
	t.Helper()
	e, err := a2a.Sign(m, a2a.Wire, keyOf(m.From))
	if err != nil {
		t.Fatal(err)
	}
	return e.Text
}

func offer(cents uint64) a2a.Body {
	return a2a.Offer{Description: "x", Price: a2a.Money{AmountCents: cents, Currency: "USD"}, ExpiresAt: noon.Add(time.Hour)}
}

func TestPublishedVectors(t *testing.T) {
	text, err := os.ReadFile("../testdata/test-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			ID        string
			Envelope  map[string]json.RawMessage `json:"input_envelope"`
			Hash      string                     `json:"expected_canonical_bytes_sha256_hex"`
			Seed      string                     `json:"signing_key_seed_hex"`
			Public    string                     `json:"signing_key_public_multibase"`
			Signature string                     `json:"expected_signature_multibase"`
		}
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Vectors) != 20 {
		t.Fatalf("%d vectors, %v", len(file.Vectors), err)
	}
	for _, v := range file.Vectors {
		bare, _ := json.Marshal(v.Envelope)
		for _, r := range answer(t, "canonicalize", object{"json_b64": b64(bare)}) {
			if r["canonical_sha256"] != v.Hash {
				t.Errorf("%s: %v", v.ID, r)
			}
		}
		for _, r := range answer(t, "decode_public_key", object{"public_key_multibase": v.Public}) {
			seed, _ := hex.DecodeString(v.Seed)
			if r["public_key_hex"] != hex.EncodeToString(ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)) {
				t.Errorf("%s: %v", v.ID, r)
			}
		}
		v.Envelope["signature"], _ = json.Marshal(v.Signature)
		signed, _ := json.Marshal(v.Envelope)
		var from, now string
		json.Unmarshal(v.Envelope["from"], &from)
		json.Unmarshal(v.Envelope["timestamp"], &now)
		d := did.Document{ID: from, VerificationMethod: []did.VerificationMethod{{ID: from + "#key-1", Controller: from, PublicKeyMultibase: v.Public}}}
		r := answer(t, "verify", object{"envelope_b64": b64(signed), "now": now, "did_documents": object{from: d}})
		if verdict(r[0]) != "reject 400 Bad Request" || verdict(r[1]) != "accept 200 <nil>" || r[1]["canonical_sha256"] != v.Hash || r[1]["signature_form"] != "removed" {
			t.Errorf("%s: %v", v.ID, r)
		}
	}
}

func TestPublishedBoxes(t *testing.T) {
	text, err := os.ReadFile("../testdata/e2e-interop-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			Seed     string          `json:"recipient_seed_hex"`
			Env      json.RawMessage `json:"env"`
			Secret   string          `json:"eph_secret_hex"`
			Nonce    string          `json:"nonce_hex"`
			Body     json.RawMessage `json:"body"`
			Expected object          `json:"expected"`
		}
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Vectors) != 2 {
		t.Fatalf("%d vectors, %v", len(file.Vectors), err)
	}
	for _, v := range file.Vectors {
		seed, _ := hex.DecodeString(v.Seed)
		public := did.FormatMultikey(ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey))
		input := object{"env": v.Env, "body_json": string(v.Body), "recipient_public_multibase": public, "eph_secret_hex": v.Secret, "nonce_hex": v.Nonce}
		for i, r := range answer(t, "seal", input) {
			var sealed object
			if err := json.Unmarshal([]byte(r["sealed_body_json"].(string)), &sealed); err != nil || fmt.Sprint(sealed) != fmt.Sprint(v.Expected) {
				t.Errorf("%d: %v, want %v", i, r, v.Expected)
			}
		}
		// A seal without changes is opened to the same body.
		input["body_json"] = v.Body
		for i, r := range answer(t, "seal", input) {
			if fmt.Sprint(r["sealed_body_json"]) != fmt.Sprint(v.Expected) {
				t.Errorf("%d: %v, want %v", i, r, v.Expected)
			}
		}
	}
}

func TestVerify(t *testing.T) {
	e := sign(t, a2a.Message{From: alice, To: bob, Timestamp: noon, Body: offer(5)})
	forged := bytes.Replace(e, []byte(`:5,`), []byte(`:6,`), 1)
	document := documentOf(alice)
	noKey, neutral, wrongID := document, document, document
	noKey.VerificationMethod = nil
	neutral.VerificationMethod = []did.VerificationMethod{document.VerificationMethod[0]}
	neutral.VerificationMethod[0].PublicKeyMultibase = did.FormatMultikey(append([]byte{1}, make([]byte, 31)...))
	wrongID.ID = bob
	tests := map[string]struct {
		envelope []byte
		now      any
		world    any
		want     string
	}{
		"good":                 {e, "2026-05-28T12:00:00Z", object{alice: document}, "accept 200 <nil>"},
		"at a number":          {e, noon.Unix(), object{alice: document}, "accept 200 <nil>"},
		"in milliseconds":      {e, noon.UnixMilli(), object{alice: document}, "accept 200 <nil>"},
		"at 300 s":             {e, "2026-05-28T12:05:00.000Z", object{alice: document}, "accept 200 <nil>"},
		"301 s late":           {e, "2026-05-28T12:05:01Z", object{alice: document}, "reject 409 Stale Timestamp"},
		"31 s early":           {e, "2026-05-28T11:59:29Z", object{alice: document}, "reject 409 Stale Timestamp"},
		"forged":               {forged, "2026-05-28T12:00:00Z", object{alice: document}, "reject 401 Bad Signature"},
		"nobody resolves":      {e, "2026-05-28T12:00:00Z", object{}, "reject 404 Not Found"},
		"no world":             {e, "2026-05-28T12:00:00Z", nil, "reject 400 Bad Request"},
		"a document of no key": {e, "2026-05-28T12:00:00Z", object{alice: noKey}, "reject 404 Not Found"},
		"of another":           {e, "2026-05-28T12:00:00Z", object{alice: wrongID}, "reject 404 Not Found"},
		"of no object":         {e, "2026-05-28T12:00:00Z", object{alice: 1}, "reject 404 Not Found"},
		"the neutral point":    {e, "2026-05-28T12:00:00Z", object{alice: neutral}, "reject 401 Bad Signature"},
		"not signed":           {[]byte(`{}`), "2026-05-28T12:00:00Z", object{}, "reject 400 Bad Request"},
		"no envelope":          {nil, "2026-05-28T12:00:00Z", object{}, "reject 400 Bad Request"},
		"65,537 bytes":         {bytes.Repeat([]byte(" "), 65537), "2026-05-28T12:00:00Z", object{}, "reject 413 Payload Too Large"},
		"no time":              {e, "noon", object{alice: document}, "reject 400 Bad Request"},
		"time of no kind":      {e, object{}, object{alice: document}, "reject 400 Bad Request"},
	}
	for name, tt := range tests {
		for i, r := range answer(t, "verify", object{"envelope_b64": b64(tt.envelope), "now": tt.now, "did_documents": tt.world}) {
			if verdict(r) != tt.want || (r["canonical_sha256"] != nil) != strings.HasPrefix(tt.want, "accept") {
				t.Errorf("%s, %d: %v, want %s", name, i, r, tt.want)
			}
		}
	}
	// A member twice in the document of the sender: two readers could see two keys.
	line := `{"id":1,"op":"verify","input":{"envelope_b64":"` + b64(e) + `","now":"2026-05-28T12:00:00Z","did_documents":{"` + alice + `":{"id":"` + alice + `","id":"` + alice + `","verificationMethod":[]}}}}`
	if r := answerLine(t, line); verdict(r[0]) != "reject 404 Not Found" {
		t.Errorf("%v", r)
	}
}

func TestVerifyThenOpen(t *testing.T) {
	seal := func(change func(m *a2a.Message)) []byte {
		m := a2a.Message{From: alice, To: bob, Timestamp: noon, InReplyTo: a2a.NewID(), Body: a2a.Decline{Reason: "secret words"}}
		if err := m.Seal(keyOf(bob).Public().(ed25519.PublicKey)); err != nil {
			t.Fatal(err)
		}
		change(&m)
		return sign(t, m)
	}
	good := seal(func(*a2a.Message) {})
	rotated := world(alice, bob)
	d := rotated[bob]
	d.VerificationMethod = append(d.VerificationMethod, did.VerificationMethod{ID: bob + "#retired-1", Controller: bob, PublicKeyMultibase: did.FormatMultikey(keyOf(carol).Public().(ed25519.PublicKey)), Revoked: "2026-01-01T00:00:00Z"})
	rotated[bob] = d
	agreement := world(alice, bob)
	d = agreement[bob]
	d.VerificationMethod = append(d.VerificationMethod, did.VerificationMethod{ID: bob + "#agree-1", Controller: bob, PublicKeyMultibase: did.FormatX25519(keyOf(bob).Public().(ed25519.PublicKey))})
	agreement[bob] = d
	tests := map[string]struct {
		envelope  []byte
		recipient string
		now       string
		world     map[string]did.Document
		want      string
	}{
		"good":                      {good, bob, "2026-05-28T12:00:00Z", world(alice, bob), "accept 200 <nil>"},
		"stale":                     {good, bob, "2026-05-28T13:00:00Z", world(alice, bob), "reject 409 Stale Timestamp"},
		"sender unknown":            {good, bob, "2026-05-28T12:00:00Z", world(bob), "reject 404 Not Found"},
		"forged":                    {bytes.Replace(good, []byte(`"nonce":"`), []byte(`"nonce":"A`), 1), bob, "2026-05-28T12:00:00Z", world(alice, bob), "reject 401 Bad Signature"},
		"moved to another envelope": {seal(func(m *a2a.Message) { m.ID = a2a.NewID() }), bob, "2026-05-28T12:00:00Z", world(alice, bob), "reject 400 Bad Request"},
		"of another recipient":      {good, carol, "2026-05-28T12:00:00Z", world(alice), "reject 400 Bad Request"},
		"a key of another kind":     {seal(func(m *a2a.Message) { m.ID = a2a.NewID() }), bob, "2026-05-28T12:00:00Z", agreement, "reject 400 Bad Request"},
		"the key was rotated":       {seal(func(m *a2a.Message) { m.ID = a2a.NewID() }), bob, "2026-05-28T12:00:00Z", rotated, "reject 403 Stale Key"},
		"not sealed":                {sign(t, a2a.Message{From: alice, To: bob, Timestamp: noon, InReplyTo: a2a.NewID(), Body: a2a.Decline{Reason: "secret words"}}), bob, "2026-05-28T12:00:00Z", world(alice, bob), "reject 400 Bad Request"},
	}
	for name, tt := range tests {
		input := object{"envelope_b64": b64(tt.envelope), "recipient_seed_hex": hex.EncodeToString(keyOf(tt.recipient).Seed()), "now": tt.now, "did_documents": tt.world}
		for i, r := range answer(t, "verify_then_open", input) {
			all := fmt.Sprint(r)
			if verdict(r) != tt.want {
				t.Errorf("%s, %d: %s, want %s", name, i, all, tt.want)
			}
			if tt.want == "accept 200 <nil>" && r["plaintext_b64"] != b64([]byte(`{"reason":"secret words","type":"Decline"}`)) {
				t.Errorf("%s, %d: %s", name, i, all)
			}
			if tt.want != "accept 200 <nil>" && (r["plaintext_b64"] != nil || strings.Contains(all, "secret")) {
				t.Errorf("%s, %d shows the content: %s", name, i, all)
			}
		}
	}
}

func TestReceiveAll(t *testing.T) {
	thread := a2a.NewID()
	first := a2a.Message{ID: a2a.NewID(), ThreadID: thread, From: alice, To: bob, Timestamp: noon, Nonce: "n1", Body: offer(5)}
	counter := a2a.Message{ID: a2a.NewID(), ThreadID: thread, From: bob, To: alice, Timestamp: noon, InReplyTo: first.ID, Body: a2a.Counter{Description: "x", Price: a2a.Money{AmountCents: 4, Currency: "USD"}, ExpiresAt: noon}}
	accept := a2a.Message{ThreadID: thread, From: alice, To: bob, Timestamp: noon, InReplyTo: counter.ID, Body: a2a.Accept{AcceptedPrice: a2a.Money{AmountCents: 4, Currency: "USD"}}}
	early := accept
	early.InReplyTo = first.ID
	own := accept
	own.From, own.To = bob, alice
	stranger := accept
	stranger.From = carol
	sameID := first
	sameID.Nonce, sameID.ThreadID = "n2", a2a.NewID()
	envelope := sign(t, first)
	pretty := []byte(strings.ReplaceAll(string(envelope), `,"`, ", \""))
	steps := []struct {
		envelope []byte
		now      string
		via      string
		want     string
	}{
		{sign(t, early), "2026-05-28T12:00:00Z", "", "reject 409 Conflict"}, // no Offer yet
		{envelope, "2026-05-28T12:00:01Z", "", "accept 200 <nil>"},
		{envelope, "2026-05-28T12:00:01Z", "", "reject 409 Replay"},
		{pretty, "2026-05-28T12:00:01Z", "", "reject 409 Replay"},
		{envelope, "2026-05-28T18:00:00Z", "", "reject 409 Stale Timestamp"},
		{pretty, "2026-05-28T18:00:00Z", "pull", "already-processed 200 <nil>"},
		{sign(t, sameID), "2026-05-28T12:00:01Z", "", "reject 409 Replay"},
		{sign(t, stranger), "2026-05-28T12:00:01Z", "", "reject 409 Conflict"},
		{sign(t, counter), "2026-05-28T12:00:01Z", "", "accept 200 <nil>"},
		{sign(t, own), "2026-05-28T12:00:01Z", "", "reject 409 Conflict"},
		{sign(t, accept), "2026-05-28T12:06:00Z", "pull", "reject 409 Stale Timestamp"},
		{sign(t, accept), "2026-05-28T12:00:01Z", "pull", "accept 200 <nil>"},
		{sign(t, accept), "2026-05-28T12:00:01Z", "", "reject 409 Thread Closed"},
		{[]byte(`{`), "2026-05-28T12:00:01Z", "", "reject 400 Bad Request"},
	}
	input := object{"did_documents": world(alice, bob, carol)}
	var list []object
	for _, s := range steps {
		list = append(list, object{"envelope_b64": b64(s.envelope), "now": s.now, "via": s.via})
	}
	input["steps"] = append(list, object{"now": "x"})
	for i, r := range answer(t, "receive_all", input) {
		got := r["steps"].([]any)
		if len(got) != len(steps)+1 || verdict(r) != "reject 409 Conflict" || verdict(got[len(steps)].(object)) != "reject 400 Bad Request" {
			t.Fatalf("%v", r)
		}
		for n, s := range steps {
			if v := verdict(got[n].(object)); v != s.want {
				t.Errorf("profile %d, step %d: %s, want %s: %v", i, n, v, s.want, got[n])
			}
		}
	}
	// The next case has a recipient that knows nothing.
	input["steps"] = list[1:2]
	for _, r := range answer(t, "receive_all", input) {
		if verdict(r) != "accept 200 <nil>" {
			t.Errorf("%v", r)
		}
	}
}

// A thread of more messages than the replay window takes, in time.
func TestReplayWindowInCase(t *testing.T) {
	var list []object
	thread := a2a.NewID()
	for i := range 10001 {
		e := sign(t, a2a.Message{ThreadID: thread, From: alice, To: bob, Timestamp: noon, Nonce: fmt.Sprint(i), Body: a2a.Other{Kind: "text", JSON: []byte(`{"type":"text"}`)}})
		list = append(list, object{"envelope_b64": b64(e), "now": "2026-05-28T12:00:00Z"})
	}
	begin := time.Now()
	r := answer(t, "receive_all", object{"did_documents": world(alice), "steps": list})
	t.Logf("10,001 steps took %s", time.Since(begin))
	got := r[1]["steps"].([]any)
	if v := verdict(got[9999].(object)); v != "accept 200 <nil>" {
		t.Errorf("the last that has room: %s", v)
	}
	if v := verdict(got[10000].(object)); v != "reject 429 Replay Window Exhausted" {
		t.Errorf("one more: %s", v)
	}
}

func TestKeysAndIDs(t *testing.T) {
	key := keyOf(alice).Public().(ed25519.PublicKey)
	multikey, base64url := did.FormatMultikey(key), did.FormatPublicKey(key)
	neutral := append([]byte{1}, make([]byte, 31)...)
	for _, tt := range []struct {
		op    string
		input object
		want  string
		value any
	}{
		{"decode_public_key", object{"public_key_multibase": multikey}, "accept 200 <nil>", hex.EncodeToString(key)},
		{"decode_public_key", object{"public_key_multibase": did.FormatMultikey(neutral)}, "reject 400 Bad Request", nil},
		{"decode_public_key", object{"public_key_multibase": did.FormatX25519(key)}, "reject 400 Bad Request", nil},
		{"decode_public_key", object{"public_key_multibase": multikey + "1"}, "reject 400 Bad Request", nil},
		{"decode_public_key", object{"public_key_multibase": strings.Repeat("z", 1<<20)}, "reject 400 Bad Request", nil},
		{"decode_public_key", object{"public_key_multibase": 1}, "reject 400 Bad Request", nil},
		{"register_public_key", object{"public_key_base64url": base64url}, "accept 201 <nil>", hex.EncodeToString(key)},
		{"register_public_key", object{"public_key_base64url": base64url + "="}, "accept 201 <nil>", hex.EncodeToString(key)},
		{"register_public_key", object{"public_key_base64url": did.FormatPublicKey(neutral)}, "reject 400 Bad Request", nil},
		{"register_public_key", object{"public_key_base64url": base64url[:42]}, "reject 400 Bad Request", nil},
		{"parse_air_id", object{"air_id": "AIR-7F3K-M9JQ-X2PL"}, "accept 200 <nil>", "AIR-7F3K-M9JQ-X2PL"},
		{"parse_air_id", object{"air_id": "air-7f3k-m9jq-x2pl"}, "reject 400 Bad Request", nil},
		{"parse_air_id", object{"air_id": "AIR-7F3K-M9JQ-X2PL\n"}, "reject 400 Bad Request", nil},
		{"parse_air_id", object{}, "reject 400 Bad Request", nil},
		{"air_id_from_identity_document", object{"identity_document_json": `{"name":"x","description":null,"public_key":"k","timestamp":0}`}, "accept 200 <nil>", "AIR-33JM-0AND-GNPC"},
		{"air_id_from_identity_document", object{"identity_document_json": object{"name": "x", "description": nil, "public_key": "k", "timestamp": 0}}, "accept 200 <nil>", "AIR-33JM-0AND-GNPC"},
		{"air_id_from_identity_document", object{"identity_document_json": `{`}, "reject 400 Bad Request", nil},
		{"air_id_from_identity_document", object{}, "reject 400 Bad Request", nil},
		{"no such op", object{}, "reject 400 Bad Request", nil},
	} {
		for i, r := range answer(t, tt.op, tt.input) {
			value := r["public_key_hex"]
			if strings.Contains(tt.op, "air_id") {
				value = r["air_id"]
			}
			if verdict(r) != tt.want || value != tt.value {
				t.Errorf("%s %.80v, %d: %.200v, want %s %v", tt.op, tt.input, i, r, tt.want, tt.value)
			}
		}
	}
}

// TestInvalidCases checks that no case ends the driver, and that each gets two answers.
func TestInvalidCases(t *testing.T) {
	lines := []string{
		"x", "null", "1", "[]", "{", "{}", `{"id":1}`, `{"id":1,"op":1,"input":{}}`, `{"id":{"a":[1]},"op":"verify","input":[]}`, `{"id":1,"op":"verify","input":null}`,
		`{"op":"verify","input":{"envelope_b64":"!","now":"2026-05-28T12:00:00Z","did_documents":{}}}`, `{"op":"receive_all","input":{"did_documents":{},"steps":{}}}`, `{"op":"receive_all","input":{"did_documents":{},"steps":[1,null,{}]}}`,
		`{"op":"receive_all","input":{"did_documents":[],"steps":[]}}`, `{"op":"seal","input":{"env":{"from":"a","to":"b","id":"c","thread_id":"d"}}}`, `{"op":"seal","input":{"env":1}}`,
		`{"op":"verify_then_open","input":{"envelope_b64":"","recipient_seed_hex":"00","now":0}}`, `{"op":"verify","input":{"now":1e308,"envelope_b64":""}}`, `{"op":"verify","input":{"now":-1e14,"envelope_b64":""}}`,
		`{"op":"canonicalize","input":{"json_b64":"\ud800"}}`, "{\"op\":\"canonicalize\",\"input\":{\"json_b64\":\"\xff\"}}", strings.Repeat("[", 100000), `{"input":` + strings.Repeat(`{"a":`, 100000),
		`{"op":"canonicalize","input":{"json_b64":"` + b64(bytes.Repeat([]byte("["), 1<<20)) + `"}}`,
		`{"op":"canonicalize","input":{"json_b64":"` + b64([]byte(`"`+strings.Repeat("\u0301\u0315", 1<<18)+`"`)) + `"}}`,
		`{"op":"decode_public_key","input":{"public_key_multibase":"` + strings.Repeat("z", 1<<22) + `"}}`,
		`{"op":"register_public_key","input":{"public_key_base64url":"` + strings.Repeat("\\u0000", 43) + `"}}`,
		`{"op":"parse_air_id","input":{"air_id":"` + strings.Repeat("A", 1<<22) + `"}}`,
	}
	for _, steps := range []string{strings.Repeat(`1,`, 12_000) + `1`, `"` + strings.Repeat("a", 16<<20) + `"`} {
		for _, r := range answerLine(t, `{"id":1,"op":"receive_all","input":{"did_documents":{},"steps":[`+steps+`]}}`) {
			if verdict(r) != "reject 400 Bad Request" || !strings.Contains(r["detail"].(string), "a case has at most") {
				t.Errorf("too many steps: %.300v", r)
			}
		}
	}
	for _, line := range lines {
		for _, r := range answerLine(t, line) {
			if r["verdict"] != "accept" && (r["verdict"] != "reject" || r["status"] == 500.0) {
				t.Errorf("%.80s: %.300v", line, r)
			}
		}
	}
	// All of them in one run, with empty lines and no line end at the last.
	var b bytes.Buffer
	if err := driver.Run(context.Background(), strings.NewReader(strings.Join(lines, "\n\n")), &b); err != nil || strings.Count(b.String(), "\n") != 2*len(lines) {
		t.Errorf("%d answers to %d cases, %v", strings.Count(b.String(), "\n"), len(lines), err)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	if err := driver.Run(canceled, strings.NewReader("{}\n"), &b); err == nil {
		t.Error("a context that ended is not heard")
	}
}

func FuzzAnswer(f *testing.F) {
	e, err := a2a.Sign(a2a.Message{From: alice, To: bob, Timestamp: noon, Body: offer(5)}, a2a.Strict, keyOf(alice))
	if err != nil {
		f.Fatal(err)
	}
	documents, _ := json.Marshal(world(alice, bob))
	f.Add(`{"id":1,"op":"verify","input":{"envelope_b64":"` + b64(e.Text) + `","now":"2026-05-28T12:00:00Z","did_documents":` + string(documents) + `}}`)
	f.Add(`{"id":1,"op":"receive_all","input":{"steps":[{"envelope_b64":"` + b64(e.Text) + `","now":1779969600,"via":"pull"}],"did_documents":` + string(documents) + `}}`)
	f.Add(`{"id":"x","op":"seal","input":{"env":{"from":"a","to":"b","id":"c","thread_id":"d"},"body_json":"{}","recipient_public_multibase":"z6Mkv1o2GEgtXjFdEMfLtupcKhGRydM8V7VHzii7Uh4aHoqH","eph_secret_hex":"00","nonce_hex":""}}`)
	f.Add(`{"op":"air_id_from_identity_document","input":{"identity_document_json":{"name":"x"}}}`)
	f.Fuzz(func(t *testing.T, line string) {
		for _, r := range driver.Answer(context.Background(), []byte(line)) {
			if r.Status == 500 || r.Verdict == "" || !json.Valid(r.ID) {
				t.Fatalf("%q: %+v", line, r)
			}
		}
	})
}

func TestUnknownOperationNamesTheKnownOnes(t *testing.T) {
	for _, a := range answerLine(t, `{"id": 1, "op": "canonicalise", "input": {}}`) {
		if detail := fmt.Sprint(a["detail"]); !strings.Contains(detail, "the ops are air_id_from_identity_document, canonicalize, decode_public_key,") {
			t.Error(detail)
		}
	}
}
