package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deeply a record may be nested and still be written as JSON.
const maxDepth = 64

// errNotCanonical says that a value has no canonical JSON form that holds all
// of it.
var errNotCanonical = errors.New("no canonical form")

// canonical writes a JSON text in its canonical form: members sorted by their
// UTF-16 code units, no white space, the shortest escapes (RFC 8785). It fails
// for everything that two readers could understand differently: floats,
// integers outside [-2^63, 2^64-1], the same member twice, invalid UTF-8, lone
// surrogates, nesting without end, and text that is not JSON.
func canonical(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, errNotCanonical
	}
	w := &canonicalWriter{d: json.NewDecoder(bytes.NewReader(text))}
	w.d.UseNumber()
	// The decoder puts U+FFFD where half of a surrogate pair was escaped.
	w.surrogates = bytes.Contains(text, []byte(`\ud`)) || bytes.Contains(text, []byte(`\uD`))
	out, err := w.value(nil, 0)
	if err != nil {
		return nil, errNotCanonical
	}
	if _, err := w.d.Token(); err != io.EOF {
		return nil, errNotCanonical
	}
	return out, nil
}

// A canonicalWriter goes through one JSON text.
type canonicalWriter struct {
	d          *json.Decoder
	surrogates bool // the text escapes surrogates
}

func (w *canonicalWriter) value(out []byte, depth int) ([]byte, error) {
	token, err := w.d.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case nil:
		return append(out, "null"...), nil
	case bool:
		if token {
			return append(out, "true"...), nil
		}
		return append(out, "false"...), nil
	case json.Number:
		return appendInteger(out, string(token))
	case string:
		return w.text(out, token)
	}
	if depth == maxDepth {
		return nil, errNotCanonical
	}
	if token == json.Delim('[') {
		return w.array(out, depth+1)
	}
	return w.object(out, depth+1)
}

func (w *canonicalWriter) array(out []byte, depth int) ([]byte, error) {
	out = append(out, '[')
	for first := true; w.d.More(); first = false {
		if !first {
			out = append(out, ',')
		}
		var err error
		if out, err = w.value(out, depth); err != nil {
			return nil, err
		}
	}
	_, err := w.d.Token()
	return append(out, ']'), err
}

func (w *canonicalWriter) object(out []byte, depth int) ([]byte, error) {
	members := map[string][]byte{}
	for w.d.More() {
		token, err := w.d.Token()
		if err != nil {
			return nil, err
		}
		name := token.(string) // the decoder takes nothing else here
		if _, twice := members[name]; twice {
			return nil, errNotCanonical
		}
		if members[name], err = w.value(nil, depth); err != nil {
			return nil, err
		}
	}
	if _, err := w.d.Token(); err != nil {
		return nil, err
	}
	out = append(out, '{')
	for i, name := range slices.SortedFunc(maps.Keys(members), compareUTF16) {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = w.text(out, name); err != nil {
			return nil, err
		}
		out = append(append(out, ':'), members[name]...)
	}
	return append(out, '}'), nil
}

func (w *canonicalWriter) text(out []byte, s string) ([]byte, error) {
	if w.surrogates && strings.ContainsRune(s, utf8.RuneError) {
		return nil, errNotCanonical
	}
	return appendText(out, s), nil
}

// compareUTF16 compares by UTF-16 code units, as RFC 8785 §3.2.3 wants it.
func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// appendInteger writes an exact integer, and -0 as 0.
func appendInteger(out []byte, literal string) ([]byte, error) {
	digits, negative := strings.CutPrefix(literal, "-")
	most := "18446744073709551615"
	if negative {
		most = "9223372036854775808"
	}
	switch {
	case strings.ContainsAny(digits, ".eE"):
		return nil, errNotCanonical
	case len(digits) > len(most) || len(digits) == len(most) && digits > most:
		return nil, errNotCanonical
	case digits == "0":
		return append(out, '0'), nil
	}
	return append(out, literal...), nil
}

// appendText writes a string with the escapes of RFC 8785 §3.2.2.2.
func appendText(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= ' ':
			out = append(out, c)
		case c == '\b':
			out = append(out, '\\', 'b')
		case c == '\t':
			out = append(out, '\\', 't')
		case c == '\n':
			out = append(out, '\\', 'n')
		case c == '\f':
			out = append(out, '\\', 'f')
		case c == '\r':
			out = append(out, '\\', 'r')
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(out, '"')
}
