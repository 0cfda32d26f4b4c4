package boltqueue

import (
	"cmp"
	"context"

	bolt "go.etcd.io/bbolt"

	"gazetteer/relay"
	"gazetteer/store/boltfile"
)

// Push stores an envelope: see relay.Queue.
func (q *Queue) Push(ctx context.Context, in relay.Incoming) (uint64, error) {
	if err := cmp.Or(checkName("the inbox", in.Inbox, maxInbox), checkName("the id", in.ID, maxID)); err != nil {
		return 0, err
	}
	raw := encodeMail(in)
	var number uint64
	_, err := q.file.Write(ctx, boltfile.Request{
		Writes: 8, Bytes: len(raw),
		Write: func(tx *boltfile.Tx) (refused, err error) {
			number, refused, err = q.putMail(tx, in, raw)
			return refused, err
		},
	})
	if err != nil {
		return 0, err
	}
	q.watches.notify(in.Inbox)
	return number, nil
}

// putMail checks that an envelope is new and has room, and writes it. Nothing is written when it is
// refused.
func (q *Queue) putMail(tx *boltfile.Tx, in relay.Incoming, raw []byte) (number uint64, refused, err error) {
	var box tally
	keys := seenKeysOf(in)
	err = boltfile.CatchDamage("read the queue", func() error {
		refused = checkSeen(tx.Bucket(seenBucket), keys, in)
		box = decodeTally(tx.Bucket(inboxBucket).Get([]byte(in.Inbox)))
		return nil
	})
	if err != nil || refused != nil {
		return 0, cmp.Or(err, refused), nil
	}
	if in.MaxMail > 0 && box.mail >= in.MaxMail || in.MaxBytes > 0 && box.bytes+int64(len(in.Text)) > in.MaxBytes {
		return 0, relay.ErrInboxFull, nil
	}
	if number, err = q.nextNumber(tx); err != nil {
		return 0, nil, err
	}
	box.mail++
	box.bytes += int64(len(in.Text))
	return number, nil, cmp.Or(
		tx.Bucket(mailBucket).Put(mailKey(in.Inbox, number), raw),
		tx.Bucket(idsBucket).Put(idKey(in.Inbox, in.ID, number), nil),
		tx.Bucket(dueBucket).Put(dueKey(in.Expires, number), []byte(in.Inbox)),
		tx.Bucket(inboxBucket).Put([]byte(in.Inbox), box.encode()),
		q.putSeen(tx.Bucket(seenBucket), keys, in),
	)
}

// deleteMail deletes one envelope with everything that refers to it. It reports false when the
// envelope is not there. Of a damaged envelope it deletes what its key leads to; the entries that
// remain lead nowhere, and those who meet them delete them.
func deleteMail(tx *bolt.Tx, inbox string, number uint64) (bool, error) {
	mail := tx.Bucket(mailBucket)
	key := mailKey(inbox, number)
	raw := mail.Get(key)
	if raw == nil {
		return false, nil
	}
	m, damaged := decodeMail(number, raw)
	boxes := tx.Bucket(inboxBucket)
	box := decodeTally(boxes.Get([]byte(inbox)))
	box.mail--
	box.bytes -= int64(len(m.Text))
	if err := mail.Delete(key); err != nil {
		return false, err
	}
	if damaged == nil {
		err := cmp.Or(
			tx.Bucket(idsBucket).Delete(idKey(inbox, m.ID, number)),
			tx.Bucket(dueBucket).Delete(dueKey(m.Expires, number)),
		)
		if err != nil {
			return false, err
		}
	}
	if box.mail <= 0 {
		return true, boxes.Delete([]byte(inbox))
	}
	return true, boxes.Put([]byte(inbox), box.encode())
}
