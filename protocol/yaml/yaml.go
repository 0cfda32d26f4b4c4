// Package yaml reads YAML into the tree that [protocol.ReadJSON] makes, with the places of all values
// and the same limits, and writes such a tree. It accepts the part of YAML that JSON can say, and
// aliases. Begin with [Read] and [Write].
package yaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"gazetteer/protocol"
)

// Read reads exactly one YAML document into the tree that [protocol.ReadJSON] makes, with the same
// limits. An alias is read as a copy of the value of its anchor; the aliases of a document may add
// at most 10,000 values. Other YAML that JSON cannot express is refused: merge keys, tags other
// than those of JSON, keys that are not strings, duplicate keys, a second document.
//
// Plain scalars are read by the YAML core schema, as far as JSON has the value: null, true and
// false, decimal numbers. All others are strings, including dates, hexadecimal numbers and the yes
// and no of older YAML. The error is always a [*protocol.SyntaxError].
func Read(text []byte, l protocol.Limits) (*protocol.Node, error) {
	return newReader(text, l).read()
}

// ReadScalarKeys is like [Read], but reads a key that is a number, true, false or null as text.
// OpenAPI documents write status codes as such keys (200:).
func ReadScalarKeys(text []byte, l protocol.Limits) (*protocol.Node, error) {
	r := newReader(text, l)
	r.scalarKeys = true
	return r.read()
}

// ReadMerged is like [Read], but also reads merge keys (<<), within the same limits: the fields of
// the named mapping are copied unless the mapping has them itself. It returns an error for each
// merge key with its place, so that a reader that refuses them can check the rest of the document.
func ReadMerged(text []byte, l protocol.Limits) (root *protocol.Node, merges []*protocol.SyntaxError, err error) {
	r := newReader(text, l)
	r.merge = true
	root, err = r.read()
	return root, r.merges, err
}

// maxAliased is the number of values that the aliases of one document may add. A document of the
// largest size has about as many without any alias.
const maxAliased = 10_000

func newReader(text []byte, l protocol.Limits) *reader {
	l = l.OrDefault()
	return &reader{text: text, limits: l, Budget: protocol.NewBudget(l), aliased: maxAliased, expanding: map[*yaml.Node]bool{}}
}

// read reads the text.
func (r *reader) read() (*protocol.Node, error) {
	if err := protocol.CheckText(r.text, r.limits); err != nil {
		return nil, err
	}
	loader, err := yaml.NewLoader(bytes.NewReader(declareVersion11(r.text)),
		yaml.WithPlugin(&parserLimits{depth: r.limits.Depth, collections: r.limits.Bytes / bytesPerCollection}))
	if err != nil {
		return nil, &protocol.SyntaxError{Problem: protocol.Invalid, Line: 1, Column: 1, Message: err.Error()}
	}
	var first, second yaml.Node
	if err := loader.Load(&first); err == io.EOF {
		return nil, &protocol.SyntaxError{Problem: protocol.Empty, Line: 1, Column: 1, Message: "the text has no document"}
	} else if err != nil {
		return nil, convertError(r.text, err)
	}
	if len(first.Content) != 1 {
		return nil, syntaxErrorAt(protocol.Empty, "", &first, "the text has no document")
	}
	r.places = newPlaces(r.text)
	root, err := r.readValue(first.Content[0], "", 1)
	if err != nil {
		return nil, err
	}
	if err := loader.Load(&second); err == nil {
		return nil, syntaxErrorAt(protocol.Several, "", &second, "a second YAML document begins here")
	} else if err != io.EOF {
		return nil, convertError(r.text, err)
	}
	return root, nil
}

// parserLimits limits the parser itself, before a tree is built.
type parserLimits struct {
	depth       int
	collections int // how many mappings and sequences may still begin
}

// bytesPerCollection is the smallest number of bytes of text per mapping or sequence in a text of
// the largest size. The parser needs up to 2.7 kB for each of them, so a text of nothing but
// brackets would otherwise need a thousand times its size.
const bytesPerCollection = 13

var (
	errTooDeep            = errors.New("too deep")
	errTooManyCollections = errors.New("too many collections")
)

// CheckDepth is called at the start of each mapping and sequence.
func (l *parserLimits) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > l.depth {
		return errTooDeep
	}
	if l.collections--; l.collections < 0 {
		return errTooManyCollections
	}
	return nil
}

// CheckAlias never fails: the node tree keeps aliases unexpanded, and
// [reader] counts what they add.
func (l *parserLimits) CheckAlias(int, int) error { return nil }

var versionDirective = regexp.MustCompile(`\A(?:[ \t]*(?:#[^\n]*)?\r?\n)*%YAML[ \t]+1\.([02-9])(?:[ \t\r\n]|\z)`)

// declareVersion11 returns a text that declares YAML 1.1 instead of another version below 2,
// because the parser accepts only that version. Offsets do not change.
func declareVersion11(text []byte) []byte {
	at := versionDirective.FindSubmatchIndex(text)
	if at == nil {
		return text
	}
	text = bytes.Clone(text)
	text[at[2]] = '1'
	return text
}

// reader converts the parser's nodes.
type reader struct {
	text       []byte
	places     *places
	limits     protocol.Limits
	scalarKeys bool
	protocol.Budget

	merge  bool                    // merge keys are read
	merges []*protocol.SyntaxError // the merge keys that were read

	aliased   int                 // how many values aliases may still add
	inAlias   int                 // how many aliases contain the current value
	expanding map[*yaml.Node]bool // anchored values that contain the current value
}

func syntaxErrorAt(p protocol.Problem, pointer string, at *yaml.Node, format string, args ...any) *protocol.SyntaxError {
	return &protocol.SyntaxError{Problem: p, Pointer: pointer, Line: max(at.Line, 1), Column: max(at.Column, 1),
		Message: fmt.Sprintf(format, args...)}
}

// readValue reads one node; depth counts the node itself.
func (r *reader) readValue(y *yaml.Node, pointer string, depth int) (*protocol.Node, error) {
	if y.Kind == yaml.AliasNode {
		return r.readAlias(y, pointer, depth)
	}
	if !r.Spend(pointer) {
		return nil, syntaxErrorAt(protocol.TooMany, pointer, y, "the keys are too long for how deeply they nest")
	}
	if err := checkTag(y, pointer); err != nil {
		return nil, err
	}
	if r.inAlias > 0 {
		if r.aliased--; r.aliased < 0 {
			return nil, syntaxErrorAt(protocol.Unsafe, pointer, y, "the aliases add more than %d values to the document", maxAliased)
		}
	}
	if y.Anchor != "" {
		r.expanding[y] = true
		defer delete(r.expanding, y)
	}
	n := &protocol.Node{Pointer: pointer, Line: y.Line, Column: y.Column}
	if r.inAlias == 0 {
		r.places.locate(y, n)
	}
	if y.Kind == yaml.ScalarNode {
		return n, r.readScalar(y, n)
	}
	if depth > r.limits.Depth {
		return nil, syntaxErrorAt(protocol.TooDeep, pointer, y, "mappings and sequences nest too deep")
	}
	read := r.readMapping
	if y.Kind == yaml.SequenceNode {
		read = r.readSequence
	}
	if err := read(y, n, depth); err != nil {
		return nil, err
	}
	if r.inAlias == 0 {
		r.places.enclose(y, n)
	}
	return n, nil
}

// readAlias returns a copy of the value that an alias names. The copy has the place and extent of
// the alias. Values below it have the place of the anchored text and no extent, because an edit
// there would change more than one value.
func (r *reader) readAlias(y *yaml.Node, pointer string, depth int) (*protocol.Node, error) {
	if r.expanding[y.Alias] {
		return nil, syntaxErrorAt(protocol.Unsafe, pointer, y, "the alias *%s is inside the value that it names", y.Value)
	}
	r.inAlias++
	n, err := r.readValue(y.Alias, pointer, depth)
	r.inAlias--
	if err != nil {
		return nil, r.moveToAlias(err, y, pointer)
	}
	n.Line, n.Column = y.Line, y.Column
	if r.inAlias == 0 {
		n.Offset = r.places.offset(y.Line, y.Column)
		n.End = n.Offset + len("*") + len(y.Value)
	}
	return n, nil
}

// moveToAlias gives an error inside the value of an alias the place of the outermost alias: the
// value was read without an error where it stands.
func (r *reader) moveToAlias(err error, y *yaml.Node, pointer string) error {
	if syntax, ok := errors.AsType[*protocol.SyntaxError](err); ok && r.inAlias == 0 {
		syntax.Pointer, syntax.Line, syntax.Column = pointer, y.Line, y.Column
	}
	return err
}

// checkTag refuses tags other than those of JSON's types.
func checkTag(y *yaml.Node, pointer string) error {
	ok := false
	switch y.Kind {
	case yaml.MappingNode:
		ok = y.Tag == "!!map"
	case yaml.SequenceNode:
		ok = y.Tag == "!!seq"
	case yaml.ScalarNode:
		// The parser resolves plain scalars to these tags; a tag is in the text only if the style
		// says so, see readScalar.
		switch y.Tag {
		case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge":
			ok = y.Style&yaml.TaggedStyle == 0 || y.Tag != "!!timestamp" && y.Tag != "!!merge"
		}
	}
	if !ok {
		return syntaxErrorAt(protocol.Unsafe, pointer, y, "the tag %s may not be used", protocol.Quote(y.Tag))
	}
	return nil
}

func (r *reader) readSequence(y *yaml.Node, n *protocol.Node, depth int) error {
	n.Kind = protocol.Array
	if len(y.Content) > r.limits.Members {
		return syntaxErrorAt(protocol.TooMany, n.Pointer, y, "a sequence has more than %d elements", r.limits.Members)
	}
	if len(y.Content) > 0 {
		n.Items = make([]*protocol.Node, 0, len(y.Content))
	}
	for i, c := range y.Content {
		item, err := r.readValue(c, protocol.ItemPointer(n.Pointer, i), depth+1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	return nil
}

func (r *reader) readMapping(y *yaml.Node, n *protocol.Node, depth int) error {
	n.Kind = protocol.Object
	size := min(len(y.Content)/2, r.limits.Members)
	if size > 0 {
		n.Items = make([]*protocol.Node, 0, size)
	}
	seen := make(map[string]bool, size)
	var merged []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := y.Content[i]
		if r.merge && isMergeKey(k) {
			if r.inAlias == 0 {
				r.merges = append(r.merges, mergeError(k, n.Pointer))
			}
			merged = append(merged, y.Content[i+1])
			continue
		}
		name, err := r.readKey(k, n.Pointer)
		if err != nil {
			return err
		}
		pointer := protocol.MemberPointer(n.Pointer, name)
		if seen[name] {
			return syntaxErrorAt(protocol.Duplicate, pointer, k, "the key %s occurs twice in one mapping", protocol.Quote(name))
		}
		if len(n.Items) == size {
			return syntaxErrorAt(protocol.TooMany, n.Pointer, y, "a mapping has more than %d keys", size)
		}
		seen[name] = true
		var key protocol.Node
		if r.inAlias == 0 && k.Kind == yaml.ScalarNode {
			r.places.locate(k, &key)
		}
		member, err := r.readValue(y.Content[i+1], pointer, depth+1)
		if err != nil {
			return err
		}
		member.Key, member.KeyLine, member.KeyColumn = name, k.Line, k.Column
		member.KeyOffset, member.KeyEnd = key.Offset, key.End
		n.Items = append(n.Items, member)
	}
	for _, m := range merged {
		if err := r.mergeFields(m, n, seen, depth); err != nil {
			return err
		}
	}
	return nil
}

// mergeFields adds the fields of the value of a merge key to n, without those that n has. The value
// is a mapping or a list of mappings. The added fields have no extent, like those of an alias.
func (r *reader) mergeFields(y *yaml.Node, n *protocol.Node, seen map[string]bool, depth int) error {
	if r.expanding[y] {
		return syntaxErrorAt(protocol.Unsafe, n.Pointer, y, "a merge key (<<) is inside the value that it names")
	}
	if r.aliased--; r.aliased < 0 {
		return syntaxErrorAt(protocol.Unsafe, n.Pointer, y, "the merge keys add more than %d values to the document", maxAliased)
	}
	r.expanding[y] = true
	r.inAlias++
	defer func() {
		delete(r.expanding, y)
		r.inAlias--
	}()
	switch y.Kind {
	case yaml.AliasNode:
		return r.mergeFields(y.Alias, n, seen, depth)
	case yaml.SequenceNode:
		for _, c := range y.Content {
			if err := r.mergeFields(c, n, seen, depth); err != nil {
				return err
			}
		}
		return nil
	case yaml.MappingNode:
	default:
		return syntaxErrorAt(protocol.Unsafe, n.Pointer, y, "a merge key (<<) names no mapping")
	}
	from := &protocol.Node{Pointer: n.Pointer}
	if err := r.readMapping(y, from, depth); err != nil {
		return err
	}
	for _, m := range from.Items {
		if seen[m.Key] {
			continue
		}
		if len(n.Items) == r.limits.Members {
			return syntaxErrorAt(protocol.TooMany, n.Pointer, y, "a mapping has more than %d keys", r.limits.Members)
		}
		seen[m.Key] = true
		n.Items = append(n.Items, m)
	}
	return nil
}

func isMergeKey(k *yaml.Node) bool {
	return k.Kind == yaml.ScalarNode && k.Tag == "!!merge" && isPlain(k)
}

func mergeError(at *yaml.Node, pointer string) *protocol.SyntaxError {
	return syntaxErrorAt(protocol.Unsafe, pointer, at, "a merge key (<<) may not be used")
}

// readKey reads a key, which must be a string.
func (r *reader) readKey(k *yaml.Node, pointer string) (string, error) {
	place := k
	if k.Kind == yaml.AliasNode {
		k = k.Alias
	}
	if err := checkTag(k, pointer); err != nil {
		return "", err
	}
	if k.Kind != yaml.ScalarNode {
		return "", syntaxErrorAt(protocol.Unsafe, pointer, place, "a key may not be a mapping or a sequence")
	}
	if isMergeKey(k) {
		return "", mergeError(place, pointer)
	}
	var n protocol.Node
	if err := r.readScalar(k, &n); err != nil {
		return "", err
	}
	if n.Kind != protocol.String && !r.scalarKeys {
		return "", syntaxErrorAt(protocol.Unsafe, pointer, place, "the key %s is not a string; put it in quotes", protocol.Quote(k.Value))
	}
	return k.Value, nil
}

// readScalar sets the kind and text of n from y.
func (r *reader) readScalar(y *yaml.Node, n *protocol.Node) error {
	tagged := y.Style&yaml.TaggedStyle != 0
	n.Kind, n.Text = protocol.String, y.Value
	if isPlain(y) && (!tagged || y.Tag != "!!str") {
		n.Kind, n.Text = resolvePlain(y.Value)
	}
	if n.Kind == protocol.Number && len(n.Text) > r.limits.Number {
		return syntaxErrorAt(protocol.TooLongNumber, n.Pointer, y, "a number is written with %d characters, the limit is %d",
			len(n.Text), r.limits.Number)
	}
	if tagged && !tagMatches(y.Tag, n) {
		return syntaxErrorAt(protocol.Unsafe, n.Pointer, y, "%s is not a value for the tag %s", protocol.Quote(y.Value), y.Tag)
	}
	return nil
}

func isPlain(y *yaml.Node) bool {
	return y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// decimalNumber matches the decimal numbers of the YAML core schema (YAML 1.2 §10.3.2).
var decimalNumber = regexp.MustCompile(`\A[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\z`)

// resolvePlain sets the kind of a plain scalar by the YAML core schema, and its text as in JSON.
func resolvePlain(s string) (protocol.Kind, string) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return protocol.Null, ""
	case "true", "True", "TRUE":
		return protocol.Bool, "true"
	case "false", "False", "FALSE":
		return protocol.Bool, "false"
	}
	if strings.IndexByte("0123456789-+.", s[0]) >= 0 && decimalNumber.MatchString(s) {
		return protocol.Number, s
	}
	return protocol.String, s
}

// tagMatches reports whether a written tag is the type that the scalar has without it.
func tagMatches(tag string, n *protocol.Node) bool {
	switch tag {
	case "!!str":
		return n.Kind == protocol.String
	case "!!int":
		return n.Kind == protocol.Number && !strings.ContainsAny(n.Text, ".eE")
	case "!!float":
		return n.Kind == protocol.Number
	case "!!bool":
		return n.Kind == protocol.Bool
	case "!!null":
		return n.Kind == protocol.Null
	}
	return false
}
