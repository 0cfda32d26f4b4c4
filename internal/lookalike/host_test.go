package lookalike_test

import (
	"testing"

	"gazetteer/fetch"
	"gazetteer/internal/lookalike"
)

func TestLookalikeHostsAreFound(t *testing.T) {
	for name, want := range map[string]string{
		"аррӏе.com":          "reads like apple.com, but contains Cyrillic letters",
		"www.аррӏе.com":      "reads like www.apple.com, but contains Cyrillic letters",
		"раураӏ.com":         "reads like paypal.com, but contains Cyrillic letters",
		"pаypal.com":         "reads like paypal.com, but contains Cyrillic letters",
		"ɡoogle.com":         "reads like google.com, but contains other Latin letters",
		"gοоgle.com":         "reads like google.com, but contains Cyrillic and Greek letters",
		"bооking-дом.com":    "mixes Cyrillic and Latin letters in one word",
		"日本-дом.example.com": "mixes Cyrillic and Han letters in one word",

		"paypal.com":         "",
		"bücher.de":          "",
		"café.example.com":   "",
		"почта.рф":           "",
		"магазин.com":        "",
		"ελλάδα.gr":          "",
		"日本語テスト.jp":          "",
		"tokyoレストラン.jp":      "",
		"서울shop.kr":          "",
		"موقع.example.com":   "",
		"xn--a.example.com":  "",
		"xn--99999999999.de": "",
	} {
		host, err := fetch.CheckHost(name)
		if err != nil {
			host = name
		}
		l, found := lookalike.FindHost(host)
		if found != (want != "") || found && l.String() != want {
			t.Errorf("%s (%s): %v %q, want %q", name, host, found, l, want)
		}
	}
}
