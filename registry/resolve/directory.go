package resolve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
)

// A Directory is a [Resolver] in the form that package a2a and its HTTP client need: it returns
// documents only, and distinguishes a DID that does not resolve, also because no such host exists,
// from a host that does not answer.
type Directory struct{ *Resolver }

// Resolve returns the document of a DID. The error matches [a2a.ErrUnknownSender] if there is no
// usable document.
func (d Directory) Resolve(ctx context.Context, id string) (did.Document, error) {
	return documentOf(d.Resolver.Resolve(ctx, id))
}

// Refresh implements [a2a.Refresher].
func (d Directory) Refresh(ctx context.Context, id string) (did.Document, bool, error) {
	cached, _, ok := d.Kept(id)
	if !ok || d.now().Sub(cached.At) < refreshAfter {
		return did.Document{}, false, nil
	}
	d.Forget(id)
	document, err := d.Resolve(ctx, id)
	return document, true, err
}

// refreshAfter is the age from which a cached document is resolved again for a signature that it does
// not verify. It bounds the requests that false signatures cause.
const refreshAfter = 10 * time.Second

func documentOf(result Result, err error) (did.Document, error) {
	switch {
	case errors.Is(err, ErrAbsent), errors.Is(err, ErrNoHost), errors.Is(err, ErrDeactivated), errors.Is(err, ErrMethod), errors.Is(err, ErrUnusable):
		return did.Document{}, fmt.Errorf("%w: %w", a2a.ErrUnknownSender, err)
	case err != nil:
		return did.Document{}, err
	}
	return result.Document, nil
}
