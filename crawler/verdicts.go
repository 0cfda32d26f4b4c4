package crawler

import (
	"sync"
	"time"

	"gazetteer/fetch"
)

// robotsCache remembers verdicts with their rules for as long as they hold, so
// that many hosts that redirect to one do not ask for its robots.txt each. The
// record of a visited host keeps its verdict for our paths across restarts.
type robotsCache struct {
	mu       sync.Mutex // guards following
	verdicts map[string]*fetch.Verdict
}

const (
	mostVerdicts     = 1024
	mostVerdictBytes = 16 << 10 // of patterns; longer files are read again
)

// verdict returns what is remembered of a host, nil when nothing is.
func (c *robotsCache) verdict(host string, now time.Time) *fetch.Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.verdicts[host]
	if v == nil || !now.Before(v.Until) {
		delete(c.verdicts, host)
		return nil
	}
	return v
}

// keep remembers a verdict, whose Until is set.
func (c *robotsCache) keep(host string, v *fetch.Verdict) {
	if v.Bytes() > mostVerdictBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.verdicts[host]; !known && len(c.verdicts) >= mostVerdicts {
		for other := range c.verdicts { // any one: it can be asked for again
			delete(c.verdicts, other)
			break
		}
	}
	c.verdicts[host] = v
}

// forget makes the next visit to a host ask for its robots.txt.
func (c *robotsCache) forget(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.verdicts, host)
}
