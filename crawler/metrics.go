package crawler

import (
	"maps"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
)

// Metrics counts what happened since the start.
type Metrics struct {
	Status
	// Outcomes counts settled fetches by kind (a document.Kind, or "robots").
	Outcomes map[string]map[fetch.Outcome]int `json:"outcomes"`
	// Requests counts requests, redirects included; WireBytes the bytes of their bodies as
	// transferred.
	Requests  int   `json:"requests"`
	WireBytes int64 `json:"wire_bytes"`
	// RobotsRefusals counts fetches that a robots.txt forbade.
	RobotsRefusals int `json:"robots_refusals"`
	// Waits counts visits that were postponed because their address had no free slot. Waited is the
	// total time that visits spent waiting for slots, intervals and connections.
	Waits  int           `json:"waits"`
	Waited time.Duration `json:"waited_ns"`
	// QueueAge is the time for which the next host has been due: the lag of the crawler.
	QueueAge time.Duration `json:"queue_age_ns"`
}

// Metrics returns the counters at this moment.
func (c *Crawler) Metrics() Metrics {
	s := c.Status()
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.metrics
	m.Status = s
	m.Outcomes = map[string]map[fetch.Outcome]int{}
	for kind, counts := range c.metrics.Outcomes {
		m.Outcomes[kind] = maps.Clone(counts)
	}
	return m
}

// FetchKinds returns the kinds of fetches: documents, robots.txt and the random path.
func FetchKinds() []string {
	kinds := []string{fetch.KindRobots, kindCanary}
	for _, f := range document.Formats {
		kinds = append(kinds, string(f.Kind))
	}
	return kinds
}

// countVisit adds a visit. c.mu is held.
func (m *Metrics) countVisit(v *visit) {
	m.Requests += v.requests
	m.WireBytes += v.wireBytes
	m.Waited += v.waited
	for _, f := range v.result.Fetches {
		if m.Outcomes == nil {
			m.Outcomes = map[string]map[fetch.Outcome]int{}
		}
		if m.Outcomes[f.Kind] == nil {
			m.Outcomes[f.Kind] = map[fetch.Outcome]int{}
		}
		m.Outcomes[f.Kind][f.Outcome]++
		if f.Outcome == fetch.RefusedByRobots {
			m.RobotsRefusals++
		}
	}
}
