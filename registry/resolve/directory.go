package resolve

import (
	"context"
	"errors"
	"fmt"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
)

// A Directory is a [Resolver] in the form that package a2a and its HTTP client need: it returns
// documents only, and distinguishes a DID that does not resolve from a host that does not answer.
type Directory struct{ *Resolver }

// Resolve returns the document of a DID. The error matches [a2a.ErrUnknownSender] if there is no
// usable document.
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
