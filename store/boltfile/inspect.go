package boltfile

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
)

// bbolt trusts its file: it treats an emptied file as new, faults on a truncated one, recurses
// until the stack overflows on a branch page that points to itself, and overwrites pages that a
// damaged list calls free. So this file first reads the pages that bbolt navigates by, without
// mapping the file: the two meta pages, the free list, and the branch pages of every tree, about
// one page in sixty. Leaves are covered by the checksums of their records. bbolt's own Tx.Check
// would read every page at each start; docs/benchmarks.md has the time of both.
//
// The layout is that of bbolt's file version 2, with integers in the byte order of the machine:
//
//	page	  id 8 | flags 2 | count 2 | overflow 4 | elements
//	meta	  magic 4 | version 4 | page size 4 | flags 4 | root 8 | root sequence 8
//		      | free list 8 | high water 8 | transaction 8 | FNV-64a 8
//	branch	position 4 | key size 4 | page 8
//	leaf	  flags 4 | position 4 | key size 4 | value size 4
const (
	pageSize       = 4096
	pageHeaderSize = 16
	elementSize    = 16
	metaSize       = 64

	bucketHeaderSize = 16

	boltMagic   = 0xED0CDAED
	boltVersion = 2

	branchPage   = 0x01
	leafPage     = 0x02
	freelistPage = 0x10
	bucketFlag   = 0x01

	maxDepth = 32
)

var order = binary.NativeEndian

type meta struct {
	root, freelist, pages, tx uint64
}

// parseMeta returns the meta page and its damage, "" for none.
func parseMeta(page []byte) (m meta, magic bool, problem string) {
	b := page[pageHeaderSize:][:metaSize]
	if order.Uint32(b) != boltMagic {
		return m, false, "is not a bolt file"
	}
	sum := fnv.New64a()
	sum.Write(b[:metaSize-8])
	switch {
	case sum.Sum64() != order.Uint64(b[56:]):
		return m, true, "has a damaged meta page"
	case order.Uint32(b[4:]) != boltVersion:
		return m, true, fmt.Sprintf("has version %d of bolt's format, not %d", order.Uint32(b[4:]), boltVersion)
	case order.Uint32(b[8:]) != pageSize:
		return m, true, fmt.Sprintf("has pages of %d bytes, not %d: it is not ours", order.Uint32(b[8:]), pageSize)
	}
	return meta{
		root:     order.Uint64(b[16:]),
		freelist: order.Uint64(b[32:]),
		pages:    order.Uint64(b[40:]),
		tx:       order.Uint64(b[48:]),
	}, true, ""
}

// Inspect reads the meta, branch and free-list pages of a bolt file. problem describes the damage
// that makes it unusable, "" for none; lostMeta says that one of the two meta pages is damaged, so
// that the newest commit may be missing.
func Inspect(f io.ReaderAt, size int64) (lostMeta bool, problem string, err error) {
	return inspect(f, size, false)
}

// InspectNested is [Inspect] for a small file with buckets inside buckets: it reads the leaves as well.
func InspectNested(f io.ReaderAt, size int64) (problem string, err error) {
	_, problem, err = inspect(f, size, true)
	return problem, err
}

func inspect(f io.ReaderAt, size int64, nested bool) (lostMeta bool, problem string, err error) {
	if size == 0 {
		return false, "is empty", nil
	}
	if size < pageHeaderSize+metaSize {
		return false, fmt.Sprintf("is cut: it has only %d bytes", size), nil
	}
	both := make([]byte, 2*pageSize)
	if n, err := f.ReadAt(both, 0); err != nil && err != io.EOF {
		return false, "", err
	} else if n < len(both) {
		if _, magic, problem := parseMeta(both); !magic {
			return false, problem, nil
		}
		return false, fmt.Sprintf("is cut: it has only %d bytes", size), nil
	}
	newest, lostMeta, problem := chooseMeta(both)
	if problem != "" {
		return false, problem, nil
	}
	if need := int64(newest.pages) * pageSize; newest.pages > 1<<40 || size < need {
		return false, fmt.Sprintf("is cut: it has %d bytes and should have at least %d", size, need), nil
	}
	w := walker{file: f, pages: newest.pages, used: make([]uint64, newest.pages/64+1)}
	leaf := w.walkBuckets
	if nested {
		leaf = w.walkNested
	}
	problem, err = w.walkFile(newest, leaf)
	return lostMeta, problem, err
}

func chooseMeta(both []byte) (newest meta, lost bool, problem string) {
	m0, magic0, problem0 := parseMeta(both)
	m1, magic1, problem1 := parseMeta(both[pageSize:])
	switch {
	case problem0 != "" && problem1 != "":
		if !magic0 && !magic1 {
			return meta{}, false, "is not a bolt file"
		}
		if magic0 {
			return meta{}, false, problem0
		}
		return meta{}, false, problem1
	case problem0 != "":
		return m1, true, ""
	case problem1 != "":
		return m0, true, ""
	case m0.tx > m1.tx:
		return m0, false, ""
	}
	return m1, false, ""
}

// walker visits the branch pages of a file and its free list. It may reach every page only once.
type walker struct {
	file  io.ReaderAt
	pages uint64   // the high-water mark: pages have smaller numbers
	used  []uint64 // a bit for each page that was reached
}

// walkFile returns the damage, "" for none; err is a failure to read.
func (w *walker) walkFile(m meta, leaf func(count int, page []byte)) (problem string, err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case damage:
			problem, err = p.problem, p.err
		default:
			panic(p)
		}
	}()
	w.walkTree(m.root, leaf)
	w.walkFreelist(m.freelist)
	return "", nil
}

// damage ends a walk. It is passed on by a panic because every step of the walk can meet it.
type damage struct {
	problem string
	err     error
}

func throwDamage(form string, args ...any) {
	panic(damage{problem: "is damaged: " + fmt.Sprintf(form, args...)})
}

// markUsed marks a page as used.
func (w *walker) markUsed(id uint64) {
	if id < 2 || id >= w.pages {
		throwDamage("it refers to page %d of %d", id, w.pages)
	}
	if w.used[id/64]&(1<<(id%64)) != 0 {
		throwDamage("page %d is used twice", id)
	}
	w.used[id/64] |= 1 << (id % 64)
}

// readPage reads a whole page with its overflow pages, and marks the latter as used.
func (w *walker) readPage(id uint64) (flags uint16, count int, page []byte) {
	page = w.readBytes(id, 1)
	if order.Uint64(page) != id {
		throwDamage("page %d has the number %d", id, order.Uint64(page))
	}
	flags, count = order.Uint16(page[8:]), int(order.Uint16(page[10:]))
	overflow := uint64(order.Uint32(page[12:]))
	if overflow >= w.pages-id {
		throwDamage("page %d is longer than the file", id)
	}
	for i := range overflow {
		w.markUsed(id + 1 + i)
	}
	if overflow > 0 {
		page = w.readBytes(id, 1+overflow)
	}
	return flags, count, page
}

func (w *walker) readBytes(id, n uint64) []byte {
	b := make([]byte, n*pageSize)
	if _, err := w.file.ReadAt(b, int64(id*pageSize)); err != nil {
		panic(damage{err: err})
	}
	return b
}

// walkTree walks the tree at root. All leaves of a bbolt tree have the same depth, so the path to
// the first leaf tells which pages are leaves. Only the first leaf is read, and passed to leaf if
// that is not nil (a tree of one leaf).
func (w *walker) walkTree(root uint64, leaf func(count int, page []byte)) {
	depth := 0
	for id := root; ; depth++ {
		if depth > maxDepth {
			throwDamage("the tree at page %d is too deep", root)
		}
		if id < 2 || id >= w.pages {
			throwDamage("it refers to page %d of %d", id, w.pages)
		}
		page := w.readBytes(id, 1)
		if order.Uint16(page[8:]) != branchPage {
			break
		}
		id = order.Uint64(page[pageHeaderSize+8:])
	}
	w.walkBranch(root, depth, leaf)
}

func (w *walker) walkBranch(id uint64, height int, leaf func(int, []byte)) {
	w.markUsed(id)
	if height == 0 && leaf == nil {
		return
	}
	flags, count, page := w.readPage(id)
	if pageHeaderSize+count*elementSize > len(page) {
		throwDamage("page %d has %d elements, more than fit", id, count)
	}
	switch {
	case flags == leafPage && leaf != nil:
		leaf(count, page)
	case flags == leafPage:
	case flags != branchPage:
		throwDamage("page %d is of kind %#x where a tree was expected", id, flags)
	case count == 0:
		throwDamage("branch page %d is empty", id)
	case !agreesWithCount(page, count):
		throwDamage("page %d says that it has %d elements, and its list has another length", id, count)
	default:
		w.walkChildren(id, height, count, page, leaf)
	}
}

func (w *walker) walkChildren(id uint64, height, count int, page []byte, leaf func(int, []byte)) {
	for i := range count {
		at := pageHeaderSize + i*elementSize
		pos, size := uint64(order.Uint32(page[at:])), uint64(order.Uint32(page[at+4:]))
		if uint64(at)+pos+size > uint64(len(page)) {
			throwDamage("element %d of page %d lies outside", i, id)
		}
		w.walkBranch(order.Uint64(page[at+8:]), max(height-1, 0), leaf)
	}
}

// agreesWithCount reports whether the elements of a page lie as those of a page with that count do.
// bbolt writes their keys and values one behind another, and the first directly behind the list of
// elements; so the places of the first two tell how many the page has. If only one of them agrees
// with the count, an element is damaged, and not the count.
func agreesWithCount(page []byte, count int) bool {
	field := func(element, at int) int { return int(order.Uint32(page[pageHeaderSize+element*elementSize+at:])) }
	position, size := 0, field(0, 4)
	if order.Uint16(page[8:]) != branchPage {
		position, size = 4, field(0, 8)+field(0, 12)
	}
	want := count * elementSize
	return field(0, position) == want || elementSize+field(1, position)-size == want
}

// walkBuckets walks the trees of the buckets that a leaf of the root tree names.
func (w *walker) walkBuckets(count int, page []byte) {
	for i := range count {
		at := pageHeaderSize + i*elementSize
		flags := order.Uint32(page[at:])
		pos, keySize, size := uint64(order.Uint32(page[at+4:])), uint64(order.Uint32(page[at+8:])), uint64(order.Uint32(page[at+12:]))
		value := uint64(at) + pos + keySize
		if flags != bucketFlag || size < 16 || value+size > uint64(len(page)) {
			throwDamage("its list of buckets makes no sense")
		}
		if root := order.Uint64(page[value:]); root != 0 { // 0: the bucket is inside this page
			w.walkTree(root, nil)
		}
	}
}

// walkNested walks the trees of the buckets that a leaf of any tree names. Keys and values must lie one behind
// another, as bbolt writes them.
func (w *walker) walkNested(count int, page []byte) {
	next := uint64(pageHeaderSize + count*elementSize)
	for i := range count {
		at := pageHeaderSize + i*elementSize
		pos, keySize, size := uint64(order.Uint32(page[at+4:])), uint64(order.Uint32(page[at+8:])), uint64(order.Uint32(page[at+12:]))
		key := uint64(at) + pos
		value := key + keySize
		if key != next || value+size > uint64(len(page)) {
			throwDamage("element %d of a leaf lies elsewhere", i)
		}
		next = value + size
		switch flags := order.Uint32(page[at:]); {
		case flags == 0:
		case flags != bucketFlag || size < bucketHeaderSize:
			throwDamage("element %d of a leaf is neither a value nor a bucket", i)
		case order.Uint64(page[value:]) != 0:
			w.walkTree(order.Uint64(page[value:]), w.walkNested)
		default:
			w.walkInline(page[value+bucketHeaderSize : next])
		}
	}
}

// walkInline checks a bucket that is inside a leaf: a leaf of its own.
func (w *walker) walkInline(page []byte) {
	if len(page) < pageHeaderSize || order.Uint16(page[8:]) != leafPage {
		throwDamage("a bucket inside a leaf is no leaf")
	}
	count := int(order.Uint16(page[10:]))
	if pageHeaderSize+count*elementSize > len(page) {
		throwDamage("a bucket inside a leaf has %d elements, more than fit", count)
	}
	w.walkNested(count, page)
}

// walkFreelist checks that nothing on the free list is in use.
func (w *walker) walkFreelist(id uint64) {
	w.markUsed(id)
	flags, count, page := w.readPage(id)
	if flags != freelistPage {
		throwDamage("page %d is of kind %#x where the free list was expected", id, flags)
	}
	ids := page[pageHeaderSize:]
	if count == 0xFFFF { // then the first element is the count
		count = int(min(order.Uint64(ids), w.pages))
		ids = ids[8:]
	}
	if count*8 > len(ids) {
		throwDamage("its free list has %d elements, more than fit", count)
	}
	for i := range count {
		w.markUsed(order.Uint64(ids[i*8:]))
	}
}
