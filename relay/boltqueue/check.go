package boltqueue

import (
	"context"
	"fmt"
	"strings"

	bolt "go.etcd.io/bbolt"

	"gazetteer/relay"
	"gazetteer/store/boltfile"
)

// Check reads all envelopes with their checksums, compares the counts of each inbox and the ids
// with them, and reads all rules. It passes each problem to report; the error says that the queue
// could not be read.
func (q *Queue) Check(ctx context.Context, report func(problem string)) (mail int, err error) {
	_, err = q.file.Write(ctx, boltfile.Request{Frees: true, Write: func(tx *boltfile.Tx) (refused, err error) {
		return nil, boltfile.CatchDamage("check the queue", func() error {
			if err := q.reloadRecent(tx.Tx); err != nil {
				return err
			}
			mail, err = q.checkMail(ctx, tx.Tx, report)
			if err != nil {
				return err
			}
			if err := findRulesDamage(tx.Tx); err != nil {
				report(err.Error())
			}
			return tx.Bucket(deliveredBucket).ForEach(func(inbox, raw []byte) error {
				if _, err := decodeDeliveries(string(inbox), raw); err != nil {
					report(fmt.Sprintf("the inbox %q: %v", inbox, err))
				}
				return nil
			})
		})
	}})
	return mail, err
}

// checkMail compares the envelopes with the data that is derived from them.
func (q *Queue) checkMail(ctx context.Context, tx *bolt.Tx, report func(string)) (mail int, err error) {
	tallies := map[string]*tally{}
	checkRecord := func(inbox string, number uint64, raw []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if tallies[inbox] == nil {
			tallies[inbox] = &tally{}
		}
		m, err := decodeMail(number, raw)
		if err != nil {
			report(fmt.Sprintf("the inbox %q: %v", inbox, err))
			tallies[inbox].mail++
			return nil
		}
		mail++
		tallies[inbox].countMail(relay.Incoming{Received: m.Received, Expires: m.Expires, Text: m.Text})
		if numbers := q.numbersOf(tx, nameOf(inbox, m.ID)); len(numbers) != 1 || numbers[0] != number {
			report(fmt.Sprintf("the inbox %q: envelope %d cannot be acknowledged by its id", inbox, number))
		}
		return nil
	}
	if err := eachRecord(tx, report, checkRecord); err != nil {
		return mail, err
	}
	err = tx.Bucket(inboxBucket).ForEach(func(inbox, v []byte) error {
		want := 0
		if t := tallies[string(inbox)]; t != nil {
			want = t.mail
		}
		if have := decodeTally(v); have.mail != want {
			report(fmt.Sprintf("the inbox %q counts %d envelopes and has %d", inbox, have.mail, want))
		}
		delete(tallies, string(inbox))
		return nil
	})
	for inbox, t := range tallies {
		report(fmt.Sprintf("the inbox %q counts no envelopes and has %d", inbox, t.mail))
	}
	return mail, err
}

// eachRecord calls each with all mail, and report with keys that no mail can have.
func eachRecord(tx *bolt.Tx, report func(string), each func(inbox string, number uint64, raw []byte) error) error {
	mail := tx.Bucket(mailBucket)
	err := mail.ForEach(func(key, raw []byte) error {
		if len(key) < 10 {
			report(fmt.Sprintf("an envelope has the impossible key %x", key))
			return nil
		}
		return each(string(key[:len(key)-9]), lastNumber(key), raw)
	})
	if err != nil {
		return err
	}
	return tx.Bucket(arrivedBucket).ForEach(func(key, value []byte) error {
		inbox, raw, found := strings.Cut(string(value), "\x00")
		number := lastNumber(key)
		switch {
		case len(key) != 8 || !found:
			report(fmt.Sprintf("an envelope has the impossible key %x", key))
			return nil
		case mail.Get(mailKey(inbox, number)) != nil: // a merge is under way
			return nil
		}
		return each(inbox, number, []byte(raw))
	})
}
