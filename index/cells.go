package index

import (
	"math"
	"slices"
	"strings"
	"sync"

	"gazetteer/index/wordvec"
)

// Meanings are kept in cells, around centres that are the same for every index
// with one table of words, so that a query looks at the cells near it and not at
// every entry. What lies in which cell depends on an entry's own meaning alone:
// the candidates of a query do not depend on how entries lie in segments, nor on
// the order in which they came.

const (
	// numCells is how many cells there are: of a million operations one has some
	// four thousand.
	numCells = 256
	// cellRounds is how often the centres are moved to the middle of their texts.
	cellRounds = 4
	// cellTries is how many centres are tried that seem nearest by their codes.
	cellTries = 8
)

// A centre is the middle of a cell.
type centre struct {
	meaning
	code code
}

func newCentre(sum []float32) centre {
	m := newMeaning(sum)
	return centre{m, codeOf(m.vector)}
}

// newCentres returns those of cells. Real texts of operations are gathered around
// the nearest centre, which moves to the middle of them, and again. Words alone
// would not do: their sums all lie to one side of them.
func (l *lexicon) newCentres() []centre {
	var texts []centre
	for _, text := range wordvec.Samples() {
		if m := l.of(strings.Fields(text)); m.scale > 0 {
			texts = append(texts, centre{m, codeOf(m.vector)})
		}
	}
	centres := make([]centre, min(numCells, len(texts)))
	for i := range centres {
		centres[i] = texts[i*len(texts)/len(centres)]
	}
	for range cellRounds {
		sums := make([][]float32, len(centres))
		for i := range texts {
			at := nearestCentre(centres, &texts[i].meaning, &texts[i].code)
			if sums[at] == nil {
				sums[at] = make([]float32, l.table.Dim())
			}
			for k, x := range texts[i].vector {
				sums[at][k] += texts[i].scale * float32(x)
			}
		}
		for i, sum := range sums {
			if sum != nil {
				centres[i] = newCentre(sum)
			}
		}
	}
	return centres
}

// nearestCentre returns the place of the centre nearest to a meaning, of those
// whose codes are.
func nearestCentre(centres []centre, m *meaning, c *code) int {
	var tries [cellTries]struct{ at, distance int }
	n := 0
	for i := range centres {
		d := centres[i].code.distance(c)
		if n == cellTries && d >= tries[n-1].distance {
			continue
		}
		if n < cellTries {
			n++
		}
		k := n - 1
		for ; k > 0 && tries[k-1].distance > d; k-- {
			tries[k] = tries[k-1]
		}
		tries[k].at, tries[k].distance = i, d
	}
	best, most := 0, float32(-2)
	for _, t := range tries[:n] {
		if cosine := centres[t.at].cosine(*m); cosine > most {
			best, most = t.at, cosine
		}
	}
	return best
}

// cellsInOrder returns the places of the centres, those nearest to m first.
func cellsInOrder(centres []centre, m meaning) []uint64 {
	order := make([]uint64, len(centres))
	for i := range centres {
		// The bits of positive numbers are in the order of the numbers, so that whole
		// numbers can be sorted: less is nearer, and of the same the first.
		order[i] = uint64(math.Float32bits(2-centres[i].cosine(m)))<<32 | uint64(i)
	}
	slices.Sort(order)
	for i := range order {
		order[i] &= math.MaxUint32
	}
	return order
}

// A cellIndex has a segment's operations by cell, their codes beside each other:
// to gather them from all over the memory would take ten times as long as to
// compare them.
type cellIndex struct {
	from    []uint32 // where each cell begins in the following, and where the last ends
	numbers []uint32
	codes   []code // of numbers
}

// newCellIndex sorts the operations of a segment whose meaning is known.
func newCellIndex(centres []centre, m *meanings, operations bitset) cellIndex {
	c := cellIndex{from: make([]uint32, len(centres)+1)}
	type placed struct {
		number uint32
		cell   uint32
		code   code
	}
	var known []placed
	operations.each(func(number uint32) {
		if m.scales[number] == 0 {
			return
		}
		meaning := m.at(number)
		p := placed{number: number, code: codeOf(meaning.vector)}
		p.cell = uint32(nearestCentre(centres, &meaning, &p.code))
		known = append(known, p)
		c.from[p.cell+1]++
	})
	for i := range centres {
		c.from[i+1] += c.from[i]
	}
	c.numbers, c.codes = make([]uint32, len(known)), make([]code, len(known))
	next := slices.Clone(c.from)
	for i := range known {
		p := &known[i]
		at := next[p.cell]
		c.numbers[at], c.codes[at] = p.number, p.code
		next[p.cell]++
	}
	return c
}

// How many operations a query's meaning is held against: the cells nearest to it
// are opened until so many were met, or one in probeShare of all.
const (
	probeLeast = 8192
	probeShare = 16
)

// nearest returns the operations in masks whose codes are nearest that of the
// query, about meaningPool of those in the cells around it. Which they are does not
// depend on where they lie: a whole cell and a whole distance is taken or left.
// The room is for the distances of those that were met.
func (v *view) nearest(centres []centre, query meaning, masks []bitset, room *[]uint8) []place {
	if query.scale == 0 {
		return nil
	}
	enough := max(probeLeast, v.live/probeShare)
	code := codeOf(query.vector)
	var histogram [notAsked]int // how many at each distance
	met, asked := slices.Grow((*room)[:0], enough+enough/4), 0
	order := cellsInOrder(centres, query)
	opened := 0
	for ; opened < len(order) && asked < enough; opened++ {
		for i := range v.segments {
			numbers, codes := v.segments[i].meanings.cells.in(order[opened])
			mask := masks[i]
			for at, number := range numbers {
				d := uint8(notAsked)
				if mask.has(number) {
					d = uint8(min(codes[at].distance(&code), notAsked-1))
					histogram[d]++
					asked++
				}
				met = append(met, d)
			}
		}
	}
	*room = met
	limit, taken := 0, 0
	for ; limit < len(histogram)-1 && taken+histogram[limit] <= meaningPool; limit++ {
		taken += histogram[limit]
	}
	if taken < meaningPool/2 && histogram[limit] < 8*meaningPool {
		taken += histogram[limit]
		limit++ // one distance is shared by many
	}
	near := make([]place, 0, taken)
	for _, cell := range order[:opened] {
		for i := range v.segments {
			numbers, _ := v.segments[i].meanings.cells.in(cell)
			for at, d := range met[:len(numbers)] {
				if int(d) < limit {
					near = append(near, place{i, numbers[at]})
				}
			}
			met = met[len(numbers):]
		}
	}
	return near
}

// A sense is what a query means, and what lies near that.
type sense struct {
	centres []centre
	rooms   *sync.Pool // of *[]uint8, for nearest
	whole   meaning
	wishes  []wish       // when it asks for several things
	wait    func() error // until near is known
	near    []place
}

// meant returns the sense of a query's words.
func (l *lexicon) meant(words []word) *sense {
	return &sense{centres: l.centres, rooms: &l.rooms, whole: l.of(forms(words)), wishes: l.wishes(words), wait: func() error { return nil }}
}

// look begins to look for the operations in masks that are nearest to the query
// and to each of its wishes, beside what its caller does. The caller must call
// stop before the masks change or the view is closed.
func (s *sense) look(v *view, masks []bitset) (stop func()) {
	s.wait = beside(func() error {
		room, _ := s.rooms.Get().(*[]uint8)
		if room == nil {
			room = new([]uint8)
		}
		defer s.rooms.Put(room)
		s.near = v.nearest(s.centres, s.whole, masks, room)
		for _, w := range s.wishes {
			s.near = append(s.near, v.nearest(s.centres, w.meaning, masks, room)...)
		}
		return nil
	})
	return func() { _ = s.wait() } // whoever needs the answer has waited for it
}

// notAsked stands for a distance where a query's filters do not let an operation
// through.
const notAsked = math.MaxUint8

// in returns the operations of a cell, and their codes.
func (c *cellIndex) in(cell uint64) ([]uint32, []code) {
	from, to := c.from[cell], c.from[cell+1]
	return c.numbers[from:to], c.codes[from:to]
}
