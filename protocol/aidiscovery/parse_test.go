package aidiscovery_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

// options say what testdata/README.md says about the documents.
var options = aidiscovery.Options{
	Host:     "example.com",
	SameSite: func(a, b string) bool { return site(a) == site(b) },
	Now:      time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC),
}

// site is enough of a public suffix list for the .com and .net of testdata.
func site(host string) string {
	labels := strings.Split(host, ".")
	return strings.Join(labels[max(0, len(labels)-2):], ".")
}

type vector struct {
	File                          string
	Valid                         bool
	Codes, Warnings, Infos, Other []string
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

// notReported are codes of the manifest that no rule reports yet. The test
// fails for a code that is missing here, and for one that is here although it
// is reported.
var notReported = []string{}

func TestVectors(t *testing.T) {
	cases := manifest(t)
	if len(cases) != 114 {
		t.Fatalf("manifest has %d cases, want 114", len(cases))
	}
	reported := map[string]bool{}
	for _, v := range cases {
		t.Run(v.File, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(v.File)))
			if err != nil {
				t.Fatal(err)
			}
			_, findings, _ := aidiscovery.Parse(text, options)
			for _, f := range findings {
				reported[f.Code] = true
				if f.Message == "" || f.Section == "" || f.Severity == protocol.Error && f.Help == "" {
					t.Errorf("finding says too little: %+v", f)
				}
			}
			want := without(v.Codes, notReported)
			if got := codes(findings, protocol.Error); !slices.Equal(got, want) {
				t.Errorf("errors %v, want %v", got, want)
			}
			for _, s := range []struct {
				severity protocol.Severity
				want     []string
			}{{protocol.Warning, v.Warnings}, {protocol.Info, v.Infos}} {
				got := codes(findings, s.severity)
				if missing := without(without(s.want, got), notReported); len(missing) > 0 {
					t.Errorf("%s findings %v lack %v", s.severity, got, missing)
				}
				// The manifest expects AI424 only where returns is absent; a text
				// that names no field is found too.
				if extra := without(without(got, s.want), append(v.Other, "AI424")); len(extra) > 0 {
					t.Errorf("%s findings that nobody asked for: %v", s.severity, extra)
				}
			}
		})
	}
	for _, code := range notReported {
		if reported[code] {
			t.Errorf("%s is reported: take it off the list", code)
		}
	}
}

// TestEveryRuleHasADocument checks that each rule about the text of a document, unless it is a note, is
// broken by a document of testdata, so that other readers can be tested for it.
func TestEveryRuleHasADocument(t *testing.T) {
	var broken []string
	for _, v := range manifest(t) {
		broken = append(append(broken, v.Codes...), v.Warnings...)
	}
	for _, r := range aidiscovery.Rules() {
		ofAnswer := strings.HasPrefix(r.Code, "AI1") // transport.json has the answers of servers
		if !ofAnswer && r.Severity != protocol.Info && !slices.Contains(broken, r.Code) {
			t.Errorf("no document of testdata breaks %s", r.Code)
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

func TestOtherFormat(t *testing.T) {
	for _, text := range []string{
		`{"openapi": "3.1.0", "info": {}}`,
		`{"specVersion": "1.2.0", "organization": {"name": "Example"}}`,
		`{"$schema": "https://example.net/agents.json", "name": "x"}`,
	} {
		doc, findings, err := aidiscovery.Parse([]byte(text), options)
		if !errors.Is(err, protocol.ErrOtherFormat) || doc != nil {
			t.Errorf("%s: document %v, error %v; want ErrOtherFormat", text, doc, err)
		}
		if got := codes(findings, protocol.Info); !slices.Equal(got, []string{"AI120"}) || len(findings) != 1 {
			t.Errorf("%s: findings %v, want AI120 alone", text, findings)
		}
	}
	// A document that only forgot its version is ours, and broken.
	_, findings, err := aidiscovery.Parse([]byte(`{"service": {"name": "a", "description": "b"}, "capabilities": []}`), options)
	if err != nil || !slices.Contains(codes(findings, protocol.Error), "AI210") {
		t.Errorf("error %v, findings %v; want AI210", err, findings)
	}
}

// The limits of §4.5 allow their own size.
func TestSizeAtTheLimit(t *testing.T) {
	for size, want := range map[int]string{
		aidiscovery.SoftSize: "", aidiscovery.SoftSize + 1: "AI115", aidiscovery.HardSize: "AI115", aidiscovery.HardSize + 1: "AI116",
	} {
		text := base + strings.Repeat(" ", size-len(base))
		_, findings, _ := aidiscovery.Parse([]byte(text), options)
		for _, code := range []string{"AI115", "AI116"} {
			got := slices.ContainsFunc(findings, func(f protocol.Finding) bool { return f.Code == code })
			if got != (code == want) {
				t.Errorf("%d bytes: findings %v, want %q", size, findings, want)
			}
		}
	}
}
