package protocol

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Instruction reports whether a text addresses a model instead of describing something: it contains
// a phrase such as "ignore previous instructions", a mark of chat templates, or invisible
// characters. The result names what was found. Joiners and direction marks that ordinary Persian,
// Indic, Arabic, Hebrew or emoji text needs are allowed. It takes one pass over any text.
func Instruction(s string) (found string, ok bool) {
	begin := true // whether a word may begin here
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if name, ok := describeHidden(r, s[:i]); ok {
				return name, true
			}
			begin = false
			i += size
			continue
		}
		if begin || c == '<' || c == '[' {
			if length := phraseLength(s, i); length > 0 {
				return "the words " + Quote(s[i:i+length]), true
			}
		}
		begin = !isLetter(c) && (c < '0' || c > '9') && c != '_'
		i++
	}
	return "", false
}

// DescribeInstruction adds to a result of [Instruction] what is wrong with it.
func DescribeInstruction(found string) string {
	if strings.HasPrefix(found, "the words") {
		return found + ", which address a model instead of describing something"
	}
	return found + ", which people cannot see but models can"
}

// describeHidden returns the name of a character that is invisible and has no legitimate use;
// before is the text that precedes it.
func describeHidden(r rune, before string) (string, bool) {
	switch {
	case r >= 0xE0000 && r <= 0xE007F:
		if r >= 0xE0020 && endsInFlag(before) {
			return "", false
		}
		return "a hidden tag character " + codePoint(r), true
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
		return "a text direction control " + codePoint(r), true
	case r == 0x200B, r >= 0x2060 && r <= 0x2064, r >= 0x206A && r <= 0x206F, r == 0xFEFF:
		return "a zero-width character " + codePoint(r), true
	case r == 0x034F, r == 0x3164, r == 0xFFA0:
		return "a blank filler " + codePoint(r), true
	case r >= 0xE0100 && r <= 0xE01EF && !endsIn(before, isHan), isVariationSelector(r) && endsIn(before, isVariationSelector):
		return "a hidden variation selector " + codePoint(r), true
	case isInvisible(r) && endsIn(before, isInvisible, isInvisible):
		return "a sequence of invisible characters with " + codePoint(r), true
	}
	return "", false
}

// isVariationSelector reports whether a character chooses a form of the one before it: a sequence of
// them is invisible, and each can stand for a byte.
func isVariationSelector(r rune) bool {
	return r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF
}

// isInvisible reports whether a character that ordinary text needs is invisible itself. An emoji may
// have two of them in sequence, and no text has three.
func isInvisible(r rune) bool {
	return r >= 0x200C && r <= 0x200F || r == 0x061C || isVariationSelector(r)
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// endsIn reports whether the last characters of a text are of these kinds, the last one first.
func endsIn(text string, kinds ...func(rune) bool) bool {
	for _, is := range kinds {
		r, size := utf8.DecodeLastRuneInString(text)
		if size == 0 || !is(r) {
			return false
		}
		text = text[:len(text)-size]
	}
	return true
}

// maxFlagTags is the number of tag characters in the longest emoji flag: a region of six letters
// and digits, and the terminator.
const maxFlagTags = 7

// endsInFlag reports whether text ends inside the emoji flag of a region, which is a black flag
// followed by tag characters.
func endsInFlag(text string) bool {
	for range maxFlagTags {
		r, size := utf8.DecodeLastRuneInString(text)
		if r == 0x1F3F4 {
			return true
		}
		if r < 0xE0020 || r > 0xE007E {
			return false
		}
		text = text[:len(text)-size]
	}
	return false
}

// phraseLength returns the length of the phrase for models that begins at s[i], or 0.
func phraseLength(s string, i int) int {
	if s[i] == '<' || s[i] == '[' {
		for _, mark := range chatMarks {
			if len(s)-i >= len(mark) && strings.EqualFold(s[i:i+len(mark)], mark) {
				return len(mark)
			}
		}
		return 0
	}
	switch s[i] | 0x20 {
	case 'i', 'd', 'f', 'o', 'b':
		return dismissalLength(s, i)
	case 'y':
		w := words{s, i}
		if w.takeOneOf("you") && w.takeOneOf("are") && w.takeOneOf("now") && w.takeOneOf("a", "an", "the", "in") {
			return w.at - i
		}
		w = words{s, i}
		if w.takeOneOf("your") && w.takeOneOf("system", "hidden", "initial") && w.takeOneOf("prompt", "instructions") {
			return w.at - i
		}
	case 's', 'a':
		w := words{s, i}
		if strings.TrimRight(s[lineStart(s, i):i], " \t") == "" && w.takeOneOf("system", "assistant") {
			if rest := strings.TrimLeft(s[w.at:min(len(s), w.at+4)], " \t"); strings.HasPrefix(rest, ":") {
				return w.at - i
			}
		}
	}
	return 0
}

// chatMarks delimit the turns of a chat in the templates of popular models.
var chatMarks = []string{
	"<|im_start|>", "<|im_end|>", "<|system|>", "<|endoftext|>", "<im_start>", "<im_end>", "<system>", "<endoftext>",
	"<<SYS>>", "[INST]",
}

// dismissalLength returns the length of a phrase like "ignore all of the previous instructions" at
// the beginning of a text: a verb, short words, one that refers back, a noun; or the noun first.
func dismissalLength(s string, i int) int {
	w := words{s, i}
	if !w.takeOneOf("ignore", "disregard", "forget", "override", "bypass") {
		return 0
	}
	for range 4 {
		if !w.takeOneOf("all", "any", "of", "the", "your", "these", "those", "every", "my") {
			break
		}
	}
	noun := []string{"instruction", "instructions", "prompt", "prompts", "rule", "rules", "message", "messages", "direction", "directions", "guidelines"}
	if w.takeOneOf("previous", "prior", "earlier", "above", "preceding", "foregoing", "system") {
		if w.takeOneOf(noun...) {
			return w.at - i
		}
		return 0
	}
	if w.takeOneOf(noun...) && w.takeOneOf("above", "before", "previously", "earlier", "given", "you") {
		return w.at - i
	}
	return 0
}

// words reads words from the left of a text, separated by white space.
type words struct {
	s  string
	at int
}

// takeOneOf reads the next word if it is one of these, in any letter case.
func (w *words) takeOneOf(any ...string) bool {
	begin := w.at
	for begin < len(w.s) && begin-w.at < 8 && strings.IndexByte(" \t\r\n", w.s[begin]) >= 0 {
		begin++
	}
	end := begin
	for end < len(w.s) && end-begin < 16 && isLetter(w.s[end]) {
		end++
	}
	for _, word := range any {
		if len(word) == end-begin && strings.EqualFold(w.s[begin:end], word) {
			w.at = end
			return true
		}
	}
	return false
}

// lineStart returns the start of the line of s[i], or an offset at most eight bytes before i, which
// is enough to find blanks at the start of a line.
func lineStart(s string, i int) int {
	begin := i
	for begin > 0 && i-begin < 8 && s[begin-1] != '\n' && s[begin-1] != '\r' {
		begin--
	}
	return begin
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func codePoint(r rune) string {
	hex := strings.ToUpper(strconv.FormatInt(int64(r), 16))
	return "U+" + strings.Repeat("0", max(0, 4-len(hex))) + hex
}
