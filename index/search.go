package index

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"gazetteer/index/query"
	"gazetteer/index/tokens"
	"gazetteer/protocol"
)

// Search answers a query. The error is a *[query.Error] when the query cannot be answered as asked,
// [ErrUnavailable] while the index cannot be read, [ErrClosed], or the context's.
//
// With words, hits are ordered by score and a service shows at most three operations, unless Hosts
// is set; without, they are ordered by host, kind and place in the document, and all are shown. A
// hit whose document has changed since it was indexed is left out, so a page can be shorter than
// asked for while the index is behind.
func (x *Index) Search(ctx context.Context, q query.Query) (Result, error) {
	q, err := q.Canonical()
	if err != nil {
		return Result{}, err
	}
	request := query.ParseRequest(x.analyzer, q.Text())
	if len(request.Words) == 0 && !q.Filtered() {
		return x.emptyResult(q), nil
	}
	var result Result
	err = x.withSnapshot(func(v *view, seq uint64) (err error) {
		s := &searcher{index: x, view: v, query: q, request: request, maxCounts: maxCounts}
		result, err = s.search(ctx)
		result.Seq = seq
		return err
	})
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// emptyResult is the answer to a query whose words leave nothing to look for.
func (x *Index) emptyResult(q query.Query) Result {
	result := Result{Hits: []Hit{}, Seq: x.Cursor().Seq, Note: "every word of the query is too common to search for"}
	if strings.IndexFunc(q.Text(), func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0 {
		result.Note = "the query has no words, only signs"
	}
	if len(q.Facets) > 0 {
		result.Facets = noCounts(q.Facets)
	}
	return result
}

// withSnapshot calls f with the present view of the index, which has all writes up to the sequence
// it is given. Run is told of damage that f meets, and rebuilds the index.
func (x *Index) withSnapshot(f func(v *view, seq uint64) error) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.directory == nil {
		x.cursorMu.Lock()
		defer x.cursorMu.Unlock()
		if x.closed {
			return ErrClosed
		}
		return ErrUnavailable
	}
	err := recoverDamage(func() error {
		seq := x.Cursor().Seq // before the snapshot, which is then at least as new
		snapshot, v, err := x.directory.openSnapshot()
		if err != nil {
			return err
		}
		defer snapshot.Close() // only releases
		if err := v.prepareView(); err != nil {
			return err
		}
		return f(v, seq)
	})
	var damage *damageError
	if !errors.As(err, &damage) {
		return err
	}
	select {
	case x.damages <- damage:
	default: // Run has not yet read an earlier report
	}
	return fmt.Errorf("%w: %s", ErrUnavailable, damage.what)
}

// A searcher answers one query on one view of the index. It belongs to one goroutine.
type searcher struct {
	index   *Index
	view    *view
	query   query.Query
	request query.Request
	// maxCounts is how many values of each facet are named.
	maxCounts int

	embedding *queryEmbedding
}

// A matchSet is what matches a query, before any of it is ordered.
type matchSet struct {
	masks   []bitset    // the operations that filters let through, for each segment
	words   *wordScores // nil when no words were asked for
	release func()      // must be called when the scores are no longer needed
}

// appendOperations appends the operations of a segment that match, in order.
func (f *matchSet) appendOperations(segment int, to []uint32) []uint32 {
	for at, mask := range f.masks[segment] {
		if f.words != nil {
			mask &= f.words.matched[segment][at]
		}
		for ; mask != 0; mask &= mask - 1 {
			to = append(to, uint32(at*64+bits.TrailingZeros64(mask)))
		}
	}
	return to
}

// A page is one page of entries in order, and what is known of all that match.
type page struct {
	entries    []rankedEntry
	total      int
	more       bool // a later page has entries
	note       string
	correction *Correction
	leftOut    []LeftOut
	facets     map[string][]Count
	services   []ServiceHit
	classes    []ClassHit
}

// search finds the page that is asked for and reads the texts of its hits.
func (s *searcher) search(ctx context.Context) (Result, error) {
	p, err := s.findPage(ctx)
	if err != nil {
		return Result{}, err
	}
	result := Result{Total: p.total, More: p.more, Note: p.note, Correction: p.correction, LeftOut: p.leftOut, Facets: p.facets, Services: p.services, Classes: p.classes}
	if result.Hits, err = s.readHits(ctx, p.entries); err != nil {
		return Result{}, err
	}
	switch {
	case result.Note != "" || p.total == 0 || len(s.request.Words) == 0:
	case len(result.Hits) == 0 && s.query.MinFit > 0:
		result.Note = "nothing here fits the request as well as was asked for"
	case !slices.ContainsFunc(result.Hits[:min(nearest, len(result.Hits))], func(h Hit) bool { return !h.Far }):
		result.Note = "nothing here is near the request; these operations are far from it"
	}
	if p.total == 0 {
		result.Near, err = s.proposeVerbs()
	}
	return result, err
}

// nearest is how many of the first hits must be far for the answer to say so.
const nearest = 3

// findPage finds what answers the query, and returns the page of it that is asked for.
func (s *searcher) findPage(ctx context.Context) (page, error) {
	v, q := s.view, s.query
	correction, err := s.correctSpelling()
	if err != nil {
		return page{}, err
	}
	masks, err := s.allowedOperations()
	if err != nil {
		return page{}, err
	}
	masks, leftOut, err := s.applyProhibitions(masks)
	if err != nil {
		return page{}, err
	}
	if err := s.weighNames(); err != nil {
		return page{}, err
	}
	s.embedding = v.dir.embedQuery(s.request.Words)
	if len(q.Phrases) == 0 { // phrases would take operations out of the masks
		defer s.embedding.startNearest(v, masks)()
	}
	found, err := v.matchWords(ctx, s.request.Words, masks)
	if err != nil {
		return page{}, err
	}
	defer found.release()
	p := page{correction: correction, leftOut: leftOut}
	if len(q.Phrases) > 0 {
		if p.note, err = s.applyPhrases(ctx, found); err != nil {
			return page{}, err
		}
		defer s.embedding.startNearest(v, masks)()
	}
	awaitCounts := func() error { return nil }
	var counts facetCounts
	if len(q.Facets) > 0 {
		awaitCounts = startConcurrent(func() (err error) {
			counts, err = v.countFacets(found, q.Facets)
			return err
		})
		defer awaitCounts() // before found is released
	}
	if found.words == nil {
		p.entries, p.total = v.listInOrder(found.masks, q.Offset, q.Offset+q.Limit)
		p.more = q.Offset+q.Limit < p.total
	} else if err := s.rankPage(ctx, found, &p); err != nil {
		return page{}, err
	}
	if err := awaitCounts(); err != nil {
		return page{}, err
	}
	if counts != nil {
		if found.words != nil {
			counts.addEntries(v, found.words.byEmbedding)
		}
		p.facets = counts.mostFrequent(s.maxCounts)
	}
	return p, nil
}

// weighNames lets the names of a request count for less than what is asked for, unless a service is
// called by them.
func (s *searcher) weighNames() error {
	for i := range s.request.Words {
		w := &s.request.Words[i]
		if !w.Name {
			continue
		}
		ofService := false
		for _, t := range w.Terms {
			found, err := s.view.findPostings(t.Stem)
			if err != nil {
				return err
			}
			ofService = ofService || slices.ContainsFunc(found, func(p *termPostings) bool { return len(p.services) > 0 })
		}
		if !ofService {
			w.Weight *= query.NameWeight
		}
	}
	return nil
}

// allowedOperations returns for each segment the operations that filters and unwanted words let
// through.
func (s *searcher) allowedOperations() ([]bitset, error) {
	v := s.view
	masks, err := v.applyFilters(s.query)
	if err != nil {
		return nil, err
	}
	for _, unwanted := range s.query.Without {
		for _, t := range tokens.Tokenize(s.index.analyzer, tokens.PrepareText(unwanted)) {
			found, err := v.findPostings(t.Stem)
			if err != nil {
				return nil, err
			}
			for i, p := range found {
				for _, at := range p.all {
					v.segments[i].eachOperation(at.number, masks[i].remove)
				}
			}
		}
	}
	return masks, nil
}

// matchWords finds what matches words among the operations in masks.
func (v *view) matchWords(ctx context.Context, words []query.Word, masks []bitset) (*matchSet, error) {
	f := &matchSet{masks: masks, release: func() {}}
	if len(words) == 0 {
		return f, nil
	}
	f.words, f.release = v.dir.newWordScores(v)
	if err := v.scoreWords(ctx, query.WeighStems(words), f.words); err != nil {
		f.release()
		return nil, err
	}
	return f, nil
}

// yieldTurn ends a search whose client has left, and lets other goroutines run first: without it a
// long search keeps a processor for ten milliseconds at a time, in which a usual one would be done.
func yieldTurn(ctx context.Context) error {
	runtime.Gosched()
	return ctx.Err()
}

// turnTime is about how long a search goes on before it yields. To yield for each hit would cost
// more than to show it: an idle processor is woken to look for work.
const turnTime = 100 * time.Microsecond

// rankPage orders what was found for words, and sets the entries of the page. The first page gets
// the services and data classes that match, too.
func (s *searcher) rankPage(ctx context.Context, found *matchSet, p *page) (err error) {
	q := s.query
	if q.Offset == 0 {
		if p.services, p.classes, err = s.findServicesAndClasses(ctx, found); err != nil {
			return err
		}
	}
	p.entries, p.more, p.total, err = s.rankFound(found, q.Offset+q.Limit)
	if err != nil {
		return err
	}
	if err := s.shareBetweenClauses(ctx, found.masks, p); err != nil {
		return err
	}
	p.entries = p.entries[min(q.Offset, len(p.entries)):]
	return nil
}

// rankFound returns the first entries of what was found, in order.
func (s *searcher) rankFound(found *matchSet, limit int) (entries []rankedEntry, more bool, total int, err error) {
	opposed, err := s.findOpposedVerbs()
	if err != nil {
		return nil, false, 0, err
	}
	effects, err := s.view.effects()
	if err != nil {
		return nil, false, 0, err
	}
	verbs, verbFactors, err := s.verbFactors()
	if err != nil {
		return nil, false, 0, err
	}
	mentions, err := s.objectMentions()
	if err != nil {
		return nil, false, 0, err
	}
	return s.view.rankOperations(ranking{
		mentions:    mentions,
		verbs:       verbs,
		verbFactors: verbFactors,
		words:       found.words,
		query:       s.embedding,
		opposed:     opposed,
		masks:       found.masks,
		effects:     effects,
		act:         s.request.Act,
		limit:       limit,
		grouped:     len(s.query.Hosts) == 0,
	})
}

// shareBetweenClauses gives each clause of a request for several things its share of the places: the
// best operation for each, then the second best for each, and so on. What none of them finds keeps
// its order behind them.
func (s *searcher) shareBetweenClauses(ctx context.Context, masks []bitset, p *page) error {
	clauses := s.request.Clauses()
	if len(clauses) < 2 || len(clauses) > maxClauses {
		return nil
	}
	limit := s.query.Offset + s.query.Limit
	var lists [][]rankedEntry
	for _, c := range clauses {
		one := *s
		one.request = c
		one.embedding = s.view.dir.embedQuery(c.Words)
		stop := one.embedding.startNearest(s.view, masks)
		found, err := s.view.matchWords(ctx, c.Words, masks)
		if err != nil {
			stop()
			return err
		}
		entries, _, _, err := one.rankFound(found, limit)
		stop()
		found.release()
		if err != nil {
			return err
		}
		lists = append(lists, entries)
	}
	p.entries = s.view.mergeLists(append(lists, p.entries), len(clauses), limit, len(s.query.Hosts) == 0)
	return nil
}

// clausePlaces is how many places each clause is sure of.
const clausePlaces = 2

// mergeLists takes entries from the first n lists in turn, then from the others, each entry once and
// of each service at most perService when they are grouped. The score of an entry is at most that of
// the one before it.
func (v *view) mergeLists(lists [][]rankedEntry, n, limit int, grouped bool) []rankedEntry {
	merged := make([]rankedEntry, 0, limit)
	seen, hosts := make(map[entryRef]bool), make(map[string]int)
	add := func(r rankedEntry) {
		host := v.runOf(r.entryRef).host
		if len(merged) == limit || seen[r.entryRef] || grouped && hosts[host] == perService {
			return
		}
		seen[r.entryRef] = true
		hosts[host]++
		if len(merged) > 0 {
			r.score = min(r.score, merged[len(merged)-1].score)
		}
		merged = append(merged, r)
	}
	whole := lists[n]
	if len(whole) > 0 {
		add(whole[0])
	}
	for i := range clausePlaces {
		for _, list := range lists[:n] {
			if i < len(list) {
				add(list[i])
			}
		}
	}
	for _, r := range whole {
		add(r)
	}
	return merged
}

// maxClasses is how many data classes of a service a hit names.
const maxClasses = 20

// readOperation reads an operation and its document, which are nil when the stored text is that of
// another version.
func (x *Index) readOperation(ctx context.Context, v *view, p entryRef) (*storedDocument, *preparedOperation, error) {
	run, n := v.runOf(p), v.ordinalOf(p)
	t, err := x.documents.readDocument(ctx, run.source)
	if err != nil || t == nil || t.fingerprint != run.fingerprint || n >= len(t.operations) {
		return nil, nil, err
	}
	o, err := t.prepareOperation(x.analyzer, x.lexicon, n)
	if err != nil {
		return nil, nil, nil // logged by the follower
	}
	return t, o, nil
}

// readHits reads the texts of entries. An entry whose stored text is that of another version is
// left out.
func (s *searcher) readHits(ctx context.Context, entries []rankedEntry) ([]Hit, error) {
	hits := make([]Hit, 0, len(entries))
	began := time.Now()
	for _, r := range entries {
		if time.Since(began) >= turnTime {
			if err := yieldTurn(ctx); err != nil {
				return nil, err
			}
			began = time.Now()
		}
		hit, ok, err := s.readHit(ctx, r)
		if err != nil {
			return nil, err
		}
		if ok && hit.Fit >= s.query.MinFit {
			hits = append(hits, hit)
		}
	}
	return hits, nil
}

// readHit reads the text of an entry; ok is false when it is that of another version.
func (s *searcher) readHit(ctx context.Context, r rankedEntry) (hit Hit, ok bool, err error) {
	run := s.view.runOf(r.entryRef)
	t, operation, err := s.index.readOperation(ctx, s.view, r.entryRef)
	if t == nil || err != nil {
		return Hit{}, false, err
	}
	hit = Hit{
		Host:      run.host,
		Service:   t.Service,
		Operation: operation.Operation,
		Score:     float64(r.score) * scoreUnit,
		Effect:    operation.effect,
		Why:       s.index.explainHit(t, operation, s.query, s.request.Words),
		Kind:      run.kind,
		Source:    t.Source,
		Document:  t.URL,
		Digest:    t.Digest,
		FetchedAt: t.FetchedAt,
		ChangedAt: t.ChangedAt,
		Level:     t.Level,
	}
	for _, c := range t.DataClasses[:min(len(t.DataClasses), maxClasses)] {
		hit.DataClasses = append(hit.DataClasses, c.Name)
	}
	if clauses := s.embedding.clauses; len(clauses) > 0 {
		if nearest, cosine := nearestClause(clauses, s.view.embeddingOf(r.entryRef)); cosine >= minCosine {
			hit.Why.Clause = clauses[nearest].text
		}
	}
	hit.Fit, err = s.fitOf(&hit.Why, s.embedding.whole.Cosine(s.view.embeddingOf(r.entryRef)))
	if err != nil {
		return Hit{}, false, err
	}
	hit.Far = hit.Fit < farFit
	if worst, any := protocol.Worst(t.Findings); any {
		hit.Findings = worst.String()
	}
	return hit, true, nil
}
