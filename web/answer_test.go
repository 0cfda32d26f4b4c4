package web_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/internal/testclock"
	"gazetteer/store"
	"gazetteer/web"
)

func TestEveryAnswerCarriesTheSecurityHeaders(t *testing.T) {
	h := engine(t, sample{word: plainWord, hits: 45})
	style := stylePath(t, h)
	paths := []string{style, "/agents?id=alice"}
	for _, p := range samplePages {
		paths = append(paths, p.path)
	}
	for _, path := range paths {
		w := get(t, h, path)
		policy := w.Header().Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "style-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy %q lacks %q", path, policy, want)
			}
		}
		// Scripts come from our own files only.
		if strings.Contains(policy, "unsafe") || !strings.Contains(policy, "; script-src 'self'; connect-src 'self';") {
			t.Errorf("%s: what the policy says of scripts: %q", path, policy)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: nosniff or the referrer policy is missing: %v", path, w.Header())
		}
	}
}

func TestUnchangedPageIsNotSent(t *testing.T) {
	h := engine(t, sample{word: plainWord, hits: 3})
	for _, path := range []string{"/", "/services/ristorante.test", "/agents/" + airID, stylePath(t, h)} {
		first := get(t, h, path)
		tag := first.Header().Get("ETag")
		if !strings.HasPrefix(tag, `"`) {
			t.Fatalf("%s: no strong tag: %q", path, tag)
		}
		for _, header := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
			again := get(t, h, path, "If-None-Match", header)
			if again.Code != http.StatusNotModified || again.Body.Len() > 0 || again.Header().Get("ETag") != tag {
				t.Errorf("%s with %s: status %d, %d bytes", path, header, again.Code, again.Body.Len())
			}
		}
		if other := get(t, h, path, "If-None-Match", `"other"`); other.Code != http.StatusOK {
			t.Errorf("%s with another tag: status %d", path, other.Code)
		}
	}
}

func TestHeadEqualsGetWithoutBody(t *testing.T) {
	h := engine(t, sample{word: plainWord, hits: 3})
	for _, path := range []string{"/", "/?q=book", "/services/ristorante.test", "/services/unknown.test", stylePath(t, h)} {
		full, head := get(t, h, path), ask(t, h, http.MethodHead, path)
		if head.Body.Len() != 0 {
			t.Errorf("%s: HEAD has a body", path)
		}
		for _, key := range []string{"ETag", "Content-Type", "Content-Length", "Cache-Control"} {
			if a, b := full.Header().Get(key), head.Header().Get(key); a != b {
				t.Errorf("%s: %s is %q with GET and %q with HEAD", path, key, a, b)
			}
		}
		if full.Code != head.Code || full.Header().Get("Content-Length") != fmt.Sprint(full.Body.Len()) {
			t.Errorf("%s: status %d and %d, length %s of %d", path, full.Code, head.Code, full.Header().Get("Content-Length"), full.Body.Len())
		}
	}
}

func TestOtherMethodsAreRefused(t *testing.T) {
	h := engine(t, sample{word: plainWord})
	for _, path := range []string{"/", "/services", "/agents"} {
		if w := ask(t, h, http.MethodPost, path); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: status %d", path, w.Code)
		}
	}
}

func TestPagesAreCompressed(t *testing.T) {
	h := engine(t, sample{word: plainWord, hits: 45})
	full, small := get(t, h, "/?q=book"), get(t, h, "/?q=book", "Accept-Encoding", "gzip")
	if small.Header().Get("Content-Encoding") != "gzip" || small.Body.Len()*4 > full.Body.Len() {
		t.Errorf("%q, %d bytes of %d", small.Header().Get("Content-Encoding"), small.Body.Len(), full.Body.Len())
	}
}

func TestStaticFilesAreImmutable(t *testing.T) {
	h := engine(t, sample{word: plainWord})
	w := get(t, h, stylePath(t, h))
	if w.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/css") {
		t.Errorf("headers %v", w.Header())
	}
	if strings.Contains(w.Body.String(), "url(") || strings.Contains(w.Body.String(), "@import") {
		t.Error("the style sheet asks for another file")
	}
}

// stylePath reads the address of the style sheet from a page.
func stylePath(t *testing.T, h http.Handler) string {
	t.Helper()
	for _, l := range elements(parse(t, get(t, h, "/agents").Body.String()), "link") {
		if attribute(l, "rel") == "stylesheet" {
			return attribute(l, "href")
		}
	}
	t.Fatal("no style sheet")
	return ""
}

func TestInternalErrorsHideDetails(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		says   string
	}{
		"a damaged record":    {fmt.Errorf("read doc/secret/path: %w", store.ErrCorrupt), 500, "The fault is ours"},
		"a rebuilding index":  {fmt.Errorf("search secret: %w", index.ErrUnavailable), 503, "being rebuilt"},
		"a closed store":      {fmt.Errorf("list secret: %w", store.ErrClosed), 503, "is restarting"},
		"an answer too late":  {fmt.Errorf("search secret: %w", context.DeadlineExceeded), 503, "did not arrive in time"},
		"an unexpected error": {errors.New("secret"), 500, "The fault is ours"},
	} {
		t.Run(name, func(t *testing.T) {
			h := engine(t, sample{word: plainWord, hits: 1, err: c.err})
			for _, path := range []string{"/", "/?q=book", "/services", "/services/ristorante.test", "/verbs", "/verbs/BOOK", "/agents/" + airID} {
				w := get(t, h, path)
				text := textOf(parse(t, w.Body.String()))
				if w.Code != c.status || !strings.Contains(text, c.says) {
					t.Errorf("%s: status %d, says %q", path, w.Code, text)
				}
				if strings.Contains(text, "secret") {
					t.Errorf("%s shows the error: %q", path, text)
				}
				if w.Header().Get("ETag") != "" || w.Header().Get("Cache-Control") != "no-store" {
					t.Errorf("%s: a failure may be kept: %v", path, w.Header())
				}
			}
		})
	}
}

// broken panics where the sample would answer.
type broken struct{ sample }

func (broken) Service(context.Context, string) (answer.Service, error) { panic("secret") }

func TestPanicGivesErrorPageAndLogLine(t *testing.T) {
	var log strings.Builder
	var panics atomic.Uint64
	h := mount(t, broken{sample{word: plainWord}}, web.Options{Log: slog.New(slog.NewTextHandler(&log, nil)), Panics: &panics})
	w := get(t, h, "/services/ristorante.test")
	if w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), "/services/:host") || strings.Contains(log.String(), "ristorante") {
		t.Errorf("the log says %q", log.String())
	}
	if n := panics.Load(); n != 1 {
		t.Errorf("%d panics are counted", n)
	}
}

func TestInvalidQueryIsMarked(t *testing.T) {
	h := engine(t, sample{word: plainWord, hits: 1})
	w := get(t, h, "/?q=book+verb%3A")
	page := parse(t, w.Body.String())
	var pre string
	for _, n := range elements(page, "pre") {
		pre = textOf(n)
	}
	shown, caret, ok := strings.Cut(pre, "\n")
	_, err := query.Parse("book verb:")
	var fault *query.Error
	if !errors.As(err, &fault) {
		t.Fatalf("the grammar takes the query: %v", err)
	}
	if w.Code != http.StatusBadRequest || !ok || !strings.HasPrefix(shown, "book verb:") || strings.Index(caret, "^") != fault.Offset {
		t.Errorf("status %d, caret at %d, want %d:\n%s", w.Code, strings.Index(caret, "^"), fault.Offset, pre)
	}
	for _, input := range elements(page, "input") {
		if attribute(input, "value") != "book verb:" {
			t.Errorf("the query is lost: %q", attribute(input, "value"))
		}
	}
}

func TestOtherSpellingsRedirect(t *testing.T) {
	h := engine(t, sample{word: plainWord})
	for path, want := range map[string]string{
		"/agents?id=" + airID: "/agents/" + airID,
		"/agents?id=alice":    "/agents/" + airID,
		"/agents/alice":       "/agents/" + airID,
	} {
		if w := get(t, h, path); w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
			t.Errorf("%s: status %d to %q, want %q", path, w.Code, w.Header().Get("Location"), want)
		}
	}
}

// counting counts how often the figures are counted.
type counting struct {
	sample
	counts *int
}

func (c counting) Figures(ctx context.Context) (answer.Figures, error) {
	*c.counts++
	return c.sample.Figures(ctx)
}

func TestFiguresAreCachedForSeconds(t *testing.T) {
	clock, counts := testclock.New(now), 0
	h := mount(t, counting{sample{word: plainWord}, &counts}, web.Options{Now: clock.Now})
	for range 3 {
		get(t, h, "/")
	}
	if counts != 1 {
		t.Errorf("counted %d times for three pages of one moment", counts)
	}
	clock.Advance(6 * time.Second)
	if get(t, h, "/"); counts != 2 {
		t.Errorf("counted %d times, want 2 after six seconds", counts)
	}
}

// BenchmarkPages measures a page from the request to its last byte, without the
// work of the store and the index behind it.
func BenchmarkPages(b *testing.B) {
	h := engine(b, sample{word: plainWord, hits: 45})
	for name, path := range map[string]string{"results": "/?q=book", "service": "/services/ristorante.test", "home": "/"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				get(b, h, path)
			}
		})
	}
}

// TestPagesDuringIndexBuild checks that while data may be missing each page says so, and none says
// that a name does not exist.
func TestPagesDuringIndexBuild(t *testing.T) {
	ready := false
	h := mount(t, sample{word: plainWord, hits: 3}, web.Options{
		Now: func() time.Time { return now }, Standing: func() api.ServerStatus { return api.ServerStatus{Ready: ready} },
	})
	const notice = "The index is being built"
	shown := []string{"/", "/?q=book+tables", "/verbs", "/verbs/BOOK", "/namespaces", "/data-classes/dining", "/services/ristorante.test"}
	absent := []string{"/namespaces/nobody", "/data-classes/nobody"}
	for _, path := range shown {
		if r := get(t, h, path); r.Code != 200 || !strings.Contains(r.Body.String(), notice) {
			t.Errorf("%s: %d, without the notice", path, r.Code)
		}
	}
	for _, path := range absent {
		if r := get(t, h, path); r.Code != 503 || r.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d", path, r.Code)
		}
	}
	ready = true
	for _, path := range shown {
		if r := get(t, h, path); r.Code != 200 || strings.Contains(r.Body.String(), notice) {
			t.Errorf("%s: %d, and the index is whole", path, r.Code)
		}
	}
	for _, path := range absent {
		if r := get(t, h, path); r.Code != 404 {
			t.Errorf("%s: %d, and the index is whole", path, r.Code)
		}
	}
}

// Any document can use a namespace: its page shows who uses it, with which right, and with which
// findings; that of a data class shows who holds it.
func TestNamePageListsServices(t *testing.T) {
	h := engine(t, sample{word: plainWord, hits: 3})
	for path, wants := range map[string][]string{
		"/namespaces/dining": {
			"Several owners use it hosts of 2 domains", "Easily confused", "d1ning", "Services and their evidence",
			"The name of its own domain. The namespace is the name of the domain dining.test.", "The name of another domain.",
		},
		"/data-classes/dining": {"Services that hold it", "Tables that are free. Sensitivity: low. Restricted access."},
	} {
		page := parse(t, get(t, h, path).Body.String())
		text := strings.Join(strings.Fields(textOf(page)), " ")
		for _, want := range wants {
			if !strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
				t.Errorf("%s does not say %q: %s", path, want, text)
			}
		}
		if strings.Contains(text, "Why") || strings.Contains(text, "your filters") {
			t.Errorf("%s gives a reason for what it lists: %s", path, text)
		}
		if second := textOf(parse(t, get(t, h, path+"?page=2").Body.String())); strings.Contains(second, "Who ") {
			t.Errorf("the second page of %s says it again", path)
		}
	}
}
