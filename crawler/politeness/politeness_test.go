package politeness

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// enter takes every turn of a session with a host and begins its intervals.
func enter(t *testing.T, ctx context.Context, l *Limiter, host string, addr netip.Addr) *Slots {
	t.Helper()
	var p Slots
	err := l.WaitForAddress(ctx, &p, addr)
	if err == nil {
		err = l.EnterHost(ctx, &p, host)
	}
	if err == nil {
		err = p.BeginIntervals(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &p
}

func TestIntervalsOfHostDomainAndAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Limits{
			Host: Limit{Interval: 10 * time.Second, Concurrency: 1}, Domain: Limit{Interval: 3 * time.Second, Concurrency: 1},
			Address:  Limit{Interval: time.Second, Concurrency: 1},
			Networks: []NetworkLimit{{Network: netip.MustParsePrefix("198.51.100.0/24"), Limit: Limit{Concurrency: 5}}},
		})
		addr, shared := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("198.51.100.1")
		for _, step := range []struct {
			host string
			addr netip.Addr
			wait time.Duration
		}{
			{"a.one.test", addr, 0},
			{"b.two.test", addr, time.Second},                                     // the address
			{"b.one.test", netip.MustParseAddr("2001:db8::1"), 2 * time.Second},   // the domain
			{"c.three.test", netip.MustParseAddr("2001:db8::2"), 1 * time.Second}, // the same /64
			{"d.four.test", netip.MustParseAddr("2001:db8:0:1::2"), 0},            // another /64
			{"e.five.test", shared, 0}, {"f.six.test", shared, 0},                 // an excepted network
			{"a.one.test", netip.MustParseAddr("192.0.2.2"), 6 * time.Second}, // the host
		} {
			begun := time.Now()
			enter(t, t.Context(), l, step.host, step.addr).Release()
			if waited := time.Since(begun).Round(100 * time.Millisecond); waited != step.wait {
				t.Errorf("%s at %s waits %v, want %v", step.host, step.addr, waited, step.wait)
			}
		}
	})
}

func TestWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Limits{Host: Limit{Concurrency: 1}, Domain: Limit{Concurrency: 1}, Address: Limit{Concurrency: 2}})
		addr := netip.MustParseAddr("192.0.2.1")
		first := enter(t, t.Context(), l, "a.test", addr)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var second Slots
		if err := l.WaitForAddress(ctx, &second, addr); err != nil {
			t.Fatal(err)
		}
		if err := l.EnterHost(ctx, &second, "a.test"); err == nil {
			t.Error("two sessions with one host at a time")
		}
		second.Release()
		first.Release()
		enter(t, t.Context(), l, "a.test", addr).Release()
	})
}

func TestReservationsGoBeforeNewVisits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Limits{Address: Limit{Interval: 10 * time.Second, Concurrency: 1}})
		addr := netip.MustParseAddr("192.0.2.1")
		enter(t, t.Context(), l, "a.test", addr).Release()
		var p Slots
		at, ok := l.BookAddress(&p, addr, false)
		if ok || time.Until(at) != 10*time.Second {
			t.Fatalf("booked for %v, free %v", at, ok)
		}
		if later, ok := l.BookAddress(&p, addr, false); ok || later.Sub(at) != 10*time.Second {
			t.Errorf("the next one is booked for %v, free %v", later, ok)
		}
		time.Sleep(time.Until(at))
		if _, ok := l.BookAddress(&p, addr, false); ok {
			t.Error("a new visit goes before one with a reservation")
		}
		if _, ok := l.BookAddress(&p, addr, true); !ok {
			t.Error("a visit with a reservation does not get its turn")
		}
		p.Release()
	})
}

func TestIdleStatesAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Limits{Host: Limit{Interval: time.Second, Concurrency: 1}})
		for i := range 5 * minSweepInterval {
			l.CountVisit("a.test", netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}))
			time.Sleep(time.Millisecond)
		}
		if n := len(l.states); n > 2*minSweepInterval+2 {
			t.Errorf("%d states after everything is idle", n)
		}
	})
}

// TestWaitersDoNotAccumulateBurst checks that only one of the sessions that wait for the common
// rate has a reservation, so that a pause of the process does not release them all at once.
func TestWaitersDoNotAccumulateBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Limits{Rate: 60})
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for i := range 500 {
			waiting.Go(func() {
				var slots Slots
				defer slots.Release()
				_ = p.EnterHost(ctx, &slots, fmt.Sprintf("h%d.test", i)) // an error is the end of the test
			})
		}
		synctest.Wait()
		if tokens := p.all.Tokens(); tokens < -1 {
			t.Errorf("%.0f sessions hold reservations, want one", -tokens)
		}
		cancel()
		waiting.Wait()
	})
}
