package boltqueue

import (
	"encoding/binary"

	bolt "go.etcd.io/bbolt"

	"gazetteer/relay"
)

const (
	// shareOfRest is the part of the free room of an inbox that one sender may have used, when the
	// inbox is more than half full.
	shareOfRest = 8
	// maxShareInboxes is the number of inboxes whose shares are in memory.
	maxShareInboxes = 16
	// reservedPart is the part of an inbox for senders that its owner or the registry knows.
	reservedPart = 4
)

// A share is the waiting mail of the senders with one key in one inbox.
type share struct {
	mail  int
	bytes int64
}

// senderShares are the shares in some inboxes that are more than half full. Only requests of the file
// touch them. They are forgotten when mail of the inbox is deleted, or when a transaction fails.
type senderShares map[string]map[string]share

// leavesRoom reports whether an inbox with that mail has room for an envelope beside that of its
// sender. Half of an inbox is for everybody. Of the rest, a sender with waiting mail may have an eighth of
// what is free, so that one sender, or a few, do not keep others from writing.
func (q *Queue) leavesRoom(tx *bolt.Tx, in relay.Incoming, box tally) (bool, error) {
	crowded := in.MaxMail > 0 && box.mail >= in.MaxMail-in.MaxMail/2 || in.MaxBytes > 0 && box.bytes >= in.MaxBytes-in.MaxBytes/2
	if in.ShareKey == nil || !crowded {
		return true, nil
	}
	shares, err := q.sharesOf(tx, in)
	if err != nil {
		return false, err
	}
	own := shares[in.ShareKey(in.Sender)]
	return own.mail == 0 ||
		(in.MaxMail <= 0 || own.mail+1 <= (in.MaxMail-box.mail)/shareOfRest) &&
			(in.MaxBytes <= 0 || own.bytes+int64(len(in.Text)) <= (in.MaxBytes-box.bytes)/shareOfRest), nil
}

// sharesOf returns the shares in the inbox of an envelope.
func (q *Queue) sharesOf(tx *bolt.Tx, in relay.Incoming) (map[string]share, error) {
	if known := q.shares[in.Inbox]; known != nil {
		return known, nil
	}
	if len(q.shares) >= maxShareInboxes {
		clear(q.shares)
	}
	found := map[string]share{}
	err := eachMail(tx, in.Inbox, 0, q.arrivals.numbersAfter(in.Inbox, 0), func(_ uint64, raw []byte) (bool, error) {
		if len(raw) < recordHead {
			return true, nil // damaged: Check reports it
		}
		if n, w := binary.Uvarint(raw[recordHead:]); w > 0 && n <= uint64(len(raw)-recordHead-w) {
			sender := raw[recordHead+w : recordHead+w+int(n)]
			key := in.ShareKey(string(sender))
			s := found[key]
			found[key] = share{s.mail + 1, s.bytes + int64(len(raw))}
		}
		return true, nil
	})
	if err == nil {
		q.shares[in.Inbox] = found
	}
	return found, err
}

// reservesRoom reports whether an envelope would take room that is for other senders: the last quarter of
// an inbox is for those with evidence, and those to which the owner has written. New agents cost
// nothing, so that their shares alone would not keep a crowd of them from filling an inbox.
func reservesRoom(contacts *bolt.Bucket, in relay.Incoming, box tally) bool {
	reached := in.MaxMail > 0 && box.mail >= in.MaxMail-in.MaxMail/reservedPart ||
		in.MaxBytes > 0 && box.bytes+int64(len(in.Text)) > in.MaxBytes-in.MaxBytes/reservedPart
	return reached && in.ShareKey != nil && !in.Known && !hasAnswered(contacts, in)
}

// countShare notes an envelope that was put into an inbox whose shares are known.
func (s senderShares) countShare(in relay.Incoming) {
	if known := s[in.Inbox]; known != nil && in.ShareKey != nil {
		key := in.ShareKey(in.Sender)
		own := known[key]
		known[key] = share{own.mail + 1, own.bytes + int64(len(in.Text))}
	}
}
