package fetch

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"gazetteer/document"
	"gazetteer/internal/wait"
	"gazetteer/protocol"
)

const (
	maxRetries = 3 // AI Discovery §4.3
	// firstRetryPause is the wait before the first retry; each further wait is three times as long.
	// maxRetryPause is the longest Retry-After that is waited out.
	firstRetryPause = time.Second
	maxRetryPause   = 10 * time.Second
)

// A Client fetches documents on behalf of a person, under the crawler's rules: it asks for and
// obeys the robots.txt of every host on the way, and never opens two connections to one host at a
// time. It keeps nothing between calls, so the caller must limit how often it is called. Its
// methods may be called from any goroutine.
type Client struct {
	transport *Transport
	locks     hostLocks
}

// New returns a client. It starts nothing and opens no connection yet.
func New(o Options) (*Client, error) {
	t, err := NewTransport(o)
	if err != nil {
		return nil, fmt.Errorf("fetch client: %w", err)
	}
	return &Client{transport: t, locks: hostLocks{hosts: map[string]*hostLock{}}}, nil
}

// An Answer is the result of asking for one document. Outcome and Detail say how it ended, Body is
// set when something readable arrived, and Findings tell the publisher what is wrong.
type Answer struct {
	Fetch
	// Header is that of the last answer, nil without one.
	Header http.Header
	// Hops are the addresses that redirects led to, resolved. The last one is included even when it
	// was not followed.
	Hops []string
	// TLS describes the last connection, nil without one.
	TLS *TLS
	// Robots is what the robots.txt of the last host says, nil when it was not requested.
	Robots *Robots

	ask *Ask
	end AskResult
	now time.Time
}

// Address returns where the answer came from: Final after redirects, otherwise URL.
func (a Answer) Address() string {
	if a.Final != "" {
		return a.Final
	}
	return a.URL
}

// As judges the answer as a document of another kind, for documents whose kind is only known from
// their bytes.
func (a Answer) As(kind document.Kind) Answer {
	ask := *a.ask
	ask.Kind = string(kind)
	a.ask = &ask
	if a.end.Outcome == OK || a.end.Outcome == BadMediaType {
		a.end = judgeStatus(a.ask, a.Status)
	}
	return a.withFindings()
}

// withFindings recomputes what depends on the kind.
func (a Answer) withFindings() Answer {
	a.Kind, a.Outcome, a.Detail = a.ask.Kind, a.end.Outcome, a.end.Detail
	a.Findings = a.ask.Findings(a.end, a.now)
	return a
}

// Document fetches the document at an https address. With kind "" the kind is that of the
// well-known path; elsewhere there is none: any media type is accepted, and [Answer.As] judges it
// later. The Answer describes what the site does; the error is that of ctx.
func (c *Client) Document(ctx context.Context, kind document.Kind, address string) (Answer, error) {
	if kind == "" {
		kind = wellKnownKind(address)
	}
	inTime, cancel := context.WithTimeout(ctx, c.transport.o.SessionTimeout)
	defer cancel()
	v := c.newVisit()
	defer v.leaveHost()
	a, end := c.transport.NewAskFor(string(kind), address, c.transport.o.Now())
	answer := v.fetchDocument(inTime, a, end)
	if err := contextError(ctx); err != nil {
		return Answer{}, err
	}
	return answer, nil
}

// wellKnownKind returns the kind of document at a well-known path, "" for other paths.
func wellKnownKind(address string) document.Kind {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	for _, f := range document.Formats {
		if f.WellKnown != "" && f.WellKnown == u.Path {
			return f.Kind
		}
	}
	return ""
}

// contextError returns the error of a context that has ended or whose deadline has passed: the
// equal deadline of a connection may expire a moment earlier.
func contextError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// Host fetches everything that a host publishes, in one session: the AI Discovery document, the
// AGIS summary, and the full AGIS document that one of them names. It returns one answer for each
// of the first two, and one for the third when it has an https address.
//
// Of /.well-known/ai and /ai the first is returned, unless only the second exists; where both
// exist, they are compared. An absent document has no finding when the host publishes another. The
// error is a *[HostError] for a bad host name, otherwise that of ctx.
func (c *Client) Host(ctx context.Context, host string) ([]Answer, error) {
	name, err := CheckHost(host)
	if err != nil {
		return nil, err
	}
	inTime, cancel := context.WithTimeout(ctx, c.transport.o.SessionTimeout)
	defer cancel()
	v := c.newVisit()
	defer v.leaveHost()
	ai, summary := v.fetchAI(inTime, name), v.fetchWellKnown(inTime, document.AGISSummary, name)
	answers := []Answer{ai, summary}
	if address := linkedAGIS(name, summary, ai); address != "" {
		a, end := c.transport.NewAskFor(string(document.AGIS), address, c.transport.o.Now())
		answers = append(answers, v.fetchDocument(inTime, a, end))
	}
	if err := contextError(ctx); err != nil {
		return nil, err
	}
	forgiveAbsence(answers)
	return answers, nil
}

// fetchAI fetches the AI Discovery document and its alias. A document that was removed for good (410)
// has no alias.
func (v *visit) fetchAI(ctx context.Context, host string) Answer {
	ai := v.fetchWellKnown(ctx, document.AI, host)
	if ai.Body == nil && (ai.Outcome != Absent || ai.Status == http.StatusGone) {
		return ai
	}
	alias := v.fetchWellKnown(ctx, document.AIAlias, host)
	switch {
	case ai.Outcome == Absent && alias.Outcome != Absent:
		return alias
	case ai.Outcome == OK && alias.Outcome == OK:
		ai.ask.AliasBody = alias.Body
		return ai.withFindings()
	}
	return ai
}

// linkedAGIS returns the address of the full AGIS document if it can be requested.
func linkedAGIS(host string, answers ...Answer) string {
	for _, a := range answers {
		if a.Outcome != OK {
			continue
		}
		d, err := document.Read(document.Input{
			Kind: document.Kind(a.Kind), Host: host, URL: a.Address(), MediaType: a.MediaType, FetchedAt: a.At, Bytes: a.Body,
		})
		if err != nil {
			continue
		}
		if address := AGISAddress(d); address != "" {
			return address
		}
	}
	return ""
}

// AGISAddress returns the https address of the full AGIS document that a document names, "" when
// there is none: addresses with another scheme are ignored.
func AGISAddress(d *document.Document) string {
	for _, l := range d.Links[:min(len(d.Links), MaxLinks)] {
		if l.Rel == document.RelAGISDocument && strings.HasPrefix(strings.ToLower(l.URL), "https://") {
			return l.URL
		}
	}
	return ""
}

// MaxLinks is how many links of one document are read.
const MaxLinks = 64

// forgiveAbsence removes the findings about absent documents if another document exists: no host
// must publish every format.
func forgiveAbsence(answers []Answer) {
	if !slices.ContainsFunc(answers, func(a Answer) bool { return a.Body != nil }) {
		return
	}
	for i := range answers {
		if answers[i].Outcome == Absent {
			answers[i].Findings = []protocol.Finding{}
		}
	}
}

// A visit is one call of a client. It belongs to one goroutine.
type visit struct {
	c        *Client
	policies map[string]*RobotsPolicy // by host
	silent   map[string]AskResult     // hosts that gave no answer at all

	wire     *Connection // to the host that the visit is with now, nil before
	unlock   func()
	lastDone time.Time // when the last request over the wire ended
}

func (c *Client) newVisit() *visit {
	return &visit{c: c, policies: map[string]*RobotsPolicy{}, silent: map[string]AskResult{}}
}

// fetchWellKnown fetches the document at the path of a kind.
func (v *visit) fetchWellKnown(ctx context.Context, kind document.Kind, host string) Answer {
	format, _ := document.FormatOf(kind)
	return v.fetchDocument(ctx, NewAsk(string(kind), host, format.WellKnown, v.c.transport.o.Now()), AskResult{})
}

// fetchDocument follows an ask to its end, unless it has already ended.
func (v *visit) fetchDocument(ctx context.Context, a *Ask, end AskResult) Answer {
	if end.Outcome == "" {
		end = v.settleAsk(ctx, a)
	}
	answer := Answer{
		Fetch: a.Fetch, Header: a.Header, Hops: a.Hops, TLS: describeTLS(a.TLS), ask: a, end: end, now: v.c.transport.o.Now(),
	}
	if a.Fetch.Body != nil {
		answer.Digest = document.Digest(a.Fetch.Body)
	}
	if policy := v.policies[a.Host]; policy != nil {
		answer.Robots = &policy.Robots
	}
	return answer.withFindings()
}

// settleAsk makes the requests of an ask, including redirects and retries.
func (v *visit) settleAsk(ctx context.Context, a *Ask) AskResult {
	for tries := 0; ; {
		if end := v.checkRobots(ctx, a); end.Outcome != "" {
			return end
		}
		if end := v.enterHost(ctx, a.Host); end.Outcome != "" {
			return end
		}
		end := v.wire.Send(ctx, a, nil)
		v.lastDone = time.Now()
		if end.Outcome == "" {
			continue // a redirect leads on
		}
		pause, again := v.shouldRetry(a, end, tries)
		if !again || wait.For(ctx, pause) != nil {
			return end
		}
		tries++
	}
}

// shouldRetry reports whether a request is repeated, and after which pause.
func (v *visit) shouldRetry(a *Ask, end AskResult, tries int) (time.Duration, bool) {
	if end.Outcome != ServerError || tries >= v.c.transport.o.Retries {
		return 0, false
	}
	pause := firstRetryPause
	for range tries {
		pause *= 3
	}
	pause = max(pause, a.Fetch.RetryAfter)
	return pause, pause <= maxRetryPause
}

// checkRobots fetches the robots.txt of the host that the ask will request next. The result is set
// when the ask ends there.
func (v *visit) checkRobots(ctx context.Context, a *Ask) AskResult {
	if a.Kind == KindRobots {
		return AskResult{} // RFC 9309 §2.2.2: it may always be asked for
	}
	if end, silent := v.silent[a.Host]; silent {
		return end
	}
	policy := v.policies[a.Host]
	if policy == nil {
		r := a.Robots(v.c.transport.o.Now())
		end := v.settleAsk(ctx, r)
		r.Fetch.Outcome, r.Fetch.Detail = end.Outcome, end.Detail
		if r.Host == a.Host && r.Unreachable(end) {
			v.silent[a.Host] = end
			return end
		}
		policy = JudgeRobots(r.Fetch, v.c.transport.o.Now(), v.c.transport.o.MaxCrawlDelay)
		v.policies[a.Host] = policy
	}
	if allowed, _, why := policy.Allows(a.Path()); !allowed {
		return AskResult{Outcome: RefusedByRobots, Detail: why}
	}
	return AskResult{}
}

// enterHost moves the visit to a host: it waits for its turn there and opens a connection, or waits
// out the Crawl-delay. The result is set when time has run out.
func (v *visit) enterHost(ctx context.Context, host string) AskResult {
	late := AskResult{Outcome: Timeout, Detail: "the visit took longer than " + v.c.transport.o.SessionTimeout.String()}
	if ctx.Err() != nil {
		return late
	}
	if v.wire == nil || v.wire.Host() != host {
		v.leaveHost()
		unlock, err := v.c.locks.lockHost(ctx, host)
		if err != nil {
			return late
		}
		v.unlock, v.wire, v.lastDone = unlock, v.c.transport.NewConnection(host), time.Time{}
		return AskResult{}
	}
	if policy := v.policies[host]; policy != nil && policy.Delay > 0 && !v.lastDone.IsZero() {
		if wait.For(ctx, policy.Delay-time.Since(v.lastDone)) != nil {
			return late
		}
	}
	return AskResult{}
}

// leaveHost closes the connection and gives back the turn, if there is one.
func (v *visit) leaveHost() {
	if v.wire == nil {
		return
	}
	v.wire.Close()
	v.unlock()
	v.wire, v.unlock = nil, nil
}
