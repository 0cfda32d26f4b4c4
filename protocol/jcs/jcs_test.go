package jcs_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gazetteer/internal/cputime"
	"gazetteer/protocol/jcs"
)

func TestCanonicalForm(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"white space goes", " {\n\t\"b\" : [ 1 , 2 ] ,\r\n \"a\" : null } ", `{"a":null,"b":[1,2]}`},
		{"canonical text stays", `{"a":{"b":[{"c":"d"},true,false,null,"",0]},"e":{}}`, `{"a":{"b":[{"c":"d"},true,false,null,"",0]},"e":{}}`},
		{"empty containers", `[ { } , [ ] ]`, `[{},[]]`},
		{"scalar", ` "x" `, `"x"`},
		{"sorting reaches nested objects", `{"a":[{"d":1,"c":{"f":2,"e":3}}]}`, `{"a":[{"c":{"e":3,"f":2},"d":1}]}`},
		{"a name before its extension", `{"ab":1,"a":2,"":3}`, `{"":3,"a":2,"ab":1}`},
		// RFC 8785 §3.2.3 has these names; U+1F600 sorts by its surrogates.
		{"UTF-16 order", `{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}`,
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\ufb33\":3}"},
		{"escapes that are not needed go", `"\u0061\/\u00e9\ud83d\ude00\u007f"`, "\"a/é😀\u007f\""},
		{"escapes that are needed take their short form", `"\u0008\u0009\u000a\u000c\u000d\u0022\u005c\u001F\u0000"`, `"\b\t\n\f\r\"\\\u001f\u0000"`},
		{"line separators and HTML stay", "\"\u2028\u2029<>&\"", "\"\u2028\u2029<>&\""},
		{"2^53+1 keeps its digits", `9007199254740993`, `9007199254740993`},
		{"2^64-1", `18446744073709551615`, `18446744073709551615`},
		{"-2^63", `-9223372036854775808`, `-9223372036854775808`},
		{"-0 is 0", `[-0,{"a":-0}]`, `[0,{"a":0}]`},
		{"values are composed", "\"cafe\u0301\"", `"café"`},
		{"an escaped mark is composed", `"cafe\u0301"`, `"café"`},
		{"names are not composed", "{\"e\u0301\":\"e\u0301\"}", "{\"e\u0301\":\"\u00e9\"}"},
		{"names that only normalization makes equal are two", "{\"e\u0301\":1,\"\u00e9\":2}", "{\"e\u0301\":1,\"\u00e9\":2}"},
		{"Hangul is composed", "\"\u1112\u1161\u11ab\"", `"한"`},
		{"singletons", "\"\u212b\u2126\"", "\"\u00c5\u03a9\""},
		{"composition exclusions stay apart", "\"\u0958\"", "\"\u0915\u093c\""},
		{"noncharacters are characters", `"\uffff\ufdd0"`, "\"\uffff\ufdd0\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := jcs.Canonicalize([]byte(tt.text), jcs.Options{})
			if err != nil || string(got) != tt.want {
				t.Fatalf("%s, %v, want %s", got, err, tt.want)
			}
			again, err := jcs.Canonicalize(got, jcs.Options{})
			if err != nil || string(again) != tt.want {
				t.Errorf("a second time: %s, %v", again, err)
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	tests := []struct {
		text string
		want jcs.Problem
	}{
		{``, jcs.Syntax}, {` `, jcs.Syntax}, {`{`, jcs.Syntax}, {`[`, jcs.Syntax}, {`{"a"`, jcs.Syntax}, {`{"a":`, jcs.Syntax},
		{`{"a":1`, jcs.Syntax}, {`{"a":1,`, jcs.Syntax}, {`{"a":1,}`, jcs.Syntax}, {`[1,]`, jcs.Syntax}, {`[,1]`, jcs.Syntax},
		{`{,}`, jcs.Syntax}, {`{a:1}`, jcs.Syntax}, {`{'a':1}`, jcs.Syntax}, {`{"a" 1}`, jcs.Syntax}, {`[1 2]`, jcs.Syntax},
		{`{} {}`, jcs.Syntax}, {`{}x`, jcs.Syntax}, {"\ufeff{}", jcs.Syntax}, {`nul`, jcs.Syntax}, {`True`, jcs.Syntax}, {`NaN`, jcs.Syntax},
		{`// x` + "\n{}", jcs.Syntax}, {`"`, jcs.Syntax}, {`"\`, jcs.Syntax}, {`"\x"`, jcs.Syntax}, {`"\u12"`, jcs.Syntax}, {`"\u12g4"`, jcs.Syntax},
		{"\"\n\"", jcs.Syntax}, {"\"\x00\"", jcs.Syntax}, {"\"12345678\x1f\"", jcs.Syntax}, {"\"\\n\x1f\"", jcs.Syntax}, {"{}\x00", jcs.Syntax}, {"\v{}", jcs.Syntax},
		{`01`, jcs.Syntax}, {`-01`, jcs.Syntax}, {`-`, jcs.Syntax}, {`+1`, jcs.Syntax}, {`.5`, jcs.Syntax}, {`1.`, jcs.Syntax}, {`1e`, jcs.Syntax}, {`1e+`, jcs.Syntax}, {`0x1`, jcs.Syntax},
		{`1.0`, jcs.Float}, {`1e2`, jcs.Float}, {`-0.0`, jcs.Float}, {`0e0`, jcs.Float}, {`1E400`, jcs.Float}, {`[[{"a":1.5}]]`, jcs.Float},
		{`18446744073709551616`, jcs.Range}, {`-9223372036854775809`, jcs.Range}, {strings.Repeat("9", 100000), jcs.Range},
		{`{"a":1,"a":1}`, jcs.Duplicate}, {`{"a":1,"b":2,"\u0061":3}`, jcs.Duplicate}, {`[{"x":{"":1,"":2}}]`, jcs.Duplicate}, {`{"\ud83d\ude00":1,"😀":2}`, jcs.Duplicate},
		{`"\ud83d"`, jcs.Surrogate}, {`"\ude00"`, jcs.Surrogate}, {`"\ude00\ud83d"`, jcs.Surrogate}, {`"\ud83dx"`, jcs.Surrogate}, {`"\ud83d\u0061"`, jcs.Surrogate}, {`{"\ud800":1}`, jcs.Surrogate},
		{"\"\xff\"", jcs.Encoding}, {"\"\xc0\xaf\"", jcs.Encoding}, {"\"\xed\xa0\x80\"", jcs.Encoding}, {"\"\xf4\x90\x80\x80\"", jcs.Encoding}, {"\"\\n\xe2\x82\"", jcs.Encoding}, {"{\"\xff\":1}", jcs.Encoding},
		{strings.Repeat("[", 513) + strings.Repeat("]", 513), jcs.Depth}, {strings.Repeat("[", 1<<20), jcs.Depth}, {strings.Repeat(`{"a":`, 30000), jcs.Depth},
	}
	for _, tt := range tests {
		_, err := jcs.Canonicalize([]byte(tt.text), jcs.Options{})
		var e *jcs.Error
		if !errors.As(err, &e) || e.Problem != tt.want || e.Offset < 0 || e.Offset > len(tt.text) {
			t.Errorf("%.60q: %v, want a problem of %s", tt.text, err, tt.want)
		}
	}
}

func TestManyMembers(t *testing.T) {
	var text, want strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, `,"%03d":%d`, (i*7)%1000, i)
		fmt.Fprintf(&want, `,"%03d":%d`, i, (i*143)%1000)
	}
	got, err := jcs.Canonicalize([]byte("{"+text.String()[1:]+"}"), jcs.Options{})
	if err != nil || string(got) != "{"+want.String()[1:]+"}" {
		t.Fatalf("%.80s, %v", got, err)
	}
	var e *jcs.Error
	if _, err := jcs.Canonicalize([]byte("{"+text.String()[1:]+`,"500":0}`), jcs.Options{}); !errors.As(err, &e) || e.Problem != jcs.Duplicate {
		t.Errorf("a duplicate among 1,000: %v", err)
	}
}

func TestLimits(t *testing.T) {
	tests := []struct {
		text string
		o    jcs.Options
		want jcs.Problem
	}{
		{`[[1]]`, jcs.Options{Depth: 2}, ""}, {`[[[]]]`, jcs.Options{Depth: 2}, jcs.Depth},
		{`{"a":[1]}`, jcs.Options{Values: 2}, ""}, {`{"a":[1,2]}`, jcs.Options{Values: 2}, jcs.Count},
		{`"abc"`, jcs.Options{Bytes: 5}, ""}, {`"abcd"`, jcs.Options{Bytes: 5}, jcs.Size},
	}
	for _, tt := range tests {
		_, err := jcs.Canonicalize([]byte(tt.text), tt.o)
		e, _ := errors.AsType[*jcs.Error](err)
		if (e == nil) != (tt.want == "") || e != nil && e.Problem != tt.want {
			t.Errorf("%s with %+v: %v, want %q", tt.text, tt.o, err, tt.want)
		}
	}
}

// The numbers of RFC 8785 Appendix B that JSON texts can hold.
func TestNumbers(t *testing.T) {
	tests := []struct {
		numbers    jcs.Numbers
		text, want string
	}{
		{jcs.Doubles, `[4.50,2e-3,1E30,0.000000000000000000000000001,333333333.33333329,-0,1e21,9007199254740993,1e-7]`, `[4.5,0.002,1e+30,1e-27,333333333.3333333,0,1e+21,9007199254740992,1e-7]`},
		{jcs.Verbatim, `[4.50,2e-3,1E30,-0,9007199254740993,100000000000000000000]`, `[4.50,2e-3,1E30,-0,9007199254740993,100000000000000000000]`},
	}
	for _, tt := range tests {
		got, err := jcs.Canonicalize([]byte(tt.text), jcs.Options{Numbers: tt.numbers})
		if err != nil || string(got) != tt.want {
			t.Errorf("%s, %v, want %s", got, err, tt.want)
		}
	}
}

func TestKeepForm(t *testing.T) {
	text := "\"cafe\u0301\""
	if got, err := jcs.Canonicalize([]byte(text), jcs.Options{KeepForm: true}); err != nil || string(got) != text {
		t.Errorf("%q, %v", got, err)
	}
}

func TestReadingValues(t *testing.T) {
	var d jcs.Document
	for range 2 { // the second time in the memory of the first
		if err := d.Parse([]byte(`{"s":"a\nb","n":18446744073709551615,"list":[1,{"x":[]},"y"],"f":-1,"z":-0}`), jcs.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	root := d.Root()
	if got := root.Member("s").Text(); got != "a\nb" {
		t.Errorf("text %q", got)
	}
	if n, ok := root.Member("n").Uint64(); !ok || n != 1<<64-1 {
		t.Errorf("number %d, %v", n, ok)
	}
	if _, ok := root.Member("f").Uint64(); ok {
		t.Error("-1 is read as an unsigned number")
	}
	if n, ok := root.Member("z").Uint64(); !ok || n != 0 {
		t.Errorf("-0 is %d, %v", n, ok)
	}
	var kinds []string
	for v := range root.Member("list").Elements() {
		kinds = append(kinds, v.Kind().String()+string(v.Append(nil)))
	}
	if got := strings.Join(kinds, " "); got != `number1 object{"x":[]} string"y"` {
		t.Error(got)
	}
	var names []string
	for name := range root.Members() {
		names = append(names, name)
	}
	if got := strings.Join(names, " "); got != "f list n s z" {
		t.Error(got)
	}
	for name, want := range map[string]string{"a": `{"a":7,"f":-1,`, "f": `{"f":7,"list":`, "g": `{"f":-1,"g":7,"list":`} {
		if got := string(root.AppendWith(nil, name, []byte("7"))); !strings.HasPrefix(got, want) {
			t.Errorf("with %s: %s", name, got)
		}
	}
	if got := string(root.AppendWith(nil, "zz", []byte("7"))); !strings.HasSuffix(got, `"z":0,"zz":7}`) {
		t.Error(got)
	}
	if got := string(root.AppendWith(nil, "list", nil)); got != `{"f":-1,"n":18446744073709551615,"s":"a\nb","z":0}` {
		t.Error(got)
	}
	if got := string(root.AppendWith(nil, "f", nil)); !strings.HasPrefix(got, `{"list"`) {
		t.Error(got)
	}
	if none := root.Member("none"); none.Kind() != jcs.Absent || none.Member("x").Text() != "" || none.Len() != 0 || none.Append(nil) != nil {
		t.Error("an absent member is not empty")
	}
	if err := d.Parse([]byte(`{`), jcs.Options{}); err == nil || d.Root().Kind() != jcs.Absent {
		t.Error("a refused text leaves a value")
	}
}

// The inputs that cost an implementation most for their length.
func TestHostileTextIsCheap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	marks := []string{"\u0301", "\u0327", "\u0345", "\u0315", "\u1dce"}
	var many strings.Builder
	many.WriteString(`"a`)
	for many.Len() < 2<<20 {
		many.WriteString(marks[random.IntN(len(marks))])
	}
	var members strings.Builder
	for i := range 100000 {
		fmt.Fprintf(&members, `,"%08x":0`, random.Uint32()>>17<<17|uint32(i))
	}
	nested := strings.Repeat(`{"b":1,"a":`, 511) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat("}", 511)
	for name, text := range map[string]string{
		"marks": many.String() + `"`, "members": `{"":1` + members.String() + "}", "nested": nested,
		"escapes": `"` + strings.Repeat(`\u0061\u0301`, 100000) + `"`, "elements": "[" + strings.Repeat("1 ,", 500000) + "1]",
	} {
		begun := cputime.Used() // a busy machine takes longer
		if _, err := jcs.Canonicalize([]byte(text), jcs.Options{}); err != nil {
			t.Fatal(name, err)
		}
		perMB := (cputime.Used() - begun).Seconds() / float64(len(text)) * 1e6
		t.Logf("%s: %.3f s/MB", name, perMB)
		if perMB > 2 {
			t.Errorf("%s: %.3f s for each MB", name, perMB)
		}
	}
}
