package registry

import (
	"context"
	"net/url"
	"strings"

	"gazetteer/internal/psl"
	"gazetteer/protocol"
	"gazetteer/protocol/did"
)

// CanObserveCreator reports whether the creator's DID of an agent belongs to another host, so that its
// document can be looked up and can list the agent's key.
func (r *Registry) CanObserveCreator(a Agent) bool {
	if r.resolver == nil || len(a.PublicKey) == 0 || strings.HasPrefix(a.CreatorDID, r.didPrefix) {
		return false
	}
	web, err := did.ParseWeb(a.CreatorDID)
	return err == nil && !web.SameHost(r.host)
}

// ObserveCreator resolves the creator's DID and reports whether the document lists the agent's key. It
// returns false if [Registry.CanObserveCreator] does.
func (r *Registry) ObserveCreator(ctx context.Context, a Agent) (Observation, bool) {
	if !r.CanObserveCreator(a) {
		return Observation{}, false
	}
	o := Observation{At: r.Timestamp(), Source: a.CreatorDID}
	result, err := r.resolver.Resolve(ctx, a.CreatorDID)
	switch {
	case err != nil:
		o.Detail = protocol.ClipBytes(err.Error(), MaxQuoted)
	case result.Document.Vouches(a.PublicKey):
		o.Holds, o.Source, o.Detail = true, result.URL, "the document lists the agent's key"
	default:
		o.Source, o.Detail = result.URL, "the document does not list the agent's key "+a.Multikey()
	}
	return o, true
}

// DomainOf returns the registrable domain of a URL or a did:wba or did:web, "" when it has none.
func DomainOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Hostname() != "" {
		return psl.Domain(u.Hostname())
	}
	if web, err := did.ParseWeb(address); err == nil {
		return psl.Domain(web.Host)
	}
	return ""
}
