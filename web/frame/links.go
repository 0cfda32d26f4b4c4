package frame

import (
	"net/url"
	"strings"
)

// An ExternalLink is an address in an untrusted document. Template "outside" makes it a link if
// Safe is set and shows it as text otherwise.
type ExternalLink struct {
	Text string
	Safe bool
}

// ExternalLinkOf checks an address: only absolute https addresses with a host, no user information
// and no hidden characters become links. A javascript: or data: address, or one without a scheme,
// stays text.
func ExternalLinkOf(address string) ExternalLink {
	o := ExternalLink{Text: address}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Opaque != "" {
		return o
	}
	if !strings.HasPrefix(strings.ToLower(address), "https://") || PlainText(address) != address {
		return o
	}
	o.Safe = !strings.ContainsAny(address, " \t\r\n\\\"<>`")
	return o
}

// VerbPath is the address of a verb's page.
func VerbPath(verb string) string { return "/verbs/" + url.PathEscape(verb) }

// AgentPath is the address of an agent's page.
func AgentPath(airID string) string { return "/agents/" + url.PathEscape(airID) }

// ServicePath is the address of a service's page.
func ServicePath(host string) string { return "/services/" + url.PathEscape(host) }
