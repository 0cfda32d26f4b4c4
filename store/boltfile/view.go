package boltfile

import (
	"bytes"
	"context"
	"os"
	"sort"
	"unsafe"

	bolt "go.etcd.io/bbolt"

	"gazetteer/store"
)

// View runs read in a read transaction. read must not call anything that may block: writers and
// Close wait for it. doing describes the work in the error for a damaged file. The keys and values
// of the transaction are memory of the file: read must copy those that it keeps.
func (f *File) View(doing string, read func(tx *bolt.Tx) error) error {
	f.inUse.RLock()
	defer f.inUse.RUnlock()
	if f.isClosed() {
		return store.ErrClosed
	}
	if f.isBroken() {
		return f.Err()
	}
	began := false
	err := CatchDamage(doing, func() error {
		tx, err := f.beginTx(false)
		if err != nil {
			return err
		}
		began = true
		defer tx.Rollback()
		return read(tx)
	})
	if err != nil && !began {
		return f.failReads(err)
	}
	return err
}

// beginSnapshot begins a read transaction that a Rebuild keeps open over several steps. It must end
// before the file is replaced.
func (f *File) beginSnapshot() (*bolt.Tx, error) {
	f.inUse.RLock()
	defer f.inUse.RUnlock()
	if f.isClosed() {
		return nil, store.ErrClosed
	}
	if f.isBroken() {
		return nil, f.Err()
	}
	tx, err := f.beginTx(false)
	if err != nil {
		return nil, f.failReads(err)
	}
	return tx, nil
}

// beginTx begins a transaction of bbolt, which reads a meta page there with its locks held: if that
// faulted, everyone else would wait without end. So beginTx first checks for the only cause, a file
// that was truncated under the running process.
func (f *File) beginTx(writable bool) (*bolt.Tx, error) {
	if err := checkMetaPages(f.handle, f.schema.Name); err != nil {
		return nil, err
	}
	return f.db.Begin(writable)
}

func checkMetaPages(file *os.File, name string) error {
	if info, err := file.Stat(); err == nil && info.Size() < 2*pageSize {
		return store.Corruptf("%s was cut to %d bytes while it was open", name, info.Size())
	}
	return nil
}

// WaitDurable waits until the write with that sequence is on disk: a transaction may see a commit
// whose last sync is still running.
func (f *File) WaitDurable(ctx context.Context, seq uint64) error {
	for {
		durable, grown := f.Progress()
		if durable >= seq {
			return nil
		}
		select {
		case <-grown:
		case <-f.failed:
			return f.Err()
		case <-f.closing:
			return store.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Find returns the value of key, nil for none. It detects a damaged page that leads the search past
// the key, hides it, or has more entries than fit, so that the search ends in another page, which may
// hold an earlier value. In a write transaction it also refuses a page that hides other entries, since
// a change of that page would drop them.
func Find(c *bolt.Cursor, key []byte) ([]byte, error) {
	next, value := c.Seek(key)
	if value != nil && bytes.Equal(next, key) {
		if c.Bucket().Writable() {
			return value, checkLeaf(c.Bucket(), key)
		}
		_, _, _, err := findLeaf(c.Bucket(), key)
		return value, err
	}
	if err := checkPosition(c, next, key); err != nil {
		return nil, err
	}
	return nil, checkLeaf(c.Bucket(), key)
}

// FindLast returns the last entry of a bucket, nil for none.
func FindLast(b *bolt.Bucket) (key, value []byte, err error) {
	key, value = b.Cursor().Last()
	return key, value, checkLeaf(b, nil)
}

// Scan calls each with the entries of a bucket from a key on, until each returns false or an error.
// It checks each page that it enters, and returns an error for a damaged one that hides entries or
// leads the search for the first entry to a wrong place.
func Scan(b *bolt.Bucket, from []byte, each func(key, value []byte) (more bool, err error)) error {
	c := b.Cursor()
	first, _ := c.Seek(from)
	err := checkPosition(c, first, from)
	if err == nil {
		err = checkLeaf(b, from)
	}
	if err != nil {
		return err
	}
	var end uintptr // of the previous entry
	for key, value := c.Seek(from); ; key, value = c.Next() {
		begin := address(key)
		if key == nil || begin != end { // the scan has entered a page, or has left the last one
			if err := checkLeaves(b, key); err != nil || key == nil {
				return err
			}
		}
		end = begin + uintptr(len(key)+len(value))
		if more, err := each(key, value); err != nil || !more {
			return err
		}
	}
}

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// pageMap is the mapped file of a transaction.
type pageMap []byte

// checkLeaf checks the leaf page where a search for key ends.
func checkLeaf(b *bolt.Bucket, key []byte) error {
	pages, leaf, _, err := findLeaf(b, key)
	if err != nil || leaf == 0 {
		return err
	}
	return pages.checkLeafPage(leaf)
}

// checkLeaves checks the leaf page where a search for key ends, the last one for nil, and the leaf
// page before it: bbolt passes over a page that seems to be empty.
func checkLeaves(b *bolt.Bucket, key []byte) error {
	pages, leaf, before, err := findLeaf(b, key)
	if err == nil && before != 0 {
		err = pages.checkLeafPage(before)
	}
	if err == nil && leaf != 0 {
		err = pages.checkLeafPage(leaf)
	}
	return err
}

// findLeaf returns the number of the leaf page where a search for key ends, that of the last one for
// nil, and the number of the leaf page before it. 0 stands for none: the entries of a small bucket
// are inside a page of another one. The pages are those of the file, without the changes of the
// transaction.
func findLeaf(b *bolt.Bucket, key []byte) (pages pageMap, leaf, before uint64, err error) {
	leaf = uint64(b.Root())
	if leaf == 0 {
		return nil, 0, 0, nil
	}
	pages = mapPages(b)
	for range maxDepth {
		page, count, err := pages.readPage(leaf)
		if err != nil || order.Uint16(page[8:]) != branchPage {
			return pages, leaf, before, err
		}
		i := count - 1
		if key != nil {
			i = max(0, sort.Search(count, func(i int) bool { return bytes.Compare(branchKey(page, i), key) > 0 })-1)
		}
		leaf = childPage(page, i)
		switch {
		case i > 0:
			before = childPage(page, i-1)
		case before != 0: // the page before begins in another branch
			page, count, err := pages.readPage(before)
			if err != nil {
				return nil, 0, 0, err
			}
			before = childPage(page, count-1)
		}
	}
	return nil, 0, 0, store.Corruptf("the tree at page %d is too deep", b.Root())
}

// mapPages returns the pages of the state that a bucket belongs to.
func mapPages(b *bolt.Bucket) pageMap {
	data := b.Tx().DB().Info().Data
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&data)), b.Tx().Size()) // mapped, so it does not move
}

// findLeaves returns the numbers of all leaf pages of a bucket that has pages of its own. It reads the
// branch pages and the first leaf: all leaves of a tree have the same depth.
func findLeaves(b *bolt.Bucket) (pages pageMap, leaves map[uint64]bool, err error) {
	pages = mapPages(b)
	level := []uint64{uint64(b.Root())}
	for range maxDepth {
		if first, _, err := pages.readPage(level[0]); err != nil {
			return nil, nil, err
		} else if order.Uint16(first[8:]) != branchPage {
			leaves = make(map[uint64]bool, len(level))
			for _, id := range level {
				leaves[id] = true
			}
			return pages, leaves, nil
		}
		var next []uint64
		for _, id := range level {
			page, count, err := pages.readPage(id)
			if err != nil {
				return nil, nil, err
			}
			for i := range count {
				next = append(next, childPage(page, i))
			}
		}
		level = next
	}
	return nil, nil, store.Corruptf("the tree at page %d is too deep", b.Root())
}

// leafKeys returns the keys of a leaf page.
func (p pageMap) leafKeys(id uint64) ([][]byte, error) {
	page, count, err := p.readPage(id)
	if err != nil {
		return nil, err
	}
	keys := make([][]byte, count)
	for i := range keys {
		at := pageHeaderSize + i*elementSize
		begin := uint64(at) + uint64(order.Uint32(page[at+4:]))
		end := begin + uint64(order.Uint32(page[at+8:]))
		if end > uint64(len(page)) {
			return nil, store.Corruptf("entry %d of page %d lies outside", i, id)
		}
		keys[i] = page[begin:end]
	}
	return keys, nil
}

// readPage returns a page and the number of its elements, which is not 0 for a branch.
func (p pageMap) readPage(id uint64) (page []byte, count int, err error) {
	pages := uint64(len(p)) / pageSize
	if id < 2 || id >= pages {
		return nil, 0, store.Corruptf("a page refers to page %d of %d", id, pages)
	}
	page = p[id*pageSize:][:pageSize]
	count = int(order.Uint16(page[10:]))
	if order.Uint16(page[8:]) == branchPage && count == 0 {
		return nil, 0, store.Corruptf("branch page %d is empty", id)
	}
	size := min(1+uint64(order.Uint32(page[12:])), pages-id) * pageSize
	if page = p[id*pageSize:][:size]; pageHeaderSize+count*elementSize > len(page) {
		return nil, 0, store.Corruptf("page %d has %d elements, more than fit", id, count)
	}
	if order.Uint16(page[8:]) == branchPage && !agreesWithCount(page, count) {
		return nil, 0, store.Corruptf("page %d says that it has %d elements, and its list has another length", id, count)
	}
	return page, count, nil
}

func branchKey(page []byte, element int) []byte {
	at := pageHeaderSize + element*elementSize
	return page[at:][order.Uint32(page[at:]):][:order.Uint32(page[at+4:])]
}

func childPage(page []byte, element int) uint64 {
	return order.Uint64(page[pageHeaderSize+element*elementSize+8:])
}

// checkLeafPage checks the count of a leaf page. A damaged element harms one entry alone, and is
// found with it. Only a bucket without entries has an empty page.
func (p pageMap) checkLeafPage(id uint64) error {
	page, count, err := p.readPage(id)
	if err != nil {
		return err
	}
	if !agreesWithCount(page, count) {
		return store.Corruptf("page %d says that it has %d entries, and its list of entries has another length", id, count)
	}
	return nil
}

// checkPosition checks the position at which the search for key has ended, at next or after
// everything: the two entries on either side must be in order and on that side of key. A damaged
// key that the search compared with key is one of them.
func checkPosition(c *bolt.Cursor, next, key []byte) error {
	var afterNext, before, beforeThat []byte
	if next == nil {
		before, _ = c.Last()
	} else {
		if afterNext, _ = c.Next(); afterNext != nil {
			c.Prev()
		}
		before, _ = c.Prev()
	}
	if before != nil {
		beforeThat, _ = c.Prev()
	}
	if next != nil && bytes.Compare(next, key) < 0 || before != nil && bytes.Compare(before, key) >= 0 ||
		afterNext != nil && bytes.Compare(afterNext, next) <= 0 || beforeThat != nil && bytes.Compare(beforeThat, before) >= 0 {
		return store.Corruptf("the search for %q ends at a wrong place", key)
	}
	return nil
}
