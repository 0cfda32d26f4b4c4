package altar

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// inputSchema holds the members of a tool's input schema that are read.
type inputSchema struct {
	Type       any                        `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Additional json.RawMessage            `json:"additionalProperties"`
}

func parseInputSchema(text json.RawMessage) (*inputSchema, error) {
	if _, err := ReadValue(text); err != nil {
		return nil, fmt.Errorf("not well formed: %w", err)
	}
	var s inputSchema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, errNoObject
	}
	if s.Type != nil && s.Type != Object {
		return nil, errNoObject
	}
	return &s, nil
}

func (s *inputSchema) allowsMember(name string) bool {
	if _, named := s.Properties[name]; named {
		return true
	}
	return s.Additional != nil && string(s.Additional) != "false"
}

// property holds the members of the schema of one value that are read.
type property struct {
	Ref             string                     `json:"$ref"`
	Type            any                        `json:"type"`
	Description     string                     `json:"description"`
	ContentEncoding string                     `json:"contentEncoding"`
	Items           json.RawMessage            `json:"items"`
	Properties      map[string]json.RawMessage `json:"properties"`
	Required        []string                   `json:"required"`
	Additional      json.RawMessage            `json:"additionalProperties"`
	Enum            []any                      `json:"enum"`
	Const           any                        `json:"const"`
}

// ParametersOf returns the parameters that a JSON Schema of an object describes, in the order of
// their names. It leaves out a property that the type system cannot express (several types, none,
// or a reference out of the document). Keep the schema as the contract's InputSchema, which still
// covers such a property.
func ParametersOf(schema json.RawMessage) ([]ParameterSchema, error) {
	s, err := parseInputSchema(schema)
	if err != nil {
		return nil, err
	}
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, err
	}
	c := schemaConverter{root: root, left: maxParameters}
	return c.convertProperties(s.Properties, s.Required, 0), nil
}

// schemaConverter converts the schemas of one document to parameters.
type schemaConverter struct {
	root any
	left int // schemas that may still be read, so that references in a circle end
}

func (c *schemaConverter) convertProperties(properties map[string]json.RawMessage, required []string, depth int) []ParameterSchema {
	var out []ParameterSchema
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p, ok := c.convertProperty(properties[name], depth)
		if !ok || name == "" || len(name) > maxParameterName {
			continue
		}
		p.Name, p.Required = name, slices.Contains(required, name)
		out = append(out, p)
	}
	return out
}

func (c *schemaConverter) convertProperty(text json.RawMessage, depth int) (ParameterSchema, bool) {
	var p property
	if c.left--; c.left < 0 || depth > maxNesting || json.Unmarshal(text, &p) != nil {
		return ParameterSchema{}, false // also true and false, which are schemas
	}
	if p.Ref != "" {
		target, found := resolveReference(c.root, p.Ref)
		if !found {
			return ParameterSchema{}, false
		}
		referred, ok := c.convertProperty(target, depth+1)
		if p.Description != "" {
			referred.Description = p.Description
		}
		return referred, ok
	}
	out := ParameterSchema{Description: p.Description}
	switch typeName(p) {
	case "string":
		out.Type = String
		if strings.EqualFold(p.ContentEncoding, "base64") {
			out.Type = Binary
		}
	case "integer":
		out.Type = Integer
	case "number":
		out.Type = Float
	case "boolean":
		out.Type = Boolean
	case "array":
		element, ok := c.convertProperty(p.Items, depth+1)
		if !ok {
			return ParameterSchema{}, false
		}
		out.Type, out.Properties = "array["+element.Type+"]", element.Properties
	case "object":
		out.Type = Object
		if open := p.Additional != nil && string(p.Additional) != "false"; p.Properties != nil && !open {
			if out.Properties = c.convertProperties(p.Properties, p.Required, depth+1); len(out.Properties) != len(p.Properties) {
				out.Properties = nil // some cannot be expressed: the JSON Schema alone checks them
			}
		}
	default:
		return ParameterSchema{}, false
	}
	return out, true
}

// typeName returns the single type other than null that a schema allows, "" if there is none.
func typeName(p property) string {
	switch t := p.Type.(type) {
	case string:
		return t
	case []any:
		one := ""
		for _, each := range t {
			name, ok := each.(string)
			if !ok || one != "" && name != "null" {
				return ""
			}
			if name != "null" {
				one = name
			}
		}
		return one
	}
	values := p.Enum
	if p.Const != nil {
		values = []any{p.Const}
	}
	for _, v := range values {
		if _, text := v.(string); !text {
			return ""
		}
	}
	if len(values) > 0 {
		return "string"
	}
	return ""
}

// resolveReference finds a reference within the document, such as "#/$defs/address".
func resolveReference(root any, ref string) (json.RawMessage, bool) {
	path, within := strings.CutPrefix(ref, "#/")
	if !within {
		return nil, false
	}
	at := root
	for _, part := range strings.Split(path, "/") {
		object, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]; !ok {
			return nil, false
		}
	}
	text, err := json.Marshal(at)
	return text, err == nil
}

// Schema returns the JSON Schema (2020-12) of the contract's input: the InputSchema as it is, or one
// made of the parameters.
func (c *Contract) Schema() json.RawMessage {
	if c.InputSchema != nil {
		return c.InputSchema
	}
	text, err := json.Marshal(objectSchema(c.Parameters))
	if err != nil {
		panic("a schema cannot be encoded: " + err.Error()) // it holds only texts and booleans
	}
	return text
}

// schemaNode is a JSON Schema as it is written.
type schemaNode struct {
	Type            string                 `json:"type"`
	Description     string                 `json:"description,omitempty"`
	ContentEncoding string                 `json:"contentEncoding,omitempty"`
	Items           *schemaNode            `json:"items,omitempty"`
	Properties      map[string]*schemaNode `json:"properties,omitempty"`
	Required        []string               `json:"required,omitempty"`
	Additional      *bool                  `json:"additionalProperties,omitempty"`
}

func objectSchema(parameters []ParameterSchema) *schemaNode {
	no := false
	node := &schemaNode{Type: Object, Additional: &no, Properties: map[string]*schemaNode{}}
	for _, p := range parameters {
		t, err := ParseType(p.Type)
		if err != nil {
			continue // Check has refused it
		}
		child := typeSchema(t, p.Properties)
		child.Description = p.Description
		node.Properties[p.Name] = child
		if p.Required {
			node.Required = append(node.Required, p.Name)
		}
	}
	return node
}

func typeSchema(t Type, properties []ParameterSchema) *schemaNode {
	if t.Arrays > 0 {
		return &schemaNode{Type: "array", Items: typeSchema(t.elementType(), properties)}
	}
	switch t.Base {
	case Float:
		return &schemaNode{Type: "number"}
	case Binary:
		return &schemaNode{Type: String, ContentEncoding: "base64"}
	case Object:
		if properties != nil {
			return objectSchema(properties)
		}
	}
	return &schemaNode{Type: t.Base}
}

// An MCPTool is a tool as the Model Context Protocol lists it (tools/list).
type MCPTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations *MCPAnnotations `json:"annotations,omitempty"`
}

// MCPAnnotations are the hints of MCP about what a tool does.
type MCPAnnotations struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
}

// MCP returns the contract as a tool of MCP.
func (c *Contract) MCP() MCPTool {
	t := MCPTool{Name: c.Name, Description: c.Description, InputSchema: withObjectType(c.Schema())}
	yes, no := true, false
	switch c.Effect {
	case Informational:
		t.Annotations = &MCPAnnotations{ReadOnly: &yes}
	case Reversible:
		t.Annotations = &MCPAnnotations{ReadOnly: &no, Destructive: &no}
	case Irreversible:
		t.Annotations = &MCPAnnotations{ReadOnly: &no, Destructive: &yes}
	}
	return t
}

// withObjectType adds the type, which MCP requires and JSON Schema does not.
func withObjectType(schema json.RawMessage) json.RawMessage {
	if s, err := parseInputSchema(schema); err != nil || s.Type != nil {
		return schema
	}
	members := strings.TrimLeft(strings.TrimSpace(string(schema))[1:], " \t\r\n")
	if members == "}" {
		return json.RawMessage(`{"type":"object"}`)
	}
	return json.RawMessage(`{"type":"object",` + members)
}

// ContractOf returns the contract of a tool of MCP. It keeps the tool's schema byte for byte beside the
// parameters.
func ContractOf(t MCPTool) (Contract, error) {
	parameters, err := ParametersOf(t.InputSchema)
	if err != nil {
		return Contract{}, fmt.Errorf("tool %s: %w", t.Name, err)
	}
	c := Contract{Name: t.Name, Description: t.Description, Parameters: parameters, InputSchema: t.InputSchema}
	if a := t.Annotations; a != nil {
		switch {
		case a.ReadOnly != nil && *a.ReadOnly:
			c.Effect = Informational
		case a.Destructive != nil && *a.Destructive:
			c.Effect = Irreversible
		case a.Destructive != nil:
			c.Effect = Reversible
		}
	}
	return c, c.Check()
}
