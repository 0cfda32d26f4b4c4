package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/internal/wait"
	"gazetteer/mailbox"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/a2a/a2ahttp"
)

// A representative is an agent that the demo runs for one of its services: it answers offers.
type representative struct {
	profile
	host string
	// An offer that the representative answers contains one of the words, in lower case.
	words []string
	// The texts of its answers: terms to an offer, other to an offer of something else, tooLow to a
	// price below its lowest one.
	terms, other, tooLow string
	// The prices are in the smallest unit of any currency.
	fullPrice, lowestPrice uint64
}

// representatives lists the agents that serve somebody; the first is the one of the restaurant, with
// which the demo books a table.
func representatives() []representative {
	return []representative{
		{
			profile: profile{demoHandle, "Demo concierge", "Books tables. Answers an offer with a counter-offer that names a deposit, and accepts a lower one.", []string{"BOOK", "CANCEL"}},
			host:    demoDomain,
			words:   []string{"table", "book", "reserv", "seat", "dinner", "lunch", "예약", "자리"},
			terms:   "The table is free. I hold it for a deposit, which you get back on arrival.",
			other:   "I book tables, and nothing else.", tooLow: "The deposit is too small to hold a table.",
			fullPrice: fullDeposit, lowestPrice: 300,
		},
		{
			profile: profile{"parcel_desk", "Parcel desk", "Sends parcels. Answers an offer with the price of the parcel, and accepts a price that is a little lower.", []string{"SEND", "TRACK"}},
			host:    "parcels.test",
			words:   []string{"parcel", "package", "send", "deliver", "ship"},
			terms:   "A courier collects the parcel today and delivers it tomorrow.",
			other:   "I send parcels, and nothing else.", tooLow: "I cannot send a parcel for so little.",
			fullPrice: 900, lowestPrice: 700,
		},
		{
			profile: profile{"rosa_the_florist", "Rosa the Florist", "Sends flowers with a card. Answers an offer with the price of a bouquet.", []string{"SEND"}},
			host:    "flowers.test",
			words:   []string{"flower", "bouquet", "rose", "tulip", "card"},
			terms:   "A bouquet of the season, delivered before noon, with your card.",
			other:   "I send flowers, and nothing else.", tooLow: "The flowers alone cost more than that.",
			fullPrice: 3500, lowestPrice: 2500,
		},
		{
			profile: profile{"taxi_sol", "Taxi Sol", "Taxis en Málaga: responde a una oferta con el precio del viaje.", []string{"ORDER", "ESTIMATE"}},
			host:    "taxi-sol.test",
			words:   []string{"taxi", "viaje", "coche", "aeropuerto", "recog", "ride"},
			terms:   "El taxi llega en diez minutos.",
			other:   "Solo reservo taxis.", tooLow: "Por ese precio no es posible.",
			fullPrice: 1800, lowestPrice: 1500,
		},
	}
}

// fullDeposit is the price of the first representative.
const fullDeposit = 500

// composeReply returns the representative's answer to a message; nil for one that needs none.
func (r *representative) composeReply(body a2a.Body, now time.Time) a2a.Body {
	switch b := body.(type) {
	case a2a.Offer:
		if !slices.ContainsFunc(r.words, func(word string) bool { return strings.Contains(strings.ToLower(b.Description), word) }) {
			return a2a.Decline{Reason: r.other}
		}
		price := b.Price
		price.AmountCents = max(price.AmountCents, r.fullPrice)
		return a2a.Counter{Description: r.terms, Price: price, ExpiresAt: now.Add(15 * time.Minute)}
	case a2a.Counter:
		if b.Price.AmountCents < r.lowestPrice {
			return a2a.Decline{Reason: r.tooLow}
		}
		return a2a.Accept{AcceptedPrice: b.Price}
	}
	return nil
}

// mailPoll is the time that a representative waits for mail in one request, mailPause the wait after
// a failed request.
const (
	mailPoll  = 20 * time.Second
	mailPause = time.Second
)

// answerUntilDone answers the mail of a representative until ctx ends.
func (d *demo) answerUntilDone(ctx context.Context, r representative, p *participant) {
	for cursor := ""; ctx.Err() == nil; {
		batch, err := p.puller.Collect(ctx, cursor, mailPoll)
		if err == nil {
			cursor = batch.Cursor
			err = p.answerMail(ctx, &r)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if !a2ahttp.IsTransient(err) {
			d.printf("%s cannot answer: %v", r.name, err)
		}
		_ = wait.For(ctx, mailPause) // the loop asks the context
	}
}

// answerMail answers each unread message once, as the representative does. A guest whose inbox
// refuses the answer does not delay the others. If an earlier run has already sent an answer, the
// second one breaks a rule of its thread, which is no error.
func (p *participant) answerMail(ctx context.Context, r *representative) error {
	unread, err := p.box.Messages(ctx, mailbox.MessageFilter{Unread: true})
	if err != nil {
		return err
	}
	var problems error
	for _, m := range slices.Backward(unread) {
		if body := r.composeReply(m.Body(), time.Now()); body != nil && m.Refused == nil {
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
	guest, err := d.openParticipant(ctx, profile{"demo_guest", "Demo guest", "Books a table when the demo starts.", []string{"BOOK"}})
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
