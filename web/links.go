package web

import (
	"net/url"
	"strings"
)

// An outside is an address that a stranger's document names. Template "outside"
// makes a link of it when Safe is set and shows it as text otherwise.
type externalLink struct {
	Text string
	Safe bool
}

// externalLinkOf judges an address: only absolute https addresses with a host, no
// user information and no hidden characters may be followed. A javascript: or
// data: address, or one without a scheme, stays text.
func externalLinkOf(address string) externalLink {
	o := externalLink{Text: address}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Opaque != "" {
		return o
	}
	if !strings.HasPrefix(strings.ToLower(address), "https://") || plainText(address) != address {
		return o
	}
	o.Safe = !strings.ContainsAny(address, " \t\r\n\\\"<>`")
	return o
}
