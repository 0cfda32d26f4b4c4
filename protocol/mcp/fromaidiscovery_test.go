package mcp

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/conversion"
)

func TestFromAIDiscovery(t *testing.T) {
	out, err := FromAIDiscovery([]byte(`{"aiendpoint": "1.0", "service": {"name": "Notes", "description": "Keeps notes"}, "capabilities": [
		{"id": "find_notes", "description": "Finds notes", "endpoint": "/notes/:book", "method": "GET", "returns": "notes[] {id, text}",
			"params": {"book": "string, required", "limit": "integer, optional, max 50 -- how many", "since": "string, optional, format date -- not before", "kind": "string, optional, format short"}},
		{"id": "Drop Note", "description": "Removes a note", "endpoint": "/notes/:id", "method": "DELETE"}]}`), conversion.Options{Extended: true})
	if err != nil {
		t.Fatal(err)
	}
	root, err := protocol.ReadJSON(out.Text, protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`{"name":"find_notes","description":"Finds notes\n Returns: notes[] {id, text}","inputSchema":{"type":"object","properties":{"book":{"type":"string"},` +
			`"limit":{"type":"integer","maximum":50,"description":"how many"},"since":{"type":"string","format":"date","description":"not before"},"kind":{"type":"string","description":"format short"}},"required":["book"]},"annotations":{"readOnlyHint":true}}`,
		`{"name":"drop_note","description":"Removes a note","inputSchema":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]},"annotations":{"readOnlyHint":false,"idempotentHint":true}}`,
	} {
		if got := string(protocol.WriteJSON(root.Member("tools").Items[i], "")); got != want {
			t.Errorf("tool %d is\n%s\nwant\n%s", i, got, want)
		}
	}
	if !slices.ContainsFunc(out.Reviews, func(r conversion.Review) bool {
		return r.Pointer == "/tools/1/name" && strings.Contains(r.Message, `"Drop Note"`)
	}) {
		t.Errorf("no review says where the name comes from: %v", out.Reviews)
	}
	if !slices.ContainsFunc(out.Reviews, func(r conversion.Review) bool { return r.Pointer == "/tools/1/inputSchema/properties/id" }) {
		t.Errorf("no review says that the parameter of the path was added: %v", out.Reviews)
	}
	if _, err := FromAIDiscovery([]byte(`{"aiendpoint": "1.0", "capabilities": []}`), conversion.Options{}); err == nil {
		t.Error("a document without capabilities is converted")
	}
}

// TestFromAIDiscoveryVectors checks that every valid document of the format becomes tools with
// legal and distinct names.
func TestFromAIDiscoveryVectors(t *testing.T) {
	files, err := filepath.Glob("../aidiscovery/testdata/valid/*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	converted := 0
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := aidiscovery.Parse(text, aidiscovery.Options{})
		if err != nil || len(d.Capabilities) == 0 {
			continue
		}
		out, err := FromAIDiscovery(text, conversion.Options{})
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		root, err := protocol.ReadJSON(out.Text, protocol.Limits{Bytes: 1 << 24})
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		seen := map[string]bool{}
		for _, tool := range root.Member("tools").Items {
			name := tool.Member("name").Str()
			if !isLegalToolName(name) || seen[name] || tool.Member("inputSchema").Member("type").Str() != "object" {
				t.Errorf("%s: tool %s", f, protocol.WriteJSON(tool, ""))
			}
			seen[name] = true
		}
		if len(seen) != len(d.Capabilities) {
			t.Errorf("%s: %d tools for %d capabilities", f, len(seen), len(d.Capabilities))
		}
		converted++
	}
	if converted < 5 {
		t.Errorf("only %d documents were converted", converted)
	}
}
