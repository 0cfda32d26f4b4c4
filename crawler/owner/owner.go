package owner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/evidence"
)

// A RequestKind is the kind of an owner's request to the crawler.
type RequestKind string

// The kinds of owner requests.
const (
	OptOut RequestKind = "opt-out" // not to be visited, nor shown
	OptIn  RequestKind = "opt-in"  // to be visited again
)

// Errors of [Owners.OptIn]. Test with errors.Is.
var (
	// ErrNotOut: the owner has not opted out, so there is nothing to withdraw.
	ErrNotOut = errors.New("the host is not opted out")
	// ErrOperator: the operator blocked the host, not its owner.
	ErrOperator = errors.New("the operator of this server does not visit the host")
)

// A CoveredError says that a host is opted out together with all hosts below another one: only that
// opt-out can be withdrawn.
type CoveredError struct{ Host, By string }

func (e *CoveredError) Error() string {
	return e.Host + " falls under the opt-out of " + e.By + " and its subdomains"
}

// Crawler keeps the blocks; [crawler.Crawler] implements it.
type Crawler interface {
	Blocked(ctx context.Context, host string) (crawler.Block, bool, error)
	Block(ctx context.Context, b crawler.Block) error
	Unblock(ctx context.Context, host string) error
}

// Options configure [Owners]. Crawler is required. Without DNS, Web or Resolver, that kind of proof
// is not tried.
type Options struct {
	Crawler Crawler
	// DNS looks up TXT records, Web fetches the file, Resolver finds the DID document with the key
	// of a signed request.
	DNS      evidence.DNS
	Web      evidence.HTTPSClient
	Resolver registry.Resolver
	Now      func() time.Time // time.Now when nil
}

// Owners checks owner requests and carries out the proved ones. Its methods may be called from any
// goroutine.
type Owners struct {
	options Options
	started time.Time
	nonces  nonceCache
}

// New returns Owners. It starts nothing and sends no request.
func New(o Options) *Owners {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Owners{options: o, started: o.Now(), nonces: nonceCache{used: map[string]time.Time{}}}
}

// A RequestResult is the result of an owner request.
type RequestResult struct {
	Host    string      `json:"host" doc:"the normalized name"`
	Request RequestKind `json:"request" enum:"opt-out,opt-in"`
	// Subdomains is set when the request covers all hosts below Host, too.
	Subdomains bool `json:"subdomains" doc:"for all hosts below this one, too"`
	// Done is set when the request is in effect. Without it nothing has changed.
	Done  bool      `json:"done" doc:"it is as wished now; otherwise nothing has changed"`
	Since time.Time `json:"since,omitzero" doc:"since when the host is opted out"`
	// Proof is the evidence of the owner's request.
	Proof string `json:"proof,omitempty" doc:"what showed that the owner asks for it"`
	// Probes lists what was checked for this request, step by step.
	Probes  []registry.Probe `json:"probes" doc:"what was asked, from where, what came back, and what was expected"`
	Publish Publication      `json:"publish" doc:"what shows that the owner asks for it"`
}

// A Publication is a record that an owner publishes to prove a request.
type Publication struct {
	Value string   `json:"value" doc:"one value of a TXT record, or one line of the file; there may be others"`
	At    []string `json:"at" doc:"possible places; one of them is enough"`
	// Key describes the key whose signature of the request replaces the publication.
	Key string `json:"key" doc:"in its place: sign the request (RFC 9421) with an Ed25519 key of the DID document named here"`
}

// Evidence is what comes with an owner request. The zero value is a request without a signature.
type Evidence struct {
	// Request is the HTTP request of the owner, with its signature if it has one, or nil.
	Request *httpsig.Message
	// Admit is called once before the request takes effect: with proved after a signature that holds,
	// and without it before other hosts are asked for a proof. An error refuses the request. Nil
	// admits everything.
	Admit func(ctx context.Context, proved bool) error
}

// OptOut checks whether the owner of a host forbids visits. If so, it blocks the host and removes
// its published data: see [crawler.Crawler.Block]. A missing proof is not an error: the answer then
// lists what was checked. The error is a *[fetch.HostError] for a bad host name, a *[registry.Refusal]
// for an invalid signature, or that of e.Admit, ctx or the store.
func (o *Owners) OptOut(ctx context.Context, host string, subdomains bool, e Evidence) (RequestResult, error) {
	a, err := newAnswer(OptOut, host, subdomains)
	if err != nil {
		return RequestResult{}, err
	}
	before, blocked, err := o.options.Crawler.Blocked(ctx, a.Host)
	if err != nil {
		return RequestResult{}, fmt.Errorf("opt out %s: %w", a.Host, err)
	}
	if blocked && before.By == crawler.ByOwner && (before.Subdomains || !subdomains) {
		a.Done, a.Since, a.Proof = true, before.Since, before.Proof
		return a, nil
	}
	if err := o.proveRequest(ctx, &a, e); err != nil || a.Proof == "" {
		return a, err
	}
	b := crawler.Block{Host: a.Host, Subdomains: subdomains, By: crawler.ByOwner, Proof: a.Proof, Since: o.options.Now()}
	if blocked && before.Host == a.Host {
		// The operator's own block stays, for when the owner withdraws theirs.
		b.Operator = before.By == crawler.ByOperator || before.Operator
		b.ByHand = before.ByHand
		b.Subdomains = subdomains || before.Subdomains
	}
	if err := o.options.Crawler.Block(ctx, b); err != nil {
		return RequestResult{}, fmt.Errorf("opt out: %w", err)
	}
	a.Done, a.Since = true, b.Since
	return a, nil
}

// OptIn checks whether the owner of an opted-out host asks to be visited after all, and if so ends
// the block. The host is then visited when somebody names it. The errors are those of
// [Owners.OptOut], [ErrNotOut], [ErrOperator] and *[CoveredError].
func (o *Owners) OptIn(ctx context.Context, host string, e Evidence) (RequestResult, error) {
	a, err := newAnswer(OptIn, host, false)
	if err != nil {
		return RequestResult{}, err
	}
	before, blocked, err := o.options.Crawler.Blocked(ctx, a.Host)
	switch {
	case err != nil:
		return RequestResult{}, fmt.Errorf("opt in %s: %w", a.Host, err)
	case !blocked:
		return RequestResult{}, ErrNotOut
	case before.By != crawler.ByOwner:
		return RequestResult{}, ErrOperator
	case before.Host != a.Host:
		return RequestResult{}, &CoveredError{Host: a.Host, By: before.Host}
	}
	a.Subdomains, a.Since = before.Subdomains, before.Since
	if err := o.proveRequest(ctx, &a, e); err != nil || a.Proof == "" {
		return a, err
	}
	if before.Operator {
		before.By, before.Operator, before.Proof = crawler.ByOperator, false, ""
		if err := o.options.Crawler.Block(ctx, before); err != nil {
			return RequestResult{}, fmt.Errorf("opt in: %w", err)
		}
		return RequestResult{}, ErrOperator
	}
	if err := o.options.Crawler.Unblock(ctx, a.Host); err != nil {
		return RequestResult{}, fmt.Errorf("opt in: %w", err)
	}
	a.Done, a.Since = true, time.Time{}
	return a, nil
}

// newAnswer starts the answer to an owner request.
func newAnswer(kind RequestKind, host string, subdomains bool) (RequestResult, error) {
	name, err := fetch.CheckHost(host)
	if err != nil {
		return RequestResult{}, err
	}
	return RequestResult{Host: name, Request: kind, Subdomains: subdomains, Probes: []registry.Probe{}, Publish: newPublication(kind, name, subdomains)}, nil
}
