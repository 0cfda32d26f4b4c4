package changefeed

import (
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"gazetteer/document/diff"
)

// postings says which items have which terms. An item has an ordinal, which grows with its position;
// the ordinals of one process begin at 0. The feed's lock guards it.
type postings struct {
	positions []uint64 // ascending; the ordinal of positions[i] is base+i
	base      uint32
	live      *roaring.Bitmap // ordinals whose item was not removed
	terms     map[string]*roaring.Bitmap
}

func newPostings() *postings {
	return &postings{live: roaring.New(), terms: map[string]*roaring.Bitmap{}}
}

// ordinal returns the ordinal of the first item at a position or behind it.
func (p *postings) ordinal(position uint64) uint32 {
	i, _ := slices.BinarySearch(p.positions, position)
	return p.base + uint32(i)
}

// positionOf returns the position of an ordinal.
func (p *postings) positionOf(ordinal uint32) uint64 { return p.positions[ordinal-p.base] }

// contains reports whether there is an item at a position.
func (p *postings) contains(position uint64) bool {
	_, found := slices.BinarySearch(p.positions, position)
	return found && p.live.Contains(p.ordinal(position))
}

// add adds the item at a position: the last one, or an existing one whose terms changed.
func (p *postings) add(position uint64, terms []string) {
	ordinal := p.ordinal(position)
	switch i := int(ordinal - p.base); {
	case i == len(p.positions):
		p.positions = append(p.positions, position)
	case p.positions[i] != position:
		return // dropped meanwhile
	}
	p.live.Add(ordinal)
	for _, t := range terms {
		b := p.terms[t]
		if b == nil {
			b = roaring.New()
			p.terms[strings.Clone(t)] = b
		}
		b.Add(ordinal)
	}
}

// remove removes the item at a position, which has these terms.
func (p *postings) remove(position uint64, terms []string) {
	if !p.contains(position) {
		return
	}
	ordinal := p.ordinal(position)
	p.live.Remove(ordinal)
	for _, t := range terms {
		if b := p.terms[t]; b != nil {
			if b.Remove(ordinal); b.IsEmpty() {
				delete(p.terms, t)
			}
		}
	}
}

// dropDeadPositions forgets the positions before the first living item.
func (p *postings) dropDeadPositions() {
	n := len(p.positions)
	if !p.live.IsEmpty() {
		n = int(p.live.Minimum() - p.base)
	}
	p.positions, p.base = p.positions[n:], p.base+uint32(n)
}

// A Filter chooses items. The values of one member are alternatives, the members are conditions
// that all hold. The zero Filter chooses all items.
type Filter struct {
	Kinds      []Kind
	Hosts      []string // in ASCII lower case
	Verbs      []string
	Namespaces []string
	Rules      []string
	Agents     []string // AIR IDs
	// Severity is the least severity.
	Severity diff.Severity
}

// fewOrdinals is the number of ordinals up to which matchFrom looks at them alone.
const fewOrdinals = 10_000

// matchFrom returns the ordinals from first on that a filter chooses, and maybe earlier ones, too. The
// caller does not change it. Streams that follow the feed ask for the newest items again and again:
// what a filter chooses of all items is not computed for them.
func (p *postings) matchFrom(f Filter, first uint32) *roaring.Bitmap {
	end := p.base + uint32(len(p.positions))
	if first >= end {
		return roaring.New()
	}
	if end-first > fewOrdinals {
		return p.match(f)
	}
	newest := roaring.New()
	newest.AddRange(uint64(first), uint64(end))
	newest.And(p.live)
	return p.matchWithin(f, newest, func(b *roaring.Bitmap) *roaring.Bitmap { return roaring.And(b, newest) })
}

// match returns the ordinals of the items that a filter chooses. The caller does not change it.
func (p *postings) match(f Filter) *roaring.Bitmap {
	return p.matchWithin(f, p.live, func(b *roaring.Bitmap) *roaring.Bitmap { return b })
}

// matchWithin returns the ordinals of a set that a filter chooses. narrow may leave out those of a
// bitmap that are not in the set.
func (p *postings) matchWithin(f Filter, set *roaring.Bitmap, narrow func(*roaring.Bitmap) *roaring.Bitmap) *roaring.Bitmap {
	found := []*roaring.Bitmap{set}
	alternatives := func(kind byte, values []string) {
		if len(values) == 0 {
			return
		}
		var any []*roaring.Bitmap
		for _, v := range values {
			if b := p.terms[string(kind)+v]; b != nil {
				any = append(any, narrow(b))
			}
		}
		if len(any) == 1 {
			found = append(found, any[0])
			return
		}
		found = append(found, roaring.FastOr(any...))
	}
	kinds := make([]string, len(f.Kinds))
	for i, k := range f.Kinds {
		kinds[i] = string(k)
	}
	alternatives(kindTerm, kinds)
	alternatives(hostTerm, f.Hosts)
	alternatives(verbTerm, mapText(f.Verbs, strings.ToUpper))
	alternatives(namespaceTerm, mapText(f.Namespaces, strings.ToLower))
	alternatives(ruleTerm, mapText(f.Rules, strings.ToUpper))
	alternatives(agentTerm, f.Agents)
	if f.Severity > diff.None {
		var severities []string
		for s := f.Severity; s <= diff.High; s++ {
			severities = append(severities, s.String())
		}
		alternatives(severityTerm, severities)
	}
	if len(found) == 1 {
		return set
	}
	return roaring.FastAnd(found...)
}

func mapText(texts []string, change func(string) string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = change(t)
	}
	return out
}
