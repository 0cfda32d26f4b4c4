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

// A synset is one sense of the WordNet dictionary: the words for it, what it
// means, and what is above it or made from it.
type synset struct {
	id       string // "n" and its place in the file
	lemmas   []string
	gloss    string
	examples []string
	above    []string // hypernyms
	derived  []derivation
	near     []string // what it belongs to (the topic banking) and what is like it
}

// A derivation says that a word of one sense is made from a word of another
// (booking, book).
type derivation struct {
	from, to int // places among the lemmas, counted from 1
	synset   string
}

// wordNetFiles returns the names of the data files, in the order in which they
// are read.
func wordNetFiles(dir string) []string {
	var names []string
	for _, kind := range []string{"noun", "verb", "adj", "adv"} {
		names = append(names, filepath.Join(dir, "data."+kind))
	}
	return names
}

// readWordNet reads the data files of a WordNet dictionary, whose form is described
// in wndb(5WN).
func readWordNet(dir string) ([]synset, error) {
	var out []synset
	for _, name := range wordNetFiles(dir) {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		scanner := bufio.NewScanner(file)
		scanner.Buffer(nil, 1<<20)
		for line := 1; scanner.Scan(); line++ {
			if strings.HasPrefix(scanner.Text(), "  ") { // the licence
				continue
			}
			s, err := parseSynset(scanner.Text())
			if err != nil {
				file.Close()
				return nil, fmt.Errorf("%s:%d: %w", file.Name(), line, err)
			}
			out = append(out, s)
		}
		file.Close()
		if err := scanner.Err(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func parseSynset(line string) (synset, error) {
	head, gloss, _ := strings.Cut(line, " | ")
	f := strings.Fields(head)
	if len(f) < 5 {
		return synset{}, fmt.Errorf("%d fields", len(f))
	}
	s := synset{id: kindOf(f[2]) + f[0]}
	n, err := strconv.ParseInt(f[3], 16, 32)
	if err != nil || len(f) < 5+2*int(n) {
		return synset{}, fmt.Errorf("number of words %q", f[3])
	}
	for i := range int(n) {
		w, _, _ := strings.Cut(f[4+2*i], "(") // adjectives say where they may stand: galore(ip)
		s.lemmas = append(s.lemmas, strings.ReplaceAll(w, "_", " "))
	}
	f = f[4+2*n:]
	pointers, err := strconv.Atoi(f[0])
	if err != nil || len(f) < 1+4*pointers {
		return synset{}, fmt.Errorf("number of pointers %q", f[0])
	}
	for p := range slices.Chunk(f[1:1+4*pointers], 4) {
		to := kindOf(p[2]) + p[1]
		switch p[0] {
		case "@", "@i":
			s.above = append(s.above, to)
		case ";c", ";u", "&", "^", "=", "\\":
			s.near = append(s.near, to)
		case "+":
			places, err := strconv.ParseUint(p[3], 16, 16)
			if err != nil {
				return synset{}, fmt.Errorf("pointer %q", p[3])
			}
			s.derived = append(s.derived, derivation{int(places >> 8), int(places & 255), to})
		}
	}
	for i, piece := range strings.Split(gloss, "; \"") {
		if i == 0 {
			s.gloss = piece
		} else {
			s.examples = append(s.examples, strings.Trim(piece, " \";"))
		}
	}
	return s, nil
}

// kindOf makes one of the two sorts of adjectives.
func kindOf(pos string) string {
	if pos == "s" {
		return "a"
	}
	return pos
}

// wordNetExamples makes pairs of the dictionary: a word and what it means, its
// other words, what is above it, near it and made from it; all its words and what
// they mean; a sentence that uses it and what it means.
func wordNetExamples(synsets []synset) []rawExample {
	byID := map[string]synset{}
	for _, s := range synsets {
		byID[s.id] = s
	}
	var out []rawExample
	add := func(group string, left, right []string) {
		if len(left) > 0 && len(right) > 0 && !slices.Equal(left, right) {
			out = append(out, rawExample{left: always(left), right: always(right), group: group})
		}
	}
	for _, s := range synsets {
		gloss := wordsOf(s.gloss)
		for i, l := range s.lemmas {
			lemma := wordsOf(l)
			add(s.id, lemma, gloss)
			for _, other := range s.lemmas[:i] {
				add(s.id, lemma, wordsOf(other))
			}
		}
		for _, e := range s.examples {
			out = append(out, rawExample{
				left:  always(wordsOf(e)),
				right: []rawPart{{wordsOf(strings.Join(s.lemmas, " ")), .8}, {gloss, .8}},
				group: s.id,
				asked: true,
			})
		}
		first := wordsOf(s.lemmas[0])
		for _, id := range s.near {
			if other, ok := byID[id]; ok {
				add(s.id, first, wordsOf(other.lemmas[0]))
			}
		}
		out = append(out, rawExample{left: always(wordsOf(strings.Join(s.lemmas, " "))), right: always(gloss), group: s.id})
		for _, id := range s.above {
			if up, ok := byID[id]; ok {
				add(s.id, first, wordsOf(up.lemmas[0]))
			}
		}
		for _, d := range s.derived {
			to, ok := byID[d.synset]
			if ok && d.from > 0 && d.from <= len(s.lemmas) && d.to > 0 && d.to <= len(to.lemmas) {
				add(s.id, wordsOf(s.lemmas[d.from-1]), wordsOf(to.lemmas[d.to-1]))
			}
		}
	}
	return out
}
