package crawler_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/conformance"
	"gazetteer/crawler"
	"gazetteer/store"
)

func (w *world) turns(host string) []conformance.Turn {
	w.t.Helper()
	turns, err := conformance.Turns(w.t.Context(), w.store, host, time.Now(), time.Time{})
	if err != nil {
		w.t.Fatal(err)
	}
	return turns
}

// written lists the kinds of the records that were written after a place in the log.
func (w *world) written(after store.Cursor) []string {
	w.t.Helper()
	var kinds []string
	head := w.store.Head()
	if after == head {
		return nil
	}
	for r, err := range w.store.Changes(w.t.Context(), after) {
		if err != nil {
			w.t.Fatal(err)
		}
		kind, _, _ := strings.Cut(r.Key, "/")
		kinds = append(kinds, kind)
		if r.Seq == head.Seq {
			break
		}
	}
	return kinds
}

func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		s := w.site("a.test", map[string]http.Handler{"/.well-known/ai": json200(ai("A"))})
		w.run()
		w.visit("a.test")
		turns := w.turns("a.test")
		if len(turns) != 1 || !turns[0].First() || turns[0].Standing.Class != conformance.Publishes || turns[0].Standing.Answers != conformance.Yes {
			t.Fatalf("the first visit wrote %+v", turns)
		}
		if h := w.host("a.test"); !turns[0].Time().Equal(h.Visited.Truncate(time.Millisecond)) || turns[0].By != "Gazetteer/0.1" {
			t.Errorf("the turn took place at %v by %q, the visit ended at %v", turns[0].Time(), turns[0].By, h.Visited)
		}

		// A visit without change writes the record of the host, its crawl log and the document that
		// was checked, as it did before there was a history.
		before := w.store.Head()
		time.Sleep(27 * time.Hour)
		synctest.Wait()
		if got := strings.Join(w.written(before), " "); got != "log doc host" {
			t.Errorf("a visit without change wrote %q", got)
		}

		before = w.store.Head()
		s.set("/.well-known/ai", page{status: 500})
		time.Sleep(26 * time.Hour)
		synctest.Wait()
		if turns = w.turns("a.test"); len(turns) != 2 || turns[1].Standing.Answers != conformance.No || turns[1].Before.Answers != conformance.Yes {
			t.Fatalf("a change wrote %+v", turns)
		}
		if got := strings.Count(strings.Join(w.written(before), " "), "turn"); got != 1 {
			t.Errorf("a change and its retries wrote %d turns", got)
		}

		if err := w.crawler.Block(t.Context(), crawler.Block{Host: "a.test", By: crawler.ByOwner}); err != nil {
			t.Fatal(err)
		}
		if turns = w.turns("a.test"); len(turns) != 0 {
			t.Errorf("an owner who opted out leaves %+v", turns)
		}
	})
}

// A store from before there was a history gets a first turn at the next visit, which says how many
// visits it does not know of.
func TestTurnsOfOldStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.site("a.test", map[string]http.Handler{"/.well-known/ai": json200(ai("A"))})
		w.run()
		w.visit("a.test")
		w.rest()
		var old map[string]any
		r, err := w.store.Get(t.Context(), store.HostKey("a.test"))
		if err == nil {
			err = json.Unmarshal(r.Value, &old)
		}
		if err != nil {
			t.Fatal(err)
		}
		delete(old, "track")
		text, err := json.Marshal(old)
		if err != nil {
			t.Fatal(err)
		}
		writes := []store.Write{store.Put(store.HostKey("a.test"), text)}
		for r, err := range w.store.List(t.Context(), store.TurnsOf("a.test"), "") {
			if err != nil {
				t.Fatal(err)
			}
			writes = append(writes, store.Delete(r.Key))
		}
		if _, err := w.store.Apply(t.Context(), writes...); err != nil || len(writes) != 2 {
			t.Fatal(len(writes), err)
		}
		w.halt()
		w.run()
		time.Sleep(27 * time.Hour)
		synctest.Wait()
		turns := w.turns("a.test")
		if len(turns) != 1 || !turns[0].First() || turns[0].Visits != 1 || !turns[0].Known.Before(turns[0].Time()) {
			t.Errorf("the history begins with %+v", turns)
		}
	})
}
