package index

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gazetteer/document"
	"gazetteer/index/query"
	"gazetteer/internal/need"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// The environment of the child of TestKilledFollower.
const crashDir = "GAZETTEER_INDEX_CRASH_DIR"

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // bleve's messages about files that a test damaged
	if dir := os.Getenv(crashDir); dir != "" {
		if err := crashChild(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// crashChild writes documents and follows them, and prints a line for each
// step, until it is killed.
func crashChild(dir string) error {
	ctx := context.Background()
	s, err := boltstore.Open(ctx, filepath.Join(dir, "store"), boltstore.Options{})
	if err != nil {
		return err
	}
	x, err := Open(ctx, Options{Dir: filepath.Join(dir, "index"), Store: s, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- x.Run(ctx) }()
	random := rand.New(rand.NewPCG(s.Head().Seq, 5))
	for {
		select {
		case err := <-failed:
			return err
		default:
		}
		host := fmt.Sprintf("host%d.test", random.IntN(40))
		kind := []document.Kind{document.AGIS, document.AGISSummary}[random.IntN(2)]
		write := store.Delete(store.DocumentKey(host, string(kind)))
		if random.IntN(4) > 0 {
			value := fmt.Sprintf(`{"kind":%q,"host":%q,"operations":[%s{"id":"a","verb":"BOOK"}]}`, kind, host,
				strings.Repeat(fmt.Sprintf(`{"id":"x%d","verb":"BOOK","intent":"table %d"},`, random.IntN(3), random.IntN(5)), random.IntN(60)))
			write = store.Put(store.DocumentKey(host, string(kind)), []byte(value))
		}
		seq, err := s.Apply(ctx, write)
		if err != nil {
			return err
		}
		if random.IntN(16) == 0 { // now and then the index is quite up to date
			if err := x.WaitFor(ctx, seq); err != nil {
				return err
			}
		}
		fmt.Println(seq)
	}
}

// TestKilledFollower checks that the index continues from its files after a kill at any time, and
// catches up with the store without a rebuild.
func TestKilledFollower(t *testing.T) {
	need.Time(t, "starts and kills ten processes")
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(8, 9))
	kills := 10
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil {
		kills = n
	}
	for round := range kills {
		ctx, cancel := context.WithTimeout(t.Context(), catchUpTime) // one that hangs is killed as well
		defer cancel()
		cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), crashDir+"="+dir)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for n := 5 + random.IntN(80); n > 0 && lines.Scan(); n-- {
		}
		must(t, cmd.Process.Kill())
		for lines.Scan() { // reads to the end, so that Wait may close it
		}
		cmd.Wait() // it was killed
		must(t, ctx.Err())
		if said.Len() > 0 {
			t.Fatalf("round %d: the child said %s", round, &said)
		}
		checkKilled(t, dir)
	}
}

func checkKilled(t *testing.T, dir string) {
	t.Helper()
	s, err := boltstore.Open(context.Background(), filepath.Join(dir, "store"), boltstore.Options{})
	must(t, err)
	defer s.Close() // before the next process opens it
	said := newLogged()
	x, err := Open(context.Background(), Options{Dir: filepath.Join(dir, "index"), Store: s, Log: slog.New(slog.NewTextHandler(said, nil))})
	must(t, err)
	defer x.Close()
	if at := x.Cursor().Seq; at > s.Head().Seq {
		t.Errorf("the index stands at %d, the store at %d", at, s.Head().Seq)
	}
	ctx, cancel := context.WithTimeout(context.Background(), catchUpTime)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- x.Run(ctx) }()
	if err := x.WaitFor(ctx, s.Head().Seq); err != nil {
		t.Error(err)
	}
	checkAgainstStore(t, x, s)
	cancel()
	must(t, <-done)
	if said.String() != "" {
		t.Errorf("logged %s", said)
	}
}

// TestSearchWhileFollowing checks that a search during changes sees one version of each document,
// with the text of that version. People's requests beside it read what other searches share: forms of
// words, corrections, embeddings, clusters and facets.
func TestSearchWhileFollowing(t *testing.T) {
	x, s := indexed(t)
	version := func(host string, n int) *document.Document {
		d := agis(host)
		for i := range 5 {
			d.Operations = append(d.Operations, agis(host, fmt.Sprintf("BOOK /thing%d: common version%d", i, n)).Operations[0])
		}
		return d
	}
	requests := []string{"resreve a tabel for two", "book a thing and cancel the flight", "do not delete anything", "내일 저녁 예약해 줘", "pop the question", "what does a thing cost"}
	ctx, stop := context.WithCancel(context.Background())
	failed := make(chan error, 4)
	for worker := range 4 {
		go func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for ctx.Err() == nil {
				n := random.IntN(20)
				asked := fmt.Sprintf("version%d", n)
				r, err := x.Search(context.Background(), query.Query{Words: asked, Limit: 100})
				if err == nil {
					_, err = x.Verbs(context.Background())
				}
				if err == nil {
					_, err = x.Search(context.Background(), query.Query{Words: requests[n%len(requests)], Limit: 100})
				}
				if err != nil {
					failed <- err
					return
				}
				for _, h := range r.Hits {
					if !slices.Contains(strings.Fields(h.Operation.Intent), asked) {
						failed <- fmt.Errorf("asked for %s, got %q", asked, h.Operation.Intent)
						return
					}
				}
			}
			failed <- nil
		}()
	}
	for n := range 20 {
		var docs []*document.Document
		for host := range 6 {
			docs = append(docs, version(fmt.Sprintf("host%d.test", host), (n+host)%20))
		}
		put(t, s, docs...)
		if n%5 == 4 {
			catchUp(t, x, s)
		}
	}
	catchUp(t, x, s)
	stop()
	for range 4 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	checkAgainstStore(t, x, s)
}
