package tokens

import "testing"

func TestKindOfIdentifier(t *testing.T) {
	for field, want := range map[string]string{
		"8.8.8.8":                "ip",
		"8.8.8.8?":               "ip",
		"2a00:1450:4001:81b::e":  "ip",
		"DE89370400440532013000": "iban bank account",
		"DE88370400440532013000": "", // a wrong check digit
		"978-3-16-148410-0":      "isbn book",
		"316148410X":             "isbn book",
		"4006381333931":          "barcode product",
		"4006381333932":          "",
		"jane.doe@example.com":   "email",
		"+4915112345678":         "phone",
		"+1":                     "",
		"52.52,13.40":            "location latitude longitude",
		"1Z999AA10123456784":     "parcel shipment",
		"4111111111111111":       "card",
		"CVE-2024-3094":          "vulnerability",
		"10.1000/182":            "article research",
		"#ff8800":                "color",
		"DE136695976":            "vat",
		"acme.org":               "domain",
		"2026":                   "",
		"v1.2":                   "",
		"report.pdf":             "",
		"Madrid":                 "",
	} {
		if got := KindOfIdentifier(field); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}
