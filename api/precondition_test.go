package api_test

import (
	"strings"
	"testing"
)

// TestIfMatch checks that a change is made on the record that was read, or not at all.
func TestIfMatch(t *testing.T) {
	h := newTestServer(t, options{})
	a := registerAgent(t, h)
	path := "/api/v1/agents/" + a.AirID
	change := func(text, ifMatch, secret string) bufferedResponse {
		return h.request("PUT", path, `{"description": "`+text+`"}`, "Content-Type", jsonType, "X-Agent-Secret", secret, "If-Match", ifMatch)
	}
	read := h.get(path, 200).Header.Get("ETag")
	packed := h.request("GET", path, "", "Accept-Encoding", "gzip").Header.Get("ETag")
	for _, old := range []string{`"0"`, `W/` + read, strings.Trim(read, `"`), ``} {
		r := change("too late", old, a.Secret)
		if p := r.problem(t); r.StatusCode != 412 || p.Code != "other-version" || !strings.Contains(string(r.body), `"header":"If-Match"`) || !strings.Contains(p.Detail, read) {
			t.Errorf("If-Match: %s: %s %s", old, r.Status, r.body)
		}
	}
	if r := change("a stranger's", `"0"`, strings.Repeat("0", 32)); r.StatusCode != 401 && r.StatusCode != 403 {
		t.Errorf("who may not change it learns what it is: %s %s", r.Status, r.body)
	}
	if r := change("first", `"0", `+read, a.Secret); r.StatusCode != 200 {
		t.Errorf("with the tag that was read: %s %s", r.Status, r.body)
	}
	if r := change("second", packed, a.Secret); r.StatusCode != 412 {
		t.Errorf("with the tag of the record before: %s %s", r.Status, r.body)
	}
	if r := change("third", h.request("GET", path, "", "Accept-Encoding", "gzip").Header.Get("ETag"), a.Secret); r.StatusCode != 200 {
		t.Errorf("with the tag of the compressed form: %s %s", r.Status, r.body)
	}
	if r := change("fourth", "*", a.Secret); r.StatusCode != 200 {
		t.Errorf("with any: %s %s", r.Status, r.body)
	}
	if !strings.Contains(string(h.get(path, 200).body), `"description":"fourth"`) {
		t.Error("the last change is not there")
	}
}
