package agishttp

import (
	"net/url"
	"slices"
	"strings"

	"gazetteer/protocol/agis"
)

// routes is the table of the endpoints of one document: a tree of path
// segments, read only once it is built.
type routes struct {
	root      segment
	namespace string
	verbs     []string // all of them, sorted
}

// A segment is one place in the tree. A parameter stands for any text that is
// not empty; a name is preferred to it.
type segment struct {
	names     map[string]*segment
	parameter *segment
	endpoints []target // those whose path ends here
}

type target struct {
	verb       string
	endpoint   *agis.Endpoint
	parameters []string // names, in the order of the path
}

func newRoutes(d *agis.Document) *routes {
	t := &routes{namespace: d.Vocabulary.Namespace}
	for i := range d.Endpoints {
		e := &d.Endpoints[i]
		to := target{verb: strings.ToUpper(e.Method), endpoint: e}
		at := &t.root
		for _, s := range strings.Split(strings.TrimPrefix(e.Path, "/"), "/") {
			if name, ok := parameterName(s); ok {
				to.parameters = append(to.parameters, name)
				at = at.parameterChild()
				continue
			}
			at = at.namedChild(s)
		}
		at.endpoints = append(at.endpoints, to)
		if !slices.Contains(t.verbs, to.verb) {
			t.verbs = append(t.verbs, to.verb)
		}
	}
	slices.Sort(t.verbs)
	return t
}

func parameterName(s string) (string, bool) {
	inner, open := strings.CutPrefix(s, "{")
	name, closed := strings.CutSuffix(inner, "}")
	return name, open && closed && name != ""
}

// parameterChild returns the segment below s for a parameter.
func (s *segment) parameterChild() *segment {
	if s.parameter == nil {
		s.parameter = &segment{}
	}
	return s.parameter
}

// namedChild returns the segment below s for a name.
func (s *segment) namedChild(name string) *segment {
	if s.names == nil {
		s.names = map[string]*segment{}
	}
	if s.names[name] == nil {
		s.names[name] = &segment{}
	}
	return s.names[name]
}

// matchPath finds the endpoint of a verb at an escaped path, and the values of its
// parameters. When the path exists and the verb does not, endpoint is nil and
// verbs lists those that the path has.
func (t *routes) matchPath(verb, path string) (endpoint *agis.Endpoint, values map[string]string, verbs []string) {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return nil, nil, nil
	}
	var texts []string
	for s := range strings.SplitSeq(rest, "/") {
		// Unescaped segment by segment, so that %2F stays part of a value.
		text, err := url.PathUnescape(s)
		if err != nil || text == "" {
			return nil, nil, nil
		}
		texts = append(texts, text)
	}
	for _, end := range t.root.matchingEnds(texts) {
		for _, to := range end.at.endpoints {
			if to.verb != verb {
				if !slices.Contains(verbs, to.verb) {
					verbs = append(verbs, to.verb)
				}
				continue
			}
			values := make(map[string]string, len(to.parameters))
			for i, name := range to.parameters {
				values[name] = end.values[i]
			}
			return to.endpoint, values, nil
		}
	}
	slices.Sort(verbs)
	return nil, nil, verbs
}

// An end is one place in the tree that a path leads to.
type end struct {
	at     *segment
	values []string
}

// matchingEnds follows the path in every way there is, names before parameters. The
// number of ways is bounded by the endpoints of the document: each end is
// another place of the tree.
func (s *segment) matchingEnds(texts []string) []end {
	found := []end{{at: s}}
	for _, text := range texts {
		var next []end
		for _, f := range found {
			if child := f.at.names[text]; child != nil {
				next = append(next, end{child, f.values})
			}
			if f.at.parameter != nil {
				next = append(next, end{f.at.parameter, append(slices.Clip(f.values), text)})
			}
		}
		if found = next; len(found) == 0 {
			return nil
		}
	}
	return found
}
