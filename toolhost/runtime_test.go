package toolhost

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"gazetteer/protocol/altar"
)

// TestConnectionsCloseWithKind checks that a connection is closed as refused, or as one of a host that
// stops, whatever the reason says.
func TestConnectionsCloseWithKind(t *testing.T) {
	h := openHost(t, `[{"name": "one"}]`)
	announce := func(id string, conn Conn) {
		t.Helper()
		r := h.Attach(Identity{ID: "rt", Kind: RuntimeIdentity}, conn)
		t.Cleanup(r.Detach)
		r.Receive([]byte(`{"type": "AnnounceRuntime", "runtime_id": "` + id + `", "language": "go", "protocol_version": "1.0", "capabilities": []}`))
	}
	var foreign, connected, late frameLog
	announce("another", &foreign)
	announce("rt", &connected)
	if err := h.drainCalls(0); err != nil {
		t.Fatal(err)
	}
	announce("rt-2", &late)
	for name, c := range map[string]struct {
		conn *frameLog
		want CloseKind
	}{"the id of another": {&foreign, CloseRefused}, "a connected runtime": {&connected, CloseStopping}, "one that comes too late": {&late, CloseStopping}} {
		if !slices.Equal(c.conn.closed, []CloseKind{c.want}) {
			t.Errorf("%s is closed with %v, want %v", name, c.conn.closed, c.want)
		}
	}
}

// busyHandshake is a connection on which much happens before the runtime is acknowledged.
type busyHandshake struct {
	frameLog
	before func()
}

// Send implements [Conn].
func (c *busyHandshake) Send(frame []byte, lone bool) bool {
	if strings.Contains(string(frame), `"AcknowledgeRuntime"`) {
		c.before()
	}
	return c.frameLog.Send(frame, lone)
}

// TestAcknowledgmentComesFirst checks that nothing comes before AcknowledgeRuntime, although a session is
// made and the contracts change in between, and that the runtime is then asked about that session once.
func TestAcknowledgmentComesFirst(t *testing.T) {
	h := openHost(t, `[{"name": "one"}]`)
	var session string
	conn := &busyHandshake{}
	conn.before = func() {
		created, refused := h.CreateSession("me", altar.CreateSession{})
		if refused != nil {
			t.Fatal(refused)
		}
		session = created.SessionID
		if err := h.AddContracts(t.Context(), []ContractFile{{Contract: altar.Contract{Name: "two"}}}); err != nil {
			t.Fatal(err)
		}
	}
	r := h.Attach(Identity{ID: "rt", Kind: RuntimeIdentity}, conn)
	t.Cleanup(r.Detach)
	r.Receive([]byte(`{"type": "AnnounceRuntime", "runtime_id": "rt", "language": "go", "protocol_version": "1.0", "capabilities": []}`))
	want := []string{
		`{"type":"AcknowledgeRuntime","host_id":"` + h.id + `","protocol_version":"1.0.0"}`,
		`{"type":"RequestFulfillment"}`,
		`{"type":"RequestFulfillment","session_id":"` + session + `"}`,
	}
	if !slices.Equal(conn.frames, want) {
		t.Errorf("%s, want %s", conn.frames, want)
	}
}

// TestForeignTextsAreCutBetweenCharacters checks that the name of a tool and the language of a runtime
// are shortened without splitting a character.
func TestForeignTextsAreCutBetweenCharacters(t *testing.T) {
	h, conn := openHost(t, `[{"name": "one"}]`), &frameLog{}
	var log strings.Builder
	h.o.Log = slog.New(slog.NewTextHandler(&log, nil))
	long := "x" + strings.Repeat("ü", 200)
	r := h.Attach(Identity{ID: "rt", Kind: RuntimeIdentity}, conn)
	t.Cleanup(r.Detach)
	r.Receive([]byte(`{"type": "AnnounceRuntime", "runtime_id": "rt", "language": "` + long + `", "protocol_version": "1.0", "capabilities": []}`))
	r.Receive([]byte(`{"type": "FulfillTools", "tool_names": ["` + long + `"]}`))
	if text := log.String(); !strings.Contains(text, "üü…") || strings.Contains(text, `\x`) {
		t.Errorf("the log: %s", text)
	}
	text := strings.Join(conn.frames, "\n")
	if !strings.Contains(text, `"tool_name":"x`+strings.Repeat("ü", 69)+`…"`) {
		t.Errorf("the frames: %s", text)
	}
}
