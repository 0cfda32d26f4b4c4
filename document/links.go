package document

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// addLinks appends the addresses that a document names, in its order.
func (d *Document) addLinks(rel string, addresses ...string) {
	for _, a := range addresses {
		if a != "" {
			d.Links = append(d.Links, Link{Rel: rel, URL: a, Host: hostOf(a)})
		}
	}
}

// hostOf returns the host of an https or agtp address, in ASCII lower case. It returns "" if the
// crawler cannot visit it: an address literal, a single label, another port than that of https, or
// a password in the address. The port of an agtp address says nothing about https.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "https":
		if u.User != nil || u.Port() != "" && u.Port() != "443" {
			return ""
		}
	case "agtp": // agtp://ID@host names an agent on a host
	default:
		return ""
	}
	host, err := idna.Lookup.ToASCII(strings.TrimSuffix(u.Hostname(), "."))
	if err != nil || !strings.Contains(host, ".") || net.ParseIP(host) != nil {
		return ""
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	if !namesHost(host) {
		return ""
	}
	return strings.ToLower(host)
}

// namesHost reports whether every label of a name is valid in the DNS and the last one is not a
// number, which would make the name an IP address.
func namesHost(host string) bool {
	if len(host) > 253 {
		return false
	}
	last := ""
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			c := label[i]
			if !(c == '-' || c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
				return false
			}
		}
		last = label
	}
	return strings.Trim(last, "0123456789") != ""
}
