package query

import (
	"slices"
	"strings"
	"testing"

	"gazetteer/index/tokens"
	"gazetteer/protocol/effect"
)

func TestProhibitionsAreNoGoals(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text, verb, forbidden string
		goals                 int
	}{
		{"hire a canoe and please do not pay yet", "hire", "pay", 1},
		{"compare the ferries without booking", "compare", "book", 1},
		{"find a cabin in Bergen for June, don't book, pay or cancel anything", "find", "book pay cancel", 1},
		{"list the drafts. Do not send, move, or delete any of them.", "list", "send move delete", 1},
		{"show me yurts without renting, buying or reserving", "", "rent buy reserve", 1},
		{"do not book, cancel my old cabin", "cancel", "book", 1},
		{"please don't send it, archive the draft", "archive", "send", 1},
		{"don't sell it, rent it out to the club", "rent", "sell", 1},
		{"hire a canoe and send the receipt to the club", "hire", "", 2},
		{"do not forget to water the plants", "", "", 1},
		{"find a cabin, do not book it, and check the weather there", "find", "book", 2},
		// What follows a prohibition with an object of its own is the request.
		{"please don't cancel the flight, rebook or move it to May", "rebook", "cancel", 1},
		{"don't pay the order, exchange or return it", "", "pay", 1},
		{"never pay the order, return or exchange it", "return", "pay", 1},
		{"don't delete the mail, archive or print it", "", "delete mail", 1},
		{"Don't send the mail, save or print it", "save", "send mail", 1},
		{"look at my order: don't cancel it, exchange or return the shoes", "look at", "cancel", 1},
		{"find a hotel but do not cancel the old one, move or extend it", "find", "cancel", 1},
		{"book a room, don't pay now, reserve or hold it", "book", "pay", 1},
		{"don't cancel the flight, or move it", "", "cancel move", 1},
		// A request that only forbids wants none of what it forbids.
		{"don't book, pay or cancel anything", "", "book pay cancel", 1},
		{"why can't I cancel, change or refund my order", "", "", 1},
		{"cannot cancel my berth", "", "", 1},
		{"don't let me forget to pay the rent", "", "", 1},
		// Expressions in a prohibition.
		{"sell my bike, don't put it on the market yet", "sell", "put create", 1},
		{"draft an offer for my boat, don't put it on the market yet", "draft", "put", 1},
		{"find a tenant but don't put it online yet", "find", "put publish upload", 1},
		{"check my subscription, do not stop it from renewing", "check", "stop renew cancel", 1},
		{"compare gyms, and do not quit my gym", "compare", "quit cancel", 1},
		{"write the report, and don't give him access to it", "write", "give grant", 1},
		{"the price of a canoe, no booking", "", "book", 1},
		{"tents for six; no orders", "", "order", 1},
		{"rooms with breakfast, no smoking", "", "", 1},
		{"list_orders, cancel none", "list", "cancel", 1},
		{"cancel_order, no wait, just show the order", "", "cancel", 1},
	} {
		r := ParseRequest(a, c.text)
		var verbs []string
		for _, p := range r.Prohibitions {
			verbs = append(verbs, p.Verbs...)
		}
		if strings.Join(verbs, " ") != c.forbidden || c.verb != "" && r.Act.Verb != c.verb || c.verb != "" && r.Act.Question {
			t.Errorf("%s: forbids %q, the act is %+v", c.text, verbs, r.Act)
		}
		if goals := max(1, len(r.Clauses())); goals != c.goals {
			t.Errorf("%s: %d goals", c.text, goals)
		}
		if slices.ContainsFunc(r.Words, func(w Word) bool { return w.Asked == "please" }) {
			t.Errorf("%s: looks for please", c.text)
		}
	}
}

// TestNotYetForbidsChanges checks that what is not wanted yet is not canceled, and that nothing is changed.
func TestNotYetForbidsChanges(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, readOnly := range map[string]bool{"estimate the ferry, I do not want one yet": true, "what does a canoe cost, we don't need it yet": true, "I do not need the canoe any more": false} {
		r := ParseRequest(a, text)
		forbids := slices.ContainsFunc(r.Prohibitions, func(p Prohibition) bool { return p.ReadOnly })
		if forbids != readOnly || slices.Contains(meanings(r), "cancel") == readOnly {
			t.Errorf("%s: forbids %+v, looks for %q", text, r.Prohibitions, meanings(r))
		}
	}
}

// TestOneActInsteadOfAnother checks what requests rule out by naming it beside what they want.
func TestOneActInsteadOfAnother(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, verb := range map[string]string{
		"wipe the appointment completely instead of just cancelling it": "cancel",
		"archive the project rather than delete it":                     "delete",
		"make an offer instead of paying the 790 asked":                 "pay",
	} {
		if p := ParseRequest(a, text).Prohibitions; len(p) != 1 || !slices.Equal(p[0].Verbs, []string{verb}) {
			t.Errorf("%q forbids %+v", text, p)
		}
	}
	if p := ParseRequest(a, "book the window seat instead of booking the aisle").Prohibitions; len(p) != 0 {
		t.Errorf("a booking forbids %+v", p)
	}
	for _, text := range []string{"Ask for a plumber on Monday, but only tell me the price", "book a taxi, I only want to know the price"} {
		r := ParseRequest(a, text)
		if len(r.Prohibitions) != 1 || !r.Prohibitions[0].ReadOnly || r.Act.Wanted != Reading {
			t.Errorf("%q wants %v and forbids %+v", text, r.Act.Wanted, r.Prohibitions)
		}
	}
}

// What a prohibition forbids is not looked for, in whatever words: the expression, its verb, or a
// verb that it has the request end something with.
func TestForbiddenActsAreNotLookedFor(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, not := range map[string]string{
		"sell my bike, don't put it on the market yet": "listing", "find a tenant but don't put it online yet": "publish", "check my subscription, do not stop it from renewing": "cancel",
		"compare gyms, and do not quit my gym": "cancel", "write the report, and don't give him access to it": "grant",
	} {
		if all := meanings(ParseRequest(a, text)); slices.ContainsFunc(all, func(form string) bool { return tokens.StemOf(form) == tokens.StemOf(not) }) {
			t.Errorf("%s looks for %q", text, all)
		}
	}
	for _, text := range []string{"don't book, pay or cancel anything", "never cancel my berth", "list_orders, cancel none", "cancel_order, no wait, just show the order", "don't pay the order, exchange it"} {
		if act := ParseRequest(a, text).Act; act.Ends || act.Wanted == effect.End || act.Verb == "pay" {
			t.Errorf("%s: the act is %+v", text, act)
		}
	}
}
