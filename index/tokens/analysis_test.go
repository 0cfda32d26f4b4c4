package tokens

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
	a, err := NewAnalyzer()
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
			got = append(got, t.Stem)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestKoreanTermsKeepSurface(t *testing.T) {
	a, err := NewAnalyzer()
	if err != nil {
		t.Fatal(err)
	}
	for _, term := range Tokenize(a, "회의실을") {
		if term.Surface != "회의실을" {
			t.Errorf("%+v", term)
		}
	}
}

func TestStemOf(t *testing.T) {
	for form, want := range map[string]string{
		"bookings": "book", "trains": "train", "trained": "train",
		"training": "training", "trainings": "training", "settings": "setting", "buildings": "building",
	} {
		if got := StemOf(form); got != want {
			t.Errorf("the stem of %s is %s, want %s", form, got, want)
		}
	}
}

// TestStemsWithoutAccents checks that a word has the same stem with and without accents, and that the
// marks of other scripts count.
func TestStemsWithoutAccents(t *testing.T) {
	for accented, plain := range map[string]string{
		"kinésithérapie": "kinesitherapie", "kiné": "kine", "bazén": "bazen", "přihlásit": "prihlasit", "łódka": "lodka",
		"straße": "strasse", "œuvre": "oeuvre", "mañana": "manana", "smørrebrød": "smorrebrod",
	} {
		if StemOf(accented) != StemOf(plain) {
			t.Errorf("%s has the stem %s, %s has %s", accented, StemOf(accented), plain, StemOf(plain))
		}
	}
	for _, other := range []string{"が", "йод", "ελιά", "한국"} { // marks of other scripts make other words
		if got := StemOf(other); got != other {
			t.Errorf("%s has the stem %s", other, got)
		}
	}
}
