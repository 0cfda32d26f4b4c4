package route

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"gazetteer/limit"
)

// AdmitLookup counts the resolutions of other hosts' DIDs for a client.
func (a *Mux) AdmitLookup(ctx context.Context, client netip.Addr) func() error {
	return func() error { return AdmitClient(ctx, a.Resolutions, client, "DIDs of other hosts") }
}

// AdmitClient counts one event of a client against a limit, or refuses it with a Retry-After. A
// client without an address, which is the operator, is not counted.
func AdmitClient(ctx context.Context, l *limit.Limiter, client netip.Addr, what string) error {
	e, exceeded := errors.AsType[*limit.ExceededError](l.Take(ctx, client))
	if !exceeded {
		return nil
	}
	detail := fmt.Sprintf("Rate limit exceeded: at most %d %s an hour from your network", e.Quota, what)
	if e.All {
		detail = "Rate limit exceeded: this server accepts no more " + what + " from your network at the moment: all clients together have sent too many"
	}
	return NewProblem(rateLimited, detail, "wait for the time in Retry-After").WithRetry(e.Wait)
}

// AcquireSlot is [limit.Slots.Acquire] with a refusal for the client as its error.
func AcquireSlot(ctx context.Context, s *limit.Slots, client netip.Addr, what string) (release func(), err error) {
	release, err = s.Acquire(ctx, client)
	if e, exceeded := errors.AsType[*limit.ExceededError](err); exceeded {
		return nil, NewProblem(rateLimited, fmt.Sprintf("%d %s", e.Quota, what), "wait for the time in Retry-After").WithRetry(e.Wait)
	}
	return release, err
}
