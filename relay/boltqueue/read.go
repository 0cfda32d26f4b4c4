package boltqueue

import (
	"bytes"
	"context"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/relay"
)

// Pull returns the mail of an inbox: see relay.Queue.
func (q *Queue) Pull(ctx context.Context, inbox string, after uint64, limit, maxBytes int, now time.Time) (relay.Page, error) {
	var page relay.Page
	if err := checkName("the inbox", inbox, maxInbox); err != nil {
		return page, err
	}
	arrived, size := q.arrivals.numbersAfter(inbox, after), 0
	err := q.file.View("pull mail", func(tx *bolt.Tx) error {
		delivered := q.readDeliveries(tx, inbox)
		return eachMail(tx, inbox, after, arrived, func(number uint64, raw []byte) (more bool, err error) {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			m, err := decodeMail(number, raw)
			if err != nil {
				return false, err
			}
			if m.Expires = time.UnixMilli(int64(delivered.expiryOf(m.Number, unixMillis(m.Expires)))).UTC(); !m.Expires.After(now) {
				return true, nil
			}
			if len(page.Mail) == limit || len(page.Mail) > 0 && size+len(m.Text) > maxBytes {
				page.More = true
				return false, nil
			}
			size += len(m.Text)
			page.Mail = append(page.Mail, m)
			return true, nil
		})
	})
	if err != nil {
		return relay.Page{}, err
	}
	return page, nil
}

// isMailOf reports whether a key of the mail bucket is of the inbox with this prefix. Names hold no
// zero byte, so that no other inbox has the prefix.
func isMailOf(key, prefix []byte) bool {
	return len(key) == len(prefix)+8 && bytes.HasPrefix(key, prefix)
}

// Count returns what waits in an inbox.
func (q *Queue) Count(_ context.Context, inbox string) (relay.Waiting, error) {
	var w relay.Waiting
	err := q.file.View("count mail", func(tx *bolt.Tx) error {
		t := decodeTally(tx.Bucket(inboxBucket).Get([]byte(inbox)))
		if t.mail == 0 {
			return nil
		}
		w = relay.Waiting{Inboxes: 1, Mail: t.mail, Bytes: t.bytes, Oldest: time.UnixMilli(int64(t.oldest)).UTC()}
		return nil
	})
	return w, err
}

// CountAll returns what waits in all inboxes.
func (q *Queue) CountAll(ctx context.Context) (relay.Waiting, error) {
	var w relay.Waiting
	oldest := ^uint64(0)
	err := q.file.View("count mail", func(tx *bolt.Tx) error {
		c := tx.Bucket(inboxBucket).Cursor()
		for key, v := c.First(); key != nil; key, v = c.Next() {
			if err := ctx.Err(); err != nil {
				return err
			}
			t := decodeTally(v)
			w.Inboxes++
			w.Mail += t.mail
			w.Bytes += t.bytes
			oldest = min(oldest, t.oldest)
		}
		if w.Mail > 0 {
			w.Oldest = time.UnixMilli(int64(oldest)).UTC()
		}
		return nil
	})
	return w, err
}
