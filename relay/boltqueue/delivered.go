package boltqueue

import (
	"encoding/binary"
	"maps"
	"slices"
	"sort"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// deliveryStep is what the expiry of delivered mail is rounded up to, so that an inbox that is pulled
// all the time has few deliveries; maxDeliveries bounds them in any case.
const (
	deliveryStep  = time.Hour
	maxDeliveries = 1024
)

// A delivery says that the mail of an inbox up to a number was given to its recipient, and when it
// expires because of that.
type delivery struct{ through, expires uint64 }

// A deliveryLog are the deliveries of one inbox, in the order of their numbers.
type deliveryLog []delivery

// addDelivery adds mail that was not delivered before.
func (log deliveryLog) addDelivery(d delivery) deliveryLog {
	last := len(log) - 1
	switch {
	case last >= 0 && d.through <= log[last].through:
		return log
	case last >= 0 && d.expires == log[last].expires:
		log[last].through = d.through
		return log
	case len(log) >= maxDeliveries:
		log = log[1:] // that mail expires with the next delivery
	}
	return append(log, d)
}

// expiryOf returns when the mail with a number expires; own is when it expires if it was not delivered.
func (log deliveryLog) expiryOf(number, own uint64) uint64 {
	i := sort.Search(len(log), func(i int) bool { return log[i].through >= number })
	if i == len(log) {
		return own
	}
	return log[i].expires
}

// decodeDeliveries reads the deliveries of an inbox, none of an empty text.
func decodeDeliveries(inbox string, raw []byte) (deliveryLog, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	entries := raw[:len(raw)/16*16]
	if len(raw) != len(entries)+4 || binary.BigEndian.Uint32(raw[len(entries):]) != sumRecord(inbox, entries) {
		return nil, store.Corruptf("the deliveries of an inbox do not match their checksum")
	}
	log := make(deliveryLog, 0, len(entries)/16)
	for ; len(entries) > 0; entries = entries[16:] {
		log = append(log, delivery{binary.BigEndian.Uint64(entries), binary.BigEndian.Uint64(entries[8:])})
	}
	return log, nil
}

// encodeDeliveries writes the deliveries with a checksum behind them.
func (log deliveryLog) encodeDeliveries(inbox string) []byte {
	raw := make([]byte, 0, 16*len(log)+4)
	for _, d := range log {
		raw = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(raw, d.through), d.expires)
	}
	return binary.BigEndian.AppendUint32(raw, sumRecord(inbox, raw))
}

// storedDeliveries returns the deliveries in the file. Damaged ones count as none, and the mail
// waits as if it was never delivered: [Queue.Check] reports them.
func storedDeliveries(tx *bolt.Tx, inbox string) deliveryLog {
	log, _ := decodeDeliveries(inbox, tx.Bucket(deliveredBucket).Get([]byte(inbox)))
	return log
}

// newDeliveries are the deliveries that are not in the file yet. A pull writes nothing, so that reading
// mail does not wait for the disk; [Queue.Expire] and [Queue.Close] write them. After the end of the
// process some may be missing: that mail waits longer, and is delivered again.
type newDeliveries struct {
	mu      sync.Mutex
	inboxes map[string]deliveryLog // guarded by mu
}

// NoteDelivered records that mail was given out: see relay.Queue.
func (q *Queue) NoteDelivered(inbox string, through uint64, expires time.Time) {
	step := uint64(deliveryStep.Milliseconds())
	d := delivery{through, (unixMillis(expires) + step - 1) / step * step}
	n := &q.delivered
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.inboxes == nil {
		n.inboxes = map[string]deliveryLog{}
	}
	n.inboxes[inbox] = n.inboxes[inbox].addDelivery(d)
}

// cloneLogs returns a copy of the deliveries.
func (n *newDeliveries) cloneLogs() map[string]deliveryLog {
	n.mu.Lock()
	defer n.mu.Unlock()
	logs := maps.Clone(n.inboxes)
	for inbox, log := range logs {
		logs[inbox] = slices.Clone(log)
	}
	return logs
}

// forgetStored forgets deliveries that are in the file now, unless others came meanwhile.
func (n *newDeliveries) forgetStored(stored map[string]deliveryLog) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for inbox, log := range stored {
		if slices.Equal(n.inboxes[inbox], log) {
			delete(n.inboxes, inbox)
		}
	}
}

// readDeliveries returns the deliveries of an inbox, with those that are not in the file yet.
func (q *Queue) readDeliveries(tx *bolt.Tx, inbox string) deliveryLog {
	log := storedDeliveries(tx, inbox)
	q.delivered.mu.Lock()
	defer q.delivered.mu.Unlock()
	for _, d := range q.delivered.inboxes[inbox] {
		log = log.addDelivery(d)
	}
	return log
}

// putDeliveries writes new deliveries of inboxes that have mail.
func putDeliveries(tx *boltfile.Tx, logs map[string]deliveryLog) error {
	boxes, bucket := tx.Bucket(inboxBucket), tx.Bucket(deliveredBucket)
	for _, inbox := range slices.Sorted(maps.Keys(logs)) {
		v := boxes.Get([]byte(inbox))
		if v == nil {
			continue
		}
		log := storedDeliveries(tx.Tx, inbox)
		before := slices.Clone(log)
		for _, d := range logs[inbox] {
			log = log.addDelivery(d)
		}
		if slices.Equal(before, log) {
			continue
		}
		tx.MarkChanged()
		box := decodeTally(v)
		for _, d := range log {
			box.expires = min(box.expires, d.expires)
		}
		if err := boxes.Put([]byte(inbox), box.encodeTally()); err != nil {
			return err
		}
		if err := bucket.Put([]byte(inbox), log.encodeDeliveries(inbox)); err != nil {
			return err
		}
	}
	return nil
}

// trimDeliveries drops the deliveries of an inbox whose mail is gone: that below its first number.
func trimDeliveries(tx *bolt.Tx, inbox string, log deliveryLog, first uint64) error {
	i := sort.Search(len(log), func(i int) bool { return log[i].through >= first })
	if i == 0 {
		return nil
	}
	if i == len(log) {
		return tx.Bucket(deliveredBucket).Delete([]byte(inbox))
	}
	return tx.Bucket(deliveredBucket).Put([]byte(inbox), log[i:].encodeDeliveries(inbox))
}
