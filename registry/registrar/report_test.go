package registrar_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gazetteer/api/airjson"
	"gazetteer/protocol/a2a"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/registrar"
	"gazetteer/store"
)

// report reports an agent from an address.
func report(t testing.TB, r *registrar.Registrar, airID, from string) admission.Report {
	t.Helper()
	p, err := r.Report(t.Context(), airID, admission.ReportRequest{Reason: "spam", Text: "sends " + hostile, Contact: "me@reporter.test", Client: client(from)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestReportHasDeadline(t *testing.T) {
	c, s := newClock(), openStore(t)
	r := open(t, registrar.Options{Store: s, Now: c.Now})
	a, _ := register(t, r, someone(1))
	b, _ := register(t, r, someone(2))
	first := report(t, r, a.AirID, "192.0.2.1")
	c.Advance(time.Hour)
	second := report(t, r, b.AirID, "192.0.2.1")
	if !strings.HasPrefix(first.ID, "20260504T030201.000Z-") || first.Network != "192.0.2.0/24" || first.Due.Sub(first.Created) != 72*time.Hour {
		t.Errorf("%+v", first)
	}
	c.Advance(71 * time.Hour)
	figures, err := r.ReportFigures(t.Context())
	if err != nil || figures != (admission.ReportFigures{Open: 2, Overdue: 1, Oldest: 72 * time.Hour}) {
		t.Errorf("%+v, %v", figures, err)
	}
	overdue, _, err := r.Reports(t.Context(), admission.ReportFilter{Overdue: true}, "", 0)
	if err != nil || len(overdue) != 1 || overdue[0].ID != first.ID {
		t.Errorf("%+v, %v", overdue, err)
	}
	settled, err := r.SettleReport(t.Context(), first.ID, admission.ReportDismissed, "it is no spam")
	if err != nil || len(settled) != 1 || settled[0].Age(c.Now().Add(time.Hour)) != 72*time.Hour || settled[0].Overdue(c.Now()) {
		t.Errorf("%+v, %v", settled, err)
	}
	// The reporter's network is deleted, and public answers name no reporter.
	p, err := r.ReportByID(t.Context(), first.ID)
	if err != nil || p.Network != "" || p.Outcome != admission.ReportDismissed || p.Note != "it is no spam" || p.Text == "" {
		t.Errorf("%+v, %v", p, err)
	}
	if v := second.Public(); v.Text != "" || v.Contact != "" || v.Network != "" || v.AirID != b.AirID {
		t.Errorf("%+v", v)
	}
	_, err = r.SettleReport(t.Context(), first.ID, admission.ReportSuspended, "")
	refusal(t, err, "report-settled")
	open, _, err := r.Reports(t.Context(), admission.ReportFilter{}, "", 0)
	if err != nil || len(open) != 1 {
		t.Errorf("%+v, %v", open, err)
	}
	all, next, err := r.Reports(t.Context(), admission.ReportFilter{Settled: true, AirID: a.AirID}, "", 1)
	if err != nil || len(all) != 1 || next == "" {
		t.Errorf("%+v, %q, %v", all, next, err)
	}
	// Settled reports are deleted after half a year; open ones never.
	c.Advance(180*24*time.Hour + time.Hour)
	if err := r.DeleteExpired(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = r.ReportByID(t.Context(), first.ID)
	refusal(t, err, "report-unknown")
	if _, err := r.ReportByID(t.Context(), second.ID); err != nil {
		t.Error(err)
	}
}

// TestClockAheadDeletesNoReport checks that a settled report stays while the clock is ahead.
func TestClockAheadDeletesNoReport(t *testing.T) {
	wall, due := newClock(), newClock()
	r := open(t, registrar.Options{Now: wall.Now, Due: due.Now})
	a, _ := register(t, r, someone(1))
	settled := report(t, r, a.AirID, "192.0.2.1")
	if _, err := r.SettleReport(t.Context(), settled.ID, admission.ReportDismissed, ""); err != nil {
		t.Fatal(err)
	}
	wall.Advance(181 * 24 * time.Hour)
	due.Advance(time.Hour) // it catches up
	if err := r.DeleteExpired(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReportByID(t.Context(), settled.ID); err != nil {
		t.Errorf("while the clock is ahead: %v", err)
	}
	due.Set(wall.Now())
	if err := r.DeleteExpired(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := r.ReportByID(t.Context(), settled.ID)
	refusal(t, err, "report-unknown")
}

func TestReportIsSettledByActionOnAgent(t *testing.T) {
	c := newClock()
	r := open(t, registrar.Options{Now: c.Now})
	a, _ := register(t, r, someone(1))
	other, _ := register(t, r, someone(2))
	first := report(t, r, a.AirID, "192.0.2.1")
	report(t, r, a.AirID, "198.51.100.1")
	report(t, r, other.AirID, "198.51.100.1")
	settled, err := r.SettleReport(t.Context(), first.ID, admission.ReportSuspended, "we look into it")
	if err != nil || len(settled) != 2 {
		t.Fatalf("%+v, %v", settled, err)
	}
	a, _, err = r.Agent(t.Context(), a.AirID)
	if err != nil || a.Status != registry.Suspended || !strings.Contains(a.Reason, "spam") || !strings.Contains(a.Reason, "look into") {
		t.Errorf("%+v, %v", a, err)
	}
	// It can be reported again, and deleted from there.
	again := report(t, r, a.AirID, "192.0.2.1")
	_, err = r.SettleReport(t.Context(), again.ID, admission.ReportSuspended, "")
	refusal(t, err, "suspended-already")
	if p, err := r.ReportByID(t.Context(), again.ID); err != nil || !p.Settled.IsZero() {
		t.Errorf("settled by what was not done: %+v, %v", p, err)
	}
	if _, err := r.SettleReport(t.Context(), again.ID, admission.ReportDeleted, ""); err != nil {
		t.Fatal(err)
	}
	_, err = r.Report(t.Context(), a.AirID, admission.ReportRequest{Reason: "spam", Text: "x"})
	refusal(t, err, "deleted")
	if figures, err := r.ReportFigures(t.Context()); err != nil || figures.Open != 1 {
		t.Errorf("%+v, %v", figures, err)
	}
}

func TestReportsPerNetworkAreLimited(t *testing.T) {
	c, s := newClock(), openStore(t)
	r := open(t, registrar.Options{Store: s, Now: c.Now})
	var agents []registry.Agent
	for i := range byte(12) {
		a, _ := register(t, r, someone(i+1))
		agents = append(agents, a)
	}
	q := admission.ReportRequest{Reason: "spam", Text: "x", Client: client("192.0.2.1")}
	// One open report of a network about an agent, whatever the race.
	won := race(t, 64, func(i int) error {
		q := q
		q.Client = client(fmt.Sprintf("192.0.2.%d", i+1))
		_, err := r.Report(t.Context(), agents[0].AirID, q)
		return err
	}, "reported")
	if won != 1 {
		t.Errorf("%d reports of a network about one agent", won)
	}
	for _, a := range agents[1:11] {
		if _, err := r.Report(t.Context(), a.AirID, admission.ReportRequest{Reason: "spam", Text: "x", Client: client("203.0.113.5")}); err != nil {
			t.Fatal(err)
		}
	}
	q.Client = client("203.0.113.5")
	_, err := r.Report(t.Context(), agents[11].AirID, q)
	e := refusal(t, err, "reports-network")
	c.Advance(e.Wait)
	if _, err := r.Report(t.Context(), agents[11].AirID, q); err != nil {
		t.Error(err)
	}
	// A crowd of networks makes a hundred about one agent, also after a restart.
	c.Advance(24 * time.Hour)
	crowd := func(i int) error {
		q := q
		q.Client = client(fmt.Sprintf("10.%d.0.1", i))
		_, err := r.Report(t.Context(), agents[3].AirID, q)
		return err
	}
	if won := race(t, 130, crowd, "reported-enough"); won != 99 {
		t.Errorf("%d more reports about one agent", won)
	}
	r = open(t, registrar.Options{Store: s, Now: c.Now})
	refusal(t, crowd(200), "reported-enough")
	first, _, err := r.Reports(t.Context(), admission.ReportFilter{AirID: agents[3].AirID}, "", 1)
	if err != nil || len(first) != 1 {
		t.Fatal(first, err)
	}
	if _, err := r.SettleReport(t.Context(), first[0].ID, admission.ReportDismissed, ""); err != nil {
		t.Fatal(err)
	}
	if err := crowd(201); err != nil {
		t.Error(err)
	}
}

// TestFloodOfReportsGivesWay fills all places for reports from 40 wider networks, and those about one agent.
// Others still report: each displaces one of the flood, also after a restart.
func TestFloodOfReportsGivesWay(t *testing.T) {
	c, s := newClock(), openStore(t)
	r := open(t, registrar.Options{Store: s, Now: c.Now})
	agent, _ := register(t, r, someone(1))
	other, _ := register(t, r, someone(2))
	honest := report(t, r, agent.AirID, "192.0.2.1")
	begun, n := c.Now().UTC(), 0
	add := func(count int, airID, network func(i int) string) {
		t.Helper()
		writes := make([]store.Write, count)
		for i := range writes {
			at := begun.Add(time.Duration(n) * time.Millisecond)
			x := admission.Report{ID: fmt.Sprintf("%s-%08x", at.Format("20060102T150405.000Z"), n), AirID: airID(i), Reason: "spam", Text: "x", Network: network(i), Created: at, Due: at.Add(time.Hour)}
			value, err := json.Marshal(x)
			if err != nil {
				t.Fatal(err)
			}
			writes[i] = store.Put(store.ReportKey(x.ID), value)
			n++
		}
		if _, err := s.Apply(t.Context(), writes...); err != nil {
			t.Fatal(err)
		}
	}
	add(99, func(int) string { return agent.AirID }, func(i int) string { return fmt.Sprintf("11.%d.%d.0/24", i%5, i) })
	c.Advance(time.Minute)
	r = open(t, registrar.Options{Store: s, Now: c.Now, Limits: admission.Limits{Reports: -1}})
	for i := range 50 {
		report(t, r, agent.AirID, fmt.Sprintf("172.%d.0.1", i))
	}
	_, err := r.Report(t.Context(), agent.AirID, admission.ReportRequest{Reason: "spam", Text: "x", Client: client("11.1.200.1")})
	refusal(t, err, "reported-enough") // of the flood
	add(9900, func(i int) string { return fmt.Sprintf("AIR-0000-0000-%04d", i/100) }, func(i int) string { return fmt.Sprintf("11.%d.%d.0/24", i%40, i/40) })
	c.Advance(time.Minute)
	r = open(t, registrar.Options{Store: s, Now: c.Now, Limits: admission.Limits{Reports: -1}})
	for i := range 3 {
		report(t, r, other.AirID, fmt.Sprintf("173.%d.0.1", i))
	}
	_, err = r.Report(t.Context(), other.AirID, admission.ReportRequest{Reason: "spam", Text: "x", Client: client("11.1.200.1")})
	refusal(t, err, "reports-all")
	if _, err := r.ReportByID(t.Context(), honest.ID); err != nil {
		t.Errorf("the first report, from a network of its own: %v", err)
	}
	if figures, err := r.ReportFigures(t.Context()); err != nil || figures.Open != 10_000 {
		t.Errorf("%+v, %v", figures, err)
	}
}

func TestConcurrentSettlementsHaveOneWinner(t *testing.T) {
	r := open(t, registrar.Options{})
	a, _ := register(t, r, someone(1))
	first, _ := report(t, r, a.AirID, "192.0.2.1"), report(t, r, a.AirID, "198.51.100.1")
	outcomes := []string{admission.ReportDismissed, admission.ReportSuspended, admission.ReportDeleted}
	won := race(t, 64, func(i int) error {
		_, err := r.SettleReport(t.Context(), first.ID, outcomes[i%3], "")
		return err
	}, "report-settled")
	if won != 1 {
		t.Errorf("%d settlements", won)
	}
	p, err := r.ReportByID(t.Context(), first.ID)
	if err != nil {
		t.Fatal(err)
	}
	a, _, err = r.Agent(t.Context(), a.AirID)
	if want := map[string]string{"dismissed": "active", "suspended": "suspended", "deleted": "deleted"}[p.Outcome]; err != nil || a.Status != want {
		t.Errorf("the report says %s, the agent is %s, %v", p.Outcome, a.Status, err)
	}
}

func TestRefusedReports(t *testing.T) {
	s := openStore(t)
	r := open(t, registrar.Options{Store: s})
	a, _ := register(t, r, someone(1))
	good := admission.ReportRequest{Reason: "other", Text: "x", Client: client("192.0.2.1")}
	for name, spoil := range map[string]func(*admission.ReportRequest){
		"no reason":        func(q *admission.ReportRequest) { q.Reason = "" },
		"unknown reason":   func(q *admission.ReportRequest) { q.Reason = strings.Repeat("r", 10000) },
		"no text":          func(q *admission.ReportRequest) { q.Text = " \n" },
		"long text":        func(q *admission.ReportRequest) { q.Text = strings.Repeat("x", 10<<10) },
		"bidi":             func(q *admission.ReportRequest) { q.Text = "a\u202eb" },
		"NUL":              func(q *admission.ReportRequest) { q.Text = "a\x00" },
		"not UTF-8":        func(q *admission.ReportRequest) { q.Text = "\xff" },
		"lines in contact": func(q *admission.ReportRequest) { q.Contact = "a\nb" },
		"long contact":     func(q *admission.ReportRequest) { q.Contact = strings.Repeat("x", 10<<10) },
	} {
		q := good
		spoil(&q)
		_, err := r.Report(t.Context(), a.AirID, q)
		if e := refused(t, err); len(e.Error()) > 1000 {
			t.Errorf("%s: a message of %d bytes", name, len(e.Error()))
		}
	}
	if _, err := r.Report(t.Context(), "AIR-0000-0000-0000", good); !errors.Is(err, registry.ErrNoAgent) {
		t.Error(err)
	}
	for _, id := range []string{"", "x", "../door", "20260504T030201.000Z-0123456/", strings.Repeat("x", 10000), "20260504T030201.000Z-01234567"} {
		_, err := r.ReportByID(t.Context(), id)
		refusal(t, err, "report-unknown")
		_, err = r.SettleReport(t.Context(), id, admission.ReportDismissed, "")
		refusal(t, err, "report-unknown")
	}
	p, err := r.Report(t.Context(), a.AirID, good)
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.SettleReport(t.Context(), p.ID, "burned", "")
	refused(t, err)
	_, err = r.SettleReport(t.Context(), p.ID, admission.ReportDismissed, strings.Repeat("x", 10000))
	refused(t, err)
	n := 0
	for range s.List(t.Context(), store.ReportPrefix, "") {
		n++
	}
	if n != 1 {
		t.Errorf("%d reports are stored", n)
	}
}

// An endingStore ends after its next write, before it returns the answer, or before that write, as if the
// process was killed.
type endingStore struct {
	store.Store
	before, after bool
}

var errEnded = errors.New("the process was killed")

func (s *endingStore) Apply(ctx context.Context, writes ...store.Write) (uint64, error) {
	if s.before {
		return 0, errEnded
	}
	seq, err := s.Store.Apply(ctx, writes...)
	if s.after && err == nil {
		err = errEnded
	}
	return seq, err
}

// TestSettlementThatIsKilled checks that a settlement deletes the envelopes of all reports that it settles,
// or changes nothing, when the process ends before or after it is stored.
func TestSettlementThatIsKilled(t *testing.T) {
	for _, outcome := range []string{admission.ReportDismissed, admission.ReportSuspended, admission.ReportDeleted} {
		for _, stored := range []bool{false, true} {
			c, s := newClock(), &endingStore{Store: openStore(t)}
			r := open(t, registrar.Options{Store: s, Now: c.Now})
			sender, _ := register(t, r, someone(1))
			envelope, err := a2a.Sign(a2a.Message{From: r.DID(sender.AirID), To: "did:wba:elsewhere.test", Timestamp: c.Now(), Body: a2a.Withdraw{Reason: "spam"}}, a2a.Wire, privateKey(1))
			if err != nil {
				t.Fatal(err)
			}
			var reports []admission.Report
			for _, from := range []string{"192.0.2.1", "198.51.100.1"} {
				made, err := r.Report(t.Context(), sender.AirID, admission.ReportRequest{Reason: "spam", Text: "x", Envelope: string(envelope.Text), Client: client(from)})
				if err != nil {
					t.Fatal(err)
				}
				reports = append(reports, made)
			}
			s.before, s.after = !stored, stored
			if _, err := r.SettleReport(t.Context(), reports[0].ID, outcome, ""); !errors.Is(err, errEnded) {
				t.Errorf("%s: %v", outcome, err)
			}
			s.before, s.after = false, false
			again := open(t, registrar.Options{Store: s, Now: c.Now})
			for i, made := range reports {
				settled := stored && (i == 0 || outcome != admission.ReportDismissed)
				now, err := again.ReportByID(t.Context(), made.ID)
				if err != nil || now.Settled.IsZero() == settled || (now.Envelope == "") != settled || (now.Network == "") != settled {
					t.Errorf("%s, stored %t: report %d is %+v, %v", outcome, stored, i, now, err)
				}
			}
			agent, _, err := again.Agent(t.Context(), sender.AirID)
			if changed := agent.Status != registry.Active; err != nil || changed != (stored && outcome != admission.ReportDismissed) {
				t.Errorf("%s, stored %t: the agent is %s, %v", outcome, stored, agent.Status, err)
			}
			_, err = again.SettleReport(t.Context(), reports[0].ID, outcome, "")
			if stored {
				refusal(t, err, "report-settled")
			} else if now, failed := again.ReportByID(t.Context(), reports[0].ID); err != nil || failed != nil || now.Envelope != "" {
				t.Errorf("%s once more: %v, %v, %+v", outcome, err, failed, now)
			}
		}
	}
}

// TestFailedCommitsOfReports checks that a report counts as open exactly while it is open in the store, when
// the commit of the report or of its settlement is reported as failed and may be stored.
func TestFailedCommitsOfReports(t *testing.T) {
	for _, outcome := range []string{admission.ReportDismissed, admission.ReportSuspended} {
		s := &endingStore{Store: openStore(t)}
		r := open(t, registrar.Options{Store: s, Now: newClock().Now})
		agent, _ := register(t, r, someone(1))
		report := func() (admission.Report, error) {
			return r.Report(t.Context(), agent.AirID, admission.ReportRequest{Reason: "spam", Text: "x", Client: client("192.0.2.1")})
		}
		settle := func(id string, before, after bool) error {
			s.before, s.after = before, after
			defer func() { s.before, s.after = false, false }()
			_, err := r.SettleReport(t.Context(), id, outcome, "")
			return err
		}
		s.before = true
		if _, err := report(); !errors.Is(err, errEnded) {
			t.Fatal(err)
		}
		s.before, s.after = false, true
		if _, err := report(); !errors.Is(err, errEnded) { // the one before was not stored
			t.Fatal(err)
		}
		s.after = false
		_, err := report()
		refusal(t, err, "reported") // this one was
		open, _, err := r.Reports(t.Context(), admission.ReportFilter{}, "", 0)
		if err != nil || len(open) != 1 {
			t.Fatal(open, err)
		}
		if err := settle(open[0].ID, true, false); !errors.Is(err, errEnded) {
			t.Fatal(err)
		}
		_, err = report()
		refusal(t, err, "reported")
		if err := settle(open[0].ID, false, true); !errors.Is(err, errEnded) {
			t.Fatal(err)
		}
		refusal(t, settle(open[0].ID, false, false), "report-settled")
		if _, err := report(); err != nil {
			t.Errorf("%s: %v, although no report is open", outcome, err)
		}
		_, err = report()
		refusal(t, err, "reported")
	}
}

func TestReadReport(t *testing.T) {
	q, err := airjson.ReadReport([]byte(`{"reason":"spam","text":"x\ny","contact":null,"more":1}`))
	if err != nil || q != (admission.ReportRequest{Reason: "spam", Text: "x\ny"}) {
		t.Errorf("%+v, %v", q, err)
	}
	for _, body := range []string{``, `[]`, `{"text":1}`, `{"text":"a","text":"b"}`, "{\"text\":\"\xff\"}", `{"text":"` + strings.Repeat("x", 200<<10) + `"}`} {
		_, err := airjson.ReadReport([]byte(body))
		refused(t, err)
	}
}
