package frontier

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"gazetteer/store"
)

// BenchmarkFrontier takes a due host out and puts it back, with a million
// others known, and says what knowing them takes: memory, and the time to open
// them again.
func BenchmarkFrontier(b *testing.B) {
	const hosts = 1_000_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f := New(0, 1, 0)
	now := time.Unix(1e9, 0)
	for i := range hosts {
		f.AddHost(hostNumber(i), now, now.Add(time.Duration(i%1000)*time.Second))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	var file bytes.Buffer
	if err := f.WriteSnapshot(&file, store.Cursor{}); err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	begun := time.Now()
	if again, _, err := ReadSnapshot(file.Bytes(), 0, 1, now); err != nil || again.known != hosts {
		b.Fatal(err)
	}
	opened := time.Since(begun)
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Millisecond)
		e, ok := f.NextHost(now)
		if !ok {
			b.Fatal("nothing is due")
		}
		f.FinishSession(e, now, now.Add(24*time.Hour))
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/hosts, "B/host")
	b.ReportMetric(opened.Seconds(), "s-to-open")
	runtime.KeepAlive(f)
}

// BenchmarkDueScan removes a thousand due hosts and adds them again, in turn with no other hosts
// and with a million hosts that are not due, which must not cost anything.
func BenchmarkDueScan(b *testing.B) {
	const due, others = 1000, 1_000_000
	now := time.Unix(1e9, 0)
	frontiers := map[string]*Frontier{"alone": New(0, 1, 0), "among-many": New(0, 1, 0)}
	for i := range others {
		frontiers["among-many"].AddHost(hostNumber(due+i), now, now.Add(time.Duration(10+i%80)*24*time.Hour))
	}
	for _, f := range frontiers {
		for i := range due {
			f.AddHost(hostNumber(i), now, now)
		}
	}
	runtime.GC()
	took := map[string][]float64{}
	for b.Loop() {
		now = now.Add(time.Second)
		for what, f := range frontiers {
			began := time.Now()
			for range due {
				e, ok := f.NextHost(now)
				if !ok {
					b.Fatal("nothing is due")
				}
				f.FinishSession(e, now, now.Add(time.Millisecond))
			}
			took[what] = append(took[what], float64(time.Since(began).Nanoseconds())/due)
		}
	}
	b.ReportMetric(middleOf(took["alone"]), "alone-ns")
	b.ReportMetric(middleOf(took["among-many"]), "among-many-ns")
	b.ReportMetric(middleOf(took["among-many"])/middleOf(took["alone"]), "among-many/alone")
}

func middleOf(figures []float64) float64 {
	slices.Sort(figures)
	return figures[len(figures)/2]
}

func hostNumber(i int) string { return fmt.Sprintf("www.service-%07d.test", i) }
