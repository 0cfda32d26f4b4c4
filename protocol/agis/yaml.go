package agis

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"gazetteer/protocol"
)

// ReadYAML reads exactly one YAML document into the tree that
// [protocol.ReadJSON] makes, with the same limits. YAML that JSON cannot say is
// refused: anchors, aliases, merge keys, tags other than those of JSON, keys
// that are not strings, duplicate keys, a second document.
//
// Plain scalars are read by the YAML core schema, as far as JSON has the value:
// null, true and false, decimal numbers. Everything else is a string, also
// dates, hexadecimal numbers and the yes and no of older YAML. The error is
// always a [*protocol.SyntaxError].
func ReadYAML(text []byte, l protocol.Limits) (*protocol.Node, error) {
	l = l.OrDefault()
	if err := protocol.CheckText(text, l); err != nil {
		return nil, err
	}
	if root, err, ok := readPlain(text, l); ok {
		return root, err
	}
	return readGeneral(text, l)
}

// maxFlow is how many brackets and commas the general parser is given. It needs
// some two kilobytes for each of them; a document of the largest size whose
// words are mere prose has a quarter as many.
const maxFlow = 20000

// readGeneral reads YAML with the parser that knows all of it.
func readGeneral(text []byte, l protocol.Limits) (*protocol.Node, error) {
	flow := 0
	for _, indicator := range []string{",", "[", "]", "{", "}"} {
		flow += bytes.Count(text, []byte(indicator))
	}
	if flow > maxFlow {
		return nil, &protocol.SyntaxError{Problem: protocol.TooMany, Line: 1, Column: 1,
			Message: fmt.Sprintf("the text has %d brackets and commas, the limit for YAML like this is %d", flow, maxFlow)}
	}
	if err := checkDirectives(text); err != nil {
		return nil, err
	}
	loader, err := yaml.NewLoader(bytes.NewReader(oldVersion(text)), yaml.WithPlugin(depthLimit(l.Depth)))
	if err != nil {
		return nil, &protocol.SyntaxError{Problem: protocol.Invalid, Line: 1, Column: 1, Message: err.Error()}
	}
	var first, second yaml.Node
	if err := loader.Load(&first); err == io.EOF {
		return nil, &protocol.SyntaxError{Problem: protocol.Empty, Line: 1, Column: 1, Message: "the text holds no document"}
	} else if err != nil {
		return nil, yamlError(text, err)
	}
	if len(first.Content) != 1 {
		return nil, fail(protocol.Empty, "", &first, "the text holds no document")
	}
	r := &yamlReader{text: text, starts: lineStarts(text), limits: l, Budget: protocol.NewBudget(l)}
	root, err := r.value(first.Content[0], "", 1)
	if err != nil {
		return nil, err
	}
	if err := loader.Load(&second); err == nil {
		return nil, fail(protocol.Several, "", &second, "a second YAML document begins here")
	} else if err != io.EOF {
		return nil, yamlError(text, err)
	}
	return root, nil
}

// depthLimit stops the parser itself at a depth, before a tree is built.
type depthLimit int

var errTooDeep = errors.New("too deep")

func (d depthLimit) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > int(d) {
		return errTooDeep
	}
	return nil
}

// CheckAlias never matters: nodes keep aliases unexpanded, and the reader
// refuses them.
func (d depthLimit) CheckAlias(int, int) error { return nil }

var tagDirective = regexp.MustCompile(`(?m)^%TAG[ \t]`)

// checkDirectives refuses %TAG lines. They serve only foreign tags, which are
// refused anyway, and thousands of them cost the parser quadratic time.
func checkDirectives(text []byte) error {
	at := tagDirective.FindIndex(text)
	if at == nil {
		return nil
	}
	line, column := protocol.Place(text, at[0])
	return &protocol.SyntaxError{Problem: protocol.Unsafe, Line: line, Column: column, Offset: at[0],
		Message: "a %TAG directive may not be used"}
}

var version = regexp.MustCompile(`\A(?:[ \t]*(?:#[^\n]*)?\r?\n)*%YAML[ \t]+1\.([02-9])(?:[ \t\r\n]|\z)`)

// oldVersion returns a text that says it is of YAML 1.1 where it said another
// version below 2, since the parser knows that name only. Nothing moves.
func oldVersion(text []byte) []byte {
	at := version.FindSubmatchIndex(text)
	if at == nil {
		return text
	}
	text = bytes.Clone(text)
	text[at[2]] = '1'
	return text
}

// yamlError turns the parser's error into ours.
func yamlError(text []byte, err error) error {
	out := &protocol.SyntaxError{Problem: protocol.Invalid, Line: 1, Column: 1, Message: "this is not YAML: " + err.Error()}
	load, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return out
	}
	mark := load.Mark
	out.Message = plainly(load.Message, text, 1)
	switch {
	case errors.Is(err, errTooDeep) || strings.Contains(load.Message, "max depth") || strings.Contains(load.Message, errTooDeep.Error()):
		out.Problem, out.Message = protocol.TooDeep, "mappings and sequences nest too deep"
	case strings.Contains(load.Message, "unknown anchor"):
		out.Problem, out.Message = protocol.Unsafe, "an alias (*name) may not be used"
	case mark.Line == 0:
		// The reader names the character but not its place.
		if i := bytes.IndexFunc(text, notYAML); i >= 0 {
			out.Offset = i
			out.Line, out.Column = protocol.Place(text, i)
			out.Message = "a control character may not stand here"
			return out
		}
	}
	if mark.Line == 0 {
		mark = load.ContextMark
	}
	if mark.Line > len(lineStarts(text)) { // the end, which the parser counts as a line of its own
		out.Offset = len(text)
		out.Line, out.Column = protocol.Place(text, out.Offset)
		return out
	}
	if mark.Line > 0 {
		out.Line, out.Column = mark.Line, max(mark.Column, 1)
		out.Offset = offsetOf(text, mark.Line)
		if out.Problem == protocol.Invalid {
			out.Message = plainly(load.Message, text[out.Offset:], out.Column)
		}
	}
	return out
}

// notYAML reports whether a character may not stand in YAML (YAML 1.2 §5.1).
func notYAML(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0x7F || r >= 0x80 && r < 0xA0 && r != 0x85 ||
		r == 0xFFFE || r == 0xFFFF
}

// offsetOf returns where a line begins.
func offsetOf(text []byte, line int) int {
	offset := 0
	for range line - 1 {
		i := bytes.IndexByte(text[offset:], '\n')
		if i < 0 {
			return len(text)
		}
		offset += i + 1
	}
	return offset
}

type yamlReader struct {
	text   []byte
	starts []int // where each line begins
	last   spot  // a place to count on from
	limits protocol.Limits
	protocol.Budget
}

// lineStarts returns the offsets of the lines of a text, whose breaks are all
// that YAML knows.
func lineStarts(text []byte) []int {
	starts := []int{0}
	for i, r := range string(text) {
		switch r {
		case '\n':
			starts = append(starts, i+1)
		case '\r':
			if i+1 >= len(text) || text[i+1] != '\n' {
				starts = append(starts, i+1)
			}
		case 0x85, 0x2028, 0x2029:
			starts = append(starts, i+utf8.RuneLen(r))
		}
	}
	return starts
}

// offset returns the byte offset of a line and column. Places mostly come in
// rising order, so it counts on from the last one.
func (r *yamlReader) offset(line, column int) int {
	if line > len(r.starts) {
		return len(r.text)
	}
	if r.last.line != line || r.last.column > column {
		r.last = spot{offset: r.starts[line-1], line: line, column: 1}
	}
	for r.last.column < column && r.last.offset < len(r.text) {
		_, size := utf8.DecodeRune(r.text[r.last.offset:])
		r.last.offset += size
		r.last.column++
	}
	return r.last.offset
}

// extent returns where a scalar begins and ends in the text. Both are 0 when
// that cannot be told: behind a tag, and for text that goes on over lines
// without quotes.
func (r *yamlReader) extent(y *yaml.Node) (from, to int) {
	from = r.offset(y.Line, y.Column)
	rest := r.text[from:]
	switch {
	case y.Style&yaml.TaggedStyle != 0 || len(rest) == 0:
		return 0, 0
	case plain(y):
		if bytes.HasPrefix(rest, []byte(y.Value)) {
			return from, from + len(y.Value)
		}
	case y.Style&yaml.SingleQuotedStyle != 0 && rest[0] == '\'':
		for i := 1; i < len(rest); i++ {
			if rest[i] != '\'' {
				continue
			}
			if i+1 == len(rest) || rest[i+1] != '\'' {
				return from, from + i + 1
			}
			i++
		}
	case y.Style&yaml.DoubleQuotedStyle != 0 && rest[0] == '"':
		for i := 1; i < len(rest); i++ {
			switch rest[i] {
			case '\\':
				i++
			case '"':
				return from, from + i + 1
			}
		}
	}
	return 0, 0
}

func fail(p protocol.Problem, pointer string, at *yaml.Node, format string, args ...any) error {
	return &protocol.SyntaxError{Problem: p, Pointer: pointer, Line: max(at.Line, 1), Column: max(at.Column, 1),
		Message: fmt.Sprintf(format, args...)}
}

// value reads one node; depth counts the node itself.
func (r *yamlReader) value(y *yaml.Node, pointer string, depth int) (*protocol.Node, error) {
	if !r.Spend(pointer) {
		return nil, fail(protocol.TooMany, pointer, y, "the keys are too long for how deeply they nest")
	}
	if err := refuse(y, pointer); err != nil {
		return nil, err
	}
	n := &protocol.Node{Pointer: pointer, Line: y.Line, Column: y.Column}
	if n.Line > len(r.starts) { // a value that is not there stands behind the end
		n.Line, n.Column = len(r.starts), 1
	}
	if y.Kind == yaml.ScalarNode {
		n.Offset, n.End = r.extent(y)
		return n, r.scalar(y, n)
	}
	if depth > r.limits.Depth {
		return nil, fail(protocol.TooDeep, pointer, y, "mappings and sequences nest too deep")
	}
	begin := r.offset(y.Line, y.Column)
	if y.Kind == yaml.SequenceNode {
		err := r.sequence(y, n, depth)
		r.around(y, n, begin)
		return n, err
	}
	err := r.mapping(y, n, depth)
	r.around(y, n, begin)
	return n, err
}

// around gives a collection its extent: from where it begins to the end of the
// last thing in it, or to the bracket that closes it. It stays without one where
// the extent of that last thing is not known.
func (r *yamlReader) around(y *yaml.Node, n *protocol.Node, begin int) {
	end := begin
	if len(n.Items) > 0 {
		last := n.Items[len(n.Items)-1]
		if end = last.End; end == 0 {
			return
		}
	}
	switch {
	case y.Style&yaml.TaggedStyle != 0:
	case y.Style&yaml.FlowStyle == 0:
		n.Offset, n.End = begin, end
	default:
		if len(n.Items) == 0 {
			end++ // the opening bracket
		}
		if end = closing(r.text, end); end > 0 {
			n.Offset, n.End = begin, end
		}
	}
}

// closing returns the offset behind the bracket that comes next in a text but
// for separators and comments, 0 when something else comes.
func closing(text []byte, at int) int {
	for at < len(text) {
		switch text[at] {
		case ' ', '\t', '\r', '\n', ',', ':':
			at++
		case '#':
			for at < len(text) && text[at] != '\n' && text[at] != '\r' {
				at++
			}
		case ']', '}':
			return at + 1
		default:
			return 0
		}
	}
	return 0
}

// refuse reports what a fetched document may not use.
func refuse(y *yaml.Node, pointer string) error {
	switch {
	case y.Kind == yaml.AliasNode:
		return fail(protocol.Unsafe, pointer, y, "an alias (*%s) may not be used", y.Value)
	case y.Anchor != "":
		return fail(protocol.Unsafe, pointer, y, "an anchor (&%s) may not be used", y.Anchor)
	}
	ok := false
	switch y.Kind {
	case yaml.MappingNode:
		ok = y.Tag == "!!map"
	case yaml.SequenceNode:
		ok = y.Tag == "!!seq"
	case yaml.ScalarNode:
		// The parser resolves plain scalars to these; a tag in the text is one
		// of them only if the style says so, see scalar.
		switch y.Tag {
		case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!merge":
			ok = y.Style&yaml.TaggedStyle == 0 || y.Tag != "!!timestamp" && y.Tag != "!!merge"
		}
	}
	if !ok {
		return fail(protocol.Unsafe, pointer, y, "the tag %s may not be used", protocol.Quote(y.Tag))
	}
	return nil
}

func (r *yamlReader) sequence(y *yaml.Node, n *protocol.Node, depth int) error {
	n.Kind = protocol.Array
	if len(y.Content) > r.limits.Members {
		return fail(protocol.TooMany, n.Pointer, y, "%s", tooMany(protocol.Array, r.limits.Members))
	}
	for i, c := range y.Content {
		item, err := r.value(c, protocol.ItemPointer(n.Pointer, i), depth+1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	return nil
}

func (r *yamlReader) mapping(y *yaml.Node, n *protocol.Node, depth int) error {
	n.Kind = protocol.Object
	if len(y.Content)/2 > r.limits.Members {
		return fail(protocol.TooMany, n.Pointer, y, "%s", tooMany(protocol.Object, r.limits.Members))
	}
	seen := make(map[string]bool, len(y.Content)/2)
	for i := 0; i+1 < len(y.Content); i += 2 {
		k := y.Content[i]
		name, err := r.key(k, n.Pointer)
		if err != nil {
			return err
		}
		pointer := protocol.MemberPointer(n.Pointer, name)
		if seen[name] {
			return fail(protocol.Duplicate, pointer, k, "the key %s stands twice in one mapping", protocol.Quote(name))
		}
		seen[name] = true
		from, to := r.extent(k)
		member, err := r.value(y.Content[i+1], pointer, depth+1)
		if err != nil {
			return err
		}
		member.Key, member.KeyLine, member.KeyColumn = name, k.Line, k.Column
		member.KeyOffset, member.KeyEnd = from, to
		n.Items = append(n.Items, member)
	}
	return nil
}

// key reads a key, which must be a string.
func (r *yamlReader) key(k *yaml.Node, pointer string) (string, error) {
	if err := refuse(k, pointer); err != nil {
		return "", err
	}
	if k.Kind != yaml.ScalarNode {
		return "", fail(protocol.Unsafe, pointer, k, "a key may not be a mapping or a sequence")
	}
	if k.Tag == "!!merge" && plain(k) {
		return "", fail(protocol.Unsafe, pointer, k, "a merge key (<<) may not be used")
	}
	var n protocol.Node
	if err := r.scalar(k, &n); err != nil {
		return "", err
	}
	if n.Kind != protocol.String {
		return "", fail(protocol.Unsafe, pointer, k, "the key %s is not a string; put it in quotes", protocol.Quote(k.Value))
	}
	return n.Text, nil
}

func plain(y *yaml.Node) bool {
	return y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// resolve gives a plain scalar its kind by the YAML core schema, and its text as
// JSON would have it.
func resolve(s string) (protocol.Kind, string) {
	if s == "" {
		return protocol.Null, ""
	}
	switch c := s[0]; {
	case c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.':
		if isNumber(s) {
			return protocol.Number, s
		}
	case c == '~' || c == 'n' || c == 'N':
		if s == "~" || s == "null" || s == "Null" || s == "NULL" {
			return protocol.Null, ""
		}
	case c == 't' || c == 'T':
		if s == "true" || s == "True" || s == "TRUE" {
			return protocol.Bool, "true"
		}
	case c == 'f' || c == 'F':
		if s == "false" || s == "False" || s == "FALSE" {
			return protocol.Bool, "false"
		}
	}
	return protocol.String, s
}

// isText reports whether a plain scalar is a string.
func isText(s string) bool {
	kind, _ := resolve(s)
	return kind == protocol.String
}

// isNumber reports whether s is a decimal number of the core schema:
// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
func isNumber(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	whole := digits(s)
	rest := s[whole:]
	fraction := 0
	if strings.HasPrefix(rest, ".") {
		fraction = digits(rest[1:])
		rest = rest[1+fraction:]
	}
	if whole == 0 && fraction == 0 {
		return false
	}
	if rest == "" {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	rest = rest[1:]
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		rest = rest[1:]
	}
	return rest != "" && digits(rest) == len(rest)
}

// digits counts the decimal digits that s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// scalar gives n the kind and text of y.
func (r *yamlReader) scalar(y *yaml.Node, n *protocol.Node) error {
	tagged := y.Style&yaml.TaggedStyle != 0
	n.Kind, n.Text = protocol.String, y.Value
	if plain(y) && (!tagged || y.Tag != "!!str") {
		n.Kind, n.Text = resolve(y.Value)
	}
	if n.Kind == protocol.Number && len(n.Text) > r.limits.Number {
		return fail(protocol.TooLongNumber, n.Pointer, y, "%s", tooLong(len(n.Text), r.limits.Number))
	}
	if tagged && !tagFits(y.Tag, n) {
		return fail(protocol.Unsafe, n.Pointer, y, "%s is no value for the tag %s", protocol.Quote(y.Value), y.Tag)
	}
	return nil
}

func tooLong(length, limit int) string {
	return fmt.Sprintf("a number is written with %d characters, the limit is %d", length, limit)
}

func tooMany(k protocol.Kind, limit int) string {
	if k == protocol.Array {
		return fmt.Sprintf("a sequence has more than %d elements", limit)
	}
	return fmt.Sprintf("a mapping has more than %d keys", limit)
}

// tagFits reports whether a written tag says what the scalar is anyway.
func tagFits(tag string, n *protocol.Node) bool {
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
