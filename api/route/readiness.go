package route

import (
	"errors"
	"sync"
	"time"

	"gazetteer/api/answer"
	"gazetteer/store"
)

// readiness tells whether answers may be relied on. The index follows the
// store, so it is always a little behind; it is too far behind from the start,
// or from the beginning of a rebuild, until it has reached the head that the
// store had then, and whenever it lags more than maxLag records.
type readiness struct {
	maxLag uint64

	mu      sync.Mutex // guards following
	target  store.Cursor
	last    store.Cursor // of the index, when last asked
	reached bool
}

// indexComplete reports whether the index has what it should: it is not being built.
func (a *Mux) indexComplete() bool {
	if a.Answers.Index == nil {
		return true // nothing that needs one is served
	}
	return a.Ready.ObserveCursors(a.Answers.Index.Cursor(), a.Answers.Store.Head())
}

// isIndexMiss reports whether an error says that the index has nothing of a name, which
// is not to be believed while it is being built.
func isIndexMiss(err error) bool {
	return errors.Is(err, answer.ErrNoVerb) || errors.Is(err, answer.ErrNoNamespace) || errors.Is(err, answer.ErrNoClass) || errors.Is(err, answer.ErrNoName)
}

// errIndexIncomplete refuses to say that there is nothing before the index is whole.
func errIndexIncomplete() error {
	return NewProblem(NotReady, "the index is being built, and does not have what is asked for yet", "ask again in a moment").WithRetry(time.Second)
}

// Work says which kinds of work are possible at the moment.
type Work struct {
	Read  bool `json:"read" doc:"the index is complete: answers may be relied on"`
	Write bool `json:"write" doc:"changes are taken"`
	Sign  bool `json:"sign" doc:"the transparency log signs what is written"`
	// Problems says why something is not possible, a line each.
	Problems []string `json:"problems,omitempty" doc:"why something is not possible"`
}

// A Readiness is how far the index follows the store, and what is possible.
type Readiness struct {
	Status string `json:"status" doc:"ready; or limited: something that was not asked for is not possible"`
	Work
	// Index and Store are sequence numbers.
	Index uint64 `json:"index" doc:"the sequence that answers are based on"`
	Store uint64 `json:"store" doc:"the newest sequence of the store"`
}

// ObserveCursors judges the index's cursor against the head of the store.
func (r *readiness) ObserveCursors(index, head store.Cursor) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	sameLog := index.Store == head.Store && index.Incarnation == head.Incarnation
	if !sameLog || index.Seq < r.last.Seq {
		// A rebuild has begun: the index will be whole when it is here.
		r.target, r.reached = head, false
	}
	r.last = index
	if !sameLog && head.Seq > 0 {
		return false
	}
	r.reached = r.reached || index.Seq >= r.target.Seq
	return r.reached && (index.Seq >= head.Seq || head.Seq-index.Seq <= r.maxLag)
}
