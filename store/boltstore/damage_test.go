package boltstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gazetteer/store"
	"gazetteer/store/boltfile/filetest"
)

// secret is part of the values, so that the test can look for it in errors.
const secret = "do not tell"

const pageSize = 4096

// history makes a store with a history: overwritten and deleted records, small ones and some of
// many pages, and a horizon in the middle. truth is the content of its log, before its content one
// commit earlier.
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
		if round == 2 {
			if err := s.Forget(t.Context(), s.cursorAt(s.Head().Seq/2)); err != nil {
				t.Fatal(err)
			}
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
	// The log continues after the damaged record, and names it.
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
		t.Errorf("its neighbor: %v", err)
	}
	if _, err := s.Apply(t.Context(), store.Put("new", nil)); err != nil {
		t.Errorf("writing beside it: %v", err)
	}
}

// flipsEnv sets how many bits TestFlippedBits flips; 200 when it is not set.
const flipsEnv = "FLIPS"

// TestFlippedBits flips one bit after another, each in a fresh copy in memory. The result must be
// right or an error; if nothing reports an error, everything must be right. Writes to such a store
// must not end the process either.
func TestFlippedBits(t *testing.T) {
	flips := 200
	if n, err := strconv.Atoi(os.Getenv(flipsEnv)); err == nil {
		flips = n
	}
	dir, truth, before := history(t)
	files := map[string][]byte{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		files[entry.Name()] = mustRead(t, filepath.Join(dir, entry.Name()))
	}
	used := filetest.UsedBytes(files[BoltFile])
	for part := range 4 {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			dir, files := filetest.FastDir(t), maps.Clone(files)
			files[BoltFile] = bytes.Clone(files[BoltFile]) // each part damages its own
			refused, detected, harmless := 0, 0, 0
			for n := range flips / 4 {
				switch flipBit(t, dir, files, rand.IntN(used), byte(1)<<rand.IntN(8), truth, before, n%8 == 0) {
				case "refused":
					refused++
				case "detected":
					detected++
				default:
					harmless++
				}
			}
			t.Logf("%d flips: %d refused at opening, %d found when reading, %d harmless", flips/4, refused, detected, harmless)
		})
	}
}

// TestDamagedKeyHidesNoEntry damages the key in the middle of each page of the log, so that a search
// for an entry before it ends after it. No entry may be missing without an error.
func TestDamagedKeyHidesNoEntry(t *testing.T) {
	dir, truth, before := history(t)
	files := map[string][]byte{}
	for _, name := range []string{BoltFile, "FORMAT", "HEAD"} {
		files[name] = mustRead(t, filepath.Join(dir, name))
	}
	content, pages := files[BoltFile], 0
	for page := 0; page+pageSize <= filetest.UsedBytes(content); page += pageSize {
		const leaf, headerSize = 2, 16
		count := int(binary.LittleEndian.Uint16(content[page+10:]))
		if binary.LittleEndian.Uint16(content[page+8:]) != leaf || count < 10 || binary.LittleEndian.Uint32(content[page+headerSize+8:]) != 8 {
			continue // a leaf of the log has keys of 8 bytes
		}
		pages++
		element := page + headerSize*(1+count/2)
		if outcome := flipBit(t, filetest.FastDir(t), files, element+6, 0x80, truth, before, false); outcome == "refused" {
			t.Errorf("page at %d: %s", page, outcome)
		}
	}
	if pages < 4 {
		t.Errorf("the log has %d pages", pages)
	}
}

// TestDamagedCountHidesNoEntry damages the number of entries of each leaf page, so that the last
// ones seem not to exist, or none at all. No record may be missing without an error, whichever way
// it is read.
func TestDamagedCountHidesNoEntry(t *testing.T) {
	dir, truth, before := history(t)
	files := map[string][]byte{}
	for _, name := range []string{BoltFile, "FORMAT", "HEAD"} {
		files[name] = mustRead(t, filepath.Join(dir, name))
	}
	content, pages, leaves, emptied := files[BoltFile], 0, 0, 0
	used := filetest.UsedBytes(content)
	for page := 0; page+pageSize <= used; page += pageSize {
		const leaf = 2
		count := binary.LittleEndian.Uint16(content[page+10:])
		top := uint16(1) << max(bits.Len16(count)-1, 0) // the largest bit that is set
		if binary.LittleEndian.Uint16(content[page+8:]) != leaf || count == 0 {
			continue
		}
		if leaves++; leaves%4 != 0 && count != top { // a part of them keeps the test short
			continue
		}
		pages++
		if count == top {
			emptied++
		}
		at, bit := page+10, byte(top)
		flipBit(t, filetest.FastDir(t), files, at, bit, truth, before, false)
		if pages%4 == 0 && count != top { // a damaged size of one entry hides no other
			const sizeInElement = 13
			flipBit(t, filetest.FastDir(t), files, page+16*(1+int(count)/2)+sizeInElement, 0x40, truth, before, true)
		}

		single := filetest.FastDir(t)
		for name, content := range files {
			if name == BoltFile {
				content = bytes.Clone(content[:used])
				content[at] ^= bit
			}
			if err := os.WriteFile(filepath.Join(single, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open(t.Context(), single, Options{MinFree: -1})
		if err != nil {
			continue
		}
		for key, want := range truth {
			if _, err := s.Get(t.Context(), key); errors.Is(err, store.ErrNotFound) && !want.Deleted {
				t.Errorf("page at %d: %s is not found, without another error", page, key)
			}
		}
		listed, failed := 0, false
		for _, err := range s.List(t.Context(), "", "") {
			listed, failed = listed+1, failed || err != nil
		}
		if living := countLiving(truth); listed != living && !failed {
			t.Errorf("page at %d: %d of %d records are listed, without an error", page, listed, living)
		}
		s.Close() // it may complain of the damage
	}
	if pages < 4 || emptied < 2 {
		t.Errorf("%d leaf pages were damaged, %d of them seem empty", pages, emptied)
	}
}

// TestInflatedCountShowsNoOtherPage damages the number of entries of each leaf page, so that a search
// goes on in the pages behind it, which may hold earlier values. None may come back as valid.
func TestInflatedCountShowsNoOtherPage(t *testing.T) {
	dir, truth, before := history(t)
	files := map[string][]byte{}
	for _, name := range []string{BoltFile, "FORMAT", "HEAD"} {
		files[name] = mustRead(t, filepath.Join(dir, name))
	}
	content := files[BoltFile]
	for page := 0; page+pageSize <= filetest.UsedBytes(content); page += pageSize {
		const leaf, countAt = 2, 10
		if binary.LittleEndian.Uint16(content[page+8:]) == leaf {
			flipBit(t, filetest.FastDir(t), files, page+countAt+1, 0x20, truth, before, false)
		}
	}
}

// TestDamagedCountOfBranchHidesNoPage damages each bit of the number of children of each branch page.
// With fewer children, the last part of the log or of the records seems not to exist.
func TestDamagedCountOfBranchHidesNoPage(t *testing.T) {
	dir, truth, before := history(t)
	files := map[string][]byte{}
	for _, name := range []string{BoltFile, "FORMAT", "HEAD"} {
		files[name] = mustRead(t, filepath.Join(dir, name))
	}
	content, pages := files[BoltFile], 0
	for page := 0; page+pageSize <= filetest.UsedBytes(content); page += pageSize {
		const branch = 1
		if binary.LittleEndian.Uint16(content[page+8:]) != branch {
			continue
		}
		pages++
		for bit := range 16 {
			flipBit(t, filetest.FastDir(t), files, page+10+bit/8, 1<<(bit%8), truth, before, false)
		}
	}
	if pages < 2 {
		t.Errorf("there are %d branch pages", pages)
	}
}

func countLiving(records map[string]store.Record) (n int) {
	for _, r := range records {
		if !r.Deleted {
			n++
		}
	}
	return n
}

// flipBit flips a bit in a store of those files in dir, reads and writes it, and compacts it if
// asked to. It returns "refused", "detected" or "harmless".
func flipBit(t *testing.T, dir string, files map[string][]byte, at int, bit byte, truth, before map[string]store.Record, compacts bool) string {
	t.Helper()
	what := fmt.Sprintf("byte %d, bit %#x", at, bit)
	for name, content := range files {
		path := filepath.Join(dir, name)
		if name != BoltFile {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		os.Remove(path)                     // a file that was compacted stays mapped until its store is closed
		used := filetest.UsedBytes(content) // only zeros follow, and the file may have many
		content[at] ^= bit
		err := os.WriteFile(path, content[:used], 0o600)
		content[at] ^= bit
		if err := errors.Join(err, os.Truncate(path, int64(len(content)))); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(t.Context(), dir, Options{MinFree: -1})
	if err != nil {
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: Open: %v", what, err)
		}
		return "refused"
	}
	defer s.Close() // it may complain of the damage
	content := truth
	if s.file.Incarnation() > 1 && s.Head().Seq == newest(before) {
		content = before // the newer meta page was hit: a rollback, which Open has reported
	}
	outcome := "harmless"
	if readDamaged(t, s, content, what) {
		outcome = "detected"
	}
	for i := range 4 {
		_, _ = s.Apply(t.Context(), store.Put(fmt.Sprintf("host/com.example%03d", rand.IntN(400)), []byte("new")), store.Put(fmt.Sprint("new", i), nil))
	}
	if !compacts {
		return outcome
	}
	found := readable(s)
	if _, err := s.Compact(t.Context(), time.Hour); err == nil {
		if left := readable(s); !maps.Equal(left, found) {
			t.Errorf("%s: of %d records that could be read, %d can after a compaction", what, len(found), len(left))
		}
	}
	return outcome
}

// readable returns the records that can be read, with their values.
func readable(s *Store) map[string]string {
	found := map[string]string{}
	for r, err := range s.List(context.Background(), "", "") {
		if err == nil {
			found[r.Key] = fmt.Sprint(r.Seq, string(r.Value))
		}
	}
	return found
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func edit(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	if err := os.WriteFile(path, change(mustRead(t, path)), 0o600); err != nil {
		t.Fatal(err)
	}
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
	listed, followed, living := 0, 0, countLiving(truth)
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
	if !detected && (missing > 0 || listed != living || followed != len(truth)) {
		t.Errorf("%s: without an error %d records are missing, %d of %d listed, %d of %d in the log", what, missing, listed, living, followed, len(truth))
	}
	return detected || s.file.Incarnation() > 1
}
