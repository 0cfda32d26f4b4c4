package yaml_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/yaml"
)

// flat lists the nodes of a tree, one a line.
func flat(n *protocol.Node) []string {
	out := []string{fmt.Sprintf("%s %s %q %d:%d key %q %d:%d", n.Pointer, n.Kind, n.Text, n.Line, n.Column, n.Key, n.KeyLine, n.KeyColumn)}
	for _, item := range n.Items {
		out = append(out, flat(item)...)
	}
	return out
}

func TestReadTree(t *testing.T) {
	text := "é: [1, 'ü', yes]\n# a comment\na/b:\n  - x: |\n      two\n      lines\n  -\nlast: \"ä\\n\"\n"
	root, err := yaml.Read([]byte(text), protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		` object "" 1:1 key "" 0:0`,
		`/é array "" 1:4 key "é" 1:1`,
		`/é/0 number "1" 1:5 key "" 0:0`,
		`/é/1 string "ü" 1:8 key "" 0:0`,
		`/é/2 string "yes" 1:13 key "" 0:0`,
		`/a~1b array "" 4:3 key "a/b" 3:1`,
		`/a~1b/0 object "" 4:5 key "" 0:0`,
		`/a~1b/0/x string "two\nlines\n" 4:8 key "x" 4:5`,
		`/a~1b/1 null "" 7:4 key "" 0:0`,
		`/last string "ä\n" 8:7 key "last" 8:1`,
	}
	if got := flat(root); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestReadScalars(t *testing.T) {
	for text, want := range map[string]string{
		"1.0": "number 1.0", "-0": "number -0", "+1": "number +1", ".5": "number .5", "1.": "number 1.", "012": "number 012",
		"6e2": "number 6e2", "0x1F": "string 0x1F", "0o17": "string 0o17", ".inf": "string .inf", ".nan": "string .nan",
		"1_000": "string 1_000", "2026-01-02": "string 2026-01-02", "2026-01-02T03:04:05Z": "string 2026-01-02T03:04:05Z",
		"true": "boolean true", "True": "boolean true", "FALSE": "boolean false", "tRUE": "string tRUE",
		"yes": "string yes", "no": "string no", "on": "string on", "~": "null ", "null": "null ", "Null": "null ", "": "null ",
		`"1.0"`: "string 1.0", "'true'": "string true", `""`: "string ", "!!str 1.0": "string 1.0", "!!int 7": "number 7",
		"!!float 7": "number 7", "<<": "string <<", "1.2.3": "string 1.2.3", "12:30": "string 12:30",
	} {
		root, err := yaml.Read([]byte("a: "+text+"\n"), protocol.Limits{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		n := root.Member("a")
		if got := n.Kind.String() + " " + n.Text; got != want {
			t.Errorf("%s is read as %s, want %s", text, got, want)
		}
	}
}

func TestReadAliases(t *testing.T) {
	text := "a: &x {b: [1, &y two]}\nc: *x\nd: [*y, *x]\n*y : &z three\n"
	root, err := yaml.Read([]byte(text), protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"a":{"b":[1,"two"]},"c":{"b":[1,"two"]},"d":["two",{"b":[1,"two"]}],"two":"three"}`
	if got := string(protocol.WriteJSON(root, "")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, n := range []struct {
		node    *protocol.Node
		pointer string
		line    int
		column  int
	}{
		{root.Member("c"), "/c", 2, 4},
		{root.Member("c").Member("b"), "/c/b", 1, 11}, // where it is written
		{root.Member("d").Items[1].Member("b").Items[1], "/d/1/b/1", 1, 15},
	} {
		if n.node.Pointer != n.pointer || n.node.Line != n.line || n.node.Column != n.column {
			t.Errorf("%s at %d:%d, want %s at %d:%d", n.node.Pointer, n.node.Line, n.node.Column, n.pointer, n.line, n.column)
		}
	}
}

// TestReadAliasLimit checks that aliases may add exactly 10,000 values to a document and no more.
func TestReadAliasLimit(t *testing.T) {
	// Each alias adds a list and nine numbers.
	list := "a: &x [" + strings.Repeat("1, ", 9) + "]\nb: ["
	if _, err := yaml.Read([]byte(list+strings.Repeat("*x, ", 1000)+"]\n"), protocol.Limits{}); err != nil {
		t.Error(err)
	}
	_, err := yaml.Read([]byte(list+strings.Repeat("*x, ", 1001)+"]\n"), protocol.Limits{})
	if syntax, ok := errors.AsType[*protocol.SyntaxError](err); !ok || syntax.Problem != protocol.Unsafe {
		t.Errorf("one alias too many: %v", err)
	}
}

func TestReadScalarKeys(t *testing.T) {
	text := "200: ok\n1.0: a\ntrue: b\n~: c\n\"d\": e\n"
	root, err := yaml.ReadScalarKeys([]byte(text), protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(protocol.WriteJSON(root, "")), `{"200":"ok","1.0":"a","true":"b","~":"c","d":"e"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, text := range []string{"[a]: b\n", "200: a\n\"200\": b\n", "<<: {a: b}\n"} {
		if _, err := yaml.ReadScalarKeys([]byte(text), protocol.Limits{}); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	small := protocol.Limits{Bytes: 400, Depth: 3, Members: 3, Number: 5}
	for _, c := range []struct {
		name, text   string
		problem      protocol.Problem
		line, column int
	}{
		{"nothing", "", protocol.Empty, 1, 1},
		{"only a comment", "# x\n", protocol.Empty, 1, 1},
		{"second document", "a: 1\n---\nb: 2\n", protocol.Several, 2, 1},
		{"broken second document", "a: 1\n---\nb: [\n", protocol.Invalid, 3, 5},
		{"alias of nothing", "a: *x\n", protocol.Unsafe, 1, 4},
		{"alias inside its value", "a: &x [1, *x]\n", protocol.Unsafe, 1, 11},
		{"alias too deep", "a: &x [[1]]\nb: [*x]\n", protocol.TooDeep, 2, 5},
		{"duplicate by an alias", "&x a: 1\n*x : 2\n", protocol.Duplicate, 2, 1},
		{"mapping as an aliased key", "a: &x {b: 1}\n*x : 2\n", protocol.Unsafe, 2, 1},
		{"merge key", "a:\n  <<: {b: 1}\n", protocol.Unsafe, 2, 3},
		{"merge key of an alias", "a: &x {b: 1}\nc:\n  <<: *x\n", protocol.Unsafe, 3, 3},
		{"custom tag", "a: !thing x\n", protocol.Unsafe, 1, 4},
		{"binary tag", "a: !!binary aGk=\n", protocol.Unsafe, 1, 4},
		{"set tag", "a: !!set {b: }\n", protocol.Unsafe, 1, 4},
		{"python tag", "a: !!python/object/apply:os.getcwd []\n", protocol.Unsafe, 1, 4},
		{"non-specific tag", "a: ! x\n", protocol.Unsafe, 1, 4},
		{"tag that lies", "a: !!int x\n", protocol.Unsafe, 1, 4},
		{"timestamp tag", "a: !!timestamp 2026-01-02\n", protocol.Unsafe, 1, 4},
		{"%TAG", "%TAG !e! tag:e.com,2000:\n---\na: !e!b 1\n", protocol.Unsafe, 3, 4},
		{"number key", "a: 1\n2: b\n", protocol.Unsafe, 2, 1},
		{"boolean key", "true: 1\n", protocol.Unsafe, 1, 1},
		{"null key", "~: 1\n", protocol.Unsafe, 1, 1},
		{"sequence key", "? [a]\n: 1\n", protocol.Unsafe, 1, 3},
		{"duplicate", "a: 1\nb: 2\na: 3\n", protocol.Duplicate, 3, 1},
		{"duplicate by quotes", "a: 1\n\"\\u0061\": 2\n", protocol.Duplicate, 2, 1},
		{"duplicate below", "x:\n  a: 1\n  a: 2\n", protocol.Duplicate, 3, 3},
		{"flow depth", "a: [[[1]]]\n", protocol.TooDeep, 1, 6},
		{"block depth", "a:\n  b:\n    c:\n      d: 1\n", protocol.TooDeep, 4, 8},
		{"many elements", "a: [1, 2, 3, 4]\n", protocol.TooMany, 1, 4},
		{"many keys", "a: 1\nb: 1\nc: 1\nd: 1\n", protocol.TooMany, 1, 1},
		{"long number", "a: 1234567\n", protocol.TooLongNumber, 1, 4},
		{"not UTF-8", "a: 1\nb: é\xff\n", protocol.NotUTF8, 2, 5},
		{"control character", "a: 1\nb: \x07\n", protocol.Invalid, 2, 4},
		{"tab", "a:\n\t- b\n", protocol.Invalid, 2, 1},
		{"mapping in a value", "a: b: c\n", protocol.Invalid, 1, 5},
		{"unclosed", "a: [1\n", protocol.Invalid, 1, 6},
		{"too large", strings.Repeat("#", 401), protocol.TooLarge, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := yaml.Read([]byte(c.text), small)
			got, ok := errors.AsType[*protocol.SyntaxError](err)
			if !ok {
				t.Fatalf("error %v, want a SyntaxError", err)
			}
			if got.Problem != c.problem || got.Line != c.line || got.Column != c.column || got.Message == "" {
				t.Errorf("%s at %d:%d (%s), want %s at %d:%d", got.Problem, got.Line, got.Column, got.Message, c.problem, c.line, c.column)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"a: 1\nb: [x, {y: 'z'}]\n", "? a\n: b\n", "- |\n x\n- >-\n y\n", "a: &x 1\nb: *x\n", "%YAML 1.2\n---\na: !!str 1\n...\n", "\"\\u0061\": 1\n", "{a: 1, b", "? b", "---", "a: &a {b: 1}\nc: {<<: [*a, {d: 1}]}\n<<: *a\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		root, merges, err := yaml.ReadMerged(text, protocol.Limits{})
		if plain, plainErr := yaml.Read(text, protocol.Limits{}); err == nil && (plainErr == nil) != (len(merges) == 0) || err != nil && plainErr == nil {
			t.Fatalf("%v, %v with merge keys, %v, %v without", root, err, plain, plainErr)
		}
		if err != nil {
			e, ok := err.(*protocol.SyntaxError)
			if !ok || e.Line < 1 || e.Column < 1 || e.Message == "" || e.Problem.String() == "unknown" {
				t.Fatalf("error %#v", err)
			}
			return
		}
		lines := strings.Count(string(text), "\n") + strings.Count(string(text), "\r") + strings.Count(string(text), "\u0085") +
			strings.Count(string(text), "\u2028") + strings.Count(string(text), "\u2029") + 1
		var check func(n *protocol.Node)
		check = func(n *protocol.Node) {
			if n.Line < 1 || n.Line > lines || n.Column < 1 || n.Kind == protocol.Object && hasDuplicate(n) {
				t.Fatalf("node %+v of %q", n, text)
			}
			for i, item := range n.Items {
				want := protocol.ItemPointer(n.Pointer, i)
				if n.Kind == protocol.Object {
					want = protocol.MemberPointer(n.Pointer, item.Key)
				}
				if item.Pointer != want {
					t.Fatalf("pointer %q, want %q", item.Pointer, want)
				}
				check(item)
			}
		}
		check(root)
	})
}

func hasDuplicate(n *protocol.Node) bool {
	seen := map[string]bool{}
	for _, m := range n.Items {
		if seen[m.Key] {
			return true
		}
		seen[m.Key] = true
	}
	return false
}

func TestReadMerged(t *testing.T) {
	for text, want := range map[string]string{
		"a: &x {b: 1, c: 2}\nd:\n  c: 3\n  <<: *x\n":            `{"a":{"b":1,"c":2},"d":{"c":3,"b":1}}`,
		"a: &x {b: 1}\nc: &y {b: 2, d: 3}\ne: {<<: [*x, *y]}\n": `{"a":{"b":1},"c":{"b":2,"d":3},"e":{"b":1,"d":3}}`,
		"a: &x {b: 1}\nc: &y {<<: *x}\nd: {<<: *y}\n":           `{"a":{"b":1},"c":{"b":1},"d":{"b":1}}`,
		"a: {<<: {b: {c: 1}}}\n":                                `{"a":{"b":{"c":1}}}`,
		"a: {\"<<\": 1}\n":                                      `{"a":{"<<":1}}`,
	} {
		root, merges, err := yaml.ReadMerged([]byte(text), protocol.Limits{})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := string(protocol.WriteJSON(root, "")); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if want := strings.Count(text, "<<:"); len(merges) != want {
			t.Errorf("%q: %d merge keys, want %d", text, len(merges), want)
		}
	}
	chain := func(value string, n int) string {
		text := "a0: &a0 " + value + "\n"
		for i := range n {
			last := fmt.Sprintf("*a%d, ", i)
			text += fmt.Sprintf("a%d: &a%d {<<: [%s]}\n", i+1, i+1, strings.Repeat(last, 8))
		}
		return text
	}
	for _, c := range []struct{ name, text, want string }{
		{"bomb", chain("{b: 1}", 20), "merge keys add"},
		{"bomb of nothing", chain("{}", 20), "merge keys add"},
		{"mapping in itself", "a: &x {<<: *x}\n", "inside the value"},
		{"list in itself", "a: {<<: &x [*x]}\n", "inside the value"},
		{"text", "a: {<<: b}\n", "names no mapping"},
	} {
		if _, _, err := yaml.ReadMerged([]byte(c.text), protocol.Limits{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// The place of an alias that adds too many values is that of the alias, not of the value it names.
func TestPlaceOfExpandedAlias(t *testing.T) {
	text := "a: &a [" + strings.Repeat("x, ", 200) + "]\nb: &b [" + strings.Repeat("*a, ", 49) + "]\nc: *b\n"
	_, err := yaml.Read([]byte(text), protocol.Limits{})
	if syntax, ok := errors.AsType[*protocol.SyntaxError](err); !ok || syntax.Line != 3 || syntax.Column != 4 || syntax.Pointer != "/c" {
		t.Errorf("got %v", err)
	}
}
