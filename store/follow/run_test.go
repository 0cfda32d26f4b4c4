package follow_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/store"
	"gazetteer/store/boltstore"
	"gazetteer/store/follow"
)

// derived is what a follower of the tests makes of a store: the keys that it has seen.
type derived struct {
	position follow.Position
	keys     map[string]bool
	rebuilds int
	saves    []time.Duration // since the follower began
	begun    time.Time
}

// run runs a follower beside the test. stop ends it and returns its error.
func (d *derived) run(t *testing.T, s store.Store, o follow.Options) (stop func() error) {
	d.begun = time.Now()
	o.Name = "the keys"
	if o.Rebuild == nil {
		o.Rebuild = func(context.Context) error {
			d.rebuilds++
			d.keys = map[string]bool{}
			d.position.MoveTo(store.Cursor{})
			return nil
		}
	}
	if o.Apply == nil {
		o.Apply = func(_ context.Context, batch []store.Record, _ store.Cursor) error {
			for _, r := range batch {
				d.keys[r.Key] = !r.Deleted
			}
			return nil
		}
	}
	o.Save = func(context.Context) error {
		d.saves = append(d.saves, time.Since(d.begun))
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- follow.Run(ctx, s, &d.position, o) }()
	return func() error { cancel(); return <-ended }
}

func TestRunRebuildsAtTheBeginningOnly(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		var d derived
		stop := d.run(t, s, follow.Options{})
		seq := put(t, s, "a", "b")
		if err := d.position.WaitFor(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
		if err := stop(); err != nil {
			t.Errorf("Run returns %v when its context ends", err)
		}
		put(t, s, "c")
		stop = d.run(t, s, follow.Options{})
		synctest.Wait()
		if behind := d.position.Behind(s); behind != 1 {
			t.Errorf("%d writes behind", behind)
		}
		if err := d.position.WaitFor(t.Context(), seq+1); err != nil {
			t.Fatal(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if d.rebuilds != 1 || len(d.keys) != 3 || d.position.Cursor() != s.Head() || d.position.Behind(s) != 0 {
			t.Errorf("%d rebuilds, keys %v, at %+v", d.rebuilds, d.keys, d.position.Cursor())
		}
	})
}

// TestRunRebuildsWhenItsPlaceIsGone begins with cursors that the log does not have.
func TestRunRebuildsWhenItsPlaceIsGone(t *testing.T) {
	for name, place := range map[string]store.Cursor{
		"another store":       {Store: "another", Incarnation: 1, Seq: 2},
		"another incarnation": {Incarnation: 7, Seq: 2},
		"ahead of the log":    {Incarnation: 1, Seq: 99},
		"behind the horizon":  {Incarnation: 1, Seq: 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *boltstore.Store) {
				put(t, s, "a", "b", "c")
				if _, err := s.Apply(t.Context(), store.Delete("a")); err != nil {
					t.Fatal(err)
				}
				seq := put(t, s, "d")
				if err := s.Forget(t.Context(), s.Head()); err != nil {
					t.Fatal(err)
				}
				if place.Store == "" {
					place.Store = s.Head().Store
				}
				var d derived
				d.position.MoveTo(place)
				stop := d.run(t, s, follow.Options{})
				time.Sleep(time.Second)
				if err := stop(); err != nil {
					t.Error(err)
				}
				if d.rebuilds != 1 || len(d.keys) != 3 || d.keys["a"] || d.position.Cursor().Seq != seq {
					t.Errorf("%d rebuilds, keys %v, at %+v", d.rebuilds, d.keys, d.position.Cursor())
				}
			})
		})
	}
}

// TestRunRebuildsWhenTheHorizonPassesIt holds a running follower up while the store deletes records
// that the follower has read, and drops the tombstones: it rebuilds from the present records and
// ends with what the store has.
func TestRunRebuildsWhenTheHorizonPassesIt(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		var d derived
		present := func() map[string]bool {
			keys := map[string]bool{}
			for r, err := range s.List(t.Context(), "", "") {
				if err != nil {
					t.Error(err)
				}
				keys[r.Key] = true
			}
			return keys
		}
		applying, proceed := make(chan struct{}), make(chan struct{})
		held := false
		stop := d.run(t, s, follow.Options{
			Rebuild: func(context.Context) error {
				d.rebuilds++
				head := s.Head()
				d.keys = present()
				d.position.MoveTo(head)
				return nil
			},
			Apply: func(_ context.Context, batch []store.Record, _ store.Cursor) error {
				if !held {
					held = true
					close(applying)
					<-proceed
				}
				for _, r := range batch {
					if delete(d.keys, r.Key); !r.Deleted {
						d.keys[r.Key] = true
					}
				}
				return nil
			},
		})
		synctest.Wait() // the first rebuild has found an empty store
		put(t, s, "a", "gone")
		<-applying
		const rounds, inRound = 20, 200
		for round := range rounds {
			var puts, deletions []store.Write
			for i := range inRound {
				key := fmt.Sprintf("k%d/%d", round, i)
				if puts = append(puts, store.Put(key, nil)); i%2 == 0 {
					deletions = append(deletions, store.Delete(key))
				}
			}
			for _, writes := range [][]store.Write{puts, deletions} {
				if _, err := s.Apply(t.Context(), writes...); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := s.Apply(t.Context(), store.Delete("gone")); err != nil {
			t.Fatal(err)
		}
		if err := s.Forget(t.Context(), s.Head()); err != nil {
			t.Fatal(err)
		}
		close(proceed)
		if err := d.position.WaitFor(t.Context(), put(t, s, "last")); err != nil {
			t.Fatal(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if want := present(); !maps.Equal(d.keys, want) || len(want) != rounds*inRound/2+2 {
			t.Errorf("%d keys, the store has %d", len(d.keys), len(want))
		}
		if d.rebuilds != 2 {
			t.Errorf("%d rebuilds", d.rebuilds)
		}
	})
}

// TestRunReadsAgainWithoutRebuild follows with no function for rebuilding.
func TestRunReadsAgainWithoutRebuild(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		seq := put(t, s, "a", "b")
		var p follow.Position
		p.MoveTo(store.Cursor{Store: "another", Incarnation: 1, Seq: 1})
		ctx, cancel := context.WithCancel(t.Context())
		var seen []string
		ended := make(chan error, 1)
		go func() {
			ended <- follow.Run(ctx, s, &p, follow.Options{Name: "the keys", Apply: func(_ context.Context, batch []store.Record, _ store.Cursor) error {
				for _, r := range batch {
					seen = append(seen, r.Key)
				}
				return nil
			}})
		}()
		if err := p.WaitFor(t.Context(), seq); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-ended; err != nil || !slices.Equal(seen, []string{"a", "b"}) {
			t.Errorf("%v after %v", err, seen)
		}
	})
}

func TestRunSaves(t *testing.T) {
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		var d derived
		stop := d.run(t, s, follow.Options{SaveEvery: time.Minute, Linger: time.Second})
		for i := range 4 {
			put(t, s, fmt.Sprint(i)) // at 0, 40, 80 and 120 seconds, applied a second later
			time.Sleep(40 * time.Second)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if want := []time.Duration{81 * time.Second, 160 * time.Second}; !slices.Equal(d.saves, want) {
			t.Errorf("saved at %v, want %v", d.saves, want)
		}
	})
}

func TestRunEndsWithAnError(t *testing.T) {
	broken := errors.New("broken")
	for name, o := range map[string]follow.Options{
		"of Apply":   {Apply: func(context.Context, []store.Record, store.Cursor) error { return broken }},
		"of Rebuild": {Rebuild: func(context.Context) error { return broken }},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *boltstore.Store) {
				put(t, s, "a")
				var d derived
				stop := d.run(t, s, o)
				time.Sleep(time.Second)
				if err := stop(); !errors.Is(err, broken) || !strings.Contains(err.Error(), "follow the store into the keys") {
					t.Errorf("error %v", err)
				}
				if d.position.Cursor() != (store.Cursor{}) || len(d.saves) != 1 {
					t.Errorf("at %+v, saved %d times", d.position.Cursor(), len(d.saves))
				}
			})
		})
	}
	// The end of the context is not an error, whatever it interrupts.
	inBubble(t, func(t *testing.T, s *boltstore.Store) {
		var d derived
		stop := d.run(t, s, follow.Options{Rebuild: func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("read all: %w", ctx.Err())
		}})
		synctest.Wait()
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestPositionWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p follow.Position
		p.MoveTo(store.Cursor{Seq: 3})
		if err := p.WaitFor(t.Context(), 3); err != nil {
			t.Error(err)
		}
		waiting := make(chan error)
		wait := func(ctx context.Context) { waiting <- p.WaitFor(ctx, 4) }
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go wait(ctx)
		if err := <-waiting; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("context ended: %v", err)
		}
		halted := errors.New("halted")
		go wait(t.Context())
		synctest.Wait()
		p.SetError(halted)
		if err := <-waiting; !errors.Is(err, halted) {
			t.Errorf("stopped: %v", err)
		}
		if err := p.WaitFor(t.Context(), 3); err != nil {
			t.Errorf("what was followed before it stopped: %v", err)
		}
		p.SetError(nil)
		go wait(t.Context())
		synctest.Wait()
		p.MoveTo(store.Cursor{Seq: 5})
		if err := <-waiting; err != nil {
			t.Errorf("reached: %v", err)
		}
	})
}
