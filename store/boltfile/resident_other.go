//go:build !linux

package boltfile

import bolt "go.etcd.io/bbolt"

// releaseMapped does nothing: other systems keep the pages of a mapping that advice releases.
func (f *File) releaseMapped() {}

// ReleaseListed does nothing, like releaseMapped.
func (f *File) ReleaseListed(*bolt.Tx, int) {}
