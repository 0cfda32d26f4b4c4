package api

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/route"
	"gazetteer/protocol"
)

func (a *API) searchByBody(ctx context.Context, in *route.JSONBody) (*route.PageOutput, error) {
	b, err := a.readBodyQuery(in.Text, nil, nil)
	if err != nil {
		return nil, err
	}
	s, err := readSearch(b.values)
	if err != nil {
		return nil, b.locateError(err)
	}
	out, err := a.runSearch(ctx, s)
	return out, b.locateError(err)
}

// A bodyQuery is a search in the form of a JSON object.
type bodyQuery struct {
	values  url.Values                // as if it had been asked for in the address
	members map[string]*protocol.Node // all of them, by name
}

// readBodyQuery reads a JSON object. Its members are the parameters of a search, except some, and
// the named members, which are no parameter values.
func (a *API) readBodyQuery(text []byte, without, others []string) (bodyQuery, error) {
	root, err := protocol.ReadJSON(text, protocol.Limits{})
	if err != nil {
		return bodyQuery{}, err
	}
	if root.Kind != protocol.Object {
		return bodyQuery{}, route.NewProblem(route.BadBody, "the body is no JSON object", `send an object such as {"q": "book a table"}`).WithLocation(route.BodyLocation(root))
	}
	var known []string
	parameters := map[string]*huma.Param{}
	for _, p := range a.searchParameters {
		if !slices.Contains(without, p.Name) {
			parameters[p.Name] = p
			known = append(known, p.Name)
		}
	}
	known = append(known, others...)
	q := bodyQuery{url.Values{}, map[string]*protocol.Node{}}
	for _, m := range root.Items {
		q.members[m.Key] = m
		p := parameters[m.Key]
		switch {
		case slices.Contains(others, m.Key):
		case p == nil:
			return bodyQuery{}, route.NewProblem(route.BadField, fmt.Sprintf("there is no member %.60q here", m.Key), route.DescribeKnown(m.Key, known)).WithLocation(route.BodyLocation(m))
		default:
			if q.values[p.Name], err = memberValues(p, m); err != nil {
				return bodyQuery{}, q.locateError(err)
			}
		}
	}
	return q, nil
}

// memberValues reads the values of one member by the schema of its parameter.
func memberValues(p *huma.Param, m *protocol.Node) ([]string, error) {
	schema, nodes := p.Schema, []*protocol.Node{m}
	if schema.Type == huma.TypeArray {
		schema = schema.Items
		if m.Kind == protocol.Array {
			nodes = m.Items
		}
	}
	wanted := map[string]protocol.Kind{huma.TypeInteger: protocol.Number, huma.TypeNumber: protocol.Number, huma.TypeBoolean: protocol.Bool}
	kind, ok := wanted[schema.Type]
	if !ok {
		kind = protocol.String
	}
	texts := make([]string, 0, len(nodes))
	for _, n := range nodes {
		if n.Kind != kind {
			return nil, route.NewProblem(route.BadField, describeWrongKind(p.Name, kind, n.Kind), p.Name+" is "+p.Description).WithLocation(route.BodyLocation(n))
		}
		texts = append(texts, n.Text)
	}
	// The checker needs no schemas of other types for texts, numbers and booleans.
	return texts, route.ParameterChecker{}.CheckValues(p, texts)
}

// describeWrongKind says that a value has another kind than the wanted one.
func describeWrongKind(name string, wanted, got protocol.Kind) string {
	article := "a "
	switch got {
	case protocol.Null:
		article = ""
	case protocol.Array, protocol.Object:
		article = "an "
	}
	return fmt.Sprintf("%s must be a %s, not %s%s", name, wanted, article, got)
}

// locateError adds the place in the body to a problem with a parameter; it returns other errors
// unchanged.
func (b bodyQuery) locateError(err error) error {
	if err == nil {
		return nil
	}
	r := route.ProblemFor(err)
	w := r.Problem.Where
	if w == nil || w.Parameter == "" {
		return err
	}
	if r.Problem.Code == route.BadParameter.Code {
		r.Problem.Type, r.Problem.Title, r.Problem.Code = route.ProblemType(route.BadField), route.BadField.Title, route.BadField.Code
	}
	n := b.members[w.Parameter]
	if n == nil {
		return r.WithLocation(route.Location{Pointer: "/" + w.Parameter})
	}
	if n.Kind == protocol.Array && r.Nth > 0 {
		n = n.Items[r.Nth-1]
	}
	if w.Column > 0 { // within the text, which escapes may have made longer in the body
		return r.WithLocation(route.Location{Pointer: n.Pointer, Column: w.Column})
	}
	return r.WithLocation(route.BodyLocation(n))
}
