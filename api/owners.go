package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/net/publicsuffix"

	"gazetteer/crawler"
	"gazetteer/crawler/owner"
	"gazetteer/fetch"
	"gazetteer/limit"
	"gazetteer/protocol"
	"gazetteer/protocol/httpsig"
	"gazetteer/store"
)

// Blocker keeps the hosts that are not visited; [crawler.Crawler] does.
type Blocker interface {
	owner.Crawler
	Blocks(ctx context.Context) ([]crawler.Block, error)
}

// A WithdrawnError says that nothing is shown of a host, and whose wish that is.
type WithdrawnError struct {
	Host  string
	Block crawler.Block
}

func (e *WithdrawnError) Error() string { return e.Host + " is not shown: " + e.Why() }

// Why says for a person why nothing is shown of the host.
func (e *WithdrawnError) Why() string {
	what := e.Host
	if e.Block.Host != e.Host {
		what = e.Block.Host + " and all hosts below it"
	}
	if e.Block.By == crawler.ByOwner {
		return "the owner of " + what + " does not want to be visited, since " + e.Block.Since.UTC().Format(time.DateOnly) + "; what was published there has been removed"
	}
	return "whoever runs this server does not visit " + what + ", since " + e.Block.Since.UTC().Format(time.DateOnly) + "; what was published there has been removed"
}

// Help says what can be done about it.
func (e *WithdrawnError) Help() string {
	if e.Block.By == crawler.ByOwner {
		return "if it is yours, withdraw the wish: POST /api/v1/services/" + e.Block.Host + "/opt-in, or on the page /bot"
	}
	return "ask the operator of this server; the page /bot says where"
}

// checkShown reports whether something may be shown of a host: the error is a
// *[WithdrawnError] when not.
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

// OwnerRequests takes what owners of hosts wish of the crawler. Each makes us ask name
// servers and hosts, or visit one, so how often is bounded.
type OwnerRequests struct {
	owners  *owner.Owners
	recrawl func(ctx context.Context, host string, by crawler.Requester) error
	add     func(ctx context.Context, hosts ...string) error
	clients *limit.Limiter
	domains *limit.Limiter
}

// OwnerRequestOptions shape [Wishes].
type OwnerRequestOptions struct {
	// Owners judges wishes; it is required.
	Owners *owner.Owners
	// Recrawl has a host visited again, Add makes one known; nil where nothing is
	// crawled.
	Recrawl func(ctx context.Context, host string, by crawler.Requester) error
	Add     func(ctx context.Context, hosts ...string) error
	// PerClient is how many wishes one client may have in an hour, PerDomain how
	// many there may be about one registrable domain, All how many together. 0
	// means 30, 12 and 600; a negative number lifts the limit.
	PerClient, PerDomain, All int
	Limits                    *limit.Set // has the clock and lists the limits; may be nil
}

// NewOwnerRequests returns what handles the requests. It starts nothing.
func NewOwnerRequests(o OwnerRequestOptions) *OwnerRequests {
	return &OwnerRequests{
		owners: o.Owners, recrawl: o.Recrawl, add: o.Add,
		clients: o.Limits.Limiter(limit.Rule{Name: "owner-requests", Each: cmp.Or(o.PerClient, 30), All: cmp.Or(o.All, 600)}),
		domains: o.Limits.Limiter(limit.Rule{Name: "owner-requests-domain", Each: cmp.Or(o.PerDomain, 12), All: -1}),
	}
}

// admitRequest counts a wish about a host. The zero address, the owner of the machine,
// is not counted.
func (w *OwnerRequests) admitRequest(ctx context.Context, client netip.Addr, host string) error {
	if !client.IsValid() {
		return nil
	}
	if err := w.clients.Take(ctx, client); err != nil {
		return quotaError(err, "too many requests about hosts came from your network in the last hour", "come back later")
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		domain = host
	}
	if err := w.domains.TakeKey(ctx, domain); err != nil {
		return quotaError(err, "too many requests about hosts below "+domain+" came in the last hour", "come back later")
	}
	return nil
}

// ErrNoOwnerRequests: this process takes no wishes of owners. Test with errors.Is.
var ErrNoOwnerRequests = errors.New("this server takes no wishes of owners")

// HandleOwnerRequest has a wish of a host's owner judged, and done when it is proved. Subdomains
// counts for opting out; request is the HTTP request that carries the wish, for
// its signature, nil without one. The error is that of [owner.Owners.OptOut] and
// [owner.Owners.OptIn], a *[QuotaError], or [ErrNoOwnerRequests].
func (a *Answers) HandleOwnerRequest(ctx context.Context, wish owner.RequestKind, host string, subdomains bool, client netip.Addr, request *httpsig.Message) (owner.Answer, error) {
	if a.OwnerRequests == nil {
		return owner.Answer{}, ErrNoOwnerRequests
	}
	host, err := fetch.CheckHost(host)
	if err != nil {
		return owner.Answer{}, err
	}
	if err := a.OwnerRequests.admitRequest(ctx, client, host); err != nil {
		return owner.Answer{}, err
	}
	if wish == owner.OptOut {
		return a.OwnerRequests.owners.OptOut(ctx, host, subdomains, request)
	}
	done, err := a.OwnerRequests.owners.OptIn(ctx, host, request)
	if err == nil && done.Done && a.OwnerRequests.add != nil {
		err = a.OwnerRequests.add(ctx, host) // it was known before, as likely as not
	}
	return done, err
}

// Recrawl has a known host visited again: see [crawler.Crawler.Recrawl], whose
// errors come too; [ErrNoCrawl] where nothing is crawled, a *[QuotaError], a
// *[WithdrawnError] for a host that is not visited, and that of
// [owner.Owners.Signed]. The owner of the machine, or of the host by the signature
// of the request, which may be nil, is heeded sooner than others.
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
	if err := a.OwnerRequests.admitRequest(ctx, client, host); err != nil {
		return Submission{}, err
	}
	signed, err := a.OwnerRequests.owners.Signed(ctx, host, request)
	if err != nil {
		return Submission{}, err
	}
	by := crawler.Requester(signed || !client.IsValid())
	if err := a.OwnerRequests.recrawl(ctx, host, by); err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return Submission{}, fmt.Errorf("%w: %s", ErrNoService, host)
		}
		return Submission{}, err
	}
	return a.Submission(ctx, host)
}

// ownerRoutes declares what owners of hosts may ask of the crawler.
func (a *API) ownerRoutes(h huma.API) {
	for _, o := range []struct {
		id, summary, description string
		wish                     owner.RequestKind
	}{
		{"opt-out", "Have a host visited no more, and what it published removed", "Ask once to learn what to publish, publish it, and ask again. " +
			"Or sign the request (RFC 9421) with a key of the host's DID document: then it is done at once.", owner.OptOut},
		{"opt-in", "Withdraw that: the host may be visited again", "Proved as the opt-out is. The value of the opt-out must be taken away.", owner.OptIn},
	} {
		op := huma.Operation{OperationID: o.id, Method: http.MethodPost, Path: "/api/v1/services/{host}/" + o.id, Summary: o.summary, Description: o.description}
		op.Responses = map[string]*huma.Response{"202": {
			Description: "Nothing has changed: the answer says what was looked at, and what to publish.",
			Content:     map[string]*huma.MediaType{"application/json": {Schema: schemaOf[owner.Answer](h)}},
		}}
		addRoute(a, h, op, func(ctx context.Context, in *ownerRequestInput) (*output[owner.Answer], error) {
			return a.handleOwnerRequest(ctx, o.wish, in)
		})
		post := h.OpenAPI().Paths[op.Path].Post
		describeBody[OptOutBody](h, post)
		post.RequestBody.Required = false
	}
	addRoute(a, h, huma.Operation{
		OperationID: "recrawl", Method: http.MethodPost, Path: "/api/v1/services/{host}/recrawl", DefaultStatus: http.StatusAccepted,
		Summary: "Have a host visited again now, at most once in 10 minutes",
		Description: "What was not found is not asked for again within 24 hours, unless the request is signed (RFC 9421) with a key of the host's " +
			"DID document.",
	}, a.recrawlHost)
}

// OptOutBody documents the body of an opt-out or opt-in, which may be left out.
type OptOutBody struct {
	Subdomains bool `json:"subdomains,omitempty" doc:"true: for all hosts below this one, too; counts for opt-out"`
}

type ownerRequestInput struct {
	Host string `path:"host" maxLength:"255" doc:"the name of a host"`
	body requestBody
}

// Resolve reads the body, if there is one (huma.Resolver).
func (in *ownerRequestInput) Resolve(ctx huma.Context) []error {
	in.body.readOptional(ctx, 4<<10)
	return nil
}

func (a *API) handleOwnerRequest(ctx context.Context, wish owner.RequestKind, in *ownerRequestInput) (*output[owner.Answer], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	subdomains, err := readSubdomains(in.body.text)
	if err != nil {
		return nil, err
	}
	found, err := a.answers.HandleOwnerRequest(ctx, wish, in.Host, subdomains, in.body.client, a.signedRequest(&in.body))
	if err != nil {
		return nil, err
	}
	out := jsonOutput(found)
	out.CacheControl = "no-store"
	if !found.Done {
		out.Status = http.StatusAccepted
	}
	return out, nil
}

// readSubdomains reads the body of a wish, strictly; an empty one wishes nothing
// beside.
func readSubdomains(text []byte) (bool, error) {
	if len(text) == 0 {
		return false, nil
	}
	root, err := protocol.ReadJSON(text, protocol.Limits{Bytes: 4 << 10, Depth: 4, Members: 16})
	if err != nil {
		return false, err
	}
	n := root.Member("subdomains")
	switch {
	case root.Kind == protocol.Object && len(root.Items) == 0:
		return false, nil
	case root.Kind == protocol.Object && len(root.Items) == 1 && n != nil && n.Kind == protocol.Bool:
		return n.True(), nil
	}
	return false, newProblem(badField, "the body may be left out, or be an object with the one member subdomains, true or false", `for example {"subdomains": true}`).
		withLocation(Location{Pointer: "/subdomains"})
}

type recrawlInput struct {
	Host string `path:"host" maxLength:"255" doc:"the name of a host"`
	body requestBody
}

// Resolve takes the request without a body (huma.Resolver).
func (in *recrawlInput) Resolve(ctx huma.Context) []error {
	in.body.readEmpty(ctx)
	return nil
}

func (a *API) recrawlHost(ctx context.Context, in *recrawlInput) (*output[Submission], error) {
	if in.body.err != nil {
		return nil, in.body.err
	}
	s, err := a.answers.Recrawl(ctx, in.Host, in.body.client, a.signedRequest(&in.body))
	if err != nil {
		return nil, err
	}
	out := jsonOutput(s)
	out.Status, out.CacheControl = http.StatusAccepted, "no-store"
	return out, nil
}

// ownerProblem covers what owners ask for.
func ownerProblem(err error) *problemError {
	if e, ok := errors.AsType[*WithdrawnError](err); ok {
		if e.Block.By == crawler.ByOwner {
			return newProblem(optedOut, e.Why(), e.Help())
		}
		return newProblem(blockedHost, e.Why(), e.Help())
	}
	if e, ok := errors.AsType[*crawler.SoonError](err); ok {
		return newProblem(rateLimited, e.Error(), "wait as long as Retry-After says").withRetry(e.Wait)
	}
	if e, ok := errors.AsType[*owner.CoveredError](err); ok {
		return newProblem(notOptedOut, e.Error(), "withdraw that one: POST /api/v1/services/"+e.By+"/opt-in")
	}
	switch {
	case errors.Is(err, owner.ErrNotOut):
		return newProblem(notOptedOut, "the owner of this host has not opted out, so there is nothing to withdraw", "name the host to have it visited: POST /api/v1/submissions")
	case errors.Is(err, owner.ErrOperator):
		return newProblem(blockedHost, "it is the operator of this server who does not visit the host", "ask the operator; the page /bot says where")
	case errors.Is(err, crawler.ErrBlocked): // by somebody who was faster
		return newProblem(blockedHost, "the host is not visited", "ask for the host itself to learn whose wish that is")
	case errors.Is(err, ErrNoOwnerRequests):
		return newProblem(unavailable, "wishes of owners are not taken here", "ask the operator; the page /bot says where").withRetry(time.Hour)
	}
	return nil
}
