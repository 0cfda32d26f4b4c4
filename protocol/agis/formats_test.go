package agis_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/yaml"
)

func compiled(t testing.TB, schema []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refuse{})
	if err := c.AddResource("https://gazetteer.example/schemas/it.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("https://gazetteer.example/schemas/it.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// structural are the rules that a schema can say by itself. Of some of them it
// can say only part, or only for the usual case; the vectors show which.
var structural = []string{"AGIS110", "AGIS111", "AGIS113", "AGIS114", "AGIS115", "AGIS116", "AGIS117", "AGIS118", "AGIS123", "AGIS130", "AGIS131",
	"AGIS132", "AGIS133", "AGIS136", "AGIS201", "AGIS202", "AGIS203", "AGIS301", "AGIS401", "AGIS402", "AGIS403", "AGIS405", "AGIS406", "AGIS407",
	"AGIS409", "AGIS410", "AGIS501", "AGIS502", "AGIS503", "AGIS504", "AGIS505", "AGIS508", "AGIS509", "AGIS510", "AGIS512", "AGIS513", "AGIS515",
	"AGIS701", "AGIS801", "AGIS802", "AGIS803", "AGIS804", "AGIS806", "AGIS807", "AGIS809", "AGIS812", "WK101", "WK102", "WK103", "WK104", "WK105"}

func TestSchemasOfTheFormats(t *testing.T) {
	document, summary := compiled(t, agis.Schema()), compiled(t, agis.SummarySchema())
	refused := 0
	for _, v := range manifest(t) {
		text := readText(t, v.File)
		root, err := yaml.Read(text, protocol.Limits{})
		if err != nil {
			continue // no schema is asked about what cannot be read
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(protocol.WriteJSON(root, ""))))
		if err != nil {
			t.Fatal(err)
		}
		schema := document
		if v.Kind == "well-known" {
			schema = summary
		}
		err = schema.Validate(value)
		fault := slices.ContainsFunc(v.Codes, func(code string) bool { return slices.Contains(structural, code) })
		switch {
		case err != nil && slices.Contains(v.Warnings, "WK116"):
			refused++ // a schema has no warnings: an editor marks the wrong type of a member
		case err != nil && len(v.Codes) == 0:
			t.Errorf("%s is refused: %v", v.File, err)
		case err == nil && fault:
			t.Errorf("%s is accepted, although it breaks %v", v.File, v.Codes)
		case err != nil:
			refused++
		}
	}
	if refused < 40 {
		t.Errorf("only %d vectors are refused", refused)
	}
}

// The examples that keep a rule pass the schema as well.
func TestSchemaAcceptsGoodExamples(t *testing.T) {
	document := compiled(t, agis.Schema())
	for _, rule := range agis.Rules() {
		if !strings.HasPrefix(rule.Code, "AGIS") || rule.Code < "AGIS110" {
			continue
		}
		text := put(t, base, rule.Good)
		if _, findings := check(t, string(text), agis.Options{}); len(codes(findings, protocol.Error)) > 0 {
			continue // it shows one thing and leaves others out
		}
		root, err := yaml.Read(text, protocol.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(protocol.WriteJSON(root, ""))))
		if err != nil {
			t.Fatal(err)
		}
		if err := document.Validate(value); err != nil {
			t.Errorf("%s: %v\n%s", rule.Code, err, text)
		}
	}
}

// TestSchemasDescribeEveryField checks that the schemas have every field of the draft with a
// description.
func TestSchemasDescribeEveryField(t *testing.T) {
	for _, schema := range [][]byte{agis.Schema(), agis.SummarySchema()} {
		var root struct {
			ID         string `json:"$id"`
			Properties map[string]any
			Defs       map[string]struct{ Properties map[string]any } `json:"$defs"`
		}
		if err := json.Unmarshal(schema, &root); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(root.ID, "/") || !strings.HasSuffix(root.ID, "-1.0.json") {
			t.Errorf("$id %q is no relative name", root.ID)
		}
		fields := map[string]any{}
		for name, f := range root.Properties {
			fields[name] = f
		}
		for def, d := range root.Defs {
			for name, f := range d.Properties {
				if def != "schema" {
					fields[def+"."+name] = f
				}
			}
		}
		if len(fields) < 15 {
			t.Errorf("%s has %d fields", root.ID, len(fields))
		}
		for name, f := range fields {
			about, _ := f.(map[string]any)
			if about["$ref"] == nil && (about["title"] == nil || about["description"] == nil && name != "manifest.available_data") {
				t.Errorf("%s: %s has no title or description", root.ID, name)
			}
		}
	}
}
