package crawler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/psl"
	"gazetteer/protocol"
	"gazetteer/store"
)

// A Version is the record of one stored version of a document: the time when these bytes were first
// seen.
type Version struct {
	Kind   document.Kind `json:"kind"`
	Digest string        `json:"digest"`
	Seen   time.Time     `json:"seen"`
	Size   int           `json:"size"`
	URL    string        `json:"url"`
	// Level and Findings describe the document when it was first seen; document.Document has
	// today's.
	Level    int                `json:"level,omitempty"`
	Findings []protocol.Finding `json:"findings,omitempty"`
}

const (
	batchVisits = 500
	batchLinger = 250 * time.Millisecond
	firstLinger = 4 * time.Millisecond
	batchBytes  = 16 << 20 // of documents
	batchFound  = 5_000    // links, each of which may be two writes, and crawl logs

	maxDepth   = 3   // links from a seed that are followed
	maxDomains = 16  // registrable domains that one document may add
	maxReached = 256 // hosts that one visit may add or whose depth it may lower
)

// commitAll commits visits in batches until the channel is closed, and passes on each committed
// batch. Waiting for disk space ends when stopping does; visits that are not committed then stay
// due.
func (c *Crawler) commitAll(ctx context.Context, stopping <-chan struct{}, visits <-chan *visit, done chan<- []*visit) error {
	defer close(done)
	// The first batches are small, so that a process that is killed repeatedly soon after its start
	// still makes progress.
	linger := firstLinger
	for first := range visits {
		batch := gatherVisits(first, visits, linger)
		linger = min(2*linger, batchLinger)
		if err := c.commitBatch(ctx, stopping, batch); err != nil {
			if errors.Is(err, store.ErrFull) {
				c.log.Warn("visits were not stored for want of disk space; their hosts stay due", "visits", len(batch))
				continue
			}
			return fmt.Errorf("commit %d visits: %w", len(batch), err)
		}
		done <- batch
	}
	return nil
}

// gatherVisits collects the visits that are committed together.
func gatherVisits(first *visit, visits <-chan *visit, linger time.Duration) []*visit {
	batch := []*visit{first}
	bytes, links := first.countWeight()
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for len(batch) < batchVisits && bytes < batchBytes && links < batchFound {
		select {
		case v, open := <-visits:
			if !open {
				return batch
			}
			b, l := v.countWeight()
			batch, bytes, links = append(batch, v), bytes+b, links+l
		case <-timer.C:
			return batch
		}
	}
	return batch
}

func (v *visit) countWeight() (bytes, links int) {
	for kind := range v.put {
		bytes += v.docs[kind].Size
		links += min(len(v.docs[kind].Links), fetch.MaxLinks)
	}
	links += len(v.crawlLog)
	return bytes, links
}

// commitBatch writes the visits in one Apply. If another writer changed a record first, or a record
// cannot be written at all, the visits are written one by one, so that only the visit concerned is
// affected.
func (c *Crawler) commitBatch(ctx context.Context, stopping <-chan struct{}, visits []*visit) error {
	visits = slices.DeleteFunc(slices.Clone(visits), func(v *visit) bool { return v.err != nil || !v.later.IsZero() && len(v.crawlLog) == 0 })
	if len(visits) == 0 {
		return nil
	}
	err := c.applyPatiently(ctx, stopping, visits)
	if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrInvalid) {
		return err
	}
	for _, v := range visits {
		if err := c.commitOne(ctx, stopping, v); err != nil {
			return err
		}
	}
	return nil
}

// commitOne writes one visit on top of what others wrote in the meantime.
func (c *Crawler) commitOne(ctx context.Context, stopping <-chan struct{}, v *visit) error {
	var err error
	for range 8 {
		if v.interrupted {
			return c.applyPatiently(ctx, stopping, []*visit{v})
		}
		if err = c.rebaseVisit(ctx, v); isFatal(err) {
			return err
		}
		if err != nil { // its record is gone or damaged and cannot be updated
			v.err = err
			return nil
		}
		err = c.applyPatiently(ctx, stopping, []*visit{v})
		switch {
		case errors.Is(err, store.ErrInvalid) && len(v.put) > 0:
			// Keep the rest of the result, so that the host is not requested again at once.
			c.log.Error("a document cannot be stored", "host", v.host.Name, "error", err)
			v.dropDocuments()
		case errors.Is(err, store.ErrInvalid):
			v.err = fmt.Errorf("store the result: %w", err) // the others continue
			return nil
		case !errors.Is(err, store.ErrConflict):
			return err
		}
	}
	return err
}

// rebaseVisit applies a visit to the current record. Apart from visits, three things write host
// records: [Crawler.Add] and a shorter link path, which lower the depth, and [Crawler.Recrawl],
// whose request came too late for this visit.
func (c *Crawler) rebaseVisit(ctx context.Context, v *visit) error {
	now, seq, err := c.readHost(ctx, v.host.Name)
	if err != nil {
		return err
	}
	v.seq, v.track = seq, now.Track
	if now.Depth < v.host.Depth {
		v.host.Depth, v.host.FoundOn = now.Depth, now.FoundOn
	}
	if now.Wished.After(v.host.Wished) {
		by := Anybody
		if now.ByOwner {
			by = Operator // the owner's request has the same effect
		}
		v.host.grantRevisit(now.Wished, by)
		v.host.OwnerProved = now.OwnerProved
		v.result.NextDue = v.host.Due
	}
	return nil
}

// dropDocuments reduces a visit to the part that can always be stored.
func (v *visit) dropDocuments() {
	for kind := range v.put {
		delete(v.docs, kind)
		f := v.host.Fetches[string(kind)]
		f.Outcome, f.Detail, f.Digest, f.ETag, f.LastModified = fetch.Unreadable, "the document cannot be stored", "", "", ""
		v.host.Fetches[string(kind)] = f
	}
	clear(v.put)
	clear(v.fresh)
}

// applyPatiently waits for disk space, unless the crawler stops.
func (c *Crawler) applyPatiently(ctx context.Context, stopping <-chan struct{}, visits []*visit) error {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := c.applyVisits(ctx, visits)
		if !errors.Is(err, store.ErrFull) {
			c.setPaused("")
			return err
		}
		c.log.Warn("crawling pauses: the disk is full", "retry_in", pause, "error", err)
		c.setPaused(err.Error())
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-stopping:
			timer.Stop()
			return err
		}
	}
}

func (c *Crawler) applyVisits(ctx context.Context, visits []*visit) error {
	c.blobbing.RLock()
	defer c.blobbing.RUnlock()
	writes, err := c.newBatch().buildWrites(ctx, visits)
	if err != nil {
		return err
	}
	_, err = c.store.Apply(ctx, writes...)
	return err
}

// A batch collects the writes of one Apply.
type batch struct {
	c       *Crawler
	now     time.Time
	hosts   map[string]*hostWrite   // the records to be written, by host
	domains map[string]*domainWrite // by registrable domain
	blobs   map[string]bool         // digests written already
	swept   map[string]bool         // keys of crawl logs deleted already
	writes  []store.Write
}

func (c *Crawler) newBatch() *batch {
	return &batch{
		c: c, now: c.now(), hosts: map[string]*hostWrite{}, domains: map[string]*domainWrite{},
		blobs: map[string]bool{}, swept: map[string]bool{},
	}
}

// A hostWrite is a host record to be written; seq is the sequence it is based on.
type hostWrite struct {
	host  *Host
	seq   uint64
	visit *visit // nil for a host that a link or a caller named
}

func (b *batch) buildWrites(ctx context.Context, visits []*visit) ([]store.Write, error) {
	for _, v := range visits {
		v.result.New = nil
		if v.interrupted {
			continue
		}
		b.hosts[v.host.Name] = &hostWrite{host: &v.host, seq: v.seq, visit: v}
	}
	for _, v := range visits {
		if err := b.crawlLogWrites(ctx, v); err != nil {
			return nil, err
		}
		if v.interrupted {
			continue
		}
		if err := b.writeDocuments(ctx, v); err != nil {
			return nil, err
		}
		if err := b.writeTurn(v); err != nil {
			return nil, err
		}
		left := maxReached
		if err := b.followLinks(ctx, b.hosts[v.host.Name], v, &left); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.hosts)) {
		w := b.hosts[name]
		text, err := json.Marshal(w.host)
		if err != nil {
			return nil, fmt.Errorf("write the record of %s: %w", name, err)
		}
		b.writes = append(b.writes, store.PutIf(store.HostKey(name), text, w.seq))
	}
	for _, name := range slices.Sorted(maps.Keys(b.domains)) {
		w := b.domains[name]
		text, err := json.Marshal(w.domain)
		if err != nil {
			return nil, fmt.Errorf("write the record of the domain %s: %w", name, err)
		}
		b.writes = append(b.writes, store.PutIf(store.DomainKey(name), text, w.seq))
	}
	return b.writes, nil
}

// writeDocuments adds the writes for a visit's documents, their versions and their bytes.
func (b *batch) writeDocuments(ctx context.Context, v *visit) error {
	host := v.host.Name
	for kind := range v.drop {
		b.writes = append(b.writes, store.Delete(store.DocumentKey(host, string(kind))))
	}
	for kind := range v.put {
		d := v.docs[kind]
		text, err := json.Marshal(d)
		if err != nil {
			return fmt.Errorf("write the document %s of %s: %w", kind, host, err)
		}
		b.writes = append(b.writes, store.Put(store.DocumentKey(host, string(kind)), text))
		body, changed := v.fresh[kind]
		if !changed {
			continue
		}
		version, err := json.Marshal(Version{Kind: kind, Digest: d.Digest, Seen: d.FetchedAt, Size: d.Size, URL: d.URL, Level: d.Level, Findings: limitFindings(d.Findings)})
		if err != nil {
			return fmt.Errorf("write the version of %s of %s: %w", kind, host, err)
		}
		b.writes = append(b.writes, store.Put(store.VersionKey(host, string(kind), d.FetchedAt, d.Digest), version))
		if err := b.writeBlob(ctx, d.Digest, body); err != nil {
			return err
		}
	}
	return nil
}

// writeTurn brings the track of a visited host up to date, and adds the write for its turn if its
// standing has changed. It may be called again for the same visit.
func (b *batch) writeTurn(v *visit) error {
	docs := make([]document.Document, 0, len(v.docs))
	for _, kind := range document.Kinds() {
		if d := v.docs[kind]; d != nil {
			docs = append(docs, *d)
		}
	}
	track, turn := conformance.Advance(v.track, conformance.Measurement{
		Host: v.host.Name, At: v.host.Visited, By: b.c.userAgent, Judgment: v.host.Judge(docs),
		Known: v.host.Added, Visits: v.host.Visits - 1,
	})
	v.host.Track = &track
	if turn == nil {
		return nil
	}
	w, err := turn.Write()
	if err != nil {
		return err
	}
	b.writes = append(b.writes, w)
	return nil
}

// writeBlob adds raw bytes unless they are already stored.
func (b *batch) writeBlob(ctx context.Context, digest string, body []byte) error {
	if b.blobs[digest] {
		return nil
	}
	b.blobs[digest] = true
	_, err := b.c.store.Get(ctx, store.BlobKey(digest))
	switch {
	case errors.Is(err, store.ErrNotFound):
		b.writes = append(b.writes, store.PutIf(store.BlobKey(digest), body, 0))
		return nil
	case errors.Is(err, store.ErrCorrupt): // the true bytes are available here
		b.writes = append(b.writes, store.Put(store.BlobKey(digest), body))
		return nil
	}
	return err
}

// followLinks adds the hosts that the documents of w link to, one link further from a seed than w.
// A known host that is now closer to a seed gets the smaller depth, and so do the hosts that its
// own documents link to: the set of hosts reached does not depend on the order of visits. v is the
// visit that found the links.
func (b *batch) followLinks(ctx context.Context, w *hostWrite, v *visit, left *int) error {
	if w.host.Depth >= maxDepth {
		return nil
	}
	docs, err := b.documentsOf(ctx, w)
	if err != nil {
		return err
	}
	for _, d := range docs {
		added := map[string]bool{}
		for _, name := range relatedHosts(d) {
			if *left == 0 {
				return nil
			}
			*left--
			known, err := b.lookupHost(ctx, name)
			if err != nil {
				return err
			}
			if known == nil {
				domain := psl.Domain(name)
				if added[domain] = true; len(added) > maxDomains {
					delete(added, domain)
					continue
				}
				if ok, err := b.hasRoomFor(ctx, name, w.host.Name); err != nil {
					return err
				} else if !ok {
					continue
				}
				known = &hostWrite{host: &Host{Name: name, Due: b.now, Depth: maxDepth + 1, Added: b.now}}
				v.result.New = append(v.result.New, name)
			}
			if known.host.Depth <= w.host.Depth+1 {
				continue
			}
			known.host.Depth, known.host.FoundOn = w.host.Depth+1, w.host.Name
			b.hosts[name] = known
			if err := b.followLinks(ctx, known, v, left); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasRoomFor reports whether an unknown host that a document names may be added.
func (b *batch) hasRoomFor(ctx context.Context, name, from string) (bool, error) {
	if why, err := b.c.blockReason(ctx, name); why != "" || err != nil {
		return false, err
	}
	return b.admitHost(ctx, name, from)
}

// documentsOf returns the current documents of a host whose links are followed.
func (b *batch) documentsOf(ctx context.Context, w *hostWrite) ([]*document.Document, error) {
	var docs []*document.Document
	for _, kind := range document.AuthoritativeKinds() {
		if w.visit != nil {
			if d := w.visit.docs[kind]; d != nil {
				docs = append(docs, d)
			}
			continue
		}
		if w.host.Fetches[string(kind)].Digest == "" {
			continue
		}
		d, err := b.c.readDocument(ctx, w.host.Name, string(kind))
		switch {
		case err == nil:
			docs = append(docs, d)
		case isFatal(err):
			return nil, err
		}
		// A document that cannot be read now is followed when it is fetched again.
	}
	return docs, nil
}

// lookupHost returns the record of a host as this batch will leave it, or nil for an unknown host.
func (b *batch) lookupHost(ctx context.Context, name string) (*hostWrite, error) {
	if w := b.hosts[name]; w != nil {
		return w, nil
	}
	h, seq, err := b.c.readHost(ctx, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case isFatal(err):
		return nil, err
	case err != nil: // known, and not nearer: left unchanged
		b.c.log.Error("a host that a document names cannot be read", "host", name, "error", err)
		return &hostWrite{host: &Host{Name: name}}, nil
	}
	return &hostWrite{host: &h, seq: seq}, nil
}

// relatedHosts returns the hosts, other than its own, that a document names as
// related services.
func relatedHosts(d *document.Document) []string {
	var names []string
	for _, l := range d.Links[:min(len(d.Links), fetch.MaxLinks)] {
		if l.Rel != document.RelRelated {
			continue
		}
		// The address alone decides, by the one rule for host names.
		name, err := fetch.CheckHost(l.URL)
		if err == nil && name != d.Host && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// readHost reads the record of a host.
func (c *Crawler) readHost(ctx context.Context, name string) (Host, uint64, error) {
	var h Host
	r, err := c.store.Get(ctx, store.HostKey(name))
	if err == nil {
		err = json.Unmarshal(r.Value, &h)
	}
	if err != nil {
		return h, 0, fmt.Errorf("read the record of %s: %w", name, err)
	}
	return h, r.Seq, nil
}

// readDocument reads a current document.
func (c *Crawler) readDocument(ctx context.Context, host, kind string) (*document.Document, error) {
	d := new(document.Document)
	r, err := c.store.Get(ctx, store.DocumentKey(host, kind))
	if err == nil {
		err = json.Unmarshal(r.Value, d)
	}
	if err != nil {
		return nil, fmt.Errorf("read the document %s of %s: %w", kind, host, err)
	}
	return d, nil
}

// isFatal reports that this process can no longer use the store.
func isFatal(err error) bool {
	return errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrUnknown)
}
