package crawler

import (
	"time"
)

// Status describes the current activity of a crawler.
type Status struct {
	Known    int `json:"known"`     // hosts
	Waiting  int `json:"waiting"`   // of them not due yet
	Due      int `json:"due"`       // of them due, waiting for a worker or for a limit
	InFlight int `json:"in_flight"` // of them being visited
	// Since the start: committed visits, current documents they ended with, and visits that ended
	// without a document.
	Visits    int `json:"visits"`
	Documents int `json:"documents"`
	Errors    int `json:"errors"`
	// Rate is the number of visits per second over the last 10 seconds.
	Rate float64 `json:"rate"`
	// Paused is the reason why nothing can be stored at the moment, "" while storing works.
	Paused string `json:"paused,omitempty"`
	// Loaded is set once the stored hosts are counted; until then the first four fields are 0.
	Loaded bool `json:"-"`
}

// Status returns the current activity of the crawler.
func (c *Crawler) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.status
	s.Rate = c.rate.perSecond(time.Now())
	return s
}

func (c *Crawler) setPaused(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Paused = why
}

// rateMeter counts events of the last 10 seconds.
type rateMeter struct {
	second [10]int64 // the second that each slot counts
	events [10]int
}

func (m *rateMeter) countEvent(now time.Time) {
	s := now.Unix()
	i := s % int64(len(m.second))
	if m.second[i] != s {
		m.second[i], m.events[i] = s, 0
	}
	m.events[i]++
}

func (m *rateMeter) perSecond(now time.Time) float64 {
	sum := 0
	for i, s := range m.second {
		if now.Unix()-s < int64(len(m.second)) {
			sum += m.events[i]
		}
	}
	return float64(sum) / float64(len(m.second))
}
