package openapi

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gazetteer/protocol"
	"gazetteer/protocol/agis"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/conversion"
)

const notesAI = `{"aiendpoint":"1.0","service":{"name":"Notes","description":"Keeps notes","category":["productivity"]},
 "capabilities":[
  {"id":"create_note","description":"Create a note","endpoint":"/api/v1/notes","method":"POST","returns":"id, created_at",
   "params":{"text":"string, required, max 500 -- what to keep","color":"string, optional, red|green -- its color","tags":"array, optional -- words"}},
  {"id":"get_note","description":"Get one note","endpoint":"/api/v1/notes/:id","method":"GET","params":{"id":"string, required"},"returns":"note"},
  {"id":"list_notes","description":"List notes","endpoint":"/api/v1/notes","method":"GET","params":{"limit":"integer (optional - how many)"}},
  {"id":"delete_note","description":"Delete a note","endpoint":"https://api.notes.example/api/v1/notes/{id}","method":"DELETE"},
  {"id":"open_note","description":"Open a note","endpoint":"/rpc","method":"POST"},
  {"id":"share_note","description":"Share a note with somebody","endpoint":"/rpc","method":"POST"}],
 "auth":{"type":"bearer"},"rate_limits":{"requests_per_minute":60}}`

func TestSkeleton(t *testing.T) {
	out, err := AIDiscoveryToAGIS([]byte(notesAI), conversion.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, findings, err := agis.Parse(out.Text, agis.Options{})
	if wrong := errorsOf(findings); err != nil || len(wrong) > 0 {
		t.Fatalf("%v, %v\n%s", err, wrong, out.Text)
	}
	var got []string
	for _, e := range d.Endpoints {
		got = append(got, e.Method+" "+e.Path)
	}
	want := "CREATE /api/v1/notes, RETRIEVE /api/v1/notes/{id}, LIST /api/v1/notes, REMOVE /api/v1/notes/{id}"
	if list := strings.Join(got, ", "); !strings.HasPrefix(list, want) || len(got) != 6 || got[4] == got[5] {
		t.Errorf("endpoints %s; want %s and two for the shared address", list, want)
	}
	if d.Service != "Notes" || d.AGTP != "agtp://api.notes.example" || d.Vocabulary.Domain != "productivity" {
		t.Errorf("service %q, agtp %q, domain %q", d.Service, d.AGTP, d.Vocabulary.Domain)
	}
	p := d.Parameters(d.Endpoints[0])
	if len(p) != 3 || p[0].Name != "text" || !p[0].Required || p[0].Description != "what to keep" || p[1].Type != "string" || p[2].Type != "array" {
		t.Errorf("parameters %+v", p)
	}
	if enum := d.Endpoints[0].Input.Member("properties").Member("color").Member("enum").Strs(); strings.Join(enum, " ") != "red green" {
		t.Errorf("enum %v", enum)
	}
	if most := d.Endpoints[0].Input.Member("properties").Member("text").Member("maxLength"); most == nil || most.Text != "500" {
		t.Errorf("maxLength %v, want 500", most)
	}
	var names []string
	for _, e := range d.Endpoints[1].Errors {
		names = append(names, e.Name)
	}
	for _, want := range []string{"note_not_found", "authentication_required", "too_many_requests"} {
		if !strings.Contains(strings.Join(names, " "), want) {
			t.Errorf("errors %v lack %s", names, want)
		}
	}
	if leak := regexp.MustCompile(`#[0-9]|operationId`).Find(out.Text); leak != nil {
		t.Errorf("the document speaks of %s", leak)
	}
	if marks := bytes.Count(out.Text, []byte("# REVIEW: ")); marks != len(out.Reviews) || marks < 12 {
		t.Errorf("%d marks for %d reviews", marks, len(out.Reviews))
	}
	if bytes.Contains(out.Text, []byte("does not say how callers authenticate")) || !bytes.Contains(out.Text, []byte("how callers authenticate is left out")) {
		t.Error("the document names bearer tokens, and the review must say that they are left out")
	}
}

// TestParamSchema checks that constraints become keywords if they fit the type, and stay text
// otherwise.
func TestParamSchema(t *testing.T) {
	for text, want := range map[string]string{
		"integer, required, min 1, max 50, default 10 -- how many": `{"type":"integer","minimum":1,"maximum":50,"default":10,"description":"how many"}`,
		"integer, optional -- default 10, max 50":                  `{"type":"integer","maximum":50,"default":10,"description":"default 10, max 50"}`,
		"string, optional, max 80, default x, metric|imperial":     `{"type":"string","maxLength":80,"default":"x","enum":["metric","imperial"]}`,
		"number, optional, default ten, min -0.5":                  `{"type":"number","minimum":-0.5,"description":"default ten"}`,
		"boolean, optional, default true, max 3":                   `{"type":"boolean","default":true,"description":"max 3"}`,
		"string[], optional, a|b -- words":                         `{"type":"array","items":{"type":"string"},"description":"words, a|b"}`,
		"integer, required, 1|2|3":                                 `{"type":"integer","enum":[1,2,3]}`,
		"string, optional, a|a, max 9999999999999":                 `{"type":"string","description":"a|a, max 9999999999999"}`,
		"anything goes, default 3":                                 `{"type":"string","description":"anything goes, default 3"}`,
	} {
		if got := string(protocol.WriteJSON(conversion.ParamSchema(aidiscovery.ParseParam(text)), "")); got != want {
			t.Errorf("%q: %s\nwant %s", text, got, want)
		}
	}
}

// TestSkeletonVectors checks that every valid AI Discovery document becomes an AGIS document
// without errors.
func TestSkeletonVectors(t *testing.T) {
	files, err := filepath.Glob("../../protocol/aidiscovery/testdata/*valid/*.json")
	if err != nil || len(files) < 80 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	converted := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc, findings, err := aidiscovery.Parse(text, aidiscovery.Options{})
		if err != nil || len(doc.Capabilities) == 0 {
			if _, err := AIDiscoveryToAGIS(text, conversion.Options{}); err == nil {
				t.Errorf("%s: a document without capabilities was converted", file)
			}
			continue
		}
		for _, format := range []string{"yaml", "json"} {
			out, err := AIDiscoveryToAGIS(text, conversion.Options{URL: "https://example.com/.well-known/ai", Format: format})
			if err != nil {
				if len(errorsOf(findings)) == 0 {
					t.Errorf("%s: %v", file, err)
				}
				continue
			}
			converted++
			again, err := AIDiscoveryToAGIS(text, conversion.Options{URL: "https://example.com/.well-known/ai", Format: format})
			if err != nil || !bytes.Equal(out.Text, again.Text) {
				t.Errorf("%s: a second run gives another text (%v)", file, err)
			}
			d, findings, err := agis.Parse(out.Text, agis.Options{})
			if wrong := errorsOf(findings); err != nil || len(wrong) > 0 {
				t.Errorf("%s: %v, %v", file, err, wrong)
				continue
			}
			if len(d.Endpoints) == 0 || d.AGTP != "agtp://example.com" {
				t.Errorf("%s: %d endpoints at %s", file, len(d.Endpoints), d.AGTP)
			}
		}
	}
	if converted < 120 {
		t.Errorf("only %d conversions", converted)
	}
}

func FuzzSkeleton(f *testing.F) {
	f.Add([]byte(notesAI))
	f.Add([]byte(`{"aiendpoint":"1.0","capabilities":[{"id":"","endpoint":"//x/:a/{b}","params":{"a":"string[], required","b":"x (array[int], optional)"}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := AIDiscoveryToAGIS(text, conversion.Options{})
		if err != nil {
			return
		}
		_, findings, err := agis.Parse(out.Text, agis.Options{})
		if wrong := errorsOf(findings); err != nil || len(wrong) > 0 {
			t.Errorf("%v, %v\n%s", err, wrong, out.Text)
		}
	})
}

// errorsOf returns the error findings.
func errorsOf(findings []protocol.Finding) (out []protocol.Finding) {
	for _, f := range findings {
		if f.Severity == protocol.Error {
			out = append(out, f)
		}
	}
	return out
}
