package repair

import (
	"bytes"
	"fmt"

	"gazetteer/protocol"
)

// A SyntaxFault is a construct that JSON does not have and that has one obvious correction.
type SyntaxFault struct {
	// Name is what the text has: "a trailing comma", "a comment", "a string in single quotes".
	Name string
	// Offset and End are the bytes of the construct.
	Offset, End int
}

// StandardJSON returns the text as JSON without its trailing commas, comments and single quotes,
// and these faults in order. Blanks replace what is removed, so every offset and line stays. The
// text is returned unchanged when it has none of them. The result may still be invalid for other
// reasons.
func StandardJSON(text []byte) (standard []byte, faults []SyntaxFault) {
	s := jsonScanner{text: text}
	s.scanAll()
	if len(s.faults) == 0 {
		return text, nil
	}
	standard = bytes.Clone(text)
	for _, f := range s.faults {
		if f.Name == singleQuotes {
			standard[f.Offset], standard[f.End-1] = '"', '"'
			continue
		}
		for i := f.Offset; i < f.End; i++ {
			if standard[i] != '\n' && standard[i] != '\r' {
				standard[i] = ' '
			}
		}
	}
	return standard, s.faults
}

const (
	trailingComma = "a trailing comma"
	comment       = "a comment"
	singleQuotes  = "a string in single quotes"
)

// A jsonScanner finds the faults of a text that is nearly JSON.
type jsonScanner struct {
	text   []byte
	faults []SyntaxFault
}

func (s *jsonScanner) scanAll() {
	comma := -1 // the offset of a comma with only blanks and comments after it
	for i := 0; i < len(s.text); {
		end := i + 1
		switch c := s.text[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
		case c == '"':
			end = stringEnd(s.text, i)
			comma = -1
		case c == '\'':
			end = stringEnd(s.text, i)
			if inner := s.text[i+1 : max(i+1, end-1)]; bytes.IndexByte(inner, '"') < 0 && !bytes.Contains(inner, []byte(`\'`)) && end-i > 1 && s.text[end-1] == c {
				s.faults = append(s.faults, SyntaxFault{singleQuotes, i, end})
			}
			comma = -1
		case c == '#' || bytes.HasPrefix(s.text[i:], []byte("//")):
			end = i + protocol.LineLength(s.text[i:])
			s.faults = append(s.faults, SyntaxFault{comment, i, end})
		case bytes.HasPrefix(s.text[i:], []byte("/*")):
			end = len(s.text)
			if n := bytes.Index(s.text[i+2:], []byte("*/")); n >= 0 {
				end = i + n + 4
			}
			s.faults = append(s.faults, SyntaxFault{comment, i, end})
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			s.insertFault(SyntaxFault{trailingComma, comma, comma + 1})
			comma = -1
		default:
			comma = -1
		}
		i = end
	}
}

// insertFault adds a trailing comma before the comments that follow it.
func (s *jsonScanner) insertFault(f SyntaxFault) {
	at := len(s.faults)
	for at > 0 && s.faults[at-1].Offset > f.Offset {
		at--
	}
	s.faults = append(s.faults[:at], append([]SyntaxFault{f}, s.faults[at:]...)...)
}

// stringEnd returns the offset after the string that begins at an offset. It ends at the line break
// if its quote is missing.
func stringEnd(text []byte, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[at]:
			return i + 1
		case '\n':
			return i
		}
	}
	return len(text)
}

// SyntaxFindings returns one finding for each kind of fault, at its first place. base is the
// finding of the reader, whose rule they take.
func SyntaxFindings(text []byte, base protocol.Finding, faults []SyntaxFault) []protocol.Finding {
	var out []protocol.Finding
	for _, kind := range groupFaults(faults) {
		out = append(out, syntaxFinding(text, base, kind))
	}
	return out
}

// groupFaults returns the faults of each kind that occurs.
func groupFaults(faults []SyntaxFault) [][]SyntaxFault {
	var out [][]SyntaxFault
	for _, name := range []string{trailingComma, comment, singleQuotes} {
		var kind []SyntaxFault
		for _, f := range faults {
			if f.Name == name {
				kind = append(kind, f)
			}
		}
		if len(kind) > 0 {
			out = append(out, kind)
		}
	}
	return out
}

// syntaxHelp says how to correct a fault.
var syntaxHelp = map[string]string{trailingComma: "remove the comma", comment: "remove the comment", singleQuotes: "write double quotes"}

// syntaxFinding returns the finding about faults of one kind.
func syntaxFinding(text []byte, base protocol.Finding, kind []SyntaxFault) protocol.Finding {
	f := base
	f.Line, f.Column = protocol.Place(text, kind[0].Offset)
	f.Pointer, f.Message = "", "this is not JSON: "+kind[0].Name
	if len(kind) > 1 {
		f.Message += fmt.Sprintf(" (the first of %d)", len(kind))
	}
	f.Help = syntaxHelp[kind[0].Name]
	return f
}

// syntaxEdits returns the edits that correct faults of one kind.
func syntaxEdits(text []byte, kind []SyntaxFault) []protocol.Edit {
	var edits []protocol.Edit
	for _, f := range kind {
		e := protocol.Edit{Offset: f.Offset, End: f.End}
		switch f.Name {
		case singleQuotes:
			e.Text = `"` + string(text[f.Offset+1:f.End-1]) + `"`
		case comment:
			e.Offset, e.End = extendComment(text, f.Offset, f.End)
		}
		edits = append(edits, e)
	}
	return edits
}

// extendComment extends a comment that ends its line by the blanks before it, and one that has its
// lines to itself by the line break.
func extendComment(text []byte, from, to int) (int, int) {
	end := to + protocol.LineLength(text[to:])
	if len(bytes.TrimSpace(text[to:end])) > 0 {
		return from, to
	}
	for from > 0 && (text[from-1] == ' ' || text[from-1] == '\t') {
		from--
	}
	if from > 0 && text[from-1] != '\n' {
		return from, end
	}
	if end < len(text) && text[end] == '\r' {
		end++
	}
	if end < len(text) && text[end] == '\n' {
		end++
	}
	return from, end
}
