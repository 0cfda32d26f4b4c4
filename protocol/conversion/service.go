package conversion

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"gazetteer/protocol/wording"
)

// publicName matches domain names, not IP addresses.
var publicName = regexp.MustCompile(`\.[A-Za-z][A-Za-z0-9\-]*\z`)

// HostOf returns the first host with a public name among the addresses, "" when there is none.
func HostOf(addresses ...string) string {
	for _, address := range addresses {
		u, err := url.Parse(address)
		if err == nil && IsHostName(u.Hostname()) && publicName.MatchString(u.Hostname()) {
			return strings.ToLower(u.Hostname())
		}
	}
	return ""
}

// IsHostName reports whether s is a host name of letters, digits, dots and hyphens.
func IsHostName(s string) bool {
	if s == "" || len(s) > 253 || strings.HasPrefix(s, ".") || strings.HasPrefix(s, "-") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-')
	})
}

// NamespaceOf derives a namespace from a name: a short lowercase token (AGIS706).
func NamespaceOf(name string) string {
	words := TrimServiceWords(wording.ASCIIWords(wording.IdentifierWords(name)))
	if ns := wording.JoinWords(words, "-", 40); ns != "" {
		return ns
	}
	return "service"
}

// TrimServiceWords removes trailing words such as "api" and "service" from a name.
func TrimServiceWords(words []string) []string {
	for len(words) > 1 && slices.Contains([]string{"api", "apis", "service", "services", "controller", "endpoints"}, words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return words
}
