package lint_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/lint"
	"gazetteer/lint/repair"
	"gazetteer/protocol"
	"gazetteer/protocol/yaml"
)

const minimalAI = `{"aiendpoint":"1.0","service":{"name":"Notes","description":"Keeps short notes for people"},` +
	`"capabilities":[{"id":"list_notes","description":"Lists the notes","endpoint":"/notes","method":"GET","returns":"notes[] {id, text}"}],` +
	`"auth":{"type":"none"}}`

func TestTell(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		want       lint.Guess
	}{
		"AI Discovery":               {"x", `{"aiendpoint":"1.0"}`, lint.Guess{Kind: document.AI, Format: "ai"}},
		"AI Discovery, no version":   {"x", `{"service":{},"capabilities":[]}`, lint.Guess{Kind: document.AI, Format: "ai"}},
		"AI Discovery, broken":       {"x", `{"aiendpoint":"1.0",`, lint.Guess{Kind: document.AI, Format: "ai"}},
		"AI Discovery, with a BOM":   {"x", "\uFEFF" + `{"aiendpoint":"1.0"}`, lint.Guess{Kind: document.AI, Format: "ai"}},
		"AI Discovery, a comment":    {"x", "// c\n" + `{"aiendpoint":"1.0","service":{"name":"x"},"capabilities":[]}`, lint.Guess{Kind: document.AI, Format: "ai"}},
		"AGIS YAML":                  {"x", "agis: '1.0'\nendpoints: []\n", lint.Guess{Kind: document.AGIS, Format: "agis"}},
		"AGIS JSON":                  {"x", `{"agis":"1.0","endpoints":[]}`, lint.Guess{Kind: document.AGIS, Format: "agis"}},
		"AGIS without endpoints":     {"x", "agis: '1.0'\nvocabulary: {}\n", lint.Guess{Kind: document.AGIS, Format: "agis"}},
		"AGIS without version":       {"x", "agtp: agtp://a.test\nendpoints: []\n", lint.Guess{Kind: document.AGIS, Format: "agis"}},
		"AGIS, endpoints as a map":   {"x", "agis: '1.0'\nendpoints:\n  BOOK /a: {}\n", lint.Guess{Kind: document.AGIS, Format: "agis-map"}},
		"AGIS, broken YAML":          {"x", "agis: '1.0'\nendpoints: [\n", lint.Guess{Kind: document.AGIS, Format: "agis"}},
		"AGIS, brace notation":       {"x", "agis: 1.0\nendpoints:\n  BOOK /reservation {\n    intent: x\n  }\n", lint.Guess{Kind: document.AGIS, Format: "notation"}},
		"AGIS summary":               {"x", `{"agis":"1.0","methods":["BOOK"]}`, lint.Guess{Kind: document.AGISSummary, Format: "agis-summary"}},
		"AGIS summary, no version":   {"x", `{"agis_document":"agtp://a.test"}`, lint.Guess{Kind: document.AGISSummary, Format: "agis-summary"}},
		"OpenAPI":                    {"x", "openapi: 3.1.0\n", lint.Guess{Other: "OpenAPI", Format: "openapi"}},
		"OpenAPI 2":                  {"x", `{"swagger":"2.0"}`, lint.Guess{Other: "OpenAPI 2 (Swagger)", Format: "openapi"}},
		"A2A card":                   {"x", `{"protocolVersion":"0.3","skills":[]}`, lint.Guess{Other: "an A2A agent card"}},
		"MCP server card":            {"x", `{"serverInfo":{},"protocolVersion":"2025-06-18"}`, lint.Guess{Other: "an MCP server card"}},
		"MCP tools":                  {"x", `{"tools":[{"name":"a","inputSchema":{}}]}`, lint.Guess{Other: "a list of MCP tools", Format: "mcp"}},
		"MCP tools, bare":            {"x", `[{"name":"a","inputSchema":{}}]`, lint.Guess{Other: "a list of MCP tools", Format: "mcp"}},
		"MCP tools, whole answer":    {"x", `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{}}]}}`, lint.Guess{Other: "a list of MCP tools", Format: "mcp"}},
		"plugin manifest":            {"x", `{"schema_version":"v1","name_for_model":"a"}`, lint.Guess{Other: "an AI plugin manifest"}},
		"nothing to go by":           {"x", `{"a":1}`, lint.Guess{}},
		"nothing, named ai.json":     {"a/ai.json", `{"a":1}`, lint.Guess{Kind: document.AI, Format: "ai"}},
		"nothing, at the well-known": {"https://a.test/.well-known/ai", `[]`, lint.Guess{Kind: document.AI, Format: "ai"}},
		"nothing, named agis.json":   {"agis.json", `[]`, lint.Guess{Kind: document.AGISSummary, Format: "agis-summary"}},
		"nothing, named .agis":       {"a.agis", `- a`, lint.Guess{Kind: document.AGIS, Format: "agis"}},
		"empty":                      {"x", ``, lint.Guess{}},
		"binary":                     {"x", "\x00\xff\xfe", lint.Guess{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lint.Tell(c.file, []byte(c.text)); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func codes(r lint.Result) string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, f.Code)
	}
	return strings.Join(out, " ")
}

func TestCheck(t *testing.T) {
	today := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		in            lint.Input
		o             lint.Options
		kind          document.Kind
		codes         string
		valid, failed bool
	}{
		"clean": {in: lint.Input{Text: []byte(minimalAI)}, kind: document.AI, valid: true},
		"a kind that it is not": {in: lint.Input{Text: []byte(minimalAI), Kind: document.AGISSummary}, kind: document.AGISSummary,
			codes: "WK102 WK102 WK102 WK102 WK109 WK102", failed: true},
		"unknown":           {in: lint.Input{Text: []byte(`{"a":1}`)}, codes: "DOC101", failed: true},
		"not even JSON":     {in: lint.Input{Text: []byte("\x00")}, codes: "DOC101", failed: true},
		"OpenAPI":           {in: lint.Input{Text: []byte(`openapi: 3.0.0`)}, codes: "DOC102", failed: true},
		"a kind unheard of": {in: lint.Input{Text: []byte(minimalAI), Kind: "x"}, kind: "x", codes: "DOC103", failed: true},
		"another format where ours is expected": {in: lint.Input{Text: []byte(`{"openapi":"3.0.0"}`), Kind: document.AI}, kind: document.AI,
			codes: "AI120", failed: true},
		"a date to come": {in: lint.Input{Text: []byte(strings.Replace(minimalAI, `"auth"`, `"meta":{"last_updated":"2027-01-01"},"auth"`, 1))},
			o: lint.Options{Today: today}, kind: document.AI, codes: "AI804", valid: true},
		"a date to come, strict": {in: lint.Input{Text: []byte(strings.Replace(minimalAI, `"auth"`, `"meta":{"last_updated":"2027-01-01"},"auth"`, 1))},
			o: lint.Options{Today: today, Strict: true}, kind: document.AI, codes: "AI804", valid: true, failed: true},
		"a foreign endpoint by the address": {in: lint.Input{Text: []byte(strings.Replace(minimalAI, `"/notes"`, `"https://b.test/notes"`, 1)), URL: "https://a.test/.well-known/ai"},
			kind: document.AI, codes: "AI905", valid: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := lint.Check(c.in, c.o)
			if r.Kind != c.kind || codes(r) != c.codes || r.Valid != c.valid || r.Failed() != c.failed {
				t.Errorf("got kind %q, codes %q, valid %t, failed %t", r.Kind, codes(r), r.Valid, r.Failed())
			}
			if r.Valid != (r.Level > 0) {
				t.Errorf("valid is %t at level %d", r.Valid, r.Level)
			}
		})
	}
}

// The fetch and the reader may report the same fault.
func TestFetched(t *testing.T) {
	broken := strings.Replace(minimalAI, `"GET"`, `"FETCH"`, 1)
	answer := func(kind document.Kind, body string, findings ...protocol.Finding) *fetch.Answer {
		a := &fetch.Answer{}
		a.Kind, a.URL, a.Findings = string(kind), "https://a.test/.well-known/ai", findings
		if body != "" {
			a.Body = []byte(body)
		}
		return a
	}
	media := protocol.Finding{Code: "AI108", Severity: protocol.Error}
	for name, c := range map[string]struct {
		answer *fetch.Answer
		kind   document.Kind
		codes  string
		valid  bool
	}{
		"a document and its media type":  {answer(document.AI, broken, media), document.AI, "AI108 AI418", false},
		"a document alone":               {answer(document.AI, minimalAI), document.AI, "", true},
		"the alias":                      {answer(document.AIAlias, minimalAI), document.AIAlias, "", true},
		"no answer":                      {answer(document.AI, "", media), document.AI, "AI108", false},
		"the address settles the host":   {answer(document.AI, strings.Replace(minimalAI, `"/notes"`, `"https://b.test/notes"`, 1)), document.AI, "AI905", true},
		"both see one fault: named once": {answer(document.AI, broken, lint.Check(lint.Input{Text: []byte(broken)}, lint.Options{}).Findings...), document.AI, "AI418", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := lint.Check(lint.Input{Name: c.answer.URL, Text: c.answer.Body, Fetched: c.answer}, lint.Options{})
			if r.Kind != c.kind || codes(r) != c.codes || r.Valid != c.valid {
				t.Errorf("got kind %q, codes %q, valid %t", r.Kind, codes(r), r.Valid)
			}
			if r.Valid == r.Failed() {
				t.Errorf("valid and failed are both %t", r.Valid)
			}
		})
	}
}

// TestOperationsAgree compares the effects of operations that two documents of a folder or host describe.
func TestOperationsAgree(t *testing.T) {
	ai := func(id, path, method, sentence string) string {
		return fmt.Sprintf(`{"aiendpoint":"1.0","service":{"name":"Pool","description":"Rents lanes."},"capabilities":[
{"id":"list_lanes","description":"Lists the lanes","endpoint":"/lanes","method":"GET"},
{"id":%q,"description":%q,"endpoint":%q,"method":%q}],"auth":{"type":"none"}}`, id, sentence, path, method)
	}
	agis := func(verb, tier string) string {
		return fmt.Sprintf("agis: '1.0'\nservice: Pool\nagtp: agtp://pool.test\nendpoints:\n  - {method: %s, path: '/lanes/{lane}', semantic: {intent: Gives the lane back at once, impact_tier: %s}}\n  - {method: LIST, path: /lanes, semantic: {impact_tier: informational}}\nvocabulary: {declared_verbs: [LIST, %s]}\n", verb, tier, verb)
	}
	for name, c := range map[string]struct {
		ai, agis, folder string
		want             string
	}{
		"GET and irreversible":       {ai("drop", "/api/v1/lanes/{id}", "GET", "Drops it"), agis("REMOVE", "irreversible"), "a", "DOC105 /capabilities/1 3:1 \"drop\" is called with GET"},
		"DELETE and informational":   {ai("drop", "/lanes/:id", "DELETE", "Drops it"), agis("SHOW", "informational"), "a", "DOC105 /capabilities/1 3:1 \"drop\" is called with DELETE"},
		"the same sentence":          {ai("drop", "/elsewhere", "GET", "Gives the lane back at once."), agis("REMOVE", "irreversible"), "a", "DOC105"},
		"the same effect":            {ai("drop", "/lanes/{id}", "DELETE", "Drops it"), agis("REMOVE", "irreversible"), "a", ""},
		"created with GET":           {ai("make", "/lanes/{id}", "GET", "Draws it"), agis("GENERATE", "reversible"), "a", ""},
		"another path":               {ai("drop", "/rooms/{id}", "GET", "Drops it"), agis("REMOVE", "irreversible"), "a", ""},
		"two operations of one path": {ai("drop", "/lanes", "GET", "Drops it"), agis("REMOVE", "irreversible"), "a", ""},
		"another folder":             {ai("drop", "/lanes/{id}", "GET", "Drops it"), agis("REMOVE", "irreversible"), "b", ""},
	} {
		got := ""
		for _, r := range lint.CheckAll([]lint.Input{{Name: "a/ai.json", Text: []byte(c.ai)}, {Name: c.folder + "/agis.yaml", Text: []byte(c.agis)}}, lint.Options{}) {
			for _, f := range r.Findings {
				if f.Code == document.CodeContradicts {
					got += fmt.Sprintf("%s %s %d:%d %s", f.Code, f.Pointer, f.Line, f.Column, f.Message)
				}
			}
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A summary is compared with the full document of its service, and no other.
func TestSummaryAgainstDocument(t *testing.T) {
	const full = "agis: '1.0'\nservice: Tables\nagtp: agtp://tables.test\nendpoints:\n  - {method: BOOK, path: /reservation}\nvocabulary: {declared_verbs: [BOOK]}\n"
	const summary = `{"agis":"1.0","service":"Tables","agtp":"agtp://tables.test","agis_document":"https://tables.test/agis.yaml","methods":["BOOK","CANCEL"]}`
	check := func(texts ...string) (wk110 int, pointer string) {
		var inputs []lint.Input
		for _, text := range texts {
			inputs = append(inputs, lint.Input{Text: []byte(text)})
		}
		for _, r := range lint.CheckAll(inputs, lint.Options{}) {
			for _, f := range r.Findings {
				if f.Code == "WK110" {
					wk110, pointer = wk110+1, f.Pointer
					if r.Kind != document.AGISSummary {
						t.Errorf("a finding of the %s", r.Kind)
					}
				}
			}
		}
		return wk110, pointer
	}
	if n, pointer := check(summary, full); n != 1 || !strings.HasPrefix(pointer, "/methods") {
		t.Errorf("%d findings, the last at %q", n, pointer)
	}
	if n, _ := check(full, summary); n != 1 {
		t.Errorf("%d findings in the other order", n)
	}
	if n, _ := check(strings.Replace(summary, `,"CANCEL"`, "", 1), full); n != 0 {
		t.Errorf("%d findings where nothing differs", n)
	}
	if n, _ := check(summary, strings.NewReplacer("Tables", "Chairs", "tables.test", "chairs.test").Replace(full)); n != 0 {
		t.Errorf("%d findings for another service", n)
	}
	if n, _ := check(summary); n != 0 {
		t.Errorf("%d findings without the document", n)
	}
}

func TestResultFigures(t *testing.T) {
	text := strings.ReplaceAll(minimalAI, `,"`, ",\n      \"")
	r := lint.Check(lint.Input{Text: []byte(text)}, lint.Options{})
	if r.Operations != 1 {
		t.Errorf("%d operations", r.Operations)
	}
	if want := (lint.Tokens{Served: protocol.Tokens(text), Compact: protocol.Tokens(minimalAI)}); r.Tokens != want {
		t.Errorf("tokens %+v, want %+v", r.Tokens, want)
	}
	if len(r.Savings) == 0 || r.Savings[0].Tokens == 0 {
		t.Errorf("white space is no cut: %+v", r.Savings)
	}
}

func TestBaseline(t *testing.T) {
	broken := []byte(strings.Replace(minimalAI, `"GET"`, `"FETCH"`, 1))
	in := lint.Input{Name: "./ai.json", Text: broken}
	first := lint.Check(in, lint.Options{})
	if !first.Failed() {
		t.Fatal("the document is clean")
	}
	var file bytes.Buffer
	if err := lint.NewBaseline([]lint.Result{first}).Write(&file); err != nil {
		t.Fatal(err)
	}
	known, err := lint.ReadBaseline(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	o := lint.Options{Baseline: known}

	t.Run("known findings are hidden, the verdict stays", func(t *testing.T) {
		r := lint.Check(in, o)
		if r.Failed() || r.Valid || r.Hidden != 1 || len(r.Findings) != 0 {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("text that moves stays known", func(t *testing.T) {
		moved := lint.Input{Name: "ai.json", Text: append([]byte("\n\n\n"), broken...)}
		if r := lint.Check(moved, o); r.Failed() || r.Hidden != 1 {
			t.Errorf("got %+v", r)
		}
	})
	t.Run("a new finding is shown", func(t *testing.T) {
		more := lint.Input{Name: "ai.json", Text: []byte(strings.Replace(string(broken), `"list_notes"`, `"List"`, 1))}
		if r := lint.Check(more, o); codes(r) != "AI404" || !r.Failed() {
			t.Errorf("got %q", codes(r))
		}
	})
	t.Run("another file is not known", func(t *testing.T) {
		if r := lint.Check(lint.Input{Name: "b/ai.json", Text: broken}, o); !r.Failed() {
			t.Error("it did not fail")
		}
	})
	t.Run("another value at the same place is not known", func(t *testing.T) {
		other := lint.Input{Name: "ai.json", Text: []byte(strings.Replace(minimalAI, `"GET"`, `"HEAD"`, 1))}
		if r := lint.Check(other, o); !r.Failed() {
			t.Error("it did not fail")
		}
	})
	t.Run("written again it is the same file", func(t *testing.T) {
		var again bytes.Buffer
		if err := known.Write(&again); err != nil || again.String() != file.String() {
			t.Errorf("%v\n%s", err, again.String())
		}
	})
	for name, text := range map[string]string{
		"no JSON": "x", "a later version": `{"version":2,"findings":[]}`, "something else": `{"aiendpoint":"1.0"}`,
	} {
		t.Run("refused: "+name, func(t *testing.T) {
			if _, err := lint.ReadBaseline(strings.NewReader(text)); err == nil {
				t.Error("it was read")
			}
		})
	}
}

// TestRules checks that every code that can appear in a result has an explanation.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range lint.Rules() {
		if seen[r.Code] {
			t.Errorf("%s stands twice", r.Code)
		}
		seen[r.Code] = true
		if got, ok := lint.Rule(strings.ToLower(r.Code)); !ok || got != r {
			t.Errorf("%s is not found", r.Code)
		}
	}
	for _, code := range []string{"AI101", "AGIS101", "WK101", "DOC101", protocol.CodeMore} {
		if !seen[code] {
			t.Errorf("%s is missing", code)
		}
	}
	if _, ok := lint.Rule("AI000"); ok {
		t.Error("AI000 is found")
	}
}

// The worst shapes end in a finding, quickly.
func TestHostileTexts(t *testing.T) {
	deep := strings.Repeat("[", 100000)
	var twice strings.Builder
	twice.WriteString(`{"aiendpoint":"1.0"`)
	for range 65536 {
		twice.WriteString(`,"a":1`)
	}
	for name, text := range map[string]string{
		"100,000 brackets":  deep,
		"64 k duplicates":   twice.String() + "}",
		"a line of 10 MB":   `{"aiendpoint": "` + strings.Repeat("x", 10<<20) + `"}`,
		"10 MB of members":  "{" + strings.Repeat(`"a":1,`, 10<<20/6) + "}",
		"10 MB of names":    strings.Repeat("a:\n", 10<<20/3),
		"a number of 10 k":  `{"aiendpoint":` + strings.Repeat("9", 10000) + `}`,
		"UTF-16":            "\xff\xfe{\x00}\x00",
		"a lone surrogate":  `{"aiendpoint":"\ud800"}`,
		"CR only":           "agis: '1.0'\rendpoints: []\r",
		"an alias bomb":     "agis: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n",
		"a right-to-left":   "{\"aiendpoint\":\"1.0\",\"\u202eecivres\":{}}",
		"braces and braces": strings.Repeat("BOOK /a {\n", 20000),
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			r := lint.Check(lint.Input{Name: "x", Text: []byte(text)}, lint.Options{})
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("it took %v", took)
			}
			if r.Valid || len(r.Findings) == 0 {
				t.Errorf("no finding: %+v", r)
			}
		})
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("x", minimalAI)
	f.Add("agis.json", `{"agis":"1.0","methods":["BOOK"]}`)
	f.Add("a.agis", "agis: '1.0'\nendpoints:\n  - method: BOOK\n")
	f.Add("x", "BOOK /a {\n}")
	f.Fuzz(func(t *testing.T, name, text string) {
		in := lint.Input{Name: name, Text: []byte(text)}
		r := lint.Check(in, lint.Options{})
		if r.Valid && r.Failed() {
			t.Errorf("valid and failed: %+v", r)
		}
		if !r.Valid && len(r.Findings) == 0 {
			t.Errorf("not valid and no word why")
		}
		hidden := lint.Check(in, lint.Options{Baseline: lint.NewBaseline([]lint.Result{r})})
		if len(hidden.Findings) != 0 || hidden.Failed() {
			t.Errorf("the baseline does not know %+v", hidden.Findings)
		}
		if r.Valid {
			sameRewritten(t, r, in.Text)
		}
	})
}

// sameRewritten fails unless a document that was accepted is accepted again after it is rewritten
// from its parsed form, JSON as JSON and YAML as YAML.
func sameRewritten(t *testing.T, r lint.Result, text []byte) {
	t.Helper()
	root, isYAML, err := lint.Tree(text)
	if err != nil {
		t.Fatalf("accepted, and no tree: %v", err)
	}
	again := protocol.WriteJSON(root, "")
	if isYAML {
		again = yaml.Write(root)
	}
	if len(again) > 262144 {
		return // longer than any document may be
	}
	got := lint.Check(lint.Input{Name: r.Input, Text: again, Kind: r.Kind}, lint.Options{})
	if !got.Valid || got.Level != r.Level || got.Operations != r.Operations {
		t.Errorf("written anew it is another document: valid %t, level %d, %d operations, %+v\n%s", got.Valid, got.Level, got.Operations, got.Findings, again)
	}
}

func TestRewritten(t *testing.T) {
	accepted := map[document.Kind]int{}
	for _, pattern := range []string{"../protocol/aidiscovery/testdata/valid/*", "../protocol/agis/testdata/valid/*", "../protocol/agis/testdata/wellknown/*"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if r := lint.Check(lint.Input{Name: file, Text: text}, lint.Options{}); r.Valid {
				accepted[r.Kind]++
				sameRewritten(t, r, text)
			}
		}
	}
	if accepted[document.AI] < 30 || accepted[document.AGIS] < 25 || accepted[document.AGISSummary] < 2 {
		t.Errorf("only %v were accepted", accepted)
	}
}

// A trailing comma, comments and single quotes are named once each, at their first place, and the
// rest of the document is checked.
func TestNearlyJSON(t *testing.T) {
	text := "{'aiendpoint': '1.0', // one\n \"service\": {\"name\": \"n\", \"description\": \"d\",}, // two\n \"capabilities\": []}"
	r := lint.Check(lint.Input{Name: "ai.json", Text: []byte(text), Kind: document.AI}, lint.Options{})
	var got []string
	for _, f := range r.Findings {
		if f.Severity == protocol.Error {
			got = append(got, fmt.Sprintf("%s %d:%d %s", f.Code, f.Line, f.Column, f.Message))
		}
	}
	want := []string{
		"AI203 1:2 this is not JSON: a string in single quotes (the first of 2)",
		"AI203 1:23 this is not JSON: a comment (the first of 2)",
		"AI203 2:45 this is not JSON: a trailing comma",
		"AI218 3:18 capabilities is empty",
	}
	if !slices.Equal(got, want) || r.Valid || !r.Failed() {
		t.Errorf("valid %v, failed %v, findings\n%s", r.Valid, r.Failed(), strings.Join(got, "\n"))
	}
}

// A byte order mark does not hide what is wrong behind it.
func TestNearlyJSONWithByteOrderMark(t *testing.T) {
	const text = "\ufeff// ours\n{\"aiendpoint\":\"1.0\",\"service\":{\"name\":\"N\",\"description\":\"D\"},\"capabilities\":[{\"id\":\"a\",\"description\":\"Lists\",\"endpoint\":\"/a\",\"method\":\"get\"},],\"auth\":{\"type\":\"none\"}}"
	got := codes(lint.Check(lint.Input{Name: "ai.json", Text: []byte(text), Kind: document.AI}, lint.Options{}))
	if want := "AI202 AI203 AI424 AI418 AI203"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A document whose first member is misspelled gets a question, not a list of formats.
func TestMisspelledSign(t *testing.T) {
	for text, want := range map[string]string{
		`{"aiEndpoint": "1.0", "service": {}}`: "did you mean aiendpoint? Letter case matters",
		`{"ai-endpont": "1.0"}`:                "did you mean aiendpoint? Letter case matters",
		"AGIS: \"1.0\"\nservice: X\n":          "did you mean agis? Letter case matters",
	} {
		result := lint.Check(lint.Input{Name: "x", Text: []byte(text)}, lint.Options{})
		if len(result.Findings) != 1 || result.Findings[0].Code != "DOC101" || result.Findings[0].Help != want {
			t.Errorf("%s: %+v", text, result.Findings)
		}
	}
}

// A text that was cut off before it shows its kind is reported at its end, with that reason.
func TestTruncatedText(t *testing.T) {
	for text, want := range map[string][2]int{
		"{\"service\": {\"name\": \"X\",\n":     {1, 26},
		"service: X\nagtp: \"agtp://x.test\n\n": {2, 21},
		"service: X\nmethods: [BOOK,\n":         {2, 16},
	} {
		r := lint.Check(lint.Input{Name: "x", Text: []byte(text)}, lint.Options{})
		f := r.Findings[0]
		if len(r.Findings) != 1 || f.Code != "DOC101" || !strings.Contains(f.Message, "the text ends too early") || f.Line != want[0] || f.Column != want[1] || strings.Contains(f.Help, "--as") || f.Help == "" {
			t.Errorf("%q: %+v", text, r.Findings)
		}
	}
}

// Documents that a person would recognize are named, although no reader takes them.
func TestNearlyDocuments(t *testing.T) {
	for text, want := range map[string]string{
		`[{"aiendpoint": "1.0", "service": {"name": "Pots"}}]`: "DOC101 1:1 the document is in an array",
		`{"info": {"name": "Pots"}, "item": []}`:               "DOC102 0:0 this is a document of another format: a Postman collection",
		`{"asyncapi": "2.6.0", "info": {}}`:                    "DOC102 0:0 this is a document of another format: AsyncAPI",
		`say “hello”`:                                          "DOC101 1:1 the kind of this document cannot be determined",
		`[{"name": "Pots"}]`:                                   "DOC101 1:1 the kind of this document cannot be determined",
	} {
		f := lint.Check(lint.Input{Name: "x", Text: []byte(text)}, lint.Options{}).Findings[0]
		if got := fmt.Sprintf("%s %d:%d %s", f.Code, f.Line, f.Column, f.Message); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestPastedDocument checks that what a chat or a word processor adds to a document is named, that the rest is
// checked at its place, and that the repair leaves the document alone.
func TestPastedDocument(t *testing.T) {
	const valid = `{"aiendpoint": "1.0", "service": {"name": "Pots \"n\" pans", "description": "Sells pots."}, "capabilities": [{"id": "a", "description": "Sells", "endpoint": "/a", "method": "get",}], "auth": {"type": "none"}}`
	curly := regexp.MustCompile(`"((?:[^"\\]|\\")*)"`).ReplaceAllString(valid, "“$1”")
	at := func(text, part string) int { return len([]rune(text[:strings.Index(text, part)])) + 1 }
	column, curlyColumn := at(valid, `"get"`), at(curly, "“get”")
	for name, c := range map[string]struct {
		text, where string
		codes       []string
	}{
		"fences":              {"Here it is:\n\n```json\n" + valid + "\n```\n\nServe it:\n```nginx\nlocation = /x { }\n```\n", fmt.Sprintf("4:%d", column), []string{"DOC104"}},
		"another block first": {"```sh\nls\n```\n~~~\n" + valid + "\n~~~", fmt.Sprintf("5:%d", column), []string{"DOC104"}},
		"no closing line":     {"```\n" + valid, fmt.Sprintf("2:%d", column), []string{"DOC104"}},
		"no opening line":     {valid + "\n```\n", fmt.Sprintf("1:%d", column), []string{"DOC104"}},
		"curly":               {curly, fmt.Sprintf("1:%d", curlyColumn), []string{"DOC104"}},
		"German marks":        {strings.NewReplacer("“", "„", "”", "“").Replace(curly), fmt.Sprintf("1:%d", curlyColumn), []string{"DOC104"}},
		"both":                {"```\n" + curly + "\n```", fmt.Sprintf("2:%d", curlyColumn), []string{"DOC104", "DOC104"}},
	} {
		var codes, places []string
		r := lint.Check(lint.Input{Name: "pasted.txt", Text: []byte(c.text)}, lint.Options{})
		for _, f := range r.Findings {
			switch f.Code {
			case "DOC104":
				codes = append(codes, f.Code)
			case "AI418":
				places = append(places, fmt.Sprintf("%d:%d", f.Line, f.Column))
			}
		}
		if !slices.Equal(codes, c.codes) || !slices.Equal(places, []string{c.where}) || r.Valid || r.Kind != document.AI {
			t.Errorf("%s: %v, AI418 at %v, want %s, kind %s\n%v", name, codes, places, c.where, r.Kind, r.Findings)
		}
		fixed, repaired, err := repair.Fix(lint.KindOf("pasted.txt", []byte(c.text)), []byte(c.text))
		if want := strings.NewReplacer(`"get",`, `"GET"`).Replace(valid); err != nil || strings.TrimSpace(string(fixed)) != want || len(repaired) != len(codes)+2 {
			t.Errorf("%s: %d repairs to\n%s\nwant\n%s\n%v", name, len(repaired), fixed, want, err)
		}
	}
	for name, text := range map[string]string{
		"curly marks in a value": "agis: \"1.0\"\nservice: A “good” shop\ndescription: |\n  ```\n  {\n  ```\n",
		"a straight JSON value":  strings.Replace(valid, "Sells pots.", "Sells “pots”", 1),
		"another text":           "```\n{\"a\": 1}\n```",
	} {
		for _, f := range lint.Check(lint.Input{Name: "x", Text: []byte(text)}, lint.Options{}).Findings {
			if f.Code == "DOC104" {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
	yaml := lint.Check(lint.Input{Name: "x", Text: []byte("“agis”: “1.0”\n“service”: “Pots”\n")}, lint.Options{})
	if yaml.Kind != document.AGIS || yaml.Findings[0].Code != "DOC104" || len(yaml.Findings) < 3 {
		t.Errorf("YAML: %+v", yaml.Findings)
	}
	for _, hostile := range []string{strings.Repeat("```\n", 60000), strings.Repeat("“", 80000), "{" + strings.Repeat("“a\" ", 30000), strings.Repeat("agis ```\n~~~\n", 15000)} {
		lint.Check(lint.Input{Name: "ai.json", Text: []byte(hostile)}, lint.Options{})
	}
}

// TestHelpForOtherFormats checks that the help is a whole command, with a conversion that exists.
func TestHelpForOtherFormats(t *testing.T) {
	for text, want := range map[string]string{
		"openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths: {}\n":                                          "gazlint init --openapi FILE",
		`{"tools":[{"name":"a","description":"b","inputSchema":{"type":"object"}}]}`:                           "gazlint convert --from mcp --to agis FILE",
		`{"aiendpoint":"1.0","service":{"name":"a","description":"b","language":"Deutsch"},"capabilities":[]}`: `["de"]`,
	} {
		helps := ""
		for _, f := range lint.Check(lint.Input{Name: "x", Text: []byte(text)}, lint.Options{}).Findings {
			helps += f.Help + "\n"
		}
		if !strings.Contains(helps, want) {
			t.Errorf("%s: no help says %q:\n%s", text, want, helps)
		}
	}
}
