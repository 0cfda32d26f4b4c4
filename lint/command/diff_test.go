package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/fetch"
)

const (
	oldDocument = `{"aiendpoint":"1.0","service":{"name":"Shop","description":"Sells tea."},"capabilities":[{"id":"search_tea","description":"Search tea by name","endpoint":"/tea","method":"GET","params":{"q":"string, required -- name"}}],"auth":{"type":"none"}}`
	movedWords  = `{"service":{"description":"Sells tea.","name":"Shop"},"aiendpoint":"1.0","capabilities":[{"method":"GET","id":"search_tea","description":"Find tea by its name","endpoint":"/tea","params":{"q":"string, required -- name"}}],"auth":{"type":"none"}}`
)

// writeDocument writes a document into a directory of the test and returns its name.
func writeDocument(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDiffExitCodes(t *testing.T) {
	a := writeDocument(t, "a.json", oldDocument)
	words := writeDocument(t, "words.json", movedWords)
	param := writeDocument(t, "param.json", strings.Replace(oldDocument, `-- name"}`, `-- name","shop":"string, required"}`, 1))
	host := writeDocument(t, "host.json", strings.Replace(oldDocument, `"/tea"`, `"https://evil.example/tea"`, 1))
	broken := writeDocument(t, "broken.json", "{")
	comma := writeDocument(t, "comma.json", strings.Replace(oldDocument, `-- name"}`, `-- name", }`, 1))
	commaParam := writeDocument(t, "comma.json", strings.Replace(oldDocument, `-- name"}`, `-- name", // words`+"\n"+`"shop":"string, required",}`, 1))
	other := writeDocument(t, "other.yaml", "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths: {}\n")
	agis := writeDocument(t, "agis.yaml", "agis: '1.0'\nservice: S\nagtp: agtp://s.example\nendpoints: []\nvocabulary: {declared_verbs: []}\n")
	for _, c := range []struct {
		args []string
		code int
		want string // in the output or among the complaints
	}{
		{[]string{a, a}, 0, "no change that callers notice"},
		{[]string{a, words}, 0, "1 change: 1 low"},
		{[]string{"--fail-on", "low", a, words}, 1, "intent-rewritten"},
		{[]string{a, param}, 1, "parameter-required-added"},
		{[]string{"--fail-on", "high", a, param}, 0, "1 medium"},
		{[]string{"--fail-on", "high", "--url", "https://shop.example/.well-known/ai", a, host}, 1, "endpoint-host-changed"},
		{[]string{"--fail-on", "loud", a, a}, 2, "low, medium and high"},
		{[]string{"--as", "leaflet", a, a}, 2, "the kinds are"},
		{[]string{"--as", "agis", a, host}, 3, "this is an AI Discovery document, and --as names an AGIS document: leave out --as"},
		{[]string{"--as", "ai", a, agis}, 3, "this is an AGIS document"},
		{[]string{"--as", "ai", a, a}, 0, "no change"},
		{[]string{"--url", "http://shop.example/", a, a}, 2, "https://"},
		{[]string{"--format", "xml", a, a}, 2, "text and json"},
		{[]string{a}, 2, "two versions"},
		{[]string{"-", "-"}, 2, "once"},
		{[]string{a, a + ".gone"}, 3, "no such file"},
		{[]string{a, broken}, 3, "broken.json"},
		{[]string{a, other}, 3, "OpenAPI"},
		{[]string{a, comma}, 0, "no change that callers notice"},
		{[]string{a, comma}, 0, "comma.json: this is not JSON: a trailing comma in line 1; the rest is compared"},
		{[]string{comma, a}, 0, "comma.json breaks rules of its draft"},
		{[]string{a, commaParam}, 1, "parameter-required-added"},
		{[]string{"--format", "json", a, commaParam}, 1, "\"invalid\": [\n    \"b\"\n  ]"},
		{[]string{a, agis}, 3, "different formats cannot be compared\nconvert one of them first: gazlint convert --to agis " + a},
		{[]string{agis, a}, 3, "convert --to agis " + a},
	} {
		code, out, complaints := run(t, "", nil, append([]string{"diff"}, c.args...)...)
		if code != c.code || !strings.Contains(out+complaints, c.want) {
			t.Errorf("diff %v: exit code %d, want %d and %q in\n%s%s", c.args, code, c.code, c.want, out, complaints)
		}
	}
}

func TestDiffReadsStandardInput(t *testing.T) {
	code, out, complaints := run(t, movedWords, nil, "diff", "--format", "json", writeDocument(t, "a.json", oldDocument), "-")
	var result diff.Result
	if err := json.Unmarshal([]byte(out), &result); code != 0 || err != nil || len(result.Changes) != 1 || result.Severity != diff.Low {
		t.Errorf("exit code %d, %v\n%s%s", code, err, out, complaints)
	}
}

// TestDiffShowsNoControlCharacters checks that an untrusted text in a document cannot move the
// cursor of the terminal.
func TestDiffShowsNoControlCharacters(t *testing.T) {
	b := strings.Replace(oldDocument, "Sells tea.", `Sells\u001b[2J tea.`, 1)
	_, out, _ := run(t, b, nil, "diff", writeDocument(t, "a.json", oldDocument), "-")
	if strings.Contains(out, "\x1b") || !strings.Contains(out, `\u{1b}`) {
		t.Errorf("%q", out)
	}
}

// TestDiffWithPublishedVersion checks that the relative endpoints of a file belong to the host of the
// published version that it is compared with, on either side.
func TestDiffWithPublishedVersion(t *testing.T) {
	published := stub{answers: []fetch.Answer{answer(document.AI, "https://shop.example/.well-known/ai", fetch.OK, oldDocument)}}
	file := writeDocument(t, "ai.json", oldDocument)
	moved := writeDocument(t, "moved.json", strings.Replace(oldDocument, `"/tea"`, `"https://evil.example/tea"`, 1))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"shop.example", file}, "no change that callers notice"},
		{[]string{file, "shop.example"}, "no change that callers notice"},
		{[]string{"shop.example", moved}, "endpoint-host-changed"},
		{[]string{"--url", "https://other.example/ai", "shop.example", file}, "endpoint-host-changed"},
	} {
		if _, out, complaints := run(t, "", published, append([]string{"diff"}, c.args...)...); !strings.Contains(out, c.want) {
			t.Errorf("diff %v: want %q in\n%s%s", c.args, c.want, out, complaints)
		}
	}
	nobody := answer(document.AI, "https://shop.example/.well-known/ai", fetch.DNSFailed, "")
	nobody.Detail = "no address is known for the name"
	_, _, complaints := run(t, "", stub{answers: []fetch.Answer{nobody}}, "diff", file, "shop.example")
	if want := "shop.example: no document could be read: no address is known for the name\n"; !strings.Contains(complaints, want) {
		t.Errorf("want %q in %s", want, complaints)
	}
}
