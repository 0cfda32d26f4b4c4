package aidiscovery_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

func TestParseParam(t *testing.T) {
	for text, want := range map[string]aidiscovery.Param{
		"string, required -- search keyword":                          {Type: "string", Required: true, Stated: true, Description: "search keyword", Dialect: aidiscovery.Draft},
		"integer, optional, default 10, max 50":                       {Type: "integer", Stated: true, Constraints: []string{"default 10", "max 50"}, Dialect: aidiscovery.Draft},
		"number, optional, default 1 — amount, to convert":            {Type: "number", Stated: true, Constraints: []string{"default 1"}, Description: "amount, to convert", Dialect: aidiscovery.Draft},
		"string, optional -- metric|imperial, default metric":         {Type: "string", Stated: true, Description: "metric|imperial, default metric", Dialect: aidiscovery.Draft},
		"String , REQUIRED":                                           {Type: "string", Required: true, Stated: true, Dialect: aidiscovery.Draft},
		"array[string], required -- tags":                             {Type: "array[string]", Required: true, Stated: true, Description: "tags", Dialect: aidiscovery.Draft},
		"object, required -- the note":                                {Type: "object", Required: true, Stated: true, Description: "the note", Dialect: aidiscovery.Draft},
		"City name (string, required)":                                {Type: "string", Required: true, Stated: true, Description: "City name", Dialect: aidiscovery.Documentation},
		"Units (metric or not) (string, optional, default metric)":    {Type: "string", Stated: true, Constraints: []string{"default metric"}, Description: "Units (metric or not)", Dialect: aidiscovery.Documentation},
		"string (required - ID of pet)":                               {Type: "string", Required: true, Stated: true, Description: "ID of pet", Dialect: aidiscovery.Converter},
		"integer (optional)":                                          {Type: "integer", Stated: true, Dialect: aidiscovery.Converter},
		"integer (optional - per page (max 100). For more informati)": {Type: "integer", Stated: true, Description: "per page (max 100). For more informati", Dialect: aidiscovery.Converter},
		"the city":            {Description: "the city"},
		"required":            {Description: "required"},
		"string":              {Description: "string"},
		"":                    {},
		"(a":                  {Description: "(a"},
		"two words, required": {Description: "two words, required"},
	} {
		if got := aidiscovery.ParseParam(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestParamString(t *testing.T) {
	for text, want := range map[string]string{
		"string, required -- search keyword":              "string, required -- search keyword",
		"Integer,OPTIONAL,default 10,  max 50 — how many": "integer, optional, default 10, max 50 -- how many",
		"Units (string, optional, default metric)":        "string, optional, default metric -- Units",
		"string (required - ID of pet)":                   "string, required -- ID of pet",
		"integer (optional)":                              "integer, optional",
		"the city":                                        "the city",
		"":                                                "",
		"Days (integer, required, 1–7 –)":                 "integer, required, 1–7 -- Days",
	} {
		p := aidiscovery.ParseParam(text)
		if got := p.String(); got != want {
			t.Errorf("%q is written %q, want %q", text, got, want)
		}
		sameParam(t, p)
	}
	made := aidiscovery.Param{Stated: true, Constraints: []string{"one, two", "a -- b"}, Description: " x "}
	if got, want := made.String(), "string, optional, one; two, a - b -- x"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// sameParam fails unless the draft's notation of a parameter is parsed to the same parameter.
func sameParam(t *testing.T, p aidiscovery.Param) {
	t.Helper()
	want := p
	if p.Dialect != aidiscovery.FreeText {
		want.Dialect = aidiscovery.Draft
	}
	if got := aidiscovery.ParseParam(p.String()); !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v is written %q and read as %+v", want, p.String(), got)
	}
}

func TestParamMeaning(t *testing.T) {
	for text, want := range map[string]aidiscovery.Meaning{
		"integer, optional, default 10, max 50":                                 {Default: "10", HasDefault: true, Max: "50"},
		"string, optional -- price_asc|price_desc|relevance, default relevance": {Default: "relevance", HasDefault: true, Enum: []string{"price_asc", "price_desc", "relevance"}},
		"number, required, min -1.5, Max: 2e3 -- how far":                       {Min: "-1.5", Max: "2e3"},
		"string, required, a|b -- which one, default to the first":              {Enum: []string{"a", "b"}},
		"Units (string, optional, default \"metric\")":                          {Default: "metric", HasDefault: true},
		"string, required -- max length of text | or so":                        {},
		"the city": {},
	} {
		if got := aidiscovery.ParseParam(text).Meaning(); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestWellFormedLanguage(t *testing.T) {
	for _, tag := range []string{
		"en", "EN", "pt-BR", "zh-Hant-TW", "es-419", "fil", "sr-Latn", "zh-yue-HK", "de-1996", "de-CH-1901", "sl-rozaj-biske",
		"en-u-ca-gregory", "en-a-bbb-x-a-ccc", "x-whatever", "i-klingon", "en-GB-oed", "art-lojban", "hy-Latn-IT-arevela",
	} {
		if !aidiscovery.WellFormedLanguage(tag) {
			t.Errorf("%s is refused", tag)
		}
	}
	for _, tag := range []string{
		"", "e", "en_US", "english-language-only", "en-", "-en", "en--US", "de-419-DE", "a-DE", "en-x", "en-u", "ar-a", "x",
		"en-toolongsubtag", "日本", "en US", "1en", "e1",
	} {
		if aidiscovery.WellFormedLanguage(tag) {
			t.Errorf("%q is accepted", tag)
		}
	}
}

// base is a document without findings; each case changes one thing in it.
const base = `{
  "aiendpoint": "1.0",
  "service": {"name": "Notes", "description": "Keeps notes."},
  "capabilities": [
    {"id": "find_note", "description": "Find a note", "endpoint": "/notes", "method": "GET", "returns": "note {id}"}
  ],
  "auth": {"type": "bearer"}
}`

func TestRules(t *testing.T) {
	if _, findings, err := aidiscovery.Parse([]byte(base), options); err != nil || len(findings) > 0 {
		t.Fatalf("the base document: error %v, findings %v", err, findings)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"version 1.10 is newer", `"1.0"`, `"1.10"`, "AI213"},
		{"version 2 is newer", `"1.0"`, `"2"`, "AI213"},
		{"version 1 is not 1.0", `"1.0"`, `"1"`, "AI212"},
		{"version 01.1", `"1.0"`, `"01.1"`, "AI212"},
		{"version of a month", `"1.0"`, `"2026.09"`, "AI213"},
		{"version of a day", `"1.0"`, `"20260901"`, "AI213"},
		{"version of many digits", `"1.0"`, `"10000000.0"`, "AI213"},
		{"version 3.0", `"1.0"`, `"3.0"`, "AI213"},
		{"version 1.100", `"1.0"`, `"1.100"`, "AI213"},
		{"version beyond any integer type", `"1.0"`, `"99999999999999999999999.0"`, "AI213"},
		{"version 1.0.0", `"1.0"`, `"1.0.0"`, "AI212"},
		{"version 2.", `"1.0"`, `"2."`, "AI212"},
		{"path with a space", `"/notes"`, `"/all notes"`, "AI413"},
		{"path with a broken escape", `"/notes"`, `"/%zz"`, "AI413"},
		{"endpoint at a port that cannot be", `"/notes"`, `"https://example.com:99999/notes"`, "AI413"},
		{"docs with a space", `"bearer"`, `"bearer", "docs": "https://example.com/the docs"`, "AI505"},
		{"docs at a port that cannot be", `"bearer"`, `"bearer", "docs": "https://example.com:99999/docs"`, "AI505"},
		{"docs with a key in the query", `"bearer"`, `"bearer", "docs": "https://example.com/docs?api_key=9aBcD3eFgH1iJkLmN0pQ"`, "AI901"},
		{"docs with a placeholder in the query", `"bearer"`, `"bearer", "docs": "https://example.com/docs?api_key=YOUR_API_KEY_123456789"`, ""},
		{"a key as the header", `"bearer"`, `"apikey", "header": "9f86d081884c7d659a2feaa0c55ad015"`, "AI901"},
		{"a long header name", `"bearer"`, `"apikey", "header": "X-Acme-Notes-Service-V2-Auth"`, ""},
		{"version with text", `"1.0"`, `"1.1-beta"`, "AI212"},
		{"no version", `"1.0"`, `""`, "AI212"},
		{"letter case matters", `"auth"`, `"Auth"`, "AI219 AI506"},
		{"a version without quotes hides nothing", `"1.0",`, `1.0, "extra": 1,`, "AI211 AI219"},
		{"a version that is none hides nothing", `"1.0",`, `"v1.0", "extra": 1,`, "AI212 AI219"},
		{"newer versions may have more", `"1.0",`, `"1.1", "extra": 1,`, "AI213"},
		{"nested unknown", `"name": "Notes"`, `"name": "Notes", "logo": "x"`, "AI220"},
		{"name is white space", `"Notes"`, `"  "`, "AI316"},
		{"name with a line break", `"Notes"`, `"No\ntes"`, "AI316"},
		{"name is null", `"Notes"`, `null`, "AI302"},
		{"category of numbers", `"name"`, `"category": [1], "name"`, "AI308"},
		{"languages differ in case only", `"name"`, `"language": ["en", "EN"], "name"`, "AI314"},
		{"language is null", `"name"`, `"language": null, "name"`, "AI312"},
		{"id with a Unicode letter", `"find_note"`, `"find_nöte"`, "AI404"},
		{"id empty", `"find_note"`, `""`, "AI404"},
		{"id is a number", `"find_note"`, `5`, "AI403"},
		{"endpoint with backslash", `"/notes"`, `"/\\evil.example.net"`, "AI415"},
		{"endpoint that a browser reads as another host", `"/notes"`, `"/\t/evil.example.net"`, "AI413"},
		{"endpoint without host", `"/notes"`, `"https:///notes"`, "AI414"},
		{"endpoint by file scheme", `"/notes"`, `"file:///etc/passwd"`, "AI414"},
		{"endpoint with host and port only", `"/notes"`, `"localhost:8080/notes"`, "AI414"},
		{"endpoint on the metadata address", `"/notes"`, `"https://169.254.169.254/x"`, "AI906"},
		{"endpoint on mapped loopback", `"/notes"`, `"https://[::ffff:127.0.0.1]/x"`, "AI906"},
		{"endpoint on shared address space", `"/notes"`, `"https://100.64.1.1/x"`, "AI906"},
		{"endpoint on a name of the local network", `"/notes"`, `"https://printer.local/x"`, "AI906"},
		{"endpoint on another port of the site", `"/notes"`, `"https://api.example.com:8443/x"`, ""},
		{"endpoint with a broken escape", `"/notes"`, `"https://example.com/%zz"`, "AI413"},
		{"endpoint in text", `"/notes"`, `"https://example.com/notes or /notes"`, "AI413"},
		{"endpoint with credentials in the clear", `"/notes"`, `"http://example.com/notes"`, "AI903"},
		{"a medical test is no test", `"/notes"`, `"/lab/test"`, ""},
		{"test in front", `"/notes"`, `"/test/notes"`, "AI907"},
		{"method with a space", `"GET"`, `"GET "`, "AI418"},
		{"method is null", `"GET"`, `null`, "AI417"},
		{"params null", `"method"`, `"params": null, "method"`, "AI419"},
		{"path parameter optional", `"/notes"`, `"/notes/{id}", "params": {"id": "string, optional"}`, "AI425"},
		{"path parameter in an unknown dialect", `"/notes"`, `"/notes/{id}", "params": {"id": "the id"}`, "AI420"},
		{"returns is a list", `"note {id}"`, `["id"]`, "AI422"},
		{"auth type is a list", `"bearer"`, `["bearer"]`, "AI502"},
		{"auth header is a list", `"bearer"`, `"apikey", "header": ["X"]`, "AI503"},
		{"apikey without header", `"bearer"`, `"apikey"`, "AI507"},
		{"bearer in a header of its own", `"bearer"`, `"bearer", "header": "X-Token"`, "AI508"},
		{"bearer in its header", `"bearer"`, `"bearer", "header": "authorization"`, ""},
		{"docs by mail", `"bearer"`, `"bearer", "docs": "mailto:a@example.com"`, ""},
		{"docs without host", `"bearer"`, `"bearer", "docs": "https:///docs"`, "AI505"},
		{"agent tier without docs", `"auth"`, `"rate_limits": {"agent_tier_available": true}, "auth"`, "AI703"},
		{"rate of 6e1", `"auth"`, `"rate_limits": {"requests_per_minute": 6e1}, "auth"`, ""},
		{"rate of 600e-1", `"auth"`, `"rate_limits": {"requests_per_minute": 600e-1}, "auth"`, ""},
		{"rate of 1e999999999", `"auth"`, `"rate_limits": {"requests_per_minute": 1e999999999}, "auth"`, ""},
		{"rate of 1e99999999999999999999", `"auth"`, `"rate_limits": {"requests_per_minute": 1e99999999999999999999}, "auth"`, ""},
		{"rate of 1e-99999999999999999999", `"auth"`, `"rate_limits": {"requests_per_minute": 1e-99999999999999999999}, "auth"`, "AI701"},
		{"rate of almost one", `"auth"`, `"rate_limits": {"requests_per_minute": 0.99999999999999999999}, "auth"`, "AI701"},
		{"rate of 0.0e5", `"auth"`, `"rate_limits": {"requests_per_minute": 0.0e5}, "auth"`, "AI701"},
		{"rate of 1.50e1", `"auth"`, `"rate_limits": {"requests_per_minute": 1.50e1}, "auth"`, ""},
		{"rate of 1.55e1", `"auth"`, `"rate_limits": {"requests_per_minute": 1.55e1}, "auth"`, "AI701"},
		{"rate of minus one", `"auth"`, `"rate_limits": {"requests_per_minute": -1}, "auth"`, "AI701"},
		{"date with fraction", `"auth"`, `"meta": {"last_updated": "2026-03-01T00:00:00.5Z"}, "auth"`, "AI801"},
		{"date with offset", `"auth"`, `"meta": {"last_updated": "2026-03-01T00:00:00+01:00"}, "auth"`, "AI801"},
		{"date of tomorrow", `"auth"`, `"meta": {"last_updated": "2026-04-02"}, "auth"`, ""},
		{"date of next week", `"auth"`, `"meta": {"last_updated": "2026-04-08"}, "auth"`, "AI804"},
		{"a token that only looks signed", `"Keeps notes."`, `"Use eyJub3Q.eyJub3Q.abc here."`, ""},
		{"an example key of its maker", `"Keeps notes."`, `"Like AKIAIOSFODNN7EXAMPLE."`, ""},
		{"a password in an address", `"Keeps notes."`, `"At https://user:hunter2@example.com/."`, "AI901"},
		{"a placeholder in an address", `"Keeps notes."`, `"At https://{user}:{password}@example.com/."`, ""},
		{"a time of day is no password", `"Keeps notes."`, `"See https://example.com:80/@me."`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(base, c.old, c.new, 1)
			if text == base {
				t.Fatal("the case changes nothing")
			}
			_, findings, err := aidiscovery.Parse([]byte(text), options)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range findings {
				got = append(got, f.Code)
			}
			slices.Sort(got)
			if want := strings.Fields(c.want); !slices.Equal(got, want) {
				t.Errorf("findings %v, want %v", got, want)
			}
		})
	}
}

func TestPrivateHosts(t *testing.T) {
	for _, host := range []string{
		"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "0x", "0", "127.0.0.1.",
		"10.1.2.3", "172.31.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "192.0.2.7",
		"256.1.1.1", "1.2.3.4.5", "0x100000000", "08.1.1.1", "１２７.0.0.1", "127。0。0。1", "api.ⓛocal",
		"[::1]", "[::]", "[fe80::1]", "[fe80::1%25eth0]", "[fd00::1]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]",
		"[::ffff:10.0.0.1]", "[::ffff:7f00:1]", "[::10.0.0.1]", "[::ffff:0:10.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]", "[2002:a00:1::]",
		"localhost", "LOCALHOST", "localhost.", "api.localhost", "printer.local", "metadata.google.internal", "router.home.arpa", "db.lan", "wiki.corp", "intranet",
		"host.docker.internal", "localhost.localdomain",
	} {
		text := strings.Replace(base, `"/notes"`, `"https://`+host+`/x"`, 1)
		_, findings, err := aidiscovery.Parse([]byte(text), options)
		if err != nil || !slices.Contains(codes(findings, protocol.Error), "AI906") {
			t.Errorf("%s: %v, findings %v; want AI906", host, err, findings)
		}
	}
	for _, host := range []string{
		"93.184.216.34", "0x5db8d822", "[2606:4700::1111]", "[64:ff9b::8.8.8.8]", "[2002:808:808::1]", "[::ffff:8.8.8.8]", "example.com", "localhost.example.com",
		"local.net", "127.0.0.1.example.com", "日本.example.com", "xn--wgv71a.jp", "172.32.0.1", "example.com.",
	} {
		text := strings.Replace(base, `"/notes"`, `"https://`+host+`/x"`, 1)
		_, findings, err := aidiscovery.Parse([]byte(text), aidiscovery.Options{})
		if err != nil || len(findings) > 0 {
			t.Errorf("%s: %v, findings %v; want none", host, err, findings)
		}
	}
}

func TestReturnsNamesFields(t *testing.T) {
	for _, text := range []string{
		"products[] {id, name, price, stock}", "note {id}", "from, to, rate", "order_id", "convertedAmount", "user.email", "id", "note",
		"The order with its state", "A list containing every booking", "the new token", "boolean", "text", "nothing", "204 and nothing", "<note/>",
		"total count", "array of id", "name|null", "csv", "objects that have name or colour", "Returns fields of the user",
		"메모 목록 [{id, text}]", "메모",
	} {
		if got := returnsFindings(t, text); len(got) > 0 {
			t.Errorf("%q: %v, want nothing", text, got)
		}
	}
	for _, text := range []string{
		"", " ", "Successful operation", "OK", "success", "Response", "The note", "Pet deleted", "JSON", "JSON object", "The created order.", "A list of notes", "the result",
		"List of integration installation requests", "Success!", "user's profile", "information about",
	} {
		if got := returnsFindings(t, text); !slices.Equal(got, []string{"AI424"}) {
			t.Errorf("%q: %v, want AI424", text, got)
		}
	}
}

func returnsFindings(t *testing.T, returns string) []string {
	t.Helper()
	_, findings, err := aidiscovery.Parse([]byte(strings.Replace(base, "note {id}", strings.ReplaceAll(returns, `"`, `\"`), 1)), options)
	if err != nil {
		t.Fatal(err)
	}
	return codes(findings, protocol.Info)
}

func TestCredentials(t *testing.T) {
	const letters = "9aBcD3eFgH1iJkLmN0pQrStUvWxYz2468013579abcdefghijklmnopqrstuv"
	for _, text := range []string{
		"key sk_live_" + letters[:24], "ghp_" + letters[:36], "token=ghs_" + letters[:40], "glpat-" + letters[:20], "AKIA" + "Q3RT7ZXW4MNP2KLV",
		"(xoxb-" + letters[:30] + ")", "sk-proj-" + letters[:48], "sk-ant-api03-" + letters[:50], "hf_" + letters[:34], "npm_" + letters[:36], "whsec_" + letters[:32],
		"SG." + letters[:22] + "." + letters[:43], "dop_v1_" + letters + letters[:10], "https://hooks.slack.com/services/T0/B0/" + letters[:30],
		"-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY----- MIIE", "-----BEGIN OPENSSH PRIVATE KEY-----",
		"Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "Authorization: Bearer " + letters[:24], "sk-" + letters[:48], "at https://example.com/x?a=1&access_token=" + letters[:24], "jwt-eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.", "redis://:hunter2@cache.example.com", "postgres://a:b@c", "see ftp://u:p:w@h/x",
	} {
		for _, document := range []string{
			strings.Replace(base, "Keeps notes.", text, 1),
			strings.Replace(base, `"method"`, `"params": {"`+text+`": "string, optional"}, "method"`, 1), // a name is read as well
		} {
			_, findings, err := aidiscovery.Parse([]byte(document), options)
			if err != nil || !slices.Equal(codes(findings, protocol.Error), []string{"AI901"}) {
				t.Errorf("%s: %v, findings %v; want AI901", text, err, findings)
			}
		}
	}
	for _, text := range []string{
		"sk_live_" + strings.Repeat("x", 24), "ghp_" + strings.Repeat("X1", 20), "task_live_" + letters[:24], "AKIAIOSFODNN7EXAMPLE", "hf_short", "a PRIVATE KEY-----",
		"eyJub3Q.eyJub3Q.abc", "eyJhbGciOiJIUzI1NiJ9.nothing", "https://example.com:80/@me", "a: b@c", "https://{user}:{password}@example.com", "://u:p@h", "u:p@h",
		"use https://user@example.com/x", letters, "Bearer authentication-is-required-2-times", "Authorization: Bearer YOUR_API_KEY_123456789", "?api_key=" + strings.Repeat("x1", 20),
	} {
		_, findings, err := aidiscovery.Parse([]byte(strings.Replace(base, "Keeps notes.", text, 1)), options)
		if err != nil || len(findings) > 0 {
			t.Errorf("%s: %v, findings %v; want none", text, err, findings)
		}
	}
}

func TestFindingPlace(t *testing.T) {
	for _, c := range []struct {
		old, new, code, pointer string
		line, column            int
	}{
		{`"GET"`, `"get"`, "AI418", "/capabilities/0/method", 5, 87},
		// Characters count, not bytes.
		{`"Find a note"`, `"ÄÖÜ 日本"`, "", "", 0, 0},
		{`"description": "Find a note", "endpoint": "/notes", "method": "GET"`, `"description": "ÄÖÜ", "endpoint": "/notes", "method": "x"`, "AI418", "/capabilities/0/method", 5, 79},
		// A missing member is reported where it should stand.
		{`"method": "GET", `, ``, "AI416", "/capabilities/0", 5, 5},
		// A member that should not be there is reported at its name.
		{`"auth"`, `"extra": 1, "auth"`, "AI219", "/extra", 7, 3},
	} {
		_, findings, err := aidiscovery.Parse([]byte(strings.Replace(base, c.old, c.new, 1)), options)
		if err != nil {
			t.Fatal(err)
		}
		if c.code == "" {
			if len(findings) > 0 {
				t.Errorf("findings %v, want none", findings)
			}
			continue
		}
		if len(findings) != 1 {
			t.Errorf("%s: findings %v, want one", c.code, findings)
			continue
		}
		if f := findings[0]; f.Code != c.code || f.Pointer != c.pointer || f.Line != c.line || f.Column != c.column {
			t.Errorf("%s at %q %d:%d, want %s at %q %d:%d", f.Code, f.Pointer, f.Line, f.Column, c.code, c.pointer, c.line, c.column)
		}
	}
}

// What a help proposes passes the check.
func TestHelpOfLists(t *testing.T) {
	for _, c := range []struct{ member, code, help string }{
		{`"category": "Travel"`, "AI308", `write it as an array, for example ["travel"]`},
		{`"category": "ferry"`, "AI308", `write it as an array, for example ["travel"], with one or more of: productivity, `},
		{`"language": "fr"`, "AI312", `write it as an array, for example ["fr"]`},
		{`"language": "English"`, "AI312", `write it as an array, for example ["en"]`},
		{`"language": "none of them"`, "AI312", `write it as an array, for example ["de"]`},
	} {
		_, findings, err := aidiscovery.Parse([]byte(strings.Replace(base, `"name": "Notes"`, `"name": "Notes", `+c.member, 1)), options)
		if err != nil || len(findings) != 1 || findings[0].Code != c.code || !strings.HasPrefix(findings[0].Help, c.help) {
			t.Errorf("%s: error %v, findings %+v; want %s with the help %q", c.member, err, findings, c.code, c.help)
		}
	}
}

// A member of meta that names an agent has a use for registries.
func TestMetaThatNamesAgent(t *testing.T) {
	text := []byte(strings.Replace(base, `"auth"`, `"meta": {"agent": "did:wba:example.com:agents:AIR-7G3K-M9JQ-X2PT"}, "auth"`, 1))
	d, findings, err := aidiscovery.Parse(text, options)
	if err != nil || len(findings) != 1 || findings[0].Code != "AI805" || !strings.Contains(findings[0].Help, "registries can link the two") {
		t.Errorf("error %v, findings %+v", err, findings)
	}
	for _, s := range aidiscovery.Savings(d.Root) {
		if strings.Contains(s.Message, "agent") {
			t.Errorf("the agent is to be removed: %+v", s)
		}
	}
}

func TestCredentialIsNotQuoted(t *testing.T) {
	const secret = "sk_live_51H8xExampleExample99"
	_, findings, err := aidiscovery.Parse([]byte(strings.Replace(base, "Keeps notes.", "Key "+secret, 1)), options)
	if err != nil || len(findings) != 1 || findings[0].Code != "AI901" {
		t.Fatalf("error %v, findings %v; want AI901", err, findings)
	}
	if strings.Contains(fmt.Sprint(findings), "51H8x") {
		t.Errorf("the finding repeats the secret: %+v", findings)
	}
}

// A document with faults without end is answered with a list that ends, and
// the list does not look lighter than the document is.
func TestManyFindings(t *testing.T) {
	caps := strings.Repeat(`{"id": "x", "description": 1},`, 4000)
	text := `{"aiendpoint": "1.0", "capabilities": [` + strings.TrimSuffix(caps, ",") + `]}`
	_, findings, err := aidiscovery.Parse([]byte(text), options)
	if err != nil {
		t.Fatal(err)
	}
	if len(findings) != protocol.DefaultLimits.Findings+1 {
		t.Fatalf("%d findings, want %d", len(findings), protocol.DefaultLimits.Findings+1)
	}
	last := findings[len(findings)-1]
	if last.Code != protocol.CodeMore || last.Severity != protocol.Error {
		t.Errorf("last finding %+v", last)
	}
}

func TestUnreadable(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": ` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`: "AI206",
		`{"a": 1` + strings.Repeat("0", 40) + `}`:                          "AI207",
		`[` + strings.Repeat("1,", 5001) + `1]`:                            "AI207",
		strings.Repeat(" ", 262145):                                        "AI116",
		`{"service": {}, "\u0073ervice": {}}`:                              "AI205",
		"\xef\xbb\xbf\xef\xbb\xbf{}":                                       "AI203", // one mark is forgiven, not two
	} {
		doc, findings, err := aidiscovery.Parse([]byte(text), options)
		if err == nil || doc != nil || !slices.Contains(codes(findings, protocol.Error), want) {
			t.Errorf("%.30q: document %v, findings %v, error %v; want %s", text, doc, findings, err, want)
		}
	}
}

func TestRuleTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range aidiscovery.Rules() {
		if seen[r.Code] || r.Slug == "" || !strings.HasPrefix(r.Section, "AI Discovery §") || r.Basis == "" {
			t.Errorf("rule %+v", r)
		}
		seen[r.Code] = true
	}
}

// TestBasisOfRules checks that a rule says no more than its section: the draft makes returns optional and
// advises custom members of meta, and names no depth.
func TestBasisOfRules(t *testing.T) {
	want := map[string]string{"AI206": "own", "AI207": "own", "AI424": "inferred", "AI805": "inferred", "AI902": "must"}
	for _, r := range aidiscovery.Rules() {
		if basis, ok := want[r.Code]; ok && r.Basis != basis {
			t.Errorf("%s has the basis %s, want %s", r.Code, r.Basis, basis)
		}
		for _, word := range []string{"requires readers", "agents must"} { // of what the draft says with SHOULD
			if strings.Contains(r.Text, word) {
				t.Errorf("%s: %q", r.Code, r.Text)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, dir := range []string{"valid", "invalid"} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.json"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			if len(text) < 2000 {
				f.Add(text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, findings, err := aidiscovery.Parse(text, options)
		if (doc == nil) != (err != nil) {
			t.Fatalf("document %v, error %v", doc, err)
		}
		if err != nil && len(findings) == 0 || len(findings) > protocol.DefaultLimits.Findings+1 {
			t.Fatalf("error %v, %d findings", err, len(findings))
		}
		for _, finding := range findings {
			if finding.Code == "" || finding.Message == "" || len(finding.Message) > 2000 || len(finding.Help) > 2000 {
				t.Fatalf("finding %+v", finding)
			}
		}
		if err == nil {
			sameRewritten(t, text, findings)
		}
	})
}

// sameRewritten fails unless a document that was read is judged alike when it is
// written by us: but for the byte order mark and sizes, which are of the bytes.
func sameRewritten(t *testing.T, text []byte, findings []protocol.Finding) {
	t.Helper()
	of := func(findings []protocol.Finding) (list []string) {
		for _, f := range findings {
			if f.Code != "AI202" && f.Code != "AI115" {
				list = append(list, f.Code+" "+f.Pointer)
			}
		}
		return list
	}
	trimmed, _ := protocol.TrimBOM(text)
	root, err := protocol.ReadJSON(trimmed, protocol.Limits{})
	if err != nil {
		t.Fatalf("accepted, but the tree: %v", err)
	}
	aidiscovery.Savings(root)
	for _, indent := range []string{"", " "} {
		again := protocol.WriteJSON(root, indent)
		if len(again) > aidiscovery.HardSize {
			continue
		}
		_, got, err := aidiscovery.Parse(again, options)
		if err != nil || !slices.Equal(of(got), of(findings)) {
			t.Fatalf("rewritten as %s: %v\n%v\nwant\n%v", again, err, of(got), of(findings))
		}
		if !aidiscovery.SameDocument(text, again) {
			t.Fatalf("rewritten as another document: %s", again)
		}
	}
}

// The documents of testdata do not change when they are parsed and written.
func TestRewritten(t *testing.T) {
	rewritten := 0
	for _, v := range manifest(t) {
		text := read(t, v.File)
		_, findings, err := aidiscovery.Parse(text, options)
		if err != nil {
			continue
		}
		rewritten++
		sameRewritten(t, text, findings)
	}
	if rewritten < 70 {
		t.Errorf("only %d documents were rewritten", rewritten)
	}
}

func FuzzParseParam(f *testing.F) {
	for _, s := range []string{"string, required, max 5 -- text", "text (string, required)", "string (required - text)", "— -- (,", "array[x, required"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := aidiscovery.ParseParam(text)
		if len(p.Type) > 40 || len(p.Description) > len(text) || p.Required && !p.Stated || (p.Dialect == aidiscovery.FreeText) != (p.Type == "") {
			t.Fatalf("%q: %+v", text, p)
		}
		sameParam(t, p)
		p.Meaning()
	})
}

// The grammar of BCP 47 knows no letter case and joins subtags with hyphens.
func FuzzWellFormedLanguage(f *testing.F) {
	for _, s := range []string{"en", "zh-Hant-TW", "sl-rozaj-biske", "en-u-ca-gregory", "x-a", "i-klingon", "de-1996-1901", "en-a-bb-x-1", "日", "-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, tag string) {
		ok := aidiscovery.WellFormedLanguage(tag)
		if ok != aidiscovery.WellFormedLanguage(strings.ToUpper(tag)) && strings.EqualFold(strings.ToUpper(tag), tag) {
			t.Fatalf("%q: letter case makes a difference", tag)
		}
		if ok && (strings.Trim(strings.ToLower(tag), "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.Contains(tag, "--") || len(tag) < 2) {
			t.Fatalf("%q is accepted", tag)
		}
		if ok && !strings.HasPrefix(strings.ToLower(tag), "i-") && !strings.Contains(strings.ToLower("-"+tag+"-"), "-x-") && !aidiscovery.WellFormedLanguage(tag+"-x-more") {
			// RFC 5646 §2.1: private use may follow any tag of the grammar.
			switch strings.ToLower(tag) {
			case "en-gb-oed", "sgn-be-fr", "sgn-be-nl", "sgn-ch-de":
			default:
				t.Fatalf("%q is accepted, but not with private use behind it", tag)
			}
		}
	})
}

func TestLanguagesAreSuggested(t *testing.T) {
	for text, want := range map[string]string{
		"english_US": "did you mean en-US? use BCP 47", "en_US": "did you mean en-US? use BCP 47", "klingonese_KX": "use BCP 47", "english !": "use BCP 47",
		"German": "did you mean de? use the code", "portuguese-BR": "did you mean pt-BR? use BCP 47", "jp": "did you mean ja? use the code", "xx-DE": "use the code", "Elvish": "use the code",
		"de": "", "zh-Hant": "", "cmn": "", "qaa": "", "mul": "", "x-home": "", "i-klingon": "", "art-lojban": "", "sgn-BE-FR": "",
	} {
		_, findings, err := aidiscovery.Parse([]byte(`{"aiendpoint": "1.0", "service": {"name": "N", "description": "D", "language": ["`+text+`"]}, "capabilities": []}`), aidiscovery.Options{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(findings, func(f protocol.Finding) bool { return f.Code == "AI315" || f.Code == "AI317" })
		if (i < 0) != (want == "") || i >= 0 && !strings.HasPrefix(findings[i].Help, want) {
			t.Errorf("%s: %+v, want the help %q", text, findings, want)
		}
	}
}

func TestIDsAndMethodsAreSuggested(t *testing.T) {
	for _, c := range []struct{ old, new, code, help string }{
		{`"find_note"`, `"find-note"`, "AI404", "did you mean find_note? use lowercase"},
		{`"find_note"`, `"FindNote"`, "AI404", "did you mean find_note? use lowercase"},
		{`"find_note"`, `"reservar habitación"`, "AI404", "did you mean reservar_habitacion? use lowercase"},
		{`"find_note"`, `"部屋"`, "AI404", "use lowercase"},
		{`"find_note"`, `"2nd"`, "AI404", "use lowercase"},
		{`"GET"`, `"get"`, "AI418", "did you mean GET? use GET,"},
		{`"GET"`, `"GETT"`, "AI418", "did you mean GET? use GET,"},
		{`"GET"`, `" Delet"`, "AI418", "did you mean DELETE? use GET,"},
		{`"GET"`, `"FETCH"`, "AI418", "use GET,"}, // two letters from PATCH
		{`"GET"`, `""`, "AI418", "use GET,"},
	} {
		_, findings, err := aidiscovery.Parse([]byte(strings.Replace(base, c.old, c.new, 1)), options)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(findings, func(f protocol.Finding) bool { return f.Code == c.code })
		if i < 0 || !strings.HasPrefix(findings[i].Help, c.help) {
			t.Errorf("%s: %+v, want the help %q", c.new, findings, c.help)
		}
	}
}

// A member that the draft does not define is one of its own under another name, or in another object,
// more often than one that somebody added.
func TestUnknownMembersAreExplained(t *testing.T) {
	for _, c := range []struct{ old, new, pointer, help string }{
		{`"endpoint": "/notes"`, `"url": "/notes"`, "/capabilities/0/url", "the draft calls it endpoint"},
		{`"method": "GET"`, `"verb": "GET"`, "/capabilities/0/verb", "the draft calls it method"},
		{`"method": "GET"`, `"method": "GET", "parameters": {}`, "/capabilities/0/parameters", "the draft calls it params"},
		{`"method": "GET"`, `"method": "GET", "category": ["food"]`, "/capabilities/0/category", "move it into service"},
		{`"auth":`, `"authentication":`, "/authentication", "the draft calls it auth"},
		{`"auth":`, `"languages": ["en"], "auth":`, "/languages", "move it into service, where the draft calls it language"},
		{`"auth":`, `"rate_limit": 1, "auth":`, "/rate_limit", "did you mean rate_limits? Otherwise remove it, or move it into meta"},
		{`"name": "Notes"`, `"name": "Notes", "auth": {}`, "/service/auth", "move it to the top level of the document"},
		{`"auth":`, `"contact": "a", "auth":`, "/contact", "remove it, or move it into meta"},
	} {
		text := strings.Replace(base, c.old, c.new, 1)
		if text == base {
			t.Fatalf("the base document has no %s", c.old)
		}
		_, findings, err := aidiscovery.Parse([]byte(text), options)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(findings, func(f protocol.Finding) bool { return f.Pointer == c.pointer })
		if i < 0 || findings[i].Help != c.help {
			t.Errorf("%s: %+v", c.new, findings)
		}
	}
}

// The help for a missing member names the one that probably stands for it, also in documents without
// a version, in which unknown members are no findings.
func TestMissingMemberUnderAnotherName(t *testing.T) {
	for _, c := range []struct{ old, new, code, help string }{
		{`"capabilities"`, `"capabilites"`, "AI216", `rename "capabilites" to capabilities, or add an array`},
		{`"auth"`, `"authentication"`, "AI506", `rename "authentication" to auth, or add "auth"`},
		{`"endpoint": "/notes"`, `"path": "/notes"`, "AI410", `rename "path" to endpoint, or write a path`},
		{`"method": "GET"`, `"methd": "GET"`, "AI416", `rename "methd" to method, or use GET`},
		{`"name": "Notes"`, `"nane": "Notes"`, "AI301", `rename "nane" to name, or add name`},
		{`"name": "Notes"`, `"title": "Notes"`, "AI301", "add name with"},
	} {
		for _, version := range []string{`"aiendpoint": "1.0",`, ""} {
			text := strings.Replace(strings.Replace(base, c.old, c.new, 1), `"aiendpoint": "1.0",`, version, 1)
			_, findings, err := aidiscovery.Parse([]byte(text), options)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(findings, func(f protocol.Finding) bool { return f.Code == c.code })
			if i < 0 || !strings.HasPrefix(findings[i].Help, c.help) {
				t.Errorf("%s %s: %+v, want %s with the help %q", version, c.new, findings, c.code, c.help)
			}
		}
	}
}

// TestUnreadableHelp checks that the help for a text that is not JSON fits what is wrong with it.
func TestUnreadableHelp(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1, }`:        "remove the comma",
		`{"a": 1,, "b": 2}`: "remove the comma, or write the value",
		"{\"a\": 1 // b\n":  "remove the comment",
		`{'a': 1}`:          "write double quotes",
		`{"a": 1`:           "publish the whole text",
		`{} {}`:             "serve a single JSON object",
		`{"a": 1 "b": 2}`:   "separate the two with a comma",
	} {
		_, findings, err := aidiscovery.Parse([]byte(text), aidiscovery.Options{})
		if err == nil || len(findings) != 1 || !strings.HasPrefix(findings[0].Help, want) {
			t.Errorf("%s: %v, %+v", text, err, findings)
		}
	}
}
