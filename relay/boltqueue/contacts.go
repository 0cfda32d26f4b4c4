package boltqueue

import (
	"cmp"
	"encoding/binary"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/relay"
)

// Limits of first contacts: how long a pair of inbox and sender is known after its last envelope in a
// period, and for how long a quota counts.
const (
	contactPeriod = 30 * 24 * time.Hour
	contactKept   = 90 * 24 * time.Hour
	contactQuota  = 24 * time.Hour
)

// A contact says what an envelope changes in the bucket contacts.
type contact struct {
	pair, quota  seenKey
	known, fresh bool   // the pair has had mail; the newest period says so
	since        uint64 // when the sender's quota began, in milliseconds
	used         uint64 // of the quota
}

// pairKey is the key of an inbox and a sender that has written to it.
func pairKey(inbox, sender string) seenKey { return hashKey('p', inbox, sender) }

// hasAnswered reports whether the owner of the inbox has written to the sender of an envelope.
func hasAnswered(contacts *bolt.Bucket, in relay.Incoming) bool {
	pair := pairKey(cmp.Or(in.SenderKey, in.Sender), in.Inbox)
	c := contacts.Cursor()
	for start, _ := c.Last(); start != nil; start, _ = c.Prev() {
		if period := contacts.Bucket(start); period != nil && period.Get(pair[:]) != nil {
			return true
		}
	}
	return false
}

// checkContact finds out whether the sender has written to the inbox before. If not, the envelope
// uses some of the sender's quota.
func checkContact(contacts *bolt.Bucket, in relay.Incoming) (contact, error) {
	x := contact{pair: pairKey(in.Inbox, cmp.Or(in.SenderKey, in.Sender)), quota: hashKey('b', cmp.Or(in.ContactKey, in.Sender))}
	if in.MaxFirstContacts < 0 {
		return contact{known: true, fresh: true}, nil
	}
	c := contacts.Cursor()
	newest, now := true, unixMillis(in.Received)
	for start, _ := c.Last(); start != nil; start, _ = c.Prev() {
		period := contacts.Bucket(start)
		if period == nil {
			continue
		}
		if period.Get(x.pair[:]) != nil {
			x.known, x.fresh = true, newest
			return x, nil
		}
		if isAhead(binary.BigEndian.Uint64(start), now) {
			continue
		}
		if v := period.Get(x.quota[:]); len(v) == 16 && x.since == 0 {
			x.since, x.used = binary.BigEndian.Uint64(v), binary.BigEndian.Uint64(v[8:])
		}
		newest = false
	}
	end := x.since + uint64(contactQuota.Milliseconds())
	if now >= end || isAhead(x.since, now) {
		x.since, x.used = now, 0
	} else if x.used >= uint64(in.MaxFirstContacts) {
		return x, &relay.ContactsError{Wait: time.Duration(end-now) * time.Millisecond}
	}
	if in.MaxFirstContacts == 0 {
		return x, &relay.ContactsError{Wait: contactQuota}
	}
	return x, nil
}

// putContact records a pair, and the use of the quota if the pair is new.
func putContact(contacts *bolt.Bucket, x contact, in relay.Incoming) error {
	if x.fresh {
		return nil
	}
	period, err := periodAt(contacts, unixMillis(in.Received), contactPeriod)
	if err != nil {
		return err
	}
	if err := period.Put(x.pair[:], []byte{1}); err != nil || x.known {
		return err
	}
	v := binary.BigEndian.AppendUint64(nil, x.since)
	return period.Put(x.quota[:], binary.BigEndian.AppendUint64(v, x.used+1))
}
