package api

import (
	"net/netip"
	"testing"
)

// TestPlacesOfStreams: a network has some of the places, this machine all of them,
// and a place that was left can be taken again.
func TestPlacesOfStreams(t *testing.T) {
	fill := func(s *streams, client netip.Addr) (n int) {
		for s.enter(client) == nil {
			n++
		}
		return n
	}
	for _, test := range []struct {
		client, neighbour string
		want              int
	}{
		{"192.0.2.1", "192.0.2.1", maxStreamsEach},
		{"2001:db8::1", "2001:db8::2", maxStreamsEach},
		{"127.0.0.1", "127.0.0.1", maxStreams},
		{"::1", "::1", maxStreams},
	} {
		s, client := newStreams(), netip.MustParseAddr(test.client)
		if n := fill(s, client); n != test.want {
			t.Errorf("%s has %d places, want %d", client, n, test.want)
		}
		if err := s.enter(netip.MustParseAddr(test.neighbour)); err == nil {
			t.Errorf("%s has a place when %s has taken all", test.neighbour, client)
		}
		if s.all < maxStreams {
			if err := s.enter(netip.MustParseAddr("198.51.100.1")); err != nil {
				t.Errorf("another network has none: %v", err)
			}
			s.leave(netip.MustParseAddr("198.51.100.1"))
		}
		s.leave(client)
		if err := s.enter(client); err != nil {
			t.Errorf("%s has no place again: %v", client, err)
		}
	}
}
