package answer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gazetteer/census"
	"gazetteer/conformance"
	"gazetteer/conformance/standing"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/index/entry"
	"gazetteer/protocol"
	"gazetteer/store"
)

// maxVersions bounds how many versions of a document are listed.
const maxVersions = 100

// Services lists the hosts that publish a document at a place of their own, in the order of their
// keys, after the key after ("" is the beginning). Hosts with a document only at /ai are left out,
// because that document is not authoritative.
func (a *Answers) Services(ctx context.Context, after string, limit int) (ServicePage, error) {
	page := ServicePage{Services: []ServiceSummary{}, Seq: a.Store.Head().Seq}
	var err error
	if page.Total, err = a.countServices(ctx, nil, nil); err != nil {
		return ServicePage{}, err
	}
	var host string
	var records []store.Record
	// finish adds the host that was gathered and reports whether there is room
	// for more.
	finish := func() (bool, error) {
		summary, err := a.summarizeRecords(host, records, page.Seq)
		if err != nil {
			return false, err
		}
		if isListed(summary) {
			page.Services = append(page.Services, summary)
			page.After = lastDocumentKey(host)
		}
		records = nil
		return len(page.Services) < limit, nil
	}
	for record, err := range store.Readable(a.Store.List(ctx, store.DocumentPrefix, after)) { // the page of a host names its unreadable records
		if err != nil {
			return ServicePage{}, fmt.Errorf("list services: %w", err)
		}
		next := store.SplitKey(record.Key)[1]
		if host != "" && next != host {
			more, err := finish()
			if err != nil {
				return ServicePage{}, err
			}
			if !more {
				return page, nil
			}
		}
		host = next
		records = append(records, record)
	}
	if host != "" {
		if _, err := finish(); err != nil {
			return ServicePage{}, err
		}
	}
	page.After = ""
	return page, nil
}

// HostStates returns the present states of hosts, nil if they are not followed.
func (a *Answers) HostStates() *standing.Follower { return a.Standing }

// ServicesInState lists the services whose hosts have states, in the order of the keys of their
// hosts, after the host after ("" is the beginning). It reads no other service. The error is
// [ErrNoStates] in a process without states, or one of the store.
func (a *Answers) ServicesInState(ctx context.Context, is, not []conformance.Name, after string, limit int) (ServicePage, error) {
	if a.Standing == nil {
		return ServicePage{}, ErrNoStates
	}
	page := ServicePage{Services: []ServiceSummary{}, Seq: a.Standing.Cursor().Seq}
	var err error
	if page.Total, err = a.countServices(ctx, is, not); err != nil {
		return ServicePage{}, err
	}
	selection := standing.HostFilter{Is: is, Not: not, Publishing: true}
	for {
		hosts, next := a.Standing.List(selection, after, limit-len(page.Services))
		for _, host := range hosts {
			s, err := a.readSummary(ctx, host)
			if err != nil {
				return ServicePage{}, err
			}
			if isListed(s) {
				page.Services = append(page.Services, s)
			}
		}
		switch {
		case next == "":
			return page, nil
		case len(page.Services) == limit:
			page.After = next
			return page, nil
		}
		after = next
	}
}

// SelectServices lists the services that a query selects by words, category and states in the order of
// the keys of their hosts, as they were at the last refresh of the figures. The error is that of
// [Answers.ListServices].
func (a *Answers) SelectServices(ctx context.Context, q census.ServiceQuery) (ServicePage, error) {
	q.Order = census.ByHost
	list, err := a.ListServices(ctx, q)
	page := ServicePage{Services: list.Services, Total: list.Total, After: list.After, Seq: list.Seq}
	if err == nil && list.Total == 0 {
		page.Note, err = a.noteNoServices(ctx, q)
	}
	return page, err
}

// noteNoServices says why no service is selected: an unknown category, with those that it may mean, or the
// conditions together.
func (a *Answers) noteNoServices(ctx context.Context, q census.ServiceQuery) (string, error) {
	const together = "no service matches: use other words or fewer filters"
	if q.Category == "" {
		return together, nil
	}
	category := strings.ToLower(strings.TrimSpace(q.Category))
	every, err := a.ListServices(ctx, census.ServiceQuery{Counted: true, Limit: 1})
	if err != nil {
		return "", err
	}
	isNamed := func(c census.CategoryCount) bool { return c.Name == category }
	if slices.ContainsFunc(every.Categories, isNamed) {
		return together, nil
	}
	named, err := a.ListServices(ctx, census.ServiceQuery{Category: category, Limit: 1})
	if err != nil || named.Total > 0 { // it is less frequent than those that are counted
		return together, err
	}
	note := fmt.Sprintf("no service has the category %q", CleanText(category, maxFilterText))
	near := NearValues(category, every.Categories, func(c census.CategoryCount) string { return c.Name })
	for i, name := range near {
		near[i] = CleanText(name, maxFilterText)
	}
	if len(near) > 0 {
		note += ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return note, nil
}

// ServiceListing is a part of a list of services, in an order.
type ServiceListing struct {
	Services []ServiceSummary
	// Total counts the selected services, All those without any condition.
	Total, All int
	// Categories are the most frequent categories of the services that words and state select.
	Categories []census.CategoryCount
	// After is the host behind which the next part begins in the order of hosts, "" on the last.
	After string
	Seq   uint64 // of the store, up to which the list goes
}

// ListServices selects and orders services by what the census knows of them, and reads those of the
// part that is wanted. The error is [ErrNoCensus] in a process without figures, or one of the store.
func (a *Answers) ListServices(ctx context.Context, q census.ServiceQuery) (ServiceListing, error) {
	if a.Census == nil {
		return ServiceListing{}, ErrNoCensus
	}
	list, err := a.Census.Services(ctx, q)
	if err != nil {
		return ServiceListing{}, err
	}
	out := ServiceListing{Services: []ServiceSummary{}, Total: list.Total, All: list.All, Categories: list.Categories, Seq: list.Seq}
	if list.More {
		out.After = list.Hosts[len(list.Hosts)-1]
	}
	for _, host := range list.Hosts {
		s, err := a.readSummary(ctx, host)
		if err != nil {
			return ServiceListing{}, err
		}
		if isListed(s) { // else it has gone in the meantime
			out.Services = append(out.Services, s)
		}
	}
	if q.Order == census.ByOperations {
		// The census counts an operation of two documents twice, so its order is only near to this one.
		slices.SortStableFunc(out.Services, func(a, b ServiceSummary) int { return b.Operations - a.Operations })
	}
	return out, nil
}

// countServices counts the services in the required states and in none of the excluded ones, as the
// census knows them; 0 in a process without figures.
func (a *Answers) countServices(ctx context.Context, is, not []conformance.Name) (int, error) {
	switch {
	case a.Census == nil:
		return 0, nil
	case len(is)+len(not) == 0:
		return a.Census.Stats().Services, nil
	}
	list, err := a.Census.Services(ctx, census.ServiceQuery{Is: is, Not: not})
	return list.Total, err
}

// currentDocuments reads the current documents of a host, without those that cannot be read.
func (a *Answers) currentDocuments(ctx context.Context, host string) ([]document.Document, error) {
	records, err := a.documentRecords(ctx, host)
	if err != nil {
		return nil, err
	}
	return decodeDocuments(records)
}

// documentRecords reads the records of the current documents of a host, without damaged ones.
func (a *Answers) documentRecords(ctx context.Context, host string) ([]store.Record, error) {
	var records []store.Record
	for record, err := range store.Readable(a.Store.List(ctx, store.DocumentsOf(host), "")) {
		if err != nil {
			return nil, fmt.Errorf("list the documents of %s: %w", host, err)
		}
		records = append(records, record)
	}
	return records, nil
}

func decodeDocuments(records []store.Record) ([]document.Document, error) {
	var documents []document.Document
	for _, record := range records {
		d, err := decodeRecord[document.Document](record)
		if err != nil {
			return nil, err
		}
		documents = append(documents, d)
	}
	return documents, nil
}

// lastDocumentKey sorts behind every document of host and before those of the
// next one: kinds are lowercase letters and dashes.
func lastDocumentKey(host string) string { return store.DocumentsOf(host) + "~" }

// isListed reports whether a host has a document other than an alias.
func isListed(s ServiceSummary) bool {
	return slices.ContainsFunc(s.Kinds, func(k document.Kind) bool { return !k.IsAlias() })
}

// Service describes a host. It normalizes the name as the crawler does. The error is a
// *[fetch.HostError] for an invalid host name, [ErrNoService] for an unknown host, and a
// *[WithdrawnError] for a hidden one.
func (a *Answers) Service(ctx context.Context, host string) (Service, error) {
	host, err := fetch.CheckHost(host)
	if err != nil {
		return Service{}, err
	}
	if err := a.checkShown(ctx, host); err != nil {
		return Service{}, err
	}
	record, err := a.readRecord(ctx, host)
	if err != nil {
		return Service{}, err
	}
	state := stateOf(record)
	views, err := a.readDocuments(ctx, host)
	if err != nil {
		return Service{}, err
	}
	if record == nil && len(views) == 0 {
		return Service{}, fmt.Errorf("%w: %s", ErrNoService, host)
	}
	documents := make([]document.Document, len(views))
	for i := range views {
		d := &views[i]
		documents[i] = d.Document
		if f := judgeFreshness(d.FetchedAt, d.ChangedAt, string(d.Kind), record, a.now()); f.Stale {
			d.Freshness = &Staleness{true, f.Why}
		}
	}
	return Service{
		ServiceSummary: summarizeService(host, documents),
		Documents:      views,
		Related:        relatedHosts(host, documents),
		State:          state,
		Conformance:    conformance.Judge(conformance.Input{Fetches: slices.Clone(state.Fetches), Documents: documents}),
	}, nil
}

// readRecord reads the record of a host, nil if there is none. A damaged one is an error, which the page of
// the host says.
func (a *Answers) readRecord(ctx context.Context, host string) (*crawler.Host, error) {
	record, err := a.Store.Get(ctx, store.HostKey(host))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the state of %s: %w", host, err)
	}
	h, err := decodeRecord[crawler.Host](record)
	if err != nil {
		return nil, err
	}
	return &h, nil
}

// stateOf returns the crawl state of a host, an empty one without a record.
func stateOf(h *crawler.Host) State {
	state := State{Fetches: []fetch.Fetch{}}
	if h == nil {
		return state
	}
	for _, f := range h.Fetches {
		state.Fetches = append(state.Fetches, f)
	}
	slices.SortFunc(state.Fetches, func(f, g fetch.Fetch) int { return strings.Compare(f.Kind, g.Kind) })
	state.Added, state.Visited, state.Due = h.Added, h.Visited, h.Due
	state.Depth, state.FoundOn, state.Failures, state.Robots = h.Depth, h.FoundOn, h.Failures, robotsView(h.Robots)
	state.TLS = h.TLS
	return state
}

func robotsView(r *fetch.Robots) *RobotsView {
	if r == nil {
		return nil
	}
	return &RobotsView{FetchedAt: r.FetchedAt, Status: r.Status, Disallowed: r.Disallowed.Paths(), Delay: r.Delay, Open: r.Open, Why: r.Why}
}

// readDocuments reads the current documents of host with their versions, in order
// of kind.
func (a *Answers) readDocuments(ctx context.Context, host string) ([]DocumentView, error) {
	views := []DocumentView{}
	for record, err := range a.Store.List(ctx, store.DocumentsOf(host), "") {
		if err != nil {
			return nil, fmt.Errorf("list the documents of %s: %w", host, err)
		}
		d, err := decodeRecord[document.Document](record)
		if err != nil {
			return nil, err
		}
		views = append(views, DocumentView{Document: d})
	}
	for i := range views {
		versions, err := a.Versions(ctx, host, views[i].Kind)
		if err != nil {
			return nil, err
		}
		views[i].Versions = versions
	}
	return views, nil
}

// Versions lists the stored versions of a host's document of one kind, newest
// first, at most 100. Host is a normalized name.
func (a *Answers) Versions(ctx context.Context, host string, kind document.Kind) ([]Version, error) {
	versions := []Version{}
	for record, err := range a.Store.List(ctx, store.VersionsOf(host, string(kind)), "") {
		if err != nil {
			return nil, fmt.Errorf("list the versions of %s of %s: %w", kind, host, err)
		}
		v, err := decodeRecord[Version](record)
		if err != nil {
			return nil, err
		}
		// The keys are in order of time, so the oldest are dropped first.
		if versions = append(versions, v); len(versions) > maxVersions {
			versions = slices.Delete(versions, 0, 1)
		}
	}
	slices.Reverse(versions)
	return versions, nil
}

// summarizeService merges the documents of a host into one row. Each member comes from the document
// of the lowest rank that has it. The content of an alias counts only if there is nothing else.
func summarizeService(host string, documents []document.Document) ServiceSummary {
	s := ServiceSummary{Host: host, Kinds: []document.Kind{}}
	sorted := slices.Clone(documents)
	slices.SortStableFunc(sorted, func(a, b document.Document) int {
		return a.Kind.Rank() - b.Kind.Rank()
	})
	first := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	var worst protocol.Severity
	found := false
	full := slices.ContainsFunc(documents, func(d document.Document) bool { return HasOperations(d) })
	_, _, twins := entry.FindTwins(documents)
	s.Operations = -len(twins)
	for _, d := range sorted {
		s.Kinds = append(s.Kinds, d.Kind)
		first(&s.Name, d.Service.Name)
		first(&s.Description, d.Service.Description)
		first(&s.Namespace, d.Service.Namespace)
		first(&s.Domain, d.Service.Domain)
		if (!d.Kind.IsAlias() || len(sorted) == 1) && (!d.Kind.IsSummary() || !full) {
			s.Operations += len(d.Operations)
		}
		for _, c := range append(slices.Clone(d.Service.Categories), d.Service.Domain) {
			if c = strings.ToLower(strings.TrimSpace(c)); c != "" && !slices.Contains(s.Categories, c) {
				s.Categories = append(s.Categories, c)
			}
		}
		if d.ChangedAt.After(s.ChangedAt) {
			s.ChangedAt = d.ChangedAt
		}
		if d.Valid() {
			s.Level = max(s.Level, d.Level)
		}
		if d.FetchedAt.After(s.FetchedAt) {
			s.FetchedAt = d.FetchedAt
		}
		if w, any := protocol.Worst(d.Findings); any {
			worst, found = max(worst, w), true
		}
	}
	if found {
		s.Findings = worst.String()
	}
	return s
}

// HasOperations reports whether a document describes operations in full. A summary repeats the bare
// verbs of another document, so its operations count only for a host without such a document.
func HasOperations(d document.Document) bool {
	return len(d.Operations) > 0 && !d.Kind.IsSummary() && !d.Kind.IsAlias()
}

// relatedHosts lists the other hosts that the documents name, sorted.
func relatedHosts(host string, documents []document.Document) []string {
	var hosts []string
	for _, d := range documents {
		for _, l := range d.Links {
			if l.Rel == document.RelRelated && l.Host != "" && l.Host != host {
				hosts = append(hosts, l.Host)
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// HostKnown reports whether a host has a document, and whether it is known at all.
func (a *Answers) HostKnown(ctx context.Context, host string) (publishes, known bool, err error) {
	for record, err := range a.Store.List(ctx, store.DocumentsOf(host), "") {
		if err != nil && !store.Damaged(record, err) {
			return false, false, fmt.Errorf("list the documents of %s: %w", host, err)
		}
		return true, true, nil
	}
	state, err := a.readHost(ctx, host)
	return false, state != nil, err
}
