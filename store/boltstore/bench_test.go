package boltstore

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
)

const benchValue = 1000 // bytes, about a host record or a small document

func benchKey(i int) string { return fmt.Sprintf("host/com.example%08d", (i*7919)%100_000_000) }

// BenchmarkApplyGrouped has 64 callers that apply one write each, one after
// another, and then bare bbolt doing the same writes with as many in a
// transaction as the groups had. ratio is what a write through the store costs
// in units of a bare one.
func BenchmarkApplyGrouped(b *testing.B) {
	s := openStore(b, b.TempDir())
	defer s.Close()
	value := make([]byte, benchValue)
	commits := transaction(b, s.db)
	start := time.Now()
	applyGrouped(b, s, value)
	grouped := time.Since(start)
	commits = transaction(b, s.db) - commits

	perCommit := max(1, b.N/commits)
	start = time.Now()
	bareBolt(b, filepath.Join(b.TempDir(), "bare"), value, perCommit)
	bare := time.Since(start)
	b.ReportMetric(0, "ns/op") // both together mean nothing
	b.ReportMetric(float64(grouped.Nanoseconds())/float64(b.N), "ns/write")
	b.ReportMetric(float64(bare.Nanoseconds())/float64(b.N), "bare-ns/write")
	b.ReportMetric(float64(grouped)/float64(bare), "ratio")
	b.ReportMetric(float64(b.N)/float64(commits), "writes/commit")
}

func applyGrouped(b *testing.B, s *Store, value []byte) {
	var next atomic.Int64
	var callers sync.WaitGroup
	for range 64 {
		callers.Go(func() {
			for i := int(next.Add(1)); i <= b.N; i = int(next.Add(1)) {
				if _, err := s.Apply(b.Context(), store.Put(benchKey(i), value)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
}

// transaction returns the number of the newest transaction.
func transaction(b *testing.B, db *bolt.DB) (id int) {
	if err := db.View(func(tx *bolt.Tx) error { id = tx.ID(); return nil }); err != nil {
		b.Fatal(err)
	}
	return id
}

// bareBolt writes b.N records into one bucket and syncs every transaction.
func bareBolt(b *testing.B, path string, value []byte, perCommit int) {
	db, err := bolt.Open(path, fileMode, &bolt.Options{InitialMmapSize: mapSize, FreelistType: bolt.FreelistMapType, NoStatistics: true})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for i := 0; i < b.N; i += perCommit {
		err := db.Update(func(tx *bolt.Tx) error {
			bucket, err := tx.CreateBucketIfNotExists(recordsBucket)
			for j := i; err == nil && j < min(i+perCommit, b.N); j++ {
				err = bucket.Put([]byte(benchKey(j)), value)
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkApplyBatch has one caller that applies 500 writes at once, as the
// crawler does, and then bare bbolt with 500 writes in a transaction.
func BenchmarkApplyBatch(b *testing.B) {
	const batch = 500
	dir := b.TempDir()
	s := openStore(b, dir)
	value := make([]byte, benchValue)
	start := time.Now()
	for i := 0; i < b.N; i += batch {
		var writes []store.Write
		for j := i; j < min(i+batch, b.N); j++ {
			writes = append(writes, store.Put(benchKey(j), value))
		}
		if _, err := s.Apply(b.Context(), writes...); err != nil {
			b.Fatal(err)
		}
	}
	ours := time.Since(start)
	s.Close()
	file, err := os.ReadFile(filepath.Join(dir, BoltFile))
	if err != nil {
		b.Fatal(err)
	}
	start = time.Now()
	bareBolt(b, filepath.Join(b.TempDir(), "bare"), value, batch)
	bare := time.Since(start)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N), "ns/write")
	b.ReportMetric(float64(bare.Nanoseconds())/float64(b.N), "bare-ns/write")
	b.ReportMetric(float64(ours)/float64(bare), "ratio")
	b.ReportMetric(float64(usedBytes(file))/float64(b.N), "bytes/record")
}

func filled(b *testing.B, n int) *Store {
	s := openStore(b, b.TempDir())
	b.Cleanup(func() { s.Close() })
	var writes []store.Write
	for i := range n {
		writes = append(writes, store.Put(benchKey(i), make([]byte, benchValue)))
	}
	if _, err := s.Apply(b.Context(), writes...); err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkGet(b *testing.B) {
	s := filled(b, maxWrites)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := s.Get(b.Context(), benchKey(i%maxWrites)); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkChanges replays a log; an op is one record.
func BenchmarkChanges(b *testing.B) {
	s := filled(b, maxWrites)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		for r, err := range s.Changes(b.Context(), store.Cursor{}) {
			if err != nil {
				b.Fatal(err)
			}
			if n++; n >= b.N || r.Seq == maxWrites {
				break
			}
		}
	}
}
