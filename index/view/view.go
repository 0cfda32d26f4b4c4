package view

import (
	"slices"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"gazetteer/index/bitset"
	"gazetteer/index/entry"
)

// A View is one state of the index, made ready for searching. It does not
// change; searches that began on an older one finish on it.
type View struct {
	Directory  *Directory
	snapshot   *scorch.IndexSnapshot // held open by the search, not by the view
	Segments   []Segment
	ids        []uint64            // of the segments
	Operations int                 // operations that are not deleted
	twinHosts  map[string]bool     // hosts of which operations gave way to their twins
	several    map[string][]runRef // the documents of the hosts that have more than one
	domains    bool                // its hosts belong to more than one registered domain
	Entries    int                 // entries of every kind that are not deleted
	Size       int                 // entries, deleted ones included
	prepared   bool                // see PrepareView; guarded by the directory's mu

	listMu sync.Mutex // guards following
	lists  map[string][]ValueCount
	joined map[string]*FieldValues

	sharedMu sync.Mutex // guards following
	shared   map[string]*sharedColumns

	profilesMu sync.Mutex // guards following
	profiled   []profiledDocument

	mu          sync.Mutex            // guards following
	frequencies map[string]int        // the number of live operations in which a stem occurs
	corrections map[string]Respelling // the most likely corrections of misspelled words
	effects     *EffectColumn         // nil until the first search
}

// A Segment is a segment with its currently live entries.
type Segment struct {
	*SegmentData
	Base int // the index of its first entry among those of all segments
	N    int // entries, deleted ones included

	Deleted      bitset.Set
	deletedCount int // the number of deleted ones
	// searchable has the operations that a search may return: neither deleted nor
	// superseded, nor from an alias; withAliases has the latter too.
	Searchable, withAliases bitset.Set
	// Reachable has the services and data classes of documents with an operation that a search may
	// return.
	Reachable bitset.Set
}

// newView makes a view of a snapshot, with the derived data of its segments.
func newView(dir *Directory, snapshot *scorch.IndexSnapshot, derived []*SegmentData) (*View, error) {
	v := &View{Directory: dir, snapshot: snapshot, frequencies: make(map[string]int)}
	for i, s := range snapshot.Segments() {
		d := derived[i]
		n := len(d.numbers)
		vs := Segment{SegmentData: d, Base: v.Size, N: n, Deleted: d.translateBitmap(s.Deleted())}
		if s.Deleted() != nil {
			vs.deletedCount = int(s.Deleted().GetCardinality())
		}
		v.Size += n
		v.Entries += n - vs.deletedCount
		operations := slices.Clone(d.Operations)
		operations.RemoveAll(vs.Deleted)
		v.Operations += operations.Count()
		v.Segments, v.ids = append(v.Segments, vs), append(v.ids, s.Id())
	}
	v.several = v.hostsOfSeveral()
	v.domains = v.hasSeveralDomains()
	v.markSearchable()
	if err := v.removeTwins(); err != nil {
		return nil, err
	}
	v.markReachable()
	v.markSharedReachable()
	return v, nil
}

// hasSeveralDomains reports whether the hosts of the view belong to more than one registered domain.
func (v *View) hasSeveralDomains() bool {
	first := ""
	for i := range v.Segments {
		for k := range v.Segments[i].Runs {
			if domain := v.Segments[i].Runs[k].domain; first == "" {
				first = domain
			} else if domain != first {
				return true
			}
		}
	}
	return false
}

// markSearchable computes the entries that a search may return. A row of a summary has no more than a
// verb, so summaries do not count beside a document that describes operations. This depends on the
// documents that exist now, not on the order of their arrival.
func (v *View) markSearchable() {
	for i := range v.Segments {
		s := &v.Segments[i]
		s.withAliases = slices.Clone(s.Operations)
		s.withAliases.RemoveAll(s.Deleted)
		for _, r := range s.Runs {
			if r.Kind.IsSummary() && v.describesOperations(v.several[r.Host]) {
				s.removeRun(s.withAliases, r)
			}
		}
		s.Searchable = slices.Clone(s.withAliases)
		for _, r := range s.Runs {
			if r.Kind.IsAlias() {
				s.removeRun(s.Searchable, r)
			}
		}
	}
}

// describesOperations reports whether one of the documents describes operations.
func (v *View) describesOperations(documents []runRef) bool {
	return slices.ContainsFunc(documents, func(at runRef) bool {
		r := v.runAt(at)
		return !r.Kind.IsSummary() && !r.Kind.IsAlias() && v.Segments[at.segment].hasLiveOperation(r)
	})
}

// markReachable computes the services and data classes of documents with an operation that a search
// may return.
func (v *View) markReachable() {
	for i := range v.Segments {
		s := &v.Segments[i]
		s.Reachable = bitset.New(s.N)
		for _, r := range s.Runs {
			if s.Searchable.HasAny(r.start, r.operationsEnd) {
				s.Reachable.AddRange(r.operationsEnd, r.end)
			}
		}
		s.Reachable.Intersect(s.NonOperations)
		s.Reachable.RemoveAll(s.Deleted)
	}
}

// hasLiveOperation reports whether an operation of r is not deleted.
func (s *Segment) hasLiveOperation(r DocumentRun) bool {
	for n := r.start; n < r.operationsEnd; n++ {
		if !s.Deleted.Has(n) {
			return true
		}
	}
	return false
}

// removeRun removes the entries of r from b.
func (s *Segment) removeRun(b bitset.Set, r DocumentRun) {
	for n := r.start; n < r.operationsEnd; n++ {
		b[n/64] &^= 1 << (n % 64)
	}
}

// An EntryRef is the position of an entry in a view.
type EntryRef struct {
	Segment int
	Number  uint32
}

// RunOf returns the document version that the entry comes from.
func (v *View) RunOf(p EntryRef) *DocumentRun {
	s := &v.Segments[p.Segment]
	return &s.Runs[s.RunOf[p.Number]]
}

func (v *View) OrdinalOf(p EntryRef) int { return int(v.Segments[p.Segment].ordinal[p.Number]) }

// entryLess orders entries by host, kind and ordinal.
func (v *View) entryLess(a, b EntryRef) bool {
	if a.Segment == b.Segment {
		return a.Number < b.Number // as ids are ordered
	}
	ra, rb := v.RunOf(a), v.RunOf(b)
	if c := compareSources(ra.Source, rb.Source); c != 0 {
		return c < 0
	}
	return v.OrdinalOf(a) < v.OrdinalOf(b)
}

// liveEntries contains the live ids of one document in a view, and whether they all belong to one
// version.
type liveEntries struct {
	Ids         []string
	Fingerprint string // "" if there is no entry or versions are mixed
}

// StoredIDs returns the entries of a document in the view.
func (v *View) StoredIDs(src entry.Source) liveEntries {
	var d liveEntries
	for i := range v.Segments {
		s := &v.Segments[i]
		for _, r := range s.runsOf(src) {
			for n := r.start; n < r.end; n++ {
				if s.Deleted.Has(n) {
					continue
				}
				if len(d.Ids) == 0 {
					d.Fingerprint = r.Fingerprint
				} else if d.Fingerprint != r.Fingerprint {
					d.Fingerprint = ""
				}
				of := entry.KindOperation
				switch {
				case s.Services.Has(n):
					of = entry.KindService
				case s.classes.Has(n):
					of = entry.KindClass
				}
				d.Ids = append(d.Ids, entry.ID(src, r.Fingerprint, of, int(s.ordinal[n])))
			}
		}
	}
	return d
}
