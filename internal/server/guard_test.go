package server

import (
	"context"
	"errors"
	"testing"

	"gazetteer/fetch"
	"gazetteer/internal/config"
)

// TestOwnAddressesAreNotRequested checks that the crawler's own addresses are as forbidden as the
// addresses that the operator denies. The test dials nothing, because its context has ended.
func TestOwnAddressesAreNotRequested(t *testing.T) {
	c := config.Default()
	c.Crawler.DeniedAddresses, c.Crawler.OwnAddresses = []string{"11.0.1.0/24"}, []string{"11.0.2.7", "2a00:1234::/48"}
	guard, err := newGuard(c)
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for address, forbidden := range map[string]bool{
		"11.0.1.9:443": true, "11.0.2.7:443": true, "[2a00:1234::9]:443": true, "11.0.2.8:443": false,
	} {
		_, err := guard.DialContext(over, "tcp", address)
		if blocked, ok := errors.AsType[*fetch.BlockedError](err); ok != forbidden {
			t.Errorf("%s: %v, %v", address, err, blocked)
		}
	}
	c.Crawler.OwnAddresses = []string{"crawler.example"}
	if _, err := newGuard(c); err == nil {
		t.Error("a name is no address, and passes for one")
	}
}
