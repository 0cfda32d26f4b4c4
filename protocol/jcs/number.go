package jcs

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Numbers is the set of accepted numbers and their form in the output.
type Numbers uint8

const (
	// ExactIntegers accepts integers from -2^63 to 2^64-1, without a fraction
	// and without an exponent, and keeps every digit (A2A draft-1 §5.2.2 R1, §5.6).
	ExactIntegers Numbers = iota
	// Doubles writes each number as RFC 8785 §3.2.2.3 does: rounded to an IEEE 754
	// double, in the notation of ECMAScript.
	Doubles
	// Verbatim leaves each number as it is written.
	Verbatim
)

// parseNumber reads the number that begins at pos.
func (d *Document) parseNumber() error {
	text, begin := d.text, d.pos
	i := begin
	if text[i] == '-' {
		i++
	}
	digits := i
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	switch {
	case i == digits:
		return d.fail(Syntax, i, "a digit is expected")
	case text[digits] == '0' && i-digits > 1:
		return d.fail(Syntax, digits, "a number must not begin with 0")
	}
	if i < len(text) && (text[i] == '.' || text[i]|0x20 == 'e') {
		end, ok := skipFraction(text, i)
		if !ok {
			return d.fail(Syntax, end, "a digit is expected")
		}
		if d.o.Numbers == ExactIntegers {
			return d.fail(Float, begin, "a number has a fraction or an exponent")
		}
		d.pos = end
		return d.addNumber(begin)
	}
	d.pos = i
	if d.o.Numbers != ExactIntegers {
		return d.addNumber(begin)
	}
	if i-digits > 18 && !fitsInteger(text[begin:i]) {
		return d.fail(Range, begin, "an integer is outside [-2^63, 2^64-1]")
	}
	if text[digits] == '0' && digits > begin { // -0
		d.addLeaf(digits, i, Number, 0)
		return nil
	}
	d.addLeaf(begin, i, Number, canonical)
	return nil
}

// addNumber adds the number from begin to pos as Doubles and Verbatim write it.
func (d *Document) addNumber(begin int) error {
	if d.o.Numbers == Verbatim {
		d.addLeaf(begin, d.pos, Number, canonical)
		return nil
	}
	v := jsontext.Value(d.text[begin:d.pos]).Clone()
	if err := v.Canonicalize(); err != nil {
		return d.fail(Syntax, begin, "a number cannot be written canonically")
	}
	at := len(d.side)
	d.side = append(d.side, v...)
	d.addLeaf(at, len(d.side), Number, inSide)
	return nil
}

// skipFraction returns the offset after the fraction and exponent that begin at i, and false when a
// digit is missing there.
func skipFraction(text []byte, i int) (end int, ok bool) {
	skipDigits := func() bool {
		begin := i
		for i < len(text) && isDigit(text[i]) {
			i++
		}
		return i > begin
	}
	if text[i] == '.' {
		i++
		if !skipDigits() {
			return i, false
		}
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if !skipDigits() {
			return i, false
		}
	}
	return i, true
}

// fitsInteger reports whether an integer is in [-2^63, 2^64-1].
func fitsInteger(text []byte) bool {
	if len(text) > 20 {
		return false
	}
	var err error
	if text[0] == '-' {
		_, err = strconv.ParseInt(string(text), 10, 64)
	} else {
		_, err = strconv.ParseUint(string(text), 10, 64)
	}
	return err == nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
