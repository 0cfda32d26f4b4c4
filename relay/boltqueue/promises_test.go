package boltqueue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"gazetteer/relay"
	"gazetteer/store"
)

// TestQueue tests the promises of [relay.Queue].
func TestQueue(t *testing.T) {
	for _, c := range []struct {
		name string
		test func(*testing.T)
	}{
		{"mail comes out as it went in, in order", testOrder},
		{"pages", testPages},
		{"acknowledged mail is gone", testAcknowledge},
		{"an id belongs to its sender", testForeignIDs},
		{"duplicates are refused", testDuplicates},
		{"the replay window forgets in time", testWindow},
		{"quotas", testQuotas},
		{"a sender leaves room in an inbox for others", testShares},
		{"expired mail is gone", testExpire},
		{"delivered mail expires at its own time", testDelivered},
		{"wipe", testWipe},
		{"inboxes whose names begin alike", testNames},
		{"waiting for mail", testWatch},
		{"one of many equal pushes wins", testConcurrentDuplicates},
		{"order with concurrent senders", testConcurrentOrder},
		{"mail survives reopening", testReopen},
		{"numbers never run backwards after a restore", testRestore},
		{"first contacts have a quota that survives reopening", testContacts},
		{"a clock that was ahead uses up no quota", testClockAhead},
		{"rules of an inbox", testRules},
		{"wake-ups survive reopening", testWakes},
		{"everything counted is there after reopening", testCounts},
		{"bad names", testBadNames},
	} {
		t.Run(c.name, c.test)
	}
}

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

const (
	window = 24 * time.Hour
	all    = 1 << 30
)

// newEnvelope returns the n-th envelope of a sender to an inbox.
func newEnvelope(inbox, sender string, n int) relay.Incoming {
	text := fmt.Appendf(nil, `{"from":%q,"id":"id-%d"}`, sender, n)
	return relay.Incoming{
		Inbox: inbox, Sender: sender, ID: fmt.Sprintf("id-%d", n), ThreadID: "thread", Nonce: fmt.Sprintf("nonce-%d", n),
		Digest: sha256.Sum256(text), Received: start, Expires: start.Add(7 * 24 * time.Hour),
		Text: text, To: "AIR-" + inbox, MaxFirstContacts: -1,
	}
}

func pushMail(t testing.TB, q *Queue, in relay.Incoming) uint64 {
	t.Helper()
	n, err := q.Push(context.Background(), in)
	if err != nil {
		t.Fatalf("push %s to %s: %v", in.ID, in.Inbox, err)
	}
	if n == 0 || n >= 1<<53 {
		t.Fatalf("number %d is not between 1 and 2^53", n)
	}
	return n
}

func pullMail(t testing.TB, q *Queue, inbox string, after uint64) []relay.Mail {
	t.Helper()
	page, err := q.Pull(context.Background(), inbox, after, all, all, start)
	if err != nil {
		t.Fatal(err)
	}
	if page.More {
		t.Fatal("more, although everything fits")
	}
	return page.Mail
}

func idsOf(mail []relay.Mail) []string {
	ids := []string{}
	for _, m := range mail {
		ids = append(ids, m.ID)
	}
	return ids
}

func wantIDs(t testing.TB, mail []relay.Mail, want ...string) {
	t.Helper()
	if got := idsOf(mail); !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func newQueue(t testing.TB) *Queue {
	t.Helper()
	q := openQueue(t, t.TempDir(), window)
	t.Cleanup(func() { q.Close() })
	return q
}

func testOrder(t *testing.T) {
	q := newQueue(t)
	in := newEnvelope("a", "did:x", 1)
	n := pushMail(t, q, in)
	mail := pullMail(t, q, "a", 0)
	if len(mail) != 1 {
		t.Fatalf("%d envelopes", len(mail))
	}
	m := mail[0]
	if m.Number != n || m.Sender != in.Sender || m.ID != in.ID || !bytes.Equal(m.Text, in.Text) || m.To != in.To || m.Digest != in.Digest || m.Receipt != nil ||
		!m.Received.Equal(in.Received) || !m.Expires.Equal(in.Expires) {
		t.Fatalf("pushed %+v, pulled %+v", in, m)
	}
	for i := 2; i < 20; i++ {
		if next := pushMail(t, q, newEnvelope("a", "did:x", i)); next <= n {
			t.Fatalf("number %d after %d", next, n)
		} else {
			n = next
		}
	}
	for i, m := range pullMail(t, q, "a", 0) {
		if m.ID != fmt.Sprintf("id-%d", i+1) {
			t.Fatalf("envelope %d is %s", i, m.ID)
		}
	}
	wantIDs(t, pullMail(t, q, "b", 0))
}

func testPages(t *testing.T) {
	q := newQueue(t)
	for i := range 10 {
		pushMail(t, q, newEnvelope("a", "did:x", i))
	}
	var after uint64
	var got []string
	for {
		page, err := q.Pull(t.Context(), "a", after, 3, all, start)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Mail) == 0 || len(page.Mail) > 3 {
			t.Fatalf("a page of %d", len(page.Mail))
		}
		got = append(got, idsOf(page.Mail)...)
		after = page.Mail[len(page.Mail)-1].Number
		if !page.More {
			break
		}
	}
	if len(got) != 10 || !slices.IsSortedFunc(got, func(a, b string) int { return bytes.Compare([]byte(a), []byte(b)) }) {
		t.Fatalf("got %q", got)
	}
	page, err := q.Pull(t.Context(), "a", 0, all, 1, start)
	if err != nil || len(page.Mail) != 1 || !page.More {
		t.Fatalf("a page of one byte has %d envelopes, more %v, %v: at least one must come", len(page.Mail), page.More, err)
	}
	if page, err := q.Pull(t.Context(), "a", ^uint64(0), all, all, start); err != nil || len(page.Mail) != 0 || page.More {
		t.Fatalf("after the last number: %v %v", page, err)
	}
}

func testAcknowledge(t *testing.T) {
	q := newQueue(t)
	for i := range 4 {
		pushMail(t, q, newEnvelope("a", "did:x", i))
	}
	n, err := q.Acknowledge(t.Context(), "a", []string{"id-1", "id-2", "id-1", "unknown"})
	if err != nil || n != 2 {
		t.Fatalf("acknowledged %d, %v", n, err)
	}
	wantIDs(t, pullMail(t, q, "a", 0), "id-0", "id-3")
	if n, err = q.Acknowledge(t.Context(), "a", []string{"id-1"}); err != nil || n != 0 {
		t.Fatalf("again: %d, %v", n, err)
	}
	if n, err = q.Acknowledge(t.Context(), "b", []string{"id-0"}); err != nil || n != 0 {
		t.Fatalf("from another inbox: %d, %v", n, err)
	}
	if w, err := q.Count(t.Context(), "a"); err != nil || w.Mail != 2 || w.Inboxes != 1 || w.Bytes != int64(2*len(newEnvelope("a", "did:x", 0).Text)) {
		t.Fatalf("counted %+v, %v", w, err)
	}
	if _, err := q.Acknowledge(t.Context(), "a", []string{"id-0", "id-3"}); err != nil {
		t.Fatal(err)
	}
	if w, err := q.CountAll(t.Context()); err != nil || w != (relay.Waiting{}) {
		t.Fatalf("counted %+v, %v in an empty queue", w, err)
	}
}

// testForeignIDs checks that an envelope with the id of another sender's envelope blocks nothing.
func testForeignIDs(t *testing.T) {
	q := newQueue(t)
	pushMail(t, q, newEnvelope("a", "did:stranger", 1))
	pushMail(t, q, newEnvelope("a", "did:x", 1))
	wantIDs(t, pullMail(t, q, "a", 0), "id-1", "id-1")
	if n, err := q.Acknowledge(t.Context(), "a", []string{"id-1"}); err != nil || n != 2 {
		t.Fatalf("acknowledged %d, %v", n, err)
	}
}

func testDuplicates(t *testing.T) {
	q := newQueue(t)
	first := newEnvelope("a", "did:x", 1)
	pushMail(t, q, first)
	sameNonce := newEnvelope("a", "did:x", 2)
	sameNonce.Nonce = first.Nonce
	otherText := newEnvelope("a", "did:x", 1)
	otherText.Digest[0]++
	otherThread := newEnvelope("a", "did:x", 3)
	otherThread.Nonce, otherThread.ThreadID = first.Nonce, "another"
	for _, c := range []struct {
		name string
		in   relay.Incoming
		want error
	}{
		{"the same again", first, relay.ErrRepeated},
		{"the nonce again", sameNonce, relay.ErrTaken},
		{"the id for another text", otherText, relay.ErrTaken},
		{"the nonce in another thread", otherThread, nil},
	} {
		if _, err := q.Push(t.Context(), c.in); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := q.Acknowledge(t.Context(), "a", []string{first.ID}); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Push(t.Context(), first); !errors.Is(err, relay.ErrRepeated) {
		t.Errorf("after its acknowledgement: %v", err)
	}
	wantIDs(t, pullMail(t, q, "a", 0), "id-3")
}

func testWindow(t *testing.T) {
	q := newQueue(t)
	first := newEnvelope("a", "did:x", 1)
	pushMail(t, q, first)
	at := start
	for i := 2; at.Before(start.Add(3 * window)); i++ { // mail goes on, so that periods end
		at = at.Add(window / 16)
		in := newEnvelope("b", "did:y", i)
		in.Received, in.Expires = at, at.Add(time.Hour)
		pushMail(t, q, in)
		if _, err := q.Expire(t.Context(), at, at, 100); err != nil {
			t.Fatal(err)
		}
		first.Received = at
		_, err := q.Push(t.Context(), first)
		switch age := at.Sub(start); {
		case age < window && !errors.Is(err, relay.ErrRepeated):
			t.Fatalf("after %s: %v, want %v", age, err, relay.ErrRepeated)
		case err == nil && age >= window:
			return // forgotten
		}
	}
	t.Fatalf("the entry is remembered for three times the window")
}

func testQuotas(t *testing.T) {
	q := newQueue(t)
	full := func(n int, change func(*relay.Incoming)) error {
		in := newEnvelope("a", "did:x", n)
		change(&in)
		_, err := q.Push(t.Context(), in)
		return err
	}
	for i := range 3 {
		if err := full(i, func(in *relay.Incoming) { in.MaxMail = 3 }); err != nil {
			t.Fatal(err)
		}
	}
	if err := full(3, func(in *relay.Incoming) { in.MaxMail = 3 }); !errors.Is(err, relay.ErrInboxFull) {
		t.Errorf("the fourth of three: %v", err)
	}
	if err := full(3, func(in *relay.Incoming) { in.MaxBytes = 10 }); !errors.Is(err, relay.ErrInboxFull) {
		t.Errorf("over its bytes: %v", err)
	}
	if err := full(3, func(in *relay.Incoming) { in.MaxSenderPerWindow = 3 }); !errors.Is(err, relay.ErrWindowFull) {
		t.Errorf("over the window: %v", err)
	}
	if err := full(3, func(in *relay.Incoming) { in.MaxSenderPerWindow, in.Sender = 3, "did:other" }); err != nil {
		t.Errorf("the window of one sender is full for another: %v", err)
	}
	if _, err := q.Acknowledge(t.Context(), "a", []string{"id-0"}); err != nil {
		t.Fatal(err)
	}
	if err := full(3, func(in *relay.Incoming) { in.MaxMail = 4 }); err != nil {
		t.Errorf("after room was made: %v", err)
	}
}

// testShares fills an inbox from few senders, and has others write to it.
func testShares(t *testing.T) {
	q := newQueue(t)
	n := 0
	push := func(sender string, change func(*relay.Incoming)) error {
		in := newEnvelope("a", sender, n)
		n++
		in.ShareKey = func(sender string) string { return sender }
		change(&in)
		_, err := q.Push(t.Context(), in)
		return err
	}
	fill := func(sender string, change func(*relay.Incoming)) (accepted int) {
		t.Helper()
		for accepted < 1000 {
			err := push(sender, change)
			if errors.Is(err, relay.ErrShareUsed) {
				return accepted
			}
			if err != nil {
				t.Fatalf("%s: %v", sender, err)
			}
			accepted++
		}
		return accepted
	}
	mail := func(in *relay.Incoming) { in.MaxMail = 200 }
	if got := fill("did:x", mail); got != 100 {
		t.Errorf("one sender has %d of 200", got)
	}
	var got []int
	for i := range 4 {
		got = append(got, fill(fmt.Sprint("did:crowd:", i), mail))
	}
	if want := []int{11, 10, 8, 8}; !slices.Equal(got, want) {
		t.Errorf("the next ones have %v, want %v: an eighth of what is free", got, want)
	}
	if err := push("did:other", mail); err != nil {
		t.Errorf("another sender: %v", err)
	}
	// Deleted mail makes room, for its sender too.
	var ids []string
	for i := range 60 {
		ids = append(ids, fmt.Sprint("id-", i))
	}
	if deleted, err := q.Acknowledge(t.Context(), "a", ids); err != nil || deleted != 60 {
		t.Fatal(deleted, err)
	}
	if err := push("did:x", mail); err != nil {
		t.Errorf("after room was made: %v", err)
	}
	size := func(in *relay.Incoming) { in.Inbox, in.Text, in.MaxBytes = "b", make([]byte, 1000), 64_000 }
	if got := fill("did:x", size); got != 32 {
		t.Errorf("one sender has %d of 64 kB", got)
	}
	if got := fill("did:y", size); got != 3 {
		t.Errorf("the next one has %d kB", got)
	}
	if got := fill("did:x", func(in *relay.Incoming) { in.Inbox, in.MaxMail, in.ShareKey = "c", 2000, nil }); got != 1000 {
		t.Errorf("%d in an inbox that is not shared", got)
	}
}

func testExpire(t *testing.T) {
	q := newQueue(t)
	for i := range 5 {
		in := newEnvelope("a", "did:x", i)
		in.Expires = start.Add(time.Duration(i) * time.Hour)
		pushMail(t, q, in)
	}
	wantIDs(t, pullMail(t, q, "a", 0), "id-1", "id-2", "id-3", "id-4") // the first expires at once
	now := start.Add(2 * time.Hour)
	page, err := q.Pull(t.Context(), "a", 0, all, all, now)
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, page.Mail, "id-3", "id-4")
	if n, err := q.Expire(t.Context(), now, now, 2); err != nil || n != 2 {
		t.Fatalf("expired %d of at most 2, %v", n, err)
	}
	if n, err := q.Expire(t.Context(), now, now, 100); err != nil || n != 1 {
		t.Fatalf("expired %d, %v", n, err)
	}
	if w, err := q.Count(t.Context(), "a"); err != nil || w.Mail != 2 {
		t.Fatalf("%+v, %v", w, err)
	}
}

func testDelivered(t *testing.T) {
	dir := t.TempDir()
	q := openQueue(t, dir, window)
	defer func() { q.Close() }()
	const day = 24 * time.Hour
	var numbers []uint64
	for i := range 5 {
		in := newEnvelope("a", "did:x", i)
		in.Expires = start.Add(30 * day)
		numbers = append(numbers, pushMail(t, q, in))
	}
	other := newEnvelope("b", "did:x", 9)
	other.Expires = start.Add(30 * day)
	pushMail(t, q, other)
	wantAt := func(after time.Duration, want ...string) {
		t.Helper()
		page, err := q.Pull(t.Context(), "a", 0, all, all, start.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		wantIDs(t, page.Mail, want...)
	}
	expire := func(after time.Duration, want int) {
		t.Helper()
		if n, err := q.Expire(t.Context(), start.Add(after), start.Add(after), 100); err != nil || n != want {
			t.Fatalf("after %s %d expired, want %d: %v", after, n, want, err)
		}
	}
	note := func(i int, after time.Duration) { q.NoteDelivered("a", numbers[i], start.Add(after)) }
	note(1, 7*day)
	note(1, 9*day) // it was delivered before
	note(2, 8*day-time.Minute)
	for range 2 {
		wantAt(7*day-time.Millisecond, "id-0", "id-1", "id-2", "id-3", "id-4")
		wantAt(7*day, "id-2", "id-3", "id-4")
		wantAt(8*day-2*time.Minute, "id-2", "id-3", "id-4")
		wantAt(8*day, "id-3", "id-4")
		expire(time.Hour, 0)
		q.Close()
		q = openQueue(t, dir, window)
	}
	expire(7*day, 2)
	wantAt(0, "id-2", "id-3", "id-4")
	note(3, 31*day) // delivered shortly before it expired
	expire(8*day, 1)
	wantAt(30*day, "id-3")
	q.Close()
	q = openQueue(t, dir, window)
	expire(30*day, 2) // with the other inbox
	wantAt(31*day-time.Millisecond, "id-3")
	wantAt(31 * day)
	expire(31*day, 1)
	if w, err := q.CountAll(t.Context()); err != nil || w.Mail != 0 {
		t.Fatalf("%+v, %v", w, err)
	}
	in := newEnvelope("a", "did:x", 20)
	in.Received, in.Expires = start.Add(31*day), start.Add(61*day)
	pushMail(t, q, in) // what was noted is about earlier mail
	expire(60*day, 0)
	wantAt(60*day, "id-20")
}

func testWipe(t *testing.T) {
	q := newQueue(t)
	for i := range 1200 {
		in := newEnvelope("a", "did:x", i)
		if i%10 == 0 {
			in.Inbox = "b"
		}
		pushMail(t, q, in)
	}
	if n, err := q.Wipe(t.Context(), "a"); err != nil || n != 1080 {
		t.Fatalf("wiped %d, %v", n, err)
	}
	wantIDs(t, pullMail(t, q, "a", 0))
	if got := len(pullMail(t, q, "b", 0)); got != 120 {
		t.Fatalf("%d envelopes are left in another inbox", got)
	}
	if _, err := q.Push(t.Context(), newEnvelope("a", "did:x", 1)); !errors.Is(err, relay.ErrRepeated) {
		t.Fatalf("a wiped envelope comes again: %v", err)
	}
}

func testNames(t *testing.T) {
	q := newQueue(t)
	names := []string{"a", "ab", "a b", "a\x01", "aé", "did:wba:x:agents:AIR-1", "did:wba:x:agents:AIR-11"}
	for _, name := range names {
		pushMail(t, q, newEnvelope(name, "did:x", 1))
	}
	for _, name := range names {
		wantIDs(t, pullMail(t, q, name, 0), "id-1")
	}
	if n, err := q.Wipe(t.Context(), "a"); err != nil || n != 1 {
		t.Fatalf("wiped %d, %v", n, err)
	}
	if w, err := q.CountAll(t.Context()); err != nil || w.Inboxes != len(names)-1 || w.Mail != len(names)-1 || !w.Oldest.Equal(start) {
		t.Fatalf("%+v, %v", w, err)
	}
}

func testWatch(t *testing.T) {
	q := newQueue(t)
	pushed, stop := q.Watch("a")
	defer stop()
	again, stopAgain := q.Watch("a")
	stopAgain()
	stopAgain()
	pushMail(t, q, newEnvelope("b", "did:x", 1))
	select {
	case <-pushed:
		t.Fatal("mail for another inbox wakes")
	default:
	}
	pushMail(t, q, newEnvelope("a", "did:x", 1))
	<-pushed
	<-again
	next, stopNext := q.Watch("a")
	defer stopNext()
	select {
	case <-next:
		t.Fatal("a new watch is woken by old mail")
	default:
	}
}

func testConcurrentDuplicates(t *testing.T) {
	q := newQueue(t)
	var group sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 16 {
		group.Go(func() {
			_, err := q.Push(context.Background(), newEnvelope("a", "did:x", 1))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				won++
			case !errors.Is(err, relay.ErrRepeated):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if won != 1 || len(pullMail(t, q, "a", 0)) != 1 {
		t.Fatalf("%d of 16 equal pushes were accepted", won)
	}
}

func testConcurrentOrder(t *testing.T) {
	q := newQueue(t)
	const senders, each = 8, 40
	var group sync.WaitGroup
	for sender := range senders {
		group.Go(func() {
			for i := range each {
				if _, err := q.Push(context.Background(), newEnvelope("a", fmt.Sprintf("did:%d", sender), i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	next := map[string]int{}
	for _, m := range pullMail(t, q, "a", 0) {
		if want := fmt.Sprintf("id-%d", next[m.Sender]); m.ID != want {
			t.Fatalf("%s: %s came where %s was due", m.Sender, m.ID, want)
		}
		next[m.Sender]++
	}
	for sender, n := range next {
		if n != each {
			t.Errorf("%s: %d of %d", sender, n, each)
		}
	}
}

func testReopen(t *testing.T) {
	dir := t.TempDir()
	q := openQueue(t, dir, window)
	n := pushMail(t, q, newEnvelope("a", "did:x", 1))
	pushMail(t, q, newEnvelope("a", "did:x", 2))
	if _, err := q.Acknowledge(t.Context(), "a", []string{"id-2"}); err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	q = openQueue(t, dir, window)
	defer q.Close()
	wantIDs(t, pullMail(t, q, "a", 0), "id-1")
	if _, err := q.Push(t.Context(), newEnvelope("a", "did:x", 2)); !errors.Is(err, relay.ErrRepeated) {
		t.Fatalf("the replay window forgot: %v", err)
	}
	if next := pushMail(t, q, newEnvelope("a", "did:x", 3)); next <= n+1 {
		t.Fatalf("number %d after %d and another", next, n)
	}
}

// restoreFile resets the file of the queue to its state at the call of the given function, like an
// operator who restores an older backup. The queue is closed before both.
func restoreFile(t testing.TB, dir string, between func()) {
	file := filepath.Join(dir, QueueFile)
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	between()
	if err := os.WriteFile(file, old, 0o600); err != nil {
		t.Fatal(err)
	}
}

func testRestore(t *testing.T) {
	dir := t.TempDir()
	q := openQueue(t, dir, window)
	pushMail(t, q, newEnvelope("a", "did:x", 1))
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	var last uint64
	restoreFile(t, dir, func() {
		q := openQueue(t, dir, window)
		for i := 2; i < 20; i++ {
			last = pushMail(t, q, newEnvelope("a", "did:x", i))
		}
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
	})
	q = openQueue(t, dir, window)
	defer q.Close()
	if next := pushMail(t, q, newEnvelope("a", "did:x", 99)); next <= last {
		t.Fatalf("after a restore the number is %d, clients have seen %d", next, last)
	}
	wantIDs(t, pullMail(t, q, "a", last), "id-99")
}

func testBadNames(t *testing.T) {
	q := newQueue(t)
	for _, name := range []string{"", "a\x00b", string(bytes.Repeat([]byte("x"), 5000))} {
		in := newEnvelope(name, "did:x", 1)
		if _, err := q.Push(t.Context(), in); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("push to %.20q: %v", name, err)
		}
		if _, err := q.Pull(t.Context(), name, 0, 1, 1, start); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("pull %.20q: %v", name, err)
		}
		in = newEnvelope("a", "did:x", 1)
		in.ID = name
		if _, err := q.Push(t.Context(), in); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("push with the id %.20q: %v", name, err)
		}
	}
}

// testCounts reopens a queue between deletions: what waits is counted right, acknowledged by its id,
// and known to the replay window.
func testCounts(t *testing.T) {
	dir := t.TempDir()
	q := openQueue(t, dir, window)
	defer func() { q.Close() }()
	for i := range 10 {
		in := newEnvelope("a", "did:x", i)
		in.Received = start.Add(time.Duration(i) * time.Minute)
		pushMail(t, q, in)
	}
	for i := range 10 {
		w, err := q.CountAll(t.Context())
		if want := start.Add(time.Duration(i) * time.Minute); err != nil || w.Inboxes != 1 || w.Mail != 10-i || !w.Oldest.Equal(want) {
			t.Fatalf("%d were acknowledged, %+v waits: %v", i, w, err)
		}
		if n, err := q.Acknowledge(t.Context(), "a", []string{fmt.Sprintf("id-%d", i)}); err != nil || n != 1 {
			t.Fatalf("acknowledged %d of id-%d: %v", n, i, err)
		}
		if i%3 == 0 {
			q.Close()
			q = openQueue(t, dir, window)
		}
		if _, err := q.Push(t.Context(), newEnvelope("a", "did:x", i)); !errors.Is(err, relay.ErrRepeated) {
			t.Fatalf("id-%d again: %v", i, err)
		}
	}
	if w, err := q.CountAll(t.Context()); err != nil || w.Mail+w.Inboxes != 0 || w.Bytes != 0 || !w.Oldest.IsZero() {
		t.Errorf("nothing waits, but %+v: %v", w, err)
	}
}
