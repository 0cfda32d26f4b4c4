package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"gazetteer/fetch"
	"gazetteer/store"
)

// recrawlPause is the minimum time between two requests to visit a host, except for the operator.
const recrawlPause = 10 * time.Minute

// ErrBlocked is returned by [Crawler.Recrawl] for a host that is not visited.
var ErrBlocked = errors.New("the host is not visited")

// A SoonError says that a host cannot be visited again before a time.
type SoonError struct {
	Host string
	Wait time.Duration
	Why  string // for a person
}

func (e *SoonError) Error() string {
	unit, name := time.Second, "seconds"
	switch {
	case e.Wait > 2*time.Hour:
		unit, name = time.Hour, "hours"
	case e.Wait > 2*time.Minute:
		unit, name = time.Minute, "minutes"
	}
	return fmt.Sprintf("the host %s can be visited again in %d %s: %s", e.Host, (e.Wait+unit-1)/unit, name, e.Why)
}

// A Requester is the party that requests a new visit to a host.
type Requester string

// The parties that can request a visit.
const (
	Anybody  Requester = ""
	Operator Requester = "operator" // of this server
	// ProvedOwner signed the request with a key of the host's DID document. The record of the host
	// says since when: see [Host.OwnerProved].
	ProvedOwner Requester = "proved-owner"
)

// Recrawl schedules a known host for a new visit: now, subject to the intervals that apply to every
// visit. A time that the host itself named by Retry-After is respected. What was answered 404 or
// 410 is not requested again within 24 hours (AI Discovery §4.3), and robots.txt stays valid as
// long as usual, unless the owner or the operator says that something has changed. A document that
// was answered and could not be used is requested again, because its owner repairs it and asks at
// once. The request is durable when Recrawl returns.
//
// The error is a *[SoonError] within 10 minutes of the last request (of the owner's own one for the
// owner, never for the operator) or while the host asks for a pause, a *[fetch.HostError] for a bad
// host name, [ErrBlocked], [store.ErrNotFound] for an unknown host, or another one of the store.
func (c *Crawler) Recrawl(ctx context.Context, host string, by Requester) error {
	name, err := fetch.CheckHost(host)
	if err != nil {
		return err
	}
	why, err := c.blockReason(ctx, name)
	if err != nil {
		return fmt.Errorf("visit %s again: %w", name, err)
	}
	if why != "" {
		return fmt.Errorf("%w: %s", ErrBlocked, why)
	}
	c.countWriters(1)
	defer c.countWriters(-1)
	for {
		due, err := c.writeRevisitRequest(ctx, name, by)
		if errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
			continue // a visit was committed meanwhile, or another request
		}
		if err != nil {
			return err
		}
		if by != Anybody {
			c.robots.dropPolicy(name)
		}
		c.tellFrontier([]request{{host: name, due: due, again: true}}, false)
		return nil
	}
}

// writeRevisitRequest writes the request into the record of the host.
func (c *Crawler) writeRevisitRequest(ctx context.Context, name string, by Requester) (due time.Time, err error) {
	h, seq, err := c.readHost(ctx, name)
	if err != nil {
		return due, err
	}
	now := c.now()
	if wait := h.pauseUntil(by).Sub(now); wait > 0 {
		return due, &SoonError{name, wait, fmt.Sprintf("a visit was requested already, and one is possible every %d minutes", recrawlPause/time.Minute)}
	}
	h.grantRevisit(now, by)
	if by == ProvedOwner {
		h.OwnerProved = now
	}
	if wait := h.Due.Sub(now); wait > 0 {
		why := "its last answer had a Retry-After"
		if slices.ContainsFunc(requestedKinds(), h.isAbsent) {
			why = "nothing was found there, and the path is not requested again within 24 hours unless the owner signs the request"
		}
		return due, &SoonError{name, wait, why}
	}
	text, err := json.Marshal(h)
	if err != nil {
		return due, fmt.Errorf("write the record of %s: %w", name, err)
	}
	if _, err = c.store.Apply(ctx, store.PutIf(store.HostKey(name), text, seq)); err != nil {
		return due, fmt.Errorf("visit %s again: %w", name, err)
	}
	return h.Due, nil
}

// pauseUntil returns the end of the pause after the last request of a visit, a past time for none:
// requests of others do not delay the owner, and nothing delays the operator.
func (h *Host) pauseUntil(by Requester) time.Time {
	switch by {
	case Operator:
		return time.Time{}
	case ProvedOwner:
		return h.OwnerProved.Add(recrawlPause)
	}
	return h.Wished.Add(recrawlPause)
}

// grantRevisit makes a host due because of a request, unless the host itself named a later time.
func (h *Host) grantRevisit(wished time.Time, by Requester) {
	h.Wished, h.ByOwner = wished, by != Anybody
	held := h.heldUntil()
	for kind, at := range h.NotBefore {
		f := h.Fetches[kind]
		switch {
		case f.RetryAfter > 0 && classOf(f.Outcome) == classBusy:
		case by == Anybody && h.isAbsent(kind):
			h.NotBefore[kind] = earlierOf(at, f.At.Add(oneDay))
		case held.After(wished):
			h.NotBefore[kind] = earlierOf(at, held)
		default:
			delete(h.NotBefore, kind)
		}
	}
	h.Due = wished
	var starts []time.Time
	for _, kind := range requestedKinds() {
		starts = append(starts, h.NotBefore[kind])
	}
	if first := slices.MinFunc(starts, time.Time.Compare); first.After(wished) {
		h.Due = first
	}
	// Nothing else is requested while robots.txt cannot be fetched.
	if robots := h.NotBefore[fetch.KindRobots]; robots.After(h.Due) && !h.isGone(fetch.KindRobots) {
		h.Due = robots
	}
}

// heldUntil returns the time of the host's own Retry-After, zero for none.
func (h *Host) heldUntil() time.Time {
	var held time.Time
	for kind, f := range h.Fetches {
		if at := h.NotBefore[kind]; f.RetryAfter > 0 && classOf(f.Outcome) == classBusy && at.After(held) {
			held = at
		}
	}
	return held
}

// isGone reports whether the last answer for a kind clearly said that there is no document.
func (h *Host) isGone(kind string) bool {
	f, asked := h.Fetches[kind]
	return asked && classOf(f.Outcome) == classGone
}

// isAbsent reports whether the last answer for a kind was "not found".
func (h *Host) isAbsent(kind string) bool { return h.Fetches[kind].Outcome == fetch.Absent }

func earlierOf(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
