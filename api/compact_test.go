package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gazetteer/api/operator"
	"gazetteer/store"
)

// TestCompact drops deletions and gives the space back, on the operator's side alone.
func TestCompact(t *testing.T) {
	h := newTestServer(t, options{})
	if _, err := h.store.Apply(t.Context(), store.Put("x/1", make([]byte, 100_000)), store.Put("x/2", nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Apply(t.Context(), store.Delete("x/1"), store.Put("x/3", nil)); err != nil {
		t.Fatal(err)
	}
	post := func(url string) (int, string) {
		t.Helper()
		response, err := plain.Post(url, jsonType, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var body json.RawMessage
		if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	var r operator.CompactResult
	status, body := post(h.admin + "/admin/compact")
	if err := json.Unmarshal([]byte(body), &r); status != 200 || err != nil || r.Forgotten != 0 || r.BytesAfter >= r.BytesBefore {
		t.Errorf("with the configured horizon: %d %s", status, body)
	}
	status, body = post(h.admin + "/admin/compact?keep=0s")
	if err := json.Unmarshal([]byte(body), &r); status != 200 || err != nil || r.Forgotten != 1 || r.Horizon != h.store.Horizon().Seq || r.Horizon == 0 {
		t.Errorf("without one: %d %s", status, body)
	}
	if status, body := post(h.admin + "/admin/compact?keep=-1h"); status != 400 || !strings.Contains(body, `"parameter":"keep"`) {
		t.Errorf("a time below zero: %d %s", status, body)
	}
	if status, _ := post(h.base + "/admin/compact"); status != http.StatusNotFound {
		t.Errorf("on the public side: %d", status)
	}
}

// TestStoreMetrics checks the metrics of the store's file and of its last compaction.
func TestStoreMetrics(t *testing.T) {
	h := newTestServer(t, options{})
	if _, err := h.store.Compact(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	h.api.MetricsHandler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		"gazetteer_store_bytes ", "gazetteer_store_free_bytes ", "gazetteer_store_horizon ", "gazetteer_store_compactions_total 1\n",
		"gazetteer_store_compaction_failures_total 0\n", "gazetteer_store_deletions_forgotten_total ", "gazetteer_store_last_compaction_pause_seconds ",
	} {
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("the metrics lack %q", want)
		}
	}
}
