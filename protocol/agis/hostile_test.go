package agis_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/yaml"
)

// inJSON is a text of YAML as JSON.
func inJSON(t *testing.T, text string) string {
	t.Helper()
	root, err := yaml.Read([]byte(text), protocol.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return string(protocol.WriteJSON(root, "  "))
}

// wide is a text in UTF-16.
func wide(text string, order binary.AppendByteOrder) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

// TestBadInput checks that hostile input ends in a finding that describes the problem, and costs no
// more than a large document.
func TestBadInput(t *testing.T) {
	json := inJSON(t, base)
	quoted := func(old, new string) (inYAML, asJSON string) {
		t.Helper()
		if strings.Count(base, old) == 0 || strings.Count(json, old) == 0 {
			t.Fatalf("%q is not in the base document", old)
		}
		return strings.Replace(base, old, new, 1), strings.Replace(json, old, new, 1)
	}
	rloYAML, rloJSON := quoted("table_taken", "table\u202e_taken")
	loneYAML, loneJSON := strings.Replace(base, "service: Acme", `service: "\ud800" #`, 1), strings.Replace(json, "Acme", `\ud800`, 1)
	rawYAML, rawJSON := quoted("Acme", "\xed\xa0\x80")
	longYAML, longJSON := quoted("0.85", strings.Repeat("9", 10_000))
	fractionYAML, fractionJSON := quoted("0.85", "0."+strings.Repeat("3", 10_000))
	aliases := "a: &a [x, x, x, x, x, x, x, x]\n"
	for i := range 20 {
		name, last := string(rune('b'+i)), string(rune('a'+i))
		aliases += name + ": &" + name + " [" + strings.Repeat("*"+last+", ", 8) + "]\n"
	}
	cases := []struct{ name, text, code, word string }{
		{"alias bomb", aliases, "AGIS104", "aliases add"},
		{"alias bomb in braces", "{" + strings.TrimSuffix(strings.ReplaceAll(aliases, "\n", ", "), ", ") + "}", "AGIS104", "aliases add"},
		{"alias of nothing", "a: *b\n", "AGIS104", "does not exist"},
		{"alias inside its value", "a: &b {c: [*b, *b]}\n", "AGIS104", "inside the value"},
		{"100,000 brackets", "a: " + strings.Repeat("[", 100_000), "AGIS105", "nest"},
		{"100,000 brackets in JSON", strings.Repeat("[", 100_000), "AGIS105", "nest"},
		{"100,000 closed brackets", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), "AGIS105", "nest"},
		{"braces", "a: " + strings.Repeat("{a: ", 50_000), "AGIS105", "nest"},
		{"braces in JSON", strings.Repeat(`{"a":`, 50_000), "AGIS105", "nest"},
		{"dashes", strings.Repeat("- ", 100_000), "AGIS105", "nest"},
		{"64 k duplicate keys", strings.Repeat("a:\n", 64_000), "AGIS103", "twice"},
		{"duplicate keys in JSON", `{"a":1` + strings.Repeat(`,"a":1`, 40_000) + "}", "AGIS103", "twice"},
		{"64 k duplicate keys in JSON", "{" + strings.Repeat(`"a":1,`, 64_000) + `"a":1}`, "AGIS105", "bytes"},
		{"duplicate by an escape", `{"agis":"1.0","\u0061gis":"1.0"}`, "AGIS103", "twice"},
		{"tag of a program", strings.Replace(base, "service: ", "service: !!python/object/apply:os.system ", 1), "AGIS104", "tag"},
		{"tag for bytes", strings.Replace(base, "service: ", "service: !!binary ", 1), "AGIS104", "tag"},
		{"tag of one's own", strings.Replace(base, "service: ", "service: !env ", 1), "AGIS104", "tag"},
		{"tag in braces", `{"agis": !!set {a, b}}`, "AGIS104", "tag"},
		{"merge key", "a: 1\n<<: {b: 2}\n", "AGIS104", "merge"},
		{"merge key below", "x:\n  - <<: {b: 2}\n", "AGIS104", "merge"},
		{"merge key in braces", "{a: 1, <<: {b: 2}}", "AGIS104", "merge"},
		{"second document", base + "---\n" + base, "AGIS102", "second"},
		{"second document behind an end", base + "...\n---\na: b\n", "AGIS102", "second"},
		{"second value in JSON", json + json, "AGIS101", "follows"},
		{"binary", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00", "AGIS101", "control"},
		{"zeros", strings.Repeat("\x00", 5000), "AGIS101", "control"},
		{"picture", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "AGIS101", "PNG"},
		{"compressed", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "AGIS101", "gzip"},
		{"UTF-16, little", wide(base, binary.LittleEndian), "AGIS101", "UTF-16"},
		{"UTF-16, big", wide(base, binary.BigEndian), "AGIS101", "UTF-16"},
		{"UTF-16 with a mark, little", wide("\ufeff"+base, binary.LittleEndian), "AGIS101", "UTF-16"},
		{"UTF-16 with a mark, big", wide("\ufeff"+base, binary.BigEndian), "AGIS101", "UTF-16"},
		{"JSON in UTF-16, little", wide(json, binary.LittleEndian), "AGIS101", "UTF-16"},
		{"JSON in UTF-16, big", wide(json, binary.BigEndian), "AGIS101", "UTF-16"},
		{"JSON in UTF-16 with a mark, little", wide("\ufeff"+json, binary.LittleEndian), "AGIS101", "UTF-16"},
		{"JSON in UTF-16 with a mark, big", wide("\ufeff"+json, binary.BigEndian), "AGIS101", "UTF-16"},
		{"Latin-1", strings.Replace(base, "Acme", "Caf\xe9", 1), "AGIS101", "0xE9"},
		{"lone surrogate", loneYAML, "AGIS101", "surrogate"},
		{"lone surrogate in JSON", loneJSON, "AGIS101", "surrogate"},
		{"raw surrogate", rawYAML, "AGIS101", "UTF-8"},
		{"raw surrogate in JSON", rawJSON, "AGIS101", "UTF-8"},
		{"10 MB line", "agis: \"1.0\"\nservice: " + strings.Repeat("a", 10_000_000), "AGIS105", "bytes"},
		{"10 MB line in JSON", `{"service":"` + strings.Repeat("a", 10_000_000) + `"}`, "AGIS105", "bytes"},
		{"number of 10,000 digits", longYAML, "AGIS105", "10000 characters"},
		{"number of 10,000 digits in JSON", longJSON, "AGIS105", "10000 characters"},
		{"fraction of 10,000 digits", fractionYAML, "AGIS105", "10002 characters"},
		{"fraction of 10,000 digits in JSON", fractionJSON, "AGIS105", "10002 characters"},
		{"huge exponent", strings.Replace(base, "0.85", "1e999999999", 1), "AGIS509", "0.0 to 1.0"},
		{"huge exponent in JSON", strings.Replace(json, "0.85", "1e999999999", 1), "AGIS509", "0.0 to 1.0"},
		{"right-to-left override in a name", rloYAML, "AGIS519", "U+202E"},
		{"right-to-left override in a name, JSON", rloJSON, "AGIS519", "U+202E"},
		{"right-to-left override in a method", strings.Replace(base, "method: BOOK", "method: \"BO\u202eOK\"", 1), "AGIS203", "202e"},
		{"right-to-left override in a field", strings.Replace(json, `"description"`, `"descrip\u202etion"`, 1), "AGIS519", "U+202E"},
		{"JSON with a comment", "// mine\n" + json, "AGIS101", "comments"},
		{"web page", "<!DOCTYPE html><html><body>Not found</body></html>", "AGIS102", "HTML"},
	}
	for _, ref := range []string{"https://evil.example/x.json", "http://127.0.0.1/x#/a", "file:///etc/passwd", "//evil.example/x", "../../etc/passwd",
		"data:application/json,{}", "urn:x:y", "other.yaml#/a"} {
		inYAML, asJSON := quoted(`integer`, `integer`)
		inYAML = strings.Replace(inYAML, "{type: integer}", "{$ref: \""+ref+"\"}", 1)
		asJSON = strings.Replace(asJSON, `"type": "integer"`, `"$ref": "`+ref+`"`, 1)
		cases = append(cases, struct{ name, text, code, word string }{"reference to " + ref, inYAML, "AGIS805", "never fetched"},
			struct{ name, text, code, word string }{"reference to " + ref + " in JSON", asJSON, "AGIS805", "never fetched"})
	}
	for _, pattern := range []string{"((a{1000}){1000}){1000}", "(?=a)b", "(a)\\1", "(?<!a)b", "a{1001}", "(a", "[z-a]", "a++", "(?>a)", strings.Repeat("(", 500) + strings.Repeat(")", 500) + "{", strings.Repeat("a?", 5000)} {
		literal := strconv.Quote(pattern)
		inYAML := strings.Replace(base, "{type: integer}", "{pattern: "+literal+"}", 1)
		asJSON := strings.Replace(json, `"type": "integer"`, `"pattern": `+literal, 1)
		cases = append(cases, struct{ name, text, code, word string }{"pattern " + pattern[:min(30, len(pattern))], inYAML, "AGIS804", "regular expression"},
			struct{ name, text, code, word string }{"pattern " + pattern[:min(30, len(pattern))] + " in JSON", asJSON, "AGIS804", "regular expression"})
	}
	ordinary := best(ordinary(t), 0)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			doc, findings, err := agis.Parse([]byte(c.text), agis.Options{})
			i := slices.IndexFunc(findings, func(f protocol.Finding) bool { return f.Code == c.code && strings.Contains(f.Message, c.word) })
			if i < 0 {
				t.Fatalf("%v, %+v; want %s with %q", err, findings, c.code, c.word)
			}
			f := findings[i]
			if f.Help == "" || f.Line == 0 || len(f.Message)+len(f.Help) > 1000 {
				t.Errorf("%+v", f)
			}
			if pass := f.Code[4]; (pass == '1') != errors.Is(err, protocol.ErrUnreadable) || (doc == nil) != (err != nil) {
				t.Errorf("%s, yet the error is %v", f.Code, err)
			}
			bytes := allocated(func() { _, _, _ = agis.Parse([]byte(c.text), agis.Options{}) })
			if bytes > 64<<20 {
				t.Errorf("%d MiB", bytes>>20)
			}
			if took := best([]byte(c.text), ordinary); took > 20*ordinary {
				t.Errorf("%s, an ordinary document of the largest size %s", took, ordinary)
			}
		})
	}
}

// TestUnusualButValid checks that carriage returns count as white space in YAML and JSON, and that
// a pattern that is exponential in other engines is accepted, because it is matched in linear time
// here.
func TestUnusualButValid(t *testing.T) {
	json := inJSON(t, base)
	for name, text := range map[string]string{
		"carriage returns":         strings.ReplaceAll(base, "\n", "\r"),
		"carriage returns, JSON":   strings.ReplaceAll(json, "\n", "\r"),
		"byte order mark":          "\ufeff" + base,
		"byte order mark, JSON":    "\ufeff" + json,
		"nested repetition":        strings.Replace(base, "{type: integer}", `{pattern: "^(a+)+$"}`, 1),
		"nested repetition, JSON":  strings.Replace(json, `"type": "integer"`, `"pattern": "^(a|a)*$"`, 1),
		"end of document":          base + "...\n# the end\n",
		"version of YAML":          "%YAML 1.2\n---\n" + base,
		"anchor and alias":         strings.Replace(strings.Replace(base, "Acme", "&name Acme", 1), "Books tables", "*name", 1),
		"a %TAG line for nothing":  "%TAG !e! tag:example.com,2000:\n---\n" + base,
		"a tag that says nothing":  strings.Replace(base, "service: ", "service: !!str ", 1),
		"one line of a legal size": strings.Replace(json, "Books tables", strings.Repeat("tables ", 20_000), 1),
	} {
		_, findings, err := agis.Parse([]byte(text), agis.Options{})
		if err != nil || len(findings) > 0 {
			t.Errorf("%s: %v, %+v", name, err, findings)
		}
	}
	// The place of a finding counts each carriage return as the end of a line.
	text := strings.ReplaceAll(strings.Replace(base, "actor: agent", "actor: robot", 1), "\n", "\r")
	_, findings, _ := agis.Parse([]byte(text), agis.Options{})
	if len(findings) != 1 || findings[0].Line != 11 || findings[0].Column != 14 {
		t.Errorf("%+v", findings)
	}
}

// TestYAMLMistakes checks that mistakes in YAML are reported in plain words with a correction.
func TestYAMLMistakes(t *testing.T) {
	for text, want := range map[string][2]string{
		"a: [1":                     {"a list in brackets is not closed", "]"},
		"a: {b: c":                  {"a mapping in braces is not closed", "}"},
		"a: \"x":                    {"a text in quotes is not closed", "quotation mark"},
		"a: Bob's: shop":            {"a colon and a space inside a text", "in quotes"},
		"a: @x":                     {"may not begin with this character", "in quotes"},
		"a:\n\tb: c":                {"there is a tab where only spaces are allowed", "spaces"},
		"a: \"\\q\"":                {"unknown escape", "backslash"},
		"a: \"\\udfff\"":            {"one half of a surrogate pair", "character itself"},
		"a:\n  b: 1\n c: 2":         {"does not fit the ones above", "same column"},
		"- a\nb: c":                 {"has no dash", "dash"},
		"a:\n - b\nc":               {"a name has no colon", "colon"},
		"a: - b":                    {"an entry of a list may not begin here", "dashes"},
		"%YAML 9.9\n---\na: b\n":    {"another version of YAML", "%YAML"},
		"%FOO bar\n---\na: b\n":     {"YAML has none of this name", "remove the line"},
		"a: !!binary eA==\n":        {"the tag", "remove the tag"},
		"a: *x\n":                   {"an anchor that does not exist", "wherever it is needed"},
		"a: &x [*x]\n":              {"inside the value", "wherever it is needed"},
		"<<: {a: 1}\n":              {"a merge key", "merged fields"},
		"1: 2\n":                    {"is not a string", "in quotes"},
		"? [a]\n: b\n":              {"may not be a mapping or a sequence", "a name and a colon"},
		"%TAG ! tag:x,2000:\n--- a": {"not a mapping", "top level"},
		"{\"a\": 1":                 {"ends before", "publish the whole text"},
	} {
		_, findings, err := agis.Parse([]byte(text), agis.Options{})
		if err == nil || len(findings) != 1 || !strings.Contains(findings[0].Message, want[0]) || !strings.Contains(findings[0].Help, want[1]) {
			t.Errorf("%q: %v, %+v; want %q", text, err, findings, want)
			continue
		}
		if f := findings[0]; f.Line > 1+strings.Count(text, "\n") {
			t.Errorf("%q: line %d", text, f.Line)
		}
	}
}
