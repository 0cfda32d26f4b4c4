package admission

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"time"

	"gazetteer/limit"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/store"
)

// The reasons for a report.
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
	maxReportsOf     = 100   // open ones of one agent, and as many that have an envelope of it
	keptReports      = 500   // more in all, for networks that are known
	keptReportsOf    = 20    // more of one agent, for networks that are known
	reportRetention  = 180 * 24 * time.Hour
	defaultReportDue = 72 * time.Hour
)

// A Report is a complaint about an agent. Its texts are untrusted: escape them on output.
type Report struct {
	ID     string `json:"id"` // its time and eight hexadecimal digits
	AirID  string `json:"air_id"`
	Reason string `json:"reason"` // one of spam, impersonation, malware, stolen-key, unlawful, other
	Text   string `json:"text"`
	// Contact is the address at which the reporter wants to be informed, "" for none.
	Contact string `json:"contact,omitempty"`
	// Envelope is an envelope that the agent signed, which was verified. It is deleted when the report
	// is settled.
	Envelope string `json:"envelope,omitempty"`
	// Network is the IPv4 /24 or IPv6 /48 that the report came from. It is deleted when the report
	// is settled.
	Network string    `json:"network,omitempty"`
	Created time.Time `json:"created"`
	Due     time.Time `json:"due"` // when it should have been settled
	Settled time.Time `json:"settled,omitzero"`
	Outcome string    `json:"outcome,omitempty"` // one of the Report constants
	Note    string    `json:"note,omitempty"`    // of the operator, for the reporter
}

// Age returns how long the report was open, or has been open.
func (report Report) Age(now time.Time) time.Duration {
	if !report.Settled.IsZero() {
		now = report.Settled
	}
	return now.Sub(report.Created)
}

// Overdue reports whether the report is open after it was due.
func (report Report) Overdue(now time.Time) bool {
	return report.Settled.IsZero() && !now.Before(report.Due)
}

// Public returns the report as anyone who knows its ID may see it: its state, without its text and
// its author.
func (report Report) Public() Report {
	report.Text, report.Contact, report.Network, report.Envelope = "", "", "", ""
	return report
}

// kindKey returns the key under which the reports about an agent are counted. Those that have an
// envelope are counted separately, so that others, which prove nothing, leave room for them.
func (report Report) kindKey() string {
	if report.Envelope != "" {
		return report.AirID + " with an envelope"
	}
	return report.AirID
}

// counterKeys returns the keys under which an open report is counted: its kind, its network in that
// kind, and the /16 or /32 around it, in that kind and in all.
func (report Report) counterKeys() []string {
	kind := report.kindKey()
	names := []string{kind, kind + " " + report.Network}
	if p, err := netip.ParsePrefix(report.Network); err == nil {
		around := crowdPrefix + limit.Truncate(p.Addr(), 16, 32).String()
		names = append(names, kind+" "+around, around)
	}
	return names
}

// storedReports yields the reports behind a key of the store, in the order of their times.
func (ad *Admission) storedReports(ctx context.Context, after string) iter.Seq2[kept[Report], error] {
	return readKept[Report](ctx, ad.store, store.ReportPrefix, after, "list the reports")
}

// A ReportRequest is the content of a report as the reporter sends it.
type ReportRequest struct {
	Reason  string
	Text    string
	Contact string
	// Envelope is the text of an envelope that the agent signed, "" for none.
	Envelope string
	// Client is where the request came from. Without an address it is the operator's own, and not
	// counted.
	Client netip.Addr
}

// Report stores a complaint about an agent for the operator. The error is an [*registry.Error] for
// a value, [registry.ErrNoAgent], or a [*registry.Refusal]: with [registry.ErrForbidden] from a
// blocked network, with [registry.ErrTooMany] over a limit, and with [registry.ErrState] when the
// network has an open report about the agent.
func (ad *Admission) Report(ctx context.Context, airID string, q ReportRequest) (Report, error) {
	if err := ad.CheckNetwork(ctx, q.Client); err != nil {
		return Report{}, err
	}
	report, err := ad.newReport(q)
	if err != nil {
		return Report{}, err
	}
	agent, _, err := ad.registry.Agent(ctx, airID)
	if err != nil {
		return Report{}, err
	}
	if err := agent.Usable(); errors.Is(err, registry.ErrGone) {
		return Report{}, err
	}
	report.AirID = agent.AirID
	if report.Envelope, err = ad.checkReportedEnvelope(ctx, agent, q.Envelope); err != nil {
		return Report{}, err
	}
	giveBack, err := ad.admitReport(ctx, report, q.Client)
	if err != nil {
		return Report{}, err
	}
	value, err := json.Marshal(report)
	if err == nil {
		_, err = ad.store.Apply(ctx, store.PutIf(store.ReportKey(report.ID), value, 0))
	}
	if err != nil {
		if _, _, missing := ad.loadReport(context.WithoutCancel(ctx), report.ID); missing != nil { // a failed commit may be stored
			giveBack()
		}
		return Report{}, fmt.Errorf("write a report: %w", err)
	}
	ad.log.Info("agent reported", "air_id", airID, "report", report.ID, "reason", report.Reason, "network", report.Network)
	return report, nil
}

// checkReportedEnvelope checks that the agent signed an envelope, with the key of that time. When it
// was sent does not matter.
func (ad *Admission) checkReportedEnvelope(ctx context.Context, agent registry.Agent, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	refuse := func(code, message, help string) (string, error) {
		return "", &registry.Error{Field: "envelope", Code: code, Message: "Field 'envelope' " + message, Help: help}
	}
	verified, err := a2a.Verifier{Profile: a2a.Wire, Keys: a2a.DocumentKeys{Resolver: ownAgents{ad.registry}}}.Authenticate(ctx, []byte(text))
	if refusal, ok := errors.AsType[*a2a.Refusal](err); ok {
		return refuse("envelope", "holds no envelope of this agent: "+refusal.Detail, "send the envelope byte for byte as you received it")
	}
	if err != nil {
		return "", fmt.Errorf("verify a reported envelope: %w", err)
	}
	if sender, err := did.ParseWeb(verified.From); err != nil {
		return refuse("envelope", "has a sender without an address", "report the agent that signed it")
	} else if airID, ok := sender.AirID(); !ok || airID != agent.AirID {
		return refuse("sender", "was signed by another agent", "report the agent that signed it")
	}
	return text, nil
}

// ownAgents resolves the DIDs of the registry's agents alone.
type ownAgents struct{ registry *registry.Registry }

// Resolve implements a2a.Resolver.
func (x ownAgents) Resolve(ctx context.Context, id string) (did.Document, error) {
	web, err := did.ParseWeb(id)
	if err != nil {
		return did.Document{}, fmt.Errorf("%w: %w", a2a.ErrUnknownSender, err)
	}
	document, ours, err := x.registry.Local(ctx, web)
	if err == nil && !ours || errors.Is(err, registry.ErrNoAgent) {
		return did.Document{}, a2a.ErrUnknownSender
	}
	return document, err
}

func (ad *Admission) newReport(q ReportRequest) (report Report, err error) {
	if !slices.Contains(reportReasons, q.Reason) {
		return report, &registry.Error{Field: "reason", Code: "value", Message: "Field 'reason' must say what the agent is reported for", Help: "it is one of " + strings.Join(reportReasons, ", ")}
	}
	if report.Text, err = registry.ValidateText("text", q.Text, maxReportText, registry.ManyLines); err != nil {
		return report, err
	}
	if report.Text == "" {
		return report, &registry.Error{Field: "text", Code: "required", Message: "Field 'text' is required", Help: "describe the event, its time, and a place where it can be seen"}
	}
	if report.Contact, err = registry.ValidateText("contact", q.Contact, registry.MaxCreatorName, registry.OneLine); err != nil {
		return report, err
	}
	var random [4]byte
	if _, err := io.ReadFull(ad.rand, random[:]); err != nil {
		return report, fmt.Errorf("name a report: %w", err)
	}
	report.Reason, report.Network, report.Created = q.Reason, wideNetwork(q.Client), ad.recordTime()
	report.Due = report.Created.Add(ad.reportDue)
	report.ID = report.Created.Format("20060102T150405.000Z") + "-" + hex.EncodeToString(random[:])
	return report, nil
}

// loadReportCounts counts the open reports in the store once.
func (ad *Admission) loadReportCounts(ctx context.Context) error {
	return ad.openReports.loadCounts(ctx, ad.store, store.ReportPrefix, func(record store.Record) ([]string, error) {
		var report Report
		if err := record.Decode(&report); err != nil || !report.Settled.IsZero() {
			return nil, err
		}
		return report.counterKeys(), nil
	})
}

// admitReport counts a report, or refuses it.
func (ad *Admission) admitReport(ctx context.Context, report Report, client netip.Addr) (giveBack func(), err error) {
	if err := ad.loadReportCounts(ctx); err != nil {
		return nil, err
	}
	reservation, err := ad.reports.Reserve(ctx, client)
	if exceeded, ok := errors.AsType[*limit.ExceededError](err); ok {
		return nil, &registry.Refusal{Kind: registry.ErrTooMany, Code: "reports-network", Wait: exceeded.Wait, Message: fmt.Sprintf("your network has made very many reports: at most %d a day from one", ad.limits.Reports),
			Help: "wait for the time in Retry-After; one report can cover several things"}
	}
	names := report.counterKeys()
	most, limits := ad.reportLimits(client)
	full := ad.openReports.reserveSlot(most, names, limits)
	if prefix, crowd := report.crowdOf(full); crowd != "" {
		made, err := ad.displaceReport(ctx, prefix, crowd)
		if err != nil {
			reservation.Cancel()
			return nil, err
		}
		if made {
			full = ad.openReports.reserveSlot(most, names, limits)
		}
	}
	switch full {
	case "":
		return func() { reservation.Cancel(); ad.openReports.releaseSlot(names) }, nil
	case "all":
		err = &registry.Refusal{Kind: registry.ErrTooMany, Code: "reports-all", Message: "very many reports are open already", Help: "report again when the operator has settled some of them", Wait: 24 * time.Hour}
	case report.kindKey():
		err = &registry.Refusal{Kind: registry.ErrState, Code: "reported-enough", Message: fmt.Sprintf("%d reports about the agent are open already", ad.openReports.countOf(full)), Help: "the operator knows of it; a report with an envelope that the agent signed may still have room"}
	default:
		err = &registry.Refusal{Kind: registry.ErrState, Code: "reported", Message: "a report about the agent from your network is open already", Help: "the operator is reviewing it; report anything new after that"}
	}
	reservation.Cancel()
	return nil, err
}

// reportLimits returns the numbers of open reports up to which one more from a client is accepted: in
// all, about its agent, and of its network about the agent.
func (ad *Admission) reportLimits(client netip.Addr) (most int, limits []int) {
	switch {
	case !client.IsValid():
		return maxReports + keptReports, []int{maxReportsOf + keptReportsOf, maxReportsOf + keptReportsOf}
	case ad.known.hasNetwork(client, ad.now()):
		return maxReports + keptReports, []int{maxReportsOf + keptReportsOf, 1, maxReportsOf + keptReportsOf, maxReports + keptReports}
	}
	return maxReports, []int{maxReportsOf, 1, maxReportsOf, maxReports}
}

// crowdOf returns under which prefix of names the crowds are counted of which one can give way to a
// report when a limit is full, and the name of the report's own crowd; "" if none can.
func (report Report) crowdOf(full string) (prefix, crowd string) {
	names := report.counterKeys()
	switch {
	case len(names) < 4:
		return "", ""
	case full == "all":
		return crowdPrefix, names[3]
	case full == report.kindKey():
		return full + " " + crowdPrefix, names[2]
	}
	return "", ""
}

// displaceReport makes room for a report from the crowd, a /16 or /32: it deletes the newest report
// from the one of the prefix that has the most, as displaceApplication does with registrations. It
// reports whether there is room now.
func (ad *Admission) displaceReport(ctx context.Context, prefix, crowd string) (bool, error) {
	largest, most := ad.openReports.largestName(prefix)
	if most < ad.openReports.countOf(crowd)+2 {
		return false, nil
	}
	var newest Report
	var seq uint64
	for k, err := range ad.storedReports(ctx, "") {
		if err != nil {
			return false, err
		}
		if k.value.Settled.IsZero() && slices.Contains(k.value.counterKeys(), largest) {
			newest, seq = k.value, k.Seq
		}
	}
	if seq == 0 {
		return false, nil // settled meanwhile
	}
	_, err := ad.store.Apply(ctx, deleteIfUnchanged(store.ReportKey(newest.ID), seq))
	if errors.Is(err, store.ErrConflict) {
		return false, nil
	}
	if err != nil {
		if _, _, failed := ad.loadReport(context.WithoutCancel(ctx), newest.ID); errors.Is(failed, registry.ErrNotFound) {
			ad.openReports.releaseSlot(newest.counterKeys())
		}
		return false, fmt.Errorf("make room for a report: %w", err)
	}
	ad.openReports.releaseSlot(newest.counterKeys())
	ad.log.Info("report gave way to another network's", "report", newest.ID, "air_id", newest.AirID, "network", newest.Network)
	return true, nil
}

// ReportByID returns a report as the operator sees it. Show others [Report.Public]. The error is a
// [*registry.Refusal] with [registry.ErrNotFound].
func (ad *Admission) ReportByID(ctx context.Context, id string) (Report, error) {
	report, _, err := ad.loadReport(ctx, id)
	return report, err
}

func (ad *Admission) loadReport(ctx context.Context, id string) (Report, uint64, error) {
	unknown := &registry.Refusal{Kind: registry.ErrNotFound, Code: "report-unknown", Message: "unknown report", Help: "reports are forgotten " + formatDays(reportRetention) + " after they were settled; where very many are open, one can give way to another network's"}
	if len(id) != len("20060102T150405.000Z-01234567") || !registry.IsURIText(id) || strings.Contains(id, "/") {
		return Report{}, 0, unknown
	}
	record, err := ad.store.Get(ctx, store.ReportKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return Report{}, 0, unknown
	}
	if err != nil {
		return Report{}, 0, fmt.Errorf("read report %s: %w", id, err)
	}
	var report Report
	err = record.Decode(&report)
	return report, record.Seq, err
}

// A ReportFilter selects reports. The zero value selects the open ones.
type ReportFilter struct {
	AirID   string // only about this agent
	Overdue bool   // only those that are overdue
	Settled bool   // also those that are settled
}

// Reports returns at most limit reports that the filter selects, oldest first, whose ID is greater
// than after. A limit outside 1 to [registry.MaxList] means MaxList. Next is the position of the
// next list, "" at the end: a list may be short and not be the last.
func (ad *Admission) Reports(ctx context.Context, f ReportFilter, after string, limit int) (reports []Report, next string, err error) {
	if limit < 1 || limit > registry.MaxList {
		limit = registry.MaxList
	}
	if after != "" {
		after = store.ReportKey(after)
	}
	now, scanned := ad.recordTime(), 0
	for k, err := range ad.storedReports(ctx, after) {
		if err != nil {
			return nil, "", err
		}
		if len(reports) == limit || scanned == registry.MaxScan {
			return reports, next, nil
		}
		scanned++
		report := k.value
		next = report.ID
		if (f.Settled || report.Settled.IsZero()) && (f.AirID == "" || f.AirID == report.AirID) && (!f.Overdue || report.Overdue(now)) {
			reports = append(reports, report)
		}
	}
	return reports, "", nil
}

// ReportFigures are the number of reports that wait for the operator, and their waiting times.
type ReportFigures struct {
	Open    int           `json:"open"`
	Overdue int           `json:"overdue"`
	Oldest  time.Duration `json:"oldest_ns"` // age of the oldest open one; 0 without one
}

// ReportFigures counts the open reports.
func (ad *Admission) ReportFigures(ctx context.Context) (ReportFigures, error) {
	var f ReportFigures
	now := ad.recordTime()
	for after, more := "", true; more; more = after != "" {
		open, next, err := ad.Reports(ctx, ReportFilter{}, after, 0)
		if err != nil {
			return f, err
		}
		for _, report := range open {
			f.Open++
			f.Oldest = max(f.Oldest, report.Age(now))
			if report.Overdue(now) {
				f.Overdue++
			}
		}
		after = next
	}
	return f, nil
}

// SettleReport settles a report as the operator: it dismisses the report, or suspends or deletes
// the agent, which settles every open report about the agent in the same change. Note is shown to
// the reporters. It returns the settled reports. The error is an [*registry.Error] for a value, and
// a [*registry.Refusal]: with [registry.ErrNotFound], and with [registry.ErrState] for a report
// that is settled.
func (ad *Admission) SettleReport(ctx context.Context, id, outcome, note string) ([]Report, error) {
	note, err := registry.ValidateText("note", note, registry.MaxReason, registry.ManyLines)
	if err != nil {
		return nil, err
	}
	if err := ad.loadReportCounts(ctx); err != nil {
		return nil, err
	}
	report, _, err := ad.loadOpenReport(ctx, id)
	if err != nil {
		return nil, err
	}
	var settled []Report
	switch outcome {
	case ReportDismissed:
		settled, err = ad.dismissReport(ctx, id, note)
	case ReportSuspended, ReportDeleted:
		settled, err = ad.settleByAction(ctx, report, outcome, note)
	default:
		return nil, &registry.Error{Field: "outcome", Code: "value", Message: "Field 'outcome' must say what is done", Help: "it is one of " + strings.Join([]string{ReportDismissed, ReportSuspended, ReportDeleted}, ", ")}
	}
	if err != nil {
		ad.releaseStoredSettlements(ctx, settled)
		return nil, err
	}
	for i := range settled {
		report := &settled[i]
		ad.openReports.releaseSlot(report.counterKeys())
		report.Network = ""
		ad.log.Info("report settled", "report", report.ID, "air_id", report.AirID, "outcome", outcome, "open", report.Age(ad.now()))
	}
	return settled, nil
}

// releaseStoredSettlements ends the counting of reports that are settled in the store although their
// commit is reported as failed: nobody can settle them again.
func (ad *Admission) releaseStoredSettlements(ctx context.Context, attempted []Report) {
	for _, report := range attempted {
		stored, _, err := ad.loadReport(context.WithoutCancel(ctx), report.ID)
		if err == nil && stored.Settled.Equal(report.Settled) && stored.Outcome == report.Outcome { // not by another operator
			ad.openReports.releaseSlot(report.counterKeys())
		}
	}
}

// settleByAction settles all open reports about an agent by an action on it.
func (ad *Admission) settleByAction(ctx context.Context, report Report, outcome, note string) (settled []Report, err error) {
	reason := helpWithNote(note, "reported for "+report.Reason)
	_, err = ad.registry.ChangeAgent(ctx, report.AirID, func(c *registry.Change) error {
		settled = nil
		if _, _, err := ad.loadOpenReport(ctx, report.ID); err != nil {
			return err // another operator was first
		}
		if settled, err = ad.settleOpenReports(ctx, c, outcome, note); err != nil {
			return err
		}
		// If another operator has settled it since, none of our writes depends on it: look again.
		if !slices.ContainsFunc(settled, func(s Report) bool { return s.ID == report.ID }) {
			_, _, err := ad.loadOpenReport(ctx, report.ID)
			return cmp.Or(err, error(store.ErrConflict))
		}
		if outcome == ReportSuspended {
			return c.SuspendAgent(reason)
		}
		return c.DeleteAgent(ctx, reason)
	})
	return settled, err
}

func (ad *Admission) loadOpenReport(ctx context.Context, id string) (Report, uint64, error) {
	report, seq, err := ad.loadReport(ctx, id)
	if err == nil && !report.Settled.IsZero() {
		err = &registry.Refusal{Kind: registry.ErrState, Code: "report-settled", Message: "the report was settled on " + registry.FormatSecond(report.Settled) + ": " + report.Outcome, Help: "nothing was changed"}
	}
	return report, seq, err
}

// settleWrite returns the write that settles a report. The network and the envelope are not written.
func (report *Report) settleWrite(seq uint64, outcome, note string, now time.Time) (store.Write, error) {
	report.Settled, report.Outcome, report.Note = now, outcome, note
	kept := *report
	kept.Network, kept.Envelope = "", ""
	value, err := json.Marshal(kept)
	if err != nil {
		return store.Write{}, fmt.Errorf("write report %s: %w", report.ID, err)
	}
	return store.PutIf(store.ReportKey(report.ID), value, seq), nil
}

// dismissReport returns the report also if it is not known whether its settlement is stored.
func (ad *Admission) dismissReport(ctx context.Context, id, note string) ([]Report, error) {
	for ctx.Err() == nil {
		report, seq, err := ad.loadOpenReport(ctx, id)
		if err != nil {
			return nil, err
		}
		w, err := report.settleWrite(seq, ReportDismissed, note, ad.recordTime())
		if err != nil {
			return nil, err
		}
		_, err = ad.store.Apply(ctx, w)
		if errors.Is(err, store.ErrConflict) {
			continue
		}
		if err != nil {
			err = fmt.Errorf("settle report %s: %w", id, err)
		}
		return []Report{report}, err
	}
	return nil, ctx.Err()
}

// settleOpenReports settles all open reports about the agent with the change.
func (ad *Admission) settleOpenReports(ctx context.Context, c *registry.Change, outcome, note string) ([]Report, error) {
	var settled []Report
	for k, err := range ad.storedReports(ctx, "") {
		if err != nil {
			return nil, err
		}
		report := k.value
		if report.AirID != c.Agent.AirID || !report.Settled.IsZero() {
			continue
		}
		w, err := report.settleWrite(k.Seq, outcome, note, c.Now)
		if err != nil {
			return nil, err
		}
		c.AddWrite(w)
		settled = append(settled, report)
	}
	return settled, nil
}

// deleteExpiredReports deletes the reports that were settled long ago.
func (ad *Admission) deleteExpiredReports(ctx context.Context) error {
	before := ad.dueTime().Add(-reportRetention)
	for k, err := range ad.storedReports(ctx, "") {
		if err != nil {
			return err
		}
		if k.value.Created.After(before) {
			return nil // and so are all behind it
		}
		if k.value.Settled.IsZero() || k.value.Settled.After(before) {
			continue
		}
		if _, err := ad.store.Apply(ctx, store.Delete(k.Key)); err != nil {
			return fmt.Errorf("forget report %s: %w", k.value.ID, err)
		}
	}
	return nil
}
