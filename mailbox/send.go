package mailbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
)

// Send stores a message, sends it, and stores what became of it. The thread is checked before anything
// is sent: an [*a2a.Refusal] means that the message breaks a rule of its thread and nothing was stored.
// Any other error is that of [a2ahttp.Client.Send]; the message is then stored as [Failed], or as
// [Sending] when it is not known whether it arrived.
func (m *Mailbox) Send(ctx context.Context, client *a2ahttp.Client, message a2a.Message, o a2ahttp.Options) (a2ahttp.Sent, error) {
	message.From = client.From
	if message.ID == "" {
		message.ID = a2a.NewID()
	}
	if message.ThreadID == "" {
		message.ThreadID = a2a.NewID()
	}
	if message.Nonce == "" {
		message.Nonce = a2a.NewNonce()
	}
	stored, err := m.beginSending(ctx, message, o)
	if err != nil {
		return a2ahttp.Sent{}, err
	}
	return m.deliver(ctx, client, stored, message, o)
}

// SendAgain sends a message again that was not delivered, or of which that is not known, under its old
// id: an inbox that has it says so, and takes it no second time.
func (m *Mailbox) SendAgain(ctx context.Context, client *a2ahttp.Client, stored Message) (a2ahttp.Sent, error) {
	if !stored.Sent || stored.Delivery == Delivered {
		return a2ahttp.Sent{}, fmt.Errorf("message %s: %w", stored.ID, ErrDelivered)
	}
	body := stored.Body()
	message := a2a.Message{ID: stored.ID, From: client.From, To: stored.To, InReplyTo: stored.InReplyTo, ThreadID: stored.ThreadID, Nonce: stored.Nonce, Body: body}
	again := stored.Delivery == Sending
	if stored.Delivery == Failed {
		if err := m.resumeSending(ctx, &stored); err != nil {
			return a2ahttp.Sent{}, err
		}
	}
	return m.deliver(ctx, client, stored, message, a2ahttp.Options{Seal: stored.Sealed, Again: again || stored.Problem != ""})
}

// ErrDelivered: the message cannot be sent again.
var ErrDelivered = errors.New("it was delivered, or it is not a message that you sent")

// beginSending stores a message that is about to be sent.
func (m *Mailbox) beginSending(ctx context.Context, message a2a.Message, o a2ahttp.Options) (Message, error) {
	out := Message{
		Sent: true, ID: message.ID, From: message.From, To: message.To, ThreadID: message.ThreadID, InReplyTo: message.InReplyTo, Nonce: message.Nonce,
		Timestamp: m.options.Now().UTC(), Stored: m.options.Now().UTC(), Sealed: o.Seal, Delivery: Sending, Read: true,
		Content: a2a.FormatBody(message.Body),
	}
	err := m.update(ctx, func(tx writing) error {
		if refused, err := checkThread(tx.reading(), out); refused != nil || err != nil {
			return endWithoutWrite(err, refused)
		}
		if err := applyMessage(tx, &out); err != nil {
			return err
		}
		return putMessage(tx, &out)
	})
	return out, err
}

// resumeSending makes a failed message count again.
func (m *Mailbox) resumeSending(ctx context.Context, stored *Message) error {
	return m.update(ctx, func(tx writing) error {
		if refused, err := checkThread(tx.reading(), *stored); refused != nil || err != nil {
			return endWithoutWrite(err, refused)
		}
		stored.Delivery = Sending
		if err := putRecord(tx, *stored); err != nil {
			return err
		}
		if err := skipNumber(tx); err != nil {
			return err
		}
		return replayThread(tx, stored.ThreadID)
	})
}

// checkThread reports whether a message fits its thread.
func checkThread(tx reading, m Message) (*a2a.Refusal, error) {
	info, err := readThread(tx, m.ThreadID)
	if err != nil {
		return nil, err
	}
	return advance(&info, &m), nil
}

// deliver sends a message that is stored, and stores the outcome.
func (m *Mailbox) deliver(ctx context.Context, client *a2ahttp.Client, stored Message, message a2a.Message, o a2ahttp.Options) (a2ahttp.Sent, error) {
	sent, err := client.Send(ctx, message, o)
	outcome := stored
	switch e, failed := errors.AsType[*a2ahttp.Error](err); {
	case err == nil:
		outcome.Delivery, outcome.Inbox, outcome.Problem = Delivered, sent.Inbox, ""
		outcome.Envelope, outcome.Timestamp = sent.Envelope.Text, sent.Envelope.Timestamp.UTC()
		outcome.noteReceipt(ctx, client, sent)
	case ctx.Err() != nil:
		return sent, err // it stays as Sending: nobody knows
	case failed && errors.Is(err, a2ahttp.ErrGaveUp):
		// An attempt without an answer may have arrived.
		outcome.Inbox, outcome.Problem, outcome.Envelope = e.Inbox, err.Error(), e.Envelope.Text
		if e.Status != 0 {
			outcome.Delivery = Failed
		}
	case failed:
		outcome.Delivery, outcome.Inbox, outcome.Problem, outcome.Envelope = Failed, e.Inbox, err.Error(), e.Envelope.Text
	default:
		outcome.Delivery, outcome.Problem = Failed, err.Error()
	}
	if storeErr := m.endSending(context.WithoutCancel(ctx), outcome); storeErr != nil {
		return sent, errors.Join(err, fmt.Errorf("note what became of the message: %w", storeErr))
	}
	return sent, err
}

// noteReceipt keeps the receipt in the answer of an inbox. Its time and its relay count only if it is
// signed by the relay of that inbox and is that of the envelope; otherwise Problem says why not.
func (m *Message) noteReceipt(ctx context.Context, client *a2ahttp.Client, sent a2ahttp.Sent) {
	var answer struct {
		Receipt json.RawMessage `json:"receipt"`
	}
	if json.Unmarshal(sent.Answer, &answer) != nil || len(answer.Receipt) == 0 {
		return
	}
	m.Receipt = answer.Receipt
	receipt, err := a2a.ReadReceipt(answer.Receipt)
	if err == nil {
		err = verifyReceipt(ctx, client, receipt, sent)
	}
	if err != nil {
		m.Problem = "the receipt of the relay does not count: " + err.Error()
		return
	}
	m.Received, m.Relay = receipt.ReceivedAt.UTC(), receipt.Relay
}

// verifyReceipt checks a receipt with the key that the host of the inbox publishes for its relay.
func verifyReceipt(ctx context.Context, client *a2ahttp.Client, receipt a2a.Receipt, sent a2ahttp.Sent) error {
	inbox := a2ahttp.Inbox{Address: sent.Inbox, HTTP: client.HTTP, Timeout: client.Timeout}
	key, relay, err := inbox.RelayKey(ctx)
	if err != nil {
		return err
	}
	if receipt.Relay != relay {
		return fmt.Errorf("it names %.200q, and the inbox is at %s", receipt.Relay, relay)
	}
	return receipt.Verify(sent.Envelope, key)
}

// endSending stores the outcome of a message. One that failed stops counting in its thread.
func (m *Mailbox) endSending(ctx context.Context, outcome Message) error {
	return m.update(ctx, func(tx writing) error {
		stored, err := readMessage(tx.reading(), outcome.Number)
		if err != nil {
			return err
		}
		outcome.State, outcome.Refused = stored.State, stored.Refused
		if err := putRecord(tx, outcome); err != nil {
			return err
		}
		if err := skipNumber(tx); err != nil || outcome.Delivery != Failed {
			return err
		}
		return replayThread(tx, outcome.ThreadID)
	})
}
