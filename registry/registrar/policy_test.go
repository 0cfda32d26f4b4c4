package registrar_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/registrar"
	"gazetteer/store"
)

const week = 7 * 24 * time.Hour

func client(text string) netip.Addr { return netip.MustParseAddr(text) }

// mode returns how new agents are taken.
func mode(t testing.TB, r *registrar.Registrar) admission.PolicyState {
	t.Helper()
	s, err := r.RegistrationPolicy(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func setPolicy(t testing.TB, r *registrar.Registrar, mode, note string) {
	t.Helper()
	if _, err := r.SetRegistrationPolicy(t.Context(), mode, note); err != nil {
		t.Fatal(err)
	}
}

func TestUnattendedRegistrationCloses(t *testing.T) {
	c, s := newClock(), openStore(t)
	r := open(t, registrar.Options{Store: s, Now: c.Now, Unattended: week})
	register(t, r, someone(1))
	if d := mode(t, r); d.Mode != admission.ModeOpen || !d.Closes.Equal(c.Now().Add(week)) || !d.SelfClosed.IsZero() {
		t.Fatalf("at first %+v", d)
	}
	c.Advance(6 * 24 * time.Hour)
	if err := r.RecordAttention(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Advance(week - time.Second)
	register(t, r, someone(2))
	c.Advance(time.Second)
	closed := c.Now()
	if d := mode(t, r); d.Mode != admission.ModeApproval || !d.SelfClosed.Equal(closed) {
		t.Fatalf("after a week %+v", d)
	}
	if a, _ := register(t, r, someone(3)); a.Status != registry.Pending {
		t.Errorf("registered as %s", a.Status)
	}
	// Attention does not open it again, nor does a restart, nor another week.
	c.Advance(time.Hour)
	if err := r.RecordAttention(t.Context()); err != nil {
		t.Fatal(err)
	}
	r = open(t, registrar.Options{Store: s, Now: c.Now, Unattended: week})
	if d := mode(t, r); d.Mode != admission.ModeApproval || !d.SelfClosed.Equal(closed) || !d.Attended.Equal(c.Now()) {
		t.Errorf("after attention %+v", d)
	}
	setPolicy(t, r, admission.ModeOpen, "")
	if a, _ := register(t, r, someone(4)); a.Status != registry.Active || !mode(t, r).Closes.Equal(c.Now().Add(week)) {
		t.Errorf("opened: %s, %+v", a.Status, mode(t, r))
	}
	// Closed registration does not turn into approval by itself.
	setPolicy(t, r, admission.ModeClosed, "")
	c.Advance(10 * week)
	if d := mode(t, r); d.Mode != admission.ModeClosed || !d.SelfClosed.IsZero() || !d.Closes.IsZero() {
		t.Errorf("closed: %+v", d)
	}
}

// TestClockAheadClosesNoRegistration checks that open registration does not close itself because the
// clock is ahead for a while, and does not stay open longer because the operator came meanwhile.
func TestClockAheadClosesNoRegistration(t *testing.T) {
	wall, due, s := newClock(), newClock(), openStore(t)
	r := open(t, registrar.Options{Store: s, Now: wall.Now, Due: due.Now, Unattended: week})
	start := wall.Now()
	register(t, r, someone(1))
	attend := func() {
		t.Helper()
		if err := r.RecordAttention(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	wall.Advance(8 * 24 * time.Hour)
	if a, _ := register(t, r, someone(2)); a.Status != registry.Active {
		t.Errorf("registered as %s while the clock is ahead", a.Status)
	}
	due.Advance(2 * time.Hour) // it catches up
	attend()
	wall.Set(start.Add(time.Minute))
	due.Set(wall.Now())
	if d := mode(t, r); d.Mode != admission.ModeOpen || !d.SelfClosed.IsZero() {
		t.Errorf("the clock is right again: %+v", d)
	}
	if a, _ := register(t, r, someone(3)); a.Status != registry.Active {
		t.Errorf("registered as %s after the clock was ahead", a.Status)
	}
	if d := mode(t, r); !d.Attended.Equal(wall.Now()) || !d.Closes.Equal(wall.Now().Add(week)) {
		t.Errorf("attended while the clock was ahead: %+v", d)
	}
	// The operator's next request counts, although the last one seems to be later.
	due.Advance(2 * 24 * time.Hour)
	attend()
	due.Set(wall.Now())
	attend()
	if d := mode(t, r); !d.Attended.Equal(wall.Now()) {
		t.Errorf("attended after the clock was ahead: %+v", d)
	}
	wall.Advance(week)
	due.Advance(week)
	if d := mode(t, r); d.Mode != admission.ModeApproval {
		t.Errorf("a week later: %+v", d)
	}
}

func TestProbesAreStoredOncePerHour(t *testing.T) {
	c, s := newClock(), openStore(t)
	r := open(t, registrar.Options{Store: s, Now: c.Now})
	for range 3 {
		for range 50 {
			if err := r.RecordAttention(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		c.Advance(time.Hour)
	}
	if head := s.Head().Seq; head != 3 {
		t.Errorf("%d writes for 150 looks in three hours", head)
	}
}

func TestRegistrationPolicy(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now, Mode: admission.ModeClosed})
	_, _, err := r.Register(t.Context(), someone(1))
	if e := refusal(t, err, "registration-closed"); !errors.Is(e, registry.ErrForbidden) || e.Help == "" {
		t.Error(e)
	}
	mine := someone(1)
	mine.Operator = true
	if a, _ := register(t, r, mine); a.Status != registry.Active {
		t.Errorf("the operator's own agent is %s", a.Status)
	}
	setPolicy(t, r, admission.ModeClosed, "write to door@registry.test <script>")
	_, _, err = r.Register(t.Context(), someone(2))
	if e := refusal(t, err, "registration-closed"); !strings.Contains(e.Help, "door@registry.test") {
		t.Error(e)
	}
	setPolicy(t, r, admission.ModeOpen, "")
	if a, _ := register(t, r, someone(2)); a.Status != registry.Active {
		t.Error(a.Status)
	}
	setPolicy(t, r, "", "")
	_, _, err = r.Register(t.Context(), someone(3))
	refusal(t, err, "registration-closed")
	for _, bad := range [][2]string{{"ajar", ""}, {"OPEN", ""}, {strings.Repeat("x", 10000), ""}, {"open", strings.Repeat("x", 10000)}, {"open", "a\u202eb"}, {"open", "\xff"}} {
		_, err := r.SetRegistrationPolicy(t.Context(), bad[0], bad[1])
		if e := refused(t, err); len(e.Error()) > 1000 {
			t.Errorf("a message of %d bytes", len(e.Error()))
		}
	}
	if _, err := registrar.New(registrar.Options{DIDHost: "a.test", Mode: "ajar"}); err == nil {
		t.Error("an unknown mode is taken")
	}
}

func TestClosedRegistryRefusesRegistration(t *testing.T) {
	r := open(t, registrar.Options{})
	var closed atomic.Bool
	var all sync.WaitGroup
	for i := range byte(64) {
		all.Go(func() {
			before := closed.Load()
			_, _, err := r.Register(t.Context(), someone(i+1))
			if err == nil && before {
				t.Error("registered after registration was closed")
			}
			if err != nil {
				refusal(t, err, "registration-closed")
			}
		})
		if i == 20 {
			all.Go(func() {
				setPolicy(t, r, admission.ModeClosed, "")
				closed.Store(true)
				// The existing ones are all that there will be.
				before, _, err := r.List(t.Context(), registry.Filter{}, "", 100)
				if err != nil {
					t.Error(err)
				}
				defer func() {
					after, _, err := r.List(context.Background(), registry.Filter{}, "", 100)
					if err != nil || len(after) != len(before) {
						t.Errorf("%d agents when registration was closed, then %d, %v", len(before), len(after), err)
					}
				}()
				for j := range byte(20) {
					_, _, err := r.Register(t.Context(), someone(j+100))
					refusal(t, err, "registration-closed")
				}
			})
		}
	}
	all.Wait()
}

func TestRegistrationsPerNetworkAreLimited(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now, Limits: admission.Limits{Registrations: 5, AllRegistrations: 1000}})
	n := 0
	try := func(from string) error {
		n++
		reg := someone(byte(n))
		reg.Client = client(from)
		_, _, err := r.Register(t.Context(), reg)
		return err
	}
	won := func(times int, from func(i int) string) (won int, last error) {
		for i := range times {
			if err := try(from(i)); err != nil {
				last = err
			} else {
				won++
			}
		}
		return won, last
	}
	// All addresses of a /64 are one network, and IPv4 in IPv6 is IPv4.
	got, err := won(20, func(i int) string { return fmt.Sprintf("2001:db8:1:1::%x%%eth0", i) })
	if e := refusal(t, err, "registrations-network"); got != 5 || e.Wait != 12*time.Minute || !errors.Is(e, registry.ErrTooMany) {
		t.Errorf("%d, %v", got, e)
	}
	if got, _ := won(3, func(i int) string { return "::ffff:192.0.2.1" }); got != 3 {
		t.Errorf("mapped: %d", got)
	}
	if got, _ := won(5, func(i int) string { return "192.0.2.1" }); got != 2 {
		t.Errorf("the same unmapped: %d more", got)
	}
	// The networks of a /48 together have four times as much.
	if got, _ := won(40, func(i int) string { return fmt.Sprintf("2001:db8:1:%x::1", i+100) }); got != 15 {
		t.Errorf("%d more from a /48", got)
	}
	// Then all together have had enough.
	got, err = won(1200, func(i int) string { return fmt.Sprintf("%d.%d.0.1", 11+i%150, i/150) })
	if e := refusal(t, err, "registrations-all"); got != 1000-25-50 || e.Wait != 3600*time.Millisecond {
		t.Errorf("%d, %v", got, e)
	}
	// A client that waits as long as is said is taken.
	c.Advance(8 * time.Second)
	if err := try("198.51.200.1"); err != nil {
		t.Error(err)
	}
	// What fails costs nothing.
	c.Advance(2 * time.Hour)
	for range 20 {
		reg := someone(1)
		reg.Name, reg.Client = "", client("203.0.113.1")
		_, _, err := r.Register(t.Context(), reg)
		refused(t, err)
		reg = someone(1)
		reg.NoSecret, reg.Client = true, client("203.0.113.1")
		_, _, err = r.Register(t.Context(), reg)
		refused(t, err)
	}
	if got, _ := won(9, func(i int) string { return "203.0.113.1" }); got != 5 {
		t.Errorf("%d after forty that failed", got)
	}
}

// TestSmallQuotaOfEverybody checks that the refusal of a network names a number that can be reached if the
// quota of everybody is smaller than that of one network.
func TestSmallQuotaOfEverybody(t *testing.T) {
	r := open(t, registrar.Options{Limits: admission.Limits{Registrations: 20, AllRegistrations: 3}})
	var err error
	for i := 0; err == nil; i++ {
		reg := someone(byte(i + 1))
		reg.Client = client("192.0.2.1")
		_, _, err = r.Register(t.Context(), reg)
	}
	if strings.Contains(err.Error(), "fewer than") || !strings.Contains(err.Error(), "at most 3 an hour from everybody") {
		t.Errorf("the refusal is %q", err)
	}
}

func TestConcurrentRegistrationsPerNetworkAreLimited(t *testing.T) {
	r := open(t, registrar.Options{Limits: admission.Limits{Registrations: 7}})
	won := race(t, 64, func(i int) error {
		reg := someone(byte(i + 1))
		reg.Client = client(fmt.Sprintf("2001:db8::%x", i))
		_, _, err := r.Register(t.Context(), reg)
		return err
	}, "registrations-network")
	if won != 7 {
		t.Errorf("%d were taken", won)
	}
}

// TestMillionRegistrationsFromOneNetwork registers from every /64 of a /44, whose memory must stay
// small.
func TestMillionRegistrationsFromOneNetwork(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now, Mode: admission.ModeApproval, Limits: admission.Limits{AllRegistrations: -1, Registrations: 1}})
	from := func(i int) netip.Addr {
		address := client("2001:db8::1").As16()
		binary.BigEndian.PutUint32(address[4:], uint32(i))
		return netip.AddrFrom16(address)
	}
	reg := someone(1)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	taken := 0
	for i := range 1_000_000 {
		reg.Client = from(i)
		_, _, err := r.Register(t.Context(), reg)
		switch e, _ := errors.AsType[*registry.Refusal](err); {
		case err == nil:
			taken++
		case e == nil || e.Kind != registry.ErrTooMany || e.Wait <= 0:
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	waiting, _, err := r.Applications(t.Context(), "", 0)
	if err != nil || taken == 0 || taken > 1000 || len(waiting) == 0 {
		t.Errorf("%d were taken, %d wait, %v", taken, len(waiting), err)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 32<<20 {
		t.Errorf("memory has grown by %d bytes", grown)
	}
}

func TestSecretGuessesAreLimited(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now, Limits: admission.Limits{Failures: 10}})
	a, secret := register(t, r, someone(1))
	thief, owner := client("192.0.2.1"), client("198.51.100.1")
	write := func(from netip.Addr, secret string) error {
		text := "x"
		_, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret, Client: from}, changeDescription(text))
		return err
	}
	wrong := 0
	for i := range 10_000 {
		err := write(thief, fmt.Sprintf("%032x", i))
		if errors.Is(err, registry.ErrWrongSecret) {
			wrong++
			continue
		}
		if e := refusal(t, err, "too-many-failures"); e.Wait <= 0 || e.Wait > time.Hour {
			t.Fatal(e)
		}
	}
	if wrong != 10 {
		t.Errorf("%d guesses were answered", wrong)
	}
	// Guesses of others never stand before the right secret, not even those of one's own network.
	if err := write(thief, secret); err != nil {
		t.Error(err)
	}
	if err := write(owner, secret); err != nil {
		t.Error(err)
	}
	for range 50 { // success costs nothing
		if err := write(owner, secret); err != nil {
			t.Fatal(err)
		}
	}
}

func TestChangesPerAgentAreLimited(t *testing.T) {
	c, s := newClock(), openStore(t)
	limits := admission.Limits{Writes: 20}
	r := open(t, registrar.Options{Store: s, Now: c.Now, Limits: limits})
	a, secret := register(t, r, someone(1))
	won := race(t, 64, func(i int) error {
		text := fmt.Sprint(i)
		_, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, changeDescription(text))
		return err
	}, "agent-writes")
	if won != 20 {
		t.Errorf("%d of 64 writes at once, want 20", won)
	}
	r = open(t, registrar.Options{Store: s, Now: c.Now, Limits: limits}) // a restart brings nothing
	text := "x"
	_, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, changeDescription(text))
	e := refusal(t, err, "agent-writes")
	c.Advance(e.Wait)
	if _, _, err := r.Update(t.Context(), a.AirID, registry.Credentials{Secret: secret}, changeDescription(text)); err != nil {
		t.Error(err)
	}
	history, _, err := r.History(t.Context(), a.AirID, 100, 0)
	if err != nil || history[20].Agent.SecretWritesUntil != 0 {
		t.Errorf("the count is in the history: %v", err)
	}
}

// TestEarlierRecords opens records in the spelling of data directories from before December 2026: the
// admission policy has another key, and the probes of a domain have another member.
func TestEarlierRecords(t *testing.T) {
	c, s := newClock(), openStore(t)
	if _, err := s.Apply(t.Context(), store.Put(store.EarlierAdmissionPolicyKey, []byte(`{"mode":"closed","note":"see you in spring"}`))); err != nil {
		t.Fatal(err)
	}
	r := open(t, registrar.Options{Store: s, Now: c.Now})
	if d := mode(t, r); d.Mode != admission.ModeClosed || d.Note != "see you in spring" {
		t.Errorf("the policy is %+v", d)
	}
	setPolicy(t, r, admission.ModeOpen, "")
	r = open(t, registrar.Options{Store: s, Now: c.Now})
	if d := mode(t, r); d.Mode != admission.ModeOpen {
		t.Errorf("after a change the policy is %+v", d)
	}

	a, _ := register(t, r, someone(1))
	record, err := s.Get(t.Context(), store.AgentKey(a.AirID))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(record.Value), "{", `{"domains":[{"name":"hotel.test","asked":"2026-11-01T00:00:00Z","looks":[{"asked":"TXT hotel.test","expected":"x","found":false}]}],`, 1)
	if _, err := s.Apply(t.Context(), store.Put(record.Key, []byte(text))); err != nil {
		t.Fatal(err)
	}
	got, _, err := r.Agent(t.Context(), a.AirID)
	if err != nil || len(got.Domains) != 1 || len(got.Domains[0].Probes) != 1 || got.Domains[0].Probes[0].Query != "TXT hotel.test" || got.Domains[0].EarlierProbes != nil {
		t.Errorf("the agent is %+v, %v", got, err)
	}
}
