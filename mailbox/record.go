package mailbox

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"time"

	"gazetteer/protocol/a2a"
)

// A Delivery is what became of a message that the agent sent.
type Delivery string

const (
	// Sending: it is under way, or the program ended meanwhile: whether it arrived is not known.
	Sending Delivery = "sending"
	// Delivered: the recipient's inbox took it.
	Delivered Delivery = "delivered"
	// Failed: the recipient's inbox refused it, or could not be reached. It counts for nothing.
	Failed Delivery = "failed"
)

// A Refusal says why a message that was received counts for nothing.
type Refusal struct {
	Rule   string `json:"rule"`   // a code of a2a.Rules
	Reason string `json:"reason"` // the draft's words, such as "Stale Timestamp"
	Detail string `json:"detail"`
}

// byThread says that the rules of threads refused the message: it is judged again when the thread
// changes because a message of the owner was not delivered.
func (r *Refusal) byThread() bool {
	switch r.Rule {
	case a2a.RuleThread, a2a.RuleThreadClosed, a2a.RuleThreadBody:
		return true
	}
	return false
}

// A Message is one that the agent received or sent.
type Message struct {
	Number    uint64    `json:"number"` // in the order in which they were stored
	Sent      bool      `json:"sent,omitempty"`
	ID        string    `json:"id"`
	From      string    `json:"from"`
	To        string    `json:"to"`
	ThreadID  string    `json:"thread_id"`
	InReplyTo string    `json:"in_reply_to,omitempty"`
	Nonce     string    `json:"nonce"`
	Timestamp time.Time `json:"timestamp"` // the sender's
	Stored    time.Time `json:"stored"`
	Sealed    bool      `json:"sealed,omitempty"`
	// Received is when the relay took a message in, by its receipt; zero without one.
	Received time.Time `json:"received,omitzero"`
	// Relay is the DID of the relay that signed the receipt.
	Relay string `json:"relay,omitempty"`
	// Refused says why a message that was received counts for nothing, nil when it counts.
	Refused *Refusal `json:"refused,omitempty"`
	// Delivery, Inbox and Problem are of a message that was sent: what became of it, where it went,
	// and why it failed.
	Delivery Delivery `json:"delivery,omitempty"`
	Inbox    string   `json:"inbox,omitempty"`
	Problem  string   `json:"problem,omitempty"`
	// State is that of the thread after the message, "" when the message did not change it.
	State a2a.State `json:"state,omitempty"`
	Read  bool      `json:"read,omitempty"`
	// SenderName is the handle and the name that a registry had for the sender when the message was read,
	// see [Mailbox.MarkRead]; "" if it had none. Its owner may have changed it since.
	SenderName string `json:"sender_name,omitempty"`

	// Envelope is the signed text, byte for byte; empty for a message that was never signed.
	Envelope []byte `json:"-"`
	// Content is the body as JSON, opened when it was sealed; empty when it does not open.
	Content []byte `json:"-"`
	// Receipt is the relay's, as it came; empty without one.
	Receipt []byte `json:"-"`
}

// Body returns the body, that of a sealed message as it was opened. A sealed body that did not open
// is an [a2a.Sealed].
func (m Message) Body() a2a.Body {
	if len(m.Content) > 0 {
		if body, err := a2a.ReadBody(m.Content); err == nil {
			return body
		}
	}
	if e, err := a2a.Read(m.Envelope, a2a.Wire); err == nil {
		return e.Body
	}
	return a2a.Other{}
}

// Peer returns the DID of the other party.
func (m Message) Peer() string {
	if m.Sent {
		return m.To
	}
	return m.From
}

// event returns what the message tells its thread.
func (m Message) event() a2a.Event {
	return a2a.Event{ID: m.ID, From: m.From, To: m.To, InReplyTo: m.InReplyTo, Body: m.Body()}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The parts of a record.
const (
	headerPart = iota
	envelopePart
	contentPart
	receiptPart
	searchPart
	partCount
)

// encodeMessage writes a message: header, envelope, content, receipt and the folded text that is
// searched, each after its length.
func encodeMessage(m Message) ([]byte, error) {
	header, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	text := []byte(searchText(m))
	out := make([]byte, 0, len(header)+len(m.Envelope)+len(m.Content)+len(m.Receipt)+len(text)+20)
	for _, part := range [partCount][]byte{header, m.Envelope, m.Content, m.Receipt, text} {
		out = append(binary.AppendUvarint(out, uint64(len(part))), part...)
	}
	return out, nil
}

// decodeMessage reads what encodeMessage writes. The message shares no memory with raw.
func decodeMessage(raw []byte) (Message, error) {
	parts, err := splitRecord(raw)
	if err != nil {
		return Message{}, err
	}
	return decodeParts(parts)
}

func decodeParts(parts [partCount][]byte) (Message, error) {
	var m Message
	if err := json.Unmarshal(parts[headerPart], &m); err != nil {
		return Message{}, corruptf("the header of a message: %v", err)
	}
	m.Envelope, m.Content, m.Receipt = clone(parts[envelopePart]), clone(parts[contentPart]), clone(parts[receiptPart])
	return m, nil
}

// clone copies bytes of the file; nothing is nil.
func clone(b []byte) []byte { return append([]byte(nil), b...) }

// splitRecord returns the parts of a record that was decrypted, which are its memory.
func splitRecord(rest []byte) (parts [partCount][]byte, err error) {
	for i := range parts {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > uint64(len(rest)-size) {
			return parts, corruptf("a message is cut short")
		}
		parts[i], rest = rest[size:size+int(n)], rest[size+int(n):]
	}
	return parts, nil
}

// firstLayoutSum is the length of the checksum before a message of the first layout.
const firstLayoutSum = 4

// checkFirstLayout checks the checksum of a message of the first layout.
func checkFirstLayout(raw []byte) error {
	if len(raw) < firstLayoutSum || binary.BigEndian.Uint32(raw) != crc32.Checksum(raw[firstLayoutSum:], castagnoli) {
		return corruptf("a message does not have its checksum")
	}
	return nil
}
