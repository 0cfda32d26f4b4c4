package a2a

import (
	"slices"

	"golang.org/x/text/currency"
)

// minorDigits has the number of decimals of the currencies of ISO 4217 that do not have two.
var minorDigits = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0, "UGX": 0,
	"UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"CLF": 4, "UYW": 4,
}

// MinorDigits returns how many decimals an amount in a currency has: amount_cents counts units of the
// last of them. 500 JPY are the amount 500, because the yen has no smaller unit (§4.3.1).
func MinorDigits(currency string) int {
	if digits, ok := minorDigits[currency]; ok {
		return digits
	}
	return 2
}

// newCurrencies are codes of ISO 4217 that golang.org/x/text does not have yet.
var newCurrencies = []string{"SLE", "UYW", "VED", "XAD", "XCG", "ZWG"}

// IsKnownCurrency reports whether a code is one of ISO 4217, as §4.3.1 requires. Codes that were withdrawn
// are known, too. It cannot know codes that are newer than the program.
func IsKnownCurrency(code string) bool {
	_, err := currency.ParseISO(code)
	return err == nil || slices.Contains(newCurrencies, code)
}

// Currencies returns the codes of the currencies that are legal tender somewhere today, in order.
func Currencies() []string {
	codes := slices.Clone(newCurrencies)
	for each := currency.Query(); each.Next(); {
		codes = append(codes, each.Unit().String())
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}
