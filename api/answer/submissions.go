package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/internal/psl"
	"gazetteer/limit"
	"gazetteer/store"
)

// ErrNoCrawl: this server crawls nothing. Test with errors.Is.
var ErrNoCrawl = errors.New("this server does not crawl")

// A Submitter adds host names that anyone may submit to the frontier. A visit costs another server
// work, and a name takes space in the store, so the number of names is limited per client and per
// registrable domain.
type Submitter struct {
	add     func(ctx context.Context, hosts ...string) error
	clients *limit.Limiter
	domains *limit.Limiter
}

// SubmitterOptions shape a [Submitter].
type SubmitterOptions struct {
	// Add makes hosts known to the crawler; nil: no host is accepted.
	Add func(ctx context.Context, hosts ...string) error
	// PerClient is how many new hosts one client may name in an hour, PerDomain
	// how many may be named below one registrable domain, All how many there may
	// be together. 0 means 60, 20 and 5,000; a negative number lifts the limit.
	PerClient, PerDomain, All int
	Limits                    *limit.Set // has the clock and lists the limits; may be nil
}

// NewSubmitter returns a submitter. It starts nothing.
func NewSubmitter(o SubmitterOptions) *Submitter {
	return &Submitter{
		add:     o.Add,
		clients: o.Limits.Limiter(limit.SharedRule("submissions", cmp.Or(o.PerClient, 60), cmp.Or(o.All, 5000))),
		domains: o.Limits.Limiter(targetRule("submissions-domain", cmp.Or(o.PerDomain, 20))),
	}
}

// Submission is the result for one submitted name.
type Submission struct {
	Host string `json:"host" doc:"the normalized name, or the original one if it is refused"`
	// State is "waiting" for a host that was not visited yet, "visited" for one that was, "refused"
	// for a name that is not accepted.
	State   string    `json:"state" enum:"waiting,visited,refused" doc:"waiting for its first visit, visited before, or refused"`
	Due     time.Time `json:"due,omitzero" doc:"when the next visit may begin"`
	Visited time.Time `json:"visited,omitzero" doc:"when the last visit ended"`
	Detail  string    `json:"detail,omitempty" doc:"the reason why the name is refused"`
	Help    string    `json:"help,omitempty" doc:"what to do about it"`
	Link    string    `json:"link,omitempty" doc:"where to ask again"`
}

// Submit adds hosts to the frontier and returns the result for each; a known host keeps its due
// time. client is the address of the client; the zero address, the operator, is not
// counted. The error is [ErrNoCrawl], a *[QuotaError] if the request exceeds a limit and no host
// was added, or an error of the store.
func (a *Answers) Submit(ctx context.Context, hosts []string, client netip.Addr) ([]Submission, error) {
	if a.Submitter == nil || a.Submitter.add == nil {
		return nil, ErrNoCrawl
	}
	fresh := map[int]string{} // by place in the list
	var over *QuotaError
	out := make([]Submission, len(hosts))
	for i, name := range hosts {
		host, err := fetch.CheckHost(name)
		if e, ok := errors.AsType[*fetch.HostError](err); ok {
			out[i] = Submission{Host: name, State: "refused", Detail: e.Problem, Help: e.Help}
			continue
		}
		if err != nil {
			return nil, err
		}
		out[i], err = a.Submission(ctx, host)
		if !errors.Is(err, ErrNoService) {
			if err != nil {
				return nil, err
			}
			continue
		}
		if slices.Contains(slices.Collect(maps.Values(fresh)), host) { // it is admitted once
			fresh[i] = host
			continue
		}
		if e, ok := errors.AsType[*QuotaError](a.Submitter.admitHost(ctx, client, host)); ok {
			over = e
			out[i] = Submission{Host: host, State: "refused", Detail: e.Message, Help: e.Help}
			continue
		}
		fresh[i] = host
	}
	if over != nil && len(fresh) == 0 {
		return nil, over
	}
	return out, a.addHosts(ctx, fresh, out)
}

// addHosts adds the hosts that are not known yet, and notes when they are due.
func (a *Answers) addHosts(ctx context.Context, fresh map[int]string, out []Submission) error {
	if len(fresh) == 0 {
		return nil
	}
	if err := a.Submitter.add(ctx, slices.Collect(maps.Values(fresh))...); err != nil {
		return err
	}
	for i, host := range fresh {
		var err error
		if out[i], err = a.Submission(ctx, host); err != nil {
			return err
		}
	}
	return nil
}

// admitHost counts a host that is new against who names it and its domain.
func (s *Submitter) admitHost(ctx context.Context, client netip.Addr, host string) error {
	if !client.IsValid() {
		return nil
	}
	counted, err := s.clients.Reserve(ctx, client)
	if err != nil {
		return quotaError(err, "new hosts", "submit the rest later")
	}
	domain := psl.Domain(host)
	if err := s.domains.TakeTarget(ctx, client, domain); err != nil {
		counted.Cancel()
		return targetError(err, "new hosts below "+domain, "submit the rest later")
	}
	return nil
}

// Submission returns the state of a submitted host, by any spelling of its name. The error is a
// *[fetch.HostError] for an invalid name, and [ErrNoService] for a host that was never submitted.
func (a *Answers) Submission(ctx context.Context, host string) (Submission, error) {
	host, err := fetch.CheckHost(host)
	if err != nil {
		return Submission{}, err
	}
	if e := (*WithdrawnError)(nil); errors.As(a.checkShown(ctx, host), &e) {
		return Submission{Host: host, State: "refused", Detail: e.Why(), Help: e.Help()}, nil
	}
	record, err := a.Store.Get(ctx, store.HostKey(host))
	if errors.Is(err, store.ErrNotFound) {
		return Submission{}, fmt.Errorf("%w: %s", ErrNoService, host)
	}
	if err != nil {
		return Submission{}, fmt.Errorf("read the state of %s: %w", host, err)
	}
	h, err := decodeRecord[crawler.Host](record)
	if err != nil {
		return Submission{}, err
	}
	s := Submission{Host: host, State: "waiting", Due: h.Due, Visited: h.Visited, Link: "/api/v1/submissions/" + host}
	if !h.Visited.IsZero() {
		s.State, s.Link = "visited", "/api/v1/services/"+host
	}
	return s, nil
}
