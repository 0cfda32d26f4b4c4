package document_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"gazetteer/document"
	"gazetteer/protocol"
)

// inUTF16 is a text in UTF-16, with or without a mark.
func inUTF16(text string, order binary.AppendByteOrder, mark bool) string {
	if mark {
		text = "\ufeff" + text
	}
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

const (
	plainAI   = `{"aiendpoint":"1.0","service":{"name":"Acme","description":"Books tables."},"capabilities":[{"id":"book","description":"Book a table","endpoint":"/book","method":"POST","returns":"booking {id}"}]}`
	plainAGIS = `{"agis":"1.0","service":"Acme","endpoints":[{"method":"BOOK","path":"/reservation","input":{"type":"object","properties":{"n":{"type":"integer"}}}}]}`
	plainYAML = "agis: \"1.0\"\nservice: Acme\nendpoints:\n  - method: BOOK\n    path: /reservation\n    input: {type: object, properties: {n: {type: integer}}}\n"
)

// TestHostileDocuments checks that each format reports hostile input as a finding with the rule,
// the place and the correction, that a text of another kind is not a document, and that nothing
// costs more than some megabytes.
func TestHostileDocuments(t *testing.T) {
	type reader struct {
		kind  document.Kind
		media string
		text  string
	}
	ai := func(text string) reader { return reader{document.AI, "application/json", text} }
	sum := func(text string) reader { return reader{document.AGISSummary, "application/json", text} }
	full := func(text string) reader { return reader{document.AGIS, "application/agis+json", text} }
	yaml := func(text string) reader { return reader{document.AGIS, "application/agis+yaml", text} }
	in := func(text, old, new string) string {
		if strings.Count(text, old) == 0 {
			t.Fatalf("%q is not in the text", old)
		}
		return strings.Replace(text, old, new, 1)
	}
	nested := func(open, shut string, depth int) string {
		return strings.Repeat(open, depth) + strings.Repeat(shut, depth)
	}
	type hostile struct {
		name string
		reader
		code string // of the finding; "" for none
		read bool   // it is a document all the same
		says string
	}
	cases := []hostile{
		{"30 deep", ai(in(plainAI, `"capabilities"`, `"meta":{"x":`+nested("[", "]", 28)+`},"capabilities"`)), "", true, ""},
		{"30 deep in YAML", yaml(plainYAML + "x: " + nested("[", "]", 30) + "\n"), "", true, ""},

		{"a member twice", ai(in(plainAI, `"name":"Acme"`, `"name":"Acme","name":"Other"`)), "AI205", false, "twice"},
		{"a member twice, by an escape", ai(in(plainAI, `"name":"Acme"`, `"name":"Acme","n\u0061me":"Other"`)), "AI205", false, "twice"},
		{"a member twice, of AGIS", full(in(plainAGIS, `"service":"Acme"`, `"service":"Acme","s\u0065rvice":"Other"`)), "AGIS103", false, "twice"},
		{"a member twice, in YAML", yaml("service: Other\n" + plainYAML), "AGIS103", false, "twice"},
		{"a member in other letters", ai(in(plainAI, `"name":"Acme"`, `"name":"Acme","NAME":"Other"`)), "AI220", true, "NAME"},
		{"a member in other letters, of AGIS", full(in(plainAGIS, `"service":"Acme"`, `"service":"Acme","Service":"Other"`)), "AGIS121", true, "Service"},

		{"an alias bomb", yaml(aliasBomb()), "AGIS104", false, "aliases add"},
		{"a merge bomb", yaml("a: &a {k: v}\nb: &b {<<: *a}\nc: {<<: [*a, *b]}\n"), "AGIS104", false, "merge"},
		{"a merge of nothing", yaml("x: {<<: {a: 1}}\n" + plainYAML), "AGIS104", false, "merge"},
		{"an alias inside its value", yaml("a: &a [*a]\n"), "AGIS104", false, "inside the value"},
		{"a tag of a program", yaml(in(plainYAML, "service: ", "service: !!python/object/apply:os.system ")), "AGIS104", false, "tag"},
		{"a second document", yaml(plainYAML + "---\n" + plainYAML), "AGIS102", false, "second"},

		{"2^53+1", full(in(plainAGIS, `{"type":"integer"}`, `{"type":"integer","maximum":9007199254740993}`)), "", true, ""},
		{"minus zero", full(in(plainAGIS, `{"type":"integer"}`, `{"type":"integer","minimum":-0}`)), "", true, ""},
		{"1e400", full(in(plainAGIS, `{"type":"integer"}`, `{"type":"integer","maximum":1e400}`)), "", true, ""},
		{"10^400 in digits", full(in(plainAGIS, `{"type":"integer"}`, `{"maximum":1`+strings.Repeat("0", 400)+`}`)), "AGIS105", false, "401 characters"},
		{"10^400 digits' worth, in AI", ai(in(plainAI, `"capabilities"`, `"meta":{"n":`+strings.Repeat("9", 100_000)+`},"capabilities"`)), "AI207", false, "100000 characters"},
		{"10^400 in digits, in YAML", yaml(plainYAML + "n: 1" + strings.Repeat("0", 400) + "\n"), "AGIS105", false, "401 characters"},
		{"1e400 as a version", ai(in(plainAI, `"1.0"`, `1e400`)), "AI211", true, ""},

		{"bytes that are no UTF-8", ai(in(plainAI, "Acme", "Caf\xe9")), "AI201", false, "0xE9"},
		{"bytes that are no UTF-8, in YAML", yaml(in(plainYAML, "Acme", "Caf\xe9")), "AGIS101", false, "0xE9"},
		{"a lone surrogate", ai(in(plainAI, "Acme", `\ud800`)), "AI203", false, "surrogate"},
		{"a lone surrogate, of AGIS", full(in(plainAGIS, "Acme", `\udfff`)), "AGIS101", false, "surrogate"},
		{"a NUL", ai(in(plainAI, "Acme", "Ac\x00me")), "AI203", false, ""},
		{"a NUL, in YAML", yaml(in(plainYAML, "Acme", "Ac\x00me")), "AGIS101", false, "control"},
		{"a byte order mark", ai("\ufeff" + plainAI), "AI202", true, "byte order mark"},

		{"a pattern that never ends elsewhere", full(in(plainAGIS, `{"type":"integer"}`, `{"type":"string","pattern":"^(a+)+$","examples":["`+strings.Repeat("a", 5000)+`!"]}`)), "", true, ""},
		{"a reference to the network", full(in(plainAGIS, `{"type":"integer"}`, `{"$ref":"https://evil.example/x.json"}`)), "AGIS805", true, "never fetched"},
		{"a reference to itself", full(in(plainAGIS, `{"type":"integer"}`, `{"$ref":"#/endpoints/0/input/properties/n"}`)), "", true, ""},

		{"an override of direction", ai(in(plainAI, "Books tables.", "Books \u202eselbat.")), "AI904", true, "U+202E"},
		{"zero widths", ai(in(plainAI, "Books tables.", "Books\u200b tab\u200bles.")), "AI904", true, "U+200B"},
		{"an override of direction, of AGIS", full(in(plainAGIS, "Acme", "A\u202ecme")), "AGIS519", true, "U+202E"},
		{"300 combining marks", ai(in(plainAI, "Acme", "A"+strings.Repeat("\u0301", 300)+"cme")), "AI303", true, "304 characters"},

		{"10,000 capabilities", ai(`{"aiendpoint":"1.0","service":{"name":"a","description":"b"},"capabilities":[` + strings.TrimSuffix(strings.Repeat(`{},`, 10_000), ",") + `]}`), "AI207", false, "5000"},
		{"2,500 capabilities", ai(`{"aiendpoint":"1.0","service":{"name":"a","description":"b"},"capabilities":[` + strings.TrimSuffix(strings.Repeat(`{"id":"x"},`, 2500), ",") + `]}`), protocol.CodeMore, true, "more"},
		{"10,000 members", ai(`{"aiendpoint":"1.0",` + members(10_000) + `}`), "AI207", false, "5000"},
		{"10,000 members, of AGIS", full(`{"agis":"1.0",` + members(10_000) + `}`), "AGIS105", false, "5000"},
		{"4,000 members that nobody knows", full(`{"agis":"1.0",` + members(4000) + `}`), protocol.CodeMore, true, "more"},
	}
	for _, depth := range []int{600, 9_000, 120_000} {
		for _, r := range []struct {
			reader
			code string
		}{
			{ai(nested("[", "]", depth)), "AI206"}, {ai(strings.Repeat(`{"a":`, min(depth, 50_000))), "AI206"},
			{sum(nested("[", "]", depth)), "WK101"}, {full(strings.Repeat("[", depth)), "AGIS105"},
			{yaml("a: " + nested("[", "]", depth)), "AGIS105"}, {yaml(strings.Repeat("- ", depth)), "AGIS105"},
		} {
			cases = append(cases, hostile{fmt.Sprintf("%d deep, %s, %.8s", depth, r.kind, r.text), r.reader, r.code, false, "nest"})
		}
	}
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, mark := range []bool{false, true} {
			name := fmt.Sprintf("UTF-16, %s, marked %v", order, mark)
			cases = append(cases,
				hostile{name, ai(inUTF16(plainAI, order, mark)), "AI201", false, "UTF-16"},
				hostile{name + ", of AGIS", full(inUTF16(plainAGIS, order, mark)), "AGIS101", false, "UTF-16"},
				hostile{name + ", in YAML", yaml(inUTF16(plainYAML, order, mark)), "AGIS101", false, "UTF-16"})
		}
	}
	kept := map[string]string{"an override of direction": "Books \u202eselbat.", "zero widths": "Books\u200b tab\u200bles.",
		"an override of direction, of AGIS": "A\u202ecme", "300 combining marks": "A" + strings.Repeat("\u0301", 300) + "cme"}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			d, err := document.Read(document.Input{
				Kind: c.kind, Host: "example.com", URL: "https://example.com/x", MediaType: c.media,
				Source: document.OwnerPublished, FetchedAt: fetched, Bytes: []byte(c.text),
			})
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
				t.Errorf("%d bytes were allocated", grown)
			}
			if (err == nil) != c.read || err != nil && !errors.Is(err, protocol.ErrUnreadable) {
				t.Fatalf("error %v, %v", err, codes(d))
			}
			if c.code == "" { // there is nothing to say against it
				if errs := breaches(d); errs != breaches(mustRead(t, c.kind, map[document.Kind]string{document.AI: plainAI, document.AGIS: plainAGIS}[c.kind])) {
					t.Errorf("%d errors, codes %q", errs, codes(d))
				}
				return
			}
			i := slices.IndexFunc(d.Findings, func(f protocol.Finding) bool { return f.Code == c.code })
			if i < 0 {
				t.Fatalf("codes %q, want %s", codes(d), c.code)
			}
			if text := kept[c.name]; text != d.Service.Name && text != d.Service.Description && text != "" {
				t.Errorf("the service is %+v, want it to have %q as it is", d.Service, text)
			}
			f := d.Findings[i]
			if !strings.Contains(f.Message, c.says) || f.Help == "" || c.code != protocol.CodeMore && c.code != "AI202" && (f.Line == 0 || f.Column == 0) || len(d.Findings) > protocol.DefaultLimits.Findings+1 {
				t.Errorf("%+v, want it to say %q, where and what to do; %d findings", f, c.says, len(d.Findings))
			}
		})
	}
}

// breaches counts the findings that are errors.
func breaches(d *document.Document) (n int) {
	for _, f := range d.Findings {
		if f.Severity == protocol.Error {
			n++
		}
	}
	return n
}

// members are so many of an object.
func members(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":0,`, i)
	}
	return strings.TrimSuffix(b.String(), ",")
}

// aliasBomb is a text of 26 lines that would be 2^26 values.
func aliasBomb() string {
	var b strings.Builder
	b.WriteString("a: &a [x, x]\n")
	for c := 'b'; c <= 'z'; c++ {
		fmt.Fprintf(&b, "%c: &%c [*%c, *%c]\n", c, c, c-1, c-1)
	}
	return b.String()
}
