package boltqueue

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"

	bolt "go.etcd.io/bbolt"

	"gazetteer/relay"
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
			return nil
		}
		var err error
		rules, err = decodeRules(raw)
		return err
	})
	return rules, err
}

// sumLength is the length of the checksum behind rules: a space and eight hexadecimal digits.
const sumLength = 9

// encodeRules writes rules as JSON with a checksum behind it, so that a damaged page never lets somebody
// in.
func encodeRules(rules relay.Rules) ([]byte, error) {
	text, err := json.Marshal(rules)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(text, " %08x", crc32.Checksum(text, castagnoli)), nil
}

// decodeRules reads rules. Those of an earlier version end without a checksum.
func decodeRules(raw []byte) (rules relay.Rules, err error) {
	text := raw
	if at := len(raw) - sumLength; at > 0 && !bytes.HasSuffix(raw, []byte("}")) {
		text = raw[:at]
		if string(raw[at:]) != fmt.Sprintf(" %08x", crc32.Checksum(text, castagnoli)) {
			return rules, corruptf("the rules of an inbox do not match their checksum")
		}
	}
	if err := json.Unmarshal(text, &rules); err != nil {
		return rules, corruptf("the rules of an inbox: %v", err)
	}
	return rules, nil
}

// SetRules replaces the rules of an inbox: see relay.Queue.
func (q *Queue) SetRules(ctx context.Context, inbox string, rules relay.Rules) error {
	if err := checkName("the inbox", inbox, maxInbox); err != nil {
		return err
	}
	raw, err := encodeRules(rules)
	if err != nil {
		return fmt.Errorf("write the rules of an inbox: %w", err)
	}
	_, err = q.file.Write(ctx, boltfile.Request{Writes: 1, Bytes: len(raw), Write: func(tx *boltfile.Tx) (refused, err error) {
		if old := tx.Bucket(rulesBucket).Get([]byte(inbox)); old != nil {
			if before, err := decodeRules(old); err == nil && !rules.Signed.After(before.Signed) {
				return relay.ErrOldRules, nil
			}
		}
		tx.MarkChanged()
		return nil, tx.Bucket(rulesBucket).Put([]byte(inbox), raw)
	}})
	return err
}

// dropRules deletes the rules of an inbox that is wiped.
func (q *Queue) dropRules(ctx context.Context, inbox string) error {
	_, err := q.file.Write(ctx, boltfile.Request{Writes: 1, Frees: true, Write: func(tx *boltfile.Tx) (refused, err error) {
		rules := tx.Bucket(rulesBucket)
		if rules.Get([]byte(inbox)) == nil {
			return nil, nil
		}
		tx.MarkChanged()
		return nil, rules.Delete([]byte(inbox))
	}})
	return err
}
