package crawler

import (
	"fmt"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/crawler/politeness"
	"gazetteer/internal/teststore"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// openFrontier returns a new store and the frontier of a crawler over it, which does not run.
func openFrontier(t *testing.T) (*boltstore.Store, *frontierLoop) {
	t.Helper()
	s := teststore.New(t)
	c := &Crawler{store: s, dir: t.TempDir(), log: slog.New(slog.DiscardHandler), politeness: politeness.New(politeness.Limits{})}
	return s, &frontierLoop{c: c, frontier: c.emptyFrontier()}
}

// TestFrontierBehindTheHorizon restores the frontier after the store has forgotten the deletion of a
// host that the snapshot still has: every host's record is read, and the host is gone.
func TestFrontierBehindTheHorizon(t *testing.T) {
	now := time.Unix(1e9, 0)
	s, o := openFrontier(t)
	apply := func(writes ...store.Write) {
		t.Helper()
		if _, err := s.Apply(t.Context(), writes...); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		host := fmt.Sprintf("h%d.test", i)
		apply(store.Put(store.HostKey(host), fmt.Appendf(nil, `{"name":%q,"due":%q}`, host, now.Format(time.RFC3339))))
		o.frontier.AddHost(host, now, now)
	}
	if err := o.writeSnapshot(s.Head()); err != nil {
		t.Fatal(err)
	}
	apply(store.Delete(store.HostKey("h3.test")))
	apply(store.Put(store.HostKey("h11.test"), []byte(`{"name":"h11.test"}`)))
	for _, forget := range []func() error{func() error { return nil }, func() error { return s.Forget(t.Context(), s.Head()) }} {
		if err := forget(); err != nil {
			t.Fatal(err)
		}
		if err := o.restoreFrontier(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		known := func(host string) bool {
			return o.frontier.IsDue(host, now.AddDate(1000, 0, 0))
		}
		if o.frontier.Counts().Known != 10 || known("h3.test") || !known("h11.test") {
			t.Errorf("%d hosts, h3 %v, h11 %v", o.frontier.Counts().Known, known("h3.test"), known("h11.test"))
		}
	}
}

// TestUnchangedFrontierIsNotSaved checks that the file of the frontier is written again only after the
// store has changed.
func TestUnchangedFrontierIsNotSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := openFrontier(t)
		saved := func() bool {
			t.Helper()
			os.Remove(o.snapshotPath())
			time.Sleep(2 * snapshotPause)
			o.saveSnapshot()
			_, err := os.Stat(o.snapshotPath())
			return err == nil
		}
		for _, host := range []string{"a.test", "b.test"} {
			if _, err := s.Apply(t.Context(), store.Put(store.HostKey(host), []byte(`{}`))); err != nil {
				t.Fatal(err)
			}
			o.frontier.AddHost(host, time.Now(), time.Now())
			saved() // the cursor of the first is that of a pause ago
			if !saved() {
				t.Errorf("%s is not saved", host)
			}
			if saved() {
				t.Errorf("after %s: saved without a change", host)
			}
		}
	})
}
