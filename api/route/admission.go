package route

import (
	"context"
	"net/netip"
)

// AdmitLookup counts the resolutions of other hosts' DIDs for a client.
func (a *Mux) AdmitLookup(ctx context.Context, client netip.Addr) func() error {
	return func() error { return AdmitClient(ctx, a.Resolutions, client, "DIDs of other hosts") }
}
