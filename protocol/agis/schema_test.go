package agis_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/yaml"
)

// refuse loads nothing, whatever the address.
type refuse struct{}

func (refuse) Load(url string) (any, error) { return nil, errors.New("nothing is fetched: " + url) }

// compiles asks an independent implementation whether a text is a JSON Schema.
func compiles(schema []byte) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		return err
	}
	// The compiler cannot be interrupted and does not finish with some references. This names the
	// next such reference.
	watch := time.AfterFunc(time.Minute, func() { panic(fmt.Sprintf("the compiler does not get done with %s", schema)) })
	defer watch.Stop()
	c := jsonschema.NewCompiler()
	c.UseLoader(refuse{})
	if err := c.AddResource("https://gazetteer.example/schema", doc); err != nil {
		return err
	}
	_, err = c.Compile("https://gazetteer.example/schema")
	return err
}

// judged returns what Parse says about the schemas of a document whose output is
// this schema.
func judged(t *testing.T, schema []byte) []protocol.Finding {
	t.Helper()
	document := `{"agis":"1.0","service":"S","agtp":"agtp://s.example.com","description":"d","version":"1","endpoints":[{"method":"BOOK","path":"/thing",
"semantic":{"intent":"Books a thing","actor":"agent","outcome":"A thing is booked"},"input":{"type":"object"},"output":` + string(schema) + `,"errors":["thing_missing"]}],
"vocabulary":{"declared_verbs":["BOOK"],"domain":"things"}}`
	_, findings, err := agis.Parse([]byte(document), agis.Options{})
	if err != nil {
		t.Fatalf("%v: %s", err, schema)
	}
	var out []protocol.Finding
	for _, f := range findings {
		if f.Code == "AGIS804" || f.Code == "AGIS805" {
			out = append(out, f)
		}
	}
	return out
}

// A maker makes up JSON Schemas, most of them with something wrong.
type maker struct {
	*rand.Rand
	keywords []string
	wrong    int // one value in so many is a wrong one
}

func newMaker(seed uint64, wrong int) *maker {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 7)), wrong: wrong}
	for word := range strings.FieldsSeq(`$anchor $ref $dynamicRef $dynamicAnchor $comment $vocabulary prefixItems items contains
additionalProperties properties patternProperties dependentSchemas propertyNames if then else allOf anyOf oneOf not unevaluatedItems
unevaluatedProperties type const enum multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems
minItems uniqueItems maxContains minContains maxProperties minProperties required dependentRequired title description default deprecated
readOnly writeOnly examples format contentEncoding contentMediaType contentSchema $recursiveAnchor $recursiveRef unknown optional nullable`) {
		m.keywords = append(m.keywords, word)
	}
	return m
}

func (m *maker) pick(values ...string) string { return values[m.IntN(len(values))] }

// anything is some JSON value.
func (m *maker) anything() string {
	return m.pick("null", "true", "false", "0", "-1", "1", "1.5", "1.0", "1e2", "15e-1", "100e-2", `""`, `"a"`, `"string"`, `"["`, `"#/a"`, `"#"`, "[]", `["a"]`,
		`["a","a"]`, `["a",1]`, `["string","null"]`, "{}", `{"a":1}`, `{"a":true}`, `{"a":{}}`, `{"a":["b"]}`, `{"a":["b","b"]}`, `{"type":"strin"}`, `{"(":{}}`, `[{}]`, `[true,1]`)
}

// value is a right value of a keyword, nearly always.
func (m *maker) value(keyword string, depth int) string {
	if keyword == "$recursiveRef" {
		return `"#"` // retired in 2020-12; the compiler follows it all the same
	}
	if keyword == "if" { // with true or false, the compiler skips a branch
		return m.pick(`{"type":"string"}`, `{"required":["a"]}`, `{"required":"a"}`)
	}
	if m.IntN(m.wrong) == 0 {
		if v := m.anything(); v != `""` || keyword != "$ref" && keyword != "$dynamicRef" { // which the compiler never gets done with
			return v
		}
	}
	switch keyword {
	case "$anchor", "$dynamicAnchor", "$recursiveAnchor":
		return m.pick(`"a"`, `"b"`, `"_c"`, `"d-1.x"`, `"1e"`)
	case "$ref", "$dynamicRef":
		return m.pick(`"#"`, `"#/properties/a"`, `"#/allOf/0"`, `"#/$defs/a"`, `"#a"`, `"#b"`, `"#/items"`, `"other.json"`, `"http://x.example/a"`, `"file:///etc/passwd"`, `"#/required"`)
	case "$vocabulary":
		return m.pick(`{}`, `{"https://example.com/v":true}`)
	case "prefixItems", "allOf", "anyOf", "oneOf":
		return "[" + m.schema(depth-1) + m.pick("", ","+m.schema(depth-1)) + "]"
	case "items", "contains", "additionalProperties", "propertyNames", "then", "else", "not", "unevaluatedItems", "unevaluatedProperties":
		return m.schema(depth - 1)
	case "properties", "dependentSchemas", "$defs":
		return fmt.Sprintf(`{"a":%s,"b":%s}`, m.schema(depth-1), m.schema(depth-1))
	case "patternProperties":
		return fmt.Sprintf(`{%q:%s}`, m.pattern(), m.schema(depth-1))
	case "type":
		return m.pick(`"string"`, `"object"`, `"integer"`, `["string","null"]`, `["array"]`)
	case "const", "default", "unknown", "optional", "nullable":
		return m.anything()
	case "enum", "examples":
		return m.pick("[]", "[1,2]", `["a",null,{}]`, "[1,1]")
	case "multipleOf":
		return m.pick("1", "0.5", "1e-3", "2.0")
	case "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum":
		return m.pick("0", "-1.5", "1e3")
	case "maxLength", "minLength", "maxItems", "minItems", "maxContains", "minContains", "maxProperties", "minProperties":
		return m.pick("0", "3", "1.0", "1e2", "100e-2", "10e-1")
	case "pattern":
		return fmt.Sprintf("%q", m.pattern())
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		return m.pick("true", "false")
	case "required":
		return m.pick("[]", `["a"]`, `["a","b"]`)
	case "dependentRequired":
		return m.pick("{}", `{"a":["b"]}`, `{"a":[]}`)
	case "contentSchema": // the compiler looks at its form only
		return m.pick("{}", "true", `{"type":"integer"}`, `{"type":"int"}`, `{"items":{"minimum":"1"}}`)
	}
	return `"text"`
}

func (m *maker) pattern() string {
	return m.pick("a+", "^[a-z]{2}$", `\d+`, `\pL`, "(a|b)*", "(", "a{2000}", "(?=a)b", `(a)\1`, "[z-a]", "a**", "(?<n>a)", "x{3,2}", "")
}

func (m *maker) schema(depth int) string {
	if depth <= 0 || m.IntN(8) == 0 {
		return m.pick("{}", "true", "false", `{"type":"string"}`)
	}
	seen := map[string]bool{}
	var parts []string
	for range 1 + m.IntN(4) {
		k := m.keywords[m.IntN(len(m.keywords))]
		if !seen[k] {
			seen[k] = true
			parts = append(parts, fmt.Sprintf("%q:%s", k, m.value(k, depth)))
		}
	}
	if (seen["then"] || seen["else"]) && !seen["if"] { // without if, the compiler skips them
		parts = append(parts, `"if":{"minimum":1}`)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// outputSchema is an object with at least one keyword, as an output has to be.
func (m *maker) outputSchema() string {
	s := m.schema(3)
	if !strings.HasPrefix(s, "{") {
		s = "{}"
	}
	if rest := strings.TrimPrefix(s, "{"); !strings.Contains(s, `"description"`) {
		s = `{"description":"d"` + m.pick("", `,"$schema":"https://json-schema.org/draft/2020-12/schema"`)
		if rest != "}" {
			s += ","
		}
		s += rest
	}
	return s
}

// TestSchemasAgainstCompiler compares our check of schemas, which is built for speed, with an
// independent implementation that compiles them.
func TestSchemasAgainstCompiler(t *testing.T) {
	valid, invalid := 0, 0
	for seed := range uint64(2000) {
		text := newMaker(seed, 4+int(seed%40)).outputSchema()
		if compare(t, []byte(text)) {
			valid++
		} else {
			invalid++
		}
	}
	t.Logf("%d valid, %d invalid", valid, invalid)
	if valid < 400 || invalid < 400 {
		t.Errorf("%d valid and %d invalid schemas: too few of one sort to prove anything", valid, invalid)
	}
}

// The same for the schemas of the vectors, as far as they stand by themselves.
func TestSchemasOfVectorsAgainstCompiler(t *testing.T) {
	compared := 0
	for _, v := range manifest(t) {
		root, err := yaml.Read(readText(t, v.File), protocol.Limits{})
		if err != nil || slices.Contains(v.Codes, "AGIS809") { // which a compiler accepts
			continue
		}
		for _, endpoint := range root.Member("endpoints").Elements() {
			for _, name := range []string{"input", "output"} {
				block := endpoint.Member(name)
				if block == nil || block.Kind != protocol.Object {
					continue
				}
				text := protocol.WriteJSON(block, "")
				if strings.Contains(string(text), "#/schemas/") {
					continue
				}
				compare(t, text)
				compared++
			}
		}
	}
	if compared < 200 {
		t.Errorf("only %d schemas were compared", compared)
	}
}

func compare(t *testing.T, schema []byte) (valid bool) {
	t.Helper()
	err := compiles(schema)
	findings := judged(t, schema)
	if (err == nil) != (len(findings) == 0) {
		t.Errorf("%s\ncompiler: %v\nours: %+v", schema, err, findings)
	}
	return err == nil
}

func FuzzSchemasAgainstCompiler(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, wrong uint8) {
		compare(t, []byte(newMaker(seed, 1+int(wrong)).outputSchema()))
	})
}
