package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"gazetteer/call"
	"gazetteer/index/bitset"
	"gazetteer/index/damage"
	"gazetteer/index/entry"
	"gazetteer/index/pace"
	"gazetteer/index/query"
	"gazetteer/index/siblings"
	"gazetteer/index/tokens"
	"gazetteer/index/view"
	"gazetteer/protocol"
)

// Search answers a query. The error is a *[query.Error] if the query is invalid, [ErrUnavailable]
// while the index cannot be read, [ErrClosed], or the context's.
//
// With words, hits are ordered by score and a service shows at most three operations, unless Hosts
// is set; without words, they are ordered by host, kind and place in the document, and all are
// shown. A hit whose document has changed since it was indexed is omitted, so a page can be shorter
// than requested while the index is behind.
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
	err = x.withSnapshot(func(v *view.View, seq uint64) (err error) {
		s := &searcher{index: x, view: v, query: q, request: request, maxCounts: maxCounts}
		note := ""
		if loose, ok := q.QuotedAsValues(); ok {
			near, err := s.findsNear(ctx)
			if err != nil {
				return err
			}
			if !near {
				s.query, s.request = loose, query.ParseRequest(x.analyzer, loose.Text())
				note = "nothing near the request has " + quoteAll(q.Phrases) + " word by word: taken as a value"
			}
		}
		result, err = s.search(ctx)
		result.Seq = seq
		if note != "" {
			result.Note = strings.TrimSuffix(note+"; "+result.Note, "; ")
		}
		return err
	})
	if err != nil {
		return Result{}, err
	}
	return result, nil
}

// findsNear reports whether an operation near the request is among the first ones.
func (s *searcher) findsNear(ctx context.Context) (bool, error) {
	first := *s
	first.request.Words = slices.Clone(s.request.Words) // a search changes their weights
	first.query.Offset, first.query.Limit, first.query.MinFit, first.query.Facets, first.query.Brief = 0, nearest, 0, nil, true
	result, err := first.search(ctx)
	return slices.ContainsFunc(result.Hits, func(h Hit) bool { return !h.Far }), err
}

// quoteAll lists texts in quotes.
func quoteAll(texts []string) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = `"` + t + `"`
	}
	return strings.Join(quoted, ", ")
}

// emptyResult is the answer to a query whose words contain nothing to search for.
func (x *Index) emptyResult(q query.Query) Result {
	result := Result{Hits: []Hit{}, Seq: x.Cursor().Seq, Note: "every word of the query is too common to search for"}
	if strings.IndexFunc(q.Text(), func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0 {
		result.Note = "the query has no words, only signs"
	}
	if len(q.Facets) > 0 {
		result.Facets = view.NoCounts(q.Facets)
	}
	return result
}

// withSnapshot calls f with the current view of the index, which has all writes up to the given
// sequence. If f meets damage, withSnapshot reports it to Run, which rebuilds the index.
func (x *Index) withSnapshot(f func(v *view.View, seq uint64) error) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.directory == nil {
		if x.closed.Load() {
			return ErrClosed
		}
		return ErrUnavailable
	}
	err := damage.Recover(func() error {
		seq := x.Cursor().Seq // before the snapshot, which is then at least as new
		snapshot, v, err := x.directory.OpenSnapshot()
		if err != nil {
			return err
		}
		defer snapshot.Close()     // only releases
		defer runtime.KeepAlive(v) // what is mapped is released with it
		if err := v.PrepareView(); err != nil {
			return err
		}
		return f(v, seq)
	})
	damage, ok := errors.AsType[*damage.Error](err)
	if !ok {
		return err
	}
	select {
	case x.damages <- damage:
	default: // Run has not yet read an earlier report
	}
	return fmt.Errorf("%w: %s", ErrUnavailable, damage.What)
}

// A searcher answers one query on one view of the index. It belongs to one goroutine.
type searcher struct {
	index   *Index
	view    *view.View
	query   query.Query
	request query.Request
	// maxCounts is the maximum number of values of each facet.
	maxCounts int

	embedding  *view.QueryEmbedding
	asked      []askedWord // the words of the request, for the hits
	importance []float64   // of the words of the request; see [searcher.weighRequest]
	absent     []bool      // words of the request that nothing in the index has
	embedded   []bool      // words of the request that its embedding has
	verb       int         // the word for the act among the words of the request, -1 for none
	comparer   siblings.Comparer
}

// A page is one page of entries in order, and the totals of all matching entries.
type page struct {
	entries    []view.RankedEntry
	total      int
	more       bool // a later page has entries
	note       string
	correction *Correction
	leftOut    []LeftOut
	facets     map[string][]view.Count
	values     map[string]int // the number of all values of each facet
	services   []ServiceHit
	classes    []ClassHit
}

// search finds the requested page and reads the texts of its hits.
func (s *searcher) search(ctx context.Context) (Result, error) {
	p, err := s.findPage(ctx)
	if err != nil {
		return Result{}, err
	}
	result := Result{Total: p.total, More: p.more, Note: p.note, Correction: p.correction, LeftOut: p.leftOut, Facets: p.facets, FacetValues: p.values, Services: p.services, Classes: p.classes}
	if result.Hits, err = s.readHits(ctx, p.entries); err != nil {
		return Result{}, err
	}
	if result.Note == "" && p.total > 0 && len(s.request.Words) > 0 {
		result.Note = s.noteOnFit(result.Hits)
	}
	if p.total == 0 && len(s.query.Phrases) > 0 && result.Note == "" {
		result.Note = "no operation has " + quoteAll(s.query.Phrases) + " word by word"
	}
	if p.total == 0 {
		result.Near, err = s.proposeVerbs()
	}
	return result, err
}

// nearest is the number of first hits that must all be far for the answer to say so.
const nearest = 3

// noteOnFit returns what to say of the fit of the hits of a page. It never contradicts the mark of a
// hit: a later one may be near though the first ones are far, and the hits of a later page say
// nothing of those before them.
func (s *searcher) noteOnFit(hits []Hit) string {
	isNear := func(h Hit) bool { return !h.Far }
	switch {
	case len(hits) == 0 && s.query.MinFit > 0:
		return "no operation has the requested fit"
	case s.query.Offset > 0 || slices.ContainsFunc(hits[:min(nearest, len(hits))], isNear):
		return ""
	case slices.ContainsFunc(hits, isNear):
		return "the first operations are far from the request; only those without this mark are near it"
	case len(hits) > 0 && s.isPartOfName(hits[0].Service.Name):
		return "the words of the request are in the name of a service; its operations come first"
	default:
		return "nothing here is near the request; these operations are far from it"
	}
}

// isPartOfName reports whether all words of the request are in the name of a service: a person who types a name
// looks for the service, not for a task.
func (s *searcher) isPartOfName(name string) bool {
	if name == "" {
		return false
	}
	words := tokens.Tokenize(s.index.analyzer, tokens.PrepareText(s.query.Words))
	ofName := tokens.Tokenize(s.index.analyzer, tokens.PrepareText(name))
	lacking := func(w tokens.Token) bool {
		return !slices.ContainsFunc(ofName, func(t tokens.Token) bool { return t.Stem == w.Stem })
	}
	return len(words) > 0 && !slices.ContainsFunc(words, lacking)
}

// findPage finds the matches of the query and returns the requested page.
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
	if err := s.dropUnknownCompounds(); err != nil {
		return page{}, err
	}
	if err := s.weighNames(); err != nil {
		return page{}, err
	}
	if err := s.addSynonyms(); err != nil {
		return page{}, err
	}
	s.embedding = v.Directory.EmbedQuery(s.request.Words)
	if len(q.Phrases) == 0 { // phrases would remove operations from the masks
		defer s.embedding.StartNearest(v, masks)()
	}
	found, err := v.MatchWords(ctx, s.request.Words, masks)
	if err != nil {
		return page{}, err
	}
	defer found.Release()
	p := page{correction: correction, leftOut: leftOut}
	if len(q.Phrases) > 0 {
		if p.note, err = s.applyPhrases(ctx, found); err != nil {
			return page{}, err
		}
		defer s.embedding.StartNearest(v, masks)()
	}
	awaitCounts := func() error { return nil }
	var counts view.FacetCounts
	if len(q.Facets) > 0 {
		awaitCounts = damage.RecoverConcurrent(func() (err error) {
			counts, err = v.CountFacets(found, q.Facets)
			return err
		})
		defer awaitCounts() // before found is released
	}
	if found.Words == nil {
		p.entries, p.total = v.ListInOrder(found.Masks, q.Offset, q.Offset+q.Limit)
		p.more = q.Offset+q.Limit < p.total
	} else if err := s.rankPage(ctx, found, &p); err != nil {
		return page{}, err
	}
	if err := awaitCounts(); err != nil {
		return page{}, err
	}
	if found.Words != nil {
		counts.AddEntries(v, found.Words.ByEmbedding)
	}
	p.facets, p.values = counts.MostFrequent(s.maxCounts)
	return p, nil
}

// dropUnknownCompounds removes the compounds that no operation has. The words for their parts stay.
func (s *searcher) dropUnknownCompounds() error {
	var kept []query.Word
	for i, w := range s.request.Words {
		known := !w.Whole
		if w.Whole {
			n, err := s.frequencyOf(w.Terms)
			if err != nil {
				return err
			}
			known = n > 0
		}
		switch {
		case known && kept != nil:
			kept = append(kept, w)
		case !known && kept == nil:
			kept = slices.Clone(s.request.Words[:i])
		}
	}
	if kept != nil {
		s.request.Words = kept
	}
	return nil
}

// weighNames gives the names in a request less weight than the words for the task, unless a service
// has that name.
func (s *searcher) weighNames() error {
	for i := range s.request.Words {
		w := &s.request.Words[i]
		if !w.Name {
			continue
		}
		ofService, ofOperations := false, false
		for _, t := range w.Terms {
			found, err := s.view.FindPostings(t.Stem)
			if err != nil {
				return err
			}
			ofOperations = ofOperations || s.view.DocumentFrequency(t.Stem, found) > 0
			ofService = ofService || slices.ContainsFunc(found, func(p *view.TermPostings) bool { return len(p.Services) > 0 })
		}
		switch {
		case ofService:
		case ofOperations:
			w.Weight *= query.KnownNameWeight
		default:
			w.Weight *= query.NameWeight
		}
	}
	return nil
}

// addSynonyms makes those synonyms meanings of a word that more operations have than the word itself.
func (s *searcher) addSynonyms() error {
	for i := range s.request.Words {
		w := &s.request.Words[i]
		if len(w.Synonyms) == 0 {
			continue
		}
		terms := w.Terms
		if w.Native {
			terms = w.Meanings[:1] // services use the English word, if they have it
		}
		own, err := s.frequencyOf(terms)
		if err != nil {
			return err
		}
		for _, t := range w.Synonyms {
			n, err := s.frequencyOf([]tokens.Token{t})
			if err != nil {
				return err
			}
			if n <= own {
				continue
			}
			if w.Meanings == nil {
				w.Meanings = slices.Clone(w.Terms)
			}
			w.Meanings = append(w.Meanings, t)
		}
	}
	return nil
}

// frequencyOf returns the number of operations that have the rarest of terms.
func (s *searcher) frequencyOf(terms []tokens.Token) (least int, err error) {
	for i, t := range terms {
		found, err := s.view.FindPostings(t.Stem)
		if err != nil {
			return 0, err
		}
		if n := s.view.DocumentFrequency(t.Stem, found); i == 0 || n < least {
			least = n
		}
	}
	return least, nil
}

// allowedOperations returns for each segment the operations that the filters and the excluded words
// allow.
func (s *searcher) allowedOperations() ([]bitset.Set, error) {
	v := s.view
	masks, err := v.ApplyFilters(s.query)
	if err != nil {
		return nil, err
	}
	for _, unwanted := range s.query.Without {
		for _, t := range tokens.Tokenize(s.index.analyzer, tokens.PrepareText(unwanted)) {
			found, err := v.FindPostings(t.Stem)
			if err != nil {
				return nil, err
			}
			for i, p := range found {
				for number := range p.Numbers() {
					v.Segments[i].EachOperation(number, masks[i].Remove)
				}
			}
		}
	}
	return masks, nil
}

// maxClasses is the number of data classes of a service in a hit.
const maxClasses = 20

// readOperation reads an operation and its document, which are nil if the stored text belongs to
// another version.
func (x *Index) readOperation(ctx context.Context, v *view.View, p view.EntryRef) (*storedDocument, *preparedOperation, error) {
	run, n := v.RunOf(p), v.OrdinalOf(p)
	t, err := x.documents.readDocument(ctx, run.Source)
	if err != nil || t == nil || t.fingerprint != run.Fingerprint || n >= len(t.operations) {
		return nil, nil, err
	}
	o, err := x.documents.prepareOperation(run.Source, t, n, x.analyzer, x.lexicon)
	if err != nil {
		return nil, nil, nil // logged by the follower
	}
	return t, o, nil
}

// readHits reads the texts of entries. It omits an entry whose stored text belongs to another
// version.
func (s *searcher) readHits(ctx context.Context, entries []view.RankedEntry) ([]Hit, error) {
	hits := make([]Hit, 0, len(entries))
	s.asked = s.askedWords()
	if err := s.weighRequest(); err != nil {
		return nil, err
	}
	began := time.Now()
	for _, r := range entries {
		if time.Since(began) >= pace.Interval {
			if err := pace.Yield(ctx); err != nil {
				return nil, err
			}
			began = time.Now()
		}
		last := len(hits)
		hits = hits[:last+1] // for each entry there is room
		ok, err := s.readHit(ctx, r, &hits[last])
		if err != nil {
			return nil, err
		}
		if !ok || hits[last].Fit < s.query.MinFit {
			hits = hits[:last]
		}
	}
	return hits, nil
}

// readHit reads the text of an entry; ok is false if it belongs to another version.
func (s *searcher) readHit(ctx context.Context, r view.RankedEntry, hit *Hit) (ok bool, err error) {
	run := s.view.RunOf(r.EntryRef)
	t, operation, err := s.index.readOperation(ctx, s.view, r.EntryRef)
	if t == nil || err != nil {
		return false, err
	}
	service, err := s.index.documents.serviceOf(ctx, s.view, t)
	if err != nil {
		return false, err
	}
	*hit = Hit{
		Host:      run.Host,
		Service:   service,
		Operation: operation.Operation,
		Score:     float64(r.Score) / view.ScoresPerUnit,
		Effect:    operation.effect,
		Caution:   operation.caution,
		Why:       s.index.explainHit(t, operation, s.asked, s.query.Phrases),
		Kind:      run.Kind,
		Source:    t.Source,
		Document:  t.URL,
		Digest:    t.Digest,
		FetchedAt: t.FetchedAt,
		ChangedAt: t.ChangedAt,
		Level:     t.Level,
		Findings:  t.worst,
		encoded:   &operation.encoded,
	}
	if service.Name != t.Service.Name { // it may change without the document of the operation
		hit.encoded, hit.Caution = nil, cmp.Or(hit.Caution, call.Caution(operation.Operation, service))
	}
	verb := s.index.explainVerb(query.CanonicalVerb(operation.Verb), s.query, s.request.Words)
	if !s.query.Brief {
		hit.Why.Verb = verb
		for _, c := range t.DataClasses[:min(len(t.DataClasses), maxClasses)] {
			hit.DataClasses = append(hit.DataClasses, c.Name)
		}
	}
	if hit.Also, err = s.readTwin(ctx, run, t, s.view.OrdinalOf(r.EntryRef)); err != nil {
		return false, err
	}
	if clauses := s.embedding.Clauses; len(clauses) > 0 {
		if nearest, cosine := view.NearestClause(clauses, s.view.EmbeddingOf(r.EntryRef)); cosine >= view.MinCosine {
			hit.Why.Clause = clauses[nearest].Text
		}
	}
	hit.Fit = s.fitOf(&hit.Why, verb, operation, s.embedding.Whole.Cosine(s.view.EmbeddingOf(r.EntryRef)))
	hit.Far = hit.Fit < FarFit
	return true, nil
}

// readTwin returns the twin of the n-th operation of a document in another one of its host, nil when it
// has none.
func (s *searcher) readTwin(ctx context.Context, run *view.DocumentRun, of *storedDocument, n int) (*Twin, error) {
	yields, remains := entry.TwinKinds()
	if run.Kind != remains || !s.view.HasTwins(run.Host) {
		return nil, nil
	}
	d, err := s.index.documents.readDocument(ctx, entry.Source{Host: run.Host, Kind: yields})
	if err != nil || d == nil {
		return nil, err
	}
	twin, ok := d.findTwin(of, n)
	if !ok {
		return nil, nil
	}
	return &Twin{Kind: yields, ID: twin.ID, Verb: twin.Verb, Call: twin.Call, Operation: twin, Service: d.Service, Invalid: d.worst == protocol.Error.String()}, nil
}
