package answer

import (
	"context"
	"slices"
	"strings"

	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/protocol/did"
	"gazetteer/protocol/english"
)

// maxNear is the largest number of names in an answer that may be meant by an unknown one.
const maxNear = 3

// A Suggester completes a text with names that the index has.
type Suggester interface {
	Suggest(ctx context.Context, before, typed string, limit int, kinds ...string) ([]index.Suggestion, error)
}

// NearHosts returns up to three known hosts that an unknown one may mean: the one that it probably
// misspells, and those whose names begin as it does. It returns none if the index cannot answer, because
// they only help.
func NearHosts(ctx context.Context, names Suggester, host string) []string {
	label, _, _ := strings.Cut(strings.ToLower(host), ".")
	for _, typed := range []string{label, label[:min(len(label), 3)]} {
		if len(typed) < 3 {
			continue
		}
		found, err := names.Suggest(ctx, "", typed, query.MaxLimit, index.SuggestService)
		if err != nil {
			return nil
		}
		hosts := make([]string, len(found))
		for i, s := range found {
			hosts[i] = s.Text
		}
		if near := NearNames(host, label, hosts); len(near) > 0 {
			return near
		}
	}
	return nil
}

// maxComparedHandles is how many handles are compared with an unknown one.
const maxComparedHandles = 1000

// NearHandles returns up to three handles that an unknown one may mean: those that begin with the same
// two letters and are spelled alike, or begin as it does.
func (a *Answers) NearHandles(ctx context.Context, name string) ([]string, error) {
	handle, err := did.FoldHandle(strings.TrimPrefix(name, "@"))
	if err != nil || len(handle) < 3 {
		return nil, nil // it can be none
	}
	handles, err := a.Registry.HandlesWithPrefix(ctx, handle[:2], maxComparedHandles)
	if err != nil {
		return nil, err
	}
	return NearNames(handle, handle, handles), nil
}

// NearNamespaces returns the namespaces that an unknown one may mean: those that look like it, and
// those of a similar spelling.
func (a *Answers) NearNamespaces(ctx context.Context, namespace string) ([]string, error) {
	alike, err := a.FindLookalikes(ctx, namespace)
	if err != nil {
		return nil, err
	}
	all, err := a.Index.Namespaces(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range NearValues(namespace, all, func(v index.ValueCount) string { return v.Value }) {
		if !slices.Contains(alike, name) {
			alike = append(alike, name)
		}
	}
	return alike, nil
}

// NearVerbs returns up to three verbs that an unknown one, in capitals, may mean.
func (a *Answers) NearVerbs(ctx context.Context, verb string) ([]string, error) {
	all, err := a.Verbs(ctx)
	if err != nil {
		return nil, err
	}
	return NearValues(verb, all, func(v index.VerbCount) string { return v.Verb }), nil
}

// NearClasses returns up to three data classes that an unknown one, in lower case, may mean.
func (a *Answers) NearClasses(ctx context.Context, class string) ([]string, error) {
	all, err := a.DataClasses(ctx)
	if err != nil {
		return nil, err
	}
	return NearValues(class, all, func(c ClassCount) string { return c.Class }), nil
}

// NearValues is [NearNames] for the names of values.
func NearValues[T any](word string, all []T, name func(T) string) []string {
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = name(v)
	}
	return NearNames(word, word, names)
}

// NearNames returns up to three of some names: the one that word probably misspells, then those that
// begin with prefix, if that has at least three bytes.
func NearNames(word, prefix string, names []string) []string {
	var near []string
	if name := english.NearName(word, names); name != "" {
		near = append(near, name)
	}
	for _, name := range names {
		if len(near) < maxNear && len(prefix) >= 3 && strings.HasPrefix(name, prefix) && !slices.Contains(near, name) {
			near = append(near, name)
		}
	}
	return near
}
