package crawler_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/fetch"
)

// A summary that differs from its full document is reported as long as it differs, whichever of the
// two is read again.
func TestSummaryIsComparedWithItsDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		full := func(verbs ...string) page {
			one := agisYAML[strings.Index(agisYAML, "  - method"):]
			text := strings.TrimSuffix(agisYAML, one)
			for _, verb := range verbs {
				text += strings.Replace(one, "BOOK", verb, 1)
			}
			return page{body: text, header: map[string]string{"Content-Type": "application/agis+yaml", "Cache-Control": "max-age=86400"}}
		}
		summaryOf := func(verbs string) http.Handler {
			tag := `"` + verbs[1:4] + `"`
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", tag)
				w.Header().Set("Cache-Control", "max-age=86400")
				if r.Header.Get("If-None-Match") == tag {
					w.WriteHeader(http.StatusNotModified)
					return
				}
				json200(`{"agis":"1.0","service":"Acme","agtp":"agtp://a.test","agis_document":"https://a.test/full.agis",
"methods":[`+verbs+`],"domain":"hospitality","namespace":"acme"}`).ServeHTTP(w, r)
			})
		}
		s := w.site("a.test", map[string]http.Handler{summaryPath: summaryOf(`"BOOK","FIND"`), "/full.agis": full("BOOK")})
		w.run()
		w.visit("a.test")
		want := func(when string, differs bool) {
			t.Helper()
			d := w.stored("a.test", document.AGISSummary)
			if d == nil {
				t.Fatalf("%s: no summary", when)
			}
			if got := slices.Contains(codesOf(d.Findings), document.CodeDiffers); got != differs {
				t.Errorf("%s: the summary has the findings %q; differs: want %v", when, codesOf(d.Findings), differs)
			}
		}
		later := func() {
			time.Sleep(27 * time.Hour)
			synctest.Wait()
		}
		want("at first", true)
		later()
		want("when the document is read again and the summary is unchanged", true)
		s.set("/full.agis", full("BOOK", "FIND"))
		later()
		want("when the document has caught up", false)
		s.set(summaryPath, summaryOf(`"FIND"`))
		later()
		want("when the summary has fallen behind", true)
		s.set("/full.agis", page{status: 404})
		later()
		want("when the document has gone", false)
	})
}

// TestDocumentGetsProtocolsOfSummary checks that the full document, whose operations are in the
// index, gets the interaction protocols of its summary, which alone can declare them, as long as
// the summary has them.
func TestDocumentGetsProtocolsOfSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		summary := func(more string) http.Handler {
			return json200(`{"agis":"1.0","service":"Acme","agtp":"agtp://a.test","agis_document":"https://a.test/full.agis","methods":["BOOK"]` + more + `}`)
		}
		full := page{body: agisYAML, header: map[string]string{"Content-Type": "application/agis+yaml", "Cache-Control": "max-age=86400"}}
		s := w.site("a.test", map[string]http.Handler{summaryPath: summary(`,"interaction_protocols":["request","negotiate"]`), "/full.agis": full})
		w.run()
		w.visit("a.test")
		want := func(when string, protocols ...string) {
			t.Helper()
			d := w.stored("a.test", document.AGIS)
			if d == nil || !slices.Equal(d.Service.Protocols, protocols) {
				t.Errorf("%s: %+v", when, d)
			}
		}
		later := func() {
			time.Sleep(27 * time.Hour)
			synctest.Wait()
		}
		want("at first", "request", "negotiate")
		later()
		want("when both are as before", "request", "negotiate")
		s.set(summaryPath, summary(`,"interaction_protocols":["query"]`))
		later()
		want("when the summary says otherwise", "query")
		s.set(summaryPath, summary(""))
		later()
		want("when it says nothing any more")
	})
}

// TestDocumentsContradict checks that a contradiction between the two documents of a host makes it
// inconsistent as long as it lasts, whichever of the two is read again.
func TestDocumentsContradict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		full := func(tier string) page {
			text := strings.Replace(agisYAML, "impact: reversible", "impact_tier: "+tier, 1)
			if !strings.Contains(text, tier) {
				t.Fatalf("no %s in %s", tier, text)
			}
			return page{body: text, header: map[string]string{"Content-Type": "application/agis+yaml", "Cache-Control": "max-age=86400"}}
		}
		ai := func(method string) http.Handler {
			return json200(`{"aiendpoint":"1.0","service":{"name":"Acme","description":"Tables."},"auth":{"type":"none"},"capabilities":[{"id":"book","description":"Books","endpoint":"/api/reservation","method":"` + method + `"}]}`)
		}
		s := w.site("a.test", map[string]http.Handler{"/.well-known/ai": ai("GET"), summaryPath: json200(`{"agis":"1.0","service":"Acme","agtp":"agtp://a.test","agis_document":"https://a.test/full.agis","methods":["BOOK"]}`), "/full.agis": full("irreversible")})
		w.run()
		w.visit("a.test")
		want := func(when string, contradicts bool) {
			t.Helper()
			d, track := w.stored("a.test", document.AI), w.host("a.test").Track
			if d == nil || track == nil {
				t.Fatalf("%s: no document", when)
			}
			verdict := conformance.Yes
			if contradicts {
				verdict = conformance.No
			}
			if got := slices.Contains(codesOf(d.Findings), document.CodeContradicts); got != contradicts || track.Standing.Consistent != verdict {
				t.Errorf("%s: findings %q, consistent %s", when, codesOf(d.Findings), track.Standing.Consistent)
			}
		}
		later := func() { // two visits: the documents may be due at different times
			time.Sleep(54 * time.Hour)
			synctest.Wait()
		}
		want("at first", true)
		later()
		want("when both are as before", true)
		s.set("/full.agis", full("reversible"))
		later()
		want("when the AGIS document is corrected", false)
		s.set("/full.agis", full("irreversible"))
		later()
		want("when it is as before", true)
		s.set("/.well-known/ai", ai("POST"))
		later()
		want("when the AI Discovery document is corrected", false)
	})
}

// A summary that is closed although the full document promises otherwise.
func TestClosedSummary(t *testing.T) {
	for _, c := range []struct {
		promise string
		codes   []string
	}{
		{"pre_auth_discovery: true", []string{"FETCH106", "WK111"}},
		{"pre_auth_discovery: false", []string{"FETCH106"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			s := w.site("a.test", map[string]http.Handler{
				summaryPath:  json200(summary("https://a.test/full.agis")),
				"/full.agis": page{body: agisYAML + c.promise + "\n", header: map[string]string{"Content-Type": "application/agis+yaml"}},
			})
			w.run()
			w.visit("a.test")
			s.set(summaryPath, page{status: 403})
			time.Sleep(27 * time.Hour)
			synctest.Wait()
			f := w.host("a.test").Fetches["agis-summary"]
			if got := codesOf(f.Findings); f.Outcome != fetch.Forbidden || !slices.Equal(got, c.codes) {
				t.Errorf("%s: %s with the findings %q, want %q", c.promise, f.Outcome, got, c.codes)
			}
			if w.stored("a.test", document.AGISSummary) == nil {
				t.Error("the summary is no longer known")
			}
		})
	}
}
