package mailbox

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"gazetteer/protocol/jcs"
)

// Search returns the messages that hold every word of a query, the newest first. Words match from
// their beginning and without regard to case, so that "trans" finds "Translate"; in writing without
// spaces they match anywhere. Words in double quotes must stand next to each other. Searched are the
// texts of bodies, as they were opened, the DIDs of both parties, and the ids of message and thread.
func (m *Mailbox) Search(ctx context.Context, query string, s MessageFilter) (out []Message, err error) {
	err = m.scan(ctx, splitQuery(query), func(message Message) bool {
		if s.matches(message) {
			out = append(out, message)
		}
		return s.Limit == 0 || len(out) < s.Limit
	})
	return out, err
}

// splitQuery returns the words and the quoted phrases of a query, folded.
func splitQuery(query string) (out []string) {
	for i, part := range strings.Split(query, `"`) {
		if i%2 == 1 {
			if phrase := strings.Join(strings.Fields(foldText(part)), " "); phrase != "" {
				out = append(out, phrase)
			}
			continue
		}
		out = append(out, strings.Fields(foldText(part))...)
	}
	return out
}

// foldText makes texts equal that differ in case or in compatible forms of characters.
func foldText(text string) string { return cases.Fold().String(norm.NFKC.String(text)) }

// searchText returns all that is searched of a message, folded.
func searchText(m Message) string {
	var b strings.Builder
	for _, text := range []string{m.From, m.To, m.ID, m.ThreadID} {
		b.WriteString(text)
		b.WriteByte('\n')
	}
	var d jcs.Document
	if d.Parse(m.Content, jcs.Options{Numbers: jcs.Verbatim}) == nil {
		appendTexts(&b, d.Root())
	}
	return strings.Join(strings.Fields(foldText(b.String())), " ")
}

// appendTexts appends every string of a JSON value.
func appendTexts(b *strings.Builder, v jcs.Value) {
	if v.Kind() == jcs.String {
		b.WriteString(v.Text())
		b.WriteByte('\n')
	}
	for _, member := range v.Members() {
		appendTexts(b, member)
	}
	for element := range v.Elements() {
		appendTexts(b, element)
	}
}

func containsAll(text string, wanted []string) bool {
	for _, w := range wanted {
		if !containsWord(text, w) {
			return false
		}
	}
	return true
}

// containsWord reports whether a word begins somewhere in a text.
func containsWord(text, word string) bool {
	first, _ := utf8.DecodeRuneInString(word)
	anywhere := isUnspaced(first) || !isWordRune(first)
	for at := 0; ; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at+i])
		if anywhere || at+i == 0 || !isWordRune(before) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[at+i:])
		at += i + size
	}
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// isUnspaced reports whether a character belongs to a writing that puts no spaces between words.
// Korean does, but joins particles to them.
func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
