package entry

import (
	"slices"
	"strings"
	"unicode"

	"gazetteer/index/tokens"
	"gazetteer/internal/psl"
)

// ServiceNameField is the keyword field of the names of a service, see [ServiceName].
const ServiceNameField = "name"

// wordsBesideName are the words that do not distinguish names of services.
var wordsBesideName = []string{"api", "apis", "rest", "the"}

// ServiceName normalizes a service's name, or a request that may consist of one, for comparison:
// its words in lower case without "API" and similar words; "" if nothing is left.
func ServiceName(text string) string {
	words := strings.FieldsFunc(strings.ToLower(tokens.ClipText(text)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
	words = slices.DeleteFunc(words, func(w string) bool { return slices.Contains(wordsBesideName, w) })
	return strings.Join(words, " ")
}

// NamedHost returns the host that a request consists of, "" for any other request.
func NamedHost(text string) string {
	host := strings.ToLower(strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) }))
	if !tokens.IsHost(host) || strings.ContainsFunc(host, unicode.IsSpace) {
		return ""
	}
	return host
}

// minLabel is the minimum length of a domain label that names a service.
const minLabel = 3

// HostName returns the name of a service from its host: "stripe" for api.stripe.com; "" if the host
// contains no name.
func HostName(host string) string {
	label, _, _ := strings.Cut(psl.Domain(host), ".")
	if len(label) < minLabel || !psl.HasDomain(host) {
		return ""
	}
	return ServiceName(label)
}
