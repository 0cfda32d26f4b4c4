package standing

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/teststore"
	"gazetteer/store"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func apply(t testing.TB, s store.Store, writes ...store.Write) {
	t.Helper()
	for part := range slices.Chunk(writes, 10_000) {
		if _, err := s.Apply(t.Context(), part...); err != nil {
			t.Fatal(err)
		}
	}
}

// runFollower runs a follower until the end of the test, or until stop is called.
func runFollower(t testing.TB, f *Follower) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func waitFor(t testing.TB, f *Follower, s store.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := f.WaitFor(ctx, s.Head().Seq); err != nil {
		t.Fatal(err)
	}
}

// openFollower runs a follower without a snapshot that has caught up.
func openFollower(t testing.TB, s store.Store) *Follower {
	t.Helper()
	f := Open(Options{Store: s})
	runFollower(t, f)
	waitFor(t, f, s)
	return f
}

// hostWrite is the record of a host with these states, as the crawler writes it.
func hostWrite(t testing.TB, name string, at time.Time, fetches map[string]fetch.Fetch, docs []document.Document, withTrack bool) store.Write {
	t.Helper()
	record := map[string]any{"name": name, "due": at, "visited": at, "fetches": fetches}
	if withTrack {
		in := conformance.Input{Documents: docs}
		for _, f := range fetches {
			in.Fetches = append(in.Fetches, f)
		}
		track, _ := conformance.Advance(nil, conformance.Measurement{Host: name, At: at, By: "Gazetteer/test", Judgment: conformance.Judge(in)})
		record["track"] = track
	}
	return jsonWrite(t, store.HostKey(name), record)
}

func jsonWrite(t testing.TB, key string, value any) store.Write {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return store.Put(key, text)
}

func docOf(name, digest string, links ...string) document.Document {
	d := document.Document{Kind: document.AI, Host: name, URL: "https://" + name + "/.well-known/ai", Digest: digest, FetchedAt: noon, Level: 1}
	for _, l := range links {
		d.Links = append(d.Links, document.Link{Rel: document.RelRelated, URL: "agtp://" + l, Host: l})
	}
	return d
}

func good(name string) map[string]fetch.Fetch {
	return map[string]fetch.Fetch{"ai": {Kind: "ai", URL: "https://" + name + "/.well-known/ai", Outcome: fetch.OK, Status: 200, At: noon}}
}

func silent(name string) map[string]fetch.Fetch {
	return map[string]fetch.Fetch{"ai": {Kind: "ai", URL: "https://" + name + "/.well-known/ai", Outcome: fetch.Timeout, At: noon}}
}

// known is all that a follower can be asked.
type known struct {
	Figures StateCounts
	Hosts   []HostStates
	Links   [][]string
	Labels  []uint8
}

func allKnown(f *Follower) known {
	k := known{Figures: f.Figures()}
	names, next := f.List(HostFilter{}, "", 1<<20)
	if next != "" {
		names = append(names, "more than one page")
	}
	labels := f.HostLabels()
	for _, name := range names {
		h, _ := f.Host(name)
		in, out, _, _ := f.Links(name, 1000)
		n, _ := f.HostNumber(name)
		k.Hosts, k.Links, k.Labels = append(k.Hosts, h), append(k.Links, in, out), append(k.Labels, labels[n])
	}
	return k
}

func TestStates(t *testing.T) {
	s := teststore.New(t)
	doc := docOf("a.example", "1")
	apply(t, s,
		hostWrite(t, "a.example", noon, good("a.example"), []document.Document{doc}, true), jsonWrite(t, store.DocumentKey("a.example", "ai"), doc),
		hostWrite(t, "b.example", noon, silent("b.example"), nil, true),
		jsonWrite(t, store.BlockKey("c.example"), map[string]any{"host": "c.example", "by": "owner"}),
		jsonWrite(t, store.BlockKey("d.example"), map[string]any{"host": "d.example", "by": "operator"}),
		jsonWrite(t, store.HostKey("e.example"), map[string]any{"name": "e.example", "due": noon}),
		store.Put(store.HostKey("damaged.example"), []byte("{")),
		store.Put(store.TurnKey("a.example", noon), []byte("{}")),
	)
	f := openFollower(t, s)
	for name, want := range map[string]conformance.PublisherClass{
		"a.example": conformance.Publishes, "b.example": conformance.Silent, "c.example": conformance.OptedOut,
		"d.example": conformance.Excluded, "e.example": conformance.Unvisited,
	} {
		if h, ok := f.Host(name); !ok || h.Class != want {
			t.Errorf("%s is %q, want %q", name, h.Class, want)
		}
	}
	if _, ok := f.Host("damaged.example"); ok {
		t.Error("a damaged record counts")
	}
	for _, c := range []struct {
		want string
		s    HostFilter
	}{
		{"[a.example]", HostFilter{Is: []conformance.Name{conformance.Reachable}}},
		{"[a.example]", HostFilter{Is: []conformance.Name{conformance.Reachable, conformance.Answers}}},
		{"[b.example c.example d.example e.example]", HostFilter{Not: []conformance.Name{conformance.Reachable}}},
		{"[]", HostFilter{Is: []conformance.Name{conformance.Consistent}}},
		{"[b.example]", HostFilter{Class: conformance.Silent}},
		{"[a.example]", HostFilter{Publishing: true}},
		{"[]", HostFilter{Publishing: true, Not: []conformance.Name{conformance.Answers}}},
	} {
		if names, _ := f.List(c.s, "", 10); fmt.Sprint(names) != c.want {
			t.Errorf("%+v lists %v, want %s", c.s, names, c.want)
		}
	}
	figures := f.Figures()
	if figures.Hosts != 5 || figures.States[conformance.Reachable][conformance.Yes] != 1 || figures.States[conformance.Reachable][conformance.No] != 1 ||
		figures.Levels[1] != 1 || !figures.Begins.Equal(noon) || !figures.Visited.Equal(noon) {
		t.Errorf("the figures are %+v", figures)
	}
}

func TestListPages(t *testing.T) {
	s := teststore.New(t)
	var writes []store.Write
	for _, name := range []string{"a.example", "www.a.example", "a-b.example", "b.example", "x.b-c.example", "a.test", "example"} {
		writes = append(writes, hostWrite(t, name, noon, silent(name), nil, true))
	}
	apply(t, s, writes...)
	f := openFollower(t, s)
	var want []string // in the order of the keys
	for r, err := range s.List(t.Context(), store.HostPrefix, "") {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, store.SplitKey(r.Key)[1])
	}
	var got []string
	for after, more := "", true; more; more = after != "" {
		var page []string
		page, after = f.List(HostFilter{}, after, 2)
		got = append(got, page...)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the pages list %q, the store %q", got, want)
	}
	if names, _ := f.List(HostFilter{}, "b.other.example", 1); fmt.Sprint(names) != "[a.test]" {
		t.Errorf("behind a host that is not there come %q", names)
	}
}

// A store without a history is judged by its present records.
func TestStoreWithoutHistory(t *testing.T) {
	s := teststore.New(t)
	doc := docOf("a.example", "1")
	apply(t, s, hostWrite(t, "a.example", noon, good("a.example"), []document.Document{doc}, false), jsonWrite(t, store.DocumentKey("a.example", "ai"), doc))
	f := openFollower(t, s)
	h, ok := f.Host("a.example")
	if !ok || h.Class != conformance.Publishes || h.Track.Standing.Answers != conformance.Yes || !h.HistoryBegins.IsZero() || !h.Track.At.Equal(noon) {
		t.Errorf("it stands %+v", h)
	}
	if !f.Figures().Begins.IsZero() {
		t.Errorf("the history begins %v", f.Figures().Begins)
	}
}

func TestLinks(t *testing.T) {
	s := teststore.New(t)
	apply(t, s,
		jsonWrite(t, store.DocumentKey("a.example", "ai"), docOf("a.example", "1", "b.example", "c.example")),
		jsonWrite(t, store.DocumentKey("a.example", "agis"), docOf("a.example", "2", "b.example")),
		jsonWrite(t, store.DocumentKey("c.example", "ai"), docOf("c.example", "3", "b.example")),
	)
	f := openFollower(t, s)
	wantLinks := func(name, in, out string) {
		t.Helper()
		if from, to, _, _ := f.Links(name, 10); fmt.Sprint(from) != in || fmt.Sprint(to) != out {
			t.Errorf("%s: links in %v, out %v; want %s, %s", name, from, to, in, out)
		}
	}
	wantLinks("b.example", "[a.example c.example]", "[]")
	wantLinks("a.example", "[]", "[b.example c.example]")
	if in, _, n, _ := f.Links("b.example", 1); len(in) != 1 || n != 2 {
		t.Errorf("one of %d links is %v", n, in)
	}
	apply(t, s, jsonWrite(t, store.DocumentKey("a.example", "ai"), docOf("a.example", "4", "d.example")))
	waitFor(t, f, s)
	wantLinks("b.example", "[a.example c.example]", "[]") // its other document still says so
	wantLinks("c.example", "[]", "[b.example]")
	apply(t, s, store.Delete(store.DocumentKey("a.example", "agis")), store.Delete(store.DocumentKey("c.example", "ai")))
	waitFor(t, f, s)
	wantLinks("b.example", "[]", "[]")
	wantLinks("d.example", "[a.example]", "[]")
	wantLinks("nobody.example", "[]", "[]")
}

// TestRebuildGivesSameStates checks that after any sequence of writes the follower, one that reads
// all records, and one that continues from a snapshot have the same content.
func TestRebuildGivesSameStates(t *testing.T) {
	s := teststore.New(t)
	path := filepath.Join(t.TempDir(), "standing")
	first := Open(Options{Store: s, Path: path})
	stop := runFollower(t, first)
	random := rand.New(rand.NewPCG(1, 2))
	write := func(rounds int) {
		for range rounds {
			var writes []store.Write
			name := fmt.Sprintf("h%d.example", random.IntN(40))
			at := noon.Add(time.Duration(random.IntN(1e6)) * time.Second)
			switch random.IntN(6) {
			case 0:
				writes = append(writes, store.Delete(store.HostKey(name)), store.Delete(store.DocumentKey(name, "ai")), store.Delete(store.BlockKey(name)))
			case 1:
				writes = append(writes, jsonWrite(t, store.BlockKey(name), map[string]any{"host": name, "by": []string{"owner", "operator"}[random.IntN(2)]}))
			case 2:
				writes = append(writes, hostWrite(t, name, at, silent(name), nil, random.IntN(2) == 0), store.Delete(store.DocumentKey(name, "ai")))
			case 3:
				writes = append(writes, store.Put(store.TurnKey(name, at), []byte("{}")))
			default:
				doc := docOf(name, fmt.Sprint(random.IntN(3)), fmt.Sprintf("h%d.example", random.IntN(60)), fmt.Sprintf("h%d.example", random.IntN(60)))
				doc.Digest += doc.Links[0].Host + doc.Links[1].Host
				writes = append(writes, hostWrite(t, name, at, good(name), []document.Document{doc}, true), jsonWrite(t, store.DocumentKey(name, "ai"), doc))
			}
			apply(t, s, writes...)
		}
		waitFor(t, first, s)
	}
	write(150)
	want := allKnown(first)
	if got := allKnown(openFollower(t, s)); !reflect.DeepEqual(got, want) {
		t.Errorf("reading all records gives\n%+v\nfollowing gave\n%+v", got, want)
	}
	stop()
	first = Open(Options{Store: s, Path: path})
	if got := allKnown(first); !reflect.DeepEqual(got, want) {
		t.Errorf("the snapshot has\n%+v\nwritten was\n%+v", got, want)
	}
	if first.Cursor() != s.Head() {
		t.Errorf("the snapshot stands for %+v, the store is at %+v", first.Cursor(), s.Head())
	}
	runFollower(t, first)
	write(150)
	want = allKnown(first)
	if got := allKnown(openFollower(t, s)); !reflect.DeepEqual(got, want) {
		t.Errorf("after the snapshot, reading all records gives\n%+v\nfollowing gave\n%+v", got, want)
	}
}

// TestCompactForgetsDeletedDocuments checks that the snapshot, once it is compacted, does not have the
// name of a host that only a deleted document named, and that the links of others stay right.
func TestCompactForgetsDeletedDocuments(t *testing.T) {
	s := teststore.New(t)
	path := filepath.Join(t.TempDir(), "standing")
	f := Open(Options{Store: s, Path: path})
	stop := runFollower(t, f)
	for _, c := range [][2]string{{"leaving.example", "confidential.example"}, {"staying.example", "public.example"}} {
		doc := docOf(c[0], "1", c[1])
		apply(t, s, hostWrite(t, c[0], noon, good(c[0]), []document.Document{doc}, true), jsonWrite(t, store.DocumentKey(c[0], "ai"), doc))
	}
	waitFor(t, f, s)
	names := func() (confidential, public bool) {
		t.Helper()
		if err := f.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(text, []byte("confidential.example")), bytes.Contains(text, []byte("public.example"))
	}
	if confidential, public := names(); !confidential || !public {
		t.Fatalf("the snapshot names them: %v, %v", confidential, public)
	}
	apply(t, s, store.Delete(store.HostKey("leaving.example")), store.Delete(store.DocumentKey("leaving.example", "ai")))
	waitFor(t, f, s)
	if confidential, public := names(); confidential || !public {
		t.Errorf("after the deletion it names the deleted one: %v, the other: %v", confidential, public)
	}
	want := allKnown(f)
	stop()
	if got := allKnown(Open(Options{Store: s, Path: path})); !reflect.DeepEqual(got, want) {
		t.Errorf("the snapshot has\n%+v\nknown was\n%+v", got, want)
	}
}

func TestUselessSnapshots(t *testing.T) {
	s := teststore.New(t)
	apply(t, s, hostWrite(t, "a.example", noon, silent("a.example"), nil, true))
	path := filepath.Join(t.TempDir(), "standing")
	f := Open(Options{Store: s, Path: path})
	stop := runFollower(t, f)
	waitFor(t, f, s)
	stop()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(text)
	damaged[len(damaged)/2] ^= 1
	for name, text := range map[string][]byte{"empty": {}, "cut short": text[:len(text)-3], "a bit flipped": damaged, "other bytes": []byte("gazetteer standing 1\nhello, world")} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		f := Open(Options{Store: s, Path: path})
		if f.Cursor() != (store.Cursor{}) {
			t.Errorf("%s: it stands for %+v", name, f.Cursor())
		}
		stop := runFollower(t, f)
		waitFor(t, f, s)
		if f.Figures().Hosts != 1 {
			t.Errorf("%s: the figures are %+v", name, f.Figures())
		}
		stop()
	}
	other := teststore.New(t) // the snapshot is of another store
	apply(t, other, hostWrite(t, "b.example", noon, silent("b.example"), nil, true), hostWrite(t, "c.example", noon, silent("c.example"), nil, true))
	f = Open(Options{Store: other, Path: path})
	runFollower(t, f)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for f.Cursor() != other.Head() {
		if err := f.WaitFor(ctx, f.Cursor().Seq+1); err != nil {
			t.Fatal(err)
		}
	}
	if names, _ := f.List(HostFilter{}, "", 10); fmt.Sprint(names) != "[b.example c.example]" {
		t.Errorf("in another store it knows %v", names)
	}
}

// TestStableNumbers checks that who holds a number of a host may go on using it.
func TestStableNumbers(t *testing.T) {
	s := teststore.New(t)
	doc := docOf("a.example", "1")
	apply(t, s, hostWrite(t, "a.example", noon, good("a.example"), []document.Document{doc}, true))
	f := openFollower(t, s)
	n, ok := f.HostNumber("a.example")
	before := f.HostLabels()
	if !ok || before[n] != 1|2|4|16 {
		t.Fatalf("number %d has the states %b", n, before[n])
	}
	apply(t, s, hostWrite(t, "a.example", noon, silent("a.example"), nil, true))
	waitFor(t, f, s)
	if before[n] != 1|2|4|16 || f.HostLabels()[n] != 0 {
		t.Errorf("labels that were handed out are %b now, the new ones %b", before[n], f.HostLabels()[n])
	}
}
