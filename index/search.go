package index

import (
	"context"
	"errors"
	"fmt"

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
	words := queryWords(x.analyzer, q.Words)
	if len(words) == 0 && !q.Filtered() {
		result.Seq = x.Cursor().Seq
		result.Note = "every word of the query is too common to search for"
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

// search fills in the result.
func (x *Index) search(ctx context.Context, l *live, snapshot *scorch.IndexSnapshot, v *view, q Query, words []word, result *Result) error {
	masks, err := l.filter(snapshot, v, q)
	if err != nil {
		return err
	}
	var page []ranked
	if len(words) == 0 {
		page, result.Total = v.inOrder(masks, q.Offset, q.Offset+q.Limit)
		result.More = q.Offset+q.Limit < result.Total
	} else {
		scores, done := l.zeros(v.size)
		defer done()
		if err := l.score(ctx, snapshot, v, distinctStems(words), scores); err != nil {
			return err
		}
		page, result.More, result.Total = v.rank(scores, l.lexicon.of(forms(words)), masks, q.Offset+q.Limit, len(q.Hosts) == 0)
		page = page[min(q.Offset, len(page)):]
	}
	for _, r := range page {
		if err := x.addHit(ctx, v, r, q, words, result); err != nil {
			return err
		}
	}
	if result.Total == 0 {
		result.Near, err = x.near(l, snapshot, v, q, words)
	}
	return err
}

// maxClasses is how many data classes of a service a hit names.
const maxClasses = 20

// addHit appends an entry with its text, unless the text is that of another
// version.
func (x *Index) addHit(ctx context.Context, v *view, r ranked, q Query, words []word, result *Result) error {
	run, n := v.run(r.place), v.ordinal(r.place)
	t, err := x.texts.find(ctx, run.source)
	if err != nil {
		return err
	}
	if t == nil || t.print != run.print || n >= len(t.operations) {
		return nil
	}
	operation, err := t.operation(n)
	if err != nil {
		return nil // logged by the follower
	}
	hit := Hit{
		Host:      run.host,
		Service:   t.Service,
		Operation: operation,
		Score:     float64(r.score) * scoreUnit,
		Why:       explain(x.analyzer, t, &operation, q, words),
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
	if worst, any := protocol.Worst(t.Findings); any {
		hit.Findings = worst.String()
	}
	result.Hits = append(result.Hits, hit)
	return nil
}
