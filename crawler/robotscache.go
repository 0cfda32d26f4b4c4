package crawler

import (
	"sync"
	"time"

	"gazetteer/fetch"
)

// robotsCache keeps policies with their rules for as long as they hold, so that many hosts that
// redirect to one host do not each ask for its robots.txt. The record of a visited host keeps its
// policy for our paths across restarts.
type robotsCache struct {
	mu       sync.Mutex // guards the following fields
	policies map[string]*fetch.RobotsPolicy
}

const (
	maxPolicies    = 1024
	maxPolicyBytes = 16 << 10 // of patterns; longer files are read again
)

// lookupPolicy returns the cached policy of a host, or nil.
func (c *robotsCache) lookupPolicy(host string, now time.Time) *fetch.RobotsPolicy {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.policies[host]
	if v == nil || !now.Before(v.Until) {
		delete(c.policies, host)
		return nil
	}
	return v
}

// forgetAll empties the cache.
func (c *robotsCache) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.policies)
}

// storePolicy caches a policy, whose Until is set.
func (c *robotsCache) storePolicy(host string, v *fetch.RobotsPolicy) {
	if v.Bytes() > maxPolicyBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.policies[host]; !known && len(c.policies) >= maxPolicies {
		for other := range c.policies { // any one: it can be asked for again
			delete(c.policies, other)
			break
		}
	}
	c.policies[host] = v
}

// dropPolicy makes the next visit to a host ask for its robots.txt.
func (c *robotsCache) dropPolicy(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.policies, host)
}
