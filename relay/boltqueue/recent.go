package boltqueue

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	bolt "go.etcd.io/bbolt"

	"gazetteer/relay"
)

// The keys of the buckets ids and seen are hashes, so that each entry lands on another page of the
// file. Written one envelope at a time they would cost three pages of 4 KiB each. So what an envelope
// adds to them goes into the bucket recent first, one entry behind the other, and into memory; when
// defaultMergeAfter envelopes have come, all their entries are written in the order of their keys.
const defaultMergeAfter = 1 << 15

type hash = [16]byte

// An entry is what one envelope adds to ids and seen.
type entry struct {
	number   uint64
	received uint64 // milliseconds
	inbox    string
	keys     seenKeys
	digest   hash // the first half of that of the envelope
}

// recent are the entries that are not in their buckets yet. Only requests of the file touch it, which
// one goroutine runs, and each request calls [Queue.begin] first.
type recent struct {
	tx        *bolt.Tx // the newest transaction
	changed   bool     // it changed what follows
	committed bool     // and was committed
	entries   []entry
	numbers   map[hash][]uint64 // of mail that waits, by inbox and id
	seen      map[seenKey]hash  // digests, by the keys of the replay window
	sent      map[seenKey]uint64
}

func newRecent() recent {
	return recent{numbers: map[hash][]uint64{}, seen: map[seenKey]hash{}, sent: map[seenKey]uint64{}}
}

// begin is called by each request before it reads or changes what is recent. A transaction that
// changed it and was given up, because the disk is full, leads to reading it again.
func (q *Queue) begin(tx *bolt.Tx) error {
	r := &q.recent
	if r.tx == tx {
		return nil
	}
	if r.changed && !r.committed {
		again, err := readRecent(tx)
		if err != nil {
			return err
		}
		q.recent = again
	}
	r.tx, r.changed, r.committed = tx, false, false
	tx.OnCommit(func() { r.committed = true })
	return nil
}

func (r *recent) add(e entry) {
	r.changed = true
	r.entries = append(r.entries, e)
	r.numbers[e.keys.name] = append(r.numbers[e.keys.name], e.number)
	r.seen[e.keys.id], r.seen[e.keys.nonce] = e.digest, e.digest
	r.sent[e.keys.sender]++
}

// forget removes the number of mail that was deleted, and reports whether it was here.
func (r *recent) forget(name hash, number uint64) bool {
	numbers := r.numbers[name]
	at := slices.Index(numbers, number)
	if at < 0 {
		return false
	}
	r.changed = true
	if len(numbers) == 1 {
		delete(r.numbers, name)
		return true
	}
	r.numbers[name] = slices.Delete(numbers, at, at+1)
	return true
}

// encode writes an entry without its number, which is the key.
func (e entry) encode() []byte {
	raw := binary.BigEndian.AppendUint64(make([]byte, 0, 8+5*16+len(e.inbox)), e.received)
	for _, part := range [][]byte{e.keys.name[:], e.keys.id[1:], e.keys.nonce[1:], e.keys.sender[1:], e.digest[:]} {
		raw = append(raw, part...)
	}
	return append(raw, e.inbox...)
}

func decodeEntry(key, raw []byte) (entry, error) {
	if len(key) != 8 || len(raw) < 8+5*16 {
		return entry{}, corruptf("an entry of the bucket recent has %d bytes", len(raw))
	}
	e := entry{number: binary.BigEndian.Uint64(key), received: binary.BigEndian.Uint64(raw), inbox: string(raw[8+5*16:])}
	e.keys.id[0], e.keys.nonce[0], e.keys.sender[0] = 'i', 'n', 's'
	for i, part := range [][]byte{e.keys.name[:], e.keys.id[1:], e.keys.nonce[1:], e.keys.sender[1:], e.digest[:]} {
		copy(part, raw[8+16*i:])
	}
	return e, nil
}

// readRecent reads the entries of an earlier process. Mail that was deleted meanwhile has no number.
func readRecent(tx *bolt.Tx) (recent, error) {
	r := newRecent()
	err := tx.Bucket(recentBucket).ForEach(func(key, raw []byte) error {
		e, err := decodeEntry(key, raw)
		if err != nil {
			return err
		}
		r.add(e)
		if tx.Bucket(mailBucket).Get(mailKey(e.inbox, e.number)) == nil {
			r.forget(e.keys.name, e.number)
		}
		return nil
	})
	r.changed = false
	return r, err
}

// merge writes the entries into their buckets, in the order of the keys, and empties recent.
func (q *Queue) merge(tx *bolt.Tx) error {
	if len(q.recent.entries) == 0 {
		return nil
	}
	ids := tx.Bucket(idsBucket)
	keys := make([][]byte, 0, len(q.recent.numbers))
	for name, numbers := range q.recent.numbers {
		for _, number := range numbers {
			keys = append(keys, idKey(name, number))
		}
	}
	slices.SortFunc(keys, bytes.Compare)
	for _, key := range keys {
		if err := ids.Put(key, nil); err != nil {
			return err
		}
	}
	period, err := q.newestPeriod(tx.Bucket(seenBucket), q.recent.entries[len(q.recent.entries)-1].received)
	if err != nil {
		return err
	}
	seen := make([]seenKey, 0, len(q.recent.seen))
	for key := range q.recent.seen {
		seen = append(seen, key)
	}
	slices.SortFunc(seen, func(a, b seenKey) int { return bytes.Compare(a[:], b[:]) })
	for _, key := range seen {
		digest := q.recent.seen[key]
		if err := period.Put(key[:], digest[:]); err != nil {
			return err
		}
	}
	for key, n := range q.recent.sent {
		if v := period.Get(key[:]); len(v) == 8 {
			n += binary.BigEndian.Uint64(v)
		}
		if err := period.Put(key[:], binary.BigEndian.AppendUint64(nil, n)); err != nil {
			return err
		}
	}
	fresh := newRecent()
	fresh.tx, fresh.changed = q.recent.tx, true
	q.recent = fresh
	if err := tx.DeleteBucket(recentBucket); err != nil {
		return err
	}
	_, err = tx.CreateBucket(recentBucket)
	return err
}

// mergeIfDue merges when enough envelopes have come, or when the first of them came before a time.
func (q *Queue) mergeIfDue(tx *bolt.Tx, before uint64) (merged bool, err error) {
	if n := len(q.recent.entries); n == 0 || n < q.mergeAfter && q.recent.entries[0].received > before {
		return false, nil
	}
	return true, q.merge(tx)
}

// putRecent records what an envelope adds to ids and seen.
func (q *Queue) putRecent(tx *bolt.Tx, keys seenKeys, number uint64, in relay.Incoming) error {
	e := entry{number: number, received: millis(in.Received), inbox: in.Inbox, keys: keys, digest: hash(in.Digest[:16])}
	if err := tx.Bucket(recentBucket).Put(binary.BigEndian.AppendUint64(nil, number), e.encode()); err != nil {
		return err
	}
	q.recent.add(e)
	_, err := q.mergeIfDue(tx, 0)
	return err
}

// numbersOf returns the numbers of the mail with an id in an inbox.
func (q *Queue) numbersOf(tx *bolt.Tx, name hash) []uint64 {
	numbers := slices.Clone(q.recent.numbers[name])
	c := tx.Bucket(idsBucket).Cursor()
	for key, _ := c.Seek(name[:]); len(key) == len(name)+8 && bytes.HasPrefix(key, name[:]); key, _ = c.Next() {
		numbers = append(numbers, lastNumber(key))
	}
	slices.SortFunc(numbers, cmp.Compare[uint64])
	return numbers
}

// forgetNumber removes the entry of an id.
func (q *Queue) forgetNumber(tx *bolt.Tx, name hash, number uint64) error {
	if q.recent.forget(name, number) {
		return nil
	}
	return tx.Bucket(idsBucket).Delete(idKey(name, number))
}

func idKey(name hash, number uint64) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, 24), name[:]...), number)
}
