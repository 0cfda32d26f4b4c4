package index

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/document"
	"gazetteer/index/query"
	"gazetteer/internal/teststore"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// catchUpTime is how long a test waits for an index before it fails.
const catchUpTime = 2 * time.Minute

// A logged keeps the lines an index logs.
type logged struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines chan string // a copy of each, for who waits; full is no harm
}

func newLogged() *logged { return &logged{lines: make(chan string, 1000)} }

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.lines <- string(b):
	default:
	}
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// waitFor waits for a line that contains part.
func (l *logged) waitFor(t *testing.T, part string) {
	t.Helper()
	timeout := time.After(catchUpTime)
	for {
		select {
		case line := <-l.lines:
			if strings.Contains(line, part) {
				return
			}
		case <-timeout:
			t.Fatalf("no line with %q was logged, but\n%s", part, l)
		}
	}
}

func openIndex(t testing.TB, s store.Store, dir string, log io.Writer) *Index {
	t.Helper()
	x, err := Open(context.Background(), Options{Dir: dir, Store: s, Linger: time.Millisecond, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// running lets the index follow its log until stop is called or the test ends.
func running(t testing.TB, x *Index) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// catchUp waits until all that is in the store is searchable.
func catchUp(t testing.TB, x *Index, s store.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), catchUpTime)
	defer cancel()
	if err := x.WaitFor(ctx, s.Head().Seq); err != nil {
		t.Fatalf("the index stands at %+v, the store at %+v: %v", x.Cursor(), s.Head(), err)
	}
}

// catchUpOnce catches up once and stops following.
func catchUpOnce(t testing.TB, x *Index, s store.Store) {
	t.Helper()
	stop := running(t, x)
	catchUp(t, x, s)
	stop()
}

// indexed returns an index that has caught up with the documents and goes on
// following.
func indexed(t testing.TB, docs ...*document.Document) (*Index, *boltstore.Store) {
	t.Helper()
	s := teststore.New(t)
	x := openIndex(t, s, filepath.Join(t.TempDir(), "index"), io.Discard)
	put(t, s, docs...)
	running(t, x)
	catchUp(t, x, s)
	return x, s
}

// put stores documents in one Apply.
func put(t testing.TB, s store.Store, docs ...*document.Document) {
	t.Helper()
	var writes []store.Write
	for _, d := range docs {
		writes = append(writes, write(t, d))
	}
	apply(t, s, writes...)
}

func write(t testing.TB, d *document.Document) store.Write {
	t.Helper()
	value, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return store.Put(store.DocumentKey(d.Host, string(d.Kind)), value)
}

func apply(t testing.TB, s store.Store, writes ...store.Write) {
	t.Helper()
	if len(writes) == 0 {
		return
	}
	if _, err := s.Apply(context.Background(), writes...); err != nil {
		t.Fatal(err)
	}
}

func search(t testing.TB, x *Index, q query.Query) Result {
	t.Helper()
	r, err := x.Search(context.Background(), q)
	if err != nil {
		t.Fatalf("search %+v: %v", q, err)
	}
	return r
}

// words searches for words and returns the hits as "host id".
func words(t testing.TB, x *Index, text string) []string {
	t.Helper()
	return named(search(t, x, query.Query{Words: text}))
}

func named(r Result) []string {
	names := []string{}
	for _, h := range r.Hits {
		names = append(names, h.Host+" "+h.Operation.ID)
	}
	return names
}

// day is when the test documents were fetched.
func day(n int) time.Time { return time.Date(2026, 3, n, 12, 0, 0, 0, time.UTC) }

// agis makes a full AGIS document with operations "VERB /path: intent".
func agis(host string, operations ...string) *document.Document {
	d := &document.Document{
		Kind: document.AGIS, Host: host, URL: "https://" + host + "/agis.json", Source: document.Linked,
		Digest: document.Digest([]byte(strings.Join(operations, "\n"))), FetchedAt: day(2), ChangedAt: day(1),
		Service: document.Service{Name: "Service of " + host},
	}
	for _, o := range operations {
		id, intent, _ := strings.Cut(o, ": ")
		verb, path, _ := strings.Cut(id, " ")
		d.Operations = append(d.Operations, document.Operation{
			ID: id, Verb: verb, Path: path, Intent: intent, Effect: document.EffectUnknown,
			Call: document.Call{Protocol: "http", Method: "POST", URL: "https://" + host + path},
		})
	}
	return d
}

// as gives a document another kind.
func as(kind document.Kind, d *document.Document) *document.Document {
	d.Kind = kind
	return d
}

// A service is a line of services.jsonl.
type service struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Categories  []string `json:"categories"`
	Namespace   string   `json:"namespace"`
	DataClasses []string `json:"data_classes"`
	Ops         []struct {
		ID         string   `json:"id"`
		Verb       string   `json:"v"`
		Path       string   `json:"p"`
		Method     string   `json:"m"`
		Endpoint   string   `json:"e"`
		Intent     string   `json:"i"`
		Parameters []string `json:"a"`
	} `json:"ops"`
}

// document makes an AGIS document of a service.
func (s *service) document() *document.Document {
	host := strings.NewReplacer(":", "-", "_", "-", "&", "-", "(", "-", ")", "-", " ", "-").Replace(strings.ToLower(s.ID)) + ".test"
	d := &document.Document{
		Kind: document.AGIS, Host: host, URL: "https://" + host + "/agis.json", Source: document.Linked,
		Digest: document.Digest([]byte(s.ID)), FetchedAt: day(2), ChangedAt: day(1),
		Service: document.Service{Name: s.Name, Description: s.Description, Namespace: s.Namespace, Categories: s.Categories},
	}
	for _, c := range s.DataClasses {
		d.DataClasses = append(d.DataClasses, document.DataClass{Name: c})
	}
	for _, o := range s.Ops {
		op := document.Operation{
			ID: o.Verb + " " + o.Path, Verb: o.Verb, Path: o.Path, Intent: o.Intent, Effect: document.EffectUnknown,
			Call: document.Call{Protocol: "http", Method: o.Method, URL: "https://" + host + o.Endpoint},
		}
		for _, p := range o.Parameters {
			op.Parameters = append(op.Parameters, document.Parameter{Name: p})
		}
		d.Operations = append(d.Operations, op)
	}
	return d
}

// readServices reads documents from lines of services.
func readServices(t testing.TB, r io.Reader, atMost int) []*document.Document {
	t.Helper()
	var docs []*document.Document
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for operations := 0; lines.Scan() && operations < atMost; {
		var s service
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		d := s.document()
		operations += len(d.Operations)
		docs = append(docs, d)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return docs
}

// realServices are the documents of testdata/services.jsonl.
func realServices(t testing.TB) []*document.Document {
	t.Helper()
	f, err := os.Open("testdata/services.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return readServices(t, f, 1<<30)
}
