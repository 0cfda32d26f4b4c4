package agis_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
)

type vector struct {
	File, Kind             string
	Valid                  bool
	Codes, Warnings, Other []string
}

func manifest(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("testdata/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var m struct{ Cases []vector }
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m.Cases
}

func readText(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func codes(findings []protocol.Finding, s protocol.Severity) []string {
	var out []string
	for _, f := range findings {
		if f.Severity == s && !slices.Contains(out, f.Code) {
			out = append(out, f.Code)
		}
	}
	slices.Sort(out)
	return out
}

// TestVectors checks that each vector has exactly the errors of the manifest, its warnings, and
// nothing that the manifest does not allow.
func TestVectors(t *testing.T) {
	cases := manifest(t)
	if len(cases) != 142 {
		t.Fatalf("manifest has %d cases, want 142", len(cases))
	}
	for _, v := range cases {
		t.Run(v.File, func(t *testing.T) {
			text := readText(t, v.File)
			var findings []protocol.Finding
			if v.Kind == "well-known" {
				_, findings, _ = agis.ParseSummary(text, agis.Options{})
			} else {
				_, findings, _ = agis.Parse(text, agis.Options{})
			}
			for _, f := range findings {
				if f.Message == "" || f.Section == "" || f.Help == "" {
					t.Errorf("finding says too little: %+v", f)
				}
			}
			got := codes(findings, protocol.Error)
			if want := slices.Sorted(slices.Values(v.Codes)); !slices.Equal(got, want) {
				t.Errorf("errors %v, want %v", got, want)
			}
			got = codes(findings, protocol.Warning)
			if missing := without(v.Warnings, got); len(missing) > 0 {
				t.Errorf("warnings %v lack %v", got, missing)
			}
			if extra := without(without(got, v.Warnings), v.Other); len(extra) > 0 {
				t.Errorf("warnings that nobody asked for: %v", extra)
			}
			if extra := without(codes(findings, protocol.Info), v.Other); len(extra) > 0 {
				t.Errorf("hints that nobody asked for: %v", extra)
			}
		})
	}
}

// TestEachRuleHasADocument checks that other readers find a document for each rule that a single
// document can break, and no document twice.
func TestEachRuleHasADocument(t *testing.T) {
	// The first three are limits of this reader, which large documents break; the last two need the
	// full document, or an answer.
	files, used := map[string]bool{}, []string{"AGIS105", "AGIS106", "WK114", "WK110", "WK111"}
	for _, v := range manifest(t) {
		if files[v.File] {
			t.Errorf("%s is in the manifest twice", v.File)
		}
		files[v.File] = true
		used = slices.Concat(used, v.Codes, v.Warnings, v.Other)
	}
	for _, r := range agis.Rules() {
		if !slices.Contains(used, r.Code) {
			t.Errorf("no document breaks %s", r.Code)
		}
	}
}

// without returns a without the elements of b, sorted.
func without(a, b []string) []string {
	var out []string
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// minimal is a document without any finding heavier than a hint; %s is the
// method.
const minimal = `agis: "1.0"
service: S
agtp: agtp://s.example.com
description: d
version: "1"
endpoints:
  - method: METHOD
    path: /thing
    semantic: {intent: Does a thing, actor: agent, outcome: A thing is done}
    input: {type: object}
    output: {type: object}
    errors: [thing_missing]
vocabulary: {declared_verbs: [METHOD], domain: things}
`

func TestUnreadable(t *testing.T) {
	for name, text := range map[string]string{
		"AGIS101 not UTF-8":        "agis: \"\xff\"\n",
		"AGIS101 control":          "agis: \"\x01\"\n",
		"AGIS102 empty":            "",
		"AGIS102 only comments":    "# nothing\n",
		"AGIS102 scalar":           "hello\n",
		"AGIS102 second document":  "agis: \"1.0\"\n---\nagis: \"1.0\"\n",
		"AGIS103 duplicate JSON":   `{"agis": "1.0", "\u0061gis": "1.0"}`,
		"AGIS104 alias":            "a: *x\n",
		"AGIS104 merge key":        "a: &x {b: 1}\nc: {<<: *x}\n",
		"AGIS105 depth":            strings.Repeat("[", 70) + strings.Repeat("]", 70),
		"AGIS105 block depth":      strings.Repeat("- ", 70) + "x\n",
		"AGIS105 long number":      "a: " + strings.Repeat("9", 40) + "\n",
		"AGIS105 many bytes":       strings.Repeat("a", 262145),
		"AGIS105 many elements":    "a: [" + strings.Repeat("1,", 5001) + "]\n",
		"AGIS101 truncated JSON":   `{"agis": "1.0"`,
		"AGIS104 directive":        "%TAG !e! tag:example.com,2000:\n---\na: !e!x b\n",
		"AGIS104 key not a string": "1: x\n",
	} {
		doc, findings, err := agis.Parse([]byte(text), agis.Options{})
		if !errors.Is(err, protocol.ErrUnreadable) || doc != nil {
			t.Errorf("%s: document %v, error %v; want ErrUnreadable", name, doc, err)
		}
		want, _, _ := strings.Cut(name, " ")
		if len(findings) != 1 || findings[0].Code != want || findings[0].Help == "" {
			t.Errorf("%s: findings %+v", name, findings)
		}
	}
}

func TestFlowYAMLThatLooksLikeJSON(t *testing.T) {
	text := `{agis: "1.0", service: S}`
	doc, _, err := agis.Parse([]byte(text), agis.Options{})
	if err != nil || doc.Service != "S" {
		t.Errorf("document %+v, error %v", doc, err)
	}
}

func TestDraftNotation(t *testing.T) {
	for file, words := range map[string][2]string{
		"invalid/illustrative-notation.yaml":     {"illustrative notation", "gazetteer convert"},
		"invalid/state-transition-unquoted.yaml": {"state transition", "in quotes"},
	} {
		_, findings, _ := agis.Parse(readText(t, file), agis.Options{})
		if len(findings) != 1 || !strings.Contains(findings[0].Message, words[0]) || !strings.Contains(findings[0].Help, words[1]) {
			t.Errorf("%s: %+v, want %q", file, findings, words)
		}
	}
}

func TestLevelTwo(t *testing.T) {
	text := string(readText(t, "valid/full-level-2.yaml"))
	with := strings.Replace(text, "is_idempotent: false\n", "is_idempotent: false\n      state_transition: {status: NONE -> CONFIRMED}\n", 1)
	for text, want := range map[string]bool{
		with: true,
		// BOOK is reversible, so it changes something and must say what.
		text: false,
		string(readText(t, "valid/seed-restaurant.yaml")): false,
	} {
		doc, findings, err := agis.Parse([]byte(text), agis.Options{})
		if err != nil || len(codes(findings, protocol.Error)) > 0 {
			t.Fatalf("error %v, findings %v", err, findings)
		}
		if doc.LevelTwo() != want {
			t.Errorf("level 2 is %v, want %v", doc.LevelTwo(), want)
		}
	}
}

func TestParameters(t *testing.T) {
	text := strings.Replace(minimal, "input: {type: object}", `input: {$ref: "#/schemas/In"}`, 1) + `schemas:
  In:
    type: object
    required: [when]
    properties:
      when: {$ref: "#/schemas/When"}
      size: {type: [integer, "null"], description: how many, minimum: 1}
      loop: {$ref: "#/schemas/Loop"}
  When: {type: string, description: the moment}
  Loop: {$ref: "#/schemas/Loop"}
`
	doc, _, err := agis.Parse([]byte(strings.ReplaceAll(text, "METHOD", "BOOK")), agis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := doc.Parameters(doc.Endpoints[0])
	want := []agis.Parameter{
		{Name: "when", Type: "string", Required: true, Description: "the moment"},
		{Name: "size", Type: "integer or null", Description: "how many", Sample: "1"},
		{Name: "loop"}, // a circle says nothing, and ends
	}
	if len(got) != len(want) {
		t.Fatalf("parameters %+v, want %+v", got, want)
	}
	for i := range want {
		if got[i].Name != want[i].Name || got[i].Type != want[i].Type || got[i].Required != want[i].Required || got[i].Description != want[i].Description || got[i].Sample != want[i].Sample {
			t.Errorf("parameter %+v, want %+v", got[i], want[i])
		}
	}
}

func TestFindingPlace(t *testing.T) {
	text := string(readText(t, "valid/seed-restaurant.yaml"))
	for _, c := range []struct {
		old, new, code, pointer string
		line, column            int
	}{
		{"      actor: agent", "      actor: robot", "AGIS504", "/endpoints/0/semantic/actor", 10, 14},
		{"method: BOOK", "method: 'GET'", "AGIS301", "/endpoints/0/method", 6, 13},
		{"service: Acme Restaurant Reservations\n", "", "AGIS113", "", 1, 1},
		// A name is wrong, not its value.
		{"  domain: hospitality", "  domain: hospitality\n  declaredVerbs: []", "AGIS121", "/vocabulary/declaredVerbs", 92, 3},
	} {
		_, findings, err := agis.Parse([]byte(strings.Replace(text, c.old, c.new, 1)), agis.Options{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(findings, func(f protocol.Finding) bool { return f.Code == c.code })
		if i < 0 {
			t.Errorf("no %s in %v", c.code, findings)
			continue
		}
		if f := findings[i]; f.Pointer != c.pointer || f.Line != c.line || f.Column != c.column {
			t.Errorf("%s at %q %d:%d, want %q %d:%d", f.Code, f.Pointer, f.Line, f.Column, c.pointer, c.line, c.column)
		}
	}
}

// TestMergeKeys checks that each merge key is a finding and that the rest of the document is checked
// with the merged fields.
func TestMergeKeys(t *testing.T) {
	text := strings.Replace(base, "    semantic:\n", "    semantic:\n      <<: &more {mcp_tool_name: no name}\n", 1)
	text = strings.Replace(text, "vocabulary:\n", "vocabulary:\n  <<: {namespace: No Token}\n", 1)
	doc, findings, err := agis.Parse([]byte(text), agis.Options{})
	if doc != nil || !errors.Is(err, protocol.ErrUnreadable) {
		t.Errorf("%v, %v", doc, err)
	}
	var got []string
	for _, f := range findings {
		got = append(got, f.Code+" "+f.Pointer)
	}
	want := []string{"AGIS104 /endpoints/0/semantic", "AGIS104 /vocabulary", "AGIS515 /endpoints/0/semantic/mcp_tool_name", "AGIS706 /vocabulary/namespace"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A number is not the version 1.0 in JSON, which has no notation without quotes.
func TestVersionNumberInJSON(t *testing.T) {
	_, findings, err := agis.Parse([]byte(`{"agis":1.0,"service":"Acme"}`), agis.Options{})
	if err != nil || !has(findings, "AGIS111") || has(findings, "AGIS112") {
		t.Errorf("%v, %+v; want AGIS111", err, findings)
	}
}

// Errors are listed even if hints alone would fill the list.
func TestErrorsDisplaceHints(t *testing.T) {
	text := string(change(t, string(put(t, base, "path: /Reservation\n")), "declared_verbs", "[BOOK, FIND]"))
	for i := range 600 {
		text += fmt.Sprintf("unknown%d: 1\n", i)
	}
	_, findings, err := agis.Parse([]byte(text), agis.Options{})
	if err != nil || !has(findings, "AGIS405") || !has(findings, "AGIS703") || !has(findings, "AGIS122") || len(findings) != protocol.DefaultLimits.Findings+1 {
		t.Errorf("%v, %d findings, %+v", err, len(findings), findings[max(0, len(findings)-5):])
	}
	if last := findings[len(findings)-1]; last.Code != protocol.CodeMore || last.Severity != protocol.Info {
		t.Errorf("the rest is %+v, want infos", last)
	}
}
