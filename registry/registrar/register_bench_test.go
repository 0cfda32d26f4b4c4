package registrar_test

import (
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/internal/cputime"
	"gazetteer/protocol/did"
	"gazetteer/registry/registrar"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

const (
	benchClients = 64
	benchTurn    = 2000 // registrations
)

// BenchmarkRegister has 64 clients register agents, and in turn, in the same run,
// the same values written under the same keys into bare bbolt: once with as many
// registrations in a transaction as the store took into one of its group commits,
// and once by as many clients through bbolt's own group commits,
// [bolt.DB.Batch], set so that it waits for all 64. The ratios are those of the
// rates: by the clock, and by the processor time of both sides, which others on
// the machine disturb less.
//
// The bare side has all that counts in its favor: the keys of one agent lie side
// by side, so that both values go into one page; it prepares nothing, has one
// goroutine, and syncs as often as the store did, not once more; what the store
// writes beyond the values, the checksums and the log of what was written when, it
// is spared. Its options are those of the store, its file begins as empty, and
// both have made their buckets and a first agent when the clock starts.
func BenchmarkRegister(b *testing.B) {
	values := registrationBytes(b)
	var ours, bare, batch effort
	commits, begun := 0, registerMany(b, 0, new(effort))
	for from := 0; from < b.N; from += benchTurn {
		n := min(benchTurn, b.N-from)
		made := registerMany(b, n, &ours) - begun
		commits += made
		keys := agentKeys(b, n+1)
		values.write(b, keys, (n+made-1)/made, &bare)
		values.writeByClients(b, keys, &batch)
	}
	b.ReportMetric(0, "ns/op") // of all together, which means nothing
	b.ReportMetric(float64(b.N)/float64(commits), "agents/commit")
	b.ReportMetric(float64(ours.clock.Nanoseconds())/float64(b.N), "ours-ns")
	b.ReportMetric(float64(bare.clock)/float64(ours.clock), "of-bare")
	b.ReportMetric(float64(bare.worked)/float64(ours.worked), "of-bare-cpu")
	b.ReportMetric(float64(batch.clock)/float64(ours.clock), "of-batch")
	b.ReportMetric(float64(batch.worked)/float64(ours.worked), "of-batch-cpu")
}

// An effort is what one side took.
type effort struct{ clock, worked time.Duration }

func (e *effort) spend(f func()) {
	begun, worked := time.Now(), cputime.Used()
	f()
	e.clock += time.Since(begun)
	e.worked += cputime.Used() - worked
}

// byClients does f for 0 to n-1, by 64 clients that each begin the next when
// they have an answer.
func byClients(b *testing.B, n int, f func(i int) error) {
	var next atomic.Int64
	var clients sync.WaitGroup
	for range benchClients {
		clients.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := f(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	clients.Wait()
}

// registerMany registers n agents with a fresh store that has one, and returns how
// many commits there were in all.
func registerMany(b *testing.B, n int, e *effort) (commits int) {
	dir := filepath.Join(b.TempDir(), "data")
	s, err := boltstore.Open(b.Context(), dir, boltstore.Options{MinFree: -1})
	if err != nil {
		b.Fatal(err)
	}
	r := open(b, registrar.Options{Store: s})
	reg := someone(1)
	register(b, r, reg)
	e.spend(func() {
		byClients(b, n, func(int) error {
			_, _, err := r.Register(b.Context(), reg)
			return err
		})
	})
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	db := openBare(b, filepath.Join(dir, boltstore.BoltFile))
	if err := db.View(func(tx *bolt.Tx) error { commits = tx.ID(); return nil }); err != nil {
		b.Fatal(err)
	}
	return commits
}

// openBareWith begins a bare store with one agent.
func (v registered) openBareWith(b *testing.B, path string, first [2][]byte) *bolt.DB {
	db := openBare(b, path)
	if err := db.Update(func(tx *bolt.Tx) error { return v.put(tx, first) }); err != nil {
		b.Fatal(err)
	}
	return db
}

func openBare(b *testing.B, path string) *bolt.DB {
	db, err := bolt.Open(path, 0o600, &bolt.Options{InitialMmapSize: 1 << 30, FreelistType: bolt.FreelistMapType, NoStatistics: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return db
}

// registered is what the store keeps of a registration.
type registered struct{ agent, entry []byte }

func registrationBytes(b *testing.B) registered {
	s := openStore(b)
	a, _ := register(b, open(b, registrar.Options{Store: s}), someone(1))
	value := func(key string) []byte {
		record, err := s.Get(b.Context(), key)
		if err != nil {
			b.Fatal(err)
		}
		return record.Value
	}
	return registered{value(store.AgentKey(a.AirID)), value(store.EntryKey(a.AirID, 1))}
}

// agentKeys returns the keys of both records of n agents.
func agentKeys(b *testing.B, n int) [][2][]byte {
	out := make([][2][]byte, n)
	for i := range out {
		id, err := did.MintAirID(nil)
		if err != nil {
			b.Fatal(err)
		}
		out[i] = [2][]byte{[]byte(store.AgentKey(id)), []byte(store.EntryKey(id, 1))}
	}
	return out
}

func (v registered) put(tx *bolt.Tx, keys [2][]byte) error {
	bucket, err := tx.CreateBucketIfNotExists([]byte("records"))
	if err != nil {
		return err
	}
	if err := bucket.Put(keys[0], v.agent); err != nil {
		return err
	}
	return bucket.Put(keys[1], v.entry)
}

// write writes so many agents a transaction.
func (v registered) write(b *testing.B, keys [][2][]byte, perCommit int, e *effort) {
	db := v.openBareWith(b, filepath.Join(b.TempDir(), "bare.bolt"), keys[0])
	keys = keys[1:]
	e.spend(func() {
		for len(keys) > 0 {
			group := keys[:min(perCommit, len(keys))]
			keys = keys[len(group):]
			err := db.Update(func(tx *bolt.Tx) error {
				for _, k := range group {
					if err := v.put(tx, k); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// writeByClients has each client write one agent after another.
func (v registered) writeByClients(b *testing.B, keys [][2][]byte, e *effort) {
	db := v.openBareWith(b, filepath.Join(b.TempDir(), "batch.bolt"), keys[0])
	keys = keys[1:]
	db.MaxBatchSize, db.MaxBatchDelay = benchClients, time.Millisecond // the delay is for the last few only
	e.spend(func() {
		byClients(b, len(keys), func(i int) error {
			return db.Batch(func(tx *bolt.Tx) error { return v.put(tx, keys[i]) })
		})
	})
}
