package view

import (
	"math"
	"sync"

	"gazetteer/index/bitset"
	"gazetteer/index/query"
)

// HostStates has the current states of hosts, which change without their documents. Its methods may
// be called from any goroutine.
type HostStates interface {
	// HostNumber returns the number of a host, which never changes; false for an unknown host.
	HostNumber(host string) (uint32, bool)
	// HostLabels returns the states of each host by number, as bits in the order of
	// [query.StateNames]. The result never changes. A host with a number beyond its end has no
	// state.
	HostLabels() []uint8
}

// hostNumbers has the numbers of the hosts of a segment, which are looked up on first use.
type hostNumbers struct {
	mu      sync.Mutex // guards the following fields
	numbers []uint32   // by run; unknownHost if the host was unknown at the lookup
	missing int        // the number of unknown hosts
	known   int        // the number of all hosts at the lookup
}

const unknownHost = math.MaxUint32

// numbersOfRuns returns the number of the host of each run. labels are those of all hosts: if there
// are more of them, hosts that were unknown are looked up again.
func (h *hostNumbers) numbersOfRuns(runs []DocumentRun, states HostStates, known int) []uint32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.numbers != nil && (h.missing == 0 || h.known == known) {
		return h.numbers
	}
	numbers := make([]uint32, len(runs)) // the old ones may be in use
	h.missing, h.known = 0, known
	for r := range runs {
		n, ok := states.HostNumber(runs[r].Host)
		if !ok {
			n = unknownHost
			h.missing++
		}
		numbers[r] = n
	}
	h.numbers = numbers
	return numbers
}

// hostLabels returns the labels of all hosts, nil when none are known.
func (l *Directory) hostLabels() *labels {
	if l.states == nil {
		return nil
	}
	return &labels{l.states, l.states.HostLabels()}
}

// labels has the states of all hosts at one moment.
type labels struct {
	states HostStates
	bits   []uint8 // by number
}

// ofRuns calls visit with the label of the host of each run.
func (l *labels) ofRuns(s *SegmentData, visit func(run int, label uint8)) {
	if l == nil {
		for r := range s.Runs {
			visit(r, 0)
		}
		return
	}
	for r, n := range s.hosts.numbersOfRuns(s.Runs, l.states, len(l.bits)) {
		label := uint8(0)
		if int(n) < len(l.bits) {
			label = l.bits[n]
		}
		visit(r, label)
	}
}

// withStates returns the operations of hosts in all of these states; a minus sign before a state
// asks for hosts without it.
func (s *Segment) withStates(states []string, l *labels) bitset.Set {
	var is, not uint8
	for _, state := range states {
		positive, negated := query.SplitNegation(state)
		for i, name := range query.StateNames() {
			switch {
			case name != positive:
			case negated:
				not |= 1 << i
			default:
				is |= 1 << i
			}
		}
	}
	b := bitset.New(s.N)
	l.ofRuns(s.SegmentData, func(run int, label uint8) {
		if label&is == is && label&not == 0 {
			b.AddRange(s.OperationsOf(uint32(run)))
		}
	})
	return b
}

// stateColumn returns the states of the hosts. It is computed for each use, because they change.
func (d *SegmentData) stateColumn(l *labels) *column {
	names := query.StateNames()
	c := &column{values: append([]string{""}, names...), runs: make([][]uint32, len(d.Runs))}
	combinations := make([][]uint32, 1<<len(names))
	for label := range combinations {
		for i := range names {
			if label&(1<<i) != 0 {
				combinations[label] = append(combinations[label], uint32(i+1))
			}
		}
	}
	l.ofRuns(d, func(run int, label uint8) { c.runs[run] = combinations[int(label)%len(combinations)] })
	return c
}
