package agis

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"gazetteer/protocol"
)

// This file says why bytes are no AGIS document, and what to do about it.

// reportUnreadable reports what kept a text from being read.
func (c *checker) reportUnreadable(text []byte, err error) {
	syntax, ok := errors.AsType[*protocol.SyntaxError](err)
	if !ok {
		syntax = &protocol.SyntaxError{Message: err.Error()}
	}
	switch syntax.Problem {
	case protocol.Duplicate:
		c.AddSyntax("AGIS103", syntax, "keep one of the two: readers differ in which one they see")
	case protocol.Unsafe:
		c.AddSyntax("AGIS104", syntax, unsafeHelp(syntax.Message))
	case protocol.Several:
		c.AddSyntax("AGIS102", syntax, "publish one document a file")
	case protocol.Empty:
		c.AddSyntax("AGIS102", syntax, topHelp)
	case protocol.TooLarge:
		c.AddSyntax("AGIS105", syntax, "shorten its texts, or split the service into smaller ones")
	case protocol.TooDeep:
		c.AddSyntax("AGIS105", syntax, `nest less: put parts of a schema under schemas and refer to them with $ref`)
	case protocol.TooMany:
		c.AddSyntax("AGIS105", syntax, "list less in one place; a document made for people and agents stays far below this limit")
	case protocol.TooLongNumber:
		c.AddSyntax("AGIS105", syntax, "write fewer digits, or put it in quotes if it is a name and not a quantity")
	case protocol.NotUTF8:
		c.AddSyntax("AGIS101", syntax, "save the document as text in UTF-8 and publish that")
	default:
		c.reportInvalid(text, syntax)
	}
}

const topHelp = "write the fields agis, service, agtp, endpoints and vocabulary at the top level"

// reportNoMapping reports a text that can be read, as something else than a mapping.
func (c *checker) reportNoMapping(text []byte, root *protocol.Node) {
	if root.Kind == protocol.String && bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("<")) {
		c.Add("AGIS102", root, "this is HTML or XML, not an AGIS document", "serve the document itself at this address, not a page about it")
		return
	}
	c.Add("AGIS102", root, "the document is "+describeKind(root.Kind)+", not a mapping", topHelp)
}

// unsafeHelp says what to write in place of YAML that JSON cannot say, by the
// message of the reader.
func unsafeHelp(message string) string {
	const reason = "; a published document uses only what JSON can say"
	switch {
	case strings.Contains(message, "merge key"):
		return "write the merged fields out" + reason
	case strings.Contains(message, "tag"):
		return "take the tag out, and put the value in quotes if it is text" + reason
	case strings.Contains(message, "is not a string"):
		return "put the name in quotes: all names are text"
	case strings.Contains(message, "a key may not be"):
		return "write a name and a colon: all names are text"
	default:
		return "write the value out wherever it is needed"
	}
}

var (
	illustrative = regexp.MustCompile(`(?m)^\s*[A-Z]+ +/[^\s{]*(?:\{[^}\s]*\}[^\s{]*)* *\{\s*$`)
	transition   = regexp.MustCompile(`(?m)^\s*[A-Za-z_.]+: *\[[^\]\n]*\] *->`)
	surrogate    = regexp.MustCompile(`\\u[dD][89a-fA-F][0-9a-fA-F]{2}`)
)

// reportInvalid reports a text that is neither YAML nor JSON. Two habits come from the
// draft's own examples; the rest goes by the message of the reader.
func (c *checker) reportInvalid(text []byte, syntax *protocol.SyntaxError) {
	named := *syntax
	switch {
	case illustrative.Match(text):
		named.Message = "this is the illustrative notation of the draft (BOOK /reservation { … }), which is neither YAML nor JSON"
		c.AddSyntax("AGIS101", &named, `"gazetteer convert" makes YAML of it and marks each type that it had to guess`)
	case transition.Match(text):
		named.Message = "a state transition that begins with a bracket is no text in YAML"
		c.AddSyntax("AGIS101", &named, `put the values of state_transition in quotes: "[current] -> [current - amount]"`)
	default:
		c.AddSyntax("AGIS101", syntax, syntaxHelp(syntax.Message))
	}
}

// syntaxHelp says how to fix what a reader complains of.
func syntaxHelp(message string) string {
	if strings.Contains(message, "not JSON") || strings.Contains(message, "JSON value") {
		return "fix the JSON at this place; there may be nothing before or behind the one object"
	}
	for _, m := range mistakes {
		if strings.Contains(message, m.plain) {
			return m.help
		}
	}
	return "fix the text at this place or in the line above; the document is YAML or JSON in UTF-8"
}

// mistakes are what people do wrong in YAML: how the parser words it, how a
// person would, and how to fix it.
var mistakes = []struct{ parser, plain, help string }{
	{"mapping values are not allowed", "a colon and a space stand inside a text without quotes, or the line is indented wrongly",
		"put the text in quotes, or let the name begin in the same column as its neighbours"},
	{"mapping keys are not allowed", "a name may not begin here", "let names that belong together begin in the same column"},
	{"block sequence entries are not allowed", "an entry of a list may not begin here", "let the dashes of a list stand in one column, each on a line of its own"},
	{"could not find expected ':'", "a name has no colon", "write a colon and a space behind the name, or put a text of several lines in quotes"},
	{"did not find expected key", "this line does not fit the ones above", "let names that belong together begin in the same column, and put texts with quotes or brackets inside in quotes as a whole"},
	{"did not find expected '-' indicator", "an entry of this list has no dash", "write a dash and a space before each entry, all in one column"},
	{"did not find expected ',' or ']'", "a list in brackets is not closed", "write the ] that is missing, or a comma between two entries"},
	{"did not find expected ',' or '}'", "a mapping in braces is not closed", "write the } that is missing, or a comma between two fields"},
	{"did not find expected node content", "a value is missing", "write a value, or take the comma or bracket out"},
	{"tab", "a tab stands where only spaces may", "indent with spaces"},
	{"cannot start any token", "a text without quotes may not begin with this character", "put the text in quotes"},
	{"found unexpected end of stream", "a text in quotes is not closed", "write the quotation mark that is missing"},
	{"found unexpected document indicator", "a text in quotes is not closed", "write the quotation mark that is missing"},
	{"found unknown escape character", "there is no such escape after the backslash", `write a backslash as \\, or put the text in single quotes`},
	{"surrogate", "an escape names one half of a surrogate pair", `write the character itself, or \U and the eight digits of its code`},
	{"Unicode character escape code", "an escape names no character", "write the character itself, or its whole code"},
	{"unknown directive name", "a line that begins with % is a directive, and YAML knows none of this name", "take the line out"},
	{"incompatible YAML document", "the document asks for another version of YAML than 1", "take the %YAML line out"},
	{"control character", "a control character may not stand here", "take the character out, or write it as an escape in double quotes"},
}

// describeYAMLError words a message of the YAML parser as a person would. rest is the text
// from the line of the fault on, column where in the line it is.
func describeYAMLError(message string, rest []byte, column int) string {
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
