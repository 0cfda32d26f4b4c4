package api_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/api"
	"gazetteer/api/air"
	"gazetteer/api/answer"
	"gazetteer/api/operator"
	"gazetteer/api/route"
	"gazetteer/census"
	"gazetteer/changefeed"
	"gazetteer/conformance/standing"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/join"
	"gazetteer/limit"
	"gazetteer/protocol/a2a"
	"gazetteer/registry/admission"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/registry/audit/witness"
	"gazetteer/registry/registrar"
	"gazetteer/registry/resolve"
	"gazetteer/relay"
	"gazetteer/relay/boltqueue"
	"gazetteer/relay/recipients"
	"gazetteer/relay/relayhttp"
	"gazetteer/store"
	"gazetteer/store/boltfile"
	"gazetteer/store/boltstore"
	"gazetteer/toolhost"
	"gazetteer/toolhost/hosthttp"
	"gazetteer/toolhost/hostmcp"

	"github.com/gin-gonic/gin"
	"golang.org/x/mod/sumdb/note"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	result := m.Run()
	if result == 0 || *updateCodes {
		result = checkCodes()
	}
	os.Exit(result)
}

// testServer is a real store, index and registry behind a real server on loopback.
type testServer struct {
	t       testing.TB
	store   *boltstore.Store
	index   *index.Index
	feed    *changefeed.Feed
	answers *answer.Answers
	api     *api.API
	tools   *toolhost.Host // nil without a relay
	log     *logRecorder
	base    string // of the public server
	admin   string // of the owner's server
	secure  bool   // clients see https
}

// options change a server before it is built.
type options struct {
	api      func(*api.Options)
	store    boltstore.Options
	judge    answer.ValidatorOptions
	unread   bool // the index does not follow the store
	registry registrar.Options
	log      bool                                     // there is a transparency log
	relay    func(*relay.Options, *relayhttp.Options) // not nil: there is a relay
	handlers func(*gin.Engine)
}

func newTestServer(t testing.TB, o options) *testServer {
	t.Helper()
	h := &testServer{t: t, log: &logRecorder{}}
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if o.store.MinFree == 0 {
		o.store.MinFree = -1
	}
	h.store, err = boltstore.Open(ctx, t.TempDir(), o.store)
	must(err)
	t.Cleanup(func() { must(h.store.Close()) })
	states := standing.Open(standing.Options{Store: h.store, Linger: time.Millisecond})
	h.runUntilEnd("follow the store into the states", states.Run)
	h.index, err = index.Open(ctx, index.Options{Dir: t.TempDir() + "/index", Store: h.store, States: states, Linger: time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	must(err)
	t.Cleanup(func() { must(h.index.Close()) })
	if !o.unread {
		h.followStore()
	}
	if o.registry.Limits == (admission.Limits{}) {
		o.registry.Limits = admission.Limits{Registrations: -1, AllRegistrations: -1, Changes: -1, AllChanges: -1, Failures: -1, Reports: -1}
	}
	o.registry.Store, o.registry.DIDHost = h.store, cmp.Or(o.registry.DIDHost, "registry.example")
	r, err := registrar.New(o.registry)
	must(err)
	directory := r.NewDirectory()
	h.runUntilEnd("follow the store into the directory", directory.Run)
	far, _ := o.registry.Resolver.(join.Resolver)
	joiner, err := join.New(join.Options{Store: h.store, Registry: r, Directory: directory, Resolver: far, Now: o.registry.Now})
	must(err)
	h.feed, err = changefeed.Open(ctx, changefeed.Options{Dir: t.TempDir() + "/changes", Store: h.store, MinFree: -1, Linger: time.Millisecond})
	must(err)
	t.Cleanup(func() { must(h.feed.Close()) })
	h.runUntilEnd("follow the store into the feed of changes", h.feed.Run)
	figures := census.OpenLive(census.LiveOptions{Store: h.store})
	h.runUntilEnd("follow the store into the figures", figures.Run)
	h.answers = &answer.Answers{Census: figures, Store: h.store, Feed: h.feed, Index: h.index, Registry: r, Directory: directory, Joiner: joiner, Resolver: o.registry.Resolver, Validator: answer.NewValidator(o.judge), Standing: states}
	if o.log {
		h.openLog()
	}
	settings := api.Options{
		Options: route.Options{
			Answers: h.answers, Version: "test", Log: slog.New(slog.NewJSONHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		},
		Operator: operator.Options{Add: func(context.Context, ...string) error { return nil }},
	}
	if o.relay != nil {
		settings.Limits = &limit.Set{Now: o.registry.Now}
		settings.Relay = h.openRelay(o, settings.Limits)
		settings.Tools = h.openTools()
		h.tools = settings.Tools
		settings.ToolsHTTP = hosthttp.New(hosthttp.Options{Host: settings.Tools, MCP: hostmcp.New(hostmcp.Options{Host: settings.Tools})})
	}
	if o.api != nil {
		o.api(&settings)
	}
	h.api, err = api.New(settings)
	must(err)
	if o.handlers != nil {
		o.handlers(h.api.Engine())
	}
	h.base = "http://" + startServer(t, h.api.Handler(), settings.Log)
	h.admin = "http://" + startServer(t, h.api.OperatorHandler(), settings.Log)
	return h
}

// openTools gives the server a tool host without contracts.
func (h *testServer) openTools() *toolhost.Host {
	tools, err := toolhost.Open(context.Background(), toolhost.Options{Store: h.store, Dir: h.t.TempDir()})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { tools.Close() })
	return tools
}

// withRelay gives a server a relay and a tool host as they are configured by default.
func withRelay(*relay.Options, *relayhttp.Options) {}

// ownDocuments resolves the DIDs of a registry's own agents, and no others.
func ownDocuments(t testing.TB, r *registrar.Registrar) resolve.Directory {
	t.Helper()
	resolver, err := resolve.New(resolve.Options{Local: r.Local})
	if err != nil {
		t.Fatal(err)
	}
	return resolve.Directory{Resolver: resolver}
}

// openRelay gives the server a relay with its own queue.
func (h *testServer) openRelay(o options, limits *limit.Set) *relayhttp.Handler {
	h.t.Helper()
	queue, err := boltqueue.Open(context.Background(), h.t.TempDir(), boltqueue.Options{File: boltfile.Options{MinFree: -1}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { queue.Close() })
	ro := relay.Options{
		Queue: queue, Senders: a2a.DocumentKeys{Resolver: ownDocuments(h.t, h.answers.Registry)}, Inboxes: recipients.New(recipients.Options{Registry: h.answers.Registry}),
		DID: "did:wba:registry.example", Key: keyFromSeed(99), Profile: a2a.Wire, Limits: limits,
	}
	ho := relayhttp.Options{Limits: limits}
	o.relay(&ro, &ho)
	ho.Relay = relay.New(ro)
	handler, err := relayhttp.New(ho)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(handler.End)
	return handler
}

// forTest returns the server for a test within its own.
func (h *testServer) forTest(t testing.TB) *testServer {
	inner := *h
	inner.t = t
	return &inner
}

// followStore lets the index follow the store until the test ends.
func (h *testServer) followStore() { h.runUntilEnd("follow the store into the index", h.index.Run) }

// runUntilEnd runs what follows the store until the test ends.
func (h *testServer) runUntilEnd(what string, run func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	h.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			h.t.Errorf("%s: %v", what, err)
		}
	})
}

// patience is how long a test waits for what must happen, on the busiest machine.
const patience = 2 * time.Minute

// openLog gives the server a transparency log.
func (h *testServer) openLog() {
	h.t.Helper()
	dir := h.t.TempDir()
	key, err := checkpoint.OpenKey(dir+"/log.key", "registry.example/log")
	if err != nil {
		h.t.Fatal(err)
	}
	h.answers.Log, err = audit.Open(context.Background(), audit.Options{Dir: dir + "/log", Store: h.store, Key: key})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := h.answers.Log.Close(); err != nil {
			h.t.Error(err)
		}
	})
	h.runUntilEnd("follow the store into the log", h.answers.Log.Run)
	own, err := checkpoint.NewVerifier(key.Public())
	if err != nil {
		h.t.Fatal(err)
	}
	other, err := checkpoint.OpenKey(dir+"/witness.key", "registry.example/witness")
	if err != nil {
		h.t.Fatal(err)
	}
	h.answers.Witness, err = witness.Open(h.t.Context(), witness.Options{Dir: dir + "/witness", Key: other, Logs: []note.Verifier{own}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { h.answers.Witness.Close() })
}

// awaitLog waits until all that is stored is in the log.
func (h *testServer) awaitLog() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.answers.Log.WaitFor(ctx, h.store.Head().Seq); err != nil {
		h.t.Fatal(err)
	}
}

// awaitCosignature has the log's newest checkpoint cosigned by the server's own witness.
func (h *testServer) awaitCosignature() {
	h.t.Helper()
	witness, err := checkpoint.NewVerifier(h.answers.Witness.Public())
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.answers.Log.Cosign(context.Background(), http.DefaultClient, h.base+"/witness", witness); err != nil {
		h.t.Fatal(err)
	}
}

// awaitFiled waits until all that is stored is in the directory. A request waits for
// that, too, but no longer than a client may be kept.
func (h *testServer) awaitFiled() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.answers.Directory.WaitFor(ctx, h.store.Head().Seq); err != nil {
		h.t.Fatal(err)
	}
}

// listAgents asks for a list of agents until it has so many, a few times: on a busy
// machine filing who was just written may take longer than one request waits.
func (h *testServer) listAgents(query string, total int) (list air.AgentList) {
	h.t.Helper()
	for try := 0; try < 5 && list.Total != total; try++ {
		decodeInto(h.t, h.get("/api/v1/agents?"+query, 200), &list)
	}
	return list
}

// startServer answers on a port of loopback until the test ends.
func startServer(t testing.TB, handler http.Handler, log *slog.Logger) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := route.NewServer(handler, log)
	done := make(chan struct{})
	go func() { defer close(done); server.Serve(route.StrictLines(l)) }()
	t.Cleanup(func() { server.Close(); <-done })
	return l.Addr().String()
}

// seen is when the sample documents are fetched.
var seen = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// publish writes a document and waits until the index has it.
func (h *testServer) publish(host string, kind document.Kind, mediaType, text string, at time.Time) document.Document {
	h.t.Helper()
	d, writes := h.prepareDocument(host, kind, mediaType, text, at)
	h.applyWrites(writes...)
	return d
}

// prepareDocument returns what a visit writes: state, document, version and bytes.
func (h *testServer) prepareDocument(host string, kind document.Kind, mediaType, text string, at time.Time) (document.Document, []store.Write) {
	h.t.Helper()
	d, err := document.Read(document.Input{
		Kind: kind, Host: host, URL: "https://" + host + "/.well-known/x", MediaType: mediaType,
		Source: document.OwnerPublished, FetchedAt: at, Bytes: []byte(text),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	version := map[string]any{"digest": d.Digest, "seen": at, "size": d.Size, "url": d.URL, "kind": kind}
	state := crawler.Host{
		Name: host, Added: seen, Visited: at, Visits: 1, Due: at.Add(24 * time.Hour),
		Fetches: map[string]fetch.Fetch{string(kind): {Kind: string(kind), URL: d.URL, Outcome: fetch.OK, Status: 200, At: at, Digest: d.Digest}},
	}
	return *d, []store.Write{
		store.Put(store.HostKey(host), encodeJSON(h.t, state)),
		store.Put(store.DocumentKey(host, string(kind)), encodeJSON(h.t, d)),
		store.Put(store.VersionKey(host, string(kind), at, d.Digest), encodeJSON(h.t, version)),
		store.Put(store.BlobKey(d.Digest), []byte(text)),
	}
}

// publishAll writes AI Discovery documents of many hosts at once.
func (h *testServer) publishAll(hosts ...string) {
	h.t.Helper()
	var all []store.Write
	for _, host := range hosts {
		_, writes := h.prepareDocument(host, document.AI, "application/json", aiText("Service "+host), seen)
		all = append(all, writes...)
	}
	h.applyWrites(all...)
}

func (h *testServer) applyWrites(writes ...store.Write) {
	h.t.Helper()
	seq, err := h.store.Apply(context.Background(), writes...)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := errors.Join(h.index.WaitFor(ctx, seq), h.answers.Standing.WaitFor(ctx, seq)); err != nil {
		h.t.Fatal(err)
	}
}

func encodeJSON(t testing.TB, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// aiText is an AI Discovery document of a service.
func aiText(name string) string {
	return fmt.Sprintf(`{"aiendpoint": "1.0",
 "service": {"name": %q, "description": "Reserve tables in restaurants."},
 "capabilities": [
  {"id": "book_table", "description": "Book a table for a party", "endpoint": "/api/tables", "method": "POST"},
  {"id": "list_tables", "description": "List free tables", "endpoint": "/api/tables", "method": "GET"}
 ]}`, name)
}

// agisText is an AGIS document with one verb of a namespace.
func agisText(namespace, intent string) string {
	return `{"agis": "1.0", "service": "Tables of ` + namespace + `", "agtp": "agtp://tables.example", "description": "Tables",
 "endpoints": [{"method": "BOOK", "path": "/reservation",
  "semantic": {"intent": "` + intent + `", "actor": "agent", "outcome": "A confirmed reservation record exists", "capability": "transaction", "confidence_guidance": 0.85},
  "input": {"type": "object", "required": ["party_size"], "properties": {"party_size": {"type": "integer"}}},
  "output": {"type": "object", "properties": {"status": {"type": "string"}}},
  "errors": ["table_unavailable"]}],
 "data_manifest": {"pre_auth_discovery": true, "available_data": [{"class": "reservation", "description": "Tables that were booked", "sensitivity": "reversible", "requires_authorization": true}]},
 "vocabulary": {"declared_verbs": ["BOOK"], "domain": "hospitality", "namespace": "` + namespace + `", "version": "1.0.0", "negotiable": false}}`
}

// publishSamples publishes what most tests look at.
func (h *testServer) publishSamples() {
	h.publish("ristorante.example", document.AI, "application/json", aiText("Ristorante"), seen)
	h.publish("ristorante.example", document.AGIS, "application/json", agisText("ristorante", "Books a restaurant table for the requesting agent"), seen)
	h.publishAll("s0.shops.example", "s1.shops.example", "s2.shops.example", "s3.shops.example", "s4.shops.example")
}

// bufferedResponse is an answer with its body read.
type bufferedResponse struct {
	*http.Response
	body []byte
}

func (r bufferedResponse) problem(t testing.TB) route.Problem {
	t.Helper()
	var p route.Problem
	if err := json.Unmarshal(r.body, &p); err != nil {
		t.Fatalf("%s is no problem document: %v", r.body, err)
	}
	return p
}

// plain requests the stored bytes: Go's client would decompress them.
var plain = &http.Client{
	Transport:     &http.Transport{DisableCompression: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// request sends one request. Headers are name, value, name, value.
func (h *testServer) request(method, path, body string, headers ...string) bufferedResponse {
	h.t.Helper()
	return h.requestAt(h.base, method, path, strings.NewReader(body), headers...)
}

func (h *testServer) requestAt(base, method, path string, body io.Reader, headers ...string) bufferedResponse {
	h.t.Helper()
	r, err := http.NewRequest(method, base+path, body)
	if err != nil {
		h.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, err := plain.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	if response.StatusCode >= 400 {
		checkNoLeak(h.t, method+" "+path, text)
		recordCode(base == h.admin, method, path, response.StatusCode, text)
	}
	return bufferedResponse{response, text}
}

// get asks for path and wants that status.
func (h *testServer) get(path string, status int, headers ...string) bufferedResponse {
	h.t.Helper()
	r := h.request("GET", path, "", headers...)
	if r.StatusCode != status {
		h.t.Fatalf("GET %s: %s, want %d\n%s", path, r.Status, status, r.body)
	}
	return r
}

// leaks are words that tell how we are built.
var leaks = regexp.MustCompile(`(?i)goroutine|\.go:\d|gazetteer/|/tmp/|/home/|/root|boltstore|bbolt|bleve|panic|runtime|\bnil\b|0x[0-9a-f]{6}|secret_hash|stored record|decode the record`)

func checkNoLeak(t testing.TB, what string, body []byte) {
	t.Helper()
	if found := leaks.Find(body); found != nil {
		t.Errorf("%s: the answer lets %q out: %s", what, found, body)
	}
}

// logRecorder keeps the log lines.
type logRecorder struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (b *logRecorder) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// lines returns the log lines with that message.
func (b *logRecorder) lines(t testing.TB, message string) []map[string]any {
	t.Helper()
	b.mu.Lock()
	text := b.text.String()
	b.mu.Unlock()
	var found []map[string]any
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line map[string]any
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("log line %s: %v", lines.Text(), err)
		}
		if line["msg"] == message {
			found = append(found, line)
		}
	}
	return found
}

func (b *logRecorder) all() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
