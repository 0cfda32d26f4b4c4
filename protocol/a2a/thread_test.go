package a2a_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gazetteer/protocol/a2a"
)

func usd(cents uint64) a2a.Money { return a2a.Money{AmountCents: cents, Currency: "USD"} }

func offer(cents uint64) a2a.Body {
	return a2a.Offer{Description: "x", Price: usd(cents), ExpiresAt: noon.Add(time.Hour)}
}

func counter(cents uint64) a2a.Body {
	return a2a.Counter{Description: "x", Price: usd(cents), ExpiresAt: noon.Add(time.Hour)}
}

// A line of a scenario: the sender, the id, the id that it answers, the body, and the expected
// status and state. Alice and bob are the parties.
type line struct {
	from, id, reply string
	body            a2a.Body
	status          int
	state           a2a.State
}

func TestThreads(t *testing.T) {
	accept := func(cents uint64) a2a.Body { return a2a.Accept{AcceptedPrice: usd(cents)} }
	decline := a2a.Decline{}
	withdraw := func(id string) a2a.Body { return a2a.Withdraw{WithdrawnID: id} }
	text := a2a.Other{Kind: "text", JSON: []byte(`{"type":"text"}`)}
	stories := map[string][]line{
		"accepted":                        {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "1", accept(5), 0, a2a.ClosedAccepted}},
		"declined":                        {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "1", decline, 0, a2a.ClosedDeclined}},
		"withdrawn before any reply":      {{alice, "1", "", offer(5), 0, a2a.Offered}, {alice, "2", "", withdraw("1"), 0, a2a.ClosedWithdrawn}},
		"haggled":                         {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "1", counter(4), 0, a2a.Countered}, {alice, "3", "2", counter(6), 0, a2a.Countered}, {bob, "4", "3", accept(6), 0, a2a.ClosedAccepted}},
		"a counter is withdrawn":          {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "1", counter(4), 0, a2a.Countered}, {bob, "3", "2", withdraw("2"), 0, a2a.ClosedWithdrawn}},
		"a counter is declined":           {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "1", counter(4), 0, a2a.Countered}, {alice, "3", "2", decline, 0, a2a.ClosedDeclined}},
		"decline of one's own (§4.3.5)":   {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "1", counter(4), 0, a2a.Countered}, {bob, "3", "2", decline, 0, a2a.ClosedDeclined}},
		"the first Offer may answer":      {{alice, "1", "0", offer(5), 0, a2a.Offered}},
		"no Offer":                        {{alice, "1", "0", counter(5), 409, ""}, {alice, "2", "0", accept(5), 409, ""}, {alice, "3", "0", decline, 409, ""}, {alice, "4", "0", withdraw("0"), 409, ""}, {alice, "5", "", offer(5), 0, a2a.Offered}},
		"two Offers":                      {{alice, "1", "", offer(5), 0, a2a.Offered}, {alice, "2", "", offer(6), 409, a2a.Offered}, {bob, "3", "1", offer(6), 409, a2a.Offered}, {bob, "4", "1", accept(5), 0, a2a.ClosedAccepted}},
		"acceptance of one's own":         {{alice, "1", "", offer(5), 0, a2a.Offered}, {alice, "2", "1", accept(5), 409, a2a.Offered}},
		"counter to one's own":            {{alice, "1", "", offer(5), 0, a2a.Offered}, {alice, "2", "1", counter(6), 409, a2a.Offered}},
		"acceptance of what is countered": {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "1", counter(4), 0, a2a.Countered}, {bob, "3", "1", accept(5), 409, a2a.Countered}, {alice, "4", "1", accept(4), 409, a2a.Countered}},
		"acceptance of what is unknown":   {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "9", accept(5), 409, a2a.Offered}, {bob, "3", "", accept(5), 400, a2a.Offered}},
		"another price":                   {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "1", accept(6), 409, a2a.Offered}, {bob, "3", "1", a2a.Accept{AcceptedPrice: a2a.Money{AmountCents: 5, Currency: "EUR"}}, 409, a2a.Offered}},
		"counter to what is superseded":   {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "1", counter(4), 0, a2a.Countered}, {alice, "3", "1", counter(6), 409, a2a.Countered}},
		"counter without a reference":     {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "", counter(4), 400, a2a.Offered}, {bob, "3", "", decline, 400, a2a.Offered}},
		"decline of what is unknown":      {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "9", decline, 409, a2a.Offered}},
		"decline of what is superseded":   {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "1", counter(4), 0, a2a.Countered}, {bob, "3", "1", decline, 0, a2a.ClosedDeclined}},
		"withdrawal by the other":         {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "1", withdraw("1"), 400, a2a.Offered}, {bob, "3", "", withdraw("1"), 400, a2a.Offered}},
		"withdrawal of what is unknown":   {{alice, "1", "", offer(5), 0, a2a.Offered}, {alice, "2", "", withdraw("9"), 400, a2a.Offered}},
		"withdrawal of what is countered": {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "1", counter(4), 0, a2a.Countered}, {alice, "3", "1", withdraw("1"), 409, a2a.Countered}, {alice, "4", "2", withdraw("2"), 400, a2a.Countered}},
		"one id used by both":             {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "1", "1", counter(4), 0, a2a.Countered}, {alice, "2", "1", withdraw("1"), 409, a2a.Countered}, {bob, "3", "1", withdraw("1"), 0, a2a.ClosedWithdrawn}},
		"one id used by both, superseded": {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "1", "1", counter(4), 0, a2a.Countered}, {alice, "2", "1", counter(5), 0, a2a.Countered}, {bob, "3", "2", withdraw("1"), 409, a2a.Countered}, {alice, "4", "", withdraw("2"), 0, a2a.ClosedWithdrawn}},
		"values that §4.3 forbids": {
			{alice, "1", "", a2a.Offer{Price: a2a.Money{AmountCents: 5, Currency: "usd"}}, 400, ""}, {alice, "2", "", a2a.Offer{Description: strings.Repeat("é", 2049), Price: usd(5)}, 400, ""},
			{alice, "3", "", a2a.Offer{Description: strings.Repeat("é", 2048), Price: usd(5)}, 0, a2a.Offered}, {bob, "4", "3", a2a.Counter{Description: strings.Repeat("é", 2049), Price: usd(4)}, 400, a2a.Offered},
			{bob, "5", "3", a2a.Counter{Price: a2a.Money{AmountCents: 4}}, 400, a2a.Offered}, {bob, "6", "3", a2a.Accept{AcceptedPrice: a2a.Money{AmountCents: 5, Currency: "U$D"}}, 400, a2a.Offered},
			{alice, "7", "", a2a.Withdraw{WithdrawnID: "3", Reason: strings.Repeat("é", 513)}, 400, a2a.Offered}, {bob, "8", "3", a2a.Decline{Reason: strings.Repeat("é", 513)}, 400, a2a.Offered},
			{bob, "9", "3", a2a.Decline{Reason: strings.Repeat("é", 512)}, 0, a2a.ClosedDeclined},
		},
		"a stranger":                {{alice, "1", "", offer(5), 0, a2a.Offered}, {carol, "2", "1", accept(5), 409, a2a.Offered}, {carol, "3", "", offer(5), 409, a2a.Offered}, {carol, "4", "1", decline, 409, a2a.Offered}, {carol, "5", "1", withdraw("1"), 409, a2a.Offered}, {carol, "6", "", text, 409, a2a.Offered}},
		"other bodies":              {{alice, "0", "", text, 0, ""}, {alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "", text, 0, a2a.Offered}, {bob, "3", "", a2a.Sealed{}, 0, a2a.Offered}, {bob, "4", "1", accept(5), 0, a2a.ClosedAccepted}, {bob, "5", "", text, 409, a2a.ClosedAccepted}},
		"a body that lacks members": {{alice, "1", "", a2a.Other{Kind: "Offer"}, 400, ""}, {alice, "2", "", offer(5), 0, a2a.Offered}, {bob, "3", "1", a2a.Other{Kind: "Accept"}, 400, a2a.Offered}},
		"crossing":                  {{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "1", counter(4), 0, a2a.Countered}, {alice, "3", "2", accept(4), 0, a2a.ClosedAccepted}, {bob, "4", "2", withdraw("2"), 409, a2a.ClosedAccepted}},
	}
	for _, end := range []a2a.Body{accept(5), decline} {
		stories["closed by "+end.Type()] = []line{{alice, "1", "", offer(5), 0, a2a.Offered}, {bob, "2", "1", end, 0, ""}, {alice, "3", "", offer(5), 409, ""}, {alice, "4", "1", counter(5), 409, ""},
			{bob, "5", "1", end, 409, ""}, {alice, "6", "", withdraw("1"), 409, ""}, {bob, "7", "1", withdraw("1"), 409, ""}, {bob, "8", "", counter(3), 409, ""}}
	}
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			var thread a2a.Thread
			for _, l := range story {
				to := map[string]string{alice: bob, bob: alice, carol: bob}[l.from]
				before := thread
				next, err := thread.Next(a2a.Event{ID: l.id, From: l.from, To: to, InReplyTo: l.reply, Body: l.body})
				if statusOf(err) != l.status || (err == nil) != (l.status == 0) {
					t.Fatalf("%s of %s: %v, want %d", l.body.Type(), l.id, err, l.status)
				}
				if err != nil && fmt.Sprint(next) != fmt.Sprint(before) {
					t.Fatalf("%s of %s is refused and changes the thread", l.body.Type(), l.id)
				}
				r, _ := errors.AsType[*a2a.Refusal](err)
				if closed := before.State.IsClosed(); closed && (r == nil || r.Reason != "Thread Closed" || !strings.Contains(r.Detail, string(before.State))) {
					t.Errorf("%s of %s in a closed thread: %v", l.body.Type(), l.id, err)
				}
				if thread = next; l.state != "" && thread.State != l.state {
					t.Fatalf("after %s of %s the thread is %s, want %s", l.body.Type(), l.id, thread.State, l.state)
				}
			}
		})
	}
}

// TestThreadsAreValues checks that Next depends only on its arguments: two continuations of one
// thread do not affect each other.
func TestThreadsAreValues(t *testing.T) {
	thread := a2a.Thread{}
	who := [2]string{alice, bob}
	for i := range 150 {
		body := counter(uint64(i))
		if i == 0 {
			body = offer(0)
		}
		from, to := who[i%2], who[(i+1)%2]
		event := a2a.Event{ID: fmt.Sprint(i), From: from, To: to, InReplyTo: fmt.Sprint(i - 1), Body: body}
		next, err := thread.Next(event)
		if err != nil {
			t.Fatal(err)
		}
		event.ID = "other"
		other, err := thread.Next(event)
		if err != nil || other.Outstanding.ID != "other" || next.Outstanding.ID != fmt.Sprint(i) {
			t.Fatalf("%v, %v", other, err)
		}
		thread = next
	}
	if len(thread.Superseded) != 100 || thread.Superseded[99].ID != "148" || thread.Superseded[0].ID != "49" {
		t.Errorf("%d superseded, from %s", len(thread.Superseded), thread.Superseded[0].ID)
	}
}

// Threads in mailboxes were stored with the name AmountCents.
func TestMoneyReadsEarlierName(t *testing.T) {
	want := usd(750)
	for _, text := range []string{`{"amount_cents":750,"currency":"USD"}`, `{"AmountCents":750,"Currency":"USD"}`} {
		var got a2a.Money
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}
