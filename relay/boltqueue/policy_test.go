package boltqueue

import (
	"errors"
	"slices"
	"testing"
	"time"

	"gazetteer/relay"
)

func testContacts(t *testing.T) {
	dir := t.TempDir()
	q := openQueue(t, dir, window)
	defer func() { q.Close() }()
	write := func(inbox, sender string, n int, at time.Time) error {
		in := newEnvelope(inbox, sender, n)
		in.MaxFirstContacts, in.Received, in.Expires = 2, at, at.Add(time.Hour)
		_, err := q.Push(t.Context(), in)
		return err
	}
	for n, inbox := range []string{"a", "b", "a", "b"} {
		if err := write(inbox, "did:x", n, start); err != nil {
			t.Fatalf("%s: %v", inbox, err)
		}
	}
	q.Close()
	q = openQueue(t, dir, window)
	err := write("c", "did:x", 10, start.Add(time.Hour))
	if e, ok := errors.AsType[*relay.ContactsError](err); !ok || e.Wait != 23*time.Hour {
		t.Fatalf("the third inbox: %v (%+v), want to wait for 23 hours", err, e)
	}
	if err := write("a", "did:x", 11, start.Add(time.Hour)); err != nil {
		t.Errorf("a known pair: %v", err)
	}
	if err := write("c", "did:y", 12, start.Add(time.Hour)); err != nil {
		t.Errorf("the quota of one sender is used for another: %v", err)
	}
	if err := write("c", "did:x", 13, start.Add(24*time.Hour)); err != nil {
		t.Errorf("a day later: %v", err)
	}
}

// testClockAhead checks that quotas which a sender used while the clock was ahead do not bind it for
// as long as the clock was ahead, and that its envelopes still count once.
func testClockAhead(t *testing.T) {
	ahead := start.Add(1000 * time.Hour)
	t.Run("first contacts", func(t *testing.T) {
		q := newQueue(t)
		n := 0
		write := func(inbox string, at time.Time) error {
			n++
			in := newEnvelope(inbox, "did:x", n)
			in.MaxFirstContacts, in.Received, in.Expires = 2, at, at.Add(time.Hour)
			_, err := q.Push(t.Context(), in)
			return err
		}
		wantWrites := func(at time.Time, inboxes ...string) {
			t.Helper()
			for _, inbox := range inboxes {
				if err := write(inbox, at); err != nil {
					t.Fatalf("%s at %s: %v", inbox, at, err)
				}
			}
			err := write("another", at)
			if e, ok := errors.AsType[*relay.ContactsError](err); !ok || e.Wait > 24*time.Hour {
				t.Fatalf("one more at %s: %v", at, err)
			}
		}
		wantWrites(start, "a", "b")
		wantWrites(start.Add(48*time.Hour), "a", "c", "d") // in the period of the first ones
		wantWrites(start.Add(time.Minute), "a", "e", "f")
		wantWrites(ahead, "a", "g", "h") // in another
		wantWrites(start.Add(25*time.Hour), "a", "i", "j")
		wantWrites(start.Add(50*time.Hour), "a", "k", "l")
	})
	for name, between := range map[string]time.Duration{"the window": time.Hour, "the window, merged while ahead": window} {
		t.Run(name, func(t *testing.T) {
			q := newQueue(t)
			const most = 40
			push := func(n int, at time.Time) error {
				in := newEnvelope("a", "did:x", n)
				in.MaxSenderPerWindow, in.Received, in.Expires = most, at, at.Add(time.Hour)
				_, err := q.Push(t.Context(), in)
				return err
			}
			for n := range most {
				if err := push(n, ahead); err != nil {
					t.Fatal(err)
				}
			}
			if err := push(most, ahead); !errors.Is(err, relay.ErrWindowFull) {
				t.Fatalf("ahead: %v", err)
			}
			if _, err := q.Expire(t.Context(), ahead.Add(between), ahead.Add(between), 100); err != nil {
				t.Fatal(err)
			}
			sent := 0
			for n := range 16 * 5 {
				at := start.Add(time.Duration(n) * window / 16)
				if err := push(most+n, at); err == nil {
					sent++
				} else if !errors.Is(err, relay.ErrWindowFull) {
					t.Fatal(err)
				}
				if _, err := q.Expire(t.Context(), at, at, 100); err != nil {
					t.Fatal(err)
				}
			}
			if sent < 16*3 {
				t.Errorf("%d of %d envelopes of five windows are accepted", sent, 16*5)
			}
			in := newEnvelope("a", "did:x", 1)
			in.Received = start.Add(5 * window)
			if _, err := q.Push(t.Context(), in); between == window && !errors.Is(err, relay.ErrRepeated) {
				t.Errorf("an envelope from ahead again: %v", err)
			}
		})
	}
}

func testRules(t *testing.T) {
	dir := t.TempDir()
	q := openQueue(t, dir, window)
	defer func() { q.Close() }()
	if rules, err := q.Rules(t.Context(), "a"); err != nil || len(rules.Allow)+len(rules.Block) != 0 || rules.WakeURL != "" {
		t.Fatalf("rules that nobody set: %+v, %v", rules, err)
	}
	want := relay.Rules{Allow: []string{"did:x"}, Block: []string{"example.com"}, WakeURL: "https://agent.example/wake", Signed: start}
	if err := q.SetRules(t.Context(), "a", want); err != nil {
		t.Fatal(err)
	}
	if err := q.SetRules(t.Context(), "a", relay.Rules{Signed: start}); !errors.Is(err, relay.ErrOldRules) {
		t.Errorf("rules that were signed at the same time: %v", err)
	}
	q.Close()
	q = openQueue(t, dir, window)
	if rules, err := q.Rules(t.Context(), "a"); err != nil || !slices.Equal(rules.Allow, want.Allow) || !slices.Equal(rules.Block, want.Block) || rules.WakeURL != want.WakeURL {
		t.Fatalf("after reopening: %+v, %v", rules, err)
	}
	if _, err := q.Wipe(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if rules, err := q.Rules(t.Context(), "a"); err != nil || rules.WakeURL != "" {
		t.Errorf("the rules of a wiped inbox: %+v, %v", rules, err)
	}
}

func testWakes(t *testing.T) {
	dir := t.TempDir()
	q := openQueue(t, dir, window)
	defer func() { q.Close() }()
	wanted := func(inbox string, n int) uint64 {
		in := newEnvelope(inbox, "did:x", n)
		in.Wake = true
		return pushMail(t, q, in)
	}
	pushMail(t, q, newEnvelope("a", "did:x", 0)) // has no wake-up address
	first, second := wanted("b", 0), wanted("b", 1)
	third := wanted("c", 0)
	wanted("d", 0)
	state := relay.WakeHost{Failures: 20, Next: start.Add(time.Hour)}
	for _, err := range []error{
		q.EndWake(t.Context(), "b", first), q.EndWake(t.Context(), "c", third), q.EndWake(t.Context(), "nobody", 1),
		q.SetWakeHost(t.Context(), "dead.example", state), q.SetWakeHost(t.Context(), "good.example", state), q.SetWakeHost(t.Context(), "good.example", relay.WakeHost{}),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if n, err := q.Acknowledge(t.Context(), "d", []string{"id-0"}); err != nil || n != 1 { // nothing to be woken for
		t.Error(n, err)
	}
	q.Close()
	q = openQueue(t, dir, window)
	got, err := q.Wakes(t.Context())
	if err != nil || len(got.Pending) != 1 || got.Pending["b"] != second || len(got.Hosts) != 1 || got.Hosts["dead.example"] != state {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := q.Wipe(t.Context(), "b"); err != nil {
		t.Error(err)
	}
	if got, err := q.Wakes(t.Context()); err != nil || len(got.Pending) != 0 {
		t.Errorf("a wiped inbox is to be woken: %+v, %v", got, err)
	}
}
