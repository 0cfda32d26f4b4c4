package eventstream_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/internal/eventstream"
	"gazetteer/internal/wait"
)

// answer is a response that notes when it was written to. It takes writes until failing is set.
type answer struct {
	header  http.Header
	begun   time.Time
	writes  []string // with the second of each
	limits  []time.Duration
	failing atomic.Bool
}

func (a *answer) Header() http.Header { return a.header }
func (a *answer) WriteHeader(int)     {}
func (a *answer) Flush()              {}

func (a *answer) Write(text []byte) (int, error) {
	if a.failing.Load() {
		return 0, io.ErrClosedPipe
	}
	a.writes = append(a.writes, time.Since(a.begun).String()+" "+string(text))
	return len(text), nil
}

func (a *answer) SetWriteDeadline(at time.Time) error {
	a.limits = append(a.limits, time.Until(at))
	return nil
}

func newAnswer() *answer { return &answer{header: http.Header{}, begun: time.Now()} }

// TestStream sends two events at once, one at a change, heartbeats, and ends at its time.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pending := make(chan string, 2)
		pending <- "a"
		pending <- "b"
		var changed wait.Broadcast
		watched := 0
		s := eventstream.Stream{
			Duration: 25 * time.Second, Every: 10 * time.Second, WriteTime: time.Minute, First: "first", Idle: "idle",
			Changed: func() (<-chan struct{}, func()) { watched++; return changed.Next(), func() { watched-- } },
			Next: func(context.Context) ([][]byte, bool, error) {
				if len(pending) == 0 {
					return nil, false, nil
				}
				return [][]byte{[]byte(<-pending)}, len(pending) > 0, nil
			},
		}
		time.AfterFunc(3*time.Second, func() {
			pending <- "c"
			changed.Notify()
		})
		w := newAnswer()
		s.Serve(w, (&http.Request{}).WithContext(t.Context()))
		want := []string{"0s first", "0s a", "0s b", "3s c", "10s idle", "20s idle"}
		if !slices.Equal(w.writes, want) || time.Since(w.begun) != 25*time.Second || watched != 0 {
			t.Errorf("%q in %s, %d watches left; want %q", w.writes, time.Since(w.begun), watched, want)
		}
		if slices.ContainsFunc(w.limits, func(d time.Duration) bool { return d != time.Minute }) || len(w.limits) != len(want) {
			t.Errorf("limits of the writes: %v", w.limits)
		}
		if got := w.header.Get("Content-Type") + " " + w.header.Get("Cache-Control"); got != "text/event-stream no-store" {
			t.Errorf("header fields %q", got)
		}
	})
}

// TestStreamEnds ends streams in each of the ways there are.
func TestStreamEnds(t *testing.T) {
	ending := make(chan struct{})
	for name, c := range map[string]struct {
		end   func(a *answer, leave context.CancelFunc)
		next  error
		after time.Duration
	}{
		"the client leaves":     {end: func(_ *answer, leave context.CancelFunc) { leave() }, after: time.Second},
		"the client is cut off": {end: func(a *answer, _ context.CancelFunc) { a.failing.Store(true) }, after: 10 * time.Second},
		"the server ends":       {end: func(*answer, context.CancelFunc) { close(ending) }, after: time.Second},
		"no events any more":    {end: func(*answer, context.CancelFunc) {}, next: errors.New("gone")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ending = make(chan struct{})
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				w := newAnswer()
				time.AfterFunc(time.Second, func() { c.end(w, leave) })
				w.header.Set("Content-Type", "text/event-stream; charset=utf-8")
				eventstream.Stream{
					Duration: time.Hour, Every: 10 * time.Second, WriteTime: time.Minute, Ending: ending,
					Next: func(context.Context) ([][]byte, bool, error) { return [][]byte{[]byte("event")}, false, c.next },
				}.Serve(w, (&http.Request{}).WithContext(ctx))
				if took := time.Since(w.begun); took != c.after {
					t.Errorf("it ended after %s, want %s", took, c.after)
				}
				if w.header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
					t.Error("the handler's own Content-Type was replaced")
				}
			})
		})
	}
}

// TestWriterCutsOffAClientThatDoesNotRead writes to a connection of net/http.
func TestWriterCutsOffAClientThatDoesNotRead(t *testing.T) {
	failed := make(chan error, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := eventstream.NewWriter(w, 50*time.Millisecond)
		text := []byte(strings.Repeat("x", 1<<20))
		for {
			if err := out.Send(text); err != nil {
				failed <- err
				return
			}
		}
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	defer func() { server.Close(); <-ended }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	var e net.Error
	if err := <-failed; !errors.As(err, &e) || !e.Timeout() {
		t.Errorf("error %v", err)
	}
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 200") {
		t.Errorf("%q, %v", line, err)
	}
}
