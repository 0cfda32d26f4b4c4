package audit

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"gazetteer/store"

	"golang.org/x/mod/sumdb/tlog"
)

// BenchmarkProof measures a proof in a log of a million leaves, read from the files and checked. It
// compares it with the same proof by tlog alone from memory.
//
//	go test -run '^$' -bench Proof -benchtime 20000x ./registry/audit
func BenchmarkProof(b *testing.B) {
	const size = 1_000_000
	l, memory := bigLog(b, size)
	index := func() int64 { return rand.Int64N(size) }
	b.Run("inclusion", func(b *testing.B) {
		for b.Loop() {
			if _, err := l.Prove(b.Context(), index(), size); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("inclusion in an older tree", func(b *testing.B) {
		for b.Loop() {
			older := 1 + index()
			if _, err := l.Prove(b.Context(), rand.Int64N(older), older); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("consistency", func(b *testing.B) {
		for b.Loop() {
			if _, err := l.proveConsistency(b.Context(), 1+index(), size); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("inclusion by key, over HTTP's handler", func(b *testing.B) {
		h := &fixture{log: l}
		for b.Loop() {
			path := "/proof?key=" + eventKey(int(index())/100, int(index())%100)
			if answer := h.serve("GET", path); answer.Code != 200 {
				b.Fatal(answer.Code, answer.Body)
			}
		}
	})
	b.Run("reference: tlog out of memory", func(b *testing.B) {
		for b.Loop() {
			if _, err := tlog.ProveRecord(size, index(), memory); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// bigLog creates a log of the given number of leaves, in the same way as batches of the store, and
// the hashes of its tree in memory.
func bigLog(b *testing.B, size int) (*Log, tlog.HashReader) {
	b.Helper()
	dir := b.TempDir()
	s := openStore(b, filepath.Join(dir, "store"))
	if _, err := s.Apply(b.Context(), store.Put("host/com.example", nil)); err != nil {
		b.Fatal(err)
	}
	l, err := Open(b.Context(), Options{Dir: filepath.Join(dir, "log"), Store: s, Key: openKey(b, dir)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	at := s.Head()
	for n := 0; n < size; {
		var batch []store.Record
		for ; n < size && len(batch) < 20_000; n++ {
			w := event(n/100, n%100)
			batch = append(batch, store.Record{Key: w.Key, Value: w.Value, Seq: at.Seq})
		}
		if _, err := l.applyRecords(b.Context(), batch, at, false); err != nil {
			b.Fatal(err)
		}
	}
	hashes := make([]tlog.Hash, 0, tlog.StoredHashCount(int64(size)))
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			out[i] = hashes[index]
		}
		return out, nil
	})
	for n := range int64(size) {
		leaf, err := l.hashes.leafHash(n)
		if err != nil {
			b.Fatal(err)
		}
		more, err := tlog.StoredHashesForRecordHash(n, leaf, reader)
		if err != nil {
			b.Fatal(err)
		}
		hashes = append(hashes, more...)
	}
	if root, err := tlog.TreeHash(int64(size), reader); err != nil || root != l.Head().Hash {
		b.Fatal(fmt.Errorf("the two trees differ: %v", err))
	}
	return l, reader
}

// BenchmarkFollow measures the rate of appended leaves, in batches of the store's size. It compares
// it with hashing alone.
//
//	go test -run '^$' -bench Follow ./registry/audit
func BenchmarkFollow(b *testing.B) {
	const batchSize = 1000
	b.Run("append", func(b *testing.B) {
		dir := b.TempDir()
		s := openStore(b, filepath.Join(dir, "store"))
		if _, err := s.Apply(b.Context(), store.Put("host/com.example", nil)); err != nil {
			b.Fatal(err)
		}
		l, err := Open(b.Context(), Options{Dir: filepath.Join(dir, "log"), Store: s, Key: openKey(b, dir)})
		if err != nil {
			b.Fatal(err)
		}
		defer l.Close()
		n := 0
		for b.Loop() {
			var batch []store.Record
			for range batchSize {
				w := event(n/100, n%100)
				batch = append(batch, store.Record{Key: w.Key, Value: w.Value, Seq: 1})
				n++
			}
			if _, err := l.applyRecords(b.Context(), batch, s.Head(), false); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)*batchSize/b.Elapsed().Seconds(), "leaves/s")
	})
	b.Run("reference: hashing alone", func(b *testing.B) {
		n := 0
		for b.Loop() {
			for range batchSize {
				w := event(n/100, n%100)
				tlog.RecordHash(w.Value)
				n++
			}
		}
		b.ReportMetric(float64(b.N)*batchSize/b.Elapsed().Seconds(), "leaves/s")
	})
}

// BenchmarkCheckLeaves measures a check of 256 leaves of a log, as anybody may request it.
func BenchmarkCheckLeaves(b *testing.B) {
	const size, checked = 100_000, 256
	l, _ := bigLog(b, size)
	b.ReportAllocs()
	for b.Loop() {
		from := rand.Int64N(size - checked)
		if _, err := l.CheckLeaves(b.Context(), from, from+checked, size); err != nil {
			b.Fatal(err)
		}
	}
}
