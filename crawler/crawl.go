package crawler

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/store"
)

// Crawl adds hosts and yields one result for each as it becomes available: the result of its visit,
// that of its last visit when it is not due (Result.NotDue), or [fetch.BadHost] for a bad host
// name. It needs [Crawler.Run] in another goroutine, and returns [ErrStopped] when that ends. An
// error from yield ends it.
func (c *Crawler) Crawl(ctx context.Context, hosts []string, yield func(Result) error) error {
	due := map[string]bool{}
	for _, h := range hosts {
		name, err := fetch.CheckHost(h)
		if err != nil {
			if err := yield(BadHost(h, err, c.now())); err != nil {
				return err
			}
			continue
		}
		why, err := c.blockReason(ctx, name)
		if err != nil {
			return err
		}
		if why != "" {
			if err := yield(notAllowed(name, why, c.now())); err != nil {
				return err
			}
			continue
		}
		due[name] = true
	}
	names := slices.Sorted(maps.Keys(due))
	if err := c.Add(ctx, names...); err != nil {
		return err
	}
	replies := make(chan Result, len(names))
	requests := make([]request, len(names))
	for i, name := range names {
		h, _, err := c.readHost(ctx, name)
		if err != nil {
			return err
		}
		requests[i] = request{host: name, due: h.Due, reply: replies}
	}
	c.mu.Lock()
	ended := c.runDone
	c.mu.Unlock()
	c.tellFrontier(requests, true)
	for range names {
		r, err := c.nextReply(ctx, replies, ended)
		if err != nil {
			return err
		}
		if err := yield(r); err != nil {
			return err
		}
	}
	return nil
}

// nextReply waits for the next result.
func (c *Crawler) nextReply(ctx context.Context, replies <-chan Result, ended <-chan struct{}) (Result, error) {
	var r Result
	select {
	case r = <-replies:
	case <-ctx.Done():
		return r, ctx.Err()
	case <-ended:
		select {
		case r = <-replies:
		default:
			return r, ErrStopped
		}
	}
	if r.NotDue {
		return c.lastResult(ctx, r)
	}
	return r, nil
}

// lastResult fills in the result of a host that is not due from its last visit.
func (c *Crawler) lastResult(ctx context.Context, r Result) (Result, error) {
	name := r.Host
	h, _, err := c.readHost(ctx, name)
	if err != nil {
		return Result{}, err
	}
	if h.Visits == 0 {
		r.State, r.Summary = Unvisited, "not visited yet: our program ended again and again while it visited this host, which waits now"
		return r, nil
	}
	r.TLS = h.TLS
	docs := map[document.Kind]*document.Document{}
	for _, kind := range slices.Sorted(maps.Keys(h.Fetches)) {
		f := h.Fetches[kind]
		r.Fetches = append(r.Fetches, f)
		if f.Digest == "" {
			continue
		}
		d, err := c.readDocument(ctx, name, kind)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return Result{}, err
		}
		docs[d.Kind] = d
		r.Documents++
		r.Operations += len(d.Operations)
		r.Errors += countErrors(d)
	}
	r.State = stateOf(r.Documents, r.Fetches)
	r.Summary = "not due before " + r.NextDue.UTC().Format(time.RFC3339) + "; last: " + summarizeVisit(r.Fetches, docs)
	return r, nil
}
