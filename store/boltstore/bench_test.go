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
	"gazetteer/store/boltfile/filetest"
)

const benchValue = 1000 // bytes, about a host record or a small document

func benchKey(i int) string { return fmt.Sprintf("host/com.example%08d", (i*7919)%100_000_000) }

// A comparison times writes through the store and the same writes into bare bbolt, turn by turn, so
// that a busy machine slows both alike.
type comparison struct {
	b          *testing.B
	store      *Store
	bare       *bolt.DB
	ours, them time.Duration
	commits    int
}

const turn = 2_000 // writes

func compare(b *testing.B) *comparison {
	c := &comparison{b: b, store: openStore(b, b.TempDir())}
	b.Cleanup(func() { c.store.Close() })
	bare, err := bolt.Open(filepath.Join(b.TempDir(), BoltFile), 0o600, &bolt.Options{InitialMmapSize: 64 << 30, FreelistType: bolt.FreelistMapType, NoStatistics: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { bare.Close() })
	c.bare = bare
	return c
}

// run does the turns and reports. ratio is what a write through the store costs in units of a bare
// one with as many writes in a transaction.
func (c *comparison) run(write func(from, to int)) {
	b := c.b
	for from := 0; from < b.N; from += turn {
		to := min(from+turn, b.N)
		before := c.transaction()
		start := time.Now()
		write(from, to)
		c.ours += time.Since(start)
		commits := c.transaction() - before
		c.commits += commits

		start = time.Now()
		c.writeBare(from, to, max(1, (to-from)/commits))
		c.them += time.Since(start)
	}
	b.ReportMetric(0, "ns/op") // of both together, which means nothing
	b.ReportMetric(float64(c.ours.Nanoseconds())/float64(b.N), "ns/write")
	b.ReportMetric(float64(c.them.Nanoseconds())/float64(b.N), "bare-ns/write")
	b.ReportMetric(float64(c.ours)/float64(c.them), "ratio")
	b.ReportMetric(float64(b.N)/float64(c.commits), "writes/commit")
	b.ReportMetric(bytesUsed(b, filepath.Join(c.store.file.Dir(), BoltFile))/float64(b.N), "bytes/record")
	b.ReportMetric(bytesUsed(b, c.bare.Path())/float64(b.N), "bare-bytes/record")
}

// transaction returns the number of the store's newest transaction.
func (c *comparison) transaction() (id int) {
	if err := c.store.file.View("count", func(tx *bolt.Tx) error { id = tx.ID(); return nil }); err != nil {
		c.b.Fatal(err)
	}
	return id
}

// writeBare puts the records into one bucket and syncs every transaction.
func (c *comparison) writeBare(from, to, perCommit int) {
	for i := from; i < to; i += perCommit {
		err := c.bare.Update(func(tx *bolt.Tx) error {
			bucket, err := tx.CreateBucketIfNotExists(recordsBucket)
			for j := i; err == nil && j < min(i+perCommit, to); j++ {
				err = bucket.Put([]byte(benchKey(j)), make([]byte, benchValue))
			}
			return err
		})
		if err != nil {
			c.b.Fatal(err)
		}
	}
}

// BenchmarkApplyGrouped has 64 callers that apply one write each, one after another.
func BenchmarkApplyGrouped(b *testing.B) {
	c := compare(b)
	c.run(func(from, to int) {
		var next atomic.Int64
		next.Store(int64(from))
		var callers sync.WaitGroup
		for range 64 {
			callers.Go(func() {
				for i := int(next.Add(1)) - 1; i < to; i = int(next.Add(1)) - 1 {
					if _, err := c.store.Apply(b.Context(), store.Put(benchKey(i), make([]byte, benchValue))); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		callers.Wait()
	})
}

// BenchmarkApplyBatch has one caller that applies 500 writes at once, as the crawler does.
func BenchmarkApplyBatch(b *testing.B) {
	const batch = 500
	c := compare(b)
	c.run(func(from, to int) {
		for i := from; i < to; i += batch {
			var writes []store.Write
			for j := i; j < min(i+batch, to); j++ {
				writes = append(writes, store.Put(benchKey(j), make([]byte, benchValue)))
			}
			if _, err := c.store.Apply(b.Context(), writes...); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// bytesUsed is the size of a bolt file without the room to grow at its end.
func bytesUsed(b *testing.B, path string) float64 {
	file, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return float64(filetest.UsedBytes(file))
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
