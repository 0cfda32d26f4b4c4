package agis

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"gazetteer/protocol"
)

// readPlain reads the YAML that people and programs write for each other: block
// and flow collections, plain and quoted scalars, literal and folded text,
// comments. It costs a fifth of the general parser and knows the extent of
// every value.
//
// It answers only when it is sure. ok is false when the text holds anything
// else, be it legal and rare (explicit keys, tags, tabs) or an error: the
// general parser is the judge of those and words the message. When ok is true,
// the tree is the one that the general parser would give, or err is a limit
// that the text exceeds.
func readPlain(text []byte, l protocol.Limits) (root *protocol.Node, err error, ok bool) {
	wide, ok := plainCharacters(text)
	if !ok {
		return nil, nil, false
	}
	p := &plainReader{src: string(text), wide: wide, line: 1, col: 1, limits: l, Budget: protocol.NewBudget(l)}
	p.next()
	if p.marker("---") {
		p.pos += 3
		p.rest()
		p.next()
	}
	p.begun = true
	if p.marker("---") || p.marker("...") || p.pos == len(p.src) {
		return nil, nil, false
	}
	root = p.block(-1, "", 1)
	switch {
	case p.err != nil:
		return nil, p.err, true
	case p.unsure || p.pos < len(p.src):
		return nil, nil, false
	}
	return root, nil, true
}

// plainCharacters reports whether a text holds only characters whose meaning
// does not depend on where they stand, and whether some are not ASCII.
func plainCharacters(text []byte) (wide, ok bool) {
	for i, b := range text {
		switch {
		case b >= 0x20 && b < 0x7F || b == '\n':
		case b == '\r':
			if i+1 == len(text) || text[i+1] != '\n' {
				return false, false
			}
		case b < 0x80:
			return false, false
		default:
			wide = true
		}
	}
	if !wide {
		return false, true
	}
	for _, r := range string(text) {
		if r >= 0x80 && r < 0xA0 || r == 0x2028 || r == 0x2029 || r == 0xFEFF || r == 0xFFFE || r == 0xFFFF {
			return false, false
		}
	}
	return true, true
}

// plainReader walks forward through a text. Its methods leave it at the next
// content: behind spaces, line breaks and comments. unsure and err are final.
type plainReader struct {
	src  string
	wide bool // the text is not ASCII only
	pos  int
	line int // the line of pos, from 1
	bol  int // where that line begins

	colAt, col int // a place in the line and its column, to count on from

	begun  bool // the document's first value has begun
	unsure bool
	err    error

	limits protocol.Limits
	protocol.Budget
	free  []protocol.Node  // nodes to hand out
	stack []*protocol.Node // items of the collections being read
}

// doubt ends the reading: the general parser shall decide.
func (p *plainReader) doubt() *protocol.Node {
	p.unsure = true
	return nil
}

// done reports that there is no use in going on.
func (p *plainReader) done() bool { return p.unsure || p.err != nil }

// at returns the byte i places ahead, and 0 behind the end.
func (p *plainReader) at(i int) byte {
	if p.pos+i < len(p.src) {
		return p.src[p.pos+i]
	}
	return 0
}

// blank reports whether a byte ends an indicator: a space, a line break or the
// end of the text.
func blank(b byte) bool { return b == ' ' || b == '\n' || b == '\r' || b == 0 }

func lineEnd(b byte) bool { return b == '\n' || b == '\r' || b == 0 }

func (p *plainReader) spaces() {
	for p.at(0) == ' ' {
		p.pos++
	}
}

// newline steps over a line break, if pos is at one.
func (p *plainReader) newline() bool {
	switch p.at(0) {
	case '\n':
		p.pos++
	case '\r':
		p.pos += 2
	default:
		return false
	}
	p.line++
	p.bol, p.colAt, p.col = p.pos, p.pos, 1
	return true
}

// comment skips to the end of the line.
func (p *plainReader) comment() {
	for !lineEnd(p.at(0)) {
		p.pos++
	}
}

// rest asks that nothing but a comment follows in the line.
func (p *plainReader) rest() {
	before := p.pos
	p.spaces()
	switch {
	case p.at(0) == '#' && p.pos > before:
		p.comment()
	case !lineEnd(p.at(0)):
		p.doubt()
	}
}

// next goes to the next content from the end or the indentation of a line.
func (p *plainReader) next() {
	for {
		p.spaces()
		if p.at(0) == '#' {
			p.comment()
		}
		if !p.newline() {
			break
		}
	}
	if p.begun && (p.marker("---") || p.marker("...")) {
		p.doubt()
	}
}

// marker reports whether a document marker stands here.
func (p *plainReader) marker(m string) bool {
	return p.pos == p.bol && strings.HasPrefix(p.src[p.pos:], m) && blank(p.at(3))
}

// indent is the column of pos, from 0. It is asked for only where nothing but
// ASCII stands before pos in its line.
func (p *plainReader) indent() int { return p.pos - p.bol }

// column returns the column of an offset in the current line, in characters
// from 1. Offsets come in rising order.
func (p *plainReader) column(offset int) int {
	if !p.wide {
		return offset - p.bol + 1
	}
	if p.colAt < p.bol || offset < p.colAt {
		p.colAt, p.col = p.bol, 1
	}
	p.col += utf8.RuneCountInString(p.src[p.colAt:offset])
	p.colAt = offset
	return p.col
}

// A spot is a place in the text.
type spot struct{ offset, line, column int }

func (p *plainReader) here() spot { return spot{p.pos, p.line, p.column(p.pos)} }

// node begins a value.
func (p *plainReader) node(at spot, pointer string) *protocol.Node {
	if len(p.free) == 0 {
		p.free = make([]protocol.Node, min(max(len(p.src)/64, 8), 256))
	}
	n := &p.free[0]
	p.free = p.free[1:]
	n.Pointer, n.Line, n.Column, n.Offset, n.End = pointer, at.line, at.column, at.offset, at.offset
	if !p.Spend(pointer) {
		p.limit(protocol.TooMany, n, "the keys are too long for how deeply they nest")
	}
	return n
}

// limit ends the reading with an error at n.
func (p *plainReader) limit(problem protocol.Problem, n *protocol.Node, message string) {
	if p.err == nil {
		p.err = &protocol.SyntaxError{Problem: problem, Pointer: n.Pointer, Line: n.Line, Column: n.Column, Offset: n.Offset, Message: message}
	}
}

// dash reports whether an entry of a block sequence begins here.
func (p *plainReader) dash() bool { return p.at(0) == '-' && blank(p.at(1)) }

// block reads the value that begins here, below a collection indented by
// parent.
func (p *plainReader) block(parent int, pointer string, depth int) *protocol.Node {
	if p.dash() {
		return p.sequence(p.indent(), pointer, depth)
	}
	n, indent := p.node(p.here(), pointer), p.indent()
	if k, ok := p.key(); ok {
		return p.mapping(n, indent, k, depth)
	}
	if p.done() || parent < 0 && p.at(0) != '{' && p.at(0) != '[' {
		return p.doubt()
	}
	return p.value(n, parent, depth)
}

// sequence reads the entries at one indentation.
func (p *plainReader) sequence(indent int, pointer string, depth int) *protocol.Node {
	n := p.node(p.here(), pointer)
	n.Kind = protocol.Array
	p.nest(n, depth)
	base := len(p.stack)
	for !p.done() && p.pos < len(p.src) && p.indent() >= indent {
		if p.indent() > indent {
			return p.doubt()
		}
		if !p.dash() {
			break // a key at the same column ends a sequence that is its value
		}
		p.pos++
		item := protocol.ItemPointer(pointer, len(p.stack)-base)
		p.push(n, base, p.entry(indent, item, depth+1))
	}
	return p.close(n, base)
}

// entry reads what follows a dash.
func (p *plainReader) entry(indent int, pointer string, depth int) *protocol.Node {
	return p.below(indent, pointer, depth, false)
}

// below reads what follows a dash or the colon of a key: a value in the same
// line, a value on the lines below, or none.
func (p *plainReader) below(indent int, pointer string, depth int, keyed bool) *protocol.Node {
	behind := p.here()
	p.spaces()
	if !lineEnd(p.at(0)) && p.at(0) != '#' {
		if !keyed {
			return p.block(indent, pointer, depth)
		}
		return p.value(p.node(p.here(), pointer), indent, depth)
	}
	p.rest()
	p.next()
	if p.done() {
		return nil
	}
	if p.pos < len(p.src) && (p.indent() > indent || keyed && p.indent() == indent && p.dash()) {
		return p.block(indent, pointer, depth)
	}
	return p.node(behind, pointer)
}

// A plainKey is a key that has been read, and its place.
type plainKey struct {
	name string
	spot
	end int
}

// longKey is how many bytes a key may have: the general parser allows keys of
// up to 1,024 characters without a question mark.
const longKey = 1000

// key reads a key with its colon. ok is false when no key stands here; pos is
// then unchanged.
func (p *plainReader) key() (k plainKey, ok bool) {
	start := p.pos
	marked := p.at(0) == '?' && p.at(1) == ' '
	if marked {
		p.pos++
		p.spaces()
	}
	k.spot = p.here()
	quoted := p.at(0) == '"' || p.at(0) == '\''
	if quoted {
		k.name = p.quoted(-1)
		if p.line != k.line {
			p.doubt()
		}
		k.end = p.pos
		p.spaces()
	} else if p.plainStart(false) {
		k.name, _ = p.plainLine()
		k.end = k.offset + len(k.name)
	}
	if marked {
		p.marked(start - p.bol)
	}
	if p.done() || k.end == 0 || p.at(0) != ':' || !blank(p.at(1)) {
		p.pos = start
		return k, false
	}
	if k.end-k.offset > longKey && !marked || !quoted && (k.name == "<<" || !isText(k.name)) {
		p.doubt()
		return k, false
	}
	p.pos++
	return k, true
}

// marked goes from the end of a key behind a question mark to its colon in the
// line below.
func (p *plainReader) marked(indent int) {
	if p.at(0) == ':' {
		p.doubt()
	}
	p.rest()
	p.next()
	if p.indent() != indent || p.at(0) != ':' {
		p.doubt()
	}
}

// mapping reads the keys at one indentation, of which the first has been read.
func (p *plainReader) mapping(n *protocol.Node, indent int, k plainKey, depth int) *protocol.Node {
	n.Kind = protocol.Object
	p.nest(n, depth)
	base := len(p.stack)
	var seen map[string]bool
	for !p.done() {
		pointer := protocol.MemberPointer(n.Pointer, k.name)
		p.unique(&seen, base, k, pointer)
		member := p.below(indent, pointer, depth+1, true)
		if p.done() {
			break
		}
		k.giveTo(member)
		p.push(n, base, member)
		if p.pos == len(p.src) || p.indent() < indent {
			break
		}
		more := false
		if p.indent() == indent && !p.dash() {
			k, more = p.key()
		}
		if !more {
			return p.doubt()
		}
	}
	return p.close(n, base)
}

// giveTo gives a member the key that was read before it.
func (k plainKey) giveTo(n *protocol.Node) {
	n.Key, n.KeyLine, n.KeyColumn, n.KeyOffset, n.KeyEnd = k.name, k.line, k.column, k.offset, k.end
}

// unique refuses a key that the mapping has already. Short mappings are
// searched, long ones get a table.
func (p *plainReader) unique(seen *map[string]bool, base int, k plainKey, pointer string) {
	const short = 12
	double := false
	switch {
	case *seen != nil:
		double = (*seen)[k.name]
	default:
		for _, m := range p.stack[base:] {
			double = double || m.Key == k.name
		}
		if len(p.stack)-base == short {
			*seen = make(map[string]bool, 2*short)
			for _, m := range p.stack[base:] {
				(*seen)[m.Key] = true
			}
		}
	}
	if *seen != nil {
		(*seen)[k.name] = true
	}
	if double {
		p.limit(protocol.Duplicate, &protocol.Node{Pointer: pointer, Line: k.line, Column: k.column, Offset: k.offset},
			"the key "+protocol.Quote(k.name)+" stands twice in one mapping")
	}
}

// nest refuses a collection that lies too deep.
func (p *plainReader) nest(n *protocol.Node, depth int) {
	if depth > p.limits.Depth {
		p.limit(protocol.TooDeep, n, "mappings and sequences nest too deep")
	}
}

// push adds an item to the collection n, whose items begin at base.
func (p *plainReader) push(n *protocol.Node, base int, item *protocol.Node) {
	if p.done() {
		return
	}
	if len(p.stack)-base == p.limits.Members {
		p.limit(protocol.TooMany, n, tooMany(n.Kind, p.limits.Members))
		return
	}
	p.stack = append(p.stack, item)
}

// close takes the items from base on as those of n.
func (p *plainReader) close(n *protocol.Node, base int) *protocol.Node {
	if p.done() {
		return nil
	}
	if items := p.stack[base:]; len(items) > 0 {
		n.Items = append(make([]*protocol.Node, 0, len(items)), items...)
		n.End = max(n.End, items[len(items)-1].End)
	}
	p.stack = p.stack[:base]
	return n
}

// value reads a value that is no block collection, and goes on to the next
// content.
func (p *plainReader) value(n *protocol.Node, parent, depth int) *protocol.Node {
	switch p.at(0) {
	case '[', '{':
		p.flow(n, parent, depth)
	case '"', '\'':
		n.Kind, n.Text = protocol.String, p.quoted(parent)
		n.End = p.pos
	case '|', '>':
		n.Kind, n.Text = protocol.String, p.text(n, parent)
		p.next()
		return n
	default:
		if !p.plainStart(false) {
			return p.doubt()
		}
		p.plain(n, parent)
		p.next()
		return n
	}
	if p.done() {
		return nil
	}
	p.rest()
	p.next()
	return n
}

// plainStart reports whether a plain scalar may begin here.
func (p *plainReader) plainStart(flow bool) bool {
	switch p.at(0) {
	case 0, '[', ']', '{', '}', ',', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`':
		return false
	case '-', '?', ':':
		return !blank(p.at(1)) && !flow || p.at(0) == '-' && p.at(1) >= '.' && p.at(1) <= '9'
	}
	return true
}

// plainLine reads the part of a plain scalar that stands in this line. It stops
// before a comment (then end is false), at the colon of a key, or at the end of
// the line.
func (p *plainReader) plainLine() (text string, end bool) {
	start := p.pos
	last := start // behind the last character that is no space
	for {
		switch b := p.at(0); b {
		case '\n', '\r', 0:
			return p.src[start:last], true
		case ' ':
			if p.at(1) == '#' {
				p.pos++
				return p.src[start:last], false
			}
			p.pos++
			continue
		case ':':
			if blank(p.at(1)) {
				return p.src[start:last], false
			}
		}
		p.pos++
		last = p.pos
	}
}

// plain reads a plain scalar that may go on over several lines.
func (p *plainReader) plain(n *protocol.Node, parent int) {
	text, end := p.plainLine()
	n.End = n.Offset + len(text)
	if p.at(0) == ':' {
		p.doubt() // a key in the place of a value
		return
	}
	var more strings.Builder
	for end {
		breaks := p.breaks()
		if p.pos == len(p.src) || p.at(0) == '#' || p.indent() <= parent {
			break
		}
		if more.Len() == 0 {
			more.WriteString(text)
		}
		foldBreaks(&more, breaks)
		start := p.pos
		text, end = p.plainLine()
		n.End = start + len(text)
		if p.at(0) == ':' {
			p.doubt()
			return
		}
		more.WriteString(text)
	}
	if more.Len() > 0 {
		text = more.String()
	}
	n.Kind, n.Text = resolve(text)
	if n.Kind == protocol.Number && len(n.Text) > p.limits.Number {
		p.limit(protocol.TooLongNumber, n, tooLong(len(n.Text), p.limits.Number))
	}
}

// breaks skips the line breaks and empty lines that begin here, and the
// indentation behind them, and counts the line breaks.
func (p *plainReader) breaks() int {
	n := 0
	for p.newline() {
		n++
		p.spaces()
	}
	return n
}

// foldBreaks writes what a number of line breaks in a flowing text means.
func foldBreaks(b *strings.Builder, breaks int) {
	if breaks == 1 {
		b.WriteByte(' ')
		return
	}
	for range breaks - 1 {
		b.WriteByte('\n')
	}
}

// quoted reads a quoted scalar, whose lines are indented by more than parent.
func (p *plainReader) quoted(parent int) string {
	quote := p.src[p.pos]
	p.pos++
	start := p.pos
	for { // most hold no escape and end in their line
		switch b := p.at(0); {
		case b == quote && (quote == '"' || p.at(1) != quote):
			p.pos++
			return p.src[start : p.pos-1]
		case b == quote || b == '\\' && quote == '"' || lineEnd(b):
			return p.quotedRest(quote, p.src[start:p.pos], parent)
		}
		p.pos++
	}
}

// quotedRest goes on after the part of a quoted scalar that is already known.
func (p *plainReader) quotedRest(quote byte, known string, parent int) string {
	var b strings.Builder
	b.WriteString(strings.TrimRight(known, " "))
	spaces := len(known) - b.Len() // to be written unless the line ends here
	flush := func() {
		for ; spaces > 0; spaces-- {
			b.WriteByte(' ')
		}
	}
	for !p.done() {
		switch c := p.at(0); {
		case c == 0:
			p.doubt()
		case c == ' ':
			spaces++
			p.pos++
		case lineEnd(c):
			spaces = 0
			foldBreaks(&b, p.breaks())
			p.continued(parent)
		case c == quote && (quote == '"' || p.at(1) != quote):
			flush()
			p.pos++
			return b.String()
		case c == '\\' && quote == '"':
			flush()
			p.pos++
			p.escape(&b, parent)
		default:
			flush()
			b.WriteByte(c)
			p.pos++
			if c == '\'' && quote == '\'' {
				p.pos++ // a doubled quote
			}
		}
	}
	return ""
}

// continued asks that the line of a quoted scalar is indented.
func (p *plainReader) continued(parent int) {
	if p.indent() <= parent || p.marker("---") || p.marker("...") {
		p.doubt()
	}
}

// escapes of double-quoted scalars that stand for one character (YAML 1.2
// §5.7).
const escapes = "0\x00a\ab\bt\tn\nv\vf\fr\re\x1b  \"\"//\\\\N\u0085_\u00a0L\u2028P\u2029"

// escape reads what follows a backslash.
func (p *plainReader) escape(b *strings.Builder, parent int) {
	c := p.at(0)
	digits := 0
	switch {
	case lineEnd(c):
		for range p.breaks() - 1 {
			b.WriteByte('\n')
		}
		p.continued(parent)
		return
	case c == 'x':
		digits = 2
	case c == 'u':
		digits = 4
	case c == 'U':
		digits = 8
	}
	if digits == 0 {
		for i := 0; i < len(escapes); {
			r, size := utf8.DecodeRuneInString(escapes[i+1:])
			if escapes[i] == c {
				b.WriteRune(r)
				p.pos++
				return
			}
			i += 1 + size
		}
		p.doubt()
		return
	}
	code, err := strconv.ParseUint(p.src[p.pos+1:min(p.pos+1+digits, len(p.src))], 16, 32)
	if err != nil || code > utf8.MaxRune || !utf8.ValidRune(rune(code)) {
		p.doubt() // no number, half of a surrogate pair, or beyond Unicode
		return
	}
	b.WriteRune(rune(code))
	p.pos += 1 + digits
}

// text reads a literal (|) or folded (>) scalar.
func (p *plainReader) text(n *protocol.Node, parent int) string {
	literal := p.at(0) == '|'
	p.pos++
	chomp := p.at(0)
	if chomp == '-' || chomp == '+' {
		p.pos++
	}
	p.rest()
	n.End = p.pos
	if p.done() || !p.newline() {
		p.doubt()
		return ""
	}
	var out strings.Builder
	indent, breaks := p.textIndent(parent)
	if p.done() {
		return ""
	}
	broken, spaced := false, false // the last line ended, and began with a space
	for p.pos < len(p.src) && p.indent() == indent && !lineEnd(p.at(0)) {
		space := p.at(0) == ' '
		switch {
		case broken && (literal || spaced || space):
			out.WriteByte('\n')
		case broken && breaks == 0:
			out.WriteByte(' ')
		}
		for range breaks {
			out.WriteByte('\n')
		}
		spaced = space
		start := p.pos
		p.comment()
		out.WriteString(p.src[start:p.pos])
		n.End = p.pos
		broken = p.newline()
		breaks = p.textBreaks(indent)
	}
	if p.pos == len(p.src) && p.src[p.pos-1] == ' ' {
		p.doubt() // whether spaces before the end are a line is disputed
	}
	if chomp != '-' && broken {
		out.WriteByte('\n')
	}
	if chomp == '+' {
		for range breaks {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// textIndent finds the indentation of a literal or folded scalar and goes to
// its first line; breaks counts the empty lines before.
func (p *plainReader) textIndent(parent int) (indent, breaks int) {
	widest := 0
	for {
		p.spaces()
		widest = max(widest, p.indent())
		if !p.newline() {
			break
		}
		breaks++
	}
	indent = p.indent()
	if p.pos == len(p.src) || indent <= parent || widest > indent {
		p.doubt() // no text at all, or empty lines that are deeper than it
	}
	return indent, breaks
}

// textBreaks skips empty lines and the indentation of the next line, and counts
// the empty lines.
func (p *plainReader) textBreaks(indent int) int {
	n := 0
	for {
		for p.at(0) == ' ' && p.indent() < indent {
			p.pos++
		}
		if !p.newline() {
			return n
		}
		n++
	}
}

// flow reads a collection in brackets.
func (p *plainReader) flow(n *protocol.Node, parent, depth int) {
	n.Kind = protocol.Array
	end := byte(']')
	if p.at(0) == '{' {
		n.Kind, end = protocol.Object, '}'
	}
	p.nest(n, depth)
	p.pos++
	base := len(p.stack)
	var seen map[string]bool
	for p.gap(parent); !p.done() && p.at(0) != end; p.gap(parent) {
		if n.Kind == protocol.Array {
			p.push(n, base, p.flowValue(protocol.ItemPointer(n.Pointer, len(p.stack)-base), parent, depth+1))
		} else {
			p.flowMember(n, base, &seen, parent, depth)
		}
		p.gap(parent)
		if p.at(0) == ',' {
			p.pos++
		} else if p.at(0) != end {
			p.doubt()
		}
	}
	p.pos++
	n.End = p.pos
	p.close(n, base)
	n.End = p.pos
}

// flowMember reads a key of a flow mapping and its value.
func (p *plainReader) flowMember(n *protocol.Node, base int, seen *map[string]bool, parent, depth int) {
	k := plainKey{spot: p.here()}
	quoted := p.at(0) == '"' || p.at(0) == '\''
	if quoted {
		k.name = p.quoted(parent)
	} else if p.plainStart(true) {
		k.name = p.flowPlain()
	} else {
		p.doubt()
	}
	k.end = p.pos
	p.spaces()
	if p.done() || p.at(0) != ':' || p.line != k.line || k.end-k.offset > longKey ||
		!quoted && (!blank(p.at(1)) || k.name == "<<" || !isText(k.name)) {
		p.doubt()
		return
	}
	p.pos++
	p.gap(parent)
	if p.at(0) == ',' || p.at(0) == '}' {
		p.doubt()
		return
	}
	pointer := protocol.MemberPointer(n.Pointer, k.name)
	p.unique(seen, base, k, pointer)
	if member := p.flowValue(pointer, parent, depth+1); !p.done() {
		k.giveTo(member)
		p.push(n, base, member)
	}
}

// flowValue reads a value inside brackets.
func (p *plainReader) flowValue(pointer string, parent, depth int) *protocol.Node {
	n := p.node(p.here(), pointer)
	switch p.at(0) {
	case '[', '{':
		p.flow(n, parent, depth)
		return n
	case '"', '\'':
		n.Kind, n.Text = protocol.String, p.quoted(parent)
		n.End = p.pos
		return n
	}
	if !p.plainStart(true) {
		return p.doubt()
	}
	n.Kind, n.Text = resolve(p.flowPlain())
	n.End = p.pos
	if n.Kind == protocol.Number && len(n.Text) > p.limits.Number {
		p.limit(protocol.TooLongNumber, n, tooLong(len(n.Text), p.limits.Number))
	}
	return n
}

// flowPlain reads a plain scalar inside brackets, as far as its line goes.
func (p *plainReader) flowPlain() string {
	start := p.pos
	last := start
	for {
		switch b := p.at(0); b {
		case '\n', '\r', 0, ',', ']', '}':
			p.pos = last
			return p.src[start:last]
		case '[', '{', '?':
			p.doubt()
			return ""
		case ' ':
			if p.at(1) == '#' {
				p.pos = last
				return p.src[start:last]
			}
			p.pos++
			continue
		case ':':
			switch c := p.at(1); {
			case blank(c):
				p.pos = last
				return p.src[start:last]
			case c == ',' || c == '[' || c == ']' || c == '{' || c == '}':
				p.doubt()
				return ""
			}
		}
		p.pos++
		last = p.pos
	}
}

// gap skips spaces, line breaks and comments inside brackets.
func (p *plainReader) gap(parent int) {
	for {
		before := p.pos
		p.spaces()
		if p.at(0) == '#' {
			if p.pos == before && p.pos != p.bol {
				p.doubt()
				return
			}
			p.comment()
		}
		if !p.newline() {
			break
		}
		p.spaces()
		if !lineEnd(p.at(0)) && p.at(0) != '#' && (p.indent() <= parent || p.marker("---") || p.marker("...")) {
			p.doubt()
			return
		}
	}
}
