package answer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gazetteer/crawler"
	"gazetteer/index/cache"
	"gazetteer/store"
)

// maxHostCache bounds the memory of the crawl states that are kept, in bytes.
const maxHostCache = 32 << 20

// hostCache caches the crawl states that hits are completed with, by host: most searches show hosts
// that another search has just shown. The zero value is ready.
type hostCache struct {
	once   sync.Once
	states *cache.Sized[string, hostState]
}

// A hostState is the crawl state of a host as of a sequence of the store. It is shared, so it is never
// changed.
type hostState struct {
	seq  uint64
	host *crawler.Host
}

// lookup returns the state that was read from a record, or decodes it.
func (c *hostCache) lookup(name string, record store.Record) (*crawler.Host, error) {
	c.once.Do(func() { c.states = cache.New[string, hostState](maxHostCache) })
	if kept, ok := c.states.Lookup(name); ok && kept.seq == record.Seq {
		return kept.host, nil
	}
	host, err := decodeRecord[crawler.Host](record)
	if err != nil {
		return nil, err
	}
	c.states.Put(name, hostState{record.Seq, &host}, 3*len(record.Value))
	return &host, nil
}

// readHost reads the crawl state of a host, nil if there is none. The state is shared with other
// answers and must not be changed.
func (a *Answers) readHost(ctx context.Context, name string) (*crawler.Host, error) {
	record, err := a.Store.Get(ctx, store.HostKey(name))
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		return nil, nil // the host's own page says so
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of %s: %w", name, err)
	}
	return a.hosts.lookup(name, record)
}
