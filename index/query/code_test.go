package query

import (
	"slices"
	"testing"

	"gazetteer/index/tokens"
	"gazetteer/protocol/effect"
)

func TestRequestsInTheFormOfCode(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text, verb string
		main       []string // words that count in full
		less       []string // words that count less
		ends, asks bool
	}{
		{"GET /invoices/{id}", "retrieve", []string{"invoices"}, []string{"retrieve", "id"}, false, true},
		{"GET /v2/ferry-terminals?country=no", "list", []string{"ferry", "terminals"}, []string{"list", "country"}, false, true},
		{"DELETE /v1/members/42", "delete", []string{"members"}, []string{"delete"}, true, false},
		{"DELETE /boards/{boardId}/columns/{columnId}", "delete", []string{"columns"}, []string{"boards", "delete"}, true, false},
		{"POST /api/v1/bookings/17/cancel", "cancel", []string{"bookings", "cancel"}, nil, true, false},
		{"POST https://shop.example.com/v3/coupons {\"code\": \"x\"}", "create", []string{"coupons"}, []string{"create", "code"}, false, false},
		{"GET /shipments/{number}/status", "retrieve", []string{"shipments", "status"}, []string{"number"}, false, true},
		{"PATCH /profile", "update", []string{"profile"}, []string{"update"}, false, false},
		{"curl -X PUT https://x.example/lamps/5", "update", []string{"lamps"}, []string{"update"}, false, false},
		{"RESERVE /berth", "reserve", []string{"berth"}, []string{"reserve"}, false, false},
		{"createVoucher(customerId)", "create", []string{"create", "Voucher"}, []string{"customer"}, false, false},
		{"list_overdue_loans", "list", []string{"list", "overdue", "loans"}, nil, false, false},
		{"archive_thread thread_id reason", "archive", []string{"thread"}, []string{"reason"}, true, false},
		{"get-ferry-times from=Oslo to=Kiel", "get", []string{"ferry", "times"}, []string{"from", "to"}, false, false},
		{"deleteDraft", "delete", []string{"draft"}, nil, true, false},
		{"drafts.delete", "delete", []string{"drafts", "delete"}, nil, true, false},
		{"channel.sendReply text='we are on our way'", "send", []string{"channel", "reply"}, []string{"text"}, false, false},
	} {
		r := ParseRequest(a, c.text)
		if r.Act.Verb != c.verb || r.Act.Ends != c.ends || r.Act.Question != c.asks {
			t.Errorf("%s: the act is %+v", c.text, r.Act)
		}
		for _, w := range c.main {
			if weightOf(r, w) != 1 {
				t.Errorf("%s: %s counts %g", c.text, w, weightOf(r, w))
			}
		}
		for _, w := range c.less {
			if weight := weightOf(r, w); weight >= 1 {
				t.Errorf("%s: %s counts %g", c.text, w, weight)
			}
		}
	}
	if act := ParseRequest(a, "order_status(id)").Act; !act.Shows || act.Wanted != Reading {
		t.Errorf("a name without a verb: %+v", act)
	}
}

// What looks like code is often a brand, a host, a compound or a word with an optional ending.
func TestWordsThatLookLikeCode(t *testing.T) {
	for _, text := range []string{
		"eBay listings", "iPhone repair", "macOS update", "book(s) about gardening", "Freund(in) anrufen", "check-in for my flight", "check-in", "sign-up form",
		"read-only access to the ledger", "mail-order shoes", "example.com", "amazon.de", "post to r/gardening", "and/or", "24/7 hotline", "a t-shirt in size M",
		"fetch https://example.com/a.html", "GET ME A TAXI", "re-order my lenses", "follow-up with the dentist",
		"book-keeping", "e-mail", "pay-as-you-go phone", "Send flowers to Anna", "play AC/DC", "km/h to mph",
	} {
		if c, ok := splitCode(text); ok {
			t.Errorf("%s is read as code: %+v", text, c)
		}
	}
}

func TestCodeKeepsItsProhibitions(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, verb := range map[string]string{
		"createVoucher(customerId), do not mail it":            "mail",
		"quote(item) -> price, and please do not buy":          "buy",
		"GET /berths?harbour=Kiel without reserving":           "reserve",
		"list_overdue_loans, delete nothing":                   "delete",
		"POST /drafts {\"text\": \"x\"}":                       "",
		"search_berths harbour='Kiel' but do not book any yet": "book",
	} {
		r := ParseRequest(a, text)
		var verbs []string
		for _, p := range r.Prohibitions {
			verbs = append(verbs, p.Verbs...)
		}
		if verb != "" && !slices.Contains(verbs, verb) || verb == "" && len(verbs) > 0 {
			t.Errorf("%s forbids %q", text, verbs)
		}
		if effect.Of(r.Act.Verb) == 0 && verb != "buy" {
			t.Errorf("%s: the act is %+v", text, r.Act)
		}
	}
}
