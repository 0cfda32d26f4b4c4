package repair_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/lint/repair"
	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/aidiscovery"
)

const (
	agisEnd = `
vocabulary: # the verbs
  declared_verbs: [BOOK]
  domain: hospitality
`
	endpoint = `
    semantic: {intent: Books a table, actor: agent, outcome: A table is booked}
    input: {type: object}
    output: {type: object}
    errors: [table_taken]
`
	agisStart = `# we
agis: "1.0"
service: Tables
agtp: agtp://tables.example
description: Books tables
version: "2"
`
)

// cases are documents with one thing or a few to repair. Where want is the same
// as text nothing may be repaired.
var cases = []struct {
	name  string
	kind  document.Kind
	text  string
	want  string
	codes []string
}{
	{"a byte order mark", document.AI, "\ufeff" + `{"aiendpoint":"1.0"}`, `{"aiendpoint":"1.0"}`, []string{"AI202"}},
	{"a byte order mark, a comment and a trailing comma", document.AI, "\ufeff// ours\n{\"aiendpoint\":\"1.0\",\"capabilities\":[{\"method\":\"post\"},]}", `{"aiendpoint":"1.0","capabilities":[{"method":"POST"}]}`,
		[]string{"AI202", "AI203", "AI203", "AI418"}},
	{"a summary with a byte order mark and a trailing comma", document.AGISSummary, "\ufeff" + `{"agis":"1.0","methods":["BOOK",],}`, `{"agis":"1.0","methods":["BOOK"]}`, []string{"WK101", "WK101"}},
	{"the version as a number", document.AI, `{"aiendpoint": 1.0, "meta" : { }}`, `{"aiendpoint": "1.0", "meta" : { }}`, []string{"AI211"}},
	{"a version with more or less than two parts", document.AI, `{"aiendpoint": "v1.0"}`, `{"aiendpoint": "1.0"}`, []string{"AI212"}},
	{"another version", document.AI, `{"aiendpoint": "0.9"}`, `{"aiendpoint": "0.9"}`, nil},
	{"a category and a language without an array", document.AI, `{"aiendpoint":"1.0","service":{"category":"Travel","language":"en_US"}}`,
		`{"aiendpoint":"1.0","service":{"category":["travel"],"language":["en-US"]}}`, []string{"AI308", "AI312"}},
	{"a category that is none and a language by its name", document.AI, `{"aiendpoint":"1.0","service":{"category":"ferry","language":"English"}}`,
		`{"aiendpoint":"1.0","service":{"category":"ferry","language":"English"}}`, nil},
	{"another number", document.AI, `{"aiendpoint": 1.5}`, `{"aiendpoint": 1.5}`, nil},
	{"method in small letters", document.AI, `{"aiendpoint":"1.0", "capabilities":[{"method": "post"}]}`,
		`{"aiendpoint":"1.0", "capabilities":[{"method": "POST"}]}`, []string{"AI418"}},
	{"a method that is none", document.AI, `{"aiendpoint":"1.0", "capabilities":[{"method": "book"}]}`,
		`{"aiendpoint":"1.0", "capabilities":[{"method": "book"}]}`, nil},
	{"language tags", document.AI, `{"aiendpoint":"1.0","service":{"language":["en_US", "pt_BR" , "en-us","xx_"]}}`,
		`{"aiendpoint":"1.0","service":{"language":["en-US", "pt-BR","xx_"]}}`, []string{"AI314", "AI315", "AI315"}},
	{"a language that does not exist", document.AI, `{"aiendpoint":"1.0","service":{"language":["english_US"]}}`,
		`{"aiendpoint":"1.0","service":{"language":["english_US"]}}`, nil},
	{"trailing commas, comments and single quotes", document.AI, "{\"aiendpoint\":'1.0', // the version\n \"meta\":{\"note\":\"a // b, 'c'\",}, /* end */}",
		"{\"aiendpoint\":\"1.0\",\n \"meta\":{\"note\":\"a // b, 'c'\"} }", []string{"AI203", "AI203", "AI203"}},
	{"comments with a line to themselves", document.AI, "// mine\r\n{\"aiendpoint\": /* the */ \"1.0\", // last  \r\n  # one\r\n  /* two\r\n     three */\r\n \"meta\": {}, # end\r\n}\r\n// over",
		"{\"aiendpoint\":  \"1.0\",\r\n \"meta\": {}\r\n}\r\n", []string{"AI203", "AI203"}},
	{"a summary with a trailing comma", document.AGISSummary, `{"agis":"1.0","methods":["BOOK",],}`, `{"agis":"1.0","methods":["BOOK"]}`, []string{"WK101"}},
	{"a category twice", document.AI, "{\"aiendpoint\":\"1.0\",\"service\":{\"category\":[\n  \"food\",\n  \"news\",\n  \"food\"\n]}}",
		"{\"aiendpoint\":\"1.0\",\"service\":{\"category\":[\n  \"food\",\n  \"news\"\n]}}", []string{"AI310"}},
	{"names in another case", document.AI, `{"AIEndpoint":"1.0","Service":{"Name":"N","description":"D"},"capabilities":[{"ID":"a"}],"tokenHints":{"compact-mode":true}}`,
		`{"aiendpoint":"1.0","service":{"name":"N","description":"D"},"capabilities":[{"id":"a"}],"token_hints":{"compact_mode":true}}`,
		[]string{"AI210", "AI214", "AI219", "AI220", "AI220", "AI402"}},
	{"a name beside the known one", document.AI, `{"aiendpoint":"1.0","Service":{},"service":{}}`, `{"aiendpoint":"1.0","Service":{},"service":{}}`, nil},
	{"two misspelled names for one", document.AI, `{"aiendpoint":"1.0","Service":{"name":"N","description":"D"},"SERVICE":{}}`, `{"aiendpoint":"1.0","service":{"name":"N","description":"D"},"SERVICE":{}}`, []string{"AI219"}},
	{"parameter dialects", document.AI, `{"aiendpoint":"1.0","capabilities":[{"params":{"a":"Text (string, required)","b":"integer (optional - how \u00e9)","c":"free"}}]}`,
		`{"aiendpoint":"1.0","capabilities":[{"params":{"a":"string, required -- Text","b":"integer, optional -- how é","c":"free"}}]}`, []string{"AI420", "AI420"}},
	{"dates", document.AI, `{"aiendpoint":"1.0","meta":{"last_updated":"2026-01-02T03:04:05+00:00"}}`,
		`{"aiendpoint":"1.0","meta":{"last_updated":"2026-01-02T03:04:05Z"}}`, []string{"AI801"}},
	{"dates with slashes", document.AI, `{"aiendpoint":"1.0","meta":{"last_updated":"2026/01/02"}}`, `{"aiendpoint":"1.0","meta":{"last_updated":"2026-01-02"}}`, []string{"AI801"}},
	{"a date that can be read in two ways", document.AI, `{"aiendpoint":"1.0","meta":{"last_updated":"01/02/2026"}}`, `{"aiendpoint":"1.0","meta":{"last_updated":"01/02/2026"}}`, nil},
	{"dates with an offset and milliseconds", document.AI, `{"aiendpoint":"1.0","meta":{"last_updated":"2026-01-02T01:04:05.250+02:00"}}`,
		`{"aiendpoint":"1.0","meta":{"last_updated":"2026-01-01T23:04:05Z"}}`, []string{"AI801"}},
	{"a date that is none", document.AI, `{"aiendpoint":"1.0","meta":{"last_updated":"yesterday"}}`, `{"aiendpoint":"1.0","meta":{"last_updated":"yesterday"}}`, nil},
	{"values in quotes", document.AI, `{"aiendpoint":"1.0","token_hints":{"compact_mode":"true","delta_support":"yes"},"rate_limits":{"requests_per_minute":"60","agent_tier_available":"false"}}`,
		`{"aiendpoint":"1.0","token_hints":{"compact_mode":true,"delta_support":"yes"},"rate_limits":{"requests_per_minute":60,"agent_tier_available":false}}`,
		[]string{"AI601", "AI701", "AI702"}},
	{"the type of authentication", document.AI, `{"aiendpoint":"1.0","auth":{"type":"API_Key"}}`, `{"aiendpoint":"1.0","auth":{"type":"apikey"}}`, []string{"AI502"}},

	{"version without quotes", document.AGIS, "agis: 1.0 # the draft\nservice: x\n", "agis: \"1.0\" # the draft\nservice: x\n", []string{"AGIS112"}},
	{"version as a number in JSON", document.AGIS, `{"agis":1}`, `{"agis":"1.0"}`, []string{"AGIS111"}},
	{"letter case", document.AGIS, agisStart + `endpoints:
  - method: book # a verb
    path: /table
    semantic: {intent: Books a table, actor: Agent, outcome: A table is booked, capability: 'Transaction', impact_tier: "Reversible", confidence_guidance: "0.9", is_idempotent: 'false'}
    input: {type: object}
    output: {type: object}
    errors: [table_taken]
` + agisEnd, agisStart + `endpoints:
  - method: BOOK # a verb
    path: /table
    semantic: {intent: Books a table, actor: agent, outcome: A table is booked, capability: 'transaction', impact_tier: "reversible", confidence_guidance: 0.9, is_idempotent: false}
    input: {type: object}
    output: {type: object}
    errors: [table_taken]
` + agisEnd, []string{"AGIS205", "AGIS504", "AGIS508", "AGIS509", "AGIS511", "AGIS512"}},
	{"field names", document.AGIS, "Agis: '1.0'\n'Service': x\nvocabulary:\n  declaredVerbs: [A]\n  negotiable: \"false\"\n",
		"agis: '1.0'\n'service': x\nvocabulary:\n  declared_verbs: [A]\n  negotiable: false\n", []string{"AGIS121", "AGIS121", "AGIS121", "AGIS136"}},
	{"verbs, in a line", document.AGIS, agisStart + "endpoints:\n  - method: BOOK\n    path: /table" + endpoint + "  - method: find\n    path: /table" + endpoint +
		"vocabulary: {declared_verbs: [ \"BOOK\", \"Book\" ], domain: x} # end\n",
		agisStart + "endpoints:\n  - method: BOOK\n    path: /table" + endpoint + "  - method: FIND\n    path: /table" + endpoint +
			"vocabulary: {declared_verbs: [ \"BOOK\", \"FIND\" ], domain: x} # end\n", []string{"AGIS205", "AGIS702", "AGIS704"}},
	{"verbs, one a line", document.AGIS, agisStart + "endpoints:\n  - method: BOOK\n    path: /table" + endpoint + "  - method: CHECK\n    path: /table" + endpoint +
		"vocabulary:\n  declared_verbs:\n  - BOOK # first\n  # again\n  - BOOK\n  domain: x\n",
		agisStart + "endpoints:\n  - method: BOOK\n    path: /table" + endpoint + "  - method: CHECK\n    path: /table" + endpoint +
			"vocabulary:\n  declared_verbs:\n  - BOOK # first\n  - CHECK\n  # again\n  domain: x\n", []string{"AGIS702", "AGIS704"}},
	{"a misspelled verb", document.AGIS, agisStart + "endpoints:\n  - method: BOK\n    path: /table" + endpoint + agisEnd, agisStart + "endpoints:\n  - method: BOK\n    path: /table" + endpoint + agisEnd, nil},
	{"no verbs yet", document.AGIS, agisStart + "endpoints:\n  - method: BOOK\n    path: /table" + endpoint + "vocabulary: {declared_verbs: [], domain: x}",
		agisStart + "endpoints:\n  - method: BOOK\n    path: /table" + endpoint + `vocabulary: {declared_verbs: ["BOOK"], domain: x}`, []string{"AGIS702"}},
	{"no list of verbs", document.AGIS, agisStart + "endpoints:\n  - method: BOOK\n    path: /table" + endpoint + "  - method: check\n    path: /table" + endpoint + "vocabulary:\n  # of business\n  domain: x\n",
		agisStart + "endpoints:\n  - method: BOOK\n    path: /table" + endpoint + "  - method: CHECK\n    path: /table" + endpoint +
			"vocabulary:\n  # of business\n  declared_verbs: [BOOK, CHECK]\n  domain: x\n", []string{"AGIS205", "AGIS701"}},
	{"no list of verbs, in JSON", document.AGIS, "{\"agis\":\"1.0\",\"endpoints\":[{\"method\":\"BOOK\"}],\"vocabulary\":{\n  \"domain\":\"x\"}}",
		"{\"agis\":\"1.0\",\"endpoints\":[{\"method\":\"BOOK\"}],\"vocabulary\":{\n  \"declared_verbs\": [\"BOOK\"],\n  \"domain\":\"x\"}}", []string{"AGIS701"}},
	{"the map form", document.AGIS, agisStart + "endpoints:\n  BOOK /table: # one" + endpoint + agisEnd,
		agisStart + "endpoints:\n  - method: BOOK # one\n    path: /table" + endpoint + agisEnd, []string{"AGIS117"}},
	{"the map form, and what is wrong below it", document.AGIS, agisStart + "endpoints:\n  BOOK /table:" + strings.Replace(endpoint, "actor: agent", "actor: Agent", 1) +
		"  find /table:" + strings.NewReplacer("[table_taken]", "[]", "Books", "Finds").Replace(endpoint) + agisEnd,
		agisStart + "endpoints:\n  - method: BOOK\n    path: /table" + endpoint + "  - method: FIND\n    path: /table" + strings.NewReplacer("[table_taken]", "[]", "Books", "Finds").Replace(endpoint) +
			strings.Replace(agisEnd, "[BOOK]", "[BOOK, FIND]", 1), []string{"AGIS117", "AGIS205", "AGIS504", "AGIS702"}},
	{"state transitions", document.AGIS, agisStart + "endpoints:\n  - method: BOOK\n    path: /table\n    semantic:\n      intent: Books a table\n      actor: agent\n      outcome: It is booked\n" +
		"      state_transition:\n        table.status: [free] -> [taken]\n        \"seats\": \"[n] -> [n - 1]\"\n    input: {type: object}\n    output: {type: object}\n    errors: [table_taken]\n" + agisEnd,
		agisStart + "endpoints:\n  - method: BOOK\n    path: /table\n    semantic:\n      intent: Books a table\n      actor: agent\n      outcome: It is booked\n" +
			"      state_transition:\n        table.status: \"[free] -> [taken]\"\n        \"seats\": \"[n] -> [n - 1]\"\n    input: {type: object}\n    output: {type: object}\n    errors: [table_taken]\n" + agisEnd, []string{"AGIS101"}},
	{"an error twice", document.AGIS, agisStart + "endpoints:\n  - method: BOOK\n    path: /table\n    semantic: {intent: Books a table, actor: agent, outcome: It is booked}\n    input: {type: object}\n    output: {type: object}\n" +
		"    errors:\n      - a_thing\n      - b_thing\n      - a_thing # again\n" + agisEnd,
		agisStart + "endpoints:\n  - method: BOOK\n    path: /table\n    semantic: {intent: Books a table, actor: agent, outcome: It is booked}\n    input: {type: object}\n    output: {type: object}\n" +
			"    errors:\n      - a_thing\n      - b_thing\n" + agisEnd, []string{"AGIS815"}},

	{"a summary with a byte order mark", document.AGISSummary, "\ufeff" + `{"agis": 1.0, "Service":"x"}`, `{"agis": "1.0", "service":"x"}`, []string{"WK101", "WK102", "WK102"}},
	{"lines that end with CR LF", document.AGIS, strings.ReplaceAll(agisStart+"endpoints:\n  - method: BOOK\n    path: /table"+endpoint+"  - method: CHECK\n    path: /table"+endpoint+
		"vocabulary:\n  declared_verbs:\n  - BOOK\n  - BOOK\n", "\n", "\r\n"),
		strings.ReplaceAll(agisStart+"endpoints:\n  - method: BOOK\n    path: /table"+endpoint+"  - method: CHECK\n    path: /table"+endpoint+
			"vocabulary:\n  declared_verbs:\n  - BOOK\n  - CHECK\n", "\n", "\r\n"), []string{"AGIS702", "AGIS704"}},
}

func TestFix(t *testing.T) {
	for _, c := range cases {
		fixed, repaired, err := repair.Fix(c.kind, []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if string(fixed) != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, fixed, c.want)
		}
		var codes []string
		for _, m := range repaired {
			codes = append(codes, m.Finding.Code)
			if len(m.Edits) == 0 {
				t.Errorf("%s: %s was repaired without an edit", c.name, m.Finding.Code)
			}
		}
		slices.Sort(codes)
		if c.codes != nil && !slices.Equal(codes, c.codes) {
			t.Errorf("%s: repaired %v, want %v", c.name, codes, c.codes)
		}
		check(t, c.name, c.kind, []byte(c.text))
	}
}

func findingsOf(kind document.Kind, text []byte) (findings []protocol.Finding, errs int, err error) {
	limits := protocol.Limits{Findings: 1 << 20}
	switch kind {
	case document.AI:
		_, findings, err = aidiscovery.Parse(text, aidiscovery.Options{Limits: limits})
	case document.AGIS:
		_, findings, err = agis.Parse(text, agis.Options{Limits: limits})
	case document.AGISSummary:
		_, findings, err = agis.ParseSummary(text, agis.Options{Limits: limits})
	}
	for _, f := range findings {
		if f.Severity == protocol.Error {
			errs++
		}
	}
	return findings, errs, err
}

// check tests what must be true of every text: no more errors, nothing left to
// repair, the meaning of a valid document, deterministic, and no byte changed that
// no edit names.
func check(t *testing.T, name string, kind document.Kind, text []byte) {
	t.Helper()
	fixed, repaired, err := repair.Fix(kind, text)
	again, fixedAgain, errAgain := repair.Fix(kind, text)
	if !bytes.Equal(fixed, again) || !reflect.DeepEqual(repaired, fixedAgain) || (err == nil) != (errAgain == nil) {
		t.Errorf("%s: a second run gives another result", name)
	}
	twice, more, _ := repair.Fix(kind, fixed)
	if !bytes.Equal(fixed, twice) || len(more) > 0 {
		t.Errorf("%s: the repaired text is repaired again: %v\n%s", name, more, twice)
	}
	findings, before, errBefore := findingsOf(kind, text)
	// The map form of endpoints is judged only after it is converted to a list.
	hid := slices.ContainsFunc(findings, func(f protocol.Finding) bool { return f.Code == "AGIS117" && f.Pointer == "/endpoints" })
	_, after, errAfter := findingsOf(kind, fixed)
	if (errBefore == nil && errAfter != nil) || errBefore == nil && after > before && !hid {
		t.Errorf("%s: %d errors became %d (%v)\n%s", name, before, after, errAfter, fixed)
	}
	if len(repaired) == 0 && !bytes.Equal(text, fixed) {
		t.Errorf("%s: the text changed and nothing was repaired", name)
	}
	if errBefore != nil || before > 0 {
		return
	}
	a, errA := document.Read(document.Input{Kind: kind, Host: "example.com", Bytes: text})
	b, errB := document.Read(document.Input{Kind: kind, Host: "example.com", Bytes: fixed})
	if errA != nil || errB != nil {
		t.Fatalf("%s: %v, %v", name, errA, errB)
	}
	if !reflect.DeepEqual(a.Service, b.Service) || len(a.Operations) != len(b.Operations) || !reflect.DeepEqual(a.DataClasses, b.DataClasses) || !reflect.DeepEqual(a.Links, b.Links) {
		t.Errorf("%s: a valid document says something else:\n%s", name, fixed)
		return
	}
	for i, op := range a.Operations {
		now := b.Operations[i]
		if !strings.EqualFold(op.ID, now.ID) || !slices.Equal(distinct(op.Errors), now.Errors) {
			t.Errorf("%s: operation %q with errors %v became %q with %v", name, op.ID, op.Errors, now.ID, now.Errors)
		}
		op.ID, now.ID, op.Errors, now.Errors = "", "", nil, nil
		if !reflect.DeepEqual(op, now) {
			t.Errorf("%s: %+v became %+v", name, op, now)
		}
	}
}

func distinct(names []string) (out []string) {
	for _, name := range names {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// vectors returns the documents of the drafts' test data.
func vectors(t testing.TB) map[document.Kind]map[string][]byte {
	t.Helper()
	out := map[document.Kind]map[string][]byte{}
	for pattern, kind := range map[string]document.Kind{
		"../../protocol/aidiscovery/testdata/*valid/*": document.AI,
		"../../protocol/agis/testdata/*valid/*":        document.AGIS,
		"../../protocol/agis/testdata/wellknown/*":     document.AGISSummary,
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) < 8 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		out[kind] = map[string][]byte{}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out[kind][strings.TrimPrefix(filepath.ToSlash(file), "../../protocol/")] = text
		}
	}
	return out
}

func TestFixVectors(t *testing.T) {
	repaired := 0
	for kind, texts := range vectors(t) {
		for name, text := range texts {
			check(t, name, kind, text)
			if _, m, _ := repair.Fix(kind, text); len(m) > 0 {
				repaired++
				var codes []string
				for _, m := range m {
					codes = append(codes, m.Finding.Code)
				}
				t.Log(name, codes)
			}
		}
	}
	if repaired < 16 {
		t.Errorf("only %d documents were repaired", repaired)
	}
}

// A document that cannot be read and not be repaired is given back with the
// reason.
func TestFixUnreadable(t *testing.T) {
	for _, c := range []struct {
		kind document.Kind
		text string
		want error
	}{
		{document.AI, "{", protocol.ErrUnreadable},
		{document.AI, `{"openapi":"3.1.0"}`, protocol.ErrOtherFormat},
		{document.AGIS, "a: [", protocol.ErrUnreadable},
		{document.AGIS, "state: [a] -> [b]\nx: [", protocol.ErrUnreadable},
		{document.AGISSummary, "", protocol.ErrUnreadable},
	} {
		fixed, repaired, err := repair.Fix(c.kind, []byte(c.text))
		if !errors.Is(err, c.want) || string(fixed) != c.text || repaired != nil {
			t.Errorf("%q: %q, %v, %v", c.text, fixed, repaired, err)
		}
	}
	if _, _, err := repair.Fix("poem", []byte("x")); err == nil || !strings.Contains(err.Error(), "poem") {
		t.Errorf("an unknown kind: %v", err)
	}
}

// A text that was made to be repaired in thousands of places, half of which do harm, is returned
// whole in bounded time.
func TestFixHostile(t *testing.T) {
	var caps []map[string]any
	for range 1500 {
		caps = append(caps, map[string]any{"ID": 1, "id": "a", "method": "get", "Params": map[string]string{"a": "x (string, required)"}})
	}
	text, err := json.Marshal(map[string]any{"aiendpoint": "1.0", "capabilities": caps})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "many capabilities", document.AI, text)
	verbs := agisStart + "endpoints: [" + strings.Repeat("{method: a}, ", 4000) + "]\nvocabulary: {declared_verbs: [" + strings.Repeat("b, ", 4000) + "]}\n"
	check(t, "many verbs", document.AGIS, []byte(verbs))
}

func TestDiff(t *testing.T) {
	got := string(repair.Diff("agis.yaml", []byte("a\nb\n"), []byte("a\nc\n")))
	for _, line := range []string{"--- agis.yaml\n", "+++ agis.yaml (repaired)\n", "\n a\n", "\n-b\n", "\n+c\n"} {
		if !strings.Contains(got, line) {
			t.Errorf("the difference lacks %q:\n%s", line, got)
		}
	}
	if repair.Diff("x", []byte("a"), []byte("a")) != nil {
		t.Error("equal texts have a difference")
	}
}

func FuzzFix(f *testing.F) {
	kinds := []document.Kind{document.AI, document.AGIS, document.AGISSummary}
	for _, c := range cases {
		f.Add(byte(slices.Index(kinds, c.kind)), []byte(c.text))
	}
	for kind, texts := range vectors(f) {
		for _, text := range texts {
			f.Add(byte(slices.Index(kinds, kind)), text)
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, text []byte) {
		check(t, "fuzz", kinds[int(kind)%len(kinds)], text)
	})
}

// TestStandardJSON checks that StandardJSON keeps the length of the text, and that a second run
// finds nothing more.
func TestStandardJSON(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1}`:                            `{"a": 1}`,
		"[1, 2,]":                             "[1, 2 ]",
		"[1, // one,\n 2, # two\n]":           "[1,        \n 2       \n]",
		`{'a': 'it "is"', 'b': 'c'}`:          `{"a": 'it "is"', "b": "c"}`,
		`{"a": "// no, ]", /* , ] */ "b": 1}`: `{"a": "// no, ]",           "b": 1}`,
		`["open`:                              `["open`,
		"['open\n,]":                          "['open\n ]",
		"/* open":                             "       ",
	} {
		got, faults := repair.StandardJSON([]byte(text))
		if string(got) != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if changed := text != want; changed != (len(faults) > 0) {
			t.Errorf("%q: faults %v", text, faults)
		}
		if again, _ := repair.StandardJSON(got); !bytes.Equal(again, got) {
			t.Errorf("%q: a second run gives %q", text, again)
		}
	}
}
