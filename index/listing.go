package index

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/index/scorch"
)

// A ValueCount is one value of a listing, with the number of operations and of
// services that have it.
type ValueCount struct {
	Value      string `json:"value"`
	Operations int    `json:"operations"`
	Services   int    `json:"services"`
}

// Namespaces returns all namespaces that qualify verbs (AGIS §8.2), sorted. What a
// search would not return (aliases, superseded documents) does not count.
func (x *Index) Namespaces(ctx context.Context) ([]ValueCount, error) {
	return x.listing(ctx, namespaceField)
}

// DataClasses returns all data classes that services say they hold (AGIS §8.3),
// sorted; otherwise as [Index.Namespaces].
func (x *Index) DataClasses(ctx context.Context) ([]ValueCount, error) {
	return x.listing(ctx, classField)
}

func (x *Index) listing(ctx context.Context, field string) ([]ValueCount, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var values []ValueCount
	err := x.read(func(l *live, _ uint64, snapshot *scorch.IndexSnapshot, v *view) (err error) {
		values, err = l.list(snapshot, v, field)
		return err
	})
	return slices.Clone(values), err
}

// list counts the values of a field over all that a search may return. A view
// counts each field once.
func (l *live) list(snapshot *scorch.IndexSnapshot, v *view, field string) ([]ValueCount, error) {
	v.listMu.Lock()
	defer v.listMu.Unlock()
	if list, ok := v.lists[field]; ok {
		return list, nil
	}
	operations := make(map[string]int)
	hosts := make(map[string]map[string]bool)
	count := func(value, host string, n int) {
		if hosts[value] == nil {
			hosts[value] = make(map[string]bool)
		}
		operations[value] += n
		hosts[value][host] = true
	}
	for i, s := range snapshot.Segments() {
		vs := &v.segments[i]
		c, err := vs.column(s, field)
		if err != nil {
			return nil, err
		}
		perRun := make([]int, len(vs.runs))
		vs.searched.each(func(n uint32) {
			r := vs.runOf[n]
			perRun[r]++
			if at := c.of(n); at > 0 {
				count(c.values[at], vs.runs[r].host, 1)
			}
		})
		for r, n := range perRun {
			for _, at := range c.runs[r] {
				if n > 0 {
					count(c.values[at], vs.runs[r].host, n)
				}
			}
		}
	}
	list := make([]ValueCount, 0, len(operations))
	for value, n := range operations {
		list = append(list, ValueCount{value, n, len(hosts[value])})
	}
	slices.SortFunc(list, func(a, b ValueCount) int { return strings.Compare(a.Value, b.Value) })
	if v.lists == nil {
		v.lists = make(map[string][]ValueCount)
	}
	v.lists[field] = list
	return list, nil
}

// The kinds of a [Suggestion].
const (
	SuggestVerb      = "verb"
	SuggestNamespace = "namespace"
	SuggestClass     = "class"
	SuggestService   = "service" // a host
	SuggestNoun      = "noun"    // a word of what operations are called
)

// A Suggestion is something that exists and begins like what was typed.
type Suggestion struct {
	Text       string `json:"text"`
	Kind       string `json:"kind"`
	Operations int    `json:"operations"`
}

// maxPrefix is how many characters of a beginning are looked at, and maxNouns how
// many words that begin so are counted.
const (
	maxPrefix = 64
	maxNouns  = 2000
)

// Suggest completes what was typed, in any case: at most limit (10 when 0, at most
// 100) verbs, namespaces, data classes, services and nouns, the most offered
// first. Nothing completes an empty text.
func (x *Index) Suggest(ctx context.Context, typed string, limit int) ([]Suggestion, error) {
	if limit == 0 {
		limit = 10
	}
	if limit < 1 || limit > maxLimit {
		return nil, &QueryError{Query: typed, Message: fmt.Sprintf("a limit of %d", limit), Help: fmt.Sprintf("ask for 1 to %d suggestions", maxLimit)}
	}
	typed = splitName(strings.TrimSpace(typed))
	suggestions := []Suggestion{}
	if typed == "" || len(typed) > 4*maxPrefix {
		return suggestions, ctx.Err()
	}
	err := x.read(func(l *live, _ uint64, snapshot *scorch.IndexSnapshot, v *view) error {
		for _, list := range []struct{ kind, field string }{{SuggestVerb, verbField}, {SuggestNamespace, namespaceField}, {SuggestClass, classField}} {
			values, err := l.list(snapshot, v, list.field)
			if err != nil {
				return err
			}
			for _, value := range values {
				if begins(value.Value, typed) {
					suggestions = append(suggestions, Suggestion{value.Value, list.kind, value.Operations})
				}
			}
		}
		suggestions = append(suggestions, v.hostsWith(strings.ToLower(typed))...)
		nouns, err := nounsWith(ctx, snapshot, v, strings.ToLower(typed))
		suggestions = append(suggestions, nouns...)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(suggestions, func(a, b Suggestion) int {
		return cmp.Or(cmp.Compare(b.Operations, a.Operations), strings.Compare(a.Text, b.Text))
	})
	return suggestions[:min(limit, len(suggestions))], nil
}

// begins reports whether a value, or what splitting makes of it, begins with what
// was typed.
func begins(value, typed string) bool {
	return hasPrefixFold(value, typed) || hasPrefixFold(splitName(value), typed)
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// hostsWith returns the hosts that begin with a text.
func (v *view) hostsWith(typed string) []Suggestion {
	operations := make(map[string]int)
	typed = strings.ReplaceAll(typed, " ", ".") // splitName took the dots out
	for i := range v.segments {
		s := &v.segments[i]
		from, _ := slices.BinarySearchFunc(s.runs, typed, func(r run, typed string) int { return strings.Compare(r.host, typed) })
		for r := from; r < len(s.runs) && strings.HasPrefix(s.runs[r].host, typed); r++ {
			for _, n := range s.operationsOf(uint32(r)) {
				if s.searched.has(n) {
					operations[s.runs[r].host]++
				}
			}
		}
	}
	var out []Suggestion
	for host, n := range operations {
		out = append(out, Suggestion{host, SuggestService, n})
	}
	return out
}

// nounsWith returns the words of what operations are called that begin with a
// text.
func nounsWith(ctx context.Context, snapshot *scorch.IndexSnapshot, v *view, typed string) ([]Suggestion, error) {
	operations := make(map[string]int)
	for i, s := range snapshot.Segments() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		dictionary, err := s.Segment().Dictionary(actField.String())
		if err != nil {
			return nil, damaged("field act of segment %d: %v", s.Id(), err)
		}
		terms := dictionary.AutomatonIterator(nil, []byte(typed), after(typed))
		for range maxNouns {
			term, err := terms.Next()
			if err != nil {
				return nil, damaged("field act of segment %d: %v", s.Id(), err)
			}
			if term == nil {
				break
			}
			err = eachPosting(s, dictionary, term.Term, false, func(number uint32, _, _ int) {
				if v.segments[i].searched.has(number) {
					operations[term.Term]++
				}
			})
			if err != nil {
				return nil, err
			}
		}
	}
	var out []Suggestion
	for noun, n := range operations {
		out = append(out, Suggestion{noun, SuggestNoun, n})
	}
	return out, nil
}

// after is the first text that does not begin with prefix, nil when there is none.
func after(prefix string) []byte {
	end := bytes.Clone([]byte(prefix))
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xFF {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}
