package boltqueue

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/relay"
	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// The kinds of keys in the bucket wakes.
const (
	wakeInbox = 'i'
	wakeHost  = 'h'
)

func wakeKey(kind byte, name string) []byte { return append([]byte{kind}, name...) }

// putWake notes that an inbox is to be woken for an envelope.
func putWake(wakes *bolt.Bucket, in relay.Incoming, number uint64) error {
	if !in.Wake {
		return nil
	}
	return wakes.Put(wakeKey(wakeInbox, in.Inbox), binary.BigEndian.AppendUint64(nil, number))
}

// Wakes returns the records of wake-ups: see relay.Queue.
func (q *Queue) Wakes(context.Context) (relay.Wakes, error) {
	out := relay.Wakes{Pending: map[string]uint64{}, Hosts: map[string]relay.WakeHost{}}
	err := q.file.View("read the wake-ups", func(tx *bolt.Tx) error {
		return tx.Bucket(wakesBucket).ForEach(func(key, raw []byte) error {
			switch {
			case len(key) > 1 && key[0] == wakeInbox && len(raw) == 8:
				out.Pending[string(key[1:])] = binary.BigEndian.Uint64(raw)
			case len(key) > 1 && key[0] == wakeHost && len(raw) == 16:
				out.Hosts[string(key[1:])] = relay.WakeHost{Failures: int(binary.BigEndian.Uint64(raw)), Next: time.UnixMilli(int64(binary.BigEndian.Uint64(raw[8:]))).UTC()}
			default:
				return store.Corruptf("an entry of the bucket wakes has the key %.20x", key)
			}
			return nil
		})
	})
	return out, err
}

// EndWake notes that an inbox was woken: see relay.Queue.
func (q *Queue) EndWake(ctx context.Context, inbox string, number uint64) error {
	key := wakeKey(wakeInbox, inbox)
	return q.writeWake(ctx, key, func(raw []byte) []byte {
		if len(raw) == 8 && binary.BigEndian.Uint64(raw) > number {
			return raw
		}
		return nil
	})
}

// SetWakeHost records the state of a host: see relay.Queue.
func (q *Queue) SetWakeHost(ctx context.Context, host string, state relay.WakeHost) error {
	return q.writeWake(ctx, wakeKey(wakeHost, host), func([]byte) []byte {
		if state.Failures == 0 {
			return nil
		}
		return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(state.Failures)), unixMillis(state.Next))
	})
}

// writeWake puts what change makes of an entry in its place, and deletes the entry for nil.
func (q *Queue) writeWake(ctx context.Context, key []byte, change func(raw []byte) []byte) error {
	_, err := q.file.Write(ctx, boltfile.Request{Writes: 1, Frees: true, Write: func(tx *boltfile.Tx) (refused, err error) {
		wakes := tx.Bucket(wakesBucket)
		before := wakes.Get(key)
		after := change(before)
		switch {
		case before == nil && after == nil, bytes.Equal(before, after) && after != nil:
			return nil, nil
		case after == nil:
			tx.MarkChanged()
			return nil, wakes.Delete(key)
		}
		tx.MarkChanged()
		return nil, wakes.Put(key, after)
	}})
	return err
}
