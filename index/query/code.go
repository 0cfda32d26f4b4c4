package query

import (
	"regexp"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/analysis"

	"gazetteer/index/tokens"
)

// A request may have the form of a function: geocode(address) -> lat, lng. The name is the main
// content; the parameters and results count less.

const (
	parameterWeight = 0.5
	returnedWeight  = 0.4
)

// callLike matches the beginning of a request in the form of a call.
var callLike = regexp.MustCompile(`^\s*[\p{L}_][\p{L}\p{N}_.]*\(`)

// typeWords are types of parameters and results in programming languages; they name nothing.
var typeWords = strings.Fields("string str int integer float double number bool boolean array list dict object void null none any")

// abbreviations are abbreviations that programmers use in names.
var abbreviations = map[string]string{
	"addr": "address", "amt": "amount", "auth": "authentication", "cfg": "configuration", "config": "configuration",
	"curr": "currency", "desc": "description", "dest": "destination", "dir": "directory", "dob": "birthday", "doc": "document",
	"env": "environment", "img": "image", "lang": "language", "lat": "latitude", "lng": "longitude", "loc": "location",
	"lon": "longitude", "msg": "message", "org": "organization", "param": "parameter", "perm": "permission", "pic": "picture",
	"pwd": "password", "qty": "quantity", "recv": "receive", "repo": "repository", "src": "source", "temp": "temperature",
	"txn": "transaction", "tz": "timezone", "usr": "user", "var": "variable", "vid": "video",
}

// splitCode returns the words of a request in the form of code, with their weights; ok is false for
// other requests.
func splitCode(text string) (fields []string, weights []float32, ok bool) {
	call, returned, arrow := strings.Cut(text, "->")
	if !arrow && !callLike.MatchString(text) {
		return nil, nil, false
	}
	add := func(part string, weight float32) {
		for word := range strings.FieldsFuncSeq(part, func(r rune) bool { return strings.ContainsRune("()[]{},:;=<>\"'|* \t\n", r) }) {
			if !slices.Contains(typeWords, strings.ToLower(word)) && strings.Trim(word, "-_.?") != "" {
				fields, weights = append(fields, word), append(weights, weight)
			}
		}
	}
	name, parameters, _ := strings.Cut(call, "(")
	add(name, 1)
	add(parameters, parameterWeight)
	add(returned, returnedWeight)
	return fields, weights, len(fields) > 0
}

// parseCode reads a request in the form of a function.
func parseCode(a analysis.Analyzer, fields []string, weights []float32) Request {
	r := Request{}
	left := maxTerms
	name := 0 // the number of fields of the name
	for i, field := range fields {
		if weights[i] == 1 {
			name = i + 1
		}
		terms := tokens.Tokenize(a, tokens.PrepareName(field))
		terms = terms[:min(len(terms), left)]
		left -= len(terms)
		for _, t := range terms {
			w := Word{Asked: t.Surface, Terms: []tokens.Token{t}, Weight: weights[i], Argument: weights[i] == parameterWeight}
			if long := abbreviations[strings.ToLower(t.Surface)]; long != "" {
				w.Meanings = tokens.Tokenize(a, long)
			}
			r.Words = append(r.Words, w)
		}
	}
	words := strings.Fields(strings.ToLower(tokens.PrepareName(strings.Join(fields[:name], " "))))
	if len(words) > 0 {
		r.Act.Verb, r.Act.Wanted = parseImperative(words)
		if slices.Contains(gettingNames, words[0]) {
			r.Act.Wanted = Reading // getUser makes none
		}
		r.Act.Ends = endsSomething(words[:1], 0)
	}
	r.Acts = []Act{r.Act}
	return r
}

// gettingNames begin the names of functions that only read.
var gettingNames = strings.Fields("fetch find get list load lookup query read retrieve search")
