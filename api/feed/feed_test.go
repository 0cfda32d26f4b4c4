package feed_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"gazetteer/api/answer"
	"gazetteer/api/feed"
	"gazetteer/api/route"
	"gazetteer/changefeed"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/internal/teststore"
	"gazetteer/registry"
	"gazetteer/store"
	"gazetteer/store/boltstore"

	"github.com/gin-gonic/gin"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	m.Run()
}

// server is a store and its feed behind a real server on loopback.
type server struct {
	t     *testing.T
	store *boltstore.Store
	feed  *changefeed.Feed

	handler http.Handler
	base    string
}

func newServer(t *testing.T) *server {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := &server{t: t}
	var err error
	s.store = teststore.New(t)
	operations, err := index.Open(t.Context(), index.Options{Dir: t.TempDir() + "/index", Store: s.store})
	must(err)
	t.Cleanup(func() { operations.Close() })
	s.feed, err = changefeed.Open(t.Context(), changefeed.Options{Dir: t.TempDir() + "/changes", Store: s.store, MinFree: -1, Linger: time.Millisecond})
	must(err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.feed.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		s.feed.Close()
	})
	mux, err := route.New(route.Options{Answers: &answer.Answers{Store: s.store, Index: operations, Feed: s.feed}})
	must(err)
	h := mux.Describe(mux.Public, "test", "", "")
	feed.New(mux, "https://registry.example/").Declare(h)
	s.handler = mux.Handler()
	listener := httptest.NewServer(s.handler)
	t.Cleanup(listener.Close)
	s.base = listener.URL + route.ChangesPath
	return s
}

// publish writes what a visit writes that found a document, and waits for the feed.
func (s *server) publish(host, name string, at time.Time) {
	s.t.Helper()
	text := fmt.Sprintf(`{"aiendpoint": "1.0", "service": {"name": %q, "description": "Books tables."}, "capabilities": [{"id": "book_table", "description": "Books a table", "endpoint": "/api/tables", "method": "POST", "returns": "a number"}]}`, name)
	d, err := document.Read(document.Input{Kind: document.AI, Host: host, URL: "https://" + host + "/.well-known/ai", FetchedAt: at, Bytes: []byte(text)})
	if err != nil {
		s.t.Fatal(err)
	}
	s.apply(
		store.Put(store.HostKey(host), s.encode(crawler.Host{Name: host, Visited: at, Fetches: map[string]fetch.Fetch{"ai": {Kind: "ai", At: at, Digest: d.Digest}}})),
		store.Put(store.DocumentKey(host, "ai"), s.encode(d)),
		store.Put(store.VersionKey(host, "ai", at, d.Digest), s.encode(crawler.Version{Kind: document.AI, Digest: d.Digest, Seen: at, URL: d.URL})),
		store.Put(store.BlobKey(d.Digest), []byte(text)))
}

func (s *server) encode(v any) []byte {
	s.t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

// apply writes records and waits for the feed.
func (s *server) apply(writes ...store.Write) {
	s.t.Helper()
	seq, err := s.store.Apply(s.t.Context(), writes...)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	if err := s.feed.WaitFor(ctx, seq); err != nil {
		s.t.Fatal(err)
	}
}

// publishHosts publishes one document of each of several hosts, h0.example first.
func (s *server) publishHosts(n int) {
	s.t.Helper()
	for i := range n {
		s.publish(fmt.Sprintf("h%d.example", i), "Service", time.Date(2026, 11, 1, i, 0, 0, 0, time.UTC))
	}
}

// get requests an address below the feed and returns the body of an answer with the status.
func (s *server) get(path string, status int) []byte {
	s.t.Helper()
	response, err := http.Get(s.base + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		s.t.Fatalf("GET %s: %s, %v, want %d:\n%s", path, response.Status, err, status, body)
	}
	return body
}

func (s *server) page(query string) (list feed.ChangeList) {
	s.t.Helper()
	if err := json.Unmarshal(s.get("?"+query, 200), &list); err != nil {
		s.t.Fatal(err)
	}
	return list
}

func hostsOf(changes []feed.Change) (hosts []string) {
	for _, c := range changes {
		hosts = append(hosts, c.Host)
	}
	return hosts
}

// Every change is on exactly one page, in both directions, whatever the size of the pages.
func TestPagesHaveEachChangeOnce(t *testing.T) {
	s := newServer(t)
	begin := s.page("").Next
	s.publishHosts(5)
	want := []string{"h0.example", "h1.example", "h2.example", "h3.example", "h4.example"}
	for limit := 1; limit <= 6; limit++ {
		var forward []string
		for at, more := begin, true; more; {
			page := s.page(fmt.Sprintf("limit=%d&since=%s", limit, at))
			forward, at, more = append(forward, hostsOf(page.Changes)...), page.Next, page.More
		}
		if !slices.Equal(forward, want) {
			t.Errorf("pages of %d, forward: %q", limit, forward)
		}
		newest := s.page(fmt.Sprintf("limit=%d", limit))
		backward := hostsOf(newest.Changes)
		slices.Reverse(backward) // the first page has the oldest first
		for at := newest.Earlier; at != ""; {
			page := s.page(fmt.Sprintf("limit=%d&before=%s", limit, at))
			backward, at = append(backward, hostsOf(page.Changes)...), page.Earlier
		}
		slices.Reverse(backward)
		if !slices.Equal(backward, want) {
			t.Errorf("pages of %d, backward: %q", limit, backward)
		}
	}
}

// Values of one filter are alternatives; different filters must all hold.
func TestFilters(t *testing.T) {
	s := newServer(t)
	s.publishHosts(3)
	s.publish("h1.example", "Another name", time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC))
	for query, want := range map[string]int{
		"":                                      4,
		"host=h1.example":                       2,
		"host=H1.EXAMPLE":                       2,
		"host=h0.example&host=h2.example":       2,
		"kind=service-appeared":                 3,
		"kind=document-changed":                 1,
		"host=h0.example&kind=document-changed": 0,
		"host=unknown.example":                  0,
		"verb=BOOK&host=h2.example":             1,
	} {
		if got := s.page(query).Changes; len(got) != want {
			t.Errorf("%q has %d changes, want %d: %q", query, len(got), want, hostsOf(got))
		}
	}
}

// What is wrong with a request is said with the parameter that is wrong.
func TestRefusals(t *testing.T) {
	s := newServer(t)
	s.publishHosts(1)
	next := s.page("").Next
	other := newServer(t).page("").Next
	for query, parameter := range map[string]string{
		"since=" + next + "&before=" + next: "before",
		"since=nonsense":                    "since",
		"before=nonsense":                   "before",
		"since=" + other:                    "since",
		"severity=grave":                    "severity",
		"kind=service-exploded":             "kind",
		"limit=101":                         "limit",
		"agent=concierge":                   "agent",
		"colour=red":                        "colour",
		strings.Repeat("verb=BOOK&", 51) + "limit=1": "verb",
	} {
		response, err := http.Get(s.base + "?" + query)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode/100 != 4 || response.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(string(body), parameter) {
			t.Errorf("%.60s: %s, %v\n%s", query, response.Status, err, body)
		}
	}
}

// Feed readers reach the older changes by the links of the pages, and find the same ones in both
// formats.
func TestSyndicationPages(t *testing.T) {
	s := newServer(t)
	s.publishHosts(5)
	var inAtom, inJSON []string
	follow := func(first string, read func(body []byte) (next string)) {
		for path := first; path != ""; {
			address := read(s.get(path, 200))
			rest, ok := strings.CutPrefix(address, "https://registry.example"+route.ChangesPath)
			if address != "" && !ok {
				t.Fatalf("the next page is at %s", address)
			}
			path = rest
		}
	}
	follow("/atom?limit=2", func(body []byte) (next string) {
		var page struct {
			Links []struct {
				Rel  string `xml:"rel,attr"`
				Href string `xml:"href,attr"`
			} `xml:"link"`
			Entries []struct {
				ID string `xml:"id"`
			} `xml:"entry"`
		}
		if err := xml.Unmarshal(body, &page); err != nil {
			t.Fatalf("%v:\n%s", err, body)
		}
		for _, e := range page.Entries {
			inAtom = append(inAtom, e.ID)
		}
		for _, l := range page.Links {
			if l.Rel == "next" {
				next = l.Href
			}
		}
		return next
	})
	follow("/feed.json?limit=2", func(body []byte) (next string) {
		var page struct {
			Next  string `json:"next_url"`
			Items []struct {
				ID     string      `json:"id"`
				Change feed.Change `json:"_gazetteer"`
			} `json:"items"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			t.Fatalf("%v:\n%s", err, body)
		}
		for _, item := range page.Items {
			if item.Change.Page != "/services/"+item.Change.Host {
				t.Errorf("the page of a new service is %s", item.Change.Page)
			}
			inJSON = append(inJSON, item.ID)
		}
		return page.Next
	})
	if len(inAtom) != 5 || !slices.Equal(inAtom, inJSON) {
		t.Errorf("Atom has %q, JSON Feed %q", inAtom, inJSON)
	}
}

// Markup in the name of a service is text in each form of the feed.
func TestMarkupIsText(t *testing.T) {
	s := newServer(t)
	const name = `Shop</title><script>alert(1)</script> & ]]>`
	s.publish("shop.example", name, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))
	var page struct {
		Entries []struct {
			Title struct {
				Type     string     `xml:"type,attr"`
				Text     string     `xml:",chardata"`
				Elements []struct{} `xml:",any"`
			} `xml:"title"`
			Content struct {
				Type     string     `xml:"type,attr"`
				Elements []struct{} `xml:",any"`
			} `xml:"content"`
		} `xml:"entry"`
	}
	body := s.get("/atom", 200)
	if err := xml.Unmarshal(body, &page); err != nil || len(page.Entries) != 1 {
		t.Fatalf("%v:\n%s", err, body)
	}
	e := page.Entries[0]
	if !strings.Contains(e.Title.Text, name) || len(e.Title.Elements)+len(e.Content.Elements) > 0 || e.Title.Type+e.Content.Type != "" {
		t.Errorf("the entry is %+v", e) // without a type, title and content are plain text (RFC 4287, section 3.1)
	}
	var items struct{ Items []map[string]any }
	if body := s.get("/feed.json", 200); json.Unmarshal(body, &items) != nil || bytes.Contains(body, []byte("<script>")) || len(items.Items) != 1 || items.Items[0]["content_html"] != nil {
		t.Errorf("the JSON Feed is %s", body)
	}
}

// A client that continues with the id of its last event gets the events after it.
func TestStreamContinues(t *testing.T) {
	s := newServer(t)
	begin := s.page("").Next
	s.publishHosts(4)
	ids, hosts := s.events("?since="+begin, "", 4)
	if !slices.Equal(hosts, []string{"h0.example", "h1.example", "h2.example", "h3.example"}) {
		t.Fatalf("the stream has %q", hosts)
	}
	// The header counts before the parameter, which a client that reconnects sends again.
	if _, rest := s.events("?since="+begin, ids[1], 2); !slices.Equal(rest, hosts[2:]) {
		t.Errorf("behind the second event come %q", rest)
	}
	if page := s.page("since=" + ids[1]); !slices.Equal(hostsOf(page.Changes), hosts[2:]) {
		t.Errorf("the id of an event leads to the page %q", hostsOf(page.Changes))
	}
	s.get("/stream?since=nonsense", 400)
}

// events reads the first events of a stream, and returns their ids and hosts.
func (s *server) events(query, last string, many int) (ids, hosts []string) {
	s.t.Helper()
	ids, changes := s.changes(query, last, many)
	return ids, hostsOf(changes)
}

// changes reads the first events of a stream.
func (s *server) changes(query, last string, many int) (ids []string, changes []feed.Change) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/stream"+query, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for len(changes) < many && lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			ids = append(ids, value)
		case "data":
			var c feed.Change
			if err := json.Unmarshal([]byte(value), &c); err != nil {
				s.t.Fatal(err)
			}
			changes = append(changes, c)
		}
	}
	if len(changes) < many {
		s.t.Fatalf("the stream ended after %q: %v", hostsOf(changes), lines.Err())
	}
	return ids, changes
}

// openStream opens a stream over a connection and reads the head of its answer.
func (s *server) openStream(conn net.Conn, query string) net.Conn {
	s.t.Helper()
	s.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := fmt.Fprintf(conn, "GET %s/stream%s HTTP/1.1\r\nHost: registry.example\r\n\r\n", route.ChangesPath, query); err != nil {
		s.t.Fatal(err)
	}
	head := make([]byte, 15)
	if _, err := io.ReadFull(conn, head); err != nil || string(head) != "HTTP/1.1 200 OK" {
		s.t.Fatalf("%q, %v", head, err)
	}
	return conn
}

// Each event is made once: a second stream of a hundred changes allocates less than their texts take.
func TestStreamsShareEvents(t *testing.T) {
	s := newServer(t)
	begin := s.page("").Next
	s.publishHosts(100)
	s.events("?since="+begin, "", 100) // they are made
	const streams = 10
	lines := bufio.NewReaderSize(nil, 64<<10)
	texts := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range streams {
		response, err := http.Get(s.base + "/stream?since=" + begin)
		if err != nil {
			t.Fatal(err)
		}
		lines.Reset(response.Body)
		for seen := 0; seen < 100; {
			line, err := lines.ReadSlice('\n')
			if err != nil {
				t.Fatalf("after %d events: %v", seen, err)
			}
			if texts += len(line); bytes.HasPrefix(line, []byte("data: ")) {
				seen++
			}
		}
		response.Body.Close()
	}
	runtime.ReadMemStats(&after)
	allocated := int(after.TotalAlloc - before.TotalAlloc)
	t.Logf("a stream of 100 events, %d bytes, allocates %d bytes", texts/streams, allocated/streams)
	if allocated > 2*texts {
		t.Errorf("%d streams allocate %d bytes to send %d", streams, allocated, texts)
	}
}

// A stream sends items as they are now: nothing that was removed, and no earlier count of an item
// that counts on.
func TestStreamsSendNoOldEvents(t *testing.T) {
	s := newServer(t)
	begin := s.page("").Next
	check := func(query string) []feed.Change {
		t.Helper()
		want := s.page(query + "&limit=100&since=" + begin).Changes
		for range 2 { // the second time the events are made already
			if _, got := s.changes("?"+query+"&since="+begin, "", len(want)); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: the stream has\n%+v\nand the page\n%+v", query, got, want)
			}
		}
		return want
	}
	at := time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC)
	entry := func(n int, e registry.HistoryEntry) store.Write {
		return store.Put(store.EntryKey("AIR-AAAA-BBBB-CCCC", n), s.encode(e))
	}
	s.publishHosts(3)
	s.apply(entry(1, registry.HistoryEntry{Event: registry.EventRegistered, At: at, Agent: &registry.Agent{Name: "Private name"}}))
	names := []string{"One", "Another"}
	for i := range 8 {
		s.publish("h0.example", names[i%2], at.Add(time.Duration(i)*time.Minute))
	}
	before := check("severity=none")
	s.publish("h0.example", names[0], at.Add(time.Hour))
	after := check("severity=none")
	if len(before) != len(after) || reflect.DeepEqual(before, after) {
		t.Errorf("a change of a document that changes back and forth leads from\n%+v\nto\n%+v", before, after)
	}
	check("kind=service-appeared")
	s.apply(store.Put(store.BlockKey("h1.example"), s.encode(crawler.Block{Host: "h1.example", By: crawler.ByOwner, Since: at})),
		entry(2, registry.HistoryEntry{Event: registry.EventErased, At: at}))
	check("kind=service-appeared")
	for _, c := range check("severity=none") {
		if c.Host == "h1.example" && c.Kind != changefeed.ServiceWithdrawn || strings.Contains(c.Title, "Private name") {
			t.Errorf("after the removal there is %+v", c)
		}
	}
}

// Streams that nobody reads do not delay others.
func TestUnreadStreams(t *testing.T) {
	s := newServer(t)
	begin := s.page("").Next
	s.publishHosts(30)
	listener := &pipes{make(chan net.Conn), make(chan struct{})}
	server, served := &http.Server{Handler: s.handler}, make(chan struct{})
	go func() { defer close(served); server.Serve(listener) }()
	defer func() { server.Close(); <-served }()
	for range 40 {
		ours, theirs := net.Pipe()
		listener.accepted <- theirs
		s.openStream(ours, "?since="+begin) // its next write waits
	}
	s.events("?since="+begin, "", 30)
	s.publish("new.example", "Service", time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC))
	s.events("?since="+begin+"&host=new.example", "", 1)
}

// pipes is a listener for connections without buffers.
type pipes struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.accepted:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
