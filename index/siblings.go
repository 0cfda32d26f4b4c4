package index

import (
	"context"
	"slices"
	"strings"

	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/semantic"
	"gazetteer/index/tokens"
	"gazetteer/index/view"
	"gazetteer/protocol/effect"
)

const (
	// siblingPlaces is the number of first operations that are compared with others of their host.
	siblingPlaces = 6
	// narrowerShare is the minimum score of an operation, as a share of that of another one of its
	// host, to come before it for its name, and verbShare for its verb.
	narrowerShare = 0.85
	verbShare     = 0.8
	// equalShare is the same for an operation that only reads, where that is what the request wants,
	// and the other one may change something.
	equalShare = 0.98
	// nearName is the minimum cosine of a word of a name and a word of the request that the name lacks
	// to count as the same thing.
	nearName = 0.3
)

// orderSiblings reorders the first entries of each host that has several: see [sibling.comesBefore].
func (s *searcher) orderSiblings(ctx context.Context, entries []view.RankedEntry) error {
	entries = entries[:min(len(entries), siblingPlaces)]
	siblings := make([]sibling, len(entries))
	for i, e := range entries {
		host := s.view.RunOf(e.EntryRef).Host
		if !slices.ContainsFunc(entries, func(o view.RankedEntry) bool {
			return o.EntryRef != e.EntryRef && s.view.RunOf(o.EntryRef).Host == host
		}) {
			continue // there is nothing to compare
		}
		_, operation, err := s.index.readOperation(ctx, s.view, e.EntryRef)
		if err != nil {
			return err
		}
		if operation != nil {
			siblings[i] = s.compareWithRequest(operation)
			siblings[i].host = host
		}
	}
	for i := range entries {
		for j := i; j > 0; {
			k := j - 1 // the sibling before it
			for k >= 0 && (siblings[k].host != siblings[j].host || siblings[k].asked == nil) {
				k--
			}
			if k < 0 || !siblings[j].comesBefore(&siblings[k], float64(entries[j].Score)/float64(entries[k].Score)) {
				break
			}
			// It takes the place and the score of the other, so that scores keep falling.
			entries[k].EntryRef, entries[j].EntryRef = entries[j].EntryRef, entries[k].EntryRef
			siblings[k], siblings[j] = siblings[j], siblings[k]
			j = k
		}
	}
	return nil
}

// A sibling is an operation of a host that has others among the first entries, compared with the
// request.
type sibling struct {
	host   string
	asked  []bool // the words of the request that its name has; nil if it is not compared
	others int    // the number of other things in its name
	class  effect.Class
	verb   verbMatch
	ends   endedObject
	// For a request that only reads: whether the operation only reads, and whether it may change
	// something.
	onlyReads, mayChange bool
}

// verbMatch compares the verb of an operation with that of the request.
type verbMatch int

const (
	similarVerbToAsked verbMatch = iota // or the request has none
	sameVerbAsAsked
	unrelatedVerb
)

// endedObject tells what an operation ends, for a request that ends something.
type endedObject int

const (
	endsNothing endedObject = iota // or its name and its intent do not tell what
	endsObject                     // what the request ends
	endsAnother
)

func (s *searcher) compareWithRequest(o *preparedOperation) sibling {
	b := sibling{asked: make([]bool, len(s.request.Words)), class: o.class, verb: s.matchVerb(o.Verb), ends: s.endedObject(o)}
	if wanted := s.request.Act.Wanted; wanted != 0 && wanted&^query.Reading == 0 && o.class != 0 {
		b.mayChange = o.class&^query.Reading != 0
		b.onlyReads = !b.mayChange
	}
	verb := tokens.StemOf(strings.ToLower(o.Verb))
	var others []int
	for k, t := range o.terms[entry.ActField].terms {
		known := t.Stem == verb // another verb does not make it another thing
		for i, w := range s.request.Words {
			has := func(term tokens.Token) bool { return term.Stem == t.Stem }
			if slices.ContainsFunc(w.Terms, has) || slices.ContainsFunc(w.Meanings, has) {
				b.asked[i], known = true, true
			}
		}
		if !known {
			others = append(others, k)
		}
	}
	for _, k := range others {
		if !s.isNearLacking(o, k, b.asked) {
			b.others++
		}
	}
	return b
}

func (s *searcher) matchVerb(offered string) verbMatch {
	if s.request.Act.Verb == "" {
		return similarVerbToAsked
	}
	switch s.index.verbs.RelateVerb(query.SingleVerb(s.request.Act.Verb), offered) {
	case semantic.RelationExact, semantic.RelationStem:
		return sameVerbAsAsked
	case semantic.RelationSynonym, semantic.RelationHypernym:
		return similarVerbToAsked
	}
	return unrelatedVerb
}

// isNearLacking reports whether a term of an operation's name has a meaning near to that of a word of
// the request that the name lacks: captions, where subtitles are wanted.
func (s *searcher) isNearLacking(o *preparedOperation, term int, has []bool) bool {
	for k := range o.vectors {
		v := &o.vectors[k]
		if v.field != entry.ActField || v.term != term {
			continue
		}
		for i, w := range s.askedWords() {
			if !has[i] && slices.ContainsFunc(w.vectors, func(a askedVector) bool { return a.Cosine(&v.WordVector) > nearName }) {
				return true
			}
		}
	}
	return false
}

// endedObject compares what the intent of an operation says it ends with what the request ends.
func (s *searcher) endedObject(o *preparedOperation) endedObject {
	words := strings.Fields(strings.ToLower(o.Intent))
	if s.request.Act.Object == "" || o.class != effect.End || len(words) < 2 {
		return endsNothing
	}
	switch object := query.ObjectOf(words[1:]); {
	case object == "":
		return endsNothing
	case tokens.StemOf(object) == s.request.Act.Object:
		return endsObject
	}
	if slices.ContainsFunc(o.terms[entry.ActField].terms, func(t tokens.Token) bool { return t.Stem == s.request.Act.Object }) {
		return endsNothing
	}
	return endsAnother
}

// comesBefore reports whether an operation comes before another one of its host, which has a higher
// score: share is its own score as a share of that. It does in four cases:
//   - It ends what the request ends, and the other one something else.
//   - It has the verb of the request, and the other one an unrelated verb.
//   - It only reads, as the request wants, and the other one, with nearly the same score, may change
//     something.
//   - Its name shares the same words with the request and has fewer others: "create an issue" asks for
//     create_issue and not for create_issue_type. Only the same kinds of effect are compared by name,
//     because the ranking has judged the kinds.
func (b *sibling) comesBefore(o *sibling, share float64) bool {
	if b.asked == nil || o.asked == nil {
		return false
	}
	if b.ends == endsObject && o.ends == endsAnother {
		return true
	}
	if b.verb == sameVerbAsAsked && o.verb == unrelatedVerb && share >= verbShare {
		return true
	}
	if b.onlyReads && o.mayChange && share >= equalShare {
		return true
	}
	if b.class != o.class || b.others >= o.others || share < narrowerShare {
		return false
	}
	for i, has := range o.asked {
		if has && !b.asked[i] {
			return false
		}
	}
	return true
}
