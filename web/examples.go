package web

import (
	"context"
	"strings"
	"unicode"

	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/index/query"
)

const (
	examplesShown   = 5
	examplesLookups = 16 // searches a front page may cost
)

// makeExamples makes queries from operations that are offered, and keeps those that
// find something: an example that answers nothing teaches the wrong thing.
func (p *Pages) makeExamples(ctx context.Context, verbs []index.VerbCount) ([]string, error) {
	var found []string
	for lookups := 0; len(verbs) > 0 && lookups < examplesLookups && len(found) < examplesShown; lookups += 2 {
		verb := verbs[0].Verb
		verbs = verbs[1:]
		r, err := p.answers.Search(ctx, query.Query{Verbs: []string{verb}, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(r.Hits) == 0 {
			continue
		}
		text := exampleFrom(r.Hits[0].Operation)
		if len(found) == examplesShown-1 || text == "" {
			text = "verb:" + verb // the last one shows that there are filters
		}
		if ok, err := p.findsAny(ctx, text); err != nil {
			return nil, err
		} else if ok {
			found = append(found, text)
		}
	}
	return found, nil
}

func (p *Pages) findsAny(ctx context.Context, text string) (bool, error) {
	q, err := query.Parse(text)
	if err != nil {
		return false, nil
	}
	q.Limit = 1
	r, err := p.answers.Search(ctx, q)
	return r.Total > 0, err
}

// exampleFrom makes a query of at most five words: the intent when it is that
// short, else the verb and the nouns of the path. It returns "" when neither is
// made of plain words.
func exampleFrom(o document.Operation) string {
	intent := strings.ToLower(strings.TrimRight(o.Intent, "."))
	if n := len(strings.Fields(intent)); n > 1 && n <= 5 && wordsOnly(intent) {
		return intent
	}
	nouns := strings.NewReplacer("/", " ", "-", " ", "_", " ", ".", " ").Replace(o.Path)
	text := strings.ToLower(strings.Join(strings.Fields(o.Verb+" "+nouns), " "))
	if n := len(strings.Fields(text)); n > 1 && n <= 5 && wordsOnly(text) {
		return text
	}
	return ""
}

func wordsOnly(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && !unicode.IsLetter(r) })
}
