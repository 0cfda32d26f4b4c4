package query

import (
	"slices"
	"testing"

	"gazetteer/index/tokens"
	"gazetteer/protocol/effect"
)

// weightOf returns how much a word of a request counts, 0 when it is not looked for.
func weightOf(r Request, asked string) float32 {
	for _, w := range r.Words {
		if w.Asked == asked {
			return w.Weight
		}
	}
	return 0
}

// meanings are the English words that are looked for beside those of a request.
func meanings(r Request) (all []string) {
	for _, w := range r.Words {
		for _, m := range w.Meanings {
			all = append(all, m.Form)
		}
	}
	return all
}

func TestRequestParsing(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, less := range map[string][2]string{ // the second word counts less than the first
		"is the water warm in Lisbon":                {"water", "warm"},
		"which trains are running today":             {"trains", "running"},
		"compress an image without an account":       {"image", "account"},
		"look up a postcode, no registration please": {"postcode", "registration"},
		"walking route from home to the harbour":     {"route", "home"},
		"remind me to water the roses":               {"remind", "roses"},
		"email Kim that the lecture moved":           {"email", "lecture"},
		"restart the batch job summer-2031":          {"batch", "summer-2031"},
		"print the badge now that the guest is here": {"badge", "guest"},
	} {
		r := ParseRequest(a, text)
		if more, least := weightOf(r, less[0]), weightOf(r, less[1]); more == 0 || least >= more {
			t.Errorf("%s: %s counts %g, %s %g", text, less[0], more, less[1], least)
		}
	}
	for text, meant := range map[string]string{
		"switch the porch lamp off":        "disabl",
		"is the name still free":           "availability",
		"how do I get to the lake":         "directions",
		"turn on notifications for deals":  "enabl",
		"is my scooter still charging":     "status",
		"pollen count, next four days":     "forecast",
		"rain in Oslo last February":       "history",
		"don't need the crane any more":    "cancel",
		"look up the owner of a domain":    "search",
		"the rules of chess in Portuguese": "pt",
		"where is my umbrella delivery":    "track",
		"what would a new roof cost":       "price",
		"get the words from this scan":     "ocr",
		"read the notes of a lecture":      "transcribe",
		"tell my sister that we are late":  "message",
		"send 30 pounds to the gardener":   "transfer",
		"my favourite neighbourhoods":      "favorite",
		"stop the theater subscription":    "theatre",
		"remove the sub-domain of a shop":  "subdomain",
		"bakeries close to the station":    "near",
		"is milk on my to-do list":         "todo",
		"how much is left on the voucher":  "balance",
		"any bakeries around here":         "near",
	} {
		if all := meanings(ParseRequest(a, text)); !slices.ContainsFunc(all, func(form string) bool { return tokens.StemOf(form) == tokens.StemOf(meant) || form == meant }) {
			t.Errorf("%s: %q is not looked for, but %q", text, meant, all)
		}
	}
	if all := meanings(ParseRequest(a, "switch to the on-board menu of the ferry company in town and turn")); slices.Contains(all, "enable") {
		t.Errorf("%q is looked for", all)
	}
	if check := weightOf(ParseRequest(a, "check the tyres of a lorry"), "check"); check == 0 || check == 1 {
		t.Errorf("a verb that asks for anything counts %g", check)
	}
	for text, last := range map[string][]string{ // what the last goal looks for besides its own words
		"find a poster of whales, print it":         {"poster", "whales"},
		"list the ferries of May, and book the one": {"ferries"},
		"call a plumber and order soup":             {"soup"}, // a noun would have an article, too
	} {
		goals := ParseRequest(a, text).Clauses()
		if len(goals) != 2 {
			t.Errorf("%s: the goals are %+v", text, goals)
			continue
		}
		for _, word := range last {
			if weightOf(goals[1], word) == 0 {
				t.Errorf("%s: the last goal does not look for %s", text, word)
			}
		}
		if verb := goals[0].Act.Verb; weightOf(goals[1], verb) != 0 {
			t.Errorf("%s: the last goal looks for %s", text, verb)
		}
	}
	for _, text := range []string{"show orders and returns", "find a time and place", "delete my name and address", "compare prices and order times"} {
		if goals := ParseRequest(a, text).Clauses(); len(goals) > 1 {
			t.Errorf("%s: the goals are %+v", text, goals)
		}
	}
	for text, shows := range map[string]bool{"status of my kayak order": true, "kayak order for my sister": false, "violin prices of the season": true} {
		if act := ParseRequest(a, text).Act; act.OnlyShows() != shows {
			t.Errorf("%s: only shows: %v, %+v", text, act.OnlyShows(), act)
		}
	}
	for text, whole := range map[string]string{"¿Cuál es el tipo de cambio del franco?": "tipo de cambio", "Quel est le taux de change du franc ?": "taux de change"} {
		if r := ParseRequest(a, text); weightOf(r, whole) == 0 || !slices.Contains(meanings(r), "exchange") {
			t.Errorf("%s looks for %q", text, meanings(r))
		}
	}
	// Questions after a comma are goals of their own, and what they refer to is taken along.
	goals := ParseRequest(a, "Which pools does the club of Graz have, and what swims there in winter?").Clauses()
	if len(goals) != 2 || weightOf(goals[1], "club") == 0 || weightOf(goals[1], "club") >= weightOf(goals[1], "swims") {
		t.Errorf("the goals are %+v", goals)
	}
}

// TestInabilityForbidsNothing checks that what somebody cannot do is not a prohibition, and what nobody
// may do is one.
func TestInabilityForbidsNothing(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, forbids := range map[string]bool{
		"I can't make it to the rehearsal, cancel it":    false,
		"we cannot send the parcel, find a courier":      false,
		"prices of parcels, you cannot send any":         true,
		"show the bill but it cannot be paid":            true,
		"prices of couriers, I don't want anything sent": true,
	} {
		if r := ParseRequest(a, text); len(r.Prohibitions) > 0 != forbids {
			t.Errorf("%s: %+v", text, r.Prohibitions)
		}
	}
}

func TestGettersOnlyRead(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, reads := range map[string]bool{"getInvoiceLines(id)": true, "load_tariffs() -> float[]": true, "createInvoiceLine(id)": false} {
		if act := ParseRequest(a, text).Act; (act.Wanted == Reading) != reads {
			t.Errorf("%s wants %s", text, act.Wanted)
		}
	}
}

// TestQuantitiesInAnotherUnit checks that a quantity in another unit of its kind is to be converted, and
// that an expression adds nothing that the request has anyway.
func TestQuantitiesInAnotherUnit(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, converts := range map[string]bool{
		"what are 50 euros in another currency": true, "20 degrees in fahrenheit": true, "how much is 300 dollars in yen": true, "70 dollars worth in yen": true,
		"what costs 50 euros in Paris": false, "20 degrees in the bedroom": false, "a trip of 30 miles to Boston": false,
	} {
		if got := slices.Contains(meanings(ParseRequest(a, text)), "convert"); got != converts {
			t.Errorf("%s: converts %v", text, got)
		}
	}
	for text, adds := range map[string]bool{"my notes to pdf": true, "convert my notes to pdf": false} {
		if got := slices.Contains(meanings(ParseRequest(a, text)), "convert"); got != adds {
			t.Errorf("%s: searches for convert as well: %v", text, got)
		}
	}
}

// The object of an act ends with its phrase, what a request takes back is not its act, and expressions
// that begin with the noun that they stand for are no acts.
func TestObjectsOfActs(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]struct{ verb, object string }{
		"delete only this sketch, the folder has to stay":  {"delete", "sketch"},
		"remove the banner as the marketing team requires": {"remove", "banner"},
		"remove the old banner from the page of the team":  {"remove", "banner"},
		"delete the sketch... no, show it":                 {"show", ""},
		"tickets for the regatta":                          {"", ""},
		"get me out of my phone contract":                  {"cancel", "phone"},
		"put the newsletter on hold":                       {"pause", "newslett"},
	} {
		if act := ParseRequest(a, text).Act; act.Verb != want.verb || act.Object != want.object {
			t.Errorf("%s: verb %q, object %q, want %q and %q", text, act.Verb, act.Object, want.verb, want.object)
		}
	}
}

// TestWhatHasHappenedIsNoAct checks that an end which somebody tells of is not asked for, and that what
// follows from it is.
func TestWhatHasHappenedIsNoAct(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"I lost my bank card", "they cancelled my flight, what are my options", "she deleted the file by accident, get it back"} {
		if act := ParseRequest(a, text).Act; act.Ends || act.Wanted == effect.End {
			t.Errorf("%q ends something: %+v", text, act)
		}
	}
	for text, verb := range map[string]string{"lost my bank card": "block", "freeze my card": "block", "post the minutes to the team": "post", "post hello to slack": "post"} {
		if act := ParseRequest(a, text).Act; act.Verb != verb {
			t.Errorf("%q wants to %q: %+v", text, act.Verb, act)
		}
	}
	if act := ParseRequest(a, "I want my account deleted").Act; !act.Ends {
		t.Errorf("an account that is to be deleted stays: %+v", act)
	}
}

// TestStatementsBeforeOrders checks that a statement before a comma is no request, and that nouns which
// "and" joins are not one.
func TestStatementsBeforeOrders(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	if act := ParseRequest(a, "The cleaner must not come on Thursday, call the visit off").Act; !act.Ends {
		t.Errorf("the visit is not called off: %+v", act)
	}
	if r := ParseRequest(a, "Erase job 77123 with its audio and text for good"); len(r.Acts) != 1 || r.Act.Wanted != effect.End {
		t.Errorf("a text is sent: %+v", r.Acts)
	}
	r := ParseRequest(a, "Change the due date of the task, leave the rest as it is")
	if rest := weightOf(r, "rest"); rest >= weightOf(r, "date") {
		t.Errorf("what stays weighs %g", rest)
	}
}

// A thing and what it is about is to be shown, unless it is new.
func TestTopicsAreShown(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, shows := range map[string]bool{
		"lecture about whales": true, "brochure of the lighthouse": true, "a book on beekeeping": true, "new note on the board": false, "another cup of tea": false,
		"hire a boat on the lake": false, "cabin for two": false,
	} {
		if act := ParseRequest(a, text).Act; act.OnlyShows() != shows {
			t.Errorf("%s: %+v", text, act)
		}
	}
	for text, verb := range map[string]string{"hand back the keys of the cabin": "return", "turn off the pump": "disable"} {
		if act := ParseRequest(a, text).Act; act.Verb != verb {
			t.Errorf("%s: %+v", text, act)
		}
	}
	// The order stands behind its reason, its time or its condition.
	for text, verb := range map[string]string{
		"Before Dr Halloran lands, reserve a berth at the pier": "reserve", "Since the crate never arrived, cancel the purchase": "cancel",
		"For the jubilee of the choir, send wreaths to the hall": "send", "If it rains tomorrow, close the awning": "close",
		"have a courier collect the trunk": "collect", "have the boiler repaired on Monday": "repair", "get my suit delivered": "deliver",
		"have a look at the boiler": "have", "for sale, a boat": "", "before sunset": "",
	} {
		if act := ParseRequest(a, text).Act; act.Verb != verb {
			t.Errorf("%s: %+v", text, act)
		}
	}
	early := ParseRequest(a, "Before Dr Halloran lands, reserve a berth at the pier")
	if lands, berth := weightOf(early, "lands"), weightOf(early, "berth"); lands >= berth {
		t.Errorf("what happens before counts %g, the task %g", lands, berth)
	}
	for text, ends := range map[string]bool{"turn on the heating": false, "put my son into chess classes": false, "complete the survey": false, "turn off the heating": true} {
		if act := ParseRequest(a, text).Act; act.Ends != ends {
			t.Errorf("%s: %+v", text, act)
		}
	}
	for text, translates := range map[string]bool{"put my son into German classes": false, "how do I say it in German": true, "put this into German please": true} {
		if got := slices.Contains(meanings(ParseRequest(a, text)), "translate"); got != translates {
			t.Errorf("%s: searches for translate: %v", text, got)
		}
	}
	if all := meanings(ParseRequest(a, "make our site a pdf, as a pdf")); !slices.Contains(all, "url") {
		t.Errorf("a page as a document: %q", all)
	}
}

// Everyday phrases of other languages are translated as a whole, unless their words mean something else.
func TestForeignPhrases(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, meant := range map[string]string{
		"Wo steckt meine Bestellung?": "track", "das Rad ist kaputt angekommen": "damaged", "Licht aus in der Küche": "switch", "¿por dónde va mi pedido?": "track",
		"quiero pasear al perro mañana": "walk", "éteins la lumière du salon": "lights", "mon vase est arrivé cassé": "damaged", "犬の散歩をお願いします": "walking",
		"ist mein Flug nicht angekommen": "missing", "ma commande n'est pas arrivée": "missing", "아직 안 왔어": "missing", "den Flug brauche ich nicht mehr": "cancel", "Tisch für zwei heute Abend": "restaurant",
		"une table pour 4": "restaurant", "den Brief ins Deutsche übersetzen": "translate", "ins Englische!": "translate", "se fue la luz": "outage", "kein Strom": "outage",
		"髪を切りたい": "haircut", "我的书续借": "renew", "把客厅的灯关灯": "switch", "강아지 산책 시켜줘": "walking",
	} {
		if all := meanings(ParseRequest(a, text)); !slices.Contains(all, meant) {
			t.Errorf("%s looks for %q, not for %s", text, all, meant)
		}
	}
	for text, not := range map[string]string{
		"transferir mi dinero a otra cuenta": "refund", "noticias en inglés": "translate", "Nachrichten auf Englisch": "translate", "nouvelles en anglais": "translate",
		"virer mon argent":        "refund",
		"no ha llegado mi pedido": "lost", "아직 안 샀어 비행기": "track", "ich brauche nicht mehr als zwei Flüge": "cancel", "ich brauche nicht mehr Flüge": "cancel",
		"ich kann nicht länger bleiben": "extend", "ich will das Buch nicht länger behalten": "renew", "je ne peux pas rester plus longtemps": "extend",
		"ich habe mein Geld zurück bekommen": "refund", "wo ist meine nächste Apotheke": "track", "¿dónde está mi ciudad?": "track", "où est mon école": "track", "je ne suis pas arrivé à réserver une table": "missing",
		"ich suche einen Tisch für mein Wohnzimmer": "restaurant", "busco una mesa para mi sala": "restaurant", "une table pour mon salon": "restaurant",
		"ins Deutsche Museum": "translate", "Türen zu verkaufen": "lock", "se fue la niña": "outage", "changer la date sur mon téléphone": "reschedule",
		"cambiar la fecha en mi teléfono": "reschedule", "改日期格式": "reschedule", "kein Strom verbrauchen": "outage",
	} {
		if all := meanings(ParseRequest(a, text)); slices.Contains(all, not) {
			t.Errorf("%s looks for %q", text, all)
		}
	}
}

// A thing that has not arrived is not to be ended, and neither is one of which no more are needed.
func TestForeignWordsThatEndNothing(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, ends := range map[string]bool{
		"no ha llegado mi pedido": false, "mi vuelo no ha llegado": false, "ist mein Flug nicht angekommen": false, "我还没收到订单": false, "注文がまだ届かない": false,
		"mon colis n'est jamais arrivé": false, "아직 안 샀어 비행기": false, "ich brauche nicht mehr als zwei Flüge": false, "ich brauche nicht mehr Flüge": false,
		"ich habe mein Geld zurück bekommen": false, "Freiburg Flüge": false, "Freizeitangebote in Graz": false,
		"ich habe mein Ticket verloren": false, "perdí mi pedido": false, "j'ai perdu ma commande": false, "我的订单丢了": false, "지갑을 잃어버렸어": false,
		"ich brauche den Flug nicht mehr": true, "den Flug brauche ich nicht mehr": true,
	} {
		if act := ParseRequest(a, text).Act; act.Ends != ends || ends != (act.Wanted == effect.End) {
			t.Errorf("%s: %+v", text, act)
		}
	}
}

// The first part of a compound says what kind of thing it is, not what is to be done.
func TestFirstPartsOfCompoundsAreNoActs(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Freiburg Flüge", "Klagenfurt Wetter", "Schaffhausen Hotels", "Klageschrift", "Klagemauer", "Kaufrausch", "Sendemast in Graz", "Löschtaste", "Bestellnummer des Pakets", "Verkaufsraum", "Schreibfeder", "Buchungsfenster"} {
		if act := ParseRequest(a, text).Act; act.Verb != "" {
			t.Errorf("%s: %+v", text, act)
		}
	}
}

// TestOrdersImplyNoTime checks that only a request that reads implies a forecast or the past.
func TestOrdersImplyNoTime(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"book a court for tomorrow", "pay the bill of last month", "the forecast of tomorrow"} {
		for _, m := range meanings(ParseRequest(a, text)) {
			if m == "forecast" || m == "history" {
				t.Errorf("%q implies %s", text, m)
			}
		}
	}
}

// TestQuestionsForDeparturesInOtherLanguages checks that a question when a vehicle comes is one for its
// departures, and no other question is.
func TestQuestionsForDeparturesInOtherLanguages(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"wann fährt die nächste Straßenbahn?": true, "quando parte il prossimo treno": true, "a che ora parte il prossimo treno": true, "a que horas passa o próximo autocarro": true,
		"à quelle heure part mon train": true, "a qué hora sale el próximo tren": true, "um wie viel Uhr fährt der nächste Zug": true, "バスはいつ来ますか": true, "버스 언제 와?": true,
		"wann kommt der Klempner?": false, "wo hält der Bus?": false, "sag mir, wenn der Bus kommt": false,
	} {
		if got := slices.Contains(meanings(ParseRequest(a, text)), "timetable"); got != want {
			t.Errorf("%s: departures: %v", text, got)
		}
	}
}

// TestParticlesDoNotRead checks that what a verb with a particle does is not to read.
func TestParticlesDoNotRead(t *testing.T) {
	a, err := tokens.NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for text, reads := range map[string]bool{"bring back the hired boat": false, "bring the boat back": false, "look up the boat": true, "work out the price": true} {
		if got := ParseRequest(a, text).Act.Wanted&Reading != 0; got != reads {
			t.Errorf("%s: reads: %v", text, got)
		}
	}
}
