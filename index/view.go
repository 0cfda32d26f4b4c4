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
	snapshot *scorch.IndexSnapshot // to recognise the state; not held open by the view
	segments []viewSegment
	ids      []uint64 // of the segments
	live     int      // operations that are not deleted
	entries  int      // entries of every sort that are not deleted
	size     int      // entries, deleted ones included
	prepared bool     // see live.prepare; guarded by the live's mu

	listMu sync.Mutex // guards following
	lists  map[string][]ValueCount
	joined map[string]*values

	mu  sync.Mutex     // guards following
	dfs map[string]int // in how many live operations a stem occurs
}

// A viewSegment is a segment and what of it counts now.
type viewSegment struct {
	*segmentData
	base int // where its entries begin among those of all segments
	n    int // entries, deleted ones included

	deleted bitset
	dead    int // how many are deleted
	// searched has the operations that a search may return: neither deleted nor
	// superseded, nor from an alias; withAliases has the latter too.
	searched, withAliases bitset
	// offered has the services and data classes of documents of which a search may
	// return an operation.
	offered bitset
}

// newView makes a view of a snapshot, with what is known of its segments.
func newView(snapshot *scorch.IndexSnapshot, derived []*segmentData) *view {
	v := &view{snapshot: snapshot, dfs: make(map[string]int)}
	for i, s := range snapshot.Segments() {
		d := derived[i]
		n := len(d.numbers)
		vs := viewSegment{segmentData: d, base: v.size, n: n, deleted: d.numbered(s.Deleted())}
		if s.Deleted() != nil {
			vs.dead = int(s.Deleted().GetCardinality())
		}
		v.size += n
		v.entries += n - vs.dead
		operations := slices.Clone(d.operations)
		operations.without(vs.deleted)
		v.live += operations.count()
		v.segments, v.ids = append(v.segments, vs), append(v.ids, s.Id())
	}
	v.sift()
	return v
}

// sift computes which entries a search may return. Superseding depends on which
// documents are there now, not on the order in which they came.
func (v *view) sift() {
	present := make(map[source]bool) // documents that supersede others
	for i := range v.segments {
		s := &v.segments[i]
		for _, r := range s.runs {
			if r.kind == document.AGIS && s.alive(r) {
				present[r.source] = true
			}
		}
	}
	for i := range v.segments {
		s := &v.segments[i]
		s.withAliases = slices.Clone(s.operations)
		s.withAliases.without(s.deleted)
		for _, r := range s.runs {
			if by, ok := supersededBy(r.kind); ok && present[source{r.host, by}] {
				s.remove(s.withAliases, r)
			}
		}
		s.searched = slices.Clone(s.withAliases)
		for _, r := range s.runs {
			if r.kind == document.AIAlias {
				s.remove(s.searched, r)
			}
		}
		s.offered = newBitset(s.n)
		for _, r := range s.runs {
			if s.searched.hasAny(r.from, r.to) {
				s.offered.addRange(r.to, r.end)
			}
		}
		s.offered.and(s.others)
		s.offered.without(s.deleted)
	}
}

// alive reports whether an operation of r is not deleted.
func (s *viewSegment) alive(r run) bool {
	for n := r.from; n < r.to; n++ {
		if !s.deleted.has(n) {
			return true
		}
	}
	return false
}

// remove takes the entries of r out of b.
func (s *viewSegment) remove(b bitset, r run) {
	for n := r.from; n < r.to; n++ {
		b[n/64] &^= 1 << (n % 64)
	}
}

// A place is an entry of a view.
type place struct {
	segment int
	number  uint32
}

// run returns the document version that the entry comes from.
func (v *view) run(p place) run {
	s := &v.segments[p.segment]
	return s.runs[s.runOf[p.number]]
}

func (v *view) ordinal(p place) int { return int(v.segments[p.segment].ordinal[p.number]) }

// before orders entries by host, kind and ordinal.
func (v *view) before(a, b place) bool {
	if a.segment == b.segment {
		return a.number < b.number // as ids are ordered
	}
	ra, rb := v.run(a), v.run(b)
	if c := compareSources(ra.source, rb.source); c != 0 {
		return c < 0
	}
	return v.ordinal(a) < v.ordinal(b)
}

// stored is what the view holds of one document: its live ids, and whether they
// are all of one version.
type stored struct {
	ids   []string
	print string // "" when nothing is there or versions are mixed
}

// document returns what the view holds of a document.
func (v *view) document(src source) stored {
	var d stored
	for i := range v.segments {
		s := &v.segments[i]
		for _, r := range s.runsOf(src) {
			for n := r.from; n < r.end; n++ {
				if s.deleted.has(n) {
					continue
				}
				if len(d.ids) == 0 {
					d.print = r.print
				} else if d.print != r.print {
					d.print = ""
				}
				of := anOperation
				switch {
				case s.services.has(n):
					of = aService
				case s.classes.has(n):
					of = aClass
				}
				d.ids = append(d.ids, entryID(src, r.print, of, int(s.ordinal[n])))
			}
		}
	}
	return d
}
