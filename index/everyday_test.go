package index

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/index/entry"
	"gazetteer/index/query"
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
		"list my events":                           "LIST /events",
		"get rid of an event of my calendar":       "DELETE /event",
		"email my sister":                          "SEND /email",
		"will I need an umbrella":                  "RETRIEVE /forecast",
		"Sag das Hotelzimmer ab":                   "CANCEL /booking",
		"quero reservar um quarto de hotel":        "BOOK /room",
		"cancele o quarto de hotel":                "CANCEL /booking",
		"chamar um táxi":                           "ORDER /taxi",
		"vorrei prenotare una camera d'albergo":    "BOOK /room",
		"che tempo farà domani?":                   "RETRIEVE /forecast",
		"ordinami un taxi":                         "ORDER /taxi",
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

// TestQuestionsDoNotFindChangingOperations checks that an operation that only changes something is
// marked as far where a question is asked, however many of its words it has.
func TestQuestionsDoNotFindChangingOperations(t *testing.T) {
	x, _ := indexed(t, agis("home.test", "SWITCH /lights: Switches the lights of a room on or off"), agis("shop.test", "ORDER /lamp: Orders a lamp"))
	for asked, far := range map[string]bool{"which lights are on": true, "are the lights of the room on": true, "switch the lights on": false, "how do I switch the lights on": false} {
		hits := search(t, x, query.Query{Words: asked}).Hits
		if len(hits) == 0 || hits[0].Operation.Verb != "SWITCH" || hits[0].Far != far {
			t.Errorf("%q: %+v", asked, hits)
		}
	}
}

// TestNoQuestionIsAnsweredByAChange asks questions of every form about the things that operations
// of all kinds work on. Every hit that changes something is far, and none is the first unless all
// do; a question for a method is answered by what does it.
func TestNoQuestionIsAnsweredByAChange(t *testing.T) {
	x, _ := indexed(t, append(everydayServices(),
		agis("home.test", "SWITCH /lights: Switches the lights of a room on or off", "LIST /rooms: Lists the rooms of a home", "LOCK /door: Locks the door of the home", "REMOVE /room: Removes a room of the home"),
		agis("bank.test", "TRANSFER /money: Transfers money to an account", "PAY /invoice: Pays an invoice", "RETRIEVE /balance: Retrieves the balance of an account"),
		agis("text.test", "CREATE /detection: Language detection. Identifies the language of a text", "CREATE /text: Creates a text", "START /session: Get the address of a session"))...)
	spending, _ := indexed(t, agis("bank.test", "TRANSFER /money: Transfers money that is spent on something", "SPEND /money: Spends money from an account"),
		agis("budget.test", "LIST /spending: Lists what money people spend", "RETRIEVE /month: Retrieves what money people spend in a month", "COUNT /accounts: Counts the money that people spend on an account"))
	forms := []string{"is the %s ready", "was the %s cancelled", "has my %s been deleted", "who removed the %s", "what did I pay for the %s", "how much is the %s", "which %s is mine",
		"did anyone book the %s", "am I allowed a %s", "isn't the %s locked", "show me the %s", "do you know the %s", "the %s?", "find out who moved the %s", "check whether the %s is open", "see if the %s was sent", "when was the %s sent", "how do I know the %s",
		"I was wondering what the %s costs", "any idea whether the %s is mine", "I forgot when the %s was sent", "just show me the %s"}
	noChangeAnswers := func(asked string) {
		t.Helper()
		changes := func(h Hit) bool {
			class, _ := entry.ClassOf(&h.Operation)
			return entry.Changes(&h.Operation, class)
		}
		hits := search(t, x, query.Query{Words: asked}).Hits
		for i, h := range hits {
			if changes(h) && (!h.Far || i == 0 && slices.ContainsFunc(hits, func(o Hit) bool { return !changes(o) })) {
				t.Errorf("%q: hit %d is %s, far: %v", asked, i, h.Operation.ID, h.Far)
			}
		}
	}
	for _, thing := range []string{"taxi", "room", "lights", "door", "money", "invoice", "event", "calendar", "email", "text", "session"} {
		for _, form := range forms {
			noChangeAnswers(fmt.Sprintf(form, thing))
		}
	}
	for _, asked := range []string{"내 호텔 예약이 취소됐나요?", "택시를 예약했나요?", "ホテルの予約はいつですか", "酒店预订取消了吗？"} {
		noChangeAnswers(asked)
	}
	for _, asked := range []string{"호텔 예약 취소해 줄 수 있나요?", "ホテルを予約してくれますか", "可以帮我预订酒店吗？", "호텔 예약해 줘"} {
		hits := search(t, x, query.Query{Words: asked}).Hits
		if len(hits) == 0 {
			t.Fatalf("%q finds nothing", asked)
		}
		if class, _ := entry.ClassOf(&hits[0].Operation); !entry.Changes(&hits[0].Operation, class) {
			t.Errorf("%q: %q", asked, named(Result{Hits: hits}))
		}
	}
	lost, _ := indexed(t, agis("post.test", "TRACK /parcel: Tracks where a parcel is", "REPORT /loss: Reports a parcel that was lost", "REPORT /volume: Reports the number of parcels of a day"))
	for _, h := range search(t, lost, query.Query{Words: "where is my parcel"}).Hits {
		if told := h.Operation.ID == "REPORT /loss"; told && !h.Far || h.Operation.ID == "TRACK /parcel" && h.Far {
			t.Errorf("where is my parcel: %s, far: %v", h.Operation.ID, h.Far)
		}
	}
	play, _ := indexed(t, agis("music.test", "PLAY /song: Plays a song of a playlist", "LIST /songs: Lists the songs of a playlist"),
		agis("pay.test", "CAPTURE /payment: Captures a payment of an order", "RETRIEVE /payment: Retrieves a payment of an order"),
		agis("gym.test", "JOIN /gym: Joins the gym as a member by the month", "LIST /members: Lists when the gym has members"),
		agis("parking.test", "RESERVE /space: Reserves a parking space", "FIND /spaces: Finds free parking spaces"),
		agis("doctor.test", "REQUEST /prescription: Requests a repeat prescription", "LIST /prescriptions: Lists prescriptions of a patient"))
	for _, asked := range []string{"what songs are on my playlist", "did my payment go through", "when does the gym have members", "am I a member of the gym", "what song is playing",
		"where can I park", "can I park here", "is my prescription ready", "when does the next song of the playlist start"} {
		if hits := search(t, play, query.Query{Words: asked}).Hits; len(hits) == 0 || !slices.Contains([]string{"LIST", "RETRIEVE", "FIND"}, hits[0].Operation.Verb) {
			t.Errorf("%q: %q", asked, named(Result{Hits: hits}))
		}
	}
	for _, asked := range []string{"what did I spend my money on", "how much money did I spend on my account"} {
		hits := search(t, spending, query.Query{Words: asked}).Hits
		for _, h := range hits[:min(2, len(hits))] {
			if h.Operation.Verb == "TRANSFER" || h.Operation.Verb == "SPEND" {
				t.Errorf("%q: %q", asked, named(Result{Hits: hits}))
			}
		}
	}
	for asked, want := range map[string]string{
		"how do I book a hotel room": "BOOK /room", "can I order a taxi": "ORDER /taxi", "how can we cancel a taxi": "CANCEL /ride", "where do I pay an invoice": "PAY /invoice",
		"show me how to order a taxi": "ORDER /taxi", "see how I can cancel a taxi": "CANCEL /ride",
		"what language is the text": "CREATE /detection", "could you lock the door": "LOCK /door", "who transfers money": "TRANSFER /money",
	} {
		if hits := search(t, x, query.Query{Words: asked}).Hits; len(hits) == 0 || hits[0].Operation.ID != want || hits[0].Far {
			t.Errorf("%q: %+v", asked, named(Result{Hits: hits}))
		}
	}
}

// TestOppositesYield checks that what undoes or only simulates the requested act comes after what
// does it, and what ends more or makes a new thing is not among the first where one thing is ended.
func TestOppositesYield(t *testing.T) {
	x, _ := indexed(t, append(everydayServices(),
		agis("cars.test", "RENT /car: Rents a car for some days", "RETURN /car: Returns a rented car at a station", "FIND /cars: Finds cars that are free to rent"),
		agis("bank.test", "CREATE /wire: Creates a wire transfer from an account", "SIMULATE /wire: Simulates a wire transfer from an account", "RETRIEVE /wire: Retrieves a wire transfer of an account"),
		agis("mail.example.test", "PAUSE /sending: Pauses the sending of a mailing list", "RESUME /sending: Resumes the paused sending of a mailing list"),
		agis("news.test", "SUBSCRIBE /newsletter: Subscribes an address to a newsletter", "LIST /subscriptions: Lists subscriptions"),
		agis("gym.test", "JOIN /gym: Joins the gym as a member, for a membership by the month", "CANCEL /membership: Cancels the membership of the gym", "FIND /courses: Finds courses for members of the gym"),
		agis("jobs.test", "FIND /jobs: Finds a job in a kitchen", "WITHDRAW /application: Withdraws an application for a job as a cook"))...)
	for asked, order := range map[string][2]string{
		"rent a car for the weekend":                                      {"FIND /cars", "RETURN /car"},
		"return the rented car":                                           {"RETURN /car", "RENT /car"},
		"wire 900 dollars from my account":                                {"CREATE /wire", "SIMULATE /wire"},
		"simulate a wire transfer":                                        {"SIMULATE /wire", "CREATE /wire"},
		"stop my subscription":                                            {"LIST /subscriptions", "SUBSCRIBE /newsletter"},
		"pause the sending of the list, it must be possible to resume it": {"PAUSE /sending", "RESUME /sending"},
		"cancel my gym membership":                                        {"CANCEL /membership", "JOIN /gym"},
		"delete an event of my calendar":                                  {"DELETE /event", "CLEAR /calendar"},
		"bring the car back to the station":                               {"RETURN /car", "RENT /car"},
		"give back the rented car":                                        {"RETURN /car", "RENT /car"},
		"apply for the job of a cook":                                     {"FIND /jobs", "WITHDRAW /application"},
		"I no longer need the gym membership":                             {"CANCEL /membership", "JOIN /gym"},
		"the gym was too far away, cancel the membership":                 {"CANCEL /membership", "JOIN /gym"},
		"quiero devolver el coche":                                        {"RETURN /car", "RENT /car"},
	} {
		hits := search(t, x, query.Query{Words: asked}).Hits
		first, second := placeOf(hits, order[0]), placeOf(hits, order[1])
		if first < 0 || second >= 0 && (second < first || hits[second].Score > .97*hits[first].Score) {
			t.Errorf("%q: %q", asked, named(Result{Hits: hits}))
		}
	}
}

// TestContainersStay checks that what something is removed from is not what is deleted first, and that a
// refund, whatever its verb, comes after a charge.
func TestContainersStay(t *testing.T) {
	x, _ := indexed(t,
		agis("projects.test", "DELETE /project: Removes a project", "EXCLUDE /member: Excludes a member from a project", "LIST /projects: Lists the projects and their members"),
		agis("payments.test", "CREATE /charge-refund: Creates a refund of a charge of a customer", "DEBIT /card: Charges the card of a customer"),
	)
	wantFirst(t, x, map[string]string{
		"remove Ana from the project":      "EXCLUDE /member",
		"remove her from the team project": "EXCLUDE /member",
		"charge the customer again":        "DEBIT /card",
	})
}

// TestReversedVerbs checks that an operation that undoes what a request wants is far, and comes after
// others, also if only its name tells: to unpin a message is not to pin it.
func TestReversedVerbs(t *testing.T) {
	x, _ := indexed(t,
		agis("chats.test", "PIN /message: Pins a message in a chat", "CREATE /unban-member: Unbans a user, who can join the group again"),
		agis("calls.test", "CREATE /blocked-numbers: Adds a number that nobody can call from", "SHOW /numbers: Shows the numbers of an account"),
		agis("shows.test", "DELETE /show/follows: Unfollows a show", "MARK /show: Marks a show as watched"))
	for asked, undoes := range map[string]string{
		"unpin the message in the chat":        "PIN /message",
		"ban this user from the group chat":    "CREATE /unban-member",
		"unblock the number 030 1234567":       "CREATE /blocked-numbers",
		"pin the message in the chat":          "",
		"block the number 030 1234567":         "",
		"unfollow the show":                    "",
		"unpin this message, then pin the new": "",
	} {
		for i, h := range search(t, x, query.Query{Words: asked}).Hits {
			switch {
			case undoes == "" && i == 0 && h.Far:
				t.Errorf("%q: %s is far", asked, h.Operation.ID)
			case h.Operation.ID == undoes && (i == 0 || !h.Far):
				t.Errorf("%q: %s is hit %d, far: %v", asked, undoes, i, h.Far)
			}
		}
	}
}

// wantFirst checks which operation is the first result of each request.
func wantFirst(t *testing.T, x *Index, requests map[string]string) {
	t.Helper()
	for asked, want := range requests {
		if hits := search(t, x, query.Query{Words: asked}).Hits; len(hits) == 0 || hits[0].Operation.ID != want {
			t.Errorf("%q: %q, want %s", asked, named(Result{Hits: hits}), want)
		}
	}
}

// TestActsOfRequests checks that the act of a request is found where its form hides it: a verb that may be
// a noun, one that no table has, a number before it, or several things that are one thing to it.
func TestActsOfRequests(t *testing.T) {
	x, _ := indexed(t, append(everydayServices(),
		agis("home.test", "SWITCH /lights/{room}: Switches the lights of a room on or off", "LOCK /doors: Locks all outer doors of the home"),
		agis("shop.test", "DISABLE /vacation: Disables vacation mode, so that all listings are back"),
		agis("doctor.test", "REQUEST /prescription: Requests a prescription for the pharmacy"),
		agis("map.test", "FIND /pharmacies: Finds places such as a pharmacy or a bank"),
		agis("books.test", "CREATE /invoice: Creates an invoice", "SUBMIT /invoice: Submits an invoice"),
		agis("scans.test", "CONVERT /ocr/{kind}: Converts a photo of a document into text"),
		agis("desk.test", "ARCHIVE /entry: Archives an issue or a ticket", "CREATE /ticket: Opens a ticket"),
		agis("tickets.test", "REFUND /ticket/{id}: Refunds a ticket", "BUY /ticket: Buys a ticket"),
		agis("recipes.test", "ADD /recipe: Adds a recipe, for example with milk or eggs"),
		agis("lists.test", "ADD /shopping-list/{name}: Adds things to a shopping list"),
		agis("cleaning.test", "ESTIMATE /cleaning: Estimates what the cleaning of a home costs", "BOOK /cleaning: Books a cleaner for a home"),
		agis("parcels.test", "REPORT /loss: Reports a parcel that is lost", "SEND /parcel: Sends a parcel"),
		agis("links.test", "UPDATE /short-link: Updates a short link", "CREATE /short-link: Creates a link that is shortened"))...)
	wantFirst(t, x, map[string]string{
		"turn off the lights":                           "SWITCH /lights/{room}",
		"turn off all lights":                           "SWITCH /lights/{room}",
		"have the home cleaned":                         "BOOK /cleaning",
		"my parcel says delivered but nothing is here":  "REPORT /loss",
		"nearest pharmacy":                              "FIND /pharmacies",
		"nearest pharmacy open now":                     "FIND /pharmacies",
		"ocr this invoice":                              "CONVERT /ocr/{kind}",
		"archive ticket 12":                             "ARCHIVE /entry",
		"shorten this link":                             "CREATE /short-link",
		"Step 3: order a taxi for Ann":                  "ORDER /taxi",
		"2) email the price to Ann":                     "SEND /email",
		"Task: book a hotel room":                       "BOOK /room",
		"add milk and eggs to the shopping list":        "ADD /shopping-list/{name}",
		"put milk, eggs and flour on the shopping list": "ADD /shopping-list/{name}",
	})
}

// TestErrands checks requests whose words no service uses.
func TestErrands(t *testing.T) {
	x, _ := indexed(t,
		agis("bikes.test", "LIST /incidents: Lists stolen bikes and bike accidents", "RETRIEVE /bike-locations: Shows the locations of bikes"),
		agis("repairs.test", "REQUEST /repair: Requests a repair"),
		agis("staff.test", "LIST /payrolls: Shows payrolls", "RETRIEVE /employee/{id}: Shows an employee"),
		agis("payments.test", "RETRIEVE /refund/{id}: Shows a refund of a customer", "CREATE /refund: Creates a refund for a customer"),
		agis("dance.test", "BOOK /lesson: Books a lesson at the dance school"),
		agis("calendar.test", "CLEAR /calendar: Clears a calendar of all its events", "MOVE /event: Moves an event to another calendar",
			"INSERT /event: Creates an event"),
		agis("tracks.test", "RETRIEVE /tracks/{track_id}: Shows a track"),
		agis("orders.test", "RETRIEVE /orders/{id}: Shows an order", "CANCEL /orders/{id}: Cancels an order"),
		agis("music.test", "PAUSE /music: Pauses the music that plays", "PLAY /music: Plays a song or an album", "CREATE /playlist: Creates a playlist of songs"),
		agis("scans.test", "CONVERT /advanced: Converts a picture to text with machine learning"),
		agis("drive.test", "EMPTY /trash: Deletes all files in the trash"),
		agis("waste.test", "RETRIEVE /waste-collection-dates: Says when the waste is collected"))
	wantFirst(t, x, map[string]string{
		"get my bike fixed":                     "REQUEST /repair",
		"have my bicycle fixed":                 "REQUEST /repair",
		"pay my employees":                      "LIST /payrolls",
		"give the customer their money back":    "CREATE /refund",
		"I want to learn flamenco":              "BOOK /lesson",
		"empty the trash":                       "EMPTY /trash",
		"create a calendar event for Ann at 10": "INSERT /event",
		"where is my order":                     "RETRIEVE /orders/{id}",
		"play the next song":                    "PLAY /music",
		"when do they collect the rubbish":      "RETRIEVE /waste-collection-dates",
		"when is the garbage collected":         "RETRIEVE /waste-collection-dates",
	})
}

// TestSeekingRequests checks that a request for who does something finds what does it.
func TestSeekingRequests(t *testing.T) {
	x, _ := indexed(t, append(everydayServices(),
		agis("library.test", "FIND /books: Finds books of the library", "LIST /services: Lists the services of the library"),
		agis("registry.test", "SEARCH /operations: Finds a service that can do something"))...)
	wantFirst(t, x, map[string]string{
		"find a service that can book a hotel room": "BOOK /room",
		"find me an agent that books hotel rooms":   "BOOK /room",
		"which service lets me send an email":       "SEND /email",
		"show agents that can order a taxi":         "ORDER /taxi",
		"an API to send emails":                     "SEND /email",
		"search for an agent who will order a taxi": "ORDER /taxi",
		"list the services of the library":          "LIST /services",
	})
}

// TestIdentifiersAreOfAKind checks that a request with hardly more than an identifier finds what takes
// identifiers of this kind.
func TestIdentifiersAreOfAKind(t *testing.T) {
	x, _ := indexed(t, append(everydayServices(),
		agis("lookups.test", "LOCATE /ip: Tells the place of an IP address", "VALIDATE /iban: Checks an IBAN", "FIND /book: Finds a book by its ISBN",
			"VALIDATE /phone: Checks a phone number", "FIND /product: Finds a product by its barcode", "VALIDATE /email: Checks an email address"),
		agis("music.test", "RETRIEVE /track: Shows a track of an album", "FIND /places: Finds places by name"),
		agis("parcels.test", "TRACK /parcel: Follows a parcel"),
		agis("teams.test", "INVITE /member: Invites a member to a team"))...)
	for asked, want := range map[string]string{
		"where is 8.8.8.8":               "LOCATE /ip",
		"look up DE89370400440532013000": "VALIDATE /iban",
		"978-3-16-148410-0":              "FIND /book",
		"check +49 30 1234567":           "VALIDATE /phone",
		"what is 4006381333931":          "FIND /product",
		"who is jane.doe@example.com":    "VALIDATE /email",
		"track 1Z999AA10123456784":       "TRACK /parcel",
		"invite jane@example.com":        "INVITE /member",
	} {
		if hits := search(t, x, query.Query{Words: asked}).Hits; len(hits) == 0 || hits[0].Operation.ID != want {
			t.Errorf("%q: %q", asked, named(Result{Hits: hits}))
		}
	}
}

// TestReversibleEndsDestroyNothing checks that what destroys a thing is not among the first where it is to be
// archived or paused.
func TestReversibleEndsDestroyNothing(t *testing.T) {
	x, _ := indexed(t, agis("chat.test", "DELETE /channel: Deletes a channel of a team", "ARCHIVE /channel: Archives a channel of a team"),
		agis("team.test", "LIST /channels: Lists the channels", "CREATE /channel: Creates a channel", "FIND /teams: Finds a team"))
	for asked, deletes := range map[string]bool{"archive the channel of my team": false, "pause the channel of my team": false, "delete the channel of my team": true} {
		at := placeOf(search(t, x, query.Query{Words: asked}).Hits, "DELETE /channel")
		if first := at >= 0 && at < 3; first != deletes {
			t.Errorf("%q: DELETE is hit %d", asked, at)
		}
	}
}

// TestThingsAloneAreNotGivenBack checks that what undoes getting a thing is not among the first where only
// the thing is named, unless that act is named, too.
func TestThingsAloneAreNotGivenBack(t *testing.T) {
	x, _ := indexed(t, agis("tickets.test", "BUY /ticket: Buys a ticket for a concert", "REFUND /ticket: Refunds a ticket for a concert that somebody bought"),
		agis("concerts.test", "FIND /concerts: Finds a concert", "LIST /tickets: Lists the tickets for a concert", "COMPARE /prices: Compares prices of tickets"))
	for asked, refunds := range map[string]bool{"concert ticket": false, "two seats at the jazz concert": false, "refund for a concert ticket": true, "ticket refunds": true} {
		at := placeOf(search(t, x, query.Query{Words: asked}).Hits, "REFUND /ticket")
		if first := at >= 0 && at < 3; first != refunds {
			t.Errorf("%q: REFUND is hit %d", asked, at)
		}
	}
}

// TestVerbsOfOneMeaningAreCachedSeparately checks that an earlier request does not change the answer to one
// whose verb has the same single verb and other opposites.
func TestVerbsOfOneMeaningAreCachedSeparately(t *testing.T) {
	scores := func(requests ...string) (last []float64) {
		x, _ := indexed(t, agis("cars.test", "RENT /car: Rents a car for some days", "RETURN /car: Returns a car that was rented"))
		for _, asked := range requests {
			last = nil
			for _, h := range search(t, x, query.Query{Words: asked}).Hits {
				last = append(last, h.Score)
			}
		}
		return last
	}
	if alone, after := scores("take back the car"), scores("withdraw the car", "take back the car"); !slices.Equal(alone, after) {
		t.Errorf("alone: %v, after another request: %v", alone, after)
	}
}

// placeOf returns the place of an operation among hits, -1 if it is not there.
func placeOf(hits []Hit, id string) int {
	return slices.IndexFunc(hits, func(h Hit) bool { return h.Operation.ID == id })
}

// TestEffectsOfHeadings checks that a heading or a remark is not an act, but a later sentence that ends
// something is one.
func TestEffectsOfHeadings(t *testing.T) {
	for _, c := range []struct {
		verb, intent string
		changes      bool
		destructive  bool
	}{
		{"LIST", "Exchange components. This endpoint provides a mapping of bits", false, false},
		{"RETRIEVE", "Seat maps. Cabin layout and characteristics of seats", false, false},
		{"LIST", "Measurements of the observatory. This data is made available by a laboratory", false, false},
		{"LIST", "Random sticker. Returns a random sticker. Excluding the tag will return any", false, false},
		{"LIST", "Given a word, returns words that rhyme", false, false},
		{"CREATE", "Job feed. The job feed endpoint returns an array of jobs", false, false},
		{"CREATE", "Job feed", true, false},
		{"LIST", "Metrics. Transfers money to an account", true, false},
		{"CLEAR", "Clears a calendar. This operation deletes all of its events", true, true},
		{"LIST", "Account. This method deletes the account", true, true},
		{"RETRIEVE", "Account. Deleting the account of a user", true, true},
		{"LIST", "Given an account, deletes it", true, true},
	} {
		o := document.Operation{ID: "x", Verb: c.verb, Intent: c.intent, Effect: document.EffectUnknown}
		class, from := entry.ClassOf(&o)
		if changes := entry.Changes(&o, class); changes != c.changes || EffectOf(&o).Destructive != c.destructive {
			t.Errorf("%s %q: %s from %q, changes: %v, destructive: %v", c.verb, c.intent, class, from, changes, EffectOf(&o).Destructive)
		}
	}
}

func TestProhibitionsExcludeOperations(t *testing.T) {
	x, _ := indexed(t, everydayServices()...)
	for asked, forbidden := range map[string]string{
		"what does an email cost, do not send it":       "SEND /email",
		"events of my calendar, but delete nothing":     "DELETE /event",
		"read-only: events of my calendar":              "CREATE /event",
		"only read: events of my calendar":              "CREATE /event",
		"emails and their price, nothing may be sent":   "SEND /email",
		"the calendar, without deleting any of it":      "CLEAR /calendar",
		"price of emails. Only the amount, do not send": "SEND /email",
		"price of hotel rooms, no booking":              "BOOK /room",
		"Estimate an email, I do not want one yet":      "SEND /email",
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

// TestProhibitionsKeepChangesFromTheFirstPlaces checks that a request that forbids something and only wants to
// read has no change among its first answers, even one that its prohibition does not name.
func TestProhibitionsKeepChangesFromTheFirstPlaces(t *testing.T) {
	x, _ := indexed(t, agis("repairs.test", "REQUEST /repair: Requests somebody to repair a boiler", "ESTIMATE /repair: Estimates what the repair of a boiler costs"),
		agis("guide.test", "LIST /guides: Lists guides on boilers", "FIND /parts: Finds parts of boilers"))
	for asked, allowed := range map[string]bool{"estimate the repair of the boiler without sending anyone": false, "boiler repair, no order": false, "repair the boiler without sending anyone": true} {
		at := placeOf(search(t, x, query.Query{Words: asked}).Hits, "REQUEST /repair")
		if at >= 0 && at < 3 != allowed {
			t.Errorf("%q: REQUEST is hit %d", asked, at)
		}
	}
}

// TestTranslationsHaveSynonyms checks that the translation of a word finds the services that use another
// English word.
func TestTranslationsHaveSynonyms(t *testing.T) {
	x, _ := indexed(t, agis("restrooms.test", "FIND /restrooms: Finds restrooms of a place", "LIST /places: Lists places of a town"),
		agis("repairs.test", "REQUEST /repair: Requests a repair at home", "LIST /homes: Lists homes"))
	for asked, want := range map[string]string{"¿dónde hay un baño público?": "FIND /restrooms", "mi serve un idraulico": "REQUEST /repair"} {
		hits := search(t, x, query.Query{Words: asked}).Hits
		if len(hits) == 0 || hits[0].Operation.ID != want || !slices.ContainsFunc(hits[0].Why.Matched, func(m Match) bool { return m.Kind == matchMeaning }) {
			t.Errorf("%q: %q, want %s by another word", asked, named(Result{Hits: hits}), want)
		}
	}
}

// An operation that ends a booking is not one that books.
func TestProhibitionKeepsTheRequestedEnd(t *testing.T) {
	x, _ := indexed(t, agis("inn.test", "BOOK /cabin: Books a cabin", "CANCEL /cabin: Cancels the booking of a cabin", "MOVE /cabin: Moves the booking of a cabin"))
	if got := named(search(t, x, query.Query{Words: "do not book, cancel my old cabin"})); len(got) != 1 || got[0] != "inn.test CANCEL /cabin" {
		t.Errorf("%q", got)
	}
}

func TestClausesShareFirstPlaces(t *testing.T) {
	x, _ := indexed(t, append(everydayServices(), agis("words.test", "VIEW /progress: Views the progress of a translation", "TRANSLATE /text: Translates a text", "LIST /lengths: Lists distances"))...)
	for asked, want := range map[string]string{
		"see how far my text has come, and book a hotel room": "VIEW /progress", "find out how far the trip is": "LIST /lengths",
		"what is the Polish word for bread": "TRANSLATE /text", "how do I say good morning in Dutch": "TRANSLATE /text",
	} {
		hits := search(t, x, query.Query{Words: asked}).Hits
		if at := placeOf(hits, want); at < 0 || at > 2 {
			t.Errorf("%q: %q", asked, named(Result{Hits: hits}))
		}
	}
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
	// A rare word of the dictionary is a correction if the index has it.
	y, _ := indexed(t, append(everydayServices(), agis("shop.test", "FIND /lozenge: Finds a lozenge"))...)
	if r := search(t, y, query.Query{Words: "find a lozenke"}); r.Correction == nil || r.Correction.Query != "find a lozenge" {
		t.Errorf("the correction is %+v", r.Correction)
	}
	// The stem of a misspelled verb is known, but not what it asks for.
	if r := search(t, x, query.Query{Words: "delet an event"}); r.Correction == nil || r.Correction.Query != "delete an event" || len(r.Hits) == 0 || r.Hits[0].Operation.ID != "DELETE /event" {
		t.Errorf("a misspelled verb is corrected to %+v and finds %q", r.Correction, named(r))
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
		t.Errorf("misspelled it finds %q, right %q (%+v)", named(r), named(right), right.Correction)
	}
	if r := search(t, x, query.Query{Words: "호털 예약해 줘", Verbatim: true}); r.Correction != nil {
		t.Errorf("asked verbatim, it is corrected to %q", r.Correction.Query)
	}
}

// TestSynonymsOfRareWords checks that a request in everyday words finds the services that use
// others, and that the request's own word counts where services use it.
func TestSynonymsOfRareWords(t *testing.T) {
	restrooms := agis("restrooms.test", "FIND /restrooms: Finds restrooms of a place", "LIST /places: Lists places of a town")
	movies := agis("movies.test", "LIST /movies: Lists movies", "FIND /movies: Finds movies by title", "PLAY /movies/{id}: Plays one of the movies")
	films := agis("films.test", "LIST /films: Lists films")
	for _, c := range []struct {
		docs        []*document.Document
		asked, want string
		meanings    bool // whether the first hit has another word for one of the request
	}{
		{[]*document.Document{restrooms}, "public toilets", "FIND /restrooms", true},
		{[]*document.Document{films}, "list of movies", "LIST /films", true},
		{[]*document.Document{films, movies}, "list of movies", "LIST /movies", false},
	} {
		x, _ := indexed(t, c.docs...)
		hits := search(t, x, query.Query{Words: c.asked}).Hits
		if len(hits) == 0 || hits[0].Operation.ID != c.want {
			t.Errorf("%q: %q, want %s", c.asked, named(Result{Hits: hits}), c.want)
			continue
		}
		if met := slices.ContainsFunc(hits[0].Why.Matched, func(m Match) bool { return m.Kind == matchMeaning }); met != c.meanings {
			t.Errorf("%q: matched by another word: %v: %+v", c.asked, met, hits[0].Why.Matched)
		}
	}
}

func TestArgumentsTellOperationsApart(t *testing.T) {
	x, _ := indexed(t, agis("zones.test", "LOOKUP /timezone: Returns the timezone",
		"SEARCH /timezone: Returns the timezone, its name, its offset and the rules of summer time of a latitude and longitude"))
	if hits := search(t, x, query.Query{Words: "tz_lookup(lat, lng)", Limit: 1}).Hits; len(hits) != 1 || hits[0].Operation.ID != "SEARCH /timezone" {
		t.Errorf("tz_lookup(lat, lng) finds %q", named(Result{Hits: hits}))
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

// TestAbsentWordsLowerTheFit checks that in an index of some size a word without any match lowers
// the fit, because the topic is unknown.
func TestAbsentWordsLowerTheFit(t *testing.T) {
	var others []string
	for i := range 400 {
		others = append(others, fmt.Sprintf("LIST /lists/%d: Lists the numbers of list %d", i, i))
	}
	library := agis("library.test", "RENEW /loan: Renews the loan of a library book")
	fitOf := func(docs ...*document.Document) Hit {
		x, _ := indexed(t, append(docs, library)...)
		hits := search(t, x, query.Query{Words: "renew my passport"}).Hits
		if len(hits) == 0 || hits[0].Operation.ID != "RENEW /loan" {
			t.Fatalf("found %q", named(Result{Hits: hits}))
		}
		return hits[0]
	}
	few, many := fitOf(), fitOf(agis("lists.test", others...))
	known := fitOf(agis("lists.test", others...), agis("photo.test", "PRINT /photo: Prints a photo for a passport"))
	if many.Fit > .75*few.Fit || known.Fit < many.Fit/.75 {
		t.Errorf("few operations: %.3f, many: %.3f, many that have the word: %.3f", few.Fit, many.Fit, known.Fit)
	}
	x, _ := indexed(t, agis("lists.test", others...), library)
	if hits := search(t, x, query.Query{Words: "renew the loan of my book at Xyzzyville"}).Hits; len(hits) == 0 || hits[0].Far {
		t.Errorf("a name that nothing has: %+v", hits)
	}
}

// TestAnotherActLowersTheFit checks that an operation fits less that changes something and does
// something else than the request wants. With so few operations no topic is unknown.
func TestAnotherActLowersTheFit(t *testing.T) {
	const between = 0.4
	x, _ := indexed(t, agis("moving.test", "RENT /van: Rents a van to move furniture", "FIND /vans: Finds vans to move furniture"))
	for request, low := range map[string]bool{"paint the furniture": true, "rent a van": false, "find vans for my furniture": false, "get a van to move furniture": false} {
		if hits := search(t, x, query.Query{Words: request}).Hits; len(hits) == 0 || hits[0].Fit < between != low {
			t.Errorf("%s: %q with the fit %v, want it below %v: %v", request, named(Result{Hits: hits}), hits[0].Fit, between, low)
		}
	}
}

// TestActOfAnExpressionLowersTheFit checks that an operation fits less if it does something else than
// an everyday expression asks for, still less if that cannot be undone: open a ticket is to create one.
func TestActOfAnExpressionLowersTheFit(t *testing.T) {
	buys := agis("tickets.test", "BUY /ticket: Buys tickets for a concert")
	for _, declared := range []document.Effect{"", document.Irreversible} {
		buys.Operations[0].Effect = cmp.Or(declared, buys.Operations[0].Effect)
		x, _ := indexed(t, buys)
		for request, low := range map[string]bool{"open a support ticket": true, "buy a ticket": false} {
			hits := search(t, x, query.Query{Words: request}).Hits
			if len(hits) == 0 || hits[0].Fit < 0.4 != low || hits[0].Far != (low && declared != "") {
				t.Errorf("%s, effect %q: %+v", request, declared, hits)
			}
		}
	}
}

// TestLaterMeaningsCoverLess checks that an operation with the last of the words that services use for
// an everyday word (massage: beauty salon appointment) fits less than one with the first.
func TestLaterMeaningsCoverLess(t *testing.T) {
	x, _ := indexed(t, agis("dentists.test", "BOOK /appointment: Books an appointment"), agis("beauty.test", "BOOK /beauty: Books an hour of beauty"))
	fits := make(map[string]float64)
	for _, h := range search(t, x, query.Query{Words: "book a massage"}).Hits {
		fits[h.Host] = h.Fit
	}
	if fits["dentists.test"] == 0 || fits["dentists.test"] > .75*fits["beauty.test"] {
		t.Errorf("the fits are %v", fits)
	}
}

// TestShortAnswersHaveTheSameFit checks that a short answer, which does not explain verbs, marks the
// same hits as a whole one.
func TestShortAnswersHaveTheSameFit(t *testing.T) {
	x, _ := indexed(t, agis("homes.test", "ESTIMATE /value: Estimates what a flat is worth", "LIST /homes: Lists homes"))
	q := query.Query{Words: "rent price estimate for my flat"}
	whole := search(t, x, q).Hits
	q.Brief = true
	short := search(t, x, q).Hits
	for i := range whole {
		if whole[i].Fit != short[i].Fit {
			t.Errorf("%s has the fit %v in a whole answer and %v in a short one", whole[i].Operation.ID, whole[i].Fit, short[i].Fit)
		}
	}
}

func TestNoteOnFitAgreesWithTheMarks(t *testing.T) {
	for _, c := range []struct {
		offset int
		far    []bool
		want   string
	}{
		{0, []bool{true, true, true, true}, "nothing here is near"},
		{0, []bool{true, true, true, false}, "the first operations are far"},
		{0, []bool{true, false, true, true}, ""},
		{10, []bool{true, true, true, true}, ""}, // the first page may have near ones
	} {
		var hits []Hit
		for _, far := range c.far {
			hits = append(hits, Hit{Far: far})
		}
		s := searcher{query: query.Query{Offset: c.offset}}
		if note := s.noteOnFit(hits); (note == "") != (c.want == "") || !strings.HasPrefix(note, c.want) {
			t.Errorf("%v from %d on: %q", c.far, c.offset, note)
		}
	}
}

// TestNoteOnPartOfName checks that a request with a part of the name of a service is not told that nothing
// is near it.
func TestNoteOnPartOfName(t *testing.T) {
	pool := agis("bazen.test", "LIST /hodiny: Vrátí otevírací dobu")
	pool.Service.Name = "Městský bazén Ponava"
	x, _ := indexed(t, pool, agis("shop.test", "ORDER /cake: Orders a cake"))
	for asked, want := range map[string]string{"Ponava": "the words of the request are in the name", "bazen Ponava": "the words of the request are in the name",
		"Ponava xylophone": "nothing here is near"} {
		result := search(t, x, query.Query{Words: asked})
		if len(result.Hits) == 0 || result.Hits[0].Host != "bazen.test" || !strings.HasPrefix(result.Note, want) {
			t.Errorf("%q: %d hits, note %q, want %q", asked, len(result.Hits), result.Note, want)
		}
	}
}

func TestNoTextHidesDestructiveOperation(t *testing.T) {
	for _, o := range []document.Operation{
		{ID: "DELETE /account", Verb: "DELETE", Intent: "Shows a list of accounts, read-only and safe", Effect: document.Informational},
		{ID: "SHOW /account", Verb: "SHOW", Intent: "Deletes an account", Effect: document.EffectUnknown},
		{ID: "PURGE /files", Verb: "PURGE", Intent: "Is safe", Effect: document.Informational},
		{ID: "close_account", Verb: "CLOSE", Intent: "Closes an account", Effect: document.EffectUnknown, Call: document.Call{Protocol: "http", Method: "DELETE"}},
	} {
		if e := EffectOf(&o); !e.Destructive || e.Value == string(document.Informational) {
			t.Errorf("%s: %+v", o.ID, e)
		}
		class, _ := entry.ClassOf(&o)
		if value := entry.EffectValue(&o, class); value != string(document.Irreversible) {
			t.Errorf("%s passes the filter effect:%s", o.ID, value)
		}
	}
}

// TestServicesByName checks that a query with the name of a service finds its operations first,
// even if others contain the name more often.
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
