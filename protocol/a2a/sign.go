package a2a

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/protocol/jcs"
)

// A Message is the content of an envelope before it is signed. [Sign] fills in an empty ID,
// ThreadID and Nonce, and a zero Timestamp.
type Message struct {
	ID        string // a UUID of version 4
	From      string // the sender's DID
	To        string // the recipient's DID
	Timestamp time.Time
	InReplyTo string // the id of the envelope that this one answers; "" in the first of a thread
	ThreadID  string // a UUID of version 4; "" begins a thread
	Nonce     string // unique for the sender and the thread
	Body      Body
}

// NewID returns a UUID of version 4, for an envelope or a thread.
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// NewNonce returns 128 random bits in base64url.
func NewNonce() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Reply returns a message to the sender of an envelope, in its thread.
func (e *Envelope) Reply(body Body) Message {
	return Message{From: e.To, To: e.From, InReplyTo: e.ID, ThreadID: e.ThreadID, Body: body}
}

// fillMissing fills in the members that the sender left empty.
func (m *Message) fillMissing() {
	if m.ID == "" {
		m.ID = NewID()
	}
	if m.ThreadID == "" {
		m.ThreadID = NewID()
	}
	if m.Nonce == "" {
		m.Nonce = NewNonce()
	}
	if m.Timestamp.IsZero() {
		m.Timestamp = time.Now()
	}
}

// appendJSON appends the envelope without a signature.
func (m Message) appendJSON(out []byte) []byte {
	out = append(out, `{"body":`...)
	out = append(m.Body.appendJSON(out), ',')
	out = append(appendText(out, "from", m.From), ',')
	out = append(appendText(out, "id", m.ID), ',')
	if m.InReplyTo != "" {
		out = append(appendText(out, "in_reply_to", m.InReplyTo), ',')
	}
	out = append(appendText(out, "nonce", m.Nonce), ',')
	out = append(appendText(out, "thread_id", m.ThreadID), ',')
	out = append(appendText(out, "timestamp", m.Timestamp.UTC().Format(timeFormat)), ',')
	return append(appendText(out, "to", m.To), '}')
}

// Sign writes and signs a message (§5.3). The text of the returned envelope is canonical JSON
// including the signature. Sign first checks the message against the profile, and with [CheckReply];
// the error is a [*Refusal].
func Sign(m Message, p Profile, key ed25519.PrivateKey) (*Envelope, error) {
	if m.Body == nil {
		return nil, newRefusal("required", "body is missing")
	}
	m.fillMissing()
	return SignText(m.appendJSON(nil), p, key)
}

// SignText signs an envelope given as JSON and replaces an existing signature. It makes the checks of
// [Sign]; the error is a [*Refusal].
func SignText(text []byte, p Profile, key ed25519.PrivateKey) (*Envelope, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("sign an envelope: an Ed25519 private key has %d bytes (got %d)", ed25519.PrivateKeySize, len(key))
	}
	e, err := Read(text, p)
	if err != nil {
		return nil, err
	}
	if err := CheckReply(e.Body.Type(), e.InReplyTo); err != nil {
		return nil, err
	}
	signature := did.FormatSignature(ed25519.Sign(key, e.canonical))
	signed := e.document.Root().AppendWith(nil, "signature", jcs.AppendString(nil, signature))
	return Read(signed, p)
}
