package audit

import "time"

// A Status says how a log stands.
type Status struct {
	Origin   string
	Leaves   int64     // under the newest checkpoint
	Bytes    int64     // of the files of leaves and hashes
	SignedAt time.Time // when the newest checkpoint was signed
	Behind   uint64    // writes of the store that the newest checkpoint does not cover yet
	Halt     *Halt     // why nothing more is signed; nil while something is
	// Growing is set while an older copy of the tree is grown again, and nothing is signed.
	Growing bool
	// Blocked is why nothing can be signed at the moment: a full disk, or a lock that does not answer.
	// It passes by itself.
	Blocked error
	// Lock is the name of the witness that is the log's lock, "" for none; LockAnswered is when it has
	// cosigned last, zero for never since the start.
	Lock         string
	LockAnswered time.Time
}

// Signs reports whether the next change will be signed.
func (s Status) Signs() bool { return s.Halt == nil && !s.Growing && s.Blocked == nil }

// Status returns how the log stands now.
func (l *Log) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{Origin: l.key.name, Leaves: l.last.N, Bytes: l.bytes, SignedAt: l.signedAt, Growing: l.signed == nil, Blocked: l.blocked, LockAnswered: l.lockAnswered, Behind: l.position.Behind(l.store)}
	if l.halt != nil {
		h := *l.halt
		s.Halt = &h
	}
	if l.lockWitness != nil {
		s.Lock = l.lockWitness.Key.Name()
	}
	return s
}

// setBlocked notes why nothing can be signed at the moment; nil when something can.
func (l *Log) setBlocked(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blocked = why
}

// A WitnessStatus says how a witness of a log has answered.
type WitnessStatus struct {
	Witness  string    // the name of its key
	Asked    time.Time // last; zero for never since the start
	Answered time.Time // with a cosignature, last; zero for never since the start
	Err      error     // of the last question
}

// Status returns how each witness has answered, in the order of the configuration.
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

// noteAnswer notes how a witness has answered.
func (c *Cosigners) noteAnswer(witness string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.answers[witness]
	if s.Asked, s.Err = c.log.now(), err; err == nil {
		s.Answered = s.Asked
	}
	c.answers[witness] = s
}
