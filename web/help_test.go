package web_test

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"gazetteer/index/query"
)

// visit requests a page.
func (h *testServer) visit(t *testing.T, path string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+path, nil)
	must(t, err)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, string(text)
}

// TestHelpExamplesFindSomething checks that every example of the help page finds something on the
// small internet.
func TestHelpExamplesFindSomething(t *testing.T) {
	h := openTestServer(t)
	status, body := h.visit(t, "/help/search")
	page := parse(t, body)
	if status != http.StatusOK || strings.Contains(textOf(page), "nothing at present") {
		t.Errorf("status %d: %s", status, textOf(page))
	}
	run := 0
	for _, a := range elements(byID(page, "main"), "a") {
		href := attribute(a, "href")
		if href == "/docs#agtp" {
			continue // what the word means
		}
		target, err := url.Parse(href)
		must(t, err)
		if query := target.Query().Get("q"); query != textOf(a) || query == "" {
			t.Errorf("the example %q leads to the query %q", textOf(a), query)
		}
		status, body := h.visit(t, href)
		if found := elements(byID(parse(t, body), "found"), "article"); status != http.StatusOK || len(found) == 0 {
			t.Errorf("%s: status %d, %d operations", textOf(a), status, len(found))
		}
		run++
	}
	if run < 20 {
		t.Errorf("%d examples were run", run)
	}
}

// The help page names each key that the language has, and no other.
func TestHelpNamesEveryKey(t *testing.T) {
	_, err := query.Parse("nothing:x")
	var unknown *query.Error
	if !errors.As(err, &unknown) {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for word := range strings.FieldsSeq(strings.ReplaceAll(unknown.Help, ",", " ")) {
		if key, ok := strings.CutSuffix(word, ":"); ok {
			keys[key] = true
		}
	}
	page := parse(t, get(t, engine(t, sample{word: plainWord, hits: 1}), "/help/search").Body.String())
	for _, row := range elements(page, "tr") {
		if cells := elements(row, "td"); len(cells) == 2 {
			key := strings.TrimSuffix(textOf(elements(row, "th")[0]), ":")
			if !keys[key] || !strings.HasPrefix(textOf(cells[1]), key+":") {
				t.Errorf("the key %q has the example %q; the language has it: %v", key, textOf(cells[1]), keys[key])
			}
			delete(keys, key)
		}
	}
	if len(keys) > 0 {
		t.Errorf("the page does not name %v", keys)
	}
}

// guessedAddresses are addresses that people and programs try, with the page that they lead to.
var guessedAddresses = map[string]string{
	"/help": "/help/search", "/api": "/docs", "/api/v1": "/docs", "/schemas": "/docs/schema", "/register": "/agents#register", "/agents/register": "/agents#register", "/search": "/", "/favicon.ico": "/static/favicon-",
}

// TestGuessedAddresses checks that the addresses that people and programs try lead to a page.
func TestGuessedAddresses(t *testing.T) {
	h := engine(t, sample{word: plainWord, hits: 1})
	for path, want := range guessedAddresses {
		if w := get(t, h, path); w.Code != http.StatusFound || !strings.HasPrefix(w.Header().Get("Location"), want) {
			t.Errorf("%s answers %d to %q, want %q", path, w.Code, w.Header().Get("Location"), want)
		}
	}
	if got := get(t, h, "/search?q=book+a+table&verb=BOOK").Header().Get("Location"); got != "/?q=book+a+table&verb=BOOK" {
		t.Errorf("/search leads to %q without its query", got)
	}
	icon := get(t, h, get(t, h, "/favicon.ico").Header().Get("Location"))
	if icon.Code != http.StatusOK || icon.Header().Get("Content-Type") != "image/x-icon" {
		t.Errorf("/favicon.ico leads to %d, %s", icon.Code, icon.Header().Get("Content-Type"))
	}
}
