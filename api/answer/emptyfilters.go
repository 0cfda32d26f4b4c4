package answer

import (
	"context"
	"fmt"
	"strings"

	"gazetteer/index/query"
)

// An EmptyFilter is a filter that leaves a search without a result.
type EmptyFilter struct {
	Key    string
	Filter query.Query // the filter alone, with all its values
	// Near are values that exist and that the filter's values may mean. Without is the number of operations
	// that match without the filter: 0 if the filter alone matches nothing, whatever else is searched for.
	Near    []string
	Without int
}

// maxRemovedFilters bounds the searches that [Answers.FindEmptyFilters] repeats without one of the filters.
const maxRemovedFilters = 4

// FindEmptyFilters returns the filters because of which a query has no result: those that match no operation
// even alone, or else those without which the query has results. It returns none if only the words are to
// blame.
func (a *Answers) FindEmptyFilters(ctx context.Context, q query.Query) ([]EmptyFilter, error) {
	var found, used []EmptyFilter
	for _, f := range query.Filters() {
		values := *f.Values(&q)
		if len(values) == 0 {
			continue
		}
		e := EmptyFilter{Key: f.Key}
		*f.Values(&e.Filter) = values
		used = append(used, e)
		total, err := a.countMatches(ctx, e.Filter, q.Aliases)
		if err != nil {
			return nil, err
		}
		if total > 0 {
			continue
		}
		if e.Near, err = a.nearFilterValues(ctx, f, values); err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	if len(found) > 0 || q.Large() {
		return found, nil
	}
	for _, e := range used[:min(len(used), maxRemovedFilters)] {
		rest := q
		rest.Limit, rest.Offset, rest.Facets, rest.MinFit = 0, 0, nil, 0
		for _, f := range query.FiltersOf(e.Key) {
			*f.Values(&rest) = nil
		}
		if rest.IsEmpty() {
			continue
		}
		var err error
		if e.Without, err = a.countMatches(ctx, rest, q.Aliases); err != nil {
			return nil, err
		}
		if e.Without > 0 {
			found = append(found, e)
		}
	}
	return found, nil
}

// countMatches counts the operations that a query finds.
func (a *Answers) countMatches(ctx context.Context, q query.Query, aliases bool) (int, error) {
	q.Limit, q.Brief, q.Aliases = 1, true, aliases
	r, err := a.Index.Search(ctx, q)
	return r.Total, err
}

// nearFilterValues returns values of operations that unknown values of a filter may mean.
func (a *Answers) nearFilterValues(ctx context.Context, f query.Filter, values []string) ([]string, error) {
	if f.Allowed != nil {
		return nil, nil // only values that exist are accepted
	}
	var near []string
	if f.Key == query.HostKey {
		for _, host := range values[:min(len(values), maxNear)] {
			near = append(near, NearHosts(ctx, a.Index, host)...)
		}
		return near, nil
	}
	counts, err := a.Index.Explore(ctx, query.Query{}, []string{f.Key}, MaxExplored)
	if err != nil {
		return nil, err
	}
	known := make([]string, len(counts[f.Key]))
	for i, c := range counts[f.Key] {
		known[i] = c.Value
	}
	for _, value := range values[:min(len(values), maxNear)] {
		near = append(near, NearNames(value, value, known)...)
	}
	return near, nil
}

// NoteEmptyFilters names the filters because of which a query has no result, "" for none.
func (a *Answers) NoteEmptyFilters(ctx context.Context, q query.Query) (string, error) {
	empty, err := a.FindEmptyFilters(ctx, q)
	notes := make([]string, len(empty))
	for i, e := range empty {
		notes[i] = e.String()
	}
	return strings.Join(notes, "; "), err
}

// maxFilterText bounds the text of a filter in a note, in characters.
const maxFilterText = 100

// String says what is wrong with the filter, and how to repair it.
func (e EmptyFilter) String() string {
	filter := CleanText(e.Filter.String(), maxFilterText)
	switch {
	case e.Without == 1:
		return "without " + filter + ", one operation matches"
	case e.Without > 0:
		return fmt.Sprintf("without %s, %d operations match", filter, e.Without)
	}
	var near []string
	for _, value := range e.Near {
		if IsPlainWord(value) { // models read a note as a text of this server, not of a service
			near = append(near, e.Key+":"+value)
		}
	}
	if len(near) == 0 {
		return "no operation has " + filter
	}
	return "no operation has " + filter + ": did you mean " + strings.Join(near, " or ") + "?"
}
