package route

import (
	"context"
	"net/netip"
)

// AdmitLookup counts the DIDs of other hosts that are looked for on behalf of a
// client.
func (a *Mux) AdmitLookup(ctx context.Context, client netip.Addr) func() error {
	return func() error { return AdmitClient(ctx, a.Resolutions, client, "DIDs of other hosts") }
}
