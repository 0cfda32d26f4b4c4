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

// IsProvider reports whether a name is a public suffix that belongs to a provider, and not to a registry
// of domains: anyone gets a name below it.
func IsProvider(name string) bool {
	suffix, icann := publicsuffix.PublicSuffix(name)
	return suffix == name && !icann && strings.Contains(name, ".")
}

// Above returns a registrable domain and the names above it, up to the registered domain.
func Above(domain string) []string {
	names, registered := []string{domain}, Registered(domain)
	for domain != registered {
		_, above, found := strings.Cut(domain, ".")
		if !found {
			break
		}
		domain = above
		names = append(names, domain)
	}
	return names
}

// HasDomain reports whether a host belongs to a registrable domain, and is not a public suffix itself.
func HasDomain(host string) bool {
	_, err := publicsuffix.EffectiveTLDPlusOne(host)
	return err == nil
}

// SameDomain reports whether two hosts belong to one registrable domain.
func SameDomain(a, b string) bool { return Domain(a) == Domain(b) }
