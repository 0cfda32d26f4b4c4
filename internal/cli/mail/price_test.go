package mail

import (
	"strings"
	"testing"

	"gazetteer/protocol/a2a"
)

// A2A §4.3.1: amounts are whole numbers of the smallest unit of the currency, and JPY has none.
func TestPrices(t *testing.T) {
	for _, c := range []struct {
		text   string
		amount uint64
		shown  string // "" for a price that is refused
	}{
		{"12.50EUR", 1250, "12.50 EUR"},
		{"12.5 EUR", 1250, "12.50 EUR"},
		{"0eur", 0, "0.00 EUR"},
		{"0.05EUR", 5, "0.05 EUR"},
		{"500JPY", 500, "500 JPY"},
		{"0JPY", 0, "0 JPY"},
		{"1.234KWD", 1234, "1.234 KWD"},
		{"1KWD", 1000, "1.000 KWD"},
		{"1.5JPY", 0, ""},
		{"1.005EUR", 0, ""},
		{"1.2345KWD", 0, ""},
		{"EUR", 0, ""},
		{"-1EUR", 0, ""},
		{"1,50EUR", 0, ""},
		{"5ABC", 0, ""},
		{"5EUT", 0, ""},
		{"5SLE", 500, "5.00 SLE"}, // newer than the tables of golang.org/x/text
	} {
		got, err := parsePrice(c.text)
		if (err != nil) != (c.shown == "") {
			t.Errorf("parsePrice(%q): %v", c.text, err)
			continue
		}
		if err == nil && (got.AmountCents != c.amount || formatPrice(got) != c.shown) {
			t.Errorf("%q is %d and shown as %q, want %d and %q", c.text, got.AmountCents, formatPrice(got), c.amount, c.shown)
		}
	}
	if _, err := parsePrice("5EUT"); err == nil || !strings.HasSuffix(err.Error(), "there is no currency EUT: did you mean EUR?") {
		t.Errorf("5EUT: %v", err)
	}
	if got := formatPrice(a2a.Money{AmountCents: 7, Currency: "KWD"}); got != "0.007 KWD" {
		t.Errorf("7 fils are shown as %q", got)
	}
}
