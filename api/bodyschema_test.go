package api_test

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestRequestBodiesMatchSchemas checks that the routes accept exactly the bodies that OpenAPI
// describes.
func TestRequestBodiesMatchSchemas(t *testing.T) {
	h := newTestServer(t, options{})
	h.publishSamples()
	described, err := jsonschema.UnmarshalJSON(bytes.NewReader(h.get("/openapi.json", 200).body))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("https://described.example/", described); err != nil {
		t.Fatal(err)
	}
	for _, b := range []struct{ path, pointer, body string }{
		{"search", "~1api~1v1~1search", `{"verb": "BOOK"}`},
		{"search", "~1api~1v1~1search", `{"verb": ["BOOK", "LIST"], "facets": ["verb"], "effect": "unknown"}`},
		{"search", "~1api~1v1~1search", `{"verb": null}`},
		{"search", "~1api~1v1~1search", `{"verb": [null]}`},
		{"search", "~1api~1v1~1search", `{"q": "table", "facets": "verb"}`},
		{"search", "~1api~1v1~1search", `{"q": "table", "facets": null}`},
		{"search", "~1api~1v1~1search", `{"q": "table", "colour": 1}`},
		{"explore", "~1api~1v1~1explore", `{"fields": "verb"}`},
		{"explore", "~1api~1v1~1explore", `{"fields": ["verb"], "host": "ristorante.example"}`},
		{"explore", "~1api~1v1~1explore", `{"fields": null}`},
		{"explore", "~1api~1v1~1explore", `{}`},
		{"export", "~1api~1v1~1export", `{"operations": null, "as": "mcp"}`},
		{"export", "~1api~1v1~1export", `{"operations": [], "as": "mcp"}`},
		{"export", "~1api~1v1~1export", `{"operations": ["ristorante.example/ai/book_table"], "as": "mcp"}`},
	} {
		schema, err := c.Compile("https://described.example/#/paths/" + b.pointer + "/post/requestBody/content/application~1json/schema")
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(b.body)))
		if err != nil {
			t.Fatal(err)
		}
		described := schema.Validate(value) == nil
		r := h.request("POST", "/api/v1/"+b.path, b.body, "Content-Type", "application/json")
		if taken := r.StatusCode == http.StatusOK; taken != described {
			t.Errorf("%s %s: described %t, taken %t: %s", b.path, b.body, described, taken, r.body)
		}
	}
}
