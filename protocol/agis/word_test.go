package agis_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/english"
)

// verdict returns the code of the heaviest finding about a method, and whether
// it is an error. Letter case is left aside.
func verdict(method string) (code string, bad bool) {
	for _, f := range agis.CheckMethod(method) {
		if f.Severity == protocol.Error {
			return f.Code, true
		}
		if f.Code != "AGIS205" {
			code = f.Code
		}
	}
	return code, false
}

// figures count how often a judge was right to call a word an error.
type figures struct{ right, wrong, missed, passed int }

func (f *figures) precision() float64 { return float64(f.right) / float64(max(1, f.right+f.wrong)) }
func (f *figures) recall() float64    { return float64(f.right) / float64(max(1, f.right+f.missed)) }
func (f *figures) words() int         { return f.right + f.wrong + f.missed + f.passed }

func (f *figures) count(invalid, bad bool) {
	switch {
	case invalid && bad:
		f.right++
	case invalid:
		f.missed++
	case bad:
		f.wrong++
	default:
		f.passed++
	}
}

// TestFigures prints how well words are told apart, with -v, and holds the line.
//
// verbs.tsv was at hand while the rules were made. The others were each labeled
// before the rules ran on them for the first time; those first runs gave
//
//	methods.tsv    precision 0.989  recall 0.949
//	methods2.tsv   precision 0.974  recall 0.929  after what methods.tsv taught
//	methods3.tsv   precision 1.000  recall 0.959  after what methods2.tsv taught
//
// and no rule for errors was changed after the last until, in November 2026, the rules were deleted
// that made no figure here better; no set is held out since. What methods3.tsv misses is either a
// noun that the dictionary has as a verb (to concert, to pillow), or rare.
func TestFigures(t *testing.T) {
	t.Logf("%-34s %6s %7s %10s %7s %13s", "set", "words", "invalid", "precision", "recall", "false errors")
	report := func(name string, f figures) {
		t.Logf("%-34s %6d %7d %10.3f %7.3f %13d", name, f.words(), f.right+f.missed, f.precision(), f.recall(), f.wrong)
	}
	for _, set := range []struct {
		file              string
		precision, recall float64
	}{{"verbs.tsv", 0.98, 0.98}, {"methods.tsv", 0.98, 0.98}, {"methods2.tsv", 0.98, 0.98}, {"methods3.tsv", 0.98, 0.95}} {
		f := labeled(t, set.file)
		report(set.file, f)
		if f.precision() < set.precision || f.recall() < set.recall {
			t.Errorf("%s: precision must reach %.2f, recall %.2f", set.file, set.precision, set.recall)
		}
	}
	words := slices.Collect(english.Words())
	for _, set := range []struct {
		name  string
		words []string
		least int
	}{
		{"inflected forms of frequent verbs", inflections(words), 1200},
		{"frequent nouns that are no verbs", others(words, func(u english.Use) bool { return u.NounCount >= 10 }), 800},
		{"frequent adjectives, no verbs", others(words, func(u english.Use) bool { return u.AdjectiveCount >= 5 }), 800},
	} {
		f := figures{}
		var missed []string
		for _, word := range set.words {
			_, bad := verdict(strings.ToUpper(word))
			f.count(true, bad)
			if !bad {
				missed = append(missed, word)
			}
		}
		report(set.name, f)
		if f.words() < set.least || f.recall() < 0.98 {
			t.Errorf("%s: %d words, recall %.3f; missed %v", set.name, f.words(), f.recall(), missed)
		}
	}
	f := figures{}
	for _, verb := range frequentVerbs(words) {
		code, bad := verdict(strings.ToUpper(verb))
		reason := noMethod[verb]
		f.count(reason != "", bad)
		if bad != (reason != "") {
			t.Errorf("the verb %s has the finding %q; expected: %q", verb, code, reason)
		}
	}
	report("the 1,500 most frequent verbs", f)
}

// labeled judges the words of a file of testdata, and checks the pass in which
// each is an error.
func labeled(t *testing.T, file string) (f figures) {
	t.Helper()
	for line := range strings.Lines(string(readText(t, file))) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		token, label, pass := fields[0], fields[1], fields[2]
		if label == "label" {
			continue
		}
		code, bad := verdict(token)
		f.count(label == "invalid", bad)
		if bad != (label == "invalid") {
			t.Logf("%s: %s is %s (%s), got %q", file, token, label, fields[3], code)
		} else if bad && !strings.Contains(pass, code[4:5]) {
			t.Errorf("%s: %s fails with %s, not in pass %s", file, token, code, pass)
		}
	}
	return f
}

// noMethod are frequent verbs that are errors, each with the reason.
var noMethod = map[string]string{
	"open": "a state, by the draft's list",
	"get":  "HTTP", "put": "HTTP", "head": "HTTP", "post": "HTTP", "trace": "HTTP", "connect": "HTTP", "patch": "HTTP",
	"be": "existence", "have": "existence", "exist": "existence", "consist": "existence", "comprise": "existence",
	"depend": "existence", "belong": "existence", "pertain": "existence", "resemble": "existence", "seem": "existence", "lack": "existence",
	"can": "function word", "will": "function word", "down": "function word",
}

// frequentVerbs returns the 1,500 verbs with most uses in the tagged texts.
func frequentVerbs(words []string) []string {
	verbs := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !english.Lookup(w).Verb })
	slices.SortStableFunc(verbs, func(a, b string) int { return english.Lookup(b).VerbCount - english.Lookup(a).VerbCount })
	return verbs[:1500]
}

// others returns the words of a kind that are neither a verb nor a form of one's own.
func others(words []string, kind func(english.Use) bool) (out []string) {
	for _, w := range words {
		if u := english.Lookup(w); !u.Verb && kind(u) {
			out = append(out, w)
		}
	}
	return out
}

// inflections makes the forms of frequent verbs by the rules of spelling, which
// are written down here once more, so that the reader's rules are not tested by
// themselves; and adds the dictionary's irregular forms. Forms that are verbs of
// their own (found, ground) are left out.
func inflections(words []string) (forms []string) {
	irregular := map[string]bool{}
	for _, w := range words {
		for _, base := range english.Irregular(w) {
			irregular[base] = true
			if english.Lookup(base).VerbCount >= 20 {
				forms = append(forms, w)
			}
		}
	}
	for _, verb := range words {
		u := english.Lookup(verb)
		if !u.Verb || u.VerbCount < 20 && !u.Modern || strings.HasSuffix(verb, "e") && len(verb) < 4 {
			continue
		}
		forms = append(forms, third(verb))
		if !irregular[verb] && !u.Modern {
			forms = append(forms, strings.TrimSuffix(stem(verb), "e")+"ed", strings.TrimSuffix(verb, "e")+"ing")
		}
	}
	slices.Sort(forms)
	return slices.DeleteFunc(slices.Compact(forms), func(w string) bool { return english.Lookup(w).Verb })
}

var (
	hissing   = regexp.MustCompile(`(s|x|z|ch|sh|[^aeiou]o)$`)
	consonant = regexp.MustCompile(`[^aeiou]y$`)
)

func third(verb string) string {
	switch {
	case consonant.MatchString(verb):
		return strings.TrimSuffix(verb, "y") + "ies"
	case hissing.MatchString(verb):
		return verb + "es"
	default:
		return verb + "s"
	}
}

func stem(verb string) string {
	if consonant.MatchString(verb) {
		return strings.TrimSuffix(verb, "y") + "i"
	}
	return verb
}

// TestAdvice checks that every method that a message recommends passes the checks itself.
func TestAdvice(t *testing.T) {
	word := regexp.MustCompile(`\b[A-Z]{2,}\b`)
	advised := map[string]bool{"HTTP": true}
	check := func(method string) {
		for _, f := range agis.CheckMethod(method) {
			if f.Message == "" || f.Help == "" || f.Section == "" {
				t.Errorf("%s: the finding says too little: %+v", method, f)
			}
			help, _, _ := strings.Cut(f.Help, " (")
			if f.Code == "AGIS208" { // repeats both readings
				continue
			}
			for _, verb := range word.FindAllString(help, -1) {
				if advised[verb] || verb == strings.ToUpper(method) || verb == "A" {
					continue
				}
				advised[verb] = true
				if code, bad := verdict(verb); bad {
					t.Errorf("%s: advised to write %s, which fails with %s (%s)", method, verb, code, f.Help)
				}
			}
		}
	}
	n := 0
	for w := range english.Words() {
		if n++; n%7 == 0 || english.Lookup(w).NounCount > 0 {
			check(strings.ToUpper(w))
		}
	}
	for line := range strings.Lines(string(readText(t, "methods.tsv"))) {
		token, _, _ := strings.Cut(line, "\t")
		check(token)
	}
	if len(advised) < 1000 {
		t.Errorf("only %d verbs were advised", len(advised))
	}
}

// The words that people will read when they are wrong.
func TestMethodMessages(t *testing.T) {
	for method, want := range map[string]string{
		"BOOKING":        "AGIS206 write the base form BOOK",
		"BOUGHT":         "AGIS206 write the base form BUY",
		"REDEPLOYED":     "AGIS206 write the base form REDEPLOY",
		"GETTING":        "AGIS206 the base form is not a method either; use a verb for the action, for example RETRIEVE or FIND",
		"CANCELLATION":   "AGIS304 use the verb, for example CANCEL",
		"BOOK_TABLE":     "AGIS203 use one verb and put the noun into the path: BOOK /table",
		"FindRestaurant": "AGIS204 use one verb and put the noun into the path: FIND /restaurant",
		"FINDRESTAURANT": "AGIS204 use one verb and put the noun into the path: FIND /restaurant",
		"getUser":        "AGIS204 use one verb and put the noun into the path: RETRIEVE /user (GET itself is prohibited)",
		"BOOK TABLE":     "AGIS202 use one verb and put the noun into the path: BOOK /table",
		"SEARCH2":        "AGIS203 write SEARCH",
		" BOOK":          "AGIS202 write BOOK",
		"acme.BOOK":      "AGIS203 use one imperative verb of the letters A to Z and put the noun into the path, for example BOOK /reservation",
		"CHECKOUT":       "AGIS207",
		"FOUND":          "AGIS208",
		"PROCESS":        "AGIS306 use a more specific verb, for example APPROVE, CONVERT or SETTLE",
		"DISPTACH":       "AGIS305",
		"READY":          "AGIS302",
		"WHERE":          "AGIS304",
		"CONSIST":        "AGIS303",
		"CHEAPER":        "AGIS302",
		"REFUNDABLE":     "AGIS302",
		"BOOK":           "",
		"TRIAGE":         "",
		"REPRICE":        "",
	} {
		got := ""
		for _, f := range agis.CheckMethod(method) {
			got = f.Code + " " + f.Help
		}
		if got != want && !(len(want) == 7 && strings.HasPrefix(got, want)) {
			t.Errorf("%s: %q, want %q", method, got, want)
		}
	}
	if f := agis.CheckMethod("DISPTACH"); len(f) != 1 || !strings.Contains(f[0].Help, "DISPATCH") {
		t.Errorf("a typing error gets no hint: %+v", f)
	}
}

// The draft's own verbs: its tables, its examples, its starter vocabulary.
func TestDraftVerbs(t *testing.T) {
	for verb := range strings.FieldsSeq(`BOOK FIND SCHEDULE CANCEL QUERY SUMMARIZE AUTHORIZE TRANSFER SUBMIT NOTIFY
		VERIFY DISPATCH LOCATE RESERVE TRIAGE RECONCILE RECOMMEND ESCALATE EXTRACT VALIDATE GENERATE MONITOR APPROVE REJECT
		RETRIEVE REVOKE FETCH SEARCH PURCHASE SYNC ROUTE ADMIT CHECK REQUEST NEGOTIATE CONFIRM PROPOSE`) {
		if code, _ := verdict(verb); code != "" {
			t.Errorf("%s has the finding %s", verb, code)
		}
	}
	if code, bad := verdict("PROCESS"); bad || code != "AGIS306" {
		t.Errorf("PROCESS is borderline in the draft, got %q", code)
	}
}

// hostile are identifiers from a hostile client.
var hostile = []string{
	strings.Repeat("A", 10_000), strings.Repeat("BOOK", 2_500), strings.Repeat("ing", 3_000), strings.Repeat("ß", 5_000),
	strings.Repeat("bookTable", 1_000), strings.Repeat("A ", 5_000), "\x00", "BO\x00OK", "\u0301", "B\u0301OOK", "\u202eKOOB", "\ufeffBOOK",
	"预订", "予約する", "حجز", "забронировать", "κράτηση", "예약", "จอง", "बुक", "🛎", "ＢＯＯＫ", "ВООК", "\xff\xfe", "BOOK\n", "İ", "ſend", "K",
	"S", "ES", "ED", "ING", "SS", "IES", "RE", "UNRE", strings.Repeat("RE", 19) + "DO", "GETGETGETGETGETGETGETGETGETUSERSUSERSUSE",
}

func TestHostileMethods(t *testing.T) {
	// The longest identifier whose words are looked for is what any may cost,
	// and some for reading it.
	cost := func(method string) time.Duration {
		shortest := time.Hour
		for range 8 {
			begin := time.Now()
			agis.CheckMethod(method)
			shortest = min(shortest, time.Since(begin))
		}
		return shortest
	}
	// Both are measured again, one after the other, where the machine was busy with
	// something else.
	tooDear := func(method string) (took, longest time.Duration, dear bool) {
		for range 20 {
			took, longest = cost(method), cost("GETGETGETGETGETGETGETGETGETUSERSUSERSUSE")
			if took <= 10*longest {
				return took, longest, false
			}
		}
		return took, longest, true
	}
	for _, method := range hostile {
		findings := agis.CheckMethod(method)
		if took, longest, dear := tooDear(method); dear {
			t.Errorf("%.20q takes %s, the longest word %s", method, took, longest)
		}
		if len(findings) == 0 {
			t.Errorf("%.20q passes", method)
		}
		for _, f := range findings {
			if len(f.Message)+len(f.Help) > 1_000 {
				t.Errorf("%.20q: a message of %d bytes", method, len(f.Message)+len(f.Help))
			}
		}
	}
}

func FuzzMethod(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	for _, s := range []string{"BOOK", "BOOKING", "FINDRESTAURANT", "getUser", "CANCELLATION", "FOUND", "CHECKOUT", "DISPTACH"} {
		f.Add(s)
	}
	base := regexp.MustCompile(`^write the base form ([A-Z]+)$`)
	f.Fuzz(func(t *testing.T, method string) {
		for _, finding := range agis.CheckMethod(method) {
			if finding.Message == "" || finding.Help == "" {
				t.Errorf("%q: the finding says too little: %+v", method, finding)
			}
			if m := base.FindStringSubmatch(finding.Help); m != nil {
				if code, bad := verdict(m[1]); bad {
					t.Errorf("%q: advised to write %s, which fails with %s", method, m[1], code)
				}
			}
		}
	})
}

// BenchmarkMethod measures the cost of one method by its class. An unknown word costs most because
// similarly spelled verbs are searched.
func BenchmarkMethod(b *testing.B) {
	for _, c := range []struct{ name, method string }{
		{"verb", "RECONCILE"}, {"inflected", "SCHEDULED"}, {"noun", "RESTAURANT"}, {"compound", "FINDRESTAURANT"},
		{"form", "BOOK_TABLE"}, {"unknown", "DISPTACH"}, {"unknown and long", "GETGETGETGETGETGETGETGETGETUSERSUSERSUSE"},
	} {
		b.Run(c.name, func(b *testing.B) {
			agis.CheckMethod(c.method)
			for b.Loop() {
				agis.CheckMethod(c.method)
			}
		})
	}
}
