package server

import "testing"

// TestGarbageIsBounded checks how much garbage a server accumulates at most: 256 MiB, or half of the
// memory in use where that is more, and never five times what is in use.
func TestGarbageIsBounded(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct{ used, garbage int64 }{
		{0, 0}, {10 * mib, 40 * mib}, {64 * mib, 256 * mib}, {100 * mib, 256 * mib}, {320 * mib, 256 * mib}, {512 * mib, 256 * mib}, {1000 * mib, 500 * mib},
	} {
		if got := c.used * int64(gcPercent(c.used)) / 100; got > c.garbage || got < c.garbage*98/100 {
			t.Errorf("with %d MiB in use there are up to %d MiB of garbage, want %d", c.used/mib, got/mib, c.garbage/mib)
		}
	}
}
