package translate

import (
	"slices"
	"strings"
	"testing"
)

func TestDetect(t *testing.T) {
	for text, want := range map[string]string{
		"which pizzas are on today's menu":       "",
		"which pizzas are on Tom’s menu":         "",
		"there are no croissants on the menu":    "",
		"quelles pizzas sont au menu":            French,
		"s'il vous plaît, réservez une table":    French,
		"was steht heute auf der Karte":          German,
		"reservar una mesa para dos":             Spanish,
		"reservar uma mesa para dois":            Portuguese,
		"onde está a minha encomenda":            Portuguese,
		"prenotare un tavolo per due":            Italian,
		"che tempo fa domani":                    Italian,
		"a pizza margherita and two panini":      "",
		"no data in the a/b report":              "",
		"오늘의 메뉴":                                 Korean,
		"今日のメニュー":                                Japanese,
		"今天的菜单":                                  Chinese,
		"Gitarrenlehrer":                         German,
		"Klavierlehrer in Graz":                  German,
		"Wohnungsreinigung":                      German,
		"Hotelsuche":                             German,
		"hostname":                               "",
		"webhook":                                "",
		"playlist":                               "",
		"datacenter":                             "",
		"book a table at Chez Paul for tomorrow": "",
	} {
		if got := Detect(text); got != want {
			t.Errorf("%q is in language %q, want %q", text, got, want)
		}
	}
}

func TestCompoundsAreSplit(t *testing.T) {
	for word, want := range map[string][2]string{"Klavierlehrer": {"piano", "teacher"}, "Wohnungsreinigung": {"home", "cleaning"}, "Flugsuche": {"flight", "find"}} {
		parts := Translate(German, word)
		if len(parts) != 2 || parts[0].Meanings[0] != want[0] || parts[1].Meanings[0] != want[1] {
			t.Errorf("%s: %v", word, parts)
		}
	}
	for word := range strings.FieldsSeq("Freiburg Regensburg Königsberg Augsburg Rosenheim Zweibrücken Schaffhausen Klagenfurt Volkswagen Zuckerberg Feldmann Weizenbaum Schwarzenegger Sonnenberg Goldstein Rosenfeld Beckenbauer Darmstadt") {
		if got := Detect(word); got != "" {
			t.Errorf("the name %s is in language %q", word, got)
		}
	}
	// A misspelt English word is no compound.
	for word := range strings.FieldsSeq("recieve accomodation restaraunt enviroment apointment pharamcy prescripton tikcet pictrue passwrod parcle symptons grocereis wheather tommorow resturant") {
		if got := Detect(word); got != "" {
			t.Errorf("%s is in language %q", word, got)
		}
	}
}

// TestLongWordsAreNotSplit checks that a word is not tried at each of its letters.
func TestLongWordsAreNotSplit(t *testing.T) {
	long := strings.Repeat("klavier", maxCompound/7) + "lehrer"
	if parts := Translate(German, long); len(parts) != 1 || parts[0].Meanings != nil {
		t.Errorf("a word of %d bytes has %d parts", len(long), len(parts))
	}
	huge := strings.Repeat("ü", 200_000)
	if n := testing.AllocsPerRun(1, func() { splitCompound(huge); isCompound(huge) }); n > 0 {
		t.Errorf("a word of %d bytes needs %g allocations", len(huge), n)
	}
	if parts := Translate(German, huge); !slices.EqualFunc(parts, []Translation{{huge, nil}}, func(a, b Translation) bool { return a.Text == b.Text }) {
		t.Errorf("a word of %d bytes is changed", len(huge))
	}
}

func TestExpressionsBeforeWords(t *testing.T) {
	for text, joined := range map[string]int{ // the number of fields after the expression is joined
		"Tisch für zwei": 2, "Tisch für 4": 2, "Tisch für Kinder": 3, "wo ist mein Paket?": 2, "wo ist mein Hund?": 4, "ins Deutsche": 1, "ins Deutsche, bitte": 2, "ins Deutsche Museum": 3,
	} {
		if got := JoinPhrases(German, strings.Fields(text)); len(got) != joined {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestExpressionsAreNotTooLong(t *testing.T) {
	for _, language := range slices.Concat(latinLanguages, []string{Korean}) {
		for expression := range unpacked()[language] {
			if n := len(strings.Fields(expression)); n > maxPhrase {
				t.Errorf("%q has %d words, more than %d", expression, n, maxPhrase)
			}
		}
	}
}
