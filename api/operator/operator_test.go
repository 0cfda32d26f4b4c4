package operator_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"gazetteer/api/answer"
	"gazetteer/api/operator"
	"gazetteer/api/route"
	"gazetteer/crawler"
	"gazetteer/index"
	"gazetteer/internal/teststore"
	"gazetteer/store"
	"gazetteer/store/boltstore"

	"github.com/gin-gonic/gin"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	m.Run()
}

// server is a store and a crawler behind the operator's side of a real server on loopback.
type server struct {
	t       *testing.T
	store   *boltstore.Store
	crawler *crawler.Crawler
	base    string
}

func newServer(t *testing.T, o operator.Options) *server {
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
	c, err := crawler.New(crawler.Options{Store: s.store})
	must(err)
	s.crawler = c
	mux, err := route.New(route.Options{Answers: &answer.Answers{Store: s.store, Index: operations, Blocks: c, Crawler: c}, Version: "test",
		Log: slog.New(slog.NewTextHandler(errorLines{t}, &slog.HandlerOptions{Level: slog.LevelError}))})
	must(err)
	operator.New(mux, o).Declare(mux.Describe(mux.Operator, "test", "", ""))
	listener := httptest.NewServer(mux.OperatorHandler())
	t.Cleanup(listener.Close)
	s.base = listener.URL
	return s
}

// errorLines is a log whose lines fail the test.
type errorLines struct{ t *testing.T }

func (l errorLines) Write(line []byte) (int, error) {
	l.t.Errorf("an error line: %s", line)
	return len(line), nil
}

// send sends a request and returns the body of an answer with the status.
func (s *server) send(method, path, body string, status int) []byte {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		s.t.Fatalf("%s %s %s: %s, %v, want %d:\n%s", method, path, body, response.Status, err, status, text)
	}
	return text
}

// blockedHosts returns the hosts of a list of blocks.
func (s *server) blockedHosts(text []byte) (hosts []string) {
	s.t.Helper()
	var list operator.BlockList
	if err := json.Unmarshal(text, &list); err != nil || list.Blocks == nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	for _, b := range list.Blocks {
		hosts = append(hosts, b.Host)
	}
	return hosts
}

// A host is blocked, listed and unblocked; one that is blocked with its parent is not unblocked by
// itself.
func TestBlocks(t *testing.T) {
	s := newServer(t, operator.Options{})
	if hosts := s.blockedHosts(s.send("GET", "/admin/blocks", "", 200)); len(hosts) != 0 {
		t.Errorf("at first %q are blocked", hosts)
	}
	var b crawler.Block
	why := strings.Repeat("ein müder Grund ", 50)
	if err := json.Unmarshal(s.send("POST", "/admin/blocks", fmt.Sprintf(`{"host": "Example.COM", "subdomains": true, "why": %q}`, why), 200), &b); err != nil {
		t.Fatal(err)
	}
	if b.Host != "example.com" || !b.Subdomains || b.By != crawler.ByOperator || utf8.RuneCountInString(b.Why) != 300 || !strings.HasPrefix(why, strings.TrimSuffix(b.Why, "…")) {
		t.Errorf("%+v", b)
	}
	s.send("POST", "/admin/blocks", `{"host": "other.example"}`, 200)
	if hosts := s.blockedHosts(s.send("GET", "/admin/blocks", "", 200)); !slices.Equal(hosts, []string{"example.com", "other.example"}) {
		t.Errorf("the list has %q", hosts)
	}
	if text := s.send("DELETE", "/admin/blocks/www.example.com", "", 409); !bytes.Contains(text, []byte("unblock example.com")) {
		t.Errorf("a host below a blocked one: %s", text)
	}
	if hosts := s.blockedHosts(s.send("DELETE", "/admin/blocks/example.com", "", 200)); !slices.Equal(hosts, []string{"other.example"}) {
		t.Errorf("then the list has %q", hosts)
	}
	if text := s.send("DELETE", "/admin/blocks/other.example", "", 200); bytes.Contains(text, []byte("note")) {
		t.Errorf("a host that no list blocks: %s", text)
	}
	s.send("DELETE", "/admin/blocks/www.example.com", "", 404)
	for _, body := range []string{
		``, `[]`, `{}`, `{"host": 1}`, `{"host": "10.0.0.1"}`, `{"host": "a.example", "subdomains": 1}`, `{"host": "a.example", "why": []}`,
		`{"host": "a.example", "until": "tomorrow"}`, `{"host": "a.example", "host": "b.example"}`, `{"host": "a.example"} {}`,
	} {
		s.send("POST", "/admin/blocks", body, 400)
	}
}

// Unblocking a host that the block list names says that the next reading of the file blocks it again.
func TestUnblockListedHost(t *testing.T) {
	s := newServer(t, operator.Options{})
	if err := s.crawler.SetBlockList(t.Context(), []string{"listed.example"}); err != nil {
		t.Fatal(err)
	}
	if text := s.send("DELETE", "/admin/blocks/listed.example", "", 200); !bytes.Contains(text, []byte("crawler.block_list_file blocked listed.example")) {
		t.Errorf("the answer is %s", text)
	}
}

// The opt-out of an owner is lifted only on explicit request, also if the operator blocked the host, too.
func TestUnblockKeepsOptOutOfOwner(t *testing.T) {
	s := newServer(t, operator.Options{})
	for _, b := range []crawler.Block{
		{Host: "left.example", By: crawler.ByOwner, Proof: "TXT left.example"},
		{Host: "both.example", By: crawler.ByOwner, Proof: "TXT both.example", Operator: true},
	} {
		if err := s.crawler.Block(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if text := s.send("DELETE", "/admin/blocks/"+b.Host, "", 410); !bytes.Contains(text, []byte("the owner of "+b.Host+" does not want to be visited")) || !bytes.Contains(text, []byte("owner=true")) {
			t.Errorf("%s: %s", b.Host, text)
		}
		if _, blocked, err := s.crawler.Blocked(t.Context(), b.Host); err != nil || !blocked {
			t.Errorf("%s is blocked: %t, %v", b.Host, blocked, err)
		}
		if hosts := s.blockedHosts(s.send("DELETE", "/admin/blocks/"+b.Host+"?owner=true", "", 200)); len(hosts) != 0 {
			t.Errorf("%s: then the list has %q", b.Host, hosts)
		}
	}
}

// A backup gets the cleaned path and names its parts; its failure is the last line, and a process that
// writes none says so.
func TestBackup(t *testing.T) {
	s := newServer(t, operator.Options{Backup: func(_ context.Context, dir string, progress func(string)) (operator.BackupResult, error) {
		progress("keys")
		if dir == "/backups/full" {
			return operator.BackupResult{}, errors.New("the disk is full")
		}
		return operator.BackupResult{Dir: dir, Files: 3}, nil
	}})
	for query, last := range map[string]string{
		"?dir=/backups/a/../b": `{"result":{"dir":"/backups/b","files":3,"bytes":0,"seq":0,"leaves":0,"took_ms":0}}`,
		"?dir=/backups/full":   `{"error":"the disk is full"}`,
	} {
		if text, want := string(s.send("POST", "/admin/backup"+query, "", 200)), `{"part":"keys"}`+"\n"+last+"\n"; text != want {
			t.Errorf("%s: %s, want %s", query, text, want)
		}
	}
	if text := s.send("POST", "/admin/backup?dir=backups", "", 400); !bytes.Contains(text, []byte(`"parameter":"dir"`)) {
		t.Errorf("a relative path: %s", text)
	}
	s.send("POST", "/admin/backup", "", 400)
	newServer(t, operator.Options{}).send("POST", "/admin/backup?dir=/backups/d", "", 503)
}

// A census ends with the line of its result, and one that cannot be written with that of its error.
func TestCensus(t *testing.T) {
	s := newServer(t, operator.Options{})
	host, err := json.Marshal(crawler.Host{Name: "a.example", Visited: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Apply(t.Context(), store.Put(store.HostKey("a.example"), host)); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "census")
	last := func(text []byte) (l operator.CensusLine) {
		t.Helper()
		lines := bufio.NewScanner(bytes.NewReader(text))
		for lines.Scan() {
			l = operator.CensusLine{}
			if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
				t.Fatalf("%v: %s", err, lines.Text())
			}
		}
		return l
	}
	if l := last(s.send("POST", "/admin/census?at=2026-11-20&dir="+dir, "", 200)); l.Result == nil || l.Error != "" || l.Result.Dir != dir || l.Result.Hosts != 1 {
		t.Errorf("%+v", l)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) == 0 {
		t.Errorf("the folder has %d files: %v", len(entries), err)
	}
	if text := s.send("POST", "/admin/census?at=2026-11-20&dir="+dir, "", 400); !strings.Contains(string(text), "exists already") {
		t.Errorf("a folder that exists: %s", text)
	}
	for _, query := range []string{"", "?dir=census", "?at=yesterday&dir=" + dir} {
		s.send("POST", "/admin/census"+query, "", 400)
	}
}

// A crawl names its hosts as they are visited, and refuses the whole list for one bad name.
func TestCrawl(t *testing.T) {
	added := make(chan []string, 2)
	s := newServer(t, operator.Options{
		Add: func(_ context.Context, hosts ...string) error { added <- hosts; return nil },
		Crawl: func(_ context.Context, hosts []string, yield func(crawler.Result) error) error {
			for _, host := range hosts {
				if err := yield(crawler.Result{Host: host}); err != nil {
					return err
				}
			}
			return nil
		},
	})
	lines := bytes.Split(bytes.TrimSpace(s.send("POST", "/admin/crawl", `{"hosts": ["https://A.example/", "b.example"]}`, 200)), []byte("\n"))
	var second crawler.Result
	if len(lines) != 2 || json.Unmarshal(lines[1], &second) != nil || second.Host != "b.example" || !slices.Equal(<-added, []string{"a.example", "b.example"}) {
		t.Errorf("%q", lines)
	}
	s.send("POST", "/admin/crawl", `{"hosts": ["a.example", "10.0.0.1"]}`, 400)
	if len(added) > 0 {
		t.Errorf("%q were added", <-added)
	}
	newServer(t, operator.Options{}).send("POST", "/admin/crawl", `{"hosts": ["a.example"]}`, 503)
}

// A crawl that the end of the server cuts short has no complete answer, and is no failure of the server.
func TestCrawlAtTheEndOfTheServer(t *testing.T) {
	s := newServer(t, operator.Options{
		Add:   func(context.Context, ...string) error { return nil },
		Crawl: func(context.Context, []string, func(crawler.Result) error) error { return crawler.ErrStopped },
	})
	response, err := http.Post(s.base+"/admin/crawl", "application/json", strings.NewReader(`{"hosts": ["a.example"]}`))
	if err == nil {
		_, err = io.ReadAll(response.Body)
		response.Body.Close()
	}
	if err == nil {
		t.Error("the answer looks complete")
	}
}

// A compaction keeps deletions for as long as the request says.
func TestCompaction(t *testing.T) {
	var views atomic.Int32
	s := newServer(t, operator.Options{CompactViews: func(context.Context) ([]operator.Uncompacted, error) { views.Add(1); return nil, nil }})
	for _, w := range []store.Write{store.Put("x/1", nil), store.Delete("x/1"), store.Put("x/2", nil)} {
		if _, err := s.store.Apply(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		query     string
		forgotten int
	}{{"", 0}, {"?keep=168h", 0}, {"?keep=0s", 1}} {
		var r operator.CompactResult
		if err := json.Unmarshal(s.send("POST", "/admin/compact"+c.query, "", 200), &r); err != nil || r.Forgotten != c.forgotten {
			t.Errorf("%s: %v, %+v", c.query, err, r)
		}
	}
	if n := views.Load(); n != 3 {
		t.Errorf("the views were compacted %d times", n)
	}
	for _, keep := range []string{"-1h", "a+week"} {
		s.send("POST", "/admin/compact?keep="+keep, "", 400)
	}
}

// A compaction during a backup is refused with the reason, and is no failure of the server.
func TestCompactionDuringBackup(t *testing.T) {
	s := newServer(t, operator.Options{})
	if _, err := s.store.Apply(t.Context(), store.Put("x/1", nil)); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		path := filepath.Join(t.TempDir(), "copy")
		for ctx.Err() == nil {
			if _, err := s.store.WriteBackup(t.Context(), path); err != nil {
				ended <- err
				return
			}
			os.Remove(path)
		}
		ended <- nil
	}()
	for refused := false; !refused; {
		response, err := http.Post(s.base+"/admin/compact?keep=0s", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		response.Body.Close()
		refused = response.StatusCode != http.StatusOK
		if err != nil || refused && (response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || !strings.Contains(string(text), "a backup or another compaction")) {
			t.Fatalf("%s %s, %v", response.Status, text, err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The status names the version and is not ready while the index is behind.
func TestStatus(t *testing.T) {
	s := newServer(t, operator.Options{})
	if _, err := s.store.Apply(t.Context(), store.Put("x/1", nil)); err != nil {
		t.Fatal(err)
	}
	var status operator.OperatorStatus
	if err := json.Unmarshal(s.send("GET", "/admin/status", "", 200), &status); err != nil || status.Version != "test" || status.PID != os.Getpid() || status.Store.Seq == 0 || status.Ready {
		t.Errorf("%v %+v", err, status)
	}
}
