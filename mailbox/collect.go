package mailbox

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
	"gazetteer/protocol/did"
	"gazetteer/store/boltfile"
)

// A Puller brings mail from a relay into a mailbox. All fields but RelayKey are required.
type Puller struct {
	Mailbox *Mailbox
	Inbox   *a2ahttp.Inbox
	// Senders finds the keys of senders.
	Senders a2a.KeyFinder
	// Keys open sealed bodies: the current key, then retired ones, see [ReadKeys].
	Keys []ed25519.PrivateKey
	// RelayKey and Relay are the key and the DID of the relay whose receipts count, see
	// [a2ahttp.Inbox.RelayKey]. Without them mail counts only while its timestamp is fresh.
	RelayKey ed25519.PublicKey
	Relay    string
	// Rotated says that the agent has a retired key that is not among Keys, see [LacksKey]. A sealed
	// body that none of Keys opens is then refused with 403 Stale Key, and its sender looks for the
	// current key (§4.5.3).
	Rotated bool
	// Keep leaves the mail at the relay: it is stored here and not acknowledged there.
	Keep bool

	// waiting is the cursor of the first page, among those pulled one after the other, with an
	// envelope that stays at the relay; nil if there is none.
	waiting *string
}

// Collected is the result of one request for mail.
type Collected struct {
	// New are the messages that were stored, in the order of the relay. Mail that was there already
	// is not among them.
	New []Message
	// Waiting are envelopes that stay at the relay because they cannot be judged at the moment, such
	// as those of a sender whose registry does not answer, with the reason.
	Waiting []error
	// Cursor is for the next call. If More is false and envelopes stay at the relay, that call
	// returns at once and judges them again.
	Cursor string
	More   bool
}

// Collect pulls the mail after a cursor, verifies it, stores it, and then acknowledges it. While there
// is no mail it waits, for at most wait. The errors are those of [a2ahttp.Inbox.Pull] and of the
// mailbox. Calls of one Puller must not overlap.
func (p *Puller) Collect(ctx context.Context, cursor string, wait time.Duration) (Collected, error) {
	page, err := p.Inbox.Pull(ctx, cursor, wait)
	if err != nil {
		return Collected{}, err
	}
	out := Collected{Cursor: page.Cursor, More: page.More}
	var arrived []arrival
	for _, mail := range page.Mail {
		a, err := p.authenticate(ctx, mail)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			out.Waiting = append(out.Waiting, err)
			continue
		}
		arrived = append(arrived, a)
	}
	if len(out.Waiting) > 0 && p.waiting == nil {
		p.waiting = &cursor
	}
	if err := p.storeArrivals(ctx, arrived, &out); err != nil {
		return out, err
	}
	if p.waiting != nil && !out.More { // the next pull begins with the page of the first one that waits
		out.Cursor, p.waiting = *p.waiting, nil
	}
	return out, nil
}

// storeArrivals stores envelopes, adds the new ones to out, and acknowledges all.
func (p *Puller) storeArrivals(ctx context.Context, arrived []arrival, out *Collected) error {
	if len(arrived) == 0 {
		return nil
	}
	var stored []string
	err := p.Mailbox.withFile(ctx, func(ctx context.Context, f *boltfile.File) error {
		for _, a := range arrived {
			m, added, err := p.storeArrival(ctx, f, a)
			if err != nil {
				return err
			}
			stored = append(stored, m.ID)
			if added {
				out.New = append(out.New, m)
			}
		}
		return nil
	})
	if !p.Keep && len(stored) > 0 {
		err = errors.Join(err, p.Inbox.Acknowledge(ctx, stored...))
	}
	return err
}

// Add judges an envelope that arrived at an address of the agent's own, by the clock of now, and stores
// it. The error is an [*a2a.Refusal] when a rule is broken: its JSON is the body to answer with, and
// its Status the status. What a rule of threads refuses is stored with the refusal, all else that is
// refused is not: anyone could fill the mailbox with it.
func (p *Puller) Add(ctx context.Context, mail a2ahttp.Mail) (m Message, err error) {
	verifier := a2a.Verifier{Profile: a2a.Wire, Keys: p.Senders, Now: p.Mailbox.options.Now}
	verified, err := verifier.Authenticate(ctx, mail.Text)
	if err != nil {
		return Message{}, err
	}
	a := arrival{mail: mail, envelope: verified.Envelope, verified: verified}
	if !isSameAgent(a.envelope.To, p.Mailbox.owner) {
		return Message{}, refuseRecipient()
	}
	err = p.Mailbox.withFile(ctx, func(ctx context.Context, f *boltfile.File) error {
		m = p.newMessage(a)
		_, err := p.accept(ctx, f, a, &m, false)
		return err
	})
	return m, err
}

func refuseRecipient() *a2a.Refusal {
	return &a2a.Refusal{Status: http.StatusBadRequest, Reason: a2a.ErrorBadRequest, Rule: a2a.RuleRecipient, Detail: "the envelope is addressed to another"}
}

// arrival is an envelope whose signature was judged: verified, or refused.
type arrival struct {
	mail     a2ahttp.Mail
	envelope *a2a.Envelope
	verified *a2a.Verified
	refused  *a2a.Refusal
}

// authenticate judges form and signature. An error means that it cannot be judged at the moment.
func (p *Puller) authenticate(ctx context.Context, mail a2ahttp.Mail) (arrival, error) {
	a := arrival{mail: mail}
	var err error
	if a.envelope, err = a2a.Read(mail.Text, a2a.Wire); err != nil {
		return a, fmt.Errorf("the relay delivers what is no envelope: %w", err)
	}
	verifier := a2a.Verifier{Profile: a2a.Wire, Keys: p.Senders, Now: p.Mailbox.options.Now}
	a.verified, err = verifier.Authenticate(ctx, mail.Text)
	if refused, ok := errors.AsType[*a2a.Refusal](err); ok && refused.Status != http.StatusBadGateway {
		a.refused, err = refused, nil
	}
	if err != nil {
		return a, fmt.Errorf("message %.100q of %.200q: %w", a.envelope.ID, a.envelope.From, err)
	}
	if a.refused == nil && !isSameAgent(a.envelope.To, p.Mailbox.owner) {
		a.refused = refuseRecipient()
	}
	return a, nil
}

// accept judges a verified envelope by clock, replay window and thread, and stores it unless one of the
// first two refuses it. stored is false for one that was accepted before. The error is an
// [*a2a.Refusal], or that of the file.
func (p *Puller) accept(ctx context.Context, f *boltfile.File, a arrival, m *Message, pulled bool) (stored bool, err error) {
	store := &messageStore{mailbox: p.Mailbox, file: f, message: m}
	receiver := a2a.Receiver{
		Verifier: a2a.Verifier{Profile: a2a.Wire, Keys: p.Senders, Now: p.Mailbox.options.Now},
		Store:    store, Keys: p.Keys, Rotated: p.Rotated, RelayKey: p.RelayKey, KeepReplay: p.Mailbox.options.KeepReplay,
	}
	if opened, err := receiver.Open(a.verified); err == nil && opened != nil {
		m.Content = opened.Plaintext
	}
	_, err = receiver.Accept(ctx, a.verified, a2a.Arrival{Pulled: pulled, Receipt: p.receiptOf(a)})
	return store.stored, err
}

// storeArrival stores an envelope unless it is stored already, refused or not.
func (p *Puller) storeArrival(ctx context.Context, f *boltfile.File, a arrival) (m Message, added bool, err error) {
	m = p.newMessage(a)
	if a.refused == nil {
		stored, err := p.accept(ctx, f, a, &m, true)
		if stored || err == nil {
			return m, stored, nil
		}
		refused, ok := errors.AsType[*a2a.Refusal](err)
		if !ok {
			return m, false, err
		}
		a.refused = refused
	}
	m.Refused = &Refusal{a.refused.Rule, a.refused.Reason, a.refused.Detail}
	err = p.Mailbox.writeFile(ctx, f, func(tx writing) error {
		// An envelope that was refused before and was not acknowledged arrives again.
		if has, err := hasEnvelope(tx.reading(), m.ID, sha256.Sum256(m.Envelope)); has || err != nil {
			return endWithoutWrite(err, nil)
		}
		added = true
		return putMessage(tx, &m)
	})
	return m, added, err
}

// receiptOf returns the receipt that counts: that of the relay whose key is known.
func (p *Puller) receiptOf(a arrival) []byte {
	if p.RelayKey == nil {
		return nil
	}
	return a.mail.Receipt
}

func (p *Puller) newMessage(a arrival) Message {
	e := a.envelope
	m := Message{
		ID: e.ID, From: e.From, To: e.To, ThreadID: e.ThreadID, InReplyTo: e.InReplyTo, Nonce: e.Nonce,
		Timestamp: e.Timestamp.UTC(), Stored: p.Mailbox.options.Now().UTC(), Sealed: e.Body.Type() == a2a.TypeEncrypted,
		Envelope: a.mail.Text, Receipt: a.mail.Receipt,
	}
	if !m.Sealed {
		m.Content = a2a.FormatBody(e.Body)
	}
	if receipt, err := a2a.ReadReceipt(a.mail.Receipt); err == nil && p.RelayKey != nil && receipt.Relay == p.Relay && receipt.Verify(e, p.RelayKey) == nil {
		m.Received, m.Relay = receipt.ReceivedAt.UTC(), receipt.Relay
	}
	return m
}

// hasEnvelope reports whether an envelope is stored, byte for byte.
func hasEnvelope(tx reading, id string, sum [sha256.Size]byte) (bool, error) {
	numbers := findNumbers(tx, id)
	for _, n := range numbers {
		m, err := readMessage(tx, n)
		if err != nil {
			return false, err
		}
		if !m.Sent && sha256.Sum256(m.Envelope) == sum {
			return true, nil
		}
	}
	return false, nil
}

// messageStore is the store of one message that is being received: it writes the message in the
// transaction that writes the entry of the replay window and the thread.
type messageStore struct {
	mailbox *Mailbox
	file    *boltfile.File
	message *Message
	stored  bool
}

// FindReplay implements a2a.Store.
func (s *messageStore) FindReplay(_ context.Context, e a2a.ReplayEntry) (state a2a.ReplayState, err error) {
	err = s.mailbox.viewFile(s.file, func(tx reading) error {
		state = findReplay(tx, e)
		return nil
	})
	return state, err
}

// FindThread implements a2a.Store.
func (s *messageStore) FindThread(_ context.Context, id string) (thread a2a.Thread, err error) {
	err = s.mailbox.viewFile(s.file, func(tx reading) error {
		info, err := readThread(tx, id)
		thread = info.Thread
		return err
	})
	return thread, err
}

// Commit implements a2a.Store. The thread is advanced from what the transaction sees.
func (s *messageStore) Commit(ctx context.Context, e a2a.ReplayEntry, _ string, _ *a2a.Thread) (state a2a.ReplayState, err error) {
	err = s.mailbox.writeFile(ctx, s.file, func(tx writing) error {
		if state, err = s.mailbox.putSeen(tx, e); err != nil || state != a2a.Fresh {
			return endWithoutWrite(err, nil)
		}
		if err := applyMessage(tx, s.message); err != nil {
			return err
		}
		return putMessage(tx, s.message)
	})
	s.stored = err == nil && state == a2a.Fresh
	return state, err
}

// OpenClosed opens sealed messages that could not be opened on arrival, with keys that were added
// since. Their signatures are verified again.
func (m *Mailbox) OpenClosed(ctx context.Context, senders a2a.KeyFinder, keys []ed25519.PrivateKey) error {
	var closed []Message
	if err := m.scan(ctx, nil, func(message Message) bool {
		if message.Sealed && !message.Sent && len(message.Content) == 0 {
			closed = append(closed, message)
		}
		return true
	}); err != nil {
		return err
	}
	for _, message := range closed {
		verified, err := a2a.Verifier{Profile: a2a.Wire, Keys: senders}.Authenticate(ctx, message.Envelope)
		if err != nil {
			continue // it stays closed: its sender could not be verified
		}
		opened, err := verified.Open(keys...)
		if err != nil {
			continue
		}
		if err := m.keepContent(ctx, message, opened.Plaintext); err != nil {
			return err
		}
	}
	return nil
}

// NewPuller returns a puller for the inbox that an agent's DID document names, with the keys of
// the relay. Keys are those that open mail, the current key first. A relay that shows no key for
// receipts is not an error: the reason is returned with the puller.
func NewPuller(ctx context.Context, m *Mailbox, inbox *a2ahttp.Inbox, senders a2a.Resolver, keys []ed25519.PrivateKey) (*Puller, error) {
	p := &Puller{Mailbox: m, Inbox: inbox, Senders: a2a.DocumentKeys{Resolver: senders}, Keys: slices.Clone(keys)}
	var err error
	if p.RelayKey, p.Relay, err = inbox.RelayKey(ctx); err != nil {
		p.RelayKey = nil
	}
	return p, err
}

// KeyIDOf returns the name under which relays know an agent's key.
func KeyIDOf(owner string) string { return owner + did.KeyFragment }
