package agis_test

import (
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

// A vectorText is one document in the form it is published in.
type vectorText struct {
	name string
	text []byte
	yaml bool
}

// readableVectors returns the vectors that the common libraries can read.
func readableVectors(tb testing.TB) []vectorText {
	tb.Helper()
	var out []vectorText
	for _, dir := range []string{"valid", "invalid"} {
		files, err := filepath.Glob("testdata/" + dir + "/*")
		if err != nil {
			tb.Fatal(err)
		}
		for _, file := range files {
			v := vectorText{name: strings.TrimPrefix(file, "testdata/"), yaml: filepath.Ext(file) == ".yaml"}
			v.text = readText(tb, v.name)
			if v.decode() == nil {
				out = append(out, v)
			}
		}
	}
	if len(out) < 80 {
		tb.Fatalf("only %d vectors can be read", len(out))
	}
	return out
}

// decode decodes the same bytes into any, with the library for their format.
func (v vectorText) decode() error {
	var value any
	if v.yaml {
		return yaml.Unmarshal(v.text, &value)
	}
	return json.Unmarshal(v.text, &value)
}

// ratio measures how many times as long as decoding Parse takes. Both are measured
// in turn and the best of several rounds counts, so that other work on the machine
// matters little.
func (v vectorText) ratio() float64 {
	parse := func() { _, _, _ = agis.Parse(v.text, agis.Options{}) }
	bestDecode, bestParse := time.Hour, time.Hour
	for range 12 {
		bestDecode = min(bestDecode, measureCall(func() { _ = v.decode() }))
		bestParse = min(bestParse, measureCall(parse))
	}
	return float64(bestParse) / float64(bestDecode)
}

// measureCall returns the duration of one call, out of several.
func measureCall(f func()) time.Duration {
	const calls = 8
	begin := time.Now()
	for range calls {
		f()
	}
	return time.Since(begin) / calls
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkAgainstDecoding prints how many times as long as decoding the same bytes
// into any Parse takes: JSON against encoding/json, YAML against yaml.v4, each the
// median over the vectors and the highest. It fails where a median is above four.
func BenchmarkAgainstDecoding(b *testing.B) {
	vectors := readableVectors(b)
	_, _, _ = agis.Parse(vectors[0].text, agis.Options{}) // unpacks the dictionary
	for b.Loop() {
		ratios := map[bool][]float64{}
		for _, v := range vectors {
			ratios[v.yaml] = append(ratios[v.yaml], v.ratio())
		}
		for isYAML, name := range map[bool]string{false: "json", true: "yaml"} {
			m := median(ratios[isYAML])
			b.ReportMetric(m, "x-"+name)
			b.ReportMetric(slices.Max(ratios[isYAML]), "x-"+name+"-max")
			if m > 4 {
				b.Errorf("the median over the vectors in %s is %.2f times decoding alone, want at most 4", name, m)
			}
		}
	}
}

// BenchmarkParse is for profiles.
func BenchmarkParse(b *testing.B) {
	for _, name := range []string{"valid/seed-finance.yaml", "valid/seed-finance.json"} {
		b.Run(name, func(b *testing.B) {
			text := readText(b, name)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = agis.Parse(text, agis.Options{})
			}
		})
	}
}

const (
	head = "agis: \"1.0\"\nservice: S\nagtp: agtp://s.example\ndescription: d\nversion: \"1\"\n"
	tail = "vocabulary: {declared_verbs: [BOOK], domain: d}\n"
)

// filled repeats what item returns for 0, 1, 2 … between begin and end, up to the
// largest size of a document.
func filled(begin, end string, item func(i int) string) []byte {
	return filledTo(1<<30, begin, end, item)
}

// few is filled, but stops before a collection gets too long and fills up with a
// comment.
func few(begin, end string, item func(i int) string) []byte {
	return filledTo(protocol.DefaultLimits.Members-20, begin, end, item)
}

func filledTo(most int, begin, end string, item func(i int) string) []byte {
	var b strings.Builder
	b.WriteString(begin)
	for i := range most {
		s := item(i)
		if b.Len()+len(s)+len(end) > protocol.DefaultLimits.Bytes {
			break
		}
		b.WriteString(s)
	}
	b.WriteString(end)
	if space := protocol.DefaultLimits.Bytes - b.Len(); space > 1000 {
		b.WriteString("#" + strings.Repeat(".", space-1))
	}
	return []byte(b.String())
}

func same(s string) func(int) string { return func(int) string { return s } }

// ordinary is a document of the largest size with nothing special about it.
func ordinary(tb testing.TB) []byte {
	text := string(readText(tb, "valid/seed-finance.yaml"))
	from, to := strings.Index(text, "  - method: RECONCILE"), strings.Index(text, "vocabulary:")
	endpoint := text[from:to]
	return filled(text[:to], text[to:], func(i int) string {
		return strings.Replace(endpoint, "path: /account/", "path: /account-"+word(i)+"/", 1)
	})
}

// word spells a number in letters.
func word(i int) string {
	var b strings.Builder
	for _, d := range strconv.Itoa(i) {
		b.WriteRune('a' + d - '0')
	}
	return b.String()
}

const oneEndpoint = "endpoints:\n  - method: BOOK\n    path: /thing\n    errors: [thing_missing]\n    semantic: {intent: Books a thing, actor: agent, outcome: A thing is booked}\n    output: {type: object}\n"

// shapes are documents of the largest size, each as dear as we could make it in
// one way.
func shapes() map[string][]byte {
	number := strconv.Itoa
	long := strings.Repeat("k", 60000)
	return map[string][]byte{
		"tiny endpoints":        few(head+"endpoints:\n", tail, same("- {method: A, path: /a}\n")),
		"endpoints with faults": few(head+"endpoints:\n", tail, same("- {a: 1, b: 2, Method: 3, path: \"x?y\", method: \"A B\"}\n")),
		"unknown fields":        few(head, tail, func(i int) string { return "f" + number(i) + ": 1\n" }),
		"unknown fields below":  few(head+"endpoints:\n", tail, func(i int) string { return "- {a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1}\n" }),
		"flow in flow":          filled(head+"x: [", "]\n"+tail, same("["+strings.Repeat("[[]],", 40)+"],")),
		"deep":                  few(head+"x:\n", tail, same("- "+strings.Repeat("[", 60)+strings.Repeat("]", 60)+"\n")),
		"deep JSON":             filled(`{"x":[`, `0]}`, same(strings.Repeat("[", 60)+strings.Repeat("]", 60)+",")),
		"wide JSON":             filled(`{"x":[`, `[0]]}`, same("["+strings.Repeat("[],", 2000)+"0],")),
		"brackets":              filled("[", "", same("[")),
		"dashes":                filled("", "", same("- ")),
		"duplicate keys":        filled("", "", same("a: b\n")),
		"duplicate keys JSON":   filled("{", `"a":1}`, same(`"a":1,`)),
		"alias bomb":            filled("a: &a [x]\nb: [", "*a]\n", same("*a,")),
		"anchors":               few("", "", func(i int) string { return "- &a" + number(i) + " 1\n" }),
		"tags":                  few("", "", same("- !!str 1\n")),
		"question marks":        few("", "", func(i int) string { return "? " + number(i) + "a\n" }),
		"tabs":                  filled("a:\t1\nb:\n", "", same("- [1, {a: b}]\n")),
		"tabs and commas":       filled("a:\t[", "]\n", same("1,")),
		"flow behind a tag":     filled("a: !!str b\nc: ["+strings.Repeat("[[],[]],", 2400), "]\n"+tail, same("\n")),
		"unlike words": few(head+"endpoints:\n", tail, func(i int) string {
			return "- {method: QX" + strings.ToUpper(word(i)) + ", semantic: {intent: Qx" + word(i) + " the thing}}\n"
		}),
		"comments":       filled(head, tail, same("#\n")),
		"line breaks":    filled(head+"x: a\n", tail, same("\n")),
		"folded lines":   filled(head+"x: a\n", tail, same(" b\n")),
		"quoted lines":   filled(head+"x: \"a\n", "\"\n"+tail, same(" b \n")),
		"escapes":        filled(head+"x: \"", "\"\n"+tail, same(`\n`)),
		"literal lines":  filled(head+"x: |\n", tail, same("  a\n")),
		"long keys":      filled(`{"`+long+`":{"`+long+`":[`, `0]}}`, same("0,")),
		"one line":       filled(head+"x: \"", "\"\n"+tail, same("ä ")),
		"wide flow line": filled(head+"x: [", "]\n"+tail, same(`["ä","ö","ü"],`)),
		"chained references": few(head+oneEndpoint+"    input: {$ref: \"#/schemas/a0\"}\nschemas:\n", tail, func(i int) string {
			return "  a" + number(i) + ": {$ref: \"#/schemas/a" + number(i+1) + "\"}\n"
		}),
		"references in the input": few(head+oneEndpoint+"    input:\n      type: object\n      properties:\n", tail, func(i int) string {
			return "        p" + number(i) + ": {$ref: \"#/endpoints/0/input/properties/p" + number(4000-i) + "\"}\n"
		}),
		"identifiers": few(head+"schemas:\n", tail, func(i int) string {
			return "  a" + number(i) + ": {$id: \"https://a.example/" + number(i) + "\", $ref: \"" + number(i+1) + "\"}\n"
		}),
		"anchored schemas": few(head+"schemas:\n", tail, func(i int) string {
			return "  a" + number(i) + ": {$anchor: a" + number(i) + ", $ref: \"#a" + number(i+1) + "\"}\n"
		}),
		"nested schemas":  filled(head+oneEndpoint+"    input: {allOf: [", "{}]}\n"+tail, same(strings.Repeat("{not: ", 20)+"{}"+strings.Repeat("}", 20)+", ")),
		"enum":            filled(head+oneEndpoint+"    input: {type: object, enum: [", "0]}\n"+tail, same("["+strings.Repeat("1,", 4000)+"1],")),
		"required":        few(head+oneEndpoint+"    input:\n      type: object\n      required: ["+list(4999)+"]\n      properties:\n", tail, func(i int) string { return "        q" + number(i) + ": {}\n" }),
		"hints":           few(head+"endpoints:\n  - method: BOOK\n    path: /thing\n    input: {type: object, properties: {"+properties(4999)+"}}\n    semantic:\n      parameter_hints:\n", tail, func(i int) string { return "        q" + number(i) + ": [\"ignore it\"]\n" }),
		"patterns":        filled(head+oneEndpoint+"    input: {type: object, allOf: [", "{}]}\n"+tail, same(`{pattern: "[\\pL\\pN\\pS]{100}"}, `)),
		"one pattern":     filled(head+oneEndpoint+"    input: {pattern: \"", "\"}\n"+tail, same(`\\pL`)),
		"long intent":     filled(head+"endpoints:\n  - method: BOOK\n    path: /thing\n    semantic: {intent: \"Inserts a record", "\"}\n"+tail, same(" into the table. Books it")),
		"long words":      filled(head+"endpoints:\n  - method: BOOK\n    path: /thing\n    semantic: {intent: \"Books ", "\"}\n"+tail, same("reservationing")),
		"many intents":    few(head+"endpoints:\n", tail, same("- {method: UNDERTAKE, semantic: {intent: Submits a cancellation request}}\n")),
		"long method":     filled(head+"endpoints:\n  - path: /thing\n    method: ", "\n"+tail, same("RUNNING")),
		"long methods":    few(head+"endpoints:\n", tail, same("- {method: "+strings.Repeat("REBOOKING", 7)+"}\n")),
		"long path":       filled(head+"endpoints:\n  - method: BOOK\n    path: ", "\n"+tail, same("/bookX")),
		"long parameters": filled(head+"endpoints:\n  - method: BOOK\n    input: {type: object}\n    path: ", "\n"+tail, same("/{a}")),
		"verbs":           few(head+"vocabulary:\n  declared_verbs:\n", "", func(i int) string { return "  - V" + word(i) + "\n" }),
		"errors":          few(head+"endpoints:\n- method: BOOK\n  errors:\n", tail, same("  - error\n")),
		"data classes":    few(head+"data_manifest:\n  pre_auth_discovery: true\n  available_data:\n", tail, same("  - {class: c, description: 1 1 1 1 1 records of customer_id}\n")),
		"hidden text":     few(head+"x:\n", tail, same("- \"\u202e\"\n")),
		"tag characters":  filled(head+"x: \"", "\"\n"+tail, same("🏴")),
	}
}

// list and properties write n names.
func list(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("p" + strconv.Itoa(i) + ", ")
	}
	return b.String()
}

func properties(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("p" + strconv.Itoa(i) + ": {}, ")
	}
	return b.String() + "z: {}"
}

// allocated returns the bytes that f allocates in all, freed ones included.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// best returns the shortest of several durations of judging a text. It stops
// early below enough, so that other work on the machine costs time only where
// the answer is in doubt.
func best(text []byte, enough time.Duration) time.Duration {
	shortest := time.Hour
	for range 8 {
		begin := time.Now()
		_, _, _ = agis.Parse(text, agis.Options{})
		if shortest = min(shortest, time.Since(begin)); shortest < enough {
			break
		}
	}
	return shortest
}

// A document of the largest size, whatever its content, costs at most 20 times an ordinary one and
// never more than 64 MiB, including memory that is freed in between.
func TestWorstShapes(t *testing.T) {
	plain := ordinary(t)
	_, findings, err := agis.Parse(plain, agis.Options{})
	if err != nil || len(codes(findings, protocol.Error)) > 0 {
		t.Fatalf("the ordinary document: %v %v", err, codes(findings, protocol.Error))
	}
	ordinary := best(plain, 0)
	shapes := shapes()
	names := make([]string, 0, len(shapes))
	for name := range shapes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		text := shapes[name]
		if len(text) < protocol.DefaultLimits.Bytes*9/10 {
			t.Errorf("%s has only %d bytes", name, len(text))
		}
		bytes := allocated(func() { _, _, _ = agis.Parse(text, agis.Options{}) })
		ratio := float64(best(text, 5*ordinary)) / float64(ordinary)
		// Both are measured again, one after the other, where the machine was busy with
		// something else.
		for try := 0; ratio > 20 && try < 5; try++ {
			shape := best(text, 0)
			ratio = float64(shape) / float64(best(plain, 0))
		}
		t.Logf("%-26s %6.2f times an ordinary document, %5.1f MiB", name, ratio, float64(bytes)/(1<<20))
		if ratio > 20 {
			t.Errorf("%s costs %.1f times an ordinary document, want at most 20", name, ratio)
		}
		if bytes > 64<<20 {
			t.Errorf("%s allocates %d MiB, want at most 64", name, bytes>>20)
		}
	}
}
