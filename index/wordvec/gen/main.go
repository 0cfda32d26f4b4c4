// Gen trains the word vectors of package wordvec from pairs of texts that mean
// the same, and writes the table that the package embeds.
//
// It needs the data files of WordNet 3.0 (the comment of protocol/english/gen
// tells how to get them); the operations of the OpenAPI directory, one service a
// line, are in the repository:
//
//	WORDNET=DIR go generate gazetteer/index/wordvec
//
// That takes some five minutes of one processor. The same input and seed always
// give the same bytes, whatever the machine and its number of processors. The
// digests of all that went in, and of what came out, are written beside the
// table.
//
// With -text a larger table can be made for an operator to name in config.toml:
//
//	cd index/wordvec && go run ./gen -dict DIR -words 60000 -dim 300 -text larger.tsv
package main

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"gazetteer/index/wordvec"
)

//go:embed korean.txt
var koreanList string

//go:embed frames.txt
var frameList string

func main() {
	o := defaults
	o.workers = runtime.GOMAXPROCS(0)
	dict := flag.String("dict", "", "folder of the WordNet files data.noun, data.verb, ... (/usr/share/wordnet when empty)")
	services := flag.String("services", "../../internal/fakenet/testdata/openapi-services.jsonl.zst", "file of services, one a line; .zst is unpacked")
	out := flag.String("out", "vectors.bin", "file to write; its name with .sha256 gets the digests")
	text := flag.String("text", "", "write this file in text form instead")
	sampled := flag.String("samples", "", "write texts of operations to this file instead, and train nothing")
	flag.IntVar(&o.words, "words", o.words, "how many English words get a vector")
	flag.IntVar(&o.dim, "dim", o.dim, "numbers of a vector")
	flag.IntVar(&o.epochs, "epochs", o.epochs, "how often each example is seen")
	flag.Uint64Var(&o.seed, "seed", o.seed, "where chance begins")
	flag.Parse()
	if most := len(o.temperatures) * o.learned; o.dim < 1 || o.dim > most {
		fmt.Fprintf(os.Stderr, "gen: -dim %d: a vector can have 1 to %d numbers\n", o.dim, most)
		os.Exit(1)
	}
	if *dict == "" {
		*dict = "/usr/share/wordnet"
	}
	var err error
	switch {
	case *sampled != "":
		err = writeSamples(*services, *sampled)
	case *text != "":
		err = writeText(*dict, *services, *text, o)
	default:
		err = generate(*dict, *services, *out, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// generate trains, and writes the table and the digests.
func generate(dict, services, out string, o options) error {
	rows, err := learned(dict, services, koreanList, o, os.Stdout)
	if err != nil {
		return err
	}
	packed, err := encode(rows)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, packed, 0o644); err != nil {
		return err
	}
	fmt.Printf("%d words, %d bytes\n", len(rows), len(packed))
	var b strings.Builder
	for _, name := range append(wordNetFiles(dict), services) {
		file, err := open(name)
		if err != nil {
			return err
		}
		h := sha256.New()
		_, err = io.Copy(h, file)
		file.Close()
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		fmt.Fprintf(&b, "%x  %s\n", h.Sum(nil), strings.TrimSuffix(filepath.Base(name), ".zst"))
	}
	for _, part := range []struct{ name, bytes string }{
		{"gen/frames.txt", frameList}, {"gen/korean.txt", koreanList}, {filepath.Base(out), string(packed)},
	} {
		sum := sha256.Sum256([]byte(part.bytes))
		fmt.Fprintf(&b, "%s  %s\n", hex.EncodeToString(sum[:]), part.name)
	}
	return os.WriteFile(strings.TrimSuffix(out, filepath.Ext(out))+".sha256", []byte(b.String()), 0o644)
}

// writeSamples writes texts of operations, one a line.
func writeSamples(services, out string) error {
	all, err := readServices(services)
	if err != nil {
		return fmt.Errorf("read services: %w", err)
	}
	return os.WriteFile(out, []byte(strings.Join(samples(all, sampleSize), "\n")+"\n"), 0o644)
}

// writeText trains and writes a table that wordvec.Read reads.
func writeText(dict, services, out string, o options) error {
	rows, err := learned(dict, services, koreanList, o, os.Stdout)
	if err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	for _, r := range rows {
		q, scale := wordvec.Quantize(r.vector)
		numbers := make([]byte, len(q))
		for i, x := range q {
			numbers[i] = byte(x)
		}
		fmt.Fprintf(w, "%s\t%.3e\t%.6g\t%s\n", r.word, r.share, scale, base64.StdEncoding.EncodeToString(numbers))
	}
	if err := w.Flush(); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// firstRun is the stream of chance of the first training; lower ones have other
// uses.
const firstRun = 16

// learned reads what there is to learn from and learns it.
func learned(dict, services, korean string, o options, log io.Writer) ([]row, error) {
	synsets, err := readWordNet(dict)
	if err != nil {
		return nil, fmt.Errorf("read WordNet: %w", err)
	}
	all, err := readServices(services)
	if err != nil {
		return nil, fmt.Errorf("read services: %w", err)
	}
	raw := slices.Concat(wordNetExamples(synsets), operationExamples(all), paraphrases(all, o.seed), descriptions(all, o.seed))
	frames := strings.Split(strings.TrimSpace(frameList), "\n")
	v := newVocabulary(count(raw), wanted(korean, frames), o.words)
	examples := v.examples(raw)
	fmt.Fprintf(log, "%d examples, %d words\n", len(examples), len(v.words))
	start := startingVectors(v, textsOf(examples), o.learned, o.seed)
	tables := make([][]row, len(o.temperatures))
	for i, temperature := range o.temperatures {
		m := newModel(v, slices.Clone(start), temperature, o)
		for _, f := range frames {
			m.frames = append(m.frames, v.numbers(wordsOf(f)))
		}
		m.train(examples, rand.New(rand.NewPCG(o.seed, firstRun+uint64(i))), log)
		tables[i] = m.rows(v)
	}
	rows := squeezed(tables, o.dim, o.seed)
	translated, err := koreanRows(korean, rows)
	if err != nil {
		return nil, fmt.Errorf("korean.txt: %w", err)
	}
	return append(rows, translated...), nil
}
