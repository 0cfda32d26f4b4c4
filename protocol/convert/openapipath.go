package convert

import (
	"regexp"
	"strings"
	"unicode"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/english"
)

var (
	pathPrefix    = regexp.MustCompile(`(?i)\A(?:api|apis|rest|v?[0-9]+(?:[._-][0-9]+)*(?:(?:alpha|beta|rc)[0-9]*)?)\z`)
	pathExtension = regexp.MustCompile(`(?i)\.(?:json|xml|php|html?|aspx?|jsp|do|cgi|ashx)\z`)
	pathTemplate  = regexp.MustCompile(`\{([^{}]*)\}`)
)

// A pathPart is one segment of a path: the words of a noun, or a parameter.
type pathPart struct {
	words     []string
	parameter string // as in the description
	prefix    bool   // says nothing of what is acted on: api, v2
}

// pathParts takes a path apart. Segments that mix text and parameters
// (/report-{id}.csv) become one segment for each, and so do those with a colon
// in them (/orders/{id}:cancel).
func pathParts(path string) []pathPart {
	path, _, _ = strings.Cut(path, "?")
	path, _, _ = strings.Cut(path, "#")
	var out []pathPart
	literal := func(text string) {
		for piece := range strings.SplitSeq(text, ":") {
			piece = pathExtension.ReplaceAllString(piece, "")
			words := segmentWords(piece)
			if len(words) > 0 {
				out = append(out, pathPart{words: words, prefix: pathPrefix.MatchString(piece)})
			}
		}
	}
	const most = 20
	for segment := range strings.SplitSeq(path, "/") {
		at := 0
		for _, m := range pathTemplate.FindAllStringSubmatchIndex(segment, -1) {
			literal(segment[at:m[0]])
			out = append(out, pathPart{parameter: segment[m[2]:m[3]]})
			at = m[1]
		}
		literal(segment[at:])
		if len(out) > most {
			return out[:most]
		}
	}
	return out
}

// segmentWords splits a segment into words of letters that have a small form,
// and digits.
func segmentWords(s string) []string {
	var out []string
	for _, w := range identifierWords(s) {
		w = strings.Map(func(r rune) rune {
			if unicode.IsUpper(r) {
				return -1
			}
			return r
		}, w)
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

// trailingVerb returns the action that a path ends with, as /users/search and
// /orders/{id}/cancel do; "" when it ends with a noun. What a GET ends with is
// only an action when reading is what it does.
func trailingVerb(parts []pathPart, method string) string {
	if len(parts) == 0 {
		return ""
	}
	last := parts[len(parts)-1]
	if last.prefix || len(last.words) == 0 || !clearVerb(last.words[0]) {
		return ""
	}
	verb := last.words[0]
	if method == "get" && !readsVerb(verb) && english.Lookup(verb).Noun {
		return ""
	}
	if n := len(last.words); n > 1 && (method == "get" || plural(last.words[n-1])) && english.Lookup(verb).Noun {
		return "" // search results, import jobs
	}
	return verb
}

func readsVerb(verb string) bool {
	switch verb {
	case "search", "lookup", "query", "export", "download", "browse", "find", "list", "check", "verify", "validate", "calculate", "estimate", "compare":
		return true
	}
	return false
}

// leaveOutVerb removes from a segment what AGIS §5(b) and (e) forbid in front of
// it: the method itself and verbs that are no nouns.
func leaveOutVerb(words []string, verb string) []string {
	for len(words) > 0 {
		w := words[0]
		u := english.Lookup(w)
		if !strings.EqualFold(w, verb) && httpWords[w] == nil && (!knownVerb(w) || u.Noun || u.Adjective) {
			break
		}
		words = words[1:]
	}
	return words
}

// objectOf returns the noun that a summary speaks of behind its verb: photo in
// "Upload a photo of a dog". It is nil unless a determiner shows where it begins.
func objectOf(summary string) []string {
	if !mayBeEnglish(summary) {
		return nil
	}
	words := strings.Fields(strings.ToLower(summary))
	if len(words) < 3 || !determiners[words[1]] {
		return nil
	}
	var out []string
	const most = 4
	for _, w := range words[2:] {
		bare := strings.TrimRight(w, ".,;:")
		if u := english.Lookup(singular(bare)); !u.Noun && !u.Adjective || notANoun[bare] {
			break
		}
		if len(out) == most {
			return nil
		}
		if out = append(out, asciiWords(identifierWords(bare))...); bare != w {
			break
		}
	}
	if len(out) == 0 || !english.Lookup(singular(out[len(out)-1])).Noun {
		return nil
	}
	return out
}

// notANoun holds the words that end a noun phrase, though the dictionary knows
// rare nouns of the same letters.
var notANoun = wordSet("a an the of in on at by as or and to for from with within into via per that which is are be")

// parameterNoun returns what the first parameter of a path identifies: account
// for {account_id}; nil when its name does not tell.
func parameterNoun(parts []pathPart) []string {
	for _, part := range parts {
		if part.parameter == "" {
			continue
		}
		words := identifierWords(part.parameter)
		for len(words) > 0 && identifying[words[len(words)-1]] {
			words = words[:len(words)-1]
		}
		return words
	}
	return nil
}

// identifying words say of a parameter that it tells things of one kind apart.
var identifying = wordSet("id ids name names key keys code slug uuid guid parent number no identifier resource")

// nounOfID returns the noun in the name of an operation: what stands in front of
// the verb where dots part it (projects.spokes.get: spokes), else what is left
// without the verbs at its ends.
func nounOfID(id, verb string) []string {
	if parts := strings.Split(id, "."); len(parts) > 2 {
		id = parts[len(parts)-2] + "." + parts[len(parts)-1]
	}
	words := leaveOutVerb(identifierWords(id), verb)
	for len(words) > 1 {
		last := words[len(words)-1]
		if httpWords[last] == nil && !strings.EqualFold(last, verb) && last != "list" && !pureVerb(last) {
			break
		}
		words = words[:len(words)-1]
	}
	return words
}

// A nounPath is a path of AGIS §5 made from one of HTTP.
type nounPath struct {
	segments []string
	noun     []string // words of the last noun
	last     bool     // the path ends with a noun, not with a parameter
	prefix   string   // version or the like that was dropped from the front, as a segment
}

func (p nounPath) String() string { return "/" + strings.Join(p.segments, "/") }

// makePath makes a path of nouns. rename gives parameters their names, fallback
// is the noun to take where the path has none in front.
func makePath(parts []pathPart, verb string, rename func(string) string, fallback []string) nounPath {
	var p nounPath
	var prefix []string
	for _, part := range parts {
		if part.words == nil {
			p.segments = append(p.segments, "{"+rename(part.parameter)+"}")
			p.last = false
			continue
		}
		if part.prefix && len(p.segments) == 0 {
			prefix = append(prefix, strings.Join(part.words, "-"))
			continue
		}
		if words := leaveOutVerb(part.words, verb); len(words) > 0 {
			p.segments = append(p.segments, strings.Join(words, "-"))
			p.noun, p.last = words, true
		}
	}
	p.prefix = strings.Join(prefix, "-")
	if len(p.segments) == 0 || p.segments[0][0] == '{' {
		p.segments = append([]string{strings.Join(fallback, "-")}, p.segments...)
		p.last = p.last || len(p.segments) == 1
		if p.noun == nil {
			p.noun = fallback
		}
	}
	return p
}

// acceptable reports whether pass 4 finds no error in a path.
func acceptable(verb, path string) bool {
	for _, f := range agis.CheckPath(verb, path) {
		if f.Severity == protocol.Error {
			return false
		}
	}
	return protocol.Length(path) <= 300
}

// pathKey is what two endpoints of a document may not share (AGIS411).
func pathKey(verb string, segments []string) string {
	var b strings.Builder
	b.WriteString(verb)
	for _, s := range segments {
		b.WriteByte('/')
		if s[0] == '{' {
			s = "{}"
		}
		b.WriteString(s)
	}
	return b.String()
}
