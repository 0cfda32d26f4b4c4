package boltqueue

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/relay"
)

// seenKeys are the keys of one envelope in the replay window.
type seenKeys struct{ id, nonce, sender []byte }

// seenKeysOf hashes what a sender may use only once, in one inbox: an id alone is no key, because
// anyone could take it before its owner uses it.
func seenKeysOf(in relay.Incoming) seenKeys {
	return seenKeys{
		id:     hashKey('i', in.Inbox, in.Sender, in.ID),
		nonce:  hashKey('n', in.Inbox, in.Sender, in.ThreadID, in.Nonce),
		sender: hashKey('s', in.Sender),
	}
}

// hashKey returns 17 bytes: the kind and half of a SHA-256 over the parts with their lengths.
func hashKey(kind byte, parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.AppendUvarint(nil, uint64(len(p))))
		h.Write([]byte(p))
	}
	return append([]byte{kind}, h.Sum(nil)[:16]...)
}

// checkSeen returns why an envelope is refused, nil when it is new and its sender has room.
func checkSeen(seen *bolt.Bucket, keys seenKeys, in relay.Incoming) error {
	sent := 0
	c := seen.Cursor()
	for start, _ := c.First(); start != nil; start, _ = c.Next() {
		period := seen.Bucket(start)
		if period == nil {
			continue
		}
		byID, byNonce := period.Get(keys.id), period.Get(keys.nonce)
		switch {
		case byID != nil && bytes.Equal(byID, in.Digest[:]) && bytes.Equal(byID, byNonce):
			return relay.ErrRepeated
		case byID != nil || byNonce != nil:
			return relay.ErrTaken
		}
		if v := period.Get(keys.sender); len(v) == 8 {
			sent += int(binary.BigEndian.Uint64(v))
		}
	}
	if in.MaxSenderPerWindow > 0 && sent >= in.MaxSenderPerWindow {
		return relay.ErrWindowFull
	}
	return nil
}

// putSeen records an envelope in the newest period, or in a new one when that has lasted long enough.
func (q *Queue) putSeen(seen *bolt.Bucket, keys seenKeys, in relay.Incoming) error {
	start, _ := seen.Cursor().Last()
	if start == nil || millis(in.Received) >= binary.BigEndian.Uint64(start)+uint64((q.window/windowPeriods).Milliseconds()) {
		start = binary.BigEndian.AppendUint64(nil, millis(in.Received))
	}
	period, err := seen.CreateBucketIfNotExists(start)
	if err != nil {
		return err
	}
	var sent uint64
	if v := period.Get(keys.sender); len(v) == 8 {
		sent = binary.BigEndian.Uint64(v)
	}
	return cmp.Or(
		period.Put(keys.id, in.Digest[:]),
		period.Put(keys.nonce, in.Digest[:]),
		period.Put(keys.sender, binary.BigEndian.AppendUint64(nil, sent+1)),
	)
}

// dropSeen drops the periods whose last entry is older than the window. A period ends where the next
// one begins, so the newest period always stays.
func (q *Queue) dropSeen(seen *bolt.Bucket, now time.Time) (dropped bool, err error) {
	for {
		c := seen.Cursor()
		first, _ := c.First()
		next, _ := c.Next()
		if first == nil || next == nil || binary.BigEndian.Uint64(next)+uint64(q.window.Milliseconds()) > millis(now) {
			return dropped, nil
		}
		if err := seen.DeleteBucket(bytes.Clone(first)); err != nil {
			return dropped, err
		}
		dropped = true
	}
}
