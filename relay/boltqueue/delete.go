package boltqueue

import (
	"bytes"
	"context"
	"encoding/binary"
	"time"

	"gazetteer/store/boltfile"
)

// Acknowledge deletes mail by the ids of its envelopes: see relay.Queue.
func (q *Queue) Acknowledge(ctx context.Context, inbox string, ids []string) (int, error) {
	if err := checkName("the inbox", inbox, maxInbox); err != nil {
		return 0, err
	}
	return q.deleteAll(ctx, len(ids), func(tx *boltfile.Tx) (deleted int, err error) {
		for _, id := range ids {
			if checkName("the id", id, maxID) != nil {
				continue // no mail can have it
			}
			prefix := idPrefix(inbox, id)
			for {
				key, _ := tx.Bucket(idsBucket).Cursor().Seek(prefix)
				if len(key) != len(prefix)+8 || !bytes.HasPrefix(key, prefix) {
					break
				}
				gone, err := deleteMail(tx.Tx, inbox, lastNumber(key))
				if err != nil {
					return deleted, err
				}
				if !gone { // the entry leads nowhere: it must not be met again
					if err := tx.Bucket(idsBucket).Delete(bytes.Clone(key)); err != nil {
						return deleted, err
					}
					continue
				}
				deleted++
			}
		}
		return deleted, nil
	})
}

// Wipe deletes the mail of an inbox in requests of bounded size: see relay.Queue.
func (q *Queue) Wipe(ctx context.Context, inbox string) (int, error) {
	const chunk = 500
	prefix := inboxPrefix(inbox)
	all := 0
	for {
		n, err := q.deleteAll(ctx, chunk, func(tx *boltfile.Tx) (deleted int, err error) {
			for deleted < chunk {
				key, _ := tx.Bucket(mailBucket).Cursor().Seek(prefix)
				if !isMailOf(key, prefix) {
					break
				}
				if _, err := deleteMail(tx.Tx, inbox, lastNumber(key)); err != nil {
					return deleted, err
				}
				deleted++
			}
			return deleted, nil
		})
		all += n
		if err != nil || n < chunk {
			return all, err
		}
	}
}

// Expire deletes what has expired and shortens the replay window: see relay.Queue.
func (q *Queue) Expire(ctx context.Context, now time.Time, limit int) (int, error) {
	return q.deleteAll(ctx, limit, func(tx *boltfile.Tx) (deleted int, err error) {
		if dropped, err := q.dropSeen(tx.Bucket(seenBucket), now); err != nil {
			return 0, err
		} else if dropped {
			tx.MarkChanged()
		}
		for deleted < limit {
			key, inbox := tx.Bucket(dueBucket).Cursor().First()
			if len(key) != 16 || binary.BigEndian.Uint64(key) > millis(now) {
				break
			}
			gone, err := deleteMail(tx.Tx, string(inbox), lastNumber(key))
			if err != nil {
				return deleted, err
			}
			if !gone {
				if err := tx.Bucket(dueBucket).Delete(bytes.Clone(key)); err != nil {
					return deleted, err
				}
				tx.MarkChanged()
				continue
			}
			deleted++
		}
		return deleted, nil
	})
}

// deleteAll runs one request that only deletes, which is allowed on a full disk as well.
func (q *Queue) deleteAll(ctx context.Context, writes int, work func(tx *boltfile.Tx) (int, error)) (int, error) {
	deleted := 0
	_, err := q.file.Write(ctx, boltfile.Request{
		Writes: 4 * writes, Frees: true,
		Write: func(tx *boltfile.Tx) (refused, err error) {
			deleted, err = work(tx)
			if deleted > 0 {
				tx.MarkChanged()
			}
			return nil, err
		},
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}
