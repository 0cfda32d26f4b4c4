package main

import (
	"encoding/binary"
	"maps"
	"slices"
)

// encoder is the table being written. Columns stand one after the other, which
// compresses better than rows do.
type encoder struct {
	*dictionary
	out   []byte
	words []string
	verbs []string
	word  map[string]int // place in words
	verb  map[string]int // place in verbs
}

func (d *dictionary) encode() []byte {
	e := &encoder{dictionary: d, word: map[string]int{}, verb: map[string]int{}}
	// Particles must be words too, so that they can be told by number.
	for _, particles := range d.phrasal {
		for p := range particles {
			d.word(p)
		}
	}
	e.words = slices.Sorted(maps.Keys(d.words))
	for i, w := range e.words {
		e.word[w] = i
		if d.words[w].bits&verb != 0 {
			e.verb[w] = len(e.verbs)
			e.verbs = append(e.verbs, w)
		}
	}
	e.writeWords()
	e.writeSenses()
	e.writeAntonyms()
	e.writeInflections()
	e.writeRelated()
	e.writePhrasal()
	return e.out
}

func (e *encoder) number(n int)      { e.out = binary.AppendUvarint(e.out, uint64(n)) }
func (e *encoder) difference(n int)  { e.out = binary.AppendVarint(e.out, int64(n)) }
func (e *encoder) entry(i int) *word { return e.dictionary.words[e.words[i]] }

func (e *encoder) writeWords() {
	e.number(len(e.words))
	before := ""
	for _, w := range e.words {
		same := 0
		for same < min(len(before), len(w)) && before[same] == w[same] {
			same++
		}
		e.out = append(e.out, byte('A'+same))
		e.out = append(e.out, w[same:]...)
		before = w
	}
	e.out = append(e.out, '\n')
	for i := range e.words {
		e.out = append(e.out, e.entry(i).bits)
	}
	for i := range e.words {
		e.out = append(e.out, byte(min(e.entry(i).glossed, 255)))
	}
	for column := range 3 {
		for i := range e.words {
			if w := e.entry(i); w.bits&tagged != 0 && w.bits&(1<<column) != 0 {
				e.number(w.counts[column])
			}
		}
	}
}

// writeSenses numbers the senses in the order in which the verbs first show
// them, so that most numbers are "the next one", written as 0.
func (e *encoder) writeSenses() {
	for _, v := range e.verbs {
		e.out = append(e.out, byte(e.dictionary.words[v].field))
	}
	for _, v := range e.verbs {
		e.number(len(e.dictionary.words[v].senses))
	}
	numbers := map[synset]int{}
	var order []synset
	for _, v := range e.verbs {
		for _, s := range e.dictionary.words[v].senses {
			n, seen := numbers[s]
			if seen {
				e.number(len(order) - n)
				continue
			}
			numbers[s] = len(order)
			order = append(order, s)
			e.number(0)
		}
	}
	var above [][]int
	for _, s := range order {
		var ids []int
		for _, up := range e.named(s, numbers, 0) {
			if n := numbers[up]; !slices.Contains(ids, n) {
				ids = append(ids, n)
			}
		}
		above = append(above, ids)
	}
	for _, ids := range above {
		e.number(len(ids))
	}
	for _, ids := range above {
		for _, n := range ids {
			e.number(n)
		}
	}
}

// named returns the senses above s that a kept word stands for; where a sense
// has none, because all its words are phrases, the ones above that.
func (e *encoder) named(s synset, numbers map[synset]int, depth int) []synset {
	var out []synset
	for _, up := range e.above[s] {
		if _, ok := numbers[up]; ok {
			out = append(out, up)
		} else if depth < 8 {
			out = append(out, e.named(up, numbers, depth+1)...)
		}
	}
	return out
}

func (e *encoder) writeAntonyms() {
	var pairs [][2]int
	for pair := range e.antonyms {
		a, ok := e.verb[pair[0]]
		b, both := e.verb[pair[1]]
		if ok && both {
			pairs = append(pairs, [2]int{a, b})
		}
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	e.number(len(pairs))
	before := 0
	for _, p := range pairs {
		e.number(p[0] - before)
		e.difference(p[1] - p[0])
		before = p[0]
	}
}

func (e *encoder) writeInflections() {
	rows := slices.Clone(e.inflections)
	slices.SortStableFunc(rows, func(a, b inflection) int { return e.word[a.form] - e.word[b.form] })
	e.number(len(rows))
	before := 0
	for _, r := range rows {
		at := e.word[r.form]
		e.number(at - before)
		e.difference(e.word[r.base] - at)
		e.out = append(e.out, r.bit)
		before = at
	}
}

func (e *encoder) writeRelated() {
	var rows []string
	for w := range e.verbsOf {
		if _, ok := e.word[w]; ok {
			rows = append(rows, w)
		}
	}
	slices.Sort(rows)
	e.number(len(rows))
	before := 0
	for _, w := range rows {
		at := e.word[w]
		e.number(at - before)
		before = at
		verbs := slices.SortedFunc(maps.Keys(e.verbsOf[w]), func(a, b string) int {
			if d := e.dictionary.words[b].counts[0] - e.dictionary.words[a].counts[0]; d != 0 {
				return d
			}
			return e.verb[a] - e.verb[b]
		})
		e.number(len(verbs))
		for _, v := range verbs {
			e.difference(e.word[v] - at)
		}
	}
}

func (e *encoder) writePhrasal() {
	rows := slices.DeleteFunc(slices.Sorted(maps.Keys(e.phrasal)), func(v string) bool {
		_, ok := e.verb[v]
		return !ok
	})
	e.number(len(rows))
	before := 0
	for _, v := range rows {
		e.number(e.verb[v] - before)
		before = e.verb[v]
		particles := slices.Sorted(maps.Keys(e.phrasal[v]))
		e.number(len(particles))
		for _, p := range particles {
			e.number(e.word[p])
		}
	}
}
