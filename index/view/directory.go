package view

import (
	"fmt"
	"slices"
	"sync"

	"gazetteer/index/bitset"
	"gazetteer/index/damage"
	"gazetteer/index/entry"
	"gazetteer/index/semantic"
	"gazetteer/index/spelling"
	"gazetteer/internal/cache"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	api "github.com/blevesearch/bleve_index_api"
)

// These bound the memory of decoded postings, in bytes: the cache of a larger index has room for
// postingsPerEntry bytes for each entry. Otherwise searches would drop each other's postings and
// decode them again, which takes longer than anything else.
const (
	maxPostingsCache = 128 << 20
	postingsPerEntry = 128
)

// A Directory is one opened index directory with the data derived from it. A rebuild replaces it
// completely.
type Directory struct {
	path     string
	Bleve    bleve.Index
	Advanced api.Index
	lexicon  *semantic.Lexicon
	states   HostStates
	// StoredFrom is the number of entries from which the embeddings of an index are stored.
	StoredFrom int

	Postings *cache.Sized[string, *StemPostings] // by stem
	keywords *cache.Sized[keywordKey, bitset.Set]
	scratch  sync.Pool // of *wordScores
	readers  sync.Pool // of *termReader
	// distanceBuffers holds *[]uint8, the buffers of [View.NearestOperations].
	distanceBuffers sync.Pool

	lexiconOnce  sync.Once
	lexiconWords spelling.WordList // words of the lexicon; set by lexiconOnce

	usages spelling.UsageCache // of the words that may be corrections

	mu       sync.Mutex // guards the following fields
	opened   bool       // there was a view
	missing  []error    // why the stored data of large segments was not used when the directory was opened
	segments map[uint64]*SegmentData
	replaced []*SegmentData // replaced segments whose embeddings were not yet copied
	last     *View
}

type keywordKey struct {
	segment      uint64
	field, value string
}

// SegmentData contains the data derived from a segment. It never changes.
type SegmentData struct {
	*segmentEntries
	Meanings   *SegmentEmbeddings // nil until the first search; set by prepare
	vocabulary Vocabulary         // as meanings
	columns    columns
	profiles   profiles
	spelled    segmentWords
	names      serviceNames
	hosts      hostNumbers
}

// NewDirectory returns the directory of an opened index. states may be nil: then no state of a host
// is known.
func NewDirectory(dir string, b bleve.Index, l *semantic.Lexicon, states HostStates) (*Directory, error) {
	advanced, err := b.Advanced()
	if err != nil {
		return nil, err
	}
	return &Directory{
		path:       dir,
		Bleve:      b,
		Advanced:   advanced,
		lexicon:    l,
		states:     states,
		StoredFrom: storedIndexEntries,
		Postings:   cache.New[string, *StemPostings](maxPostingsCache),
		keywords:   cache.New[keywordKey, bitset.Set](maxPostingsCache / 8),
		segments:   make(map[uint64]*SegmentData),
	}, nil
}

// OpenSnapshot returns the current snapshot and its view. The snapshot must be closed; its segments
// may be read until then.
func (l *Directory) OpenSnapshot() (*scorch.IndexSnapshot, *View, error) {
	reader, err := l.Advanced.Reader()
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

// viewOf returns the view of a snapshot: the previous view if nothing has changed.
func (l *Directory) viewOf(snapshot *scorch.IndexSnapshot) (*View, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil && l.last.snapshot == snapshot {
		return l.last, nil
	}
	segments := snapshot.Segments()
	derived, missing := make([]*SegmentData, len(segments)), make([]error, len(segments))
	err := damage.RecoverParallel(len(segments), func(i int) (err error) {
		if d, ok := l.segments[segments[i].Id()]; ok {
			derived[i] = d
			return nil
		}
		derived[i], missing[i], err = l.readSegmentData(segments[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	v, err := newView(l, snapshot, derived)
	if err != nil {
		return nil, err
	}
	if !l.opened && v.Entries >= l.StoredFrom {
		l.missing = slices.DeleteFunc(missing, func(why error) bool { return why == nil })
	}
	l.opened = true
	current := make(map[uint64]*SegmentData, len(segments))
	for i, s := range segments {
		current[s.Id()] = derived[i]
	}
	for id, d := range l.segments {
		if current[id] == nil && d.Meanings != nil {
			l.replaced = append(l.replaced, d)
		}
	}
	l.segments, l.last = current, v
	l.Postings.Widen(postingsPerEntry * v.Entries)
	return v, nil
}

// MissingEmbeddings returns for each large segment without usable stored embeddings the reason, as
// found when the directory was opened. The first search computes them again.
func (l *Directory) MissingEmbeddings() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.missing
}

// LatestView returns the newest view, nil if there is none.
func (l *Directory) LatestView() *View {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// PrepareView derives the data that a search needs from a view's segments. The follower does not
// need it, and most of its segments are merged before a search uses them.
func (v *View) PrepareView() error {
	v.Directory.mu.Lock()
	defer v.Directory.mu.Unlock()
	if v.prepared {
		return nil
	}
	segments := v.snapshot.Segments()
	err := damage.RecoverParallel(len(segments), func(i int) (err error) {
		if d := v.Segments[i].SegmentData; d.Meanings == nil {
			err = v.Directory.prepareEmbeddings(segments[i], d, v.Entries)
		}
		return err
	})
	if err != nil {
		return err
	}
	v.prepared = true
	if v == v.Directory.last {
		v.Directory.replaced = nil // their embeddings were copied
		v.Directory.RemoveFormerEmbeddings()
	}
	return nil
}

// formerEmbeddingsOf returns the embeddings of a document version from a replaced segment that has
// them, nil if there is none. The caller holds mu while it uses them.
func (l *Directory) formerEmbeddingsOf(src entry.Source, print string) *formerEmbeddings {
	for _, d := range l.replaced {
		if r := d.findRun(src, print); r != nil {
			return &formerEmbeddings{d, r}
		}
	}
	return nil
}

// StemPostings are the postings of a stem in the segments of one view. They are kept together
// because a search needs those of every segment.
type StemPostings struct {
	segments []uint64 // their ids
	found    []*TermPostings
}

// postingsIn returns the postings in a segment, nil if there are none.
func (p *StemPostings) postingsIn(id uint64) *TermPostings {
	if i := slices.Index(p.segments, id); i >= 0 {
		return p.found[i]
	}
	return nil
}

// FindPostings returns the decoded postings of a stem for each segment. The caller must not
// change them.
func (v *View) FindPostings(stem string) ([]*TermPostings, error) {
	kept, ok := v.Directory.Postings.Lookup(stem)
	if !ok {
		kept = &StemPostings{}
	} else if slices.Equal(kept.segments, v.ids) {
		return kept.found, nil
	}
	p := &StemPostings{v.ids, make([]*TermPostings, len(v.ids))}
	size := len(stem) + 200
	r, _ := v.Directory.readers.Get().(*termReader)
	if r == nil {
		r = &termReader{}
	}
	for i, s := range v.snapshot.Segments() {
		if p.found[i] = kept.postingsIn(v.ids[i]); p.found[i] == nil {
			d, err := v.Segments[i].SegmentData, error(nil)
			if p.found[i], err = r.readTerm(s, d.segmentEntries, d.vocabulary.FormsOf(stem)); err != nil {
				return nil, err
			}
		}
		size += p.found[i].memorySize() + 100
	}
	v.Directory.readers.Put(r)
	v.Directory.Postings.Put(stem, p, size)
	return p.found, nil
}

// operationsWithValue returns the operations of a segment that have a value of a keyword
// field. The caller must not change it.
func (l *Directory) operationsWithValue(s *scorch.SegmentSnapshot, d *SegmentData, field, value string) (bitset.Set, error) {
	key := keywordKey{s.Id(), field, value}
	if b, ok := l.keywords.Lookup(key); ok {
		return b, nil
	}
	b, err := readKeyword(s, d.segmentEntries, field, value)
	if err != nil {
		return nil, err
	}
	l.keywords.Put(key, b, 8*len(b)+len(field)+len(value)+200)
	return b, nil
}

// NewWordScores returns empty word scores for a view, and a function that releases them.
func (l *Directory) NewWordScores(v *View) (s *wordScores, done func()) {
	s, _ = l.scratch.Get().(*wordScores)
	if s == nil {
		s = &wordScores{}
	}
	s.reset(v)
	return s, func() { l.scratch.Put(s) }
}
