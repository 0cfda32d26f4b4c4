package tokens

import (
	"net/netip"
	"regexp"
	"strings"
	"unicode"
)

// identifierKinds are the words for kinds of identifiers that tell by their form. What has a check
// digit is in [checkedKind].
var identifierKinds = []struct {
	form  *regexp.Regexp
	words string
}{
	{regexp.MustCompile(`^[^@\s]+@[^@\s]+\.[a-z]{2,}$`), "email"},
	{regexp.MustCompile(`^\+[0-9][0-9()./-]{6,}$`), "phone"},
	{regexp.MustCompile(`^-?[0-9]{1,3}\.[0-9]{2,},-?[0-9]{1,3}\.[0-9]{2,}$`), "location latitude longitude"},
	{regexp.MustCompile(`^1z[0-9a-z]{16}$`), "parcel shipment"},
	{regexp.MustCompile(`^cve-[0-9]{4}-[0-9]{4,}$`), "vulnerability"},
	{regexp.MustCompile(`^10\.[0-9]{4,}/\S+$`), "article research"},
	{regexp.MustCompile(`^#[0-9a-f]{6}$`), "color"},
	{regexp.MustCompile(`^(at|be|bg|cy|cz|de|dk|ee|el|es|fi|fr|gb|hr|hu|ie|it|lt|lu|lv|mt|nl|pl|pt|ro|se|si|sk)u?[0-9]{8,12}$`), "vat"},
}

// KindOfIdentifier returns the words for the kind of thing that an identifier is of, "" if its form
// does not tell: an IP address, an IBAN, the number of a book. A request with such a value and hardly
// another word is about this kind.
func KindOfIdentifier(field string) string {
	field = strings.ToLower(strings.TrimRight(strings.TrimFunc(field, unicode.IsSpace), ",;!?"))
	if _, err := netip.ParseAddr(strings.TrimRight(field, ".")); err == nil {
		return "ip"
	}
	for _, k := range identifierKinds {
		if k.form.MatchString(field) {
			return k.words
		}
	}
	if kind := checkedKind(strings.NewReplacer("-", "", " ", "").Replace(field)); kind != "" {
		return kind
	}
	if IsHost(field) {
		return "domain"
	}
	return ""
}

// checkedKind returns the words for the kind of an identifier whose check digits are right.
func checkedKind(s string) string {
	switch n := len(s); {
	case n >= 15 && n <= 34 && isIBAN(s):
		return "iban bank account"
	case strings.Trim(s, "0123456789") != "":
		if n == 10 && strings.HasSuffix(s, "x") && strings.Trim(s[:9], "0123456789") == "" {
			return isbnKind(s)
		}
	case n == 13 && hasProductCheckDigit(s) && (s[:3] == "978" || s[:3] == "979"):
		return "isbn book"
	case (n == 8 || n == 12 || n == 13) && hasProductCheckDigit(s):
		return "barcode product"
	case n == 10:
		return isbnKind(s)
	case (n == 15 || n == 16) && hasLuhnCheckDigit(s):
		return "card"
	}
	return ""
}

// isIBAN reports whether a text is an account number as ISO 13616 writes it: two letters, two check
// digits, letters and digits.
func isIBAN(s string) bool {
	if strings.Trim(s[:2], "abcdefghijklmnopqrstuvwxyz") != "" || strings.Trim(s[2:4], "0123456789") != "" {
		return false
	}
	rest := 0
	for _, c := range []byte(s[4:] + s[:4]) {
		switch {
		case c >= '0' && c <= '9':
			rest = (rest*10 + int(c-'0')) % 97
		case c >= 'a' && c <= 'z':
			rest = (rest*100 + int(c-'a') + 10) % 97
		default:
			return false
		}
	}
	return rest == 1
}

// hasProductCheckDigit reports whether the last digit is the check digit of GS1: the others count once
// and three times in turn, from the right.
func hasProductCheckDigit(digits string) bool {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		sum += d * (1 + i%2*2)
	}
	return sum%10 == 0
}

// isbnKind returns the words for a book if a text is an ISBN of ten digits, of which the last may be
// an x.
func isbnKind(s string) string {
	sum := 0
	for i := range 10 {
		d := int(s[i] - '0')
		if s[i] == 'x' {
			d = 10
		}
		sum += d * (10 - i)
	}
	if sum%11 != 0 {
		return ""
	}
	return "isbn book"
}

// hasLuhnCheckDigit reports whether the last digit is the check digit of ISO 7812: every second digit
// from the right counts twice.
func hasLuhnCheckDigit(digits string) bool {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			d *= 2
		}
		sum += d/10 + d%10
	}
	return sum%10 == 0
}
