package aidiscovery_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(aidiscovery.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("ai-discovery-1.0.json", value); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("ai-discovery-1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// unseen are the errors of Parse that the schema cannot express: bytes, sizes, relations between
// two members, the calendar, and the content of texts.
var unseen = map[string]bool{
	"AI201": true, "AI203": true, "AI205": true, "AI206": true, "AI207": true, "AI116": true, // bytes, and limits of a reader
	"AI314": true, "AI315": true, "AI406": true, "AI801": true, // letter case, grammar, uniqueness, calendar
	"AI901": true, "AI906": true, "AI415": true, // texts and hosts
}

// TestSchemaAgreesWithParse checks that the schema accepts every document that Parse accepts, and
// refuses those that Parse refuses for their structure.
func TestSchemaAgreesWithParse(t *testing.T) {
	s := compileSchema(t)
	refused := 0
	for _, v := range manifest(t) {
		text, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(v.File)))
		if err != nil {
			t.Fatal(err)
		}
		text, _ = protocol.TrimBOM(text)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			continue // no JSON value to judge
		}
		if slices.Contains(v.Infos, "AI120") {
			continue // valid as a document of another format
		}
		err = s.Validate(value)
		structural := slices.ContainsFunc(v.Codes, func(code string) bool { return !unseen[code] })
		switch {
		case err != nil && v.Valid:
			t.Errorf("%s is valid, but the schema says %v", v.File, err)
		case err == nil && structural:
			t.Errorf("%s has %v, but the schema accepts it", v.File, v.Codes)
		case err != nil:
			refused++
		}
	}
	if refused < 40 {
		t.Errorf("the schema refuses %d documents of testdata, want at least 40", refused)
	}
}

// An editor shows the title and the description of a member.
func TestSchemaDescribesEveryMember(t *testing.T) {
	root, err := protocol.ReadJSON(aidiscovery.Schema(), protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := root.Member("$id").Str(); got != "ai-discovery-1.0.json" {
		t.Errorf("$id %q", got)
	}
	members := 0
	var walk func(n *protocol.Node)
	walk = func(n *protocol.Node) {
		if n.Key == "properties" && n.Kind == protocol.Object && !strings.HasPrefix(n.Pointer, "/if/") {
			for _, m := range n.Items {
				members++
				if m.Member("title").Str() == "" || m.Member("description").Str() == "" {
					t.Errorf("%s lacks a title or a description", m.Pointer)
				}
			}
		}
		for _, item := range n.Items {
			walk(item)
		}
	}
	walk(root)
	if members < 28 {
		t.Errorf("%d members, want all 28 of the draft", members)
	}
}
