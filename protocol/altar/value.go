package altar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Number is a JSON number as it was written, so that an integer keeps all its digits.
type Number string

// maxDepth is the deepest nesting of the values of a call.
const maxDepth = 64

// ReadValue reads one JSON value strictly: no duplicate names, no invalid UTF-8, nothing after the
// value. The result is a map[string]any, []any, string, bool, [Number] or nil.
func ReadValue(text []byte) (any, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	v, err := decodeValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the value")
	}
	return v, nil
}

func decodeValue(d *jsontext.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the value nests deeper than %d levels", maxDepth)
	}
	token, err := d.ReadToken()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, err
	}
	switch token.Kind() {
	case '{':
		object := map[string]any{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			if object[key], err = decodeValue(d, depth+1); err != nil {
				return nil, err
			}
		}
		_, err := d.ReadToken()
		return object, err
	case '[':
		array := []any{}
		for d.PeekKind() != ']' {
			element, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			array = append(array, element)
		}
		_, err := d.ReadToken()
		return array, err
	case '"':
		return token.String(), nil
	case '0':
		return Number(token.String()), nil
	case 'n':
		return nil, nil
	default:
		return token.Bool(), nil
	}
}

// AppendValue appends the JSON of a value that [ReadValue] returned. Members are sorted by name;
// numbers stay as written.
func AppendValue(b []byte, v any) []byte { return appendValue(b, v, false) }

// AppendCanonical appends a JSON text that is the same for equal values: texts that differ only in
// spaces, the order of members, escapes or the form of numbers (1, 1.0 and 10e-1) give the same
// bytes.
func AppendCanonical(b []byte, v any) []byte { return appendValue(b, v, true) }

func appendValue(b []byte, v any, canonical bool) []byte {
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		b = append(b, '{')
		for i, name := range names {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(b, name)
			b = append(b, ':')
			b = appendValue(b, v[name], canonical)
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, element := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, element, canonical)
		}
		return append(b, ']')
	case string:
		return appendString(b, v)
	case Number:
		if canonical {
			return append(b, canonicalNumber(string(v))...)
		}
		return append(b, v...)
	case bool:
		return strconv.AppendBool(b, v)
	default:
		return append(b, "null"...)
	}
}

func appendString(b []byte, s string) []byte {
	quoted, err := jsontext.AppendQuote(b, s)
	if err != nil { // the text is not UTF-8, which ReadValue refuses
		return strconv.AppendQuote(b, strings.ToValidUTF8(s, "\uFFFD"))
	}
	return quoted
}

// canonicalNumber returns a number as its digits without zeros at either end and an exponent,
// exactly: "0" for every zero, "-25e1" for -250.0.
func canonicalNumber(text string) string {
	sign := ""
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		sign, text = "-", rest
	}
	mantissa, exponentText, _ := strings.Cut(strings.ToLower(text), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	trimmed := strings.TrimRight(digits, "0")
	shift := int64(len(digits)-len(trimmed)) - int64(len(fraction))
	if exponentText != "" {
		exponent, err := strconv.ParseInt(exponentText, 10, 62)
		if err != nil { // beyond any number of the type system: equal only to itself
			return sign + text
		}
		shift += exponent
	}
	return sign + trimmed + "e" + strconv.FormatInt(shift, 10)
}
