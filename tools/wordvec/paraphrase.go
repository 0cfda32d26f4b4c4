package main

import (
	"math/rand/v2"
	"slices"
	"strings"

	"gazetteer/internal/fakenet/corpus"
)

// Most of a paraphrase group are near copies of each other; a few say all.
const perGroup = 20

// A told is one provider's way to describe an operation.
type told struct {
	provider string
	sentence []string
	right    []rawPart // the sentence, and now and then the names beside it
}

// paraphrases pairs the sentences with which different providers describe an
// operation of the same name: "Creates a new customer" and "Add a buyer to the
// shop" when both are called createCustomer.
func paraphrases(services []corpus.Service, seed uint64) []rawExample {
	groups := map[string][]told{}
	var keys []string
	for _, s := range services {
		own := ownWords(s)
		for _, op := range s.Operations {
			sentence, key := wordsOf(op.Intent), keyOf(op, own)
			if len(sentence) < 2 || key == "" {
				continue
			}
			if groups[key] == nil {
				keys = append(keys, key)
			}
			names := append(wordsOf(op.Verb), wordsOf(op.ID)...)
			groups[key] = append(groups[key], told{s.Provider, sentence, []rawPart{
				{sentence, 1}, {names, .5}, {wordsOf(op.Path), .3}, {wordsOf(s.Name), .3},
			}})
		}
	}
	r := rand.New(rand.NewPCG(seed, 3))
	var out []rawExample
	for _, key := range keys {
		out = append(out, pairUp(key, groups[key], r)...)
	}
	return out
}

// pairUp gives those of a group a partner of another provider, by lot.
func pairUp(key string, group []told, r *rand.Rand) []rawExample {
	var out []rawExample
	for _, a := range group {
		for range 4 { // tries
			b := group[r.IntN(len(group))]
			if b.provider != a.provider && !slices.Equal(a.sentence, b.sentence) {
				out = append(out, rawExample{left: always(a.sentence), right: b.right, group: key, asked: true})
				break
			}
		}
		if len(out) == perGroup {
			break
		}
	}
	return out
}

// keyOf returns what operations of the same name have in common: the words of
// verb and id, sorted, in the singular, without those that say nothing or name
// the service. It is "" when too little is left.
func keyOf(op corpus.Operation, own map[string]bool) string {
	var key []string
	for _, w := range append(wordsOf(strings.ToLower(op.Verb)), wordsOf(op.ID)...) {
		if w = singular(w); !empty[w] && !own[w] {
			key = append(key, w)
		}
	}
	slices.Sort(key)
	key = slices.Compact(key)
	if len(key) < 2 {
		return ""
	}
	return strings.Join(key, " ")
}

func ownWords(s corpus.Service) map[string]bool {
	own := map[string]bool{}
	for _, w := range wordsOf(s.Name + " " + s.ID + " " + s.Provider) {
		own[singular(w)] = true
	}
	return own
}

func singular(w string) string {
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
		return w[:len(w)-1]
	}
	return w
}

// empty holds words that a name may have or lack.
var empty = map[string]bool{
	"a": true, "all": true, "an": true, "and": true, "api": true, "by": true, "for": true, "from": true,
	"get": true, "id": true, "in": true, "of": true, "on": true, "or": true, "post": true, "put": true,
	"the": true, "to": true, "using": true, "v": true, "with": true,
}

// Of a service that describes itself, so many words and operations are taken.
const (
	descriptionWords      = 40
	descriptionOperations = 5
)

// descriptions pairs what a service says of itself with its name, and with what
// some of its operations say.
func descriptions(services []corpus.Service, seed uint64) []rawExample {
	r := rand.New(rand.NewPCG(seed, 4))
	var out []rawExample
	for _, s := range services {
		text := wordsOf(s.Description)
		if len(text) < 4 || len(s.Operations) == 0 {
			continue
		}
		text = text[:min(len(text), descriptionWords)]
		name := wordsOf(s.Name)
		out = append(out, rawExample{
			left:  always(text),
			right: always(append(name, wordsOf(strings.Join(s.Categories, " "))...)),
			group: s.ID,
		})
		for range min(descriptionOperations, len(s.Operations)) {
			op := s.Operations[r.IntN(len(s.Operations))]
			out = append(out, rawExample{
				left:  always(wordsOf(op.Intent)),
				right: []rawPart{{text, 1}, {name, .5}},
				group: s.ID,
				asked: true,
			})
		}
	}
	return out
}
