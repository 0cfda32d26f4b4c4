// Command translations makes the table of package index/translate: what common words of other
// languages mean in English.
//
//	go run ./translations -wordnet DIR -wiktionary DIR -korean wordvec/korean.txt -out ../index/translate/table.txt.gz
//
// The WordNet files are those of Debian's package wordnet-base. The Wiktionary files are those of
// the Open Multilingual Wordnet (repository omwn/omw-data, folder wns/wikt): each line has the
// offset of a synset of WordNet 3.0 and a word that means it. Two words that share a synset are
// translations; an English word counts for more the more common the shared sense is.
package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"flag"
	"fmt"
	"log"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gazetteer/index/wordvec"
	"gazetteer/protocol/english"
)

// languages are the files to read, by the code that the table uses.
var languages = []struct{ code, file string }{
	{"de", "wn-wikt-deu.tab"}, {"es", "wn-wikt-spa.tab"}, {"fr", "wn-wikt-fra.tab"},
	{"pt", "wn-wikt-por.tab"}, {"it", "wn-wikt-ita.tab"},
	{"ja", "wn-wikt-jpn.tab"}, {"ko", "wn-wikt-kor.tab"}, {"zh", "wn-wikt-cmn.tab"},
}

const (
	maxMeanings = 3   // English words of one foreign word
	leastShare  = 0.4 // of the score of the best of them
	maxLength   = 24  // characters of a word
)

func main() {
	log.SetFlags(0)
	wordnet := flag.String("wordnet", "/usr/share/wordnet", "folder of the WordNet files")
	wiktionary := flag.String("wiktionary", "", "folder of the Wiktionary files")
	korean := flag.String("korean", "wordvec/korean.txt", "list of Korean words")
	out := flag.String("out", "", "file to write")
	flag.Parse()
	if err := run(*wordnet, *wiktionary, *korean, *out); err != nil {
		log.Fatal(err)
	}
}

func run(wordnet, wiktionary, korean, out string) error {
	senses, err := readSenses(wordnet, wiktionary)
	if err != nil {
		return err
	}
	var table strings.Builder
	for _, l := range languages {
		words, err := translations(filepath.Join(wiktionary, l.file), senses)
		if err != nil {
			return err
		}
		if l.code == "ko" {
			if err := addKorean(korean, words); err != nil {
				return err
			}
		}
		fmt.Fprintf(&table, "# %s\n", l.code)
		for _, w := range slices.Sorted(maps.Keys(words)) {
			fmt.Fprintf(&table, "%s\t%s\n", w, strings.Join(words[w], " "))
		}
		log.Printf("%s: %d words", l.code, len(words))
	}
	phrases, err := readPhrases(wordnet)
	if err != nil {
		return err
	}
	fmt.Fprintf(&table, "# en\n")
	for _, p := range slices.Sorted(maps.Keys(phrases)) {
		fmt.Fprintf(&table, "%s\t%s\n", p, strings.Join(phrases[p], " "))
	}
	log.Printf("en: %d phrases", len(phrases))
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write([]byte(table.String())); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.Close()
}

// readPhrases returns the nouns of two words that WordNet has, each with the single words that mean
// the same: "cash machine" is an atm.
func readPhrases(wordnet string) (map[string][]string, error) {
	known := make(map[string]bool)
	for w := range wordvec.Embedded().Unsorted() {
		known[w] = true
	}
	f, err := os.Open(filepath.Join(wordnet, "data.noun"))
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	phrases := make(map[string][]string)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), " ") {
			continue
		}
		fields := strings.Fields(lines.Text())
		n, err := strconv.ParseUint(fields[3], 16, 8)
		if err != nil {
			return nil, err
		}
		var single, double []string
		for i := range int(n) {
			w := strings.ToLower(fields[4+2*i])
			switch strings.Count(w, "_") {
			case 0:
				if known[w] {
					single = append(single, w)
				}
			case 1:
				double = append(double, strings.ReplaceAll(w, "_", " "))
			}
		}
		for _, d := range double {
			for _, w := range single {
				if phrases[d] == nil && !strings.Contains(d, w) {
					phrases[d] = []string{w} // of the first sense, which is the commonest, the first word
				}
			}
		}
	}
	return phrases, nil
}

// A meaning is an English word that a synset has, and how common that sense of it is.
type meaning struct {
	word   string
	weight float64
}

// maxShift is how far the offset of a synset in Debian's files may lie from that of WordNet 3.0, in
// bytes: Debian corrects a few texts, which shifts what follows.
const maxShift = 200

// readSenses returns the English words of each synset: those of the Wiktionary file, and those of
// WordNet where its offset is the same. A word counts for more the more common it is, and the
// more common this sense of it. The index files name the senses of a word in that order.
func readSenses(wordnet, wiktionary string) (map[string][]meaning, error) {
	known := make(map[string]bool)
	for w := range wordvec.Embedded().Unsorted() {
		known[w] = true
	}
	ranks := make(map[string][]int) // by word and part of speech: the offsets of its senses
	senses := make(map[string][]meaning)
	add := func(key, word string) {
		if slices.ContainsFunc(senses[key], func(m meaning) bool { return m.word == word }) {
			return
		}
		offset, err := strconv.Atoi(key[:8])
		if err != nil {
			return
		}
		share := 0.3
		for rank, at := range ranks[word+key[8:]] {
			if at-offset <= maxShift && offset-at <= maxShift {
				share = 1 / float64(rank+1)
				break
			}
		}
		u := english.Lookup(word)
		count := map[string]int{"-n": u.NounCount, "-v": u.VerbCount, "-a": u.AdjectiveCount, "-r": u.AdjectiveCount}[key[8:]]
		senses[key] = append(senses[key], meaning{word, share * math.Log2(2+float64(count))})
	}
	for _, part := range []struct{ name, letter string }{{"noun", "n"}, {"verb", "v"}, {"adj", "a"}, {"adv", "r"}} {
		f, err := os.Open(filepath.Join(wordnet, "index."+part.name))
		if err != nil {
			return nil, err
		}
		defer f.Close() // only read
		for lines := bufio.NewScanner(f); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if strings.HasPrefix(lines.Text(), " ") || len(fields) < 6 || !known[fields[0]] {
				continue
			}
			var offsets []int
			for i := len(fields) - 1; i >= 0 && len(fields[i]) == 8; i-- {
				n, err := strconv.Atoi(fields[i])
				if err != nil {
					break
				}
				offsets = append(offsets, n)
			}
			slices.Reverse(offsets)
			ranks[fields[0]+"-"+part.letter] = offsets
			for _, offset := range offsets {
				if part.letter == "n" {
					add(fmt.Sprintf("%08d-n", offset), fields[0])
				}
			}
		}
	}
	f, err := os.Open(filepath.Join(wiktionary, "wn-wikt-eng.tab"))
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) == 3 && len(fields[0]) == 10 && known[strings.ToLower(fields[2])] {
			add(fields[0], strings.ToLower(fields[2]))
		}
	}
	return senses, nil
}

// translations reads a file of words by synset.
func translations(path string, senses map[string][]meaning) (map[string][]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	scores := make(map[string]map[string]float64)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) < 3 || !strings.HasSuffix(fields[1], "lemma") {
			continue
		}
		word := strings.ToLower(strings.TrimSpace(fields[2]))
		if strings.ContainsAny(word, " _()/") || utf8.RuneCountInString(word) > maxLength {
			continue
		}
		for _, m := range senses[fields[0]] {
			if scores[word] == nil {
				scores[word] = make(map[string]float64)
			}
			scores[word][m.word] += m.weight
		}
	}
	out := make(map[string][]string, len(scores))
	for word, by := range scores {
		english := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
			return cmp.Or(cmp.Compare(by[b], by[a]), strings.Compare(a, b))
		})
		n := 0
		for n < len(english) && n < maxMeanings && by[english[n]] >= leastShare*by[english[0]] {
			n++
		}
		out[word] = english[:n]
	}
	return out, nil
}

// addKorean adds the words of this project's own list, which go before the dictionary's.
func addKorean(path string, words map[string][]string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	own := make(map[string][]string)
	for line := range strings.Lines(string(text)) {
		korean, meaning, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for w := range strings.SplitSeq(korean, ",") {
			for e := range strings.FieldsSeq(meaning) {
				if !slices.Contains(own[w], e) && len(own[w]) < maxMeanings {
					own[w] = append(own[w], e)
				}
			}
		}
	}
	maps.Copy(words, own)
	return nil
}
