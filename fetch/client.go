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
	"gazetteer/protocol"
)

const (
	maxRetries = 3 // AI Discovery §4.3
	// firstRetryPause is the wait before the first retry; each is three times as long
	// as the one before. maxRetryPause is the longest Retry-After waited out.
	firstRetryPause = time.Second
	maxRetryPause   = 10 * time.Second
)

// A Client fetches documents for a person who asks for them, under the rules of
// the crawler: robots.txt of every host on the way is asked first and heeded, and
// no two connections to one host are open at a time. It keeps nothing between
// calls, so how often it is called is for the caller to bound. Its methods may
// be called from any goroutine.
type Client struct {
	transport     *Transport
	turns         hostLocks
	now           func() time.Time
	session       time.Duration
	maxCrawlDelay time.Duration
	retries       int
}

// New returns a client. It starts nothing and dials nothing yet.
func New(o Options) (*Client, error) {
	if err := o.setDefaults(); err != nil {
		return nil, fmt.Errorf("fetch client: %w", err)
	}
	t, err := NewTransport(o)
	if err != nil {
		return nil, err
	}
	return &Client{
		transport: t, turns: hostLocks{hosts: map[string]*hostLock{}}, now: o.Now,
		session: o.SessionTimeout, maxCrawlDelay: o.MaxCrawlDelay, retries: o.Retries,
	}, nil
}

// An Answer is what came of asking for one document. Outcome and Detail say how
// it ended, Body is there when something was had that can be read, and Findings
// are what the fetch has to tell whoever publishes the document.
type Answer struct {
	Fetch
	// Header is that of the last answer, nil without one.
	Header http.Header
	// Hops are the addresses that redirects led to, resolved; the last one also
	// when it was not followed.
	Hops []string
	// TLS is what the last connection rested on, nil without one.
	TLS *TLS
	// Robots is what the robots.txt of the last host says, nil when it was not
	// asked.
	Robots *Robots

	ask *Ask
	end AskResult
	now time.Time
}

// Address is where the answer came from: Final after redirects, else URL.
func (a Answer) Address() string {
	if a.Final != "" {
		return a.Final
	}
	return a.URL
}

// As judges the answer as that of a document of another kind: for what was asked
// for without one, once the bytes have told.
func (a Answer) As(kind document.Kind) Answer {
	ask := *a.ask
	ask.Kind = string(kind)
	a.ask = &ask
	if a.end.Outcome == OK || a.end.Outcome == BadMediaType {
		a.end = judgeStatus(a.ask, a.Status)
	}
	return a.withFindings()
}

// withFindings brings what depends on the kind up to date.
func (a Answer) withFindings() Answer {
	a.Kind, a.Outcome, a.Detail = a.ask.Kind, a.end.Outcome, a.end.Detail
	a.Findings = a.ask.Findings(a.end, a.now)
	return a
}

// Document asks for the document at an https address. With kind "" the kind is
// that of the well-known path, elsewhere none: then any media type is taken, and
// [Answer.As] judges it later. What the site does is in the Answer; the error is
// that of ctx.
func (c *Client) Document(ctx context.Context, kind document.Kind, address string) (Answer, error) {
	if kind == "" {
		kind = wellKnownKind(address)
	}
	inTime, cancel := context.WithTimeout(ctx, c.session)
	defer cancel()
	v := c.newVisit()
	defer v.leaveHost()
	a, end := c.transport.NewAskFor(string(kind), address, c.now())
	answer := v.fetchDocument(inTime, a, end)
	if err := contextError(ctx); err != nil {
		return Answer{}, err
	}
	return answer, nil
}

// wellKnownKind returns the kind of document that is asked for by its path, "" for
// other paths.
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

// contextError is the error of a context that has ended or whose time is over: the
// deadline of a connection, which is the same, may ring a moment earlier.
func contextError(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		return context.DeadlineExceeded
	}
	return nil
}

// Host asks for all that a host publishes, in one session: the AI Discovery
// document, the AGIS summary, and the full AGIS document that one of them names.
// There is one answer for each of the first two, and one for the third when it
// is named by an https address.
//
// Of /.well-known/ai and /ai the first is answered, unless only the second is
// there; where both are, they are compared. A document that is absent has no
// finding when the host publishes another. The error is a *[HostError] for what
// is no host name, else that of ctx.
func (c *Client) Host(ctx context.Context, host string) ([]Answer, error) {
	name, err := CheckHost(host)
	if err != nil {
		return nil, err
	}
	inTime, cancel := context.WithTimeout(ctx, c.session)
	defer cancel()
	v := c.newVisit()
	defer v.leaveHost()
	ai, summary := v.fetchAI(inTime, name), v.fetchWellKnown(inTime, document.AGISSummary, name)
	answers := []Answer{ai, summary}
	if address := linkedAGIS(name, summary, ai); address != "" {
		a, end := c.transport.NewAskFor(string(document.AGIS), address, c.now())
		answers = append(answers, v.fetchDocument(inTime, a, end))
	}
	if err := contextError(ctx); err != nil {
		return nil, err
	}
	forgiveAbsence(answers)
	return answers, nil
}

// fetchAI asks for the AI Discovery document and its alias.
func (v *visit) fetchAI(ctx context.Context, host string) Answer {
	ai := v.fetchWellKnown(ctx, document.AI, host)
	if ai.Outcome != Absent && ai.Body == nil {
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

// linkedAGIS returns the address of the full AGIS document, as far as it can be
// asked for.
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

// AGISAddress returns the https address of the full AGIS document that a document
// names, "" when it names none: an address of another scheme is for others.
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

// forgiveAbsence takes the findings from what is absent if something else is not:
// no host must publish every format.
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

// A visit is one call of a client under way. It belongs to one goroutine.
type visit struct {
	c        *Client
	verdicts map[string]*Verdict  // by host
	silent   map[string]AskResult // hosts that gave no answer at all

	wire     *Connection // to the host that the visit is with now, nil before
	leave    func()
	lastDone time.Time // when the last request over the wire ended
}

func (c *Client) newVisit() *visit {
	return &visit{c: c, verdicts: map[string]*Verdict{}, silent: map[string]AskResult{}}
}

// fetchWellKnown asks a host for the document at the path of its kind.
func (v *visit) fetchWellKnown(ctx context.Context, kind document.Kind, host string) Answer {
	format, _ := document.FormatOf(kind)
	return v.fetchDocument(ctx, NewAsk(string(kind), host, format.WellKnown, v.c.now()), AskResult{})
}

// fetchDocument follows an ask to its end, unless it has ended already.
func (v *visit) fetchDocument(ctx context.Context, a *Ask, end AskResult) Answer {
	if end.Outcome == "" {
		end = v.settleAsk(ctx, a)
	}
	answer := Answer{
		Fetch: a.Fetch, Header: a.Header, Hops: a.Hops, TLS: describeTLS(a.TLS), ask: a, end: end, now: v.c.now(),
	}
	if a.Fetch.Body != nil {
		answer.Digest = document.Digest(a.Fetch.Body)
	}
	if verdict := v.verdicts[a.Host]; verdict != nil {
		answer.Robots = &verdict.Robots
	}
	return answer.withFindings()
}

// settleAsk makes the requests of an ask, redirects and retries included.
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
		if !again || !waitFor(ctx, pause) {
			return end
		}
		tries++
	}
}

// shouldRetry reports whether a request is made once more, and after which pause.
func (v *visit) shouldRetry(a *Ask, end AskResult, tries int) (time.Duration, bool) {
	if end.Outcome != ServerError || tries >= v.c.retries {
		return 0, false
	}
	pause := firstRetryPause
	for range tries {
		pause *= 3
	}
	pause = max(pause, a.Fetch.RetryAfter)
	return pause, pause <= maxRetryPause
}

// checkRobots asks the robots.txt of the host that the ask is about to ask. The
// settlement is set when the ask ends there.
func (v *visit) checkRobots(ctx context.Context, a *Ask) AskResult {
	if a.Kind == KindRobots {
		return AskResult{} // RFC 9309 §2.2.2: it may always be asked for
	}
	if end, silent := v.silent[a.Host]; silent {
		return end
	}
	verdict := v.verdicts[a.Host]
	if verdict == nil {
		r := a.Robots(v.c.now())
		end := v.settleAsk(ctx, r)
		r.Fetch.Outcome, r.Fetch.Detail = end.Outcome, end.Detail
		if r.Host == a.Host && r.Unreachable(end) {
			v.silent[a.Host] = end
			return end
		}
		verdict = JudgeRobots(r.Fetch, v.c.now(), v.c.maxCrawlDelay)
		v.verdicts[a.Host] = verdict
	}
	if allowed, _, why := verdict.Allows(a.Path()); !allowed {
		return AskResult{Outcome: RefusedByRobots, Detail: why}
	}
	return AskResult{}
}

// enterHost takes the visit to a host: it waits for its turn there and opens a wire,
// or waits out the Crawl-delay. The settlement is set when time is over.
func (v *visit) enterHost(ctx context.Context, host string) AskResult {
	late := AskResult{Outcome: Timeout, Detail: "the visit took longer than " + v.c.session.String()}
	if ctx.Err() != nil {
		return late
	}
	if v.wire == nil || v.wire.Host() != host {
		v.leaveHost()
		leave, err := v.c.turns.lockHost(ctx, host)
		if err != nil {
			return late
		}
		v.leave, v.wire, v.lastDone = leave, v.c.transport.NewConnection(host), time.Time{}
		return AskResult{}
	}
	if verdict := v.verdicts[host]; verdict != nil && verdict.Delay > 0 && !v.lastDone.IsZero() {
		if !waitFor(ctx, verdict.Delay-time.Since(v.lastDone)) {
			return late
		}
	}
	return AskResult{}
}

// leaveHost closes the wire and ends the turn, if there is one.
func (v *visit) leaveHost() {
	if v.wire == nil {
		return
	}
	v.wire.Close()
	v.leave()
	v.wire, v.leave = nil, nil
}

// waitFor reports whether the time passed before ctx ended.
func waitFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
