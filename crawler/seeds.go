package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"gazetteer/fetch"
	"gazetteer/store"
)

// addChunk is the number of hosts that one Apply adds.
const addChunk = 500

// Add adds hosts as seeds. They are durable when Add returns, and are visited when they are due and
// [Crawler.Run] runs. A known host keeps its due time, so that nothing is requested again too
// early. A blocked host stays blocked: see [Crawler.Blocked]. The error is a *[fetch.HostError] for
// a name that [fetch.CheckHost] refuses; nothing is added then.
func (c *Crawler) Add(ctx context.Context, hosts ...string) error {
	names := make([]string, 0, len(hosts))
	for _, h := range hosts {
		name, err := fetch.CheckHost(h)
		if err != nil {
			return err
		}
		why, err := c.blockReason(ctx, name)
		if err != nil {
			return fmt.Errorf("add hosts: %w", err)
		}
		if why == "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for chunk := range slices.Chunk(slices.Compact(names), addChunk) {
		if err := c.addSeeds(ctx, chunk); err != nil {
			return fmt.Errorf("add hosts: %w", err)
		}
	}
	return nil
}

// addSeeds writes checked names and informs the frontier.
func (c *Crawler) addSeeds(ctx context.Context, names []string) error {
	c.countWriters(1)
	defer c.countWriters(-1)
	for {
		requests, err := c.writeSeeds(ctx, names)
		if errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
			continue // a visit changed one of them first
		}
		if err != nil {
			return err
		}
		c.tellFrontier(requests, false)
		return nil
	}
}

// countWriters counts the writers whose hosts the frontier does not know yet.
func (c *Crawler) countWriters(more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.adding += more
}

func (c *Crawler) writeSeeds(ctx context.Context, names []string) ([]request, error) {
	var writes []store.Write
	requests := make([]request, 0, len(names))
	now := c.now()
	for _, name := range names {
		h, seq, err := c.readHost(ctx, name)
		switch {
		case errors.Is(err, store.ErrNotFound):
			h = Host{Name: name, Due: now, Added: now}
		case err != nil:
			return nil, err
		}
		requests = append(requests, request{host: name, due: h.Due})
		if seq != 0 && h.Depth == 0 {
			continue
		}
		// The links of a seed are followed to the full depth, regardless of the host that linked to
		// it before.
		h.Depth, h.FoundOn = 0, ""
		text, err := json.Marshal(h)
		if err != nil {
			return nil, err
		}
		writes = append(writes, store.PutIf(store.HostKey(name), text, seq))
	}
	if len(writes) == 0 {
		return requests, nil
	}
	_, err := c.store.Apply(ctx, writes...)
	return requests, err
}

// tellFrontier passes requests to the frontier. While the frontier does not run, it keeps only
// requests with a waiting caller: the others are in the store.
func (c *Crawler) tellFrontier(requests []request, waiting bool) {
	c.mu.Lock()
	if c.running || waiting {
		c.pending = append(c.pending, requests...)
	}
	c.mu.Unlock()
	select {
	case c.poke <- struct{}{}:
	default:
	}
}
