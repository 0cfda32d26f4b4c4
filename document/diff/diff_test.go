package diff_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/protocol"
	"gazetteer/protocol/yaml"
)

// labeledPair is one line of testdata/pairs.jsonl.
type labeledPair struct {
	Name  string         `json:"name"`
	Base  string         `json:"base"`
	URL   string         `json:"url"`
	Edits map[string]any `json:"edits"`
	Kinds []diff.Kind    `json:"kinds"`
	// Before are edits of version A, which Edits then work on.
	Before map[string]any `json:"before"`
}

// severity is the worst of the kinds that must be found.
func (p labeledPair) severity() diff.Severity {
	worst := diff.None
	for _, k := range p.Kinds {
		worst = max(worst, k.Severity())
	}
	return worst
}

func readPairs(t *testing.T, name string) []labeledPair {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var pairs []labeledPair
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var p labeledPair
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatalf("line %d: %v", len(pairs)+1, err)
		}
		pairs = append(pairs, p)
	}
	return pairs
}

func kindOf(base string) document.Kind {
	switch {
	case base == "summary.json":
		return document.AGISSummary
	case base == "finance.json" || strings.HasSuffix(base, ".yaml"):
		return document.AGIS
	default:
		return document.AI
	}
}

func readBase(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// versions returns both versions: the base as it is or with the edits of Before, and B as JSON.
func (p labeledPair) versions(t *testing.T) (a, b []byte) {
	t.Helper()
	a = readBase(t, p.Base)
	before := a
	if strings.HasSuffix(p.Base, ".yaml") {
		root, err := yaml.Read(a, protocol.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		before = protocol.WriteJSON(root, "")
	}
	if len(p.Before) > 0 {
		before = applyEdits(t, before, p.Before)
		a = before
	}
	return a, applyEdits(t, before, p.Edits)
}

// applyEdits returns a text with the edits made, as JSON.
func applyEdits(t *testing.T, text []byte, edits map[string]any) []byte {
	t.Helper()
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, pointer := range slices.Sorted(maps.Keys(edits)) {
		doc = edited(t, doc, strings.Split(pointer, "/")[1:], edits[pointer])
	}
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func edited(t *testing.T, in any, path []string, to any) any {
	t.Helper()
	if len(path) == 0 {
		return to
	}
	switch in := in.(type) {
	case map[string]any:
		if len(path) == 1 && to == nil {
			if _, ok := in[path[0]]; !ok {
				t.Fatalf("nothing to remove at %q", path[0])
			}
			delete(in, path[0])
			return in
		}
		in[path[0]] = edited(t, in[path[0]], path[1:], to)
		return in
	case []any:
		i, err := strconv.Atoi(path[0])
		switch {
		case path[0] == "-" || err == nil && i == len(in):
			return append(in, edited(t, nil, path[1:], to))
		case err != nil || i < 0 || i > len(in):
			t.Fatalf("no element %q", path[0])
		case len(path) == 1 && to == nil:
			return slices.Delete(in, i, i+1)
		}
		in[i] = edited(t, in[i], path[1:], to)
		return in
	default:
		t.Fatalf("cannot go below %v by %q", in, path)
		return nil
	}
}

// TestLabeledPairs compares every pair of the labeled set: each must have exactly its kinds.
func TestLabeledPairs(t *testing.T) {
	pairs := readPairs(t, "pairs.jsonl")
	if len(pairs) < 120 {
		t.Fatalf("%d pairs, want at least 120", len(pairs))
	}
	for _, p := range pairs {
		t.Run(p.Name, func(t *testing.T) {
			kind := kindOf(p.Base)
			a, b := p.versions(t)
			got, err := diff.Compare(diff.Input{Kind: kind, URL: p.URL, Bytes: a}, diff.Input{Kind: kind, URL: p.URL, Bytes: b})
			if err != nil {
				t.Fatal(err)
			}
			var kinds []diff.Kind
			for _, c := range got.Changes {
				kinds = append(kinds, c.Kind)
				if c.Severity != c.Kind.Severity() || c.Help == "" || c.Severity == diff.None {
					t.Errorf("%+v: severity or help is wrong", c)
				}
			}
			slices.Sort(kinds)
			want := slices.Sorted(slices.Values(p.Kinds))
			if !slices.Equal(kinds, want) || got.Severity != p.severity() {
				text, _ := json.MarshalIndent(got, "", " ")
				t.Errorf("got %v (%v), want %v (%v)\n%s", kinds, got.Severity, want, p.severity(), text)
			}
		})
	}
}

// TestLabeledSeverities judges both labeled sets together, the descriptions from both sides: 97 %
// must have the right severity, and no high one may be missed.
func TestLabeledSeverities(t *testing.T) {
	var all, wrong int
	judge := func(name string, want, got diff.Severity) bool {
		if want == diff.High && got != diff.High {
			t.Errorf("%s: high change missed", name)
		}
		return want == got
	}
	for _, p := range readPairs(t, "pairs.jsonl") {
		a, b := p.versions(t)
		all++
		if !judge(p.Name, p.severity(), severityOf(t, kindOf(p.Base), p.URL, a, b)) {
			wrong++
		}
	}
	describe := func(text string) []byte {
		return applyEdits(t, readBase(t, "shop.json"), map[string]any{"/capabilities/0/description": text})
	}
	descriptions := 0
	for line := range strings.Lines(string(readBase(t, "descriptions.tsv"))) {
		label, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		a, b, found := strings.Cut(rest, "\t")
		if !found || label != "same" && label != "other" {
			t.Fatalf("%q is no pair", line)
		}
		want := diff.Low
		if label == "other" {
			want = diff.High
		}
		descriptions++
		there := judge(rest, want, severityOf(t, document.AI, "", describe(a), describe(b)))
		back := judge(rest+", reversed", want, severityOf(t, document.AI, "", describe(b), describe(a)))
		if !there || !back {
			wrong++
			t.Logf("%s: %s: judged the other way", label, rest)
		}
	}
	all += descriptions
	t.Logf("%d of %d wrong", wrong, all)
	if descriptions < 900 || wrong*100 > 3*all {
		t.Errorf("%d of %d pairs have the wrong severity, want at most 3 %%", wrong, all)
	}
}

// TestLabeledCalls judges new descriptions of calls that stay as they are or change in one more thing.
// No high one may be missed; the floor is what the rules reached when the pairs were added.
func TestLabeledCalls(t *testing.T) {
	const floor = 112
	pairs := readPairs(t, "calls.jsonl")
	right := 0
	for _, p := range pairs {
		a, b := p.versions(t)
		switch got := severityOf(t, kindOf(p.Base), p.URL, a, b); {
		case got == p.severity():
			right++
		case p.severity() == diff.High:
			t.Errorf("%s: high change missed", p.Name)
		default:
			t.Logf("%s: %v, want %v", p.Name, got, p.severity())
		}
	}
	t.Logf("%d of %d right", right, len(pairs))
	if len(pairs) < 140 || right < floor {
		t.Errorf("%d of %d calls have the right severity, want %d", right, len(pairs), floor)
	}
}

// severityOf compares two versions and returns the severity of their changes.
func severityOf(t *testing.T, kind document.Kind, url string, a, b []byte) diff.Severity {
	t.Helper()
	got, err := diff.Compare(diff.Input{Kind: kind, URL: url, Bytes: a}, diff.Input{Kind: kind, URL: url, Bytes: b})
	if err != nil {
		t.Fatal(err)
	}
	return got.Severity
}

// TestEqualDocuments compares every base with itself, written in other ways.
func TestEqualDocuments(t *testing.T) {
	for _, name := range []string{"orders.json", "shop.json", "fx.json", "finance.json", "restaurant.yaml", "summary.json", "atmosphere.json", "querypacks.yaml", "hotel.json", "clinic.yaml", "bank.json", "library.yaml"} {
		text := readBase(t, name)
		_, sorted := labeledPair{Base: name}.versions(t)
		for how, other := range map[string][]byte{"itself": text, "sorted members": sorted, "white space": append([]byte("\n"), text...)} {
			got, err := diff.Compare(diff.Input{Kind: kindOf(name), Bytes: text}, diff.Input{Kind: kindOf(name), Bytes: other})
			if err != nil {
				t.Fatalf("%s, %s: %v", name, how, err)
			}
			if got.Severity != diff.None || len(got.Changes) != 0 || got.Changes == nil {
				t.Errorf("%s, %s: %+v", name, how, got)
			}
		}
	}
}

func TestCompareRefuses(t *testing.T) {
	ai, summary := readBase(t, "shop.json"), readBase(t, "summary.json")
	_, err := diff.Compare(diff.Input{Kind: document.AI, Bytes: ai}, diff.Input{Kind: document.AGISSummary, Bytes: summary})
	if !errors.Is(err, diff.ErrUnlike) {
		t.Errorf("an AI Discovery document and a summary: %v", err)
	}
	_, err = diff.Compare(diff.Input{Kind: document.AI, Bytes: ai}, diff.Input{Kind: document.AI, Bytes: []byte("{")})
	if !errors.Is(err, document.ErrUnreadable) || !strings.Contains(err.Error(), "version b") {
		t.Errorf("half a document: %v", err)
	}
	large := append(bytes.Repeat([]byte(" "), 64<<10), ai...) // large versions are read side by side
	for side, pair := range map[string][2][]byte{"version a": {large[:len(large)-9], large}, "version b": {large, large[:len(large)-9]}} {
		_, err = diff.Compare(diff.Input{Kind: document.AI, Bytes: pair[0]}, diff.Input{Kind: document.AI, Bytes: pair[1]})
		if !errors.Is(err, document.ErrUnreadable) || !strings.Contains(err.Error(), side) {
			t.Errorf("half a large %s: %v", side, err)
		}
	}
	_, err = diff.Compare(diff.Input{Kind: "leaflet", Bytes: ai}, diff.Input{Kind: "leaflet", Bytes: ai})
	if _, ok := errors.AsType[*document.UnknownKindError](err); !ok {
		t.Errorf("an unknown kind: %v", err)
	}
}

// TestInvalidVersions shows that a document that breaks rules is compared all the same, and named.
func TestInvalidVersions(t *testing.T) {
	a := readBase(t, "shop.json")
	b := bytes.Replace(a, []byte(`"service": {`), []byte(`"surprise": 1, "service": {`), 1)
	b = bytes.Replace(b, []byte(`"requests_per_minute": 60`), []byte(`"requests_per_minute": 10`), 1)
	got, err := diff.Compare(diff.Input{Kind: document.AI, Bytes: a}, diff.Input{Kind: document.AI, Bytes: b})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Invalid, []string{"b"}) || got.Severity != diff.Medium {
		t.Errorf("invalid %v, severity %v, want [b] and medium", got.Invalid, got.Severity)
	}
}

// TestMovedEverywhere shows that one move of the whole service is told once.
func TestMovedEverywhere(t *testing.T) {
	a := readBase(t, "orders.json")
	b := bytes.ReplaceAll(a, []byte("https://api.parceldesk.example"), []byte("https://gateway.example"))
	got, err := diff.Compare(diff.Input{Kind: document.AI, Bytes: a}, diff.Input{Kind: document.AI, Bytes: b})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Changes) != 1 || got.Changes[0].Operation != nil || *got.Changes[0].From != "https://api.parceldesk.example" || *got.Changes[0].To != "https://gateway.example" {
		t.Errorf("%+v", got.Changes)
	}
}

// TestTextChange shows where a change points and what it quotes.
func TestTextChange(t *testing.T) {
	a := readBase(t, "orders.json")
	b := bytes.Replace(a, []byte(`"requests_per_minute": 60`), []byte(`"requests_per_minute": 30`), 1)
	got, err := diff.Compare(diff.Input{Kind: document.AI, Bytes: a}, diff.Input{Kind: document.AI, Bytes: b})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"severity":"medium","changes":[{"kind":"limit-lowered","severity":"medium","operation":null,"path":"/rate_limits/requests_per_minute","from":"60","to":"30","help":"call no more often than the new limit allows"}]}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

// TestReplacedMethod shows that an operation whose method alone changed names the method.
func TestReplacedMethod(t *testing.T) {
	a := readBase(t, "orders.json")
	b := bytes.Replace(a, []byte(`"method": "GET"`), []byte(`"method": "DELETE"`), 1)
	got, err := diff.Compare(diff.Input{Kind: document.AI, Bytes: a}, diff.Input{Kind: document.AI, Bytes: b})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Changes) != 1 {
		t.Fatalf("got %+v", got.Changes)
	}
	c := got.Changes[0]
	if c.Kind != diff.OperationReplaced || !strings.HasSuffix(c.Path, "/method") || c.From == nil || *c.From != "GET" || c.To == nil || *c.To != "DELETE" {
		t.Errorf("got %+v", c)
	}
}

// TestSchemasThatReferToThemselves shows that such schemas end, and that a change of a schema that
// two endpoints share is told once.
func TestSchemasThatReferToThemselves(t *testing.T) {
	a := []byte(`{"agis":"1.0","service":"S","agtp":"agtp://s.example","schemas":{"node":{"type":"object","properties":{"next":{"$ref":"#/schemas/node"},"size":{"type":"integer"}}}},
"endpoints":[{"method":"FIND","path":"/a","semantic":{"intent":"Finds a node","actor":"agent","outcome":"A node is found"},"input":{"$ref":"#/schemas/node"},"output":{"type":"object"},"errors":["none_found"]},
{"method":"STORE","path":"/a","semantic":{"intent":"Stores a node","actor":"agent","outcome":"A node is stored"},"input":{"$ref":"#/schemas/node"},"output":{"type":"object"},"errors":["none_found"]}],
"vocabulary":{"declared_verbs":["FIND","STORE"],"domain":"d"}}`)
	b := bytes.Replace(a, []byte(`"integer"`), []byte(`"string"`), 1)
	got, err := diff.Compare(diff.Input{Kind: document.AGIS, Bytes: a}, diff.Input{Kind: document.AGIS, Bytes: b})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Changes) != 1 || got.Changes[0].Kind != diff.ParameterTypeChanged || got.Changes[0].Operation != nil || got.Changes[0].Path != "/schemas/node/properties/size" {
		t.Errorf("%+v", got.Changes)
	}
}

// FuzzCompare looks for texts that break the comparison, and holds it to be the same from both
// sides: what one direction finds to be no change, the other must not find to be one.
func FuzzCompare(f *testing.F) {
	for _, name := range []string{"orders.json", "finance.json", "restaurant.yaml", "summary.json"} {
		f.Add(string(readBase(f, name)), string(readBase(f, name)), string(kindOf(name)))
	}
	f.Fuzz(func(t *testing.T, a, b, kind string) {
		x, y := diff.Input{Kind: document.Kind(kind), URL: "https://s.example/", Bytes: []byte(a)}, diff.Input{Kind: document.Kind(kind), URL: "https://s.example/", Bytes: []byte(b)}
		there, err := diff.Compare(x, y)
		back, err2 := diff.Compare(y, x)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("one direction fails: %v, %v", err, err2)
		}
		if err == nil && (len(there.Changes) == 0) != (len(back.Changes) == 0) {
			t.Fatalf("one direction is unchanged: %+v, %+v", there.Changes, back.Changes)
		}
	})
}
