package mailbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/protocol/a2a"
	"gazetteer/store/boltfile"
)

// A ThreadInfo is the state of a negotiation.
type ThreadInfo struct {
	ID       string     `json:"thread_id"`
	Thread   a2a.Thread `json:"thread"`
	Peer     string     `json:"peer"` // DID of the other party
	Messages int        `json:"messages"`
	Last     time.Time  `json:"last"` // when the newest message was stored
}

func readThread(tx reading, id string) (ThreadInfo, error) {
	sealed := tx.Bucket(statesBucket).Get([]byte(id))
	info := ThreadInfo{ID: id}
	if sealed == nil {
		return info, nil
	}
	raw, err := tx.cipher.decrypt(nil, sealed, statesBucket, []byte(id))
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(raw, &info); err != nil {
		return info, corruptf("the state of a thread: %v", err)
	}
	return info, nil
}

func writeThread(tx writing, info ThreadInfo) error {
	raw, err := json.Marshal(info)
	if err != nil {
		return err
	}
	key := []byte(info.ID)
	return tx.Bucket(statesBucket).Put(key, tx.cipher.encrypt(raw, statesBucket, key))
}

// applyMessage advances the thread of a message that is about to be stored, and notes in the message
// the state or the refusal that results.
func applyMessage(tx writing, m *Message) error {
	info, err := readThread(tx.reading(), m.ThreadID)
	if err != nil {
		return err
	}
	if refused := advance(&info, m); refused == nil || info.Peer == "" { // a stranger's message does not change whom the thread is with
		info.Peer = m.Peer()
	}
	info.Messages, info.Last = info.Messages+1, m.Stored
	return writeThread(tx, info)
}

// advance applies a message to a thread.
func advance(info *ThreadInfo, m *Message) *a2a.Refusal {
	m.State = ""
	after, err := info.Thread.Next(m.event())
	if refused, ok := errors.AsType[*a2a.Refusal](err); ok {
		m.Refused = &Refusal{refused.Rule, refused.Reason, refused.Detail}
		return refused
	}
	if m.Refused != nil && m.Refused.byThread() {
		m.Refused = nil
	}
	if after.State != info.Thread.State || after.Outstanding != info.Thread.Outstanding {
		m.State = after.State
	}
	info.Thread = after
	return nil
}

// replayThread computes a thread again from its messages, in the order in which they were stored: a
// message that counted no longer counts, because it was not delivered.
func replayThread(tx writing, id string) error {
	before, err := readThread(tx.reading(), id)
	if err != nil {
		return err
	}
	info := ThreadInfo{ID: id, Peer: before.Peer, Messages: before.Messages, Last: before.Last}
	messages, err := readThreadMessages(tx.reading(), id)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if m.Delivery == Failed || m.Refused != nil && !m.Refused.byThread() {
			m.State = ""
		} else {
			advance(&info, &m)
		}
		if err := putRecord(tx, m); err != nil {
			return err
		}
	}
	return writeThread(tx, info)
}

func readThreadMessages(tx reading, id string) ([]Message, error) {
	var out []Message
	prefix := append([]byte(id), 0)
	c := tx.Bucket(threadsBucket).Cursor()
	for key, _ := c.Seek(prefix); strings.HasPrefix(string(key), string(prefix)); key, _ = c.Next() {
		if name, n, ok := splitIndexKey(key); ok && name == id {
			m, err := readMessage(tx, n)
			if err != nil {
				return nil, err
			}
			out = append(out, m)
		}
	}
	return out, nil
}

func readMessage(tx reading, n uint64) (Message, error) {
	key := numberKey(n)
	sealed, err := boltfile.Find(tx.Bucket(mailBucket).Cursor(), key)
	if err != nil {
		return Message{}, err
	}
	if sealed == nil {
		return Message{}, fmt.Errorf("%w: message %d", ErrNotFound, n)
	}
	raw, err := tx.cipher.decrypt(nil, sealed, mailBucket, key)
	if err != nil {
		return Message{}, err
	}
	return decodeMessage(raw)
}

// putMessage stores a new message under the next number.
func putMessage(tx writing, m *Message) (err error) {
	if m.Number, err = nextNumber(tx); err != nil {
		return err
	}
	if err := tx.Bucket(idsBucket).Put(indexKey(m.ID, m.Number), nil); err != nil {
		return err
	}
	if err := tx.Bucket(threadsBucket).Put(indexKey(m.ThreadID, m.Number), nil); err != nil {
		return err
	}
	return putRecord(tx, *m)
}

// putRecord writes a message under its number.
func putRecord(tx writing, m Message) error {
	raw, err := encodeMessage(m)
	if err != nil {
		return err
	}
	key := numberKey(m.Number)
	return tx.Bucket(mailBucket).Put(key, tx.cipher.encrypt(raw, mailBucket, key))
}

// Thread returns a negotiation with all its messages. The id may be the beginning of one. The error
// matches [ErrNotFound] or [ErrAmbiguous].
func (m *Mailbox) Thread(ctx context.Context, id string) (info ThreadInfo, messages []Message, err error) {
	err = m.view(ctx, func(tx reading) error {
		id, err := findName(tx.Bucket(threadsBucket), id, "thread")
		if err != nil {
			return err
		}
		if info, err = readThread(tx, id); err != nil {
			return err
		}
		messages, err = readThreadMessages(tx, id)
		return err
	})
	return info, messages, err
}

// Threads returns all negotiations, the one with the newest message first.
func (m *Mailbox) Threads(ctx context.Context) (out []ThreadInfo, err error) {
	out = []ThreadInfo{} // "[]" in JSON
	err = m.view(ctx, func(tx reading) error {
		return tx.Bucket(statesBucket).ForEach(func(id, _ []byte) error {
			info, err := readThread(tx, string(id))
			out = append(out, info)
			return err
		})
	})
	slices.SortStableFunc(out, func(a, b ThreadInfo) int { return b.Last.Compare(a.Last) })
	return out, err
}

// findName returns the name in a bucket of index keys that is prefix, or the only one that begins
// with it.
func findName(b *bolt.Bucket, prefix, noun string) (string, error) {
	found := ""
	c := b.Cursor()
	for key, _ := c.Seek([]byte(prefix)); key != nil && prefix != "" && strings.HasPrefix(string(key), prefix); key, _ = c.Next() {
		name, _, ok := splitIndexKey(key)
		switch {
		case !ok || len(name) < len(prefix):
		case name == prefix:
			return name, nil
		case found != "" && found != name:
			return "", fmt.Errorf("%s %.100q: %w: %.100q and %.100q", noun, prefix, ErrAmbiguous, found, name)
		default:
			found = name
		}
	}
	if found == "" {
		return "", fmt.Errorf("%s %.100q: %w", noun, prefix, ErrNotFound)
	}
	return found, nil
}
