package boltqueue

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	"gazetteer/store"

	bolt "go.etcd.io/bbolt"
)

// The keys of the bucket mail begin with the inbox, so that an inbox is read in one piece. Written one
// envelope at a time, each would cost a page of the file of its own, and mostly another one above it.
// So new mail goes into the bucket arrived, one envelope behind the other, and the merge that writes
// ids and seen (recent.go) moves it to the bucket mail in the order of its keys. An envelope may be in
// both from then until the end of the merge. Of each inbox the mail with the lowest numbers is moved
// first.

// arrivals are the numbers in the bucket arrived, by inbox. Requests of the file change them before
// their transaction is committed. They lose a number that was moved only after the commit, so that a
// reader that copies the numbers of an inbox before its transaction begins finds everything that was
// pushed before, here or in the bucket mail: see [arrivals.numbersAfter].
type arrivals struct {
	mu      sync.Mutex // guards the following field
	inboxes map[string][]uint64
}

// An arrival is the place of an envelope in the bucket mail.
type arrival struct {
	inbox  string
	number uint64
}

func (a *arrivals) addNumber(inbox string, number uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inboxes[inbox] = append(a.inboxes[inbox], number)
}

// removeNumber removes the number of mail that is deleted.
func (a *arrivals) removeNumber(inbox string, number uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	numbers := a.inboxes[inbox]
	i, found := slices.BinarySearch(numbers, number)
	switch {
	case !found:
	case len(numbers) == 1:
		delete(a.inboxes, inbox)
	case i == 0: // the usual case, and a list may be long
		a.inboxes[inbox] = numbers[1:]
	default:
		a.inboxes[inbox] = slices.Delete(numbers, i, i+1)
	}
}

// removeThrough removes all numbers up to last: that mail was moved.
func (a *arrivals) removeThrough(last uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for inbox, numbers := range a.inboxes {
		i, _ := slices.BinarySearch(numbers, last+1)
		if i == len(numbers) {
			delete(a.inboxes, inbox)
		} else if i > 0 {
			a.inboxes[inbox] = slices.Clone(numbers[i:])
		}
	}
}

// replaceAll replaces the numbers by those of b.
func (a *arrivals) replaceAll(b map[string][]uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inboxes = b
}

// numbersAfter returns a copy of the numbers of an inbox that are greater than after. A reader calls
// it before its transaction begins. Some of the numbers may not be in its transaction: their mail was
// moved or deleted since, or its transaction failed, and then the number may be that of another inbox.
func (a *arrivals) numbersAfter(inbox string, after uint64) []uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	numbers := a.inboxes[inbox]
	i, _ := slices.BinarySearch(numbers, after+1)
	return slices.Clone(numbers[i:])
}

// firstNumber returns the lowest number of an inbox, 0 for none.
func (a *arrivals) firstNumber(inbox string) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if numbers := a.inboxes[inbox]; len(numbers) > 0 {
		return numbers[0]
	}
	return 0
}

// sortAll returns all arrivals in the order of the keys of the bucket mail.
func (a *arrivals) sortAll() []arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []arrival
	for _, inbox := range slices.Sorted(maps.Keys(a.inboxes)) {
		for _, number := range a.inboxes[inbox] {
			all = append(all, arrival{inbox, number})
		}
	}
	return all
}

// appendFill is how full the pages of a bucket become whose entries come in the order of their keys.
const appendFill = 1

// putArrived stores new mail.
func (q *Queue) putArrived(tx *bolt.Tx, inbox string, number uint64, raw []byte) error {
	arrived := tx.Bucket(arrivedBucket)
	arrived.FillPercent = appendFill
	value := append(append(make([]byte, 0, len(inbox)+1+len(raw)), inbox...), 0)
	if err := arrived.Put(numberKey(number), append(value, raw...)); err != nil {
		return err
	}
	q.arrivals.addNumber(inbox, number)
	return nil
}

// readArrived returns the numbers in the bucket arrived, by inbox, and the size of their mail.
func readArrived(tx *bolt.Tx) (inboxes map[string][]uint64, size int, err error) {
	inboxes = map[string][]uint64{}
	err = tx.Bucket(arrivedBucket).ForEach(func(key, value []byte) error {
		end := bytes.IndexByte(value, 0)
		if len(key) != 8 || end < 0 {
			return store.Corruptf("an entry of the bucket arrived has %d bytes", len(value))
		}
		inbox := string(value[:end])
		inboxes[inbox] = append(inboxes[inbox], lastNumber(key))
		size += len(value)
		return nil
	})
	for _, numbers := range inboxes {
		slices.Sort(numbers) // those of a damaged file may not be
	}
	return inboxes, size, err
}

// getArrived returns the record of mail in the bucket arrived, nil if there is none of this inbox.
func getArrived(tx *bolt.Tx, inbox string, number uint64) []byte {
	value := tx.Bucket(arrivedBucket).Get(numberKey(number))
	if len(value) <= len(inbox) || value[len(inbox)] != 0 || string(value[:len(inbox)]) != inbox {
		return nil
	}
	return value[len(inbox)+1:]
}

// getMail returns the record of mail, nil if there is none.
func getMail(tx *bolt.Tx, inbox string, number uint64) []byte {
	if raw := tx.Bucket(mailBucket).Get(mailKey(inbox, number)); raw != nil {
		return raw
	}
	return getArrived(tx, inbox, number)
}

// removeMail deletes the record of mail.
func (q *Queue) removeMail(tx *bolt.Tx, inbox string, number uint64) error {
	if getArrived(tx, inbox, number) != nil {
		if err := tx.Bucket(arrivedBucket).Delete(numberKey(number)); err != nil {
			return err
		}
	}
	q.arrivals.removeNumber(inbox, number)
	delete(q.shares, inbox)
	q.recent.changed = true
	return tx.Bucket(mailBucket).Delete(mailKey(inbox, number))
}

// eachMail calls each with the records of an inbox whose numbers are greater than after, in their
// order, until it returns false or an error. arrived are the numbers of [arrivals.numbersAfter].
func eachMail(tx *bolt.Tx, inbox string, after uint64, arrived []uint64, each func(number uint64, raw []byte) (more bool, err error)) error {
	if after == ^uint64(0) {
		return nil
	}
	prefix := inboxPrefix(inbox)
	c := tx.Bucket(mailBucket).Cursor()
	for key, raw := c.Seek(mailKey(inbox, after+1)); isMailOf(key, prefix); key, raw = c.Next() {
		after = lastNumber(key)
		if more, err := each(after, raw); err != nil || !more {
			return err
		}
	}
	for _, number := range arrived {
		if number <= after { // moved
			continue
		}
		raw := getArrived(tx, inbox, number)
		if raw == nil {
			continue
		}
		if more, err := each(number, raw); err != nil || !more {
			return err
		}
	}
	return nil
}

// firstMail returns the number and the record of the first mail of an inbox, nil for none. A request
// of the file calls it.
func (q *Queue) firstMail(tx *bolt.Tx, inbox string) (number uint64, raw []byte) {
	prefix := inboxPrefix(inbox)
	if key, raw := tx.Bucket(mailBucket).Cursor().Seek(prefix); isMailOf(key, prefix) {
		return lastNumber(key), raw
	}
	for {
		number := q.arrivals.firstNumber(inbox)
		if raw := getArrived(tx, inbox, number); raw != nil || number == 0 {
			return number, raw
		}
		q.arrivals.removeNumber(inbox, number) // the file is damaged there
	}
}

// moveMail moves arrived mail to the bucket mail. It stays in the bucket arrived until the merge ends.
func moveMail(tx *bolt.Tx, moving []arrival) error {
	mail := tx.Bucket(mailBucket)
	for _, a := range moving {
		raw := getArrived(tx, a.inbox, a.number)
		if raw == nil { // deleted since
			continue
		}
		if err := mail.Put(mailKey(a.inbox, a.number), bytes.Clone(raw)); err != nil {
			return err
		}
	}
	return nil
}

// numberKey is the key of an envelope in the buckets recent and arrived.
func numberKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number&^entryGone) }
