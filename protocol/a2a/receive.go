package a2a

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"time"
)

// A Receiver is the recipient's side of one inbox: it checks arriving envelopes, in the order of
// §6.2, and remembers those that it accepted.
type Receiver struct {
	Verifier
	Store Store // required
	// Self is the DID of the inbox; envelopes to another DID are refused. "" accepts envelopes to
	// any DID.
	Self string
	// Keys open sealed bodies: the current key first, then the retired ones. Without keys, sealed
	// bodies stay closed and leave the thread as it is.
	Keys []ed25519.PrivateKey
	// Rotated says that the key of the inbox has changed before. A sealed body that no key opens is
	// then refused with 403 Stale Key, so that the sender looks up the new key.
	Rotated bool
	// RelayKey verifies receipts. Without it none is accepted.
	RelayKey ed25519.PublicKey
	// KeepReplay is how long an entry of the replay window is kept after the envelope can no longer
	// be fresh; 0 means [DefaultKeepReplay]. It must be at least as long as relays keep mail.
	KeepReplay time.Duration
}

// DefaultKeepReplay is the longest time that the deployed relay keeps mail.
const DefaultKeepReplay = 30 * 24 * time.Hour

// An Arrival says how an envelope arrived.
type Arrival struct {
	// Pulled says that the envelope is from a relay, which delivers it again until it is
	// acknowledged. A second delivery is then not an error (§8.4).
	Pulled bool
	// Receipt is the relay's receipt, nil for none. With a receipt, the timestamp is checked
	// against the time at which the relay received the envelope.
	Receipt []byte
}

// Received is an envelope that was accepted.
type Received struct {
	*Verified
	// AlreadyProcessed says that the envelope was accepted earlier. The caller acknowledges it
	// again and does nothing else; the fields below are empty.
	AlreadyProcessed bool
	// Opened is the content of a sealed body, nil for others.
	Opened *Opened
	// Thread is the state after the message.
	Thread Thread
}

// Receive checks an arriving envelope (§6.2): [Verifier.Authenticate], then [Receiver.Accept]. The
// error is a [*Refusal], that of the store, or that of ctx.
func (r *Receiver) Receive(ctx context.Context, text []byte, d Arrival) (Received, error) {
	v, err := r.Authenticate(ctx, text)
	if err != nil {
		return Received{}, err
	}
	return r.Accept(ctx, v, d)
}

// Accept makes the checks that follow the signature (clock, replay, thread) and opens a sealed
// body. Calls for envelopes of one thread must not overlap. The error is a [*Refusal], that of the
// store, or that of ctx.
func (r *Receiver) Accept(ctx context.Context, v *Verified, d Arrival) (Received, error) {
	if r.Self != "" && v.To != r.Self {
		return Received{}, newRefusal(RuleRecipient, "the envelope is addressed to another")
	}
	keep := cmp.Or(r.KeepReplay, DefaultKeepReplay)
	now := r.now()
	entry := EntryOf(v.Envelope, now, keep)
	replay, err := r.Store.FindReplay(ctx, entry)
	if err != nil {
		return Received{}, err
	}
	// A relay delivers an envelope again until it is acknowledged. After some hours the clock check
	// would refuse an envelope that was accepted before, so the repetition is looked up first.
	if d.Pulled && replay == Repeated {
		return Received{Verified: v, AlreadyProcessed: true}, nil
	}
	at, err := r.arrivalTime(v, d, now)
	if err == nil {
		err = v.CheckFresh(at)
	}
	if err == nil {
		err = replay.toRefusal(v.Envelope)
	}
	if err != nil {
		return Received{}, err
	}
	out := Received{Verified: v}
	if out.Opened, err = r.Open(v); err != nil {
		return Received{}, err
	}
	return r.updateThread(ctx, out, entry)
}

// arrivalTime returns the time at which the envelope came in.
func (r *Receiver) arrivalTime(v *Verified, d Arrival, now time.Time) (time.Time, error) {
	if d.Receipt == nil {
		return now, nil
	}
	receipt, err := ReadReceipt(d.Receipt)
	if err == nil {
		err = receipt.Verify(v.Envelope, r.RelayKey)
	}
	if err == nil && receipt.ReceivedAt.After(now.Add(MaxAhead)) {
		err = newRefusal(RuleReceipt, "the receipt is from the future")
	}
	return receipt.ReceivedAt, err
}

// Open opens a sealed body with the keys of the inbox. It returns nil for a body that is not
// sealed, and if there are no keys. The error is a [*Refusal].
func (r *Receiver) Open(v *Verified) (*Opened, error) {
	if _, sealed := v.Body.(Sealed); !sealed || len(r.Keys) == 0 {
		return nil, nil
	}
	opened, err := v.Open(r.Keys...)
	if errors.Is(err, ErrNotOpened) && r.Rotated {
		stale := newRefusal(RuleStaleKey, "the body is not sealed to the current key")
		stale.AirID = airIDOf(v.To)
		return nil, stale.withCause(err)
	}
	if err != nil {
		return nil, err
	}
	return &opened, nil
}

// updateThread advances the thread and remembers the envelope. An envelope that its thread
// refuses is remembered as well: it would be refused again.
func (r *Receiver) updateThread(ctx context.Context, out Received, entry ReplayEntry) (Received, error) {
	before, err := r.Store.FindThread(ctx, out.ThreadID)
	if err != nil {
		return Received{}, err
	}
	var body Body
	if out.Opened != nil {
		body = out.Opened.Body
	}
	after, refused := before.Next(EventOf(out.Envelope, body))
	keep := &after
	if refused != nil || after.isPending() {
		keep = nil
	}
	replay, err := r.Store.Commit(ctx, entry, out.ThreadID, keep)
	if err == nil {
		err = replay.toRefusal(out.Envelope)
	}
	if err != nil {
		return Received{}, err
	}
	if why, ok := errors.AsType[*Refusal](refused); ok {
		why.ThreadID = out.ThreadID
		return Received{}, why
	}
	out.Thread = after
	return out, nil
}
