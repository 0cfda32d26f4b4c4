package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"gazetteer/document"
	"gazetteer/index/query"
	"gazetteer/internal/fakenet/corpus"
	"gazetteer/store"
)

// A speed is what was measured with so many operations.
type speed struct {
	Operations int     `json:"operations"`
	Services   int     `json:"services"`
	PerSecond  float64 `json:"indexed_per_second"`  // operations, from an empty index that follows a full store
	Bytes      float64 `json:"bytes_per_operation"` // of the closed index on disk
	Searchable float64 `json:"searchable_ms"`       // from a document's commit, the median of 20
	Start      float64 `json:"start_ms"`            // opening an index that was searched before, and the first answer
	Memory     float64 `json:"memory_mb"`           // heap in use after all queries

	Answer    times  `json:"answer"`         // ten hits, shown and explained
	Facets    times  `json:"facets"`         // the same with six facets
	Similar   times  `json:"similar"`        // ten services like another
	Reference *times `json:"fts5,omitempty"` // SQLite FTS5: the ids of ten hits
}

// times are percentiles in milliseconds.
type times struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	// Quickest are those of each query's quickest round, which other work on the
	// machine disturbs least.
	Quickest *times `json:"quickest,omitempty"`
}

func timesOf(all []time.Duration) times {
	slices.Sort(all)
	at := func(p int) float64 { return all[(len(all)-1)*p/100].Seconds() * 1000 }
	return times{P50: at(50), P99: at(99)}
}

// timesOfRounds are those of queries that were asked in turn, round by round.
func timesOfRounds(all []time.Duration, queries int) times {
	best := slices.Clone(all[:min(queries, len(all))])
	for i, d := range all {
		best[i%queries] = min(best[i%queries], d)
	}
	quickest := timesOf(best)
	t := timesOf(all)
	t.Quickest = &quickest
	return t
}

func (t times) String() string {
	s := fmt.Sprintf("p50 %.2f ms\tp99 %.2f ms", t.P50, t.P99)
	if t.Quickest != nil {
		s += fmt.Sprintf("\tin the quickest of the rounds\tp50 %.2f ms\tp99 %.2f ms", t.Quickest.P50, t.Quickest.P99)
	}
	return s
}

// The queries of a measurement of times: this many, evenly taken, asked in turn
// once to warm up and then so many times.
const (
	speedQueries = 310
	speedRounds  = 3
)

// facetFields are the six facets that are counted.
var facetFields = []string{"verb", "class", "ns", "effect", "level", "category"}

// measureSpeed is the command with --speed.
func (o *relevanceOptions) measureSpeed(ctx context.Context, out io.Writer) error {
	c, err := readCollection(o.data)
	if err != nil {
		return fmt.Errorf("read the data: %w", err)
	}
	if o.pool == "" {
		o.pool = filepath.Join(o.data, "openapi-services.jsonl.zst")
	}
	var texts []string
	for _, q := range c.evenly(0) {
		texts = append(texts, q.Text)
	}
	var some []string
	for i := range min(speedQueries, len(texts)) {
		some = append(some, texts[i*len(texts)/min(speedQueries, len(texts))])
	}
	var all []speed
	for _, n := range o.operations {
		s, err := o.speedOf(ctx, n, some)
		if err != nil {
			return fmt.Errorf("%d operations: %w", n, err)
		}
		all = append(all, *s)
		if !o.json {
			if err := s.print(out); err != nil {
				return err
			}
		}
	}
	if !o.json {
		return nil
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(all)
}

// speedOf measures with n operations.
func (o *relevanceOptions) speedOf(ctx context.Context, n int, queries []string) (_ *speed, err error) {
	vectors, err := readVectors(o.vectors)
	if err != nil {
		return nil, err
	}
	h, err := openIndexedStore(ctx, vectors)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	if err := h.closeIndex(); err != nil {
		return nil, err
	}
	s := &speed{}
	var fts *reference
	if o.reference {
		if fts, err = openReference(filepath.Join(h.dir, "fts5.db")); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, fts.close()) }()
	}
	err = copies(o.pool, n, func(docs []*document.Document) error {
		s.Operations += countOperations(docs)
		s.Services += len(docs)
		if fts != nil {
			if err := fts.put(docs); err != nil {
				return err
			}
		}
		return h.put(ctx, docs)
	})
	if err != nil {
		return nil, err
	}
	if err := s.index(ctx, h); err != nil {
		return nil, err
	}
	if err := s.answers(ctx, h, queries); err != nil {
		return nil, err
	}
	if fts != nil {
		taken, err := fts.times(queries)
		if err != nil {
			return nil, err
		}
		s.Reference = &taken
	}
	return s, nil
}

// index lets an empty index follow the store, searches once, closes it, weighs it and opens it
// again.
func (s *speed) index(ctx context.Context, h *indexedStore) error {
	begin := time.Now()
	if err := h.openIndex(ctx); err != nil {
		return err
	}
	if err := h.catchUp(ctx); err != nil {
		return err
	}
	s.PerSecond = float64(s.Operations) / time.Since(begin).Seconds()
	first := func() error {
		_, err := h.index.Search(ctx, query.Query{Words: "book a table", Limit: depth})
		return err
	}
	if err := errors.Join(first(), h.closeIndex()); err != nil {
		return err
	}
	begin = time.Now()
	if err := errors.Join(h.openIndex(ctx), first()); err != nil {
		return err
	}
	s.Start = time.Since(begin).Seconds() * 1000
	var size int64
	err := filepath.WalkDir(h.indexDir(), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil // merged away meanwhile
		}
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	s.Bytes = float64(size) / float64(s.Operations)
	return err
}

// answers takes the times of searches, and of a document's way into them.
func (s *speed) answers(ctx context.Context, h *indexedStore, queries []string) error {
	ask := func(facets []string) ([]time.Duration, error) {
		var taken []time.Duration
		for round := range 1 + speedRounds {
			for _, text := range queries {
				begin := time.Now()
				if _, err := h.index.Search(ctx, query.Query{Words: text, Limit: depth, Facets: facets}); err != nil {
					return nil, err
				}
				if round > 0 { // the first warms up
					taken = append(taken, time.Since(begin))
				}
			}
		}
		return taken, nil
	}
	taken, err := ask(nil)
	if err != nil {
		return err
	}
	s.Answer = timesOfRounds(taken, len(queries))
	if taken, err = ask(facetFields); err != nil {
		return err
	}
	s.Facets = timesOfRounds(taken, len(queries))
	if s.Similar, err = similarTimes(ctx, h); err != nil {
		return err
	}
	var memory runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&memory)
	s.Memory = float64(memory.HeapInuse) / 1e6

	var searchable []time.Duration
	for i := range 20 {
		r := record{ID: fmt.Sprint("new", i), Service: "Newcomer", Verb: "BOOK", Path: "/table", Name: fmt.Sprint("book_table_", i), Intent: "Reserves a table."}
		d := r.document(900_000 + i)
		if err := h.put(ctx, []*document.Document{d}); err != nil {
			return err
		}
		begin := time.Now()
		if err := h.catchUp(ctx); err != nil {
			return err
		}
		found, err := h.index.Search(ctx, query.Query{Hosts: []string{d.Host}})
		if err != nil {
			return err
		}
		if len(found.Hits) != 1 {
			return fmt.Errorf("the new document of %s is not found", d.Host)
		}
		searchable = append(searchable, time.Since(begin))
	}
	s.Searchable = timesOf(searchable).P50
	return nil
}

// similarHosts is for how many hosts similar services are asked for.
const similarHosts = 100

// similarTimes takes the times of lists of similar services, of hosts from all over
// the index.
func similarTimes(ctx context.Context, h *indexedStore) (times, error) {
	var hosts []string
	for record, err := range h.store.List(ctx, store.DocumentPrefix, "") {
		if err != nil {
			return times{}, err
		}
		var d document.Document
		if err := json.Unmarshal(record.Value, &d); err != nil {
			return times{}, fmt.Errorf("read %s: %w", record.Key, err)
		}
		hosts = append(hosts, d.Host)
	}
	var taken []time.Duration
	n := min(similarHosts, len(hosts))
	for round := range 1 + speedRounds {
		for i := range n {
			begin := time.Now()
			if _, err := h.index.Similar(ctx, hosts[i*len(hosts)/n], depth); err != nil {
				return times{}, err
			}
			if round > 0 { // the first warms up
				taken = append(taken, time.Since(begin))
			}
		}
	}
	return timesOfRounds(taken, n), nil
}

// copies calls f with documents of n operations: the services of a file, then
// copies of them in which words are swapped.
func copies(path string, n int, f func([]*document.Document) error) error {
	number := 0
	for round := 0; n > 0; round++ {
		swap := unchanged
		if round > 0 {
			swap = swapped(round)
		}
		before := n
		for s, err := range corpus.Services(path) {
			if err != nil {
				return err
			}
			docs := documentsOf(&s, number, swap)
			number++
			for _, d := range docs {
				d.Operations = d.Operations[:max(0, min(n, len(d.Operations)))]
				n -= len(d.Operations)
			}
			if err := f(slices.DeleteFunc(docs, func(d *document.Document) bool { return len(d.Operations) == 0 })); err != nil {
				return err
			}
			if n <= 0 {
				break
			}
		}
		if n == before {
			return fmt.Errorf("%s has no operations", path)
		}
	}
	return nil
}

// swapped returns a change of texts: one word in four becomes another, the same
// one wherever it stands in this copy.
func swapped(round int) func(string) string {
	letters := func(r rune) bool { return !unicode.IsLetter(r) }
	return func(text string) string {
		var b strings.Builder
		for text != "" {
			if n := strings.IndexFunc(text, letters); n != 0 {
				if n < 0 {
					n = len(text)
				}
				b.WriteString(swapWord(text[:n], round))
				text = text[n:]
				continue
			}
			_, size := utf8.DecodeRuneInString(text)
			b.WriteString(text[:size])
			text = text[size:]
		}
		return b.String()
	}
}

// swapWord changes a word of five letters or more in one case of four, by its
// letters and the round.
func swapWord(word string, round int) string {
	sum := uint32(round) * 2654435761
	for _, c := range []byte(strings.ToLower(word)) {
		sum = (sum ^ uint32(c)) * 16777619
	}
	if len(word) < 5 || sum>>8%4 != 0 {
		return word
	}
	return word[:3] + string(rune('a'+sum>>12%26)) + string(rune('a'+sum>>20%26)) + word[3:]
}

func (s *speed) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "operations\t%d of %d documents\n", s.Operations, s.Services)
	fmt.Fprintf(w, "answer, ten hits explained\t%s\n", s.Answer)
	fmt.Fprintf(w, "the same with six facets\t%s\n", s.Facets)
	fmt.Fprintf(w, "ten services like another\t%s\n", s.Similar)
	if s.Reference != nil {
		fmt.Fprintf(w, "SQLite FTS5, ten ids\t%s\n", s.Reference)
	}
	fmt.Fprintf(w, "indexed\t%.0f operations/s\t%.0f bytes/operation\n", s.PerSecond, s.Bytes)
	fmt.Fprintf(w, "searchable after commit\t%.1f ms\n", s.Searchable)
	fmt.Fprintf(w, "opened, with first answer\t%.0f ms\n", s.Start)
	fmt.Fprintf(w, "heap in use\t%.0f MB\n\n", s.Memory)
	return w.Flush()
}
