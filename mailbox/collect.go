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
	// Rotated says that the key of the agent changed. A sealed body that none of Keys opens is then
	// refused with 403 Stale Key, and its sender looks for the new key (§4.5.3).
	Rotated bool
	// Keep leaves the mail at the relay: it is stored here and not acknowledged there.
	Keep bool
}

// Collected is the result of one request for mail.
type Collected struct {
	// New are the messages that were stored, in the order of the relay. Mail that was there already
	// is not among them.
	New []Message
	// Waiting are envelopes that stay at the relay because they cannot be judged at the moment, such
	// as those of a sender whose registry does not answer, with the reason.
	Waiting []error
	Cursor  string
	More    bool
}

// Collect pulls the mail behind a cursor, judges it, stores it, and then acknowledges it. While there
// is no mail it waits for up to a time. The errors are those of [a2ahttp.Inbox.Pull] and of the
// mailbox.
func (c *Puller) Collect(ctx context.Context, cursor string, wait time.Duration) (Collected, error) {
	page, err := c.Inbox.Pull(ctx, cursor, wait)
	if err != nil {
		return Collected{}, err
	}
	out := Collected{Cursor: page.Cursor, More: page.More}
	var arrived []arrival
	for _, mail := range page.Mail {
		a, err := c.authenticate(ctx, mail)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		if err != nil {
			out.Waiting = append(out.Waiting, err)
			continue
		}
		arrived = append(arrived, a)
	}
	if len(arrived) == 0 {
		return out, nil
	}
	var stored []string
	err = c.Mailbox.withFile(ctx, func(ctx context.Context, f *boltfile.File) error {
		for _, a := range arrived {
			m, added, err := c.storeArrival(ctx, f, a)
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
	if !c.Keep && len(stored) > 0 {
		err = errors.Join(err, c.Inbox.Acknowledge(ctx, stored...))
	}
	return out, err
}

// Add judges an envelope that arrived at an address of the agent's own, by the clock of now, and stores
// it. The error is an [*a2a.Refusal] when a rule is broken: its JSON is the body to answer with, and
// its Status the status. What a rule of threads refuses is stored with the refusal, all else that is
// refused is not: anyone could fill the mailbox with it.
func (c *Puller) Add(ctx context.Context, mail a2ahttp.Mail) (m Message, err error) {
	verifier := a2a.Verifier{Profile: a2a.Wire, Keys: c.Senders, Now: c.Mailbox.options.Now}
	verified, err := verifier.Authenticate(ctx, mail.Text)
	if err != nil {
		return Message{}, err
	}
	a := arrival{mail: mail, envelope: verified.Envelope, verified: verified}
	if !isSameAgent(a.envelope.To, c.Mailbox.owner) {
		return Message{}, refuseRecipient()
	}
	err = c.Mailbox.withFile(ctx, func(ctx context.Context, f *boltfile.File) error {
		m = c.newMessage(a)
		_, err := c.accept(ctx, f, a, &m, false)
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
func (c *Puller) authenticate(ctx context.Context, mail a2ahttp.Mail) (arrival, error) {
	a := arrival{mail: mail}
	var err error
	if a.envelope, err = a2a.Read(mail.Text, a2a.Wire); err != nil {
		return a, fmt.Errorf("the relay delivers what is no envelope: %w", err)
	}
	verifier := a2a.Verifier{Profile: a2a.Wire, Keys: c.Senders, Now: c.Mailbox.options.Now}
	a.verified, err = verifier.Authenticate(ctx, mail.Text)
	if refused, ok := errors.AsType[*a2a.Refusal](err); ok && refused.Status != http.StatusBadGateway {
		a.refused, err = refused, nil
	}
	if err != nil {
		return a, fmt.Errorf("message %.100q of %.200q: %w", a.envelope.ID, a.envelope.From, err)
	}
	if a.refused == nil && !isSameAgent(a.envelope.To, c.Mailbox.owner) {
		a.refused = refuseRecipient()
	}
	return a, nil
}

// accept judges a verified envelope by clock, replay window and thread, and stores it unless one of the
// first two refuses it. stored is false for one that was accepted before. The error is an
// [*a2a.Refusal], or that of the file.
func (c *Puller) accept(ctx context.Context, f *boltfile.File, a arrival, m *Message, pulled bool) (stored bool, err error) {
	keeper := &keeper{mailbox: c.Mailbox, file: f, message: m}
	receiver := a2a.Receiver{
		Verifier: a2a.Verifier{Profile: a2a.Wire, Keys: c.Senders, Now: c.Mailbox.options.Now},
		Store:    keeper, Keys: c.Keys, Rotated: c.Rotated, RelayKey: c.RelayKey, KeepReplay: c.Mailbox.options.KeepReplay,
	}
	if opened, err := receiver.Open(a.verified); err == nil && opened != nil {
		m.Content = opened.Plaintext
	}
	_, err = receiver.Accept(ctx, a.verified, a2a.Arrival{Pulled: pulled, Receipt: c.receiptOf(a)})
	return keeper.stored, err
}

// storeArrival stores an envelope unless it is stored already, refused or not.
func (c *Puller) storeArrival(ctx context.Context, f *boltfile.File, a arrival) (m Message, added bool, err error) {
	m = c.newMessage(a)
	if a.refused == nil {
		stored, err := c.accept(ctx, f, a, &m, true)
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
	err = c.Mailbox.writeFile(ctx, f, func(tx writing) error {
		// An envelope that was refused before and was not acknowledged arrives again.
		if has, err := hasEnvelope(tx.reading(), m.ID, sha256.Sum256(m.Envelope)); has || err != nil {
			return errOrRefused(err)
		}
		added = true
		return putMessage(tx, &m)
	})
	return m, added, err
}

// receiptOf returns the receipt that counts: that of the relay whose key is known.
func (c *Puller) receiptOf(a arrival) []byte {
	if c.RelayKey == nil {
		return nil
	}
	return a.mail.Receipt
}

func (c *Puller) newMessage(a arrival) Message {
	e := a.envelope
	m := Message{
		ID: e.ID, From: e.From, To: e.To, ThreadID: e.ThreadID, InReplyTo: e.InReplyTo, Nonce: e.Nonce,
		Timestamp: e.Timestamp.UTC(), Stored: c.Mailbox.options.Now().UTC(), Sealed: e.Body.Type() == a2a.TypeEncrypted,
		Envelope: a.mail.Text, Receipt: a.mail.Receipt,
	}
	if !m.Sealed {
		m.Content = a2a.FormatBody(e.Body)
	}
	if receipt, err := a2a.ReadReceipt(a.mail.Receipt); err == nil && c.RelayKey != nil && receipt.Relay == c.Relay && receipt.Verify(e, c.RelayKey) == nil {
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

// keeper is the store of one message that is being received: it keeps the message in the transaction
// that keeps the entry of the replay window and the thread.
type keeper struct {
	mailbox *Mailbox
	file    *boltfile.File
	message *Message
	stored  bool
}

// FindReplay implements a2a.Store.
func (k *keeper) FindReplay(_ context.Context, e a2a.ReplayEntry) (state a2a.ReplayState, err error) {
	err = k.mailbox.viewFile(k.file, func(tx reading) error {
		state = findReplay(tx, e)
		return nil
	})
	return state, err
}

// FindThread implements a2a.Store.
func (k *keeper) FindThread(_ context.Context, id string) (thread a2a.Thread, err error) {
	err = k.mailbox.viewFile(k.file, func(tx reading) error {
		info, err := readThread(tx, id)
		thread = info.Thread
		return err
	})
	return thread, err
}

// Commit implements a2a.Store. The thread is advanced from what the transaction sees.
func (k *keeper) Commit(ctx context.Context, e a2a.ReplayEntry, _ string, _ *a2a.Thread) (state a2a.ReplayState, err error) {
	err = k.mailbox.writeFile(ctx, k.file, func(tx writing) error {
		if state, err = k.mailbox.putSeen(tx, e); err != nil || state != a2a.Fresh {
			return errOrRefused(err)
		}
		if _, err := applyMessage(tx, k.message); err != nil {
			return err
		}
		return putMessage(tx, k.message)
	})
	k.stored = err == nil && state == a2a.Fresh
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

// CollectorOf returns a collector for the inbox that an agent's DID document names, with the keys of
// the relay. Keys are those that open mail, the current key first. A relay that shows no key for
// receipts is no error: the reason is returned beside the collector.
func CollectorOf(ctx context.Context, m *Mailbox, inbox *a2ahttp.Inbox, senders a2a.Resolver, keys []ed25519.PrivateKey) (*Puller, error) {
	c := &Puller{Mailbox: m, Inbox: inbox, Senders: a2a.DocumentKeys{Resolver: senders}, Keys: slices.Clone(keys)}
	var err error
	if c.RelayKey, c.Relay, err = inbox.RelayKey(ctx); err != nil {
		c.RelayKey = nil
	}
	return c, err
}

// KeyIDOf returns the name under which relays know an agent's key.
func KeyIDOf(owner string) string { return owner + did.KeyFragment }
