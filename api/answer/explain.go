package answer

import (
	"context"
	"fmt"
	"time"

	"gazetteer/conformance"
	"gazetteer/crawler"
	"gazetteer/store"
)

// An Explanation shows the owner of a host the results of the last visit and their consequences.
type Explanation struct {
	Host string `json:"host"`
	// Page is the address of the page of the host, with its badge and the forms of its owner.
	Page string `json:"page,omitempty" doc:"the page of the host for people, with its badge and the forms for its owner"`
	// Listed is set if the host is in the list of services. Why gives the reason.
	Listed bool                       `json:"listed"`
	Class  conformance.PublisherClass `json:"class" doc:"what kind of publisher the host is"`
	Why    string                     `json:"why" doc:"why it is listed or not, for a person"`
	// States are the five states, each with its evidence.
	States []conformance.State `json:"states" doc:"the five states with the evidence for each"`
	// MeasuredBy is the User-Agent of the crawler that made the last visit, "" if the visit was
	// before User-Agents were recorded.
	MeasuredBy string `json:"measured_by,omitempty"`
	// LastVisit lists the requests of the last visit, nil before the first, and after 90 days.
	LastVisit *crawler.CrawlLogEntry `json:"last_visit,omitempty"`
	Visited   time.Time              `json:"visited,omitzero"`
	Due       time.Time              `json:"due,omitzero"`
	// Recheck describes a visit that anybody asks for, OwnerRecheck one that the owner asks for
	// with a signed request, which ignores waiting times.
	Recheck      crawler.Preview `json:"recheck"`
	OwnerRecheck crawler.Preview `json:"owner_recheck"`
	// OriginProof is the proof that the owner speaks for the host, "" for none.
	OriginProof string        `json:"origin_proof,omitempty"`
	History     HostHistory   `json:"history"`
	Links       ServicesLinks `json:"links"`
}

// HostHistory is the history of a host's states.
type HostHistory struct {
	// Begins is when the history of the host begins, zero for one without.
	Begins   time.Time `json:"begins,omitzero" doc:"nothing is known of the time before"`
	Flapping bool      `json:"flapping,omitempty" doc:"the states change so often that single changes are not recorded"`
	// Days are the last thirty, oldest first, in UTC.
	Days []HistoryDay `json:"days"`
	// Turns are the last changes, the latest first, at most 50.
	Turns []conformance.Turn `json:"turns"`
}

// A HistoryDay is one day of a host, in UTC.
type HistoryDay struct {
	Day string `json:"day" format:"date"`
	// Standing is the standing at the end of the day; nil before the history begins.
	Standing *conformance.Standing `json:"standing,omitempty"`
	// Changes counts the changes of the day.
	Changes  int  `json:"changes,omitempty"`
	Flapping bool `json:"flapping,omitempty"`
}

// ServicesLinks are the links of a host as related services, at most 100 in each direction.
type ServicesLinks struct {
	In       []string `json:"in" doc:"hosts that name this one"`
	TotalIn  int      `json:"total_in"`
	Out      []string `json:"out" doc:"hosts that it names"`
	TotalOut int      `json:"total_out"`
}

const (
	historyDays = 30
	maxTurns    = 50
	maxLinks    = 100
)

// ClassReason explains what a class means for the list of services.
func ClassReason(c conformance.PublisherClass) string {
	switch c {
	case conformance.Publishes:
		return "it publishes documents for agents"
	case conformance.OtherDialect:
		return "it publishes a document of another dialect"
	case conformance.OtherFormat:
		return "the discovery paths have documents of another format"
	case conformance.Withheld:
		return "its robots.txt disallows this crawler"
	case conformance.CatchAll:
		return "it gives the same answer to every path, so its answers say nothing"
	case conformance.Unreadable:
		return "what it serves at the discovery paths cannot be read as a document"
	case conformance.Failing:
		return "its discovery paths fail to answer with a document"
	case conformance.Nothing:
		return "it answers, and publishes no document for agents"
	case conformance.Silent:
		return "it did not answer at the last visit"
	}
	return "no visit has finished yet"
}

// Explain returns the results of the visits to a host and their consequences. The error is that of
// [Answers.Service].
func (a *Answers) Explain(ctx context.Context, host string) (Explanation, error) {
	s, err := a.Service(ctx, host)
	if err != nil {
		return Explanation{}, err
	}
	return a.ExplainService(ctx, s)
}

// ExplainService is [Answers.Explain] for a service that was read before.
func (a *Answers) ExplainService(ctx context.Context, s Service) (Explanation, error) {
	now := a.now()
	e := Explanation{
		Host: s.Host, Listed: isListed(s.ServiceSummary), Class: s.Conformance.Class, Why: ClassReason(s.Conformance.Class),
		States: s.Conformance.States, Visited: s.State.Visited, Due: s.State.Due,
	}
	if !e.Listed && len(s.Documents) > 0 {
		e.Why = "only the second address /ai answered, and a document there is not authoritative"
	}
	h := crawler.Host{Name: s.Host}
	record, err := a.Store.Get(ctx, store.HostKey(s.Host))
	if err == nil {
		h, err = decodeRecord[crawler.Host](record)
	}
	if err != nil {
		return Explanation{}, fmt.Errorf("read the state of %s: %w", s.Host, err)
	}
	var since time.Time
	if h.Track != nil {
		e.MeasuredBy, e.History.Flapping = h.Track.By, h.Track.Flapping
		since = h.Track.Since
	}
	e.Recheck, e.OwnerRecheck = h.PreviewRecrawl(now, crawler.Anybody), h.PreviewRecrawl(now, crawler.ProvedOwner)
	e.OriginProof = a.originProof(s.Host, h)
	if e.LastVisit, err = crawler.ReadLastVisit(ctx, a.Store, s.Host, now); err != nil {
		return Explanation{}, err
	}
	turns, err := conformance.Turns(ctx, a.Store, s.Host, now, since)
	if err != nil {
		return Explanation{}, err
	}
	e.History.setTurns(turns, now)
	e.Links = ServicesLinks{In: []string{}, Out: OrEmpty(s.Related[:min(len(s.Related), maxLinks)]), TotalOut: len(s.Related)}
	if a.Standing != nil {
		in, _, total, _ := a.Standing.Links(s.Host, maxLinks)
		e.Links.TotalIn = total
		for _, from := range in {
			if a.checkShown(ctx, from) == nil {
				e.Links.In = append(e.Links.In, from)
			}
		}
	}
	return e, nil
}

// setTurns sets the members that follow from the turns of a host, oldest first.
func (h *HostHistory) setTurns(turns []conformance.Turn, now time.Time) {
	h.Days, h.Turns = []HistoryDay{}, []conformance.Turn{}
	if len(turns) > 0 {
		h.Begins = turns[0].Time()
	}
	next := 0
	var standing *conformance.Standing
	flapping := false
	today := now.UTC().Truncate(24 * time.Hour)
	for i := historyDays - 1; i >= 0; i-- {
		end := today.AddDate(0, 0, 1-i)
		day := HistoryDay{Day: end.AddDate(0, 0, -1).Format(time.DateOnly)}
		for ; next < len(turns) && turns[next].Time().Before(end); next++ {
			standing, flapping = &turns[next].Standing, turns[next].Flapping
			if !turns[next].First() && !turns[next].Time().Before(end.AddDate(0, 0, -1)) {
				day.Changes++
			}
		}
		day.Standing, day.Flapping = standing, flapping
		h.Days = append(h.Days, day)
	}
	for i := len(turns) - 1; i >= 0 && len(h.Turns) < maxTurns; i-- {
		h.Turns = append(h.Turns, turns[i])
	}
}

// Mark returns the state of a day in one word: "good" if no state fails, "flawed" if the documents
// break rules or disagree, "bad" if the host or its documents do not answer or cannot be read,
// "changing" while the host is flapping, "closed" if robots.txt keeps the crawler out, "empty" for a host
// without documents, and "unknown" before the history begins.
func (d HistoryDay) Mark() string {
	s := d.Standing
	switch {
	case s == nil:
		return "unknown"
	case d.Flapping:
		return "changing"
	case s.Reachable == conformance.No || s.WellFormed == conformance.No || s.Answers == conformance.No:
		return "bad"
	case s.Class == conformance.Withheld:
		return "closed"
	case s.Class != conformance.Publishes && s.Class != conformance.OtherDialect:
		return "empty"
	case s.Conformant == conformance.No || s.Consistent == conformance.No:
		return "flawed"
	}
	return "good"
}
