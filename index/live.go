package index

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	api "github.com/blevesearch/bleve_index_api"

	"gazetteer/store"
)

// maxPostingsCache bounds the memory of decoded postings, in bytes: those of the
// terms in use over a million operations take about 170 MB, of 100,000 16 MB.
const maxPostingsCache = 128 << 20

// A live is one opened index directory and what was derived from it. A rebuild
// replaces it whole.
type live struct {
	dir      string
	bleve    bleve.Index
	advanced api.Index

	postings *sizedCache[postingsKey, []posting]

	mu      sync.Mutex // guards following
	entries map[uint64]*segmentEntries
	last    *view
}

type postingsKey struct {
	segment uint64
	field   string
	term    string
}

func newLive(dir string, b bleve.Index) (*live, error) {
	advanced, err := b.Advanced()
	if err != nil {
		return nil, err
	}
	return &live{
		dir:      dir,
		bleve:    b,
		advanced: advanced,
		postings: newSizedCache[postingsKey, []posting](maxPostingsCache),
		entries:  make(map[uint64]*segmentEntries),
	}, nil
}

// open gives the snapshot of this moment and its view. The snapshot must be
// closed: its segments may be read until then.
func (l *live) open() (*scorch.IndexSnapshot, *view, error) {
	reader, err := l.advanced.Reader()
	if err != nil {
		return nil, nil, fmt.Errorf("read index %s: %w", l.dir, err)
	}
	snapshot, ok := reader.(*scorch.IndexSnapshot)
	if !ok || snapshot == nil {
		return nil, nil, fmt.Errorf("read index %s: no snapshot but %T", l.dir, reader)
	}
	v, err := l.view(snapshot)
	if err != nil {
		snapshot.Close() // the view's error says more
		return nil, nil, err
	}
	return snapshot, v, nil
}

// view returns the view of a snapshot, the last one again if nothing changed.
func (l *live) view(snapshot *scorch.IndexSnapshot) (*view, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil && l.last.snapshot == snapshot {
		return l.last, nil
	}
	current := make(map[uint64]*segmentEntries, len(snapshot.Segments()))
	v, err := newView(snapshot, func(s *scorch.SegmentSnapshot) (*segmentEntries, error) {
		e, ok := l.entries[s.Id()]
		if !ok {
			var err error
			if e, err = readEntries(s); err != nil {
				return nil, err
			}
		}
		current[s.Id()] = e
		return e, nil
	})
	if err != nil {
		return nil, err
	}
	l.entries, l.last = current, v // entries of segments that are gone are let go
	return v, nil
}

// find returns the decoded postings of a term in a segment.
func (l *live) find(s *scorch.SegmentSnapshot, field, term string, weigh func(count, length int) float32) ([]posting, error) {
	key := postingsKey{s.Id(), field, term}
	if p, ok := l.postings.find(key); ok {
		return p, nil
	}
	p, err := readPostings(s, field, term, weigh)
	if err != nil {
		return nil, err
	}
	l.postings.keep(key, p, postingBytes*cap(p)+len(field)+len(term)+100)
	return p, nil
}

// guard runs f and makes an error of a panic: a damaged segment can lead bleve
// beyond the end of a slice or of the mapped file.
func guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = damaged("%v", r)
		}
	}()
	return f()
}

// A state is what the index knows of itself. It lies in the index's own batch,
// so it is true of exactly what the index holds.
type state struct {
	Version string       `json:"version"` // currentVersion of the program that built it
	Cursor  store.Cursor `json:"cursor"`
	Entries int          `json:"entries"` // live entries, to notice lost ones
}

// stateKey is where the state lies among bleve's internal values.
const stateKey = "gazetteer/state"

// encode gives the stored form: a checksum, a space and JSON.
func (s state) encode() []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return fmt.Appendf(nil, "%08x %s", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)), text)
}

func decodeState(b []byte) (state, error) {
	var s state
	if len(b) < 9 {
		return s, damaged("its state is missing")
	}
	sum, err := strconv.ParseUint(string(b[:8]), 16, 32)
	if err != nil || uint32(sum) != crc32.Checksum(b[9:], crc32.MakeTable(crc32.Castagnoli)) {
		return s, damaged("its state does not match its checksum")
	}
	if err := json.Unmarshal(b[9:], &s); err != nil {
		return s, damaged("its state is unreadable: %v", err)
	}
	return s, nil
}
