package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gazetteer/join"
	"gazetteer/protocol/did"
	"gazetteer/registry"
)

// foreignDIDTimeout is how long a caller waits for another registry.
const foreignDIDTimeout = 8 * time.Second

// resolveContact returns how to write to an agent: to one of this registry by AIR ID, handle or
// DID, to one of another registry by its DID, which is resolved if admit allows it. The result
// agrees with that of [Answers.Orchestrate]. The error is [registry.ErrNoAgent], a
// [*registry.Refusal] for an agent that can no longer be reached, or that of the resolver.
func (a *Answers) resolveContact(ctx context.Context, name string, admit func() error, fresh bool) (Resolution, error) {
	found, err := a.Agent(ctx, name)
	if errors.Is(err, registry.ErrNoAgent) && strings.HasPrefix(name, "did:") {
		return a.resolveForeignContact(ctx, name, admit, fresh, err)
	}
	if err == nil {
		err = found.Agent.Resolvable()
	}
	if err != nil {
		return Resolution{}, err
	}
	return contactResolution(name, found.DID, join.ContactOf(found.DID), found.Seq), nil
}

// resolveForeignContact resolves the DID of another host; ours is the error for a DID that is not
// this registry's.
func (a *Answers) resolveForeignContact(ctx context.Context, name string, admit func() error, fresh bool, ours error) (Resolution, error) {
	w, err := did.ParseWeb(name)
	if err != nil {
		return Resolution{}, didSyntaxError(name, err, ours)
	}
	own, err := did.ParseWeb(a.Registry.RegistryDocument(nil).ID)
	if err != nil {
		return Resolution{}, fmt.Errorf("read the DID of the registry: %w", err)
	}
	if w.SameHost(own) {
		return Resolution{}, ours
	}
	if err := w.CheckPublic(); err != nil {
		return Resolution{}, didSyntaxError(name, err, ours)
	}
	if a.Resolver == nil || admit == nil {
		return Resolution{}, ours
	}
	if err := admit(); err != nil {
		return Resolution{}, err
	}
	if caching, ok := a.Resolver.(interface{ Forget(did string) }); ok && fresh {
		caching.Forget(w.String())
	}
	waiting, cancel := context.WithTimeout(ctx, foreignDIDTimeout)
	defer cancel()
	r, err := a.Resolver.Resolve(waiting, w.String())
	if err != nil {
		return Resolution{}, err
	}
	return contactResolution(name, r.Document, join.FarContactOf(r.Document), a.Store.Head().Seq), nil
}

func contactResolution(asked string, d did.Document, c join.Contact, seq uint64) Resolution {
	return Resolution{Asked: asked, Kind: "agent", AirID: c.AirID, DID: c.DID, Inbox: c.Inbox, Key: c.Key, Document: &d, Seq: seq}
}

// A NameError is the error for a DID that cannot exist.
type NameError struct {
	Message string
	Help    string // how such a name is written
	cause   error
}

func (e *NameError) Error() string { return "invalid DID: " + e.Message }

// Unwrap returns the error of the reader of DIDs.
func (e *NameError) Unwrap() error { return e.cause }

// didSyntaxError returns the error for a did:wba or did:web that cannot exist; for other names it
// returns ours.
func didSyntaxError(name string, err, ours error) error {
	e, ok := errors.AsType[*did.Error](err)
	if !ok || !strings.HasPrefix(name, "did:"+did.MethodWBA+":") && !strings.HasPrefix(name, "did:"+did.MethodWeb+":") {
		return ours
	}
	return &NameError{CleanText(e.Message, 300), cmp.Or(e.Help, "an agent's is written did:wba:example.com:agents:AIR-7G3K-M9JQ-X2PT"), err}
}
