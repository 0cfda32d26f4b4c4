package crawler

import (
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/crawler/frontier"
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

func TestJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		least := 2 * time.Second
		addr := netip.MustParseAddr("192.0.2.1")
		start := func() (*journal, map[string]interruptions, []contact) {
			t.Helper()
			j := &journal{log: slog.New(slog.DiscardHandler)}
			cut, _, recent, err := j.openFile(dir, time.Now(), least)
			if err != nil {
				t.Fatal(err)
			}
			return j, cut, recent
		}
		done := func(j *journal, host string) { j.endVisits([]*visit{{entry: &frontier.DueHost{Name: host}}}) }
		die := func(j *journal) { j.file.Close() } // as a killed process leaves it

		j, cut, recent := start()
		if len(cut)+len(recent) > 0 {
			t.Fatalf("an empty journal tells of %v %v", cut, recent)
		}
		j.beginVisit("good.test", "good.test", addr, time.Now())
		j.beginVisit("good.test", "other.test", netip.Addr{}, time.Now())
		done(j, "good.test")
		last := time.Duration(0)
		for times := 1; times <= 8; times++ {
			j.beginVisit("killer.test", "killer.test", netip.Addr{}, time.Now())
			if times == 1 {
				j.beginVisit("bystander.test", "bystander.test", netip.Addr{}, time.Now())
			}
			die(j)
			j, cut, recent = start()
			if times == 1 && (len(recent) != 4 || recent[0].addr != addr || recent[1].host != "other.test") {
				t.Errorf("contacts %v", recent)
			}
			if _, ok := cut["good.test"]; ok {
				t.Error("a visit that was committed counts as cut off")
			}
			a := cut["killer.test"]
			wait := time.Until(a.until)
			if a.times != times || wait < least || wait < last || times >= 6 && wait != oneDay {
				t.Errorf("after %d deaths the host waits %v, %d times", times, wait, a.times)
			}
			last = wait
			if b := cut["bystander.test"]; b.times != 1 || time.Until(b.until) > least {
				t.Errorf("the bystander waits %v, %d times", time.Until(b.until), b.times)
			}
		}
		done(j, "killer.test")
		j.beginVisit("late.test", "late.test", netip.Addr{}, time.Now())
		if err := j.closeFile(); err != nil {
			t.Fatal(err)
		}
		_, cut, recent = start()
		if _, ok := cut["killer.test"]; ok || len(recent) != 1 || recent[0].host != "late.test" {
			t.Errorf("after a good end: %v, %v", cut, recent)
		}
		if _, ok := cut["late.test"]; ok {
			t.Error("a visit that the process cut short itself is held against its host")
		}
	})
}

// Of many hosts whose visits are cut off together, the one that does it is found by
// being visited nearly alone: it waits, and the others do so for seconds only,
// however often the process ends.
func TestSuspectsAreVisitedAFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, least = 64, 2 * time.Second
		const killer = "h0.test"
		dir := t.TempDir()
		// life begins another process, in which the visits to these are cut off.
		life := func(flying ...string) map[string]interruptions {
			t.Helper()
			j := &journal{log: slog.New(slog.DiscardHandler)}
			cut, _, _, err := j.openFile(dir, time.Now(), least)
			if err != nil {
				t.Fatal(err)
			}
			cut = maps.Clone(cut)
			for _, host := range flying {
				j.beginVisit(host, host, netip.Addr{}, time.Now())
			}
			j.file.Close() // as a killed process leaves it
			return cut
		}
		var all []string
		for i := range hosts {
			all = append(all, fmt.Sprintf("h%d.test", i))
		}
		life(all...)
		time.Sleep(least)
		life(all...)
		waits := func(cut map[string]interruptions, most time.Duration) {
			t.Helper()
			perSecond := map[int64]int{}
			for host, a := range cut {
				if host == killer {
					continue
				}
				perSecond[a.until.Unix()]++
				if wait := time.Until(a.until); a.times != suspected || wait > most {
					t.Errorf("%s waits %v after %d visits that were cut off", host, wait, a.times)
				}
			}
			for at, n := range perSecond {
				if n > slotsPerSecond {
					t.Errorf("%d suspects are visited in the second %d", n, at)
				}
			}
		}
		const seats = least + (hosts/slotsPerSecond+1)*time.Second
		begun := time.Now()
		for n, want := range []time.Duration{least, time.Minute, 10 * time.Minute, time.Hour, oneDay} {
			cut := life(killer)
			if len(cut) != hosts {
				t.Fatalf("%d hosts are remembered", len(cut))
			}
			waits(cut, seats)
			if wait := cut[killer].until.Sub(begun); wait < want || n == 0 && wait > seats {
				t.Errorf("nearly alone for the %d. time, the host waits %v, want %v", n, wait, want)
			}
			begun = time.Now()
			time.Sleep(time.Second)
		}
	})
}

func TestJournalStaysShort(t *testing.T) {
	j := &journal{log: slog.New(slog.DiscardHandler)}
	dir := t.TempDir()
	if _, _, _, err := j.openFile(dir, time.Now(), 0); err != nil {
		t.Fatal(err)
	}
	j.beginVisit("open.test", "open.test", netip.Addr{}, time.Now())
	batch := make([]*visit, 1000)
	for i := range batch {
		batch[i] = &visit{entry: &frontier.DueHost{Name: "a.test"}}
	}
	for range journalLines/len(batch) + 2 {
		j.endVisits(batch)
	}
	info, err := os.Stat(filepath.Join(dir, "visits"))
	if err != nil || info.Size() > 100_000 {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
	if _, open := j.inFlight["open.test"]; !open {
		t.Error("a visit under way is forgotten")
	}
	if err := j.closeFile(); err != nil {
		t.Error(err)
	}
}
