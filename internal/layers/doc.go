// Package layers holds the test of the import direction: bytes become a
// document, a document is stored, the store feeds the index, and answers come
// last. A package imports from lower rows only. It contains no code of the
// program; start with layers_test.go, where the rows are written down.
package layers
