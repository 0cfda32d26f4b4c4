package index

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2"
	blevequery "github.com/blevesearch/bleve/v2/search/query"
	"github.com/klauspost/compress/zstd"

	"gazetteer/document"
	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/view"
	"gazetteer/internal/teststore"
)

// benchOperations is how many operations the benchmarks index: real ones, of
// the evaluation file.
const benchOperations = 20000

func benchServices(b testing.TB) []*document.Document { return manyServices(b, benchOperations) }

// manyServices reads services of the evaluation file.
func manyServices(b testing.TB, operations int) []*document.Document {
	b.Helper()
	f, err := os.Open("../internal/fakenet/testdata/openapi-services.jsonl.zst")
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	text, err := zstd.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	defer text.Close()
	return readServices(b, text, operations)
}

func countOperations(docs []*document.Document) int {
	n := 0
	for _, d := range docs {
		n += len(d.Operations)
	}
	return n
}

func benchIntents(b *testing.B) []string {
	b.Helper()
	text, err := os.ReadFile("testdata/intents.txt")
	if err != nil {
		b.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// BenchmarkFollow measures how fast an empty index catches up with a store, and
// what it then takes on disk.
func BenchmarkFollow(b *testing.B) {
	docs := benchServices(b)
	s := teststore.New(b)
	for batch := range slices.Chunk(docs, 100) {
		put(b, s, batch...)
	}
	operations := countOperations(docs)
	var took time.Duration
	var size int64
	for b.Loop() {
		dir := b.TempDir()
		begin := time.Now()
		x := openIndex(b, s, dir, io.Discard)
		catchUpOnce(b, x, s)
		took += time.Since(begin)
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
		size = dirSize(b, dir)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(operations*b.N)/took.Seconds(), "operations/s")
	b.ReportMetric(float64(len(docs)*b.N)/took.Seconds(), "documents/s")
	b.ReportMetric(float64(size)/float64(operations), "B/operation")
}

// dirSize adds up the live files of a closed index: opening it again removes
// what merges have left behind.
func dirSize(b *testing.B, dir string) int64 {
	b.Helper()
	again, err := bleve.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	if err := again.Close(); err != nil {
		b.Fatal(err)
	}
	var size int64
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return size
}

// BenchmarkOpen measures the opening of an index with stored embeddings, with the first answer, and
// what the index takes on disk.
func BenchmarkOpen(b *testing.B) {
	docs := benchServices(b)
	s := teststore.New(b)
	for batch := range slices.Chunk(docs, 100) {
		put(b, s, batch...)
	}
	options := Options{Dir: b.TempDir(), Store: s, storedFrom: 1}
	openAndAsk := func(catchUp bool) {
		x, err := Open(b.Context(), options)
		if err != nil {
			b.Fatal(err)
		}
		if catchUp {
			catchUpOnce(b, x, s)
		}
		_, err = x.Search(b.Context(), query.Query{Words: "book a table", Limit: 10})
		if err = errors.Join(err, x.Close()); err != nil {
			b.Fatal(err)
		}
	}
	openAndAsk(true)
	openAndAsk(false)
	for b.Loop() {
		openAndAsk(false)
	}
	b.ReportMetric(float64(dirSize(b, options.Dir))/float64(countOperations(docs)), "B/operation")
}

// BenchmarkCorrection measures how long it takes to correct a word that was not asked for before,
// as a share of the time of a whole search of three words ("of-search", of the medians).
func BenchmarkCorrection(b *testing.B) {
	x, _ := indexed(b, benchServices(b)...)
	var words []string
	for _, w := range strings.Fields("booking calendar reservation language temperature appointment translate delivery password picture license address") {
		for i := 1; i < len(w); i++ {
			for _, letter := range "aeioqrstxz" {
				words = append(words, w[:i]+string(letter)+w[i+1:])
			}
		}
	}
	var corrected, searched []time.Duration
	i := 0
	for b.Loop() {
		asked := words[i%len(words)] + " " + words[(i*7+1)%len(words)] + " table"
		if i++; i == len(words) {
			b.Fatalf("there are only %d words: run it with -benchtime %dx", len(words), len(words)-2)
		}
		begin := time.Now()
		if err := x.withSnapshot(func(v *view.View, _ uint64) error {
			_, err := v.NearestSpelling(words[i%len(words)])
			return err
		}); err != nil {
			b.Fatal(err)
		}
		corrected = append(corrected, time.Since(begin))
		begin = time.Now()
		if _, err := x.Search(b.Context(), query.Query{Words: asked, Verbatim: true}); err != nil {
			b.Fatal(err)
		}
		searched = append(searched, time.Since(begin))
	}
	slices.Sort(corrected)
	slices.Sort(searched)
	half := corrected[len(corrected)/2]
	b.ReportMetric(float64(half)/float64(searched[len(searched)/2]), "of-search")
	b.ReportMetric(float64(half.Microseconds()), "µs/correction")
}

// BenchmarkSearch measures whole answers (ten hits with text and reasons), the
// ranking alone, and bleve's own disjunction of the same terms over the same
// index, one after the other for each query. The ratios are how many times
// longer bleve's takes.
func BenchmarkSearch(b *testing.B) {
	docs := benchServices(b)
	x, _ := indexed(b, docs...)
	intents := benchIntents(b)
	var whole, ranking, bleves []time.Duration
	for b.Loop() {
		for _, text := range intents {
			whole = append(whole, timed(b, func() error {
				_, err := x.Search(context.Background(), query.Query{Words: text, Limit: 10})
				return err
			}))
			ranking = append(ranking, timed(b, func() error { return rankOnly(x, text) }))
			bleves = append(bleves, timed(b, func() error { return bleveOnly(x, text) }))
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(countOperations(docs)), "operations")
	report(b, whole, "answer")
	report(b, ranking, "ranking")
	report(b, bleves, "bleve")
	b.ReportMetric(ratio(bleves, ranking, 50), "bleve/ranking-p50")
	b.ReportMetric(ratio(bleves, ranking, 99), "bleve/ranking-p99")
	b.ReportMetric(ratio(bleves, whole, 50), "bleve/answer-p50")
	b.ReportMetric(ratio(bleves, whole, 99), "bleve/answer-p99")
}

func timed(b *testing.B, f func() error) time.Duration {
	begin := time.Now()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	return time.Since(begin)
}

// rankOnly does what a search does up to the texts.
func rankOnly(x *Index, text string) error {
	words := query.ParseRequest(x.analyzer, text).Words
	return x.withSnapshot(func(v *view.View, _ uint64) error {
		masks, err := v.ApplyFilters(query.Query{})
		if err != nil {
			return err
		}
		sums, done := v.Directory.NewWordScores(v)
		defer done()
		if err := v.ScoreWords(context.Background(), query.WeighStems(words), sums); err != nil {
			return err
		}
		effects, err := v.Effects()
		if err != nil {
			return err
		}
		meant := v.Directory.EmbedQuery(words)
		defer meant.StartNearest(v, masks)()
		_, _, _, err = v.RankOperations(view.Ranking{Words: sums, Query: meant, Masks: masks, Limit: 10, Grouped: true, Effects: effects})
		return err
	})
}

// bleveOnly asks bleve for the same terms in the same fields.
func bleveOnly(x *Index, text string) error {
	var terms []blevequery.Query
	forms, _ := query.WordForms(query.ParseRequest(x.analyzer, text).Words)
	for _, form := range forms {
		for f := range entry.NumFields {
			q := blevequery.NewTermQuery(form)
			q.SetField(f.String())
			q.SetBoost(view.FieldWeights[f].Weight)
			terms = append(terms, q)
		}
	}
	request := bleve.NewSearchRequest(blevequery.NewDisjunctionQuery(terms))
	request.Size = 10
	_, err := x.directory.Bleve.Search(request)
	return err
}

func report(b *testing.B, took []time.Duration, name string) {
	for _, p := range []int{50, 99} {
		b.ReportMetric(percentile(took, p).Seconds()*1000, name+"-p"+map[int]string{50: "50", 99: "99"}[p]+"-ms")
	}
}

func ratio(a, b []time.Duration, p int) float64 {
	return percentile(a, p).Seconds() / percentile(b, p).Seconds()
}

func percentile(took []time.Duration, p int) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[(len(sorted)-1)*p/100]
}
