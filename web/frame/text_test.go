package frame

import (
	"strings"
	"testing"
	"time"
)

func TestHiddenCharacters(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"markup is escaped":                     {`<b>"a" & 'b'</b>`, `&lt;b&gt;"a" &amp; 'b'&lt;/b&gt;`},
		"an override is written out":            {"a\u202Eb", `a<span class="mark">U+202E</span>b`},
		"every bidi control":                    {"\u061C\u200E\u200F\u202A\u2066\u2069", `<span class="mark">U+061C</span><span class="mark">U+200E</span><span class="mark">U+200F</span><span class="mark">U+202A</span><span class="mark">U+2066</span><span class="mark">U+2069</span>`},
		"zero width and soft hyphen":            {"pay\u200Bpal\u00AD\uFEFF", `pay<span class="mark">U+200B</span>pal<span class="mark">U+00AD</span><span class="mark">U+FEFF</span>`},
		"escapes of terminals":                  {"\x1b[31m", `<span class="mark">U+001B</span>[31m`},
		"blanks that are letters":               {"a\u3164b\u2800", `a<span class="mark">U+3164</span>b<span class="mark">U+2800</span>`},
		"line separators":                       {"a\u2028b", `a<span class="mark">U+2028</span>b`},
		"hidden bytes":                          {"a\U000E0115\uFE01", `a<span class="mark">U+E0115</span><span class="mark">U+FE01</span>`},
		"a form of an ideograph stays":          {"葛\U000E0100", "葛\U000E0100"},
		"tags":                                  {"a\U000E0041", `a<span class="mark">U+E0041</span>`},
		"private use":                           {"\uE000", `<span class="mark">U+E000</span>`},
		"broken UTF-8":                          {"a\xffb", `a<span class="mark">U+FFFD</span>b`},
		"a replacement character that was sent": {"a\uFFFDb", "a\uFFFDb"},
		"line ends and tabs stay":               {"a\n\tb", "a\n\tb"},
		"joiners of Persian stay":               {"می\u200Cخواهم", "می\u200Cخواهم"},
		"joiners of emoji stay":                 {"👩\u200D🍳", "👩\u200D🍳"},
		"joiners beside Latin do not":           {"a\u200Db", `a<span class="mark">U+200D</span>b`},
		"a few accents stay":                    {"e\u0301\u0323", "e\u0301\u0323"},
		"a tower of accents does not":           {"e" + strings.Repeat("\u0301", 6), "e" + strings.Repeat("\u0301", 4) + strings.Repeat(`<span class="mark">U+0301</span>`, 2)},
		"nothing":                               {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(escapeText(c.text)); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestPathMayBreakBetweenWords(t *testing.T) {
	for path, want := range map[string]string{
		"/tables/{id}/":    "/tables/<wbr>{id}/",
		"https://a.test/b": "https://<wbr>a.<wbr>test/<wbr>b",
		"get_table__id":    "get_<wbr>table__<wbr>id",
		"/<b>/\u202E":      `/&lt;b&gt;/<wbr><span class="mark">U+202E</span>`,
		"book":             "book",
		"":                 "",
	} {
		if got := string(clipPath(40, path)); got != want {
			t.Errorf("%q: got  %q\nwant %q", path, got, want)
		}
	}
}

func TestOnlyLongWordsMayBreak(t *testing.T) {
	for text, want := range map[string]string{
		"reservations.acme.test":                       "reservations.<wbr>acme.test",
		"currencyconversioncalculator.mastercard.test": "currencyconversioncalculator.<wbr>mastercard.test",
		"Read a.test, or\nb.test/c: <b>":               "Read a.test, or\nb.test/c: &lt;b&gt;",
		"at agtp://reservations.acme.test now":         "at agtp://<wbr>reservations.<wbr>acme.test now",
		"restaurant_not_found, P-256":                  `<span class="name">restaurant_<wbr>not_found,</span> <span class="one-line">P-256</span>`,
		"a_word_that_ends_in_a_slash/":                 "a_<wbr>word_<wbr>that_<wbr>ends_in_a_slash/",
		"stripe.test":                                  "stripe.test",
		"https://stripe.test/.well-known/ai":           "https://<wbr>stripe.<wbr>test/.<wbr><span class=\"one-line\">well-known</span>/ai",
		"":                                             "",
	} {
		if got := string(breakable(text)); got != want {
			t.Errorf("%q: got  %q\nwant %q", text, got, want)
		}
	}
}

func FuzzInert(f *testing.F) {
	f.Add("<script>\u202E\xff")
	f.Add("\u200D👩\u200D🍳\u0301\u0301\u0301\u0301\u0301")
	f.Fuzz(func(t *testing.T, s string) {
		out := strings.NewReplacer(`<span class="mark">`, "", `</span>`, "").Replace(string(escapeText(s)))
		if strings.ContainsAny(out, `<>"'`) {
			t.Errorf("%q leaves markup: %q", s, out)
		}
		for _, bad := range []string{"\u202E", "\u2066", "\u200B", "\x1b", "\x00"} {
			if strings.Contains(out, bad) || strings.Contains(PlainText(s), bad) {
				t.Errorf("%q keeps %+q", s, bad)
			}
		}
	})
}

func TestClip(t *testing.T) {
	if got := string(clipEscaped(3, "日本語")); got != "日本語" {
		t.Errorf("a text that fits became %q", got)
	}
	if got := string(clipEscaped(3, "ab <cd")); got != "ab…" {
		t.Errorf("got %q", got)
	}
}

// TestDueIsNow checks that what is due at this time, or was before, is due now and not "just now".
func TestDueIsNow(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	f := Frame{Now: func() time.Time { return now }}
	for span, want := range map[time.Duration]string{-time.Hour: "now", 0: "now", 9 * time.Second: "now", 2 * time.Hour: "in 2 hours"} {
		if got := f.MomentOfDue(now.Add(span)).Ago; got != want {
			t.Errorf("%v: %q, want %q", span, got, want)
		}
	}
}

func TestRelative(t *testing.T) {
	for span, want := range map[time.Duration]string{
		0:                                   "just now",
		9 * time.Second:                     "just now",
		-3 * time.Second:                    "just now",
		42 * time.Second:                    "42 seconds ago",
		time.Minute:                         "a minute ago",
		3*time.Minute + 59*time.Second:      "3 minutes ago",
		time.Hour:                           "an hour ago",
		47 * time.Hour:                      "a day ago",
		-25 * time.Hour:                     "in a day",
		-23 * time.Hour:                     "in 23 hours",
		45 * 24 * time.Hour:                 "a month ago",
		800 * 24 * time.Hour:                "2 years ago",
		-(14*24*time.Hour + 30*time.Minute): "in 14 days",
	} {
		if got := relativeTime(span); got != want {
			t.Errorf("%v: %q, want %q", span, got, want)
		}
	}
}

func TestCaretUnderWideCharacters(t *testing.T) {
	if got := CaretIndent("a日b"); got != " \u3000 " {
		t.Errorf("got %q", got)
	}
}

func TestAsSentence(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "dns: no such host": "DNS: no such host.", "tls: the certificate is over": "TLS: the certificate is over.", "https://a.example is open": "Https://a.example is open.",
		"dnsmasq: it runs": "Dnsmasq: it runs.", "what is it?": "What is it?", "ändert sich": "Ändert sich.",
	} {
		if got := AsSentence(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestMarkWords(t *testing.T) {
	for _, c := range []struct {
		text  string
		words []string
		want  string
	}{
		{"Books a Table, <b>now</b>", []string{"table", "B"}, "Books a <mark>Table</mark>, &lt;<mark>b</mark>&gt;now&lt;/<mark>b</mark>&gt;"},
		{"Finds tables", []string{"table"}, "Finds tables"},
		// The s of another word is not marked with a word that has one behind its apostrophe.
		{"Shows a doctor's calendar and Ida's", []string{"doctor's"}, "Shows a <mark>doctor's</mark> calendar and Ida's"},
		{"Shows a doctor's calendar", []string{"doctor"}, "Shows a <mark>doctor</mark>'s calendar"},
		// A word of several parts is marked as a whole, or not at all.
		{"Freie Termine, keine freie Zeit", []string{"freie termine"}, "<mark>Freie Termine</mark>, keine freie Zeit"},
		{"a check-up", []string{"check up"}, "a <mark>check-up</mark>"},
		{"席を予約する", []string{"予約"}, "席を<mark>予約</mark>する"},
		{"방을 예약합니다", []string{"예약"}, "방을 <mark>예약</mark>합니다"},
		{"Réserve l’Accueil", []string{"accueil", "..."}, "Réserve l’<mark>Accueil</mark>"},
		{"a\u202Eb c", []string{"c"}, `a<span class="mark">U+202E</span>b <mark>c</mark>`},
		{"Shows all of the free rooms, tables and seats", []string{"seats"}, "Shows all of the free rooms, tables and…"},
	} {
		if got := string(MarkWords(39, c.text, c.words)); got != c.want {
			t.Errorf("%q, %q:\ngot  %s\nwant %s", c.text, c.words, got, c.want)
		}
	}
}
