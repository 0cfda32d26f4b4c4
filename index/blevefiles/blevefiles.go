// Package blevefiles names the files of a bleve index, and checks them before bleve opens them. Begin with
// [Inspect].
package blevefiles

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gazetteer/index/damage"
	"gazetteer/store/boltfile"

	"github.com/blevesearch/bleve/v2/util"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// The files of a bleve index, RootFile below StoreDir.
const (
	MetaFile = "index_meta.json"
	StoreDir = "store"
	RootFile = "root.bolt"
	// UnfinishedFile exists next to them while an index is being created. If the process ends
	// meanwhile, there is no index instead of a damaged one.
	UnfinishedFile = "unfinished"
)

// LockTimeout bounds the wait for a lock on the index. Without it, bleve waits without a limit.
const LockTimeout = 300 * time.Millisecond

// ErrHeld means that another process has the index open.
var ErrHeld = errors.New("another process holds the index")

// Inspect reads an index directory before bleve does, because bleve treats an emptied root
// file as a new index, may end the process on a truncated one, and opens segments without reading
// them. It returns nil for a sound index, fs.ErrNotExist when there is none, ErrHeld or an error of
// [damage.Errorf].
func Inspect(dir string) error {
	if err := checkFiles(dir); err != nil {
		return err
	}
	root := filepath.Join(dir, StoreDir, RootFile)
	var segments []string
	err := damage.Recover(func() (err error) { segments, err = ReadRoot(root); return err })
	if err != nil {
		return err
	}
	for _, name := range segments {
		if err := checkSegment(filepath.Join(dir, StoreDir, filepath.Base(name))); err != nil {
			return err
		}
	}
	return nil
}

// checkFiles checks that the files of an index exist.
func checkFiles(dir string) error {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(files) == 0 {
		return fs.ErrNotExist
	}
	if err != nil {
		return damage.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, UnfinishedFile)); err == nil {
		return fs.ErrNotExist
	}
	for _, name := range []string{MetaFile, filepath.Join(StoreDir, RootFile)} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.Mode().IsRegular() {
			return damage.Errorf("%s is missing", name)
		}
		if info.Size() == 0 {
			return damage.Errorf("%s is empty", name)
		}
	}
	return nil
}

// ReadRoot reads a whole root file and returns the segment files that its newest snapshot names.
func ReadRoot(path string) ([]string, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: LockTimeout})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, ErrHeld
	}
	if err != nil {
		return nil, damage.Errorf("%s: %v", RootFile, err)
	}
	defer db.Close() // nothing was written
	if err := inspectRoot(path); err != nil {
		return nil, err
	}
	var segments []string
	err = db.View(func(tx *bbolt.Tx) error {
		snapshots := tx.Bucket(util.BoltSnapshotsBucket)
		if snapshots == nil {
			return damage.Errorf("%s has no snapshot", RootFile)
		}
		newest, _ := snapshots.Cursor().Last()
		return snapshots.ForEachBucket(func(name []byte) error {
			found := segmentFiles(snapshots.Bucket(name))
			if string(name) == string(newest) {
				segments = found
			}
			return nil
		})
	})
	return segments, err
}

// inspectRoot checks that the pages of a root file lead to each other in no circle: bbolt would follow it
// until the memory is full.
func inspectRoot(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return damage.Errorf("%s: %v", RootFile, err)
	}
	defer f.Close() // only read
	info, err := f.Stat()
	if err != nil {
		return damage.Errorf("%s: %v", RootFile, err)
	}
	problem, err := boltfile.InspectNested(f, info.Size())
	if err != nil {
		return damage.Errorf("%s: %v", RootFile, err)
	}
	if problem != "" {
		return damage.Errorf("%s %s", RootFile, problem)
	}
	return nil
}

// segmentFiles walks a bucket and returns the files it names.
func segmentFiles(b *bbolt.Bucket) []string {
	var files []string
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		switch {
		case v == nil:
			files = append(files, segmentFiles(b.Bucket(k))...)
		case string(k) == string(util.BoltPathKey):
			files = append(files, string(v))
		}
	}
	return files
}

// checkSegment compares a segment file with the checksum at its end: CRC-32 of
// all bytes before it.
func checkSegment(path string) error {
	name := filepath.Base(path)
	f, err := os.Open(path)
	if err != nil {
		return damage.Errorf("segment %s: %v", name, err)
	}
	defer f.Close() // only read
	info, err := f.Stat()
	if err != nil {
		return damage.Errorf("segment %s: %v", name, err)
	}
	if info.Size() < 4 {
		return damage.Errorf("segment %s has %d bytes", name, info.Size())
	}
	sum := crc32.NewIEEE()
	r := bufio.NewReaderSize(f, 1<<20)
	if _, err := io.CopyN(sum, r, info.Size()-4); err != nil {
		return damage.Errorf("segment %s: %v", name, err)
	}
	var want [4]byte
	if _, err := io.ReadFull(r, want[:]); err != nil {
		return damage.Errorf("segment %s: %v", name, err)
	}
	if binary.BigEndian.Uint32(want[:]) != sum.Sum32() {
		return damage.Errorf("segment %s does not match its checksum", name)
	}
	return nil
}
