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

	"gazetteer/protocol"
)

// Search answers a query. The error is a *[QueryError] when the query cannot be
// answered as asked, [ErrUnavailable] while the index cannot be read, [ErrClosed],
// or the context's.
//
// With words, hits are ordered by score and a service shows at most three
// operations, unless Hosts is set; without, they are ordered by host, kind and
// place in the document, and all are shown. A hit whose document has changed
// since it was indexed is left out, so a page can be shorter than asked for
// while the index is behind.
func (x *Index) Search(ctx context.Context, q Query) (Result, error) {
	q, err := q.canonical()
	if err != nil {
		return Result{}, err
	}
	result := Result{Hits: []Hit{}}
	words := queryWords(x.analyzer, q.text())
	if len(words) == 0 && !q.Filtered() {
		result.Seq = x.Cursor().Seq
		result.Note = "every word of the query is too common to search for"
		if strings.IndexFunc(q.text(), func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0 {
			result.Note = "the query has no words, only signs"
		}
		if len(q.Facets) > 0 {
			result.Facets = noCounts(q.Facets)
		}
		return result, nil
	}
	err = x.read(func(l *live, seq uint64, snapshot *scorch.IndexSnapshot, v *view) error {
		result.Seq = seq
		return x.search(ctx, l, snapshot, v, q, words, &result)
	})
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// read runs f on the present state of the index, which has all writes up to the
// sequence it is given. Damage that f meets is told to Run, which rebuilds.
func (x *Index) read(f func(l *live, seq uint64, snapshot *scorch.IndexSnapshot, v *view) error) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.live == nil {
		x.place.Lock()
		defer x.place.Unlock()
		if x.closed {
			return ErrClosed
		}
		return ErrUnavailable
	}
	err := guard(func() error {
		seq := x.Cursor().Seq // before the snapshot, which is then at least as new
		snapshot, v, err := x.live.open()
		if err != nil {
			return err
		}
		defer snapshot.Close() // only releases
		if err := x.live.prepare(snapshot, v); err != nil {
			return err
		}
		return f(x.live, seq, snapshot, v)
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
type found struct {
	masks []bitset // the operations that filters let through, for each segment
	words *sums    // nil when no words were asked for
	done  func()   // to be called when the sums are not needed any more
}

// operations appends the operations of a segment that match, in order.
func (f *found) operations(segment int, to []uint32) []uint32 {
	for at, mask := range f.masks[segment] {
		if f.words != nil {
			mask &= f.words.met[segment][at]
		}
		for ; mask != 0; mask &= mask - 1 {
			to = append(to, uint32(at*64+bits.TrailingZeros64(mask)))
		}
	}
	return to
}

// let returns for each segment the operations that filters and unwanted words let
// through.
func (x *Index) let(l *live, snapshot *scorch.IndexSnapshot, v *view, q Query) ([]bitset, error) {
	masks, err := l.filter(snapshot, v, q)
	if err != nil {
		return nil, err
	}
	return masks, x.leaveOut(l, snapshot, v, q, masks)
}

// match finds what matches words among the operations in masks.
func (l *live) match(ctx context.Context, snapshot *scorch.IndexSnapshot, v *view, words []word, masks []bitset) (*found, error) {
	f := &found{masks: masks, done: func() {}}
	if len(words) == 0 {
		return f, nil
	}
	f.words, f.done = l.sums(v)
	if err := l.score(ctx, snapshot, v, distinctStems(words), f.words); err != nil {
		f.done()
		return nil, err
	}
	return f, nil
}

// giveWay ends a search whose client has left, and lets others go first: without
// it a long search keeps a processor for ten milliseconds at a time, in which a
// usual one would be done.
func giveWay(ctx context.Context) error {
	runtime.Gosched()
	return ctx.Err()
}

// turn is about how long a search goes on before it gives way. To do so for each hit
// would cost more than to show it: a processor that idles is woken to look for work.
const turn = 100 * time.Microsecond

// leaveOut takes the operations out of masks that have a word that is not wanted.
func (x *Index) leaveOut(l *live, snapshot *scorch.IndexSnapshot, v *view, q Query, masks []bitset) error {
	for _, unwanted := range q.Without {
		for _, t := range termsOf(x.analyzer, splitText(unwanted)) {
			found, err := l.find(snapshot, v, t.stem)
			if err != nil {
				return err
			}
			for i, p := range found {
				for _, at := range p.all {
					v.segments[i].spread(at.number, masks[i].remove)
				}
			}
		}
	}
	return nil
}

// search fills in the result.
func (x *Index) search(ctx context.Context, l *live, snapshot *scorch.IndexSnapshot, v *view, q Query, words []word, result *Result) error {
	page, wishes, err := x.answer(ctx, l, snapshot, v, q, words, maxCounts, result)
	if err != nil {
		return err
	}
	result.Hits = make([]Hit, 0, len(page))
	began := time.Now()
	for _, r := range page {
		if time.Since(began) >= turn {
			if err := giveWay(ctx); err != nil {
				return err
			}
			began = time.Now()
		}
		if err := x.addHit(ctx, v, r, q, words, wishes, result); err != nil {
			return err
		}
	}
	if result.Total == 0 {
		result.Near, err = x.near(l, snapshot, v, q, words)
	}
	return err
}

// answer finds what answers a query, and returns the page of it that is asked for.
// The result gets all but the hits; of each facet the most frequent values, as
// many as counts says.
func (x *Index) answer(ctx context.Context, l *live, snapshot *scorch.IndexSnapshot, v *view, q Query, words []word, counts int, result *Result) (page []ranked, wishes []wish, err error) {
	masks, err := x.let(l, snapshot, v, q)
	if err != nil {
		return nil, nil, err
	}
	meant := l.lexicon.meant(words)
	if len(q.Phrases) == 0 { // which would take some out of the masks
		defer meant.look(v, masks)()
	}
	f, err := l.match(ctx, snapshot, v, words, masks)
	if err != nil {
		return nil, nil, err
	}
	defer f.done()
	if len(q.Phrases) > 0 {
		if err := x.keepPhrases(ctx, l, snapshot, v, q, f, result); err != nil {
			return nil, nil, err
		}
		defer meant.look(v, masks)()
	}
	counted := func() error { return nil }
	var sums tally
	if len(q.Facets) > 0 {
		counted = beside(func() (err error) {
			sums, err = l.tally(snapshot, v, f, q.Facets)
			return err
		})
		defer counted() // before f is done
	}
	if f.words == nil {
		page, result.Total = v.inOrder(f.masks, q.Offset, q.Offset+q.Limit)
		result.More = q.Offset+q.Limit < result.Total
	} else if page, err = x.rank(ctx, snapshot, v, q, words, meant, f, result); err != nil {
		return nil, nil, err
	}
	if err := counted(); err != nil {
		return nil, nil, err
	}
	if sums != nil {
		if f.words != nil {
			sums.add(v, f.words.wordless)
		}
		result.Facets = sums.mostFrequent(counts)
	}
	return page, meant.wishes, nil
}

// rank orders what was found for words, and returns the page that is asked for. On
// the first page the result gets the services and the data classes that match.
func (x *Index) rank(ctx context.Context, snapshot *scorch.IndexSnapshot, v *view, q Query, words []word, meant *sense, f *found, result *Result) (page []ranked, err error) {
	opposed, err := x.opposed(snapshot, v, words)
	if err != nil {
		return nil, err
	}
	if q.Offset == 0 {
		if err := x.addOthers(ctx, v, q, f, result); err != nil {
			return nil, err
		}
	}
	page, result.More, result.Total, err = v.rank(f.words, meant, opposed, f.masks, q.Offset+q.Limit, len(q.Hosts) == 0)
	return page[min(q.Offset, len(page)):], err
}

// maxClasses is how many data classes of a service a hit names.
const maxClasses = 20

// operation reads an operation and its document, which are nil when the stored
// text is that of another version.
func (x *Index) operation(ctx context.Context, v *view, p place) (*text, *shown, error) {
	run, n := v.run(p), v.ordinal(p)
	t, err := x.texts.find(ctx, run.source)
	if err != nil || t == nil || t.print != run.print || n >= len(t.operations) {
		return nil, nil, err
	}
	o, err := t.show(x.analyzer, x.lexicon, n)
	if err != nil {
		return nil, nil, nil // logged by the follower
	}
	return t, o, nil
}

// addHit appends an entry with its text, unless the text is that of another
// version.
func (x *Index) addHit(ctx context.Context, v *view, r ranked, q Query, words []word, wishes []wish, result *Result) error {
	run := v.run(r.place)
	t, operation, err := x.operation(ctx, v, r.place)
	if t == nil || err != nil {
		return err
	}
	hit := Hit{
		Host:      run.host,
		Service:   t.Service,
		Operation: operation.Operation,
		Score:     float64(r.score) * scoreUnit,
		Why:       x.explain(t, operation, q, words),
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
		if nearest, cosine := nearestWish(wishes, v.meaning(r.place)); cosine >= leastCosine {
			hit.Why.Wish = wishes[nearest].text
		}
	}
	if worst, any := protocol.Worst(t.Findings); any {
		hit.Findings = worst.String()
	}
	result.Hits = append(result.Hits, hit)
	return nil
}
