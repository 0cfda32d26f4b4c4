package boltqueue

import (
	"cmp"
	"context"
	"encoding/binary"
	"time"

	bolt "go.etcd.io/bbolt"

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
			name := nameOf(inbox, id)
			for _, number := range q.numbersOf(tx.Tx, name) {
				gone, err := q.deleteMail(tx.Tx, inbox, number)
				if err == nil {
					err = q.forgetNumber(tx.Tx, name, number) // of damaged mail it still leads nowhere
				}
				if err != nil {
					return deleted, err
				}
				if gone {
					deleted++
				}
			}
		}
		return deleted, nil
	})
}

// Wipe deletes the mail of an inbox in requests of bounded size: see relay.Queue.
func (q *Queue) Wipe(ctx context.Context, inbox string) (int, error) {
	const chunk = 500
	all := 0
	for {
		n, err := q.deleteAll(ctx, chunk, func(tx *boltfile.Tx) (deleted int, err error) {
			for deleted < chunk {
				number, raw := q.firstMail(tx.Tx, inbox)
				if raw == nil {
					break
				}
				if _, err := q.deleteMail(tx.Tx, inbox, number); err != nil {
					return deleted, err
				}
				deleted++
			}
			return deleted, nil
		})
		all += n
		if err != nil {
			return all, err
		}
		if n < chunk {
			return all, q.dropRules(ctx, inbox)
		}
	}
}

// Expire deletes what has expired and shortens the replay window: see relay.Queue.
func (q *Queue) Expire(ctx context.Context, now, forget time.Time, limit int) (int, error) {
	due, err := q.listDue(ctx, now, limit)
	if err != nil {
		return 0, err
	}
	logs := q.delivered.cloneLogs()
	deleted, err := q.deleteAll(ctx, limit, func(tx *boltfile.Tx) (deleted int, err error) {
		if err := putDeliveries(tx, logs); err != nil {
			return 0, err
		}
		merged, err := q.mergeIfDue(tx.Tx, unixMillis(now)-uint64((q.window/windowPeriods).Milliseconds()))
		if err != nil {
			return 0, err
		}
		forgotten, err := dropPeriods(tx.Bucket(seenBucket), forget, q.window)
		if err != nil {
			return 0, err
		}
		strangers, err := dropPeriods(tx.Bucket(contactsBucket), forget, contactKept)
		if err != nil {
			return 0, err
		}
		if merged || forgotten || strangers {
			tx.MarkChanged()
		}
		for _, inbox := range due {
			n, err := q.expireInbox(tx, inbox, unixMillis(now), limit-deleted)
			if deleted += n; err != nil || deleted >= limit {
				return deleted, err
			}
		}
		return deleted, nil
	})
	if err == nil {
		q.delivered.forgetStored(logs)
	}
	return deleted, err
}

// listDue returns up to most inboxes that hold expired mail.
func (q *Queue) listDue(ctx context.Context, now time.Time, most int) (due []string, err error) {
	err = q.file.View("look for expired mail", func(tx *bolt.Tx) error {
		c := tx.Bucket(inboxBucket).Cursor()
		for inbox, v := c.First(); inbox != nil && len(due) < most; inbox, v = c.Next() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if decodeTally(v).expires <= unixMillis(now) {
				due = append(due, string(inbox))
			}
		}
		return nil
	})
	return due, err
}

// expireInbox deletes up to most expired envelopes of an inbox. When it has seen all of the inbox, it
// notes when the next one expires.
func (q *Queue) expireInbox(tx *boltfile.Tx, inbox string, now uint64, most int) (deleted int, err error) {
	delivered := q.readDeliveries(tx.Tx, inbox)
	var expired []uint64
	first, next := uint64(0), ^uint64(0) // of the mail that stays
	err = eachMail(tx.Tx, inbox, 0, q.arrivals.numbersAfter(inbox, 0), func(number uint64, raw []byte) (more bool, err error) {
		if len(expired) == most {
			next = now // more of it
			return false, nil
		}
		expires := uint64(0)
		if len(raw) >= recordHead {
			expires = delivered.expiryOf(number, binary.BigEndian.Uint64(raw[8:]))
		}
		if expires <= now {
			expired = append(expired, number)
			return true, nil
		}
		next = min(next, expires)
		first = cmp.Or(first, number)
		return true, nil
	})
	if err != nil {
		return 0, err
	}
	for _, number := range expired {
		if _, err := q.deleteMail(tx.Tx, inbox, number); err != nil {
			return deleted, err
		}
		deleted++
	}
	boxes := tx.Bucket(inboxBucket)
	v := boxes.Get([]byte(inbox))
	if v == nil {
		return deleted, nil
	}
	box := decodeTally(v)
	box.expires = next
	tx.MarkChanged()
	if first > 0 {
		if err := trimDeliveries(tx.Tx, inbox, delivered, first); err != nil {
			return deleted, err
		}
	}
	return deleted, boxes.Put([]byte(inbox), box.encodeTally())
}

// deleteAll runs one request that only deletes, which is allowed on a full disk as well.
func (q *Queue) deleteAll(ctx context.Context, writes int, work func(tx *boltfile.Tx) (int, error)) (int, error) {
	deleted := 0
	_, err := q.file.Write(ctx, boltfile.Request{
		Writes: 4 * writes, Frees: true,
		Write: func(tx *boltfile.Tx) (refused, err error) {
			if err := boltfile.CatchDamage("read the queue", func() error { return q.reloadRecent(tx.Tx) }); err != nil {
				return nil, err
			}
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
