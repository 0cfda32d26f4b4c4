package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"gazetteer/crawler"
	"gazetteer/crawler/owner"
	"gazetteer/fetch"
	"gazetteer/internal/psl"
	"gazetteer/limit"
	"gazetteer/protocol/httpsig"
	"gazetteer/store"
)

// Blocker stores the list of excluded hosts; [crawler.Crawler] is one.
type Blocker interface {
	owner.Crawler
	Blocks(ctx context.Context) ([]crawler.Block, error)
}

// A WithdrawnError is the error for a hidden host, and says who decided that.
type WithdrawnError struct {
	Host  string
	Block crawler.Block
}

func (e *WithdrawnError) Error() string { return e.Host + " is not shown: " + e.Why() }

// Why explains to a person why the host is hidden.
func (e *WithdrawnError) Why() string {
	what := e.Host
	if e.Block.Host != e.Host {
		what = e.Block.Host + " and its subdomains"
	}
	if e.Block.By == crawler.ByOwner {
		return "the owner of " + what + " does not want to be visited, since " + e.Block.Since.UTC().Format(time.DateOnly) + "; what was published there has been removed"
	}
	return "the operator of this server does not visit " + what + ", since " + e.Block.Since.UTC().Format(time.DateOnly) + "; what was published there has been removed"
}

// Help explains what can be done about it.
func (e *WithdrawnError) Help() string {
	if e.Block.By == crawler.ByOwner {
		return "if the host is yours, withdraw the opt-out: gazetteer opt-in " + e.Block.Host + ", POST /api/v1/services/" + e.Block.Host + "/opt-in, or the page /bot"
	}
	return "ask the operator of this server; the page /bot has the address. If you are the operator: gazetteer crawler unblock " + e.Block.Host
}

// checkShown returns a *[WithdrawnError] for a hidden host.
func (a *Answers) checkShown(ctx context.Context, host string) error {
	if a.Blocks == nil {
		return nil
	}
	b, blocked, err := a.Blocks.Blocked(ctx, host)
	switch {
	case err != nil:
		return fmt.Errorf("ask whether %s is shown: %w", host, err)
	case blocked:
		return &WithdrawnError{Host: host, Block: b}
	}
	return nil
}

// OwnerRequests handles the requests of hosts' owners to the crawler. Each request makes this
// server ask name servers and hosts, or visit one, so their rate is limited. A request with a
// signature that holds counts for its network and its domain only, so that strangers cannot use up
// what an owner needs.
type OwnerRequests struct {
	owners  *owner.Owners
	recrawl func(ctx context.Context, host string, by crawler.Requester) error
	add     func(ctx context.Context, hosts ...string) error
	clients *limit.Limiter // of each network
	probes  *limit.Limiter // without a signature, of all networks
	domains *limit.Limiter // the same about one domain
	proved  *limit.Limiter // with a signature, about one domain
}

// OwnerRequestOptions configure [OwnerRequests].
type OwnerRequestOptions struct {
	// Owners verifies the requests; it is required.
	Owners *owner.Owners
	// Recrawl visits a host again, Add makes one known; nil in a process that does not crawl.
	Recrawl func(ctx context.Context, host string, by crawler.Requester) error
	Add     func(ctx context.Context, hosts ...string) error
	// PerClient is how many requests one client may make in an hour, PerDomain how many may concern
	// one registrable domain, with a signature and without one, All how many all clients may make
	// together without a signature. 0 means 30, 12 and 600; a negative number lifts the limit.
	PerClient, PerDomain, All int
	Limits                    *limit.Set // has the clock and lists the limits; may be nil
}

// NewOwnerRequests returns a handler of requests. It starts nothing.
func NewOwnerRequests(o OwnerRequestOptions) *OwnerRequests {
	each, domain := cmp.Or(o.PerClient, 30), cmp.Or(o.PerDomain, 12)
	return &OwnerRequests{
		owners: o.Owners, recrawl: o.Recrawl, add: o.Add,
		clients: o.Limits.Limiter(limit.SharedRule("owner-requests", each, -1)),
		probes:  o.Limits.Limiter(limit.SharedRule("owner-probes", each, cmp.Or(o.All, 600))),
		domains: o.Limits.Limiter(targetRule("owner-probes-domain", domain)),
		proved:  o.Limits.Limiter(limit.Rule{Name: "owner-proofs-domain", Each: domain, All: -1}),
	}
}

// admitRequest counts a request against what its own network may send. Requests of the
// operator, which have the zero address, are not counted.
func (w *OwnerRequests) admitRequest(ctx context.Context, client netip.Addr) error {
	return quotaError(w.clients.Take(ctx, client), "requests about hosts", "try again later")
}

// evidenceOf returns the evidence of a request about a host: what it counts against depends on its
// signature.
func (w *OwnerRequests) evidenceOf(host string, client netip.Addr, request *httpsig.Message) owner.Evidence {
	domain := psl.Domain(host)
	about := "requests about hosts below " + domain
	return owner.Evidence{Request: request, Admit: func(ctx context.Context, proved bool) error {
		if !client.IsValid() {
			return nil
		}
		if proved {
			return targetError(w.proved.TakeKey(ctx, domain), about, "try again later")
		}
		counted, err := w.probes.Reserve(ctx, client)
		if err != nil {
			return quotaError(err, "requests about hosts without a signature", "sign the request with a key of the host's DID document")
		}
		if err := w.domains.TakeTarget(ctx, client, domain); err != nil {
			counted.Cancel()
			return targetError(err, about, "sign the request with a key of the host's DID document")
		}
		return nil
	}}
}

// ErrNoOwnerRequests: this process handles no requests of owners. Test with errors.Is.
var ErrNoOwnerRequests = errors.New("this server accepts no requests of owners")

// HandleOwnerRequest checks the proof of an owner's request and, once it holds, carries the request
// out. Subdomains counts for opting out; request is the HTTP request itself, for its signature, nil
// without one. The error is that of [owner.Owners.OptOut] and [owner.Owners.OptIn], a
// *[QuotaError], or [ErrNoOwnerRequests].
func (a *Answers) HandleOwnerRequest(ctx context.Context, wish owner.RequestKind, host string, subdomains bool, client netip.Addr, request *httpsig.Message) (owner.RequestResult, error) {
	if a.OwnerRequests == nil {
		return owner.RequestResult{}, ErrNoOwnerRequests
	}
	host, err := fetch.CheckHost(host)
	if err != nil {
		return owner.RequestResult{}, err
	}
	if err := a.OwnerRequests.admitRequest(ctx, client); err != nil {
		return owner.RequestResult{}, err
	}
	evidence := a.OwnerRequests.evidenceOf(host, client, request)
	if wish == owner.OptOut {
		return a.OwnerRequests.owners.OptOut(ctx, host, subdomains, evidence)
	}
	done, err := a.OwnerRequests.owners.OptIn(ctx, host, evidence)
	if err == nil && done.Done && a.OwnerRequests.add != nil {
		err = a.OwnerRequests.add(ctx, host) // it was known before, as likely as not
	}
	return done, err
}

// Recrawl visits a known host again: see [crawler.Crawler.Recrawl], whose errors it returns;
// [ErrNoCrawl] in a process that does not crawl, a *[QuotaError], a *[WithdrawnError] for a hidden
// host, and that of [owner.Owners.Signed]. Requests of the operator, or of the host's owner by the
// signature of the request, which may be nil, come first.
func (a *Answers) Recrawl(ctx context.Context, host string, client netip.Addr, request *httpsig.Message) (Submission, error) {
	if a.OwnerRequests == nil || a.OwnerRequests.recrawl == nil {
		return Submission{}, ErrNoCrawl
	}
	host, err := fetch.CheckHost(host)
	if err != nil {
		return Submission{}, err
	}
	if err := a.checkShown(ctx, host); err != nil {
		return Submission{}, err
	}
	if err := a.OwnerRequests.admitRequest(ctx, client); err != nil {
		return Submission{}, err
	}
	signed, err := a.OwnerRequests.owners.Signed(ctx, host, a.OwnerRequests.evidenceOf(host, client, request))
	if err != nil {
		return Submission{}, err
	}
	by := crawler.Anybody
	switch {
	case signed:
		by = crawler.ProvedOwner
	case !client.IsValid():
		by = crawler.Operator
	}
	if err := a.OwnerRequests.recrawl(ctx, host, by); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return Submission{}, fmt.Errorf("%w: %s", ErrNoService, host)
		}
		return Submission{}, err
	}
	return a.Submission(ctx, host)
}
