package recipients

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/registrar"
	"gazetteer/relay"
)

// Options are what [New] needs. Registry is required.
type Options struct {
	Registry *registrar.Registrar
	// Require is the evidence that senders need: see registry.ParseRequire.
	Require []string
	// Foreign are DIDs of other registries and hosts, or hosts of DIDs, that may have an inbox here.
	Foreign []string
	// Resolver finds the DID documents of foreign recipients; required when Foreign is not empty.
	Resolver a2a.Resolver
	Now      func() time.Time // nil: time.Now
}

// Recipients implements [relay.Inboxes]. Its methods may be called from any goroutine.
type Recipients struct{ Options }

var _ relay.Inboxes = Recipients{}

// New returns the recipients of a registry.
func New(o Options) Recipients {
	if o.Now == nil {
		o.Now = time.Now
	}
	return Recipients{o}
}

// FindInbox implements relay.Inboxes. A handle names no inbox: it can pass to another agent.
func (x Recipients) FindInbox(ctx context.Context, name string) (relay.Inbox, error) {
	if !strings.HasPrefix(name, "did:") && did.CheckAirID(name) != nil {
		return relay.Inbox{}, relay.ErrNoInbox
	}
	if box, err := x.findForeign(ctx, name); err != nil || box.Name != "" {
		return box, err
	}
	agent, _, err := x.Registry.Find(ctx, name)
	if _, bad := errors.AsType[*registry.Error](err); bad || errors.Is(err, registry.ErrNoAgent) {
		return relay.Inbox{}, relay.ErrNoInbox
	}
	if err != nil {
		return relay.Inbox{}, err
	}
	web := did.AgentDID(x.Registry.Host(), agent.AirID)
	box := relay.Inbox{Name: web.String(), AirID: agent.AirID, Key: agent.Multikey(), Suspended: agent.Status == registry.Suspended}
	if agent.Recovery != nil {
		box.Key += " until recovery" // nobody may read until it ends, and readers that began are cut off
	}
	box.Addresses = []string{box.Name, agent.AirID}
	web.Method = did.MethodWeb
	box.Addresses = append(box.Addresses, web.String())
	if agent.Status != registry.Active && agent.Status != registry.Suspended {
		box.Gone, box.MovedTo = agent.Status, agent.MovedTo
	}
	return box, nil
}

// findForeign returns the inbox of a DID of another host that the operator allows, and no inbox for
// any other name.
func (x Recipients) findForeign(ctx context.Context, name string) (relay.Inbox, error) {
	web, err := did.ParseWeb(name)
	if err != nil || web.SameHost(x.Registry.Host()) || !relay.NamesSender(x.Foreign, web.String()) {
		return relay.Inbox{}, nil
	}
	document, err := x.Resolver.Resolve(ctx, web.String())
	if errors.Is(err, a2a.ErrUnknownSender) {
		return relay.Inbox{}, relay.ErrNoInbox
	}
	if err != nil {
		return relay.Inbox{}, fmt.Errorf("%w: %w", relay.ErrNoAnswer, err)
	}
	key, err := document.Multikey()
	if err != nil {
		return relay.Inbox{}, relay.ErrNoInbox
	}
	return relay.Inbox{Name: web.String(), Addresses: []string{web.String()}, Key: key, Foreign: true}, nil
}

// VerifyRead implements relay.Inboxes.
func (x Recipients) VerifyRead(ctx context.Context, box relay.Inbox, request httpsig.Message) error {
	if box.Foreign {
		return x.verifyForeign(ctx, box, request)
	}
	agent, _, err := x.Registry.Agent(ctx, box.AirID)
	if err != nil {
		return err
	}
	if agent.Status == registry.Suspended {
		return relay.ErrSuspended // also if it was active when its inbox was found
	}
	return x.Registry.VerifyRead(agent, request)
}

// Limits of the time of a signature, as the registry has them for its own agents.
const (
	maxSignatureAge   = 5 * time.Minute
	maxSignatureAhead = 30 * time.Second
)

// verifyForeign checks a signature with the current key of the DID document.
func (x Recipients) verifyForeign(ctx context.Context, box relay.Inbox, request httpsig.Message) error {
	document, err := x.Resolver.Resolve(ctx, box.Name)
	if errors.Is(err, a2a.ErrUnknownSender) {
		return fmt.Errorf("the DID document of the inbox cannot be read: %w", err)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", relay.ErrNoAnswer, err)
	}
	key, err := document.Key()
	if err != nil {
		return err
	}
	signatures, err := httpsig.Read(request)
	if err != nil {
		return err
	}
	for _, s := range signatures {
		if s.KeyID == box.Name || s.KeyID == box.Name+did.KeyFragment || s.KeyID == did.FormatMultikey(key) {
			return s.Verify(request, ed25519.PublicKey(key), httpsig.Requirements{
				Require: httpsig.ReadComponents(), Now: x.Now(), MaxAge: maxSignatureAge, MaxAhead: maxSignatureAhead,
			})
		}
	}
	return errors.New("no signature names the key of this inbox: sign as " + box.Name + did.KeyFragment)
}

// AdmitSender implements relay.Inboxes. The evidence that it requires is the same for all inboxes.
func (x Recipients) AdmitSender(ctx context.Context, _ relay.Inbox, sender string) error {
	missing, err := x.missingSignals(ctx, sender, x.Require)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("this relay accepts mail only from agents with evidence for: %s", missing[0])
	}
	return err
}

// missingSignals returns the signals that a verified sender does not hold.
func (x Recipients) missingSignals(ctx context.Context, sender string, signals []string) ([]string, error) {
	if len(signals) == 0 {
		return nil, nil
	}
	web, err := did.ParseWeb(sender)
	if err != nil || !web.SameHost(x.Registry.Host()) {
		return slices.DeleteFunc(slices.Clone(signals), func(signal string) bool { return err == nil && foreignSignatureShows(web, signal) }), nil
	}
	agent, _, err := x.Registry.Find(ctx, sender)
	if err != nil {
		return nil, fmt.Errorf("the sender is not registered: %w", err)
	}
	return x.Registry.MissingSignals(ctx, agent, signals)
}

// KnowsSender implements relay.Inboxes. A foreign sender is known: all DIDs below its domain count as
// one sender where that matters.
func (x Recipients) KnowsSender(ctx context.Context, sender string) bool {
	web, err := did.ParseWeb(sender)
	if err != nil {
		return false
	}
	if !web.SameHost(x.Registry.Host()) {
		return true
	}
	either := []string{registry.SignalDomain, registry.SignalAttestations}
	missing, err := x.missingSignals(ctx, sender, either)
	return err == nil && len(missing) < len(either)
}

// foreignSignatureShows reports whether the verified signature of a foreign sender is evidence for a
// signal. The signature was checked with the key of the DID document that the sender's host serves.
// So it shows the key, and that the document lists it; it shows the domain if the DID is that of the
// host itself, not of one of its users. For all other signals there is only the statement of
// another registry.
func foreignSignatureShows(sender did.Web, signal string) bool {
	switch signal {
	case registry.SignalKey, registry.SignalDID:
		return true
	case registry.SignalDomain:
		return len(sender.Path) == 0
	}
	return false
}
