package index

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"time"
	"unicode"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"gazetteer/index/query"
	"gazetteer/index/tokens"
	"gazetteer/protocol"
)

// Search answers a query. The error is a *[Error] when the query cannot be
// answered as asked, [ErrUnavailable] while the index cannot be read, [ErrClosed],
// or the context's.
//
// With words, hits are ordered by score and a service shows at most three
// operations, unless Hosts is set; without, they are ordered by host, kind and
// place in the document, and all are shown. A hit whose document has changed
// since it was indexed is left out, so a page can be shorter than asked for
// while the index is behind.
func (x *Index) Search(ctx context.Context, q query.Query) (Result, error) {
	q, err := q.Canonical()
	if err != nil {
		return Result{}, err
	}
	result := Result{Hits: []Hit{}}
	words := query.SplitWords(x.analyzer, q.Text())
	if len(words) == 0 && !q.Filtered() {
		result.Seq = x.Cursor().Seq
		result.Note = "every word of the query is too common to search for"
		if strings.IndexFunc(q.Text(), func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0 {
			result.Note = "the query has no words, only signs"
		}
		if len(q.Facets) > 0 {
			result.Facets = noCounts(q.Facets)
		}
		return result, nil
	}
	err = x.withSnapshot(func(l *directory, seq uint64, snapshot *scorch.IndexSnapshot, v *view) error {
		result.Seq = seq
		return x.fillResult(ctx, l, snapshot, v, q, words, &result)
	})
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// withSnapshot runs f on the present state of the index, which has all writes up to the
// sequence it is given. Damage that f meets is told to Run, which rebuilds.
func (x *Index) withSnapshot(f func(l *directory, seq uint64, snapshot *scorch.IndexSnapshot, v *view) error) error {
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
		if err := x.directory.prepareView(snapshot, v); err != nil {
			return err
		}
		return f(x.directory, seq, snapshot, v)
	})
	var damage *damageError
	if !errors.As(err, &damage) {
		return err
	}
	select {
	case x.damages <- damage:
	default: // told already
	}
	return fmt.Errorf("%w: %s", ErrUnavailable, damage.what)
}

// A found is what matches a query, before any of it is ordered.
type matchSet struct {
	masks   []bitset    // the operations that filters let through, for each segment
	words   *wordScores // nil when no words were asked for
	release func()      // to be called when the sums are not needed any more
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

// allowedOperations returns for each segment the operations that filters and unwanted words let
// through.
func (x *Index) allowedOperations(l *directory, snapshot *scorch.IndexSnapshot, v *view, q query.Query) ([]bitset, error) {
	masks, err := l.applyFilters(snapshot, v, q)
	if err != nil {
		return nil, err
	}
	return masks, x.removeUnwanted(l, snapshot, v, q, masks)
}

// matchWords finds what matches words among the operations in masks.
func (l *directory) matchWords(ctx context.Context, snapshot *scorch.IndexSnapshot, v *view, words []query.Word, masks []bitset) (*matchSet, error) {
	f := &matchSet{masks: masks, release: func() {}}
	if len(words) == 0 {
		return f, nil
	}
	f.words, f.release = l.newWordScores(v)
	if err := l.scoreWords(ctx, snapshot, v, query.DistinctStems(words), f.words); err != nil {
		f.release()
		return nil, err
	}
	return f, nil
}

// yieldTurn ends a search whose client has left, and lets others go first: without
// it a long search keeps a processor for ten milliseconds at a time, in which a
// usual one would be done.
func yieldTurn(ctx context.Context) error {
	runtime.Gosched()
	return ctx.Err()
}

// turnTime is about how long a search goes on before it gives way. To do so for each hit
// would cost more than to show it: a processor that idles is woken to look for work.
const turnTime = 100 * time.Microsecond

// removeUnwanted takes the operations out of masks that have a word that is not wanted.
func (x *Index) removeUnwanted(l *directory, snapshot *scorch.IndexSnapshot, v *view, q query.Query, masks []bitset) error {
	for _, unwanted := range q.Without {
		for _, t := range tokens.Tokenize(x.analyzer, tokens.PrepareText(unwanted)) {
			found, err := l.findPostings(snapshot, v, t.Stem)
			if err != nil {
				return err
			}
			for i, p := range found {
				for _, at := range p.all {
					v.segments[i].eachOperation(at.number, masks[i].remove)
				}
			}
		}
	}
	return nil
}

// fillResult fills in the result.
func (x *Index) fillResult(ctx context.Context, l *directory, snapshot *scorch.IndexSnapshot, v *view, q query.Query, words []query.Word, result *Result) error {
	page, wishes, err := x.findPage(ctx, l, snapshot, v, q, words, maxCounts, result)
	if err != nil {
		return err
	}
	result.Hits = make([]Hit, 0, len(page))
	began := time.Now()
	for _, r := range page {
		if time.Since(began) >= turnTime {
			if err := yieldTurn(ctx); err != nil {
				return err
			}
			began = time.Now()
		}
		if err := x.addHit(ctx, v, r, q, words, wishes, result); err != nil {
			return err
		}
	}
	if result.Total == 0 {
		result.Near, err = x.proposeVerbs(l, snapshot, v, q, words)
	}
	return err
}

// findPage finds what answers a query, and returns the page of it that is asked for.
// The result gets all but the hits; of each facet the most frequent values, as
// many as counts says.
func (x *Index) findPage(ctx context.Context, l *directory, snapshot *scorch.IndexSnapshot, v *view, q query.Query, words []query.Word, counts int, result *Result) (page []rankedEntry, wishes []clause, err error) {
	masks, err := x.allowedOperations(l, snapshot, v, q)
	if err != nil {
		return nil, nil, err
	}
	meant := l.embedQuery(words)
	if len(q.Phrases) == 0 { // which would take some out of the masks
		defer meant.startNearest(v, masks)()
	}
	f, err := l.matchWords(ctx, snapshot, v, words, masks)
	if err != nil {
		return nil, nil, err
	}
	defer f.release()
	if len(q.Phrases) > 0 {
		if err := x.applyPhrases(ctx, l, snapshot, v, q, f, result); err != nil {
			return nil, nil, err
		}
		defer meant.startNearest(v, masks)()
	}
	counted := func() error { return nil }
	var sums facetCounts
	if len(q.Facets) > 0 {
		counted = startConcurrent(func() (err error) {
			sums, err = l.countFacets(snapshot, v, f, q.Facets)
			return err
		})
		defer counted() // before f is done
	}
	if f.words == nil {
		page, result.Total = v.listInOrder(f.masks, q.Offset, q.Offset+q.Limit)
		result.More = q.Offset+q.Limit < result.Total
	} else if page, err = x.rankPage(ctx, snapshot, v, q, words, meant, f, result); err != nil {
		return nil, nil, err
	}
	if err := counted(); err != nil {
		return nil, nil, err
	}
	if sums != nil {
		if f.words != nil {
			sums.addEntries(v, f.words.byEmbedding)
		}
		result.Facets = sums.mostFrequent(counts)
	}
	return page, meant.clauses, nil
}

// rankPage orders what was found for words, and returns the page that is asked for. On
// the first page the result gets the services and the data classes that match.
func (x *Index) rankPage(ctx context.Context, snapshot *scorch.IndexSnapshot, v *view, q query.Query, words []query.Word, meant *queryEmbedding, f *matchSet, result *Result) (page []rankedEntry, err error) {
	opposed, err := x.findOpposedVerbs(snapshot, v, words)
	if err != nil {
		return nil, err
	}
	if q.Offset == 0 {
		if err := x.findServicesAndClasses(ctx, v, q, f, result); err != nil {
			return nil, err
		}
	}
	page, result.More, result.Total, err = v.rankOperations(f.words, meant, opposed, f.masks, q.Offset+q.Limit, len(q.Hosts) == 0)
	return page[min(q.Offset, len(page)):], err
}

// maxClasses is how many data classes of a service a hit names.
const maxClasses = 20

// readOperation reads an operation and its document, which are nil when the stored
// text is that of another version.
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

// addHit appends an entry with its text, unless the text is that of another
// version.
func (x *Index) addHit(ctx context.Context, v *view, r rankedEntry, q query.Query, words []query.Word, wishes []clause, result *Result) error {
	run := v.runOf(r.entryRef)
	t, operation, err := x.readOperation(ctx, v, r.entryRef)
	if t == nil || err != nil {
		return err
	}
	hit := Hit{
		Host:      run.host,
		Service:   t.Service,
		Operation: operation.Operation,
		Score:     float64(r.score) * scoreUnit,
		Why:       x.explainHit(t, operation, q, words),
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
	if len(wishes) > 0 {
		if nearest, cosine := nearestClause(wishes, v.embeddingOf(r.entryRef)); cosine >= minCosine {
			hit.Why.Clause = wishes[nearest].text
		}
	}
	if worst, any := protocol.Worst(t.Findings); any {
		hit.Findings = worst.String()
	}
	result.Hits = append(result.Hits, hit)
	return nil
}
