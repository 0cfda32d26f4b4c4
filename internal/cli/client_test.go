package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/internal/exit"
	"gazetteer/internal/privatefile"
	"gazetteer/internal/server"
	"gazetteer/internal/teststore"
	"gazetteer/store"
	"gazetteer/store/boltstore"
	"gazetteer/store/follow"
)

// An awaitedIndex is an index that follows as the test moves it.
type awaitedIndex struct {
	follow.Position
	failure error
}

func (x *awaitedIndex) Failure() error { return x.failure }

// TestCommandWaitsForSlowIndex checks that a command waits for an index that is built for minutes
// without a visible step, but not for one that cannot be written.
func TestCommandWaitsForSlowIndex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told strings.Builder
		a := &App{Streams: Streams{Err: &told}}
		slow := new(awaitedIndex)
		begun := time.Now()
		time.AfterFunc(10*time.Minute, func() { slow.MoveTo(store.Cursor{Seq: 7}) })
		if err := a.awaitIndex(t.Context(), slow, 7); err != nil || time.Since(begun) != 10*time.Minute {
			t.Errorf("a slow index: %v after %v", err, time.Since(begun))
		}
		if told.String() != "Waiting for the index, which is being built.\n" {
			t.Errorf("a slow index: %q", told.String())
		}
		told.Reset()
		if err := a.awaitIndex(t.Context(), &awaitedIndex{failure: errors.New("there is no room")}, 7); err != nil {
			t.Errorf("an index that cannot be written: %v", err)
		}
		if text := told.String(); !strings.HasSuffix(text, "missing from it: there is no room\n") {
			t.Errorf("an index that cannot be written: %q", text)
		}
	})
}

// A releasingWriter closes a store when something is written to it.
type releasingWriter struct{ store io.Closer }

func (w releasingWriter) Write(p []byte) (int, error) { return len(p), w.store.Close() }

// TestCommandOutlivesStoppingServer checks that a command takes over a directory whose server has no
// socket any more, as soon as its process releases the directory.
func TestCommandOutlivesStoppingServer(t *testing.T) {
	dir := t.TempDir()
	stopping, err := boltstore.Open(t.Context(), dir, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := &App{Streams: Streams{Out: io.Discard, Err: releasingWriter{stopping}}, DataDir: dir, Settings: []string{"log_level=error"}}
	begun := time.Now()
	err = a.WithServer(t.Context(), Operate, func(*Client) error { return nil })
	if took := time.Since(begun); err != nil || took > socketTime/2 {
		t.Errorf("%v after %v", err, took)
	}
}

// TestForgottenDocumentsAreResolvedAnew checks that a client tells the server, which caches documents,
// not to answer with one that a recipient or a signature proves to be old.
func TestForgottenDocumentsAreResolvedAnew(t *testing.T) {
	const id = "did:wba:far.example:agents:AIR-7G3K-M9JQ-X2PT"
	var asked []string
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Cache-Control"))
		io.WriteString(w, `{"did":"`+id+`","did_document":{"id":"`+id+`"}}`)
	}))
	defer far.Close()
	d := &Directory{Server: &Client{HTTP: far.Client(), Base: far.URL}}
	for _, step := range []func() error{
		func() error { _, err := d.Resolve(t.Context(), id); return err },
		func() error { d.Forget(id); _, err := d.Resolve(t.Context(), id); return err },
		func() error { _, err := d.Resolve(t.Context(), id); return err },
		func() error {
			_, newer, err := d.Refresh(t.Context(), id)
			return errors.Join(err, map[bool]error{false: io.EOF}[newer])
		},
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"", "no-cache", "", "no-cache"}; !slices.Equal(asked, want) {
		t.Errorf("Cache-Control %q, want %q", asked, want)
	}
}

// roundTrips answers requests without a network.
type roundTrips func(*http.Request) (*http.Response, error)

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestLookupsAreTriedAgain checks that the lookup of a recipient survives a proxy whose server restarts,
// and ends if the server does not come back.
func TestLookupsAreTriedAgain(t *testing.T) {
	const id = "did:wba:far.example:agents:AIR-7G3K-M9JQ-X2PT"
	for _, test := range []struct {
		refusals int
		dropped  error // instead of a refusal
		pauses   []time.Duration
		found    bool
	}{
		{0, nil, nil, true},
		{2, nil, []time.Duration{time.Second, 2 * time.Second}, true},
		{2, io.EOF, []time.Duration{time.Second, 2 * time.Second}, true},
		{1, syscall.ECONNRESET, []time.Duration{time.Second}, true},
		{1, syscall.ECONNREFUSED, nil, false},
		{9, nil, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			left := test.refusals
			answer := roundTrips(func(r *http.Request) (*http.Response, error) {
				w := httptest.NewRecorder()
				if left--; left >= 0 && test.dropped != nil {
					return nil, test.dropped
				} else if left >= 0 {
					http.Error(w, "Bad Gateway", http.StatusBadGateway)
				} else {
					io.WriteString(w, `{"did":"`+id+`","did_document":{"id":"`+id+`"}}`)
				}
				response := w.Result()
				response.Request = r
				return response, nil
			})
			var pauses []time.Duration
			d := &Directory{Server: &Client{HTTP: &http.Client{Transport: answer}, Base: "http://far.test"}, Retrying: func(_ error, pause time.Duration) { pauses = append(pauses, pause) }}
			if _, err := d.Resolve(t.Context(), id); (err == nil) != test.found || !slices.Equal(pauses, test.pauses) {
				t.Errorf("%d refusals (%v): %v after the pauses %v", test.refusals, test.dropped, err, pauses)
			}
			if left > 0 { // the server is down: the other lookups of the command do not wait for it
				if _, err := d.Resolve(t.Context(), id); err == nil || len(pauses) != len(test.pauses) {
					t.Errorf("the next lookup: %v after the pauses %v", err, pauses[len(test.pauses):])
				}
			}
		})
	}
}

// TestCommandWaitsForStartingServer checks that a command right after the start of a server waits
// for its socket: the server holds the data directory before it answers.
func TestCommandWaitsForStartingServer(t *testing.T) {
	dir := t.TempDir()
	teststore.Open(t, dir)
	messages, out := io.Pipe()
	a := &App{Streams: Streams{Out: io.Discard, Err: out}, DataDir: dir, Settings: []string{"min_free_bytes=0"}}
	connected := make(chan error, 1)
	go func() {
		_, stop, err := a.connectToServer(t.Context(), Registry)
		if err == nil {
			err = stop()
		}
		connected <- err
	}()
	line := make([]byte, 200)
	n, err := messages.Read(line)
	if err != nil || !strings.Contains(string(line[:n]), "is starting") {
		t.Fatalf("%q, %v", line[:n], err)
	}
	address, release, err := server.SocketAddress(filepath.Join(dir, server.SocketName))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	l, err := net.Listen("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := <-connected; err != nil {
		t.Error(err)
	}
}

// TestAnswersThatDoNotEnd checks that a command ends with an error when a server sends a byte now and then,
// which is never silent, and when an answer is larger than what is read. The time is that of synctest: a busy
// machine pauses for longer than the silence.
func TestAnswersThatDoNotEnd(t *testing.T) {
	for _, test := range []struct {
		size           int // of each part of the answer
		pause, silence time.Duration
		want           string
	}{
		{1, 20 * time.Millisecond, 500 * time.Millisecond, "has not sent all of its answer in 5s, 10 times --timeout"},
		{1, time.Second, 500 * time.Millisecond, "it has stopped sending (--timeout sets the limit)"},
		{1 << 20, 0, time.Minute, "is larger than 64 MiB"},
	} {
		synctest.Test(t, func(t *testing.T) {
			endless := roundTrips(func(r *http.Request) (*http.Response, error) {
				body, far := io.Pipe()
				context.AfterFunc(r.Context(), func() { body.CloseWithError(r.Context().Err()) })
				go func() {
					for {
						if _, err := far.Write(make([]byte, test.size)); err != nil {
							return
						}
						select {
						case <-r.Context().Done():
							return
						case <-time.After(test.pause):
						}
					}
				}()
				return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
			})
			var answer struct{ Name string }
			_, err := (&Client{HTTP: &http.Client{Transport: endless}, Base: "http://far.test", silence: test.silence}).GetJSON(t.Context(), "/", &answer)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%d bytes every %s: %v, want %q", test.size, test.pause, err, test.want)
			}
		})
	}
}

// TestEndlessLinesAndExports checks that a command ends with an error when a server sends a line without
// end, or an export that is cut off, and that the lines of an answer arrive.
func TestEndlessLinesAndExports(t *testing.T) {
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "{\"n\":1}\n\n{\"n\":2}\n")
		switch r.URL.Path {
		case "/cut":
			io.WriteString(w, `{"n":`)
		case "/endless":
			for r.Context().Err() == nil {
				w.Write(make([]byte, 1<<20))
			}
		}
	}))
	defer far.Close()
	c := &Client{HTTP: far.Client(), Base: far.URL}
	type line struct{ N int }
	for path, want := range map[string]string{"/whole": "", "/cut": "the answer of the server is not complete: it was cut off", "/endless": "has a line of more than 4 MiB"} {
		n := 0
		err := PostForLines(t.Context(), c, path, struct{}{}, func(line, []byte) error { n++; return nil })
		if n != 2 || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d lines, %v, want %q", path, n, err, want)
		}
	}
	if _, err := copyExport(io.Discard, zeros{}); err == nil || !strings.Contains(err.Error(), "has more than") {
		t.Errorf("an export without end: %v", err)
	}
}

// zeros is an export without end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// TestRefusalsThatAreCutOff checks that a refusal keeps its exit code when its body does not arrive, and that
// only 200 answers a request for something.
func TestRefusalsThatAreCutOff(t *testing.T) {
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(status)
		io.WriteString(w, `{"detail":"cut`)
	}))
	defer far.Close()
	c := &Client{HTTP: far.Client(), Base: far.URL}
	for path, want := range map[string]int{"/403": exit.Usage, "/410": exit.NotFound, "/500": exit.Network, "/202": exit.Network} {
		_, text := c.GetText(t.Context(), path)
		for name, err := range map[string]error{
			"text": text, "lines": PostForLines(t.Context(), c, path, struct{}{}, func(struct{}, []byte) error { return nil }),
		} {
			refused, ok := errors.AsType[*exit.Error](err)
			if !ok || refused.Code != want || !strings.Contains(err.Error(), "the server answered "+path[1:]) {
				t.Errorf("%s, %s: %v", path, name, err)
			}
		}
	}
}

// TestUnreadableDirectoryNamesOwner checks that the error of a directory of another user names that user.
func TestUnreadableDirectoryNamesOwner(t *testing.T) {
	me := privatefile.UserName(os.Geteuid())
	if text := UnreadableError(t.TempDir(), fs.ErrPermission).Error(); !strings.Contains(text, "sudo -u "+me+" gazetteer") {
		t.Errorf("%q does not name %s", text, me)
	}
}
