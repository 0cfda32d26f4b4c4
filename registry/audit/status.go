package audit

import (
	"fmt"
	"time"
)

// A Status is the state of a log.
type Status struct {
	Origin   string
	Leaves   int64     // under the newest checkpoint
	Bytes    int64     // of the files of leaves and hashes
	SignedAt time.Time // when the newest checkpoint was signed
	Behind   uint64    // writes of the store that the newest checkpoint does not cover yet
	Halt     *Halt     // the reason why the log no longer signs; nil while it signs
	// Growing is set while the log grows a restored older tree and signs nothing.
	Growing bool
	// Blocked is the temporary reason why the log cannot sign: a full disk, or a lock that does not
	// answer.
	Blocked error
	// Undeclared is the number of erased leaves that no leaf declares yet. Unerased is the number of
	// deleted records whose content could not be erased, and EraseErr the reason; nil if there are
	// none.
	Undeclared int
	Unerased   int
	EraseErr   error
	// LockAnswered is the time of the last cosignature of the lock, zero for none since the start.
	LockAnswered time.Time
}

// Signs reports whether the log will sign the next change.
func (s Status) Signs() bool { return s.Halt == nil && !s.Growing && s.Blocked == nil }

// DescribeUnerased returns the problem of deleted records whose content could not be erased, "" if
// there are none.
func (s Status) DescribeUnerased() string {
	if s.EraseErr == nil {
		return ""
	}
	return fmt.Sprintf("content of deleted records is still in the transparency log, which tries to erase it again: %v", s.EraseErr)
}

// Status returns the current state of the log.
func (l *Log) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{Origin: l.key.Name(), Leaves: l.last.N, Bytes: l.bytes, SignedAt: l.signedAt, Growing: l.signed == nil, Blocked: l.blocked, LockAnswered: l.lockAnswered, Behind: l.position.Behind(l.store), Undeclared: len(l.undeclared), Unerased: len(l.unerased), EraseErr: l.eraseErr}
	if l.halt != nil {
		h := *l.halt
		s.Halt = &h
	}
	return s
}

// setBlocked records the reason why the log cannot sign at the moment; nil if it can.
func (l *Log) setBlocked(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blocked = why
}

// A WitnessStatus is the state of a witness of a log.
type WitnessStatus struct {
	Witness  string    // the name of its key
	Asked    time.Time // time of the last answer; zero for none since the start
	Answered time.Time // time of the last cosignature; zero for none since the start
	Err      error     // of the last request
}

// Status returns the state of each witness, in the order of the configuration.
func (c *Cosigners) Status() []WitnessStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]WitnessStatus, len(c.list))
	for i, w := range c.list {
		list[i] = c.answers[w.Key.Name()]
		list[i].Witness = w.Key.Name()
	}
	return list
}

// noteAnswer records the answer of a witness.
func (c *Cosigners) noteAnswer(witness string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.answers[witness]
	if s.Asked, s.Err = c.log.now(), err; err == nil {
		s.Answered = s.Asked
	}
	c.answers[witness] = s
}
