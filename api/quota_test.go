package api

import (
	"net/netip"
	"testing"
	"time"
)

func TestQuotaCountsNeighboursAsOne(t *testing.T) {
	now := time.Unix(1e9, 0)
	b, err := newQuota(2, 5, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	refused := func(text string) bool {
		var client netip.Addr
		if text != "" {
			client = netip.MustParseAddr(text)
		}
		return b.admitClient(client, "looks") != nil
	}
	for _, step := range []struct {
		client string
		refuse bool
	}{
		{"2001:db8:1:2::1", false},
		{"2001:db8:1:2:ffff::9", false},
		{"2001:db8:1:2:abcd::7", true}, // the third of one /64
		{"2001:db8:1:3::1", false},     // the next /64
		{"192.0.2.1", false},
		{"192.0.2.2", false}, // the fifth of all
		{"192.0.2.3", true},
		{"", false}, // the owner, over the socket
	} {
		if got := refused(step.client); got != step.refuse {
			t.Errorf("%s: refused is %v, want %v", step.client, got, step.refuse)
		}
	}
	// What the global budget refused did not cost the client its own.
	now = now.Add(time.Hour)
	for range 2 {
		if refused("192.0.2.3") {
			t.Error("192.0.2.3 is refused an hour later")
		}
	}
}

func TestQuotaHoldsABoundedNumberOfKeys(t *testing.T) {
	b, err := newQuota(1, -1, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	var address [16]byte
	address[0] = 0x20
	for i := range 3 * maxKeys / 2 {
		address[5], address[6], address[7] = byte(i>>16), byte(i>>8), byte(i)
		if err := b.reserveOne(clientNetwork(netip.AddrFrom16(address))); err != nil {
			t.Fatal(err)
		}
	}
	b.keys.CleanUp()
	if n := b.keys.EstimatedSize(); n > maxKeys {
		t.Errorf("%d keys are held, want at most %d", n, maxKeys)
	}
}
