package effect_test

import (
	"os"
	"strings"
	"testing"

	"gazetteer/protocol/effect"
)

// A pair is a line of testdata: a method, an intent, and whether they contradict.
type pair struct {
	method, intent, label string
}

func pairs(t testing.TB, file string) []pair {
	t.Helper()
	var out []pair
	for _, line := range lines(t, "testdata/"+file)[1:] {
		fields := strings.Split(line, "\t")
		out = append(out, pair{fields[0], fields[1], fields[2]})
	}
	return out
}

// lines returns the lines of a file.
func lines(t testing.TB, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// TestLabelledPairs checks every file of labelled pairs: contradictions must be found at the rate
// of the floor, and no other pair may be called a contradiction. If quiet is set, a consistent pair
// may not even be doubted.
func TestLabelledPairs(t *testing.T) {
	for _, f := range []struct {
		file  string
		floor float64
		quiet bool
	}{
		{"intents.tsv", 0.96, true},
		{"fresh.tsv", 0.93, false},
		{"blind.tsv", 0.79, false},
		{"second.tsv", 0.80, false},
	} {
		found, violations, wrong, consistent, doubted := 0, 0, 0, 0, 0
		for _, p := range pairs(t, f.file) {
			j := effect.Compare(p.method, p.intent)
			if p.label == "violation" {
				violations++
				if j.Verdict == effect.Contradicts {
					found++
				} else {
					t.Logf("missed: %s %q: %s, %s %s (%s)", p.method, p.intent, j.Verdict, j.Verb, j.Class, j.Why)
				}
				continue
			}
			consistent++
			switch {
			case j.Verdict == effect.Contradicts:
				wrong++
				t.Errorf("%s: %s %q is no contradiction: %s", f.file, p.method, p.intent, j.Why)
			case j.Verdict == effect.Doubtful:
				doubted++
				if f.quiet {
					t.Errorf("%s: %s %q is not doubtful: %s", f.file, p.method, p.intent, j.Why)
				} else {
					t.Logf("doubted: %s %q: %s", p.method, p.intent, j.Why)
				}
			case j.Verdict == effect.NotJudged:
				t.Logf("not judged: %s %q: %s %s", p.method, p.intent, j.Verb, j.Why)
			}
		}
		recall := float64(found) / float64(violations)
		t.Logf("%s: %d consistent, %d called a contradiction, %d doubted; %d of %d contradictions found (recall %.3f)",
			f.file, consistent, wrong, doubted, found, violations, recall)
		if recall < f.floor {
			t.Errorf("%s: recall %.3f, want at least %.2f", f.file, recall, f.floor)
		}
	}
}

// TestOpposedVerbs checks pairs of verbs that exclude each other, in either order, and one that does not.
func TestOpposedVerbs(t *testing.T) {
	for _, pair := range [][2]string{{"buy", "refund"}, {"pay", "refund"}, {"rent", "return"}} {
		if !effect.AreOpposed(pair[0], pair[1]) || !effect.AreOpposed(pair[1], pair[0]) {
			t.Errorf("%s and %s are not opposed", pair[0], pair[1])
		}
	}
	if effect.AreOpposed("buy", "order") {
		t.Error("buy and order are opposed")
	}
}

// What stands before or in place of a sentence is no effect.
func TestHeadingsWithoutEffect(t *testing.T) {
	for _, c := range []struct {
		method, intent string
		ends           bool
	}{
		{"RETRIEVE", "Free places for cars and foot passengers", false},
		{"LIST", "(Discontinued) Lists all member accounts", false},
		{"LIST", "DEPRECATED: lists all accounts", false},
		{"RETRIEVE", "Free a reserved place", true},
		{"RELEASE", "Free reserved places", true},
		{"DISCONTINUE", "Discontinues a subscription", true},
	} {
		if got := effect.Compare(c.method, c.intent); got.Class&effect.End != 0 != c.ends {
			t.Errorf("%s %q: %v, ends %v", c.method, c.intent, got.Class, c.ends)
		}
	}
}
