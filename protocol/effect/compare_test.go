package effect_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/protocol/effect"
)

// verbsOfTable returns the lines of the table.
func verbsOfTable(t testing.TB) []string {
	t.Helper()
	all := lines(t, "verbs.txt")
	for len(all) > 0 && strings.HasPrefix(all[0], "#") {
		all = all[1:]
	}
	return all
}

func TestTable(t *testing.T) {
	verbs := verbsOfTable(t)
	if !slices.IsSorted(verbs) {
		t.Error("verbs.txt is not sorted")
	}
	if len(verbs) < 600 {
		t.Errorf("%d verbs, want at least 600", len(verbs))
	}
	seen := map[string]bool{}
	for _, line := range verbs {
		verb, names, ok := strings.Cut(line, "\t")
		if !ok || seen[verb] || verb != strings.ToLower(verb) {
			t.Errorf("bad line %q", line)
		}
		seen[verb] = true
		names = strings.TrimSuffix(names, " loose")
		if got := effect.Of(verb).String(); got != names {
			t.Errorf("%s is %s, the table says %s", verb, got, names)
		}
	}
}

func TestOf(t *testing.T) {
	for verb, want := range map[string]effect.Class{
		"BOOK": effect.Commit, "find": effect.Read, "summarise": effect.Of("summarize"),
		"check in": effect.Commit | effect.Change, "CHECKIN": effect.Commit | effect.Change,
		"notify": effect.Tell, "CANCEL": effect.End,
		"relend": effect.Commit | effect.Change, "unreserve": effect.Change | effect.End,
		"yoyaku": 0, "": 0, "réserve": 0,
	} {
		if got := effect.Of(verb); got != want {
			t.Errorf("Of(%q) = %s, want %s", verb, got, want)
		}
	}
	if s := effect.Class(0).String(); s != "unknown" {
		t.Errorf("the empty class is %q", s)
	}
}

// A sentence that says the method never contradicts it and is not doubted,
// whichever of the 1,500 verbs it is and however it is inflected.
func TestVerbFormsHaveOneEffect(t *testing.T) {
	for _, line := range verbsOfTable(t) {
		verb, _, _ := strings.Cut(line, "\t")
		first, rest, _ := strings.Cut(verb, " ")
		if rest != "" {
			rest = " " + rest
		}
		for _, intent := range []string{
			first + rest + " the thing",
			"Allows the agent to " + verb + " the thing",
			"This endpoint can " + verb + " a thing of the user",
		} {
			if first == "see" {
				continue // "See the thing" speaks to the reader
			}
			j := effect.Compare(strings.ReplaceAll(verb, " ", ""), intent)
			if j.Verdict != effect.Consistent {
				t.Errorf("%s %q: %s (%s)", verb, intent, j.Verdict, j.Why)
			}
		}
	}
}

// TestSentences checks the result for each way in which English hides the main verb.
func TestSentences(t *testing.T) {
	for _, c := range []struct {
		method, intent string
		want           effect.Agreement
		verb           string
	}{
		{"BOOK", "Books a table", effect.Consistent, "book"},
		{"book", "Returns a list of tables", effect.Contradicts, "return"},
		{"BOOK", "Allows the agent to automatically book a table", effect.Consistent, "book"},
		{"BOOK", "The booking endpoint is used to list tables", effect.Contradicts, "list"},
		{"BOOK", "A table is booked for the guest", effect.Consistent, "book"},
		{"BOOK", "Gives callers the ability to book a table", effect.Consistent, "book"},
		{"FIND", "Lets the guest cancel a stay", effect.Contradicts, "cancel"},
		{"ACTIVATE", "Turns the alarm in the hall off", effect.Contradicts, "turn off"},
		{"ACTIVATE", "Turns the alarm in the hall on", effect.Consistent, "turn on"},
		{"ACTIVATE", "Turns the alarm in the hall on or off", effect.Consistent, "turn"},
		{"DEACTIVATE", "Switches on or off the alarm", effect.Consistent, "switch"},
		{"CANCEL", "Sets the status of the order to cancelled", effect.Consistent, "set"},
		{"CANCEL", "Creates a list of bookings that are cancelled", effect.Contradicts, "create"},
		{"CANCEL", "Starts a process that cancels the order", effect.Consistent, "start"},
		{"CANCEL", "Makes a cancellation", effect.Consistent, "make"},
		{"BOOK", "Performs a search for tables", effect.Contradicts, "perform"},
		{"REFUND", "Returns money to the customer", effect.Consistent, "return"},
		{"REFUND", "Returns the rules for customers", effect.Contradicts, "return"},
		{"CHECK", "Tells the owner whether the door is locked", effect.Consistent, "tell"},
		{"LOCATE", "Tells the agent where the parcel is", effect.Consistent, "tell"},
		{"FIND", "Informs callers which tables are free", effect.Consistent, "inform"},
		{"RETRIEVE", "Tells the user the balance of an account", effect.Consistent, "tell"},
		{"FIND", "Tells the restaurant that the guest is late", effect.Contradicts, "tell"},
		{"BOOK", "Tells the user the price of a room", effect.Contradicts, "tell"},
		{"LOCK", "Tells the owner whether the door is locked", effect.Contradicts, "tell"},
		{"NOTIFY", "Lets the owner know that the door is locked", effect.Consistent, "inform"},
		{"LEND", "Borrows a book", effect.Contradicts, "borrow"},
		{"UNLINK", "Links two accounts", effect.Contradicts, "link"},
		{"RESTORE", "Cancels a scheduled deletion", effect.Consistent, "cancel"},

		// Doubtful cases: verbs that are not in the table, and remarks beside the verb.
		{"LIST", "Given a word, returns the words that rhyme with it", effect.Consistent, "return"},
		{"LIST", "Given a word, deletes it", effect.Contradicts, "delete"},
		{"FIND", "Finds a table and books it", effect.Doubtful, "find"},
		{"FIND", "Books the table and finds it again", effect.Doubtful, "book"},
		{"CREATE", "Returns the created order", effect.Doubtful, "return"},
		{"CREATE", "Returns a new access token", effect.Doubtful, "return"},
		{"ADD", "Permit a list of users to view a film", effect.Doubtful, "view"},
		{"NOTIFY", "Drops the customer a line", effect.Doubtful, "drop"},
		{"MONITOR", "Holds a candle to the patient", effect.Doubtful, "hold"},

		// Not judged: no verb, or none that can be told from a noun.
		{"LIST", "Order history of a customer", effect.NotJudged, "order"},
		{"LIST", "Orders of a customer", effect.NotJudged, "order"},
		{"LIST", "Orders placed by a customer", effect.NotJudged, "order"},
		{"LIST", "Transfers between accounts", effect.NotJudged, "transfer"},
		{"LIST", "Backups Overview", effect.NotJudged, ""},
		{"BOOK", "Table reservation", effect.NotJudged, ""},
		{"BOOK", "This operation is deprecated", effect.NotJudged, ""},
		{"BOOK", "Has the table been booked?", effect.NotJudged, ""},
		{"YOYAKU", "Reserves a table", effect.NotJudged, "reserve"},
		{"BOOK", "Quuxes a table", effect.NotJudged, ""},
	} {
		j := effect.Compare(c.method, c.intent)
		if j.Verdict != c.want || c.verb != "" && j.Verb != c.verb {
			t.Errorf("%s %q: %s, verb %q (%s); want %s, %q", c.method, c.intent, j.Verdict, j.Verb, j.Why, c.want, c.verb)
		}
		if j.Why == "" {
			t.Errorf("%s %q: no reason given", c.method, c.intent)
		}
	}
}

func TestWhy(t *testing.T) {
	j := effect.Compare("BOOK", "Returns a list of available restaurants")
	if want := `the intent says the endpoint reads something ("Returns"), the method BOOK commits to something`; j.Why != want {
		t.Errorf("why is %q, want %q", j.Why, want)
	}
	j = effect.Compare("APPROVE", "Rejects a claim")
	if want := `the intent says "Rejects", which is the opposite of the method APPROVE`; j.Why != want {
		t.Errorf("why is %q, want %q", j.Why, want)
	}
}

// strange are intents that cannot be judged.
var strange = map[string]string{
	"empty":              "",
	"spaces":             " \t\n ",
	"only punctuation":   "…!?--- (((***))) ;;;",
	"10 kB":              "Returns " + strings.Repeat("a list of restaurants and ", 400),
	"one word of 10 kB":  strings.Repeat("a", 10000),
	"hyphens":            strings.Repeat("-", 1500),
	"joined by hyphens":  strings.Repeat("a-", 900),
	"invalid UTF-8":      "Returns \xff a list",
	"zero width":         "Ret\u200burns a list of restaurants",
	"right to left":      "Returns \u202ea list\u202c of restaurants",
	"tag characters":     "Returns a list\U000E0061\U000E0062 of restaurants",
	"control character":  "Returns a \x07 list",
	"byte order mark":    "\ufeffReturns a list",
	"emoji":              "📅🍽️",
	"Japanese":           "レストランの予約を作成します",
	"Korean":             "이용 가능한 식당 목록을 반환합니다",
	"Arabic":             "يعيد قائمة المطاعم المتاحة",
	"Russian":            "Возвращает список ресторанов",
	"German":             "Liste der verfügbaren Restaurants",
	"German sentence":    "Gibt eine Liste der verfügbaren Restaurants zurück",
	"French":             "Liste les restaurants disponibles",
	"French noun":        "Affiche la liste des restaurants",
	"Spanish":            "Devuelve una lista de los restaurantes",
	"Italian":            "Elenca i ristoranti della zona",
	"Portuguese":         "Lista os restaurantes em uma cidade",
	"Dutch":              "Toont een lijst van restaurants voor het team",
	"Indonesian":         "Menampilkan daftar restoran yang tersedia",
	"Turkish":            "Bir restoran listesi verir",
	"numbers":            "1 2 3 4 5",
	"combining marks":    "R" + strings.Repeat("\u0301", 900),
	"markup":             "<b></b>",
	"a name of a format": "JSON",
}

func TestStrangeIntents(t *testing.T) {
	for name, intent := range strange {
		if j := effect.Compare("BOOK", intent); j.Verdict != effect.NotJudged {
			t.Errorf("%s: %s (%s, %s)", name, j.Verdict, j.Verb, j.Why)
		}
		// It is a few milliseconds. What takes a second each time is not the machine.
		took := time.Hour
		for range 10 {
			start := time.Now()
			effect.Compare("BOOK", intent)
			if took = min(took, time.Since(start)); took <= time.Second {
				break
			}
		}
		if took > time.Second {
			t.Errorf("%s takes %s", name, took)
		}
	}
	for _, method := range []string{"", " ", "BOOK TABLE", "予約", "\x00", strings.Repeat("UN", 5000), "-", "--"} {
		if j := effect.Compare(method, "Returns a list of restaurants"); j.Verdict != effect.NotJudged {
			t.Errorf("method %q: %s", method, j.Verdict)
		}
	}
}

func FuzzCompare(f *testing.F) {
	for _, file := range []string{"intents.tsv", "fresh.tsv", "blind.tsv"} {
		for _, p := range pairs(f, file)[:20] {
			f.Add(p.method, p.intent)
		}
	}
	for _, intent := range strange {
		f.Add("CANCEL", intent)
	}
	f.Fuzz(func(t *testing.T, method, intent string) {
		j := effect.Compare(method, intent)
		if again := effect.Compare(method, intent); again != j {
			t.Fatalf("%+v, then %+v", j, again)
		}
		if j.Why == "" || len(j.Why) > 1000 {
			t.Fatalf("a reason of %d bytes", len(j.Why))
		}
		if j.Verdict == effect.Contradicts && (j.Verb == "" || effect.Of(j.Verb) == 0 && j.Class == 0 && !strings.Contains(j.Why, "opposite")) {
			t.Fatalf("a contradiction that nothing is known of: %+v", j)
		}
		if lower := effect.Compare(strings.ToLower(strings.ToUpper(method)), intent); strings.EqualFold(strings.ToUpper(method), method) && lower.Verdict != j.Verdict {
			t.Fatalf("letter case of the method counts: %+v, %+v", j, lower)
		}
	})
}

func BenchmarkCompare(b *testing.B) {
	all := slices.Concat(pairs(b, "intents.tsv"), pairs(b, "fresh.tsv"))
	effect.Compare("BOOK", "Books a table") // unpack the tables
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		p := all[i%len(all)]
		effect.Compare(p.method, p.intent)
		i++
	}
}

// The usual case: the intent says the method.
func BenchmarkCompareSame(b *testing.B) {
	effect.Compare("BOOK", "Books a table")
	b.ReportAllocs()
	for b.Loop() {
		effect.Compare("BOOK", "Books a restaurant reservation on behalf of the requesting agent")
	}
}

func BenchmarkCompareLongest(b *testing.B) {
	intent := strings.Repeat("and books the table to turn the lights ", 50)
	effect.Compare("BOOK", "Books a table")
	b.ReportAllocs()
	for b.Loop() {
		effect.Compare("FIND", intent)
	}
}

// An intent that only denies something leaves open what the operation does.
func TestDenial(t *testing.T) {
	for _, intent := range []string{
		"Does not create a booking; only returns availability", "Does not book anything", "Will not reserve a table",
		"Doesn't book a table", "Never books a table", "Cannot book a table",
	} {
		if got := effect.Compare("BOOK", intent); got.Verdict != effect.Doubtful || got.Why == "" {
			t.Errorf("%q: %v (%s), want doubtful", intent, got.Verdict, got.Why)
		}
	}
	for _, intent := range []string{"Books a table that is not reserved", "Books a table but does not confirm it"} {
		if got := effect.Compare("BOOK", intent); got.Verdict != effect.Consistent {
			t.Errorf("%q: %v (%s), want consistent", intent, got.Verdict, got.Why)
		}
	}
}
