package api_test

import (
	"strings"
	"testing"
)

// TestWitness checks the answers of a witness over HTTP. Package audit tests its checks before it
// cosigns, and cmd/gazetteer tests it between two programs.
func TestWitness(t *testing.T) {
	h := newTestServer(t, options{log: true})
	registerAgent(t, h)
	h.awaitLog()
	h.awaitCosignature()
	kept := string(h.get("/witness/checkpoint?origin=registry.example/log", 200).body)
	if !strings.HasPrefix(kept, "registry.example/log\n1\n") || !strings.Contains(kept, "— registry.example/witness ") {
		t.Errorf("what was cosigned: %s", kept)
	}
	if signed := string(h.get("/log/checkpoint", 200).body); !strings.Contains(signed, "— registry.example/witness ") {
		t.Errorf("the log's own checkpoint is without the cosignature: %s", signed)
	}
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"another log's checkpoint": {"GET", "/witness/checkpoint?origin=other.example/log", "", 404, `"parameter":"origin"`},
		"no request":               {"POST", "/witness/add-checkpoint", "x", 400, "it has no empty line before the checkpoint"},
		"a log that is not known":  {"POST", "/witness/add-checkpoint", "old 0\n\nother.example/log\n0\n", 404, "this witness does not know the log"},
		"more than a request has":  {"POST", "/witness/add-checkpoint", strings.Repeat("x", 1<<20), 413, "the body is larger than"},
		"not signed by the log":    {"POST", "/witness/add-checkpoint", "old 1\n\nregistry.example/log\n2\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n\n— x AAAAAAAA\n", 403, "is not signed with the key"},
		"the wrong method":         {"GET", "/witness/add-checkpoint", "", 405, "it takes"},
	} {
		r := h.request(c.method, c.path, c.body)
		if r.StatusCode != c.status || !strings.Contains(string(r.body), c.says) {
			t.Errorf("%s: %s %s, want %d and %q", name, r.Status, r.body, c.status, c.says)
		}
	}
	// A request that begins at another size than the last one gets the last size.
	again := h.request("POST", "/witness/add-checkpoint", "old 0\n\n"+kept[:strings.Index(kept, "— registry.example/witness ")])
	if again.StatusCode != 409 || string(again.body) != "1\n" || again.Header.Get("Content-Type") != "text/x.tlog.size" {
		t.Errorf("from the beginning again: %s %q", again.Status, again.body)
	}
}
