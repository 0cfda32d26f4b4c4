package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"gazetteer/document"
	"gazetteer/protocol/did"
	"gazetteer/store"
)

// An Observation is what was seen of an agent outside of what it says.
type Observation struct {
	Holds  bool      `json:"holds"`
	At     time.Time `json:"at"`
	Source string    `json:"source"` // the URL that was asked
	// Detail says what came back; it may quote a stranger.
	Detail string `json:"detail,omitempty"`
}

// maxPage is how much of a repository's page is searched for the agent.
const maxPage = 512 << 10

// observableSignals lists the signals that can be observed of an agent: it has to say
// something first that can be looked at.
func (a Agent) observableSignals(r *Registry) []string {
	var out []string
	if r.resolver != nil && len(a.PublicKey) > 0 && r.hasExternalCreator(a) {
		out = append(out, SignalDID)
	}
	if r.web != nil && a.inboxURL() != "" {
		out = append(out, SignalInbox)
	}
	if r.web != nil && strings.HasPrefix(a.CodeRepository, "https://") {
		out = append(out, SignalRepository)
	}
	if slices.ContainsFunc(a.Domains, Domain.proved) {
		out = append(out, SignalAGIS)
	}
	return out
}

// hasExternalCreator reports whether the creator's DID leads to the web of others.
func (r *Registry) hasExternalCreator(a Agent) bool {
	if strings.HasPrefix(a.CreatorDID, r.didPrefix) {
		return false
	}
	web, err := did.ParseWeb(a.CreatorDID)
	return err == nil && !web.SameHost(r.host)
}

// inboxURL is the endpoint where the agent takes mail, "" without one.
func (a Agent) inboxURL() string {
	for _, s := range a.ServiceEndpoints {
		if s.Type == did.TypeInbox {
			return s.ServiceEndpoint
		}
	}
	return ""
}

// observeSignal looks at one signal.
func (r *Registry) observeSignal(ctx context.Context, a Agent, signal string) Observation {
	switch signal {
	case SignalDID:
		return r.observeCreator(ctx, a)[SignalDID]
	case SignalInbox:
		return r.observeInbox(ctx, a)
	case SignalRepository:
		return r.observeRepository(ctx, a)
	}
	return r.observeAGIS(ctx, a)
}

// observeCreator resolves the creator's DID, if it is another host's: does the
// document there list the agent's key? Without such a DID, or without a
// resolver, the answer is empty.
func (r *Registry) observeCreator(ctx context.Context, a Agent) map[string]Observation {
	if r.resolver == nil || len(a.PublicKey) == 0 || !r.hasExternalCreator(a) {
		return map[string]Observation{}
	}
	o := Observation{At: r.timestamp(), Source: a.CreatorDID}
	result, err := r.resolver.Resolve(ctx, a.CreatorDID)
	switch {
	case err != nil:
		o.Detail = clipText(err.Error())
	case result.Document.Vouches(a.PublicKey):
		o.Holds, o.Source, o.Detail = true, result.URL, "the document lists the agent's key"
	default:
		o.Source, o.Detail = result.URL, "the document does not list the agent's key "+a.multikey()
	}
	return map[string]Observation{SignalDID: o}
}

// observeInbox sends an empty object to the inbox. An inbox of A2A refuses it by
// its form (A2A §9.1), or because nobody signed it: that shows that it is there,
// and nobody gets mail by it.
func (r *Registry) observeInbox(ctx context.Context, a Agent) Observation {
	o := Observation{At: r.timestamp(), Source: a.inboxURL()}
	page, err := r.web.Post(ctx, o.Source, "{}", maxPage)
	switch s := page.Status; {
	case err != nil:
		o.Detail = clipText(err.Error())
	case s >= 500 || s >= 300 && s < 400 || s == http.StatusNotFound || s == http.StatusMethodNotAllowed || s == http.StatusGone:
		o.Detail = fmt.Sprintf("it answered %d to an empty envelope", s)
	default:
		o.Holds, o.Detail = true, fmt.Sprintf("it answered %d to an empty envelope", s)
	}
	return o
}

// observeRepository looks whether the page of the code repository names the
// agent.
func (r *Registry) observeRepository(ctx context.Context, a Agent) Observation {
	o := Observation{At: r.timestamp(), Source: a.CodeRepository}
	page, err := r.web.Get(ctx, a.CodeRepository, "text/html, text/plain", maxPage)
	switch {
	case err != nil:
		o.Detail = clipText(err.Error())
	case page.Status != http.StatusOK:
		o.Detail = fmt.Sprintf("it answered %d", page.Status)
	case bytes.Contains(page.Body, []byte(r.DID(a.AirID))):
		o.Holds, o.Detail = true, "the page names "+r.DID(a.AirID)
	default:
		o.Detail = "the page does not name " + r.DID(a.AirID)
	}
	return o
}

// observeAGIS looks whether a document that the crawler fetched from a proved
// domain names the agent's DID.
func (r *Registry) observeAGIS(ctx context.Context, a Agent) Observation {
	o := Observation{At: r.timestamp(), Detail: "no document of a proved domain was fetched yet"}
	want, err := json.Marshal(r.DID(a.AirID))
	if err != nil {
		return o
	}
	for _, d := range a.Domains {
		if !d.proved() {
			continue
		}
		for _, kind := range []document.Kind{document.AGISSummary, document.AGIS, document.AI} {
			record, err := r.store.Get(ctx, store.DocumentKey(d.Name, string(kind)))
			var doc struct {
				URL       string    `json:"url"`
				Digest    string    `json:"digest"`
				FetchedAt time.Time `json:"fetched_at"`
			}
			if err != nil || json.Unmarshal(record.Value, &doc) != nil {
				continue
			}
			blob, err := r.store.Get(ctx, store.BlobKey(doc.Digest))
			if err != nil {
				continue
			}
			o.Source, o.Detail = doc.URL, "the document fetched on "+formatSecond(doc.FetchedAt)+" does not name the agent's DID"
			if bytes.Contains(blob.Value, want) {
				o.Holds, o.Detail = true, "the document fetched on "+formatSecond(doc.FetchedAt)+" names the agent's DID"
				return o
			}
		}
	}
	return o
}

// recordObservation notes an observation. An entry is made when it says something new.
func (c *change) recordObservation(signal string, o Observation) error {
	old, had := c.agent.Observed[signal]
	c.agent.Observed[signal] = o
	if had && old.Holds == o.Holds || !had && !o.Holds || c.agent.Status != Active {
		return nil
	}
	return c.addEntry(Entry{Event: EventObserved, Actor: ActorSystem, Fields: []string{"observed." + signal}})
}

// setNextCheck sets when the agent is to be looked at next.
func (a *Agent) setNextCheck(r *Registry) {
	a.NextCheck = time.Time{}
	if a.Status != Active {
		return
	}
	at := func(t time.Time) {
		if a.NextCheck.IsZero() || t.Before(a.NextCheck) {
			a.NextCheck = t
		}
	}
	for _, d := range a.Domains {
		if d.Withdrawn.IsZero() {
			at(d.nextProbe(r.recheck))
		}
	}
	for _, signal := range a.observableSignals(r) {
		if o, seen := a.Observed[signal]; seen {
			at(o.At.Add(r.recheck))
		} else {
			at(a.Updated)
		}
	}
	if a.Recovery != nil {
		at(a.Recovery.Due)
	}
}

// nextProbe is when a domain is to be looked at again: sooner after a failure, and
// soonest while its owner waits for it.
func (d Domain) nextProbe(recheck time.Duration) time.Time {
	if d.Checked.IsZero() {
		return d.Requested
	}
	switch {
	case d.Since.IsZero():
		return d.Checked.Add(recheck / 24)
	case d.Failures > 0:
		return d.Checked.Add(recheck / 3)
	}
	return d.Checked.Add(recheck)
}

// domainOfAddress returns the registrable domain that looking at a signal would bother.
func domainOfAddress(address string) string {
	if u, err := url.Parse(address); err == nil && u.Hostname() != "" {
		return registrableDomain(u.Hostname())
	}
	if web, err := did.ParseWeb(address); err == nil {
		return registrableDomain(web.Host)
	}
	return ""
}
