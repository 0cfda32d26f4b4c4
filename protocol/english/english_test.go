package english

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	const limit = 500_000 // bytes that the program may grow by
	if len(packed) > limit {
		t.Errorf("the table has %d bytes, more than %d", len(packed), limit)
	}
	recorded, err := os.ReadFile("words.sha256")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(packed)
	if got, want := hex.EncodeToString(sum[:]), strings.TrimSpace(string(recorded)); got != want {
		t.Errorf("the table's digest is %s, recorded is %s: run go generate, which writes both", got, want)
	}
	if licence, err := os.ReadFile("LICENSE-wordnet"); err != nil || !strings.Contains(string(licence), "Copyright 2006 by Princeton University") {
		t.Errorf("the licence of the words must stand beside them: %v", err)
	}
}

// TestFind checks that every word is found at its place, and that no other text is found.
func TestFind(t *testing.T) {
	table := unpacked()
	for i := range table.bits {
		word := table.wordAt(uint32(i))
		if at, ok := table.findWord(word); !ok || at != uint32(i) {
			t.Fatalf("%q is word %d, found %d %v", word, i, at, ok)
		}
	}
	for _, word := range []string{"", "a_b", "Book", "bo", "bookx", "zzzz", "\x00", "é", strings.Repeat("a", 10_000)} {
		if u := Lookup(word); u.Verb || u.Noun && word != "bo" {
			t.Errorf("%q is known: %+v", word, u)
		}
	}
}

func TestLookup(t *testing.T) {
	for word, want := range map[string]Use{
		"status":  {Noun: true, NounCount: 21},
		"book":    {Verb: true, Noun: true, VerbCount: 5, NounCount: 59, Field: "cognition"},
		"triage":  {Verb: true, Noun: true, Modern: true},
		"booking": {Noun: true, NounCount: 7},
		"calm":    {Verb: true, Noun: true, Adjective: true, VerbCount: 6, NounCount: 3, AdjectiveCount: 19, Field: "emotion"},
		"onsite":  {Adjective: true, Modern: true},
		"seldom":  {Adverb: true},
		"flurble": {},
	} {
		got := Lookup(word)
		if got.Written = 0; got != want {
			t.Errorf("%s is %+v, want %+v", word, got, want)
		}
	}
	if u := Lookup("database"); u.NounCount != 0 || u.Written < 10 {
		t.Errorf("the explanations write of databases, the older texts do not: %+v", u)
	}
	if u := Lookup("consist"); !u.Stative || u.Field != "stative" {
		t.Errorf("to consist is no state: %+v", u)
	}
}

func TestBase(t *testing.T) {
	for word, want := range map[string]string{
		"booked": "book", "booking": "book", "books": "book", "found": "find", "went": "go", "planning": "plan",
		"passes": "pass", "tries": "try", "ties": "tie", "dying": "die", "freeing": "free", "fixes": "fix", "moving": "move",
		"caches": "cache", "goes": "go", "panicked": "panic", "unsubscribes": "unsubscribe", "rescheduled": "reschedule",
		"transferred": "transfer", "saw": "see", "canceled": "cancel", "cancelled": "cancel", "quizzes": "quiz",
		"sought": "seek", "skiing": "ski", "queuing": "queue", "focuses": "focus",
		"bring": "", "pass": "", "address": "", "status": "", "embed": "", "red": "", "morning": "", "": "", "s": "", "ing": "",
	} {
		got := Base(word)
		if want == "" && got != nil || want != "" && (len(got) == 0 || got[0] != want) {
			t.Errorf("%q is a form of %v, want %q", word, got, want)
		}
	}
}

func TestRelations(t *testing.T) {
	is := func(ok bool, what string) {
		t.Helper()
		if !ok {
			t.Error("not so: " + what)
		}
	}
	is(SameSense("book", "reserve"), "book means reserve")
	is(SameSense("book", "book"), "book means book")
	is(!SameSense("book", "cancel"), "book does not mean cancel")
	is(!SameSense("book", "nonsense"), "unknown words mean nothing")
	is(Antonyms("lend", "borrow") && Antonyms("borrow", "lend"), "lend and borrow are opposites")
	is(Antonyms("deposit", "withdraw"), "deposit and withdraw are opposites")
	is(!Antonyms("lend", "give"), "lend and give are not opposites")
	is(slices.Contains(VerbsOf("cancellation"), "cancel"), "cancellation is of cancel")
	is(slices.Contains(VerbsOf("reservation"), "reserve"), "reservation is of reserve")
	is(VerbsOf("restaurant") == nil, "restaurant is of no verb")
	is(slices.Contains(Hypernyms("whisper"), "talk"), "to whisper is to talk")
	is(len(Hypernyms("flurble")) == 0, "unknown words have nothing above them")
	is(slices.Contains(Synonyms("book", 6), "reserve"), "reserve is a synonym of book")
	is(Phrasal("check", "out") && Phrasal("roll", "back") && !Phrasal("cab", "in"), "check out and roll back are verbs")
	is(Singular("customers") == "customer" && Singular("indices") == "index" && Singular("children") == "child", "plurals")
	is(Singular("status") == "" && Singular("glass") == "", "no plurals")
	is(Positive("faster") == "fast" && Positive("best") == "good" && Positive("happier") == "happy", "comparatives")
}

func TestNear(t *testing.T) {
	for word, want := range map[string]string{
		"disptach": "dispatch", "serch": "search", "cancle": "cancel", "boook": "book", "retreive": "retrieve", "unsubscibe": "unsubscribe",
	} {
		if got := Near(word, 3); !slices.Contains(got, want) {
			t.Errorf("near %s stand %v, not %s", word, got, want)
		}
	}
	for _, word := range []string{"", "ab", "xqzvwkj", strings.Repeat("book", 1000), "\xff\xff\xff\xff", "b\x00\x00k"} {
		if got := Near(word, 3); len(got) > 1 {
			t.Errorf("near %.20q stand %v", word, got)
		}
	}
	if got := Near("boook", 0); got != nil {
		t.Errorf("asked for none, got %v", got)
	}
}

// FuzzWord checks that each inflected form leads back to its verb.
func FuzzWord(f *testing.F) {
	for _, s := range []string{"booked", "", "é", "ing", "sss", "\x00", "a̐", "ies", "yed", "eeed"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, word string) {
		u := Lookup(word)
		if u.Verb && !u.Known() {
			t.Error("a verb that is not known")
		}
		for _, base := range Base(word) {
			if base == word || !Lookup(base).Verb {
				t.Errorf("%q is said to be a form of %q", word, base)
			}
		}
		Singular(word)
		Positive(word)
		Near(word, 3)
		VerbsOf(word)
		Hypernyms(word)
	})
}

func BenchmarkUnpack(b *testing.B) {
	// The table is unpacked once; the test measures that work by reading the table again.
	for b.Loop() {
		if len(unpackTable().verbs) == 0 {
			b.Fatal("empty")
		}
	}
}

// The unpacked table must stay small in memory.
func TestMemory(t *testing.T) {
	measure := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := measure()
	table := unpackTable()
	size := measure() - before
	t.Logf("unpacked: %d kB", size/1000)
	if size > 4_000_000 {
		t.Errorf("the table takes %d bytes in memory", size)
	}
	runtime.KeepAlive(table)
}

func BenchmarkLookup(b *testing.B) {
	words := []string{"book", "restaurant", "reconcile", "flurble", "unsubscribe"}
	Lookup("book")
	for i := 0; b.Loop(); i++ {
		Lookup(words[i%len(words)])
	}
}

func BenchmarkBase(b *testing.B) {
	words := []string{"booked", "restaurants", "reconciling", "flurbled", "found"}
	Lookup("book")
	for i := 0; b.Loop(); i++ {
		Base(words[i%len(words)])
	}
}

func BenchmarkNear(b *testing.B) {
	Lookup("book")
	for b.Loop() {
		Near("disptach", 3)
	}
}
