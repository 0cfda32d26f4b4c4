package census

import (
	"encoding/json"
	"testing"
	"time"

	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/teststore"
	"gazetteer/store"
)

// BenchmarkFollow has the figures take in what a visit without a change writes: the record of the host
// and a document of 20 operations.
func BenchmarkFollow(b *testing.B) {
	s := teststore.New(b)
	at := time.Date(2026, 5, 3, 9, 0, 0, 0, time.UTC)
	host := crawler.Host{Name: "a.example", Added: at, Visited: at, Fetches: map[string]fetch.Fetch{}}
	for _, kind := range []string{"ai", "agis-summary", fetch.KindRobots} {
		host.Fetches[kind] = fetch.Fetch{Kind: kind, URL: "https://a.example/.well-known/ai", Outcome: fetch.OK, Status: 200, At: at}
	}
	doc := document.Document{Kind: document.AI, Host: "a.example", Digest: document.Digest([]byte("x")), FetchedAt: at, Level: 1}
	for range 20 {
		doc.Operations = append(doc.Operations, document.Operation{Verb: "BOOK", Intent: "Books a table in a restaurant of the city for a number of persons"})
	}
	var batch []store.Record
	for key, v := range map[string]any{store.HostKey("a.example"): host, store.DocumentKey("a.example", "ai"): doc} {
		text, err := json.Marshal(v)
		if err != nil {
			b.Fatal(err)
		}
		batch = append(batch, store.Record{Key: key, Value: text, Seq: 1})
	}
	l := OpenLive(LiveOptions{Store: s})
	for b.Loop() {
		if err := l.applyBatch(b.Context(), batch, store.Cursor{}); err != nil {
			b.Fatal(err)
		}
	}
}
