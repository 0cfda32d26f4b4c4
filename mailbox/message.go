package mailbox

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"strings"

	"gazetteer/protocol/a2a"
)

// A MessageFilter says which messages [Mailbox.Messages] returns. The zero MessageFilter selects all.
type MessageFilter struct {
	Unread bool   // only received ones that were not read
	Peer   string // only those from or to this DID, or one with this AIR ID
	Thread string // only those of this thread
	Limit  int    // at most so many, the newest; 0 for all
}

func (s MessageFilter) matches(m Message) bool {
	return (!s.Unread || !m.Sent && !m.Read) && (s.Peer == "" || isSameAgent(m.Peer(), s.Peer) || strings.HasSuffix(m.Peer(), ":"+s.Peer)) && (s.Thread == "" || m.ThreadID == s.Thread)
}

// Messages returns messages, the newest first.
func (m *Mailbox) Messages(ctx context.Context, s MessageFilter) (out []Message, err error) {
	err = m.scan(ctx, nil, func(message Message) bool {
		if s.matches(message) {
			out = append(out, message)
		}
		return s.Limit == 0 || len(out) < s.Limit
	})
	return out, err
}

// scan calls each for every message whose search text holds all words, the newest first, until it
// returns false.
func (m *Mailbox) scan(ctx context.Context, words []string, each func(Message) bool) error {
	return m.view(ctx, func(tx reading) error {
		c := tx.Bucket(mailBucket).Cursor()
		var plain []byte
		for key, sealed := c.Last(); key != nil && ctx.Err() == nil; key, sealed = c.Prev() {
			var err error
			if plain, err = tx.cipher.decrypt(plain[:0], sealed, mailBucket, key); err != nil {
				return err
			}
			parts, err := splitRecord(plain)
			if err != nil {
				return err
			}
			if len(words) > 0 && !containsAll(string(parts[searchPart]), words) {
				continue
			}
			message, err := decodeParts(parts)
			if err != nil {
				return err
			}
			if !each(message) {
				return nil
			}
		}
		return ctx.Err()
	})
}

// findNumbers returns the numbers of the messages with an id: senders choose ids, so there may be
// several.
func findNumbers(tx reading, id string) (out []uint64) {
	prefix := append([]byte(id), 0)
	c := tx.Bucket(idsBucket).Cursor()
	for key, _ := c.Seek(prefix); strings.HasPrefix(string(key), string(prefix)); key, _ = c.Next() {
		if name, n, ok := splitIndexKey(key); ok && name == id {
			out = append(out, n)
		}
	}
	return out
}

// Message returns the newest message with an id, or with an id that begins so. The error matches
// [ErrNotFound] or [ErrAmbiguous].
func (m *Mailbox) Message(ctx context.Context, id string) (out Message, err error) {
	err = m.view(ctx, func(tx reading) error {
		id, err := findName(tx.Bucket(idsBucket), id, "message")
		if err != nil {
			return err
		}
		numbers := findNumbers(tx, id)
		out, err = readMessage(tx, numbers[len(numbers)-1])
		return err
	})
	return out, err
}

// MarkRead notes that messages were read, and the names of their senders.
func (m *Mailbox) MarkRead(ctx context.Context, messages ...Message) error {
	names := map[uint64]string{}
	for _, message := range messages {
		names[message.Number] = message.SenderName
	}
	return m.change(ctx, messages, func(message *Message) bool {
		name := cmp.Or(names[message.Number], message.SenderName)
		changed := !message.Read || name != message.SenderName
		message.Read, message.SenderName = true, name
		return changed
	})
}

// Names returns the newest names of the senders of messages, by DID.
func (m *Mailbox) Names(ctx context.Context) (map[string]string, error) {
	names := map[string]string{}
	err := m.scan(ctx, nil, func(message Message) bool {
		if _, newer := names[message.From]; !newer && message.SenderName != "" {
			names[message.From] = message.SenderName
		}
		return true
	})
	return names, err
}

// keepContent stores the body of a sealed message that could not be opened on arrival, because its
// key was missing. The message then counts, and its thread is computed again.
func (m *Mailbox) keepContent(ctx context.Context, message Message, content []byte) error {
	return m.update(ctx, func(tx writing) error {
		stored, err := readMessage(tx.reading(), message.Number)
		if err != nil {
			return &refusedWrite{err}
		}
		if len(stored.Content) > 0 {
			return &refusedWrite{}
		}
		stored.Content = content
		if stored.Refused != nil && (stored.Refused.Rule == a2a.RuleOpen || stored.Refused.Rule == a2a.RuleStaleKey) {
			stored.Refused = nil
		}
		if err := putRecord(tx, stored); err != nil {
			return err
		}
		if err := skipNumber(tx); err != nil {
			return err
		}
		return replayThread(tx, stored.ThreadID)
	})
}

// change changes stored messages in one transaction.
func (m *Mailbox) change(ctx context.Context, messages []Message, change func(*Message) bool) error {
	if len(messages) == 0 {
		return nil
	}
	return m.update(ctx, func(tx writing) error {
		changed := false
		for _, message := range messages {
			stored, err := readMessage(tx.reading(), message.Number)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if !change(&stored) {
				continue
			}
			changed = true
			if err := putRecord(tx, stored); err != nil {
				return err
			}
		}
		if !changed {
			return &refusedWrite{}
		}
		return skipNumber(tx)
	})
}

// Count returns how many messages there are.
func (m *Mailbox) Count(ctx context.Context) (n int, err error) {
	err = m.view(ctx, func(tx reading) error {
		c := tx.Bucket(mailBucket).Cursor()
		for key, _ := c.First(); len(key) == binary.Size(uint64(0)); key, _ = c.Next() {
			n++
		}
		return nil
	})
	return n, err
}
