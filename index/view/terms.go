package view

import (
	"bytes"
	"context"
	"strings"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"gazetteer/index/bitset"
	"gazetteer/index/entry"
	"gazetteer/protocol/english"
)

// MaxPrefix is the number of characters of a prefix that are used, and maxNouns the number of words
// with that prefix that are counted.
const (
	MaxPrefix = 64
	maxNouns  = 2000
)

// HostsWithLabel returns the hosts with a label that begins with a text, each with the number of
// its operations. The last label does not count, because many hosts share it.
func (v *View) HostsWithLabel(typed string) map[string]int {
	operations := make(map[string]int)
	typed = strings.ReplaceAll(typed, " ", ".") // PrepareName has removed the dots
	within := "." + typed
	for i := range v.Segments {
		s := &v.Segments[i]
		for r := range s.Runs {
			host := s.Runs[r].Host
			at := strings.Index(host, within)
			if !strings.HasPrefix(host, typed) && (at < 0 || at == strings.LastIndexByte(host, '.')) {
				continue
			}
			for n, to := s.OperationsOf(uint32(r)); n < to; n++ {
				if s.Searchable.Has(n) {
					operations[host]++
				}
			}
		}
	}
	return operations
}

// CountTerms returns the terms of a field that begin with a text, with the number
// of operations that have each.
func CountTerms(ctx context.Context, v *View, f entry.Field, typed string) (map[string]int, error) {
	operations := make(map[string]int)
	err := EachTermWith(ctx, v, f, typed, func(i int, s *scorch.SegmentSnapshot, dictionary segment.TermDictionary, term string) error {
		return v.Segments[i].EachPosting(s, dictionary, term, false, func(number uint32, _, _ int) {
			if v.Segments[i].Searchable.Has(number) {
				operations[term]++
			}
		})
	})
	return operations, err
}

// CountTermsBeside returns those of nouns that begin with a text, with how often the operations whose verb or
// path has one of the words have them in their verbs, paths and intents.
func CountTermsBeside(ctx context.Context, v *View, words []string, typed string, nouns map[string]int) (map[string]int, error) {
	operations := make(map[string]int)
	if len(words) == 0 {
		return operations, nil
	}
	beside := make([]bitset.Set, len(v.Segments))
	for i := range v.Segments {
		beside[i] = bitset.New(v.Segments[i].N)
	}
	for _, word := range words {
		err := EachTermWith(ctx, v, entry.ActField, word, func(i int, s *scorch.SegmentSnapshot, dictionary segment.TermDictionary, term string) error {
			if term != word {
				return nil
			}
			return v.Segments[i].EachPosting(s, dictionary, term, false, func(number uint32, _, _ int) { beside[i].Add(number) })
		})
		if err != nil {
			return nil, err
		}
	}
	for _, field := range []entry.Field{entry.ActField, entry.WhatField} {
		err := EachTermWith(ctx, v, field, typed, func(i int, s *scorch.SegmentSnapshot, dictionary segment.TermDictionary, term string) error {
			if _, isNoun := nouns[term]; !isNoun {
				return nil // a frequent word of intents, such as the
			}
			return v.Segments[i].EachPosting(s, dictionary, term, false, func(number uint32, _, _ int) {
				if beside[i].Has(number) && v.Segments[i].Searchable.Has(number) {
					operations[term]++
				}
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return operations, nil
}

// DropOtherNumber removes from counted nouns the plural or the singular, whichever fewer operations have: a
// search for either finds both. It keeps the typed text itself.
func DropOtherNumber(nouns map[string]int, typed string) {
	for plural, n := range nouns {
		singular := english.Singular(plural)
		m, both := nouns[singular]
		switch {
		case !both || singular == plural || typed == singular || typed == plural:
		case n > m:
			delete(nouns, singular)
		default:
			delete(nouns, plural)
		}
	}
}

// EachTermWith calls f with the terms of a field that begin with a text, at most
// maxNouns of each segment.
func EachTermWith(ctx context.Context, v *View, of entry.Field, typed string,
	f func(segment int, s *scorch.SegmentSnapshot, dictionary segment.TermDictionary, term string) error) error {
	for i, s := range v.snapshot.Segments() {
		if err := ctx.Err(); err != nil {
			return err
		}
		dictionary, err := openDictionary(s, of.String())
		if err != nil {
			return err
		}
		terms := dictionary.AutomatonIterator(nil, []byte(typed), prefixEnd(typed))
		for range maxNouns {
			term, err := terms.Next()
			if err != nil {
				return damagedField(s, of.String(), err)
			}
			if term == nil {
				break
			}
			if err := f(i, s, dictionary, term.Term); err != nil {
				return err
			}
		}
	}
	return nil
}

// prefixEnd is the first text that does not begin with prefix, nil when there is none.
func prefixEnd(prefix string) []byte {
	end := bytes.Clone([]byte(prefix))
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xFF {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}
