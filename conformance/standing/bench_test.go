package standing

import (
	"fmt"
	"testing"

	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/internal/teststore"
	"gazetteer/store"
)

// BenchmarkFollow reads what a visit without change writes: the record of the host and its document.
func BenchmarkFollow(b *testing.B) {
	s := teststore.New(b)
	f := Open(Options{Store: s})
	doc := docOf("a.example", "1", "b.example")
	for n := range 20 {
		doc.Operations = append(doc.Operations, document.Operation{ID: fmt.Sprint(n), Intent: "Books a table in a restaurant of the city for a number of persons"})
	}
	var batch []store.Record
	for _, w := range []store.Write{hostWrite(b, "a.example", noon, good("a.example"), []document.Document{doc}, true), jsonWrite(b, store.DocumentKey("a.example", "ai"), doc)} {
		batch = append(batch, store.Record{Key: w.Key, Value: w.Value, Seq: 1})
	}
	for b.Loop() {
		if err := f.applyBatch(b.Context(), batch, store.Cursor{Seq: 1}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList lists the last hosts of 100,000 that have a state which few have.
func BenchmarkList(b *testing.B) {
	s := teststore.New(b)
	f := Open(Options{Store: s})
	var batch []store.Record
	for n := range 100_000 {
		name := fmt.Sprintf("h%d.example", n)
		fetches := silent(name)
		if n%1000 == 0 {
			fetches = good(name)
		}
		w := hostWrite(b, name, noon, fetches, nil, true)
		batch = append(batch, store.Record{Key: w.Key, Value: w.Value, Seq: uint64(n + 1)})
	}
	if err := f.applyBatch(b.Context(), batch, store.Cursor{Seq: 100_000}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if names, _ := f.List(HostFilter{Is: []conformance.Name{conformance.Reachable}}, "", 100); len(names) != 100 {
			b.Fatal(len(names))
		}
	}
}
