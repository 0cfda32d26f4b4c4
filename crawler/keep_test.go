package crawler

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"gazetteer/crawler/politeness"
	"gazetteer/store"
	"gazetteer/store/boltstore"
)

// TestFrontierBehindTheHorizon restores the frontier after the store has forgotten the deletion of a
// host that the snapshot still has: every host's record is read, and the host is gone.
func TestFrontierBehindTheHorizon(t *testing.T) {
	now := time.Unix(1e9, 0)
	s, err := boltstore.Open(t.Context(), t.TempDir(), boltstore.Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := &Crawler{store: s, dir: t.TempDir(), log: slog.New(slog.DiscardHandler), politeness: politeness.New(politeness.Limits{})}
	o := &frontierLoop{c: c, frontier: c.emptyFrontier()}
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
