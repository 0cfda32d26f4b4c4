package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"go.etcd.io/bbolt"

	"gazetteer/document"
	"gazetteer/index/blevefiles"
	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/view"
	"gazetteer/internal/teststore"
	"gazetteer/store"
	"gazetteer/store/boltfile/filetest"
	"gazetteer/store/boltstore"
)

// answers gives the answers to many queries as one text, to compare two lives
// of an index byte for byte.
func answers(t testing.TB, x *Index) string {
	t.Helper()
	queries := []query.Query{
		{Verbs: []string{"RETRIEVE", "LIST"}, Limit: 100},
		{Classes: []string{"orders", "faxes"}, Limit: 100},
		{Namespaces: []string{"rev-ai"}},
		{Words: "list orders", Limit: 100, Offset: 3},
		{Words: "events", Hosts: []string{"ticketmaster.com-discovery.test"}, Limit: 100},
		{Verbs: []string{"RETRIEVAL"}},
		{Words: "weather in 서울", Aliases: true},
	}
	for _, g := range golden {
		queries = append(queries, query.Query{Words: g.asked})
	}
	var out bytes.Buffer
	for _, q := range queries {
		text, err := json.Marshal(search(t, x, q))
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(text, '\n'))
	}
	verbs, err := x.Verbs(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(verbs)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	return out.String()
}

// compareAnswers fails at the first line that differs.
func compareAnswers(t *testing.T, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("answer %d differs\ngot  %s\nwant %s", i, g[i], w[i])
		}
	}
	t.Fatal("answers differ in length")
}

// checkAgainstStore compares the index with the store, document by document.
func checkAgainstStore(t *testing.T, x *Index, s store.Store) {
	t.Helper()
	want := map[string]bool{}
	for r, err := range s.List(context.Background(), store.DocumentPrefix, "") {
		if err != nil {
			t.Fatal(err)
		}
		d, err := decodeDocument(r.Value)
		if err != nil {
			t.Fatal(err)
		}
		src := entry.Source{Host: d.Host, Kind: d.Kind}
		want[entry.ID(src, d.fingerprint, entry.KindService, 0)] = true
		for i := range d.DataClasses {
			want[entry.ID(src, d.fingerprint, entry.KindClass, i)] = true
		}
		for i := range d.operations {
			want[entry.ID(src, d.fingerprint, entry.KindOperation, i)] = true
		}
	}
	snapshot, v, err := x.directory.OpenSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	found := 0
	for src := range sourcesOf(v) {
		for _, id := range v.StoredIDs(src).Ids {
			found++
			if !want[id] {
				t.Errorf("the index has %q, the store does not", id)
			}
		}
	}
	if found != len(want) {
		t.Errorf("the index has %d entries, the store %d", found, len(want))
	}
}

// sourcesOf returns the documents that a view has entries of.
func sourcesOf(v *view.View) map[entry.Source]bool {
	all := map[entry.Source]bool{}
	for _, s := range v.Segments {
		for _, r := range s.Runs {
			all[r.Source] = true
		}
	}
	return all
}

// An index with a past (updates, deletions, many segments) answers as one that
// was built afresh.
func TestRebuiltIndexGivesIdenticalAnswers(t *testing.T) {
	s := teststore.New(t)
	dir := filepath.Join(t.TempDir(), "index")
	docs := realServices(t)
	random := rand.New(rand.NewPCG(1, 2))

	x := openIndex(t, s, dir, io.Discard)
	stop := running(t, x)
	for round := range 4 {
		for some := range slices.Chunk(docs, 9) {
			var writes []store.Write
			for _, d := range some {
				switch random.IntN(3) {
				case 0:
					changed := *d
					changed.Operations = slices.Clone(d.Operations[random.IntN(len(d.Operations)):])
					changed.Operations[0].Intent += " weather orders events"
					writes = append(writes, write(t, &changed))
				case 1:
					writes = append(writes, store.Delete(store.DocumentKey(d.Host, string(d.Kind))))
				case 2:
					writes = append(writes, write(t, d))
				}
			}
			apply(t, s, writes...)
			if random.IntN(2) == 0 {
				catchUp(t, x, s)
			}
		}
		catchUp(t, x, s)
		if round == 1 { // another life on the same files
			stop()
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			x = openIndex(t, s, dir, io.Discard)
			stop = running(t, x)
		}
	}
	put(t, s, docs[:30]...)
	put(t, s, as(document.AGISSummary, agis(docs[0].Host, "RETRIEVE /quotes")))
	catchUp(t, x, s)
	checkAgainstStore(t, x, s)
	before := answers(t, x)
	stop()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	x = openIndex(t, s, dir, io.Discard)
	catchUpOnce(t, x, s)
	checkAgainstStore(t, x, s)
	compareAnswers(t, answers(t, x), before)
}

// built makes a store and a closed index of the real services, in several
// segments, and returns the directories and the answers.
func built(t *testing.T) (s *boltstore.Store, dir, want string) {
	t.Helper()
	s = teststore.New(t)
	dir = filepath.Join(t.TempDir(), "index")
	x := openIndex(t, s, dir, io.Discard)
	stop := running(t, x)
	docs := realServices(t)
	for len(docs) > 0 {
		n := min(20, len(docs))
		put(t, s, docs[:n]...)
		catchUp(t, x, s)
		docs = docs[n:]
	}
	want = answers(t, x)
	stop()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return s, dir, want
}

// segmentsOf returns the segment files of an index.
func segmentsOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, blevefiles.StoreDir, "*.zap"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no segments in %s: %v", dir, err)
	}
	return files
}

// eachSegment damages all segments: some may be left over from before a merge,
// and then nobody minds.
func eachSegment(damage func(t *testing.T, path string)) func(t *testing.T, dir string) {
	return func(t *testing.T, dir string) {
		for _, path := range segmentsOf(t, dir) {
			damage(t, path)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rewrite changes a file.
func rewrite(t *testing.T, path string, f func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, f(b), 0o600))
}

func half(b []byte) []byte  { return b[:len(b)/2] }
func empty(b []byte) []byte { return nil }
func garbage(b []byte) []byte {
	random := rand.New(rand.NewPCG(3, 4))
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}
func flipMiddle(b []byte) []byte {
	b[len(b)/2] ^= 0x10
	return b
}

// moveBuckets flips one bit in the place of each bucket that a leaf of a bolt file names.
func moveBuckets(b []byte) []byte {
	const page, header, element, leaf, bucket = 4096, 16, 16, 2, 1 // see package boltfile
	for start := 2 * page; start < filetest.UsedBytes(b); start += page {
		elements := int(binary.NativeEndian.Uint16(b[start+10:]))
		for at := start + header; at < min(start+header+elements*element, start+page); at += element {
			if binary.NativeEndian.Uint16(b[start+8:]) == leaf && binary.NativeEndian.Uint32(b[at:]) == bucket {
				b[at+5] ^= 4
			}
		}
	}
	return b
}

// rewriteState opens the index with bleve and changes what it knows of itself.
func rewriteState(t *testing.T, dir string, f func(*indexState) []byte) {
	t.Helper()
	b, err := bleve.Open(dir)
	must(t, err)
	value, err := b.GetInternal([]byte(stateKey))
	must(t, err)
	s, err := decodeState(value)
	must(t, err)
	must(t, b.SetInternal([]byte(stateKey), f(&s)))
	must(t, b.Close())
}

func TestDamagedDirectoryIsRebuilt(t *testing.T) {
	s, whole, want := built(t)
	root := func(dir string) string { return filepath.Join(dir, blevefiles.StoreDir, blevefiles.RootFile) }
	meta := func(dir string) string { return filepath.Join(dir, blevefiles.MetaFile) }
	const silent = "" // an index that is not there is no damage
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		logged string
	}{
		"directory missing": {func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) }, silent},
		"directory empty":   {func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)); must(t, os.Mkdir(dir, 0o700)) }, silent},
		"killed while it was made": {func(t *testing.T, dir string) {
			rewrite(t, root(dir), empty)
			must(t, os.WriteFile(filepath.Join(dir, blevefiles.UnfinishedFile), nil, 0o600))
		}, silent},
		"a file in its place": {func(t *testing.T, dir string) {
			must(t, os.RemoveAll(dir))
			must(t, os.WriteFile(dir, []byte("x"), 0o600))
		}, "not a directory"},
		"meta file missing": {func(t *testing.T, dir string) { must(t, os.Remove(meta(dir))) }, "index_meta.json is missing"},
		"meta file empty":   {func(t *testing.T, dir string) { rewrite(t, meta(dir), empty) }, "index_meta.json is empty"},
		"meta file garbage": {func(t *testing.T, dir string) { rewrite(t, meta(dir), garbage) }, "does not open"},
		"root file missing": {func(t *testing.T, dir string) { must(t, os.Remove(root(dir))) }, "root.bolt is missing"},
		"root file empty":   {func(t *testing.T, dir string) { rewrite(t, root(dir), empty) }, "root.bolt is empty"},
		"root file halved": {func(t *testing.T, dir string) {
			// Half of its size can be all that it uses: bbolt doubles a file one page early.
			rewrite(t, root(dir), func(b []byte) []byte { return b[:filetest.UsedBytes(b)/2] })
		}, "root.bolt"},
		"root file two pages": {func(t *testing.T, dir string) {
			rewrite(t, root(dir), func(b []byte) []byte { return b[:2*os.Getpagesize()] })
		}, "root.bolt"},
		// bbolt would follow such a bucket in a circle until the memory is full.
		"root file with moved buckets": {func(t *testing.T, dir string) { rewrite(t, root(dir), moveBuckets) }, "root.bolt is damaged"},
		"root file garbage":            {func(t *testing.T, dir string) { rewrite(t, root(dir), garbage) }, "root.bolt"},
		"root file without its pages": {func(t *testing.T, dir string) {
			rewrite(t, root(dir), func(b []byte) []byte {
				clear := b[2*os.Getpagesize():]
				copy(clear, make([]byte, len(clear)))
				return b
			})
		}, "rebuilding"},
		"segment missing":              {eachSegment(func(t *testing.T, path string) { must(t, os.Remove(path)) }), "no such file"},
		"segment empty":                {eachSegment(func(t *testing.T, path string) { rewrite(t, path, empty) }), "has 0 bytes"},
		"segment halved":               {eachSegment(func(t *testing.T, path string) { rewrite(t, path, half) }), "checksum"},
		"segment garbage":              {eachSegment(func(t *testing.T, path string) { rewrite(t, path, garbage) }), "checksum"},
		"segment with one bit flipped": {eachSegment(func(t *testing.T, path string) { rewrite(t, path, flipMiddle) }), "checksum"},
		"built by another version": {func(t *testing.T, dir string) {
			rewriteState(t, dir, func(s *indexState) []byte { s.Version = "0123456789abcdef"; return s.encodeState() })
		}, "form 0123456789abcdef"},
		"state garbled": {func(t *testing.T, dir string) {
			rewriteState(t, dir, func(s *indexState) []byte { return flipMiddle(s.encodeState()) })
		}, "checksum"},
		"entries lost": {func(t *testing.T, dir string) {
			rewriteState(t, dir, func(s *indexState) []byte { s.Entries++; return s.encodeState() })
		}, "entries and should have"},
		"of another log": {func(t *testing.T, dir string) {
			rewriteState(t, dir, func(s *indexState) []byte { s.Cursor.Store = "other"; return s.encodeState() })
		}, "another log"},
		"of another incarnation": {func(t *testing.T, dir string) {
			rewriteState(t, dir, func(s *indexState) []byte { s.Cursor.Incarnation++; return s.encodeState() })
		}, "another log"},
		"ahead of the log": {func(t *testing.T, dir string) {
			rewriteState(t, dir, func(s *indexState) []byte { s.Cursor.Seq += 1000; return s.encodeState() })
		}, "another log"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "index")
			must(t, os.CopyFS(dir, os.DirFS(whole)))
			c.damage(t, dir)
			log := newLogged()
			x := openIndex(t, s, dir, log)
			if c.logged == silent && log.String() != "" {
				t.Errorf("logged %q of an index that is not there", log)
			}
			if c.logged != silent && (!strings.Contains(log.String(), "rebuilding") || !strings.Contains(log.String(), c.logged)) {
				t.Errorf("logged %q, want %q", log, c.logged)
			}
			if x.Cursor() != (store.Cursor{}) {
				t.Errorf("claims to stand at %+v", x.Cursor())
			}
			catchUpOnce(t, x, s)
			compareAnswers(t, answers(t, x), want)
		})
	}
	t.Run("nothing", func(t *testing.T) {
		log := newLogged()
		x := openIndex(t, s, whole, log)
		if log.String() != "" || x.Cursor() != s.Head() {
			t.Errorf("an index that is sound: %+v, logged %q", x.Cursor(), log)
		}
		compareAnswers(t, answers(t, x), want)
	})
}

func TestForeignFilesAreKept(t *testing.T) {
	s, dir := teststore.New(t), t.TempDir()
	letter := filepath.Join(dir, "letter.txt")
	must(t, os.WriteFile(letter, []byte("dear"), 0o600))
	openIndex(t, s, dir, io.Discard)
	if b, err := os.ReadFile(letter); err != nil || string(b) != "dear" {
		t.Errorf("the file is %q, %v", b, err)
	}
}

func TestDirectoryHeldByAnotherProcess(t *testing.T) {
	s, dir, want := built(t)
	// A lock on a file belongs to the opening, not to the process, so this test
	// can stand for another process.
	db, err := bbolt.Open(filepath.Join(dir, blevefiles.StoreDir, blevefiles.RootFile), 0o600, nil)
	must(t, err)
	begin := time.Now()
	log := newLogged()
	x := openIndex(t, s, dir, log)
	if took := time.Since(begin); took > time.Minute { // bbolt would wait without end
		t.Errorf("took %v", took)
	}
	if !strings.Contains(log.String(), "another process holds") {
		t.Errorf("logged %q", log)
	}
	catchUpOnce(t, x, s)
	compareAnswers(t, answers(t, x), want)
	must(t, x.Close())

	must(t, db.Close())
	x = openIndex(t, s, dir, io.Discard)
	if x.Cursor() != s.Head() {
		t.Errorf("released: stands at %+v", x.Cursor())
	}
	compareAnswers(t, answers(t, x), want)
	if _, err := os.Stat(siblingDir(dir, 1)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory used meanwhile is still there: %v", err)
	}
}

func TestUnwritableDirectoryIsAnError(t *testing.T) {
	s := teststore.New(t)
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	_, err := Open(context.Background(), Options{Dir: filepath.Join(file, "index"), Store: s})
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}

func TestStoreReplacedWhileFollowing(t *testing.T) {
	// The cursor of a new index is taken from another store; the log says so
	// when it is followed.
	s := teststore.New(t)
	log := newLogged()
	x := openIndex(t, s, filepath.Join(t.TempDir(), "index"), log)
	put(t, s, realServices(t)...)
	x.position.MoveTo(store.Cursor{Store: "other", Incarnation: 7, Seq: 1})
	running(t, x)
	log.waitFor(t, "rebuilding the index")
	catchUp(t, x, s)
	checkAgainstStore(t, x, s)
}

// TestIndexBehindTheHorizonIsRebuilt lets the store forget deletions that a closed index has not seen.
// It is rebuilt, and answers as one that was built afresh.
func TestIndexBehindTheHorizonIsRebuilt(t *testing.T) {
	s := teststore.New(t)
	dir := filepath.Join(t.TempDir(), "index")
	docs := realServices(t)
	x := openIndex(t, s, dir, io.Discard)
	stop := running(t, x)
	put(t, s, docs...)
	catchUp(t, x, s)
	stop()
	must(t, x.Close())

	for _, d := range docs[:10] {
		apply(t, s, store.Delete(store.DocumentKey(d.Host, string(d.Kind))))
	}
	put(t, s, docs[10:20]...)
	must(t, s.Forget(t.Context(), s.Head()))
	log := newLogged()
	x = openIndex(t, s, dir, log)
	running(t, x)
	log.waitFor(t, "rebuilding the index")
	catchUp(t, x, s)
	checkAgainstStore(t, x, s)

	fresh := openIndex(t, s, filepath.Join(t.TempDir(), "index"), io.Discard)
	running(t, fresh)
	catchUp(t, fresh, s)
	if !reflect.DeepEqual(answers(t, x), answers(t, fresh)) {
		t.Error("the rebuilt index answers otherwise than a fresh one")
	}
}

// mergeWhole leaves one segment in a closed index. Then bleve has nothing to merge
// when it is opened: a fault in bleve's own goroutine cannot be caught, and would
// end the tests.
func mergeWhole(t *testing.T, s store.Store, dir string) {
	t.Helper()
	x := openIndex(t, s, dir, io.Discard)
	must(t, x.directory.Advanced.(*scorch.Scorch).ForceMerge(context.Background(), nil))
	// A forced merge is done before it is on disk, and closing does not wait for
	// that; a write does, and with it comes all that was there before.
	must(t, x.directory.Bleve.SetInternal([]byte("merged"), nil))
	must(t, x.Close())
	segments, err := blevefiles.ReadRoot(filepath.Join(dir, blevefiles.StoreDir, blevefiles.RootFile))
	must(t, err)
	if len(segments) != 1 {
		t.Fatalf("there are %d segments after all were merged", len(segments))
	}
}

func TestDamageMetBySearchIsRebuilt(t *testing.T) {
	s, dir, want := built(t)
	mergeWhole(t, s, dir)
	log := newLogged()
	x := openIndex(t, s, dir, log)
	running(t, x)
	search(t, x, query.Query{Words: "orders"}) // all that Run reads by itself is read now
	for _, file := range segmentsOf(t, dir) {
		// Reading what was mapped now faults.
		if err := os.Truncate(file, 0); !errors.Is(err, fs.ErrNotExist) { // bleve removes old ones
			must(t, err)
		}
	}
	_, err := x.Search(context.Background(), query.Query{Words: "weather"})
	if !errors.Is(err, ErrUnavailable) {
		t.Fatalf("search in a file that was cut: %v", err)
	}
	log.waitFor(t, "rebuilding the index")
	catchUp(t, x, s)
	compareAnswers(t, answers(t, x), want)
}

// obstructSegments puts directories where bleve wants to write its next n segments.
// Merges go on meanwhile: a segment that is written first keeps its place.
func obstructSegments(t *testing.T, dir string, n uint64) {
	t.Helper()
	last := uint64(0)
	for _, file := range segmentsOf(t, dir) {
		id, err := strconv.ParseUint(strings.TrimSuffix(filepath.Base(file), ".zap"), 16, 64)
		must(t, err)
		last = max(last, id)
	}
	for id := last + 1; id <= last+n; id++ {
		// Put there full: bleve would remove an empty directory.
		full := filepath.Join(t.TempDir(), "full")
		must(t, os.MkdirAll(filepath.Join(full, "x"), 0o700))
		err := os.Rename(full, filepath.Join(dir, blevefiles.StoreDir, fmt.Sprintf("%012x.zap", id)))
		if !errors.Is(err, syscall.ENOTDIR) { // a segment stands there
			must(t, err)
		}
	}
}

func TestFailedBatchIsRetriedFromDisk(t *testing.T) {
	s := teststore.New(t)
	dir := filepath.Join(t.TempDir(), "index")
	log := newLogged()
	x := openIndex(t, s, dir, log)
	x.firstRetry = time.Millisecond
	running(t, x)
	docs := realServices(t)
	put(t, s, docs[:20]...)
	catchUp(t, x, s)
	obstructSegments(t, dir, 8)
	put(t, s, docs[20:]...)
	log.waitFor(t, "could not be written")
	catchUp(t, x, s)
	checkAgainstStore(t, x, s)
	if strings.Contains(log.String(), "rebuilding") {
		t.Errorf("it was rebuilt: %s", log)
	}
}

func TestUnreadableDocumentIsOmitted(t *testing.T) {
	log := newLogged()
	s := teststore.New(t)
	x := openIndex(t, s, t.TempDir(), log)
	put(t, s, agis("a.test", "BOOK /table"), agis("b.test", "BOOK /table"))
	catchUpOnce(t, x, s)
	apply(t, s, store.Put(store.DocumentKey("a.test", "agis"), []byte("{")))
	catchUpOnce(t, x, s)
	if got := named(search(t, x, query.Query{Verbs: []string{"BOOK"}})); !slices.Equal(got, []string{"b.test BOOK /table"}) {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(log.String(), "unreadable") {
		t.Errorf("logged %q", log)
	}
}

func TestDocumentOfUnknownKindIsOmitted(t *testing.T) {
	log := newLogged()
	s := teststore.New(t)
	dir := t.TempDir()
	x := openIndex(t, s, dir, log)
	put(t, s, agis("a.test", "BOOK /table"), as("agis-next", agis("b.test", "BOOK /table")))
	catchUpOnce(t, x, s)
	if got := named(search(t, x, query.Query{Verbs: []string{"BOOK"}})); !slices.Equal(got, []string{"a.test BOOK /table"}) {
		t.Errorf("got %q", got)
	}
	if !strings.Contains(log.String(), "unknown kind") {
		t.Errorf("logged %q", log)
	}
	must(t, x.Close())
	if c, err := Compare(t.Context(), dir, s, func(int) {}); err != nil || c.Documents != 1 {
		t.Errorf("compared %+v, %v", c, err)
	}
}

func TestDamagedDocumentIsOmitted(t *testing.T) {
	data := t.TempDir()
	s := teststore.Open(t, data)
	put(t, s, agis("a.test", "BOOK /table: unmistakable"), agis("b.test", "BOOK /table: quite another"))
	dir := t.TempDir()
	x := openIndex(t, s, dir, io.Discard)
	catchUpOnce(t, x, s)
	must(t, x.Close())
	must(t, s.Close())
	files, err := filepath.Glob(filepath.Join(data, "*"))
	must(t, err)
	flipped := false
	for _, file := range files {
		b, err := os.ReadFile(file)
		must(t, err)
		if at := bytes.Index(b, []byte("unmistakable")); at >= 0 {
			b[at] ^= 1
			must(t, os.WriteFile(file, b, 0o600))
			flipped = true
		}
	}
	if !flipped {
		t.Fatal("the text was not found in the store's files")
	}
	s = teststore.Open(t, data)
	log := newLogged()
	x = openIndex(t, s, dir, log)
	for range 2 {
		if got := words(t, x, "book a table"); !slices.Equal(got, []string{"b.test BOOK /table"}) {
			t.Errorf("got %q", got)
		}
	}
	if n := strings.Count(log.String(), "damaged in the store"); n != 1 {
		t.Errorf("said %d times: %s", n, log)
	}
}

func TestOtherRecordsOnlyMoveCursor(t *testing.T) {
	s := teststore.New(t)
	dir := t.TempDir()
	x := openIndex(t, s, dir, io.Discard)
	put(t, s, agis("a.test", "BOOK /table"))
	catchUpOnce(t, x, s)
	apply(t, s, store.Put(store.HostKey("a.test"), []byte("{}")), store.Put(store.HostKey("b.test"), []byte("{}")))
	catchUpOnce(t, x, s)
	must(t, x.Close())
	x = openIndex(t, s, dir, io.Discard)
	if x.Cursor() != s.Head() {
		t.Errorf("stands at %+v, the store at %+v", x.Cursor(), s.Head())
	}
	checkAgainstStore(t, x, s)
}

func TestRunEndsWithTheStore(t *testing.T) {
	s := teststore.New(t)
	x := openIndex(t, s, t.TempDir(), io.Discard)
	must(t, s.Close())
	if err := x.Run(context.Background()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestOpenPrintsNothing(t *testing.T) {
	// Without a logger, an index that must be rebuilt is silent.
	s := teststore.New(t)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, blevefiles.MetaFile), nil, 0o600))
	var out bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	defer slog.SetDefault(old)
	x, err := Open(context.Background(), Options{Dir: dir, Store: s})
	must(t, err)
	must(t, x.Close())
	if out.Len() > 0 {
		t.Errorf("printed %q", &out)
	}
}
