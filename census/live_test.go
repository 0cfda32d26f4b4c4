package census_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gazetteer/census"
	"gazetteer/census/tally"
	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/internal/fakestore"
	"gazetteer/internal/teststore"
	"gazetteer/internal/wait"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// follow opens a follower and has it read everything.
func follow(t testing.TB, s *boltstore.Store, snapshot string) (*census.Live, func()) {
	t.Helper()
	l := census.OpenLive(census.LiveOptions{Store: s, Snapshot: snapshot, Now: func() time.Time { return day.Add(-time.Hour) }})
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := l.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	stop := sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	if err := l.WaitFor(t.Context(), s.Head().Seq); err != nil {
		t.Fatal(err)
	}
	return l, stop
}

// checkAgainstCensus holds the figures of a follower against the files of a census of the store.
func checkAgainstCensus(t *testing.T, s *boltstore.Store, l *census.Live) {
	t.Helper()
	dir := write(t, s, day)
	stats := l.Stats()
	for _, table := range stats.Figures.Tables() {
		if table.Name == "summary" { // it says more in the folder
			continue
		}
		lines, err := csv.NewReader(strings.NewReader(read(t, dir, "data/"+table.Name+".csv"))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		var rows [][]string
		for _, r := range table.Rows {
			rows = append(rows, r.Cells)
		}
		if fmt.Sprint(rows) != fmt.Sprint(lines[1:]) && len(rows)+len(lines) > 1 {
			t.Errorf("%s: the follower has %v, the census %v", table.Name, rows, lines[1:])
		}
	}
	summary := table(t, dir, "summary")
	for name, n := range map[string]int{"hosts": stats.Hosts, "domains": stats.Domains, "services": stats.Services, "documents": stats.Documents, "operations": stats.Operations, "versions": stats.Versions, "opted out": stats.OptedOut, "visited hosts": stats.Visited} {
		if summary[name] != fmt.Sprint(n) {
			t.Errorf("%s: the follower has %d, the census %s", name, n, summary[name])
		}
	}
	for _, f := range census.Families() {
		for _, v := range stats.Values(f) {
			if f, ok := census.ParseFeature(v.Feature.String()); !ok || f != v.Feature {
				t.Errorf("%s is counted and its address is refused", v.Feature)
			}
			list := l.Hosts(v.Feature, 0, 1_000_000)
			hosts, all := list.Hosts, list.All
			if all != v.Count || len(hosts) != all.Hosts {
				t.Errorf("%s: %v, the list has %d of %v", v.Feature, v.Count, len(hosts), all)
			}
		}
	}
}

// checkServiceLists holds lists of services against the sets of hosts behind the figures.
func checkServiceLists(t *testing.T, l *census.Live) {
	t.Helper()
	all := services(t, l, census.ServiceQuery{Limit: 1_000_000, Counted: true})
	if all.Total != l.Stats().Services || len(all.Hosts) != all.Total || all.All != all.Total {
		t.Fatalf("%d services, the list has %d of %d", l.Stats().Services, len(all.Hosts), all.Total)
	}
	conforming := l.Hosts(census.Feature{Family: "state", Value: "conformant=yes"}, 0, 1_000_000).Hosts
	agis := l.Hosts(census.Feature{Family: "format", Value: string(document.AGIS)}, 0, 1_000_000).Hosts
	named := l.Hosts(census.CategoryFeature(" "+strings.ToUpper(all.Categories[0].Name)), 0, 1_000_000).Hosts
	for _, order := range []census.ServiceOrder{census.ByName, census.ByChange, census.ByOperations, census.ByHost} {
		for name, c := range map[string]struct {
			q    census.ServiceQuery
			want func(host string) bool
		}{
			"all":         {census.ServiceQuery{}, func(string) bool { return true }},
			"state":       {census.ServiceQuery{Is: []conformance.Name{conformance.Conformant}}, func(h string) bool { return slices.Contains(conforming, h) }},
			"not state":   {census.ServiceQuery{Not: []conformance.Name{conformance.Conformant}}, func(h string) bool { return !slices.Contains(conforming, h) }},
			"category":    {census.ServiceQuery{Category: all.Categories[0].Name}, func(h string) bool { return slices.Contains(named, h) }},
			"format":      {census.ServiceQuery{Format: document.AGIS}, func(h string) bool { return slices.Contains(agis, h) }},
			"words":       {census.ServiceQuery{Words: "00001 SHOP.test"}, func(h string) bool { return strings.Contains(h, "00001") && strings.Contains(h, "shop.test") }},
			"all of them": {census.ServiceQuery{Words: "bank", Is: []conformance.Name{conformance.Conformant}, Category: all.Categories[0].Name}, nil},
			"nothing":     {census.ServiceQuery{Category: "no such category"}, func(string) bool { return false }},
		} {
			c.q.Order, c.q.Limit = order, 7
			var paged []string
			for {
				c.q.Offset = len(paged)
				page := services(t, l, c.q)
				if paged = append(paged, page.Hosts...); len(page.Hosts) == 0 {
					if len(paged) != page.Total {
						t.Errorf("%s: %d services on the pages of %d", name, len(paged), page.Total)
					}
					break
				}
			}
			slices.Sort(paged)
			if len(slices.Compact(slices.Clone(paged))) != len(paged) {
				t.Errorf("%s: a service is on two pages", name)
			}
			for _, host := range all.Hosts {
				if _, found := slices.BinarySearch(paged, host); c.want != nil && found != c.want(host) {
					t.Errorf("%s: %s found: %v", name, host, found)
				}
			}
		}
	}
	if n := services(t, l, census.ServiceQuery{Category: all.Categories[0].Name}).Total; n != all.Categories[0].Services {
		t.Errorf("the category has %d services, its list %d", all.Categories[0].Services, n)
	}
}

// TestLiveFiguresEqualCensus follows a store through changes and restarts.
func TestLiveFiguresEqualCensus(t *testing.T) {
	s := fill(t, 300, false)
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	l, stop := follow(t, s, snapshot)
	checkAgainstCensus(t, s, l)
	checkServiceLists(t, l)
	before := l.Stats().Services
	// A host opts out, as the crawler writes it.
	writes := []store.Write{store.Delete(store.HostKey("s000001.bank.test")), store.Put(store.BlockKey("s000001.bank.test"), []byte(`{"host":"s000001.bank.test","by":"owner","since":"2026-11-01T00:00:00Z"}`))}
	for _, prefix := range []string{store.DocumentsOf("s000001.bank.test"), store.VersionsOfAll("s000001.bank.test"), store.TurnsOf("s000001.bank.test")} {
		for r, err := range s.List(t.Context(), prefix, "") {
			if err != nil {
				t.Fatal(err)
			}
			writes = append(writes, store.Delete(r.Key))
		}
	}
	if _, err := s.Apply(t.Context(), writes...); err != nil {
		t.Fatal(err)
	}
	if err := l.WaitFor(t.Context(), s.Head().Seq); err != nil {
		t.Fatal(err)
	}
	if got := l.Stats(); got.Services != before-1 || got.OptedOut != 1 {
		t.Errorf("%d services and %d that opted out, %d before", got.Services, got.OptedOut, before)
	}
	checkAgainstCensus(t, s, l)
	checkServiceLists(t, l)
	want := maps.Clone(l.Stats().Features)
	stop()
	if _, err := os.Stat(snapshot); err != nil {
		t.Fatal("no snapshot was written", err)
	}
	// From the snapshot, without it, and from one that is damaged.
	for name, prepare := range map[string]func(){
		"from the snapshot":      func() {},
		"without the snapshot":   func() { os.Remove(snapshot) },
		"from a broken snapshot": func() { os.WriteFile(snapshot, []byte("broken"), 0o600) },
	} {
		prepare()
		again, stop := follow(t, s, snapshot)
		if got := again.Stats().Features; !maps.Equal(got, want) {
			t.Errorf("%s the figures differ: %d and %d", name, len(got), len(want))
		}
		checkAgainstCensus(t, s, again)
		stop()
	}
}

// TestVersionsOfOneMillisecond stores two versions of a document with one time, as a clock that went
// back can leave them.
func TestVersionsOfOneMillisecond(t *testing.T) {
	s := fill(t, 10, false)
	const host = "s000001.bank.test"
	version := []byte(`{"size":1}`)
	seen := day.AddDate(-1, 0, 0) // before the current version
	first, second := store.VersionKey(host, "ai", seen, "sha256:"+strings.Repeat("a", 64)), store.VersionKey(host, "ai", seen, "sha256:"+strings.Repeat("b", 64))
	if _, err := s.Apply(t.Context(), store.Put(first, version), store.Put(second, version)); err != nil {
		t.Fatal(err)
	}
	l, _ := follow(t, s, "")
	checkAgainstCensus(t, s, l)
	if _, err := s.Apply(t.Context(), store.Delete(first)); err != nil {
		t.Fatal(err)
	}
	if err := l.WaitFor(t.Context(), s.Head().Seq); err != nil {
		t.Fatal(err)
	}
	checkAgainstCensus(t, s, l)
}

// TestSnapshotOfAnotherStoreIsIgnored opens one store with the snapshot of another.
func TestSnapshotOfAnotherStoreIsIgnored(t *testing.T) {
	snapshot := filepath.Join(t.TempDir(), "snapshot")
	_, stop := follow(t, fill(t, 30, false), snapshot)
	stop()
	other := fill(t, 3, false)
	l, _ := follow(t, other, snapshot)
	if got := l.Stats().Services; got != 3 {
		t.Errorf("%d services", got)
	}
}

// TestListsArePaged walks the list behind a figure.
func TestListsArePaged(t *testing.T) {
	l, _ := follow(t, fill(t, 130, false), "")
	var listed []string
	for after := uint32(0); ; {
		list := l.Hosts(census.Feature{Family: "class", Value: "publishes"}, after, 50)
		if list.All.Hosts != 130 || list.Of != l.Stats().Hosts || list.At.IsZero() {
			t.Fatalf("%d of %d hosts at %s", list.All.Hosts, list.Of, list.At)
		}
		if listed = append(listed, list.Hosts...); list.Last == 0 {
			break
		}
		after = list.Last
	}
	slices.Sort(listed)
	if n := len(slices.Compact(listed)); n != 130 {
		t.Errorf("%d hosts on the pages", n)
	}
	if list := l.Hosts(census.Feature{Family: "verb", Value: "NOSUCHVERB"}, 0, 10); len(list.Hosts) != 0 || list.All != (tally.Count{}) {
		t.Errorf("a verb of nobody: %+v", list)
	}
	withDocument := l.Stats().Features[census.Feature{Family: "format", Value: string(document.AI)}].Hosts
	if list := l.Hosts(census.Feature{Family: "rule", Value: "AI303"}, 0, 1); list.Of != withDocument || withDocument == 0 || withDocument == l.Stats().Hosts {
		t.Errorf("%d hosts could break AI303, and %d have such a document", list.Of, withDocument)
	}
	s := l.Stats()
	if len(s.New) == 0 || s.New[0].At.Before(s.New[len(s.New)-1].At) || s.New[0].At.After(day) {
		t.Errorf("new %v", s.New)
	}
}

func TestParseFeature(t *testing.T) {
	for text, ok := range map[string]bool{"verb:BOOK": true, "state:conformant=yes": true, "category:a:b": true, "robots:partly": true, "robots:most": false, "tls:TLS 1.3": true, "tls:1.3": false, "size:1024-2047": true, "size:1024": false, "observed:30": true, "observed:31": false, "formats:ai+agis": true, "formats:ai+none": false, "outcome:ai absent": true, "outcome:robots absent": false, "verb:": false, "verb": false, "nosuch:x": false, "": false, ":x": false} {
		f, got := census.ParseFeature(text)
		if got != ok || ok && f.String() != text {
			t.Errorf("%q: %v, %v", text, f, got)
		}
	}
}

// BenchmarkLive reads SERVICES services of STORE (see BenchmarkWrite), from the store and from the
// snapshot, and refreshes the figures.
func BenchmarkLive(b *testing.B) {
	dir := os.Getenv("STORE")
	if dir == "" {
		dir = b.TempDir()
	}
	s := teststore.Open(b, dir)
	if os.Getenv("STORE") == "" {
		if err := fakestore.Fill(b.Context(), s, fakestore.Options{Root: "..", Services: 2000, At: day.Add(-time.Hour)}); err != nil {
			b.Fatal(err)
		}
	}
	snapshot := filepath.Join(b.TempDir(), "snapshot")
	for name, path := range map[string]string{"store": "", "snapshot": snapshot} {
		if path != "" {
			_, stop := follow(b, s, path)
			stop()
		}
		b.Run("open from the "+name, func(b *testing.B) {
			for b.Loop() {
				_, stop := follow(b, s, path)
				stop()
			}
		})
	}
	l, _ := follow(b, s, "")
	b.Run("refresh", func(b *testing.B) {
		for b.Loop() {
			if err := l.WaitFor(b.Context(), 1); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestRefreshWithClockAhead checks that the figures are refreshed although the clock of the figures is
// ahead of that of the machine.
func TestRefreshWithClockAhead(t *testing.T) {
	s := teststore.New(t)
	ahead := time.Now().AddDate(1, 0, 0)
	l := census.OpenLive(census.LiveOptions{Store: s, Now: func() time.Time { return ahead }})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	add := func(host string) uint64 {
		seq, err := s.Apply(ctx, store.Put(store.HostKey(host), []byte(`{"name":"`+host+`"}`)))
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	if err := l.WaitFor(ctx, add("a.test")); err != nil { // which refreshes them, too
		t.Fatal(err)
	}
	add("b.test")
	for l.Stats().Hosts < 2 && wait.For(ctx, 10*time.Millisecond) == nil {
	}
	if n := l.Stats().Hosts; n != 2 {
		t.Errorf("the figures have %d hosts", n)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func services(t *testing.T, l *census.Live, q census.ServiceQuery) census.ServiceList {
	t.Helper()
	list, err := l.Services(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestListByNameIgnoresMarks has three services of one document, with names of their own.
func TestListByNameIgnoresMarks(t *testing.T) {
	const host = "s000001.bank.test"
	s := fill(t, 3, false)
	l, _ := follow(t, s, "")
	names := map[string]string{"x1.bank.test": "BulkSMS", "x2.bank.test": "Bäckerei Morgenrot", "x3.bank.test": "Badminton"}
	for name, title := range names {
		copyHost(t, s, host, name)
		for r, err := range s.List(t.Context(), store.DocumentsOf(name), "") {
			if err != nil {
				t.Fatal(err)
			}
			var d document.Document
			if err := json.Unmarshal(r.Value, &d); err != nil {
				t.Fatal(err)
			}
			value := bytes.ReplaceAll(r.Value, []byte(`"name":"`+d.Service.Name+`"`), []byte(`"name":"`+title+`"`))
			if _, err := s.Apply(t.Context(), store.Put(r.Key, value)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.WaitFor(t.Context(), s.Head().Seq); err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, h := range services(t, l, census.ServiceQuery{Limit: 100}).Hosts {
		if names[h] != "" {
			listed = append(listed, names[h])
		}
	}
	if want := []string{"Bäckerei Morgenrot", "Badminton", "BulkSMS"}; !slices.Equal(listed, want) {
		t.Errorf("the list by name has %q, want %q", listed, want)
	}
}
