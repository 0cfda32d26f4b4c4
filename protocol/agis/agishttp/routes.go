package agishttp

import (
	"net/url"
	"slices"
	"strings"

	"gazetteer/protocol/agis"
)

// routes is a tree of path segments with the endpoints of one document. It does not change after it
// is built.
type routes struct {
	root      segment
	namespace string
	verbs     []string // all of them, sorted
}

// A segment is one node of the tree. A parameter matches any text that is not empty; a literal name
// takes precedence.
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

// parameterChild returns the child of s for a parameter.
func (s *segment) parameterChild() *segment {
	if s.parameter == nil {
		s.parameter = &segment{}
	}
	return s.parameter
}

// namedChild returns the child of s for a literal name.
func (s *segment) namedChild(name string) *segment {
	if s.names == nil {
		s.names = map[string]*segment{}
	}
	if s.names[name] == nil {
		s.names[name] = &segment{}
	}
	return s.names[name]
}

// matchPath finds the endpoint of a verb at an escaped path, and the values of its parameters. If
// the path exists without the verb, endpoint is nil and verbs lists the verbs of the path.
func (t *routes) matchPath(verb, path string) (endpoint *agis.Endpoint, values map[string]string, verbs []string) {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return nil, nil, nil
	}
	var texts []string
	for s := range strings.SplitSeq(rest, "/") {
		// Each segment is unescaped by itself, so that %2F stays part of a value.
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

// An end is one node of the tree to which a path leads.
type end struct {
	at     *segment
	values []string
}

// matchingEnds follows the path in every possible way, names before parameters. The document's
// endpoints limit the number of ways, because each end is a different node of the tree.
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
