package frame

import (
	"html/template"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The text of a rule has names and values in backquotes. A finding names members without marks, because
// the command line and the API have the same text: "returns is missing". A page sets both in the font of
// code.

// markRule returns the text of a rule as HTML.
func markRule(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			b.WriteString("<code>" + string(breakable(part)) + "</code>")
		} else {
			b.WriteString(string(breakable(part)))
		}
	}
	return template.HTML(b.String())
}

// memberNames are members whose names are no words of English.
var memberNames = []string{"aiendpoint", "agis", "agtp", "auth", "meta", "params", "negotiable"}

// wordMembers are members whose names are also words of English: they are members where a text begins
// with them in lower case, or where another member follows after a dot.
var wordMembers = []string{
	"actor", "capabilities", "capability", "category", "changelog", "class", "description", "domain", "endpoint", "endpoints", "errors",
	"id", "input", "intent", "language", "method", "methods", "name", "namespace", "outcome", "output", "path", "returns", "schemas",
	"sensitivity", "service", "status", "version", "vocabulary",
}

// memberWord matches the words of a text, with names such as last_updated and auth.docs as one word.
var memberWord = regexp.MustCompile(`/\.well-known/[a-z.]*[a-z]|[A-Za-z][A-Za-z0-9]*(?:[_.][A-Za-z0-9]+)*`)

// markMembers returns the first n characters of a text about a document as HTML, with the names of
// members in the font of code.
func markMembers(n int, text string) template.HTML { return markNames(n, text, true) }

// markNames is markMembers. firstIsName says that a member can be the first word.
func markNames(n int, text string, firstIsName bool) template.HTML {
	text = clipWords(n, text)
	var b strings.Builder
	for i, part := range strings.Split(text, `"`) {
		if i > 0 {
			b.WriteByte('"')
		}
		if i%2 == 1 { // quoted from the document
			b.WriteString(string(breakable(part)))
			continue
		}
		end := 0
		for _, at := range memberWord.FindAllStringIndex(part, -1) {
			if word := part[at[0]:at[1]]; isMember(word, firstIsName && i == 0 && at[0] == 0) {
				b.WriteString(string(breakable(part[end:at[0]])))
				b.WriteString("<code>" + string(breakable(word)) + "</code>")
				end = at[1]
			}
		}
		b.WriteString(string(breakable(part[end:])))
	}
	return template.HTML(b.String())
}

// isMember reports whether a word of a text is the name of a member or a discovery path. first says
// that the text begins with it.
func isMember(word string, first bool) bool {
	if strings.HasPrefix(word, "/.well-known/") || strings.Contains(word, "_") || slices.Contains(memberNames, word) {
		return true
	}
	parent, _, dotted := strings.Cut(word, ".")
	if dotted {
		return slices.Contains(memberNames, parent) || slices.Contains(wordMembers, parent)
	}
	return first && slices.Contains(wordMembers, word)
}

// markSentence is markMembers for a finding: the text becomes a sentence, unless it begins with the
// name of a member.
func markSentence(n int, text string) template.HTML {
	text = strings.TrimSpace(text)
	if at := memberWord.FindStringIndex(text); at != nil && at[0] == 0 && isMember(text[:at[1]], true) {
		return markMembers(n, text)
	}
	return markAdvice(n, text)
}

// markAdvice is markSentence for the help of a finding, which begins with a verb: "name the fields".
func markAdvice(n int, text string) template.HTML {
	return markNames(n, capitalize(text), false)
}

// capitalize begins a text with a capital letter, and also what follows a proposal: "Did you mean POST?
// Use one of the five methods".
func capitalize(text string) string {
	if proposal, rest, ok := strings.Cut(text, "? "); ok && strings.HasPrefix(text, "did you mean ") {
		return "D" + proposal[1:] + "? " + capitalize(rest)
	}
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
