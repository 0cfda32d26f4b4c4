package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
)

func TestNoSpace(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{full, true},
		{fmt.Errorf("commit: %w", full), true},
		{syscall.ENOSPC, false}, // a sync
		{&os.PathError{Op: "write", Path: "x", Err: syscall.EIO}, false},
	} {
		if got := isNoSpace(c.err); got != c.want {
			t.Errorf("isNoSpace(%v) is %v", c.err, got)
		}
	}
}

// FuzzInspect writes any bytes over any place of a page of the file, cuts it anywhere, and has its
// skeleton read: that neither panics nor fails to read.
func FuzzInspect(f *testing.F) {
	dir := f.TempDir()
	values := openValues(f, dir)
	_, err := values.Write(f.Context(), Request{Writes: 1, Write: func(tx *Tx) (refused, err error) {
		tx.MarkChanged()
		for i := range 500 {
			if err := tx.Bucket(valuesBucket).Put(fmt.Appendf(nil, "k%03d", i), make([]byte, 100)); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}})
	if err != nil {
		f.Fatal(err)
	}
	if err := values.Close(); err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "values.bolt"))
	if err != nil {
		f.Fatal(err)
	}
	m, _, _ := chooseMeta(b)
	b = b[:m.pages*pageSize]
	for _, page := range []uint64{0, 1, m.root, m.freelist} {
		f.Add(uint16(page), uint16(8), []byte{1, 0, 255, 255}, uint32(len(b)))
		f.Add(uint16(page), uint16(pageHeaderSize), bytes.Repeat([]byte{255}, 64), uint32(len(b)))
		f.Add(uint16(page), uint16(0), make([]byte, pageSize), uint32(len(b)-pageSize))
	}
	f.Fuzz(func(t *testing.T, page, at uint16, over []byte, size uint32) {
		file := bytes.Clone(b)
		if start := int(page)*pageSize + int(at); start < len(file) {
			copy(file[start:], over)
		}
		fixMeta(file)
		file = file[:min(int(size), len(file))]
		if _, _, err := Inspect(bytes.NewReader(file), int64(len(file))); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkInspect reads what Open reads of a file of FILE_MB (64) megabytes, and has bbolt check
// the same file, in turns.
func BenchmarkInspect(b *testing.B) {
	values := openValues(b, b.TempDir())
	defer values.Close()
	fillValues(b, values)
	var ours, theirs time.Duration
	for b.Loop() {
		begun := time.Now()
		if _, err := values.inspectBoltFile(); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(begun)
		begun = time.Now()
		err := values.View("check", func(tx *bolt.Tx) error {
			for err := range tx.Check() {
				return err
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		theirs += time.Since(begun)
	}
	usage, err := values.Usage(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(usage.Bytes)/1e6, "MB")
	b.ReportMetric(float64(ours)/float64(b.N)/1e6, "ms/inspect")
	b.ReportMetric(float64(theirs)/float64(b.N)/1e6, "ms/check")
}

// fixMeta corrects the checksums of the meta pages, so that their content is accepted.
func fixMeta(file []byte) {
	for _, at := range []int{0, pageSize} {
		m := file[at+pageHeaderSize:][:metaSize]
		sum := fnv.New64a()
		sum.Write(m[:metaSize-8])
		order.PutUint64(m[metaSize-8:], sum.Sum64())
	}
}

// fillValues writes FILE_MB (64) megabytes of values of 1,000 bytes.
func fillValues(b *testing.B, values *File) {
	b.Helper()
	size := 64 << 20
	if n, err := strconv.Atoi(os.Getenv("FILE_MB")); err == nil {
		size = n << 20
	}
	const value = 1_000
	for i := 0; i < size/value; {
		_, err := values.Write(b.Context(), Request{Writes: 1, Write: func(tx *Tx) (refused, err error) {
			tx.MarkChanged()
			for range 10_000 {
				if err := tx.Bucket(valuesBucket).Put(fmt.Appendf(nil, "com.example%010d", i), make([]byte, value)); err != nil {
					return nil, err
				}
				i++
			}
			return nil, nil
		}})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCopyWhole copies a file of FILE_MB megabytes while one value is written after the other,
// and reports the longest time that a write took ("slowest-write-ms"; without the copy
// "usual-slowest-ms").
func BenchmarkCopyWhole(b *testing.B) {
	values := openValues(b, b.TempDir())
	defer values.Close()
	fillValues(b, values)
	usual := slowestWrite(b, values, func() { time.Sleep(2 * time.Second) })
	var slowest time.Duration
	for b.Loop() {
		slowest = max(slowest, slowestWrite(b, values, func() {
			if err := values.CopyWhole(b.Context(), "file", valuesBucket); err != nil {
				b.Error(err)
			}
		}))
	}
	b.ReportMetric(float64(usual)/1e6, "usual-slowest-ms")
	b.ReportMetric(float64(slowest)/1e6, "slowest-write-ms")
}

// slowestWrite runs work, and returns the longest time that a write took meanwhile.
func slowestWrite(b *testing.B, values *File, work func()) (slowest time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	for i := 0; ; i++ {
		begun := time.Now()
		_, err := values.Write(b.Context(), Request{Writes: 1, Write: func(tx *Tx) (refused, err error) {
			tx.MarkChanged()
			return nil, tx.Bucket(valuesBucket).Put(fmt.Appendf(nil, "com.example%010d", i), make([]byte, 1_000))
		}})
		if err != nil {
			b.Fatal(err)
		}
		slowest = max(slowest, time.Since(begun))
		select {
		case <-done:
			return slowest
		default:
		}
	}
}

// TestInspectNested damages each bucket that is inside another one: its place in the leaf, the number of its
// root page, and the kind of page that it claims to be. bbolt would follow some of these damages in a circle.
func TestInspectNested(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nested.bolt")
	db, err := bolt.Open(path, 0o600, &bolt.Options{PageSize: pageSize})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		top, err := tx.CreateBucket([]byte("top"))
		if err != nil {
			return err
		}
		for _, size := range []int{10, 3000} { // inside the leaf, and on pages of its own
			within, err := top.CreateBucket(fmt.Appendf(nil, "%04d", size))
			if err == nil {
				err = errors.Join(within.Put([]byte("a"), make([]byte, size)), within.Put([]byte("b"), make([]byte, size)))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	inspect := func(b []byte) string {
		t.Helper()
		problem, err := InspectNested(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		return problem
	}
	if problem := inspect(whole); problem != "" {
		t.Fatalf("the whole file %s", problem)
	}
	newest, _, _ := chooseMeta(whole)
	kinds := map[bool]int{}
	for page := uint64(2); page < newest.pages; page++ {
		for i := range int(order.Uint16(whole[page*pageSize+10:])) {
			at := page*pageSize + pageHeaderSize + uint64(i*elementSize)
			if order.Uint16(whole[page*pageSize+8:]) != leafPage || order.Uint32(whole[at:]) != bucketFlag {
				continue
			}
			value := at + uint64(order.Uint32(whole[at+4:])) + uint64(order.Uint32(whole[at+8:]))
			inline := order.Uint64(whole[value:]) == 0
			kinds[inline]++
			places := map[string]uint64{"place": at + 5, "root page": value}
			if inline {
				places["kind of page"] = value + bucketHeaderSize + 8
			}
			for what, place := range places {
				b := bytes.Clone(whole)
				b[place] ^= 3 // a leaf becomes a branch
				if inspect(b) == "" {
					t.Errorf("page %d, element %d, inline %t: nothing is said of another %s", page, i, inline, what)
				}
			}
		}
	}
	if kinds[true] == 0 || kinds[false] == 0 {
		t.Errorf("the file has %v buckets inside leaves and on pages", kinds)
	}
}
