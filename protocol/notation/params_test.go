package notation

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
)

func TestParamsToDraft(t *testing.T) {
	const before = `{ "aiendpoint":"1.0", "service" : {"name":"Notes \u2713","description":"Keeps notes"},
  "capabilities": [ {"id":"find","description":"Find","endpoint":"/notes/:id","method":"GET","returns":"notes",
      "params": {
        "q":      "Text to look for (string, required, max 80)",
        "limit":  "integer (optional - how many, at most)",
        "id":     "the note",
        "is_new": "only new ones",
        "sort":   "string, optional, new|old -- order",
        "odd":    "text -- with a dash (string, required)" } } ] }`
	const after = `{ "aiendpoint":"1.0", "service" : {"name":"Notes \u2713","description":"Keeps notes"},
  "capabilities": [ {"id":"find","description":"Find","endpoint":"/notes/:id","method":"GET","returns":"notes",
      "params": {
        "q":      "string, required, max 80 -- Text to look for",
        "limit":  "integer, optional -- how many, at most",
        "id":     "string, required -- the note",
        "is_new": "boolean, optional -- only new ones",
        "sort":   "string, optional, new|old -- order",
        "odd":    "string, required -- text -- with a dash" } } ] }`
	out, err := ParamsToDraft([]byte(before), conversion.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if string(out.Text) != after {
		t.Errorf("got\n%s\nwant\n%s", out.Text, after)
	}
	if len(out.Reviews) != 2 || out.Reviews[0].Pointer != "/capabilities/0/params/id" {
		t.Errorf("reviews %v, want the two that were guessed", out.Reviews)
	}
	again, err := ParamsToDraft(out.Text, conversion.Options{})
	if err != nil || !bytes.Equal(again.Text, out.Text) || len(again.Reviews) > 0 {
		t.Errorf("a second time changes it: %v, %v", err, again.Reviews)
	}
	for _, text := range []string{"", "[1]", `{"openapi":"3.1.0"}`} {
		if _, err := ParamsToDraft([]byte(text), conversion.Options{}); err == nil {
			t.Errorf("%q was converted", text)
		}
	}
}

// TestParamsToDraftVectors checks that no document gets a new error, and that only parameter texts
// change.
func TestParamsToDraftVectors(t *testing.T) {
	files, err := filepath.Glob("../aidiscovery/testdata/*valid/*.json")
	if err != nil || len(files) < 80 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, before, err := aidiscovery.Parse(text, aidiscovery.Options{})
		if err != nil {
			continue
		}
		out, err := ParamsToDraft(text, conversion.Options{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		_, after, err := aidiscovery.Parse(out.Text, aidiscovery.Options{})
		if err != nil || len(errorsOf(after)) > len(errorsOf(before)) {
			t.Errorf("%s: %v, %v", file, err, errorsOf(after))
		}
		text, _ = protocol.TrimBOM(text)
		a, errA := protocol.ReadJSON(text, protocol.Limits{})
		b, errB := protocol.ReadJSON(out.Text, protocol.Limits{})
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		for i, c := range a.Member("capabilities").Elements() {
			for _, m := range tree.Members(c) {
				if m.Key != "params" && !equalTrees(m, b.Member("capabilities").Items[i].Member(m.Key)) {
					t.Errorf("%s: %s has changed", file, m.Pointer)
				}
			}
		}
	}
}

func FuzzParamDialect(f *testing.F) {
	for _, s := range []string{"Text (string, required)", "string (required - text)", "string, optional -- a", "a -- b (array[string], optional, 1|2)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.ToValidUTF8(s, "?")
		n := tree.String(s)
		n.End = len(s)
		e, ok := ParamDialect(n)
		if !ok {
			return
		}
		written, err := protocol.ReadJSON([]byte(e.Text), protocol.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		before, after := aidiscovery.ParseParam(s), aidiscovery.ParseParam(written.Text)
		if after.Dialect != aidiscovery.Draft || after.Type != before.Type || after.Required != before.Required || after.Description != before.Description {
			t.Errorf("%q became %q: %+v, %+v", s, written.Text, before, after)
		}
	})
}
