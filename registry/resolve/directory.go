package resolve

import (
	"context"
	"errors"
	"fmt"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
)

// A Directory is a [Resolver] as package a2a and its HTTP client ask one: it returns
// documents alone, and tells a DID that does not resolve from a host that does not
// answer.
type Directory struct{ *Resolver }

// Resolve returns the document of a DID. The error matches [a2a.ErrUnknownSender]
// when there is none that can be used.
func (d Directory) Resolve(ctx context.Context, id string) (did.Document, error) {
	result, err := d.Resolver.Resolve(ctx, id)
	if errors.Is(err, ErrAbsent) || errors.Is(err, ErrDeactivated) || errors.Is(err, ErrMethod) || errors.Is(err, ErrUnusable) {
		return did.Document{}, fmt.Errorf("%w: %w", a2a.ErrUnknownSender, err)
	}
	if err != nil {
		return did.Document{}, err
	}
	return result.Document, nil
}
