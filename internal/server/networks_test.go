package server

import (
	"strings"
	"testing"
	"time"
)

func TestReadNetworks(t *testing.T) {
	got, err := parseNetworkLimits([]string{"203.0.113.7/24 10ms 64", "2001:db8::/32 0s 1"})
	if err != nil || len(got) != 2 || got[0].Network.String() != "203.0.113.0/24" || got[0].Interval != 10*time.Millisecond || got[0].Concurrency != 64 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, line := range []string{"", "203.0.113.0/24", "203.0.113.0 10ms 1", "203.0.113.0/33 10ms 1", "203.0.113.0/24 soon 1", "203.0.113.0/24 -1s 1", "203.0.113.0/24 1s 0"} {
		if _, err := parseNetworkLimits([]string{line}); err == nil || !strings.Contains(err.Error(), "crawler.network_limits") || strings.Contains(err.Error(), "netip") {
			t.Errorf("%q: %v", line, err)
		}
	}
}
