package index

import (
	"slices"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	for in, want := range map[string]struct{ name, text string }{
		"createUserAccount":    {"create User Account", "create User Account createUserAccount"},
		"get_user_id":          {"get user id", "get user id"},
		"/users/{userId}/cars": {"users user Id cars", "users user Id userId cars"},
		"drive.files.list":     {"drive files list", "drive files list"},
		"kebab-case":           {"kebab case", "kebab case"},
		"HTTPServer":           {"HTTP Server", "HTTP Server HTTPServer"},
		"userIDs":              {"user IDs", "user IDs userIDs"},
		"APIs and URLsOf":      {"APIs and URLs Of", "APIs and URLs Of URLsOf"},
		"OAuth2Token":          {"O Auth2 Token", "O Auth2 Token OAuth2Token"},
		"S3 v2 ipv4":           {"S3 v2 ipv4", "S3 v2 ipv4"},
		"A plain Sentence":     {"A plain Sentence", "A plain Sentence"},
		"ＦＵＬＬ ﬁne":             {"FULL fine", "FULL fine"},
		"":                     {"", ""},
	} {
		if got := PrepareName(in); got != want.name {
			t.Errorf("splitName(%q) = %q, want %q", in, got, want.name)
		}
		if got := PrepareText(in); got != want.text {
			t.Errorf("splitText(%q) = %q, want %q", in, got, want.text)
		}
	}
	if got := PrepareText(strings.Repeat("é", 9000)); got != strings.Repeat("é", maxTextLength) {
		t.Errorf("a long text keeps %d bytes", len(got))
	}
}

func TestAnalysis(t *testing.T) {
	a, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string][]string{
		"The traveller's bookings": {"travel", "book"},
		"Scheduling meetings":      {"schedul", "meet"},
		"회의를 목요일에 예약해 줘":           {"회의", "의를", "목요", "요일", "일에", "예약", "약해", "줘"},
		"API를 a":                   {"api", "를"},
		"東京都 予約":                   {"東京", "京都", "予約"},
		"\u1112\u116c\u110b\u1174": {"회의"},
		"ｶﾞｽ":                      {"ガス"},
		"GitHub":                   {"git", "hub", "github"},
		"to be or not to be":       {},
		"ＡＢＣ":                      {"abc"},
	} {
		got := []string{}
		for _, t := range Tokenize(a, PrepareText(in)) {
			got = append(got, t.stem)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestKoreanTermsKeepTheirWord(t *testing.T) {
	a, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for _, term := range Tokenize(a, "회의실을") {
		if term.surface != "회의실을" {
			t.Errorf("%+v", term)
		}
	}
}

func TestPolitenessIsStripped(t *testing.T) {
	for in, want := range map[string]string{
		"I want to book a table":                          "book a table",
		"Hello, could you please book a table, thank you": "book a table,",
		"I’d like to book a table please.":                "book a table",
		"show me flights":                                 "flights",
		"book a table for me, please":                     "book a table",
		"I would like you to please help me find a hotel": "find a hotel",
		"book a table I want to see":                      "book a table I want to see",
		"please":                                          "please",
		"Can you":                                         "Can you",
		"Who can BOOK a table?":                           "BOOK a table?",
		"is there a service that can translate letters":   "translate letters",
		"who":       "who",
		"회의를 예약해 줘": "회의를 예약해",
	} {
		words := strings.Fields(in)
		from, to := trimPoliteness(words)
		if got := strings.Join(words[from:to], " "); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
	for _, list := range []string{politeOpenings, politeClosings} {
		for phrase := range strings.Lines(list) {
			if n := len(strings.Fields(phrase)); n > maxPolitePhrase {
				t.Errorf("%q has %d words; raise maxPhrase", phrase, n)
			}
		}
	}
}

func TestVersionSampleSetsTheAnalysisToWork(t *testing.T) {
	a, err := New()
	if err != nil {
		t.Fatal(err)
	}
	d := versionSample()
	var all []string
	entries := []entry{serviceEntry(&d), classEntry(&d.DataClasses[0])}
	for i := range d.Operations {
		entries = append(entries, operationEntry(&d.Operations[i]))
	}
	for _, e := range entries {
		for _, text := range e.text {
			for _, t := range Tokenize(a, text) {
				all = append(all, t.stem)
			}
		}
	}
	for rule, term := range map[string]string{
		"camel case": "hub", "camel kept whole": "github", "possessive": "travel", "stem": "restaur", "path": "reserv",
		"compatibility": "finest", "width": "ガ", "Hangul": "회의", "cjk": "会議", "unspaced": "จอ", "dots": "drive", "snake": "rate",
	} {
		if !slices.Contains(all, term) {
			t.Errorf("%s: no term %q in %q", rule, term, all)
		}
	}
}

func TestWhatAnOperationIsCalledCountsOnce(t *testing.T) {
	d := agis("a.test", "BOOK /table/booking")
	d.Operations = append(d.Operations, d.Operations[0], d.Operations[0])
	d.Operations[1].ID, d.Operations[1].Verb, d.Operations[1].Path = "book_table", "BOOK", ""
	d.Operations[2].ID, d.Operations[2].Verb, d.Operations[2].Path = "tableService", "BOOK", ""
	for i, want := range []string{"BOOK table booking", "book table", "table Service BOOK"} {
		if got := actText(&d.Operations[i]); got != want {
			t.Errorf("%s: %q, want %q", d.Operations[i].ID, got, want)
		}
	}
}
