package index

import (
	"fmt"
	"slices"
	"testing"

	"gazetteer/document"
	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/view"
)

// everydayServices offer things and their opposites, as services do.
func everydayServices() []*document.Document {
	return []*document.Document{
		agis("hotel.test", "BOOK /room: Books a hotel room for some nights", "CANCEL /booking: Cancels the booking of a hotel room", "FIND /rooms: Finds free hotel rooms in a town"),
		agis("calendar.test", "LIST /events: Returns the events on a calendar", "CLEAR /calendar: Deletes all events of a calendar", "DELETE /event: Deletes one event of a calendar", "CREATE /event: Creates an event on a calendar"),
		agis("mail.test", "SEND /email: Sends an email to somebody", "ESTIMATE /price: Estimates the price of sending emails"),
		agis("taxi.test", "ORDER /taxi: Orders a taxi to an address", "CANCEL /ride: Cancels a taxi that was ordered"),
		agis("weather.test", "RETRIEVE /forecast: Retrieves the weather forecast of a city"),
	}
}

func TestEverydayRequestsFirstHits(t *testing.T) {
	x, _ := indexed(t, everydayServices()...)
	for asked, want := range map[string]string{
		"book a hotel room":                        "BOOK /room",
		"cancel my hotel room":                     "CANCEL /booking",
		"what's on my calendar":                    "LIST /events",
		"remove an event from my calendar":         "DELETE /event",
		"delete all events of my calendar":         "CLEAR /calendar",
		"bokk a hotel rom":                         "BOOK /room",
		"sned an emial":                            "SEND /email",
		"wether forcast":                           "RETRIEVE /forecast",
		"ich möchte ein Hotelzimmer buchen":        "BOOK /room",
		"commander un taxi":                        "ORDER /taxi",
		"reservar una habitación de hotel":         "BOOK /room",
		"ホテルを予約したい":                                "BOOK /room",
		"预订酒店":                                     "BOOK /room",
		"택시 불러 줘":                                  "ORDER /taxi",
		"order_taxi(address: string) -> ride_id":   "ORDER /taxi",
		"Quote the price of 500 emails; send none": "ESTIMATE /price",
	} {
		hits := search(t, x, query.Query{Words: asked}).Hits
		if len(hits) == 0 || hits[0].Operation.ID != want {
			t.Errorf("%q: %q, want %s", asked, named(Result{Hits: hits}), want)
		}
	}
}

func TestEndingOperationsAreLastUnlessRequested(t *testing.T) {
	x, _ := indexed(t, everydayServices()...)
	for _, asked := range []string{"book a hotel room", "order a taxi", "what's on my calendar", "hotel room", "is there a taxi"} {
		hits := search(t, x, query.Query{Words: asked}).Hits
		for _, h := range hits[:min(1, len(hits))] {
			if h.Effect.Destructive {
				t.Errorf("%q is answered by %s", asked, h.Operation.ID)
			}
		}
	}
}

// TestQuestionsDoNotFindChangingOperations: an operation that only changes something is marked as far where a
// question is asked, however many of its words it has.
func TestQuestionsDoNotFindChangingOperations(t *testing.T) {
	x, _ := indexed(t, agis("home.test", "SWITCH /lights: Switches the lights of a room on or off"), agis("shop.test", "ORDER /lamp: Orders a lamp"))
	for asked, far := range map[string]bool{"which lights are on": true, "are the lights of the room on": true, "switch the lights on": false, "how do I switch the lights on": false} {
		hits := search(t, x, query.Query{Words: asked}).Hits
		if len(hits) == 0 || hits[0].Operation.Verb != "SWITCH" || hits[0].Far != far {
			t.Errorf("%q: %+v", asked, hits)
		}
	}
}

// TestNoQuestionIsAnsweredByAChange asks questions of every form about the things that operations of all
// kinds work on. Every hit that changes something is far, and none is the first unless all do; a question
// for a method is answered by what does it.
func TestNoQuestionIsAnsweredByAChange(t *testing.T) {
	x, _ := indexed(t, append(everydayServices(),
		agis("home.test", "SWITCH /lights: Switches the lights of a room on or off", "LIST /rooms: Lists the rooms of a home", "LOCK /door: Locks the door of the home", "REMOVE /room: Removes a room of the home"),
		agis("bank.test", "TRANSFER /money: Transfers money to an account", "PAY /invoice: Pays an invoice", "RETRIEVE /balance: Retrieves the balance of an account"),
		agis("text.test", "CREATE /detection: Language detection. Identifies the language of a text", "CREATE /text: Creates a text", "START /session: Get the address of a session"))...)
	forms := []string{"is the %s ready", "was the %s cancelled", "has my %s been deleted", "who removed the %s", "what did I pay for the %s", "how much is the %s", "which %s is mine",
		"did anyone book the %s", "am I allowed a %s", "isn't the %s locked", "show me the %s", "do you know the %s", "the %s?", "when was the %s sent", "how do I know the %s"}
	for _, thing := range []string{"taxi", "room", "lights", "door", "money", "invoice", "event", "calendar", "email", "text", "session"} {
		for _, form := range forms {
			asked := fmt.Sprintf(form, thing)
			hits := search(t, x, query.Query{Words: asked}).Hits
			changes := func(h Hit) bool {
				class, _ := entry.ClassOf(&h.Operation)
				return entry.Changes(&h.Operation, class)
			}
			for i, h := range hits {
				if changes(h) && (!h.Far || i == 0 && slices.ContainsFunc(hits, func(o Hit) bool { return !changes(o) })) {
					t.Errorf("%q: hit %d is %s, far: %v", asked, i, h.Operation.ID, h.Far)
				}
			}
		}
	}
	for asked, want := range map[string]string{
		"how do I book a hotel room": "BOOK /room", "can I order a taxi": "ORDER /taxi", "how can we cancel a taxi": "CANCEL /ride", "where do I pay an invoice": "PAY /invoice",
		"what language is the text": "CREATE /detection", "could you lock the door": "LOCK /door", "who transfers money": "TRANSFER /money",
	} {
		if hits := search(t, x, query.Query{Words: asked}).Hits; len(hits) == 0 || hits[0].Operation.ID != want || hits[0].Far {
			t.Errorf("%q: %+v", asked, named(Result{Hits: hits}))
		}
	}
}

func TestProhibitionsExcludeOperations(t *testing.T) {
	x, _ := indexed(t, everydayServices()...)
	for asked, forbidden := range map[string]string{
		"what does an email cost, do not send it":       "SEND /email",
		"events of my calendar, but delete nothing":     "DELETE /event",
		"read-only: events of my calendar":              "CREATE /event",
		"emails and their price, nothing may be sent":   "SEND /email",
		"the calendar, without deleting any of it":      "CLEAR /calendar",
		"price of emails. Only the amount, do not send": "SEND /email",
	} {
		r := search(t, x, query.Query{Words: asked})
		left := 0
		for _, l := range r.LeftOut {
			left += l.Operations
		}
		if left == 0 {
			t.Errorf("%q leaves nothing out: %+v", asked, r.LeftOut)
		}
		for _, h := range r.Hits {
			if h.Operation.ID == forbidden {
				t.Errorf("%q finds %s", asked, forbidden)
			}
		}
	}
}

func TestClausesShareFirstPlaces(t *testing.T) {
	x, _ := indexed(t, everydayServices()...)
	hits := search(t, x, query.Query{Words: "Book a hotel room in Graz and order a taxi to the station."}).Hits
	first := map[string]bool{}
	for _, h := range hits[:min(3, len(hits))] {
		first[h.Operation.ID] = true
	}
	if !first["BOOK /room"] || !first["ORDER /taxi"] {
		t.Errorf("the first three are %q", named(Result{Hits: hits}))
	}
}

func TestCorrectionsAreReported(t *testing.T) {
	x, _ := indexed(t, everydayServices()...)
	r := search(t, x, query.Query{Words: "hotle room"})
	if r.Correction == nil || r.Correction.Query != "hotel room" || r.Correction.Words[0] != (correctedWord{"hotle", "hotel"}) {
		t.Errorf("the correction is %+v", r.Correction)
	}
	if r := search(t, x, query.Query{Words: "hotle room", Verbatim: true}); r.Correction != nil {
		t.Errorf("asked verbatim, it is corrected to %q", r.Correction.Query)
	}
	if r := search(t, x, query.Query{Words: "hotel room"}); r.Correction != nil {
		t.Errorf("a right spelling is corrected to %q", r.Correction.Query)
	}
}

func TestKoreanWordsAreCorrected(t *testing.T) {
	x, _ := indexed(t, everydayServices()...)
	r := search(t, x, query.Query{Words: "호털 예약해 줘"})
	if r.Correction == nil || r.Correction.Query != "호텔 예약해 줘" {
		t.Errorf("the correction is %+v", r.Correction)
	}
	if right := search(t, x, query.Query{Words: "호텔 예약해 줘"}); right.Correction != nil || len(right.Hits) == 0 || len(r.Hits) == 0 || r.Hits[0].Operation.ID != right.Hits[0].Operation.ID {
		t.Errorf("misspelt it finds %q, right %q (%+v)", named(r), named(right), right.Correction)
	}
	if r := search(t, x, query.Query{Words: "호털 예약해 줘", Verbatim: true}); r.Correction != nil {
		t.Errorf("asked verbatim, it is corrected to %q", r.Correction.Query)
	}
}

func TestFarHitsAreMarked(t *testing.T) {
	x, _ := indexed(t, everydayServices()...)
	r := search(t, x, query.Query{Words: "sharpen the chainsaw of the lumberjack"})
	for _, h := range r.Hits {
		if !h.Far {
			t.Errorf("%s fits by %.2f", h.Operation.ID, h.Fit)
		}
	}
	if r := search(t, x, query.Query{Words: "sharpen the chainsaw of the lumberjack", MinFit: 0.5}); len(r.Hits) > 0 {
		t.Errorf("%q fits", named(r))
	}
	if r := search(t, x, query.Query{Words: "book a hotel room", MinFit: 0.5}); len(r.Hits) == 0 || r.Hits[0].Far {
		t.Errorf("nothing fits: %+v", r.Hits)
	}
}

func TestNoTextHidesDestructiveOperation(t *testing.T) {
	for _, o := range []document.Operation{
		{ID: "DELETE /account", Verb: "DELETE", Intent: "Shows a list of accounts, read-only and safe", Effect: document.Informational},
		{ID: "SHOW /account", Verb: "SHOW", Intent: "Deletes an account", Effect: document.EffectUnknown},
		{ID: "PURGE /files", Verb: "PURGE", Intent: "Is safe", Effect: document.Informational},
	} {
		if e := EffectOf(&o); !e.Destructive || e.Value == string(document.Informational) {
			t.Errorf("%s: %+v", o.ID, e)
		}
		if value := entry.EffectValue(&o); value != string(document.Irreversible) {
			t.Errorf("%s passes the filter effect:%s", o.ID, value)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"sned", "send", 1}, {"tabel", "table", 1}, {"wether", "weather", 1}, {"book", "book", 0}, {"abc", "xyz", 3}, {"flihgt", "flight", 1}} {
		if got := view.EditDistance(c.a, c.b, 2); got != c.want {
			t.Errorf("%s to %s: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

// Who types the name of a service finds its operations first, though others say the name more often.
func TestServicesByName(t *testing.T) {
	pay, acme, fan := agis("pay.test", "LIST /charges: Lists charges"), agis("api.acme.test", "LIST /charges: Lists charges"), agis("fan.test", "CREATE /stripe: Creates a Stripe stripe for Stripe in stripe")
	pay.Service.Name, acme.Service.Name, fan.Service.Name = "Stripe API", "Payments", "Stripes of Stripe"
	x, _ := indexed(t, pay, acme, fan)
	for text, host := range map[string]string{"stripe": "pay.test", "Stripe API": "pay.test", "the stripe rest api": "pay.test", "acme": "api.acme.test"} {
		r := search(t, x, query.Query{Words: text})
		if len(r.Hits) == 0 || r.Hits[0].Host != host {
			t.Errorf("%s: the first hit is not of %s: %+v", text, host, r.Hits)
		}
		if len(r.Services) == 0 || r.Services[0].Host != host {
			t.Errorf("%s: the first service is not %s: %+v", text, host, r.Services)
		}
	}
	if r := search(t, x, query.Query{Words: "create a stripe"}); len(r.Hits) == 0 || r.Hits[0].Host != "fan.test" {
		t.Errorf("a request that is more than the name: %+v", r.Hits)
	}
}
