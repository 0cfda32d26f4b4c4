package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gazetteer/store"
)

// secret stands in values, to be looked for in errors.
const secret = "do not tell"

// history leaves a store with some past in it: overwritten and deleted records,
// small ones and some of many pages. truth is what its log holds, before what
// it held one commit earlier.
func history(t *testing.T) (dir string, truth, before map[string]store.Record) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	s := openStore(t, dir)
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 4 {
		var writes []store.Write
		for i := range 400 {
			key := fmt.Sprintf("host/com.example%03d", i)
			switch {
			case i%7 == round:
				writes = append(writes, store.Delete(key))
			case i%3 == round || round == 0:
				size := 20 + r.IntN(300)
				if i%50 == 0 {
					size = 3 * pageSize
				}
				writes = append(writes, store.Put(key, []byte(strings.Repeat(secret+fmt.Sprint(i, round), size/12))))
			}
		}
		if _, err := s.Apply(t.Context(), writes...); err != nil {
			t.Fatal(err)
		}
		before, truth = truth, logOf(t, s)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, truth, before
}

func logOf(t *testing.T, s *Store) map[string]store.Record {
	t.Helper()
	log := map[string]store.Record{}
	for r, err := range s.Changes(t.Context(), store.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		log[r.Key] = r
		if r.Seq == s.Head().Seq {
			break
		}
	}
	return log
}

func TestFlippedBitInValue(t *testing.T) {
	dir, truth, _ := history(t)
	key := "host/com.example207"
	value := truth[key].Value
	edit(t, filepath.Join(dir, BoltFile), func(b []byte) []byte {
		found := 0
		for at := 0; ; at++ { // older copies may lie in free pages
			i := bytes.Index(b[at:], value)
			if i < 0 {
				break
			}
			at += i
			b[at+len(value)/2] ^= 0x10
			found++
		}
		if found == 0 {
			t.Fatal("the value is not in the file")
		}
		return b
	})
	s := openStore(t, dir)
	defer s.Close()
	told := func(err error) {
		t.Helper()
		if !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), key) || strings.Contains(err.Error(), secret) {
			t.Errorf("error %v, want one that names the key and nothing of the value", err)
		}
	}
	_, err := s.Get(t.Context(), key)
	told(err)
	_, err = s.Apply(t.Context(), store.Put(key, nil))
	told(err)
	listed := 0
	for r, err := range s.List(t.Context(), key[:len(key)-1], "") {
		listed++
		if r.Key == key {
			told(err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", r.Key, err)
		}
	}
	if listed < 5 {
		t.Errorf("the list ends behind the damaged record: %d records", listed)
	}
	// The log goes on behind it, and names it.
	var damaged []string
	n := 0
	for r, err := range s.Changes(t.Context(), store.Cursor{}) {
		if n++; err != nil {
			told(err)
			damaged = append(damaged, r.Key)
			if !store.Damaged(r, err) || r.Value != nil {
				t.Errorf("record %+v with the error %v", r, err)
			}
		}
		if r.Seq == s.Head().Seq {
			break
		}
	}
	if n != len(truth) || len(damaged) != 1 || damaged[0] != key {
		t.Errorf("the log yields %d of %d records, damaged %q", n, len(truth), damaged)
	}
	// One bad record harms no other.
	if r, err := s.Get(t.Context(), "host/com.example208"); err != nil || !bytes.Equal(r.Value, truth[r.Key].Value) {
		t.Errorf("its neighbour: %v", err)
	}
	if _, err := s.Apply(t.Context(), store.Put("new", nil)); err != nil {
		t.Errorf("writing beside it: %v", err)
	}
}

// flipsEnv sets how many bits TestFlippedBits flips; 200 when it is not set.
const flipsEnv = "FLIPS"

// TestFlippedBits flips one bit after another, each in a fresh copy. What comes
// back must be right or an error; when nothing reports an error, everything must
// be right. Writing into such a store must not bring the process down either.
func TestFlippedBits(t *testing.T) {
	flips := 200
	if n, err := strconv.Atoi(os.Getenv(flipsEnv)); err == nil {
		flips = n
	}
	dir, truth, before := history(t)
	files := snapshot(t, dir)
	used := usedBytes([]byte(files[BoltFile]))
	refused, detected, harmless := 0, 0, 0
	for range flips {
		at, bit := rand.IntN(used), byte(1)<<rand.IntN(8)
		copied := filepath.Join(t.TempDir(), "data")
		restore(t, copied, files)
		edit(t, filepath.Join(copied, BoltFile), func(b []byte) []byte { b[at] ^= bit; return b })
		s, err := Open(t.Context(), copied, Options{MinFree: -1})
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("byte %d, bit %#x: Open: %v", at, bit, err)
			}
			refused++
			continue
		}
		content := truth
		if s.incarnation > 1 && s.Head().Seq == newest(before) {
			content = before // the newer meta page was hit: a rollback, and it was said
		}
		if readDamaged(t, s, content, fmt.Sprintf("byte %d, bit %#x", at, bit)) {
			detected++
		} else {
			harmless++
		}
		for i := range 4 {
			_, _ = s.Apply(t.Context(), store.Put(fmt.Sprintf("host/com.example%03d", rand.IntN(400)), []byte("new")), store.Put(fmt.Sprint("new", i), nil))
		}
		_ = s.Close()
	}
	t.Logf("%d flips: %d refused at opening, %d found when reading, %d harmless", flips, refused, detected, harmless)
}

func newest(log map[string]store.Record) (seq uint64) {
	for _, r := range log {
		seq = max(seq, r.Seq)
	}
	return seq
}

// readDamaged reads everything in each way and reports whether an error came.
func readDamaged(t *testing.T, s *Store, truth map[string]store.Record, what string) (detected bool) {
	t.Helper()
	check := func(r store.Record, err error) {
		t.Helper()
		if err == nil {
			want, ok := truth[r.Key]
			if !ok || r.Seq != want.Seq || r.Deleted != want.Deleted || !bytes.Equal(r.Value, want.Value) {
				t.Errorf("%s: a wrong record came back as valid, key %q", what, r.Key)
			}
			return
		}
		detected = true
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %v", what, err)
		}
	}
	missing := 0
	for key, want := range truth {
		r, err := s.Get(t.Context(), key)
		switch {
		case !errors.Is(err, store.ErrNotFound):
			check(r, err)
		case !want.Deleted:
			missing++
		}
	}
	listed, followed, living := 0, 0, 0
	for r, err := range s.List(t.Context(), "", "") {
		check(r, err)
		listed++
	}
	for r, err := range s.Changes(t.Context(), store.Cursor{}) {
		check(r, err)
		followed++
		if r.Seq == s.Head().Seq {
			break
		}
	}
	for _, r := range truth {
		if !r.Deleted {
			living++
		}
	}
	if !detected && (missing > 0 || listed != living || followed != len(truth)) {
		t.Errorf("%s: without an error %d records are missing, %d of %d listed, %d of %d in the log", what, missing, listed, living, followed, len(truth))
	}
	return detected || s.incarnation > 1
}

// TestCutWhileOpen takes the file away under the running store: reads fail with
// an error, and the process lives.
func TestCutWhileOpen(t *testing.T) {
	for _, size := range []int64{0, pageSize, 2 * pageSize, 20 * pageSize} {
		t.Run(fmt.Sprintf("to %d bytes", size), func(t *testing.T) {
			dir, truth, _ := history(t)
			s := openStore(t, dir)
			if err := os.Truncate(filepath.Join(dir, BoltFile), size); err != nil {
				t.Fatal(err)
			}
			failures := 0
			for key, want := range truth {
				r, err := s.Get(t.Context(), key)
				switch {
				case err == nil && !bytes.Equal(r.Value, want.Value):
					t.Errorf("%s came back wrong", key)
				case errors.Is(err, store.ErrNotFound) && !want.Deleted:
					t.Errorf("%s is said not to exist", key)
				case errors.Is(err, store.ErrCorrupt):
					failures++
				}
			}
			if failures == 0 {
				t.Error("no read noticed")
			}
			var err error
			for i := 0; i < 400 && err == nil; i++ {
				_, err = s.Apply(t.Context(), store.Put(fmt.Sprintf("host/com.example%03d", i), nil))
			}
			if err == nil {
				t.Error("no write noticed")
			}
			_ = s.Close()
			if _, err := Open(t.Context(), dir, Options{MinFree: -1}); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("opening it again: %v", err)
			}
		})
	}
}

func TestFloorOfFreeSpace(t *testing.T) {
	dir := closedStore(t, 3)
	s, err := Open(t.Context(), dir, Options{MinFree: math.MaxInt64})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Apply(t.Context(), store.Put("k", nil))
	if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), dir) {
		t.Errorf("writing: error %v, want ErrFull with the directory", err)
	}
	_, err = s.Apply(t.Context(), store.Delete("k/0000"), store.Put("k", nil))
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("writing and deleting: error %v", err)
	}
	if _, err := s.Apply(t.Context(), store.Delete("k/0001")); err != nil {
		t.Errorf("deleting: %v", err)
	}
	if head := s.Head(); head.Seq != 4 {
		t.Errorf("Head is at %d, want 4: the deletion alone", head.Seq)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	defer s.Close()
	put(t, s, 1)
}

func TestFailedIsSaid(t *testing.T) {
	s := openStore(t, t.TempDir())
	select {
	case <-s.Failed():
		t.Fatal("a new store has failed")
	default:
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	s.file.Close()
	if _, err := s.Apply(t.Context(), store.Put("k", nil)); !errors.Is(err, store.ErrUnknown) {
		t.Fatalf("error %v", err)
	}
	<-s.Failed()
	if !errors.Is(s.Err(), store.ErrUnknown) || !errors.Is(s.Err(), os.ErrClosed) {
		t.Errorf("Err is %v, want ErrUnknown and the cause", s.Err())
	}
	_ = s.Close()
}

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
		if got := noSpace(c.err); got != c.want {
			t.Errorf("noSpace(%v) is %v", c.err, got)
		}
	}
}

// FuzzInspect writes any bytes over any place of a page of the file, cuts it
// anywhere, and has its skeleton read: that neither panics nor fails to read.
func FuzzInspect(f *testing.F) {
	dir := closedStore(f, 100)
	b, err := os.ReadFile(filepath.Join(dir, BoltFile))
	if err != nil {
		f.Fatal(err)
	}
	b = b[:usedBytes(b)]
	m, _, _ := chooseMeta(b)
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
		if _, _, err := inspect(bytes.NewReader(file), int64(len(file))); err != nil {
			t.Error(err)
		}
	})
}

// fixMeta makes the checksums of the meta pages right, so that what they say is
// believed.
func fixMeta(file []byte) {
	for _, at := range []int{0, pageSize} {
		m := file[at+pageHeaderSize:][:metaSize]
		sum := fnv.New64a()
		sum.Write(m[:metaSize-8])
		order.PutUint64(m[metaSize-8:], sum.Sum64())
	}
}
