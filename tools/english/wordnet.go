package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Bits of a word's entry; they are those of package english.
const (
	verb = 1 << iota
	noun
	adjective
	adverb
	modern
	tagged
)

// maxSenses is how many senses of a verb are kept, most frequent first. Rarer
// ones say more about the language than about what a service does.
const maxSenses = 6

type synset int // offset in data.verb

type word struct {
	bits    byte
	counts  [3]int // uses in the tagged texts: verb, noun, adjective
	glossed int    // uses in WordNet's explanations, with a plural s or without
	field   int    // lexicographer file of the first sense as a verb
	senses  []synset
}

// inflection is one row of an exception list: an irregular form and its base.
type inflection struct {
	form, base string
	bit        byte
}

type dictionary struct {
	words       map[string]*word
	above       map[synset][]synset
	antonyms    map[[2]string]bool
	verbsOf     map[string]map[string]bool // noun or adjective to verbs
	phrasal     map[string]map[string]bool // verb to particles
	inflections []inflection
}

var files = []struct {
	name string
	bit  byte
}{{"verb", verb}, {"noun", noun}, {"adj", adjective}, {"adv", adverb}}

func readDictionary(dir string) (*dictionary, error) {
	d := &dictionary{
		words:    map[string]*word{},
		above:    map[synset][]synset{},
		antonyms: map[[2]string]bool{},
		verbsOf:  map[string]map[string]bool{},
		phrasal:  map[string]map[string]bool{},
	}
	members := map[string][]string{} // "n1234567" to the words of that synset
	for _, f := range files {
		if err := d.readIndex(filepath.Join(dir, "index."+f.name), f.bit); err != nil {
			return nil, err
		}
		if err := readMembers(filepath.Join(dir, "data."+f.name), members); err != nil {
			return nil, err
		}
	}
	for _, f := range files { // when all words are known
		if err := d.readGlosses(filepath.Join(dir, "data."+f.name)); err != nil {
			return nil, err
		}
	}
	if err := d.readCounts(filepath.Join(dir, "cntlist.rev")); err != nil {
		return nil, err
	}
	if err := d.readVerbs(filepath.Join(dir, "data.verb"), members); err != nil {
		return nil, err
	}
	for _, f := range files[:3] {
		if err := d.readExceptions(filepath.Join(dir, f.name+".exc"), f.bit); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// lines calls f for each line of a file that is not part of its licence, which
// stands at the top, each line with two spaces before it.
func lines(name string, f func(fields []string) error) error {
	return texts(name, func(line string) error {
		line, _, _ = strings.Cut(line, glossMark)
		return f(strings.Fields(line))
	})
}

// glossMark stands before the explanation in a line of a data file.
const glossMark = " | "

// texts calls f for each line, whole, that is not part of the licence.
func texts(name string, f func(line string) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	for n := 1; scanner.Scan(); n++ {
		line := scanner.Text()
		if strings.HasPrefix(line, "  ") || strings.TrimSpace(line) == "" {
			continue
		}
		if err := f(line); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	return scanner.Err()
}

// plain reports whether a lemma is one word of the letters a to z.
func plain(lemma string) bool {
	for i := range len(lemma) {
		if lemma[i] < 'a' || lemma[i] > 'z' {
			return false
		}
	}
	return lemma != ""
}

func (d *dictionary) word(lemma string) *word {
	w := d.words[lemma]
	if w == nil {
		w = &word{}
		d.words[lemma] = w
	}
	return w
}

func (d *dictionary) readIndex(name string, bit byte) error {
	return lines(name, func(fields []string) error {
		lemma := fields[0]
		if bit == verb {
			first, particle, two := strings.Cut(lemma, "_")
			if two && plain(first) && plain(particle) {
				add(d.phrasal, first, particle)
			}
		}
		if !plain(lemma) {
			return nil
		}
		w := d.word(lemma)
		w.bits |= bit
		if bit != verb {
			return nil
		}
		count, err := strconv.Atoi(fields[2])
		if err != nil {
			return err
		}
		for _, f := range fields[len(fields)-count:] {
			s, err := strconv.Atoi(f)
			if err != nil {
				return err
			}
			w.senses = append(w.senses, synset(s))
		}
		w.senses = w.senses[:min(len(w.senses), maxSenses)]
		return nil
	})
}

func add(m map[string]map[string]bool, key, value string) {
	if m[key] == nil {
		m[key] = map[string]bool{}
	}
	m[key][value] = true
}

// entry is the head of a line of a data file: which words stand for one sense.
func entry(fields []string) (words []string, rest []string, err error) {
	n, err := strconv.ParseInt(fields[3], 16, 32)
	if err != nil {
		return nil, nil, err
	}
	for i := range int(n) {
		w, _, _ := strings.Cut(fields[4+2*i], "(") // adjectives say where they may stand: galore(ip)
		words = append(words, strings.ToLower(w))
	}
	return words, fields[4+2*n:], nil
}

func readMembers(name string, members map[string][]string) error {
	return lines(name, func(fields []string) error {
		words, _, err := entry(fields)
		pos := strings.Replace(fields[2], "s", "a", 1) // satellites are adjectives
		members[pos+fields[0]] = words
		return err
	})
}

// readVerbs reads what joins the senses of verbs: the more general sense (@),
// the antonym (!) and words of other kinds that are derived from it (+).
func (d *dictionary) readVerbs(name string, members map[string][]string) error {
	return lines(name, func(fields []string) error {
		words, rest, err := entry(fields)
		if err != nil {
			return err
		}
		at, err := strconv.Atoi(fields[0])
		if err != nil {
			return err
		}
		field, err := strconv.Atoi(fields[1])
		if err != nil {
			return err
		}
		for _, w := range words {
			if known := d.words[w]; known != nil && known.bits&verb != 0 && known.senses[0] == synset(at) {
				known.field = field
			}
		}
		n, err := strconv.Atoi(rest[0])
		if err != nil {
			return err
		}
		for p := rest[1:]; n > 0; n, p = n-1, p[4:] {
			if err := d.pointer(synset(at), words, p[:4], members); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d *dictionary) pointer(at synset, words, p []string, members map[string][]string) error {
	to, err := strconv.Atoi(p[1])
	if err != nil {
		return err
	}
	ends, err := strconv.ParseUint(p[3], 16, 16) // which word here, which word there; 0: all
	if err != nil {
		return err
	}
	from, target := int(ends>>8), int(ends&0xFF)
	if p[0] == "@" {
		d.above[at] = append(d.above[at], synset(to))
		return nil
	}
	if from == 0 || target == 0 || p[0] != "!" && p[0] != "+" {
		return nil
	}
	a, b := words[from-1], members[p[2]+p[1]][target-1]
	if !plain(a) || !plain(b) {
		return nil
	}
	if p[0] == "+" {
		add(d.verbsOf, b, a)
		return nil
	}
	d.antonyms[[2]string{min(a, b), max(a, b)}] = true
	return nil
}

// readCounts adds up the uses of each word in the tagged texts. A line is
// lemma%kind:..., number of the sense, uses; kind is 1 noun, 2 verb, 3 and 5
// adjective.
func (d *dictionary) readCounts(name string) error {
	column := map[byte]int{'2': 0, '1': 1, '3': 2, '5': 2}
	return lines(name, func(fields []string) error {
		lemma, key, ok := strings.Cut(fields[0], "%")
		w := d.words[lemma]
		if !ok || w == nil || key == "" {
			return nil
		}
		n, err := strconv.Atoi(fields[2])
		if err != nil {
			return err
		}
		if c, ok := column[key[0]]; ok {
			w.counts[c] += n
			w.bits |= tagged
		}
		return nil
	})
}

// readGlosses counts the words of the explanations. They are newer and of more
// fields than the tagged texts: those have no database and no video.
func (d *dictionary) readGlosses(name string) error {
	return texts(name, func(line string) error {
		_, gloss, _ := strings.Cut(line, glossMark)
		for token := range strings.FieldsFuncSeq(strings.ToLower(gloss), func(r rune) bool { return r < 'a' || r > 'z' }) {
			for _, lemma := range []string{token, strings.TrimSuffix(token, "s")} {
				if w := d.words[lemma]; w != nil {
					w.glossed++
					break
				}
			}
		}
		return nil
	})
}

// readExceptions reads irregular forms. Those of nouns and adjectives are only
// kept for bases that the tagged texts use.
func (d *dictionary) readExceptions(name string, bit byte) error {
	return lines(name, func(fields []string) error {
		form := fields[0]
		for _, base := range fields[1:] {
			w := d.words[base]
			if form == base || !plain(form) || w == nil || w.bits&bit == 0 || bit != verb && w.bits&tagged == 0 {
				continue
			}
			i := inflection{form, base, bit}
			if !slices.Contains(d.inflections, i) {
				d.inflections = append(d.inflections, i)
			}
			d.word(form)
		}
		return nil
	})
}

// readSupplement reads lines "verb: word word" and so on. A word that WordNet
// has already is marked as modern.
func (d *dictionary) readSupplement(name string) error {
	kinds := map[string]byte{"verb:": verb, "noun:": noun, "adjective:": adjective, "phrasal:": 0}
	return lines(name, func(fields []string) error {
		if strings.HasPrefix(fields[0], "#") {
			return nil
		}
		bit, ok := kinds[fields[0]]
		if !ok {
			return fmt.Errorf("a line begins with one of verb: noun: adjective: phrasal:, not %q", fields[0])
		}
		for _, lemma := range fields[1:] {
			if bit == 0 {
				first, particle, two := strings.Cut(lemma, "_")
				if w := d.words[first]; !two || w == nil || w.bits&verb == 0 {
					return fmt.Errorf("%q is not verb_particle", lemma)
				}
				add(d.phrasal, first, particle)
				continue
			}
			if !plain(lemma) {
				return fmt.Errorf("%q holds a character other than a to z", lemma)
			}
			d.word(lemma).bits |= bit | modern
		}
		return nil
	})
}
