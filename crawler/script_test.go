package crawler_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
	"gazetteer/protocol"
	"gazetteer/store"
)

// notForCrawlers are the scripts whose codes are about what a person may do and
// the crawler does not.
var notForCrawlers = map[string]string{
	"http-start":         "it only ever asks https addresses",
	"alias-differs":      "it asks /ai after a 404 only",
	"not-found-no-alias": "the outcome says it all, so nothing is kept beside it",
}

// TestScripts plays the scripts of package fetch to the crawler: in memory, where
// time passes at once, and on sockets, where it does not matter.
func TestScripts(t *testing.T) {
	const valid = "../protocol/aidiscovery/testdata/valid/"
	var docs [2][]byte
	for i, name := range []string{"seed-8.1-minimal.json", "seed-8.2-full.json"} {
		var err error
		if docs[i], err = os.ReadFile(valid + name); err != nil {
			t.Fatal(err)
		}
	}
	scripts, err := fakenet.ReadScripts("../fetch/testdata/transport.json", docs[0], docs[1])
	if err != nil || len(scripts) != 25 {
		t.Fatalf("%d scripts, %v; want 25", len(scripts), err)
	}
	for _, s := range scripts {
		t.Run(s.ID, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorldOf(t, fakenet.Options{Empty: true, Memory: true})
				w.play(s)
				time.Sleep(40 * time.Minute) // the time of all tries
				synctest.Wait()
				w.judge(s)
				w.wantPolite(0)
			})
		})
		if strings.HasPrefix(s.ID, "slow-") || strings.HasPrefix(s.ID, "server-error-") {
			continue
		}
		t.Run(s.ID+" on sockets", func(t *testing.T) {
			w := newWorldOf(t, fakenet.Options{Empty: true})
			w.play(s)
			w.judge(s)
		})
	}
}

// play visits the host that a script begins with.
func (w *world) play(s fakenet.Script) {
	w.t.Helper()
	if err := w.net.Play(s); err != nil {
		w.t.Fatal(err)
	}
	w.run()
	w.visit(hostOf(w.t, s))
}

func hostOf(t *testing.T, s fakenet.Script) string {
	t.Helper()
	u, err := url.Parse(s.Start)
	if err != nil {
		t.Fatal(err)
	}
	return u.Hostname()
}

// judge compares the store and the servers' records with the script.
func (w *world) judge(s fakenet.Script) {
	t := w.t
	t.Helper()
	if err := s.CheckRequests(w.net.Requests()); err != nil {
		t.Error(err)
	}
	if s.ID == "http-start" {
		return
	}
	host := hostOf(t, s)
	f, d := w.host(host).Fetches[string(document.AI)], w.stored(host, document.AI)
	word := scriptWord(f.Outcome)
	if alias := w.stored(host, document.AIAlias); f.Outcome == fetch.Absent && alias != nil {
		word, d = "alias-only", alias
	}
	if word != s.Expect.Outcome {
		t.Errorf("outcome %q (%s: %s), want %q", word, f.Outcome, f.Detail, s.Expect.Outcome)
	}
	findings := f.Findings
	if d != nil {
		findings = d.Findings
		if !d.Valid() || d.Level != 1 {
			t.Errorf("the document has level %d", d.Level)
		}
		if len(f.Findings) > 0 {
			t.Errorf("findings of a document are kept with its fetch: %v", f.Findings)
		}
	}
	if (d != nil) != (word == "document" || word == "alias-only") {
		t.Errorf("a document is stored: %v", d != nil)
	}
	if why, skip := notForCrawlers[s.ID]; skip {
		if got := transportCodes(findings, protocol.Error); len(got) > 0 {
			t.Errorf("codes %q, want none: %s", got, why)
		}
	} else {
		for severity, want := range map[protocol.Severity][]string{protocol.Error: s.Expect.Codes, protocol.Warning: s.Expect.Warnings} {
			if got := transportCodes(findings, severity); !slices.Equal(got, want) && len(got)+len(want) > 0 {
				t.Errorf("%s codes %q, want %q (%s: %s)", severity, got, want, f.Outcome, f.Detail)
			}
		}
	}
	if s.Expect.Identity == "" || d == nil {
		return
	}
	if d.Host != s.Expect.Identity || d.Operations[0].Call.URL != s.Expect.Base+"/api/notes" {
		t.Errorf("filed under %s, called at %s; want %s and %s", d.Host, d.Operations[0].Call.URL, s.Expect.Identity, s.Expect.Base)
	}
}

// scriptWord is an outcome in the words of the scripts.
func scriptWord(o fetch.Outcome) string {
	switch o {
	case fetch.OK:
		return "document"
	case fetch.Absent:
		return "absent"
	case fetch.ServerError, fetch.Throttled:
		return "retry-later"
	}
	return "refused"
}

// transportCodes returns the codes of findings about the fetch, which have no
// place in a text.
func transportCodes(findings []protocol.Finding, severity protocol.Severity) []string {
	var out []string
	for _, f := range findings {
		if f.Severity == severity && (strings.HasPrefix(f.Code, "AI1") || strings.HasPrefix(f.Code, "FETCH")) {
			out = append(out, f.Code)
		}
	}
	return out
}

func TestFindingsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		broken := strings.Replace(ai("A"), `"POST"`, `"FETCH"`, 1)
		s := w.site("a.test", map[string]http.Handler{
			aiPath:      page{body: broken, header: map[string]string{"Cache-Control": "max-age=3600"}},
			summaryPath: page{status: 403},
		})
		w.run()
		w.visit("a.test")
		d := w.stored("a.test", document.AI)
		if got := codesOf(d.Findings); d.Level != 0 || got[0] != "AI109" || !slices.Contains(got, "AI418") {
			t.Errorf("level %d, codes %q; want the missing charset and the method among them", d.Level, got)
		}
		h := w.host("a.test")
		if got := codesOf(h.Fetches["agis-summary"].Findings); !slices.Equal(got, []string{"FETCH106"}) {
			t.Errorf("of a refused summary %q is kept", got)
		}
		if len(h.Fetches["ai"].Findings) > 0 {
			t.Errorf("the findings of a document are kept twice: %v", h.Fetches["ai"].Findings)
		}

		// A document that can no longer be read leaves all its findings with the fetch.
		s.set(aiPath, page{body: `{"aiendpoint":"1.0","service":{},"service":{},`, header: map[string]string{"Content-Type": "application/json; charset=utf-8"}})
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if w.stored("a.test", document.AI) != nil {
			t.Error("the document is still stored")
		}
		f := w.host("a.test").Fetches["ai"]
		if got := codesOf(f.Findings); f.Outcome != fetch.Unreadable || !slices.Equal(got, []string{"AI111", f.Detail[:5]}) {
			t.Errorf("%s: %q, codes %q", f.Outcome, f.Detail, got)
		}
	})
}

// TestFindingsAreKeptWithTheVersion checks that each stored version keeps its findings: of the
// transport, of the document, and of the comparison of a summary with its full document.
func TestFindingsAreKeptWithTheVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		broken := strings.Replace(ai("A"), `"POST"`, `"FETCH"`, 1)
		s := w.site("a.test", map[string]http.Handler{
			aiPath: page{body: broken, header: map[string]string{"Cache-Control": "max-age=3600"}},
			summaryPath: json200(`{"agis":"1.0","service":"Acme","agtp":"agtp://a.test","agis_document":"https://a.test/full.agis",
"methods":["BOOK","FIND"],"domain":"hospitality","namespace":"acme"}`),
			"/full.agis": page{body: agisYAML, header: map[string]string{"Content-Type": "application/agis+yaml"}},
		})
		w.run()
		w.visit("a.test")
		s.set(aiPath, json200(ai("B")))
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		versions := func(kind document.Kind) (out []crawler.Version) {
			for r, err := range w.store.List(t.Context(), store.VersionsOf("a.test", string(kind)), "") {
				var v crawler.Version
				if err == nil {
					err = json.Unmarshal(r.Value, &v)
				}
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, v)
			}
			return out
		}
		of := versions(document.AI)
		if len(of) != 2 {
			t.Fatalf("%d versions, want 2", len(of))
		}
		if got := codesOf(of[0].Findings); !slices.Contains(got, "AI109") || !slices.Contains(got, "AI418") || of[0].Level != 0 {
			t.Errorf("of the first version %q is kept, level %d", got, of[0].Level)
		}
		if got := codesOf(of[1].Findings); slices.Contains(got, "AI418") {
			t.Errorf("of the second version %q is kept", got)
		}
		if got := codesOf(versions(document.AGISSummary)[0].Findings); !slices.Contains(got, document.CodeDiffers) {
			t.Errorf("of the summary %q is kept, want %s among them", got, document.CodeDiffers)
		}
	})
}

// codesOf lists the codes of findings.
func codesOf(findings []protocol.Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.Code)
	}
	return out
}
