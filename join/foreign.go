package join

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/evidence"
	"gazetteer/registry/resolve"
)

const (
	defaultPatience = 2 * time.Second
	// maxForeign limits how many DIDs of other registries one call resolves.
	maxForeign = 8
	// slowTime is how long a DID that did not resolve in time is not requested again. Otherwise
	// each caller would wait that long.
	slowTime = 30 * time.Second
)

// A Resolver finds DID documents of other registries; [resolve.Resolver] does.
type Resolver interface {
	Resolve(ctx context.Context, did string) (resolve.Result, error)
	// Kept returns the cached result for a DID, without a request; false if there is none.
	Kept(did string) (resolve.Result, error, bool)
}

// A resolution is the result of resolving the DID of an agent of another registry.
type resolution struct {
	resolve.Result
	// gone says that there is no such agent, unknown why that could not be found out; both are ""
	// if there is one.
	gone, unknown string
}

// resolveAll resolves DIDs of other registries concurrently.
func (j *Joiner) resolveAll(ctx context.Context, dids []string, w Want) map[string]resolution {
	found := map[string]resolution{}
	var asked []string
	for _, id := range dids {
		if j.o.Resolver == nil || w.Admit == nil {
			found[id] = resolution{unknown: "this server does not request DIDs of other registries"}
			continue
		}
		if result, err, ok := j.o.Resolver.Kept(id); ok {
			found[id] = resolutionOf(result, err)
			continue
		}
		if at, slow := j.timedOut.Lookup(id); slow && j.o.Now().Before(at.Add(slowTime)) {
			found[id] = resolution{unknown: "its registry did not answer in time a moment ago"}
			continue
		}
		if len(asked) == maxForeign {
			found[id] = resolution{unknown: "too many registries of others are named at once"}
			continue
		}
		if err := w.Admit(); err != nil {
			found[id] = resolution{unknown: "you have requested very many DIDs of other registries; try again later"}
			continue
		}
		asked = append(asked, id)
	}
	if len(asked) == 0 {
		return found
	}
	waited, cancel := context.WithTimeout(ctx, j.o.Patience)
	defer cancel()
	answers := make([]resolution, len(asked))
	var all sync.WaitGroup
	for i, id := range asked {
		all.Go(func() {
			result, err := j.o.Resolver.Resolve(waited, id)
			if err == nil || waited.Err() == nil {
				answers[i] = resolutionOf(result, err)
				return
			}
			answers[i] = resolution{unknown: "its registry did not answer in time"}
			if ctx.Err() == nil { // a caller who left did not wait: others may
				j.timedOut.Put(id, j.o.Now(), 1)
			}
		})
	}
	all.Wait()
	for i, id := range asked {
		found[id] = answers[i]
	}
	return found
}

func resolutionOf(result resolve.Result, err error) resolution {
	switch {
	case err == nil:
		return resolution{Result: result}
	case errors.Is(err, resolve.ErrAbsent), errors.Is(err, resolve.ErrNoHost), errors.Is(err, resolve.ErrDeactivated), errors.Is(err, resolve.ErrMethod):
		return resolution{gone: err.Error()}
	}
	return resolution{unknown: err.Error()}
}

// foreignAgent describes an agent of another registry that documents of a service name.
func (j *Joiner) foreignAgent(host, id string, links []Link, found resolution) (ServingAgent, []string) {
	a := ServingAgent{Contact: Contact{DID: id}, Links: links, Evidence: []evidence.Signal{}, Unresolved: found.unknown}
	if w, err := did.ParseWeb(id); err == nil {
		a.AirID, _ = w.AirID()
	}
	if found.unknown != "" {
		a.rankLinks()
		return a, []string{registry.SignalAGIS}
	}
	a.Contact, a.ResolvedAt = FarContactOf(found.Document), found.At.UTC()
	meets := []string{registry.SignalAGIS}
	source := found.URL
	if a.Key != nil {
		a.Evidence = append(a.Evidence,
			evidence.Signal{Signal: registry.SignalKey, Grade: registry.Claimed, What: a.Key.PublicKeyMultibase, Detail: "its DID document lists it; possession of the private key is not proved", Source: source, Date: a.ResolvedAt, Cost: "nothing: a text field"},
			evidence.Signal{Signal: registry.SignalDID, Grade: registry.Observed, Holds: true, What: id, Detail: "the DID resolves", Source: source, Date: a.ResolvedAt, Cost: "control of the web server of that domain"})
		meets = append(meets, registry.SignalDID)
	}
	if a.Inbox != "" {
		a.Evidence = append(a.Evidence, evidence.Signal{Signal: registry.SignalInbox, Grade: registry.Claimed, What: a.Inbox, Detail: "not checked: the agent is another registry's", Source: source, Date: a.ResolvedAt, Cost: "nothing: a text field"})
	}
	if w, err := did.ParseWeb(id); err == nil && w.Host == host && w.Port == 0 {
		a.Links = append(a.Links, Link{By: LinkDIDHost, Side: SideBoth, What: id, Source: source, Detail: "the DID is on the host of the service itself", Date: a.ResolvedAt})
		meets = append(meets, registry.SignalDomain)
	}
	for _, s := range found.Document.Service {
		u, err := url.Parse(s.ServiceEndpoint)
		if err == nil && u.Scheme == "https" && strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") == host {
			a.Links = append(a.Links, Link{By: evidence.AssociationEndpoint, Side: SideAgent, What: s.ServiceEndpoint, Source: source, Detail: "its service endpoint of type " + s.Type, Date: a.ResolvedAt})
		}
	}
	a.rankLinks()
	a.signalCount = len(meets)
	return a, meets
}
