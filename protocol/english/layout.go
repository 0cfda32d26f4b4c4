package english

import (
	"bytes"
	"compress/zlib"
	_ "embed"
	"encoding/binary"
	"io"
	"sync"
)

//go:embed words.zlib
var packed []byte

// The table as the generator writes it, compressed by zlib. Numbers are varints
// as in encoding/binary; a difference is a signed one. Words are known by their
// place in the alphabet, verbs by their place among the verbs, senses by the
// order in which the verbs first show them.
//
//	number of words
//	words         each 'A' + letters shared with the word before it, then the others; '\n' ends them
//	bits          one byte a word: verb 1, noun 2, adjective 4, adverb 8, modern 16, tagged 32
//	written       one byte a word: uses in the dictionary's explanations, at most 255
//	counts        uses as verb of each tagged verb, then as noun, then as adjective
//	fields        one byte a verb: the dictionary's field of its first sense
//	senses        how many each verb has; then each, 0 for the next new one or how far back it was
//	above         for each sense how many more general ones it has; then those
//	antonyms      how many pairs; each: first verb since the last pair, difference to the second
//	inflections   how many; each: form since the last, difference to the base, bit of its kind
//	related       how many; each: word since the last, how many verbs, difference to each
//	phrasal       how many; each: verb since the last, how many particles, the word of each
const (
	bitVerb = 1 << iota
	bitNoun
	bitAdjective
	bitAdverb
	bitModern
	bitTagged
)

// table is the unpacked table: about 2 MB in a few dozen slices without
// pointers, so that the garbage collector passes it by.
type table struct {
	text  string   // all words, one after the other
	start []uint32 // where each begins; one more at the end
	first []uint32 // by the first three letters: the first word that begins so

	bits    []byte
	written []byte
	tagged  []uint16 // 1 + place in counts; 0 for words without
	counts  [][3]uint16

	verb  []uint16 // 1 + number of the verb; 0 for words that are none
	verbs []uint32 // the words of the verbs
	mask  []uint32 // the letters each verb holds
	field []byte

	senses, members, above lists               // verb to senses, sense to verbs, sense to senses
	antonyms               map[uint16][]uint16 // by verb

	forms       []uint32 // irregular forms in the order of words, repeated for each base
	bases       []uint32
	kinds       []byte
	related     []uint32 // words made from verbs, in order
	relatedTo   lists
	phrasal     []uint16 // verbs, in order
	phrasalWith lists
}

// lists stores many short lists of numbers without a slice for each.
type lists struct{ start, item []uint32 }

func (l lists) of(i int) []uint32 { return l.item[l.start[i]:l.start[i+1]] }

var unpacked = sync.OnceValue(unpackTable)

func unpackTable() *table {
	// The data is part of the program and covered by tests, so this code does not check it.
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic("english: " + err.Error())
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		panic("english: " + err.Error())
	}
	t, r := &table{}, &reader{raw}
	t.readWords(r)
	t.readSenses(r)
	t.readAntonyms(r)
	t.readInflections(r)
	t.readRelated(r)
	t.readPhrasal(r)
	return t
}

type reader struct{ rest []byte }

func (r *reader) readByte() byte {
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) readBytes(n int) []byte {
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) readNumber() int {
	n, size := binary.Uvarint(r.rest)
	r.rest = r.rest[size:]
	return int(n)
}

func (r *reader) readDifference() int {
	n, size := binary.Varint(r.rest)
	r.rest = r.rest[size:]
	return int(n)
}

func (t *table) readWords(r *reader) {
	n := r.readNumber()
	columns := bytes.IndexByte(r.rest, '\n')
	letters := r.readBytes(columns + 1)
	text := make([]byte, 0, 10*n)
	t.start = make([]uint32, 0, n+1)
	for i := 0; letters[i] != '\n'; {
		same, before := int(letters[i]-'A'), 0
		if len(t.start) > 0 {
			before = int(t.start[len(t.start)-1])
		}
		t.start = append(t.start, uint32(len(text)))
		text = append(text, text[before:before+same]...)
		for i++; letters[i] >= 'a'; i++ {
			text = append(text, letters[i])
		}
	}
	t.start = append(t.start, uint32(len(text)))
	t.text = string(text)
	t.bits, t.written = bytes.Clone(r.readBytes(n)), bytes.Clone(r.readBytes(n))

	t.verb, t.tagged = make([]uint16, n), make([]uint16, n)
	for i, b := range t.bits {
		if b&bitVerb != 0 {
			t.verbs = append(t.verbs, uint32(i))
			t.verb[i] = uint16(len(t.verbs))
			t.mask = append(t.mask, letterMask(t.wordAt(uint32(i))))
		}
		if b&bitTagged != 0 {
			t.counts = append(t.counts, [3]uint16{})
			t.tagged[i] = uint16(len(t.counts))
		}
	}
	for column := range 3 {
		for i, b := range t.bits {
			if b&bitTagged != 0 && b&(1<<column) != 0 {
				t.counts[t.tagged[i]-1][column] = uint16(r.readNumber())
			}
		}
	}
	t.indexLetters()
}

// letters is the number of three-letter prefixes, where "no letter" counts as a letter.
const letters = 27 * 27 * 27

func indexOfBeginning(word string) int {
	n := 0
	for i := range 3 {
		n *= 27
		if i < len(word) {
			n += int(word[i]-'a') + 1
		}
	}
	return n
}

func (t *table) indexLetters() {
	t.first = make([]uint32, letters+1)
	next := 0
	for i := range t.bits {
		for at := indexOfBeginning(t.wordAt(uint32(i))); next <= at; next++ {
			t.first[next] = uint32(i)
		}
	}
	for ; next < len(t.first); next++ {
		t.first[next] = uint32(len(t.bits))
	}
}

func (t *table) readSenses(r *reader) {
	t.field = bytes.Clone(r.readBytes(len(t.verbs)))
	t.senses = readStarts(r, len(t.verbs))
	found := 0
	for i := range t.senses.item {
		if back := r.readNumber(); back > 0 {
			t.senses.item[i] = uint32(found - back)
			continue
		}
		t.senses.item[i] = uint32(found)
		found++
	}
	t.members = t.senses.invert(found)
	t.above = readStarts(r, found)
	for i := range t.above.item {
		t.above.item[i] = uint32(r.readNumber())
	}
}

// readStarts reads the lengths of n lists and makes room for them.
func readStarts(r *reader, n int) lists {
	l := lists{start: make([]uint32, n+1)}
	for i := range n {
		l.start[i+1] = l.start[i] + uint32(r.readNumber())
	}
	l.item = make([]uint32, l.start[n])
	return l
}

// invert lists for each of n items the lists that hold it.
func (l lists) invert(n int) lists {
	inv := lists{start: make([]uint32, n+1), item: make([]uint32, len(l.item))}
	for _, item := range l.item {
		inv.start[item+1]++
	}
	for i := range n {
		inv.start[i+1] += inv.start[i]
	}
	next := make([]uint32, n)
	copy(next, inv.start)
	for i := range len(l.start) - 1 {
		for _, item := range l.of(i) {
			inv.item[next[item]] = uint32(i)
			next[item]++
		}
	}
	return inv
}

func (t *table) readAntonyms(r *reader) {
	n := r.readNumber()
	t.antonyms = make(map[uint16][]uint16, 2*n)
	a := 0
	for range n {
		a += r.readNumber()
		b := a + r.readDifference()
		one, other := uint16(a), uint16(b)
		t.antonyms[one], t.antonyms[other] = append(t.antonyms[one], other), append(t.antonyms[other], one)
	}
}

func (t *table) readInflections(r *reader) {
	form := 0
	for range r.readNumber() {
		form += r.readNumber()
		t.forms = append(t.forms, uint32(form))
		t.bases = append(t.bases, uint32(form+r.readDifference()))
		t.kinds = append(t.kinds, r.readByte())
	}
}

func (t *table) readRelated(r *reader) {
	word := 0
	t.relatedTo.start = []uint32{0}
	for range r.readNumber() {
		word += r.readNumber()
		t.related = append(t.related, uint32(word))
		for range r.readNumber() {
			t.relatedTo.item = append(t.relatedTo.item, uint32(word+r.readDifference()))
		}
		t.relatedTo.start = append(t.relatedTo.start, uint32(len(t.relatedTo.item)))
	}
}

func (t *table) readPhrasal(r *reader) {
	verb := 0
	t.phrasalWith.start = []uint32{0}
	for range r.readNumber() {
		verb += r.readNumber()
		t.phrasal = append(t.phrasal, uint16(verb))
		for range r.readNumber() {
			t.phrasalWith.item = append(t.phrasalWith.item, uint32(r.readNumber()))
		}
		t.phrasalWith.start = append(t.phrasalWith.start, uint32(len(t.phrasalWith.item)))
	}
}

func (t *table) wordAt(i uint32) string { return t.text[t.start[i]:t.start[i+1]] }

// longest is the length of the longest word that is looked up.
const longest = 40

// findWord returns the place of a word.
func (t *table) findWord(word string) (uint32, bool) {
	if word == "" || len(word) > longest {
		return 0, false
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return 0, false
		}
	}
	at := indexOfBeginning(word)
	low, high := t.first[at], t.first[at+1]
	for low < high {
		middle := (low + high) / 2
		if t.wordAt(middle) < word {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < t.first[at+1] && t.wordAt(low) == word
}

// findVerb returns the number of a verb.
func (t *table) findVerb(word string) (int, bool) {
	at, ok := t.findWord(word)
	if !ok || t.verb[at] == 0 {
		return 0, false
	}
	return int(t.verb[at]) - 1, true
}
