package aidiscovery_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

// largest is the size of the largest document that is read.
const largest = aidiscovery.HardSize

// repeat builds a text of the largest size: head, body as often as it fits, tail,
// white space. %d in body becomes a number that counts up. A body that ends with
// a comma is not repeated more often than an object or array may have entries.
func repeat(head, body, tail string) string {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; i < protocol.DefaultLimits.Members-10 || !strings.HasSuffix(body, ","); i++ {
		next := body
		if strings.Contains(body, "%d") {
			next = fmt.Sprintf(body, i)
		}
		if b.Len()+len(next)+len(tail) > largest {
			break
		}
		b.WriteString(next)
	}
	text := strings.TrimSuffix(b.String(), ",") + tail
	return text + strings.Repeat(" ", largest-len(text))
}

const (
	front   = `{"aiendpoint": "1.0", "service": {"name": "n", "description": "d"}, `
	oneMore = front + `"capabilities": [{"id": "a", "description": "b", "endpoint": "/c", "method": "GET", "returns": "{d}"`
)

// plain is an honest document of the largest size: what others are compared to.
func plain() string {
	return repeat(front+`"auth": {"type": "none"}, "capabilities": [`,
		`{"id": "find_%d", "description": "Find the notes that somebody wrote on one day", "endpoint": "/api/notes/find", "method": "GET", "params": {"day": "string, required -- a day as YYYY-MM-DD", "limit": "integer, optional, default 10, max 50"}, "returns": "notes[] {id, text, created_at}"},`, `]}`)
}

// shapes are documents of the largest size that make a reader work or remember
// as much as they can.
func shapes() map[string]string {
	long := func(s string) string { return repeat(oneMore+`}], "meta": {"x": "`, s, `"}}`) }
	spread := func(body string) string { // over arrays within the limit of members
		return repeat(front+`"capabilities": [], "meta": {"x": [`, "["+strings.TrimSuffix(strings.Repeat(body+",", 4000), ",")+"],", `]}}`)
	}
	return map[string]string{
		"deep and closed":             repeat(`{"meta": [`, strings.Repeat("[", 60)+strings.Repeat("]", 60)+",", `]}`),
		"deep and open":               strings.Repeat("[", largest),
		"deep objects":                repeat(`{"meta": [`, strings.Repeat(`{"a":`, 58)+"1"+strings.Repeat("}", 58)+",", `]}`),
		"wide numbers":                spread("0"),
		"wide strings":                spread(`""`),
		"wide objects":                spread(`{}`),
		"wide members":                spread(`{"a":0}`),
		"duplicate members":           repeat(`{"a":1,`, `"a":1,`, `}`),
		"unknown members":             repeat(front, `"k%d with a longer name than it needs to have": 0,`, `}`),
		"duplicate members, late":     repeat(`{"a":1,`, `"k%d with a longer name than it needs to have": 0,`, `,"a":1}`),
		"custom members":              repeat(front+`"meta": {`, `"k%d with a longer name than it needs to have": 0,`, `}}`),
		"texts":                       spread(`"a text that is no secret and speaks to nobody"`),
		"names of texts":              repeat(front+`"meta": {`, `"a text that is no secret and speaks to nobody %d": 0,`, `}}`),
		"unknown nested":              repeat(`{"aiendpoint": "1.0", "capabilities": [`, `{"A":0,"B":0,"C":0,"D":0,"E":0,"F":0,"G":0,"H":0,"I":0,"J":0},`, `]}`),
		"nearly known members":        repeat(`{"aiendpoint": "1.0", "capabilities": [`, `{"I_D":0,"METHOD":0,"END-POINT":0,"Returns":0,"PaRaMs":0},`, `]}`),
		"long names":                  repeat(`{"`+strings.Repeat("k", largest/9)+`": {"a": [`, `0,`, `]}}`),
		"many long names":             repeat(`{"meta": {`, `"`+strings.Repeat("n", 1000)+`%d": 0,`, `}}`),
		"escaped names":               repeat(`{"meta": {`, `"\u0041\u0042\u0043%d~/~/": 0,`, `}}`),
		"empty capabilities":          repeat(`{"aiendpoint": "1.0", "capabilities": [`, `{},`, `]}`),
		"broken capabilities":         repeat(`{"aiendpoint": "1.0", "capabilities": [`, `{"id":1,"description":1,"endpoint":1,"method":1,"params":1,"returns":1},`, `]}`),
		"one id":                      repeat(front+`"capabilities": [`, `{"id":"a","description":"","endpoint":"/admin/{x}","method":"get"},`, `]}`),
		"bad parameters":              repeat(oneMore+`, "params": {`, `"p%d": "x",`, `}}]}`),
		"parameters in the path":      repeat(front+`"capabilities": [{"id": "a", "description": "b", "method": "GET", "params": {`+strings.TrimSuffix(strings.Repeat(`"q": 0,`, 1), ",")+`}, "endpoint": "`, `/:a`, `"}]}`),
		"templates never closed":      repeat(front+`"capabilities": [{"id": "a", "description": "b", "method": "GET", "endpoint": "/`, `{`, `"}]}`),
		"commas in a parameter":       repeat(oneMore+`, "params": {"p": "string, required`, `, a`, `"}}]}`),
		"parentheses in a parameter":  repeat(oneMore+`, "params": {"p": "string `, `(a `, `"}}]}`),
		"dashes in a parameter":       repeat(oneMore+`, "params": {"p": "string `, `— `, `"}}]}`),
		"many categories":             repeat(`{"service": {"category": [`, `"a category that nobody knows or wants %d",`, `]}}`),
		"many languages":              repeat(`{"service": {"language": [`, `"en-u-aa-bb-cc-dd-ee-ff-gg-hh-ii-jj-%d",`, `]}}`),
		"one long language":           repeat(`{"service": {"language": ["en`, `-u-aa`, `"]}}`),
		"one long version":            repeat(`{"aiendpoint": "1`, `.0`, `"}`),
		"one long id":                 repeat(`{"capabilities": [{"id": "`, `a_`, `"}]}`),
		"one long number in a host":   repeat(`{"capabilities": [{"endpoint": "https://`, `1.`, `1/"}]}`),
		"one long text":               long("word "),
		"one long word":               long("a"),
		"one long text of escapes":    long(`\u00e9`),
		"one long text of wide runes": long("😀"),
		"keys almost":                 long("ghp_sk_live_AKIAxoxb-"),
		"keys of one prefix":          long("sk_live_"),
		"tokens almost":               long("eyJ"),
		"tokens in rows":              long("eyJhbGciOiJIUzI1NiJ9.eyJ."),
		"headers almost":              long("-eyJhbGciOiJIUzI1NiJ9-eyJ.eyJ"),
		"addresses almost":            long("a://b:c "),
		"addresses with colons":       long("a://b:c:"),
		"private keys almost":         long("PRIVATE KEY-----"),
		"instructions almost":         long("ignore all of the your any "),
		"instructions in pieces":      long("forget the previous "),
		"systems":                     long("system "),
		"systems on lines":            long(`system\n`),
		"line starts":                 long(`a\n         `),
		"chat marks almost":           long("<|im_start|"),
		"flags":                       long("\U0001F3F4\U000E0067\U000E007F"),
		"white space":                 repeat(`{"aiendpoint": "1.0",`, "\n", `"service": 0}`),
		"lines":                       repeat(`{"meta": {"x": [[`, "0,\n", `]]}}`),
		"long numbers":                spread(strings.Repeat("1", 31)),
	}
}

// The largest document of any shape takes at most 64 MiB, and at most 20 times
// what encoding costs a plain one in memory. BenchmarkWorst has the times.
func TestWorstCaseMemory(t *testing.T) {
	base := allocated(plain())
	for name, text := range shapes() {
		if len(text) > largest {
			t.Errorf("%s: %d bytes", name, len(text))
		}
		got := allocated(text)
		if got > 64<<20 || got > 20*base {
			t.Errorf("%s takes %d KiB, a plain document %d KiB", name, got>>10, base>>10)
		}
	}
}

// allocated returns the number of bytes that are allocated in total to read and judge a text, which
// is more than the memory in use at any time.
func allocated(text string) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	root, _ := protocol.ReadJSON([]byte(text), protocol.Limits{})
	aidiscovery.Savings(root)
	_, _, _ = aidiscovery.Parse([]byte(text), options)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// BenchmarkWorst prints what the largest document of each shape costs as a
// multiple of a plain one of that size ("x-plain").
func BenchmarkWorst(b *testing.B) {
	text := []byte(plain())
	base := fastestOf(5, func() { _, _, _ = aidiscovery.Parse(text, options) })
	all := shapes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text := []byte(all[name])
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = aidiscovery.Parse(text, options)
			}
			b.ReportMetric(fastestOf(5, func() { _, _, _ = aidiscovery.Parse(text, options) })/base, "x-plain")
		})
	}
}

// TestBadInput checks that every input gets a finding that describes the problem.
func TestBadInput(t *testing.T) {
	wide := func(order binary.AppendByteOrder, mark bool) string {
		var out []byte
		if mark {
			out = order.AppendUint16(out, 0xFEFF)
		}
		for _, unit := range utf16.Encode([]rune(base)) {
			out = order.AppendUint16(out, unit)
		}
		return string(out)
	}
	for _, c := range []struct{ name, text, code, says string }{
		{"100,000 brackets", strings.Repeat("[", 100000), "AI206", "nest deeper than 64 levels"},
		{"100,000 brackets, closed", strings.Repeat("[", 100000) + strings.Repeat("]", 100000), "AI206", "nest deeper"},
		{"100,000 objects", strings.Repeat(`{"a":`, 50000), "AI206", "nest deeper"},
		{"40,000 times one member", `{"a":1` + strings.Repeat(`,"a":1`, 40000) + `}`, "AI205", `"a" occurs twice`},
		{"64,000 times one member", `{"a":1` + strings.Repeat(`,"a":1`, 64000) + `}`, "AI116", "262144"},
		{"binary", "\x7fELF\x02\x01\x01\x00\x00\x80\xff", "AI201", "is not UTF-8"},
		{"a picture", "\x89PNG\r\n\x1a\n", "AI201", "a PNG picture"},
		{"gzip", "\x1f\x8b\x08\x00\x00", "AI201", "compressed with gzip"},
		{"zero bytes", strings.Repeat("\x00", 100), "AI203", "not JSON"},
		{"UTF-16, little endian, marked", wide(binary.LittleEndian, true), "AI201", "UTF-16"},
		{"UTF-16, big endian, marked", wide(binary.BigEndian, true), "AI201", "UTF-16"},
		{"UTF-16, little endian", wide(binary.LittleEndian, false), "AI201", "UTF-16"},
		{"UTF-16, big endian", wide(binary.BigEndian, false), "AI201", "UTF-16"},
		{"a lone surrogate in a value", `{"a": "\ud800"}`, "AI203", "surrogate"},
		{"a lone surrogate in a name", `{"\udfff": 1}`, "AI203", "surrogate"},
		{"surrogates the wrong way round", `{"a": "\ude00\ud83d"}`, "AI203", "surrogate"},
		{"a surrogate in UTF-8", "{\"a\": \"\xed\xa0\x80\"}", "AI201", "is not UTF-8"},
		{"an overlong form", "{\"a\": \"\xc0\xaf\"}", "AI201", "is not UTF-8"},
		{"10 MB on one line", `{"a": "` + strings.Repeat("x", 10<<20) + `"}`, "AI116", "the limit is 262144"},
		{"a number of 10,000 digits", `{"a": ` + strings.Repeat("9", 10000) + `}`, "AI207", "10000 characters"},
		{"an exponent of 10,000 digits", `{"a": 1e` + strings.Repeat("9", 10000) + `}`, "AI207", "10002 characters"},
		{"an override in a value", strings.Replace(base, "Keeps notes.", "Keeps \u202esetoN", 1), "AI904", "U+202E"},
		{"an override in a name", strings.Replace(base, `"method"`, `"params": {"x\u202ey": "string, optional"}, "method"`, 1), "AI904", "U+202E"},
		{"an escaped override in a name", strings.Replace(base, `"auth"`, `"me\u202eta": 1, "auth"`, 1), "AI904", "U+202E"},
		{"an isolate in the name of the service", strings.Replace(base, `"Notes"`, "\"Notes \u2067\"", 1), "AI904", "U+2067"},
		{"nothing", "", "AI203", "empty"},
		{"a web page", "<!doctype html><html></html>", "AI203", "HTML"},
		{"carriage returns in a text", strings.Replace(base, "Keeps notes.", `Keeps\rnotes.`, 1), "AI316", "line break"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, findings, _ := aidiscovery.Parse([]byte(c.text), options)
			i := slices.IndexFunc(findings, func(f protocol.Finding) bool { return f.Code == c.code })
			if i < 0 {
				t.Fatalf("findings %+v, want %s", findings, c.code)
			}
			if f := findings[i]; !strings.Contains(f.Message, c.says) || f.Help == "" || f.Line < 1 || len(f.Message) > 500 {
				t.Errorf("%+v, want it to say %s", f, c.says)
			}
		})
	}
	// JSON takes a carriage return for white space: the document is as good on
	// one line, and a finding counts its columns along it.
	text := strings.ReplaceAll(base, "\n", "\r")
	if _, findings, err := aidiscovery.Parse([]byte(text), options); err != nil || len(findings) > 0 {
		t.Errorf("carriage returns only: %v, %v", err, findings)
	}
	text = strings.Replace(text, `"GET"`, `"get"`, 1)
	_, findings, _ := aidiscovery.Parse([]byte(text), options)
	if len(findings) != 1 || findings[0].Line != 1 || findings[0].Column != strings.Index(text, `"get"`)+1 {
		t.Errorf("carriage returns only: %+v", findings)
	}
}
