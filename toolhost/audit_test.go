package toolhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/internal/need"
	"gazetteer/protocol/altar"
	"gazetteer/store/boltstore"
)

// A line of the audit trail is what encoding/json writes, on one line.
func TestAuditLine(t *testing.T) {
	for _, entry := range []AuditEntry{
		{Time: time.Date(2026, 11, 23, 1, 2, 3, 40, time.UTC), Event: "end", Client: "me", Session: "s", Invocation: "i", Tool: "t"},
		{Event: "begin", Client: "a\"\n", Principal: "ü\x01", Tenant: "t", Session: "s", Invocation: "i", Tool: "t", Runtime: "rt", Outcome: "success", TookMS: 7, Parameters: json.RawMessage("{\n\"a\": 1\n}")},
	} {
		line, err := entry.appendLine(nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		if string(line) != string(want)+"\n" {
			t.Errorf("%s, want %s", line, want)
		}
	}
	if line, err := (&AuditEntry{Client: "\xff"}).appendLine(nil); err == nil {
		t.Errorf("a text that is no UTF-8 gives %q", line)
	}
}

// TestAuditDelay checks that an entry is in the file within 250 ms, without another that follows.
func TestAuditDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trail, err := openAudit(t.TempDir(), 1<<20, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- trail.writeEntries(ctx) }()
		for _, pause := range []time.Duration{0, 70 * time.Millisecond, 199 * time.Millisecond} {
			time.Sleep(pause) // the clock of the test
			name := pause.String()
			trail.addEntry(AuditEntry{Event: "end", Tool: name})
			time.Sleep(250 * time.Millisecond)
			text, err := os.ReadFile(trail.path)
			if err != nil || !strings.Contains(string(text), name) {
				t.Errorf("after 250 ms the file holds %q, %v; want the entry %s", text, err, name)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := trail.closeFile(); err != nil {
			t.Error(err)
		}
	})
}

// TestAuditThatCannotBeWritten checks that an irreversible call is refused when the disk is full, before
// a runtime has it, and that other calls continue.
func TestAuditThatCannotBeWritten(t *testing.T) {
	const full = "/dev/full"
	if _, err := os.Stat(full); err != nil {
		need.Missing(t, "this system has no %s", full)
	}
	ctx, dir := context.Background(), t.TempDir()
	if err := os.Symlink(full, filepath.Join(dir, auditFile)); err != nil {
		t.Fatal(err)
	}
	db, err := boltstore.Open(ctx, t.TempDir(), boltstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	h, err := Open(ctx, Options{Store: db, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- h.Run(running, 0) }()
	list, err := ReadContracts([]byte(`[{"name": "erase", "effect": "irreversible"}, {"name": "one", "effect": "informational"}]`))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.AddContracts(ctx, list); err != nil {
		t.Fatal(err)
	}
	conn := &frameLog{}
	r := connectRuntime(t, h, "rt", conn, `["one", "erase"]`)
	session, refused := h.CreateSession("me", altar.CreateSession{})
	if refused != nil {
		t.Fatal(refused)
	}
	call := altar.ToolCall{InvocationID: "i", ToolName: "erase"}
	_, refused = h.Call(ctx, "me", session.SessionID, call, false)
	if refused == nil {
		t.Fatal("the call needs no confirmation")
	}
	call.Confirmation, _ = refused.Details["confirmation"].(string)
	before := len(conn.frames)
	c, refused := h.Call(ctx, "me", session.SessionID, call, false)
	if refused != nil {
		t.Fatal(refused)
	}
	result, err := c.Wait(ctx)
	c.Leave()
	if err != nil || result.Error == nil || result.Error.Code != altar.InternalError || len(conn.frames) != before {
		t.Errorf("%+v, %v; %d frames were sent", result, err, len(conn.frames)-before)
	}
	c, refused = h.Call(ctx, "me", session.SessionID, altar.ToolCall{InvocationID: "j", ToolName: "one"}, false)
	if refused != nil {
		t.Fatal(refused)
	}
	r.Receive([]byte(`{"type":"ToolResult","invocation_id":"` + conn.lastCall(t) + `","status":"success","payload":1}`))
	if result, err := c.Wait(ctx); err != nil || string(result.Payload) != "1" {
		t.Errorf("%+v, %v", result, err)
	}
	c.Leave()
	stop()
	if err := <-ended; !errors.Is(err, syscall.ENOSPC) { // what was lost is reported
		t.Errorf("the host ends with %v", err)
	}
	if err := errors.Join(h.Close(), db.Close()); err != nil {
		t.Error(err)
	}
}

// A faultyFile fails as a test asks.
type faultyFile struct {
	auditWriter
	most  int // bytes that a write writes before it fails, -1 for all
	close error
}

func (f *faultyFile) Write(b []byte) (int, error) {
	if f.most < 0 || len(b) <= f.most {
		return f.auditWriter.Write(b)
	}
	n, err := f.auditWriter.Write(b[:f.most])
	return n, errors.Join(err, syscall.ENOSPC)
}

func (f *faultyFile) Close() error { return errors.Join(f.auditWriter.Close(), f.close) }

// TestAuditRecovers checks that the trail has every entry once and whole after writes that were cut off
// and after a file that could not be closed.
func TestAuditRecovers(t *testing.T) {
	trail, err := openAudit(t.TempDir(), 1000, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	write := func(fault *faultyFile, count int) error {
		for range count {
			n++
			trail.addEntry(AuditEntry{Event: "end", Tool: fmt.Sprint("tool", n)})
		}
		if fault != nil {
			fault.auditWriter = trail.file
			trail.file = fault
		}
		trail.writePending(true)
		if fault != nil && trail.file == fault {
			trail.file = fault.auditWriter
		}
		return trail.err
	}
	if err := write(&faultyFile{most: 200}, 3); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a write that is cut off: %v", err)
	}
	if err := write(&faultyFile{most: 0}, 0); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a write of nothing: %v", err)
	}
	if err := write(nil, 3); err != nil {
		t.Fatal(err)
	}
	if err := write(&faultyFile{most: -1, close: syscall.EIO}, 6); !errors.Is(err, syscall.EIO) {
		t.Fatalf("a rotation whose file cannot be closed: %v", err)
	}
	if err := write(nil, 1); err != nil {
		t.Fatalf("the next write: %v", err)
	}
	if err := trail.closeFile(); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for _, suffix := range []string{".1", ""} {
		part, err := os.ReadFile(trail.path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, part...)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, line := range lines {
		var e AuditEntry
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Tool != fmt.Sprint("tool", i+1) {
			t.Errorf("line %d is %q, %v", i+1, line, err)
		}
	}
	if len(lines) != n {
		t.Errorf("%d lines, want %d", len(lines), n)
	}
}

// TestAuditCountsLost checks that entries which find no room are counted, logged once, and not taken for
// written.
func TestAuditCountsLost(t *testing.T) {
	var log strings.Builder
	trail, err := openAudit(t.TempDir(), 1<<30, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	large := AuditEntry{Event: "end", Tool: strings.Repeat("x", 1<<20)}
	kept := uint64(0)
	var last uint64
	for range 12 {
		if last = trail.addEntry(large); last != noEntry {
			kept++
		}
	}
	if lost := trail.countLost(); kept == 12 || lost != 12-kept || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("%d of 12 are kept, %d lost; the log: %s", kept, lost, log.String())
	}
	trail.writePending(true)
	if err := trail.waitSynced(t.Context(), last); !errors.Is(err, errAuditLost) {
		t.Errorf("an entry that was dropped: %v", err)
	}
	if n := trail.addEntry(large); n != kept+1 {
		t.Errorf("the next entry has the number %d, want %d", n, kept+1)
	}
	trail.writePending(true)
	if err := errors.Join(trail.waitSynced(t.Context(), kept+1), trail.closeFile()); err != nil {
		t.Error(err)
	}
}
