package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/mailbox"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
)

// conciergeProfile is the agent of the demo's restaurant. guestProfile is the agent that books a
// table there.
func conciergeProfile() profile {
	return profile{demoHandle, "Demo concierge", "Books tables. Answers an offer with a counter-offer that names a deposit, and accepts a lower one.", []string{"BOOK", "CANCEL"}}
}

func guestProfile() profile {
	return profile{"demo_guest", "Demo guest", "Books a table when the demo starts.", []string{"BOOK"}}
}

// The concierge's terms, in the smallest unit of any currency.
const (
	fullDeposit  = 500
	leastDeposit = 300
)

// bookingWords are the words that identify an offer to book a table: each offer contains one of
// them.
var bookingWords = [...]string{"table", "book", "reserv", "seat", "dinner", "lunch", "예약", "자리"}

// composeReply returns the concierge's answer to a message; nil for one that needs none.
func composeReply(body a2a.Body, now time.Time) a2a.Body {
	switch b := body.(type) {
	case a2a.Offer:
		if !slices.ContainsFunc(bookingWords[:], func(word string) bool { return strings.Contains(strings.ToLower(b.Description), word) }) {
			return a2a.Decline{Reason: "I book tables, and nothing else."}
		}
		price := b.Price
		price.AmountCents = max(price.AmountCents, fullDeposit)
		return a2a.Counter{Description: "The table is free. I hold it for a deposit, which you get back on arrival.", Price: price, ExpiresAt: now.Add(15 * time.Minute)}
	case a2a.Counter:
		if b.Price.AmountCents < leastDeposit {
			return a2a.Decline{Reason: "The deposit is too small to hold a table."}
		}
		return a2a.Accept{AcceptedPrice: b.Price}
	}
	return nil
}

// conciergePoll is the time that the concierge waits for mail in one request, conciergePause the
// wait after a failed request.
const (
	conciergePoll  = 20 * time.Second
	conciergePause = time.Second
)

// runConcierge answers the concierge's mail until ctx ends.
func (d *demo) runConcierge(ctx context.Context, concierge *participant) {
	for cursor := ""; ctx.Err() == nil; {
		batch, err := concierge.puller.Collect(ctx, cursor, conciergePoll)
		if err == nil {
			cursor = batch.Cursor
			err = concierge.answerMail(ctx)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if !a2ahttp.IsTransient(err) {
			d.printf("The concierge cannot answer: %v", err)
		}
		pause := time.NewTimer(conciergePause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// answerMail answers each unread message once. A guest whose inbox refuses the answer does not
// delay the others. If an earlier run has already sent an answer, the second one breaks a rule of
// its thread, which is no error.
func (p *participant) answerMail(ctx context.Context) error {
	unread, err := p.box.Messages(ctx, mailbox.MessageFilter{Unread: true})
	if err != nil {
		return err
	}
	var problems error
	for _, m := range slices.Backward(unread) {
		if body := composeReply(m.Body(), time.Now()); body != nil && m.Refused == nil {
			err := p.sendAnswer(ctx, m, body)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if _, repeated := errors.AsType[*a2a.Refusal](err); !repeated {
				problems = errors.Join(problems, err)
			}
		}
		if err := p.box.MarkRead(ctx, m); err != nil {
			return errors.Join(problems, err)
		}
	}
	return problems
}

// answerTime bounds the wait for an answer of the demo's own concierge.
const answerTime = 30 * time.Second

// checkNegotiation books a table with the concierge: a sealed offer, its counter, a lower counter,
// its acceptance. Both mailboxes must agree on the result.
func (d *demo) checkNegotiation(ctx context.Context) (string, error) {
	if d.concierge == nil {
		return "", errors.New("the concierge was not registered")
	}
	guest, err := d.openParticipant(ctx, guestProfile())
	if err != nil {
		return "", err
	}
	price := func(cents uint64) a2a.Money { return a2a.Money{AmountCents: cents, Currency: "EUR"} }
	sent, err := guest.box.Send(ctx, guest.client, a2a.Message{To: d.concierge.owner.String(), Body: a2a.Offer{
		Description: "a table for two tonight at eight", Price: price(0), ExpiresAt: time.Now().Add(time.Hour),
	}}, a2ahttp.Options{Seal: true})
	if err != nil {
		return "", err
	}
	thread := sent.Envelope.ThreadID
	first, err := guest.waitForAnswer(ctx, thread, answerTime)
	if err != nil {
		return "", err
	}
	if counter, ok := first.Body().(a2a.Counter); !ok || counter.Price != price(fullDeposit) || !first.Sealed {
		return "", fmt.Errorf("the concierge answers the offer with %T %s", first.Body(), first.Content)
	}
	if err := guest.sendAnswer(ctx, first, a2a.Counter{Description: "half of it?", Price: price(400), ExpiresAt: time.Now().Add(time.Hour)}); err != nil {
		return "", err
	}
	second, err := guest.waitForAnswer(ctx, thread, answerTime)
	if err != nil {
		return "", err
	}
	if accept, ok := second.Body().(a2a.Accept); !ok || accept.AcceptedPrice != price(400) {
		return "", fmt.Errorf("the concierge answers the counter with %T %s", second.Body(), second.Content)
	}
	if err := guest.box.MarkRead(ctx, first, second); err != nil {
		return "", err
	}
	for _, p := range []*participant{guest, d.concierge} {
		info, messages, err := p.box.Thread(ctx, thread)
		if err != nil || info.Thread.State != a2a.ClosedAccepted || len(messages) != 4 {
			return "", fmt.Errorf("in the mailbox of %s the thread is %s with %d messages: %w", p.handle, info.Thread.State, len(messages), err)
		}
	}
	return "Offer 0.00 → Counter 5.00 → Counter 4.00 → Accept 4.00 EUR, each sealed and verified", nil
}
