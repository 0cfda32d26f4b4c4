package did_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gazetteer/protocol/did"
)

func TestMintedIDsUseCrockfordsAlphabet(t *testing.T) {
	shape := regexp.MustCompile(`^AIR-[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$`)
	var seen [18]map[byte]bool
	for range 2000 {
		id, err := did.MintAirID(nil)
		if err != nil {
			t.Fatal(err)
		}
		if !shape.MatchString(id) {
			t.Fatalf("minted %q", id)
		}
		if err := did.CheckAirID(id); err != nil {
			t.Fatal(err)
		}
		for i := range id {
			if seen[i] == nil {
				seen[i] = map[byte]bool{}
			}
			seen[i][id[i]] = true
		}
	}
	for i, symbols := range seen {
		if len(symbols) != 1 && len(symbols) != 32 {
			t.Errorf("place %d takes %d symbols, want all 32", i, len(symbols))
		}
	}
}

func TestMintedIDsHaveSixtyBits(t *testing.T) {
	for _, test := range []struct {
		random []byte
		want   string
	}{
		{[]byte{0, 0, 0, 0, 0, 0, 0, 0}, "AIR-0000-0000-0000"},
		{[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "AIR-ZZZZ-ZZZZ-ZZZZ"},
		{[]byte{0x08, 0, 0, 0, 0, 0, 0, 0x10}, "AIR-1000-0000-0001"},
		{[]byte{0, 0, 0, 0, 0, 0, 0, 0x0f}, "AIR-0000-0000-0000"}, // the last four bits are not used
	} {
		got, err := did.MintAirID(bytes.NewReader(test.random))
		if err != nil || got != test.want {
			t.Errorf("MintAirID(%x) = %s, %v, want %s", test.random, got, err, test.want)
		}
	}
	if _, err := did.MintAirID(bytes.NewReader([]byte{1, 2, 3})); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a source that runs dry: %v", err)
	}
}

func TestAirIDLookup(t *testing.T) {
	for _, id := range []string{"AIR-7F3K-M9JQ-X2PL", "AIR-WBA1-DEMO-AGT0", "AIR-ILOU-ILOU-ILOU", "AIR-0000-0000-0000"} {
		if err := did.CheckAirID(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	for _, id := range []string{
		"", "AIR", "AIR-0000-0000-000", "AIR-0000-0000-00000", "AIR_0000_0000_0000", "AIR-0000-0000_0000",
		"AIR-00é0-0000-000", "AIR-0000-0000-000\n", "BIR-0000-0000-0000", "AIR-0000-0000-000/", strings.Repeat("AIR-", 10_000),
	} {
		err := did.CheckAirID(id)
		if code(err) != "air-id" {
			t.Errorf("%q: %v", clipped(id), err)
		} else if len(err.Error()) > 400 {
			t.Errorf("%q: a message of %d bytes", clipped(id), len(err.Error()))
		}
	}
	if err := did.CheckAirID("air-jn59-77bz-hvg7"); err == nil || !strings.Contains(err.Error(), "write AIR-JN59-77BZ-HVG7") {
		t.Errorf("lower case: %v", err)
	}
}

func TestHandles(t *testing.T) {
	for text, want := range map[string]string{
		"Alice_1":                             "alice_1",
		" bob ":                               "bob",
		"ａｌｉｃｅ":                               "alice", // full width folds to the same owner
		"ﬁsh":                                 "fish",  // a ligature too
		"x_9":                                 "x_9",
		"admin":                               "admin", // reserved words are found, see ClaimHandle
		"\u212Aelvin":                         "kelvin",
		"a23456789012345678901234567890"[:30]: "a23456789012345678901234567890",
	} {
		if got, err := did.FoldHandle(text); err != nil || got != want {
			t.Errorf("FoldHandle(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
	for name, text := range map[string]string{
		"two characters":       "ab",
		"31 characters":        strings.Repeat("a", 31),
		"dash":                 "a-b",
		"Cyrillic a":           "аlice",
		"dotted capital I":     "\u0130van",
		"zero-width space":     "ali\u200bce",
		"right-to-left":        "ali\u202ece",
		"combining mark":       "ali\u0301ce",
		"inner space":          "a b c",
		"NUL":                  "a\x00bc",
		"invalid UTF-8":        "abc\xff",
		"empty":                "",
		"a ligature of 18":     "\ufdfa\ufdfa",
		"a megabyte":           strings.Repeat("a", 1<<20),
		"a megabyte of spaces": strings.Repeat(" ", 1<<20) + "abc",
	} {
		if got, err := did.FoldHandle(text); code(err) != "handle" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, text := range []string{"admin", "ROOT", "ｒｏｏｔ", "air7g3km9jqx2pt", "AIR000000000000", "gazetteer",
		"adm1n", "ad_min", "__admin__", "R00T", "supp0rt", "rnoderator", "vvvvvv", "a1r", "0fficia1"} {
		if got, err := did.ClaimHandle(text); code(err) != "handle-reserved" {
			t.Errorf("claim %q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"airline", "air7g3km9jqx2p", "air_7g3km9jqx2p", "administrators", "admin_of_acme", "barn", "alice_1", "weather_bot", "help_desk_acme"} {
		if _, err := did.ClaimHandle(text); err != nil {
			t.Errorf("claim %q: %v", text, err)
		}
	}
}

func TestWebDIDs(t *testing.T) {
	for text, want := range map[string]did.Web{
		"did:wba:example.com":                                 {Method: "wba", Host: "example.com"},
		"did:wba:Example.COM":                                 {Method: "wba", Host: "example.com"},
		"did:web:localhost%3A8443:agents:AIR-0000-0000-0000":  {Method: "web", Host: "localhost", Port: 8443, Path: []string{"agents", "AIR-0000-0000-0000"}},
		"did:wba:example.com%3a1:x":                           {Method: "wba", Host: "example.com", Port: 1, Path: []string{"x"}},
		"did:wba:xn--bcher-kva.example:user:e1_abc-D.f":       {Method: "wba", Host: "xn--bcher-kva.example", Path: []string{"user", "e1_abc-D.f"}},
		"did:wba:deep.three.example.co.uk":                    {Method: "wba", Host: "deep.three.example.co.uk"},
		"did:wba:1password.com":                               {Method: "wba", Host: "1password.com"},
		"did:wba:" + strings.Repeat("a", 63) + ".test:agents": {Method: "wba", Host: strings.Repeat("a", 63) + ".test", Path: []string{"agents"}},
	} {
		got, err := did.ParseWeb(text)
		if err != nil || got.Method != want.Method || !got.SameHost(want) || !slices.Equal(got.Path, want.Path) {
			t.Errorf("ParseWeb(%s) = %+v, %v, want %+v", text, got, err, want)
		}
		again, err := did.ParseWeb(got.String())
		if err != nil || again.String() != got.String() {
			t.Errorf("%s is written as %s, which reads as %s (%v)", text, got, again, err)
		}
	}
	for _, text := range []string{
		"", "did:", "did:wba", "did:wba:", "did:WBA:example.com", "did:key:z6Mk", "https://example.com",
		"did:wba:127.0.0.1", "did:wba:127.1", "did:wba:0x7f.1", "did:wba:2130706433", "did:wba:example.0x7f",
		"did:wba:[::1]", "did:wba:::1", "did:wba:exa mple.com", "did:wba:-a.com", "did:wba:a-.com", "did:wba:a..com",
		"did:wba:.com", "did:wba:example.com.", "did:wba:bücher.example", "did:wba:user@example.com", "did:wba:a_b.example",
		"did:wba:example.com:", "did:wba:example.com::x", "did:wba:example.com:a b", "did:wba:example.com:..", "did:wba:example.com:.:x",
		"did:wba:example.com:%2e%2e", "did:wba:example.com:a/b", "did:wba:example.com#key-1", "did:wba:example.com?x=1",
		"did:wba:example.com%3A", "did:wba:example.com%3A0", "did:wba:example.com%3A65536", "did:wba:example.com%3A080",
		"did:wba:example.com%3A+80", "did:wba:example.com%3Axx", "did:wba:example.com%40evil.com", "did:wba:example.com%3A80%3A80",
		"did:wba:" + strings.Repeat("a", 64) + ".com", "did:wba:" + strings.Repeat("a.", 130) + "com", "did:wba:example.com:" + strings.Repeat("a", 500),
		"did:wba:example.com\n", "did:wba:exam\x00ple.com",
	} {
		if got, err := did.ParseWeb(text); code(err) != "did-web" {
			t.Errorf("ParseWeb(%q) = %+v, %v", clipped(text), got, err)
		}
	}
}

func TestWebDIDErrorMessages(t *testing.T) {
	for text, want := range map[string]string{
		"did:wba:127.0.0.1":       "domain cannot be a raw IPv4 address",
		"did:wba:example.com:a b": "path segment 'a b' has invalid characters",
	} {
		_, err := did.ParseWeb(text)
		var e *did.Error
		if !errors.As(err, &e) || e.Message != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestCheckPublicRefusesPrivateHosts(t *testing.T) {
	for text, public := range map[string]bool{
		"did:wba:example.com": true, "did:wba:a.test%3A8443": true,
		"did:wba:localhost": false, "did:wba:app.localhost": false, "did:wba:intranet": false,
		"did:wba:router.local": false, "did:wba:a.internal": false, "did:wba:x.onion": false, "did:wba:a.home.arpa": false, "did:wba:a.alt": false,
		"did:wba:a.local.example": true, "did:wba:thelocal.example": true,
	} {
		w, err := did.ParseWeb(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.CheckPublic(); (err == nil) != public {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAgentDIDs(t *testing.T) {
	w := did.AgentDID(did.Web{Host: "registry.test", Port: 8443}, "AIR-0000-0000-0000")
	const text = "did:wba:registry.test%3A8443:agents:AIR-0000-0000-0000"
	if w.String() != text {
		t.Errorf("AgentDID = %s, want %s", w, text)
	}
	read, err := did.ParseWeb(text)
	if err != nil {
		t.Fatal(err)
	}
	if id, ok := read.AirID(); !ok || id != "AIR-0000-0000-0000" {
		t.Errorf("AirID = %q, %v", id, ok)
	}
	for _, text := range []string{"did:wba:registry.test", "did:wba:registry.test:AIR-0000-0000-0000",
		"did:wba:registry.test:agents:air-0000-0000-0000", "did:wba:registry.test:agents:AIR-0000-0000-0000:x"} {
		w, err := did.ParseWeb(text)
		if err != nil {
			t.Fatal(err)
		}
		if id, ok := w.AirID(); ok {
			t.Errorf("%s has the AIR ID %s", text, id)
		}
	}
}

func TestDIDSyntax(t *testing.T) {
	for _, text := range []string{
		"did:wba:example.com", "did:web:example.com:u:bob", "did:example:123456789abcdefghi", "did:plc:z72i7hdynmk6r22z27h6tvur",
		"did:key:z6MkjPu1MQQgg8pebFGHd1RiarJCrPSgnhAojpdsH2hwzW6v", "did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169",
		"did:ethr:0xb9c5714089478a327f09197987f16f9e5d936e8a", "did:x:a:b:c%20d",
	} {
		if err := did.CheckSyntax(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	neutral := make(ed25519.PublicKey, 32)
	neutral[0] = 1
	for _, text := range []string{
		"", "me", "did", "did:", "did:x", "did:x:", "did::a", "did:X:a", "did:x:a:", "did:x:a#f", "did:x:a/b", "did:x:a b",
		"did:x:%", "did:x:%2", "did:x:%zz", "DID:x:a", "javascript:alert(1)", "did:x:é", "did:wba:127.0.0.1",
		"did:key:" + did.FormatMultikey(neutral), "did:key:z6Mkshort", "did:x:" + strings.Repeat("a", 500),
	} {
		if err := did.CheckSyntax(text); code(err) == "" {
			t.Errorf("%q passed (%v)", clipped(text), err)
		}
	}
}

func TestDocumentMemberOrder(t *testing.T) {
	d := did.Document{Context: did.Contexts(), ID: "did:wba:a.test", AlsoKnownAs: []string{"did:wba:b.test"},
		VerificationMethod: []did.VerificationMethod{{ID: "did:wba:a.test#key-1", Type: did.TypeEd25519, Controller: "did:wba:a.test", PublicKeyMultibase: "z6Mk"}},
		Authentication:     []string{"did:wba:a.test#key-1"}, AssertionMethod: []string{"did:wba:a.test#key-1"},
		Service: []did.Service{{ID: "did:wba:a.test#i", Type: did.TypeInbox, ServiceEndpoint: "https://a.test/i"}}}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"@context":["https://www.w3.org/ns/did/v1","https://w3id.org/security/suites/ed25519-2020/v1"],"id":"did:wba:a.test",` +
		`"alsoKnownAs":["did:wba:b.test"],"verificationMethod":[{"id":"did:wba:a.test#key-1","type":"Ed25519VerificationKey2020",` +
		`"controller":"did:wba:a.test","publicKeyMultibase":"z6Mk"}],"authentication":["did:wba:a.test#key-1"],` +
		`"assertionMethod":["did:wba:a.test#key-1"],"service":[{"id":"did:wba:a.test#i","type":"A2AInbox","serviceEndpoint":"https://a.test/i"}]}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestFirstInboxInDocumentOrderCounts(t *testing.T) {
	d := did.Document{Service: []did.Service{
		{Type: "a2ainbox", ServiceEndpoint: "https://wrong-case.test/"},
		{Type: did.TypeTrustScore, ServiceEndpoint: "https://score.test/"},
		{Type: did.TypeInbox, ServiceEndpoint: "https://first.test/"},
		{Type: did.TypeInbox, ServiceEndpoint: "https://second.test/"},
	}}
	if got := d.Inbox(); got != "https://first.test/" {
		t.Errorf("Inbox = %q", got)
	}
	if got := (did.Document{}).Inbox(); got != "" {
		t.Errorf("Inbox of nothing = %q", got)
	}
}

func FuzzParseWeb(f *testing.F) {
	for _, text := range []string{"did:wba:example.com:agents:AIR-0000-0000-0000", "did:web:localhost%3A8443", "did:wba:a%3a1:..", "did:wba:127.1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		w, err := did.ParseWeb(text)
		if err != nil {
			explained(t, err)
			return
		}
		again, err := did.ParseWeb(w.String())
		if err != nil || again.String() != w.String() {
			t.Errorf("%q reads as %q, which reads as %q (%v)", text, w, again, err)
		}
		if strings.ContainsAny(w.String(), " \n\r\t<>\"'/?#@") {
			t.Errorf("%q holds characters that do not belong in a DID", w)
		}
	})
}

func FuzzCheckSyntax(f *testing.F) {
	for _, text := range []string{"did:key:z6MkjPu1MQQgg8pebFGHd1RiarJCrPSgnhAojpdsH2hwzW6v", "did:x:a%20", "did:wba:example.com"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := did.CheckSyntax(text); err != nil {
			explained(t, err)
		} else if !strings.HasPrefix(text, "did:") || strings.ContainsAny(text, " \n\r\t<>\"'/?#@") {
			t.Errorf("%q passed", text)
		}
	})
}

func FuzzFoldHandle(f *testing.F) {
	for _, text := range []string{"Alice_1", "ａｄｍｉｎ", "\u0130van", "\ufdfa"} {
		f.Add(text)
	}
	shape := regexp.MustCompile(`^[a-z0-9_]{3,30}$`)
	f.Fuzz(func(t *testing.T, text string) {
		handle, err := did.FoldHandle(text)
		if err != nil {
			explained(t, err)
			return
		}
		if again, err := did.FoldHandle(handle); err != nil || again != handle || !shape.MatchString(handle) {
			t.Errorf("%q folds to %q, which folds to %q (%v)", text, handle, again, err)
		}
	})
}

func FuzzCheckAirID(f *testing.F) {
	f.Add("AIR-0000-0000-0000")
	f.Add("air-jn59-77bz-hvg7")
	shape := regexp.MustCompile(`^AIR-[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}$`)
	f.Fuzz(func(t *testing.T, id string) {
		err := did.CheckAirID(id)
		if (err == nil) != (shape.MatchString(id) && !strings.HasSuffix(id, "\n")) {
			t.Errorf("CheckAirID(%q) = %v", id, err)
		}
		if err != nil {
			explained(t, err)
		}
	})
}

func clipped(text string) string { return text[:min(len(text), 60)] }
