package api

import (
	"github.com/danielgtaylor/huma/v2"

	"gazetteer/document"
)

// A storedKind is the kind of a stored document: any row of [document.Formats].
type storedKind string

// Schema lists the kinds (huma.SchemaProvider).
func (storedKind) Schema(huma.Registry) *huma.Schema { return kindSchema(document.Kinds()) }

// A judgedKind is a kind by which a text can be judged.
type judgedKind string

// Schema lists the kinds (huma.SchemaProvider).
func (judgedKind) Schema(huma.Registry) *huma.Schema {
	return kindSchema(document.AuthoritativeKinds())
}

func kindSchema(kinds []document.Kind) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, k := range kinds {
		s.Enum = append(s.Enum, string(k))
	}
	s.PrecomputeMessages()
	return s
}
