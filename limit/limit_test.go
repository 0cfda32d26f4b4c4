package limit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/limit"
)

// A clock is set by the test.
type clock struct{ at time.Time }

func newSet() (*limit.Set, *clock) {
	c := &clock{time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}
	return &limit.Set{Now: func() time.Time { return c.at }}, c
}

func takeAll(t *testing.T, l *limit.Limiter, client string) (taken int, err error) {
	t.Helper()
	for taken < 10_000 {
		if err = l.Take(t.Context(), netip.MustParseAddr(client)); err != nil {
			return taken, err
		}
		taken++
	}
	return taken, nil
}

func exceeded(t *testing.T, err error) *limit.ExceededError {
	t.Helper()
	e, ok := errors.AsType[*limit.ExceededError](err)
	if !ok {
		t.Fatalf("the error is %v, want an ExceededError", err)
	}
	return e
}

func TestQuotaRefillsEvenly(t *testing.T) {
	set, c := newSet()
	l := set.Limiter(limit.Rule{Name: "reports", Each: 10, All: -1, Span: time.Hour})
	taken, err := takeAll(t, l, "192.0.2.1")
	if e := exceeded(t, err); taken != 10 || e.Wait != 6*time.Minute || e.All || e.Quota != 10 || e.Span != time.Hour {
		t.Errorf("%d were taken, then %+v", taken, e)
	}
	if taken, _ := takeAll(t, l, "192.0.2.2"); taken != 10 {
		t.Errorf("another address took %d", taken)
	}
	c.at = c.at.Add(6*time.Minute + time.Millisecond)
	if taken, _ := takeAll(t, l, "192.0.2.1"); taken != 1 {
		t.Errorf("after the wait it took %d, want 1", taken)
	}
	c.at = c.at.Add(3 * time.Hour)
	if taken, _ := takeAll(t, l, "192.0.2.1"); taken != 10 {
		t.Errorf("much later it took %d, want 10", taken)
	}
}

func TestNetworkAndTotalLimit(t *testing.T) {
	set, _ := newSet()
	l := set.Limiter(limit.Rule{Name: "registrations", Each: 2, Wide: 8, All: 20})
	for i := range 5 {
		taken, err := takeAll(t, l, fmt.Sprintf("192.0.2.%d", i))
		if want := 2; i < 4 && taken != want || i == 4 && taken != 0 {
			t.Errorf("address %d took %d", i, taken)
		}
		if e := exceeded(t, err); i == 4 && e.Quota != 8 {
			t.Errorf("the wider network is not what refused: %+v", e)
		}
	}
	if taken, _ := takeAll(t, l, "2001:db8::1"); taken != 2 {
		t.Errorf("an IPv6 address took %d", taken)
	}
	if taken, _ := takeAll(t, l, "2001:db8::ffff"); taken != 0 {
		t.Errorf("its /64 took %d more", taken)
	}
	total := 10
	for i := range 40 {
		taken, err := takeAll(t, l, fmt.Sprintf("10.%d.0.1", i))
		if total += taken; total == 20 && taken == 0 {
			if e := exceeded(t, err); !e.All {
				t.Errorf("not all together are what refused: %+v", e)
			}
			return
		}
	}
	t.Errorf("all together took %d, want 20", total)
}

func TestNoLimitAndNever(t *testing.T) {
	set, _ := newSet()
	free := set.Limiter(limit.Rule{Name: "free", Each: -1, All: -1})
	if taken, err := takeAll(t, free, "192.0.2.1"); taken != 10_000 || err != nil {
		t.Errorf("without limits %d were taken: %v", taken, err)
	}
	never := set.Limiter(limit.Rule{Name: "never", Each: 0, All: -1})
	if taken, err := takeAll(t, never, "192.0.2.1"); taken != 0 || exceeded(t, err).Wait != time.Hour {
		t.Errorf("a quota of none gave %d: %v", taken, err)
	}
	if err := never.Take(t.Context(), netip.Addr{}); err != nil {
		t.Errorf("the operator's socket is refused: %v", err)
	}
}

func TestCanceledReservationIsNotCounted(t *testing.T) {
	set, c := newSet()
	l := set.Limiter(limit.Rule{Name: "registrations", Each: 1, All: 1})
	client := netip.MustParseAddr("192.0.2.1")
	r, err := l.Reserve(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	exceeded(t, l.Check(t.Context(), client))
	c.at = c.at.Add(time.Second)
	r.Cancel()
	r.Cancel() // a second time counts nothing
	if err := l.Check(t.Context(), client); err != nil {
		t.Errorf("after Cancel: %v", err)
	}
	if taken, _ := takeAll(t, l, "192.0.2.1"); taken != 1 {
		t.Errorf("%d were taken after Cancel, want 1", taken)
	}
}

// A client with very many addresses meets a bound in memory, and does not reset the count of others.
func TestKeysAreBounded(t *testing.T) {
	set, c := newSet()
	l := set.Limiter(limit.Rule{Name: "proofs", Each: 2, All: -1, MaxKeys: 10})
	if taken, _ := takeAll(t, l, "192.0.2.1"); taken != 2 {
		t.Fatalf("%d were taken", taken)
	}
	total := 0
	for i := range 100 {
		taken, _ := takeAll(t, l, fmt.Sprintf("10.0.%d.1", i))
		total += taken
	}
	if total != 9*2+2*(4*2) {
		t.Errorf("100 addresses took %d, want 9 with a quota of their own and 8 from each of two shared ones", total)
	}
	if taken, _ := takeAll(t, l, "192.0.2.1"); taken != 0 {
		t.Errorf("the first address was forgotten: it took %d", taken)
	}
	if keys := set.Stats()[0].Keys; keys > 12 {
		t.Errorf("%d keys are counted", keys)
	}
	c.at = c.at.Add(2 * time.Hour)
	if taken, _ := takeAll(t, l, "198.51.100.1"); taken != 2 {
		t.Errorf("once the quotas have returned, a new address took %d", taken)
	}
}

func TestKeysByName(t *testing.T) {
	set, _ := newSet()
	l := set.Limiter(limit.Rule{Name: "domains", Each: 1, All: -1})
	for _, name := range []string{"example.com", "example.org"} {
		if err := l.TakeKey(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	exceeded(t, l.TakeKey(t.Context(), "example.com"))
}

func TestHeaders(t *testing.T) {
	set, c := newSet()
	l := set.Limiter(limit.Rule{Name: "submissions", Each: 2, All: 100})
	client := netip.MustParseAddr("192.0.2.1")
	for _, want := range []string{`"submissions";r=1;t=1800`, `"submissions";r=0;t=3600`, `"submissions";r=0;t=1800`} {
		ctx, record := limit.WithRecord(t.Context())
		l.Take(ctx, client)
		h := http.Header{}
		record.SetHeaders(h)
		if h.Get("RateLimit") != want || h.Get("RateLimit-Policy") != `"submissions";q=2;w=3600` {
			t.Errorf("%v, want %s", h, want)
		}
	}
	c.at = c.at.Add(time.Hour)
	_, record := limit.WithRecord(context.Background())
	h := http.Header{}
	record.SetHeaders(h)
	if len(h) != 0 {
		t.Errorf("without a limit: %v", h)
	}
}

func TestStats(t *testing.T) {
	set, _ := newSet()
	takeAll(t, set.Limiter(limit.Rule{Name: "b", Each: 3, All: -1}), "192.0.2.1")
	takeAll(t, set.Limiter(limit.Rule{Name: "b", Each: 3, All: 2}), "192.0.2.1")
	slots := set.Slots(limit.SlotRule{Name: "a", All: 1})
	if _, err := slots.Acquire(t.Context(), netip.Addr{}); err != nil {
		t.Fatal(err)
	}
	slots.Acquire(t.Context(), netip.Addr{})
	stats := set.Stats()
	if len(stats) != 2 || stats[0].Name != "a" || stats[0].InUse != 1 || stats[0].RefusedAll != 1 {
		t.Errorf("the slots: %+v", stats)
	}
	if b := stats[1]; b.Taken != 5 || b.Refused != 1 || b.RefusedAll != 1 {
		t.Errorf("the limiters of one name: %+v", b)
	}
	if (*limit.Set)(nil).Stats() != nil {
		t.Error("a nil set has statistics")
	}
}

func TestSlotsPerNetwork(t *testing.T) {
	set, _ := newSet()
	slots := set.Slots(limit.SlotRule{Name: "status stream", All: 4, Each: 2, Retry: time.Minute})
	acquire := func(client string) (func(), error) {
		return slots.Acquire(t.Context(), netip.MustParseAddr(client))
	}
	first, err := acquire("192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := acquire("192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	_, err = acquire("192.0.2.1")
	if e := exceeded(t, err); e.All || e.Wait != time.Minute || e.Span != 0 {
		t.Errorf("%+v", e)
	}
	for range 2 {
		if _, err := acquire("127.0.0.1"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err = acquire("127.0.0.1"); !exceeded(t, err).All {
		t.Errorf("%v", err)
	}
	first()
	first() // once is enough
	if _, err := acquire("192.0.2.1"); err != nil {
		t.Errorf("a slot that was released is not there: %v", err)
	}
	if _, err := acquire("198.51.100.1"); err == nil {
		t.Error("a release that is repeated gives a second slot")
	}
}

func TestCallersWaitForSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := (*limit.Set)(nil).Slots(limit.SlotRule{Name: "searches", All: 1, Waiting: 1})
		release, err := slots.Acquire(t.Context(), netip.Addr{})
		if err != nil {
			t.Fatal(err)
		}
		var waiters sync.WaitGroup
		waiters.Go(func() {
			release, err := slots.Acquire(t.Context(), netip.Addr{})
			if err != nil {
				t.Errorf("the one that waits: %v", err)
				return
			}
			release()
		})
		synctest.Wait()
		if _, err := slots.Acquire(t.Context(), netip.Addr{}); err == nil {
			t.Error("a second one waits")
		}
		release()
		waiters.Wait()
		held, err := slots.Acquire(t.Context(), netip.Addr{})
		if err != nil {
			t.Fatal(err)
		}
		defer held()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := slots.Acquire(ctx, netip.Addr{}); err == nil {
			t.Error("a caller whose time is over has a slot")
		}
	})
}

// TestManyClientsLeaveQuotaForOthers checks that 50 wider networks, with any number of networks in
// each, use no more than most of the common quota, and so does one /32. A new client is admitted
// after them, and a known client even when nothing else is left.
func TestManyClientsLeaveQuotaForOthers(t *testing.T) {
	for name, crowd := range map[string]func(i int) string{
		"50 /48":               func(i int) string { return fmt.Sprintf("2001:%x:%x:%x::1", i%50, i%50, i) },
		"50 /24":               func(i int) string { return fmt.Sprintf("%d.%d.1.%d", 11+i%50, i%50, i/50%256) },
		"2,000 /48 in one /32": func(i int) string { return fmt.Sprintf("2001:db8:%x::1", i%2000) },
		"200 /24 in eight /16": func(i int) string { return fmt.Sprintf("11.%d.%d.1", i%8, i/8%25) },
	} {
		t.Run(name, func(t *testing.T) {
			set, _ := newSet()
			l := set.Limiter(limit.Rule{Name: "registrations", Each: 20, Wide: 80, All: 1000, Fair: 50, Kept: 50})
			taken := 0
			for i := range 20_000 {
				if l.Take(t.Context(), netip.MustParseAddr(crowd(i))) == nil {
					taken++
				}
			}
			own := 0
			for range 20 {
				if l.Take(t.Context(), netip.MustParseAddr("198.51.100.7")) == nil {
					own++
				}
			}
			t.Logf("the crowd took %d, somebody else %d, %d are left", taken, own, l.Remaining())
			if taken > 900 || own < 1 {
				t.Errorf("the crowd took %d of 1,000, and left %d for somebody else", taken, own)
			}
		})
	}
	set, _ := newSet()
	l := set.Limiter(limit.Rule{Name: "registrations", Each: 20, Wide: 80, All: 100, Fair: 16, Kept: 10})
	for i := range 5000 {
		l.Take(t.Context(), netip.AddrFrom4([4]byte{byte(11 + i%200), byte(i / 200), 0, 1}))
	}
	if e := exceeded(t, l.Take(t.Context(), netip.MustParseAddr("198.51.100.7"))); !e.All || l.Remaining() != 10 {
		t.Errorf("%+v; %d are left", e, l.Remaining())
	}
	if _, err := l.ReserveKnown(t.Context(), netip.MustParseAddr("198.51.100.7")); err != nil {
		t.Errorf("a known client: %v", err)
	}
}

// TestPersistentCrowdLeavesQuotaForOthers checks that a crowd that comes again and again, for hours,
// leaves something for those who come rarely: of keys that each stay below their own quota, and of
// networks.
func TestPersistentCrowdLeavesQuotaForOthers(t *testing.T) {
	network := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{byte(11 + i/250), byte(i % 250), 1, 1}) }
	for _, test := range []struct {
		rule  limit.Rule
		crowd int
		take  func(l *limit.Limiter, i int) error
	}{
		{limit.Rule{Name: "changes", Each: 300, All: 60_000, Fair: 16}, 700,
			func(l *limit.Limiter, i int) error { return l.TakeKey(t.Context(), fmt.Sprint("agent ", i)) }},
		{limit.Rule{Name: "registrations", Each: 20, Wide: 80, All: 1000, Fair: 50, Kept: 50}, 500,
			func(l *limit.Limiter, i int) error { return l.Take(t.Context(), network(i)) }},
	} {
		t.Run(test.rule.Name, func(t *testing.T) {
			set, c := newSet()
			l := set.Limiter(test.rule)
			taken, refused, newcomer := 0, 0, test.crowd
			for range 3 * 3600 / 10 {
				for i := range test.crowd {
					for test.take(l, i) == nil {
						taken++
					}
				}
				newcomer++
				if test.take(l, newcomer) != nil {
					refused++
				}
				c.at = c.at.Add(10 * time.Second)
			}
			if refused > 0 || taken < test.rule.All {
				t.Errorf("the crowd took %d in three hours; %d of %d newcomers were refused", taken, refused, 3*3600/10)
			}
		})
	}
}

// TestRefusedEventsAreNotKeys checks that events that are only checked, or refused, take no room: very
// many of them do not make those who come later share a quota.
func TestRefusedEventsAreNotKeys(t *testing.T) {
	set, _ := newSet()
	l := set.Limiter(limit.Rule{Name: "registrations", Each: 20, Wide: 80, All: 1000, Fair: 50, Kept: 50, MaxKeys: 200})
	for i := range 1000 {
		if err := l.Check(t.Context(), netip.MustParseAddr(fmt.Sprintf("2001:db9:%x:%x::1", i%100, i))); err != nil {
			t.Fatal(err)
		}
	}
	taken := 0
	for i := range 50 * 80 {
		if l.Take(t.Context(), netip.MustParseAddr(fmt.Sprintf("2001:db8:%x:%x::1", i%50, i))) == nil {
			taken++
		}
	}
	if keys := set.Stats()[0].Keys; taken > 100 || keys > 200 {
		t.Errorf("networks of one /32 took %d of 1,000, and %d keys are counted", taken, keys)
	}
}

// TestSharedRule checks that one /24, and after it 49 others, leave something of the rules for requests
// that prove nothing to a network that comes later, and that it is told apart who used up what.
func TestSharedRule(t *testing.T) {
	alone, _ := newSet()
	for each, all := range map[int]int{30: 600, 60: 5000, 120: 3000} {
		if taken, err := takeAll(t, alone.Limiter(limit.SharedRule("alone", each, all)), "192.0.2.1"); taken != each || exceeded(t, err).All {
			t.Errorf("one client alone took %d of %d, then %v", taken, each, err)
		}
	}

	for _, rule := range []limit.Rule{
		limit.SharedRule("owner-probes", 30, 600), limit.SharedRule("submissions", 60, 5000), limit.SharedRule("resolutions", 120, 3000),
		limit.SharedRule("small", 30, 60), limit.SharedRule("same", 8, 8),
	} {
		t.Run(rule.Name, func(t *testing.T) {
			set, _ := newSet()
			l := set.Limiter(rule)
			for n := range 50 {
				taken := 0
				for i := range 256 {
					own, err := takeAll(t, l, fmt.Sprintf("%d.1.1.%d", 11+n, i))
					taken += own
					if e := exceeded(t, err); e.Wait <= 0 {
						t.Fatalf("%+v", e)
					}
				}
				if most := min(rule.Wide, rule.All/2+1); taken > most {
					t.Errorf("/24 number %d took %d of %d", n, taken, rule.All)
				}
				if n > 0 && rule.All < 600 {
					return // 50 networks may use up so few
				}
			}
			if own, _ := takeAll(t, l, "198.51.100.7"); own < 1 {
				t.Errorf("nothing of %d is left for a newcomer", rule.All)
			}
		})
	}
	set, _ := newSet()
	lifted := set.Limiter(limit.SharedRule("lifted", -1, 100))
	if taken, err := takeAll(t, lifted, "192.0.2.1"); taken != 100 || !exceeded(t, err).All {
		t.Errorf("without a limit on one network it took %d, then %v", taken, err)
	}
}

// TestTargets checks that each wider network has a few events of its own with a target, and that those
// of others do not use them up.
func TestTargets(t *testing.T) {
	set, c := newSet()
	l := set.Limiter(limit.Rule{Name: "visits", Each: 12, All: -1, Own: 4})
	take := func(client, target string) (taken int) {
		for l.TakeTarget(t.Context(), netip.MustParseAddr(client), target) == nil {
			taken++
		}
		return taken
	}
	for _, test := range []struct {
		client, target string
		want           int
	}{
		{"192.0.2.1", "a.example", 16}, {"192.0.2.2", "a.example", 0}, {"198.51.100.1", "a.example", 4},
		{"2001:db8::1", "a.example", 4}, {"2001:db8:0:9::1", "a.example", 0}, {"192.0.2.1", "b.example", 16},
	} {
		if got := take(test.client, test.target); got != test.want {
			t.Errorf("%s took %d of %s, want %d", test.client, got, test.target, test.want)
		}
	}
	if stats := set.Stats()[0]; stats.Refused != 6 {
		t.Errorf("%d refusals are counted, want 6", stats.Refused)
	}
	c.at = c.at.Add(15 * time.Minute)
	if got := take("198.51.100.1", "a.example"); got != 1+3 {
		t.Errorf("after a quarter of an hour it took %d", got)
	}
	if err := l.TakeTarget(t.Context(), netip.Addr{}, "b.example"); err != nil { // three have returned
		t.Error(err)
	}
}

// TestCrowdLeavesSlots checks that one wider network, and then crowds of them, leave slots for others,
// and that a slot that is released is free again.
func TestCrowdLeavesSlots(t *testing.T) {
	for name, crowd := range map[string]func(i int) string{
		"one /24":       func(i int) string { return fmt.Sprintf("192.0.2.%d", i%256) },
		"one /48":       func(i int) string { return fmt.Sprintf("2001:db8:1:%x::1", i) },
		"16 /24":        func(i int) string { return fmt.Sprintf("%d.1.1.%d", 11+i%16, i/16) },
		"a /16":         func(i int) string { return fmt.Sprintf("11.1.%d.%d", i%256, i/256) },
		"a /32 of IPv6": func(i int) string { return fmt.Sprintf("2001:db8:%x::1", i) },
	} {
		t.Run(name, func(t *testing.T) {
			slots := (*limit.Set)(nil).Slots(limit.SlotRule{Name: "stream", All: 1024, Each: 64, Fair: 8})
			var held []func()
			for i := range 4096 {
				release, err := slots.Acquire(t.Context(), netip.MustParseAddr(crowd(i)))
				if err == nil {
					held = append(held, release)
				} else if e := exceeded(t, err); e.Span != 0 || e.Wait != time.Second {
					t.Fatalf("%+v", e)
				}
			}
			t.Logf("the crowd holds %d", len(held))
			own := 0
			for range 64 {
				if _, err := slots.Acquire(t.Context(), netip.MustParseAddr("198.51.100.7")); err == nil {
					own++
				}
			}
			if len(held) < 64 || len(held) > 900 || own < 4 {
				t.Errorf("the crowd holds %d, and a newcomer has %d", len(held), own)
			}
			for _, release := range held {
				release()
			}
			if release, err := slots.Acquire(t.Context(), netip.MustParseAddr(crowd(0))); err != nil {
				t.Errorf("after the release: %v", err)
			} else {
				release()
			}
		})
	}
}

// TestQuotasOnQuietServer checks the quotas that docs/operating.md has for one client and for the /24
// around it, while nobody else uses a shared quota, and that RateLimit counts down to 0.
func TestQuotasOnQuietServer(t *testing.T) {
	for name, test := range map[string]struct {
		rule      limit.Rule
		one, wide int
	}{
		"registrations": {limit.Rule{Each: 20, Wide: 80, All: 1000, Fair: 50, Kept: 50}, 20, 38},
		"validations":   {limit.SharedRule("", 30, 600), 30, 88},
		"submissions":   {limit.SharedRule("", 60, 5000), 60, 240},
		"resolutions":   {limit.SharedRule("", 120, 3000), 120, 382},
	} {
		t.Run(name, func(t *testing.T) {
			set, _ := newSet()
			test.rule.Name = name
			l := set.Limiter(test.rule)
			one := 0
			for ; ; one++ {
				ctx, record := limit.WithRecord(t.Context())
				if l.Take(ctx, netip.MustParseAddr("192.0.2.1")) != nil {
					break
				}
				h := http.Header{}
				record.SetHeaders(h)
				if want := fmt.Sprintf("%q;r=%d;", name, test.one-one-1); !strings.HasPrefix(h.Get("RateLimit"), want) {
					t.Errorf("event %d: RateLimit %s, want %s", one+1, h.Get("RateLimit"), want)
				}
			}
			wide := one
			for i := range 50 * test.wide {
				if l.Take(t.Context(), netip.MustParseAddr(fmt.Sprintf("192.0.2.%d", 2+i%200))) == nil {
					wide++
				}
			}
			if one != test.one || wide != test.wide {
				t.Errorf("one client took %d and its /24 %d, want %d and %d", one, wide, test.one, test.wide)
			}
		})
	}
}

// TestCancelledEventIsNotShown checks that RateLimit shows the quota as it was before an event that did
// not come about.
func TestCancelledEventIsNotShown(t *testing.T) {
	set, _ := newSet()
	l := set.Limiter(limit.Rule{Name: "reports", Each: 10, All: -1, Span: 24 * time.Hour})
	client := netip.MustParseAddr("192.0.2.1")
	if err := l.Take(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	ctx, record := limit.WithRecord(t.Context())
	reservation, err := l.Reserve(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	reservation.Cancel()
	h := http.Header{}
	if record.SetHeaders(h); h.Get("RateLimit") != `"reports";r=9;t=8640` {
		t.Errorf("RateLimit %s", h.Get("RateLimit"))
	}
}
