package changefeed

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// BenchmarkPage reads pages of 50 from a feed of ITEMS changes (20,000 without it): the newest, those
// behind a place in the middle, and those that filters choose.
func BenchmarkPage(b *testing.B) {
	items, _ := strconv.Atoi(os.Getenv("ITEMS"))
	if items == 0 {
		items = 20_000
	}
	s, err := boltstore.Open(b.Context(), b.TempDir(), boltstore.Options{MinFree: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	f, err := Open(b.Context(), Options{Dir: b.TempDir() + "/changes", Store: s, MinFree: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	fillFeed(b, f, items)
	middle := uint64(items / 2)
	for _, c := range []struct {
		name string
		read func() (Page, error)
	}{
		{"newest", func() (Page, error) { return f.Before(Filter{}, 0, 50) }},
		{"behind the middle", func() (Page, error) { return f.After(Filter{}, middle, 50) }},
		{"of one host", func() (Page, error) { return f.Before(Filter{Hosts: []string{"h7.example"}}, 0, 50) }},
		{"medium or worse", func() (Page, error) { return f.After(Filter{Severity: diff.Medium}, middle, 50) }},
		{"three filters", func() (Page, error) {
			return f.Before(Filter{Verbs: []string{"BOOK", "FIND"}, Severity: diff.Low, Kinds: []Kind{DocumentChanged}}, middle, 50)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			begun := processorTime(b)
			for b.Loop() {
				if page, err := c.read(); err != nil || len(page.Items) == 0 {
					b.Fatalf("%d items, %v", len(page.Items), err)
				}
			}
			b.ReportMetric(float64((processorTime(b)-begun).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// processorTime is how long this process has had a processor: it does not depend on what else runs.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// fillFeed writes so many items about a thousand hosts.
func fillFeed(b *testing.B, f *Feed, items int) {
	b.Helper()
	cursor := f.store.Head()
	verbs := []string{"BOOK", "FIND", "CANCEL", "LIST", "PAY"}
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for place := 1; place <= items; {
		p := &projection{feed: f, hosts: map[string]*hostState{}, items: map[uint64]*Item{}, removed: map[uint64]bool{}}
		for range min(5000, items-place+1) {
			host := fmt.Sprintf("h%d.example", place%1000)
			p.items[uint64(place)] = &Item{
				Place: uint64(place), ID: nameItem(strconv.Itoa(place)), Kind: DocumentChanged, At: begun.Add(time.Duration(place) * time.Second), Severity: diff.Severity(place % 4),
				Title: host + ": book_table asks for weaker authentication", Host: host, Documents: []document.Kind{document.AI}, From: "a", To: "b",
				Changes: []Change{{Kind: diff.AuthenticationWeakened, Severity: diff.High, Operation: "book_table", From: "oauth2", To: "none"}}, Verbs: verbs[place%5 : place%5+1], Namespace: "dining",
			}
			place++
		}
		cursor.Seq = uint64(place - 1)
		if err := p.writeBatch(b.Context(), cursor); err != nil {
			b.Fatal(err)
		}
		p.applyTo(f.postings)
		f.position.MoveTo(cursor)
	}
}

// BenchmarkFollow has the feed read records that make no item, as most visits write them.
func BenchmarkFollow(b *testing.B) {
	s, err := boltstore.Open(b.Context(), b.TempDir(), boltstore.Options{MinFree: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	f, err := Open(b.Context(), Options{Dir: b.TempDir() + "/changes", Store: s, MinFree: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	cursor := f.store.Head()
	record := store.Record{Key: store.HostKey("h.example"), Value: []byte(`{"name":"h.example"}`)}
	for b.Loop() {
		cursor.Seq++
		record.Seq = cursor.Seq
		if err := f.applyBatch(b.Context(), []store.Record{record}, cursor); err != nil {
			b.Fatal(err)
		}
	}
}
