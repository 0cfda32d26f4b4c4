package repair

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"gazetteer/protocol"
)

// CodePasted is the code of the rule about such faults. Package lint has the rule.
const CodePasted = "DOC104"

// A PasteFault is what a chat or a word processor adds to a document: the lines around a code block,
// or curly quotation marks.
type PasteFault struct {
	// Message says what is wrong, Help how to correct it.
	Message, Help string
	// Offset is the byte of the first place.
	Offset int
	// Edits correct it.
	Edits []protocol.Edit
}

// FindPasteFaults returns what was pasted with the document of a text, and the text without it, in
// which every line and column stays. It returns no faults if there are none. It looks at the form
// alone: a text that can be read as it is may have such characters in its values.
func FindPasteFaults(text []byte) (plain []byte, faults []PasteFault) {
	if len(text) > protocol.DefaultLimits.Bytes {
		return text, nil
	}
	from, to := documentBlock(text)
	if from > 0 || to < len(text) {
		f := PasteFault{Message: "the document is between lines of ```, as a chat shows it", Help: "remove these lines and all text before and after them"}
		if from > 0 {
			f.Edits = append(f.Edits, protocol.Edit{End: from})
		} else {
			f.Offset = to
		}
		if to < len(text) {
			f.Edits = append(f.Edits, protocol.Edit{Offset: to, End: len(text)})
		}
		faults = append(faults, f)
	}
	if marks := curlyMarks(text, from, to); len(marks) > 0 {
		faults = append(faults, PasteFault{
			Message: "the quotation marks are curly, as word processors write them", Help: `write straight quotation marks (")`, Offset: marks[0].Offset, Edits: marks,
		})
	}
	var edits []protocol.Edit
	for _, f := range faults {
		for _, e := range f.Edits {
			if e.Text == "" { // text around the document: its lines stay
				e.Text = strings.Repeat("\n", bytes.Count(text[e.Offset:e.End], []byte("\n")))
			}
			edits = append(edits, e)
		}
	}
	plain, err := protocol.ApplyEdits(text, edits)
	if err != nil || len(faults) == 0 {
		return text, nil
	}
	return plain, faults
}

// MayBePasted reports whether a text with this tree can have such faults although it can be read: YAML
// takes curly quotation marks as parts of the names. root may be nil.
func MayBePasted(root *protocol.Node) bool {
	if root == nil || root.Kind != protocol.Object {
		return true
	}
	return slices.ContainsFunc(root.Items, func(m *protocol.Node) bool { return strings.ContainsAny(m.Key, curlyDouble) })
}

// documentStart matches the beginning of a document in JSON, or a line that every AGIS document in
// YAML has.
var documentStart = regexp.MustCompile(`\A\s*[{\[]|(?m:^[“"]?agis[”"]?\s*:)`)

// maxFences is how many lines of ``` are looked at.
const maxFences = 40

// documentBlock returns the place of the document in a text with lines of ``` or ~~~: the first block
// that begins like one, or the text before such a line. It is the whole text if there is none.
func documentBlock(text []byte) (from, to int) {
	open, fence := -1, ""
	for at, fences := 0, 0; at < len(text) && fences < maxFences; {
		end := at + protocol.LineLength(text[at:])
		line := strings.TrimSpace(string(text[at:min(end, at+200)]))
		next := min(end+1, len(text))
		switch {
		case !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "~~~"):
			fences--
		case open < 0 || line[:3] != fence || strings.Trim(line, line[:1]) != "":
			if open < 0 && documentStart.Match(text[:at]) { // the first line of ``` was not copied
				return 0, at
			}
			open, fence = next, line[:3]
		case documentStart.Match(text[open:at]):
			return open, at
		default:
			open = -1
		}
		fences++
		at = max(next, at+1)
	}
	if open >= 0 && documentStart.Match(text[open:]) {
		return open, len(text)
	}
	return 0, len(text)
}

// curlyDouble and curlySingle are the quotation marks of word processors, of several languages.
const (
	curlyDouble = "“”„‟"
	curlySingle = "‘’‚‛"
)

// Curly marks in YAML are quotation marks at the beginning and the end of a value or key.
var (
	yamlOpening = regexp.MustCompile(`(?m)(?:^[ \t]*(?:- +)*|[:,{\[][ \t]*)([` + curlyDouble + `])`)
	yamlClosing = regexp.MustCompile(`(?m)([` + curlyDouble + `])[ \t\r]*(?:[:,}\]]|$)`)
)

// curlyMarks returns the edits that replace curly quotation marks by straight ones.
func curlyMarks(text []byte, from, to int) []protocol.Edit {
	part := text[from:to]
	if !bytes.ContainsAny(part, curlyDouble+curlySingle) {
		return nil
	}
	var edits []protocol.Edit
	replace := func(at, size int) {
		edits = append(edits, protocol.Edit{Offset: from + at, End: from + at + size, Text: `"`})
	}
	if start := bytes.TrimSpace(part); len(start) == 0 || start[0] != '{' && start[0] != '[' {
		seen := map[int]bool{}
		for _, form := range []*regexp.Regexp{yamlOpening, yamlClosing} {
			for _, m := range form.FindAllSubmatchIndex(part, -1) {
				if !seen[m[2]] {
					seen[m[2]] = true
					replace(m[2], m[3]-m[2])
				}
			}
		}
		slices.SortFunc(edits, func(a, b protocol.Edit) int { return a.Offset - b.Offset })
		return edits
	}
	for i := 0; i < len(part); {
		r, size := utf8.DecodeRune(part[i:])
		switch {
		case r == '"':
			size = stringEnd(part, i) - i
		case strings.ContainsRune(curlyDouble+curlySingle, r):
			if end, last := curlyEnd(part, i+size); end > 0 {
				replace(i, size)
				for at := i + size; at < end; at++ {
					if part[at] == '\\' {
						at++
					} else if part[at] == '"' {
						edits = append(edits, protocol.Edit{Offset: from + at, End: from + at, Text: `\`})
					}
				}
				replace(end, last)
				size = end + last - i
			} else { // nothing in this line ends a string
				size += protocol.LineLength(part[i+size:])
			}
		}
		i += size
	}
	return edits
}

// curlyEnd returns the place and the size of the quotation mark that ends a string: the first that the
// syntax of JSON can follow, in the same line. The place is 0 if there is none.
func curlyEnd(part []byte, from int) (end, size int) {
	for i := from; i < len(part) && part[i] != '\n'; {
		r, n := utf8.DecodeRune(part[i:])
		if r == '\\' {
			i += n + 1
			continue
		}
		if r == '"' || strings.ContainsRune(curlyDouble+curlySingle, r) {
			rest := bytes.TrimLeft(part[i+n:min(len(part), i+n+200)], " \t\r\n")
			if len(rest) == 0 || bytes.IndexByte([]byte(":,}]"), rest[0]) >= 0 {
				return i, n
			}
		}
		i += n
	}
	return 0, 0
}
