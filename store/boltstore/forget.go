package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// Under these keys, bucket "meta" holds a value followed by its CRC-32C (4 bytes).
var (
	horizonKey = []byte("horizon") // 8 bytes: deletions up to this sequence are forgotten
	marksKey   = []byte("marks")   // 16 bytes a mark: Unix time in seconds, sequence
)

// The maximum size of a transaction that drops tombstones: each may be on a different page, and
// writers wait for the commit.
const (
	forgetAtOnce = 1_000
	forgetVisits = 10_000 // records looked at in one read transaction
)

// markPause is the least time between two marks.
const markPause = time.Hour

// A mark records the end of the log at one time.
type mark struct {
	at  time.Time
	seq uint64
}

func putChecked(tx *bolt.Tx, key, value []byte) error {
	sum := crc32.Checksum(value, castagnoli)
	return tx.Bucket(metaBucket).Put(key, binary.BigEndian.AppendUint32(value, sum))
}

// readChecked returns a value of bucket "meta", nil when there is none.
func readChecked(tx *bolt.Tx, key []byte) ([]byte, error) {
	raw := tx.Bucket(metaBucket).Get(key)
	if raw == nil {
		return nil, nil
	}
	n := len(raw) - 4
	if n < 0 || crc32.Checksum(raw[:n], castagnoli) != binary.BigEndian.Uint32(raw[n:]) {
		return nil, store.Corruptf("the entry %q of bucket %q does not match its checksum", key, metaBucket)
	}
	return raw[:n], nil
}

func readHorizon(tx *bolt.Tx) (uint64, error) {
	value, err := readChecked(tx, horizonKey)
	if value == nil || err != nil {
		return 0, err
	}
	if len(value) != 8 {
		return 0, store.Corruptf("the horizon has %d bytes", len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}

func readMarks(tx *bolt.Tx) ([]mark, error) {
	value, err := readChecked(tx, marksKey)
	if err != nil {
		return nil, err
	}
	if len(value)%16 != 0 {
		return nil, store.Corruptf("the marks have %d bytes", len(value))
	}
	var marks []mark
	for ; len(value) > 0; value = value[16:] {
		marks = append(marks, mark{time.Unix(int64(binary.BigEndian.Uint64(value)), 0), binary.BigEndian.Uint64(value[8:])})
	}
	return marks, nil
}

func putMarks(tx *bolt.Tx, marks []mark) error {
	value := []byte{}
	for _, m := range marks {
		value = binary.BigEndian.AppendUint64(value, uint64(m.at.Unix()))
		value = binary.BigEndian.AppendUint64(value, m.seq)
	}
	return putChecked(tx, marksKey, value)
}

// addMark adds a mark to the others in time order. It drops the marks that no longer help to find a
// horizon that keeps deletions for that time: marks later than now, from a wrong clock, and among
// the marks older than the time all but the newest.
func addMark(marks []mark, now mark, keep time.Duration) []mark {
	var useful []mark
	for _, m := range marks {
		if m.at.After(now.at) || m.seq > now.seq {
			continue
		}
		if !m.at.After(now.at.Add(-keep)) {
			useful = useful[:0]
		}
		useful = append(useful, m)
	}
	if n := len(useful); n > 0 && now.at.Sub(useful[n-1].at) < markPause && keep > 0 {
		return useful
	}
	return append(useful, now)
}

// sequenceAt returns the end of the log at a time, as far as the marks tell. In doubt it returns an
// earlier end.
func sequenceAt(marks []mark, at time.Time) (seq uint64) {
	for _, m := range marks {
		if !m.at.After(at) {
			seq = max(seq, m.seq)
		}
	}
	return seq
}

// Forget moves the horizon to the cursor and drops the tombstones up to it, as store.Store says.
// When it ends early, with an error or with the process, the horizon has moved, and the next call
// drops the rest.
func (s *Store) Forget(ctx context.Context, upTo store.Cursor) error {
	s.forgetting.Lock()
	defer s.forgetting.Unlock()
	if err := s.checkCursor(upTo); err != nil {
		return err
	}
	if err := s.moveHorizon(ctx, upTo.Seq); err != nil {
		return err
	}
	_, err := s.dropForgotten(ctx)
	return err
}

// dropForgotten drops the tombstones up to the horizon and returns how many.
func (s *Store) dropForgotten(ctx context.Context) (dropped int, err error) {
	for from := []byte{}; from != nil; {
		var found []tombstone
		if found, from, _, err = s.findTombstones(ctx, from); err != nil {
			return dropped, err
		}
		n, err := s.dropTombstones(ctx, found)
		dropped += n
		s.countUpkeep(func(u *Upkeep) { u.Forgotten += n })
		if err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

// countForgotten returns how many tombstones dropForgotten would drop, and of how many records.
func (s *Store) countForgotten(ctx context.Context) (tombstones, records int, err error) {
	for from := []byte{}; from != nil; {
		var found []tombstone
		var visits int
		if found, from, visits, err = s.findTombstones(ctx, from); err != nil {
			return 0, 0, err
		}
		tombstones, records = tombstones+len(found), records+visits
	}
	return tombstones, records, nil
}

// isForgotten reports whether a raw record is a tombstone to be dropped. A damaged one is not: it
// stays, and is reported to its readers.
func (s *Store) isForgotten(key, raw []byte, horizon uint64) (seq uint64, yes bool) {
	if len(raw) != headerSize || raw[flagsAt]&flagDeleted == 0 {
		return 0, false
	}
	r, err := decodeRecord(key, raw)
	return r.Seq, err == nil && r.Deleted && r.Seq <= horizon && !s.keepDeletion(r.Key)
}

// moveHorizon moves the horizon forward to seq, but never up to the newest write, so that the log
// always ends at Head.
func (s *Store) moveHorizon(ctx context.Context, seq uint64) error {
	seq = min(seq, max(s.Head().Seq, 1)-1)
	if seq <= s.horizon.Load() {
		return nil
	}
	_, err := s.file.Write(ctx, boltfile.Request{Writes: 1, Frees: true, Write: func(tx *boltfile.Tx) (refused, err error) {
		tx.MarkChanged()
		return nil, putChecked(tx.Tx, horizonKey, binary.BigEndian.AppendUint64(nil, seq))
	}})
	if err != nil {
		return fmt.Errorf("move the horizon: %w", err)
	}
	s.horizon.Store(seq)
	return nil
}

// A tombstone is the deletion of a key.
type tombstone struct {
	key []byte
	seq uint64
}

// findTombstones returns tombstones to drop, the key where the search continues, nil at the end,
// and the number of records it has read.
func (s *Store) findTombstones(ctx context.Context, from []byte) (found []tombstone, next []byte, visits int, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, 0, err
	}
	horizon := s.horizon.Load()
	err = s.file.View("look for deletions", func(tx *bolt.Tx) error {
		return boltfile.Scan(tx.Bucket(recordsBucket), from, func(key, raw []byte) (bool, error) {
			if visits == forgetVisits || len(found) == forgetAtOnce {
				next = bytes.Clone(key)
				return false, nil
			}
			visits++
			if seq, yes := s.isForgotten(key, raw, horizon); yes {
				found = append(found, tombstone{bytes.Clone(key), seq})
			}
			return true, nil
		})
	})
	return found, next, visits, err
}

// dropTombstones deletes those of the tombstones that are still there, and returns their number.
func (s *Store) dropTombstones(ctx context.Context, found []tombstone) (dropped int, err error) {
	if len(found) == 0 {
		return 0, nil
	}
	_, err = s.file.Write(ctx, boltfile.Request{Writes: len(found), Frees: true, Write: func(tx *boltfile.Tx) (refused, err error) {
		b := s.batchOf(tx)
		for _, t := range found {
			r, err := b.readCurrent(t.key)
			if err != nil || r.Seq != t.seq {
				continue // written again meanwhile, or damaged
			}
			tx.MarkChanged()
			if err := b.log.Delete(b.logKey(t.seq)); err != nil {
				return nil, err
			}
			if err := b.records.Delete(t.key); err != nil {
				return nil, err
			}
			dropped++
		}
		return nil, nil
	}})
	if err != nil {
		return 0, fmt.Errorf("drop deletions: %w", err)
	}
	return dropped, nil
}

// noteTime adds a mark of the present end of the log, keeps marks for as long as deletions are
// kept, and returns where the log ended that long ago.
func (s *Store) noteTime(ctx context.Context, now time.Time, keep time.Duration) (seq uint64, err error) {
	_, err = s.file.Write(ctx, boltfile.Request{Writes: 1, Frees: true, Write: func(tx *boltfile.Tx) (refused, err error) {
		marks, err := readMarks(tx.Tx)
		if err != nil {
			return err, nil
		}
		marks = addMark(marks, mark{now, tx.Sequence()}, keep)
		seq = sequenceAt(marks, now.Add(-keep))
		tx.MarkChanged()
		return nil, putMarks(tx.Tx, marks)
	}})
	return seq, err
}
