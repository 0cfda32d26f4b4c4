package envelope_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/cli"
	"gazetteer/internal/cli/envelope"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
)

func keyOf(n byte) ed25519.PrivateKey {
	seed := make([]byte, ed25519.SeedSize)
	seed[0] = n
	return ed25519.NewKeyFromSeed(seed)
}

func multikey(n byte) string { return did.FormatMultikey(keyOf(n).Public().(ed25519.PublicKey)) }

// run runs a verb and returns its output.
func run(t *testing.T, app *cli.App, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	app.Streams = cli.Streams{In: strings.NewReader(""), Out: &out, Err: &bytes.Buffer{}}
	c := envelope.Commands(app)[0]
	c.SetArgs(args)
	c.SetOut(&out)
	c.SetErr(&out)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(context.Background())
	return out.String(), err
}

// A relay's receipt takes the place of the clock.
func TestCheckReceipt(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sent := time.Date(2026, 5, 28, 9, 0, 0, 0, time.UTC)
	sign := func(reason string) *a2a.Envelope {
		e, err := a2a.Sign(a2a.Message{From: "did:wba:a.example", To: "did:wba:b.example", Timestamp: sent, InReplyTo: a2a.NewID(), Body: a2a.Decline{Reason: reason}}, a2a.Strict, keyOf(1))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := sign("x")
	mail := write("mail.json", e.Text)
	good := write("good", a2a.NewReceipt("did:web:relay.example", e, sent.Add(time.Second)).Sign(keyOf(9)))
	late := write("late", a2a.NewReceipt("did:web:relay.example", e, sent.Add(time.Hour)).Sign(keyOf(9)))
	other := write("other", a2a.NewReceipt("did:web:relay.example", sign("y"), sent).Sign(keyOf(9)))
	document := write("sender.json", []byte(`{"id":"did:wba:a.example","verificationMethod":[{"id":"#key-1","controller":"did:wba:a.example","publicKeyMultibase":"`+multikey(1)+`"}]}`))
	tests := []struct {
		name string
		args []string
		good bool
		want string
	}{
		{"form alone", nil, true, "form       strict and wire"},
		{"now it is old", []string{"--sender", multikey(1)}, false, "clock      Stale Timestamp"},
		{"at its time", []string{"--sender", document, "--at", "2026-05-28T09:05:00Z"}, true, "signature  ok, by " + multikey(1)},
		{"received in time", []string{"--receipt", good, "--relay-key", multikey(9), "--sender", multikey(1)}, true, "receipt    ok, received at 2026-05-28T09:00:01Z by did:web:relay.example"},
		{"received late", []string{"--receipt", late, "--relay-key", multikey(9)}, false, "clock      Stale Timestamp"},
		{"of another envelope", []string{"--receipt", other, "--relay-key", multikey(9)}, false, "receipt    Bad Signature: the receipt is that of another envelope"},
		{"of another relay", []string{"--receipt", good, "--relay-key", multikey(8)}, false, "receipt    Bad Signature: the signature of the receipt does not verify"},
		{"of another sender", []string{"--sender", multikey(2), "--at", "2026-05-28T09:00:00Z"}, false, "signature  Bad Signature: signature does not verify"},
		{"a receipt without a key", []string{"--receipt", good}, false, ""},
		{"a key that is none", []string{"--receipt", good, "--relay-key", "z6Mk"}, false, ""},
		{"no such file", []string{"--receipt", filepath.Join(dir, "none"), "--relay-key", multikey(9)}, false, ""},
	}
	for _, tt := range tests {
		out, err := run(t, &cli.App{}, append([]string{"check", mail}, tt.args...)...)
		if (err == nil) != tt.good || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %v\n%s", tt.name, err, out)
		}
	}
	out, err := run(t, &cli.App{JSON: true}, "check", mail)
	var report struct {
		Rules    []struct{ Rule, Strict, Wire string }
		Profiles []string
		Digest   string `json:"canonical_sha256"`
	}
	if jsonErr := json.Unmarshal([]byte(out), &report); err != nil || jsonErr != nil || len(report.Profiles) != 2 || len(report.Digest) != 64 || len(report.Rules) < 20 {
		t.Errorf("%v, %v: %s", err, jsonErr, out)
	}
}

// TestHostileTextIsEscaped checks that an untrusted text in an envelope cannot move the cursor.
func TestHostileTextIsEscaped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mail.json")
	if err := os.WriteFile(path, []byte(`{"id":"1","\u001b[2J":1,"body":{"type":"Decline","\u202ex":1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, &cli.App{}, "check", path)
	if err == nil || strings.ContainsAny(out, "\x1b\u202e") || !strings.Contains(out, "is no member of an envelope") {
		t.Errorf("%v: %q", err, out)
	}
}
