package toolhost

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"gazetteer/internal/wait"
	"gazetteer/protocol/altar"
)

// An AuditEntry is one line of the audit trail: who called what, when, and the outcome. It has the
// parameters only if the operator has switched that on.
type AuditEntry struct {
	Time       time.Time       `json:"time"`
	Event      string          `json:"event"` // begin (of irreversible calls) or end
	Client     string          `json:"client"`
	Principal  string          `json:"principal_id,omitempty"`
	Tenant     string          `json:"tenant_id,omitempty"`
	Session    string          `json:"session_id"`
	Invocation string          `json:"invocation_id"`
	Tool       string          `json:"tool"`
	Runtime    string          `json:"runtime,omitempty"`
	Outcome    string          `json:"outcome,omitempty"` // success, or an error code
	TookMS     int64           `json:"took_ms,omitempty"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

// entryOf describes a call. The caller holds inv.mu, or is the only one who knows inv.
func (h *Host) entryOf(inv *invocation, event string, err *altar.Error) AuditEntry {
	e := AuditEntry{
		Time: h.o.Now().UTC(), Event: event, Client: inv.session.client, Principal: inv.session.context.PrincipalID, Tenant: inv.session.context.TenantID,
		Session: inv.session.id, Invocation: inv.id, Tool: inv.contract.Name, Parameters: inv.details,
	}
	if inv.runtime != nil {
		e.Runtime = inv.runtime.id
	}
	if event == "end" {
		e.TookMS, e.Outcome = time.Since(inv.begun).Milliseconds(), altar.Success
		if err != nil {
			e.Outcome = string(err.Code)
		}
	}
	return e
}

// appendLine appends the entry as a line of JSON. It writes what encoding/json would, in a fifth of the
// time: every call has an entry.
func (e *AuditEntry) appendLine(b []byte) ([]byte, error) {
	b = append(b, `{"time":"`...)
	b = e.Time.AppendFormat(b, time.RFC3339Nano)
	b = append(b, '"')
	for _, member := range [...]struct {
		name, value string
		always      bool
	}{
		{"event", e.Event, true}, {"client", e.Client, true}, {"principal_id", e.Principal, false}, {"tenant_id", e.Tenant, false}, {"session_id", e.Session, true},
		{"invocation_id", e.Invocation, true}, {"tool", e.Tool, true}, {"runtime", e.Runtime, false}, {"outcome", e.Outcome, false},
	} {
		if member.value == "" && !member.always {
			continue
		}
		b = append(b, `,"`...)
		b = append(b, member.name...)
		b = append(b, `":`...)
		var err error
		if b, err = jsontext.AppendQuote(b, member.value); err != nil {
			return nil, err
		}
	}
	if e.TookMS != 0 {
		b = strconv.AppendInt(append(b, `,"took_ms":`...), e.TookMS, 10)
	}
	if len(e.Parameters) > 0 {
		begin := len(b)
		b = append(append(b, `,"parameters":`...), e.Parameters...)
		if parameters := jsontext.Value(b[begin+len(`,"parameters":`):]); bytes.ContainsAny(parameters, "\r\n") {
			if err := parameters.Compact(); err != nil {
				return nil, err
			}
			b = append(b[:begin+len(`,"parameters":`)], parameters...)
		}
	}
	return append(b, "}\n"...), nil
}

const (
	auditFile = "calls.log"
	// auditFiles is how many files there are at most: calls.log, calls.log.1 and so on.
	auditFiles = 4
	// auditDelay is how long an entry may wait to be written.
	auditDelay = 200 * time.Millisecond
	// maxAuditWaiting bounds the bytes that wait; more are dropped, counted and logged.
	maxAuditWaiting = 8 << 20
	// noEntry is the number of an entry that was dropped.
	noEntry = math.MaxUint64
)

var errAuditLost = errors.New("the entry of the audit trail was dropped: too many wait to be written")

// auditTrail appends entries to a file. Entries wait in memory for a short time, so that calls do not
// wait for the disk; sync waits until an entry is on it.
type auditTrail struct {
	path string
	max  int64
	log  *slog.Logger
	wake chan struct{} // a sync waits

	// Owned by writeEntries once that runs.
	file auditWriter // nil when it could not be opened again
	size int64       // of its whole entries
	torn bool        // the file goes on after size with a part of an entry

	mu      sync.Mutex // guards the following fields
	buffer  []byte
	pending bytes.Buffer
	added   uint64         // entries so far
	synced  uint64         // entries that are on the disk
	lost    uint64         // entries that were dropped
	losing  bool           // the last entry was dropped
	err     error          // of the last write
	grown   wait.Broadcast // notified when synced grows or a write fails
	stopped bool
}

// An auditWriter is an open file.
type auditWriter interface {
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
}

func openAudit(dir string, max int64, log *slog.Logger) (*auditTrail, error) {
	t := &auditTrail{path: filepath.Join(dir, auditFile), max: max, log: log, wake: make(chan struct{}, 1)}
	return t, t.openFile()
}

func (t *auditTrail) openFile() error {
	f, err := os.OpenFile(t.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	t.file, t.size, t.torn = f, info.Size(), false
	return nil
}

// addEntry takes an entry and returns its number, noEntry if it is dropped.
func (t *auditTrail) addEntry(e AuditEntry) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var line []byte
	err := errAuditLost
	if t.pending.Len() <= maxAuditWaiting {
		line, err = e.appendLine(t.pending.AvailableBuffer())
	}
	if err != nil {
		t.lost++
		if !t.losing {
			t.log.Error("entries of the audit trail are lost", "error", err)
		}
		t.losing = true
		return noEntry
	}
	t.pending.Write(line)
	t.added, t.losing = t.added+1, false
	return t.added
}

// countLost returns how many entries were dropped.
func (t *auditTrail) countLost() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lost
}

// waitSynced waits until an entry is on the disk. An error means that it may not be.
func (t *auditTrail) waitSynced(ctx context.Context, entry uint64) error {
	if entry == noEntry {
		return errAuditLost
	}
	for {
		t.mu.Lock()
		done, err, stopped, grown := t.synced >= entry, t.err, t.stopped, t.grown.Next()
		t.mu.Unlock()
		switch {
		case done:
			return nil
		case err != nil:
			return err
		case stopped:
			return errors.New("the audit trail is closed")
		}
		select {
		case t.wake <- struct{}{}:
		default:
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// writeEntries writes entries until ctx ends, and then the remaining ones.
func (t *auditTrail) writeEntries(ctx context.Context) error {
	ticker := time.NewTicker(auditDelay)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			t.writePending(true)
			t.mu.Lock()
			defer t.mu.Unlock()
			t.stopped = true
			t.grown.Notify()
			return t.err
		case <-t.wake:
			t.writePending(true)
		case <-ticker.C:
			t.writePending(false)
		}
	}
}

// writePending writes what waits; with sync it is on the disk afterwards. What a write that fails has
// not written is tried again with the next entries.
func (t *auditTrail) writePending(sync bool) {
	t.mu.Lock()
	t.buffer = append(t.buffer[:0], t.pending.Bytes()...)
	number := t.added
	t.mu.Unlock()
	written, err := t.writeBuffer()
	if err == nil && sync {
		err = t.file.Sync()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
	t.pending.Next(written)
	if err == nil && sync {
		t.synced = number
	}
	if err != nil {
		t.err = fmt.Errorf("write the audit trail: %w", err)
	}
	if sync || err != nil {
		t.grown.Notify()
	}
}

// writeBuffer writes the buffer and returns the length of the entries that it has written whole. The
// rest of an entry that was cut off is removed from the file, at the next write if not now.
func (t *auditTrail) writeBuffer() (written int, err error) {
	if t.file == nil {
		if err := t.openFile(); err != nil {
			return 0, err
		}
	}
	if err := t.removeTorn(); err != nil {
		return 0, err
	}
	if err := t.rotateFiles(int64(len(t.buffer))); err != nil || len(t.buffer) == 0 {
		return 0, err
	}
	n, err := t.file.Write(t.buffer)
	written = bytes.LastIndexByte(t.buffer[:n], '\n') + 1
	t.size += int64(written)
	if t.torn = n > written; t.torn {
		err = errors.Join(err, t.removeTorn())
	}
	return written, err
}

// removeTorn removes the part of an entry at the end of the file.
func (t *auditTrail) removeTorn() error {
	if !t.torn {
		return nil
	}
	err := t.file.Truncate(t.size)
	t.torn = err != nil
	return err
}

// rotateFiles begins another file when the current one is full. The oldest is removed. After an error
// the next write opens the file again.
func (t *auditTrail) rotateFiles(more int64) error {
	if t.size == 0 || t.size+more <= t.max {
		return nil
	}
	if err := t.closeFile(); err != nil {
		return err
	}
	for i := auditFiles - 1; i > 0; i-- {
		from := t.path
		if i > 1 {
			from = fmt.Sprintf("%s.%d", t.path, i-1)
		}
		if err := os.Rename(from, fmt.Sprintf("%s.%d", t.path, i)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return t.openFile()
}

func (t *auditTrail) closeFile() error {
	if t.file == nil {
		return nil
	}
	err := t.file.Close()
	t.file = nil
	return err
}
