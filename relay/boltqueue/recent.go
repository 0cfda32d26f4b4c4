package boltqueue

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"iter"
	"slices"

	"gazetteer/store"

	bolt "go.etcd.io/bbolt"
)

// The keys of the buckets ids and seen are hashes, so that each entry lands on another page of the
// file. Written one envelope at a time they would cost three pages of 4 KiB each. So what an
// envelope adds to them goes into the bucket recent first, one entry behind the other, and into
// memory; when defaultMergeAfter envelopes or mergeBytes have come, all their entries are written in
// the order of their keys, and their mail is moved (arrivals.go). A merge of so many has mergeSteps
// steps, each in another transaction and for another part of the keys: a transaction keeps the pages
// that it changes in memory, and in a large queue each key has its own.
const (
	defaultMergeAfter = 1 << 15
	mergeBytes        = 32 << 20
	mergeSteps        = 16
)

type hash = [16]byte

// An entry is what one envelope adds to ids and seen. There are many in memory, so it is small.
type entry struct {
	number uint64 // with entryGone when the mail was deleted
	// name, id and nonce are the parts of seenKeys that differ from envelope to envelope. They are
	// hashes of different lists, so one is never equal to another of another kind.
	name, id, nonce hash
	digest          hash // the first half of that of the envelope
}

// The hashes of an entry.
const (
	nameHash = iota
	idHash
	nonceHash
)

func (e *entry) hash(which int) *hash { return [...]*hash{&e.name, &e.id, &e.nonce}[which] }

// entryGone is a bit above all numbers.
const entryGone = 1 << 63

// recent are the entries that are not in their buckets yet. Only requests of the file touch it,
// which one goroutine runs, and each request calls [Queue.reloadRecent] first. Its memory is
// bounded: some 110 bytes for each of defaultMergeAfter entries, and a counter for each of their
// senders.
type recent struct {
	tx          *bolt.Tx // the newest transaction
	changed     bool     // it changed what follows
	committed   bool     // and was committed
	first, last uint64   // when the first and the last entry were received, in milliseconds
	entries     []entry
	bytes       int // of their mail when it arrived
	sent        map[seenKey]uint64
	// merging is how many of the entries a merge is about, 0 for none, step the next of its steps,
	// steps how many it has, stepped the transaction of the one before, until when the last of the
	// entries was received, and merged what sent was for them.
	merging, step, steps int
	stepped              *bolt.Tx
	until                uint64
	merged               map[seenKey]uint64
	// moving is the mail that a merge moves, movingBytes what bytes was for it.
	moving      []arrival
	movingBytes int
	// slots is a hash table with the positions of entries by each of their three hashes, as 4 times the
	// position, counted from 1, and which of the hashes it is. It is at most half full. Senders choose
	// what is hashed, so the table has a seed.
	slots []uint32
	seed  maphash.Seed
}

func newRecent() recent {
	return recent{sent: map[seenKey]uint64{}, seed: maphash.MakeSeed()}
}

// reloadRecent is called by each request before it reads or changes the recent entries. If a
// transaction that changed them fails because the disk is full, they are read again.
func (q *Queue) reloadRecent(tx *bolt.Tx) error {
	r := &q.recent
	if r.tx == tx {
		return nil
	}
	if r.changed && !r.committed {
		clear(q.shares)
		if err := q.readRecent(tx); err != nil {
			return err
		}
	}
	r.tx, r.changed, r.committed = tx, false, false
	tx.OnCommit(func() { r.committed = true })
	return nil
}

// addEntry adds the entry of an envelope.
func (r *recent) addEntry(number, received uint64, keys seenKeys, digest hash, size int) {
	r.changed = true
	r.bytes += size
	if len(r.entries) == 0 {
		r.first = received
	}
	r.last = received
	r.entries = append(r.entries, entry{number, keys.name, hash(keys.id[1:]), hash(keys.nonce[1:]), digest})
	r.sent[keys.sender]++
	if 2*3*len(r.entries) <= len(r.slots) {
		r.insertPosition(len(r.entries))
		return
	}
	r.slots = make([]uint32, max(1024, 2*len(r.slots)))
	r.indexAll()
}

func (r *recent) indexAll() {
	for i := range r.entries {
		r.insertPosition(i + 1)
	}
}

// insertPosition puts the position of an entry into the table.
func (r *recent) insertPosition(position int) {
	for which := range nonceHash + 1 {
		i := r.slotOf(*r.entries[position-1].hash(which))
		for r.slots[i] != 0 {
			i = (i + 1) & (len(r.slots) - 1)
		}
		r.slots[i] = uint32(4*position + which)
	}
}

func (r *recent) slotOf(h hash) int {
	return int(maphash.Bytes(r.seed, h[:]) & uint64(len(r.slots)-1))
}

// findEntries returns the entries that have a hash, as name, id or nonce.
func (r *recent) findEntries(h hash) iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		if len(r.slots) == 0 {
			return
		}
		for i := r.slotOf(h); r.slots[i] != 0; i = (i + 1) & (len(r.slots) - 1) {
			e := &r.entries[r.slots[i]/4-1]
			if *e.hash(int(r.slots[i] % 4)) == h && !yield(e) {
				return
			}
		}
	}
}

// removeNumber removes the number of mail that was deleted.
func (r *recent) removeNumber(name hash, number uint64) {
	for e := range r.findEntries(name) {
		if e.number == number {
			r.changed = true
			e.number |= entryGone
			return
		}
	}
}

// encodeEntry writes what an envelope adds, without its number, which is the key.
func encodeEntry(inbox string, received uint64, keys seenKeys, digest hash) []byte {
	raw := binary.BigEndian.AppendUint64(make([]byte, 0, 8+5*16+len(inbox)), received)
	for _, part := range [][]byte{keys.name[:], keys.id[1:], keys.nonce[1:], keys.sender[1:], digest[:]} {
		raw = append(raw, part...)
	}
	return append(raw, inbox...)
}

// readRecent reads the entries of an earlier process or transaction, and which mail is in the bucket
// arrived. Mail that was deleted meanwhile has no number.
func (q *Queue) readRecent(tx *bolt.Tx) error {
	r := newRecent()
	err := tx.Bucket(recentBucket).ForEach(func(key, raw []byte) error {
		if len(key) != 8 || len(raw) < 8+5*16 {
			return store.Corruptf("an entry of the bucket recent has %d bytes", len(raw))
		}
		number, inbox := binary.BigEndian.Uint64(key), string(raw[8+5*16:])
		keys, digest := seenKeys{id: seenKey{'i'}, nonce: seenKey{'n'}, sender: seenKey{'s'}}, hash{}
		for i, part := range [][]byte{keys.name[:], keys.id[1:], keys.nonce[1:], keys.sender[1:], digest[:]} {
			copy(part, raw[8+16*i:])
		}
		r.addEntry(number, binary.BigEndian.Uint64(raw), keys, digest, 0)
		if getMail(tx, inbox, number) == nil {
			r.removeNumber(keys.name, number)
		}
		return nil
	})
	if err != nil {
		return err
	}
	arrived, size, err := readArrived(tx)
	if err != nil {
		return err
	}
	r.changed, r.bytes = false, size
	q.recent = r
	q.arrivals.replaceAll(arrived)
	return nil
}

// mergeIfDue makes the next step of a merge that is under way, or begins one when enough envelopes have
// come, the first of them came before a time, or the clock was set back since the first. It makes one
// step in a transaction.
func (q *Queue) mergeIfDue(tx *bolt.Tx, before uint64) (merged bool, err error) {
	r := &q.recent
	if r.merging == 0 {
		n := len(r.entries)
		if n == 0 || n < q.mergeAfter && r.bytes < mergeBytes && r.first > before && !isAhead(r.first, r.last) {
			return false, nil
		}
		share := min(1, max(float64(n)/float64(q.mergeAfter), float64(r.bytes)/mergeBytes))
		r.merging, r.step, r.steps = n, 0, 1+int(share*(mergeSteps-1))
		r.moving, r.movingBytes = q.arrivals.sortAll(), r.bytes
		r.until, r.merged, r.sent = r.last, r.sent, map[seenKey]uint64{}
	}
	if r.stepped == tx {
		return false, nil
	}
	r.stepped, r.changed = tx, true
	if err := q.mergePart(tx, r.step); err != nil {
		return false, err
	}
	if r.step++; r.step < r.steps {
		return true, nil
	}
	return true, q.endMerge(tx)
}

// mergePart writes the entries whose hashes are in one part of all hashes into their buckets, in the
// order of the keys.
func (q *Queue) mergePart(tx *bolt.Tx, part int) error {
	entries := q.recent.entries[:q.recent.merging]
	sorted := func(which int) []*entry {
		var out []*entry
		for i := range entries {
			if int(entries[i].hash(which)[0])*q.recent.steps/256 == part {
				out = append(out, &entries[i])
			}
		}
		slices.SortFunc(out, func(a, b *entry) int {
			return cmp.Or(bytes.Compare(a.hash(which)[:], b.hash(which)[:]), cmp.Compare(a.number, b.number))
		})
		return out
	}
	moving := q.recent.moving
	if err := moveMail(tx, moving[len(moving)*part/q.recent.steps:len(moving)*(part+1)/q.recent.steps]); err != nil {
		return err
	}
	ids := tx.Bucket(idsBucket)
	for _, e := range sorted(nameHash) {
		if e.number&entryGone != 0 {
			continue
		}
		if err := ids.Put(idKey(e.name, e.number), nil); err != nil {
			return err
		}
	}
	period, err := q.newestPeriod(tx.Bucket(seenBucket), q.recent.until)
	if err != nil {
		return err
	}
	for kind, which := range map[byte]int{'i': idHash, 'n': nonceHash} {
		for _, e := range sorted(which) {
			if err := period.Put(append([]byte{kind}, e.hash(which)[:]...), bytes.Clone(e.digest[:])); err != nil {
				return err
			}
		}
	}
	return nil
}

// endMerge counts the envelopes of each sender, and keeps only entries that came during the merge.
func (q *Queue) endMerge(tx *bolt.Tx) error {
	r := &q.recent
	period, err := q.newestPeriod(tx.Bucket(seenBucket), r.until)
	if err != nil {
		return err
	}
	for key, n := range r.merged {
		if v := period.Get(key[:]); len(v) == 8 {
			n += binary.BigEndian.Uint64(v)
		}
		if err := period.Put(key[:], binary.BigEndian.AppendUint64(nil, n)); err != nil {
			return err
		}
	}
	rest, last := r.entries[r.merging:], r.entries[r.merging-1].number&^entryGone
	kept, err := keepEntries(tx, recentBucket, rest)
	if err != nil {
		return err
	}
	for i, e := range rest {
		if len(kept[i]) < 8 {
			return store.Corruptf("the bucket recent lacks envelope %d", e.number&^entryGone)
		}
	}
	if _, err := keepEntries(tx, arrivedBucket, rest); err != nil {
		return err
	}
	tx.OnCommit(func() { q.arrivals.removeThrough(last) })
	if len(rest) > 0 {
		r.first = binary.BigEndian.Uint64(kept[0])
	}
	r.entries, r.merging, r.merged, r.moving, r.bytes = append(r.entries[:0], rest...), 0, nil, nil, r.bytes-r.movingBytes
	clear(r.slots)
	r.indexAll()
	return nil
}

// keepEntries drops everything from a bucket but the values under the numbers of some entries, and
// returns these, nil for those that are not there.
func keepEntries(tx *bolt.Tx, name []byte, entries []entry) (kept [][]byte, err error) {
	kept = make([][]byte, len(entries))
	bucket := tx.Bucket(name)
	for i, e := range entries {
		kept[i] = bytes.Clone(bucket.Get(numberKey(e.number)))
	}
	if err := tx.DeleteBucket(name); err != nil {
		return nil, err
	}
	if bucket, err = tx.CreateBucket(name); err != nil {
		return nil, err
	}
	bucket.FillPercent = appendFill
	for i, e := range entries {
		if kept[i] == nil {
			continue
		}
		if err := bucket.Put(numberKey(e.number), kept[i]); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// putRecent records what an envelope adds to ids and seen.
func (q *Queue) putRecent(tx *bolt.Tx, mail *pendingMail, number uint64) error {
	received, digest := unixMillis(mail.Received), hash(mail.Digest[:16])
	bucket := tx.Bucket(recentBucket)
	bucket.FillPercent = appendFill
	if err := bucket.Put(numberKey(number), encodeEntry(mail.Inbox, received, mail.keys, digest)); err != nil {
		return err
	}
	q.recent.addEntry(number, received, mail.keys, digest, len(mail.raw))
	_, err := q.mergeIfDue(tx, 0)
	return err
}

// numbersOf returns the numbers of the mail with an id in an inbox.
func (q *Queue) numbersOf(tx *bolt.Tx, name hash) []uint64 {
	var numbers []uint64
	for e := range q.recent.findEntries(name) {
		if e.name == name && e.number&entryGone == 0 {
			numbers = append(numbers, e.number)
		}
	}
	c := tx.Bucket(idsBucket).Cursor()
	for key, _ := c.Seek(name[:]); len(key) == len(name)+8 && bytes.HasPrefix(key, name[:]); key, _ = c.Next() {
		numbers = append(numbers, lastNumber(key))
	}
	slices.Sort(numbers)
	return slices.Compact(numbers) // during a merge one may be in both
}

// forgetNumber removes the entry of an id, which during a merge may be in both places.
func (q *Queue) forgetNumber(tx *bolt.Tx, name hash, number uint64) error {
	q.recent.removeNumber(name, number)
	return tx.Bucket(idsBucket).Delete(idKey(name, number))
}

func idKey(name hash, number uint64) []byte {
	return binary.BigEndian.AppendUint64(append(make([]byte, 0, 24), name[:]...), number)
}
