package a2a

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync"
	"time"

	"gazetteer/internal/heap"
)

// A ReplayEntry is the memory of one envelope: a sender uses an id once, and a nonce once in a
// thread (§4.2, §8.4). The id alone is not a key, because anyone could use it before its owner
// does.
type ReplayEntry struct {
	From, ID, ThreadID, Nonce string
	Digest                    [sha256.Size]byte // of what was signed
	Seen                      time.Time         // now, by the recipient's clock
	Until                     time.Time         // when it may be forgotten
}

// EntryOf returns the entry of an envelope received now. It expires a given time after the last
// moment at which the envelope's timestamp is fresh.
func EntryOf(e *Envelope, now time.Time, keep time.Duration) ReplayEntry {
	until := e.Timestamp.Add(MaxAge)
	if now.After(until) {
		until = now
	}
	return ReplayEntry{e.From, e.ID, e.ThreadID, e.Nonce, e.Digest(), now, until.Add(MaxAhead + keep)}
}

// A ReplayState says whether an entry was seen before.
type ReplayState uint8

const (
	// Fresh: neither the id nor the nonce was seen.
	Fresh ReplayState = iota
	// Repeated: the same content was seen before.
	Repeated
	// Taken: the id or the nonce was seen with another content.
	Taken
	// Full: the sender has used all the entries that the store has for one sender.
	Full
)

// toRefusal returns the refusal of a state, nil for Fresh.
func (s ReplayState) toRefusal(e *Envelope) error {
	switch s {
	case Repeated:
		return newRefusal(RuleReplay, "the envelope was received before")
	case Taken:
		return newRefusal(RuleReplay, "the sender used the id, or the nonce in this thread, for another envelope")
	case Full:
		r := newRefusal(RuleReplayFull, "too many messages in this thread; open another")
		r.ThreadID = e.ThreadID
		return r
	}
	return nil
}

// idKey and nonceKey return the two keys of an entry. Each text follows its length, so no two
// entries have the same key.
func (e ReplayEntry) idKey() [sha256.Size]byte { return hashTexts("id", e.From, e.ID) }
func (e ReplayEntry) nonceKey() [sha256.Size]byte {
	return hashTexts("nonce", e.From, e.ThreadID, e.Nonce)
}

func hashTexts(texts ...string) [sha256.Size]byte {
	var b []byte
	for _, text := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	return sha256.Sum256(b)
}

// A Store remembers received envelopes and threads for a recipient. Package a2atest tests its
// promises.
type Store interface {
	// FindReplay returns Fresh, Repeated or Taken.
	FindReplay(ctx context.Context, e ReplayEntry) (ReplayState, error)
	// FindThread returns a thread, or the zero Thread if it is unknown.
	FindThread(ctx context.Context, id string) (Thread, error)
	// Commit stores an entry and, unless it is nil, a thread: both or neither, so that a crash
	// leaves no message half processed. It looks the entry up again, and stores nothing unless the
	// entry is Fresh and there is room.
	Commit(ctx context.Context, e ReplayEntry, threadID string, t *Thread) (ReplayState, error)
}

// The limits of a [MemoryStore] that sets none. The first one is that of §8.4.
const (
	DefaultPerThread = 10_000
	DefaultPerSender = 100_000
)

// A MemoryStore is a [Store] in memory, for tests and for agents that live no longer than their
// negotiations. When a sender's share is full, it refuses further entries of that sender instead of
// dropping the oldest. It never drops threads. The zero MemoryStore is ready to use and safe for
// concurrent use.
type MemoryStore struct {
	PerThread int // entries of one sender in one thread
	PerSender int // entries of one sender

	mu      sync.Mutex // guards all that follows
	seen    map[[sha256.Size]byte][sha256.Size]byte
	counts  map[[sha256.Size]byte]int // by sender, and by sender and thread
	expiry  []ReplayEntry             // a heap; the entry that expires first is the first
	threads map[string]Thread
}

// FindReplay implements [Store].
func (s *MemoryStore) FindReplay(_ context.Context, e ReplayEntry) (ReplayState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropExpired(e.Seen)
	return s.findState(e), nil
}

func (s *MemoryStore) findState(e ReplayEntry) ReplayState {
	digest, nonceSeen := s.seen[e.nonceKey()]
	other, idSeen := s.seen[e.idKey()]
	switch {
	case !nonceSeen && !idSeen:
		return Fresh
	case nonceSeen && digest == e.Digest && idSeen && other == e.Digest:
		return Repeated
	}
	return Taken
}

// FindThread implements [Store].
func (s *MemoryStore) FindThread(_ context.Context, id string) (Thread, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.threads[id], nil
}

// Commit implements [Store].
func (s *MemoryStore) Commit(_ context.Context, e ReplayEntry, threadID string, t *Thread) (ReplayState, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropExpired(e.Seen)
	if state := s.findState(e); state != Fresh {
		return state, nil
	}
	sender, thread := hashTexts("sender", e.From), hashTexts("thread", e.From, e.ThreadID)
	if s.counts[sender] >= cmp.Or(s.PerSender, DefaultPerSender) || s.counts[thread] >= cmp.Or(s.PerThread, DefaultPerThread) {
		return Full, nil
	}
	if s.seen == nil {
		s.seen, s.counts, s.threads = map[[sha256.Size]byte][sha256.Size]byte{}, map[[sha256.Size]byte]int{}, map[string]Thread{}
	}
	s.seen[e.idKey()], s.seen[e.nonceKey()] = e.Digest, e.Digest
	s.counts[sender]++
	s.counts[thread]++
	heap.Push(&s.expiry, e, expiresBefore)
	if t != nil {
		s.threads[threadID] = *t
	}
	return Fresh, nil
}

// dropExpired removes expired entries.
func (s *MemoryStore) dropExpired(now time.Time) {
	for len(s.expiry) > 0 && s.expiry[0].Until.Before(now) {
		e := heap.Pop(&s.expiry, expiresBefore)
		delete(s.seen, e.idKey())
		delete(s.seen, e.nonceKey())
		for _, key := range [...][sha256.Size]byte{hashTexts("sender", e.From), hashTexts("thread", e.From, e.ThreadID)} {
			if s.counts[key]--; s.counts[key] == 0 {
				delete(s.counts, key)
			}
		}
	}
}

func expiresBefore(a, b ReplayEntry) bool { return a.Until.Before(b.Until) }
