package mcp

import (
	"encoding/json"
	"os"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
)

func FuzzMCPToAGIS(f *testing.F) {
	f.Add([]byte(`{"tools": [{"name": "book_reservation", "description": "Books a table", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}}}]}`))
	f.Add([]byte(`[{"name": "getData", "annotations": {"destructiveHint": true}, "inputSchema": {"$ref": "https://x.example/"}}, {"name": "get_data"}]`))
	f.Add([]byte(`{"result": {"tools": [{"name": "list-pets", "title": "List pets", "outputSchema": {"type": "array"}, "inputSchema": {"type": "string", "pattern": "("}}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := ToAGIS(text, conversion.Options{})
		if err != nil {
			return
		}
		parseAGIS(t, out.Text)
		toolsAreLegal(t, out.Text)
	})
}

func FuzzAGISToMCP(f *testing.F) {
	for _, name := range []string{"seed-restaurant", "seed-patients", "seed-finance"} {
		for _, extension := range []string{".yaml", ".json"} {
			if text, err := os.ReadFile("../agis/testdata/valid/" + name + extension); err == nil {
				f.Add(text)
			}
		}
	}
	f.Add(around([]json.RawMessage{[]byte(`{"method":"FIND","path":"/a","semantic":{"mcp_tool_name":"x","parameter_hints":{"a":["it's"]}},"input":{"$ref":"#/endpoints/0/input"}}`)}))
	f.Fuzz(func(t *testing.T, text []byte) { toolsAreLegal(t, text) })
}

// toolsAreLegal converts an AGIS document and checks what MCP asks of tools.
func toolsAreLegal(t *testing.T, document []byte) {
	t.Helper()
	d, _, err := agis.Parse(document, agis.Options{})
	if err != nil {
		return
	}
	out, err := FromAGIS(document, conversion.Options{Extended: true})
	if err != nil {
		return
	}
	root, err := protocol.ReadJSON(out.Text, protocol.Limits{Bytes: 1 << 30, Depth: 1000, Members: 1 << 20, Number: 1000})
	if err != nil {
		t.Fatal(err)
	}
	tools := root.Member("tools").Items
	if len(tools) != len(d.Endpoints) {
		t.Fatalf("%d tools for %d endpoints", len(tools), len(d.Endpoints))
	}
	seen := map[string]bool{}
	for _, tool := range tools {
		name := tool.Member("name").Str()
		if name == "" || len(name) > maxToolName || seen[name] {
			t.Fatalf("the name %q is empty, too long or stands twice", name)
		}
		seen[name] = true
		if tool.Member("inputSchema").Member("type").Str() != "object" {
			t.Fatalf("the input of %s is no object: %s", name, protocol.WriteJSON(tool, ""))
		}
	}
}
