package changefeed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"gazetteer/changefeed"
	"gazetteer/conformance"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/fetch"
	"gazetteer/registry"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

var began = time.Date(2026, 5, 3, 9, 0, 0, 0, time.UTC)

// world is a real store with a feed that follows it.
type world struct {
	t     *testing.T
	store *boltstore.Store
	dir   string
	feed  *changefeed.Feed
	stop  func()
	keep  int
}

func newWorld(t *testing.T, keep int) *world {
	t.Helper()
	s, err := boltstore.Open(t.Context(), t.TempDir(), boltstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, store: s, dir: t.TempDir() + "/changes", keep: keep}
	w.open()
	t.Cleanup(func() { w.stop(); s.Close() })
	return w
}

func (w *world) open() {
	w.t.Helper()
	f, err := changefeed.Open(context.Background(), changefeed.Options{Dir: w.dir, Store: w.store, Keep: w.keep, MinFree: -1, Linger: time.Millisecond})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	w.feed = f
	w.stop = func() {
		cancel()
		if err := errors.Join(<-done, f.Close()); err != nil {
			w.t.Error(err)
		}
	}
}

func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.open()
}

func (w *world) apply(writes ...store.Write) {
	w.t.Helper()
	if _, err := w.store.Apply(context.Background(), writes...); err != nil {
		w.t.Fatal(err)
	}
	w.wait()
}

func (w *world) wait() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.feed.WaitFor(ctx, w.store.Head().Seq); err != nil {
		w.t.Fatal(err)
	}
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// publishWrites are the writes of a visit that found a document.
func (w *world) publishWrites(host, text string, at time.Time) []store.Write {
	w.t.Helper()
	d, err := document.Read(document.Input{Kind: document.AI, Host: host, URL: "https://" + host + "/.well-known/ai", FetchedAt: at, Bytes: []byte(text)})
	if err != nil {
		w.t.Fatal(err)
	}
	h := crawler.Host{Name: host, Visited: at, Fetches: map[string]fetch.Fetch{"ai": {Kind: "ai", At: at, Digest: d.Digest}}}
	return []store.Write{
		store.Put(store.DocumentKey(host, "ai"), mustJSON(d)),
		store.Put(store.VersionKey(host, "ai", at, d.Digest), mustJSON(crawler.Version{Kind: document.AI, Digest: d.Digest, Seen: at, URL: d.URL, Findings: d.Findings})),
		store.Put(store.BlobKey(d.Digest), []byte(text)),
		store.Put(store.HostKey(host), mustJSON(h)),
	}
}

func (w *world) publish(host, text string, at time.Time) {
	w.t.Helper()
	w.apply(w.publishWrites(host, text, at)...)
}

// remove is a visit that found no document.
func (w *world) remove(host string, at time.Time) {
	w.t.Helper()
	h := crawler.Host{Name: host, Visited: at, Fetches: map[string]fetch.Fetch{"ai": {Kind: "ai", At: at, Outcome: fetch.Absent}}}
	w.apply(store.Delete(store.DocumentKey(host, "ai")), store.Put(store.HostKey(host), mustJSON(h)))
}

// block is an owner's opt-out, as the crawler writes it.
func (w *world) block(host string, subdomains bool) {
	w.t.Helper()
	w.apply(store.Put(store.BlockKey(host), mustJSON(crawler.Block{Host: host, Subdomains: subdomains, By: crawler.ByOwner, Since: began})))
	writes := []store.Write{store.Delete(store.DocumentKey(host, "ai")), store.Delete(store.HostKey(host))}
	for r, err := range w.store.List(context.Background(), store.VersionsOfAll(host), "") {
		if err != nil {
			w.t.Fatal(err)
		}
		writes = append(writes, store.Delete(r.Key))
	}
	w.apply(writes...)
}

func (w *world) items(filter changefeed.Filter) []changefeed.Item {
	w.t.Helper()
	page, err := w.feed.After(filter, 0, 100)
	if err != nil || page.More {
		w.t.Fatalf("%v, more %v", err, page.More)
	}
	return page.Items
}

func (w *world) kinds() (kinds []changefeed.Kind) {
	w.t.Helper()
	for _, i := range w.items(changefeed.Filter{}) {
		kinds = append(kinds, i.Kind)
	}
	return kinds
}

// aiText is an AI Discovery document with one operation at an endpoint.
func aiText(name, endpoint string) string {
	return string(mustJSON(map[string]any{
		"aiendpoint": "1.0", "service": map[string]any{"name": name, "description": "Reserves tables in restaurants."},
		"capabilities": []any{map[string]any{"id": "book_table", "description": "Book a table for a party", "endpoint": endpoint, "method": "POST"}},
	}))
}

func TestItemsDescribeChanges(t *testing.T) {
	w := newWorld(t, 0)
	w.publish("shop.example", aiText("Shop", "https://shop.example/book"), began)
	w.publish("shop.example", aiText("Shop", "https://evil.example/book"), began.Add(time.Hour))
	w.remove("shop.example", began.Add(2*time.Hour))
	w.publish("shop.example", aiText("Shop", "https://shop.example/reserve"), began.Add(3*time.Hour))
	items := w.items(changefeed.Filter{})
	want := []changefeed.Kind{changefeed.ServiceAppeared, changefeed.DocumentChanged, changefeed.ServiceGone, changefeed.ServiceReturned}
	if got := w.kinds(); !reflect.DeepEqual(got, want) {
		t.Fatalf("kinds %v, want %v", got, want)
	}
	if i := items[0]; i.Title != "shop.example (\"Shop\") is new here: its AI Discovery document has 1 operation" || !i.At.Equal(began) || !reflect.DeepEqual(i.Verbs, []string{"BOOK"}) {
		t.Errorf("the new service is %+v", i)
	}
	moved := items[1]
	if moved.Severity != diff.High || len(moved.Changes) != 1 || moved.Changes[0].Kind != diff.EndpointHostChanged || moved.From == "" || moved.To == "" {
		t.Errorf("the change is %+v", moved)
	}
	if moved.Title != "shop.example: book_table moved to another host, from https://shop.example/book to https://evil.example/book" {
		t.Errorf("the title is %q", moved.Title)
	}
	if i := items[2]; i.Severity != diff.Medium || !i.At.Equal(began.Add(2*time.Hour)) {
		t.Errorf("the service that went is %+v", i)
	}
	if i := items[3]; i.Severity != diff.High || !strings.HasPrefix(i.Title, "shop.example (\"Shop\") is back: book_table moved") {
		t.Errorf("the service that returned is %+v", i)
	}
	seen := map[string]bool{}
	for _, i := range items {
		if seen[i.ID] || !strings.HasPrefix(i.ID, "urn:uuid:") {
			t.Errorf("the id %s", i.ID)
		}
		seen[i.ID] = true
	}
}

func TestFilters(t *testing.T) {
	w := newWorld(t, 0)
	w.publish("a.example", aiText("A", "https://a.example/book"), began)
	w.publish("b.example", aiText("B", "https://b.example/book"), began)
	w.publish("b.example", aiText("B", "https://c.example/book"), began.Add(time.Hour))
	w.apply(store.Put(store.EntryKey("AIR-1", 1), mustJSON(registry.HistoryEntry{N: 1, AirID: "AIR-1", Event: registry.EventRegistered, At: began, Agent: &registry.Agent{AirID: "AIR-1", Name: "Concierge"}})))
	for name, c := range map[string]struct {
		filter changefeed.Filter
		want   int
	}{
		"none":       {changefeed.Filter{}, 4},
		"host":       {changefeed.Filter{Hosts: []string{"b.example"}}, 2},
		"hosts":      {changefeed.Filter{Hosts: []string{"b.example", "a.example"}}, 3},
		"verb":       {changefeed.Filter{Verbs: []string{"book"}}, 3},
		"other verb": {changefeed.Filter{Verbs: []string{"CANCEL"}}, 0},
		"severity":   {changefeed.Filter{Severity: diff.High}, 1},
		"both":       {changefeed.Filter{Severity: diff.High, Hosts: []string{"a.example"}}, 0},
		"agent":      {changefeed.Filter{Agents: []string{"AIR-1"}}, 1},
		"kind":       {changefeed.Filter{Kinds: []changefeed.Kind{changefeed.DocumentChanged}}, 1},
	} {
		if got := w.items(c.filter); len(got) != c.want {
			t.Errorf("%s: %d items, want %d", name, len(got), c.want)
		}
	}
	if got := w.items(changefeed.Filter{Agents: []string{"AIR-1"}})[0]; got.Kind != changefeed.AgentRegistered || got.Title != "\"Concierge\" (AIR-1) registered" {
		t.Errorf("the agent is %+v", got)
	}
	for i, c := range []struct {
		agent registry.Agent
		want  string
	}{
		{registry.Agent{AirID: "AIR-2", Name: "Concierge", Handle: "booker"}, "@booker (\"Concierge\") registered"},
		{registry.Agent{AirID: "AIR-2", Handle: "booker"}, "@booker registered"},
		{registry.Agent{AirID: "AIR-2"}, "Agent AIR-2 registered"},
	} {
		w.apply(store.Put(store.EntryKey("AIR-2", i+1), mustJSON(registry.HistoryEntry{N: i + 1, AirID: "AIR-2", Event: registry.EventRegistered, At: began, Agent: &c.agent})))
		items := w.items(changefeed.Filter{Agents: []string{"AIR-2"}})
		if got := items[len(items)-1].Title; got != c.want {
			t.Errorf("%+v: the title is %q, want %q", c.agent, got, c.want)
		}
	}
}

// TestTitlesNameMembersInWords checks that the title of an update names the members of the record as people
// do: the draft's username is a handle.
func TestTitlesNameMembersInWords(t *testing.T) {
	w := newWorld(t, 0)
	agent := &registry.Agent{AirID: "AIR-1", Name: "Concierge"}
	w.apply(store.Put(store.EntryKey("AIR-1", 1), mustJSON(registry.HistoryEntry{N: 1, AirID: "AIR-1", Event: registry.EventUpdated, At: began, Agent: agent, Fields: []string{"capabilities", "username"}})))
	if got := w.items(changefeed.Filter{Agents: []string{"AIR-1"}})[0].Title; got != "\"Concierge\" (AIR-1) changed its capabilities and handle" {
		t.Errorf("the title is %q", got)
	}
}

// TestDomainTitles checks that the claim of a domain, its proof and its loss have titles of their own.
func TestDomainTitles(t *testing.T) {
	w := newWorld(t, 0)
	claimed := registry.Domain{Name: "shop.example", Requested: began}
	proved, lost := claimed, claimed
	proved.Since, proved.Checked = began.Add(time.Second), began.Add(time.Second)
	lost.Since, lost.Withdrawn = proved.Since, began.Add(time.Hour)
	for i, c := range []struct {
		actor   string
		at      time.Time
		domains []registry.Domain
		want    string
	}{
		{registry.ActorOwner, began, []registry.Domain{claimed}, "claimed the domain shop.example"},
		{registry.ActorSystem, proved.Checked, []registry.Domain{proved}, "proved the domain shop.example"},
		{registry.ActorSystem, lost.Withdrawn, []registry.Domain{lost}, "lost the proof of the domain shop.example"},
		{registry.ActorOwner, began.Add(2 * time.Hour), nil, "changed its domains"},
	} {
		w.apply(store.Put(store.EntryKey("AIR-1", i+1), mustJSON(registry.HistoryEntry{
			N: i + 1, AirID: "AIR-1", Event: registry.EventDomain, Actor: c.actor, At: c.at, Agent: &registry.Agent{AirID: "AIR-1", Name: "Concierge", Domains: c.domains},
		})))
		items := w.items(changefeed.Filter{Agents: []string{"AIR-1"}})
		if got := items[len(items)-1].Title; got != "\"Concierge\" (AIR-1) "+c.want {
			t.Errorf("entry %d: %q, want %q", i+1, got, c.want)
		}
	}
}

// TestAlternatingVersionsAreOneItem checks that a document whose versions alternate each hour is
// one item that counts, beside the two that told the first versions.
func TestAlternatingVersionsAreOneItem(t *testing.T) {
	w := newWorld(t, 0)
	texts := []string{aiText("Shop", "https://shop.example/book"), aiText("Shop", "https://shop.example/reserve")}
	const changes = 300 // one every hour
	for i := range changes {
		w.apply(w.publishWrites("shop.example", texts[i%2], began.Add(time.Duration(i)*time.Hour))...)
	}
	items := w.items(changefeed.Filter{})
	if len(items) != 3 || items[2].Kind != changefeed.DocumentFlapping {
		t.Fatalf("%d items: %v", len(items), w.kinds())
	}
	if flap := items[2]; flap.Count != changes-1 || !flap.Since.Equal(began) || !flap.At.Equal(began.Add((changes-1)*time.Hour)) {
		t.Errorf("it counts %d since %s, last %s: %s", flap.Count, flap.Since, flap.At, flap.Title)
	}
	// A change with a higher severity than all before has its own item.
	w.publish("shop.example", aiText("Shop", "http://evil.example/book"), began.Add(changes*time.Hour))
	if last := w.items(changefeed.Filter{Severity: diff.High}); len(last) == 0 || last[len(last)-1].Kind != changefeed.DocumentChanged {
		t.Errorf("a grave change between them is %v", w.kinds())
	}
}

// TestRemovalAndReturnIsOneItem checks a document that disappears and returns, once and every hour.
func TestRemovalAndReturnIsOneItem(t *testing.T) {
	w := newWorld(t, 0)
	for i := range 40 {
		at := began.Add(time.Duration(i) * time.Hour)
		if i%2 == 0 {
			w.publish("shop.example", aiText("Shop", "https://shop.example/book"), at)
		} else {
			w.remove("shop.example", at)
		}
	}
	items := w.items(changefeed.Filter{})
	if len(items) != 3 || items[2].Kind != changefeed.DocumentFlapping || items[2].Count != 39 || !strings.HasSuffix(items[2].Title, "it is gone now") {
		t.Errorf("%v, %+v", w.kinds(), items[len(items)-1])
	}
}

// TestFrequentlyChangedDocumentIsOneItem checks that a document with a time in it is another one
// each hour.
func TestFrequentlyChangedDocumentIsOneItem(t *testing.T) {
	w := newWorld(t, 0)
	for i := range 100 {
		w.publish("shop.example", aiText(fmt.Sprint("Shop at ", i), "https://shop.example/book"), began.Add(time.Duration(i)*time.Hour))
	}
	if items := w.items(changefeed.Filter{}); len(items) > 8 {
		t.Errorf("%d items: %v", len(items), w.kinds())
	}
}

func TestOptOutRemovesItems(t *testing.T) {
	w := newWorld(t, 0)
	w.publish("shop.example", aiText("Secret plans", "https://shop.example/book"), began)
	w.publish("api.shop.example", aiText("Secret plans", "https://shop.example/book"), began)
	w.publish("shop.example", aiText("Secret plans", "https://shop.example/reserve"), began.Add(time.Hour))
	w.publish("notshop.example", aiText("Other", "https://notshop.example/book"), began)
	w.block("shop.example", true)
	w.block("api.shop.example", false)
	want := []changefeed.Kind{changefeed.ServiceAppeared, changefeed.ServiceWithdrawn}
	if got := w.kinds(); !reflect.DeepEqual(got, want) {
		t.Fatalf("kinds %v, want %v", got, want)
	}
	text := string(mustJSON(w.items(changefeed.Filter{})))
	if strings.Contains(text, "Secret") || !strings.Contains(text, "at the request of the owner") {
		t.Errorf("what is left says %s", text)
	}
	w.block("never.heard.example", false)
	if got := len(w.kinds()); got != 2 {
		t.Errorf("a host that nobody knew makes %d items", got-2)
	}
}

// TestPublisherStatesAreReported checks that a change of the states of a host that publishes
// documents is an item, its first sight and those of other hosts are none.
func TestPublisherStatesAreReported(t *testing.T) {
	w := newWorld(t, 0)
	good := conformance.Standing{Class: conformance.Publishes, Reachable: conformance.Yes, WellFormed: conformance.Yes, Conformant: conformance.Yes, Consistent: conformance.Unknown, Answers: conformance.Yes, Level: 1}
	bad := good
	bad.Conformant, bad.Level = conformance.No, 0
	nothing := conformance.Standing{Class: conformance.Nothing, Reachable: conformance.Yes}
	silent := conformance.Standing{Class: conformance.Silent, Reachable: conformance.No}
	evidence := []conformance.StateEvidence{{State: conformance.Conformant, Evidence: conformance.Evidence{Code: "AI210", Text: "secret"}}}
	for n, turn := range []conformance.Turn{
		{Host: "a.example", At: began, Standing: good},
		{Host: "a.example", At: began.Add(time.Hour), Standing: bad, Before: &good, Evidence: evidence},
		{Host: "b.example", At: began.Add(time.Hour), Standing: silent, Before: &nothing},
	} {
		write, err := turn.Write()
		if err != nil {
			t.Fatal(n, err)
		}
		w.apply(write)
	}
	items := w.items(changefeed.Filter{Rules: []string{"AI210"}})
	if all := w.kinds(); len(all) != 1 || len(items) != 1 {
		t.Fatalf("kinds %v, %d with the rule", all, len(items))
	}
	if i := items[0]; i.Title != "a.example: conformant is no (was yes)" || i.Severity != diff.Medium || !i.At.Equal(began.Add(time.Hour)) {
		t.Errorf("the item is %+v", i)
	}
}

func TestErasedAgentKeepsOneItem(t *testing.T) {
	w := newWorld(t, 0)
	for n, event := range []string{registry.EventRegistered, registry.EventUpdated, registry.EventErased} {
		e := registry.HistoryEntry{N: n + 1, AirID: "AIR-1", Event: event, At: began}
		if event != registry.EventErased {
			e.Agent = &registry.Agent{AirID: "AIR-1", Name: "Private name"}
		}
		w.apply(store.Put(store.EntryKey("AIR-1", n+1), mustJSON(e)))
	}
	items := w.items(changefeed.Filter{})
	if len(items) != 1 || items[0].Kind != changefeed.AgentEnded || strings.Contains(string(mustJSON(items)), "Private") {
		t.Errorf("items %+v", items)
	}
}

// TestApprovedAgentIsOneItem checks that an agent whose registration waited for approval is in the feed once:
// its history begins with the approval, as two entries.
func TestApprovedAgentIsOneItem(t *testing.T) {
	w := newWorld(t, 0)
	for n, event := range []string{registry.EventRegistered, registry.EventApproved} {
		e := registry.HistoryEntry{N: n + 1, AirID: "AIR-1", Event: event, At: began, Agent: &registry.Agent{AirID: "AIR-1", Name: "Concierge"}}
		w.apply(store.Put(store.EntryKey("AIR-1", n+1), mustJSON(e)))
	}
	items := w.items(changefeed.Filter{})
	if len(items) != 1 || items[0].Kind != changefeed.AgentRegistered || !strings.HasSuffix(items[0].Title, " registered") {
		t.Errorf("items %+v", items)
	}
}

// TestRestartAndRebuild checks that a feed continues where it stopped, and that a feed with a lost
// or damaged file is rebuilt with the same positions.
func TestRestartAndRebuild(t *testing.T) {
	w := newWorld(t, 0)
	for i := range 5 {
		host := fmt.Sprintf("h%d.example", i)
		w.publish(host, aiText("H", "https://"+host+"/book"), began)
		w.publish(host, aiText("H", "https://"+host+"/reserve"), began.Add(time.Hour))
	}
	w.remove("h3.example", began.Add(2*time.Hour))
	before := w.items(changefeed.Filter{})
	w.restart()
	w.wait()
	if after := w.items(changefeed.Filter{}); !reflect.DeepEqual(before, after) {
		t.Errorf("after a restart:\n%+v\nwant\n%+v", after, before)
	}
	w.stop()
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	w.open()
	w.wait()
	if after := w.items(changefeed.Filter{}); !reflect.DeepEqual(before, after) {
		t.Errorf("after a rebuild:\n%s\nwant\n%s", mustJSON(after), mustJSON(before))
	}
	w.stop()
	if err := os.WriteFile(filepath.Join(w.dir, "changes.bolt"), []byte(strings.Repeat("damage", 20_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.open()
	w.wait()
	if after := w.items(changefeed.Filter{}); !reflect.DeepEqual(before, after) {
		t.Errorf("after damage:\n%s\nwant\n%s", mustJSON(after), mustJSON(before))
	}
}

func TestOldItemsAreDropped(t *testing.T) {
	w := newWorld(t, 100)
	var first uint64
	for i := range 300 {
		host := fmt.Sprintf("h%03d.example", i)
		w.publish(host, aiText("H", "https://"+host+"/book"), began)
		if i == 0 {
			first = w.items(changefeed.Filter{})[0].Position
		}
	}
	if n := w.feed.Len(); n > 100 || n < 98 {
		t.Errorf("%d items are kept", n)
	}
	if _, err := w.feed.After(changefeed.Filter{}, first, 10); !errors.Is(err, changefeed.ErrGone) {
		t.Errorf("behind the horizon: %v", err)
	}
	w.restart()
	if _, err := w.feed.After(changefeed.Filter{}, first, 10); !errors.Is(err, changefeed.ErrGone) {
		t.Errorf("behind the horizon after a restart: %v", err)
	}
	newest, err := w.feed.Before(changefeed.Filter{}, 0, 3)
	if err != nil || len(newest.Items) != 3 || newest.Items[0].Host != "h299.example" || !newest.More {
		t.Fatalf("%v, %+v", err, newest)
	}
	older, err := w.feed.Before(changefeed.Filter{}, newest.Next, 3)
	if err != nil || older.Items[0].Host != "h296.example" {
		t.Errorf("%v, %+v", err, older)
	}
	// Forward again, page by page, each item once.
	position, seen := newest.Next-1, 0
	for {
		page, err := w.feed.After(changefeed.Filter{}, position, 2)
		if err != nil {
			t.Fatal(err)
		}
		seen, position = seen+len(page.Items), page.Next
		if !page.More {
			break
		}
	}
	if seen != 3 {
		t.Errorf("forward there are %d", seen)
	}
}

// TestHostileTexts checks that control characters, characters that reorder text and whole essays
// stay out of titles.
func TestHostileTexts(t *testing.T) {
	w := newWorld(t, 0)
	w.publish("shop.example", aiText("\u202eevil\u0007<script>"+strings.Repeat("x", 5000), "https://shop.example/book"), began)
	title := w.items(changefeed.Filter{})[0].Title
	if strings.ContainsAny(title, "\u202e\u0007\n") || len(title) > 200 || !strings.Contains(title, "<script>") {
		t.Errorf("the title is %q", title)
	}
}

func TestMovedAnnouncesItems(t *testing.T) {
	w := newWorld(t, 0)
	moved := w.feed.Moved()
	w.publish("shop.example", aiText("Shop", "https://shop.example/book"), began)
	select {
	case <-moved: // just after the feed has read the record
	case <-time.After(time.Minute):
		t.Fatal("nothing was announced")
	}
	moved = w.feed.Moved()
	w.apply(store.Put("k/1", []byte("1")))
	select {
	case <-moved:
		t.Error("a record that is no change was announced")
	default:
	}
}
