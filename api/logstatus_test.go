package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/air"
	"gazetteer/api/operator"
	"gazetteer/document"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/audittest"
	"gazetteer/registry/audit/leafform"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// A fullStore refuses writes, as below the floor of free space.
type fullStore struct{ *boltstore.Store }

func (fullStore) CheckWrites() error { return store.ErrFull }

// openSilentLog gives the server a transparency log whose lock does not answer, and returns its
// directory.
func (h *testServer) openSilentLog() (dir string) {
	h.t.Helper()
	dir = filepath.Join(h.t.TempDir(), "log")
	silent := httptest.NewServer(http.NotFoundHandler())
	silent.Close()
	lock, err := audit.ParseCosigner(audittest.NewKey(h.t, "lock.test").PublicWitness() + " " + silent.URL)
	if err != nil {
		h.t.Fatal(err)
	}
	h.openLogIn(dir, &lock)
	return dir
}

// openLogIn gives the server a transparency log in a directory.
func (h *testServer) openLogIn(dir string, lock *audit.Cosigner) {
	h.t.Helper()
	log, err := audit.Open(h.t.Context(), audit.Options{Dir: dir, Store: h.store, Key: audittest.NewKey(h.t, "registry.example/log"), Lock: lock})
	if err != nil {
		h.t.Fatal(err)
	}
	h.answers.Log = log
	h.t.Cleanup(func() {
		if err := log.Close(); err != nil {
			h.t.Error(err)
		}
	})
	h.runUntilEnd("follow the store into the log", log.Run)
}

// awaitLogStatus waits until the log has a status.
func (h *testServer) awaitLogStatus(reached func(audit.Status) bool) {
	h.t.Helper()
	for end := time.Now().Add(patience); !reached(h.answers.Log.Status()); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			h.t.Fatalf("the log is at %+v", h.answers.Log.Status())
		}
	}
}

// TestSilentLockBesideFullDisk checks that a log whose lock does not answer is a problem of its own
// while the store refuses writes, and that every place reports content that could not be erased.
func TestSilentLockBesideFullDisk(t *testing.T) {
	h := newTestServer(t, options{})
	dir := h.openSilentLog()
	registerAgent(t, h)
	h.awaitLogStatus(func(s audit.Status) bool { return errors.Is(s.Blocked, audit.ErrLock) })
	h.answers.Store = fullStore{h.store}
	var status api.ServerStatus
	decodeInto(t, h.get("/api/v1/status", 200), &status)
	for _, kind := range []string{"write: ", "sign: "} {
		if !slices.ContainsFunc(status.Work.Problems, func(p string) bool { return strings.HasPrefix(p, kind) }) {
			t.Errorf("no problem %q: %q", kind, status.Work.Problems)
		}
	}
	if p := h.get("/readyz?work=sign", 503).problem(t); !strings.HasPrefix(p.Detail, "sign: ") || !strings.HasSuffix(p.Detail, ": the witness that is its lock does not answer, or refuses") {
		t.Errorf("readyz?work=sign says %q", p.Detail)
	}
	if answer := h.requestAt(h.admin, "GET", "/admin/registry", nil); !strings.Contains(string(answer.body), `"log_blocked":"the lock of the log has not cosigned: lock.test: `) {
		t.Errorf("the operator does not read the cause: %s", answer.body)
	}

	e, err := os.OpenFile(filepath.Join(dir, "rows"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.WriteAt([]byte{0xff}, 20); err != nil { // in the row of the first leaf
		t.Fatal(err)
	}
	for r, err := range h.store.List(t.Context(), store.AgentPrefix, "") {
		if err != nil {
			t.Fatal(err)
		}
		if !leafform.HistoryKey(r.Key) {
			continue
		}
		if _, err := h.store.Apply(t.Context(), store.Delete(r.Key)); err != nil {
			t.Fatal(err)
		}
	}
	h.awaitLogStatus(func(s audit.Status) bool { return s.Unerased == 1 })
	decodeInto(t, h.get("/api/v1/status", 200), &status)
	if status.Log.Unerased != 1 {
		t.Errorf("the status: %+v", status.Log)
	}
	const want = "content of deleted records is still in the transparency log"
	var own operator.OperatorStatus
	if err := json.Unmarshal(h.requestAt(h.admin, "GET", "/admin/status", nil).body, &own); err != nil || !strings.HasPrefix(own.Unerased, want) || !strings.Contains(own.Unerased, "the row of leaf 0 does not match its checksum") {
		t.Errorf("the operator's status: %q, %v", own.Unerased, err)
	}
	var registry air.RegistryStatus
	if err := json.Unmarshal(h.requestAt(h.admin, "GET", "/admin/registry", nil).body, &registry); err != nil || registry.Unerased != own.Unerased {
		t.Errorf("the registry's status: %q, %v", registry.Unerased, err)
	}
}

// TestErasedLeavesHaveNoTime checks that neither an erased leaf nor the leaf that lists it shows the time of
// what was erased.
func TestErasedLeavesHaveNoTime(t *testing.T) {
	h := newTestServer(t, options{log: true})
	h.publish("gone.example", document.AI, "application/json", aiText("Gone"), seen)
	h.awaitLog()
	for record, err := range h.store.List(t.Context(), store.VersionsOf("gone.example", string(document.AI)), "") {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.store.Apply(t.Context(), store.Delete(record.Key)); err != nil {
			t.Fatal(err)
		}
	}
	h.awaitLog()
	status, err := h.answers.LogStatus(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, l := range status.Newest {
		if l.Erased || l.Deleted {
			found++
			if !l.At.IsZero() {
				t.Errorf("leaf %d has the time %s: %+v", l.Index, l.At, l)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d leaves are about the erasure: %+v", found, status.Newest)
	}
}
