package mcpserver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode"

	"gazetteer/api/answer"
	"gazetteer/call"
	"gazetteer/protocol"
)

// maxText is the number of characters of an untrusted text that a result shows.
const maxText = 300

// tokensArgument is the argument of each tool that limits its result.
const tokensArgument = "within_tokens"

const (
	defaultTokens = 1500
	minTokens     = 100
	maxTokens     = 100_000
)

// cleanText prepares a text for a model: white space becomes a space, control characters and
// characters that cannot be seen are dropped, and the rest is cut to a number of characters.
// U+200C and U+200D stay, because Persian and many emoji need them.
func cleanText(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == '\u200c' || r == '\u200d':
			return r
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs), r == unicode.ReplacementChar,
			r >= 0xfe00 && r <= 0xfe0e, r >= 0xe0100 && r <= 0xe01ef, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return protocol.ClipRunes(strings.Join(strings.Fields(text), " "), most)
}

// strangerText is cleanText, but returns "" for a text that addresses a model.
func strangerText(text string, most int) string {
	return cleanText(call.DropInstruction(text), most)
}

// safeWord returns a word that a service chose, such as a verb, or "" for one that is not plain:
// results show it outside of the texts that are marked as a service's.
func safeWord(word string) string {
	if !answer.IsPlainWord(word) {
		return ""
	}
	return word
}

// safeWords returns the safe words among some.
func safeWords(words []string) (out []string) {
	for _, word := range words {
		if word = safeWord(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// maxID is the number of bytes of the id of an operation that a result shows.
const maxID = 200

// shownID returns the id of an operation as one word, or "" for one that is long or addresses a model:
// a service chooses a part of it, and results show it outside of the texts that are marked as such.
func shownID(id string) string {
	if len(id) > maxID || strangerText(strings.Map(spaceForSign, id), maxID) == "" {
		return ""
	}
	return encodeID(id)
}

// spaceForSign makes the words of an id those of a text.
func spaceForSign(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '\'' {
		return r
	}
	return ' '
}

// encodeID writes an operation id so that it is one word.
func encodeID(id string) string {
	var b strings.Builder
	for _, c := range []byte(id) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/:@{}", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// decodeID reverses encodeID; a text that is not encoded is returned unchanged.
func decodeID(text string) string {
	if id, err := url.PathUnescape(text); err == nil {
		return id
	}
	return text
}

// tokenLimit returns the tokens a result may take; 0 means that none were asked for.
func tokenLimit(asked int) int { return cmp.Or(asked, defaultTokens) }

// fitItems returns the largest n for which a result with its first n items takes no more than the
// tokens. build returns such a result.
func fitItems(items, tokens int, build func(n int) any) (fit int, err error) {
	takes := func(n int) (int, error) {
		text, err := json.Marshal(build(n))
		if err != nil {
			return 0, fmt.Errorf("write the result: %w", err)
		}
		return protocol.Tokens(string(text)), nil
	}
	if cost, err := takes(items); err != nil || cost <= tokens {
		return items, err
	}
	low, high := 0, items-1
	for low < high {
		middle := (low + high + 1) / 2
		cost, err := takes(middle)
		if err != nil {
			return 0, err
		}
		if cost <= tokens {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return max(low, 0), nil
}
