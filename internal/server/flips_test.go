package server

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/crawler"
	"gazetteer/internal/backup"
	"gazetteer/internal/config"
	"gazetteer/internal/fakenet"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/checkpoint"
	"gazetteer/relay"
	"gazetteer/store/boltfile/filetest"

	"github.com/gin-gonic/gin"
	"golang.org/x/mod/sumdb/tlog"
)

// flipsEnv sets how many bits TestBitFlipsInEveryFile flips.
const flipsEnv = "FLIPS"

// asked is the number of requests that are sent after each damage. The test chooses them at random
// each time.
const asked = 120

// checkShare is the number of damages for each one that is checked in any case. The others are
// checked if an answer differs.
const checkShare = 4

// truncationShare is the number of bit flips for each truncated file.
const truncationShare = 8

// TestBitFlipsInEveryFile flips one bit at a time, or truncates one file, anywhere in a
// complete data directory: hosts and documents, agents with handles and rotated keys, the
// transparency log, mail and rules, keys, the index, the crawler's snapshot. The test then opens
// the server on it, sends requests, and registers another agent. Each answer must equal the answer
// before the damage, or be an error. The log of the server or the check must name what lists and
// search omit. A new checkpoint must contain the one that was signed before.
func TestBitFlipsInEveryFile(t *testing.T) {
	flips := 40
	if n, err := strconv.Atoi(os.Getenv(flipsEnv)); err == nil {
		flips = n
	}
	d := newWholeDirectory(t)
	var mu sync.Mutex
	outcomes := map[string]map[string]int{} // by file, then by effect
	truncations, began := 0, time.Now()
	t.Run("group", func(t *testing.T) {
		const parts = 4
		for part := range parts {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(filetest.FastDir(t), "data")
				for range flips / parts {
					damage := d.newDamage()
					outcome := d.judgeDamage(t, dir, damage)
					mu.Lock()
					if damage.bit == 0 {
						truncations++
					}
					if outcomes[damage.name] == nil {
						outcomes[damage.name] = map[string]int{}
					}
					outcomes[damage.name][outcome]++
					mu.Unlock()
				}
			})
		}
	})
	damages := 0
	for _, byEffect := range outcomes {
		for _, n := range byEffect {
			damages += n
		}
	}
	t.Logf("%d bit flips and %d truncations in %d files, in %s", damages-truncations, truncations, len(d.names), time.Since(began).Round(time.Second))
	for _, name := range slices.Sorted(maps.Keys(outcomes)) {
		t.Logf("%s: %v", name, outcomes[name])
	}
}

// A fileImage is the content of a file, without the zeros at its end.
type fileImage struct {
	content []byte
	size    int64
	used    int // the bytes that may be flipped
}

// A wholeDirectory is a data directory in memory, with the answers of a server that runs on it.
type wholeDirectory struct {
	now       time.Time
	files     map[string]fileImage
	names     []string // of the files that have content
	requests  []string // paths to request; two starts give the same answer for each
	truth     map[string]string
	mail      string
	inboxes   []string
	leaves    []tlog.Hash // of the log
	publicKey string      // of the log
}

// A damage is a flipped bit, or the length of a truncated file.
type damage struct {
	name string
	at   int
	bit  byte // 0: the file is truncated
}

func (x damage) String() string {
	if x.bit == 0 {
		return fmt.Sprintf("%s cut to %d bytes", x.name, x.at)
	}
	return fmt.Sprintf("%s, byte %d, bit %#x", x.name, x.at, x.bit)
}

// newDamage chooses a file, and then a place in it.
func (d *wholeDirectory) newDamage() damage {
	name := d.names[rand.IntN(len(d.names))]
	x := damage{name: name, at: rand.IntN(d.files[name].used)}
	if rand.IntN(truncationShare) > 0 {
		x.bit = 1 << rand.IntN(8)
	}
	return x
}

// writeFiles writes the directory to disk, with a damage.
func (d *wholeDirectory) writeFiles(t *testing.T, dir string, x damage) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for name, image := range d.files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		content, size := image.content, image.size
		if name == x.name {
			content = slices.Clone(content)
			if x.bit != 0 {
				content[x.at] ^= x.bit
			} else {
				content, size = content[:x.at], int64(x.at)
			}
		}
		if err := errors.Join(os.WriteFile(path, content, 0o600), os.Truncate(path, size)); err != nil {
			t.Fatal(err)
		}
	}
}

// newWholeDirectory runs a server through some of each operation and reads its data directory.
func newWholeDirectory(t *testing.T) *wholeDirectory {
	t.Helper()
	gin.SetMode(gin.ReleaseMode)
	d := &wholeDirectory{now: time.Now().UTC(), files: map[string]fileImage{}, truth: map[string]string{}}
	dir := filepath.Join(filetest.FastDir(t), "data")
	d.fill(t, dir)
	d.readFiles(t, dir)
	for round := range 2 {
		again := filepath.Join(filetest.FastDir(t), "data")
		d.writeFiles(t, again, damage{})
		s := d.start(again)
		if s.err != nil {
			t.Fatal(s.err)
		}
		if round == 0 {
			d.requests = append(d.requests, listRequests(t, s.server)...)
		}
		var kept []string
		for _, path := range d.requests {
			answer := s.ask(path)
			if round == 0 {
				d.truth[path] = answer
				kept = append(kept, path)
			} else if d.truth[path] == answer {
				kept = append(kept, path)
			} else {
				t.Logf("%s is answered differently by two starts", path)
			}
			if !strings.HasPrefix(answer, "200 ") {
				t.Errorf("%s: %.200s", path, answer)
			}
		}
		d.requests = kept
		d.mail = d.readMail(t, s.server)
		if d.leaves == nil {
			d.leaves = readLeaves(t, s.server.audit)
			d.publicKey = s.server.audit.Key()
		}
		if err := s.stop(); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.requests) < 60 || len(d.leaves) < 20 || len(d.names) < 15 {
		t.Fatalf("the directory has too little: %d requests, %d leaves, the files %v", len(d.requests), len(d.leaves), d.names)
	}
	t.Logf("%d requests, %d leaves, the files %v", len(d.requests), len(d.leaves), d.names)
	return d
}

// fill runs a server on an empty directory: it crawls some hosts, registers agents and accepts
// mail.
func (d *wholeDirectory) fill(t *testing.T, dir string) {
	t.Helper()
	n, err := fakenet.Open(fakenet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	s := startFlipped(dir, Environment{Dial: n.Dial, Roots: n.Roots(), DNS: n}, true)
	if s.err != nil {
		t.Fatal(s.err)
	}
	const hosts = 6 // and some that they name
	listed := 0
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.server.Crawler.Crawl(ctx, n.Seeds(), func(r crawler.Result) error {
		if r.State == crawler.Listed {
			listed++
		}
		if listed == hosts {
			return io.EOF
		}
		return nil
	}); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if s = startFlipped(dir, Environment{}, false); s.err != nil {
		t.Fatal(s.err)
	}
	for i := range 4 {
		key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(i + 1)}, 32))
		var made struct {
			AirID string `json:"air_id"`
		}
		send := func(method, path string, body any) {
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(method, path, bytes.NewReader(text))
			r.Host, r.RemoteAddr = "localhost", "192.0.2.7:1234"
			r.Header.Set("Content-Type", "application/json")
			keyID := did.FormatMultikey(key.Public().(ed25519.PublicKey))
			if made.AirID != "" {
				keyID = s.server.registry.DID(made.AirID) + did.KeyFragment
			}
			if err := httpsig.Sign(r, text, key, httpsig.SignOptions{KeyID: keyID}); err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			s.server.api.Handler().ServeHTTP(w, r)
			if w.Code >= 300 {
				t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
			if made.AirID == "" {
				if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil {
					t.Fatal(err)
				}
			}
		}
		send("POST", "/api/v1/agents/register", map[string]any{"name": fmt.Sprint("Agent ", i), "public_key": did.FormatPublicKey(key.Public().(ed25519.PublicKey))})
		send("PUT", "/api/v1/agents/"+made.AirID, map[string]any{"username": fmt.Sprint("flip_", i)})
		send("PUT", "/api/v1/agents/"+made.AirID, map[string]any{"description": "described"})
		inbox := s.server.registry.DID(made.AirID)
		d.inboxes = append(d.inboxes, inbox)
		for m := range 3 {
			text := fmt.Appendf(nil, `{"envelope":%d}`, m)
			if _, err := s.server.mail.Push(t.Context(), relay.Incoming{
				Inbox: inbox, Sender: "did:web:sender.test", ID: fmt.Sprint("id", m), ThreadID: "t", Nonce: fmt.Sprint("n", m), Digest: sha256.Sum256(text),
				Received: d.now, Expires: d.now.Add(1000 * time.Hour), Text: text, MaxMail: 100, MaxBytes: 1 << 20, MaxSenderPerWindow: 100, MaxFirstContacts: 100,
			}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.server.mail.SetRules(t.Context(), inbox, relay.Rules{Allow: []string{"did:web:sender.test"}, Signed: d.now}); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"", "/history", "/keys", "/did-document", "/evidence", "/attestations"} {
			d.requests = append(d.requests, "/api/v1/agents/"+made.AirID+path)
		}
		d.requests = append(d.requests, "/api/v1/agents/by-username/"+fmt.Sprint("flip_", i))
	}
	if _, err := s.server.Store.Compact(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := s.server.audit.WaitFor(t.Context(), s.server.Store.Head().Seq); err != nil {
		t.Fatal(err)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	d.now = time.Now().UTC().Add(time.Second)
}

// readFiles reads the directory into memory.
func (d *wholeDirectory) readFiles(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		image := fileImage{size: int64(len(content)), used: len(content)}
		if strings.HasSuffix(name, ".bolt") && filepath.Base(name) != "root.bolt" {
			image.used = filetest.UsedBytes(content)
		}
		image.content = slices.Clone(content[:max(image.used, len(bytes.TrimRight(content, "\x00")))])
		d.files[filepath.ToSlash(name)] = image
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		if d.files[name].used > 0 {
			d.names = append(d.names, name)
		}
	}
}

// listRequests returns the requests about the hosts and the log.
func listRequests(t *testing.T, h *Server) (paths []string) {
	t.Helper()
	paths = []string{
		"/log/checkpoint", "/log/key", "/api/v1/services?limit=100", "/api/v1/agents?limit=100", "/api/v1/verbs?limit=100",
		"/api/v1/search?q=payment&limit=20", "/api/v1/search?q=send+a+message&limit=20", "/api/v1/search?q=verb:QUERY&limit=50", "/witness/key", "/.well-known/did.json",
	}
	hosts := map[string]bool{}
	for r, err := range h.Store.List(t.Context(), "doc/", "") {
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(r.Key, "/")
		labels := strings.Split(parts[1], ".")
		slices.Reverse(labels)
		host := strings.Join(labels, ".")
		if !hosts[host] {
			paths = append(paths, "/api/v1/services/"+host)
		}
		hosts[host] = true
		paths = append(paths, "/api/v1/services/"+host+"/documents/"+parts[2])
	}
	size := h.audit.Head().N
	for n := range size / 256 {
		paths = append(paths, fmt.Sprintf("/log/tile/0/%03d", n), fmt.Sprintf("/log/tile/entries/%03d", n))
	}
	if rest := size % 256; rest > 0 {
		paths = append(paths, fmt.Sprintf("/log/tile/0/%03d.p/%d", size/256, rest), fmt.Sprintf("/log/tile/entries/%03d.p/%d", size/256, rest))
	}
	for n := range min(size, 12) {
		paths = append(paths, fmt.Sprintf("/log/inclusion?index=%d", n*size/12))
	}
	return paths
}

// isList reports whether an answer may omit damaged records, if the server reports them.
func isList(path string) bool {
	return strings.Contains(path, "limit=") || strings.HasSuffix(path, "/history") || strings.HasSuffix(path, "/evidence") || strings.HasSuffix(path, "/attestations")
}

// A flippedServer is a server on a directory that may be damaged.
type flippedServer struct {
	server *Server
	err    error // of Open
	log    *warnings
	cancel context.CancelFunc
	ended  chan error
}

// warnings stores the log lines of a server at the levels that an operator reads.
type warnings struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (w *warnings) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// start starts a server with a fixed clock.
func (d *wholeDirectory) start(dir string) *flippedServer {
	return startFlipped(dir, Environment{Clock: func() time.Time { return d.now }}, false)
}

func startFlipped(dir string, e Environment, crawl bool) *flippedServer {
	c := config.Default()
	c.DataDir, c.Listen, c.Registry.CheckpointCopy, c.Crawler.Enabled = dir, "", noCheckpointCopy, crawl
	c.Registry.NameServer, c.MinFreeBytes = "127.0.0.1:1", -1
	c.Search.Timeout = config.Duration(time.Minute) // however busy the machine is
	s := &flippedServer{log: &warnings{}, ended: make(chan error, 1)}
	s.server, s.err = Open(context.Background(), c, e, slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelWarn})), nil)
	if s.err != nil {
		return s
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	ready := make(chan struct{})
	go func() { s.ended <- s.server.Run(ctx, nil, crawl, func() { close(ready) }) }()
	select {
	case <-ready:
		waiting, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		head := s.server.Store.Head().Seq
		s.server.Index.WaitFor(waiting, head)    // otherwise search answers 503
		s.server.standing.WaitFor(waiting, head) // otherwise hits and services have no states
	case err := <-s.ended:
		s.ended <- err
	}
	return s
}

// stop stops the server as an operator does.
func (s *flippedServer) stop() error {
	s.cancel()
	return errors.Join(<-s.ended, s.server.Close())
}

// ask returns the status and the body of an answer.
func (s *flippedServer) ask(path string) string {
	r := httptest.NewRequest("GET", path, nil)
	r.Host = "localhost"
	w := httptest.NewRecorder()
	s.server.api.Handler().ServeHTTP(w, r)
	return fmt.Sprintf("%d %s", w.Code, pageCursor.ReplaceAllString(serviceTotal.ReplaceAllString(w.Body.String(), "$1"), ""))
}

// serviceTotal matches the number of services on all pages, which is that of the figures some seconds ago
// and absent right after a start.
var serviceTotal = regexp.MustCompile(`("seq":\d+),"total":\d+`)

// withoutSequence returns an answer without the newest write of the store. A queue of mail with another
// number of envelopes makes one more: the store notes it.
func withoutSequence(answer string) string { return storeSequence.ReplaceAllString(answer, "") }

var storeSequence = regexp.MustCompile(`"seq":\d+`)

// pageCursor matches the cursor of the next page, and that of the feed of changes. They depend on the
// cursor key: clients with an older cursor begin their list again.
var pageCursor = regexp.MustCompile(`"(next[a-z_]*|follow)":"[^"]*"`)

// readMail returns the mail and the rules of all inboxes. It omits what it cannot read.
func (d *wholeDirectory) readMail(t *testing.T, h *Server) string {
	var lines []string
	for _, inbox := range d.inboxes {
		page, err := h.mail.Pull(t.Context(), inbox, 0, 100, 1<<20, d.now)
		if err != nil {
			lines = append(lines, "error")
		}
		for _, m := range page.Mail {
			lines = append(lines, fmt.Sprintf("%d %s %s %s", m.Number%(1<<40), m.Sender, m.ID, m.Text))
		}
		rules, err := h.mail.Rules(t.Context(), inbox)
		if err != nil {
			lines = append(lines, "error")
			continue
		}
		lines = append(lines, fmt.Sprint(rules.Allow, rules.Block, rules.WakeURL))
	}
	return strings.Join(lines, "\n")
}

// fromDifference returns the end of an answer, from shortly before the first difference to another one.
func fromDifference(answer, other string) string {
	n := 0
	for n < min(len(answer), len(other)) && answer[n] == other[n] {
		n++
	}
	return answer[max(0, n-200):]
}

// readLeaves returns the hashes of all leaves.
func readLeaves(t *testing.T, log *audit.Log) (hashes []tlog.Hash) {
	t.Helper()
	for n := range log.Head().N {
		tile, err := log.File(t.Context(), fmt.Sprintf("tile/0/%03d%s", n/256, partial(log.Head().N, n/256)))
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, tlog.Hash(tile[n%256*32:]))
	}
	return hashes
}

// partial returns the end of the name of the n-th tile of a tree of that size.
func partial(size, n int64) string {
	if rest := size - n*256; rest < 256 {
		return fmt.Sprintf(".p/%d", rest)
	}
	return ""
}

// judgeDamage starts a server on a damaged directory and compares its answers with the expected
// ones. It returns the effect of the damage.
func (d *wholeDirectory) judgeDamage(t *testing.T, dir string, x damage) string {
	t.Helper()
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: panic: %v", x, r)
		}
	}()
	named := "harmless"
	if rand.IntN(checkShare) == 0 {
		named = d.checkDamage(t, dir, x)
	}
	d.writeFiles(t, dir, x) // the check may have changed the same files as a start
	s := d.start(dir)
	if s.err != nil {
		return "named at the start"
	}
	answers := map[string]string{}
	for _, i := range rand.Perm(len(d.requests))[:min(asked, len(d.requests))] {
		answers[d.requests[i]] = s.ask(d.requests[i])
	}
	mail := d.readMail(t, s.server)
	d.checkGrowth(t, s, x)
	runErr := s.stop()
	log := s.log.String()
	rolledBack := strings.Contains(log, "lost acknowledged writes")
	switch {
	case runErr != nil:
		named = "named by the end of the process"
	case log != "" && named == "harmless":
		named = "named by the log of the server"
	}
	// Most damages need no check: only it names what lists omit and the log does not.
	if named == "harmless" && (mail != d.mail || slices.ContainsFunc(slices.Collect(maps.Keys(answers)), func(path string) bool { return answers[path] != d.truth[path] })) {
		named = d.checkDamage(t, dir, x)
	}
	for path, answer := range answers {
		if answer == d.truth[path] || rolledBack || x.name == "relay/queue.bolt" && withoutSequence(answer) == withoutSequence(d.truth[path]) {
			continue
		}
		status, _ := strconv.Atoi(answer[:3])
		switch {
		case status >= 500:
			if named == "harmless" {
				named = "named by an answer"
			}
		case isList(path) && named != "harmless":
		case path == "/witness/key" && x.name == "witness.key":
		default:
			t.Errorf("%s (%s): %s is answered\n%.600s\nand was answered\n%.600s\n%s", x, named, path, fromDifference(answer, d.truth[path]), fromDifference(d.truth[path], answer), log)
		}
	}
	if mail != d.mail && !strings.Contains(mail, "error") && named == "harmless" {
		t.Errorf("%s: the mail is\n%s\nand was\n%s\n%s", x, mail, d.mail, log)
	}
	return named
}

// checkDamage writes the damaged directory again and returns whether the check names the damage.
func (d *wholeDirectory) checkDamage(t *testing.T, dir string, x damage) string {
	t.Helper()
	d.writeFiles(t, dir, x)
	if _, err := backup.Check(t.Context(), dir, func(string, int64, int64) {}); err != nil {
		return "named by the check"
	}
	return "harmless"
}

// checkGrowth registers another agent and checks that the new checkpoint contains the previous one.
func (d *wholeDirectory) checkGrowth(t *testing.T, s *flippedServer, x damage) {
	t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	body := fmt.Sprintf(`{"name":"After","public_key":%q}`, did.FormatPublicKey(public))
	r := httptest.NewRequest("POST", "/api/v1/agents/register", strings.NewReader(body))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.server.api.Handler().ServeHTTP(w, r)
	if w.Code >= 500 {
		return // refused
	}
	if w.Code != http.StatusCreated {
		t.Errorf("%s: a registration is answered %d %s", x, w.Code, w.Body)
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if s.server.audit.WaitFor(ctx, s.server.Store.Head().Seq) != nil {
		return // it no longer signs
	}
	signed, err := s.server.audit.Checkpoint()
	if err != nil {
		return
	}
	verifier, err := checkpoint.NewVerifier(d.publicKey)
	if err != nil {
		t.Fatal(err)
	}
	head, err := checkpoint.Parse(signed, verifier)
	if err != nil {
		t.Errorf("%s: a checkpoint is handed out that does not verify: %v", x, err)
		return
	}
	leaves := slices.Clone(d.leaves)
	for n := int64(len(leaves)); n < head.N; n++ {
		name := fmt.Sprintf("tile/0/%03d%s", n/256, partial(head.N, n/256))
		tile, err := s.server.audit.File(t.Context(), name)
		if err != nil {
			return // not served, so not contradicted
		}
		leaves = append(leaves, tlog.Hash(tile[n%256*32:]))
	}
	if head.N < int64(len(d.leaves)) {
		t.Errorf("%s: a checkpoint of %d leaves is signed after one of %d", x, head.N, len(d.leaves))
		return
	}
	if root := rootOf(leaves[:head.N]); root != head.Hash {
		t.Errorf("%s: the checkpoint of %d leaves contradicts the one before", x, head.N)
	}
}

// rootOf computes the root of a tree from its leaves (RFC 6962, section 2.1).
func rootOf(leaves []tlog.Hash) tlog.Hash {
	if len(leaves) == 1 {
		return leaves[0]
	}
	k := 1
	for 2*k < len(leaves) {
		k *= 2
	}
	return tlog.NodeHash(rootOf(leaves[:k]), rootOf(leaves[k:]))
}
