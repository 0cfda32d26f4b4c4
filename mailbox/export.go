package mailbox

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"gazetteer/protocol/a2a"
)

// exportFormat is the first member of an export: JSON lines, of which the first is an exportHeader and
// each other one an exportLine.
const exportFormat = "gazetteer-mailbox-1"

type exportHeader struct {
	Format   string    `json:"format"`
	Owner    string    `json:"owner"`
	Exported time.Time `json:"exported"`
	Messages int       `json:"messages"`
}

// exportLine is a message. The envelope is a string, so that it stays as it was signed, byte for byte.
type exportLine struct {
	Message
	Envelope string          `json:"envelope,omitempty"`
	Content  json.RawMessage `json:"content,omitempty"`
	Receipt  string          `json:"receipt,omitempty"`
}

// JSON returns the message as one line of an export.
func (m Message) JSON() ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(exportLine{Message: m, Envelope: string(m.Envelope), Content: m.Content, Receipt: string(m.Receipt)})
	return out.Bytes(), err
}

// ErrImport: the text to import is not an export of a mailbox, or is cut short.
var ErrImport = errors.New("this is no export of a mailbox, or it is cut short")

// Export writes all messages, the oldest first, as JSON lines. Keys are not among them.
func (m *Mailbox) Export(ctx context.Context, w io.Writer) (n int, err error) {
	messages, err := m.Messages(ctx, MessageFilter{})
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriter(w)
	if err := json.NewEncoder(out).Encode(exportHeader{exportFormat, m.owner, m.options.Now().UTC(), len(messages)}); err != nil {
		return 0, err
	}
	for _, message := range slices.Backward(messages) {
		line, err := message.JSON()
		if err == nil {
			_, err = out.Write(line)
		}
		if err != nil {
			return n, err
		}
		n++
	}
	return n, out.Flush()
}

// maxLine bounds a line of an export: an envelope, its body once more, and a receipt, each escaped.
const maxLine = 4 << 20

// importChunk is how many messages one transaction imports.
const importChunk = 200

// Import adds the messages of an export that are not in the mailbox yet, with their entries in the
// replay window and their threads. An export of another agent is refused with [ErrOwner], one that
// cannot be read with [ErrImport]: the messages before the line that is wrong stay imported, and
// importing again adds none twice. Signatures are not verified again: import what you exported.
func (m *Mailbox) Import(ctx context.Context, r io.Reader) (added int, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	var header exportHeader
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &header) != nil || header.Format != exportFormat {
		return 0, errors.Join(ErrImport, lines.Err())
	}
	if !isSameAgent(header.Owner, m.owner) {
		return 0, fmt.Errorf("%w: the export is that of %s", ErrOwner, header.Owner)
	}
	read := 0
	for {
		var chunk []Message
		for len(chunk) < importChunk && lines.Scan() {
			message, err := m.parseLine(lines.Bytes())
			if err != nil {
				return added, fmt.Errorf("%w: line %d: %w", ErrImport, read+2, err)
			}
			read++
			chunk = append(chunk, message)
		}
		if err := lines.Err(); err != nil {
			return added, fmt.Errorf("%w: line %d: %w", ErrImport, read+2, err)
		}
		if len(chunk) == 0 {
			break
		}
		n, err := m.importMessages(ctx, chunk)
		if added += n; err != nil {
			return added, err
		}
	}
	if read < header.Messages {
		return added, fmt.Errorf("%w: it has %d of %d messages", ErrImport, read, header.Messages)
	}
	return added, nil
}

// parseLine reads a message and takes from its envelope what the envelope says.
func (m *Mailbox) parseLine(text []byte) (Message, error) {
	var line exportLine
	if err := json.Unmarshal(text, &line); err != nil {
		return Message{}, err
	}
	message := line.Message
	message.Envelope, message.Content, message.Receipt = []byte(line.Envelope), line.Content, []byte(line.Receipt)
	if len(message.Content) > 0 {
		if _, err := a2a.ReadBody(message.Content); err != nil {
			return Message{}, fmt.Errorf("the content: %w", err)
		}
	}
	if len(message.Envelope) > 0 {
		e, err := a2a.Read(message.Envelope, a2a.Wire)
		if err != nil {
			return Message{}, fmt.Errorf("the envelope: %w", err)
		}
		message.ID, message.From, message.To, message.ThreadID, message.InReplyTo, message.Nonce = e.ID, e.From, e.To, e.ThreadID, e.InReplyTo, e.Nonce
	}
	own := message.From
	if !message.Sent {
		own = message.To
	}
	switch {
	case message.ID == "" || message.ThreadID == "" || len(message.ID) > 128 || len(message.ThreadID) > 128:
		return Message{}, errors.New("id or thread_id is missing or too long")
	case !isSameAgent(own, m.owner) && message.Refused == nil:
		return Message{}, fmt.Errorf("the message is neither from nor to %s", m.owner)
	case !message.Sent && len(message.Envelope) == 0:
		return Message{}, errors.New("the envelope is missing")
	}
	return message, nil
}

// importMessages adds messages that are not there, in one transaction, and computes their threads.
func (m *Mailbox) importMessages(ctx context.Context, messages []Message) (added int, err error) {
	err = m.update(ctx, func(tx writing) error {
		added = 0
		threads := map[string]bool{}
		for _, message := range messages {
			has, err := hasMessage(tx.reading(), message)
			if err != nil {
				return err
			}
			if has {
				continue
			}
			if err := m.importMessage(tx, message); err != nil {
				return err
			}
			threads[message.ThreadID] = true
			added++
		}
		if added == 0 {
			return &refusedWrite{}
		}
		for id := range threads {
			if err := replayThread(tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	return added, err
}

func (m *Mailbox) importMessage(tx writing, message Message) error {
	if !message.Sent && (message.Refused == nil || message.Refused.byThread()) {
		e, err := a2a.Read(message.Envelope, a2a.Wire)
		if err != nil {
			return err
		}
		keep := cmp.Or(m.options.KeepReplay, a2a.DefaultKeepReplay)
		if _, err := m.putSeen(tx, a2a.EntryOf(e, m.options.Now(), keep)); err != nil {
			return err
		}
	}
	info, err := readThread(tx.reading(), message.ThreadID)
	if err != nil {
		return err
	}
	info.Messages, info.Last = info.Messages+1, message.Stored
	if info.Peer == "" {
		info.Peer = message.Peer()
	}
	if err := writeThread(tx, info); err != nil {
		return err
	}
	return putMessage(tx, &message)
}

// hasMessage reports whether a message exists: a sent one by its id, a received one by its bytes.
func hasMessage(tx reading, message Message) (bool, error) {
	if !message.Sent {
		return hasEnvelope(tx, message.ID, sha256.Sum256(message.Envelope))
	}
	for _, n := range findNumbers(tx, message.ID) {
		stored, err := readMessage(tx, n)
		if err != nil {
			return false, err
		}
		if stored.Sent {
			return true, nil
		}
	}
	return false, nil
}
