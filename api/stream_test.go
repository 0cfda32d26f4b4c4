package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/index"
	"gazetteer/internal/testclock"
	"gazetteer/internal/teststore"
	"gazetteer/store"
)

// firstEvent opens the stream and returns the fields of its first event.
func firstEvent(t *testing.T, h *testServer, header ...string) (bufferedResponse, map[string]string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "GET", h.base+"/api/v1/status/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Add(header[i], header[i+1])
	}
	response, err := plain.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	r := bufferedResponse{Response: response}
	if response.StatusCode != 200 {
		if r.body, err = io.ReadAll(response.Body); err != nil {
			t.Fatal(err)
		}
		return r, nil
	}
	fields := map[string]string{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() && lines.Text() != "" {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		fields[name] = value
	}
	return r, fields
}

// TestLastEventID checks that a stream continues after an event of this server and refuses every
// other id, with a link to the present state.
func TestLastEventID(t *testing.T) {
	clock := testclock.New(seen)
	keyed := func(o *api.Options) { o.CursorKey, o.Now = []byte("0123456789abcdef"), clock.Now }
	h := newTestServer(t, options{api: keyed})
	h.publishSamples()
	other := newTestServer(t, options{})
	restored := newTestServer(t, options{api: keyed}) // the same key, another log
	_, event := firstEvent(t, h)
	id := event["id"]
	if id == "" || !strings.HasPrefix(event["data"], "{") {
		t.Fatalf("%v", event)
	}
	if r, event := firstEvent(t, h, "Last-Event-ID", id); r.StatusCode != 200 || event["data"] == "" {
		t.Errorf("its own id: %s %v", r.Status, event)
	}
	page := readPage(t, h.get("/api/v1/services?limit=2", 200)).Next
	flipped := []byte(id)
	flipped[3] ^= 1
	refused := func(what string, h *testServer, status int, code string, ids ...string) {
		t.Helper()
		var header []string
		for _, id := range ids {
			header = append(header, "Last-Event-ID", id)
		}
		r, _ := firstEvent(t, h, header...)
		if r.StatusCode != status {
			t.Errorf("%s: %s, want %d", what, r.Status, status)
			return
		}
		p := r.problem(t)
		if p.Code != code || p.Where == nil || p.Where.Header != "Last-Event-ID" || r.Header.Get("Link") != `</api/v1/status>; rel="current"` || !strings.Contains(p.Help, "/api/v1/status") {
			t.Errorf("%s: %+v, Link %q", what, p, r.Header.Get("Link"))
		}
	}
	refused("forged", h, 400, "bad-cursor", string(flipped))
	refused("a number", h, 400, "bad-cursor", "17")
	refused("negative", h, 400, "bad-cursor", "-1")
	refused("beyond any number", h, 400, "bad-cursor", "99999999999999999999")
	refused("cut short", h, 400, "bad-cursor", id[:len(id)-4])
	refused("long", h, 400, "bad-cursor", strings.Repeat("A", 9000))
	refused("of a list", h, 400, "bad-cursor", page)
	refused("of another server", other, 400, "bad-cursor", id)
	refused("two", h, 400, "bad-cursor", id, "x")
	refused("of another log", restored, 410, "cursor-gone", id)
	if r := h.request("GET", "/api/v1/services?"+url.Values{"cursor": {id}}.Encode(), ""); r.StatusCode != 400 {
		t.Errorf("an id as the cursor of a list: %s", r.Status)
	}
	clock.Advance(26 * time.Hour)
	refused("too old", h, 410, "cursor-gone", id)
}

// TestManyFollowers checks a thousand readers of the stream, half of which never read. Those are
// disconnected after a minute and can continue with their last id; they delay neither readers nor
// writers. Under the race detector there are fewer, because it sometimes breaks down when so many
// goroutines of a bubble run.
func TestManyFollowers(t *testing.T) {
	followers := 1000
	if raceDetector {
		followers = 100
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := teststore.Open(t, dir+"/store")
		x, err := index.Open(t.Context(), index.Options{Dir: dir + "/index", Store: s, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		a, err := api.New(api.Options{Options: route.Options{Answers: &answer.Answers{Store: s, Index: x}, TrustedProxies: []string{"127.0.0.1"}}})
		if err != nil {
			t.Fatal(err)
		}
		server := route.NewServer(a.Handler(), nil)
		server.RegisterOnShutdown(a.EndStreams)
		listener := &pipes{accepted: make(chan net.Conn), closed: make(chan struct{})}
		served := make(chan struct{})
		go func() { defer close(served); server.Serve(route.StrictLines(listener)) }()
		defer func() { server.Close(); <-served }()

		before := inUse()
		conns := make([]net.Conn, followers)
		readers := make(chan error, followers)
		events := make([]atomic.Int32, followers)
		for i := range conns {
			conns[i] = listener.dial()
			defer conns[i].Close()
			fmt.Fprintf(conns[i], "GET /api/v1/status/stream HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %d.%d.1.1\r\n\r\n", 11+i/250, i%250)
			if i%2 == 0 {
				go func() {
					in := bufio.NewReaderSize(conns[i], 512)
					for {
						line, err := in.ReadString('\n')
						if err != nil {
							readers <- err
							return
						}
						if strings.HasPrefix(line, "event: ") {
							events[i].Add(1)
						}
					}
				}()
			}
		}
		synctest.Wait()
		each := (inUse() - before) / int64(followers)
		t.Logf("a follower takes %d bytes, both ends together", each)
		if each > 64<<10 && !raceDetector {
			t.Errorf("a follower takes %d bytes, both ends together", each)
		}
		at := time.Now()
		if _, err := s.Apply(t.Context(), store.Put("k/1", []byte("1"))); err != nil || time.Since(at) > 0 {
			t.Errorf("a write took %s, %v", time.Since(at), err)
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		for i := 0; i < followers; i += 2 {
			if n := events[i].Load(); n < 59 {
				t.Fatalf("follower %d, who reads, got %d events in 59 seconds", i, n)
			}
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		for i := 1; i < followers; i += 2 {
			conns[i].SetReadDeadline(time.Now().Add(time.Second))
			if _, err := io.Copy(io.Discard, conns[i]); errors.Is(err, net.ErrClosed) || isTimeout(err) {
				t.Fatalf("follower %d, who never read, is still there", i)
			}
		}
		if len(readers) > 0 {
			t.Errorf("%d who read were dropped, too: %v", len(readers), <-readers)
		}
		a.EndStreams()
		for range followers / 2 {
			if err := <-readers; !errors.Is(err, io.EOF) {
				t.Fatalf("the end of a stream: %v", err)
			}
		}
	})
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// inUse is the memory of the heap and the stacks.
func inUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
