package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"

	"gazetteer/document"
	"gazetteer/internal/exit"
	"gazetteer/internal/need"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// TestBackupWhileServing registers agents while backups are written, to a directory and to a
// stream. Each backup is checked and restored: it contains every agent that was registered before
// it began, the log verifies, and the restored server continues.
func TestBackupWhileServing(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	if out, code := p.cli("agent", "new", "Before"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	var registered atomic.Int64
	enough := make(chan struct{}) // closed when twenty agents are registered
	writing.Go(func() {
		for ctx.Err() == nil {
			body := fmt.Sprintf(`{"name":"A","public_key":%q}`, newPublicKey(t))
			if status, _ := p.ask("POST", "/api/v1/agents/register", body); status == 201 && registered.Add(1) == 20 {
				close(enough)
			}
		}
	})
	select {
	case <-enough:
	case <-time.After(time.Minute):
		t.Fatalf("only %d agents were registered in a minute", registered.Load())
	}
	out, code := p.cli("backup", "saved")
	if code != exit.OK || !strings.HasPrefix(out, "writing the keys\nwriting the transparency log\nwriting the store\nwriting the mail\nwriting the checksums\n") || !strings.Contains(out, "of the transparency log; it took") {
		t.Fatalf("%d\n%s", code, out)
	}
	stream := exec.CommandContext(t.Context(), os.Args[0], "backup", "-")
	stream.Args[0], stream.Dir = "gazetteer", p.dir
	// A server that a service manager confines has another /tmp than the command.
	stream.Env = append(os.Environ(), "TMPDIR="+filepath.Join(p.dir, "missing"))
	archive, err := stream.Output()
	if err != nil {
		t.Fatal(err)
	}
	stop()
	writing.Wait()
	if out, code := p.cli("backup", "saved"); code == exit.OK || !strings.Contains(out, "exists already") {
		t.Errorf("a second backup under the same name: %d\n%s", code, out)
	}
	if out, code := p.cli("backup", filepath.Join("missing", "saved")); code == exit.OK || !strings.Contains(out, "there is no directory") || !strings.Contains(out, "mount its disk") {
		t.Errorf("a backup below a directory that does not exist: %d\n%s", code, out)
	}
	if out, code := p.cli("--data-dir", "elsewhere", "restore", filepath.Join("saved", "FORMAT")); code == exit.OK || !strings.Contains(out, "is a file") {
		t.Errorf("a restore from a file: %d\n%s", code, out)
	}
	if out, code := p.cli("restore", "saved"); code == exit.OK || !strings.Contains(out, "is not empty") {
		t.Errorf("a restore over a directory in use: %d\n%s", code, out)
	}
	stopped(t, p)
	if out, code := p.cli("check"); code != exit.OK || !strings.Contains(out, "are intact") || !namesCheckedParts(out) {
		t.Errorf("check: %d\n%s", code, out)
	}
	// A backup is no data directory: the first write would spoil it.
	if out, code := p.cli("--data-dir", "saved", "--set", "listen=127.0.0.1:0", "serve"); code != exit.Usage || !strings.Contains(out, "restore saved") {
		t.Errorf("serve on a backup: %d\n%s", code, out)
	}
	// Elsewhere, where no checkpoint is newer.
	for name, from := range map[string]func(restore *exec.Cmd){
		"a directory": func(c *exec.Cmd) { c.Args = append(c.Args, filepath.Join(p.dir, "saved")) },
		"a stream":    func(c *exec.Cmd) { c.Args = append(c.Args, "-"); c.Stdin = bytes.NewReader(archive) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			restore := exec.CommandContext(t.Context(), os.Args[0], "restore")
			restore.Args[0], restore.Dir = "gazetteer", dir
			from(restore)
			if out, err := restore.CombinedOutput(); err != nil || !strings.Contains(string(out), "restored from the backup of") || !namesCheckedParts(string(out)) {
				t.Fatalf("%v\n%s", err, out)
			}
			again := startProgramIn(t, dir, "crawler.enabled=false")
			status, body := again.ask("GET", "/api/v1/agents?limit=100", "")
			if status != 200 || strings.Count(body, `"air_id"`) < 20 {
				t.Errorf("%d: %.300s", status, body)
			}
			if status, body := again.ask("POST", "/api/v1/agents/register", fmt.Sprintf(`{"name":"After","public_key":%q}`, newPublicKey(t))); status != 201 {
				t.Errorf("%d: %s", status, body)
			}
			if out, code := again.cli("log", "verify"); code != exit.OK {
				t.Errorf("%d\n%s", code, out)
			}
			stopped(t, again)
		})
	}
}

// TestRestoredDirectory restores a backup where a newer checkpoint was signed, and where none was. The
// first is named, and the server does not start there. The second refuses a position in the feed of
// changes from before the backup, because it is another incarnation.
func TestRestoredDirectory(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	for range 2 {
		if status := p.register("Before"); status != 201 {
			t.Fatal(status)
		}
	}
	p.awaitLeaves(2)
	var feed struct{ Next string }
	if status, body := p.ask("GET", "/api/v1/changes", ""); status != 200 || json.Unmarshal([]byte(body), &feed) != nil || feed.Next == "" {
		t.Fatalf("%d %s", status, body)
	}
	if out, code := p.cli("backup", "saved"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	if status := p.register("After"); status != 201 {
		t.Fatal(status)
	}
	p.awaitLeaves(3)
	stopped(t, p)

	if err := os.Rename(p.data(), filepath.Join(p.dir, "lost")); err != nil {
		t.Fatal(err)
	}
	copies, err := filepath.Glob(filepath.Join(p.dir, ".gazetteer-checkpoint-*[0-9a-f]"))
	if err != nil || len(copies) != 1 {
		t.Fatalf("%q, %v", copies, err)
	}
	out, code := p.cli("restore", "saved")
	if newer := "\nNewer than the backup: " + copies[0] + " has a checkpoint of 3 leaves. The server will refuse to sign another tree: put back a newer backup, or see docs/log.md"; code != exit.OK || !strings.Contains(out, newer) {
		t.Errorf("restored where a newer checkpoint was signed: %d, want %q\n%s", code, newer, out)
	}
	if out, code := p.cli("--set", "listen=127.0.0.1:0", "serve"); code != exit.Data || !strings.Contains(out, "an older copy of the log and of the store was put back") {
		t.Errorf("a start there: %d\n%s", code, out)
	}

	elsewhere := t.TempDir()
	restore := &program{t: t, dir: elsewhere}
	if out, code := restore.cli("restore", filepath.Join(p.dir, "saved")); code != exit.OK || strings.Contains(out, "Newer than the backup") {
		t.Fatalf("%d\n%s", code, out)
	}
	again := startProgramIn(t, elsewhere, "crawler.enabled=false")
	for _, path := range []string{"/api/v1/changes?since=" + feed.Next, "/api/v1/changes/stream?since=" + feed.Next} {
		response, err := http.Get(again.base + path)
		if err != nil {
			t.Fatal(err)
		}
		var body []byte
		if response.StatusCode != http.StatusOK { // a stream does not end
			body, err = io.ReadAll(response.Body)
		}
		response.Body.Close()
		var problem struct{ Code, Detail, Help string }
		if err != nil || json.Unmarshal(body, &problem) != nil || response.StatusCode != http.StatusGone || problem.Code != "cursor-gone" {
			t.Errorf("%s: %d %v %s", path, response.StatusCode, err, body)
			continue
		}
		if !strings.Contains(problem.Detail, "restored from an older state") ||
			!strings.Contains(problem.Help, "read /api/v1/services page by page") || !strings.Contains(response.Header.Get("Link"), "</api/v1/services>") {
			t.Errorf("%s: does not say how to go on: %s, Link %q", path, body, response.Header.Get("Link"))
		}
	}
	if status, body := again.ask("GET", "/api/v1/changes", ""); status != 200 || json.Unmarshal([]byte(body), &feed) != nil {
		t.Fatalf("%d %s", status, body)
	}
	if status, body := again.ask("GET", "/api/v1/changes?since="+feed.Next, ""); status != 200 {
		t.Errorf("a position of this incarnation: %d %s", status, body)
	}
	stopped(t, again)
}

// namesCheckedParts reports whether the output of a check names each main part when its turn comes.
func namesCheckedParts(out string) bool {
	for _, part := range []string{"the keys", "the store", "the transparency log", "the index", "the mail"} {
		_, rest, found := strings.Cut(out, "checking "+part+"\n")
		if !found {
			return false
		}
		out = rest
	}
	return true
}

// TestDamagedBackupsAreRefused flips a bit and cuts a file in every part of a backup: each is
// named, and nothing is restored.
func TestDamagedBackupsAreRefused(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	if out, code := p.cli("agent", "new", "Before"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	if out, code := p.cli("backup", "saved"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	stopped(t, p)
	saved := filepath.Join(p.dir, "saved")
	for _, name := range []string{"store.bolt", "FORMAT", "log.key", "log/entries", "log/hashes", "log/state", "relay/queue.bolt", "MANIFEST.json"} {
		path := filepath.Join(saved, name)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		damages := map[string][]byte{"longer": append(bytes.Clone(whole), 0)}
		if len(whole) > 0 { // the log's hashes may not have been written yet
			flipped := bytes.Clone(whole)
			flipped[rand.IntN(max(len(flipped)*9/10, 1))] ^= 1
			damages["a bit changed"], damages["cut"] = flipped, whole[:len(whole)/2]
		}
		for how, content := range damages {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			out, code := p.cli("--data-dir", "elsewhere", "restore", "saved")
			if code == exit.OK || name != "MANIFEST.json" && !strings.Contains(out, name) {
				t.Errorf("%s, %s: %d\n%s", name, how, code, out)
			}
			for _, left := range []string{"elsewhere", "elsewhere.partial"} {
				if _, err := os.Stat(filepath.Join(p.dir, left)); err == nil {
					t.Fatalf("%s, %s: %s was left", name, how, left)
				}
			}
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, code := p.cli("--data-dir", "elsewhere", "--set", "registry.checkpoint_copy=none", "restore", "saved"); code != exit.OK {
		t.Errorf("the whole one: %d\n%s", code, out)
	}
}

// TestCheckNamesDamage checks that a bit that changed in the log is named by the verb check.
func TestCheckNamesDamage(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	if out, code := p.cli("agent", "new", "Before"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	if out, code := p.cli("check"); code == exit.OK {
		t.Errorf("beside a server: %d\n%s", code, out)
	}
	for _, name := range []string{"second", "third", "fourth"} { // of four leaves, the root is one hash
		if out, code := p.cli("agent", "new", name, "--key", name+".key"); code != exit.OK {
			t.Fatalf("%d\n%s", code, out)
		}
	}
	stopped(t, p)
	for name, at := range map[string]func(size int) int{
		"entries": func(size int) int { return size / 2 },
		"hashes":  func(int) int { return 2 * 32 }, // of the first two leaves: no tile has it
	} {
		path := filepath.Join(p.data(), "log", name)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		damaged := slices.Clone(content)
		damaged[at(len(content))] ^= 1
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, code := p.cli("check"); code != exit.NotFound || !strings.Contains(out, "the transparency log: ") {
			t.Errorf("check with damaged %s: %d\n%s", name, code, out)
		}
		if out, code := p.cli("log", "verify", filepath.Join(p.data(), "log")); code != exit.NotFound || !strings.Contains(out, name+" is damaged") {
			t.Errorf("log verify with damaged %s: %d\n%s", name, code, out)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, words := range [][]string{{"check"}, {"log", "verify", filepath.Join(p.data(), "log")}} {
		if out, code := p.cli(words...); code != exit.OK {
			t.Errorf("%v of an undamaged log: %d\n%s", words, code, out)
		}
	}
}

// TestCheckNamesDamagedEntryOfTheStore damages the names in entries of the store's log. The check
// names it with the remedy, and still checks the other parts.
func TestCheckNamesDamagedEntryOfTheStore(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	for _, name := range []string{"First", "Second"} {
		if out, code := p.cli("agent", "new", name, "--key", name+".key"); code != exit.OK {
			t.Fatalf("%d\n%s", code, out)
		}
	}
	stopped(t, p)
	path := filepath.Join(p.data(), "store.bolt")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entries := regexp.MustCompile(`\x00{7}[\x01-\x7f]agent/AIR-`).FindAllIndex(content, -1)
	if len(entries) == 0 {
		t.Fatal("the log of the store has no entry of an agent")
	}
	last := byte(0)
	for _, e := range entries {
		last = max(last, content[e[0]+7])
	}
	for _, e := range entries {
		if content[e[0]+7] != last { // that would prevent the start
			content[e[0]+10] ^= 1
		}
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	out, code := p.cli("check")
	for _, want := range []string{"the log names", "what to do: restore the newest backup", "checking the mail"} {
		if code != exit.NotFound || !strings.Contains(out, want) {
			t.Errorf("exit code %d, want %d and %q:\n%s", code, exit.NotFound, want, out)
		}
	}
}

// TestCheckNamesDamagedBytes takes the raw bytes of a stored document away, replaces them, and flips
// a bit of them: the check names the document's address each time, with what to do.
func TestCheckNamesDamagedBytes(t *testing.T) {
	t.Parallel()
	p := &program{t: t, dir: t.TempDir()}
	if out, code := p.cli("crawl", "sms.nexmo.test", "gzip.test"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	whole := filepath.Join(p.dir, "whole")
	copyTree(t, p.data(), whole)
	// change changes a store, given the key of the bytes and the bytes.
	change := func(t *testing.T, dir string, change func(s store.Store, key string, content []byte) error) {
		t.Helper()
		s, err := boltstore.Open(t.Context(), dir, boltstore.Options{Log: slog.New(slog.DiscardHandler), MinFree: -1})
		if err != nil {
			t.Fatal(err)
		}
		record, err := s.Get(t.Context(), store.DocumentKey("sms.nexmo.test", "ai"))
		var d document.Document
		if err == nil {
			err = record.Decode(&d)
		}
		var blob store.Record
		if err == nil {
			blob, err = s.Get(t.Context(), store.BlobKey(d.Digest))
		}
		if err == nil {
			err = change(s, blob.Key, bytes.Clone(blob.Value))
		}
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if out, code := p.cli("check"); code != exit.OK {
		t.Fatalf("undamaged: %d\n%s", code, out)
	}
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		says   string
	}{
		"missing": {func(t *testing.T, dir string) {
			change(t, dir, func(s store.Store, key string, _ []byte) error {
				_, err := s.Apply(t.Context(), store.Delete(key))
				return err
			})
		}, "and the store does not have them"},
		"other bytes": {func(t *testing.T, dir string) {
			change(t, dir, func(s store.Store, key string, content []byte) error {
				_, err := s.Apply(t.Context(), store.Put(key, append(content, ' ')))
				return err
			})
		}, "which are damaged"},
		"a flipped bit": {func(t *testing.T, dir string) {
			var raw []byte
			change(t, dir, func(_ store.Store, _ string, content []byte) error { raw = content; return nil })
			path := filepath.Join(dir, "store.bolt")
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found := 0
			for at := bytes.Index(file, raw); at >= 0; at = bytes.Index(file, raw) { // also in pages no longer used
				file[at+len(raw)/2] ^= 1
				found++
			}
			if found == 0 {
				t.Fatal("the file of the store does not contain the bytes")
			}
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "which are damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			copyTree(t, whole, dir)
			c.damage(t, dir)
			out, code := p.cli("--data-dir", dir, "check")
			named := regexp.MustCompile(`(?m)^doc/test\.nexmo\.sms/ai \(https://sms\.nexmo\.test/\.well-known/ai\) names the bytes sha256:\S+, ` + c.says + "\n  what to do: have the host visited again")
			if code != exit.NotFound || !named.MatchString(out) || strings.Contains(out, "gzip.test") || strings.Contains(out, "is damaged: the store is damaged") {
				t.Errorf("exit code %d, want %d and the address of the document alone:\n%s", code, exit.NotFound, out)
			}
		})
	}
}

// TestCheckComparesParts takes single parts from another time, or away: each is named, with what to do.
func TestCheckComparesParts(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false", "registry.allow_loopback=true")
	register := func(name string) {
		t.Helper()
		if out, code := p.cli("agent", "new", name, "--key", name+".key", "--inbox", "here"); code != exit.OK {
			t.Fatalf("%d\n%s", code, out)
		}
	}
	register("Before")
	stopped(t, p)
	older := filepath.Join(p.dir, "older")
	copyTree(t, p.data(), older)
	p = startProgramIn(t, p.dir, "crawler.enabled=false", "registry.allow_loopback=true")
	register("After")
	if out, code := p.cli("inbox", "rules", "--block", "spam.example", "--key", "Before.key"); code != exit.OK {
		t.Fatalf("%d\n%s", code, out)
	}
	stopped(t, p)
	whole := filepath.Join(p.dir, "whole")
	copyTree(t, p.data(), whole)
	if out, code := p.cli("--data-dir", whole, "check"); code != exit.OK || !strings.Contains(out, "the history of 2 agents") || !strings.Contains(out, "the log agrees with 2 records") {
		t.Errorf("the whole directory: %d\n%s", code, out)
	}
	for name, c := range map[string]struct {
		from, part string // the directory that the part is taken from; "" takes it away
		says       string
	}{
		"an older store":           {older, "store.bolt", "lost acknowledged writes"},
		"an older log":             {older, "log", "an older copy of the log was put back"},
		"an older store and head":  {older, "store.bolt HEAD", "an older copy of the store was put back"},
		"older mail":               {older, "relay", "the mail has lost acknowledged writes"},
		"an older queue of mail":   {older, "relay/queue.bolt", "the mail has lost acknowledged writes"},
		"no log":                   {"", "log", "the transparency log is missing"},
		"another index's metadata": {"", "index/store/root.bolt", "the index is damaged"},
		"no identity":              {"", "FORMAT", "the file FORMAT is missing"},
		"no store":                 {"", "store.bolt", "the file store.bolt is missing"},
		"no mail":                  {"", "relay", "the directory relay is missing"},
		"no key of the log":        {"", "log.key", "log.key is missing"},
		"no key of the relay":      {"", "relay.key", "relay.key is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			copyTree(t, whole, dir)
			for part := range strings.FieldsSeq(c.part) {
				to := filepath.Join(dir, part)
				if err := os.RemoveAll(to); err != nil {
					t.Fatal(err)
				}
				if c.from == "" {
					continue
				}
				copyTree(t, filepath.Join(c.from, part), to)
			}
			out, code := p.cli("--data-dir", dir, "check")
			if code != exit.NotFound || !strings.Contains(out, c.says) || !strings.Contains(out, "\n  what to do: ") {
				t.Errorf("%d, want %q and what to do:\n%s", code, c.says, out)
			}
			if out, code := p.cli("--data-dir", dir, "--json", "check"); code != exit.NotFound || !strings.Contains(out, `"whole":false`) && !strings.Contains(out, `"whole": false`) {
				t.Errorf("as JSON: %d\n%s", code, out)
			}
		})
	}

	upgraded := filepath.Join(p.dir, "upgraded")
	copyTree(t, whole, upgraded)
	setIndexVersion(t, filepath.Join(upgraded, "index"), "0123456789abcdef")
	if out, code := p.cli("--data-dir", upgraded, "check"); code != exit.OK || !strings.Contains(out, "there is no index of this version of the program") {
		t.Errorf("an index of another version: %d\n%s", code, out)
	}

	empty := filepath.Join(p.dir, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	out, code := p.cli("--data-dir", empty, "check")
	if left, err := os.ReadDir(empty); code != exit.Data || !strings.Contains(out, "there is no data in") || err != nil || len(left) > 0 {
		t.Errorf("an empty directory: %d, %d files afterwards, %v\n%s", code, len(left), err, out)
	}

	mixed := filepath.Join(p.dir, "mixed")
	if err := os.Mkdir(mixed, 0o700); err != nil {
		t.Fatal(err)
	}
	copyTree(t, whole, filepath.Join(mixed, "data"))
	if err := os.RemoveAll(filepath.Join(mixed, "data", "relay")); err != nil {
		t.Fatal(err)
	}
	copyTree(t, filepath.Join(older, "relay"), filepath.Join(mixed, "data", "relay"))
	p = startTroubledProgram(t, mixed, "crawler.enabled=false")
	if !strings.Contains(p.log.String(), "the queue has lost acknowledged writes") {
		t.Errorf("a start with older mail: %s", p.log)
	}
	stopped(t, p)
}

// setIndexVersion makes an index one that another version of the program has built.
func setIndexVersion(t *testing.T, dir, version string) {
	t.Helper()
	x, err := bleve.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	state, err := x.GetInternal([]byte("gazetteer/state"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(state), " ") // a checksum stands before it
	text = regexp.MustCompile(`"version":"[^"]*"`).ReplaceAllString(text, fmt.Sprintf(`"version":%q`, version))
	sum := crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
	if err := x.SetInternal([]byte("gazetteer/state"), fmt.Appendf(nil, "%08x %s", sum, text)); err != nil {
		t.Fatal(err)
	}
}

// copyTree copies a directory or a file with its modes.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "cp", "-Rp", from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
}

// TestKillsDuringBackupAndRestore kills the process that writes a backup, one that restores it, and
// one that compacts the restored directory, at random moments: no incomplete file has a final name,
// nothing is lost, and the next attempt succeeds. KILLS sets the number of kills.
func TestKillsDuringBackupAndRestore(t *testing.T) {
	t.Parallel()
	const agents = 100
	p := startProgram(t, "crawler.enabled=false")
	for range agents {
		if status, body := p.ask("POST", "/api/v1/agents/register", fmt.Sprintf(`{"name":"A","public_key":%q}`, newPublicKey(t))); status != 201 {
			t.Fatalf("%d %s", status, body)
		}
	}
	stopped(t, p)
	var killed, ended int // by the kill, and before it
	// Each verb is killed between its start and a little after it ended the last time.
	lasts := map[string]time.Duration{}
	kill := func(verb string, args ...string) {
		t.Helper()
		begun := time.Now()
		most := lasts[verb]
		if most == 0 {
			most = 500 * time.Millisecond
		}
		c := exec.Command(os.Args[0], args...)
		c.Args[0], c.Dir = "gazetteer", p.dir
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(rand.N(most+most/4), func() { c.Process.Kill() })
		if err := c.Wait(); err == nil {
			ended++
			lasts[verb] = time.Since(begun)
		} else {
			killed++
		}
		timer.Stop()
	}
	whole := func(dir string) {
		t.Helper()
		if out, code := p.cli("--data-dir", dir, "check"); code != exit.OK || !strings.Contains(out, fmt.Sprintf("the history of %d agents", agents)) {
			t.Fatalf("after %d kills: %d\n%s", killed, code, out)
		}
	}
	rounds := (killsOr(t, 12) + 2) / 3
	for i := range rounds {
		name, into := fmt.Sprintf("saved%d", i), fmt.Sprintf("into%d", i)
		kill("backup", "backup", name)
		if _, err := os.Stat(filepath.Join(p.dir, name)); err != nil {
			if out, code := p.cli("backup", name); code != exit.OK {
				t.Fatalf("round %d: %d\n%s", i, code, out)
			}
		}
		kill("restore", "--data-dir", into, "restore", name)
		if _, err := os.Stat(filepath.Join(p.dir, into)); err != nil {
			if out, code := p.cli("--data-dir", into, "restore", name); code != exit.OK {
				t.Fatalf("round %d: %d\n%s", i, code, out)
			}
		}
		whole(into)
		kill("compact", "--data-dir", into, "--set", "registry.checkpoint_copy=none", "compact", "--keep", "0s")
		whole(into)
		if left, err := filepath.Glob(filepath.Join(p.dir, into, "*.rebuilt")); err != nil || len(left) > 0 {
			t.Fatalf("round %d: %v, %v", i, left, err)
		}
		for _, used := range []string{name, into} {
			if err := os.RemoveAll(filepath.Join(p.dir, used)); err != nil {
				t.Fatal(err)
			}
		}
	}
	whole(p.data())
	t.Logf("%d kills of backup, restore and compaction; %d ended before", killed, ended)
}

// TestStreamOfKilledBackup kills a command that writes a backup to a stream: what it leaves beside
// the data directory contains keys, and the next such backup, or the next start, removes it.
func TestStreamOfKilledBackup(t *testing.T) {
	t.Parallel()
	p := startProgram(t, "crawler.enabled=false")
	streams := func() []string {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(p.dir, ".gazetteer-stream-*"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	// interrupt begins a backup whose stream nobody reads, and kills it when that is complete on disk.
	interrupt := func() string {
		t.Helper()
		c := exec.Command(os.Args[0], "backup", "-")
		c.Args[0], c.Dir = "gazetteer", p.dir
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer c.Wait()
		defer c.Process.Kill()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			for _, dir := range streams() {
				if _, err := os.Stat(filepath.Join(dir, "backup", "MANIFEST.json")); err == nil {
					return dir
				}
			}
		}
		t.Fatalf("no backup was begun: %v\n%s", streams(), p.log)
		return ""
	}
	first := interrupt()
	if _, err := os.Stat(filepath.Join(first, "backup", "log.key")); err != nil {
		t.Fatal(err)
	}
	second := interrupt()
	if left := streams(); len(left) != 1 || left[0] != second {
		t.Errorf("%v are left, want %s", left, second)
	}
	stopped(t, p)
	p = startProgramIn(t, p.dir, "crawler.enabled=false")
	if left := streams(); len(left) != 0 || !strings.Contains(p.log.String(), "removed a backup that was interrupted") {
		t.Errorf("%v are left after a start\n%s", left, p.log)
	}
	stopped(t, p)
}

// TestBackupByRootOfAnotherUsersServer has root write backups of a server of another user: to a
// stream, which succeeds, and into a directory of root, which the answer explains. Without root, the
// directory belongs to nobody who may write there.
func TestBackupByRootOfAnotherUsersServer(t *testing.T) {
	t.Parallel()
	const nobody = 65534
	dir := t.TempDir()
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	address, err := freeAddress()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(os.Args[0], "serve", "--data-dir", filepath.Join(dir, "data"), "--listen", address, "--set", "crawler.enabled=false")
	server.Args[0], server.Dir = "gazetteer", dir
	if os.Getuid() == 0 {
		server.Path = filepath.Join(dir, "gazetteer") // where another user finds it
		copyTree(t, os.Args[0], server.Path)
		if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chown(dir, nobody, nobody), os.Chmod(server.Path, 0o755)); err != nil {
			t.Fatal(err)
		}
		server.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	log := &spool{}
	server.Stderr = log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Wait()
	defer server.Process.Kill()
	var trace []string // the command that traces the program, nil for none
	run := func(args ...string) (out []byte, problem string, err error) {
		c := exec.CommandContext(t.Context(), os.Args[0], args...)
		c.Args[0], c.Dir = "gazetteer", dir
		if trace != nil {
			c.Path, c.Args = trace[0], slices.Concat(trace, []string{server.Path}, args)
		}
		said := &bytes.Buffer{}
		c.Stderr = said
		out, err = c.Output()
		return out, said.String(), err
	}
	ready := func() bool {
		answer, err := http.Get("http://" + address + "/readyz")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}
	for deadline := time.Now().Add(time.Minute); !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the server does not serve: %s", log)
		}
	}
	traced := filepath.Join(dir, "traced")
	if os.Getuid() == 0 { // the directory of the stream is given away by its descriptor: its path could be a link by then
		trace = []string{need.Program(t, "strace"), "-f", "-qq", "-e", "trace=chown,lchown,fchown,fchownat", "-e", "signal=none", "-o", traced}
	}
	archive, problem, err := run("backup", "-")
	trace = nil
	if calls, err := os.ReadFile(traced); os.Getuid() == 0 && (err != nil || !regexp.MustCompile(`\bfchown\(\d+, 65534, 65534`).Match(calls) || regexp.MustCompile(`\b(l?chown|fchownat)\(`).Match(calls)) {
		t.Errorf("how root gives the directory of a stream away: %s %v", calls, err)
	}
	if err != nil || !bytes.Contains(archive, []byte("MANIFEST.json")) {
		t.Fatalf("a stream: %v\n%s%s", err, problem, log)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".gazetteer-stream-*")); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", left, err)
	}
	if _, problem, err := run("backup", filepath.Join(closed, "saved")); err == nil || !strings.Contains(problem, "may not write into "+closed) || !strings.Contains(problem, "chown") {
		t.Errorf("a directory that the server may not use: %v\n%s", err, problem)
	}
}
