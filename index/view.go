package index

import (
	"slices"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"gazetteer/document"
)

// A view is one state of the index, made ready for searching. It does not
// change; searches that began on an older one finish on it.
type view struct {
	dir        *directory
	snapshot   *scorch.IndexSnapshot // held open by the search, not by the view
	segments   []viewSegment
	ids        []uint64 // of the segments
	operations int      // operations that are not deleted
	entries    int      // entries of every sort that are not deleted
	size       int      // entries, deleted ones included
	prepared   bool     // see live.prepare; guarded by the live's mu

	listMu sync.Mutex // guards following
	lists  map[string][]ValueCount
	joined map[string]*fieldValues

	mu          sync.Mutex        // guards following
	frequencies map[string]int    // in how many live operations a stem occurs
	corrections map[string]string // of misspelt words: what they most likely stand for
}

// A viewSegment is a segment and what of it counts now.
type viewSegment struct {
	*segmentData
	base int // where its entries begin among those of all segments
	n    int // entries, deleted ones included

	deleted      bitset
	deletedCount int // how many are deleted
	// searchable has the operations that a search may return: neither deleted nor
	// superseded, nor from an alias; withAliases has the latter too.
	searchable, withAliases bitset
	// reachable has the services and data classes of documents of which a search may
	// return an operation.
	reachable bitset
}

// newView makes a view of a snapshot, with what is known of its segments.
func newView(dir *directory, snapshot *scorch.IndexSnapshot, derived []*segmentData) *view {
	v := &view{dir: dir, snapshot: snapshot, frequencies: make(map[string]int)}
	for i, s := range snapshot.Segments() {
		d := derived[i]
		n := len(d.numbers)
		vs := viewSegment{segmentData: d, base: v.size, n: n, deleted: d.translateBitmap(s.Deleted())}
		if s.Deleted() != nil {
			vs.deletedCount = int(s.Deleted().GetCardinality())
		}
		v.size += n
		v.entries += n - vs.deletedCount
		operations := slices.Clone(d.operations)
		operations.removeAll(vs.deleted)
		v.operations += operations.count()
		v.segments, v.ids = append(v.segments, vs), append(v.ids, s.Id())
	}
	v.markSearchable()
	return v
}

// markSearchable computes which entries a search may return. Superseding depends on which
// documents are there now, not on the order in which they came.
func (v *view) markSearchable() {
	present := make(map[source]bool) // documents that supersede others
	for i := range v.segments {
		s := &v.segments[i]
		for _, r := range s.runs {
			if r.kind == document.AGIS && s.hasLiveOperation(r) {
				present[r.source] = true
			}
		}
	}
	for i := range v.segments {
		s := &v.segments[i]
		s.withAliases = slices.Clone(s.operations)
		s.withAliases.removeAll(s.deleted)
		for _, r := range s.runs {
			if by, ok := supersedingKind(r.kind); ok && present[source{r.host, by}] {
				s.removeRun(s.withAliases, r)
			}
		}
		s.searchable = slices.Clone(s.withAliases)
		for _, r := range s.runs {
			if r.kind.IsAlias() {
				s.removeRun(s.searchable, r)
			}
		}
		s.reachable = newBitset(s.n)
		for _, r := range s.runs {
			if s.searchable.hasAny(r.start, r.operationsEnd) {
				s.reachable.addRange(r.operationsEnd, r.end)
			}
		}
		s.reachable.intersect(s.nonOperations)
		s.reachable.removeAll(s.deleted)
	}
}

// hasLiveOperation reports whether an operation of r is not deleted.
func (s *viewSegment) hasLiveOperation(r documentRun) bool {
	for n := r.start; n < r.operationsEnd; n++ {
		if !s.deleted.has(n) {
			return true
		}
	}
	return false
}

// removeRun takes the entries of r out of b.
func (s *viewSegment) removeRun(b bitset, r documentRun) {
	for n := r.start; n < r.operationsEnd; n++ {
		b[n/64] &^= 1 << (n % 64)
	}
}

// A place is an entry of a view.
type entryRef struct {
	segment int
	number  uint32
}

// runOf returns the document version that the entry comes from.
func (v *view) runOf(p entryRef) documentRun {
	s := &v.segments[p.segment]
	return s.runs[s.runOf[p.number]]
}

func (v *view) ordinalOf(p entryRef) int { return int(v.segments[p.segment].ordinal[p.number]) }

// entryLess orders entries by host, kind and ordinal.
func (v *view) entryLess(a, b entryRef) bool {
	if a.segment == b.segment {
		return a.number < b.number // as ids are ordered
	}
	ra, rb := v.runOf(a), v.runOf(b)
	if c := compareSources(ra.source, rb.source); c != 0 {
		return c < 0
	}
	return v.ordinalOf(a) < v.ordinalOf(b)
}

// liveEntries is what the view holds of one document: its live ids, and whether they
// are all of one version.
type liveEntries struct {
	ids         []string
	fingerprint string // "" when nothing is there or versions are mixed
}

// storedIDs returns what the view holds of a document.
func (v *view) storedIDs(src source) liveEntries {
	var d liveEntries
	for i := range v.segments {
		s := &v.segments[i]
		for _, r := range s.runsOf(src) {
			for n := r.start; n < r.end; n++ {
				if s.deleted.has(n) {
					continue
				}
				if len(d.ids) == 0 {
					d.fingerprint = r.fingerprint
				} else if d.fingerprint != r.fingerprint {
					d.fingerprint = ""
				}
				of := kindOperation
				switch {
				case s.services.has(n):
					of = kindService
				case s.classes.has(n):
					of = kindClass
				}
				d.ids = append(d.ids, entryID(src, r.fingerprint, of, int(s.ordinal[n])))
			}
		}
	}
	return d
}
