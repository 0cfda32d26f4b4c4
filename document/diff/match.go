package diff

import (
	"slices"
	"strings"

	"gazetteer/document"
	"gazetteer/document/diff/meaning"
	"gazetteer/protocol/english"
)

// pair is an operation in both versions.
type pair struct {
	a, b    *operation
	renamed bool
}

// matchOperations pairs the operations of both versions: first those with the same name, then those
// that differ only in name. The rest were removed or added.
func (c *comparison) matchOperations() (pairs []pair, removed, added []*operation) {
	c.alignDuplicates()
	byKey := make(map[string]*operation, len(c.b.operations))
	for _, o := range c.b.operations {
		byKey[o.key] = o
	}
	taken := map[*operation]bool{}
	for _, a := range c.a.operations {
		if b := byKey[a.key]; b != nil {
			pairs = append(pairs, pair{a: a, b: b})
			taken[b] = true
			continue
		}
		removed = append(removed, a)
	}
	for _, b := range c.b.operations {
		if !taken[b] {
			added = append(added, b)
		}
	}
	if c.a.kind == document.AGISSummary { // a verb in a list has nothing but its name
		return pairs, removed, added
	}
	for _, sameButForName := range c.renameTests() {
		removed = slices.DeleteFunc(removed, func(a *operation) bool {
			i := slices.IndexFunc(added, func(b *operation) bool { return sameButForName(a, b) })
			if i < 0 {
				return false
			}
			pairs = append(pairs, pair{a: a, b: added[i], renamed: true})
			added = slices.Delete(added, i, i+1)
			return true
		})
	}
	return pairs, removed, added
}

// alignDuplicates gives operations that share their name the same key in both versions if they have
// the same content: their order means nothing.
func (c *comparison) alignDuplicates() {
	sharing := func(v *version) map[string][]*operation {
		groups := map[string][]*operation{}
		for _, o := range v.operations {
			name, _, _ := strings.Cut(o.key, "\x00")
			groups[name] = append(groups[name], o)
		}
		return groups
	}
	before, after := sharing(c.a), sharing(c.b)
	for name, olds := range before {
		news := after[name]
		if len(olds) < 2 && len(news) < 2 || len(olds)+len(news) > maxCompared {
			continue
		}
		contents, aligned := contentCache{}, map[*operation]bool{}
		for _, a := range olds {
			i := slices.IndexFunc(news, func(b *operation) bool { return !aligned[b] && contents.contentOf(a) == contents.contentOf(b) })
			if i < 0 {
				continue
			}
			aligned[news[i]] = true
			j := slices.IndexFunc(news, func(b *operation) bool { return b.key == a.key })
			if j >= 0 {
				news[i].key, news[j].key = news[j].key, news[i].key
			} else {
				news[i].key = a.key
			}
		}
	}
}

// maxCompared is the number of unpaired operations that are compared with each other.
const maxCompared = 400

// renameTests returns the tests of whether two operations are one under two names, the strictest
// first.
func (c *comparison) renameTests() []func(a, b *operation) bool {
	if len(c.a.operations) > maxCompared || len(c.b.operations) > maxCompared {
		return nil
	}
	contents := contentCache{}
	sameContent := func(a, b *operation) bool { return contents.contentOf(a) == contents.contentOf(b) }
	if c.a.kind == document.AI {
		return []func(a, b *operation) bool{
			sameContent,
			func(a, b *operation) bool {
				return c.a.callOf(a) == c.b.callOf(b) && meaning.Compare(a.intent.Str(), b.intent.Str()) != meaning.Replaced
			},
			func(a, b *operation) bool {
				return a.canonicalContent("endpoint", "method") == b.canonicalContent("endpoint", "method")
			},
			c.haveSameTask,
		}
	}
	return []func(a, b *operation) bool{
		func(a, b *operation) bool { return a.path == b.path && sameContent(a, b) },
		func(a, b *operation) bool { return a.verb == b.verb && sameContent(a, b) },
		sameContent,
		func(a, b *operation) bool {
			return a.verb == b.verb && stripParameterNames(a.path) == stripParameterNames(b.path)
		},
		func(a, b *operation) bool {
			return a.path == b.path && english.SameSense(strings.ToLower(a.verb), strings.ToLower(b.verb)) &&
				a.canonicalContent("semantic") == b.canonicalContent("semantic") && meaning.Compare(a.intent.Str(), b.intent.Str()) != meaning.Replaced
		},
		func(a, b *operation) bool { return (a.verb == b.verb || a.path == b.path) && c.haveSameTask(a, b) },
	}
}

// haveSameTask reports whether two operations have the same description and the same parameters. So
// a new name hides no other change, such as a lowered effect or another host.
func (c *comparison) haveSameTask(a, b *operation) bool {
	if intent := intentOf(c.a, a); intent == "" || intent != intentOf(c.b, b) {
		return false
	}
	before, _ := c.a.namesOf(a)
	after, _ := c.b.namesOf(b)
	slices.Sort(before)
	slices.Sort(after)
	return slices.Equal(before, after)
}

// stripParameterNames returns a path without the names of its parameters.
func stripParameterNames(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}") || len(s) > 1 && strings.HasPrefix(s, ":") {
			segments[i] = "{}"
		}
	}
	return strings.Join(segments, "/")
}

// findReplaced returns the operations that took over the meaning, the call or all of another one that
// had it before.
func (c *comparison) findReplaced(pairs []pair) map[*operation]bool {
	out := map[*operation]bool{}
	c.findExchanges(pairs, out, intentOf)
	if c.a.kind == document.AI {
		c.findExchanges(pairs, out, (*version).callOf)
	}
	c.findTakeovers(pairs, out)
	return out
}

func intentOf(_ *version, o *operation) string { return meaning.NormalizeSpace(o.intent.Str()) }

// findExchanges finds operations that exchanged a property, two with each other or several in a
// cycle.
func (c *comparison) findExchanges(pairs []pair, out map[*operation]bool, property func(*version, *operation) string) {
	next := map[string]string{} // where the property of an operation came from, and which one it has now
	var moved []*operation
	for _, p := range pairs {
		from, to := property(c.a, p.a), property(c.b, p.b)
		if !p.renamed && from != to && from != "" && to != "" {
			next[from] = to
			moved = append(moved, p.a)
		}
	}
	for _, a := range moved {
		start := property(c.a, a)
		at := next[start]
		for range moved {
			if at == start || at == "" {
				break
			}
			at = next[at]
		}
		if at == start {
			out[a] = true
		}
	}
}

// findTakeovers finds operations that are now, under their old name, described as another one was, or
// exactly what another one was.
func (c *comparison) findTakeovers(pairs []pair, out map[*operation]bool) {
	if c.a.kind == document.AGISSummary {
		return
	}
	owners := make(map[string][]*operation, len(c.a.operations)) // by intent
	for _, o := range c.a.operations {
		intent := intentOf(c.a, o)
		owners[intent] = append(owners[intent], o)
	}
	contents := contentCache{}
	for _, p := range pairs {
		was, is := intentOf(c.a, p.a), intentOf(c.b, p.b)
		if p.renamed || was == is && (c.a.kind != document.AI || c.a.callOf(p.a) == c.b.callOf(p.b)) {
			continue
		}
		earlier := owners[is]
		if was != is && was != "" && is != "" && len(earlier) == 1 {
			out[p.a] = true
			continue
		}
		owner := slices.IndexFunc(earlier, func(o *operation) bool { return contents.contentOf(o) == contents.contentOf(p.b) })
		if owner >= 0 && earlier[owner] != p.a {
			out[p.a] = true
		}
	}
}

// contentCache keeps the canonical contents of operations.
type contentCache map[*operation]string

func (c contentCache) contentOf(o *operation) string {
	text, known := c[o]
	if !known {
		text = o.canonicalContent()
		c[o] = text
	}
	return text
}
