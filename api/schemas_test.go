package api_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// overHTTP reads schemas from the server, as an editor does.
type overHTTP struct{ h *testServer }

func (l overHTTP) Load(url string) (any, error) {
	path, ok := strings.CutPrefix(url, "https://registry.example")
	if !ok {
		return nil, fmt.Errorf("%s is not ours", url)
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(l.h.get(path, 200).body))
}

func TestSchemasForEditors(t *testing.T) {
	h := newTestServer(t, options{})
	for name, valid := range map[string]string{
		"ai-discovery-1.0.json": validAI,
		"agis-1.0.json": `{"agis": "1.0", "service": "Tables", "agtp": "agtp://tables.example", "description": "Books tables", "version": "1.0.0",
			"vocabulary": {"declared_verbs": ["BOOK"], "domain": "food"},
			"endpoints": [{"method": "BOOK", "path": "/tables", "semantic": {"intent": "Books a table", "actor": "agent", "outcome": "A table is held",
			"capability": "transaction", "confidence_guidance": 0.9, "impact_tier": "reversible", "is_idempotent": false},
			"input": {"type": "object", "required": [], "properties": {}}, "output": {"type": "object", "properties": {}}, "errors": ["table_taken"]}]}`,
		"agis-summary-1.0.json": `{"agis": "1.0", "service": "Tables", "agtp": "agtp://tables.example", "agis_document": "https://tables.example/service.agis", "methods": ["BOOK"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			h := h.forTest(t)
			address := "/schemas/" + name
			if got := h.get(address, 200); got.Header.Get("Content-Type") != "application/schema+json" {
				t.Errorf("Content-Type %q", got.Header.Get("Content-Type"))
			}
			c := jsonschema.NewCompiler()
			c.UseLoader(overHTTP{h})
			schema, err := c.Compile("https://registry.example" + address)
			if err != nil {
				t.Fatal(err)
			}
			if want := "https://registry.example" + address; !strings.HasPrefix(schema.Location, want) {
				t.Errorf("its $id makes it %s, want %s", schema.Location, want)
			}
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(valid))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(value); err != nil {
				t.Errorf("a valid document is refused: %v", err)
			}
			if err := schema.Validate(map[string]any{"service": 1}); err == nil {
				t.Error("what is no document is taken")
			}
		})
	}
	for _, name := range []string{"agis-9.9.json", "agis-1.0"} {
		r := h.get("/schemas/"+name, 404)
		if !strings.Contains(string(r.body), "no-schema") || !strings.Contains(string(r.body), "agis-summary-1.0.json") {
			t.Errorf("%s: %s", name, r.body)
		}
	}
}
