package protocol

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Problem is the kind of error that makes a text unreadable. Each draft package maps it to the code
// of its own rule.
type Problem uint8

// The kinds of errors.
const (
	// NotUTF8: a byte sequence that is not UTF-8.
	NotUTF8 Problem = iota + 1
	// BOM: the text begins with a byte order mark.
	BOM
	// Invalid: the text breaks the grammar of its format, or more text follows it.
	Invalid
	// Duplicate: an object has the same member name twice.
	Duplicate
	// TooDeep: objects and arrays nest deeper than [Limits.Depth].
	TooDeep
	// TooMany: an object or array has more than [Limits.Members] entries, or
	// the names in the text are too long for how deeply they nest.
	TooMany
	// TooLongNumber: a number literal is longer than [Limits.Number].
	TooLongNumber
	// TooLarge: the text is longer than [Limits.Bytes].
	TooLarge
	// Unsafe: a construct that a text from a stranger may not use, such as a
	// YAML alias.
	Unsafe
	// Several: more than one document in one text.
	Several
	// Empty: no value at all where the format allows that (YAML).
	Empty
)

var problemNames = [...]string{
	NotUTF8: "not-utf8", BOM: "bom", Invalid: "invalid", Duplicate: "duplicate",
	TooDeep: "too-deep", TooMany: "too-many", TooLongNumber: "too-long-number",
	TooLarge: "too-large", Unsafe: "unsafe", Several: "several", Empty: "empty",
}

// String returns the name of the problem, for example "too-deep".
func (p Problem) String() string {
	if int(p) < len(problemNames) && problemNames[p] != "" {
		return problemNames[p]
	}
	return "unknown"
}

// A SyntaxError says why a text could not be read, and where.
type SyntaxError struct {
	Problem Problem
	// Pointer is the RFC 6901 pointer of the innermost value that was being read.
	Pointer string
	// Line and Column count from 1, Column in characters.
	Line, Column int
	// Offset counts bytes from the beginning of the text.
	Offset int
	// Message describes the problem in plain words, without the place.
	Message string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// Errors that the Parse functions of the packages below wrap. All other problems of a document are
// [Finding]s.
var (
	// ErrUnreadable: the bytes are not a document of the format.
	ErrUnreadable = errors.New("unreadable document")
	// ErrOtherFormat: the bytes are a document of another published format.
	ErrOtherFormat = errors.New("document of another format")
)

// Place returns the line and column of a byte offset in text, both from 1 and
// the column in characters, as an editor shows them.
func Place(text []byte, offset int) (line, column int) {
	var p place
	return p.advanceTo(text, min(offset, len(text)))
}

// place converts ascending offsets of a text to lines and columns, so that the places of all nodes
// together cost one pass.
type place struct {
	offset int
	lines  int // line feeds before offset
	column int // characters between the last of them and offset
}

func (p *place) advanceTo(text []byte, offset int) (line, column int) {
	for p.offset < offset {
		switch c := text[p.offset]; {
		case c == '\n':
			p.lines++
			p.column = 0
		case utf8.RuneStart(c):
			p.column++
		}
		p.offset++
	}
	return p.lines + 1, p.column + 1
}
