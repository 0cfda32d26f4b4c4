// Package tally counts hosts and the registered domains that they are below, and estimates for how
// long hosts publish. It knows nothing of documents.
package tally

import (
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"gazetteer/internal/psl"
)

// A Count says how many hosts have a feature, and how many registered domains these hosts are below.
// Anyone can make any number of hosts below one domain.
type Count struct{ Hosts, Domains int }

// DomainNumbers numbers registered domains from 0.
type DomainNumbers map[string]uint32

// NumberOf returns the number of the registered domain of a host, a new one if it has none.
func (n DomainNumbers) NumberOf(host string) uint32 {
	domain := psl.Registered(host)
	number, known := n[domain]
	if !known {
		number = uint32(len(n))
		n[strings.Clone(domain)] = number
	}
	return number
}

// A DomainSet is a set of the numbers of domains. Most features belong to one domain, for which it
// needs no memory of its own.
type DomainSet struct {
	first uint32
	some  bool
	all   *roaring.Bitmap // nil for at most one domain
}

// Add adds a domain and reports whether it is a new one.
func (s *DomainSet) Add(domain uint32) bool {
	switch {
	case !s.some:
		s.first, s.some = domain, true
		return true
	case s.all == nil && domain == s.first:
		return false
	case s.all == nil:
		s.all = roaring.BitmapOf(s.first)
	}
	return s.all.CheckedAdd(domain)
}

// A DomainCounter counts the domains of sets of hosts, one set after the other.
type DomainCounter struct {
	domains []uint32 // by host
	met     []uint32 // by domain: the number of the last set that has it
	sets    uint32
}

// NewDomainCounter returns a counter for hosts with these domains, which are numbered below n.
func NewDomainCounter(domains []uint32, n int) *DomainCounter {
	return &DomainCounter{domains: domains, met: make([]uint32, n)}
}

// Count returns how many domains the hosts of a set have.
func (c *DomainCounter) Count(hosts *roaring.Bitmap) (n int) {
	c.sets++
	for i := hosts.Iterator(); i.HasNext(); {
		if d := c.domains[i.Next()]; c.met[d] != c.sets {
			c.met[d] = c.sets
			n++
		}
	}
	return n
}
