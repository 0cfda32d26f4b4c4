package index

import (
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/protocol/effect"
)

// TestDescriptionsInOtherLanguages checks that requests in any language find operations that are
// described in another one: by the meanings of the words of their descriptions.
func TestDescriptionsInOtherLanguages(t *testing.T) {
	x, _ := indexed(t,
		agis("stadtwerke.test", "RETRIEVE /collection-dates: Sagt, wann Papier, Restmüll und Biomüll abgeholt werden",
			"REPORT /cut: Meldet einen Stromausfall an einer Adresse"),
		agis("recipes.test", "SHOW /collections: Shows the collections of recipes for the season"),
		agis("gemeinde.test", "REPORT /damage: Meldet eine kaputte Laterne, ein Schlagloch oder wilden Müll"),
		agis("fromagerie.test", "ORDER /order: Commande des fromages pour la livraison du vendredi"),
		agis("groceries.test", "ORDER /groceries: Orders groceries for delivery"),
		agis("hotel-lilas.test", "RESERVE /chambre: Réserve une chambre d’hôtel"),
		agis("onsen.test", "BOOK /room: 温泉宿の部屋を予約する"),
		agis("arzt.test", "CALL /termin: Sagt einen vereinbarten Arzttermin ab", "ORDER /rezept: Bestellt ein Folgerezept für ein Medikament, das regelmäßig eingenommen wird"))
	wantFirst(t, x, map[string]string{
		"when is the garbage collected":     "RETRIEVE /collection-dates",
		"garbage collection dates":          "RETRIEVE /collection-dates",
		"wann wird der Müll abgeholt":       "RETRIEVE /collection-dates",
		"report a power outage":             "REPORT /cut",
		"report a broken street lamp":       "REPORT /damage",
		"goat cheese delivery":              "ORDER /order",
		"Käse bestellen":                    "ORDER /order",
		"room at a hot spring":              "BOOK /room",
		"온천 여관 예약":                          "BOOK /room",
		"cancel the doctor's appointment":   "CALL /termin",
		"prescription for my medicine":      "ORDER /rezept",
		"réserver une chambre d'hôtel":      "RESERVE /chambre",
		"prenotare una camera d'albergo":    "RESERVE /chambre",
		"order groceries for the household": "ORDER /groceries",
	})
}

// TestWordsWithoutAccents checks that requests that are typed without accents find what is described with
// them, also by a translation, and the reverse.
func TestWordsWithoutAccents(t *testing.T) {
	x, _ := indexed(t,
		agis("kine.test", "BOOK /seance: Réserve une séance de kinésithérapie au cabinet"),
		agis("bazen.test", "SHOW /hodiny: Vrátí otevírací dobu bazénu", "CREATE /kurz: Přihlásí dítě do kurzu plavání"),
		agis("hotel.test", "BOOK /room: Books a hotel room for some nights"),
		agis("library.test", "BORROW /book: Borrows a book from the library"),
		agis("plain.test", "ORDER /cafe: Orders a creme brulee"))
	wantFirst(t, x, map[string]string{
		"kinesitherapie":           "BOOK /seance",
		"kinésithérapie":           "BOOK /seance",
		"seance de kinesitherapie": "BOOK /seance",
		"bazenu":                   "SHOW /hodiny",
		"prihlasi dite":            "CREATE /kurz",
		"crème brûlée":             "ORDER /cafe",
		"reservar habitacion":      "BOOK /room",
	})
}

// TestTitlesInOtherLanguages checks that English requests find operations that only have a short title
// in another language, and that such a title tells what ends something.
func TestTitlesInOtherLanguages(t *testing.T) {
	x, _ := indexed(t, agis("linde.test", "CREATE /fruehstueck: Frühstück bestellen", "CREATE /buchungen: Zimmer buchen",
		"CREATE /buchungen/storno: Buchung stornieren", "RETRIEVE /zimmer: Freie Zimmer anzeigen", "CREATE /kontakt: Envoyer message"))
	for asked, want := range map[string]string{
		"order breakfast":   "CREATE /fruehstueck",
		"book a room":       "CREATE /buchungen",
		"cancel my booking": "CREATE /buchungen/storno",
		"show free rooms":   "RETRIEVE /zimmer",
		"send a message":    "CREATE /kontakt",
	} {
		if hits := search(t, x, query.Query{Words: asked}).Hits; len(hits) == 0 || hits[0].Operation.ID != want || hits[0].Far {
			t.Errorf("%q: %+v, want %s first", asked, hits, want)
		} else if hits[0].Effect.Destructive != strings.HasSuffix(want, "storno") {
			t.Errorf("%s: the effect is %+v", want, hits[0].Effect)
		}
	}
}

// TestOtherLanguagesComeAfterTheOwn checks that of operations that do the same, one that is described in
// English or in the language of the request comes before one in a third language.
func TestOtherLanguagesComeAfterTheOwn(t *testing.T) {
	x, _ := indexed(t,
		agis("taxi-sol.test", "ORDER /taxi: Pide un taxi a una dirección para una hora"),
		agis("taxi.test", "ORDER /taxi: Orders a taxi to an address for a time"),
		agis("taxi-japan.test", "ORDER /taxi: 住所にタクシーを呼ぶ"))
	for asked, want := range map[string]string{
		"order a taxi to my address":        "taxi.test",
		"pedir un taxi a mi dirección":      "taxi-sol.test",
		"住所にタクシーを呼んで":                       "taxi-japan.test",
		"chiamare un taxi al mio indirizzo": "taxi.test",
	} {
		if hits := search(t, x, query.Query{Words: asked}).Hits; len(hits) == 0 || hits[0].Host != want {
			t.Errorf("%q: %v, want the operation of %s first", asked, hits, want)
		}
	}
}

// TestNoLanguageHidesDestructiveOperation checks that an operation whose verb hides that it ends
// something is known by an intent in any language.
func TestNoLanguageHidesDestructiveOperation(t *testing.T) {
	for intent, ends := range map[string]bool{
		"Löscht alle Termine des Kalenders":         true,
		"Sagt einen vereinbarten Arzttermin ab":     true,
		"Supprime un événement du calendrier":       true,
		"Résilie un abonnement":                     true,
		"Borra un archivo de la carpeta":            true,
		"Cancella tutti gli eventi del calendario":  true,
		"Exclui todos os eventos":                   true,
		"カレンダーの予定をすべて削除する":                          true,
		"일정을 모두 삭제합니다":                              true,
		"删除所有日程":                                    true,
		"Zeigt alle Termine des Kalenders":          false,
		"Sagt, wann der Müll abgeholt wird":         false,
		"Montre les événements du calendrier":       false,
		"予約を確認する":                                   false,
		"Trouve une chambre libre pour des dates":   false,
		"Calcula el precio de un viaje en una hora": false,
	} {
		class, from := entry.ClassOf(&document.Operation{ID: "RUN /events", Verb: "RUN", Path: "/events", Intent: intent})
		if (class == effect.End) != ends {
			t.Errorf("%q: class %d (%s), want an end: %v", intent, class, from, ends)
		}
	}
}

// TestReasonsNameTheWordsOfTheText checks that the reason of a hit in another language names the words
// of its description, and that a quoted text is not found in the translations.
func TestReasonsNameTheWordsOfTheText(t *testing.T) {
	x, _ := indexed(t, agis("stadtwerke.test", "RETRIEVE /dates: Sagt, wann Papier, Restmüll und Biomüll abgeholt werden"))
	hits := search(t, x, query.Query{Words: "when is the garbage collected"}).Hits
	if len(hits) != 1 {
		t.Fatalf("%d hits", len(hits))
	}
	found := false
	for _, m := range hits[0].Why.Matched {
		found = found || m.Term == "garbage" && m.Text == "restmüll" && m.Kind == "meaning"
	}
	if !found {
		t.Errorf("the reason is %+v", hits[0].Why)
	}
	if hits := search(t, x, query.Query{Phrases: []string{"garbage collect"}}).Hits; len(hits) > 0 {
		t.Error("a quoted text is found in translations")
	}
}

// TestReasonsPreferTheMainMeaning checks that of two parts of a text the one that mainly has the meaning of
// the request's word is named, not one that has it beside others: "vereinbart" arranges an appointment.
func TestReasonsPreferTheMainMeaning(t *testing.T) {
	x, _ := indexed(t, agis("arztpraxis.test", "BOOK /appointment: Vereinbart einen Termin beim Arzt"))
	hits := search(t, x, query.Query{Words: "appointment"}).Hits
	if len(hits) != 1 {
		t.Fatalf("%d hits", len(hits))
	}
	for _, m := range hits[0].Why.Matched {
		if m.Field == entry.WhatField.String() && m.Text != "termin beim arzt" {
			t.Errorf("the intent has the appointment in %q", m.Text)
		}
	}
}
