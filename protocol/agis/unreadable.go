package agis

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"gazetteer/protocol"
	"gazetteer/protocol/yaml"
)

// This file explains why bytes are not an AGIS document, and what to do about it.

// reportUnreadable reports why a text could not be read.
func (c *checker) reportUnreadable(text []byte, err error) {
	syntax, ok := errors.AsType[*protocol.SyntaxError](err)
	if !ok {
		syntax = &protocol.SyntaxError{Message: err.Error()}
	}
	switch syntax.Problem {
	case protocol.Duplicate:
		c.AddSyntax("AGIS103", syntax, "remove one of the two: readers differ in which one they see")
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

// reportNoMapping reports a readable text that is not a mapping.
func (c *checker) reportNoMapping(text []byte, root *protocol.Node) {
	if root.Kind == protocol.String && bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("<")) {
		c.Add("AGIS102", root, "this is HTML or XML, not an AGIS document", "serve the document itself at this address, not a page about it")
		return
	}
	c.Add("AGIS102", root, "the document is "+describeKind(root.Kind)+", not a mapping", topHelp)
}

// checkMerged reports each merge key of a text that was refused for one, and checks the rest of the
// document as if the merged fields were written out. It reports false for any other text.
func (c *checker) checkMerged(text []byte, err error) bool {
	if syntax, ok := errors.AsType[*protocol.SyntaxError](err); !ok || syntax.Problem != protocol.Unsafe {
		return false
	}
	root, merges, err := yaml.ReadMerged(text, c.limits)
	if err != nil || len(merges) == 0 || root.Member("agis") == nil && root.Member("endpoints") == nil {
		return false
	}
	for _, syntax := range merges {
		c.AddSyntax("AGIS104", syntax, unsafeHelp(syntax.Message))
	}
	c.yaml = true
	c.readDocument(root)
	return true
}

// unsafeHelp says what to write instead of YAML that JSON cannot express, by the reader's message.
func unsafeHelp(message string) string {
	const reason = "; a published document uses only values of JSON"
	switch {
	case strings.Contains(message, "merge key"):
		return "write the merged fields out" + reason
	case strings.Contains(message, "tag"):
		return "remove the tag, and put the value in quotes if it is text" + reason
	case strings.Contains(message, "is not a string"):
		return "put the name in quotes: all names are text"
	case strings.Contains(message, "a key may not be"):
		return "write a name and a colon: all names are text"
	case strings.Contains(message, "aliases add"):
		return "use fewer aliases (*name), above all of values that contain aliases; put a schema that many endpoints share under schemas, and refer to it with $ref"
	default:
		return "write the value out wherever it is needed"
	}
}

var (
	illustrative = regexp.MustCompile(`(?m)^\s*[A-Z]+ +/[^\s{]*(?:\{[^}\s]*\}[^\s{]*)* *\{\s*$`)
	transition   = regexp.MustCompile(`(?m)^\s*[A-Za-z_.]+: *\[[^\]\n]*\] *->`)
)

// reportInvalid reports a text that is neither YAML nor JSON. Two mistakes come from the draft's
// own examples and have their own messages; for the rest, the reader's message decides.
func (c *checker) reportInvalid(text []byte, syntax *protocol.SyntaxError) {
	named := *syntax
	switch {
	case illustrative.Match(text):
		named.Message = "this is the illustrative notation of the draft (BOOK /reservation { … }), which is neither YAML nor JSON"
		c.AddSyntax("AGIS101", &named, `"gazetteer convert" makes YAML of it and marks each type that it had to guess`)
	case transition.Match(text):
		named.Message = "a state transition that begins with a bracket is not text in YAML"
		c.AddSyntax("AGIS101", &named, `put the values of state_transition in quotes: "[current] -> [current - amount]"`)
	default:
		c.AddSyntax("AGIS101", syntax, syntaxHelp(syntax.Message))
	}
}

// syntaxHelp says how to correct the mistake that a reader reports.
func syntaxHelp(message string) string {
	if strings.Contains(message, "ends before the JSON value") {
		return protocol.DescribeJSONRepair(message)
	}
	if strings.Contains(message, "not JSON") || strings.Contains(message, "JSON value") {
		return "fix the JSON at this place; there may be nothing before or after the one object"
	}
	if help := yaml.DescribeRepair(message); help != "" {
		return help
	}
	return "fix the text at this place or in the line above; the document is YAML or JSON in UTF-8"
}
