package route

import (
	"errors"
	"sync"
	"time"

	"gazetteer/api/answer"
	"gazetteer/store"
)

// readiness reports whether answers of a follower of the store are reliable: those of the index, or
// of the states of hosts. A follower is always slightly behind. It is not ready from the start, or
// from the beginning of a rebuild, until it has reached the head that the store had then, and
// whenever it lags more than maxLag records.
type readiness struct {
	maxLag uint64

	mu      sync.Mutex // guards the following fields
	target  store.Cursor
	last    store.Cursor // of the index, when last asked
	reached bool
}

// indexComplete reports whether the index is complete and not under construction.
func (a *Mux) indexComplete() bool {
	if a.Answers.Index == nil {
		return true // nothing that needs one is served
	}
	return a.Ready.ObserveCursors(a.Answers.Index.Cursor(), a.Answers.Store.Head())
}

// StatesComplete reports whether the states of hosts are complete, on which the filter is: rests.
func (a *Mux) StatesComplete() bool {
	if a.Answers.Standing == nil {
		return true // nothing that needs them is served
	}
	return a.readyStates.ObserveCursors(a.Answers.Standing.Cursor(), a.Answers.Store.Head())
}

// isIndexMiss reports whether an error says that the index lacks a name, which is not reliable
// during a rebuild.
func isIndexMiss(err error) bool {
	return errors.Is(err, answer.ErrNoVerb) || errors.Is(err, answer.ErrNoNamespace) || errors.Is(err, answer.ErrNoClass) || errors.Is(err, answer.ErrNoName)
}

// errIndexIncomplete is the error for a missing name while the index is incomplete.
func errIndexIncomplete() error {
	return NewProblem(NotReady, "the index is being built, and does not contain the requested data yet", "ask again in a moment").WithRetry(time.Second)
}

// Work lists which kinds of work are possible at the moment.
type Work struct {
	Read  bool `json:"read" doc:"the index is complete: answers may be relied on"`
	Write bool `json:"write" doc:"changes are accepted"`
	Sign  bool `json:"sign" doc:"the transparency log signs what is written"`
	// Problems lists why something is not possible, one cause a line.
	Problems []string `json:"problems,omitempty" doc:"why something is not possible, each cause once"`
}

// A Readiness is how far the index and the other followers follow the store, and which work is
// possible.
type Readiness struct {
	Status string `json:"status" doc:"ready; or limited: another kind of work is not possible"`
	Work
	// Index, States, Changes, Figures and Store are sequence numbers.
	Index   uint64 `json:"index" doc:"the sequence that answers are based on"`
	States  uint64 `json:"states,omitempty" doc:"the sequence that the states of hosts and the filter is: are based on"`
	Changes uint64 `json:"changes,omitempty" doc:"the sequence up to which the feed of changes is complete; it can lag while the server is ready"`
	Figures uint64 `json:"figures,omitempty" doc:"the sequence that the figures of the census are based on; they can lag while the server is ready"`
	Store   uint64 `json:"store" doc:"the newest sequence number of the store"`
}

// ObserveCursors compares the index's cursor with the head of the store.
func (r *readiness) ObserveCursors(index, head store.Cursor) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	sameLog := index.Store == head.Store && index.Incarnation == head.Incarnation
	if !sameLog || index.Seq < r.last.Seq {
		// A rebuild has begun: the index is complete once it reaches this sequence.
		r.target, r.reached = head, false
	}
	r.last = index
	if !sameLog && head.Seq > 0 {
		return false
	}
	r.reached = r.reached || index.Seq >= r.target.Seq
	return r.reached && (index.Seq >= head.Seq || head.Seq-index.Seq <= r.maxLag)
}
