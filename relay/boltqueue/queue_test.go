package boltqueue

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"gazetteer/limit"
	"gazetteer/relay"
	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// A copy of the whole directory, as a snapshot of the file system has it, does not tell that it is old.
// Its numbers go on above those that clients have seen all the same.
func TestRestoredDirectory(t *testing.T) {
	dir, old := t.TempDir(), t.TempDir()
	push := func(n int) uint64 {
		q := openQueue(t, dir, time.Hour)
		defer q.Close()
		number, err := q.Push(t.Context(), testLetter(n))
		if err != nil {
			t.Fatal(err)
		}
		return number
	}
	push(1)
	if err := os.CopyFS(old, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	var last uint64
	for n := 2; n < 6; n++ {
		last = push(n)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(old)); err != nil {
		t.Fatal(err)
	}
	if next := push(9); next <= last {
		t.Errorf("after a restore the number is %d, clients have seen %d", next, last)
	}
}

// Numbers grow although the clock was set back, and a clock of the year 2200 uses none up.
func TestNumbersWhenClockIsWrong(t *testing.T) {
	dir, last := t.TempDir(), uint64(0)
	for n, ahead := range []time.Duration{0, time.Hour, -1000 * time.Hour, 0, 200 * 365 * 24 * time.Hour, 0} {
		q := openQueue(t, dir, time.Hour)
		err := q.file.View("read the base", func(tx *bolt.Tx) error { return q.chooseBase(tx, time.Now().Add(ahead)) })
		if err != nil {
			t.Fatal(err)
		}
		number, err := q.Push(t.Context(), testLetter(n))
		if err != nil || number <= last || number >= maxClock {
			t.Errorf("with a clock %s ahead: number %d after %d, %v", ahead, number, last, err)
		}
		last = number
		q.Close()
	}
}

func openQueue(t testing.TB, dir string, window time.Duration) *Queue {
	t.Helper()
	q, err := Open(t.Context(), dir, Options{Window: window, File: boltfile.Options{MinFree: -1}})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func testLetter(n int) relay.Incoming {
	text := bytes.Repeat([]byte("x"), 900)
	now := time.Now()
	return relay.Incoming{
		Inbox: "did:wba:here:agents:AIR-1", Sender: "did:x", ID: fmt.Sprint("id-", n), ThreadID: "t", Nonce: fmt.Sprint("n-", n),
		Digest: sha256.Sum256(fmt.Append(nil, n)), Received: now, Expires: now.Add(time.Hour), Text: text, MaxFirstContacts: -1,
	}
}

// A backup has the mail that waits, and nothing of what was wiped, although unused pages of the file
// still hold that.
func TestBackupHasNoWipedMail(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	q := openQueue(t, dir, time.Hour)
	defer q.Close()
	secret := bytes.Repeat([]byte("wiped content "), 60)
	for n := range 30 {
		in := testLetter(n)
		in.Inbox, in.Text = "did:wba:here:agents:AIR-2", secret
		if _, err := q.Push(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := q.Push(t.Context(), testLetter(99)); err != nil {
		t.Fatal(err)
	}
	if wiped, err := q.Wipe(t.Context(), "did:wba:here:agents:AIR-2"); wiped != 30 || err != nil {
		t.Fatalf("%d wiped, %v", wiped, err)
	}
	if err := q.WriteBackup(t.Context(), filepath.Join(to, QueueFile)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{filepath.Join(dir, QueueFile): true, filepath.Join(to, QueueFile): false} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, secret[:40]) != want {
			t.Errorf("%s holds what was wiped: %t, want %t", path, !want, want)
		}
	}
	format, err := os.ReadFile(filepath.Join(dir, boltfile.FormatFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(to, boltfile.FormatFile), format, 0o600); err != nil {
		t.Fatal(err)
	}
	restored := openQueue(t, to, time.Hour)
	defer restored.Close()
	page, err := restored.Pull(t.Context(), testLetter(99).Inbox, 0, 10, 1<<20, time.Now())
	if err != nil || len(page.Mail) != 1 || page.Mail[0].ID != "id-99" {
		t.Errorf("the restored mail: %+v, %v", page, err)
	}
}

// A damaged envelope is reported to its readers. It can still be deleted, and does not affect other
// mail.
func TestDamagedMail(t *testing.T) {
	q := openQueue(t, t.TempDir(), time.Hour)
	defer q.Close()
	ctx := t.Context()
	number, err := q.Push(ctx, testLetter(1))
	if err != nil {
		t.Fatal(err)
	}
	other := testLetter(2)
	other.Inbox = "another"
	if _, err := q.Push(ctx, other); err != nil {
		t.Fatal(err)
	}
	inbox := testLetter(1).Inbox
	_, err = q.file.Write(ctx, boltfile.Request{Write: func(tx *boltfile.Tx) (refused, err error) {
		tx.MarkChanged()
		raw := bytes.Clone(getMail(tx.Tx, inbox, number))
		raw[len(raw)-1] ^= 1
		return nil, tx.Bucket(arrivedBucket).Put(numberKey(number), append([]byte(inbox+"\x00"), raw...))
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Pull(ctx, inbox, 0, 10, 1<<20, time.Now()); !errors.Is(err, store.ErrCorrupt) {
		t.Fatalf("a damaged envelope is pulled with %v", err)
	}
	if page, err := q.Pull(ctx, "another", 0, 10, 1<<20, time.Now()); err != nil || len(page.Mail) != 1 {
		t.Fatalf("the other inbox: %v %v", page, err)
	}
	if n, err := q.Acknowledge(ctx, inbox, []string{"id-1"}); err != nil || n != 1 {
		t.Fatalf("acknowledged %d, %v", n, err)
	}
	if n, err := q.Expire(ctx, time.Now().Add(2*time.Hour), time.Now().Add(2*time.Hour), 10); err != nil || n != 1 {
		t.Fatalf("expired %d, %v: the entry of the damaged envelope must not count", n, err)
	}
	err = q.file.View("look", func(tx *bolt.Tx) error {
		for _, name := range [][]byte{mailBucket, arrivedBucket, idsBucket, inboxBucket} {
			if n := tx.Bucket(name).Stats().KeyN; n != 0 {
				t.Errorf("bucket %s holds %d entries of nothing", name, n)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDamagedSequenceIsRefused flips a bit of the number of envelopes, so that a queue would have no
// number left for new mail.
func TestDamagedSequenceIsRefused(t *testing.T) {
	dir := t.TempDir()
	q := openQueue(t, dir, time.Hour)
	if _, err := q.Push(t.Context(), testLetter(1)); err != nil {
		t.Fatal(err)
	}
	_, err := q.file.Write(t.Context(), boltfile.Request{Write: func(tx *boltfile.Tx) (refused, err error) {
		tx.MarkChanged()
		return nil, tx.Bucket(stateBucket).Put(sequenceKey, binary.BigEndian.AppendUint64(nil, 1|1<<sequenceBits))
	}})
	if err := errors.Join(err, q.Close()); err != nil {
		t.Fatal(err)
	}
	q, err = Open(t.Context(), dir, Options{Window: time.Hour, File: boltfile.Options{MinFree: -1}})
	if !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a damaged sequence: %v", err)
	}
	if err == nil {
		q.Close()
	}
}

// An inbox that is pulled for a year has few deliveries. Damaged ones count as none, and are reported.
func TestDeliveriesAreBounded(t *testing.T) {
	q := openQueue(t, t.TempDir(), time.Hour)
	defer q.Close()
	in := testLetter(1)
	in.Expires = in.Received.Add(400 * 24 * time.Hour)
	number, err := q.Push(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	q.NoteDelivered(in.Inbox, number-1, in.Received.Add(time.Hour))
	for i := range 365 * 24 * 4 {
		q.NoteDelivered(in.Inbox, number+uint64(i), in.Received.Add(time.Duration(i)*15*time.Minute).Add(48*time.Hour))
		if i%5000 == 0 {
			if n, err := q.Expire(t.Context(), in.Received, in.Received, 10); err != nil || n != 0 {
				t.Fatal(n, err)
			}
		}
	}
	if _, err := q.Expire(t.Context(), in.Received, in.Received, 10); err != nil {
		t.Fatal(err)
	}
	_, err = q.file.Write(t.Context(), boltfile.Request{Write: func(tx *boltfile.Tx) (refused, err error) {
		tx.MarkChanged()
		raw := bytes.Clone(tx.Bucket(deliveredBucket).Get([]byte(in.Inbox)))
		if len(raw) != 16*maxDeliveries+4 {
			t.Errorf("the deliveries of one inbox have %d bytes", len(raw))
		}
		raw[0] ^= 1
		return nil, tx.Bucket(deliveredBucket).Put([]byte(in.Inbox), raw)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if page, err := q.Pull(t.Context(), in.Inbox, 0, 10, 1<<20, in.Expires.Add(-time.Millisecond)); err != nil || len(page.Mail) != 1 {
		t.Errorf("with damaged deliveries: %d envelopes, %v", len(page.Mail), err)
	}
	problems := 0
	if _, err := q.Check(t.Context(), func(string) { problems++ }); err != nil || problems != 1 {
		t.Errorf("%d problems, %v", problems, err)
	}
}

// The window is a few buckets that are dropped whole, however much mail there was.
func TestWindowPeriodsAreBounded(t *testing.T) {
	q := openQueue(t, t.TempDir(), 8*time.Hour)
	defer q.Close()
	at := time.Now()
	for n := range 200 {
		in := testLetter(n)
		in.Received, in.Expires = at, at.Add(time.Minute)
		if _, err := q.Push(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		at = at.Add(20 * time.Minute)
		if _, err := q.Expire(t.Context(), at, at, 100); err != nil {
			t.Fatal(err)
		}
	}
	periods := 0
	q.file.View("look", func(tx *bolt.Tx) error {
		return tx.Bucket(seenBucket).ForEachBucket(func(start []byte) error {
			periods++
			if binary.BigEndian.Uint64(start) == 0 {
				t.Error("a period without a start")
			}
			return nil
		})
	})
	if periods < windowPeriods || periods > windowPeriods+3 {
		t.Errorf("%d periods", periods)
	}
}

// A merge that the end of the process cut off is made again: nothing is forgotten or counted twice.
func TestInterruptedMerge(t *testing.T) {
	dir := t.TempDir()
	open := func() *Queue {
		q := openQueue(t, dir, 0)
		q.mergeAfter = 64
		return q
	}
	q, pushed := open(), 0
	push := func(n int) {
		for range n {
			if _, err := q.Push(t.Context(), testLetter(pushed)); err != nil {
				t.Fatal(err)
			}
			pushed++
		}
	}
	for _, more := range []int{64 + 5, 3, 64 + 20} {
		push(more)
		if n, err := q.Acknowledge(t.Context(), testLetter(0).Inbox, []string{fmt.Sprint("id-", pushed-2), fmt.Sprint("id-", pushed-60)}); err != nil || n != 2 {
			t.Fatalf("%d acknowledged, %v", n, err)
		}
		q.Close()
		q = open()
		for n := range pushed {
			if _, err := q.Push(t.Context(), testLetter(n)); !errors.Is(err, relay.ErrRepeated) {
				t.Fatalf("%d of %d again: %v", n, pushed, err)
			}
		}
		in := testLetter(pushed)
		for _, c := range []struct {
			most int
			want error
		}{{pushed, relay.ErrWindowFull}, {pushed + 1, nil}} {
			in.MaxSenderPerWindow = c.most
			if _, err := q.Push(t.Context(), in); !errors.Is(err, c.want) {
				t.Errorf("%d of %d: %v", pushed+1, c.most, err)
			}
		}
		pushed++
		ids := 0
		if err := q.file.View("look", func(tx *bolt.Tx) error {
			ids = tx.Bucket(idsBucket).Stats().KeyN
			return nil
		}); err != nil || ids == 0 {
			t.Errorf("%d ids are merged, %v", ids, err)
		}
	}
	push(20)
	if q.recent.merging > 0 || len(q.recent.entries) > 64 {
		t.Errorf("%d of %d entries are being merged", q.recent.merging, len(q.recent.entries))
	}
	q.Close()
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := t.TempDir()
	q := openQueue(t, dir, 0)
	defer q.Close()
	var held *boltfile.HeldError
	if _, err := Open(context.Background(), dir, Options{}); !errors.As(err, &held) {
		t.Fatalf("the queue is opened twice: %v", err)
	}
}

// BenchmarkPush pushes from 64 senders at once and reports the share of bare group commits of the
// same bytes (of-bare).
func BenchmarkPush(b *testing.B) {
	bare := timePushes(b, putBare)
	full := timePushes(b, func(q *Queue, n int) error {
		_, err := q.Push(context.Background(), testLetter(n))
		return err
	})
	b.ReportMetric(float64(bare)/float64(full), "of-bare")
	b.ReportMetric(float64(full.Nanoseconds())/float64(b.N), "ns/push")
}

// timePushes makes b.N pushes from 64 goroutines and returns how long they took.
func timePushes(b *testing.B, push func(q *Queue, n int) error) time.Duration {
	q := openQueue(b, b.TempDir(), 0)
	defer q.Close()
	var next atomic.Int64
	var senders sync.WaitGroup
	began := time.Now()
	for range 64 {
		senders.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := push(q, int(n)); err != nil {
					b.Error(err)
				}
			}
		})
	}
	senders.Wait()
	return time.Since(began)
}

// putBare writes the text of an envelope under its number, and nothing else.
func putBare(q *Queue, n int) error {
	in := testLetter(n)
	_, err := q.file.Write(context.Background(), boltfile.Request{Writes: 1, Bytes: len(in.Text), Write: func(tx *boltfile.Tx) (refused, err error) {
		return nil, tx.Bucket(mailBucket).Put(mailKey(in.Inbox, tx.NextSequence()), in.Text)
	}})
	return err
}

// anyInbox finds an inbox under every name.
type anyInbox struct{ relay.Inboxes }

func (anyInbox) FindInbox(_ context.Context, name string) (relay.Inbox, error) {
	return relay.Inbox{Name: name}, nil
}

// BenchmarkPull200 pulls a page of 200 envelopes with their receipts out of STORED (100,000) in 100
// inboxes, and reports the memory that the queue needs with all of them stored.
func BenchmarkPull200(b *testing.B) {
	stored := 100_000
	if n, err := strconv.Atoi(os.Getenv("STORED")); err == nil {
		stored = n
	}
	q := openQueue(b, b.TempDir(), 0)
	defer q.Close()
	used := func() float64 {
		runtime.GC()
		runtime.GC() // bbolt keeps pages in a pool, which the second empties
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	fill := func(from, to int) {
		for ; from < to; from += 1000 {
			_, err := q.file.Write(context.Background(), boltfile.Request{Write: func(tx *boltfile.Tx) (refused, err error) {
				if err := q.reloadRecent(tx.Tx); err != nil {
					return nil, err
				}
				for n := range 1000 {
					in := testLetter(from + n)
					in.Inbox = fmt.Sprint("inbox-", n%100)
					if refused, err := q.putMail(tx, prepareMail(in)); refused != nil || err != nil {
						return refused, err
					}
				}
				return nil, nil
			}})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	tenth := stored / 10000 * 1000
	fill(0, tenth)
	before := used()
	fill(tenth, stored)
	after := used()
	r := relay.New(relay.Options{Queue: q, Inboxes: anyInbox{}, DID: "did:web:here.test", Key: ed25519.NewKeyFromSeed(make([]byte, 32)), Limits: &limit.Set{}})
	b.ResetTimer()
	for n := range b.N {
		reader, err := r.ReadUnsigned(context.Background(), fmt.Sprint("inbox-", n%100))
		if err != nil {
			b.Fatal(err)
		}
		page, err := reader.Pull(context.Background(), 0, 200)
		if err != nil || len(page.Mail) != 200 || len(page.Mail[199].Receipt) == 0 {
			b.Fatalf("%d, %v", len(page.Mail), err)
		}
	}
	b.ReportMetric(before, "MiB-at-a-tenth")
	b.ReportMetric(after, "MiB-at-all")
}

// A file of the first layout, whose ids were not hashed, whose inboxes counted less and whose records
// hold signed receipts, is opened and serves its mail with them.
func TestFirstLayoutIsOpened(t *testing.T) {
	dir := t.TempDir()
	q := openQueue(t, dir, 0)
	var numbers []uint64
	for n := range 5 {
		number, err := q.Push(t.Context(), testLetter(n))
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, number)
	}
	_, err := q.file.Write(t.Context(), boltfile.Request{Write: func(tx *boltfile.Tx) (refused, err error) {
		tx.MarkChanged()
		var records [][]byte
		for _, number := range numbers {
			records = append(records, bytes.Clone(getMail(tx.Tx, testInbox, number)))
		}
		for _, name := range laterBuckets() {
			if err := tx.DeleteBucket(name); err != nil {
				return nil, err
			}
		}
		due, err := tx.CreateBucket(oldDueBucket)
		if err != nil {
			return nil, err
		}
		mail := tx.Bucket(mailBucket)
		for n, number := range numbers {
			if err := mail.Put(mailKey(testInbox, number), encodeOldMail(testLetter(n), records[n])); err != nil {
				return nil, err
			}
		}
		err = tx.Bucket(idsBucket).Put([]byte(testInbox+"\x00id-1\x00\x00\x00\x00\x00\x00\x00\x00\x01"), nil)
		return nil, errors.Join(err, due.Put(make([]byte, 16), []byte(testInbox)), tx.Bucket(inboxBucket).Put([]byte(testInbox), make([]byte, 16)))
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	q = openQueue(t, dir, 0)
	defer q.Close()
	if err := q.file.View("verify", subject{Queue: q}.verify); err != nil {
		t.Error(err)
	}
	if w, err := q.CountAll(t.Context()); err != nil || w.Mail != 5 {
		t.Errorf("%+v, %v", w, err)
	}
	page, err := q.Pull(t.Context(), testInbox, 0, 10, 1<<20, time.Time{})
	if err != nil || len(page.Mail) != 5 {
		t.Fatalf("%d envelopes, %v", len(page.Mail), err)
	}
	for n, m := range page.Mail {
		if string(m.Receipt) != fmt.Sprintf(`{"id":"id-%d"}`, n) || m.To != "" || !bytes.Equal(m.Text, testLetter(n).Text) {
			t.Errorf("envelope %d: %+v", n, m)
		}
	}
	if n, err := q.Acknowledge(t.Context(), testInbox, []string{"id-1", "id-3"}); err != nil || n != 2 {
		t.Errorf("acknowledged %d, %v", n, err)
	}
}

// encodeOldMail returns a record of format 1, which holds the receipt, for an envelope with a record of
// the present format.
func encodeOldMail(in relay.Incoming, record []byte) []byte {
	raw := bytes.Clone(record[:recordHead])
	for _, field := range []string{in.Sender, in.ID, fmt.Sprintf(`{"id":%q}`, in.ID), string(in.Text)} {
		raw = append(binary.AppendUvarint(raw, uint64(len(field))), field...)
	}
	binary.BigEndian.PutUint32(raw[16:], recordChecksum(raw))
	return raw
}

// TestDamagedRulesRefuseEverySender checks that after damage to the rules of some inboxes a missing
// record is not read as an inbox without rules.
func TestDamagedRulesRefuseEverySender(t *testing.T) {
	dir := t.TempDir()
	q := openQueue(t, dir, 0)
	inboxes := []string{"did:web:a.test", "did:web:b.test", "did:web:c.test", "did:web:d.test"}
	for _, inbox := range inboxes {
		if err := q.SetRules(t.Context(), inbox, relay.Rules{Allow: []string{"did:web:friend.test"}, Signed: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, QueueFile)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The second inbox is then behind all others, and a search for the third looks before it.
	content = bytes.ReplaceAll(content, []byte("did:web:b.test"), []byte("did:web:z.test"))
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	q = openQueue(t, dir, 0)
	defer q.Close()
	for _, inbox := range append(inboxes, "did:web:never.test") {
		if rules, err := q.Rules(t.Context(), inbox); err == nil && len(rules.Allow) == 0 {
			t.Errorf("%s has no rules, without an error", inbox)
		}
	}
	var problems []string
	if _, err := q.Check(t.Context(), func(problem string) { problems = append(problems, problem) }); err != nil || len(problems) == 0 {
		t.Errorf("the check finds %q, %v", problems, err)
	}
}

// A recipient that never acknowledges and asks for what came since the last number gets all mail once,
// in order, while merges move it; what another recipient acknowledges meanwhile stays deleted.
func TestPullsDuringMerges(t *testing.T) {
	const senders, each = 4, 60
	dir := t.TempDir()
	q := openQueue(t, dir, 0)
	q.mergeAfter = 32
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var pushing, pulling sync.WaitGroup
	for sender := range senders {
		pushing.Go(func() {
			for n := range each {
				for _, inbox := range []string{"kept", "acknowledged"} {
					in := testLetter(sender*each + n)
					in.Inbox = inbox
					if _, err := q.Push(ctx, in); err != nil {
						t.Error(err)
						stop()
						return
					}
				}
			}
		})
	}
	pull := func(inbox string, after uint64) []relay.Mail {
		pushed, end := q.Watch(inbox)
		defer end()
		page, err := q.Pull(ctx, inbox, after, 7, 1<<20, time.Now())
		if err != nil {
			t.Error(err)
			stop()
		}
		if len(page.Mail) == 0 {
			select {
			case <-pushed:
			case <-ctx.Done():
			}
		}
		return page.Mail
	}
	var kept, acknowledged []string
	pulling.Go(func() {
		for after := uint64(0); len(kept) < senders*each && ctx.Err() == nil; {
			for _, m := range pull("kept", after) {
				kept, after = append(kept, m.ID), m.Number
			}
		}
	})
	pulling.Go(func() {
		for len(acknowledged) < senders*each && ctx.Err() == nil {
			var ids []string
			for _, m := range pull("acknowledged", 0) {
				ids = append(ids, m.ID)
			}
			if n, err := q.Acknowledge(ctx, "acknowledged", ids); err != nil || n != len(ids) {
				t.Errorf("%d of %d acknowledged, %v", n, len(ids), err)
				stop()
				return
			}
			acknowledged = append(acknowledged, ids...)
		}
	})
	pushing.Wait()
	pulling.Wait()
	for _, ids := range [][]string{kept, acknowledged} {
		next := [senders]int{}
		for _, id := range ids {
			n, err := strconv.Atoi(strings.TrimPrefix(id, "id-"))
			if err != nil || n%each != next[n/each] {
				t.Fatalf("%s comes in place of the envelope %d of its sender, %v", id, next[n/each], err)
			}
			next[n/each]++
		}
		if len(ids) != senders*each {
			t.Fatalf("%d envelopes of %d", len(ids), senders*each)
		}
	}
	subject{Queue: q}.Verify(t)
	q.Close()
	q = openQueue(t, dir, 0)
	defer q.Close()
	subject{Queue: q}.Verify(t)
	if w, err := q.CountAll(t.Context()); err != nil || w.Mail != senders*each {
		t.Errorf("%+v, %v", w, err)
	}
}

// Large mail is moved before there are mergeAfter envelopes, so that a step of a merge is not large.
func TestLargeMailIsMovedEarlier(t *testing.T) {
	q := openQueue(t, t.TempDir(), 0)
	defer q.Close()
	const size = 1 << 20
	for n := range mergeBytes/size + mergeSteps {
		in := testLetter(n)
		in.Text = bytes.Repeat([]byte("x"), size)
		if _, err := q.Push(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	if q.recent.merging > 0 || len(q.recent.entries) > mergeSteps {
		t.Errorf("%d of %d entries are being merged", q.recent.merging, len(q.recent.entries))
	}
	subject{Queue: q}.Verify(t)
}

// A file of the second layout, whose new mail is in its inbox at once, is opened; later mail comes
// behind that.
func TestSecondLayoutIsOpened(t *testing.T) {
	dir := t.TempDir()
	q := openQueue(t, dir, 0)
	push := func(from, to int) {
		for n := from; n < to; n++ {
			if _, err := q.Push(t.Context(), testLetter(n)); err != nil {
				t.Fatal(err)
			}
		}
	}
	push(0, 3)
	_, err := q.file.Write(t.Context(), boltfile.Request{Write: func(tx *boltfile.Tx) (refused, err error) {
		tx.MarkChanged()
		return nil, errors.Join(moveMail(tx.Tx, q.arrivals.sortAll()), tx.DeleteBucket(arrivedBucket))
	}})
	if err := errors.Join(err, q.Close()); err != nil {
		t.Fatal(err)
	}
	q = openQueue(t, dir, 0)
	defer q.Close()
	push(3, 6)
	if n, err := q.Acknowledge(t.Context(), testInbox, []string{"id-0", "id-4"}); err != nil || n != 2 {
		t.Errorf("acknowledged %d, %v", n, err)
	}
	page, err := q.Pull(t.Context(), testInbox, 0, 10, 1<<20, time.Time{})
	var ids []string
	for _, m := range page.Mail {
		ids = append(ids, m.ID)
	}
	if err != nil || !slices.Equal(ids, []string{"id-1", "id-2", "id-3", "id-5"}) {
		t.Errorf("%q, %v", ids, err)
	}
	subject{Queue: q}.Verify(t)
}
