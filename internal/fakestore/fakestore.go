// Package fakestore fills a store with the records of services that never existed, and with a year
// of their history, for tests and benchmarks at sizes that no crawl reaches in time. Begin with
// [Fill].
//
// The documents are those of the hosts of package fakenet, under other names; what
// changed and when is drawn from a generator with a fixed seed, so the same options give the same
// records.
package fakestore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"gazetteer/conformance"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/store"
)

// Options say what a store is filled with.
type Options struct {
	// Root is the root folder of the module, where the documents are.
	Root string
	// Services is how many hosts publish something. For each ten there is one more that does not.
	Services int
	// At is the end of the history, which lasts a year.
	At time.Time
	// Hostile adds texts that would break a table, a page or a spreadsheet.
	Hostile bool
}

// placeholder is the host of a template.
const placeholder = "placeholder-host.test"

// maxTemplate bounds the documents that are copied: larger ones are rare and fill the disk.
const maxTemplate = 4 << 10

// history is the time that the records cover.
const history = 365 * 24 * time.Hour

// A template is a document of a service, to be copied under other names.
type template struct {
	kind   document.Kind
	bytes  []byte // as served
	record []byte // a document.Document in JSON
	digest string
}

// Fill writes the records.
func Fill(ctx context.Context, s store.Store, o Options) error {
	templates, err := readTemplates(o)
	if err != nil {
		return err
	}
	f := &filler{Options: o, templates: templates, random: rand.New(rand.NewPCG(1, 2)), written: map[string]bool{}}
	var writes []store.Write
	for n := range o.Services + o.Services/10 {
		more, err := f.hostWrites(n)
		if err != nil {
			return err
		}
		if writes = append(writes, more...); len(writes) > 10_000 {
			if _, err := s.Apply(ctx, writes...); err != nil {
				return fmt.Errorf("fill the store: %w", err)
			}
			writes = nil
		}
	}
	if len(writes) == 0 {
		return nil
	}
	if _, err = s.Apply(ctx, writes...); err != nil {
		return fmt.Errorf("fill the store: %w", err)
	}
	return nil
}

// readTemplates reads the small documents in JSON of the hosts that have an AI Discovery document.
func readTemplates(o Options) ([][]template, error) {
	folders, err := filepath.Glob(filepath.Join(o.Root, "internal", "fakenet", "testdata", "services", "*"))
	if err != nil {
		return nil, err
	}
	var all [][]template
	for _, dir := range folders {
		var list []template
		for _, kind := range []document.Kind{document.AI, document.AGIS} {
			text, err := os.ReadFile(filepath.Join(dir, string(kind)+".json"))
			if err != nil || len(text) > maxTemplate {
				continue // most hosts lack a document of one kind
			}
			t, err := newTemplate(kind, bytes.ReplaceAll(text, []byte(filepath.Base(dir)), []byte(placeholder)), o.At)
			if err != nil {
				return nil, fmt.Errorf("read the documents in %s: %w", dir, err)
			}
			list = append(list, t)
		}
		if len(list) > 0 && list[0].kind == document.AI {
			all = append(all, list)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("below %s is no small document of a service", o.Root)
	}
	return all, nil
}

func newTemplate(kind document.Kind, text []byte, at time.Time) (template, error) {
	f, _ := document.FormatOf(kind)
	read, err := document.Read(document.Input{
		Kind: kind, Host: placeholder, URL: "https://" + placeholder + f.WellKnown, MediaType: f.MediaTypes[0], FetchedAt: at, Bytes: text,
	})
	if err != nil {
		return template{}, err
	}
	record, err := json.Marshal(read)
	return template{kind, text, record, read.Digest}, err
}

type filler struct {
	Options
	templates [][]template
	random    *rand.Rand
	written   map[string]bool // digests of stored bytes
}

// hostileNames are texts that break what takes them for harmless.
var hostileNames = []string{`=HYPERLINK("http://x.test","y")`, "+1", "@SUM(A1)", "a,b\"c\r\nd", "<script>alert(1)</script>", "a|b`c`", "\u202egnp.exe", "\x1b[31mred"}

// hostWrites returns the writes for one host.
func (f *filler) hostWrites(n int) ([]store.Write, error) {
	name := fmt.Sprintf("s%06d.%s", n, []string{"shop", "bank", "travel", "health", "tools"}[n%5]+".test")
	start := f.At.Add(-time.Duration(f.random.Int64N(int64(history))))
	visited := f.At.Add(-time.Duration(f.random.Int64N(int64(24 * time.Hour))))
	if visited.Before(start) {
		visited = start
	}
	h := crawler.Host{
		Name: name, Added: start.Add(-time.Minute), Due: visited.Add(24 * time.Hour), Visited: visited, Visits: 1 + int(visited.Sub(start)/(24*time.Hour)), Fetches: map[string]fetch.Fetch{},
		TLS: &fetch.TLS{Version: []string{"TLS 1.3", "TLS 1.3", "TLS 1.3", "TLS 1.2"}[f.random.IntN(4)], Expires: visited.Add(60 * 24 * time.Hour), Issuer: "Test CA", Names: []string{name}},
	}
	h.Fetches[fetch.KindRobots] = fetch.Fetch{Kind: fetch.KindRobots, URL: "https://" + name + "/robots.txt", Outcome: []fetch.Outcome{fetch.OK, fetch.Absent, fetch.Absent}[f.random.IntN(3)], Status: 200, At: visited}
	h.Robots = &fetch.Robots{FetchedAt: visited, Status: 200, Open: true}
	var writes []store.Write
	var docs []document.Document
	if n >= f.Services {
		f.withoutDocument(&h, n)
	} else {
		list := f.templates[f.random.IntN(len(f.templates))]
		if f.random.IntN(10) >= 3 {
			list = list[:1]
		}
		for _, t := range list {
			more, d, err := f.documentWrites(&h, t, start, visited)
			if err != nil {
				return nil, err
			}
			writes, docs = append(writes, more...), append(docs, d)
		}
	}
	turns, err := f.turnWrites(&h, docs, start)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return append(append(writes, turns...), store.Put(store.HostKey(name), text)), nil
}

// withoutDocument gives a host the last fetches of one that publishes nothing.
func (f *filler) withoutDocument(h *crawler.Host, n int) {
	outcome := []fetch.Outcome{fetch.Absent, fetch.Absent, fetch.CatchAll, fetch.Timeout, fetch.OtherFormat, fetch.ServerError, fetch.RefusedByRobots, fetch.Unreadable}[n%8]
	status := map[fetch.Outcome]int{fetch.Absent: 404, fetch.CatchAll: 200, fetch.OtherFormat: 200, fetch.ServerError: 503, fetch.Unreadable: 200}[outcome]
	if outcome == fetch.Timeout {
		delete(h.Fetches, fetch.KindRobots)
		h.Robots, h.TLS = nil, nil
	}
	for _, kind := range []document.Kind{document.AI, document.AGISSummary} {
		h.Fetches[string(kind)] = fetch.Fetch{Kind: string(kind), URL: "https://" + h.Name + "/.well-known/ai", Outcome: outcome, Status: status, At: h.Visited}
	}
}

// documentWrites returns the writes for a document and its versions.
func (f *filler) documentWrites(h *crawler.Host, t template, start, visited time.Time) (writes []store.Write, d document.Document, err error) {
	versions := []int{1, 1, 1, 1, 1, 1, 2, 2, 3, 6}[f.random.IntN(10)]
	name, kind := []byte(h.Name), string(t.kind)
	seen := start
	for v := range versions {
		text := bytes.ReplaceAll(t.bytes, []byte(placeholder), name)
		if v > 0 { // another text, so another digest
			text = bytes.Replace(text, []byte(`"description":"`), fmt.Appendf(nil, `"description":"Release %d. `, v), 1)
			switch f.random.IntN(12) {
			case 0: // its calls go elsewhere
				text = bytes.Replace(text, []byte(`"endpoint":"/`), fmt.Appendf(nil, `"endpoint":"https://other.%s/`, name), 1)
			case 1:
				text = bytes.Replace(text, []byte(", optional"), []byte(", required"), 1)
			}
			seen = seen.Add(1 + time.Duration(f.random.Int64N(int64(max(visited.Sub(seen), 2)))))
		}
		digest := document.Digest(text)
		record, err := json.Marshal(crawler.Version{Kind: t.kind, Digest: digest, Seen: seen, Size: len(text), URL: "https://" + h.Name + "/.well-known/ai", Level: 1})
		if err != nil {
			return nil, d, err
		}
		writes = append(writes, store.Put(store.VersionKey(h.Name, kind, seen, digest), record))
		if !f.written[digest] {
			f.written[digest] = true
			writes = append(writes, store.Put(store.BlobKey(digest), text))
		}
		if v < versions-1 {
			continue
		}
		stored := bytes.ReplaceAll(bytes.ReplaceAll(t.record, []byte(placeholder), name), []byte(t.digest), []byte(digest))
		if f.Hostile {
			if stored, err = f.spoilRecord(stored); err != nil {
				return nil, d, err
			}
		}
		if err := json.Unmarshal(stored, &d); err != nil {
			return nil, d, err
		}
		writes = append(writes, store.Put(store.DocumentKey(h.Name, kind), stored))
		h.Fetches[kind] = fetch.Fetch{Kind: kind, URL: "https://" + h.Name + "/.well-known/ai", Outcome: fetch.OK, Status: 200, At: visited, MediaType: "application/json", Digest: digest}
	}
	return writes, d, nil
}

// spoilRecord puts a hostile text into each member whose value services choose.
func (f *filler) spoilRecord(record []byte) ([]byte, error) {
	var d document.Document
	if err := json.Unmarshal(record, &d); err != nil {
		return nil, err
	}
	text := hostileNames[f.random.IntN(len(hostileNames))]
	d.Service.Namespace, d.Service.Categories, d.Service.Languages, d.MediaType = text, []string{text}, []string{text}, text
	d.DataClasses = []document.DataClass{{Name: text}}
	if len(d.Operations) > 0 {
		d.Operations[0].Verb = text
	}
	return json.Marshal(d)
}

// turnWrites returns the writes for the history of a host's states: its first sight, for some a
// time of silence, and the standing of today.
func (f *filler) turnWrites(h *crawler.Host, docs []document.Document, start time.Time) ([]store.Write, error) {
	now := h.Judge(docs).Standing()
	list := []conformance.Turn{{Host: h.Name, At: start, Standing: now, Known: h.Added}}
	if age := h.Visited.Sub(start); f.random.IntN(5) == 0 && age > 48*time.Hour {
		silent := now
		silent.Reachable, silent.Answers = conformance.No, conformance.No
		at := start.Add(time.Hour + time.Duration(f.random.Int64N(int64(age/2))))
		list = append(list, conformance.Turn{Host: h.Name, At: at, Standing: silent, Before: &now},
			conformance.Turn{Host: h.Name, At: at.Add(time.Hour + time.Duration(f.random.Int64N(int64(age/3)))), Standing: now, Before: &silent})
	}
	var writes []store.Write
	for i := range list {
		list[i].By = "test"
		w, err := list[i].Write()
		if err != nil {
			return nil, err
		}
		writes = append(writes, w)
	}
	return writes, nil
}
