package registry

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"gazetteer/store"
)

// What an agent can be reported for.
var reportReasons = []string{"spam", "impersonation", "malware", "stolen-key", "unlawful", "other"}

// How a report can be settled.
const (
	ReportDismissed = "dismissed" // nothing is done
	ReportSuspended = "suspended" // the agent is, until it is restored
	ReportDeleted   = "deleted"   // the agent is, for good
)

const (
	maxReportText    = 2000  // characters
	maxReports       = 10000 // that are open
	maxReportsOf     = 100   // open ones of one agent
	reportRetention  = 180 * 24 * time.Hour
	defaultReportDue = 72 * time.Hour
)

// A Report is what somebody says against an agent. Its texts are a stranger's:
// escape them on output, and believe nothing of them.
type Report struct {
	ID     string `json:"id"` // its time and eight hexadecimal digits
	AirID  string `json:"air_id"`
	Reason string `json:"reason"` // one of spam, impersonation, malware, stolen-key, unlawful, other
	Text   string `json:"text"`
	// Contact is where the reporter wants to be told, "" for nowhere.
	Contact string `json:"contact,omitempty"`
	// Network is the IPv4 /24 or IPv6 /48 that it came from; it is forgotten when
	// the report is settled.
	Network string    `json:"network,omitempty"`
	Created time.Time `json:"created"`
	Due     time.Time `json:"due"` // when it should have been settled
	Settled time.Time `json:"settled,omitzero"`
	Outcome string    `json:"outcome,omitempty"` // one of the Report constants
	Note    string    `json:"note,omitempty"`    // of the operator, for the reporter
}

// Age is how long the report was open, or is open by now.
func (p Report) Age(now time.Time) time.Duration {
	if !p.Settled.IsZero() {
		now = p.Settled
	}
	return now.Sub(p.Created)
}

// Overdue reports whether it is open and should not be any more.
func (p Report) Overdue(now time.Time) bool { return p.Settled.IsZero() && !now.Before(p.Due) }

// Public returns the report as whoever knows its ID may see it: how it stands, and
// nothing of who made it.
func (p Report) Public() Report {
	p.Text, p.Contact, p.Network = "", "", ""
	return p
}

// counterKeys is what the report is counted under while it is open.
func (p Report) counterKeys() []string { return []string{p.AirID, p.AirID + " " + p.Network} }

func decodeReport(record store.Record) (Report, error) {
	var p Report
	if err := json.Unmarshal(record.Value, &p); err != nil {
		return p, fmt.Errorf("read %s: %w: %w", record.Key, store.ErrCorrupt, err)
	}
	return p, nil
}

// A ReportRequest is what a reporter sends.
type ReportRequest struct {
	Reason  string
	Text    string
	Contact string
	// Client is where the request came from; without an address it is the
	// operator's own, and not counted.
	Client netip.Addr
}

// ReadReport reads the body of a report: reason, text and contact, as strictly as
// [ReadRegistration] reads a registration. Values are judged by
// [Registry.Report]. The error is an [*Error].
func ReadReport(body []byte) (ReportRequest, error) {
	var q ReportRequest
	err := readTexts(body, map[string]*string{"reason": &q.Reason, "text": &q.Text, "contact": &q.Contact})
	return q, err
}

// Report stores what somebody says against an agent, for the operator. The error
// is an [*Error] for a value, [ErrNoAgent], or a [*Refusal]: with [ErrForbidden]
// from a network on the block list, with [ErrTooMany] when that has said enough,
// and with [ErrState] when it has an open report about the agent.
func (r *Registry) Report(ctx context.Context, airID string, q ReportRequest) (Report, error) {
	if err := r.CheckNetwork(ctx, q.Client); err != nil {
		return Report{}, err
	}
	p, err := r.newReport(q)
	if err != nil {
		return Report{}, err
	}
	agent, _, err := r.Agent(ctx, airID)
	if err != nil {
		return Report{}, err
	}
	if err := agent.Usable(); errors.Is(err, ErrGone) {
		return Report{}, err
	}
	p.AirID = agent.AirID
	giveBack, err := r.admitReport(ctx, p, q.Client)
	if err != nil {
		return Report{}, err
	}
	value, err := json.Marshal(p)
	if err == nil {
		_, err = r.store.Apply(ctx, store.PutIf(store.ReportKey(p.ID), value, 0))
	}
	if err != nil {
		giveBack()
		return Report{}, fmt.Errorf("write a report: %w", err)
	}
	r.log.Info("agent reported", "air_id", airID, "report", p.ID, "reason", p.Reason, "network", p.Network)
	return p, nil
}

func (r *Registry) newReport(q ReportRequest) (p Report, err error) {
	if !slices.Contains(reportReasons, q.Reason) {
		return p, &Error{Field: "reason", Code: "value", Message: "Field 'reason' must say what the agent is reported for", Help: "it is one of " + strings.Join(reportReasons, ", ")}
	}
	if p.Text, err = validateText("text", q.Text, maxReportText, manyLines); err != nil {
		return p, err
	}
	if p.Text == "" {
		return p, &Error{Field: "text", Code: "required", Message: "Field 'text' is required", Help: "say what happened, when, and where it can be seen"}
	}
	if p.Contact, err = validateText("contact", q.Contact, maxCreatorName, oneLine); err != nil {
		return p, err
	}
	var random [4]byte
	if _, err := io.ReadFull(r.rand, random[:]); err != nil {
		return p, fmt.Errorf("name a report: %w", err)
	}
	p.Reason, p.Network, p.Created = q.Reason, wideNetwork(q.Client), r.timestamp()
	p.Due = p.Created.Add(r.reportDue)
	p.ID = p.Created.Format("20060102T150405.000Z") + "-" + hex.EncodeToString(random[:])
	return p, nil
}

// loadReportCounts counts the open reports in the store, once.
func (r *Registry) loadReportCounts(ctx context.Context) error {
	return r.openReports.loadCounts(ctx, r.store, store.ReportPrefix, func(record store.Record) ([]string, error) {
		p, err := decodeReport(record)
		if err != nil || !p.Settled.IsZero() {
			return nil, err
		}
		return p.counterKeys(), nil
	})
}

// admitReport counts a report, or refuses it.
func (r *Registry) admitReport(ctx context.Context, p Report, client netip.Addr) (giveBack func(), err error) {
	if err := r.loadReportCounts(ctx); err != nil {
		return nil, err
	}
	now := r.now()
	if client.IsValid() {
		if wait, _ := r.reports.reserveFor(client, now); wait > 0 {
			return nil, &Refusal{Kind: ErrTooMany, Code: "reports-network", Wait: wait, Message: fmt.Sprintf("your network has made very many reports: at most %d a day from one", r.limits.Reports),
				Help: "wait as long as Retry-After says; one report can tell of several things"}
		}
	}
	back := func() {
		if client.IsValid() {
			r.reports.cancelReservation(client, now)
		}
	}
	limits := []int{maxReportsOf, 1}
	if !client.IsValid() {
		limits[1] = maxReportsOf
	}
	switch full := r.openReports.reserveSlot(maxReports, p.counterKeys(), limits); full {
	case "":
		return func() { back(); r.openReports.releaseSlot(p.counterKeys()) }, nil
	case "all":
		err = &Refusal{Kind: ErrTooMany, Code: "reports-all", Message: fmt.Sprintf("%d reports are open already", maxReports), Help: "come back when the operator has looked at them", Wait: 24 * time.Hour}
	case p.AirID:
		err = &Refusal{Kind: ErrState, Code: "reported-enough", Message: fmt.Sprintf("%d reports about the agent are open already", maxReportsOf), Help: "the operator knows of it"}
	default:
		err = &Refusal{Kind: ErrState, Code: "reported", Message: "a report about the agent from your network is open already", Help: "the operator looks at it; what is new can be said when it is settled"}
	}
	back()
	return nil, err
}

// ReportByID returns a report as the operator sees it; [Report.Public] is for
// others. The error is a [*Refusal] with [ErrNotFound].
func (r *Registry) ReportByID(ctx context.Context, id string) (Report, error) {
	p, _, err := r.loadReport(ctx, id)
	return p, err
}

func (r *Registry) loadReport(ctx context.Context, id string) (Report, uint64, error) {
	unknown := &Refusal{Kind: ErrNotFound, Code: "report-unknown", Message: "there is no such report", Help: "reports are forgotten " + formatDays(reportRetention) + " after they were settled"}
	if len(id) != len("20060102T150405.000Z-01234567") || !isURIText(id) || strings.Contains(id, "/") {
		return Report{}, 0, unknown
	}
	record, err := r.store.Get(ctx, store.ReportKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return Report{}, 0, unknown
	}
	if err != nil {
		return Report{}, 0, fmt.Errorf("read report %s: %w", id, err)
	}
	p, err := decodeReport(record)
	return p, record.Seq, err
}

// A ReportFilter says which reports are listed. The zero value lists those that
// are open.
type ReportFilter struct {
	AirID   string // only about this agent
	Overdue bool   // only those that are overdue
	Settled bool   // also those that are settled
}

// Reports returns at most limit reports that a filter takes, oldest first, whose
// ID is greater than after. A limit outside 1 to [MaxList] means MaxList. Next is
// where the coming list goes on, "" at the end: a list may be short and not be the
// last.
func (r *Registry) Reports(ctx context.Context, f ReportFilter, after string, limit int) (reports []Report, next string, err error) {
	if limit < 1 || limit > MaxList {
		limit = MaxList
	}
	if after != "" {
		after = store.ReportKey(after)
	}
	now, scanned := r.timestamp(), 0
	for record, err := range r.store.List(ctx, store.ReportPrefix, after) {
		if store.Damaged(record, err) {
			continue
		}
		if err != nil {
			return nil, "", fmt.Errorf("list the reports: %w", err)
		}
		if len(reports) == limit || scanned == maxScan {
			return reports, next, nil
		}
		scanned++
		p, err := decodeReport(record)
		if err != nil {
			return nil, "", err
		}
		next = p.ID
		if (f.Settled || p.Settled.IsZero()) && (f.AirID == "" || f.AirID == p.AirID) && (!f.Overdue || p.Overdue(now)) {
			reports = append(reports, p)
		}
	}
	return reports, "", nil
}

// ReportFigures say how the operator keeps up.
type ReportFigures struct {
	Open    int           `json:"open"`
	Overdue int           `json:"overdue"`
	Oldest  time.Duration `json:"oldest_ns"` // age of the oldest open one; 0 without one
}

// ReportFigures counts the open reports.
func (r *Registry) ReportFigures(ctx context.Context) (ReportFigures, error) {
	var f ReportFigures
	now := r.timestamp()
	for after, more := "", true; more; more = after != "" {
		open, next, err := r.Reports(ctx, ReportFilter{}, after, 0)
		if err != nil {
			return f, err
		}
		for _, p := range open {
			f.Open++
			f.Oldest = max(f.Oldest, p.Age(now))
			if p.Overdue(now) {
				f.Overdue++
			}
		}
		after = next
	}
	return f, nil
}

// SettleReport ends a report as the operator: dismissed, or by suspending or
// deleting the agent, which settles every open report about it. What is done to
// the agent and the reports is one change. Note is for the reporters. It returns
// the reports that were settled. The error is an [*Error] for a value, and a
// [*Refusal]: with [ErrNotFound], and with [ErrState] for one that is settled.
func (r *Registry) SettleReport(ctx context.Context, id, outcome, note string) ([]Report, error) {
	note, err := validateText("note", note, maxReason, manyLines)
	if err != nil {
		return nil, err
	}
	if err := r.loadReportCounts(ctx); err != nil {
		return nil, err
	}
	p, _, err := r.loadOpenReport(ctx, id)
	if err != nil {
		return nil, err
	}
	var settled []Report
	switch outcome {
	case ReportDismissed:
		settled, err = r.dismissReport(ctx, id, note)
	case ReportSuspended, ReportDeleted:
		settled, err = r.settleByAction(ctx, p, outcome, note)
	default:
		return nil, &Error{Field: "outcome", Code: "value", Message: "Field 'outcome' must say what is done", Help: "it is one of " + strings.Join([]string{ReportDismissed, ReportSuspended, ReportDeleted}, ", ")}
	}
	if err != nil {
		return nil, err
	}
	for i := range settled {
		p := &settled[i]
		r.openReports.releaseSlot(p.counterKeys())
		p.Network = ""
		r.log.Info("report settled", "report", p.ID, "air_id", p.AirID, "outcome", outcome, "open", p.Age(r.now()))
	}
	return settled, nil
}

// settleByAction ends all open reports about an agent by what is done to it.
func (r *Registry) settleByAction(ctx context.Context, p Report, outcome, note string) (settled []Report, err error) {
	reason := helpWithNote(note, "reported for "+p.Reason)
	_, err = r.changeAgent(ctx, p.AirID, func(c *change) error {
		if _, _, err := r.loadOpenReport(ctx, p.ID); err != nil {
			return err // another operator was first
		}
		if settled, err = c.settleOpenReports(ctx, outcome, note); err != nil {
			return err
		}
		// Settled by another since it was looked at: then nothing of ours
		// conditions on it, so look again.
		if !slices.ContainsFunc(settled, func(s Report) bool { return s.ID == p.ID }) {
			_, _, err := r.loadOpenReport(ctx, p.ID)
			return cmp.Or(err, error(store.ErrConflict))
		}
		if outcome == ReportSuspended {
			return c.suspendAgent(reason)
		}
		return c.deleteAgent(ctx, reason)
	})
	return settled, err
}

func (r *Registry) loadOpenReport(ctx context.Context, id string) (Report, uint64, error) {
	p, seq, err := r.loadReport(ctx, id)
	if err == nil && !p.Settled.IsZero() {
		err = &Refusal{Kind: ErrState, Code: "report-settled", Message: "the report was settled on " + formatSecond(p.Settled), Got: p.Outcome, Help: "a suspended agent can be restored"}
	}
	return p, seq, err
}

// settleWrite returns the write that ends a report; its network is not written.
func (p *Report) settleWrite(seq uint64, outcome, note string, now time.Time) (store.Write, error) {
	p.Settled, p.Outcome, p.Note = now, outcome, note
	kept := *p
	kept.Network = ""
	value, err := json.Marshal(kept)
	if err != nil {
		return store.Write{}, fmt.Errorf("write report %s: %w", p.ID, err)
	}
	return store.PutIf(store.ReportKey(p.ID), value, seq), nil
}

func (r *Registry) dismissReport(ctx context.Context, id, note string) ([]Report, error) {
	for ctx.Err() == nil {
		p, seq, err := r.loadOpenReport(ctx, id)
		if err != nil {
			return nil, err
		}
		w, err := p.settleWrite(seq, ReportDismissed, note, r.timestamp())
		if err != nil {
			return nil, err
		}
		_, err = r.store.Apply(ctx, w)
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("settle report %s: %w", id, err)
		}
		return []Report{p}, nil
	}
	return nil, ctx.Err()
}

// settleOpenReports ends all open reports about the agent with the change.
func (c *change) settleOpenReports(ctx context.Context, outcome, note string) ([]Report, error) {
	var settled []Report
	for record, err := range c.r.store.List(ctx, store.ReportPrefix, "") {
		if store.Damaged(record, err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list the reports: %w", err)
		}
		p, err := decodeReport(record)
		if err != nil {
			return nil, err
		}
		if p.AirID != c.agent.AirID || !p.Settled.IsZero() {
			continue
		}
		w, err := p.settleWrite(record.Seq, outcome, note, c.now)
		if err != nil {
			return nil, err
		}
		c.addWrite(w)
		settled = append(settled, p)
	}
	return settled, nil
}

// deleteExpiredReports forgets what was settled long ago.
func (r *Registry) deleteExpiredReports(ctx context.Context) error {
	before := r.timestamp().Add(-reportRetention)
	for record, err := range r.store.List(ctx, store.ReportPrefix, "") {
		if store.Damaged(record, err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("list the reports: %w", err)
		}
		p, err := decodeReport(record)
		if err != nil {
			return err
		}
		if p.Created.After(before) {
			return nil // and so are all behind it
		}
		if p.Settled.IsZero() || p.Settled.After(before) {
			continue
		}
		if _, err := r.store.Apply(ctx, store.Delete(record.Key)); err != nil {
			return fmt.Errorf("forget report %s: %w", p.ID, err)
		}
	}
	return nil
}
