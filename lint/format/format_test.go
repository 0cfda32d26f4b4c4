package format_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"gazetteer/document"
	"gazetteer/lint"
	"gazetteer/lint/format"
	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

var update = flag.Bool("update", false, "write the golden files anew")

var today = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

var options = format.Options{Tool: "gazlint", Version: "v1.2.3", Explain: "gazlint validate --rule"}

// reports judges the documents of testdata/in.
func reports(t testing.TB) []format.Report {
	t.Helper()
	names, err := filepath.Glob("testdata/in/*")
	if err != nil || len(names) < 5 {
		t.Fatalf("testdata/in has %d documents: %v", len(names), err)
	}
	var inputs []lint.Input
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, lint.Input{Name: "docs/" + filepath.Base(name), Text: text})
	}
	results := lint.CheckAll(inputs, lint.Options{Today: today})
	out := make([]format.Report, len(results))
	for i, r := range results {
		out[i] = format.Report{Result: r, Text: inputs[i].Text}
	}
	return out
}

// fixed are reports whose findings do not change when a reader learns to say
// something better: golden files are about the formats.
func fixed(t testing.TB) []format.Report {
	t.Helper()
	report := func(name string, kind document.Kind, operations int, findings ...protocol.Finding) format.Report {
		text, err := os.ReadFile("testdata/in/" + name)
		if err != nil {
			t.Fatal(err)
		}
		worst, any := protocol.Worst(findings)
		valid := !any || worst < protocol.Error
		level := 0
		if valid {
			level = 1
		}
		return format.Report{Text: text, Result: lint.Result{
			Input: "docs/" + name, Kind: kind, Valid: valid, Level: level, Findings: findings, Operations: operations,
			Tokens: lint.Tokens{Served: 111, Compact: 82},
		}}
	}
	clean := report("clean.json", document.AI, 2)
	clean.Savings = []aidiscovery.Saving{{Tokens: 29, Message: "serve it without line breaks"}, {Pointer: "/service/description", Tokens: 6, Message: "say it in fewer words"}, {Tokens: 1, Message: "not worth a word"}}
	known := report("truncated.json", document.AI, 0,
		protocol.Finding{Code: "AI203", Severity: protocol.Error, Pointer: "/service/name", Line: 1, Column: 47, Message: "the text ends before the JSON value does", Help: "serve a single JSON object", Section: "AI Discovery §4.3"})
	known.Hidden = 3
	fetched := report("clean.json", document.AI, 2,
		protocol.Finding{Code: "AI109", Severity: protocol.Warning, Message: "Content-Type does not say charset=utf-8", Help: "send Content-Type: application/json; charset=utf-8", Section: "AI Discovery §2.3"})
	fetched.Input = "https://notes.test/.well-known/ai"
	return []format.Report{
		report("broken-ai.json", document.AI, 1,
			protocol.Finding{Code: "AI506", Severity: protocol.Warning, Line: 1, Column: 1, Message: "auth is missing", Help: "add auth", Section: "AI Discovery §3.4"},
			protocol.Finding{Code: "AI310", Severity: protocol.Error, Pointer: "/service/category/1", Line: 3, Column: 88, Message: "the category \"food\" is listed twice", Help: "remove one of them", Section: "AI Discovery §3.2"},
			protocol.Finding{Code: "AI418", Severity: protocol.Error, Pointer: "/capabilities/0/method", Line: 9, Column: 17, Message: "the method \"FETCH\" is not one of the five", Section: "AI Discovery §3.3"}),
		report("broken.agis", document.AGIS, 1,
			protocol.Finding{Code: "AGIS302", Severity: protocol.Error, Pointer: "/endpoints/0/method", Line: 6, Column: 13, Message: "the method \"OPEN\" is a state", Help: "say what is to be done", Section: "AGIS §4.2"},
			protocol.Finding{Code: "AGIS520", Severity: protocol.Info, Pointer: "/endpoints/0/semantic", Line: 9, Column: 7, Message: "impact_tier is absent", Help: "Level 2 needs it", Section: "AGIS §3.3"}),
		clean,
		report("hostile.json", document.AI, 1,
			protocol.Finding{Code: "AI220", Severity: protocol.Warning, Pointer: "/service/%25,:", Line: 1, Column: 139, Message: "the draft does not define \"%25,:\" here\n::error::x | <b>@all #1 www.evil.test https://evil.test", Section: "AI Discovery §3"}),
		known, fetched,
	}
}

// ownRules returns reports whose findings are of rules of package lint.
func ownRules(reports []format.Report) []format.Report {
	out := slices.Clone(reports)
	own := []string{"DOC101", "DOC102", "DOC103"}
	n := 0
	for i := range out {
		out[i].Findings = slices.Clone(out[i].Findings)
		for j := range out[i].Findings {
			out[i].Findings[j].Code = own[n%len(own)]
			n++
		}
	}
	return out
}

func write(t testing.TB, name string, reports []format.Report, o format.Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := format.Write(&b, name, reports, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata/golden", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what it was; run with -update and read the difference. Now:\n%s", name, got)
	}
}

func TestGolden(t *testing.T) {
	all := fixed(t)
	for _, name := range format.Names() {
		t.Run(name, func(t *testing.T) {
			reports := all
			if name == "sarif" { // it holds the texts of rules, which drafts' packages may say better one day
				reports = ownRules(all)
			}
			golden(t, name, write(t, name, reports, options))
		})
	}
	t.Run("colour", func(t *testing.T) {
		o := options
		o.Color = true
		golden(t, "colour", write(t, "text", all[:1], o))
	})
	t.Run("quiet", func(t *testing.T) {
		o := options
		o.Quiet = true
		golden(t, "quiet", write(t, "text", all, o))
	})
	t.Run("summary", func(t *testing.T) {
		var b bytes.Buffer
		if err := format.Summary(&b, all); err != nil {
			t.Fatal(err)
		}
		golden(t, "summary.md", b.String())
	})
}

// TestHostileTextIsInert checks that no format passes on text that a terminal, a log viewer or
// GitHub would interpret.
func TestHostileTextIsInert(t *testing.T) {
	all := append(reports(t), fixed(t)...)
	for _, name := range format.Names() {
		out := write(t, name, all, options)
		if !utf8.ValidString(out) {
			t.Errorf("%s: not UTF-8", name)
		}
		for i, r := range out {
			if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
				t.Fatalf("%s: %U at byte %d", name, r, i)
			}
		}
	}
	for line := range strings.Lines(write(t, "github", all, options)) {
		if strings.HasPrefix(line, "::") && !strings.HasPrefix(line, "::error file=") && !strings.HasPrefix(line, "::warning file=") && !strings.HasPrefix(line, "::notice file=") && !strings.HasPrefix(line, "::warning title=AI109") {
			t.Errorf("a command of the document's own: %q", line)
		}
	}
	var b bytes.Buffer
	if err := format.Summary(&b, append(all, fixed(t)...)); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<b>", "</script>", "@all", "#1", "://"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("the summary holds %q", bad)
		}
	}
}

// TestJSONShape checks that the output has one object a line with exactly the documented members.
func TestJSONShape(t *testing.T) {
	all := reports(t)
	lines := strings.Split(strings.TrimSuffix(write(t, "json", all, options), "\n"), "\n")
	if len(lines) != len(all) {
		t.Fatalf("%d lines for %d inputs", len(lines), len(all))
	}
	for i, line := range lines {
		var result map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &result); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		sameKeys(t, result, "input", "kind", "valid", "level", "findings", "groups", "operations", "tokens")
		var findings []map[string]json.RawMessage
		if err := json.Unmarshal(result["findings"], &findings); err != nil || findings == nil {
			t.Fatalf("line %d: findings %s: %v", i+1, result["findings"], err)
		}
		for _, f := range findings {
			sameKeys(t, f, "code", "severity", "pointer", "line", "column", "message", "help", "section")
		}
		var tokens map[string]json.RawMessage
		if err := json.Unmarshal(result["tokens"], &tokens); err != nil {
			t.Fatal(err)
		}
		sameKeys(t, tokens, "served", "compact")
	}
}

func sameKeys(t *testing.T, got map[string]json.RawMessage, want ...string) {
	t.Helper()
	for _, k := range want {
		if _, ok := got[k]; !ok {
			t.Errorf("the member %s is missing", k)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d members, want %d: %v", len(got), len(want), got)
	}
}

func TestSARIFSchema(t *testing.T) {
	c := jsonschema.NewCompiler()
	file, err := os.Open("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		t.Fatal(err)
	}
	const name = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	if err := c.AddResource(name, text); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	for what, reports := range map[string][]format.Report{"several": reports(t), "none": nil} {
		out := write(t, "sarif", reports, options)
		log, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(log); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := schema.Validate(map[string]any{"version": "2.1.0"}); err == nil {
		t.Error("the schema accepts a log without runs: it checks nothing")
	}
}

// TestSARIFIndexes checks what SARIF's schema cannot express: every index is valid, and every
// region is inside its text.
func TestSARIFIndexes(t *testing.T) {
	all := reports(t)
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Artifacts []struct{ Location struct{ URI string } }
			Results   []struct {
				RuleID    string
				RuleIndex int
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct {
							URI   string
							Index int
						}
						Region *struct{ StartLine, StartColumn, EndLine, EndColumn int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(write(t, "sarif", all, options)), &log); err != nil {
		t.Fatal(err)
	}
	run, exact := log.Runs[0], 0
	for _, r := range run.Results {
		if run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID {
			t.Errorf("rule index %d is not %s", r.RuleIndex, r.RuleID)
		}
		p := r.Locations[0].PhysicalLocation
		if run.Artifacts[p.ArtifactLocation.Index].Location.URI != p.ArtifactLocation.URI {
			t.Errorf("artifact index %d is not %s", p.ArtifactLocation.Index, p.ArtifactLocation.URI)
		}
		if p.Region == nil || p.Region.EndLine == 0 {
			continue
		}
		exact++
		lines := strings.Split(string(all[p.ArtifactLocation.Index].Text), "\n")
		last := utf8.RuneCountInString(lines[p.Region.EndLine-1]) + 1
		if p.Region.EndLine < p.Region.StartLine || p.Region.EndColumn > last {
			t.Errorf("%s: region %+v ends outside the text", r.RuleID, *p.Region)
		}
	}
	if exact == 0 {
		t.Error("no result has an end")
	}
}

func TestJUnitParses(t *testing.T) {
	all := reports(t)
	var suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Name     string `xml:"name,attr"`
			Failures int    `xml:"failures,attr"`
			Cases    []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Type string `xml:"type,attr"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(write(t, "junit", all, options)), &suites); err != nil {
		t.Fatal(err)
	}
	if len(suites.Suites) != len(all) {
		t.Fatalf("%d suites for %d inputs", len(suites.Suites), len(all))
	}
	cases, failures := 0, 0
	for i, s := range suites.Suites {
		if s.Name != all[i].Input {
			t.Errorf("suite %d is %q", i, s.Name)
		}
		if (s.Failures > 0) != all[i].Failed() {
			t.Errorf("%s: %d failures, failed is %t", s.Name, s.Failures, all[i].Failed())
		}
		for _, c := range s.Cases {
			cases++
			if c.Failure != nil {
				failures++
			}
		}
	}
	if cases != suites.Tests || failures != suites.Failures {
		t.Errorf("the totals say %d and %d, there are %d and %d", suites.Tests, suites.Failures, cases, failures)
	}
}

// The mark is under exactly the characters of the finding, in the columns that a terminal gives
// them.
func TestMarks(t *testing.T) {
	for name, c := range map[string]struct {
		text, pointer string
		line, column  int
		shown, marks  string
	}{
		"a string":          {`{"a": "xyz"}`, "/a", 1, 7, `{"a": "xyz"}`, `      ^^^^^`},
		"a member's name":   {`{"abc": 1}`, "/abc", 1, 2, `{"abc": 1}`, ` ^^^^^`},
		"a tab before":      {"{\t\"a\": 12}", "/a", 1, 8, `{   "a": 12}`, `         ^^`},
		"wide before":       {`{"日本": 12}`, "/日本", 1, 8, `{"日本": 12}`, `         ^^`},
		"wide marked":       {`{"a": "日本"}`, "/a", 1, 7, `{"a": "日本"}`, `      ^^^^^^`},
		"combining":         {"{\"e\u0301\": 12}", "/e\u0301", 1, 8, "{\"e\u0301\": 12}", `      ^^`},
		"escape before":     {"{\"\u202e\": 12}", "/\u202e", 1, 7, `{"\u{202e}": 12}`, `             ^^`},
		"a number in YAML":  {"a:\n  - 12 # twelve\n", "/a/0", 2, 5, "  - 12 # twelve", `    ^^`},
		"behind the end":    {`{"a": 1`, "", 1, 8, `{"a": 1`, `       ^`},
		"an object of many": {"{\"a\": {\n \"b\": 1}}", "/a", 1, 7, `{"a": {`, `      ^`},
	} {
		t.Run(name, func(t *testing.T) {
			r := format.Report{Text: []byte(c.text)}
			r.Input = "x"
			r.Findings = []protocol.Finding{{Code: "AI303", Pointer: c.pointer, Line: c.line, Column: c.column, Message: "m"}}
			lines := strings.Split(write(t, "text", []format.Report{r}, format.Options{}), "\n")
			_, shown, _ := strings.Cut(lines[3], " | ")
			_, marks, _ := strings.Cut(lines[4], " | ")
			if shown != c.shown || marks != c.marks {
				t.Errorf("got\n%s\n%s\nwant\n%s\n%s", shown, marks, c.shown, c.marks)
			}
		})
	}
}

// A line of megabytes is shown as a window around the place, quickly.
func TestLongLine(t *testing.T) {
	text := `{"a": "` + strings.Repeat("日", 40000) + `", "b": true, "c": "` + strings.Repeat("x", 100000) + `"}`
	at := utf8.RuneCountInString(text[:strings.Index(text, "true")]) + 1
	r := format.Report{Text: []byte(text)}
	for range 500 {
		r.Findings = append(r.Findings, protocol.Finding{Code: "AI303", Pointer: "/b", Line: 1, Column: at, Message: "m"})
	}
	begun := time.Now()
	out := write(t, "text", []format.Report{r}, format.Options{})
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("500 findings took %v", took)
	}
	lines := strings.Split(out, "\n")
	if !strings.Contains(lines[3], "… ") && !strings.HasPrefix(lines[3], "1 | …") || !strings.HasSuffix(lines[3], "…") {
		t.Errorf("the window is %q", lines[3])
	}
	_, marks, _ := strings.Cut(lines[4], " | ")
	if strings.TrimSpace(marks) != "^^^^" {
		t.Errorf("the marks are %q", marks)
	}
	if n := utf8.RuneCountInString(lines[3]); n > 120 {
		t.Errorf("the line has %d characters", n)
	}
}

func TestUnknownFormat(t *testing.T) {
	err := format.Write(io.Discard, "xml", nil, format.Options{})
	if err == nil || !strings.Contains(err.Error(), "text, json, sarif, github, junit, compact") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkText(b *testing.B) {
	all := reports(b)
	for b.Loop() {
		write(b, "text", all, options)
	}
}

// TestWidth checks that at any width the marked place is on the visible line, and that no line of
// the document wraps.
func TestWidth(t *testing.T) {
	const text = `{"aiendpoint": "1.0", "service": {"name": "메모 앱 메모 앱 메모 앱 메모 앱", "description": "Keeps	short	notes for people."}, "method": "FETCH", "more": "and so on and so on and so on and so on"}`
	at := strings.Index(text, `"FETCH"`)
	finding := protocol.Finding{Code: "AI418", Severity: protocol.Error, Message: "m", Line: 1, Column: utf8.RuneCountInString(text[:at]) + 1, Pointer: "/method"}
	report := []format.Report{{Text: []byte(text), Result: lint.Result{Input: "ai.json", Kind: document.AI, Findings: []protocol.Finding{finding}}}}
	for _, columns := range []int{0, 24, 40, 60, 80, 100, 200} {
		o := options
		o.Width = columns
		lines := strings.Split(write(t, "text", report, o), "\n")
		shown, marks := lines[3], lines[4]
		before, _, found := strings.Cut(shown, `"FETCH"`)
		if !found {
			t.Errorf("width %d: %q does not show the place", columns, shown)
			continue
		}
		if got, want := strings.Index(marks, "^^^^^^^"), terminalColumns(before); got != want {
			t.Errorf("width %d: the mark is at column %d, the place at %d\n%s\n%s", columns, got, want, shown, marks)
		}
		limit := columns
		if columns == 0 || columns > 104 {
			limit = 104
		}
		if got := terminalColumns(shown); got > limit {
			t.Errorf("width %d: the line takes %d columns", columns, got)
		}
	}
}

// terminalColumns counts as a terminal does: Hangul takes two.
func terminalColumns(s string) int {
	n := 0
	for _, r := range s {
		n++
		if unicode.Is(unicode.Hangul, r) {
			n++
		}
	}
	return n
}

// The form of a JUnit report as build servers check it: the elements, their parents and their
// attributes, as in the XML Schema of Jenkins' xUnit plug-in (junit-10.xsd). The attributes file
// and line of a case are those of pytest's xunit1, which other servers read and Jenkins ignores.
func TestJUnitShape(t *testing.T) {
	type element struct {
		children, required, optional []string
	}
	elements := map[string]element{
		"testsuites": {[]string{"testsuite"}, nil, []string{"name", "time", "tests", "failures", "errors", "disabled"}},
		"testsuite":  {[]string{"testcase", "system-out", "system-err"}, []string{"name", "tests"}, []string{"failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package"}},
		"testcase":   {[]string{"skipped", "error", "failure", "system-out", "system-err"}, []string{"name"}, []string{"classname", "time", "status", "assertions", "file", "line"}},
		"failure":    {nil, nil, []string{"type", "message"}},
		"system-out": {},
	}
	in := element{children: []string{"testsuites"}}
	var stack []element
	d := xml.NewDecoder(strings.NewReader(write(t, "junit", append(reports(t), fixed(t)...), options)))
	seen := map[string]bool{}
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			if !slices.Contains(in.children, name) {
				t.Fatalf("<%s> stands where only %v may", name, in.children)
			}
			seen[name] = true
			stack, in = append(stack, in), elements[name]
			var attributes []string
			for _, a := range token.Attr {
				attributes = append(attributes, a.Name.Local)
				if !slices.Contains(in.required, a.Name.Local) && !slices.Contains(in.optional, a.Name.Local) {
					t.Errorf("<%s> has the attribute %s", name, a.Name.Local)
				}
			}
			for _, want := range in.required {
				if !slices.Contains(attributes, want) {
					t.Errorf("<%s> has no attribute %s", name, want)
				}
			}
		case xml.EndElement:
			in, stack = stack[len(stack)-1], stack[:len(stack)-1]
		}
	}
	if len(seen) != len(elements) {
		t.Errorf("only %v were seen", seen)
	}
}

// A link in an untrusted text is not a link in a viewer of SARIF, and a file has its location.
func TestSARIFText(t *testing.T) {
	report := format.Report{Result: lint.Result{Input: "/srv/my site/ai.json", Findings: []protocol.Finding{
		{Code: "AI220", Message: `the draft does not define "[here](https://evil.test)" here`}, {Code: "AI424", Message: "name the fields, for example notes[] {id}"},
	}}}
	out := write(t, "sarif", []format.Report{report}, options)
	for _, want := range []string{`\\[here\\](https://evil.test)`, `notes[] {id}`, `"uri": "file:///srv/my%20site/ai.json"`} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not in\n%s", want, out)
		}
	}
}

// TestFindingsOfOneRule checks that findings with the same words are shown once, with all of their
// places, that three kinds of findings of a rule are shown in full and the others by their place,
// and that the summary counts the findings of each rule.
func TestFindingsOfOneRule(t *testing.T) {
	var text strings.Builder
	text.WriteString("agis: \"1.0\"\nservice: Acme\nagtp: agtp://acme.test\nendpoints:\n")
	for i, path := range []string{"a", "b", "c", "d", "e"} {
		fmt.Fprintf(&text, "  - {method: BOOK, path: /%s, wrong%d: 1, semantic: {intent: Books a table, actor: agnet, outcome: The table is booked}, input: {type: object}, output: {type: object}, errors: [full]}\n", path, i)
	}
	text.WriteString("vocabulary: {declared_verbs: [BOOK], domain: hospitality, namespace: acme}\n")
	input := lint.Input{Name: "acme.agis", Text: []byte(text.String())}
	r := format.Report{Result: lint.CheckAll([]lint.Input{input}, lint.Options{Today: today})[0], Text: input.Text}
	var b strings.Builder
	if err := format.Write(&b, "text", []format.Report{r}, format.Options{}); err != nil {
		t.Fatal(err)
	}
	out := b.String()
	for part, want := range map[string]int{
		"help: did you mean agent?":     1,
		"  = also: acme.agis:":          12, // four each of AGIS504, AGIS520 and AGIS814
		"[AGIS122]: the draft names no": 3,
	} {
		if n := strings.Count(out, part); n != want {
			t.Errorf("%q occurs %d times, want %d:\n%s", part, n, want, out)
		}
	}
	for _, want := range []string{
		"  = also: acme.agis:9:82  /endpoints/4/semantic/actor\n",
		"note[AGIS122]: 2 more of this rule\n --> acme.agis:8:30  /endpoints/3/wrong3: the draft names no field \"wrong3\" here\n",
		"By rule: 5 AGIS122 unknown-field, 5 AGIS504",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the text lacks %q:\n%s", want, out)
		}
	}
}

// TestHiddenCharactersAreVisible checks that what can carry a hidden message is shown as a code, and
// that emoji and letters of other scripts stay as they are.
func TestHiddenCharactersAreVisible(t *testing.T) {
	for text, want := range map[string]string{
		"a\u202eb\u200b":           `a\u{202e}b\u{200b}`,
		"❤\U000e0115\ufe01":        `❤\u{e0115}\u{fe01}`,
		"\u3164\uffa0\u115f\u034f": `\u{3164}\u{ffa0}\u{115f}\u{34f}`,
		"❤\ufe0f":                  "❤\ufe0f",
		"Füße, 葛飾":                 "Füße, 葛飾",
	} {
		if got := format.Visible(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}
