package conversion

import (
	"bytes"
	"errors"
	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"regexp"
)

// openAPILimits are those of a description that somebody converts. Published
// ones reach some 10 MB; a depth of 128 is beyond all of them.
var openAPILimits = protocol.Limits{Bytes: 16 << 20, Depth: 128, Members: 20000, Number: 400}

// ReadText reads JSON, or YAML where the text is none.
func ReadText(text []byte) (*protocol.Node, error) {
	if err := protocol.CheckText(text, openAPILimits); len(text) > openAPILimits.Bytes {
		return nil, err
	}
	text, _ = protocol.TrimBOM(text)
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	if len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		root, err := protocol.ReadJSON(text, openAPILimits)
		syntax, ok := errors.AsType[*protocol.SyntaxError](err)
		if !ok || syntax.Problem != protocol.Invalid {
			return root, err
		}
		if root, yamlErr := readYAMLKeys(text); yamlErr == nil {
			return root, nil
		}
		return nil, err
	}
	return readYAMLKeys(text)
}

// readYAMLKeys reads YAML in which keys may look like numbers, as the status
// codes of OpenAPI do that nobody quoted (200:). Our reader wants keys to be
// strings, so those are put in quotes first.
func readYAMLKeys(text []byte) (*protocol.Node, error) {
	root, err := agis.ReadYAML(text, openAPILimits)
	syntax, ok := errors.AsType[*protocol.SyntaxError](err)
	if !ok || syntax.Problem != protocol.Unsafe {
		return root, err
	}
	if quoted := quoteKeys(text); len(quoted) > len(text) {
		return agis.ReadYAML(quoted, openAPILimits)
	}
	return nil, err
}

var (
	// plainKey matches a key that YAML reads as another scalar than a string.
	plainKey    = regexp.MustCompile(`\A(?:[-+]?[0-9][0-9.eE+_]*|true|false|null|~)[ ]*:(?:[ \r\t\n]|\z)`)
	blockScalar = regexp.MustCompile(`(?:^|[:\-] +)(?:!!str +)?[|>][-+0-9]*[ \t]*(?:#.*)?\r?$`)
)

// quoteKeys puts keys that are numbers or other plain scalars in quotes, but
// leaves the text of block scalars, of quoted scalars and of comments alone.
func quoteKeys(text []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(text) + len(text)/32)
	inside := -1 // indentation of the key whose block scalar goes on
	quote := byte(0)
	for line := range bytes.SplitAfterSeq(text, []byte("\n")) {
		bare := bytes.TrimRight(line, "\r\n")
		content := bytes.TrimLeft(bare, " ")
		indent := len(bare) - len(content)
		if quote == 0 && inside >= 0 && (len(content) == 0 || indent > inside) {
			out.Write(line)
			continue
		}
		inside = -1
		quote = quoteLine(&out, line, quote)
		if quote == 0 && blockScalar.Match(bare) {
			inside = indent
		}
	}
	return out.Bytes()
}

// quoteLine writes one line with its plain keys quoted. quote is the mark of a
// quoted scalar that the line begins in, 0 for none; the one it ends in is
// returned.
func quoteLine(out *bytes.Buffer, line []byte, quote byte) byte {
	fresh := true // a value or a key may begin here
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '"' && c == '\\' && i+1 < len(line):
			out.WriteByte(c)
			i++
			c = line[i]
		case quote != 0:
			if c == quote {
				quote = 0 // two of ' in a row end one scalar and begin the next
			}
			fresh = false
		case c == ' ' || c == '\t':
		case c == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			out.Write(line[i:])
			return 0
		case (c == '"' || c == '\'') && (fresh || line[i-1] == c):
			quote = c
		case fresh && plainKey.Match(line[i:]):
			end := i + bytes.IndexByte(line[i:], ':')
			key := bytes.TrimRight(line[i:end], " ")
			out.WriteByte('\'')
			out.Write(key)
			out.WriteByte('\'')
			i += len(key) - 1
			fresh = false
			continue
		default:
			next := byte(' ')
			if i+1 < len(line) {
				next = line[i+1]
			}
			spaced := next == ' ' || next == '\t' || next == '\r' || next == '\n'
			fresh = c == '{' || c == '[' || c == ',' || (c == ':' || c == '?') && spaced || c == '-' && spaced && fresh
		}
		out.WriteByte(c)
	}
	return quote
}
