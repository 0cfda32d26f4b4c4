package changefeed

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/internal/cputime"
	"gazetteer/internal/teststore"
	"gazetteer/store"
)

// BenchmarkPage reads pages of 50 from a feed of ITEMS changes (20,000 without it): the newest, those
// behind a position in the middle, and those that filters choose.
func BenchmarkPage(b *testing.B) {
	items, _ := strconv.Atoi(os.Getenv("ITEMS"))
	if items == 0 {
		items = 20_000
	}
	s := teststore.New(b)
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
		{"the last one, with filters", func() (Page, error) {
			return f.After(Filter{Verbs: []string{"BOOK", "FIND", "CANCEL", "LIST", "PAY"}, Kinds: []Kind{DocumentChanged}}, uint64(items-1), 50)
		}},
		{"of one host", func() (Page, error) { return f.Before(Filter{Hosts: []string{"h7.example"}}, 0, 50) }},
		{"medium or worse", func() (Page, error) { return f.After(Filter{Severity: diff.Medium}, middle, 50) }},
		{"three filters", func() (Page, error) {
			return f.Before(Filter{Verbs: []string{"BOOK", "FIND"}, Severity: diff.Low, Kinds: []Kind{DocumentChanged}}, middle, 50)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			begun := cputime.Used()
			for b.Loop() {
				if page, err := c.read(); err != nil || len(page.Items) == 0 {
					b.Fatalf("%d items, %v", len(page.Items), err)
				}
			}
			b.ReportMetric(float64((cputime.Used()-begun).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// fillFeed writes so many items about a thousand hosts.
func fillFeed(b *testing.B, f *Feed, items int) {
	b.Helper()
	cursor := f.store.Head()
	verbs := []string{"BOOK", "FIND", "CANCEL", "LIST", "PAY"}
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for position := 1; position <= items; {
		p := &projection{feed: f, hosts: map[string]*hostState{}, items: map[uint64]*Item{}, removed: map[uint64]bool{}}
		for range min(5000, items-position+1) {
			host := fmt.Sprintf("h%d.example", position%1000)
			p.items[uint64(position)] = &Item{
				Position: uint64(position), ID: nameItem(strconv.Itoa(position)), Kind: DocumentChanged, At: begun.Add(time.Duration(position) * time.Second), Severity: diff.Severity(position % 4),
				Title: host + ": book_table asks for weaker authentication", Host: host, Documents: []document.Kind{document.AI}, From: "a", To: "b",
				Changes: []Change{{Kind: diff.AuthenticationWeakened, Severity: diff.High, Operation: "book_table", From: "oauth2", To: "none"}}, Verbs: verbs[position%5 : position%5+1], Namespace: "dining",
			}
			position++
		}
		cursor.Seq = uint64(position - 1)
		if err := p.writeBatch(b.Context(), cursor); err != nil {
			b.Fatal(err)
		}
		p.applyTo(f.postings)
		f.position.MoveTo(cursor)
	}
}

// BenchmarkFollow has the feed read records that make no item, as most visits write them.
func BenchmarkFollow(b *testing.B) {
	s := teststore.New(b)
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
