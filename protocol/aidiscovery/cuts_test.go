package aidiscovery_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

func cutsOf(t *testing.T, text string) (*protocol.Node, []aidiscovery.Cut) {
	t.Helper()
	root, err := protocol.ReadJSON([]byte(text), protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return root, aidiscovery.Cuts(root)
}

func TestCuts(t *testing.T) {
	const long = "The account that owns the repository. The name is not case sensitive."
	for _, c := range []struct{ name, old, new, pointer, text string }{
		{"unknown top level", `"auth"`, `"homepage": "https://example.com", "auth"`, "/homepage", ""},
		{"unknown below", `"name"`, `"logo": "https://example.com/logo", "name"`, "/service/logo", ""},
		{"default language", `"name"`, `"language": ["en"], "name"`, "/service/language", ""},
		{"default hint", `"auth"`, `"token_hints": {"compact_mode": true, "delta_support": false}, "auth"`, "/token_hints/delta_support", ""},
		{"default hints", `"auth"`, `"token_hints": {"compact_mode": false, "delta_support": false}, "auth"`, "/token_hints", ""},
		{"empty params", `"method"`, `"params": {}, "method"`, "/capabilities/0/params", ""},
		{"empty meta", `"auth"`, `"meta": {}, "auth"`, "/meta", ""},
		{"custom meta", `"auth"`, `"meta": {"x": "something of our own"}, "auth"`, "/meta/x", ""},
		{"header of bearer", `"bearer"`, `"bearer", "header": "Authorization"`, "/auth/header", ""},
		{"returns that says nothing", "note {id}", "Successful operation", "/capabilities/0/returns", ""},
		{"this endpoint", "Find a note", "This API endpoint allows you to find a note", "/capabilities/0/description", "Find a note"},
		{"this endpoint returns", "Find a note", "This endpoint returns the notes", "/capabilities/0/description", "Returns the notes"},
		{"use this", "Find a note", "Use this endpoint to find a note", "/capabilities/0/description", "Find a note"},
		{"is used to", "Find a note", "The method is used to   find a note", "/capabilities/0/description", "Find a note"},
		{"allows users to", "Keeps notes.", "Allows users to keep notes.", "/service/description", "Keep notes."},
		{"repeats the name", `"method"`, `"params": {"note_id": "string, required -- the note ID"}, "method"`, "/capabilities/0/params/note_id", "string, required"},
		{"said before", `"method"`, `"params": {"owner": "string, required -- ` + long + `", "user": "string, optional -- ` + long + `"}, "method"`, "/capabilities/0/params/user", "string, optional"},
		{"too long", "Keeps notes.", strings.Repeat("Keeps notes. ", 20), "/service/description", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, cuts := cutsOf(t, strings.Replace(base, c.old, c.new, 1))
			i := slices.IndexFunc(cuts, func(cut aidiscovery.Cut) bool { return cut.Pointer == c.pointer })
			if i < 0 {
				t.Fatalf("no cut at %s: %+v", c.pointer, cuts)
			}
			if cuts[i].Text != c.text || cuts[i].Message == "" || cuts[i].Saves < 1 {
				t.Errorf("%+v", cuts[i])
			}
			if len(cuts) != 2 || cuts[1-i].Pointer != "" { // the other is white space
				t.Errorf("cuts %+v", cuts)
			}
			consistent(t, c.name, root)
		})
	}
	if _, cuts := cutsOf(t, string(protocol.WriteJSON(mustRead(t, base), ""))); len(cuts) > 0 {
		t.Errorf("nothing to cut, yet %+v", cuts)
	}
	for _, honest := range []string{"This month's notes", "Use tags to find notes", "The service", "Endpoint", "Allows", "API keys of a user", "Used cars near a place"} {
		_, cuts := cutsOf(t, strings.Replace(base, "Find a note", honest, 1))
		if len(cuts) != 1 {
			t.Errorf("%s: %+v", honest, cuts)
		}
	}
	if aidiscovery.Cuts(nil) != nil {
		t.Error("cuts of nothing")
	}
}

// Escapes of characters that UTF-8 can write cost more than those.
func TestCutEscapes(t *testing.T) {
	const plain = `{"aiendpoint":"1.0","service":{"name":"노트 😀","description":"메모를 저장합니다."}}`
	var escaped strings.Builder
	for _, r := range plain {
		switch {
		case r < 0x80:
			escaped.WriteRune(r)
		case r > 0xFFFF:
			escaped.WriteString(`\ud83d\ude00`)
		default:
			fmt.Fprintf(&escaped, `\u%04x`, r)
		}
	}
	_, cuts := cutsOf(t, escaped.String())
	want := protocol.Tokens(escaped.String()) - protocol.Tokens(plain)
	if len(cuts) != 1 || cuts[0].Pointer != "" || cuts[0].Saves != want {
		t.Errorf("%+v, want one cut that saves %d", cuts, want)
	}
	if _, cuts := cutsOf(t, plain); len(cuts) > 0 {
		t.Errorf("%+v", cuts)
	}
}

func mustRead(t *testing.T, text string) *protocol.Node {
	t.Helper()
	root, err := protocol.ReadJSON([]byte(text), protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Whatever a document is: the most comes first, no value is cut twice, and what
// is saved is what the text costs less after the cuts.
func TestCutsAddUp(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil {
		t.Fatal(err)
	}
	judged := 0
	for _, file := range files {
		text, _ := protocol.TrimBOM(read(t, strings.TrimPrefix(filepath.ToSlash(file), "testdata/")))
		root, err := protocol.ReadJSON(text, protocol.Limits{})
		if err != nil {
			continue
		}
		judged++
		consistent(t, file, root)
	}
	if judged < 70 {
		t.Errorf("only %d documents", judged)
	}
}

// consistent checks the cuts of a tree that was read from JSON and makes them.
func consistent(t *testing.T, name string, root *protocol.Node) {
	t.Helper()
	cuts := aidiscovery.Cuts(root)
	byPointer := map[string]aidiscovery.Cut{}
	spelling := 0
	saved, made := 0, 0
	for i, cut := range cuts {
		if i > 0 && cut.Saves > cuts[i-1].Saves {
			t.Errorf("%s: the cuts are not sorted: %+v", name, cuts)
		}
		if cut.Pointer == "" {
			spelling += cut.Saves
			continue
		}
		if _, twice := byPointer[cut.Pointer]; twice {
			t.Errorf("%s: %s is cut twice", name, cut.Pointer)
		}
		byPointer[cut.Pointer] = cut
		if cut.Remove || cut.Text != "" {
			saved += cut.Saves
			made++
		}
	}
	before := protocol.TokenCost(string(protocol.WriteJSON(root, "")))
	if root.Kind == protocol.Object && spelling > 0 {
		served := float64(root.End-root.Offset) / 4 // of ASCII text; other texts are judged by their parts
		if ascii(root) && math.Abs(served-before-float64(spelling)) > 1 {
			t.Errorf("%s: compact form saves %.2f, the cut says %d", name, served-before, spelling)
		}
	}
	after := protocol.TokenCost(string(protocol.WriteJSON(cutTree(root, byPointer), "")))
	if math.Abs(before-after-float64(saved)) > float64(made)/2+1 {
		t.Errorf("%s: %d cuts save %.2f, they say %d", name, made, before-after, saved)
	}
}

// ascii reports whether all texts of a tree are printable ASCII.
func ascii(n *protocol.Node) bool {
	odd := strings.ContainsFunc(n.Text+n.Key, func(r rune) bool { return r < ' ' || r > '~' })
	return !odd && !slices.ContainsFunc(n.Items, func(m *protocol.Node) bool { return !ascii(m) })
}

// cutTree returns the tree after the cuts.
func cutTree(n *protocol.Node, cuts map[string]aidiscovery.Cut) *protocol.Node {
	out := *n
	if cut, ok := cuts[n.Pointer]; ok && cut.Text != "" {
		out.Text = cut.Text
	}
	out.Items = nil
	for _, item := range n.Items {
		if !cuts[item.Pointer].Remove {
			out.Items = append(out.Items, cutTree(item, cuts))
		}
	}
	return &out
}
