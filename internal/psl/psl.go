// Package psl finds the registrable domain of a host by the public suffix list: example.co.uk for
// www.example.co.uk. Use it to count or compare owners of hosts. Begin with [Domain].
package psl

import "golang.org/x/net/publicsuffix"

// Domain returns the registrable domain of a host. A host that has none, such as a public suffix
// itself or an address, is returned as it is.
func Domain(host string) string {
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return host
	}
	return domain
}

// HasDomain reports whether a host belongs to a registrable domain, and is not a public suffix itself.
func HasDomain(host string) bool {
	_, err := publicsuffix.EffectiveTLDPlusOne(host)
	return err == nil
}

// SameDomain reports whether two hosts belong to one registrable domain.
func SameDomain(a, b string) bool { return Domain(a) == Domain(b) }
