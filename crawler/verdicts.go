package crawler

import (
	"sync"
	"time"

	"gazetteer/fetch"
)

// robotsCache keeps verdicts with their rules for as long as they hold, so that many hosts that
// redirect to one host do not each ask for its robots.txt. The record of a visited host keeps its
// verdict for our paths across restarts.
type robotsCache struct {
	mu       sync.Mutex // guards the following fields
	verdicts map[string]*fetch.Verdict
}

const (
	maxVerdicts     = 1024
	maxVerdictBytes = 16 << 10 // of patterns; longer files are read again
)

// lookupVerdict returns the cached verdict of a host, or nil.
func (c *robotsCache) lookupVerdict(host string, now time.Time) *fetch.Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.verdicts[host]
	if v == nil || !now.Before(v.Until) {
		delete(c.verdicts, host)
		return nil
	}
	return v
}

// forgetAll empties the cache.
func (c *robotsCache) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.verdicts)
}

// storeVerdict caches a verdict, whose Until is set.
func (c *robotsCache) storeVerdict(host string, v *fetch.Verdict) {
	if v.Bytes() > maxVerdictBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.verdicts[host]; !known && len(c.verdicts) >= maxVerdicts {
		for other := range c.verdicts { // any one: it can be asked for again
			delete(c.verdicts, other)
			break
		}
	}
	c.verdicts[host] = v
}

// dropVerdict makes the next visit to a host ask for its robots.txt.
func (c *robotsCache) dropVerdict(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.verdicts, host)
}
