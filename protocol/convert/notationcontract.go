package convert

import (
	"regexp"
	"slices"
	"strings"

	"gazetteer/protocol"
)

// A contract builds the blocks of one endpoint from the notation.
type contract struct {
	*notationReader
	method, path string
	why          string // why a block is not there
}

// noun returns the last word of the path that is no parameter.
func (c *contract) noun() string {
	segments := strings.Split(c.path, "/")
	for _, s := range slices.Backward(segments) {
		if name := snake(s, 40); name != "" && !strings.ContainsAny(s, "{}") {
			return name
		}
	}
	return "request"
}

// semantic builds the semantic block, with the three texts that must be there.
func (c *contract) semantic(item notationItem, there bool) (*protocol.Node, error) {
	n := newObject()
	if there && item.value != nil {
		var err error
		if n, err = c.value(item.value); err != nil {
			return nil, err
		}
		if n.Kind != protocol.Object {
			return nil, c.fail(item.offset, "semantic holds no names with values, such as actor: agent")
		}
	}
	verb, noun := strings.ToLower(c.method), strings.ReplaceAll(c.noun(), "_", " ")
	for _, field := range []struct{ name, text string }{
		{"intent", capital(thirdPerson(verb)) + " " + withArticle(noun) + " on behalf of the requesting agent"},
		{"actor", "agent"},
		{"outcome", "The answer tells the result for the " + noun},
	} {
		if n.Member(field.name) == nil {
			c.add(put(n, field.name, strNode(field.text)), field.name+" is a guess: "+c.why)
		}
	}
	return n, nil
}

// input builds the JSON Schema of the parameters.
func (c *contract) input(item notationItem, there bool) (*protocol.Node, error) {
	n := newObject()
	put(n, "type", strNode("object"))
	s := schemaBuilder{contract: c, schema: n, properties: newObject()}
	if there && item.value != nil {
		if err := s.entries(item.value, true); err != nil {
			return nil, err
		}
	} else {
		c.add(n, "the parameters are not known: "+c.why)
	}
	for _, segment := range strings.Split(c.path, "/") {
		name := strings.TrimSuffix(strings.TrimPrefix(segment, "{"), "}")
		if len(name)+2 != len(segment) || name == "" {
			continue
		}
		if s.properties.Member(name) == nil {
			p := newObject()
			put(p, "type", strNode("string"))
			c.add(put(s.properties, name, p), "the path has this parameter, the input did not; its type is a guess")
		}
		s.required(name)
	}
	s.finish()
	return n, nil
}

// output builds the JSON Schema of the answer.
func (c *contract) output(item notationItem, there bool) (*protocol.Node, error) {
	n := newObject()
	put(n, "type", strNode("object"))
	s := schemaBuilder{contract: c, schema: n, properties: newObject()}
	if !there || item.value == nil {
		c.add(n, "the answer is not known: "+c.why)
		return n, nil
	}
	if err := s.entries(item.value, false); err != nil {
		return nil, err
	}
	s.finish()
	return n, nil
}

// errors builds the list of error conditions.
func (c *contract) errors(item notationItem, there bool) (*protocol.Node, error) {
	n := newArray()
	if there && item.value != nil {
		for _, e := range item.value.items {
			if err := c.errorCondition(n, e); err != nil {
				return nil, err
			}
		}
	}
	if len(n.Items) == 0 {
		guess := strNode(c.noun() + "_unavailable")
		n.Items = append(n.Items, guess)
		c.add(guess, "the name of what can go wrong is a guess: "+c.why)
	}
	return n, nil
}

// errorCondition reads name, name (description) or name: description.
func (c *contract) errorCondition(list *protocol.Node, e notationItem) error {
	description := e.note
	switch {
	case e.elided:
		return nil
	case e.path != "" || e.name == "" && e.value == nil:
		return c.fail(e.offset, "errors holds something else than names")
	case e.name == "" && e.value.kind == notationBlock: // - name: …
		n, err := c.value(e.value)
		if err != nil {
			return err
		}
		list.Items = append(list.Items, n)
		return nil
	case e.value != nil && e.value.kind == notationText:
		description = e.value.text
	case e.value != nil && e.value.kind != notationNothing:
		return c.fail(e.offset, "the error %s is followed by something else than a description", protocol.Quote(e.name))
	}
	if description == "" {
		list.Items = append(list.Items, strNode(e.name))
		return nil
	}
	n := newObject()
	put(n, "name", strNode(e.name))
	put(n, "description", strNode(description))
	list.Items = append(list.Items, n)
	return nil
}

// schemaBuilder collects the properties of one schema.
type schemaBuilder struct {
	*contract
	schema     *protocol.Node // without required and properties
	properties *protocol.Node
	names      []string // required
}

func (s *schemaBuilder) required(name string) {
	if !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
}

// finish puts the collected names into the schema.
func (s *schemaBuilder) finish() {
	if len(s.names) > 0 {
		put(s.schema, "required", strList(s.names...))
	}
	if len(s.properties.Items) > 0 {
		put(s.schema, "properties", s.properties)
	}
}

// schemaKeywords are the words of JSON Schema that may stand in a block beside
// the names of the notation, and keep their meaning.
var schemaKeywords = []string{"$ref", "title", "description", "additionalProperties", "allOf", "anyOf", "oneOf", "examples",
	"minProperties", "maxProperties", "dependentRequired"}

// entries reads a block of parameters or of answer fields.
func (s *schemaBuilder) entries(v *notationValue, input bool) error {
	if v.kind == notationText {
		s.add(s.schema, "the notation says only "+protocol.Quote(v.text))
		return nil
	}
	// A block that says type and properties is JSON Schema already.
	whole := slices.ContainsFunc(v.items, func(i notationItem) bool {
		return i.name == "properties" && i.value != nil && i.value.kind == notationBlock
	})
	for _, item := range v.items {
		if err := s.entry(item, input, whole); err != nil {
			return err
		}
	}
	return nil
}

func (s *schemaBuilder) entry(item notationItem, input, whole bool) error {
	switch {
	case item.elided:
		s.add(s.schema, `the notation left parts out with "..."`)
	case item.path != "":
		return s.fail(item.offset, "an endpoint stands inside a schema")
	case item.name == "" && item.value == nil:
		return s.fail(item.offset, "a field has no name")
	case item.name == "": // - name: …
		if item.value.kind != notationBlock {
			return s.fail(item.offset, "a list stands where the name of a field is expected")
		}
		return s.entries(item.value, input)
	case (item.name == "required" || item.name == "optional") && item.value != nil && listed(item.value):
		for _, field := range item.value.items {
			if field.name == "" && !field.elided {
				return s.fail(field.offset, "%s lists something else than names", item.name)
			}
			if err := s.field(field, item.name == "required"); err != nil {
				return err
			}
		}
	case item.name == "type" && item.value != nil && item.value.text == "object":
		// said already
	case item.name == "properties" && whole:
		for _, field := range item.value.items {
			if err := s.field(field, false); err != nil {
				return err
			}
		}
	case item.value != nil && (whole || slices.Contains(schemaKeywords, item.name) || strings.HasPrefix(item.name, "$")):
		return s.member(s.schema, item)
	default:
		if err := s.field(item, input && item.value == nil); err != nil {
			return err
		}
		if input && item.value == nil {
			s.add(s.properties.Member(item.name), "the notation does not say whether this is required")
		}
	}
	return nil
}

// listed reports whether a value is a list of names.
func listed(v *notationValue) bool {
	if v.kind == notationList {
		return true
	}
	_, ok := bareNames(v.items)
	return ok || v.kind == notationNothing
}

// field adds one property. A name that required or optional repeats is one
// property.
func (s *schemaBuilder) field(item notationItem, required bool) error {
	if item.elided {
		s.add(s.schema, `the notation left parts out with "..."`)
		return nil
	}
	name, words := item.name, ""
	if first, rest, ok := strings.Cut(item.name, " "); ok && !item.quoted {
		name, words = first, rest // "reservation_id string"
	}
	if required {
		s.required(name)
	}
	if s.properties.Member(name) != nil {
		return nil
	}
	if item.value != nil && item.value.kind == notationBlock && !isNameList(item.value) {
		n, err := s.nested(item.value)
		if err != nil {
			return err
		}
		put(s.properties, name, n)
		return nil
	}
	note := strings.Trim(words+", "+item.note, ", ")
	n := newObject()
	put(s.properties, name, n)
	s.describe(n, name, note, item.value)
	return nil
}

func isNameList(v *notationValue) bool {
	_, ok := bareNames(v.items)
	return ok
}

// nested reads a block below a field: a JSON Schema when it has a word type or
// $ref, else the fields of an object.
func (s *schemaBuilder) nested(v *notationValue) (*protocol.Node, error) {
	for _, item := range v.items {
		if (item.name == "type" || item.name == "$ref" || item.name == "enum") && item.value != nil && item.value.kind != notationBlock {
			return s.value(v)
		}
	}
	n := newObject()
	put(n, "type", strNode("object"))
	inner := schemaBuilder{contract: s.contract, schema: n, properties: newObject()}
	if err := inner.entries(v, false); err != nil {
		return nil, err
	}
	inner.finish()
	return n, nil
}

// describe gives a property its type: from the note behind its name, from its
// value, or from the name itself.
func (s *schemaBuilder) describe(n *protocol.Node, name, note string, v *notationValue) {
	if v != nil && v.kind != notationNothing {
		switch v.kind {
		case notationText:
			note = strings.Trim(note+", "+v.text, ", ")
		case notationList:
			s.array(n, v.items)
			return
		case notationBlock: // names only
			names, _ := bareNames(v.items)
			put(n, "type", strNode("object"))
			properties := newObject()
			for _, field := range names {
				if properties.Member(field) == nil {
					s.describe(put(properties, field, newObject()), field, "", nil)
				}
			}
			put(n, "properties", properties)
			return
		}
	}
	if note == "" {
		s.guess(n, name)
		return
	}
	s.noted(n, name, note)
}

// array reads [array], [array of restaurant objects], [string].
func (s *schemaBuilder) array(n *protocol.Node, items []notationItem) {
	put(n, "type", strNode("array"))
	if len(items) != 1 || items[0].value != nil {
		s.add(n, "the notation does not say what the array holds")
		return
	}
	s.holds(n, strings.TrimPrefix(strings.TrimPrefix(items[0].name, "array"), " of "))
}

// holds says what the elements of an array are, from words such as "restaurant
// objects".
func (s *schemaBuilder) holds(n *protocol.Node, words string) {
	fields := strings.Fields(strings.TrimPrefix(words, "of "))
	if len(fields) > 0 {
		last := strings.ToLower(fields[len(fields)-1])
		for _, word := range []string{last, singular(last)} {
			if t, ok := typeWords[word]; ok {
				items := put(n, "items", newObject())
				t.put(items)
				if t.typ == "object" {
					what := strings.Join(append(fields[:len(fields)-1:len(fields)-1], word), " ")
					s.add(items, "the notation does not say what "+withArticle(what)+" holds")
				}
				return
			}
		}
		if len(fields) > 0 && words != "array" {
			items := put(n, "items", newObject())
			put(items, "type", strNode("object"))
			s.add(items, "that "+protocol.Quote(words)+" are objects is a guess")
			return
		}
	}
	s.add(n, "the notation does not say what the array holds")
}

// A wordType is what a word of the notation means in JSON Schema.
type wordType struct {
	typ, format string
}

func (t wordType) put(n *protocol.Node) {
	if t.typ != "" && n.Member("type") == nil {
		put(n, "type", strNode(t.typ))
	}
	if t.format != "" && n.Member("format") == nil {
		put(n, "format", strNode(t.format))
	}
}

// typeWords are the words that people write for types.
var typeWords = map[string]wordType{
	"string": {"string", ""}, "str": {"string", ""}, "text": {"string", ""}, "varchar": {"string", ""}, "char": {"string", ""},
	"int": {"integer", ""}, "integer": {"integer", ""}, "int32": {"integer", ""}, "int64": {"integer", ""}, "long": {"integer", ""},
	"number": {"number", ""}, "float": {"number", ""}, "double": {"number", ""}, "decimal": {"number", ""},
	"bool": {"boolean", ""}, "boolean": {"boolean", ""}, "flag": {"boolean", ""},
	"array": {"array", ""}, "list": {"array", ""}, "object": {"object", ""}, "map": {"object", ""}, "dict": {"object", ""}, "json": {"object", ""},
	"null": {"null", ""},
	"date": {"string", "date"}, "time": {"string", "time"}, "datetime": {"string", "date-time"}, "date-time": {"string", "date-time"},
	"timestamp": {"string", "date-time"}, "duration": {"string", "duration"},
	"uuid": {"string", "uuid"}, "email": {"string", "email"}, "uri": {"string", "uri"}, "url": {"string", "uri"},
	"hostname": {"string", "hostname"}, "ipv4": {"string", "ipv4"}, "ipv6": {"string", "ipv6"},
}

var iso8601 = regexp.MustCompile(`(?i)\AISO[ -]?8601\z|\ARFC[ -]?3339\z`)

// noted reads a note such as "integer, minimum: 1, maximum: 20".
func (s *schemaBuilder) noted(n *protocol.Node, name, note string) {
	var rest []string
	for _, part := range splitOutside(note) {
		word := strings.ToLower(part)
		keyword, value, colon := strings.Cut(part, ":")
		switch t, known := typeWords[word]; {
		case known:
			t.put(n)
		case strings.HasPrefix(word, "array of ") || strings.HasPrefix(word, "list of "):
			if n.Member("type") == nil {
				put(n, "type", strNode("array"))
				s.holds(n, part[strings.Index(part, " of ")+len(" of "):])
			}
		case iso8601.MatchString(part):
			if n.Member("format") == nil {
				wordType{"string", "date-time"}.put(n)
				s.add(n, "that "+part+" means date and time is a guess")
			}
		case colon && s.keyword(n, strings.TrimSpace(keyword), strings.TrimSpace(value)):
		case word == "required" || word == "optional":
			if word == "required" {
				s.required(name)
			}
		default:
			rest = append(rest, part)
		}
	}
	if len(rest) > 0 && n.Member("description") == nil {
		put(n, "description", strNode(strings.Join(rest, ", ")))
	}
	if n.Member("type") == nil {
		s.guess(n, name)
	}
}

// The keywords that a note may set, by the kind of their values.
var (
	numberKeywords = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
	countKeywords  = []string{"minLength", "maxLength", "minItems", "maxItems"}
	shortKeywords  = map[string]string{"min": "minimum", "max": "maximum"}
	wholeNumber    = regexp.MustCompile(`\A(?:0|[1-9][0-9]{0,8})\z`)
)

// keyword sets one keyword of JSON Schema, and reports whether it could.
func (s *schemaBuilder) keyword(n *protocol.Node, keyword, value string) bool {
	if long, ok := shortKeywords[keyword]; ok {
		keyword = long
	}
	if n.Member(keyword) != nil {
		return false
	}
	text := strings.Trim(value, `"'`)
	switch {
	case slices.Contains(numberKeywords, keyword) && notationNumber.MatchString(value) && keyword != "multipleOf":
		put(n, keyword, numNode(value))
	case slices.Contains(countKeywords, keyword) && wholeNumber.MatchString(value):
		put(n, keyword, numNode(value))
	case keyword == "enum" && strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]"):
		list := newArray()
		for _, v := range splitOutside(value[1 : len(value)-1]) {
			list.Items = append(list.Items, scalarNode(strings.Trim(v, `"'`), v[0] == '"' || v[0] == '\''))
		}
		if len(list.Items) == 0 {
			return false
		}
		put(n, "enum", list)
	case keyword == "format" || keyword == "pattern" || keyword == "description":
		if text == "" {
			return false
		}
		put(n, keyword, strNode(text))
	case keyword == "default":
		put(n, keyword, scalarNode(text, text != value))
	case keyword == "type":
		t, ok := typeWords[strings.ToLower(text)]
		if ok {
			t.put(n)
		}
		return ok
	default:
		return false
	}
	return true
}

// splitOutside splits at the commas that stand outside of brackets.
func splitOutside(s string) []string {
	var out []string
	open, begin := 0, 0
	take := func(end int) {
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
				take(i)
			}
		}
	}
	if begin < len(s) {
		take(len(s))
	}
	return out
}

// Words that names of fields end in, by the type they suggest.
var (
	integerNames = []string{"count", "size", "quantity", "qty", "limit", "offset", "page", "number", "total", "age", "minutes",
		"seconds", "hours", "days", "guests", "seats", "year", "priority", "rank", "version"}
	decimalNames = []string{"amount", "price", "cost", "rate", "balance", "latitude", "longitude", "lat", "lon", "lng", "score",
		"percentage", "percent", "ratio", "distance", "weight", "temperature", "fee"}
	booleanFirst = []string{"is", "has", "include", "allow", "enable", "can", "should"}
	booleanNames = []string{"enabled", "active", "confirmed", "available", "success", "verified"}
	dateNames    = []string{"date", "birthday"}
	momentNames  = []string{"datetime", "timestamp", "at", "time"}
)

// guess gives a property the type that its name suggests.
func (s *schemaBuilder) guess(n *protocol.Node, name string) {
	guessType(n, name)
	s.add(n, "the type is guessed from the name")
}

// guessType puts the type that a name suggests.
func guessType(n *protocol.Node, name string) {
	words := identifierWords(name)
	first, last := "", ""
	if len(words) > 0 {
		first, last = words[0], words[len(words)-1]
	}
	t := wordType{typ: "string"}
	switch {
	case len(words) > 1 && slices.Contains(booleanFirst, first) || slices.Contains(booleanNames, last):
		t.typ = "boolean"
	case slices.Contains(integerNames, last):
		t.typ = "integer"
	case slices.Contains(decimalNames, last):
		t.typ = "number"
	case slices.Contains(dateNames, last):
		t.format = "date"
	case slices.Contains(momentNames, last) && (last != "at" || len(words) > 1):
		t.format = "date-time"
	case last == "email":
		t.format = "email"
	case last == "url" || last == "uri":
		t.format = "uri"
	}
	if t.typ == "string" && t.format == "" && (last == "ids" || plural(last) && last != "status" && last != "address") {
		t.typ = "array"
	}
	t.put(n)
}
