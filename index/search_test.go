package index

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/index/query"
	"gazetteer/index/semantic"
	"gazetteer/index/view"
	"gazetteer/internal/teststore"
	"gazetteer/protocol"
	"gazetteer/store"
)

// golden are queries over testdata/services.jsonl with the exact top hit.
var golden = []struct{ asked, top string }{
	{"convert 100 euros to another currency", "vatapi.com.test CONVERT /currency-conversion"},
	{"I want to book a hotel room", "amadeus.com-amadeus-hotel-booking.test CREATE /booking/hotel-bookings"},
	{"will my flight be delayed?", "amadeus.com-amadeus-flight-delay-prediction.test RETURN /predictions/flight-delay"},
	{"cheapest date to fly", "amadeus.com-amadeus-flight-cheapest-date-search.test FIND /shopping/flight-dates"},
	{"what is the weather forecast for tomorrow", "visualcrossing.com-weather.test WEATHER /weatherdata/forecast"},
	{"hourly marine forecast at coordinates", "stormglass.io.test RETRIEVE /forecast"},
	{"please shorten a long link", "tinyuid.com.test CREATE /shorten"},
	{"remove the background from a picture", "remove.bg.test REMOVE /removebg"},
	{"transcribe speech to text", "rev.ai.test SUBMIT /jobs"},
	{"when does the next bus arrive at my stop", "wmata.com-bus-realtime.test LIST /predictions"}, // the same in JSON
	{"current time in a timezone", "worldtimeapi.org.test REQUEST /timezone/{area}/{location}"},
	{"route between an origin and a destination", "tomtom.com-routing.test CALCULATE /routing/{versionNumber}/route/{locations}/{contentType}"},
	{"check whether a VAT number is valid", "vatapi.com.test VALIDATE /vat-number-check"},
	{"delete a fax and everything associated with it", "twilio.com-twilio-fax-v1.test REMOVE /faxes/{Sid}"},
	{"find concerts and other events near me", "ticketmaster.com-discovery.test LIST /discovery/events"},
	{"fetch the current comic", "xkcd.com.test FETCH /info-0-json"},
	{"cancel a payout", "adyen.com-payoutservice.test CANCEL /decline-third-party"},
	{"location of an IP address", "abstractapi.com-geolocation.test RETRIEVE /resource"},
	{"update the inventory of an item", "walmart.com-inventory.test UPDATE /inventory"},
	{"what language is this text written in", "symanto.net.test CREATE /language-detection"},
	{"convert html to pdf", "scideas.net-perfectpdf.test RETURN /perfectpdf"},
	{"school rankings of a state", "schooldigger.com.test RETURN /rankings/schools/{st}"},
	{"turn a long web address into a short one", "tinyuid.com.test CREATE /shorten"},
	{"is this VAT number correct?", "vatapi.com.test VALIDATE /vat-number-check"},
	{"what are 50 euros in another currency", "vatapi.com.test CONVERT /currency-conversion"},
	{"will it rain this weekend", "visualcrossing.com-weather.test WEATHER /weatherdata/forecast"},
	{"where is this computer in the world, by its address", "abstractapi.com-geolocation.test RETRIEVE /resource"},
	{"make an image without its background", "remove.bg.test REMOVE /removebg"},
	{"make a PDF out of a web page", "scideas.net-perfectpdf.test RETURN /perfectpdf"},
	{"which language is it", "symanto.net.test CREATE /language-detection"},
}

func TestGoldenQueries(t *testing.T) {
	x, _ := indexed(t, realServices(t)...)
	for _, g := range golden {
		t.Run(g.asked, func(t *testing.T) {
			r := search(t, x, query.Query{Words: g.asked})
			if got := named(r); len(got) == 0 || got[0] != g.top {
				for _, h := range r.Hits[:min(4, len(r.Hits))] {
					t.Logf("%.3f %s %s %+v", h.Score, h.Host, h.Operation.ID, h.Why)
				}
				t.Errorf("top hit is not %s", g.top)
			}
		})
	}
}

func TestHitNeedsNoSecondLookup(t *testing.T) {
	d := agis("example.test", "BOOK /reservation: Reserves a table for a party", "CANCEL /stay: Cancels it")
	d.Service.Namespace = "dining"
	d.Findings = []protocol.Finding{{Code: "X1", Severity: protocol.Info}, {Code: "X2", Severity: protocol.Warning}}
	x, s := indexed(t, d)
	r := search(t, x, query.Query{Words: "book the table, please"})
	if len(r.Hits) != 1 || r.Total != 1 || r.More || r.Seq != s.Head().Seq || r.Near != nil || r.Note != "" {
		t.Fatalf("got %+v", r)
	}
	h := r.Hits[0]
	h.Score = 0
	want := Hit{
		Host: d.Host, Service: d.Service, Operation: d.Operations[0], Kind: document.AGIS, Source: document.Linked,
		Document: d.URL, Digest: d.Digest, FetchedAt: d.FetchedAt, ChangedAt: d.ChangedAt, Findings: "warning",
		Why: Why{
			Matched: []Match{
				{Term: "book", Field: "act", Kind: "exact", Text: "BOOK"},
				{Term: "table", Field: "what", Kind: "exact", Text: "table"},
			},
			Verb:     &Verb{Asked: "book", Offered: "BOOK", Relation: "exact"},
			Coverage: 1,
		},
		Effect: Effect{Value: "commit", Source: EffectInferred, From: "verb BOOK"},
	}
	if h.Fit < 0.8 || h.Fit > 1 || h.Far {
		t.Errorf("the fit is %v, far %v", h.Fit, h.Far)
	}
	h.Fit, h.encoded = 0, nil
	if !reflect.DeepEqual(h, want) {
		t.Errorf("got  %+v\nwant %+v", h, want)
	}
}

func TestWhyListsMatchesAndMisses(t *testing.T) {
	x, _ := indexed(t, agis("example.test", "SCHEDULE /meeting: Schedules meetings with userAccounts"))
	h := search(t, x, query.Query{Words: "scheduling a meeting for Thursday"}).Hits[0]
	want := Why{
		Matched: []Match{
			{Term: "scheduling", Field: "act", Kind: "stem", Text: "SCHEDULE"},
			{Term: "scheduling", Field: "what", Kind: "stem", Text: "Schedules"},
			{Term: "meeting", Field: "act", Kind: "exact", Text: "meeting"},
			{Term: "meeting", Field: "what", Kind: "stem", Text: "meetings"},
		},
		Verb:     &Verb{Asked: "scheduling", Offered: "SCHEDULE", Relation: "stem"},
		Coverage: 2.0 / 3,
		Missing:  []string{"Thursday"},
	}
	if !reflect.DeepEqual(h.Why, want) {
		t.Errorf("got  %+v\nwant %+v", h.Why, want)
	}
}

// TestReasonOfExpressions checks that the reason of a hit names nothing twice, and no word as missing that
// was read as another one.
func TestReasonOfExpressions(t *testing.T) {
	for _, test := range []struct {
		why  Why
		want string
	}{
		{Why{Matched: []Match{{Term: "rent", Field: "act", Text: "RENT"}, {Term: "car", Field: "act", Text: "car"}, {Term: "rent a car", Field: "act", Text: "car"}}, Missing: []string{"lisbon"}},
			"rent in its name; car in its name; not found: lisbon"},
		{Why{Matched: []Match{{Term: "send", Field: "act", Text: "SEND"}, {Term: "send a package to", Field: "act", Text: "parcel"}}, Missing: []string{"package", "berlin", "monday"}},
			"send in its name; send a package to (parcel) in its name; not found: berlin, monday"},
		{Why{Matched: []Match{{Term: "tomorrow", Field: "act", Text: "forecast"}}, Missing: []string{"tomorrow"}}, "tomorrow (forecast) in its name"},
		{Why{}, "passes the filters"},
	} {
		if got := test.why.String(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestFilters(t *testing.T) {
	bistro := agis("bistro.test", "BOOK /table: Reserves a table", "CANCEL /table: Cancels a reservation")
	bistro.Service.Namespace = "Dining.Paris"
	bistro.DataClasses = []document.DataClass{{Name: "Reservation"}, {Name: "menu"}}
	hotel := agis("hotel.test", "BOOK /room: Reserves a room", "RETRIEVE /menu: Shows the menu")
	hotel.Service.Namespace = "stay"
	hotel.DataClasses = []document.DataClass{{Name: "reservation"}}
	courier := agis("courier.test", "DELIVER /parcel: Brings a parcel")
	courier.Service.Domain = "Logistics" // and no namespace
	bistro.Service.Domain = "logistics"
	yes, no := true, false
	bistro.Level, hotel.Level = 2, 1
	bistro.Operations[0].Effect, bistro.Operations[1].Effect = document.Reversible, document.Irreversible
	bistro.Operations[0].Idempotent, bistro.Operations[1].Idempotent = &no, &yes
	x, _ := indexed(t, bistro, hotel, courier)
	for _, c := range []struct {
		asked string
		want  []string
	}{
		{"verb:book", []string{"bistro.test BOOK /table", "hotel.test BOOK /room"}},
		{"verb:BOOK verb:cancel", []string{"bistro.test BOOK /table", "bistro.test CANCEL /table", "hotel.test BOOK /room"}},
		{"verb:BOOK host:hotel.test", []string{"hotel.test BOOK /room"}},
		{"host:HOTEL.test.", []string{"hotel.test BOOK /room", "hotel.test RETRIEVE /menu"}},
		{"ns:dining.paris", []string{"bistro.test BOOK /table", "bistro.test CANCEL /table"}},
		{"ns:logistics", []string{"courier.test DELIVER /parcel"}},
		{"class:menu verb:BOOK", []string{"bistro.test BOOK /table"}},
		{"class:RESERVATION verb:book", []string{"bistro.test BOOK /table", "hotel.test BOOK /room"}},
		{"room verb:BOOK", []string{"hotel.test BOOK /room", "bistro.test BOOK /table"}}, // the second by its meaning
		{"bedroom verb:BOOK", []string{"hotel.test BOOK /room"}},
		{"qwxyz ns:stay", []string{}},
		{"the verb:CANCEL", []string{"bistro.test CANCEL /table"}},
		{"verb:DANCE", []string{}},
		{"effect:reversible effect:irreversible", []string{"bistro.test BOOK /table", "bistro.test CANCEL /table"}},
		{"effect:unknown host:bistro.test", []string{}},
		{"effect:unknown verb:book", []string{"hotel.test BOOK /room"}},
		{"idempotent:yes", []string{"bistro.test CANCEL /table"}},
		{"idempotent:unknown ns:stay", []string{"hotel.test BOOK /room", "hotel.test RETRIEVE /menu"}},
		{"level:2 table", []string{"bistro.test BOOK /table", "bistro.test CANCEL /table"}},
		{"level:0", []string{"courier.test DELIVER /parcel"}},
	} {
		q, err := query.Parse(c.asked)
		if err != nil {
			t.Fatal(err)
		}
		if got := named(search(t, x, q)); !slices.Equal(got, c.want) {
			t.Errorf("%s\ngot  %q\nwant %q", c.asked, got, c.want)
		}
	}
	if h := search(t, x, query.Query{Classes: []string{"menu"}}).Hits[0]; h.Level != 2 || !slices.Equal(h.DataClasses, []string{"Reservation", "menu"}) {
		t.Errorf("level %d, data classes %q", h.Level, h.DataClasses)
	}
	h := search(t, x, query.Query{Verbs: []string{"book"}}).Hits[0]
	if h.Why.Coverage != 1 || h.Why.Verb == nil || h.Why.Verb.Relation != "exact" || h.Why.Matched != nil {
		t.Errorf("why of a filter: %+v", h.Why)
	}
}

func TestServiceShowsThreeOperations(t *testing.T) {
	big := agis("big.test")
	for i := range 10 {
		big.Operations = append(big.Operations, agis("big.test", fmt.Sprintf("BOOK /table/%d: Book a table", i)).Operations[0])
	}
	x, _ := indexed(t, big, agis("small.test", "BOOK /table: Book a table of another and quite different kind"))
	r := search(t, x, query.Query{Words: "book table"})
	want := []string{"big.test BOOK /table/0", "big.test BOOK /table/1", "big.test BOOK /table/2", "small.test BOOK /table"}
	got := named(r)
	slices.Sort(got)
	if !slices.Equal(got, want) || r.Total != 11 || r.More {
		t.Errorf("got %q, total %d, more %v", got, r.Total, r.More)
	}
	if r := search(t, x, query.Query{Words: "book table", Hosts: []string{"big.test"}}); len(r.Hits) != 10 || r.More {
		t.Errorf("with host: %d hits, more %v", len(r.Hits), r.More)
	}
	if r := search(t, x, query.Query{Verbs: []string{"BOOK"}}); len(r.Hits) != 11 {
		t.Errorf("without words: %d hits", len(r.Hits))
	}
}

func TestPagesConcatenateToFullResult(t *testing.T) {
	x, _ := indexed(t, realServices(t)...)
	for _, q := range []query.Query{{Words: "get a list of events"}, {Verbs: []string{"RETRIEVE", "LIST"}}, {Words: "orders", Hosts: []string{"voodoomfg.com.test"}}} {
		q.Limit = 100
		whole := search(t, x, q)
		var joined []string
		for q.Limit, q.Offset = 7, 0; ; q.Offset += q.Limit {
			page := search(t, x, q)
			if page.Total != whole.Total {
				t.Fatalf("total is %d on one page, %d on another", page.Total, whole.Total)
			}
			joined = append(joined, named(page)...)
			if !page.More {
				break
			}
		}
		if want := named(whole); len(want) < 8 || !slices.Equal(joined, want) {
			t.Errorf("pages of %+v\ngot  %q\nwant %q", q, joined, want)
		}
	}
}

func TestFullDocumentSupersedesTheSummary(t *testing.T) {
	summary := func() *document.Document {
		return as(document.AGISSummary, agis("a.test", "BOOK /table", "LIST /menu"))
	}
	full := func() *document.Document { return agis("a.test", "BOOK /table: Reserves a table") }
	bare, whole := []string{"a.test BOOK /table", "a.test LIST /menu"}, []string{"a.test BOOK /table"}
	for name, c := range map[string]struct {
		puts []func() *document.Document
		want []string
	}{
		"summary alone": {[]func() *document.Document{summary}, bare},
		"summary first": {[]func() *document.Document{summary, full}, whole},
		"summary last":  {[]func() *document.Document{full, summary}, whole},
	} {
		t.Run(name, func(t *testing.T) {
			x, s := indexed(t)
			for _, d := range c.puts {
				put(t, s, d())
				catchUp(t, x, s)
			}
			r := search(t, x, query.Query{Hosts: []string{"a.test"}})
			if got := named(r); !slices.Equal(got, c.want) || r.Total != len(c.want) {
				t.Errorf("got %q, total %d", got, r.Total)
			}
			verbs, err := x.Verbs(context.Background())
			if err != nil || len(verbs) != len(c.want) {
				t.Errorf("verbs %v, %v", verbs, err)
			}
			apply(t, s, store.Delete(store.DocumentKey("a.test", string(document.AGIS))))
			catchUp(t, x, s)
			if got := named(search(t, x, query.Query{Hosts: []string{"a.test"}})); !slices.Equal(got, bare) {
				t.Errorf("after the full document is gone: %q", got)
			}
		})
	}
	t.Run("AI Discovery stays beside AGIS where it says something else", func(t *testing.T) {
		x, _ := indexed(t, full(), as(document.AI, agis("a.test", "BOOK /terrace: Books one of our tables by the window")))
		if got := named(search(t, x, query.Query{Hosts: []string{"a.test"}})); len(got) != 2 {
			t.Errorf("got %q", got)
		}
	})
}

func TestAliasesOnlyOnRequest(t *testing.T) {
	x, _ := indexed(t, as(document.AIAlias, agis("a.test", "BOOK /table: Reserves a table")))
	if got := words(t, x, "table"); len(got) != 0 {
		t.Errorf("got %q", got)
	}
	if r := search(t, x, query.Query{Words: "table", Aliases: true}); len(r.Hits) != 1 || r.Hits[0].Kind != document.AIAlias {
		t.Errorf("asked for: %+v", r)
	}
	if verbs, err := x.Verbs(context.Background()); err != nil || len(verbs) != 0 {
		t.Errorf("verbs %v, %v", verbs, err)
	}
}

func TestReplacedAndDeletedDocuments(t *testing.T) {
	x, s := indexed(t, agis("a.test", "BOOK /table: one", "BOOK /room: two", "BOOK /car: three"))
	put(t, s, agis("a.test", "BOOK /boat: four"))
	catchUp(t, x, s)
	if got := named(search(t, x, query.Query{Verbs: []string{"BOOK"}})); !slices.Equal(got, []string{"a.test BOOK /boat"}) {
		t.Errorf("replaced: %q", got)
	}
	apply(t, s, store.Delete(store.DocumentKey("a.test", string(document.AGIS))))
	catchUp(t, x, s)
	if r := search(t, x, query.Query{Verbs: []string{"BOOK"}}); r.Total != 0 {
		t.Errorf("deleted: %+v", r)
	}
}

func TestRefetchRefreshesEvidence(t *testing.T) {
	d := agis("a.test", "BOOK /table: Reserves a table")
	x, s := indexed(t, d)
	words(t, x, "table") // the document is kept from now on
	d.FetchedAt = day(9)
	put(t, s, d)
	catchUp(t, x, s)
	if got := search(t, x, query.Query{Words: "table"}).Hits[0].FetchedAt; !got.Equal(day(9)) {
		t.Errorf("fetched at %v", got)
	}
}

func TestHitTextIsOfIndexedVersion(t *testing.T) {
	s := teststore.New(t)
	x := openIndex(t, s, t.TempDir(), newLogged())
	put(t, s, agis("a.test", "BOOK /table: Reserves a table", "BUY /car: Sells a car"))
	catchUpOnce(t, x, s)
	put(t, s, agis("a.test", "BUY /car: Sells a car", "BOOK /table: Reserves a table"))
	if r := search(t, x, query.Query{Words: "table"}); len(r.Hits) != 0 || r.Total != 1 || r.Seq != s.Head().Seq-1 {
		t.Errorf("while the index is behind: %+v", r)
	}
	catchUpOnce(t, x, s)
	if got := words(t, x, "table"); !slices.Equal(got, []string{"a.test BOOK /table"}) {
		t.Errorf("when it has caught up: %q", got)
	}
	apply(t, s, store.Delete(store.DocumentKey("a.test", string(document.AGIS))))
	catchUpOnce(t, x, s)
	if got := words(t, x, "table"); len(got) != 0 {
		t.Errorf("deleted: %q", got)
	}
}

func TestPhrases(t *testing.T) {
	x, _ := indexed(t,
		agis("a.test", "BOOK /table: Reserves a dinner table for a party"),
		agis("b.test", "BOOK /table: Reserves a table, dinner included"),
		agis("c.test", "BUY /car: Sells cars"),
	)
	for asked, want := range map[string][]string{
		`"dinner table"`:                {"a.test BOOK /table"},
		`"reserve dinner tables" party`: {"a.test BOOK /table"}, // stop words and endings do not count
		`"table dinner"`:                {"b.test BOOK /table"},
		`"dinner car"`:                  {},
		`"the"`:                         {},
		`verb:BUY "sells cars"`:         {"c.test BUY /car"},
		`verb:BUY "the"`:                {"c.test BUY /car"},
	} {
		q, err := query.Parse(asked)
		if err != nil {
			t.Fatal(err)
		}
		if got := named(search(t, x, q)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", asked, got, want)
		}
	}
}

// TestOpeningHours checks that questions for the hours of a place are answered by operations that tell
// them, and that everything else is far from them.
func TestOpeningHours(t *testing.T) {
	library := agis("library.test", "FIND /books: Finds books of the library by title", "RENEW /loan: Renews the loan of a library book")
	without, _ := indexed(t, append(everydayServices(), library)...)
	with, _ := indexed(t, append(everydayServices(), library, agis("hours.test", "SHOW /opening-hours: Shows the opening hours of the library"))...)
	for _, asked := range []string{
		"when does the library close", "is the library open on sunday", "what time does the library open today", "until when is the library open",
		"à quelle heure ferme la bibliothèque ?", "¿está abierta la biblioteca el domingo?", "ist die Bibliothek am Sonntag geöffnet?", "図書館は何時に閉まりますか",
	} {
		for _, h := range search(t, without, query.Query{Words: asked}).Hits {
			if !h.Far {
				t.Errorf("%q: %s at %s is near, %v", asked, h.Operation.ID, h.Host, h.Fit)
			}
		}
		if hits := search(t, with, query.Query{Words: asked}).Hits; len(hits) == 0 || !slices.ContainsFunc(hits[:min(3, len(hits))], func(h Hit) bool { return h.Host == "hours.test" && !h.Far }) {
			t.Errorf("%q: the hours are not near among the first three: %q", asked, named(Result{Hits: hits}))
		}
	}
	for _, asked := range []string{"open the books of the library", "which books are open to loan"} {
		if hits := search(t, without, query.Query{Words: asked}).Hits; len(hits) == 0 || hits[0].Far {
			t.Errorf("%q is taken for a question for hours", asked)
		}
	}
}

// TestNarrowerNameFirst checks that of operations of one host that do what was asked, the one without
// another thing in its name is first, on a page of any size.
func TestNarrowerNameFirst(t *testing.T) {
	x, _ := indexed(t, agis("tracker.test",
		"CREATE /issue-type: Creates an issue type and adds it to the default issue types",
		"CREATE /issue: Creates an issue, or a subtask if the option for these is enabled and the fields of the parent are given",
		"CREATE /issue-link-type: Creates a type of issue links",
	), agis("other.test", "CREATE /issue-board: Creates a board of issues"))
	for _, limit := range []int{1, 2, 3} {
		r := search(t, x, query.Query{Words: "create an issue", Limit: limit})
		if got := named(r); len(got) != limit || got[0] != "tracker.test CREATE /issue" {
			t.Errorf("%d hits: %q", limit, got)
		}
		for i := 1; i < len(r.Hits); i++ {
			if r.Hits[i].Score > r.Hits[i-1].Score {
				t.Errorf("%d hits: the scores rise", limit)
			}
		}
	}
}

// TestOperationsOfOneHost checks which of several operations of a host comes first, although the others
// share more words with the request: one that ends what is to end, and not what contains it, and not
// all of it; one with the verb of the request; one that only reads; one whose name has another word for
// what is wanted. It also checks that another host comes next, where the other operation could do harm.
func TestOperationsOfOneHost(t *testing.T) {
	x, _ := indexed(t, agis("flags.test",
		"REMOVE /project: Deletes a project with its environments and flags",
		"REMOVE /flag: Deletes a flag in all environments",
	), agis("otherflags.test",
		"FIND /flags: Finds the flags of a web project",
	), agis("library.test",
		"BORROW /library/book: Borrows a book of the library",
		"RENEW /loan: Renews the loan of a book or a film",
	), agis("videos.test",
		"RETRIEVE /video: Shows a video",
		"RETRIEVE /video/captions: Shows the captions of a video",
	), agis("payments.test",
		"CAPTURE /payment-intent: Captures a PaymentIntent",
		"SHOW /payment-intent: Shows a single PaymentIntent",
	), agis("othercash.test",
		"SHOW /cash-payments: Shows the cash payments and the payment of a day",
	), agis("lists.test",
		"MOVE /list/task: Moves one task to another place of its list, or below one task of the list",
		"CLEAR /list/tasks: Clears all tasks of one task list",
		"REMOVE /entry/{id}: Deletes a task",
	), agis("todo.test",
		"SHOW /todo/tasks: Shows the tasks to do",
	), agis("channels.test",
		"ARCHIVE /channel: Archives a channel of the workspace",
		"DISCONNECT /channel/shared: Disconnects a channel that is shared",
	), agis("papers.test",
		"FIND /papers: Finds papers about a channel",
	), agis("tickets.test",
		"REFUND /regatta/ticket: Refunds a ticket for a regatta",
		"BUY /regatta/ticket: Sells tickets for a regatta",
	), agis("ferries.test",
		"FIND /ferries: Finds tickets for ferries",
	))
	for asked, want := range map[string][]string{
		"delete a flag from the project web":                {"flags.test REMOVE /flag", "otherflags.test FIND /flags"},
		"delete the project web":                            {"flags.test REMOVE /project"},
		"renew the library book I borrowed":                 {"library.test RENEW /loan"},
		"borrow a library book":                             {"library.test BORROW /library/book"},
		"show payment intent pi_3abc":                       {"payments.test SHOW /payment-intent", "othercash.test SHOW /cash-payments"},
		"retrieve payment intent pi_3abc":                   {"payments.test SHOW /payment-intent"},
		"subtitles for my video":                            {"videos.test RETRIEVE /video/captions"},
		"delete just this one task, the list has to stay":   {"lists.test REMOVE /entry/{id}"},
		"archive the channel launch, its history must stay": {"channels.test ARCHIVE /channel", "papers.test FIND /papers"},
		"tickets for the regatta":                           {"tickets.test BUY /regatta/ticket", "ferries.test FIND /ferries"},
	} {
		if got := named(search(t, x, query.Query{Words: asked})); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("%q: %q, want %s first", asked, got, want)
		}
	}
}

// TestEndOfAnotherThingIsFar checks that an operation that ends something is far from a request that ends
// another thing, also if the index has that thing.
func TestEndOfAnotherThingIsFar(t *testing.T) {
	x, _ := indexed(t,
		agis("pay.test", "CANCEL /payments: Cancels an authorised payment by its reference"),
		agis("repairs.test", "REQUEST /repair: Requests a plumber for what leaks"),
		agis("trips.test", "CANCEL /trip: Cancels a journey"),
	)
	for asked, far := range map[string]bool{"call off the plumber": true, "call off the payment": false, "cancel my journey": false} {
		hits := search(t, x, query.Query{Words: asked}).Hits
		if len(hits) == 0 || hits[0].Operation.Verb != "CANCEL" || hits[0].Far != far {
			t.Errorf("%s: %s, want CANCEL, far %v", asked, named(search(t, x, query.Query{Words: asked})), far)
		}
	}
}

// TestNameOfDomainComesFirst checks that services that call themselves like the domain of another one
// come after it, whatever their texts say.
func TestNameOfDomainComesFirst(t *testing.T) {
	services := []*document.Document{agis("api.brightpay.test", "LIST /charges: Lists charges")}
	for i := range 5 {
		services = append(services, agis(fmt.Sprintf("squatter%d.test", i), "PAY /brightpay: Pays by brightpay, brightpay and brightpay", "LIST /brightpay: Lists brightpay",
			"FIND /brightpay: Finds brightpay"))
		services[i+1].Service.Name = "Brightpay"
	}
	services[0].Service.Name = "Charges"
	x, _ := indexed(t, services...)
	for _, limit := range []int{1, 10} {
		r := search(t, x, query.Query{Words: "Brightpay API", Limit: limit})
		if len(r.Hits) == 0 || r.Hits[0].Host != "api.brightpay.test" {
			t.Errorf("%d hits: %q", limit, named(r))
		}
		if len(r.Services) == 0 || r.Services[0].Host != "api.brightpay.test" {
			t.Errorf("%d hits: services %+v", limit, r.Services)
		}
	}
}

// TestOneDomainDoesNotFillThePage checks that the hosts below one domain, which cost nothing, leave places
// on the first page, also if they call themselves like the request, and follow when nothing else does.
func TestOneDomainDoesNotFillThePage(t *testing.T) {
	for _, domain := range []string{"crowd.test", "netlify.app"} { // a public suffix of a provider
		t.Run(domain, func(t *testing.T) { testOneDomain(t, domain) })
	}
}

func testOneDomain(t *testing.T, domain string) {
	services := []*document.Document{agis("rival.test", "BOOK /table: Books a table at a restaurant")}
	for i := range 40 {
		host := fmt.Sprintf("h%02d.%s", i, domain)
		services = append(services, agis(host, "BOOK /table: Books a table at a restaurant", "BOOK /restaurant: Book a table, book a table"))
		if i%2 == 0 {
			services[i+1].Service.Name = "Book a table"
		}
	}
	x, _ := indexed(t, services...)
	r := search(t, x, query.Query{Words: "book a table", Limit: 10})
	at := slices.IndexFunc(r.Hits, func(h Hit) bool { return h.Host == "rival.test" })
	if at < 0 || at > 5 || len(r.Hits) != 10 {
		t.Errorf("the rival is at %d of %d: %q", at, len(r.Hits), named(r))
	}
	whole := named(r)
	for offset := range 3 { // the pages continue each other
		page := named(search(t, x, query.Query{Words: "book a table", Limit: 2, Offset: 2 * offset}))
		if !slices.Equal(page, whole[2*offset:2*offset+2]) {
			t.Errorf("the page at %d is %q, want %q", 2*offset, page, whole[2*offset:2*offset+2])
		}
	}
}

// TestQuotedValues checks that a text in quotes beside words is looked for word by word, and is a value
// of the request if nothing near it has the text: an agent quotes the values of its request.
func TestQuotedValues(t *testing.T) {
	x, _ := indexed(t,
		agis("a.test", "FIND /lyrics: Shows the lyrics of a song"),
		agis("b.test", "PLAY /song: Plays a song"),
		agis("c.test", "FIND /articles: Finds articles of yesterday"),
		agis("d.test", "SEND /message: Sends a text message"),
	)
	for asked, want := range map[string]struct {
		first, note string
	}{
		`fetch the lyrics of "Yellow Submarine"`:   {"a.test FIND /lyrics", `nothing near the request has "Yellow Submarine" word by word: taken as a value`},
		`fetch the lyrics of the song "Yesterday"`: {"a.test FIND /lyrics", `nothing near the request has "Yesterday" word by word: taken as a value`},
		`send a message saying "I am late"`:        {"d.test SEND /message", `nothing near the request has "I am late" word by word: taken as a value`},
		`send "text message"`:                      {"d.test SEND /message", ""},
		`"Yellow Submarine"`:                       {"", `no operation has "Yellow Submarine" word by word`},
		`lyrics verb:PLAY "Yellow Submarine"`:      {"b.test PLAY /song", `nothing near the request has "Yellow Submarine" word by word: taken as a value`},
	} {
		for _, offset := range []int{0, 1} {
			q, err := query.Parse(asked)
			if err != nil {
				t.Fatal(err)
			}
			q.Offset = offset
			r := search(t, x, q)
			if got := named(r); offset == 0 && want.first != strings.Join(got[:min(1, len(got))], "") {
				t.Errorf("%s: got %q, want %q first", asked, got, want.first)
			}
			if !strings.HasPrefix(r.Note, want.note) {
				t.Errorf("%s from %d on: note %q, want %q", asked, offset, r.Note, want.note)
			}
		}
		q, _ := query.Parse(asked)
		q.Verbatim = true
		if r := search(t, x, q); strings.Contains(r.Note, "taken as a value") {
			t.Errorf("%s, as it is written: %q", asked, r.Note)
		}
	}
}

// TestRequiredPhraseIsNotMissing checks that the reason of a hit whose service has the required text names
// none of its words as missing.
func TestRequiredPhraseIsNotMissing(t *testing.T) {
	d := agis("a.test", "LIST /parcel: Lists the parcels")
	d.Service.Description = "Sends codes by text message, voice and mail"
	x, _ := indexed(t, d)
	for _, asked := range []string{`"text message"`, `list parcels "text message"`, `"by text message"`} {
		q, err := query.Parse(asked)
		if err != nil {
			t.Fatal(err)
		}
		r := search(t, x, q)
		if len(r.Hits) != 1 {
			t.Fatalf("%s: %d hits: %s", asked, len(r.Hits), r.Note)
		}
		if why := r.Hits[0].Why; len(why.Missing) > 0 || why.Coverage != 1 {
			t.Errorf("%s: missing %q, coverage %v, though the hit has the text", asked, why.Missing, why.Coverage)
		}
	}
}

// TestQuotedTextChangesNoWeights checks that the search for whether an operation near the request has a
// quoted text leaves the request as it is: names would count less with each search.
func TestQuotedTextChangesNoWeights(t *testing.T) {
	x, _ := indexed(t, agis("a.test", "SEND /message: Sends a text message to Martha or to another person", "LIST /message: Lists a text message of a person"),
		agis("b.test", "SEND /parcel: Sends a parcel to a person"))
	q, err := query.Parse(`send my aunt Martha a "text message"`)
	if err != nil {
		t.Fatal(err)
	}
	got := search(t, x, q)
	q.Verbatim = true // without that search
	want := search(t, x, q)
	if len(got.Hits) == 0 || len(got.Hits) != len(want.Hits) {
		t.Fatalf("%d hits, %d as it is written", len(got.Hits), len(want.Hits))
	}
	for i := range got.Hits {
		if got.Hits[i].Score != want.Hits[i].Score || got.Hits[i].Fit != want.Hits[i].Fit {
			t.Errorf("%s: score %g and fit %g, as it is written %g and %g", named(got)[i], got.Hits[i].Score, got.Hits[i].Fit, want.Hits[i].Score, want.Hits[i].Fit)
		}
	}
}

func TestUnwantedWords(t *testing.T) {
	hotel := agis("a.test", "BOOK /room: Reserves a room", "BOOK /car: Reserves a car")
	hotel.Service.Description = "A hotel by the sea"
	x, _ := indexed(t, hotel, agis("b.test", "BOOK /room: Reserves a room in a motel"))
	for asked, want := range map[string][]string{
		"room -hotels":      {"b.test BOOK /room"},
		"verb:BOOK -motel":  {"a.test BOOK /room", "a.test BOOK /car"},
		"verb:BOOK -cars":   {"a.test BOOK /room", "b.test BOOK /room"},
		"room -hotel -room": {},
	} {
		q, err := query.Parse(asked)
		if err != nil {
			t.Fatal(err)
		}
		if got := named(search(t, x, q)); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", asked, got, want)
		}
	}
}

func TestServiceFilters(t *testing.T) {
	a := agis("a.test", "BOOK /room: Reserves a room")
	a.Service.Domain, a.Service.Auth, a.Service.Languages = "Travel", "OAuth2", []string{"en-GB", "fr"}
	a.Service.Protocols, a.Service.Categories = []string{"request", "Negotiate"}, []string{"hotels"}
	a.Findings = []protocol.Finding{{Code: "X", Severity: protocol.Warning}}
	a.Operations[0].Capability = "Transaction"
	b := agis("b.test", "BOOK /room: Reserves a room")
	b.Source, b.Findings = document.OwnerPublished, []protocol.Finding{{Code: "X", Severity: protocol.Error}}
	b.Operations[0].Call.Protocol = "agtp"
	x, s := indexed(t, a, b)
	for asked, want := range map[string]string{
		"domain:travel": "a", "auth:oauth2": "a", "auth:unknown": "b", "lang:en": "a", "lang:EN-gb": "a", "lang:de": "",
		"protocol:negotiate": "a", "protocol:http": "a", "protocol:agtp": "b", "protocol:agtp protocol:request": "ab",
		"state:flawed": "a", "state:invalid": "b", "state:valid": "", "source:linked": "a", "source:owner-published": "b",
	} {
		q, err := query.Parse(asked)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, h := range search(t, x, q).Hits {
			got += strings.TrimSuffix(h.Host, ".test")
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", asked, got, want)
		}
	}
	a.Findings = nil // what was found is news for the index, too
	put(t, s, a)
	catchUp(t, x, s)
	if r := search(t, x, query.Query{States: []string{"valid"}}); r.Total != 1 {
		t.Errorf("repaired: %d are valid", r.Total)
	}
	facets, err := x.Explore(context.Background(), query.Query{}, []string{"protocol", "lang", "category", "capability", "state", "verb"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string][]view.Count{
		"protocol": {{Value: "agtp", Operations: 1}, {Value: "http", Operations: 1}, {Value: "negotiate", Operations: 1}, {Value: "request", Operations: 1}}, "lang": {{Value: "en", Operations: 1}, {Value: "en-gb", Operations: 1}, {Value: "fr", Operations: 1}},
		"category": {{Value: "hotels", Operations: 1}}, "capability": {{Value: "transaction", Operations: 1}}, "state": {{Value: "invalid", Operations: 1}, {Value: "valid", Operations: 1}}, "verb": {{Value: "BOOK", Operations: 2}},
	}; !reflect.DeepEqual(facets, want) {
		t.Errorf("got  %v\nwant %v", facets, want)
	}
}

// TestFacetsCountMatches checks that facets equal the counts of single operations, including those
// found by embedding alone, and that an exploration gives the same facets as a search.
func TestFacetsCountMatches(t *testing.T) {
	x, _ := indexed(t, realServices(t)...)
	fields := []string{"verb", "ns", "host", "level", "state"}
	wordless := 0
	for _, text := range []string{
		"orders", "verb:RETRIEVE verb:LIST", "weather -marine", "orders verb:LIST", "what will the sky be like tomorrow",
		`"weather data"`, "purchase something", "the verb:LIST", "the", "qwxzy", `"no such words here"`,
	} {
		q, err := query.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		explored, err := x.Explore(context.Background(), q, fields, maxCounts)
		if err != nil {
			t.Fatal(err)
		}
		q.Facets = fields
		r := search(t, x, q)
		if !reflect.DeepEqual(explored, r.Facets) {
			t.Errorf("%s: explored %v, searched %v", text, explored, r.Facets)
		}
		q.Facets = nil
		all, err := x.Explore(context.Background(), q, fields, maxExplored)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range fields {
			if r.FacetValues[field] != len(all[field]) {
				t.Errorf("%s: the facet %s has %d values, counted as %d", text, field, len(all[field]), r.FacetValues[field])
			}
		}
		for _, field := range []string{"level", "state"} { // of which each operation has one
			sum := 0
			for _, c := range r.Facets[field] {
				sum += c.Operations
			}
			if sum != r.Total {
				t.Errorf("%s: the facet %s counts %d operations, total %d", text, field, sum, r.Total)
			}
		}
		// A service shows three operations, so that all can only be counted host by host.
		want := map[string]map[string]int{"verb": {}, "ns": {}, "host": {}}
		hosts, err := x.Explore(context.Background(), q, []string{"host"}, maxExplored)
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range hosts["host"] {
			all := q
			all.Facets, all.Hosts, all.Limit = nil, []string{host.Value}, 100
			for {
				page := search(t, x, all)
				for _, h := range page.Hits {
					if len(h.Why.Matched) == 0 && q.Words != "" {
						wordless++
					}
					want["verb"][h.Operation.Verb]++
					want["ns"][strings.ToLower(h.Service.Namespace)]++
					want["host"][h.Host]++
				}
				if all.Offset += all.Limit; !page.More {
					break
				}
			}
		}
		if q.Words == "" || len(q.Phrases) > 0 { // with words, how near is near enough depends on the nearest
			for field, counts := range want {
				for _, c := range r.Facets[field] {
					if counts[c.Value] != c.Operations {
						t.Errorf("%s: %s %s: %d, want %d", text, field, c.Value, c.Operations, counts[c.Value])
					}
				}
			}
		}
	}
	if wordless == 0 {
		t.Error("no query found anything by its meaning alone")
	}
	var bad *query.Error
	if _, err := x.Search(context.Background(), query.Query{Words: "x", Facets: []string{"nothing"}}); !errors.As(err, &bad) {
		t.Errorf("an unknown facet: %v", err)
	}
}

func TestSearchFindsServicesAndDataClasses(t *testing.T) {
	bank := agis("bank.test", "CONVERT /money: Converts an amount")
	bank.Service.Name, bank.Service.Description = "Rates and More", "Foreign currencies"
	bank.DataClasses = []document.DataClass{{Name: "exchange_rates", Description: "Daily quotes of currencies"}, {Name: "branches"}}
	shop := agis("shop.test", "SELL /shoes: Sells shoes")
	x, _ := indexed(t, bank, shop)
	r := search(t, x, query.Query{Words: "who holds exchange rates"})
	if len(r.Classes) != 1 || r.Classes[0].Host != "bank.test" || r.Classes[0].Class.Name != "exchange_rates" {
		t.Errorf("classes: %+v", r.Classes)
	}
	if len(r.Services) != 1 || r.Services[0].Host != "bank.test" || r.Services[0].Operations != 1 {
		t.Errorf("services: %+v", r.Services)
	}
	if r := search(t, x, query.Query{Words: "exchange rates", Hosts: []string{"shop.test"}}); len(r.Classes)+len(r.Services) != 0 {
		t.Errorf("filtered away: %+v", r)
	}
}

func TestVerbRelations(t *testing.T) {
	for _, c := range []struct{ word, offered, want string }{
		{"book", "BOOK", "exact"}, {"booking", "BOOK", "stem"}, {"found", "FIND", "stem"}, {"cancellation", "CANCEL", "stem"},
		{"book", "RESERVE", "synonym"}, {"buy", "PURCHASE", "synonym"}, {"buy", "SELL", "antonym"}, {"whisper", "SPEAK", "hypernym"},
		{"speak", "WHISPER", "hypernym"}, {"book", "COOK", ""}, {"", "BOOK", ""}, {"예약", "BOOK", ""},
	} {
		if got := semantic.RelateVerb(c.word, c.offered); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.word, c.offered, got, c.want)
		}
	}
	x, _ := indexed(t, agis("a.test", "PURCHASE /car: Gets you a car", "SELL /car: Sells a car", "WASH /car: Cleans a car"))
	got, err := x.VerbFamily(context.Background(), "buy")
	if err != nil {
		t.Fatal(err)
	}
	if want := []RelatedVerb{{VerbCount{"PURCHASE", 1, 1}, "synonym"}, {VerbCount{"SELL", 1, 1}, "antonym"}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// SELL is said of cars as often, but is the opposite.
	h := search(t, x, query.Query{Words: "buy a car"}).Hits[0]
	if h.Operation.Verb != "PURCHASE" || h.Why.Verb == nil || *h.Why.Verb != (Verb{"buy", "PURCHASE", "synonym"}) {
		t.Errorf("first %s, verb %+v", h.Operation.ID, h.Why.Verb)
	}
}

func TestKorean(t *testing.T) {
	x, _ := indexed(t,
		agis("meeting.test", "BOOK /meeting: 회의실을 예약합니다"),
		agis("weather.test", "RETRIEVE /weather: 오늘의 날씨를 조회합니다"),
		agis("bank.test", "TRANSFER /money: 계좌에서 돈을 이체합니다"),
		agis("tokyo.test", "BOOK /hotel: 東京のホテルを予約する"),
		agis("shanghai.test", "BOOK /train: 预订火车票"),
	)
	for asked, want := range map[string]string{
		"회의실 예약해 줘":                                  "meeting.test BOOK /meeting",
		"내일 날씨 알려 주세요":                               "weather.test RETRIEVE /weather",
		"이체하고 싶어요":                                   "bank.test TRANSFER /money",
		"ホテルの予約":                                     "tokyo.test BOOK /hotel",
		"火车票":                                        "shanghai.test BOOK /train",
		"\u1112\u116c\u110b\u1174\u1109\u1175\u11af": "meeting.test BOOK /meeting", // 회의실 in single letters
	} {
		if got := words(t, x, asked); len(got) == 0 || got[0] != want {
			t.Errorf("%s: %q", asked, got)
		}
	}
}

func TestKeywordStuffingDoesNotHelp(t *testing.T) {
	honest := agis("honest.test", "BOOK /table: Book a table")
	stuffed := agis("stuffed.test", "BOOK /table: "+strings.Repeat("book table ", 1000))
	stuffed.Operations[0].Path = "/" + strings.Repeat("book-table-", 1000)
	x, _ := indexed(t, honest, stuffed)
	r := search(t, x, query.Query{Words: "book a table"})
	if got := named(r); len(got) != 2 || got[0] != "honest.test BOOK /table" {
		t.Errorf("got %q", got)
	}
}

// TestRepetitionAboveThreeDoesNotHelp checks that ten thousand occurrences of the words of a request
// are worth no more than three.
func TestRepetitionAboveThreeDoesNotHelp(t *testing.T) {
	const intent = "BOOK /zebra: Book a zebra ride"
	x, _ := indexed(t, agis("three.test", intent+strings.Repeat(" book zebra", 2)), agis("many.test", intent+strings.Repeat(" book zebra", 10000)))
	for _, words := range []string{"book", "zebra", "book zebra", "book a zebra ride"} {
		r := search(t, x, query.Query{Words: words})
		if len(r.Hits) != 2 || r.Hits[0].Host != "three.test" {
			t.Errorf("%s: %q", words, named(r))
		}
	}
}

// A name that says one thing over an intent that says another is worth less than
// an honest operation of the same words.
func TestBorrowedNamesAreDoubtful(t *testing.T) {
	for _, c := range []struct{ honest, borrowed, asked string }{
		{"BOOK /room: Reserves a hotel room for the night", "BOOK /room: Cryptocurrency blockchain token mining profits", "book room"},
		{"RETRIEVE /weather: Tells the weather of a city", "RETRIEVE /weather: Invoice ledger accounting", "weather"},
	} {
		x, _ := indexed(t, agis("a-borrowed.test", c.borrowed), agis("z-honest.test", c.honest))
		r := search(t, x, query.Query{Words: c.asked})
		if len(r.Hits) != 2 || r.Hits[0].Host != "z-honest.test" || r.Hits[1].Score > 0.9*r.Hits[0].Score {
			t.Errorf("%s: %q", c.asked, named(r))
			for _, h := range r.Hits {
				t.Logf("%.3f %s", h.Score, h.Host)
			}
		}
	}
	for _, honest := range []string{"BOOK /room: Reserves accommodation", "SEND /money: Transfers an amount to an account", "CANCEL /order: Stops a purchase before it is shipped", "GITHUB /x: Lists repositories"} {
		x, _ := indexed(t, agis("a.test", honest))
		snapshot, v, err := x.directory.OpenSnapshot()
		must(t, err)
		must(t, v.PrepareView())
		v.Segments[0].Operations.ForEach(func(n uint32) {
			if v.EmbeddingOf(view.EntryRef{Segment: 0, Number: n}).Doubtful {
				t.Errorf("%s is doubted", honest)
			}
		})
		must(t, snapshot.Close())
	}
}

func TestQueryWithoutTerms(t *testing.T) {
	x, _ := indexed(t, agis("a.test", "BOOK /table: Reserves a table"))
	for _, text := range []string{"to be or not to be", "?!", "the"} {
		r := search(t, x, query.Query{Words: text})
		if len(r.Hits) != 0 || r.Hits == nil || r.Note == "" {
			t.Errorf("%q: %+v", text, r)
		}
	}
	for _, text := range []string{"please", "can you"} {
		if r := search(t, x, query.Query{Words: text}); len(r.Hits) != 0 {
			t.Errorf("%q: %+v", text, r)
		}
	}
}

func TestNearVerbs(t *testing.T) {
	x, _ := indexed(t, agis("a.test", "RESERVE /x", "RESET /x", "RESEARCH /x", "BOOK /x", "BOOKMARK /x", "DO /x"), agis("b.test", "RESET /x"))
	for asked, want := range map[string][]string{
		"verb:RESERVATION": {"RESERVE", "BOOK", "RESET", "RESEARCH"},
		"verb:BOOKING":     {"BOOK", "RESERVE", "BOOKMARK"},
		"researching":      nil, // found
		"verb:ZZZ":         nil,
		"bookmarklet":      {"BOOKMARK", "BOOK"},
	} {
		q, err := query.Parse(asked)
		if err != nil {
			t.Fatal(err)
		}
		if got := search(t, x, q).Near; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", asked, got, want)
		}
	}
}

func TestVerbs(t *testing.T) {
	x, _ := indexed(t,
		agis("a.test", "BOOK /table", "BOOK /room", "CANCEL /room"),
		agis("b.test", "BOOK /car"),
		as(document.AGISSummary, agis("b.test", "BOOK /car", "SELL /car")),
		as(document.AIAlias, agis("c.test", "BUY /car")))
	got, err := x.Verbs(context.Background())
	if want := []VerbCount{{"BOOK", 3, 2}, {"CANCEL", 1, 1}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestSearchRefusesUnparsableQueryValues(t *testing.T) {
	x, _ := indexed(t)
	many := slices.Repeat([]string{"BOOK"}, 1000)
	for name, q := range map[string]query.Query{
		"empty":            {},
		"spaces":           {Words: "  \t"},
		"too long":         {Words: strings.Repeat("x", 2001)},
		"too many words":   {Words: strings.Repeat("x ", 201)},
		"too many filters": {Verbs: many},
		"limit":            {Words: "x", Limit: 101},
		"negative limit":   {Words: "x", Limit: -1},
		"offset":           {Words: "x", Offset: 10001},
		"negative offset":  {Words: "x", Offset: -1},
	} {
		_, err := x.Search(context.Background(), q)
		var bad *query.Error
		if !errors.As(err, &bad) || bad.Message == "" || bad.Help == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	x, _ := indexed(t, agis("a.test", "BOOK /table"))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := x.Search(ctx, query.Query{Words: "book"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestClosed(t *testing.T) {
	s := teststore.New(t)
	x := openIndex(t, s, t.TempDir(), newLogged())
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Search(context.Background(), query.Query{Words: "book"}); !errors.Is(err, ErrClosed) {
		t.Errorf("Search: %v", err)
	}
	if _, err := x.Verbs(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("Verbs: %v", err)
	}
	if err := x.WaitFor(context.Background(), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("WaitFor: %v", err)
	}
}

// TestHostAloneFindsItsOperationsFirst searches for a host: its operations come before those of others
// that write its name into their texts, which anyone can do.
func TestHostAloneFindsItsOperationsFirst(t *testing.T) {
	x, _ := indexed(t, agis("rival-air.test", "BOOK /flight: Books a flight"),
		agis("twin.test", "BOOK /flight: Books a flight, better than rival-air.test"), agis("whois.test", "CHECK /domain: Checks who owns a domain"))
	for _, words := range []string{"rival-air.test", " Rival-Air.test."} {
		if got := named(search(t, x, query.Query{Words: words})); len(got) < 2 || got[0] != "rival-air.test BOOK /flight" {
			t.Errorf("%q finds %q", words, got)
		}
	}
	if got := named(search(t, x, query.Query{Words: "rival-ail.test"})); len(got) > 0 && strings.HasPrefix(got[0], "rival-air.test") {
		t.Errorf("another host finds %q", got)
	}
}
