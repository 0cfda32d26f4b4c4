package yaml

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"gazetteer/protocol"
)

// surrogate is the escape of one half of a surrogate pair.
var surrogate = regexp.MustCompile(`\\u[dD][89a-fA-F][0-9a-fA-F]{2}`)

// mistakes lists common mistakes in YAML: the parser's message, a clearer one, and the correction.
var mistakes = []struct{ parser, plain, help string }{
	{"mapping values are not allowed", "there is a colon and a space inside a text without quotes, or the line is indented wrongly",
		"put the text in quotes, or let the name begin in the same column as its neighbors"},
	{"mapping keys are not allowed", "a name may not begin here", "let names that belong together begin in the same column"},
	{"block sequence entries are not allowed", "an entry of a list may not begin here", "align the dashes of a list in one column, each on its own line"},
	{"could not find expected ':'", "a name has no colon", "write a colon and a space after the name, or put a text of several lines in quotes"},
	{"did not find expected key", "this line does not fit the ones above", "let names that belong together begin in the same column, and put texts with quotes or brackets inside in quotes as a whole"},
	{"did not find expected '-' indicator", "an entry of this list has no dash", "write a dash and a space before each entry, all in one column"},
	{"did not find expected ',' or ']'", "a list in brackets is not closed", "write the ] that is missing, or a comma between two entries"},
	{"did not find expected ',' or '}'", "a mapping in braces is not closed", "write the } that is missing, or a comma between two fields; put a path such as /table/{id} in quotes"},
	{"did not find expected node content", "a value is missing", "write a value, or remove the comma or bracket"},
	{"tab", "there is a tab where only spaces are allowed", "indent with spaces"},
	{"cannot start any token", "a text without quotes may not begin with this character", "put the text in quotes"},
	{"found unexpected end of stream", "a text in quotes is not closed", "write the quotation mark that is missing"},
	{"found unexpected document indicator", "a text in quotes is not closed", "write the quotation mark that is missing"},
	{"found unknown escape character", "the backslash is followed by an unknown escape", `write a backslash as \\, or put the text in single quotes`},
	{"surrogate", "an escape names one half of a surrogate pair", `write the character itself, or \U and the eight digits of its code`},
	{"Unicode character escape code", "an escape names no character", "write the character itself, or its whole code"},
	{"unknown directive name", "a line that begins with % is a directive, and YAML has none of this name", "remove the line"},
	{"incompatible YAML document", "the document asks for another version of YAML than 1", "remove the %YAML line"},
	{"control character", "a control character is not allowed here", "remove the character, or write it as an escape in double quotes"},
}

// describeError rewrites a message of the YAML parser in plain words. rest is the text from the
// line of the error on, column the place in that line.
func describeError(message string, rest []byte, column int) string {
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	switch {
	case strings.Contains(message, "cannot start any token") && column <= len(line) && line[column-1] == '\t':
		message = "tab"
	case strings.Contains(message, "Unicode character escape code") && surrogate.Match(rest):
		message = "surrogate"
	}
	for _, m := range mistakes {
		if strings.Contains(message, m.parser) {
			return m.plain
		}
	}
	return "this is not YAML: " + message
}

// convertError converts the parser's error.
func convertError(text []byte, err error) error {
	out := &protocol.SyntaxError{Problem: protocol.Invalid, Line: 1, Column: 1, Message: "this is not YAML: " + err.Error()}
	load, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		return out
	}
	mark := load.Mark
	out.Message = describeError(load.Message, text, 1)
	switch {
	case strings.Contains(load.Message, errTooDeep.Error()):
		out.Problem, out.Message = protocol.TooDeep, "mappings and sequences nest too deep"
	case strings.Contains(load.Message, errTooManyCollections.Error()):
		out.Problem, out.Message = protocol.TooMany, "the document has too many mappings and sequences"
	case strings.Contains(load.Message, "unknown anchor"):
		out.Problem, out.Message = protocol.Unsafe, "an alias (*name) names an anchor that does not exist"
	case mark.Line == 0:
		// The parser names the character but not its place.
		if i := bytes.IndexFunc(text, isControl); i >= 0 {
			out.Offset = i
			out.Line, out.Column = protocol.Place(text, i)
			out.Message = "a control character is not allowed here"
			return out
		}
	}
	if mark.Line == 0 {
		mark = load.ContextMark
	}
	places := newPlaces(text)
	content := len(bytes.TrimRightFunc(text, isWhite))
	switch {
	case mark.Line > len(places.lines), mark.Line > 0 && places.lines[mark.Line-1] > content:
		// At the end, or in the blank lines before it: the place is where the text ends.
		out.Line, out.Column = places.place(content)
		out.Offset = content
		if out.Problem == protocol.Invalid {
			out.Message = describeError(load.Message, nil, 1)
		}
	case mark.Line > 0:
		out.Line, out.Column = mark.Line, max(mark.Column, 1)
		out.Offset = places.lines[mark.Line-1]
		if out.Problem == protocol.Invalid {
			out.Message = describeError(load.Message, text[out.Offset:], out.Column)
		}
	}
	return out
}

// isControl reports whether YAML does not allow a character (YAML 1.2 §5.1).
func isControl(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0x7F || r >= 0x80 && r < 0xA0 && r != 0x85 ||
		r == 0xFFFE || r == 0xFFFF
}

// DescribeRepair says how to correct a text that [Read] refused with a message, and returns "" if
// there is no advice.
func DescribeRepair(message string) string {
	for _, m := range mistakes {
		if strings.Contains(message, m.plain) {
			return m.help
		}
	}
	return ""
}
