package relay

import (
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"gazetteer/protocol/a2a"
)

// Metrics counts what happened since the start.
type Metrics struct {
	Accepted     uint64
	Refused      map[string]uint64 // by rule of the draft or code of the relay
	Pulled       uint64
	Acknowledged uint64
	Expired      uint64
}

type metrics struct {
	accepted, pulled, acknowledged, expired atomic.Uint64

	mu      sync.Mutex // guards the following
	refused map[string]uint64
}

// countPush counts the result of one push. Reasons come from closed lists, so the map stays small.
func (m *metrics) countPush(err error) {
	if err == nil {
		m.accepted.Add(1)
		return
	}
	reason := "other"
	if e, ok := errors.AsType[*a2a.Refusal](err); ok {
		reason = e.Rule
	} else if e, ok := errors.AsType[*Refusal](err); ok {
		reason = e.Code
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refused == nil {
		m.refused = map[string]uint64{}
	}
	m.refused[reason]++
}

// Metrics returns the counters at this moment.
func (r *Relay) Metrics() Metrics {
	m := &r.metrics
	m.mu.Lock()
	defer m.mu.Unlock()
	return Metrics{
		Accepted: m.accepted.Load(), Refused: maps.Clone(m.refused), Pulled: m.pulled.Load(),
		Acknowledged: m.acknowledged.Load(), Expired: m.expired.Load(),
	}
}
