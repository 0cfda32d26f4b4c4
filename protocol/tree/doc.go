// Package tree builds and copies trees of [protocol.Node], the form in which every reader of this
// module returns a document.
//
// A node belongs to one place of one tree. To use a value in two places, copy it with [Clone].
// Write a finished tree with [protocol.WriteJSON] or with [gazetteer/protocol/yaml.Write].
package tree
