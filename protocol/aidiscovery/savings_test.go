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

func savingsOf(t *testing.T, text string) (*protocol.Node, []aidiscovery.Saving) {
	t.Helper()
	root, err := protocol.ReadJSON([]byte(text), protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return root, aidiscovery.Savings(root)
}

func TestSavings(t *testing.T) {
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
			root, savings := savingsOf(t, strings.Replace(base, c.old, c.new, 1))
			i := slices.IndexFunc(savings, func(saving aidiscovery.Saving) bool { return saving.Pointer == c.pointer })
			if i < 0 {
				t.Fatalf("no saving at %s: %+v", c.pointer, savings)
			}
			if savings[i].Text != c.text || savings[i].Message == "" || savings[i].Tokens < 1 {
				t.Errorf("%+v", savings[i])
			}
			if len(savings) != 2 || savings[1-i].Pointer != "" { // the other is white space
				t.Errorf("savings %+v", savings)
			}
			consistent(t, c.name, root)
		})
	}
	if _, savings := savingsOf(t, string(protocol.WriteJSON(mustRead(t, base), ""))); len(savings) > 0 {
		t.Errorf("nothing to cut, yet %+v", savings)
	}
	// A member with a place under another name is to be renamed, not removed.
	for _, misnamed := range []string{`"authentication": {"type": "apikey"}, "auth"`, `"rate_limit": {"requests_per_minute": 60}, "auth"`} {
		_, savings := savingsOf(t, strings.Replace(base, `"auth"`, misnamed, 1))
		if len(savings) != 1 || savings[0].Pointer != "" {
			t.Errorf("%s: %+v", misnamed, savings)
		}
	}
	for _, honest := range []string{"This month's notes", "Use tags to find notes", "The service", "Endpoint", "Allows", "API keys of a user", "Used cars near a place"} {
		_, savings := savingsOf(t, strings.Replace(base, "Find a note", honest, 1))
		if len(savings) != 1 {
			t.Errorf("%s: %+v", honest, savings)
		}
	}
	if aidiscovery.Savings(nil) != nil {
		t.Error("savings of nothing")
	}
}

// TestCutEscapes checks that escapes of characters that UTF-8 can represent count as savings.
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
	_, savings := savingsOf(t, escaped.String())
	want := protocol.Tokens(escaped.String()) - protocol.Tokens(plain)
	if len(savings) != 1 || savings[0].Pointer != "" || savings[0].Tokens != want {
		t.Errorf("%+v, want one saving of %d", savings, want)
	}
	if _, savings := savingsOf(t, plain); len(savings) > 0 {
		t.Errorf("%+v", savings)
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

// TestSavingsAddUp checks for every document that the largest saving is first, no value is saved
// twice, and the savings add up to the tokens that are missing in the shortened text.
func TestSavingsAddUp(t *testing.T) {
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

// consistent checks the savings of a tree that was read from JSON and makes them.
func consistent(t *testing.T, name string, root *protocol.Node) {
	t.Helper()
	savings := aidiscovery.Savings(root)
	byPointer := map[string]aidiscovery.Saving{}
	spelling := 0
	saved, made := 0, 0
	for i, saving := range savings {
		if i > 0 && saving.Tokens > savings[i-1].Tokens {
			t.Errorf("%s: the savings are not sorted: %+v", name, savings)
		}
		if saving.Pointer == "" {
			spelling += saving.Tokens
			continue
		}
		if _, twice := byPointer[saving.Pointer]; twice {
			t.Errorf("%s: %s is saving twice", name, saving.Pointer)
		}
		byPointer[saving.Pointer] = saving
		if saving.Remove || saving.Text != "" {
			saved += saving.Tokens
			made++
		}
	}
	before := protocol.TokenCost(string(protocol.WriteJSON(root, "")))
	if root.Kind == protocol.Object && spelling > 0 {
		served := float64(root.End-root.Offset) / 4 // of ASCII text; other texts are judged by their parts
		if ascii(root) && math.Abs(served-before-float64(spelling)) > 1 {
			t.Errorf("%s: compact form saves %.2f, the saving says %d", name, served-before, spelling)
		}
	}
	after := protocol.TokenCost(string(protocol.WriteJSON(cutTree(root, byPointer), "")))
	if math.Abs(before-after-float64(saved)) > float64(made)/2+1 {
		t.Errorf("%s: %d savings save %.2f, they say %d", name, made, before-after, saved)
	}
}

// ascii reports whether all texts of a tree are printable ASCII.
func ascii(n *protocol.Node) bool {
	odd := strings.ContainsFunc(n.Text+n.Key, func(r rune) bool { return r < ' ' || r > '~' })
	return !odd && !slices.ContainsFunc(n.Items, func(m *protocol.Node) bool { return !ascii(m) })
}

// cutTree returns the tree after the savings.
func cutTree(n *protocol.Node, savings map[string]aidiscovery.Saving) *protocol.Node {
	out := *n
	if saving, ok := savings[n.Pointer]; ok && saving.Text != "" {
		out.Text = saving.Text
	}
	out.Items = nil
	for _, item := range n.Items {
		if !savings[item.Pointer].Remove {
			out.Items = append(out.Items, cutTree(item, savings))
		}
	}
	return &out
}
