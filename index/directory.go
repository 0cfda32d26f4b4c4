package index

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	api "github.com/blevesearch/bleve_index_api"

	"gazetteer/index/semantic"
	"gazetteer/store"
)

// maxPostingsCache bounds the memory of decoded postings, in bytes: those of the
// terms in use over a million operations take about 170 MB, of 100,000 16 MB.
const maxPostingsCache = 128 << 20

// A live is one opened index directory and what was derived from it. A rebuild
// replaces it whole.
type directory struct {
	path     string
	bleve    bleve.Index
	advanced api.Index
	lexicon  *semantic.Lexicon

	postings *sizedCache[string, *stemPostings] // by stem
	keywords *sizedCache[keywordKey, bitset]
	scratch  sync.Pool // of *wordScores
	// distanceBuffers holds *[]uint8, the room of nearestOperations.
	distanceBuffers sync.Pool

	spellingOnce sync.Once
	spelling     []spelledWord // words of the lexicon; set by spellingOnce

	mu       sync.Mutex // guards following
	segments map[uint64]*segmentData
	replaced []*segmentData // gone, and not yet asked for the meanings they had
	last     *view
}

type keywordKey struct {
	segment      uint64
	field, value string
}

// segmentData is what was derived from a segment, which never changes.
type segmentData struct {
	*segmentEntries
	meanings   *segmentEmbeddings // nil until the first search; set by prepare
	vocabulary vocabulary         // as meanings
	columns    columns
	profiles   profiles
	spelling   spelling
}

func newDirectory(dir string, b bleve.Index, l *semantic.Lexicon) (*directory, error) {
	advanced, err := b.Advanced()
	if err != nil {
		return nil, err
	}
	return &directory{
		path:     dir,
		bleve:    b,
		advanced: advanced,
		lexicon:  l,
		postings: newSizedCache[string, *stemPostings](maxPostingsCache),
		keywords: newSizedCache[keywordKey, bitset](maxPostingsCache / 8),
		segments: make(map[uint64]*segmentData),
	}, nil
}

// openSnapshot gives the snapshot of this moment and its view. The snapshot must be
// closed: its segments may be read until then.
func (l *directory) openSnapshot() (*scorch.IndexSnapshot, *view, error) {
	reader, err := l.advanced.Reader()
	if err != nil {
		return nil, nil, fmt.Errorf("read index %s: %w", l.path, err)
	}
	snapshot, ok := reader.(*scorch.IndexSnapshot)
	if !ok || snapshot == nil {
		return nil, nil, fmt.Errorf("read index %s: no snapshot but %T", l.path, reader)
	}
	v, err := l.viewOf(snapshot)
	if err != nil {
		snapshot.Close() // the view's error says more
		return nil, nil, err
	}
	return snapshot, v, nil
}

// viewOf returns the view of a snapshot, the last one again if nothing changed.
func (l *directory) viewOf(snapshot *scorch.IndexSnapshot) (*view, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil && l.last.snapshot == snapshot {
		return l.last, nil
	}
	segments := snapshot.Segments()
	derived := make([]*segmentData, len(segments))
	err := runParallel(len(segments), func(i int) error {
		if d, ok := l.segments[segments[i].Id()]; ok {
			derived[i] = d
			return nil
		}
		entries, err := readEntries(segments[i])
		derived[i] = &segmentData{segmentEntries: entries}
		return err
	})
	if err != nil {
		return nil, err
	}
	v := newView(l, snapshot, derived)
	current := make(map[uint64]*segmentData, len(segments))
	for i, s := range segments {
		current[s.Id()] = derived[i]
	}
	for id, d := range l.segments {
		if current[id] == nil && d.meanings != nil {
			l.replaced = append(l.replaced, d)
		}
	}
	l.segments, l.last = current, v
	return v, nil
}

// latestView is the last view that was made, nil when there is none.
func (l *directory) latestView() *view {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// prepareView derives what a search needs of a view's segments. The follower does
// without, and most segments that it makes are merged away before anybody asks.
func (v *view) prepareView() error {
	v.dir.mu.Lock()
	defer v.dir.mu.Unlock()
	if v.prepared {
		return nil
	}
	segments := v.snapshot.Segments()
	err := runParallel(len(segments), func(i int) (err error) {
		if d := v.segments[i].segmentData; d.meanings == nil {
			d.meanings, d.vocabulary, err = readEmbeddings(segments[i], d.segmentEntries, v.dir.lexicon, v.dir.formerEmbeddingsOf)
		}
		return err
	})
	if err != nil {
		return err
	}
	v.prepared = true
	if v == v.dir.last {
		v.dir.replaced = nil // what they had was taken over
	}
	return nil
}

// formerEmbeddingsOf returns the meanings of a document version in a segment that has them,
// nil when there is none. The caller holds mu until it is done with them.
func (l *directory) formerEmbeddingsOf(src source, print string) *formerEmbeddings {
	for _, d := range l.replaced {
		if r := d.findRun(src, print); r != nil {
			return &formerEmbeddings{d, r}
		}
	}
	return nil
}

// stemPostings are those of a stem in the segments of one view. They are kept
// together, because a search wants them of every segment.
type stemPostings struct {
	segments []uint64 // their ids
	found    []*termPostings
}

// postingsIn returns the postings in a segment, nil when they are not there.
func (p *stemPostings) postingsIn(id uint64) *termPostings {
	if i := slices.Index(p.segments, id); i >= 0 {
		return p.found[i]
	}
	return nil
}

// findPostings returns the decoded postings of a stem for each segment. The caller must not
// change them.
func (v *view) findPostings(stem string) ([]*termPostings, error) {
	kept, ok := v.dir.postings.lookup(stem)
	if !ok {
		kept = &stemPostings{}
	} else if slices.Equal(kept.segments, v.ids) {
		return kept.found, nil
	}
	p := &stemPostings{v.ids, make([]*termPostings, len(v.ids))}
	size := len(stem) + 200
	for i, s := range v.snapshot.Segments() {
		if p.found[i] = kept.postingsIn(v.ids[i]); p.found[i] == nil {
			d, err := v.segments[i].segmentData, error(nil)
			if p.found[i], err = readTerm(s, d.segmentEntries, d.vocabulary.formsOf(stem)); err != nil {
				return nil, err
			}
		}
		size += p.found[i].memorySize() + 100
	}
	v.dir.postings.put(stem, p, size)
	return p.found, nil
}

// operationsWithValue returns the operations of a segment that have a value of a keyword
// field. The caller must not change it.
func (l *directory) operationsWithValue(s *scorch.SegmentSnapshot, d *segmentData, field, value string) (bitset, error) {
	key := keywordKey{s.Id(), field, value}
	if b, ok := l.keywords.lookup(key); ok {
		return b, nil
	}
	b, err := readKeyword(s, d.segmentEntries, field, value)
	if err != nil {
		return nil, err
	}
	l.keywords.put(key, b, 8*len(b)+len(field)+len(value)+200)
	return b, nil
}

// newWordScores returns those of a view with nothing in them, and what takes them back when
// they are done with.
func (l *directory) newWordScores(v *view) (s *wordScores, done func()) {
	s, _ = l.scratch.Get().(*wordScores)
	if s == nil {
		s = &wordScores{}
	}
	s.reset(v)
	return s, func() { l.scratch.Put(s) }
}

// runParallel calls f with every number below n, on all processors at once, as guarded
// as its caller should be. It returns the error of the lowest number that had one;
// after an error no more calls are begun.
func runParallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var failed atomic.Bool
	work := func() {
		for !failed.Load() {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			if errs[i] = recoverDamage(func() error { return f(i) }); errs[i] != nil {
				failed.Store(true)
			}
		}
	}
	var others sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return cmp.Or(errs...)
}

// startConcurrent runs f, guarded, while its caller goes on. The caller must wait, which
// it may do more than once, and learns what f returned.
func startConcurrent(f func() error) (wait func() error) {
	var err error
	var running sync.WaitGroup
	running.Go(func() { err = recoverDamage(f) })
	return func() error {
		running.Wait()
		return err
	}
}

// recoverDamage runs f and makes an error of a panic: a damaged segment can lead bleve
// beyond the end of a slice or of the mapped file.
func recoverDamage(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = newDamageError("%v", r)
		}
	}()
	return f()
}

// A state is what the index knows of itself. It lies in the index's own batch,
// so it is true of exactly what the index holds.
type indexState struct {
	Version string       `json:"version"` // currentVersion of the program that built it
	Cursor  store.Cursor `json:"cursor"`
	Entries int          `json:"entries"` // live entries, to notice lost ones
}

// stateKey is where the state lies among bleve's internal values.
const stateKey = "gazetteer/state"

// encodeState gives the stored form: a checksum, a space and JSON.
func (s indexState) encodeState() []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return fmt.Appendf(nil, "%08x %s", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)), text)
}

func decodeState(b []byte) (indexState, error) {
	var s indexState
	if len(b) < 9 {
		return s, newDamageError("its state is missing")
	}
	sum, err := strconv.ParseUint(string(b[:8]), 16, 32)
	if err != nil || uint32(sum) != crc32.Checksum(b[9:], crc32.MakeTable(crc32.Castagnoli)) {
		return s, newDamageError("its state does not match its checksum")
	}
	if err := json.Unmarshal(b[9:], &s); err != nil {
		return s, newDamageError("its state is unreadable: %v", err)
	}
	return s, nil
}
