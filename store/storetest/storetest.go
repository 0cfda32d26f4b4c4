// Package storetest holds the tests that every store.Store must pass: call [Run] from the tests of
// an implementation. It knows the store only through its interface, and through a [Subject], which
// opens it, makes its commits fail and compacts it.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gazetteer/store"
)

// Subject is an implementation under test.
type Subject struct {
	// Open opens the store kept in dir, which is empty at first. Keys with KeptPrefix keep their
	// tombstones behind the horizon. Run closes it.
	Open func(t testing.TB, dir string) store.Store
	// FailCommit makes the next commit of s fail. The fault decides whether its writes persist.
	FailCommit func(t testing.TB, s store.Store, f Fault)
	// Compact makes the files of s smaller without forgetting anything, while s serves.
	Compact func(t testing.TB, s store.Store) error
}

// KeptPrefix is the prefix of the keys whose tombstones a Subject keeps.
const KeptPrefix = "kept/"

// Fault is a way in which a commit can fail.
type Fault int

const (
	NotPersisted    Fault = iota // an error, and nothing was kept
	PersistedAnyway              // an error, and everything was kept
)

func (f Fault) String() string {
	return [...]string{"not persisted", "persisted anyway"}[f]
}

// Run tests the subject.
func Run(t *testing.T, subject Subject) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Subject)
	}{
		{"records", testRecords},
		{"compare and set", testCompareAndSet},
		{"all or nothing", testAllOrNothing},
		{"invalid writes", testInvalidWrites},
		{"deletion", testDeletion},
		{"list in pages", testList},
		{"list while the consumer writes", testListWhileWriting},
		{"compacted replay with tombstones", testReplay},
		{"changes wait for more", testChangesWait},
		{"cursor of another log", testCursorGone},
		{"reopen", testReopen},
		{"closed", testClosed},
		{"one winner of eight", testOneWinner},
		{"grouped callers succeed and fail alone", testGroupedCallers},
		{"no follower misses a record", testFollowers},
		{"failed commit", testFailedCommit},
		{"horizon", testHorizon},
		{"horizon and the newest write", testHorizonAtTheEnd},
		{"horizon passes readers", testHorizonPassesReaders},
		{"kept deletions", testKeptDeletions},
		{"horizon after reopening", testHorizonReopened},
		{"followers behind the horizon rebuild", testFollowersBehindTheHorizon},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, subject) })
	}
}

// openStore opens a fresh store that is closed with the test.
func openStore(t testing.TB, subject Subject) store.Store {
	t.Helper()
	s := subject.Open(t, t.TempDir())
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func mustApply(t testing.TB, s store.Store, writes ...store.Write) uint64 {
	t.Helper()
	seq, err := s.Apply(t.Context(), writes...)
	if err != nil {
		t.Fatalf("Apply: %v", err)
	}
	return seq
}

// wantErr checks that an error matches a sentinel.
func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

// formatRecord writes a record as "key=value@seq", "key-@seq" for a tombstone.
func formatRecord(r store.Record) string {
	if r.Deleted {
		return fmt.Sprintf("%s-@%d", r.Key, r.Seq)
	}
	return fmt.Sprintf("%s=%s@%d", r.Key, r.Value, r.Seq)
}

// getRecord shows the record of key, "" when it does not exist.
func getRecord(t testing.TB, s store.Store, key string) string {
	t.Helper()
	r, err := s.Get(t.Context(), key)
	if errors.Is(err, store.ErrNotFound) {
		return ""
	}
	if err != nil {
		t.Fatalf("Get(%q): %v", key, err)
	}
	return formatRecord(r)
}

func listRecords(t testing.TB, s store.Store, prefix, after string) []string {
	t.Helper()
	var got []string
	for r, err := range s.List(t.Context(), prefix, after) {
		if err != nil {
			t.Fatalf("List(%q, %q): %v", prefix, after, err)
		}
		got = append(got, formatRecord(r))
	}
	return got
}

// readChanges returns the current records of the log after the cursor.
func readChanges(t testing.TB, s store.Store, after store.Cursor) []string {
	t.Helper()
	head := s.Head()
	var got []string
	if after.Seq == head.Seq {
		return got
	}
	for r, err := range s.Changes(t.Context(), after) {
		if err != nil {
			t.Fatalf("Changes(%v): %v", after, err)
		}
		got = append(got, formatRecord(r))
		if r.Seq >= head.Seq {
			break
		}
	}
	return got
}

func wantRecords(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s:\n got %s\nwant %s", what, strings.Join(got, " "), strings.Join(want, " "))
	}
}

func testRecords(t *testing.T, subject Subject) {
	s := openStore(t, subject)
	wantRecords(t, "an empty store", append(listRecords(t, s, "", ""), getRecord(t, s, "a")), "")
	if seq := mustApply(t, s, store.Put("a", []byte("1")), store.Put("b", nil)); seq != 2 {
		t.Fatalf("two first writes end at %d, want 2", seq)
	}
	mustApply(t, s, store.Put("a", []byte("2")))
	wantRecords(t, "records", []string{getRecord(t, s, "a"), getRecord(t, s, "b"), getRecord(t, s, "c"), getRecord(t, s, "")}, "a=2@3", "b=@2", "", "")
	if head := s.Head(); head.Seq != 3 || head.Store == "" || head.Incarnation == 0 {
		t.Fatalf("Head is %+v, want sequence 3 of a named log", head)
	}
	if seq := mustApply(t, s); seq != 3 {
		t.Fatalf("an Apply of nothing returned %d, want 3", seq)
	}

	r, err := s.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	clear(r.Value) // the reader owns it
	wantRecords(t, "after the reader changed its copy", []string{getRecord(t, s, "a")}, "a=2@3")

	large := strings.Repeat("x", 16<<20)
	mustApply(t, s, store.Put("large", []byte(large)))
	if r, err := s.Get(t.Context(), "large"); err != nil || string(r.Value) != large {
		t.Fatalf("a value of 16 MiB came back with %d bytes, error %v", len(r.Value), err)
	}

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Get(ended, "a")
	wantErr(t, err, context.Canceled)
	_, err = s.Apply(ended, store.Put("a", nil))
	wantErr(t, err, context.Canceled)
	for _, err := range s.List(ended, "", "") {
		wantErr(t, err, context.Canceled)
	}
}

func testCompareAndSet(t *testing.T, subject Subject) {
	s := openStore(t, subject)
	first := mustApply(t, s, store.PutIf("k", []byte("1"), 0))
	_, err := s.Apply(t.Context(), store.PutIf("k", []byte("x"), 0))
	wantErr(t, err, store.ErrConflict)
	second := mustApply(t, s, store.PutIf("k", []byte("2"), first))
	_, err = s.Apply(t.Context(), store.PutIf("k", []byte("x"), first))
	wantErr(t, err, store.ErrConflict)
	_, err = s.Apply(t.Context(), store.PutIf("absent", []byte("x"), 7))
	wantErr(t, err, store.ErrConflict)
	mustApply(t, s, store.Write{Key: "k", Delete: true, Expect: &second})
	_, err = s.Apply(t.Context(), store.PutIf("k", []byte("x"), second))
	wantErr(t, err, store.ErrConflict)
	_, err = s.Apply(t.Context(), store.PutIf("k", []byte("x"), second+1)) // the tombstone's number
	wantErr(t, err, store.ErrConflict)
	mustApply(t, s, store.PutIf("k", []byte("3"), 0))
	wantRecords(t, "after a deletion the key does not exist", []string{getRecord(t, s, "k")}, "k=3@4")
}

func testAllOrNothing(t *testing.T, subject Subject) {
	s := openStore(t, subject)
	mustApply(t, s, store.Put("taken", []byte("old")))
	writes := make([]store.Write, 0, 10_000)
	for i := range 9_999 {
		writes = append(writes, store.Put(fmt.Sprintf("new/%05d", i), []byte("x")))
	}
	writes = slices.Insert(writes, 5_000, store.PutIf("taken", []byte("new"), 0))
	_, err := s.Apply(t.Context(), writes...)
	wantErr(t, err, store.ErrConflict)
	wantRecords(t, "after 10,000 writes with one bad expectation", listRecords(t, s, "", ""), "taken=old@1")
	wantRecords(t, "its log", readChanges(t, s, store.Cursor{}), "taken=old@1")

	writes[5_000] = store.PutIf("taken", []byte("new"), 1)
	if seq := mustApply(t, s, writes...); seq != 10_001 {
		t.Fatalf("10,000 writes after one end at %d, want 10001", seq)
	}
	if n := len(listRecords(t, s, "new/", "")); n != 9_999 {
		t.Fatalf("%d of 9,999 records are there", n)
	}
}

func testInvalidWrites(t *testing.T, subject Subject) {
	s := openStore(t, subject)
	tooMany := make([]store.Write, 20_001)
	for i := range tooMany {
		tooMany[i] = store.Put(fmt.Sprint("k", i), nil)
	}
	for name, writes := range map[string][]store.Write{
		"empty key":             {store.Put("", nil)},
		"key of 1,025 bytes":    {store.Put(strings.Repeat("k", 1025), nil)},
		"key with NUL":          {store.Put("a\x00b", nil)},
		"key that is not UTF-8": {store.Put("a\xff", nil)},
		"key deleted":           {store.Delete("a\xff")},
		"value over 16 MiB":     {store.Put("k", make([]byte, 16<<20+1))},
		"deletion with a value": {{Key: "k", Value: []byte("x"), Delete: true}},
		"same key twice":        {store.Put("k", nil), store.Put("other", nil), store.Delete("k")},
		"20,001 writes":         tooMany,
		"the last one bad":      {store.Put("k", nil), store.Put("", nil)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Apply(t.Context(), writes...)
			wantErr(t, err, store.ErrInvalid)
		})
	}
	wantRecords(t, "after invalid writes", readChanges(t, s, store.Cursor{}))
	mustApply(t, s, store.Put(strings.Repeat("k", 1024), nil))
}

func testDeletion(t *testing.T, subject Subject) {
	s := openStore(t, subject)
	if seq := mustApply(t, s, store.Delete("absent")); seq != 0 {
		t.Fatalf("deleting what is not there returned %d, want 0", seq)
	}
	mustApply(t, s, store.Put("a", []byte("1")), store.Put("b", []byte("1")))
	if seq := mustApply(t, s, store.Delete("a"), store.Delete("absent")); seq != 3 {
		t.Fatalf("one real deletion returned %d, want 3", seq)
	}
	if seq := mustApply(t, s, store.Delete("a")); seq != 3 {
		t.Fatalf("deleting twice returned %d, want 3", seq)
	}
	wantRecords(t, "list", listRecords(t, s, "", ""), "b=1@2")
	wantRecords(t, "deleted record", []string{getRecord(t, s, "a")}, "")
	wantRecords(t, "log", readChanges(t, s, store.Cursor{}), "b=1@2", "a-@3")
}

func testList(t *testing.T, subject Subject) {
	s := openStore(t, subject)
	var writes []store.Write
	var all []string
	for i := range 3_000 {
		key := fmt.Sprintf("p/%05d", i)
		writes = append(writes, store.Put(key, []byte("v")))
		all = append(all, fmt.Sprintf("%s=v@%d", key, i+1))
	}
	mustApply(t, s, writes...)
	mustApply(t, s, store.Put("o", nil), store.Put("p", nil), store.Put("q", nil), store.Put("p0", nil))
	wantRecords(t, "a prefix over many pages", listRecords(t, s, "p/", ""), all...)
	wantRecords(t, "after a key", listRecords(t, s, "p/", "p/01499"), all[1_500:]...)
	wantRecords(t, "after a key that is not there", listRecords(t, s, "p/", "p/01499x"), all[1_500:]...)
	wantRecords(t, "after a key before the prefix", listRecords(t, s, "p/0299", "a"), all[2_990:]...)
	wantRecords(t, "after a key past the prefix", listRecords(t, s, "p/", "q"))
	wantRecords(t, "after the last", listRecords(t, s, "p/", "p/02999"))
	wantRecords(t, "no such prefix", listRecords(t, s, "nothing/", ""))
	wantRecords(t, "an exact key", listRecords(t, s, "p0", ""), "p0=@3004")
	if n := len(listRecords(t, s, "", "")); n != 3_004 {
		t.Fatalf("the empty prefix lists %d records, want 3004", n)
	}

	deletions := make([]store.Write, 0, 2_999)
	for _, w := range writes[:2_999] {
		deletions = append(deletions, store.Delete(w.Key))
	}
	mustApply(t, s, deletions...)
	wantRecords(t, "behind many tombstones", listRecords(t, s, "p/", ""), all[2_999])

	large := make([]byte, 3<<20)
	for i := range 5 {
		mustApply(t, s, store.Put(fmt.Sprintf("large/%d", i), large))
	}
	if n := len(listRecords(t, s, "large/", "")); n != 5 {
		t.Fatalf("%d of 5 large records are listed", n)
	}
}

// testListWhileWriting would hang or fail if a lock were held while the consumer runs.
func testListWhileWriting(t *testing.T, subject Subject) {
	s := openStore(t, subject)
	for i := range 10 {
		mustApply(t, s, store.Put(fmt.Sprintf("k/%04d", i), []byte("1")))
	}
	n := 0
	for r, err := range s.List(t.Context(), "k/", "") {
		if err != nil {
			t.Fatal(err)
		}
		mustApply(t, s, store.PutIf(r.Key, []byte("2"), r.Seq), store.Put("grows/"+r.Key, make([]byte, 1<<20)))
		n++
	}
	if n != 10 {
		t.Fatalf("the list had %d records, want 10", n)
	}
	wantRecords(t, "one of them", []string{getRecord(t, s, "k/0003")}, "k/0003=2@17")

	n = 0
	for r, err := range s.Changes(t.Context(), store.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n > 20 { // each of the 20 records once, then what is written here
			break
		}
		mustApply(t, s, store.Put("seen/"+r.Key, nil))
	}
}

func testReplay(t *testing.T, subject Subject) {
	s := openStore(t, subject)
	mustApply(t, s, store.Put("a", []byte("1")), store.Put("b", []byte("1")), store.Put("c", []byte("1")))
	mustApply(t, s, store.Put("a", []byte("2")))
	middle := s.Head()
	mustApply(t, s, store.Delete("b"), store.Put("d", []byte("1")))
	mustApply(t, s, store.Put("a", []byte("3")))
	wantRecords(t, "from zero", readChanges(t, s, store.Cursor{}), "c=1@3", "b-@5", "d=1@6", "a=3@7")
	wantRecords(t, "from the middle", readChanges(t, s, middle), "b-@5", "d=1@6", "a=3@7")
	wantRecords(t, "from the end", readChanges(t, s, s.Head()))
	mustApply(t, s, store.Put("b", []byte("back")))
	wantRecords(t, "a key that came back", readChanges(t, s, middle), "d=1@6", "a=3@7", "b=back@8")

	var many []store.Write
	for i := range 2_000 {
		many = append(many, store.Put(fmt.Sprintf("m/%04d", i), []byte("x")))
	}
	mustApply(t, s, many...)
	if got := readChanges(t, s, store.Cursor{}); len(got) != 2_004 || got[2_003] != "m/1999=x@2008" {
		t.Fatalf("a replay over many pages has %d records, the last %s", len(got), got[len(got)-1])
	}
}

func testChangesWait(t *testing.T, subject Subject) {
	s := openStore(t, subject)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	records := make(chan store.Record)
	ended := make(chan error, 1)
	go func() {
		var last error
		for r, err := range s.Changes(ctx, store.Cursor{}) {
			if last = err; err != nil {
				break
			}
			records <- r
		}
		ended <- last
	}()
	for i := range 20 {
		seq := mustApply(t, s, store.Put("k", fmt.Append(nil, i)))
		if got := formatRecord(<-records); got != fmt.Sprintf("k=%d@%d", i, seq) {
			t.Fatalf("after write %d the follower got %s", i, got)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatalf("Changes ended with %v when its context did, want no error", err)
	}
}

func testCursorGone(t *testing.T, subject Subject) {
	s, other := openStore(t, subject), openStore(t, subject)
	mustApply(t, s, store.Put("a", nil))
	mustApply(t, other, store.Put("a", nil))
	head := s.Head()
	for name, c := range map[string]store.Cursor{
		"another store":       other.Head(),
		"another incarnation": {Store: head.Store, Incarnation: head.Incarnation + 1, Seq: 1},
		"no name":             {Seq: 1},
		"ahead of the log":    {Store: head.Store, Incarnation: head.Incarnation, Seq: head.Seq + 1},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			for _, err := range s.Changes(t.Context(), c) {
				wantErr(t, err, store.ErrCursorGone)
				n++
			}
			if n != 1 {
				t.Fatalf("%d errors, want one, last", n)
			}
		})
	}
	wantRecords(t, "the beginning of a named log", readChanges(t, s, store.Cursor{Store: head.Store, Incarnation: head.Incarnation}), "a=@1")
}

// reopen closes a store and opens it again, with the same head.
func reopen(t testing.TB, subject Subject, s store.Store, dir string) store.Store {
	t.Helper()
	head := s.Head()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = subject.Open(t, dir)
	if s.Head() != head {
		t.Fatalf("after reopening Head is %+v, it was %+v", s.Head(), head)
	}
	return s
}

func testReopen(t *testing.T, subject Subject) {
	dir := t.TempDir()
	s := subject.Open(t, dir)
	mustApply(t, s, store.Put("a", []byte("1")), store.Put("b", []byte("1")))
	mustApply(t, s, store.Delete("a"))
	s = reopen(t, subject, s, dir)
	defer s.Close()
	wantRecords(t, "log", readChanges(t, s, store.Cursor{}), "b=1@2", "a-@3")
	if seq := mustApply(t, s, store.Put("c", nil)); seq != 4 {
		t.Fatalf("the next write has sequence %d, want 4", seq)
	}
}

func testClosed(t *testing.T, subject Subject) {
	s := subject.Open(t, t.TempDir())
	mustApply(t, s, store.Put("a", nil))
	arrived, ended := make(chan bool), make(chan error)
	go func() {
		var last error
		for _, err := range s.Changes(t.Context(), store.Cursor{}) {
			if last = err; err == nil {
				arrived <- true
			}
		}
		ended <- last
	}()
	<-arrived
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wantErr(t, <-ended, store.ErrClosed)
	_, err := s.Get(t.Context(), "a")
	wantErr(t, err, store.ErrClosed)
	_, err = s.Apply(t.Context(), store.Put("a", nil))
	wantErr(t, err, store.ErrClosed)
	for _, err := range s.List(t.Context(), "", "") {
		wantErr(t, err, store.ErrClosed)
	}
	for _, err := range s.Changes(t.Context(), store.Cursor{}) {
		wantErr(t, err, store.ErrClosed)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("closing twice: %v", err)
	}
}

// testFailedCommit makes the commit of a group fail in both ways, at each of three points of a
// history.
func testFailedCommit(t *testing.T, subject Subject) {
	for _, fault := range []Fault{NotPersisted, PersistedAnyway} {
		for before := range 3 {
			t.Run(fmt.Sprintf("%v after %d", fault, before), func(t *testing.T) {
				failCommit(t, subject, fault, before)
			})
		}
	}
}

func failCommit(t *testing.T, subject Subject, fault Fault, before int) {
	dir := t.TempDir()
	s := subject.Open(t, dir)
	for i := range before {
		mustApply(t, s, store.Put("kept", fmt.Append(nil, i)))
	}
	head := s.Head()
	log := readChanges(t, s, store.Cursor{})

	subject.FailCommit(t, s, fault)
	_, err := s.Apply(t.Context(), store.Put("kept", []byte("doubtful")), store.Put("new", nil))
	wantErr(t, err, store.ErrUnknown)
	if s.Head() != head {
		t.Errorf("Head moved to %+v with a commit of unknown outcome", s.Head())
	}
	_, err = s.Apply(t.Context(), store.Put("later", nil))
	wantErr(t, err, store.ErrUnknown)
	if r, err := s.Get(t.Context(), "kept"); err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Errorf("reading after the failure: %+v, %v", r, err)
	}
	_ = s.Close() // it may complain of the file that was taken from it

	s = subject.Open(t, dir)
	defer s.Close()
	if s.Head().Incarnation != head.Incarnation {
		t.Errorf("incarnation %d became %d though nothing acknowledged was lost", head.Incarnation, s.Head().Incarnation)
	}
	if fault == NotPersisted {
		wantRecords(t, "log after reopening", readChanges(t, s, store.Cursor{}), log...)
	} else {
		n := head.Seq
		wantRecords(t, "log after reopening", readChanges(t, s, store.Cursor{}), fmt.Sprintf("kept=doubtful@%d", n+1), fmt.Sprintf("new=@%d", n+2))
	}
	mustApply(t, s, store.PutIf("later", []byte("works"), 0))
}
