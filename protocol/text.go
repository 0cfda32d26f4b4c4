package protocol

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// quoteLimit is how many characters of a stranger's text a message repeats.
const quoteLimit = 60

// Quote returns s in quotes, shortened and with control characters escaped, for
// use in a message.
func Quote(s string) string {
	if utf8.RuneCountInString(s) > quoteLimit {
		s = string([]rune(s)[:quoteLimit]) + "…"
	}
	return strconv.Quote(s)
}

// Length returns the length of s in characters (code points), which is what the
// drafts' limits count.
func Length(s string) int { return utf8.RuneCountInString(s) }

// ControlRune returns the first control character in s, and false if there is
// none.
func ControlRune(s string) (rune, bool) {
	for _, r := range s {
		if r < 0x20 || (r >= 0x7F && r < 0xA0) || r == 0x2028 || r == 0x2029 {
			return r, true
		}
	}
	return 0, false
}

// Instruction reports whether a text tries to speak to a model rather than to
// describe something: it holds a phrase such as "ignore previous instructions"
// or characters that a person does not see. The answer names what was found.
// Joiners and direction marks that ordinary Persian, Indic, Arabic, Hebrew or
// emoji text needs are left alone.
func Instruction(s string) (found string, ok bool) {
	if name, ok := hiddenRune(s); ok {
		return name, true
	}
	if !mayInstruct(strings.ToLower(s)) {
		return "", false
	}
	if m := instructionPattern.FindString(s); m != "" {
		return "the words " + Quote(strings.TrimSpace(m)), true
	}
	return "", false
}

// mayInstruct is a cheap test that nearly every honest text fails, so that the
// pattern need not run on it. s is in lower case.
func mayInstruct(s string) bool {
	return strings.Contains(s, "instruct") || strings.Contains(s, "prompt") || strings.Contains(s, "rule") ||
		strings.Contains(s, "message") || strings.Contains(s, "direction") || strings.Contains(s, "you are now") ||
		strings.Contains(s, "system") || strings.Contains(s, "assistant") || strings.Contains(s, "<")
}

var instructionPattern = regexp.MustCompile(`(?i)\b(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+)?(?:of\s+)?(?:the\s+|your\s+|these\s+)?(?:previous|prior|earlier|above|preceding|system)\s+(?:instruction|prompt|rule|message|direction)s?\b` +
	`|\byou are now (?:a|an|the|in)\b` +
	`|(?:^|[\r\n])\s*(?:system|assistant)\s*:` +
	`|<\|?(?:im_start|im_end|system|endoftext)\|?>`)

// hiddenRune names the first invisible character in s that has no use in honest
// text.
func hiddenRune(s string) (string, bool) {
	flag := false // inside an emoji flag, which is spelled with tag characters
	for _, r := range s {
		tag := r >= 0xE0020 && r <= 0xE007F
		switch {
		case tag && flag:
			continue
		case r >= 0xE0000 && r <= 0xE007F:
			return "a hidden tag character " + codePoint(r), true
		case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
			return "a text direction control " + codePoint(r), true
		case r == 0x200B, r == 0x2060, r == 0xFEFF:
			return "a zero-width character " + codePoint(r), true
		}
		flag = r == 0x1F3F4
	}
	return "", false
}

func codePoint(r rune) string {
	hex := strings.ToUpper(strconv.FormatInt(int64(r), 16))
	return "U+" + strings.Repeat("0", max(0, 4-len(hex))) + hex
}
