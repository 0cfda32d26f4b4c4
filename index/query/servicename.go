package query

import (
	"slices"
	"strings"
	"unicode"

	"gazetteer/index/tokens"
	"gazetteer/internal/psl"
)

// ServiceNameField is the keyword field of the names that a service is called by, see [ServiceName].
const ServiceNameField = "name"

// wordsBesideName are the words that names of services have or lack without naming another service.
var wordsBesideName = []string{"api", "apis", "rest", "the"}

// ServiceName gives a service's name, or a request that may consist of one, the form in which they are
// compared: its words in lower case without "API" and the like; "" when nothing is left.
func ServiceName(text string) string {
	words := strings.FieldsFunc(strings.ToLower(tokens.ClipText(text)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	words = slices.DeleteFunc(words, func(w string) bool { return slices.Contains(wordsBesideName, w) })
	return strings.Join(words, " ")
}

// minLabel is the length of the shortest label of a domain that a service is called by.
const minLabel = 3

// HostName returns what a service is called by its host: "stripe" for api.stripe.com; "" when the host
// says too little.
func HostName(host string) string {
	label, _, _ := strings.Cut(psl.Domain(host), ".")
	if len(label) < minLabel || !psl.HasDomain(host) {
		return ""
	}
	return ServiceName(label)
}
