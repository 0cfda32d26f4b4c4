package call

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"gazetteer/document"
	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/mcp"
)

// propertyName is the form of names that callers of models take for parameters.
var propertyName = regexp.MustCompile(`^[A-Za-z0-9_.$@\[\]-]{1,64}$`)

// isPropertyName reports whether a parameter's name is of the safe alphabet, and is no sentence to
// a model.
func isPropertyName(name string) bool {
	return propertyName.MatchString(name) && dropInstructingID(name) != ""
}

// Keywords of JSON Schema by the kind of their values. All others are dropped, such as title,
// examples and $comment.
var (
	schemaKeywords    = []string{"items", "additionalItems", "additionalProperties", "contains", "not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties"}
	schemaLists       = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	schemaMaps        = []string{"properties", "$defs", "definitions", "dependentSchemas"}
	namesKeywords     = []string{"required", "dependentRequired"}
	constantKeywords  = []string{"enum", "const", "default"}
	constraintStrings = []string{"type", "format", "pattern", "$ref", "$schema", "contentEncoding", "contentMediaType"}
	constraintOthers  = []string{"type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems",
		"minProperties", "maxProperties", "minContains", "maxContains", "nullable", "deprecated", "readOnly", "writeOnly"}
)

const (
	// maxConstant is the longest text that a schema may allow as a value, in characters.
	maxConstant = 100
	// maxConstraint is the longest text of a constraint, such as a pattern.
	maxConstraint = 200
)

// restrictSchema returns the schema of a document in a form for models: structure, names of a safe
// alphabet, short values, and descriptions that are cut and quoted. The error says why a text
// cannot be handed on: it is no schema of an object, too long, or has other names or values.
func restrictSchema(text []byte) (json.RawMessage, error) {
	if len(text) > maxInput {
		return nil, fmt.Errorf("it is longer than %d bytes", maxInput)
	}
	root, err := protocol.ReadJSON(text, protocol.Limits{})
	if err != nil || root.Kind != protocol.Object {
		return nil, errors.New("it is not a JSON object")
	}
	if err := restrictNode(root, ""); err != nil {
		return nil, err
	}
	out := protocol.WriteJSON(root, "")
	return out, checkSchema(out)
}

// restrictNode restricts one schema in place. The error names the place that cannot be handed on.
func restrictNode(n *protocol.Node, path string) error {
	if n.Kind == protocol.Bool {
		return nil
	}
	if n.Kind != protocol.Object {
		return unsafeSchema(path, "is not a schema")
	}
	var first error
	check := func(ok bool, at, reason string) {
		if !ok && first == nil {
			first = unsafeSchema(at, reason)
		}
	}
	restrict := func(item *protocol.Node, at string) {
		if err := restrictNode(item, at); first == nil {
			first = err
		}
	}
	n.Items = slices.DeleteFunc(n.Items, func(m *protocol.Node) bool {
		at := path + "/" + m.Key
		switch {
		case m.Key == "description":
			if m.Kind == protocol.String {
				m.Text = quoteText(m.Text, maxParameterText)
			}
			return m.Kind != protocol.String || m.Text == ""
		case m.Kind == protocol.Array && slices.Contains(schemaLists, m.Key):
			for _, item := range m.Items {
				restrict(item, at)
			}
		case slices.Contains(schemaKeywords, m.Key):
			restrict(m, at)
		case slices.Contains(schemaMaps, m.Key):
			check(m.Kind == protocol.Object, at, "is not an object")
			for _, item := range m.Items {
				check(isPropertyName(item.Key), at, "has a name other than 1 to 64 of A-Z, a-z, 0-9 and _.$@[]-")
				restrict(item, at+"/"+item.Key)
			}
		case slices.Contains(namesKeywords, m.Key):
			check(areNames(m), at, "has a name other than 1 to 64 of A-Z, a-z, 0-9 and _.$@[]-")
		case slices.Contains(constantKeywords, m.Key):
			check(isConstant(m), at, "has a value that is too long or is addressed to a model")
		case m.Kind == protocol.String && slices.Contains(constraintStrings, m.Key):
			check(isShort(m.Text, maxConstraint), at, "is too long or is addressed to a model")
		case m.Kind == protocol.String || m.Kind == protocol.Object || !slices.Contains(constraintOthers, m.Key):
			return true
		default:
			check(isConstant(m), at, "has a value that is too long or is addressed to a model")
		}
		return false
	})
	return first
}

// unsafeSchema says where a schema cannot be handed on. The place is quoted: it has names of the
// document.
func unsafeSchema(path, reason string) error {
	return fmt.Errorf("%s %s", quoteText(cmp.Or(path, "/"), maxName), reason)
}

// areNames reports whether all texts of a node, and the keys in it, are names of properties.
func areNames(n *protocol.Node) bool {
	if n.Kind == protocol.String && !isPropertyName(n.Text) {
		return false
	}
	return !slices.ContainsFunc(n.Items, func(m *protocol.Node) bool {
		return n.Kind == protocol.Object && !isPropertyName(m.Key) || !areNames(m)
	})
}

// isConstant reports whether all texts of a value are short.
func isConstant(n *protocol.Node) bool {
	if n.Kind == protocol.String && !isShort(n.Text, maxConstant) {
		return false
	}
	return !slices.ContainsFunc(n.Items, func(m *protocol.Node) bool {
		return n.Kind == protocol.Object && !isPropertyName(m.Key) || !isConstant(m)
	})
}

// isShort reports whether a text is one line of at most so many characters that does not speak to a
// model.
func isShort(text string, most int) bool {
	return utf8.RuneCountInString(text) <= most && singleLine(text) == text && DropInstruction(text) == text
}

// checkSchema checks that a JSON text is a self-contained JSON Schema: callers refuse a whole list
// of tools because of one invalid schema, and would have to fetch external references.
func checkSchema(text []byte) error {
	const address = "urn:gazetteer:input"
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		c := jsonschema.NewCompiler()
		c.UseLoader(unloaded{})
		if err = c.AddResource(address, value); err == nil {
			_, err = c.Compile(address)
		}
	}
	if err != nil {
		return errors.New("it is no JSON Schema that stands for itself")
	}
	return nil
}

// unloaded loads no schema.
type unloaded struct{}

func (unloaded) Load(string) (any, error) { return nil, errors.New("schemas are not fetched") }

// InputSchemas returns the JSON Schemas of the inputs of an AGIS document, by the pointers of its
// endpoints. Each is self-contained: the definitions that it refers to are in its $defs. The result
// is nil for a document that cannot be read.
func InputSchemas(text []byte) map[string]json.RawMessage {
	converted, err := mcp.FromAGIS(text, conversion.Options{})
	if err != nil {
		return nil // the parameters have to do
	}
	var list struct {
		Tools []struct {
			Input json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	d, _, parseErr := agis.Parse(text, agis.Options{})
	if json.Unmarshal(converted.Text, &list) != nil || parseErr != nil || len(d.Endpoints) != len(list.Tools) {
		return nil
	}
	schemas := map[string]json.RawMessage{}
	for i, e := range d.Endpoints {
		var b bytes.Buffer
		if json.Compact(&b, list.Tools[i].Input) == nil {
			schemas[e.Pointer] = b.Bytes()
		}
	}
	return schemas
}

// withPathParameters adds the parameters to a schema that only the path of an operation names. A schema
// that has them all is returned as it is.
func withPathParameters(schema json.RawMessage, o document.Operation) json.RawMessage {
	var members, properties map[string]json.RawMessage
	var required []string
	if json.Unmarshal(schema, &members) != nil {
		return schema
	}
	if text := members["properties"]; text != nil && json.Unmarshal(text, &properties) != nil || members["required"] != nil && json.Unmarshal(members["required"], &required) != nil {
		return schema // checkSchema has refused it
	}
	changed := false
	for _, p := range o.Parameters {
		if _, there := properties[p.Name]; p.In != "path" || there || !isPropertyName(p.Name) {
			continue
		}
		if properties == nil {
			properties = map[string]json.RawMessage{}
		}
		properties[p.Name] = json.RawMessage("{}")
		if !slices.Contains(required, p.Name) {
			required = append(required, p.Name)
		}
		changed = true
	}
	if !changed {
		return schema
	}
	var err error
	for name, value := range map[string]any{"properties": properties, "required": required} {
		if members[name], err = json.Marshal(value); err != nil {
			return schema
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		return schema
	}
	return text
}
