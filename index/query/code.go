package query

import (
	"regexp"
	"slices"
	"strings"
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
