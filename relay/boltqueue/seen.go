package boltqueue

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/relay"
)

// A seenKey is a key of the replay window: its kind, and half of a SHA-256.
type seenKey = [17]byte

// seenKeys are the keys of one envelope. A sender may use an id, and a nonce in a thread, only once
// in an inbox: an id alone is no key, because anyone could take it before its owner uses it. name is
// the key of the inbox and the id, by which mail is acknowledged.
type seenKeys struct {
	id, nonce, sender seenKey
	name              hash
}

func seenKeysOf(in relay.Incoming) seenKeys {
	return seenKeys{
		id:     hashKey('i', in.Inbox, in.Sender, in.ID),
		nonce:  hashKey('n', in.Inbox, in.Sender, in.ThreadID, in.Nonce),
		sender: hashKey('s', in.Sender),
		name:   nameOf(in.Inbox, in.ID),
	}
}

// nameOf hashes an inbox and the id of an envelope.
func nameOf(inbox, id string) hash {
	key := hashKey('m', inbox, id)
	return hash(key[1:])
}

// hashKey returns the kind and half of a SHA-256 over the parts with their lengths.
func hashKey(kind byte, parts ...string) seenKey {
	text := make([]byte, 0, 256)
	for _, p := range parts {
		text = binary.AppendUvarint(text, uint64(len(p)))
		text = append(text, p...)
	}
	sum := sha256.Sum256(text)
	key := seenKey{kind}
	copy(key[1:], sum[:])
	return key
}

// checkSeen returns why an envelope is refused, nil when it is new and its sender has room.
func (q *Queue) checkSeen(seen *bolt.Bucket, keys seenKeys, in relay.Incoming) error {
	received, sent := unixMillis(in.Received), uint64(0)
	// What a clock ahead has counted does not count until that time comes, nor does a period that is
	// over and stays because no other has begun.
	if !isAhead(q.recent.last, received) {
		sent = q.recent.sent[keys.sender] + q.recent.merged[keys.sender]
	}
	byID, byNonce := q.recent.digestOf(keys.id), q.recent.digestOf(keys.nonce)
	c := seen.Cursor()
	for start, _ := c.First(); start != nil; start, _ = c.Next() {
		period := seen.Bucket(start)
		if period == nil {
			continue
		}
		// A merge that was cut off may have left the two in different periods.
		if byID == nil {
			byID = period.Get(keys.id[:])
		}
		if byNonce == nil {
			byNonce = period.Get(keys.nonce[:])
		}
		begun := binary.BigEndian.Uint64(start)
		over := received >= begun+uint64((q.window/windowPeriods+q.window).Milliseconds())
		if v := period.Get(keys.sender[:]); len(v) == 8 && !over && !isAhead(begun, received) {
			sent += binary.BigEndian.Uint64(v)
		}
	}
	switch {
	case byID != nil && bytes.HasPrefix(in.Digest[:], byID) && bytes.Equal(byID, byNonce):
		return relay.ErrRepeated
	case byID != nil || byNonce != nil:
		return relay.ErrTaken
	}
	if in.MaxSenderPerWindow > 0 && sent >= uint64(in.MaxSenderPerWindow) {
		return relay.ErrWindowFull
	}
	return nil
}

// digestOf returns the digest under the key of an id or a nonce, nil for none.
func (r *recent) digestOf(key seenKey) []byte {
	for e := range r.findEntries(hash(key[1:])) {
		return e.digest[:]
	}
	return nil
}

// newestPeriod returns the newest period, or a new one when that has lasted long enough.
func (q *Queue) newestPeriod(seen *bolt.Bucket, received uint64) (*bolt.Bucket, error) {
	return periodAt(seen, received, q.window/windowPeriods)
}

// clockTolerance is by how much the times of two envelopes may be in the wrong order. Larger
// differences mean that the clock was set back.
const clockTolerance = time.Minute

// isAhead reports whether a stored time lies in the future: a clock that was ahead wrote it.
func isAhead(stored, now uint64) bool { return stored > now+uint64(clockTolerance.Milliseconds()) }

// periodAt returns the newest of a bucket's periods, or a new one when that has lasted long enough.
// Periods in the future do not count.
func periodAt(periods *bolt.Bucket, at uint64, lasts time.Duration) (*bolt.Bucket, error) {
	c := periods.Cursor()
	start, _ := c.Last()
	for start != nil && isAhead(binary.BigEndian.Uint64(start), at) {
		start, _ = c.Prev()
	}
	if start == nil || at >= binary.BigEndian.Uint64(start)+uint64(lasts.Milliseconds()) {
		start = binary.BigEndian.AppendUint64(nil, at)
	}
	return periods.CreateBucketIfNotExists(bytes.Clone(start))
}

// dropPeriods drops the periods whose last entry is older than a time. A period ends where the next
// one begins, so the newest period always stays.
func dropPeriods(periods *bolt.Bucket, now time.Time, keep time.Duration) (dropped bool, err error) {
	for {
		c := periods.Cursor()
		first, _ := c.First()
		next, _ := c.Next()
		if first == nil || next == nil || binary.BigEndian.Uint64(next)+uint64(keep.Milliseconds()) > unixMillis(now) {
			return dropped, nil
		}
		if err := periods.DeleteBucket(bytes.Clone(first)); err != nil {
			return dropped, err
		}
		dropped = true
	}
}
