package view

import (
	"slices"

	"gazetteer/index/bitset"
	"gazetteer/index/entry"
	"gazetteer/index/query"
)

// What a service declares in one of its documents holds for its operations in all of them: one document
// may name the classes of data, and another one describe the operations.

// serviceFields are the fields that describe the service. The others describe one document: how its
// operations are called, and how well it follows its draft.
var serviceFields = []string{query.NamespaceField, query.ClassField, query.DomainField, query.CategoryField, query.LanguageField}

// A runRef is the position of a run in a view.
type runRef struct {
	segment int
	run     uint32
}

// sharedColumns are the columns of a field that include, for each document, the values that other
// documents of its host declare.
type sharedColumns struct {
	columns []*column             // by segment
	added   []map[string][]uint32 // by segment: the runs that have a value from another document only
}

// runAt returns a run of the view.
func (v *View) runAt(at runRef) DocumentRun { return v.Segments[at.segment].Runs[at.run] }

// hostsOfSeveral returns the documents of the hosts that have more than one, in the order in which they
// describe the service ([document.Kind.Rank]).
func (v *View) hostsOfSeveral() map[string][]runRef {
	first, several := make(map[string]runRef), make(map[string][]runRef)
	for i := range v.Segments {
		s := &v.Segments[i]
		for n, r := range s.Runs {
			if r.operationsEnd == r.end || !s.Services.Has(r.operationsEnd) || s.Deleted.Has(r.operationsEnd) {
				continue // a former version
			}
			at := runRef{i, uint32(n)}
			other, met := first[r.Host]
			switch {
			case !met:
				first[r.Host] = at
			case several[r.Host] == nil:
				several[r.Host] = []runRef{other, at}
			default:
				several[r.Host] = append(several[r.Host], at)
			}
		}
	}
	for _, documents := range several {
		slices.SortFunc(documents, func(a, b runRef) int { return v.runAt(a).Kind.Rank() - v.runAt(b).Kind.Rank() })
	}
	return several
}

// DocumentsOf returns the documents of a host in the order in which they describe its service
// ([document.Kind.Rank]), nil for a host of at most one.
func (v *View) DocumentsOf(host string) []entry.Source {
	var documents []entry.Source
	for _, at := range v.several[host] {
		documents = append(documents, v.runAt(at).Source)
	}
	return documents
}

// columnsOf returns the columns of a field. They are made once for a view.
func (v *View) columnsOf(field string) (*sharedColumns, error) {
	v.sharedMu.Lock()
	defer v.sharedMu.Unlock()
	if shared, ok := v.shared[field]; ok {
		return shared, nil
	}
	own := make([]*column, len(v.Segments))
	for i, s := range v.snapshot.Segments() {
		var err error
		if own[i], err = v.Segments[i].readColumn(s, field); err != nil {
			return nil, err
		}
	}
	shared := &sharedColumns{columns: own}
	if slices.Contains(serviceFields, field) {
		shared = v.shareValues(field, own)
	}
	if v.shared == nil {
		v.shared = make(map[string]*sharedColumns)
	}
	v.shared[field] = shared
	return shared, nil
}

// shareValues adds to the columns of a field, for each document, what the other documents of its host
// declare. What is only at the address of an alias is not authoritative, so it is not shared. A namespace
// qualifies the verbs of its own document, and is shared only if a search returns none of these.
func (v *View) shareValues(field string, own []*column) *sharedColumns {
	shared := &sharedColumns{columns: slices.Clone(own), added: make([]map[string][]uint32, len(own))}
	for _, documents := range v.several {
		for _, from := range documents {
			values := own[from.segment].runs[from.run]
			if len(values) == 0 || v.runAt(from).Kind.IsAlias() {
				continue
			}
			if field == query.NamespaceField && v.isOffered(from) {
				continue
			}
			for _, to := range documents {
				if to == from {
					continue
				}
				for _, at := range values {
					shared.addValue(own, to, own[from.segment].values[at])
				}
			}
		}
	}
	return shared
}

// isOffered reports whether a search may return an operation of a document.
func (v *View) isOffered(at runRef) bool {
	s := &v.Segments[at.segment]
	return s.Searchable.HasAny(s.OperationsOf(at.run))
}

// addValue adds a value to those of a document unless it has it already. It does not change the
// columns in own, which belong to the segments.
func (c *sharedColumns) addValue(own []*column, to runRef, value string) {
	i := to.segment
	number, exists := slices.BinarySearch(own[i].values, value)
	if exists && slices.Contains(own[i].runs[to.run], uint32(number)) || slices.Contains(c.added[i][value], to.run) {
		return
	}
	if c.added[i] == nil {
		c.added[i] = make(map[string][]uint32)
		extended := *own[i]
		extended.values, extended.runs = slices.Clip(extended.values), slices.Clone(extended.runs)
		c.columns[i] = &extended
	}
	extended := c.columns[i]
	if !exists {
		if number = slices.Index(extended.values[len(own[i].values):], value); number >= 0 {
			number += len(own[i].values)
		} else {
			number = len(extended.values)
			extended.values = append(extended.values, value)
		}
	}
	extended.runs[to.run] = append(slices.Clip(extended.runs[to.run]), uint32(number))
	c.added[i][value] = append(c.added[i][value], to.run)
}

// addShared adds to found the operations of a segment that have a value of a field from another
// document of their host.
func (v *View) addShared(found bitset.Set, segment int, field, value string) error {
	if len(v.several) == 0 || !slices.Contains(serviceFields, field) {
		return nil
	}
	shared, err := v.columnsOf(field)
	if err != nil {
		return err
	}
	for _, run := range shared.added[segment][value] {
		found.AddRange(v.Segments[segment].OperationsOf(run))
	}
	return nil
}

// markSharedReachable adds the data classes of documents without an operation that a search may return
// to the reachable ones, if another document of the host has such operations and no data classes.
func (v *View) markSharedReachable() {
	for _, documents := range v.several {
		offers, declares := false, false
		for _, at := range documents {
			if r := v.runAt(at); v.isOffered(at) {
				offers, declares = true, declares || v.Segments[at.segment].classes.HasAny(r.operationsEnd, r.end)
			}
		}
		if !offers || declares {
			continue
		}
		for _, at := range documents {
			s, r := &v.Segments[at.segment], v.runAt(at)
			if s.classes.HasAny(r.operationsEnd, r.end) && !r.Kind.IsAlias() {
				s.Reachable.AddRange(r.operationsEnd, r.end)
				s.Reachable.Remove(r.operationsEnd) // its service
				break
			}
		}
	}
}

// HasOperationOf reports whether masks have an operation of the document of an entry, or of another
// document of its host if that one has no operations that a search may return.
func (v *View) HasOperationOf(p EntryRef, masks []bitset.Set) bool {
	r := v.RunOf(p)
	if masks[p.Segment].HasAny(r.start, r.operationsEnd) {
		return true
	}
	if v.Segments[p.Segment].Searchable.HasAny(r.start, r.operationsEnd) {
		return false
	}
	return slices.ContainsFunc(v.several[r.Host], func(at runRef) bool {
		return masks[at.segment].HasAny(v.Segments[at.segment].OperationsOf(at.run))
	})
}
