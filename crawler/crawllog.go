package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"gazetteer/crawler/journal"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/store"
)

// The crawl log holds every request that was made to a host, with its reason, for the owner of the
// host to read. The requests of one visit to one host are one record, which is written together
// with the result of the visit.

// CrawlLogAge is the time for which an entry of the crawl log is stored.
const CrawlLogAge = 90 * oneDay

// A CrawlLogEntry lists the requests to a host during one visit.
type CrawlLogEntry struct {
	Host string `json:"host"` // that was requested
	// Visited is the host of the visit; it differs from Host when a redirect or a link led from
	// there to Host.
	Visited string `json:"visited"`
	// Why is the reason for the visit, for a person: "due again", for example.
	Why      string    `json:"why"`
	At       time.Time `json:"at"`
	Requests []Request `json:"requests"`
	// Interrupted is set when the end of the process interrupted the visit. Its last requests may be
	// missing.
	Interrupted bool `json:"cut,omitempty"`
	// Check is set for requests outside of a visit, such as the look-up of a proof. They do not read
	// the documents of the host.
	Check bool `json:"check,omitempty" doc:"the requests were made for a check, such as that of a proof; this was no visit"`
}

// A Request is one request in the crawl log.
type Request struct {
	fetch.Made
	// Why is the reason for the request, for a person.
	Why string `json:"why"`
}

// maxEntries and maxLoggedRequests limit what one visit may write into crawl logs: the number of
// hosts, and the requests to each.
const (
	maxEntries        = 32
	maxLoggedRequests = 64
	maxSwept          = 20 // expired entries that are deleted with a new one
)

// noteRequest adds a request of a session to the crawl log of the host it went to.
func (s *session) noteRequest(a *fetch.Ask, asked string) {
	v := s.visit
	e := v.crawlLog[asked]
	if e == nil {
		if len(v.crawlLog) == maxEntries {
			return
		}
		e = &CrawlLogEntry{Host: asked, Visited: v.host.Name, Why: v.why, At: a.Made.At}
		v.crawlLog[asked] = e
	}
	if a.Lost != nil && len(e.Requests) < maxLoggedRequests {
		e.Requests = append(e.Requests, Request{*a.Lost, s.requestReason(a)})
	}
	if len(e.Requests) < maxLoggedRequests {
		e.Requests = append(e.Requests, Request{a.Made, s.requestReason(a)})
	}
}

// requestReason returns the reason for a request.
func (s *session) requestReason(a *fetch.Ask) string {
	f, _ := document.FormatOf(document.Kind(a.Kind))
	why := "the " + f.Name
	switch {
	case a.Kind == fetch.KindRobots:
		why = "robots.txt, before anything else"
	case a.Kind == kindCanary:
		why = "a random path, to see whether every path has the same answer"
	case f.Request == document.AfterAbsence:
		why = "the " + f.AliasOf.Describe() + " at its second address, as the first answered 404"
	case f.Request == document.WhenLinked:
		why += " that " + s.visit.host.Name + " names"
	}
	if a.Fetch.Final != "" || len(a.Fetch.Redirects) > 0 {
		why += "; a redirect led here"
	}
	return why
}

// whyVisit returns the reason and the time of a visit.
func whyVisit(h *Host) string {
	worst := fetch.Outcome("")
	for _, f := range h.Fetches {
		if classOf(f.Outcome) == classBusy {
			worst = f.Outcome
		}
	}
	switch {
	case h.Visits == 0 && h.FoundOn != "":
		return "a first visit: " + h.FoundOn + " names this host among its related services"
	case h.Wished.After(h.Visited):
		if !h.ByOwner {
			return "another visit, on request"
		}
		return "another visit, on request of the owner, or of the operator of this server"
	case h.Visits == 0:
		return "a first visit: the host was submitted, or is on one of our lists"
	case worst != "":
		return "another try: the last answer was " + string(worst)
	}
	return "due again"
}

// crawlLogWrites returns the writes for a visit's entries, and deletions of expired entries in the
// crawl logs of those hosts.
func (b *batch) crawlLogWrites(ctx context.Context, v *visit) error {
	for host, e := range v.crawlLog {
		if err := b.addEntry(ctx, host, e, v.host.Name); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) addEntry(ctx context.Context, host string, e *CrawlLogEntry, visited string) error {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write the crawl log of %s: %w", host, err)
	}
	b.writes = append(b.writes, store.Put(store.CrawlLogKey(host, e.At, visited), text))
	old := store.CrawlLogKey(host, b.c.due().Add(-CrawlLogAge), "")
	swept := 0
	for r, err := range b.c.store.List(ctx, store.CrawlLogOf(host), "") {
		if err != nil && !store.Damaged(r, err) {
			return err
		}
		if swept++; r.Key >= old || b.swept[r.Key] || swept > maxSwept {
			break
		}
		b.swept[r.Key] = true
		b.writes = append(b.writes, store.Delete(r.Key))
	}
	return nil
}

// CrawlLog returns the requests to a host during the last 90 days, latest first, at most limit
// entries. If before is not zero, only older entries are returned. The error is a
// *[fetch.HostError] for a bad host name, or one of the store.
func (c *Crawler) CrawlLog(ctx context.Context, host string, before time.Time, limit int) ([]CrawlLogEntry, error) {
	return ReadCrawlLog(ctx, c.store, host, c.now(), before, limit)
}

// ReadCrawlLog is [Crawler.CrawlLog] for a store without a running crawler.
func ReadCrawlLog(ctx context.Context, s store.Store, host string, now, before time.Time, limit int) ([]CrawlLogEntry, error) {
	name, err := fetch.CheckHost(host)
	if err != nil {
		return nil, err
	}
	if before.IsZero() {
		before = now.Add(oneDay)
	}
	last := store.CrawlLogKey(name, before, "")
	var out []CrawlLogEntry
	for r, err := range s.List(ctx, store.CrawlLogOf(name), store.CrawlLogKey(name, now.Add(-CrawlLogAge), "")) {
		if err != nil && !store.Damaged(r, err) {
			return nil, fmt.Errorf("read the crawl log of %s: %w", name, err)
		}
		if r.Key >= last {
			break
		}
		e, ok := decodeEntry(r, err)
		if !ok {
			continue
		}
		if out = append(out, e); len(out) > 2*limit {
			out = append(out[:0], out[len(out)-limit:]...)
		}
	}
	out = out[max(len(out)-limit, 0):]
	slices.Reverse(out)
	return out, nil
}

// ReadLastVisit returns the requests of the last visit to a host, nil without a visit in the last 90
// days. Checks, and requests to the host on visits to others, are no visits to it.
func ReadLastVisit(ctx context.Context, s store.Store, host string, now time.Time) (*CrawlLogEntry, error) {
	var last *CrawlLogEntry
	for r, err := range s.List(ctx, store.CrawlLogOf(host), store.CrawlLogKey(host, now.Add(-CrawlLogAge), "")) {
		if err != nil && !store.Damaged(r, err) {
			return nil, fmt.Errorf("read the crawl log of %s: %w", host, err)
		}
		if e, ok := decodeEntry(r, err); ok && e.Visited == host && !e.Check {
			last = &e
		}
	}
	return last, nil
}

// decodeEntry decodes an entry; false for a damaged one, beside which the others are still useful.
func decodeEntry(r store.Record, err error) (e CrawlLogEntry, ok bool) {
	if err != nil || json.Unmarshal(r.Value, &e) != nil {
		return e, false
	}
	e.Check = r.Key == store.CrawlLogKey(e.Host, e.At, byRequest)
	return e, true
}

// byRequest stands in the key of a check for the visited host.
const byRequest = "by-request"

// Record adds requests to the crawl log that something other than a crawl made, such as a requested
// check.
func (c *Crawler) Record(ctx context.Context, why string, made ...fetch.Made) error {
	entries := map[string]*CrawlLogEntry{}
	for _, m := range made {
		u, err := url.Parse(m.URL)
		if err != nil {
			return fmt.Errorf("record a request: %w", err)
		}
		host := u.Hostname()
		e := entries[host]
		if e == nil {
			e = &CrawlLogEntry{Host: host, Visited: host, Why: why, At: m.At}
			entries[host] = e
		}
		e.Requests = append(e.Requests, Request{m, why})
	}
	b := c.newBatch()
	for host, e := range entries {
		if err := b.addEntry(ctx, host, e, byRequest); err != nil {
			return err
		}
	}
	if len(b.writes) == 0 {
		return nil
	}
	_, err := c.store.Apply(ctx, b.writes...)
	return err
}

// recordInterrupted records in the crawl log that the end of the previous process interrupted visits.
func (c *Crawler) recordInterrupted(ctx context.Context, flown map[string]journal.StartedVisit) error {
	const most = 1000 // writes at once
	b := c.newBatch()
	for visited, f := range flown {
		for _, asked := range f.Asked {
			e := &CrawlLogEntry{Host: asked.Host, Visited: visited, Why: "a visit that was cut off: our program ended", At: asked.At, Requests: []Request{}, Interrupted: true}
			if err := b.addEntry(ctx, asked.Host, e, visited); err != nil {
				return err
			}
		}
		if len(b.writes) > most {
			if _, err := c.store.Apply(ctx, b.uniqueWrites()...); err != nil {
				return err
			}
			b = c.newBatch()
		}
	}
	if len(b.writes) == 0 {
		return nil
	}
	_, err := c.store.Apply(ctx, b.uniqueWrites()...)
	if errors.Is(err, store.ErrFull) {
		return nil // there is no space for additional data
	}
	return err
}

// uniqueWrites keeps only the last write for each key.
func (b *batch) uniqueWrites() []store.Write {
	last := map[string]int{}
	for i, w := range b.writes {
		last[w.Key] = i
	}
	var out []store.Write
	for i, w := range b.writes {
		if last[w.Key] == i {
			out = append(out, w)
		}
	}
	return out
}
