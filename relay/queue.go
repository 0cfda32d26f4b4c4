package relay

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"
)

// Errors of a [Queue]. Test with errors.Is. A Queue also returns the errors of package store:
// store.ErrFull, store.ErrUnknown, store.ErrCorrupt and store.ErrClosed.
var (
	// ErrRepeated: the sender has already sent this envelope to this inbox.
	ErrRepeated = errors.New("this envelope has already been received")
	// ErrTaken: the sender used the id, or the nonce in this thread, for another envelope.
	ErrTaken = errors.New("the id or nonce belongs to another envelope of this sender")
	// ErrShareUsed: much mail waits in the inbox, and the sender has its share of the rest.
	ErrShareUsed = errors.New("much of the mail in this inbox is from this sender, and the inbox is more than half full")
	// ErrRoomReserved: the rest of the inbox is for senders that its owner or the registry knows.
	ErrRoomReserved = errors.New("the rest of this inbox is for senders that its owner has written to, or that have a proved domain or an attestation")
	// ErrInboxFull: the inbox holds as much mail as it may.
	ErrInboxFull = errors.New("the inbox is full")
	// ErrWindowFull: the replay window has no room for another envelope of this sender.
	ErrWindowFull = errors.New("the replay window of this sender is full")
	// ErrOldRules: the rules of the inbox were signed later than these.
	ErrOldRules = errors.New("the rules of this inbox were replaced by newer ones")
)

// A ContactsError says that a sender has written to as many new inboxes as it may.
type ContactsError struct {
	Wait time.Duration // until it may write to others
}

// Error says so.
func (e *ContactsError) Error() string { return "this sender writes to too many new recipients" }

// Rules are what the owner of an inbox decided about it.
type Rules struct {
	// Allow and Block are DIDs, or hosts of DIDs. If Allow is not empty, only its entries may
	// write. Block takes precedence.
	Allow []string `json:"allow,omitempty"`
	Block []string `json:"block,omitempty"`
	// WakeURL gets an empty message when mail arrives; "" for none.
	WakeURL string `json:"wake_url,omitempty"`
	// Signed is when the owner signed the rules: older ones do not replace newer ones.
	Signed time.Time `json:"signed,omitzero"`
}

// Wakes are what a queue notes about wake-ups.
type Wakes struct {
	// Pending has the inboxes with mail for which they were not woken yet, and the number of the
	// newest.
	Pending map[string]uint64
	Hosts   map[string]WakeHost // those that fail, by name
}

// WakeHost is the state of a host of wake-up addresses.
type WakeHost struct {
	Failures int       // in a row
	Next     time.Time // it is not asked before
}

// Mail is one envelope that waits in an inbox.
type Mail struct {
	// Number orders the mail of a queue. It is greater than the number of everything accepted
	// before, also after a restore of an older copy, and below 2^53.
	Number   uint64
	Sender   string // DID
	ID       string // of the envelope
	Received time.Time
	Expires  time.Time
	Text     []byte // the envelope, byte for byte as it was received
	// To and Digest are what the relay's receipt says about the envelope; "" is the name of the inbox.
	// Both are empty if an older version of the queue stored the signed receipt instead.
	To      string
	Digest  [sha256.Size]byte // of what the sender signed
	Receipt []byte            // JSON, signed
}

// Incoming is an envelope to be stored.
type Incoming struct {
	Inbox              string // the canonical name of the inbox
	Sender, ID         string
	ThreadID, Nonce    string
	Digest             [sha256.Size]byte // of what the sender signed
	Received, Expires  time.Time
	Text               []byte
	To                 string // as the envelope names its recipient; "" for the name of the inbox
	MaxMail            int    // envelopes that may wait in the inbox
	MaxBytes           int64  // bytes that may wait in the inbox
	Wake               bool   // the inbox has a wake-up address: note that it is to be woken
	MaxSenderPerWindow int    // envelopes of the sender that the replay window may hold
	// ShareKey, unless nil, says that one sender leaves room for others in the second half of the inbox.
	// Senders with the same key count as one.
	ShareKey func(sender string) string
	// Known says that there is evidence about the sender: the last quarter of the inbox is for such
	// senders, and for those to which its owner has written.
	Known bool
	// SenderKey is the name of the sender under which its contacts are remembered: one for all spellings
	// of its DID. ContactKey is the name under which its first contacts count, which it may share with
	// other senders. "" is the sender.
	SenderKey, ContactKey string
	// MaxFirstContacts is how many inboxes the senders with one ContactKey may write to for the first
	// time within 24 hours; a negative number lifts the limit, and remembers nothing.
	MaxFirstContacts int
}

// Page is a part of an inbox, in the order of its numbers.
type Page struct {
	Mail []Mail
	More bool // more mail follows
}

// Waiting counts the waiting mail of an inbox, or of all inboxes.
type Waiting struct {
	Inboxes int // 1 for a single inbox that is not empty
	Mail    int
	Bytes   int64
	// Oldest is when the oldest mail was received, zero when there is none.
	Oldest time.Time
}

// A Queue keeps the mail of all inboxes. What a method acknowledged survives the end of the process
// and of the machine. Its methods may be called from any goroutine.
type Queue interface {
	// Push stores an envelope and returns its number. The error is one of those above when the envelope
	// is refused; nothing was stored then.
	Push(ctx context.Context, in Incoming) (uint64, error)
	// Pull returns the mail of an inbox with numbers greater than after: at most limit envelopes, and
	// at least one but no more than maxBytes of text. Expired mail is left out, from now on. Receipt is
	// empty but for mail that an older version stored.
	Pull(ctx context.Context, inbox string, after uint64, limit int, maxBytes int, now time.Time) (Page, error)
	// NoteDelivered records that the mail of an inbox up to a number was given to its recipient. It
	// expires at a time then, to the hour and not before, instead of its own; mail that was delivered
	// before keeps its time. A record of the last minute may be lost with the process.
	NoteDelivered(inbox string, number uint64, expires time.Time)
	// Acknowledge deletes the mail with these envelope ids from an inbox and returns how many
	// envelopes it deleted. Ids that are not there are ignored.
	Acknowledge(ctx context.Context, inbox string, ids []string) (int, error)
	// Expire deletes up to limit envelopes that expired before now, and forgets replay entries that
	// were older than the window at the time forget. It returns how many envelopes it deleted.
	Expire(ctx context.Context, now, forget time.Time, limit int) (int, error)
	// Wipe deletes the mail and the rules of an inbox and returns how many envelopes it deleted.
	Wipe(ctx context.Context, inbox string) (int, error)
	// Rules returns the rules of an inbox, the zero value for none.
	Rules(ctx context.Context, inbox string) (Rules, error)
	// SetRules replaces the rules of an inbox. The error is ErrOldRules when those there were signed
	// at the same time or later.
	SetRules(ctx context.Context, inbox string, rules Rules) error
	// Wakes returns the inboxes that are still to be woken, and the hosts that fail.
	Wakes(ctx context.Context) (Wakes, error)
	// EndWake notes that an inbox was woken for its mail up to a number. Mail with a greater number
	// still asks for a wake-up; an inbox without mail asks for none.
	EndWake(ctx context.Context, inbox string, number uint64) error
	// SetWakeHost records the state of a host, and deletes the record of one that does not fail.
	SetWakeHost(ctx context.Context, host string, state WakeHost) error
	// Watch returns a channel that is closed by the next Push into the inbox. The caller calls stop
	// when it no longer waits.
	Watch(inbox string) (pushed <-chan struct{}, stop func())
	// Count returns what waits in an inbox.
	Count(ctx context.Context, inbox string) (Waiting, error)
	// CountAll returns what waits in all inboxes, without reading the mail.
	CountAll(ctx context.Context) (Waiting, error)
	// Close ends the queue.
	Close() error
}
