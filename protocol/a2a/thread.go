package a2a

import (
	"cmp"
	"fmt"
	"slices"
)

// A State is the state of a negotiation (§8.2).
//
//	pending ──Offer──▶ offered ──Counter──▶ countered ──Counter──▶ countered …
//	                      │                     │
//	                      └─Accept, Decline, Withdraw─▶ closed_accepted,
//	                                            closed_declined, closed_withdrawn
type State string

// The states. The zero value of a [Thread] is pending.
const (
	Pending         State = "pending"
	Offered         State = "offered"
	Countered       State = "countered"
	ClosedAccepted  State = "closed_accepted"
	ClosedDeclined  State = "closed_declined"
	ClosedWithdrawn State = "closed_withdrawn"
)

// IsClosed reports whether nothing can follow.
func (s State) IsClosed() bool {
	return s == ClosedAccepted || s == ClosedDeclined || s == ClosedWithdrawn
}

// A Proposal is an Offer or a Counter that was made in a thread.
type Proposal struct {
	ID    string `json:"id"` // of the envelope
	From  string `json:"from"`
	Price Money  `json:"price"`
}

// A Thread is the state of one negotiation as one participant sees it. The zero Thread has no
// messages yet. It is a value: [Thread.Next] returns a new one.
type Thread struct {
	State State `json:"state"`
	// Parties are the sender and the recipient of the Offer.
	Parties [2]string `json:"parties"`
	// Outstanding is the outstanding proposal, or the last one of a closed thread.
	Outstanding Proposal `json:"outstanding"`
	// Superseded holds the ids of the proposals before it, at most the newest maxSuperseded.
	Superseded []Proposal `json:"superseded,omitempty"`
}

const maxSuperseded = 100

// An Event is the part of an envelope that changes a thread. For a sealed envelope it has the
// opened body.
type Event struct {
	ID, From, To, InReplyTo string
	Body                    Body
}

// EventOf returns the event of an envelope. Body is the opened body of a sealed
// envelope, nil for the envelope's own.
func EventOf(e *Envelope, body Body) Event {
	if body == nil {
		body = e.Body
	}
	return Event{e.ID, e.From, e.To, e.InReplyTo, body}
}

// Next returns the thread after an event. It depends on nothing but its arguments.
// The error is a [*Refusal], and the thread stays as it is. Beyond the draft:
//
//   - A thread belongs to the two parties of its Offer; a message of or to anybody
//     else is refused with 409.
//   - Only an Offer begins a thread, and there is one Offer in it (409).
//   - Nobody counters or accepts a proposal of their own (409), and a Counter, like
//     an Accept, answers the outstanding proposal (409). Either party may decline,
//     as the example of §4.3.5 does, in reply to any proposal of the thread.
//   - A withdrawal of the other's proposal is 400 (§8.3), of one that is superseded
//     409, of one that the thread does not know 400.
//   - A text that is too long and a currency that is none are 400 (§4.3).
//   - The accepted price is that of the outstanding proposal (409).
//   - Bodies of other types, and sealed ones that nobody opened, leave an open
//     thread as it is; a closed one refuses them, too (§8.2).
func (t Thread) Next(e Event) (Thread, error) {
	switch e.Body.(type) {
	case Offer, Counter, Accept, Decline, Withdraw:
	default:
		switch e.Body.Type() {
		case TypeOffer, TypeCounter, TypeAccept, TypeDecline, TypeWithdraw:
			return t, newRefusal(RuleThreadBody, "the body lacks members of its type "+e.Body.Type())
		}
		return t, t.checkOpen(e)
	}
	if err := t.checkOpen(e); err != nil {
		return t, err
	}
	if err := checkValues(e.Body); err != nil {
		return t, err
	}
	if offer, ok := e.Body.(Offer); ok {
		if !t.isPending() {
			return t, t.newConflict("the thread has an Offer already")
		}
		return Thread{State: Offered, Parties: [2]string{e.From, e.To}, Outstanding: Proposal{e.ID, e.From, offer.Price}}, nil
	}
	if t.isPending() {
		return t, t.newConflict("the thread has no Offer")
	}
	if err := CheckReply(e.Body.Type(), e.InReplyTo); err != nil {
		return t, err
	}
	switch body := e.Body.(type) {
	case Counter:
		if err := t.checkAnswer(e); err != nil {
			return t, err
		}
		keep := t.Superseded[max(0, len(t.Superseded)-maxSuperseded+1):]
		next := t
		next.State = Countered
		next.Superseded = append(keep[:len(keep):len(keep)], t.Outstanding)
		next.Outstanding = Proposal{e.ID, e.From, body.Price}
		return next, nil
	case Accept:
		if err := t.checkAnswer(e); err != nil {
			return t, err
		}
		if body.AcceptedPrice != t.Outstanding.Price {
			return t, t.newConflict("accepted_price is not the price of the outstanding proposal")
		}
		return t.closeAs(ClosedAccepted), nil
	case Decline:
		if !t.hasProposal(e.InReplyTo) {
			return t, t.newConflict("in_reply_to names no proposal of the thread")
		}
		return t.closeAs(ClosedDeclined), nil
	case Withdraw:
		return t.applyWithdraw(e, body)
	}
	return t, nil
}

// CheckReply checks that a message that must name the one that it answers does so (§8.1). kind is the type
// of its body, of the opened one if it is sealed. The error is a [*Refusal].
func CheckReply(kind, inReplyTo string) error {
	switch kind {
	case TypeCounter, TypeAccept, TypeDecline:
		if inReplyTo == "" {
			return newRefusal(RuleThreadBody, "in_reply_to is missing, which "+kind+" needs")
		}
	}
	return nil
}

func (t Thread) isPending() bool { return t.State == "" || t.State == Pending }

func (t Thread) closeAs(s State) Thread {
	t.State = s
	return t
}

// checkOpen refuses messages in a closed thread and from other parties.
func (t Thread) checkOpen(e Event) error {
	if t.isPending() {
		return nil
	}
	if !(e.From == t.Parties[0] && e.To == t.Parties[1] || e.From == t.Parties[1] && e.To == t.Parties[0]) {
		return t.newConflict("the thread is between two others")
	}
	if t.State.IsClosed() {
		return newRefusal(RuleThreadClosed, "the thread is "+string(t.State))
	}
	return nil
}

// checkAnswer requires an answer to the outstanding proposal by the other party.
func (t Thread) checkAnswer(e Event) error {
	switch {
	case e.From == t.Outstanding.From:
		return t.newConflict("the outstanding proposal is the sender's own")
	case e.InReplyTo != t.Outstanding.ID:
		return t.newConflict("in_reply_to is not the outstanding proposal, " + quoteShort(t.Outstanding.ID))
	}
	return nil
}

func (t Thread) applyWithdraw(e Event, body Withdraw) (Thread, error) {
	switch {
	case t.Outstanding.ID == body.WithdrawnID && t.Outstanding.From == e.From:
		return t.closeAs(ClosedWithdrawn), nil
	case slices.ContainsFunc(t.Superseded, func(p Proposal) bool { return p.ID == body.WithdrawnID && p.From == e.From }):
		return t, t.newConflict("the proposal to withdraw is superseded")
	case t.hasProposal(body.WithdrawnID):
		return t, newRefusal(RuleThreadBody, "the proposal to withdraw was made by the other party")
	}
	return t, newRefusal(RuleThreadBody, "withdrawn_id names no proposal of the thread")
}

// hasProposal reports whether an envelope of the thread made a proposal. The two parties choose their
// ids independently of each other, so both may have used one.
func (t Thread) hasProposal(id string) bool {
	return t.Outstanding.ID == id || slices.ContainsFunc(t.Superseded, func(p Proposal) bool { return p.ID == id })
}

// newConflict returns a refusal that names the state, so that a sender whose message crossed
// another one can tell what happened.
func (t Thread) newConflict(detail string) *Refusal {
	state := cmp.Or(t.State, Pending)
	return newRefusal(RuleThread, fmt.Sprintf("%s; the thread is %s", detail, state))
}
