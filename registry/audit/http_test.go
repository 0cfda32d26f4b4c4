package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/proof"
	"gazetteer/registry/audit/tiles"

	"golang.org/x/mod/sumdb/tlog"
)

// serve answers one request below a prefix, as the API mounts the handler.
func (h *fixture) serve(method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/log"+path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer := httptest.NewRecorder()
	http.StripPrefix("/log", handler(h.log)).ServeHTTP(answer, r)
	return answer
}

// handler answers errors with their text.
func handler(l *Log) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch err := l.Answer(w, r); {
		case err == nil:
		case errors.Is(err, ErrRange) || errors.Is(err, tiles.ErrNoFile):
			http.Error(w, err.Error(), http.StatusNotFound)
		case errors.Is(err, ErrClosed):
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			status := http.StatusInternalServerError
			if _, ok := errors.AsType[*QueryError](err); ok {
				status = http.StatusBadRequest
			}
			http.Error(w, err.Error(), status)
		}
	})
}

func TestHTTP(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 300)
	h.events(2, 0, 30)
	tests := []struct {
		path   string
		status int
		kind   string
		cache  string
		says   string
	}{
		{"/checkpoint", 200, "text/plain; charset=utf-8", "no-cache", origin + "\n330\n"},
		{"/key", 200, "text/plain; charset=utf-8", "no-cache", origin + "+"},
		{"/tile/0/000", 200, "application/octet-stream", cacheAlways, ""},
		{"/tile/0/001.p/74", 200, "application/octet-stream", cacheAlways, ""},
		{"/tile/0/001.p/3", 200, "application/octet-stream", cacheAlways, ""},
		{"/tile/1/000.p/1", 200, "application/octet-stream", cacheAlways, ""},
		{"/tile/entries/001.p/74", 200, "application/octet-stream", cacheHour, `"event":"updated"`},
		{"/entries?key=agent/AIR-0002", 200, "application/json", "no-cache", `"more":true`},
		{"/entries?key=agent/AIR-0002&limit=30", 200, "application/json", "no-cache", `"more":false`},
		{"/entries?key=agent/none", 200, "application/json", "no-cache", `"entries":[]`},
		{"/inclusion?index=3", 200, "application/json", "no-cache", `"checkpoint":"registry.example/log\n330`},
		{"/inclusion?index=3&size=5", 200, "application/json", "no-cache", `"size":5`},
		{"/inclusion?key=agent/AIR-0002", 200, "application/json", "no-cache", `"index":329`},
		{"/consistency?old=5", 200, "application/json", "no-cache", `"old":5,"new":330`},
		{"/consistency?old=0&new=5", 200, "application/json", "no-cache", `"hashes":[]`},
		{"/proof?index=3", 200, "text/plain; charset=utf-8", "no-cache", "c2sp.org/tlog-proof@v1\nindex 3\n"},
		{"/proof?key=" + url.QueryEscape(eventKey(2, 4)), 200, "text/plain; charset=utf-8", "no-cache", "index 304\n"},

		{"/", 404, "", "", "no such file"},
		{"/state", 404, "", "", "no such file"},
		{"/tile/0/001", 404, "", "", "no such file"},
		{"/tile/0/000/", 404, "", "", "no such file"},
		{"/tile/0/../../state", 404, "", "", "no such file"},
		{"/tile/0/%2e%2e/%2e%2e/state", 404, "", "", "no such file"},
		{"/tile/0/000%00", 404, "", "", "no such file"},
		{"/tile/entries/" + strings.Repeat("x999/", 1800) + "000", 404, "", "", "no such file"},
		{"/tile/0/%ff", 404, "", "", "no such file"},
		{"/inclusion", 400, "", "", "parameter index"},
		{"/inclusion?index=-1", 400, "", "", "parameter index"},
		{"/inclusion?index=01", 400, "", "", "without sign and leading zeros"},
		{"/inclusion?index=1&index=2", 400, "", "", "it is one decimal number"},
		{"/inclusion?index=99999999999999999999", 400, "", "", "parameter index"},
		{"/inclusion?index=330", 404, "", "", "leaf 330 in a tree of 330, the log has 330 leaves"},
		{"/inclusion?index=1&size=331", 404, "", "", "the log has 330 leaves"},
		{"/inclusion?key=agent/none", 404, "", "", "no leaf of agent/none"},
		{"/consistency", 400, "", "", "parameter old"},
		{"/consistency?old=6&new=5", 404, "", "", "from a tree of 6 to one of 5"},
		{"/consistency?old=1&new=1000", 404, "", "", "outside the log"},
		{"/entries", 400, "", "", "parameter key"},
		{"/entries?key=", 400, "", "", "parameter key"},
		{"/entries?key=" + strings.Repeat("k", 513), 400, "", "", "at most 512 bytes"},
		{"/entries?key=agent/AIR-0002&limit=0", 400, "", "", "between 1 and 100"},
		{"/entries?key=agent/AIR-0002&limit=101", 400, "", "", "between 1 and 100"},
	}
	for _, test := range tests {
		get := h.serve("GET", test.path)
		if test.kind == "" {
			test.kind = "text/plain; charset=utf-8"
		}
		if get.Code != test.status || get.Header().Get("Content-Type") != test.kind || get.Header().Get("Cache-Control") != test.cache || !strings.Contains(get.Body.String(), test.says) {
			t.Errorf("%.80s: %d %v\n%.300s", test.path, get.Code, get.Header(), get.Body)
		}
		if strings.Contains(get.Body.String(), h.dir) {
			t.Errorf("%.80s: the answer has a path of ours: %s", test.path, get.Body)
		}
		head := h.serve("HEAD", test.path)
		if head.Code != get.Code || head.Header().Get("ETag") != get.Header().Get("ETag") || test.status == 200 && head.Body.Len() > 0 {
			t.Errorf("%.80s: HEAD answers %d %v", test.path, head.Code, head.Header())
		}
		if test.status != 200 {
			continue
		}
		if again := h.serve("GET", test.path, "If-None-Match", get.Header().Get("ETag")); again.Code != 304 || again.Body.Len() > 0 {
			t.Errorf("%.80s: asked again: %d", test.path, again.Code)
		}
	}
	h.shut()
	if answer := h.serve("GET", "/checkpoint"); answer.Code != 503 {
		t.Errorf("closed: %d %v", answer.Code, answer.Header())
	}
}

// TestHTTPProofs checks the JSON answers with tlog alone.
func TestHTTPProofs(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 300)
	var inclusion struct {
		Entry struct {
			Index    int64
			Key      string
			LeafHash tlog.Hash `json:"leaf_hash"`
			Leaf     string
		}
		Size       int64
		Hashes     tlog.RecordProof
		Checkpoint string
	}
	h.decode("/inclusion?key="+eventKey(1, 42), &inclusion)
	c, err := checkpoint.Parse([]byte(inclusion.Checkpoint), h.verifier())
	if err != nil {
		t.Fatal(err)
	}
	if inclusion.Entry.Index != 42 || inclusion.Entry.Key != eventKey(1, 42) || tlog.RecordHash([]byte(inclusion.Entry.Leaf)) != inclusion.Entry.LeafHash {
		t.Errorf("the entry is %+v", inclusion.Entry)
	}
	if err := tlog.CheckRecord(inclusion.Hashes, c.N, c.Hash, 42, inclusion.Entry.LeafHash); err != nil {
		t.Error(err)
	}
	var consistency struct {
		Old, New int64
		Hashes   tlog.TreeProof
	}
	old := h.log.Head()
	h.events(1, 300, 400)
	h.decode(fmt.Sprintf("/consistency?old=%d", old.N), &consistency)
	if err := tlog.CheckTree(consistency.Hashes, consistency.New, h.log.Head().Hash, old.N, old.Hash); err != nil {
		t.Error(err)
	}
	text := h.serve("GET", "/proof?index=42").Body.Bytes()
	if p, _, err := proof.Check(text, []byte(inclusion.Entry.Leaf), h.verifier()); err != nil || p.Size != 400 {
		t.Errorf("%+v, %v", p, err)
	}
	h.shut()
}

func (h *fixture) decode(path string, v any) {
	h.t.Helper()
	if err := json.Unmarshal(h.serve("GET", path).Body.Bytes(), v); err != nil {
		h.t.Fatalf("%s: %v", path, err)
	}
}

// TestHTTPDamage requests damaged files: nothing is written, and the error says which leaf it is.
func TestHTTPDamage(t *testing.T) {
	h := newFixture(t)
	h.events(1, 0, 3)
	flip(t, h.dir+"/log/"+entriesFile, 40)
	for _, path := range []string{"/inclusion?index=0", "/tile/entries/000.p/3"} {
		answer := httptest.NewRecorder()
		err := h.log.Answer(answer, httptest.NewRequest("GET", path, nil))
		if _, damaged := errors.AsType[*tiles.DamagedError](err); !damaged || !strings.Contains(err.Error(), "leaf 0, ") || answer.Body.Len() > 0 {
			t.Errorf("%s: %v %s", path, err, answer.Body)
		}
	}
	h.shut()
}
