package boltqueue

import (
	"cmp"
	"context"
	"encoding/binary"

	bolt "go.etcd.io/bbolt"

	"gazetteer/relay"
	"gazetteer/store/boltfile"
)

// Push stores an envelope: see relay.Queue.
func (q *Queue) Push(ctx context.Context, in relay.Incoming) (uint64, error) {
	if err := cmp.Or(checkName("the inbox", in.Inbox, maxInbox), checkName("the id", in.ID, maxID)); err != nil {
		return 0, err
	}
	mail := prepareMail(in)
	_, err := q.file.Write(ctx, boltfile.Request{
		Writes: 5, Bytes: len(mail.raw),
		Write: func(tx *boltfile.Tx) (refused, err error) { return q.putMail(tx, mail) },
	})
	if err != nil {
		return 0, err
	}
	q.watches.notifyInbox(in.Inbox)
	return mail.number, nil
}

// A pendingMail is an envelope on its way into the file.
type pendingMail struct {
	relay.Incoming
	keys   seenKeys
	raw    []byte // its record
	number uint64 // set by the transaction
}

// prepareMail prepares an envelope for a transaction.
func prepareMail(in relay.Incoming) *pendingMail {
	return &pendingMail{Incoming: in, keys: seenKeysOf(in), raw: encodeMail(in)}
}

// putMail checks that an envelope is new and has room, and writes it. Nothing is written when it is
// refused.
func (q *Queue) putMail(tx *boltfile.Tx, mail *pendingMail) (refused, err error) {
	var box tally
	var known contact
	in, keys := mail.Incoming, mail.keys
	err = boltfile.CatchDamage("read the queue", func() error {
		if err := q.reloadRecent(tx.Tx); err != nil {
			return err
		}
		if refused = q.checkSeen(tx.Bucket(seenBucket), keys, in); refused != nil {
			return nil
		}
		box = decodeTally(tx.Bucket(inboxBucket).Get([]byte(in.Inbox)))
		known, refused = checkContact(tx.Bucket(contactsBucket), in)
		return nil
	})
	if err != nil || refused != nil {
		return cmp.Or(err, refused), nil
	}
	if in.MaxMail > 0 && box.mail >= in.MaxMail || in.MaxBytes > 0 && box.bytes+int64(len(in.Text)) > in.MaxBytes {
		return relay.ErrInboxFull, nil
	}
	err = boltfile.CatchDamage("read the queue", func() error {
		room, err := q.leavesRoom(tx.Tx, in, box)
		switch {
		case err == nil && !room:
			refused = relay.ErrShareUsed
		case err == nil && reservesRoom(tx.Bucket(contactsBucket), in, box):
			refused = relay.ErrRoomReserved
		}
		return err
	})
	if err != nil || refused != nil {
		return cmp.Or(err, refused), nil
	}
	number, err := q.nextNumber(tx)
	if err != nil {
		return nil, err
	}
	mail.number = number
	box.countMail(in)
	q.shares.countShare(in)
	return nil, cmp.Or(
		q.putArrived(tx.Tx, in.Inbox, number, mail.raw),
		tx.Bucket(inboxBucket).Put([]byte(in.Inbox), box.encodeTally()),
		putContact(tx.Bucket(contactsBucket), known, in),
		putWake(tx.Bucket(wakesBucket), in, number),
		q.putRecent(tx.Tx, mail, number),
	)
}

// deleteMail deletes one envelope with everything that refers to it. It reports false when the
// envelope is not there. Of a damaged envelope it deletes what its key leads to; the entry of its id
// leads nowhere then, and is deleted by the acknowledgement that meets it.
func (q *Queue) deleteMail(tx *bolt.Tx, inbox string, number uint64) (bool, error) {
	raw := getMail(tx, inbox, number)
	if raw == nil {
		return false, nil
	}
	m, damaged := decodeMail(number, raw)
	if err := q.removeMail(tx, inbox, number); err != nil {
		return false, err
	}
	if damaged == nil {
		if err := q.forgetNumber(tx, nameOf(inbox, m.ID), number); err != nil {
			return false, err
		}
	}
	boxes := tx.Bucket(inboxBucket)
	box := decodeTally(boxes.Get([]byte(inbox)))
	box.mail--
	box.bytes -= int64(len(m.Text))
	if box.mail <= 0 {
		return true, cmp.Or(boxes.Delete([]byte(inbox)), tx.Bucket(wakesBucket).Delete(wakeKey(wakeInbox, inbox)), tx.Bucket(deliveredBucket).Delete([]byte(inbox)))
	}
	if _, raw := q.firstMail(tx, inbox); len(raw) >= recordHead {
		box.oldest = binary.BigEndian.Uint64(raw)
	}
	return true, boxes.Put([]byte(inbox), box.encodeTally())
}
