// Package boltqueue is a [relay.Queue] in one bbolt file that one process holds. Start with [Open].
//
// The mail has a file of its own, beside the store: mail comes and goes, and the store's log keeps a
// trace of everything that it ever held. Group commit, safe opening and compaction are those of
// package boltfile.
//
// # The file
//
//	mail     inbox 0 number       → time received, expiry, checksum, sender, id, receipt, text (record.go)
//	arrived  number               → inbox 0, then as in mail: mail that is not there yet (arrivals.go)
//	inbox    inbox                → number of envelopes, their bytes, the oldest, the first expiry
//	recent   number               → what the envelope adds to ids and seen (recent.go)
//	ids      hash of inbox, id; number → nothing: finds the mail of an acknowledgement
//	seen     start of a period    → a bucket of its own, dropped as a whole when the window has passed:
//	           'i' hash of inbox, sender, id              → digest
//	           'n' hash of inbox, sender, thread, nonce   → digest
//	           's' hash of sender                         → how many envelopes
//	contacts start of a period    → a bucket of its own as well (contacts.go):
//	           'p' hash of inbox, sender  → the sender has written to the inbox
//	           'b' hash of sender         → since when its quota counts, what was used of it
//	delivered inbox               → up to which numbers mail was given out, and when it expires since (delivered.go)
//	rules    inbox                → who may write to it, and its wake-up address (JSON)
//	wakes    'i' inbox            → number of the newest envelope for which it was not woken yet
//	         'h' host             → failures of wake-ups in a row, and when the host may be asked again
//	state    "sequence"           → the last sequence
//	         "base"               → what the numbers of new mail are counted from
//	         "rules"              → the number of entries in the bucket rules
//
// Numbers and times are 8 bytes, big endian, times in milliseconds. The number of an envelope is the
// sequence of its write, counted from a base: the microsecond in which the queue was opened, or the
// incarnation of the file times 2^40 if that is more. Clients that skip by number must see all that
// comes after a restore of an older copy. A copy of the file alone begins a new incarnation. Of a copy
// of the whole directory nothing inside tells that it is old, but the clock has gone on by more
// microseconds than envelopes were lost. A clock that was set back leaves the base as it was.
package boltqueue

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/relay"
	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// QueueFile is the name of the bbolt file in the directory of the queue.
const QueueFile = "queue.bolt"

const (
	format = 3
	// sequenceBits of a number are the sequence, the bits above the incarnation.
	sequenceBits   = 40
	maxIncarnation = 1<<(53-sequenceBits) - 1
	// maxClock bounds the base that is taken from the clock, in the year 2112: a clock that is wrong
	// must not use up the numbers, which clients read as 53 bits.
	maxClock = 1 << 52
	// windowPeriods is into how many buckets the replay window is divided. Each Push looks into all of
	// them, and entries are kept for up to one period longer than the window.
	windowPeriods = 8
	// reopenPages bounds what bbolt keeps in memory about the pages that it wrote, some 30 bytes each.
	reopenPages = 1 << 15
)

// defaultWindow is how long the replay window remembers an envelope unless Options say otherwise.
const defaultWindow = 24 * time.Hour

var (
	mailBucket     = []byte("mail")
	idsBucket      = []byte("ids")
	inboxBucket    = []byte("inbox")
	seenBucket     = []byte("seen")
	stateBucket    = []byte("state")
	recentBucket   = []byte("recent")
	arrivedBucket  = []byte("arrived")
	contactsBucket = []byte("contacts")
	rulesBucket    = []byte("rules")
	wakesBucket    = []byte("wakes")
	sequenceKey    = []byte("sequence")
	baseKey        = []byte("base")

	deliveredBucket = []byte("delivered")
)

// Options are the settings of [Open]. The zero value works.
type Options struct {
	// Window is how long a sender's ids and nonces are remembered; [defaultWindow] when 0. It must be
	// longer than an envelope can be fresh (330 s).
	Window time.Duration
	// File are those of the file.
	File boltfile.Options
}

// Queue is an open queue. Its methods may be called from any goroutine.
type Queue struct {
	file    *boltfile.File
	window  time.Duration
	base    uint64 // set by Open
	watches watches
	recent  recent // see there for who may touch it
	// delivered is not in the file yet.
	delivered newDeliveries
	arrivals  arrivals // may be read from any goroutine
	shares    senderShares
	// mergeAfter is how many envelopes may be recent; tests lower it before the first request.
	mergeAfter int
	// rulesDamage is why an inbox without rules may have had some, nil when all could be read at the
	// beginning.
	rulesDamage error
	log         *slog.Logger
}

var _ relay.Queue = (*Queue)(nil)

// Open opens the queue in dir, or begins one there. The errors are those of boltfile.Open.
func Open(ctx context.Context, dir string, o Options) (*Queue, error) {
	o.Window = cmp.Or(o.Window, defaultWindow)
	o.File.Log = cmp.Or(o.File.Log, slog.New(slog.DiscardHandler))
	file, err := boltfile.Open(ctx, dir, boltfile.Schema{
		Name: QueueFile, Noun: "queue", Format: format,
		Buckets:      [][]byte{mailBucket, idsBucket, inboxBucket, seenBucket, stateBucket},
		Later:        laterBuckets(),
		LastSequence: readSequence,
		ReopenPages:  reopenPages,
	}, o.File)
	if err != nil {
		return nil, err
	}
	if file.Incarnation() > maxIncarnation {
		return nil, errors.Join(fmt.Errorf("open the queue in %s: it was restored more than %d times, and its numbers have run out", dir, maxIncarnation), file.Close())
	}
	q := &Queue{file: file, shares: senderShares{}, window: o.Window, mergeAfter: defaultMergeAfter, log: o.File.Log}
	if err := q.prepareLayout(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the queue in %s: %w", dir, err), file.Close())
	}
	return q, nil
}

// laterBuckets are those that the first layout lacks.
func laterBuckets() [][]byte {
	return [][]byte{recentBucket, contactsBucket, rulesBucket, wakesBucket, deliveredBucket, arrivedBucket}
}

// oldDueBucket is a bucket of the first layout, in which ids were not hashed.
var oldDueBucket = []byte("due")

// prepareLayout creates the buckets of later layouts, converts a queue of the first layout, and
// reads the recent entries.
func (q *Queue) prepareLayout(ctx context.Context) error {
	_, err := q.file.Write(ctx, boltfile.Request{Frees: true, Write: func(tx *boltfile.Tx) (refused, err error) {
		return nil, boltfile.CatchDamage("read the queue", func() error {
			for _, name := range laterBuckets() {
				if tx.Bucket(name) != nil {
					continue
				}
				tx.MarkChanged()
				if _, err := tx.CreateBucket(name); err != nil {
					return err
				}
			}
			if err := q.chooseBase(tx.Tx, time.Now()); err != nil {
				return err
			}
			if tx.Bucket(oldDueBucket) != nil {
				tx.MarkChanged()
				if err := convertFirstLayout(tx.Tx); err != nil {
					return err
				}
			}
			if err := q.readRecent(tx.Tx); err != nil {
				return err
			}
			if q.rulesDamage = findRulesDamage(tx.Tx); q.rulesDamage != nil {
				q.log.Error("the rules of some inboxes are damaged: an inbox without readable rules accepts no mail until its owner sets them again, or a backup is restored", "error", q.rulesDamage)
			}
			return nil
		})
	}})
	return err
}

// convertFirstLayout counts the inboxes again and hashes the ids.
func convertFirstLayout(tx *bolt.Tx) error {
	for _, name := range [][]byte{oldDueBucket, idsBucket, inboxBucket} {
		if err := tx.DeleteBucket(name); err != nil {
			return err
		}
	}
	ids, err := tx.CreateBucket(idsBucket)
	if err != nil {
		return err
	}
	inboxes, err := tx.CreateBucket(inboxBucket)
	if err != nil {
		return err
	}
	return tx.Bucket(mailBucket).ForEach(func(key, raw []byte) error {
		if len(key) < 9 {
			return store.Corruptf("a key of the mail has %d bytes", len(key))
		}
		inbox, number := string(key[:len(key)-9]), lastNumber(key)
		m, err := decodeMail(number, raw)
		if err != nil {
			return err
		}
		box := decodeTally(inboxes.Get([]byte(inbox)))
		box.countMail(relay.Incoming{Received: m.Received, Expires: m.Expires, Text: m.Text})
		return errors.Join(ids.Put(idKey(nameOf(inbox, m.ID), number), nil), inboxes.Put([]byte(inbox), box.encodeTally()))
	})
}

func readSequence(tx *bolt.Tx) (uint64, error) {
	v := tx.Bucket(stateBucket).Get(sequenceKey)
	if v == nil {
		return 0, nil
	}
	if len(v) != 8 {
		return 0, store.Corruptf("the sequence has %d bytes", len(v))
	}
	seq := binary.BigEndian.Uint64(v)
	if seq >= 1<<sequenceBits { // no queue has that many envelopes: a bit has flipped, and no number would be left
		return 0, store.Corruptf("the sequence is %d", seq)
	}
	return seq, nil
}

// File returns the file of the queue, for its health and its compaction.
func (q *Queue) File() *boltfile.File { return q.file }

// Close waits for running calls and releases the file.
func (q *Queue) Close() error {
	if logs := q.delivered.cloneLogs(); len(logs) > 0 && q.file.Err() == nil {
		_, err := q.file.Write(context.Background(), boltfile.Request{Frees: true, Write: func(tx *boltfile.Tx) (refused, err error) {
			return nil, boltfile.CatchDamage("read the queue", func() error { return putDeliveries(tx, logs) })
		}})
		if err != nil && !errors.Is(err, store.ErrClosed) {
			q.log.Warn("note which mail was delivered", "error", err)
		}
	}
	return q.file.Close()
}

// chooseBase decides from where numbers are counted until the queue is closed.
func (q *Queue) chooseBase(tx *bolt.Tx, now time.Time) error {
	base, err := readBase(tx)
	q.base = max(base, q.file.Incarnation()<<sequenceBits)
	if clock := now.UnixMicro(); clock > 0 && clock < maxClock {
		q.base = max(q.base, uint64(clock))
	}
	return err
}

func readBase(tx *bolt.Tx) (uint64, error) {
	v := tx.Bucket(stateBucket).Get(baseKey)
	if v == nil {
		return 0, nil
	}
	if len(v) != 8 || binary.BigEndian.Uint64(v) >= 1<<53 {
		return 0, store.Corruptf("the base of the numbers is %x", v)
	}
	return binary.BigEndian.Uint64(v), nil
}

// nextNumber gives out the number of the next envelope and records its sequence, and the base with the
// first one.
func (q *Queue) nextNumber(tx *boltfile.Tx) (uint64, error) {
	seq := tx.NextSequence()
	if seq >= 1<<sequenceBits || q.base+seq >= 1<<53 {
		return 0, fmt.Errorf("the queue has numbered %d envelopes and has no number left", seq)
	}
	state := tx.Bucket(stateBucket)
	if err := state.Put(sequenceKey, binary.BigEndian.AppendUint64(nil, seq)); err != nil {
		return 0, err
	}
	if base, err := readBase(tx.Tx); err != nil || base == q.base {
		return q.base + seq, err
	}
	return q.base + seq, state.Put(baseKey, binary.BigEndian.AppendUint64(nil, q.base))
}
