package notation

import (
	"regexp"
	"slices"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
	"gazetteer/protocol/wording"
)

// A contractBuilder builds the blocks of one endpoint.
type contractBuilder struct {
	*treeBuilder
	method, path string
	why          string // why a block is missing
}

// pathNoun returns the last word of the path that is not a parameter.
func (c *contractBuilder) pathNoun() string {
	segments := strings.Split(c.path, "/")
	for _, s := range slices.Backward(segments) {
		if name := wording.SnakeCase(s, 40); name != "" && !strings.ContainsAny(s, "{}") {
			return name
		}
	}
	return "request"
}

// buildSemantic builds the semantic block with its three required texts.
func (c *contractBuilder) buildSemantic(item entry, there bool) (*protocol.Node, error) {
	n := tree.Object()
	if there && item.value != nil {
		var err error
		if n, err = c.buildValue(item.value); err != nil {
			return nil, err
		}
		if n.Kind != protocol.Object {
			return nil, c.errorAt(item.offset, "semantic has no names with values, such as actor: agent")
		}
	}
	verb, noun := strings.ToLower(c.method), strings.ReplaceAll(c.pathNoun(), "_", " ")
	for _, field := range []struct{ name, text string }{
		{"intent", wording.Capitalize(wording.ThirdPerson(verb)) + " " + wording.WithArticle(noun) + " on behalf of the requesting agent"},
		{"actor", "agent"},
		{"outcome", "The answer has the result for the " + noun},
	} {
		if n.Member(field.name) == nil {
			c.Add(tree.Put(n, field.name, tree.String(field.text)), field.name+" is a guess: "+c.why)
		}
	}
	return n, nil
}

// buildInput builds the JSON Schema of the parameters.
func (c *contractBuilder) buildInput(item entry, there bool) (*protocol.Node, error) {
	n := tree.Object("type", "object")
	s := schemaBuilder{contractBuilder: c, schema: n, properties: tree.Object()}
	if there && item.value != nil {
		if err := s.addEntries(item.value, true); err != nil {
			return nil, err
		}
	} else {
		c.Add(n, "the parameters are not known: "+c.why)
	}
	for segment := range strings.SplitSeq(c.path, "/") {
		name := strings.TrimSuffix(strings.TrimPrefix(segment, "{"), "}")
		if len(name)+2 != len(segment) || name == "" {
			continue
		}
		if s.properties.Member(name) == nil {
			p := tree.Object("type", "string")
			c.Add(tree.Put(s.properties, name, p), "the path has this parameter, the input did not; its type is a guess")
		}
		s.addRequired(name)
	}
	s.writeProperties()
	return n, nil
}

// buildOutput builds the JSON Schema of the answer.
func (c *contractBuilder) buildOutput(item entry, there bool) (*protocol.Node, error) {
	n := tree.Object("type", "object")
	s := schemaBuilder{contractBuilder: c, schema: n, properties: tree.Object()}
	if !there || item.value == nil {
		c.Add(n, "the answer is not known: "+c.why)
		return n, nil
	}
	if err := s.addEntries(item.value, false); err != nil {
		return nil, err
	}
	s.writeProperties()
	return n, nil
}

// buildErrors builds the list of error conditions.
func (c *contractBuilder) buildErrors(item entry, there bool) (*protocol.Node, error) {
	n := tree.Array()
	if there && item.value != nil {
		for _, e := range item.value.items {
			if err := c.addErrorCondition(n, e); err != nil {
				return nil, err
			}
		}
	}
	if len(n.Items) == 0 {
		guess := tree.String(c.pathNoun() + "_unavailable")
		n.Items = append(n.Items, guess)
		c.Add(guess, "the name of the error is a guess: "+c.why)
	}
	return n, nil
}

// addErrorCondition adds an error written as name, name (description) or name: description.
func (c *contractBuilder) addErrorCondition(list *protocol.Node, e entry) error {
	description := e.annotation
	switch {
	case e.omitted:
		return nil
	case e.path != "" || e.name == "" && e.value == nil:
		return c.errorAt(e.offset, "errors contains something other than names")
	case e.name == "" && e.value.kind == blockValue: // - name: …
		n, err := c.buildValue(e.value)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, n)
		return nil
	case e.value != nil && e.value.kind == textValue:
		description = e.value.text
	case e.value != nil && e.value.kind != emptyValue:
		return c.errorAt(e.offset, "the error %s is followed by something else than a description", protocol.Quote(e.name))
	}
	if description == "" {
		list.Items = append(list.Items, tree.String(e.name))
		return nil
	}
	n := tree.Object("name", e.name, "description", description)
	list.Items = append(list.Items, n)
	return nil
}

// schemaBuilder collects the properties of one schema.
type schemaBuilder struct {
	*contractBuilder
	schema     *protocol.Node // without required and properties
	properties *protocol.Node
	names      []string // required
}

func (s *schemaBuilder) addRequired(name string) {
	if !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
}

// writeProperties adds the collected properties and required names to the schema.
func (s *schemaBuilder) writeProperties() {
	if len(s.names) > 0 {
		tree.Put(s.schema, "required", tree.Strings(s.names...))
	}
	if len(s.properties.Items) > 0 {
		tree.Put(s.schema, "properties", s.properties)
	}
}

// schemaKeywords are the JSON Schema keywords that keep their meaning beside field names.
var schemaKeywords = []string{"$ref", "title", "description", "additionalProperties", "allOf", "anyOf", "oneOf", "examples",
	"minProperties", "maxProperties", "dependentRequired"}

// addEntries adds a block of parameters or of answer fields.
func (s *schemaBuilder) addEntries(v *entryValue, input bool) error {
	if v.kind == textValue {
		s.Add(s.schema, "the notation says only "+protocol.Quote(v.text))
		return nil
	}
	// A block with type and properties is already JSON Schema.
	whole := slices.ContainsFunc(v.items, func(i entry) bool {
		return i.name == "properties" && i.value != nil && i.value.kind == blockValue
	})
	for _, item := range v.items {
		if err := s.addEntry(item, input, whole); err != nil {
			return err
		}
	}
	return nil
}

func (s *schemaBuilder) addEntry(item entry, input, whole bool) error {
	switch {
	case item.omitted:
		s.Add(s.schema, `the notation left parts out with "..."`)
	case item.path != "":
		return s.errorAt(item.offset, "there is an endpoint inside a schema")
	case item.name == "" && item.value == nil:
		return s.errorAt(item.offset, "a field has no name")
	case item.name == "": // - name: …
		if item.value.kind != blockValue {
			return s.errorAt(item.offset, "there is a list where the name of a field is expected")
		}
		return s.addEntries(item.value, input)
	case (item.name == "required" || item.name == "optional") && item.value != nil && isListOfNames(item.value):
		for _, field := range item.value.items {
			if field.name == "" && !field.omitted {
				return s.errorAt(field.offset, "%s lists something else than names", item.name)
			}
			if err := s.addField(field, item.name == "required"); err != nil {
				return err
			}
		}
	case item.name == "type" && item.value != nil && item.value.text == "object":
		// said already
	case item.name == "properties" && whole:
		for _, field := range item.value.items {
			if err := s.addField(field, false); err != nil {
				return err
			}
		}
	case item.value != nil && (whole || slices.Contains(schemaKeywords, item.name) || strings.HasPrefix(item.name, "$")):
		return s.addMember(s.schema, item)
	default:
		if err := s.addField(item, input && item.value == nil); err != nil {
			return err
		}
		if input && item.value == nil {
			s.Add(s.properties.Member(item.name), "the notation does not say whether this is required")
		}
	}
	return nil
}

// isListOfNames reports whether a value is a list of names.
func isListOfNames(v *entryValue) bool {
	if v.kind == listValue {
		return true
	}
	_, ok := bareNames(v.items)
	return ok || v.kind == emptyValue
}

// addField adds one property. A name that is listed again under required or optional is the same
// property.
func (s *schemaBuilder) addField(item entry, required bool) error {
	if item.omitted {
		s.Add(s.schema, `the notation left parts out with "..."`)
		return nil
	}
	name, words := item.name, ""
	if first, rest, ok := strings.Cut(item.name, " "); ok && !item.quoted {
		name, words = first, rest // "reservation_id string"
	}
	if required {
		s.addRequired(name)
	}
	if s.properties.Member(name) != nil {
		return nil
	}
	if item.value != nil && item.value.kind == blockValue && !hasOnlyNames(item.value) {
		n, err := s.buildNested(item.value)
		if err != nil {
			return err
		}
		tree.Put(s.properties, name, n)
		return nil
	}
	note := strings.Trim(words+", "+item.annotation, ", ")
	n := tree.Object()
	tree.Put(s.properties, name, n)
	s.setFieldType(n, name, note, item.value)
	return nil
}

func hasOnlyNames(v *entryValue) bool {
	_, ok := bareNames(v.items)
	return ok
}

// buildNested builds the schema of a nested block: the block itself if it has type or $ref, else an
// object with its fields.
func (s *schemaBuilder) buildNested(v *entryValue) (*protocol.Node, error) {
	for _, item := range v.items {
		if (item.name == "type" || item.name == "$ref" || item.name == "enum") && item.value != nil && item.value.kind != blockValue {
			return s.buildValue(v)
		}
	}
	n := tree.Object("type", "object")
	inner := schemaBuilder{contractBuilder: s.contractBuilder, schema: n, properties: tree.Object()}
	if err := inner.addEntries(v, false); err != nil {
		return nil, err
	}
	inner.writeProperties()
	return n, nil
}

// setFieldType sets the type of a property: from the annotation after its name, from its value, or
// from the name.
func (s *schemaBuilder) setFieldType(n *protocol.Node, name, note string, v *entryValue) {
	if v != nil && v.kind != emptyValue {
		switch v.kind {
		case textValue:
			note = strings.Trim(note+", "+v.text, ", ")
		case listValue:
			s.setArrayType(n, v.items)
			return
		case blockValue: // names only
			names, _ := bareNames(v.items)
			tree.Put(n, "type", tree.String("object"))
			properties := tree.Object()
			for _, field := range names {
				if properties.Member(field) == nil {
					s.setFieldType(tree.Put(properties, field, tree.Object()), field, "", nil)
				}
			}
			tree.Put(n, "properties", properties)
			return
		}
	}
	if note == "" {
		s.guessFieldType(n, name)
		return
	}
	s.applyNote(n, name, note)
}

// setArrayType sets the type of [array], [array of restaurant objects] or [string].
func (s *schemaBuilder) setArrayType(n *protocol.Node, items []entry) {
	tree.Put(n, "type", tree.String("array"))
	if len(items) != 1 || items[0].value != nil {
		s.Add(n, "the notation does not give the element type of the array")
		return
	}
	s.setItemsType(n, strings.TrimPrefix(strings.TrimPrefix(items[0].name, "array"), " of "))
}

// setItemsType sets the type of array elements from words such as "restaurant objects".
func (s *schemaBuilder) setItemsType(n *protocol.Node, words string) {
	fields := strings.Fields(strings.TrimPrefix(words, "of "))
	if len(fields) > 0 {
		last := strings.ToLower(fields[len(fields)-1])
		for _, word := range []string{last, wording.SingularOf(last)} {
			if t, ok := conversion.NamedTypes[word]; ok {
				items := tree.Put(n, "items", tree.Object())
				t.ApplyTo(items)
				if t.Type == "object" {
					what := strings.Join(append(fields[:len(fields)-1:len(fields)-1], word), " ")
					s.Add(items, "the notation does not give the element type of "+wording.WithArticle(what)+" holds")
				}
				return
			}
		}
		if len(fields) > 0 && words != "array" {
			items := tree.Put(n, "items", tree.Object("type", "object"))
			s.Add(items, "that "+protocol.Quote(words)+" are objects is a guess")
			return
		}
	}
	s.Add(n, "the notation does not give the element type of the array")
}

var iso8601 = regexp.MustCompile(`(?i)\AISO[ -]?8601\z|\ARFC[ -]?3339\z`)

// applyNote applies an annotation such as "integer, minimum: 1, maximum: 20".
func (s *schemaBuilder) applyNote(n *protocol.Node, name, note string) {
	var rest []string
	for _, part := range splitAtCommas(note) {
		word := strings.ToLower(part)
		keyword, value, colon := strings.Cut(part, ":")
		switch t, known := conversion.NamedTypes[word]; {
		case known:
			t.ApplyTo(n)
		case strings.HasPrefix(word, "array of ") || strings.HasPrefix(word, "list of "):
			if n.Member("type") == nil {
				tree.Put(n, "type", tree.String("array"))
				s.setItemsType(n, part[strings.Index(part, " of ")+len(" of "):])
			}
		case iso8601.MatchString(part):
			if n.Member("format") == nil {
				conversion.NamedType{Type: "string", Format: "date-time"}.ApplyTo(n)
				s.Add(n, "that "+part+" means date and time is a guess")
			}
		case colon && s.setKeyword(n, strings.TrimSpace(keyword), strings.TrimSpace(value)):
		case word == "required" || word == "optional":
			if word == "required" {
				s.addRequired(name)
			}
		default:
			rest = append(rest, part)
		}
	}
	if len(rest) > 0 && n.Member("description") == nil {
		tree.Put(n, "description", tree.String(strings.Join(rest, ", ")))
	}
	if n.Member("type") == nil {
		s.guessFieldType(n, name)
	}
}

// The keywords that an annotation may set, by the kind of their values.
var (
	numberKeywords = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
	countKeywords  = []string{"minLength", "maxLength", "minItems", "maxItems"}
	shortKeywords  = map[string]string{"min": "minimum", "max": "maximum"}
	wholeNumber    = regexp.MustCompile(`\A(?:0|[1-9][0-9]{0,8})\z`)
)

// setKeyword sets one keyword of JSON Schema and reports whether it did.
func (s *schemaBuilder) setKeyword(n *protocol.Node, keyword, value string) bool {
	if long, ok := shortKeywords[keyword]; ok {
		keyword = long
	}
	if n.Member(keyword) != nil {
		return false
	}
	text := strings.Trim(value, `"'`)
	switch {
	case slices.Contains(numberKeywords, keyword) && plainNumber.MatchString(value) && keyword != "multipleOf":
		tree.Put(n, keyword, tree.Number(value))
	case slices.Contains(countKeywords, keyword) && wholeNumber.MatchString(value):
		tree.Put(n, keyword, tree.Number(value))
	case keyword == "enum" && strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]"):
		list := tree.Array()
		for _, v := range splitAtCommas(value[1 : len(value)-1]) {
			list.Items = append(list.Items, scalarNode(strings.Trim(v, `"'`), v[0] == '"' || v[0] == '\''))
		}
		if len(list.Items) == 0 {
			return false
		}
		tree.Put(n, "enum", list)
	case keyword == "format" || keyword == "pattern" || keyword == "description":
		if text == "" {
			return false
		}
		tree.Put(n, keyword, tree.String(text))
	case keyword == "default":
		tree.Put(n, keyword, scalarNode(text, text != value))
	case keyword == "type":
		t, ok := conversion.NamedTypes[strings.ToLower(text)]
		if ok {
			t.ApplyTo(n)
		}
		return ok
	default:
		return false
	}
	return true
}

// splitAtCommas splits a text at commas outside of brackets.
func splitAtCommas(s string) []string {
	var out []string
	open, begin := 0, 0
	addPart := func(end int) {
		if part := strings.TrimSpace(s[begin:end]); part != "" {
			out = append(out, part)
		}
		begin = end + 1
	}
	for i := range len(s) {
		switch s[i] {
		case '[', '(', '{':
			open++
		case ']', ')', '}':
			open--
		case ',':
			if open == 0 {
				addPart(i)
			}
		}
	}
	if begin < len(s) {
		addPart(len(s))
	}
	return out
}

// guessFieldType sets the type that a property name suggests, with a review.
func (s *schemaBuilder) guessFieldType(n *protocol.Node, name string) {
	conversion.GuessType(n, name)
	s.Add(n, "the type is guessed from the name")
}
