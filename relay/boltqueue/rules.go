package boltqueue

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"

	bolt "go.etcd.io/bbolt"

	"gazetteer/relay"
	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// Rules returns the rules of an inbox: see relay.Queue.
func (q *Queue) Rules(_ context.Context, inbox string) (relay.Rules, error) {
	var rules relay.Rules
	if err := checkName("the inbox", inbox, maxInbox); err != nil {
		return rules, err
	}
	err := q.file.View("read the rules of an inbox", func(tx *bolt.Tx) error {
		raw := tx.Bucket(rulesBucket).Get([]byte(inbox))
		if raw == nil {
			return q.rulesDamage // the rules may exist and not be found, so access is refused
		}
		var err error
		rules, err = decodeRules(inbox, raw)
		return err
	})
	return rules, err
}

// sumLength is the length of the checksum behind rules: a space and eight hexadecimal digits.
const sumLength = 9

// encodeRules writes the rules of an inbox as JSON with a checksum behind it, which covers the name
// of the inbox too, so that a damaged page never lets somebody in.
func encodeRules(inbox string, rules relay.Rules) ([]byte, error) {
	text, err := json.Marshal(rules)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(text, " %08x", sumRecord(inbox, text)), nil
}

// sumRecord computes the checksum of a record of an inbox.
func sumRecord(inbox string, text []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(inbox), castagnoli), castagnoli, text)
}

// decodeRules reads rules. Those of an earlier version end without a checksum.
func decodeRules(inbox string, raw []byte) (rules relay.Rules, err error) {
	text := raw
	if at := len(raw) - sumLength; at > 0 && !bytes.HasSuffix(raw, []byte("}")) {
		text = raw[:at]
		if string(raw[at:]) != fmt.Sprintf(" %08x", sumRecord(inbox, text)) {
			return rules, store.Corruptf("the rules of an inbox do not match their checksum")
		}
	}
	if err := json.Unmarshal(text, &rules); err != nil {
		return rules, store.Corruptf("the rules of an inbox: %v", err)
	}
	return rules, nil
}

// SetRules replaces the rules of an inbox: see relay.Queue.
func (q *Queue) SetRules(ctx context.Context, inbox string, rules relay.Rules) error {
	if err := checkName("the inbox", inbox, maxInbox); err != nil {
		return err
	}
	raw, err := encodeRules(inbox, rules)
	if err != nil {
		return fmt.Errorf("write the rules of an inbox: %w", err)
	}
	_, err = q.file.Write(ctx, boltfile.Request{Writes: 1, Bytes: len(raw), Write: func(tx *boltfile.Tx) (refused, err error) {
		if old := tx.Bucket(rulesBucket).Get([]byte(inbox)); old != nil {
			if before, err := decodeRules(inbox, old); err == nil && !rules.Signed.After(before.Signed) {
				return relay.ErrOldRules, nil
			}
		}
		tx.MarkChanged()
		if _, err := q.nextNumber(tx); err != nil { // so that an older copy without these rules is noticed
			return nil, err
		}
		if tx.Bucket(rulesBucket).Get([]byte(inbox)) == nil {
			if err := countRules(tx.Tx, 1); err != nil {
				return nil, err
			}
		}
		return nil, tx.Bucket(rulesBucket).Put([]byte(inbox), raw)
	}})
	return err
}

// findRulesDamage reads all rules. An entry out of order hides others from a search, so the first
// one that is damaged says that a missing entry proves nothing.
func findRulesDamage(tx *bolt.Tx) error {
	before, found := "", uint64(0)
	return boltfile.CatchDamage("read the rules of all inboxes", func() error {
		err := tx.Bucket(rulesBucket).ForEach(func(key, raw []byte) error {
			inbox := string(key)
			if inbox <= before {
				return store.Corruptf("the rules of inboxes are not in their order at %q", inbox)
			}
			before = inbox
			found++
			_, err := decodeRules(inbox, raw)
			return err
		})
		if err != nil {
			return err
		}
		if count := tx.Bucket(stateBucket).Get(rulesCountKey); len(count) == 8 && binary.BigEndian.Uint64(count) != found {
			return store.Corruptf("there are the rules of %d inboxes, and %d were set", found, binary.BigEndian.Uint64(count))
		}
		return nil
	})
}

// rulesCountKey is where the bucket state has the number of inboxes with rules.
var rulesCountKey = []byte("rules")

// countRules adds to the number of inboxes with rules, before the rules themselves change. A queue
// of an earlier version has no number yet.
func countRules(tx *bolt.Tx, more int64) error {
	state := tx.Bucket(stateBucket)
	count := uint64(0)
	if raw := state.Get(rulesCountKey); len(raw) == 8 {
		count = binary.BigEndian.Uint64(raw)
	} else if err := tx.Bucket(rulesBucket).ForEach(func(_, _ []byte) error { count++; return nil }); err != nil {
		return err
	}
	return state.Put(rulesCountKey, binary.BigEndian.AppendUint64(nil, count+uint64(more)))
}

// dropRules deletes the rules of an inbox that is wiped.
func (q *Queue) dropRules(ctx context.Context, inbox string) error {
	_, err := q.file.Write(ctx, boltfile.Request{Writes: 1, Frees: true, Write: func(tx *boltfile.Tx) (refused, err error) {
		rules := tx.Bucket(rulesBucket)
		if rules.Get([]byte(inbox)) == nil {
			return nil, nil
		}
		tx.MarkChanged()
		if err := countRules(tx.Tx, -1); err != nil {
			return nil, err
		}
		return nil, rules.Delete([]byte(inbox))
	}})
	return err
}
