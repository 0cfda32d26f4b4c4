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
)

// A Wish is what an owner wants of the crawler.
type RequestKind string

// What can be wished.
const (
	OptOut RequestKind = "opt-out" // not to be visited, nor shown
	OptIn  RequestKind = "opt-in"  // to be visited after all
)

// Errors of [Owners.OptIn]. Test with errors.Is.
var (
	// ErrNotOut: the owner has not opted out, so there is nothing to withdraw.
	ErrNotOut = errors.New("the host is not opted out")
	// ErrOperator: it is the operator who does not want the host visited.
	ErrOperator = errors.New("the operator of this server does not visit the host")
)

// A CoveredError says that a host is opted out together with all below another:
// only that can be withdrawn.
type CoveredError struct{ Host, By string }

func (e *CoveredError) Error() string {
	return e.Host + " falls under the opt-out of " + e.By + " and all hosts below it"
}

// Crawler is what keeps the blocks; [crawler.Crawler] does.
type Crawler interface {
	Blocked(ctx context.Context, host string) (crawler.Block, bool, error)
	Block(ctx context.Context, b crawler.Block) error
	Unblock(ctx context.Context, host string) error
}

// Options shape [Owners]. Crawler is required; without DNS, Web or Resolver that
// way of proving is not looked at.
type Options struct {
	Crawler Crawler
	// DNS asks for TXT records, Web for the file, Resolver for the DID document
	// that holds the key of a signed request.
	DNS      registry.DNS
	Web      registry.Web
	Resolver registry.Resolver
	Now      func() time.Time // time.Now when nil
}

// Owners judges wishes and does what is proved. Its methods may be called from
// any goroutine.
type Owners struct {
	crawler  Crawler
	dns      registry.DNS
	web      registry.Web
	resolver registry.Resolver
	now      func() time.Time
	started  time.Time
	nonces   nonceCache
}

// New returns Owners. It starts nothing and asks nothing yet.
func New(o Options) *Owners {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Owners{crawler: o.Crawler, dns: o.DNS, web: o.Web, resolver: o.Resolver, now: o.Now, started: o.Now(), nonces: nonceCache{used: map[string]time.Time{}}}
}

// An Answer tells what came of a wish.
type Answer struct {
	Host string      `json:"host" doc:"the name as it is known here"`
	Wish RequestKind `json:"wish" enum:"opt-out,opt-in"`
	// Subdomains: the wish is for all hosts below Host, too.
	Subdomains bool `json:"subdomains" doc:"for all hosts below this one, too"`
	// Done: it is as wished now. Without it nothing has changed.
	Done  bool      `json:"done" doc:"it is as wished now; otherwise nothing has changed"`
	Since time.Time `json:"since,omitzero" doc:"since when the host is opted out"`
	// Proof is what showed that the owner wishes it.
	Proof string `json:"proof,omitempty" doc:"what showed that the owner wishes it"`
	// Looks is what was looked at in this request, step by step.
	Looks   []registry.Probe `json:"looks" doc:"what was asked, from where, what came back, and what was expected"`
	Publish Publication      `json:"publish" doc:"what shows that it is the owner who wishes it"`
}

// A Publication is what an owner publishes to have a wish fulfilled.
type Publication struct {
	Value string   `json:"value" doc:"one value of a TXT record, or one line of the file; others may stand beside it"`
	At    []string `json:"at" doc:"where it may stand; one of them is enough"`
	// Key says whose signature of the request takes the place of it.
	Key string `json:"key" doc:"in its place: sign the request (RFC 9421) with an Ed25519 key of the DID document named here"`
}

// OptOut looks whether the owner of a host does not want it to be visited, and
// if so blocks it and removes what it published: see [crawler.Crawler.Block]. The
// request is the one that carries the wish, with its signature if it has one; nil
// when it cannot have any. That nothing was found is no error: the answer then
// says what was looked at. The error is a *[fetch.HostError] for what is no host
// name, a *[registry.Refusal] for a signature that does not hold, or that of ctx
// or the store.
func (o *Owners) OptOut(ctx context.Context, host string, subdomains bool, request *httpsig.Message) (Answer, error) {
	a, err := newAnswer(OptOut, host, subdomains)
	if err != nil {
		return Answer{}, err
	}
	before, blocked, err := o.crawler.Blocked(ctx, a.Host)
	if err != nil {
		return Answer{}, fmt.Errorf("opt out %s: %w", a.Host, err)
	}
	if blocked && before.By == crawler.ByOwner && (before.Subdomains || !subdomains) {
		a.Done, a.Since, a.Proof = true, before.Since, before.Proof
		return a, nil
	}
	if err := o.proveRequest(ctx, &a, request); err != nil || a.Proof == "" {
		return a, err
	}
	b := crawler.Block{Host: a.Host, Subdomains: subdomains, By: crawler.ByOwner, Proof: a.Proof, Since: o.now()}
	if blocked && before.Host == a.Host {
		// The operator's own wish stays, for when the owner's is withdrawn.
		b.Operator = before.By == crawler.ByOperator || before.Operator
		b.ByHand = before.ByHand
		b.Subdomains = subdomains || before.Subdomains
	}
	if err := o.crawler.Block(ctx, b); err != nil {
		return Answer{}, fmt.Errorf("opt out: %w", err)
	}
	a.Done, a.Since = true, b.Since
	return a, nil
}

// OptIn looks whether the owner of a host that is opted out wants it to be
// visited after all, and if so ends that. It is visited when somebody names it
// then. The error is as that of [Owners.OptOut], and also [ErrNotOut],
// [ErrOperator] or a *[CoveredError].
func (o *Owners) OptIn(ctx context.Context, host string, request *httpsig.Message) (Answer, error) {
	a, err := newAnswer(OptIn, host, false)
	if err != nil {
		return Answer{}, err
	}
	before, blocked, err := o.crawler.Blocked(ctx, a.Host)
	switch {
	case err != nil:
		return Answer{}, fmt.Errorf("opt in %s: %w", a.Host, err)
	case !blocked:
		return Answer{}, ErrNotOut
	case before.By != crawler.ByOwner:
		return Answer{}, ErrOperator
	case before.Host != a.Host:
		return Answer{}, &CoveredError{Host: a.Host, By: before.Host}
	}
	a.Subdomains, a.Since = before.Subdomains, before.Since
	if err := o.proveRequest(ctx, &a, request); err != nil || a.Proof == "" {
		return a, err
	}
	if before.Operator {
		before.By, before.Operator, before.Proof = crawler.ByOperator, false, ""
		if err := o.crawler.Block(ctx, before); err != nil {
			return Answer{}, fmt.Errorf("opt in: %w", err)
		}
		return Answer{}, ErrOperator
	}
	if err := o.crawler.Unblock(ctx, a.Host); err != nil {
		return Answer{}, fmt.Errorf("opt in: %w", err)
	}
	a.Done, a.Since = true, time.Time{}
	return a, nil
}

// newAnswer begins the answer to a wish.
func newAnswer(wish RequestKind, host string, subdomains bool) (Answer, error) {
	name, err := fetch.CheckHost(host)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Host: name, Wish: wish, Subdomains: subdomains, Looks: []registry.Probe{}, Publish: newPublication(wish, name, subdomains)}, nil
}
