package boltqueue

import (
	"context"
	"encoding/json"
	"fmt"

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
		if err := json.Unmarshal(raw, &rules); err != nil {
			return corruptf("the rules of an inbox: %v", err)
		}
		return nil
	})
	return rules, err
}

// SetRules replaces the rules of an inbox: see relay.Queue.
func (q *Queue) SetRules(ctx context.Context, inbox string, rules relay.Rules) error {
	if err := checkName("the inbox", inbox, maxInbox); err != nil {
		return err
	}
	raw, err := json.Marshal(rules)
	if err != nil {
		return fmt.Errorf("write the rules of an inbox: %w", err)
	}
	_, err = q.file.Write(ctx, boltfile.Request{Writes: 1, Bytes: len(raw), Write: func(tx *boltfile.Tx) (refused, err error) {
		var before relay.Rules
		if old := tx.Bucket(rulesBucket).Get([]byte(inbox)); old != nil && json.Unmarshal(old, &before) == nil && !rules.Signed.After(before.Signed) {
			return relay.ErrOldRules, nil
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
