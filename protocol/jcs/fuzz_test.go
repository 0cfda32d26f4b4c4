package jcs_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/text/unicode/norm"

	"gazetteer/protocol/jcs"
)

// second is another implementation of the same rules, on the tokens of jsontext:
// slow and short. It judges neither depth nor texts with long runs of marks.
func second(text []byte) (string, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	out, err := secondValue(dec)
	if err != nil {
		return "", err
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return "", errors.New("more than one value")
	}
	return out, nil
}

func secondValue(dec *jsontext.Decoder) (string, error) {
	kind := dec.PeekKind()
	if kind == '0' {
		v, err := dec.ReadValue()
		if err != nil {
			return "", err
		}
		n, ok := new(big.Int).SetString(string(v), 10)
		if !ok {
			return "", errors.New("not an integer")
		}
		if n.BitLen() > 64 || n.Sign() < 0 && n.Cmp(new(big.Int).Lsh(big.NewInt(-1), 63)) < 0 {
			return "", errors.New("out of range")
		}
		return n.String(), nil
	}
	tok, err := dec.ReadToken()
	if err != nil {
		return "", err
	}
	switch kind {
	case '"':
		return quote(norm.NFC.String(tok.String())), nil
	case '[':
		var items []string
		for dec.PeekKind() != ']' {
			item, err := secondValue(dec)
			if err != nil {
				return "", err
			}
			items = append(items, item)
		}
		_, err := dec.ReadToken()
		return "[" + strings.Join(items, ",") + "]", err
	case '{':
		type member struct{ name, value string }
		var members []member
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return "", err
			}
			m := member{name: name.String()}
			if m.value, err = secondValue(dec); err != nil {
				return "", err
			}
			members = append(members, m)
		}
		slices.SortFunc(members, func(a, b member) int {
			return slices.CompareFunc(utf16.Encode([]rune(a.name)), utf16.Encode([]rune(b.name)), cmp.Compare[uint16])
		})
		var parts []string
		for _, m := range members {
			parts = append(parts, quote(m.name)+":"+m.value)
		}
		_, err := dec.ReadToken()
		return "{" + strings.Join(parts, ",") + "}", err
	}
	return tok.String(), nil
}

func quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		if i := strings.IndexRune("\b\t\n\f\r\"\\", r); i >= 0 {
			b.WriteString([]string{`\b`, `\t`, `\n`, `\f`, `\r`, `\"`, `\\`}[strings.Count("\b\t\n\f\r\"\\"[:i], "")-1])
		} else if r < 0x20 {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

func FuzzCanonicalize(f *testing.F) {
	for _, text := range []string{
		`{"b":[1,-0,{"c":null}],"a":"cafe\u0301\n\u001f"}`, ` [ "\ud83d\ude00" , true , 18446744073709551615 ] `, `{"a":1,"\u0061":2}`, `1.0`, `-9223372036854775809`,
		`{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5}`, "\"\xff\"", `"\ud800"`, `[[[[]]]]`, "\"\u1112\u1161\u11ab\"", `{"":{"":{}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := jcs.Canonicalize(text, jcs.Options{Depth: 5000})
		if e, ok := errors.AsType[*jcs.Error](err); ok && (e.Problem == jcs.Depth || e.Offset < 0 || e.Offset > len(text)) {
			if e.Problem != jcs.Depth {
				t.Fatalf("%q: the place %d is outside the text", text, e.Offset)
			}
			return
		}
		want, wantErr := second(text)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v, the second implementation says %v", text, err, wantErr)
		}
		if err != nil {
			return
		}
		if strings.Contains(want, "\u034f") {
			return // x/text inserts it into long runs of marks
		}
		if string(got) != want {
			t.Fatalf("%q becomes %q, the second implementation writes %q", text, got, want)
		}
		if !utf8.Valid(got) {
			t.Fatalf("%q becomes %q, which is not UTF-8", text, got)
		}
		if again, err := jcs.Canonicalize(got, jcs.Options{Depth: 5000}); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%q is canonical and becomes %q, %v", got, again, err)
		}
	})
}

// FuzzVerbatim compares with jsontext's own canonical form, which the
// transparency log used before and whose leaves must not change.
func FuzzVerbatim(f *testing.F) {
	f.Add([]byte(`{"b":[1.50,-0],"a":"cafe\u0301","\ud83d\ude00":1,"\ufb33":1e5}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for numbers, options := range map[jcs.Numbers][]jsontext.Options{
			jcs.Verbatim: {jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)}, jcs.Doubles: nil,
		} {
			got, err := jcs.Canonicalize(text, jcs.Options{Numbers: numbers, KeepForm: true, Depth: 10000})
			want := jsontext.Value(text).Clone()
			wantErr := want.Canonicalize(options...)
			if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want) {
				t.Fatalf("%q with %d: %q, %v, jsontext writes %q, %v", text, numbers, got, err, want, wantErr)
			}
		}
	})
}
