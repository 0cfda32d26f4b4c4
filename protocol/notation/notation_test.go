package notation

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
)

// notations returns the texts of testdata by name.
func notations(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.agis.txt")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimSuffix(filepath.Base(file), ".agis.txt")] = text
	}
	if len(texts) < 4 {
		t.Fatalf("only %d notations found", len(texts))
	}
	return texts
}

// errorsOf returns the error findings.
func errorsOf(findings []protocol.Finding) (out []protocol.Finding) {
	for _, f := range findings {
		if f.Severity == protocol.Error {
			out = append(out, f)
		}
	}
	return out
}

func TestNotationIsAccepted(t *testing.T) {
	for name, text := range notations(t) {
		for _, format := range []string{"yaml", "json"} {
			out, err := ToAGIS(text, conversion.Options{Format: format})
			if err != nil {
				t.Errorf("%s as %s: %v", name, format, err)
				continue
			}
			again, err := ToAGIS(text, conversion.Options{Format: format})
			if err != nil || !bytes.Equal(out.Text, again.Text) {
				t.Errorf("%s as %s: a second run gives another text (%v)", name, format, err)
			}
			_, findings, err := agis.Parse(out.Text, agis.Options{})
			if wrong := errorsOf(findings); err != nil || len(wrong) > 0 {
				t.Errorf("%s as %s: %v, %v\n%s", name, format, err, wrong, out.Text)
			}
			if marks := bytes.Count(out.Text, []byte("# REVIEW: ")); format == "yaml" && marks != len(out.Reviews) {
				t.Errorf("%s: %d marks for %d reviews", name, marks, len(out.Reviews))
			}
		}
	}
}

// TestNotationIsEquivalent checks that the draft's examples are equal to their written-out forms.
func TestNotationIsEquivalent(t *testing.T) {
	for name, text := range notations(t) {
		if name == "loose" {
			continue
		}
		out, err := ToAGIS(text, conversion.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := agis.Parse(out.Text, agis.Options{})
		if err != nil {
			t.Fatal(err)
		}
		seed, err := os.ReadFile("../agis/testdata/valid/seed-" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := agis.Parse(seed, agis.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range []string{"agis", "service", "agtp", "description", "vocabulary"} {
			sameTree(t, name, want.Root.Member(block), got.Root.Member(block))
		}
		if len(got.Endpoints) != len(want.Endpoints) {
			t.Fatalf("%s: %d endpoints, want %d", name, len(got.Endpoints), len(want.Endpoints))
		}
		for i, e := range want.Root.Member("endpoints").Items {
			g := got.Root.Member("endpoints").Items[i]
			sameTree(t, name, e.Member("method"), g.Member("method"))
			sameTree(t, name, e.Member("path"), g.Member("path"))
			for _, m := range g.Member("semantic").Items { // the seeds say more here and there
				sameTree(t, name, e.Member("semantic").Member(m.Key), m)
			}
			if name == "patients" {
				continue // its contracts are left out
			}
			sameTree(t, name, e.Member("errors"), g.Member("errors"))
			for _, blockName := range []string{"input", "output"} {
				w, g := e.Member(blockName), g.Member(blockName)
				if strings.Join(w.Member("required").Strs(), " ") != strings.Join(g.Member("required").Strs(), " ") {
					t.Errorf("%s: %s requires %v, want %v", name, g.Pointer, g.Member("required").Strs(), w.Member("required").Strs())
				}
				for _, p := range g.Member("properties").Items {
					if w.Member("properties").Member(p.Key) == nil {
						t.Errorf("%s: %s is not in the seed", name, p.Pointer)
					}
				}
			}
		}
	}
}

// sameTree compares two values; numbers by value, as far as 0.6 and 0.60 go.
func sameTree(t *testing.T, name string, want, got *protocol.Node) {
	t.Helper()
	if want == nil || got == nil {
		if want != got {
			t.Errorf("%s: one of two values is missing: %v, %v", name, want, got)
		}
		return
	}
	text := func(n *protocol.Node) string {
		if n.Kind == protocol.Number && strings.Contains(n.Text, ".") {
			return strings.TrimRight(n.Text, "0")
		}
		return n.Text
	}
	if want.Kind != got.Kind || text(want) != text(got) || want.Key != got.Key || len(want.Items) != len(got.Items) {
		t.Errorf("%s: %s is %s %q, want %s %q", name, got.Pointer, got.Kind, got.Text, want.Kind, want.Text)
		return
	}
	for i := range want.Items {
		sameTree(t, name, want.Items[i], got.Items[i])
	}
}

func TestNotationLoose(t *testing.T) {
	out, err := ToAGIS(notations(t)["loose"], conversion.Options{Format: "json"})
	if err != nil {
		t.Fatal(err)
	}
	root, err := protocol.ReadJSON(out.Text, protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"/agis":                         "1.0",
		"/service":                      "Loose notation: it's all here",
		"/agtp":                         "agtp://loose.example.com",
		"/description":                  "A text in several lines.",
		"/endpoints/0/method":           "BOOK",
		"/endpoints/0/path":             "/table",
		"/endpoints/0/semantic/intent":  `Books a "good" table`,
		"/endpoints/0/semantic/outcome": "A table is booked",
		"/endpoints/0/input/properties/table_id/type":                     "integer",
		"/endpoints/0/input/properties/table_id/maximum":                  "20",
		"/endpoints/0/input/properties/note/maxLength":                    "200",
		"/endpoints/0/input/properties/guests/type":                       "string",
		"/endpoints/0/output/properties/status/enum/1":                    "PENDING",
		"/endpoints/0/output/properties/when/format":                      "date-time",
		"/endpoints/0/output/properties/place/properties/city/type":       "string",
		"/endpoints/0/output/properties/place/properties/tags/items/type": "string",
		"/endpoints/0/errors/0":                                           "table_taken",
		"/endpoints/0/errors/1/description":                               "The kitchen takes no more orders today",
		"/endpoints/1/semantic/intent":                                    "Finds free tables in an area",
		"/endpoints/1/semantic/parameter_hints/area/1":                    "outside",
		"/endpoints/1/input/required/0":                                   "day",
		"/endpoints/1/input/required/2":                                   "area",
		"/endpoints/1/input/properties/day/format":                        "date",
		"/endpoints/1/output/properties/tables/items/type":                "object",
		"/endpoints/1/errors/0/description":                               "Nothing is free",
		"/endpoints/1/proposed":                                           "true",
		"/vocabulary/declared_verbs/1":                                    "FIND",
	} {
		if n := find(root, pointer); n == nil || n.Text != want {
			t.Errorf("%s is %+v, want %q", pointer, n, want)
		}
	}
}

// find returns the node that has the pointer.
func find(n *protocol.Node, pointer string) *protocol.Node {
	if n.Pointer == pointer {
		return n
	}
	for _, item := range n.Items {
		if found := find(item, pointer); found != nil {
			return found
		}
	}
	return nil
}

func TestNotationFragment(t *testing.T) {
	out, err := ToAGIS([]byte("CANCEL /order/{id} {}\ncancel /order {}"), conversion.Options{URL: "https://Shop.example:8443/x", Name: "Shop"})
	if err != nil {
		t.Fatal(err)
	}
	d, findings, err := agis.Parse(out.Text, agis.Options{})
	if wrong := errorsOf(findings); err != nil || len(wrong) > 0 {
		t.Fatalf("%v, %v\n%s", err, wrong, out.Text)
	}
	if d.AGTP != "agtp://shop.example" || d.Service != "Shop" || strings.Join(d.Vocabulary.DeclaredVerbs, " ") != "CANCEL" {
		t.Errorf("%s, %s, %v", d.AGTP, d.Service, d.Vocabulary.DeclaredVerbs)
	}
	if p := d.Parameters(d.Endpoints[0]); len(p) != 1 || p[0].Name != "id" || !p[0].Required {
		t.Errorf("parameters %v, want the one of the path", p)
	}
	if len(out.Reviews) < 10 {
		t.Errorf("only %d reviews for a document that is all guessed", len(out.Reviews))
	}
}

func TestNotationErrors(t *testing.T) {
	for _, c := range []struct {
		name, text   string
		line, column int
		message      string
	}{
		{"brace left open", "agis: \"1.0\"\nBOOK /x {\n  semantic {\n", 3, 12, "never closed"},
		{"brace too many", "BOOK /x {}\n}", 2, 1, "closes nothing"},
		{"bracket left open", "BOOK /x { input { required: [a, b\n } }", 1, 29, "not closed before"},
		{"quote left open", "service: \"abc\nBOOK /x {}", 1, 10, "never closed"},
		{"parenthesis left open", "BOOK /x { input { a (int } }", 1, 21, "never closed"},
		{"text behind a quote", "service: \"a\" b", 1, 14, "closing quote"},
		{"bad escape", `service: "a\q"`, 1, 12, "no escape"},
		{"a name twice", "agis: a\nagis: b\nBOOK /x {}", 2, 1, "twice"},
		{"a block twice", "BOOK /x { errors {a}\n errors {b} }", 2, 2, "twice"},
		{"no endpoint", "agis: \"1.0\"", 1, 1, "no endpoint"},
		{"nothing", "", 1, 1, "no endpoint"},
		{"endpoints without a path", "endpoints:\n  BOOK { }", 2, 3, "METHOD /path"},
		{"endpoint without a block", "BOOK /x\nFIND /y {}", 2, 1, "a { is missing"},
		{"path parameter left open", "BOOK /x/{id {}", 1, 9, "path is never closed"},
		{"endpoint in a block", "vocabulary { BOOK /x {} }", 1, 14, "inside a block"},
		{"a name without a value", "service\nBOOK /x {}", 1, 1, "no value"},
		{"two words as a name", "my service: x\nBOOK /x {}", 1, 1, "white space"},
		{"a list as an entry", "[a]\nBOOK /x {}", 1, 1, "has no name"},
		{"not UTF-8", "agis: \xff", 1, 7, "UTF-8"},
		{"errors with endpoints", "BOOK /x { errors { FIND /y {} } }", 1, 20, "something other"},
		{"deep", "BOOK /x { semantic " + strings.Repeat("{a ", 100) + strings.Repeat("}", 100) + "}", 1, 207, "deeper than"},
		{"deep lists", "a: " + strings.Repeat("[", 100000), 1, 67, "deeper than"},
		{"many", "a: [" + strings.Repeat("b,", 6000) + "]", 1, 10005, "more than"},
		{"large", strings.Repeat(" ", 300000), 1, 1, "bytes"},
	} {
		_, err := ToAGIS([]byte(c.text), conversion.Options{})
		syntax, ok := errors.AsType[*protocol.SyntaxError](err)
		if !ok || !errors.Is(err, protocol.ErrUnreadable) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if syntax.Line != c.line || syntax.Column != c.column || !strings.Contains(syntax.Message, c.message) {
			t.Errorf("%s: %v; want line %d, column %d, %q", c.name, syntax, c.line, c.column, c.message)
		}
	}
}

func FuzzNotation(f *testing.F) {
	for _, text := range notations(f) {
		f.Add(text)
	}
	f.Add([]byte("A /a{input{a:[[b->c]]{d(e:[f,\"g\"])}}}"))
	f.Add([]byte("a:\n- b: |\n   c\n- [d]\nE /e/{f} { output: [ ] errors: g }"))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := ToAGIS(text, conversion.Options{})
		if err != nil {
			if syntax, ok := errors.AsType[*protocol.SyntaxError](err); ok && (syntax.Line < 1 || syntax.Column < 1 || syntax.Message == "") {
				t.Errorf("the error says too little: %+v", syntax)
			}
			return
		}
		if _, _, err := agis.Parse(out.Text, agis.Options{}); err != nil {
			t.Errorf("the document cannot be read: %v\n%s", err, out.Text)
		}
		again, err := ToAGIS(text, conversion.Options{})
		if err != nil || !bytes.Equal(out.Text, again.Text) {
			t.Errorf("a second run gives another text (%v)", err)
		}
	})
}
