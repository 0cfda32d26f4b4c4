package mailbox

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/protocol/a2a"
	"gazetteer/store/boltfile"
)

// seenKeys are the keys of an entry of the replay window in the bucket seen.
type seenKeys struct{ id, nonce, sender, thread []byte }

func seenKeysOf(e a2a.ReplayEntry) seenKeys {
	return seenKeys{
		id: hashKey('i', e.From, e.ID), nonce: hashKey('n', e.From, e.ThreadID, e.Nonce),
		sender: hashKey('s', e.From), thread: hashKey('t', e.From, e.ThreadID),
	}
}

// hashKey hashes texts with their lengths before them, so that no two lists share a key.
func hashKey(kind byte, texts ...string) []byte {
	var b []byte
	for _, text := range texts {
		b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
	}
	sum := sha256.Sum256(b)
	return append([]byte{kind}, sum[:]...)
}

// keySize is the size of a key of the bucket seen.
const keySize = 1 + sha256.Size

// findReplay returns whether an entry was seen and has not expired.
func findReplay(tx reading, e a2a.ReplayEntry) a2a.ReplayState {
	keys, seen := seenKeysOf(e), tx.Bucket(seenBucket)
	byID, byNonce := readSeen(seen.Get(keys.id), e.Seen), readSeen(seen.Get(keys.nonce), e.Seen)
	switch {
	case byID == nil && byNonce == nil:
		return a2a.Fresh
	case byID != nil && byNonce != nil && *byID == e.Digest && *byNonce == e.Digest:
		return a2a.Repeated
	}
	return a2a.Taken
}

// readSeen returns the digest of an entry, nil for none or for one that has expired.
func readSeen(value []byte, now time.Time) *[sha256.Size]byte {
	if len(value) != sha256.Size+8 || expiryOf(value[sha256.Size:]) < now.UnixMilli() {
		return nil
	}
	digest := [sha256.Size]byte(value)
	return &digest
}

func expiryOf(b []byte) int64 { return int64(binary.BigEndian.Uint64(b)) }

// putSeen adds an entry to the replay window: Fresh when that was done, and otherwise why not.
func (m *Mailbox) putSeen(tx writing, e a2a.ReplayEntry) (a2a.ReplayState, error) {
	if state := findReplay(tx.reading(), e); state != a2a.Fresh {
		return state, nil
	}
	if err := dropExpired(tx, e.Seen); err != nil {
		return a2a.Full, err
	}
	keys, seen := seenKeysOf(e), tx.Bucket(seenBucket)
	if readCount(seen, keys.sender) >= cmp.Or(m.options.PerSender, a2a.DefaultPerSender) || readCount(seen, keys.thread) >= cmp.Or(m.options.PerThread, a2a.DefaultPerThread) {
		return a2a.Full, nil
	}
	expiry := binary.BigEndian.AppendUint64(nil, uint64(max(e.Until.UnixMilli(), 0)))
	value := append(e.Digest[:], expiry...)
	for _, key := range [][]byte{keys.id, keys.nonce} {
		if err := seen.Put(key, value); err != nil {
			return a2a.Full, err
		}
	}
	for _, key := range [][]byte{keys.sender, keys.thread} {
		if err := addCount(seen, key, 1); err != nil {
			return a2a.Full, err
		}
	}
	due := append(append(append([]byte(nil), keys.nonce...), keys.sender...), keys.thread...)
	return a2a.Fresh, tx.Bucket(dueBucket).Put(append(expiry, keys.id...), due)
}

func readCount(seen *bolt.Bucket, key []byte) int {
	n, _ := binary.Uvarint(seen.Get(key))
	return int(n)
}

func addCount(seen *bolt.Bucket, key []byte, add int) error {
	n := readCount(seen, key) + add
	if n <= 0 {
		return seen.Delete(key)
	}
	return seen.Put(key, binary.AppendUvarint(nil, uint64(n)))
}

// dropChunk is how many expired entries one write deletes.
const dropChunk = 1000

// dropExpired deletes entries of the replay window whose time is over.
func dropExpired(tx writing, now time.Time) error {
	due, seen := tx.Bucket(dueBucket), tx.Bucket(seenBucket)
	for range dropChunk {
		key, value := due.Cursor().First()
		if len(key) != 8+keySize || len(value) != 3*keySize || expiryOf(key) >= now.UnixMilli() {
			return nil
		}
		key, value = clone(key), clone(value)
		for _, entry := range [][]byte{key[8:], value[:keySize]} {
			// A newer entry may have taken the key over since this one expired.
			if v := seen.Get(entry); len(v) == sha256.Size+8 && expiryOf(v[sha256.Size:]) == expiryOf(key) {
				if err := seen.Delete(entry); err != nil {
					return err
				}
			}
		}
		for _, count := range [][]byte{value[keySize : 2*keySize], value[2*keySize:]} {
			if err := addCount(seen, count, -1); err != nil {
				return err
			}
		}
		if err := due.Delete(key); err != nil {
			return err
		}
	}
	return nil
}

var _ a2a.Store = (*Mailbox)(nil)

// FindReplay implements [a2a.Store].
func (m *Mailbox) FindReplay(ctx context.Context, e a2a.ReplayEntry) (state a2a.ReplayState, err error) {
	err = m.view(ctx, func(tx reading) error {
		state = findReplay(tx, e)
		return nil
	})
	return state, err
}

// FindThread implements [a2a.Store].
func (m *Mailbox) FindThread(ctx context.Context, id string) (thread a2a.Thread, err error) {
	err = m.view(ctx, func(tx reading) error {
		info, err := readThread(tx, id)
		thread = info.Thread
		return err
	})
	return thread, err
}

// Commit implements [a2a.Store], for receivers that keep no messages. [Puller.Collect] keeps the
// message in the same transaction.
func (m *Mailbox) Commit(ctx context.Context, e a2a.ReplayEntry, threadID string, t *a2a.Thread) (state a2a.ReplayState, err error) {
	err = m.update(ctx, func(tx writing) error {
		if state, err = m.putSeen(tx, e); err != nil || state != a2a.Fresh {
			return endWithoutWrite(err, nil)
		}
		if err := skipNumber(tx); err != nil || t == nil {
			return err
		}
		info, err := readThread(tx.reading(), threadID)
		if err != nil {
			return err
		}
		info.ID, info.Thread, info.Last = threadID, *t, e.Seen
		return writeThread(tx, info)
	})
	return state, err
}

func (m *Mailbox) view(ctx context.Context, read func(tx reading) error) error {
	return m.withFile(ctx, func(_ context.Context, f *boltfile.File) error { return m.viewFile(f, read) })
}

func (m *Mailbox) update(ctx context.Context, change func(tx writing) error) error {
	return m.withFile(ctx, func(ctx context.Context, f *boltfile.File) error { return m.writeFile(ctx, f, change) })
}
