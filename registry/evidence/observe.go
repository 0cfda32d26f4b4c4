package evidence

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
	"gazetteer/protocol"
	"gazetteer/registry"
	"gazetteer/store"
)

// maxPage is the size of the part of a repository's page that is searched for the agent.
const maxPage = 512 << 10

// observableSignals returns the signals that can be observed for an agent: those that its record
// says something about.
func (e *Collector) observableSignals(a registry.Agent) []string {
	var out []string
	if e.registry.CanObserveCreator(a) {
		out = append(out, registry.SignalDID)
	}
	if e.web != nil && a.InboxURL() != "" {
		out = append(out, registry.SignalInbox)
	}
	if e.web != nil && strings.HasPrefix(a.CodeRepository, "https://") {
		out = append(out, registry.SignalRepository)
	}
	if slices.ContainsFunc(a.Domains, registry.Domain.Proved) {
		out = append(out, registry.SignalAGIS)
	}
	return out
}

// observeSignal observes one signal.
func (e *Collector) observeSignal(ctx context.Context, a registry.Agent, signal string) registry.Observation {
	switch signal {
	case registry.SignalDID:
		o, _ := e.registry.ObserveCreator(ctx, a)
		return o
	case registry.SignalInbox:
		return e.observeInbox(ctx, a)
	case registry.SignalRepository:
		return e.observeRepository(ctx, a)
	}
	return e.observeAGIS(ctx, a)
}

// observeInbox sends an empty object to the inbox. An inbox of A2A refuses it by its form (A2A
// §9.1), or because it is not signed. That shows that the inbox exists, and delivers no mail.
func (e *Collector) observeInbox(ctx context.Context, a registry.Agent) registry.Observation {
	o := registry.Observation{At: e.registry.Timestamp(), Source: a.InboxURL()}
	if !strings.HasPrefix(o.Source, "https://") {
		o.Detail = "not checked: only https inboxes are"
		return o
	}
	page, err := e.web.Post(ctx, o.Source, "{}", maxPage)
	switch s := page.Status; {
	case err != nil:
		o.Detail = protocol.ClipBytes(err.Error(), registry.MaxQuoted)
	case s >= 500 || s >= 300 && s < 400 || s == http.StatusNotFound || s == http.StatusMethodNotAllowed || s == http.StatusGone:
		o.Detail = fmt.Sprintf("it is no inbox: it answered an empty test message with %d", s)
	default:
		o.Holds, o.Detail = true, describeAnswer(s)
	}
	return o
}

// describeAnswer says what the answer of an inbox to an empty message shows.
func describeAnswer(status int) string {
	if status >= 400 {
		return fmt.Sprintf("it answers: it refused an empty test message with %d, as it should", status)
	}
	return fmt.Sprintf("it answers: it took an empty test message with %d", status)
}

// observeRepository checks whether the page of the code repository names the agent.
func (e *Collector) observeRepository(ctx context.Context, a registry.Agent) registry.Observation {
	o := registry.Observation{At: e.registry.Timestamp(), Source: a.CodeRepository}
	if mayBeRepeated(a.CodeRepository, a.AirID) {
		o.Detail = "the address has a query or contains the AIR ID, so a page could name the agent only because it repeats its address"
		return o
	}
	page, err := e.web.Get(ctx, a.CodeRepository, "text/html, text/plain", maxPage)
	switch {
	case err != nil:
		o.Detail = protocol.ClipBytes(err.Error(), registry.MaxQuoted)
	case page.Status != http.StatusOK:
		o.Detail = fmt.Sprintf("it answered %d", page.Status)
	case bytes.Contains(page.Body, []byte(e.registry.DID(a.AirID))):
		o.Holds, o.Detail = true, "the page names "+e.registry.DID(a.AirID)
	default:
		o.Detail = "the page does not name " + e.registry.DID(a.AirID)
	}
	return o
}

// mayBeRepeated reports whether a page that shows its own address, such as that of a search, shows
// the AIR ID in it.
func mayBeRepeated(address, airID string) bool {
	u, err := url.Parse(address)
	return err != nil || u.RawQuery != "" || strings.Contains(strings.ToUpper(u.Hostname()+u.Path), airID)
}

// observeAGIS checks whether a document that the crawler fetched from a proved domain names the
// agent's DID.
func (e *Collector) observeAGIS(ctx context.Context, a registry.Agent) registry.Observation {
	o := registry.Observation{At: e.registry.Timestamp(), Detail: "no document of a proved domain was fetched yet"}
	want, err := json.Marshal(e.registry.DID(a.AirID))
	if err != nil {
		return o
	}
	for _, d := range a.Domains {
		if !d.Proved() {
			continue
		}
		for _, kind := range []document.Kind{document.AGISSummary, document.AGIS, document.AI} {
			record, err := e.store.Get(ctx, store.DocumentKey(d.Name, string(kind)))
			var doc struct {
				URL       string    `json:"url"`
				Digest    string    `json:"digest"`
				FetchedAt time.Time `json:"fetched_at"`
			}
			if err != nil || json.Unmarshal(record.Value, &doc) != nil {
				continue
			}
			blob, err := e.store.Get(ctx, store.BlobKey(doc.Digest))
			if err != nil {
				continue
			}
			fetched := "the document fetched on " + doc.FetchedAt.UTC().Format("2 January 2006 15:04:05 UTC")
			o.Source, o.Detail = doc.URL, fetched+" does not name the agent's DID"
			if bytes.Contains(blob.Value, want) {
				o.Holds, o.Detail = true, fetched+" names the agent's DID"
				return o
			}
		}
	}
	return o
}

// recordObservation stores an observation. It adds an entry when the result is new. What the agent
// has not named any more since the observation began is not recorded.
func recordObservation(c *registry.Change, signal string, o registry.Observation) error {
	next := c.Agent
	next.Observed = map[string]registry.Observation{signal: o}
	if _, current := next.Observation(signal); !current {
		return nil
	}
	old, had := c.Agent.Observation(signal)
	c.Agent.Observed[signal] = o
	if had && old.Holds == o.Holds || !had && !o.Holds || c.Agent.Status != registry.Active {
		return nil
	}
	return c.AddEntry(registry.HistoryEntry{Event: registry.EventObserved, Actor: registry.ActorSystem, Fields: []string{"observed." + signal}})
}
