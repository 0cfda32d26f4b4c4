package journal

import (
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		least := 2 * time.Second
		addr := netip.MustParseAddr("192.0.2.1")
		start := func() (*Journal, map[string]Interruptions, []Attempt) {
			t.Helper()
			j := New(slog.New(slog.DiscardHandler))
			cut, _, recent, err := j.Open(dir, time.Now(), least)
			if err != nil {
				t.Fatal(err)
			}
			return j, cut, recent
		}
		done := func(j *Journal, host string) { j.EndVisits([]string{host}) }
		die := func(j *Journal) { j.file.Close() } // as a killed process leaves it

		j, cut, recent := start()
		if len(cut)+len(recent) > 0 {
			t.Fatalf("an empty journal tells of %v %v", cut, recent)
		}
		j.BeginContact("good.test", "good.test", addr, time.Now())
		j.BeginContact("good.test", "other.test", netip.Addr{}, time.Now())
		done(j, "good.test")
		last := time.Duration(0)
		for times := 1; times <= 8; times++ {
			j.BeginContact("killer.test", "killer.test", netip.Addr{}, time.Now())
			if times == 1 {
				j.BeginContact("bystander.test", "bystander.test", netip.Addr{}, time.Now())
			}
			die(j)
			j, cut, recent = start()
			if times == 1 && (len(recent) != 4 || recent[0].Addr != addr || recent[1].Host != "other.test") {
				t.Errorf("contacts %v", recent)
			}
			if _, ok := cut["good.test"]; ok {
				t.Error("a visit that was committed counts as cut off")
			}
			a := cut["killer.test"]
			wait := time.Until(a.Until)
			if a.times != times || wait < least || wait < last || times >= 6 && wait != 24*time.Hour {
				t.Errorf("after %d deaths the host waits %v, %d times", times, wait, a.times)
			}
			last = wait
			if b := cut["bystander.test"]; b.times != 1 || time.Until(b.Until) > least {
				t.Errorf("the bystander waits %v, %d times", time.Until(b.Until), b.times)
			}
		}
		done(j, "killer.test")
		j.BeginContact("late.test", "late.test", netip.Addr{}, time.Now())
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		_, cut, recent = start()
		if _, ok := cut["killer.test"]; ok || len(recent) != 1 || recent[0].Host != "late.test" {
			t.Errorf("after a good end: %v, %v", cut, recent)
		}
		if _, ok := cut["late.test"]; ok {
			t.Error("a visit that the process cut short itself is held against its host")
		}
	})
}

// TestCrashSuspectsAreVisitedFewAtATime checks that, of many hosts whose visits are interrupted
// together, the one that causes the crash is found by visiting few at a time: it waits, and the
// others wait only for seconds, however often the process ends.
func TestCrashSuspectsAreVisitedFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, least = 64, 2 * time.Second
		const killer = "h0.test"
		dir := t.TempDir()
		// life begins another process, in which the visits to these are cut off.
		life := func(flying ...string) map[string]Interruptions {
			t.Helper()
			j := New(slog.New(slog.DiscardHandler))
			cut, _, _, err := j.Open(dir, time.Now(), least)
			if err != nil {
				t.Fatal(err)
			}
			cut = maps.Clone(cut)
			for _, host := range flying {
				j.BeginContact(host, host, netip.Addr{}, time.Now())
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
		waits := func(cut map[string]Interruptions, most time.Duration) {
			t.Helper()
			perSecond := map[int64]int{}
			for host, a := range cut {
				if host == killer {
					continue
				}
				perSecond[a.Until.Unix()]++
				if wait := time.Until(a.Until); a.times != suspected || wait > most {
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
		for n, want := range []time.Duration{least, time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour} {
			cut := life(killer)
			if len(cut) != hosts {
				t.Fatalf("%d hosts are remembered", len(cut))
			}
			waits(cut, seats)
			if wait := cut[killer].Until.Sub(begun); wait < want || n == 0 && wait > seats {
				t.Errorf("nearly alone for the %d. time, the host waits %v, want %v", n, wait, want)
			}
			begun = time.Now()
			time.Sleep(time.Second)
		}
	})
}

func TestJournalIsCompacted(t *testing.T) {
	j := New(slog.New(slog.DiscardHandler))
	dir := t.TempDir()
	if _, _, _, err := j.Open(dir, time.Now(), 0); err != nil {
		t.Fatal(err)
	}
	j.BeginContact("open.test", "open.test", netip.Addr{}, time.Now())
	batch := slices.Repeat([]string{"a.test"}, 1000)
	for range journalLines/len(batch) + 2 {
		j.EndVisits(batch)
	}
	info, err := os.Stat(filepath.Join(dir, "visits"))
	if err != nil || info.Size() > 100_000 {
		t.Errorf("the file has %d bytes, %v", info.Size(), err)
	}
	if _, open := j.inFlight["open.test"]; !open {
		t.Error("a visit under way is forgotten")
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
