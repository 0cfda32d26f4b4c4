package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/store"
)

// recrawlPause is how long after one wish to be visited the next may come.
const recrawlPause = 10 * time.Minute

// ErrBlocked is what [Crawler.Recrawl] answers for a host that is not visited.
var ErrBlocked = errors.New("the host is not visited")

// A SoonError says that a host cannot be visited again before a time.
type SoonError struct {
	Host string
	Wait time.Duration
	Why  string // for a person
}

func (e *SoonError) Error() string {
	return fmt.Sprintf("%s can be visited again in %s: %s", e.Host, e.Wait.Round(time.Second), e.Why)
}

// Recrawl has a known host visited again, as its owner wishes: now, though with
// the intervals that every visit keeps, and robots.txt is asked for again too.
// What was not found may be asked for at once, since it is the owner who says
// that something has changed; a time that the host itself has named by
// Retry-After is waited out. The wish is durable when Recrawl returns.
//
// The error is a *[SoonError] within 10 minutes of the last wish or while the
// host wants to be left alone, a *[fetch.HostError] for what is no host name,
// [ErrBlocked], [store.ErrNotFound] for a host that is not known, or another of
// the store.
func (c *Crawler) Recrawl(ctx context.Context, host string) error {
	name, err := fetch.CheckHost(host)
	if err != nil {
		return err
	}
	why, err := c.barred(ctx, name)
	if err != nil {
		return fmt.Errorf("visit %s again: %w", name, err)
	}
	if why != "" {
		return fmt.Errorf("%w: %s", ErrBlocked, why)
	}
	c.writing(1)
	defer c.writing(-1)
	for {
		due, err := c.writeWish(ctx, name)
		if errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
			continue // a visit was committed meanwhile, or another wish
		}
		if err != nil {
			return err
		}
		c.robots.forget(name)
		c.tell([]request{{host: name, due: due, again: true}}, false)
		return nil
	}
}

// writeWish puts the wish into the record of the host.
func (c *Crawler) writeWish(ctx context.Context, name string) (due time.Time, err error) {
	h, seq, err := c.host(ctx, name)
	if err != nil {
		return due, err
	}
	now := c.now()
	if wait := h.Wished.Add(recrawlPause).Sub(now); wait > 0 {
		return due, &SoonError{name, wait, "it was asked for already, and is at most once in " + recrawlPause.String()}
	}
	h.grant(now)
	if wait := h.Due.Sub(now); wait > 0 {
		return due, &SoonError{name, wait, "its last answer said by Retry-After when to come back"}
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

// grant makes a host due because of a wish, as far as it has not named a later
// time itself.
func (h *Host) grant(wished time.Time) {
	h.Wished = wished
	for kind := range h.NotBefore {
		f := h.Fetches[kind]
		if f.RetryAfter <= 0 || classOf(f.Outcome) != classBusy {
			delete(h.NotBefore, kind)
		}
	}
	h.Due = wished
	ai, summary := h.NotBefore[string(document.AI)], h.NotBefore[string(document.AGISSummary)]
	if first := earlier(ai, summary); first.After(wished) {
		h.Due = first
	}
	// Nothing else is asked where robots.txt is not to be had.
	if robots := h.NotBefore[fetch.KindRobots]; robots.After(h.Due) {
		h.Due = robots
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
