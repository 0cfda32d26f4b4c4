package query

import (
	"runtime"
	"slices"
	"strings"
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
		// A verb with a particle.
		{"turn_off_light(id)", "disable", []string{"light"}, []string{"id"}, true, false},
		{"turnOnHeating", "enable", []string{"heating"}, nil, false, false},
		{"check_out(cart)", "check out", nil, []string{"cart"}, false, false},
		{"check_in(flight)", "register", nil, []string{"flight"}, false, false},
		{"opt_out(user)", "opt out", nil, []string{"user"}, false, false},
		{"get_rid_of(file)", "delete", nil, []string{"file"}, true, false},
		{"sign_up", "sign up", nil, nil, false, false},
		{"log_out", "logout", nil, nil, false, false},
		{"set_up_account", "set up", []string{"account"}, nil, false, false},
		{"POST /devices/5/turn-off", "disable", []string{"devices", "turn"}, nil, true, false},
		// A name of a thing that has to do with an act.
		{"refund_policy", "", []string{"refund", "policy"}, nil, false, false},
		{"delete_count", "", []string{"delete", "count"}, nil, false, false},
		{"cancel_policy", "", []string{"policy"}, nil, false, false},
		{"book_club", "", []string{"book", "club"}, nil, false, false},
		{"delete_policy", "delete", []string{"policy"}, nil, true, false},
		{"check_in_date", "", []string{"date"}, nil, false, false},
		{"set_temperature(room, value)", "set", []string{"temperature"}, []string{"room"}, false, false},
		{"detectLanguage(text) -> lang, confidence", "detect", []string{"Language"}, []string{"confidence"}, false, false},
		{"invoices/settle invoice=7", "settle", []string{"invoices", "settle"}, []string{"invoice"}, false, false},
		{"ticket.reply", "reply", []string{"ticket", "reply"}, nil, false, false},
		{"post.deleteComment", "delete", []string{"comment"}, nil, true, false},
		// The end of a path says what POST, PUT and PATCH do.
		{"POST /v1/flights/search", "search", []string{"flights", "search"}, nil, false, false},
		{"POST /translate", "translate", []string{"translate"}, nil, false, false},
		{"POST /geocode", "geocode", []string{"geocode"}, nil, false, false},
		{"POST /validate-address", "validate", []string{"address"}, nil, false, false},
		{"POST /orders/17/preview", "preview", []string{"orders", "preview"}, nil, false, false},
		{"POST /check-availability", "check", []string{"availability"}, nil, false, false},
		{"POST /v2/messages/sms {to, body}", "send", []string{"sms"}, []string{"messages", "body"}, false, false},
		{"POST /v1/bookings", "book", []string{"bookings"}, nil, false, false},
		{"POST /meetings", "meet", []string{"meetings"}, nil, false, false},
		{"POST /settings", "create", []string{"settings"}, []string{"create"}, false, false},
		{"POST /rooms/5/heating", "create", []string{"heating"}, []string{"create"}, false, false},
		{"POST /shipping-rates", "create", []string{"rates"}, []string{"create"}, false, false},
		{"POST /listings", "create", []string{"listings"}, []string{"create"}, false, false},
		{"POST /users/5/profile", "create", []string{"profile"}, []string{"users"}, false, false},
		{"PUT /orders/17/cancel", "cancel", []string{"orders", "cancel"}, nil, true, false},
		{"PATCH /subscriptions/5/cancel", "cancel", []string{"subscriptions", "cancel"}, nil, true, false},
		{"PUT /users/5/email", "update", []string{"email"}, []string{"users"}, false, false},
		{"delete /v1/members/42", "delete", []string{"members"}, []string{"delete"}, true, false},
		// What is said after the code counts less.
		{"getOrder(id) and show me the total", "get", []string{"Order"}, []string{"id", "total"}, false, false},
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
		"child(ren) swimming lessons in Leeds", "apartment(2br) to rent in Lisbon", "cook(ing) lessons in Rome",
		"acme.design", "acme.build", "acme.chat", "shop.rent", "www.order", "my.order", "smith.book", "and.cancel",
		"payPal", "openTable", "playStation", "tradeRepublic", "cleanMyMac", "shareNow", "runKeeper",
		"remove-before-flight", "pay-per-view", "open-plan-office",
		"delete /tmp/old.log from the server, but not /tmp/new.log", "post /r/gardening my photo", "channel.sendReply text='we are on our way' urgent",
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
		"POST /orders {\"item\": 1}, do not pay":               "pay",
		"POST /orders {\"item\": 1} but don't charge the card": "charge",
		"getOrder(id), don't pay :)":                           "pay",
		"quote(order) and do not pay (yet)":                    "pay",
		"compare flights Oslo -> Bergen but do not book":       "book",
		"search flights (LHR -> JFK) and don't book":           "book",
		"quote(item) -> price — do not buy":                    "buy",
		"list_orders, cancel none":                             "cancel",
	} {
		r := ParseRequest(a, text)
		var verbs []string
		for _, p := range r.Prohibitions {
			verbs = append(verbs, p.Verbs...)
		}
		if verb != "" && !slices.Contains(verbs, verb) || verb == "" && len(verbs) > 0 {
			t.Errorf("%s forbids %q", text, verbs)
		}
		if effect.Of(r.Act.Verb) == 0 || r.Act.Verb == verb {
			t.Errorf("%s: the act is %+v", text, r.Act)
		}
		if verb != "" && weightOf(r, verb) != 0 {
			t.Errorf("%s: looks for %s", text, verb)
		}
	}
}

// Verbs that only read want nothing else, whatever the method.
func TestReadingPathsWantNoChange(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, reads := range map[string]bool{"POST /flights/search": true, "POST /translate": true, "POST /check-availability": true, "POST /search": true, "POST /lists": false, "check_in_date": true, "PUT /threads/5/lock": false} {
		if act := ParseRequest(a, text).Act; (act.Wanted != 0 && act.Wanted&^Reading == 0) != reads {
			t.Errorf("%s wants %s", text, act.Wanted)
		}
	}
}

// TestLongCodeIsReadInLinearTime measures allocated bytes, which no other load of the machine changes.
func TestLongCodeIsReadInLinearTime(t *testing.T) {
	allocated := func(n int) uint64 {
		text := "get_user x='" + strings.Repeat(" a", n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		splitCode(text)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(1) // unpacks the tables
	if once, more := allocated(1000), allocated(4000); more > 8*once {
		t.Errorf("%d bytes for 1,000 words, %d for 4,000", once, more)
	}
}
