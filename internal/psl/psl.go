// Package psl finds the registrable domain of a host by the public suffix list: example.co.uk for
// www.example.co.uk. Use it to count or compare owners of hosts. Begin with [Domain].
package psl

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Domain returns the registrable domain of a host. A host that has none, such as a public suffix
// itself or an address, is returned as it is.
func Domain(host string) string {
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host
	}
	return domain
}

// Registered returns the domain of a host that somebody has paid a registry for: netlify.app for
// a.netlify.app, whose registrable domain is a.netlify.app. The list has the domains of providers that
// give names below them to their customers, often any number of them for nothing.
func Registered(host string) string {
	if !HasDomain(host) {
		return host
	}
	suffix, icann := publicsuffix.PublicSuffix(host)
	for !icann {
		_, above, found := strings.Cut(suffix, ".")
		if !found {
			break
		}
		suffix, icann = publicsuffix.PublicSuffix(above)
	}
	return host[strings.LastIndexByte(strings.TrimSuffix(host, "."+suffix), '.')+1:]
}

// HasDomain reports whether a host belongs to a registrable domain, and is not a public suffix itself.
func HasDomain(host string) bool {
	_, err := publicsuffix.EffectiveTLDPlusOne(host)
	return err == nil
}

// SameDomain reports whether two hosts belong to one registrable domain.
func SameDomain(a, b string) bool { return Domain(a) == Domain(b) }
