package census

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/protocol"
	"gazetteer/registry"
	"gazetteer/store"
)

// keyTime is how keys write a time.
const keyTime = "20060102T150405.000Z"

// hostRecords are the raw records of one host.
type hostRecords struct {
	host      store.Record
	documents []store.Record
	versions  []store.Record
	turns     []store.Record
	damaged   int
}

// batchHosts is how many hosts one worker reads at a time.
const batchHosts = 64

// maxHostRecords bounds the versions and turns of one host that are read: the newest count.
const maxHostRecords = 20_000

// A hostBatch holds records of hosts during the walk. One of several workers turns them into facts,
// and the batches are consumed in the order in which they were read.
type hostBatch struct {
	records []hostRecords
	facts   []*Facts
	damaged int
	err     error
	done    chan struct{}
}

// walker reads the facts of all hosts of a store.
type walker struct {
	store store.Store
	at    time.Time
	// compareSince is the time since which the changes of documents are compared.
	compareSince time.Time
	blocks       map[string]bool // hosts that are not in the census; true for those below them too
	optedOut     int             // of blocks, those by owners up to the date
	render       bool            // the lines of the files are made as well
	later        atomic.Int64    // hosts that were first recorded after the date
}

func newWalker(ctx context.Context, s store.Store, at time.Time) (*walker, error) {
	w := &walker{store: s, at: at, compareSince: at.Add(-changeWindow)}
	return w, w.readBlocks(ctx)
}

// walkHosts calls each with the facts of every host that was known at the date, in the order of
// [comesBefore], and returns how many records are damaged. Records are read in this goroutine's group,
// decoded by several, and counted by one, so memory does not grow with the store.
func (w *walker) walkHosts(ctx context.Context, each func(*Facts) error) (damaged int, err error) {
	group, ctx := errgroup.WithContext(ctx)
	workers := max(2, runtime.GOMAXPROCS(0))
	work, ordered := make(chan *hostBatch, workers), make(chan *hostBatch, 2*workers)
	group.Go(func() error {
		defer close(work)
		defer close(ordered)
		return w.readBatches(ctx, func(b *hostBatch) error {
			for _, to := range []chan<- *hostBatch{ordered, work} {
				select {
				case to <- b:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	})
	for range workers {
		group.Go(func() error {
			for b := range work {
				w.decodeBatch(ctx, b)
				close(b.done)
			}
			return nil
		})
	}
	group.Go(func() error {
		for b := range ordered {
			select {
			case <-b.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			if b.err != nil {
				return b.err
			}
			damaged += b.damaged
			for _, h := range b.facts {
				if err := each(h); err != nil {
					return err
				}
			}
		}
		return nil
	})
	err = group.Wait()
	return damaged, err
}

// A recordList reads the records of a prefix one after the other.
type recordList struct {
	next    func() (store.Record, error, bool)
	stop    func()
	prefix  string
	current store.Record
	damaged bool
	more    bool
}

func (w *walker) openList(ctx context.Context, prefix string) *recordList {
	l := &recordList{prefix: prefix}
	l.next, l.stop = iter.Pull2(w.store.List(ctx, prefix, ""))
	return l
}

// advance reads the next record.
func (l *recordList) advance() error {
	r, err, more := l.next()
	l.current, l.more, l.damaged = r, more, false
	if more && err != nil {
		if !store.Damaged(r, err) {
			return fmt.Errorf("read the records of %s: %w", strings.TrimSuffix(l.prefix, "/"), err)
		}
		l.damaged = true
	}
	return nil
}

// reversedHost returns the reversed host in the key of the current record.
func (l *recordList) reversedHost() string {
	name, _, _ := strings.Cut(l.current.Key[len(l.prefix):], "/")
	return name
}

// collectHost appends the records of a host whose records come next in the list.
func (l *recordList) collectHost(reversed string, into *[]store.Record, damaged *int) error {
	for l.more {
		name := l.reversedHost()
		if comesBefore(reversed, name) {
			return nil
		}
		switch {
		case name != reversed: // of a host without a record of its own
		case l.damaged:
			*damaged++
		default:
			*into = append(*into, l.current)
			if len(*into) > 2*maxHostRecords {
				*into = slices.Clone((*into)[maxHostRecords:])
			}
		}
		if err := l.advance(); err != nil {
			return err
		}
	}
	return nil
}

// comesBefore reports whether the records below one reversed host come before those below another.
// The records below "com.example" come after those below "com.example.www", because a slash comes after
// a dot and a hyphen; the records of the hosts themselves do not end in a slash.
func comesBefore(reversed, other string) bool { return reversed+"/" < other+"/" }

// readBatches merges the lists of hosts, documents, versions and turns. The hosts wait until their
// turn in the order of the others: com.example waits for com.example.www.
func (w *walker) readBatches(ctx context.Context, send func(*hostBatch) error) error {
	var lists [4]*recordList
	for i, prefix := range []string{store.HostPrefix, store.DocumentPrefix, store.VersionPrefix, store.TurnPrefix} {
		lists[i] = w.openList(ctx, prefix)
		defer lists[i].stop()
		if err := lists[i].advance(); err != nil {
			return err
		}
	}
	type namedHost struct {
		reversed string
		record   store.Record
	}
	hosts, below := lists[0], lists[1:]
	var waiting []namedHost
	b := &hostBatch{done: make(chan struct{})}
	addHost := func(h namedHost) error {
		r := hostRecords{host: h.record}
		for i, into := range []*[]store.Record{&r.documents, &r.versions, &r.turns} {
			if err := below[i].collectHost(h.reversed, into, &r.damaged); err != nil {
				return err
			}
		}
		b.records = append(b.records, r)
		if len(b.records) < batchHosts {
			return nil
		}
		full := b
		b = &hostBatch{done: make(chan struct{})}
		return send(full)
	}
	for hosts.more {
		if hosts.damaged {
			b.damaged++
		} else {
			next := namedHost{hosts.reversedHost(), hosts.current}
			for n := len(waiting) - 1; n >= 0 && comesBefore(waiting[n].reversed, next.reversed); n-- {
				if err := addHost(waiting[n]); err != nil {
					return err
				}
				waiting = waiting[:n]
			}
			waiting = append(waiting, next)
		}
		if err := hosts.advance(); err != nil {
			return err
		}
	}
	for _, h := range slices.Backward(waiting) {
		if err := addHost(h); err != nil {
			return err
		}
	}
	return send(b)
}

func (w *walker) decodeBatch(ctx context.Context, b *hostBatch) {
	for i := range b.records {
		r := &b.records[i]
		facts, damaged, err := w.readFacts(ctx, r)
		if err != nil {
			b.err = err
			return
		}
		b.damaged += damaged + r.damaged
		if facts != nil {
			b.facts = append(b.facts, facts)
		}
	}
	b.records = nil
}

// readFacts turns the records of a host into its facts at the date; nil for a host that was not
// known then.
func (w *walker) readFacts(ctx context.Context, r *hostRecords) (facts *Facts, damaged int, err error) {
	var record hostRecord
	if decodeRecord(r.host.Value, &record) != nil || record.Name == "" {
		return nil, 1, nil
	}
	if w.isBlocked(record.Name) {
		return nil, 0, nil
	}
	h := &Facts{Host: record.Name, Added: record.Added, Judged: FromVisit}
	for _, t := range r.turns {
		var turn turnRecord
		if decodeRecord(t.Value, &turn) != nil {
			damaged++
			continue
		}
		h.Turns = appendTurn(h.Turns, turn)
	}
	h.Turns = slices.DeleteFunc(h.Turns, func(t Turn) bool { return t.At.After(w.at) })
	damaged += w.readVersions(r, h)
	if h.Added.After(w.at) {
		// A clock that went back: what was recorded before the host was added counts.
		if len(h.Turns) == 0 && len(h.Versions) == 0 {
			w.later.Add(1)
			return nil, damaged, nil
		}
		if len(h.Turns) > 0 {
			h.Added = h.Turns[0].At
		} else {
			h.Added = h.Versions[0].Seen
		}
	}
	bad, err := w.readDocuments(ctx, r, h)
	if err != nil {
		return nil, 0, err
	}
	damaged += bad
	countOperations(h.Documents)
	if !record.Visited.After(w.at) {
		h.Visited = record.Visited
		h.Robots, h.Fetches = record.robotsState(), record.listFetches()
		if record.TLS != nil {
			h.TLS = record.TLS.Version
		}
		h.Standing = judgeHost(h.Fetches, h.Documents)
	} else if s, ok := standingAt(h.Turns, w.at); ok {
		h.Judged, h.Standing = FromHistory, s
		h.Visited = h.Turns[len(h.Turns)-1].At
	} else {
		h.Judged, h.Standing = FromNothing, conformance.Standing{Class: classUnknown}
	}
	w.addSpans(h)
	w.compareVersions(ctx, h)
	if w.render {
		if h.lines, err = renderLines(h); err != nil {
			return nil, 0, err
		}
	}
	h.all = h.collectFeatures()
	return h, damaged, nil
}

// readVersions reads the versions up to the date.
func (w *walker) readVersions(r *hostRecords, h *Facts) (damaged int) {
	kind := ""
	for _, v := range r.versions {
		parts := strings.Split(v.Key, "/") // ver/{rev}/{kind}/{time}-{digest}
		if len(parts) != 4 {
			damaged++
			continue
		}
		seen, digest, _ := strings.Cut(parts[3], "-")
		at, parseErr := time.Parse(keyTime, seen)
		var record versionRecord
		if parseErr != nil || decodeRecord(v.Value, &record) != nil {
			damaged++
			continue
		}
		if at.After(w.at) {
			continue
		}
		h.Versions = append(h.Versions, Version{Kind: parts[2], Seen: at, Digest: digest, Bytes: record.Size, Level: record.Level, First: parts[2] != kind, url: record.URL})
		kind = parts[2]
	}
	return damaged
}

// readDocuments finds the documents that the host published at the date: the current ones, or their
// versions of then.
func (w *walker) readDocuments(ctx context.Context, r *hostRecords, h *Facts) (damaged int, err error) {
	for _, current := range r.documents {
		var record documentRecord
		if decodeRecord(current.Value, &record) != nil {
			damaged++
			continue
		}
		last := h.lastVersion(record.Kind)
		if last == nil && record.FetchedAt.After(w.at) {
			continue // published after the date
		}
		if last == nil || last.Digest == record.Digest {
			body, err := w.readBlob(ctx, record.Digest)
			if err != nil {
				return 0, err
			}
			h.Documents = append(h.Documents, newDocument(&record, protocol.Tokens(string(body))))
			continue
		}
		body, err := w.readBlob(ctx, last.Digest)
		if err != nil {
			return 0, err
		}
		// An error means that the bytes are gone or of a format that is no longer read.
		d, err := document.Read(document.Input{Kind: document.Kind(record.Kind), Host: h.Host, URL: last.url, MediaType: record.MediaType, FetchedAt: last.Seen, Bytes: body})
		if body == nil || err != nil {
			damaged++
			continue
		}
		then, err := newDocumentOf(d, protocol.Tokens(string(body)))
		if err != nil {
			return 0, err
		}
		h.Documents = append(h.Documents, then)
	}
	return damaged, nil
}

// lastVersion returns the newest version of a format.
func (h *Facts) lastVersion(kind string) *Version {
	for i := range slices.Backward(h.Versions) {
		if h.Versions[i].Kind == kind {
			return &h.Versions[i]
		}
	}
	return nil
}

// readBlob returns stored bytes, nil where they are gone or damaged.
func (w *walker) readBlob(ctx context.Context, digest string) ([]byte, error) {
	r, err := w.store.Get(ctx, store.BlobKey(digest))
	switch {
	case err == nil:
		return r.Value, nil
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrCorrupt), errors.Is(err, store.ErrInvalid):
		return nil, nil
	}
	return nil, fmt.Errorf("read a document: %w", err)
}

// addSpans sets the times in which the host published each format.
func (w *walker) addSpans(h *Facts) {
	current := make([]string, len(h.Documents))
	for i, d := range h.Documents {
		current[i] = d.Kind
	}
	h.Spans = spansOf(h.Versions, current, h.Turns)
	for _, d := range h.Documents { // of which no version is stored
		if !slices.ContainsFunc(h.Spans, func(s Span) bool { return s.Kind == d.Kind }) {
			h.Spans = append(h.Spans, Span{Kind: d.Kind, From: d.Fetched})
		}
	}
}

// spansOf returns the times in which a host published each format. A format that it no longer
// publishes ended when the history says that the host no longer published anything, and else when
// its last version was first seen.
func spansOf(versions []Version, current []string, turns []Turn) []Span {
	var spans []Span
	for i, v := range versions {
		if v.First {
			spans = append(spans, Span{Kind: v.Kind, From: v.Seen})
		}
		if i+1 < len(versions) && versions[i+1].Kind == v.Kind || slices.Contains(current, v.Kind) {
			continue
		}
		s := &spans[len(spans)-1]
		s.Until = v.Seen
		for _, t := range turns {
			if t.At.After(v.Seen) && t.Standing.Class != conformance.Publishes {
				s.Until = t.At
				break
			}
		}
	}
	return spans
}

// walkAgents calls each with every registered agent, and returns how many records are damaged.
func (w *walker) walkAgents(ctx context.Context, each func(*registry.Agent)) (damaged int, err error) {
	for r, err := range w.store.List(ctx, store.AgentPrefix, "") {
		if err != nil && !store.Damaged(r, err) {
			return damaged, fmt.Errorf("read the agents: %w", err)
		}
		if strings.Count(r.Key, "/") != 1 {
			continue // an entry of a history
		}
		var a registry.Agent
		if err != nil || r.Decode(&a) != nil {
			damaged++
			continue
		}
		each(&a)
	}
	return damaged, nil
}

// readBlocks reads which hosts are not in the census: a host whose owner opted out does not appear,
// not even for the time before.
func (w *walker) readBlocks(ctx context.Context) error {
	w.blocks = map[string]bool{}
	for r, err := range w.store.List(ctx, store.BlockPrefix, "") {
		if err != nil && !store.Damaged(r, err) {
			return fmt.Errorf("read the hosts that are not visited: %w", err)
		}
		var block blockRecord
		// A damaged reason does not lift the block.
		if err == nil && decodeRecord(r.Value, &block) == nil && block.By == "owner" && !block.Since.After(w.at) {
			w.optedOut++
		}
		w.blocks[store.SplitKey(r.Key)[1]] = block.Subdomains
	}
	return nil
}

// isBlocked reports whether a host or one above it is not in the census.
func (w *walker) isBlocked(host string) bool {
	if _, blocked := w.blocks[host]; blocked {
		return true
	}
	for rest, more := host, true; more; {
		if _, rest, more = strings.Cut(rest, "."); w.blocks[rest] {
			return true
		}
	}
	return false
}
