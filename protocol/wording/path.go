package wording

import (
	"regexp"
	"slices"
	"strconv"
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

// A PathPart is one segment of an HTTP path: the words of a noun, or a parameter.
type PathPart struct {
	Words     []string
	Parameter string // as in the description
	Prefix    bool   // a technical prefix: api, v2
}

// SplitPath splits an HTTP path. A segment that mixes text and parameters (/report-{id}.csv) or
// holds a colon (/orders/{id}:cancel) becomes several parts.
func SplitPath(path string) []PathPart {
	path, _, _ = strings.Cut(path, "?")
	path, _, _ = strings.Cut(path, "#")
	var out []PathPart
	literal := func(text string) {
		for piece := range strings.SplitSeq(text, ":") {
			piece = pathExtension.ReplaceAllString(piece, "")
			words := segmentWords(piece)
			if len(words) > 0 {
				out = append(out, PathPart{Words: words, Prefix: pathPrefix.MatchString(piece)})
			}
		}
	}
	const most = 20
	for segment := range strings.SplitSeq(path, "/") {
		at := 0
		for _, m := range pathTemplate.FindAllStringSubmatchIndex(segment, -1) {
			literal(segment[at:m[0]])
			out = append(out, PathPart{Parameter: segment[m[2]:m[3]]})
			at = m[1]
		}
		literal(segment[at:])
		if len(out) > most {
			return out[:most]
		}
	}
	return out
}

// segmentWords splits a segment into words of digits and of letters that have a lower case.
func segmentWords(s string) []string {
	var out []string
	for _, w := range IdentifierWords(s) {
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

// TrailingVerb returns the action at the end of a path, as in /users/search and
// /orders/{id}/cancel, or "" for a noun. At the end of a GET only a verb that reads counts as an
// action.
func TrailingVerb(parts []PathPart, method string) string {
	if len(parts) == 0 {
		return ""
	}
	last := parts[len(parts)-1]
	if last.Prefix || len(last.Words) == 0 || !clearVerb(last.Words[0]) {
		return ""
	}
	verb := last.Words[0]
	if method == "get" && !readsVerb(verb) && english.Lookup(verb).Noun {
		return ""
	}
	if n := len(last.Words); n > 1 && (method == "get" || IsPlural(last.Words[n-1])) && english.Lookup(verb).Noun {
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

// TrimVerbs removes the words that AGIS §5(b) and (e) forbid at the start of a segment: the method
// itself, and verbs that are not nouns.
func TrimVerbs(words []string, verb string) []string {
	for len(words) > 0 {
		w := words[0]
		u := english.Lookup(w)
		if !strings.EqualFold(w, verb) && HTTPVerbs[w] == nil && (!knownVerb(w) || u.Noun || u.Adjective) {
			break
		}
		words = words[1:]
	}
	return words
}

// NounOfSummary returns the object of a summary that begins with a verb: photo in "Upload a photo
// of a dog". It returns nil unless a determiner marks where the object begins.
func NounOfSummary(summary string) []string {
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
		if u := english.Lookup(SingularOf(bare)); !u.Noun && !u.Adjective || notANoun[bare] {
			break
		}
		if len(out) == most {
			return nil
		}
		if out = append(out, ASCIIWords(IdentifierWords(bare))...); bare != w {
			break
		}
	}
	if len(out) == 0 || !english.Lookup(SingularOf(out[len(out)-1])).Noun {
		return nil
	}
	return out
}

// notANoun holds words that end a noun phrase although the dictionary lists rare nouns with the
// same spelling.
var notANoun = WordSet("a an the of in on at by as or and to for from with within into via per that which is are be")

// ParameterNoun returns the noun that the first parameter of a path identifies: account for
// {account_id}. It returns nil when the name does not tell.
func ParameterNoun(parts []PathPart) []string {
	for _, part := range parts {
		if part.Parameter == "" {
			continue
		}
		words := IdentifierWords(part.Parameter)
		for len(words) > 0 && idWords[words[len(words)-1]] {
			words = words[:len(words)-1]
		}
		return words
	}
	return nil
}

// idWords are the words that make a parameter name an identifier.
var idWords = WordSet("id ids name names key keys code slug uuid guid parent number no identifier resource")

// NounOfID returns the noun in an operationId: the word before the verb in a dotted name
// (projects.spokes.get: spokes), else what remains without the verbs at both ends.
func NounOfID(id, verb string) []string {
	if parts := strings.Split(id, "."); len(parts) > 2 {
		id = parts[len(parts)-2] + "." + parts[len(parts)-1]
	}
	words := TrimVerbs(IdentifierWords(id), verb)
	for len(words) > 1 {
		last := words[len(words)-1]
		if HTTPVerbs[last] == nil && !strings.EqualFold(last, verb) && last != "list" && !pureVerb(last) {
			break
		}
		words = words[:len(words)-1]
	}
	return words
}

// A Path is a path of AGIS §5 that was derived from an HTTP path.
type Path struct {
	Segments     []string
	Noun         []string // words of the last noun
	EndsWithNoun bool     // the path ends with a noun, not with a parameter
	prefix       []string // a version or similar segments dropped from the front
}

func (p Path) String() string { return "/" + strings.Join(p.Segments, "/") }

// NewPath returns a path of nouns. rename gives parameters their new names; fallback is the noun of
// a path that begins with none.
func NewPath(parts []PathPart, verb string, rename func(string) string, fallback []string) Path {
	var p Path
	var prefix []string
	for _, part := range parts {
		if part.Words == nil {
			p.Segments = append(p.Segments, "{"+rename(part.Parameter)+"}")
			p.EndsWithNoun = false
			continue
		}
		if part.Prefix && len(p.Segments) == 0 {
			prefix = append(prefix, strings.Join(part.Words, "-"))
			continue
		}
		if words := TrimVerbs(part.Words, verb); len(words) > 0 {
			p.Segments = append(p.Segments, strings.Join(words, "-"))
			p.Noun, p.EndsWithNoun = words, true
		}
	}
	p.prefix = prefix
	if len(p.Segments) == 0 || p.Segments[0][0] == '{' {
		p.Segments = append([]string{strings.Join(fallback, "-")}, p.Segments...)
		p.EndsWithNoun = p.EndsWithNoun || len(p.Segments) == 1
		if p.Noun == nil {
			p.Noun = fallback
		}
	}
	return p
}

// RestorePrefix puts the prefix that [NewPath] dropped in front again, if the HTTP path begins with
// it letter by letter and AGIS has no error in the result.
func (p *Path) RestorePrefix(verb, httpPath string) {
	if len(p.prefix) == 0 || !strings.HasPrefix(httpPath, "/"+strings.Join(p.prefix, "/")+"/") {
		return
	}
	if whole := slices.Concat(p.prefix, p.Segments); IsAcceptablePath(verb, "/"+strings.Join(whole, "/")) {
		p.Segments, p.prefix = whole, nil
	}
}

// IsAcceptablePath reports whether pass 4 of AGIS finds no error in a path.
func IsAcceptablePath(verb, path string) bool {
	for _, f := range agis.CheckPath(verb, path) {
		if f.Severity == protocol.Error {
			return false
		}
	}
	return protocol.Length(path) <= 300
}

// pathKey identifies a method with a path. Two endpoints of a document may not share one (AGIS411).
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

// A PathSet holds the methods and paths that the endpoints of a document use.
type PathSet map[string]bool

// Claim gives an endpoint a path that is legal and unique for its method, and reports whether that
// path differs from the requested one.
func (s PathSet) Claim(path *Path, verb string, noun []string) bool {
	var candidates [][]string
	candidates = append(candidates, path.Segments)
	if len(path.prefix) > 0 {
		candidates = append(candidates, append([]string{strings.Join(path.prefix, "-")}, path.Segments...))
	}
	if last := strings.Join(noun, "-"); last != NoNoun && path.Segments[len(path.Segments)-1] != last {
		candidates = append(candidates, append(slices.Clone(path.Segments), strings.Join(noun, "-")))
	}
	plain := []string{strings.Join(noun, "-")}
	for _, segment := range path.Segments {
		if segment[0] == '{' {
			plain = append(plain, segment)
		}
	}
	candidates = append(candidates, plain)
	for i, segments := range candidates {
		key := pathKey(verb, segments)
		if !s[key] && IsAcceptablePath(verb, "/"+strings.Join(segments, "/")) {
			s[key] = true
			path.Segments = segments
			return i > 0
		}
	}
	if first := path.Segments[0]; plain[0] == NoNoun && IsAcceptablePath(verb, "/"+first) {
		plain[0] = first
	}
	if !IsAcceptablePath(verb, "/"+strings.Join(plain, "/")) {
		plain[0] = NoNoun
	}
	first := plain[0]
	for i := 2; ; i++ {
		plain[0] = first + "-" + strconv.Itoa(i)
		if key := pathKey(verb, plain); !s[key] {
			s[key] = true
			path.Segments = plain
			return true
		}
	}
}

// NoNoun is the noun of last resort.
const NoNoun = "resource"

// ErrorNoun returns the noun of an endpoint in the form used in the names of errors.
func ErrorNoun(noun []string) string {
	words := ASCIIWords(noun)
	if len(words) == 0 {
		return NoNoun
	}
	if last := &words[len(words)-1]; english.Lookup(SingularOf(*last)).Noun {
		*last = SingularOf(*last)
	}
	if thing := JoinWords(words, "_", 40); thing != "" {
		return thing
	}
	return NoNoun
}
