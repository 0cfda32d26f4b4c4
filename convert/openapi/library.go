package openapi

import (
	"context"
	"errors"
	"log/slog"

	"github.com/pb33f/go-yaml"
	"github.com/pb33f/libopenapi/datamodel"
	"github.com/pb33f/libopenapi/datamodel/low"
	"github.com/pb33f/libopenapi/datamodel/low/base"
	"github.com/pb33f/libopenapi/index"

	"gazetteer/protocol"
	"gazetteer/protocol/conversion"
	"gazetteer/protocol/tree"
)

// A library builds the objects of a description with libopenapi, one operation at a time: an
// operation that the library refuses does not take the others with it.
//
// The library never sees the bytes. It gets a copy of the tree that our readers made under their
// limits, with the same lines and columns. The copy leaves out references that cannot be resolved
// and members that are null, for which the library would refuse the whole description.
type library struct {
	ctx    context.Context
	index  *index.SpecIndex
	refs   *conversion.References
	copies map[*protocol.Node]*yaml.Node
	nodes  map[*yaml.Node]*protocol.Node
}

// newLibrary indexes a description.
func newLibrary(root *protocol.Node, refs *conversion.References) *library {
	l := &library{refs: refs, copies: map[*protocol.Node]*yaml.Node{}, nodes: map[*yaml.Node]*protocol.Node{}}
	//lint:ignore SA1029 the library looks its context up under this text
	l.ctx = context.WithValue(context.Background(), "modelCtx", &base.ModelContext{})
	document := &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{l.copyNode(root, nil, false)}}
	config := index.CreateClosedAPIIndexConfig()
	config.Logger = slog.New(slog.DiscardHandler)
	config.SpecInfo = &datamodel.SpecInfo{RootNode: document}
	config.AvoidCircularReferenceCheck = true
	config.SkipExternalRefResolution = true
	config.SkipMetadataCollection = true
	l.index = index.NewSpecIndexWithConfig(document, config)
	return l
}

// copyNode copies a value for the library. parent is the object or list that holds it; inSchema is
// set for schemas, whose members may have any name.
func (l *library) copyNode(n, parent *protocol.Node, inSchema bool) *yaml.Node {
	out := &yaml.Node{Kind: yaml.ScalarNode, Value: n.Text, Line: n.Line, Column: n.Column}
	l.copies[n], l.nodes[out] = out, n
	switch n.Kind {
	case protocol.Object:
		out.Kind, out.Tag = yaml.MappingNode, "!!map"
	case protocol.Array:
		out.Kind, out.Tag = yaml.SequenceNode, "!!seq"
	case protocol.Bool:
		out.Tag = "!!bool"
	case protocol.Number:
		out.Tag = "!!float"
	default:
		out.Tag = "!!str"
	}
	for _, item := range n.Items {
		below := inSchema || item.Key == "schema" || item.Key == "schemas" || item.Key == "definitions"
		if !l.isUsable(item) || !below && !hasKnownShape(item, n, parent) {
			continue
		}
		if n.Kind == protocol.Object {
			key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: item.Key, Line: item.KeyLine, Column: item.KeyColumn}
			out.Content = append(out.Content, key)
		}
		out.Content = append(out.Content, l.copyNode(item, n, below))
	}
	return out
}

// isUsable reports whether the library can read a value: it is neither null nor a reference that
// cannot be resolved.
func (l *library) isUsable(n *protocol.Node) bool {
	if n.Kind == protocol.Null {
		return false
	}
	ref := n.Member("$ref")
	return !tree.IsKind(ref, protocol.String) || tree.IsKind(l.refs.Resolve(n), protocol.Object)
}

// hasKnownShape reports whether a value of an object or list has the kind that the specification
// asks for, as far as the name of the member settles it.
func hasKnownShape(n, holder, grand *protocol.Node) bool {
	switch n.Key {
	case "tags", "security", "servers", "consumes", "produces":
		return n.Kind == protocol.Array
	case "parameters":
		return n.Kind == protocol.Array || grand == nil || holder.Key == "components" // maps by name
	case "responses", "requestBody", "content":
		return n.Kind == protocol.Object
	}
	switch holder.Key {
	case "parameters", "responses", "content":
		return n.Kind == protocol.Object
	case "tags", "consumes", "produces":
		return n.Kind == protocol.String
	default:
		return true
	}
}

// buildObject lets the library build one object of a description.
func buildObject[T any, P interface {
	*T
	Build(ctx context.Context, key, root *yaml.Node, idx *index.SpecIndex) error
}](l *library, n *protocol.Node) (P, error) {
	object := P(new(T))
	at := l.copies[n]
	if at == nil {
		return nil, errors.New("its reference leads nowhere in this document")
	}
	if err := low.BuildModel(at, object); err != nil {
		return nil, err
	}
	return object, object.Build(l.ctx, nil, at, l.index)
}

// schemaOf returns the schema of the object that was built from a node, with references unresolved;
// nil if there is none.
func (l *library) schemaOf(object *yaml.Node) *protocol.Node {
	return l.nodes[object].Member("schema")
}
