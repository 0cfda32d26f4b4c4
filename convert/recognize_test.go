package convert

import (
	"errors"
	"strings"
	"testing"

	"gazetteer/protocol"
)

// TestOtherInputKindsAreNamed checks that every conversion reports the kind of a wrong input and
// the next step.
func TestOtherInputKindsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "the text is empty",
		" \n\t":                       "the text is empty",
		"%PDF-1.7":                    "a PDF file",
		"PK\x03\x04abc":               "a zip archive",
		"\x1f\x8b\b":                  "compressed with gzip",
		"\x7fELF\x02":                 "a program",
		"\ufeff<!DOCTYPE html><html>": "a web page",
		"<html><body>404":             "a web page",
		"<?xml version=\"1.0\"?><html xmlns=\"x\">":                           "a web page",
		"<?xml version=\"1.0\"?><definitions/>":                               "XML",
		"HTTP/1.1 200 OK\r\n\r\n{}":                                           "an HTTP message",
		"curl -s https://x.example/":                                          "a command",
		"// c\nsyntax = \"proto3\";\n":                                        "Protocol Buffers",
		"type Query {\n  me: User\n}\n":                                       "GraphQL schema",
		"\"\"\"A user\"\"\"\nextend type User @key(fields: 1) {\n id: ID!\n}": "GraphQL schema",
		`{"info": {"name": "x"}, "item": []}`:                                 "a Postman collection",
		`{"collection": {"item": []}}`:                                        "a Postman collection",
		"__schema: {}":                                                        "introspection",
		`{"asyncapi": "3.0.0"}`:                                               "AsyncAPI",
		`{"agis": "1.0", "service": "s", "methods": []}`:                      "the summary of an AGIS service",
		`{"error": "not found"}`:                                              "an error answer",
		`"hello"`:                                                             "",
		`{"a":`:                                                               "",
		"\xff\xfe{\x00":                                                       "UTF-16",
		"openapi: 3.0.0\npaths:\n\t/x: {}\n":                                  "",
		`{"one": 1, "two": 2}`:                                                "",
	} {
		for _, c := range Conversions {
			_, err := c.Do([]byte(text), Options{})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s to %s: %.40q: error %v, want one that says %q", c.From, c.To, text, err, want)
				continue
			}
			if !errors.Is(err, protocol.ErrUnreadable) && !errors.Is(err, protocol.ErrOtherFormat) {
				t.Errorf("%s to %s: %.40q: error %v wraps neither", c.From, c.To, text, err)
			}
		}
	}
	for from, text := range map[string]string{
		"openapi":  `{"openapi": "3.0.0", "paths": {"/x": {"get": {}}}}`,
		"mcp":      `[{"name": "list_pets", "inputSchema": {"type": "object"}}]`,
		"notation": "BOOK /table {\n  intent: \"Books a table\"\n}\n",
		"ai":       `{"aiendpoint": "1.0", "service": {"name": "s", "description": "d"}, "capabilities": [{"id": "list_pets", "description": "List pets", "endpoint": "/pets", "method": "GET"}]}`,
	} {
		for _, c := range Conversions {
			_, err := c.Do([]byte(text), Options{})
			switch {
			case c.From == from && err != nil:
				t.Errorf("%s to %s: %v", c.From, c.To, err)
			case c.From != from && (!errors.Is(err, protocol.ErrOtherFormat) || from != "mcp" && !strings.Contains(err.Error(), "convert it from "+from)):
				t.Errorf("%s to %s is given %s: error %v", c.From, c.To, from, err)
			}
		}
	}
}
