package a2ahttp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"gazetteer/internal/wait"
	"gazetteer/protocol/a2a"
	"gazetteer/protocol/did"
)

// Version is the value of the header X-A2A-Version (§11.3).
const (
	Version       = "draft-1"
	VersionHeader = "X-A2A-Version"
)

// A Directory resolves DIDs. It may cache documents for as long as §4.5 allows.
type Directory interface {
	a2a.Resolver
	// Forget drops the cached document of a DID, because a recipient says that its key is newer
	// (§4.5.3).
	Forget(id string)
}

// A Client sends envelopes for one agent. Its methods are safe for concurrent use if those of its
// Directory are.
type Client struct {
	From      string             // the agent's DID
	Key       ed25519.PrivateKey // its key
	Directory Directory
	// HTTP makes the requests; nil means a new client. Redirects are always refused, whatever its
	// CheckRedirect says.
	HTTP *http.Client
	// Timeout is the time for one request: 0 means the Timeout of HTTP, and 30 s without HTTP; less
	// than 0 means no limit.
	Timeout time.Duration
	// Profile is the profile of the envelopes; [a2a.Strict] refuses bodies of types that the draft
	// does not define.
	Profile a2a.Profile
	// AllowLoopback accepts inboxes at http:// addresses of 127.0.0.1, ::1 and localhost, for
	// tests. All other inboxes must use https (§3.4).
	AllowLoopback bool
	// MaxWait is the longest Retry-After for which the client waits; 0 means 10 minutes.
	MaxWait time.Duration
	// Retrying, if set, is called before each wait with the failed attempt and the time until the
	// next one.
	Retrying func(failed *Error, wait time.Duration)
	Now      func() time.Time                                 // time.Now when nil
	Sleep    func(ctx context.Context, d time.Duration) error // a timer when nil
}

// Options of [Client.Send].
type Options struct {
	// Seal encrypts the body for the recipient's key (§14).
	Seal bool
	// Again says that the message was sent before and that the sender does not know whether it
	// arrived. ID and Nonce must be the same as then: 409 Replay then means that the message had
	// arrived.
	Again bool
}

// Sent is an envelope that the recipient's inbox accepted.
type Sent struct {
	Envelope *a2a.Envelope
	Inbox    string
	Status   int // 200 delivered, 202 queued, 409 an earlier attempt had arrived
	Attempts int
	Answer   []byte // the body of the answer, for example with a receipt
}

// Errors of [Client.Send]. Test with errors.Is.
var (
	// ErrNoInbox: the recipient has no inbox, or its inbox must not be used.
	ErrNoInbox = errors.New("the recipient cannot be reached by A2A")
	// ErrRefused: the inbox refused the envelope; sending it again does not help.
	ErrRefused = errors.New("the inbox refused the envelope")
	// ErrGaveUp: no attempt succeeded; a later one may succeed.
	ErrGaveUp = errors.New("the inbox could not be reached")
)

// errFailed is the kind of an attempt that another one follows.
var errFailed = errors.New("the attempt failed")

// An Error says why an envelope was not delivered. It matches [ErrRefused] or [ErrGaveUp], and the
// error of the last attempt.
type Error struct {
	Envelope *a2a.Envelope // as it was sent last, for another attempt by hand
	Inbox    string
	Attempts int
	Status   int    // of the last answer, 0 for none
	Reason   string // the member "error" of it, untrusted
	Detail   string // the member "detail" or "message", untrusted
	// RetryAfter is how long the inbox asks to wait before another attempt, 0 if it does not say.
	RetryAfter time.Duration
	kind       error
	cause      error
}

func (e *Error) Error() string {
	text := fmt.Sprintf("send to %s: %v", e.Inbox, e.kind)
	if e.Status != 0 {
		text += fmt.Sprintf(": it answered %d", e.Status)
	}
	for _, part := range []string{e.Reason, e.Detail} {
		if part != "" {
			text += fmt.Sprintf(" %.200q", part)
		}
	}
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Unwrap returns what the error matches.
func (e *Error) Unwrap() []error { return []error{e.kind, e.cause} }

// schedule holds the waits between the five attempts of §7.4.
var schedule = [...]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}

const (
	maxAnswer = 64 << 10
	// signAgain is the age from which an envelope is signed again before the next attempt. An older
	// one would be stale when it arrives.
	signAgain = a2a.MaxAge - time.Minute
)

// Send signs a message and delivers it to the inbox of the recipient. Empty members
// of the message are filled in; From is the client's. The error is an [*Error], one
// that matches [ErrNoInbox], an [*a2a.Refusal] for a message that cannot be signed, or
// what the directory or ctx say.
func (c *Client) Send(ctx context.Context, m a2a.Message, o Options) (Sent, error) {
	d := &delivery{client: c, message: m, options: o, ambiguous: o.Again}
	d.message.From = c.From
	if d.message.ID == "" {
		d.message.ID = a2a.NewID()
	}
	if d.message.ThreadID == "" {
		d.message.ThreadID = a2a.NewID()
	}
	if d.message.Nonce == "" {
		d.message.Nonce = a2a.NewNonce()
	}
	if err := d.resolveAndSign(ctx); err != nil {
		return Sent{}, err
	}
	return d.attemptUntilSettled(ctx)
}

// delivery is the state of one call of Send: a message and its attempts so far.
type delivery struct {
	client    *Client
	message   a2a.Message // as it was given, its body not sealed
	options   Options
	recipient ed25519.PublicKey
	inbox     string
	envelope  *a2a.Envelope
	attempts  int
	refreshed bool // the recipient's document was resolved again
	ambiguous bool // an attempt had no answer, or one that does not tell whether it arrived
}

// resolveAndSign resolves the recipient and signs.
func (d *delivery) resolveAndSign(ctx context.Context) error {
	document, err := d.client.Directory.Resolve(ctx, d.message.To)
	if err != nil {
		return fmt.Errorf("find the inbox of %.100q: %w", d.message.To, err)
	}
	if document.ID != d.message.To {
		return fmt.Errorf("find the inbox of %.100q: %w: its document is that of another", d.message.To, ErrNoInbox)
	}
	if d.recipient, err = document.Key(); err != nil {
		return fmt.Errorf("find the inbox of %.100q: %w: %w", d.message.To, ErrNoInbox, err)
	}
	if d.inbox, err = d.client.inboxOf(document); err != nil {
		return fmt.Errorf("find the inbox of %.100q: %w", d.message.To, err)
	}
	return d.signEnvelope()
}

// inboxOf returns the address of a document's inbox (§3.4).
func (c *Client) inboxOf(document did.Document) (string, error) {
	text := document.Inbox()
	if text == "" {
		return "", fmt.Errorf("%w: its DID document has no service %s", ErrNoInbox, did.TypeInbox)
	}
	u, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("%w: its inbox %.100q is no URL", ErrNoInbox, text)
	}
	if !u.IsAbs() {
		// The draft resolves against its one registry; others have their own host.
		w, err := did.ParseWeb(document.ID)
		if err != nil {
			return "", fmt.Errorf("%w: its inbox %.100q is relative", ErrNoInbox, text)
		}
		u = (&url.URL{Scheme: "https", Host: w.Authority(), Path: "/"}).ResolveReference(u)
	}
	loopback := c.AllowLoopback && u.Scheme == "http" && did.IsLoopback(u.Hostname())
	if u.Scheme != "https" && !loopback || u.Host == "" || u.User != nil {
		return "", fmt.Errorf("%w: its inbox %.100q is no https URL", ErrNoInbox, text)
	}
	return u.String(), nil
}

// signEnvelope writes and signs the envelope with the present time.
func (d *delivery) signEnvelope() error {
	m := d.message
	m.Timestamp = d.client.now()
	if d.options.Seal {
		if err := m.Seal(d.recipient); err != nil {
			return err
		}
	}
	e, err := a2a.Sign(m, d.client.Profile, d.client.Key)
	if err == nil {
		d.envelope = e
	}
	return err
}

// attemptUntilSettled sends the envelope until an attempt succeeds, is refused for good, or no
// attempt is left.
func (d *delivery) attemptUntilSettled(ctx context.Context) (Sent, error) {
	for {
		if d.client.now().Sub(d.envelope.Timestamp) > signAgain {
			if err := d.signEnvelope(); err != nil {
				return Sent{}, err
			}
		}
		d.attempts++
		answer, err := d.client.postEnvelope(ctx, d.inbox, d.envelope.Text)
		if ctx.Err() != nil {
			return Sent{}, ctx.Err()
		}
		switch {
		case err != nil:
			d.ambiguous = true
		case answer.status == http.StatusOK || answer.status == http.StatusAccepted || d.ambiguous && answer.isRepeat():
			return Sent{d.envelope, d.inbox, answer.status, d.attempts, answer.body}, nil
		case answer.isStaleKey() && !d.refreshed && !d.isLastAttempt():
			d.refreshed = true
			d.client.Directory.Forget(d.message.To)
			if err := d.resolveAndSign(ctx); err != nil {
				return Sent{}, err
			}
			continue // at once
		case answer.isTransient():
			d.ambiguous = d.ambiguous || answer.status != http.StatusTooManyRequests
		default:
			return Sent{}, d.newError(ErrRefused, answer, nil)
		}
		wait, ok := d.nextWait(answer)
		if !ok {
			return Sent{}, d.newError(ErrGaveUp, answer, err)
		}
		if d.client.Retrying != nil {
			d.client.Retrying(d.newError(errFailed, answer, err), wait)
		}
		if err := d.client.sleep(ctx, wait); err != nil {
			return Sent{}, err
		}
	}
}

// nextWait returns how long to wait before the next attempt, and false when there is none.
func (d *delivery) nextWait(a answer) (time.Duration, bool) {
	if d.isLastAttempt() {
		return 0, false
	}
	if a.retryAfter > 0 {
		longest := cmp.Or(d.client.MaxWait, 10*time.Minute)
		return a.retryAfter, a.retryAfter <= longest
	}
	return schedule[d.attempts-1], true
}

// isLastAttempt reports whether no attempt of §7.4 is left. One that follows 403 Stale Key counts, too.
func (d *delivery) isLastAttempt() bool { return d.attempts > len(schedule) }

func (d *delivery) newError(kind error, a answer, cause error) *Error {
	return &Error{d.envelope, d.inbox, d.attempts, a.status, a.reason, a.detail, a.retryAfter, kind, cause}
}

func (c *Client) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

func (c *Client) sleep(ctx context.Context, d time.Duration) error {
	if c.Sleep != nil {
		return c.Sleep(ctx, d)
	}
	return wait.For(ctx, d)
}

// answer is the response of an inbox to one attempt.
type answer struct {
	status     int
	body       []byte
	reason     string
	detail     string
	retryAfter time.Duration
}

// isRepeat reports whether the inbox answers, in either dialect, that it already has the envelope.
func (a answer) isRepeat() bool {
	return a.status == http.StatusConflict && (a.reason == a2a.ErrorReplay || a.reason == "duplicate_envelope")
}

func (a answer) isStaleKey() bool {
	return a.status == http.StatusForbidden && a.reason == a2a.ErrorStaleKey
}

// isTransient reports whether another attempt may succeed (§7.4). A full replay window is not
// transient: it requires another thread (§9.2).
func (a answer) isTransient() bool {
	switch a.status {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return a.status == http.StatusTooManyRequests && a.reason != a2a.ErrorReplayExhausted
}

// postEnvelope makes one attempt.
func (c *Client) postEnvelope(ctx context.Context, inbox string, envelope []byte) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, inbox, bytes.NewReader(envelope))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set(VersionHeader, Version)
	response, err := sendWithoutRedirects(c.HTTP, request, c.Timeout, 0)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode}
	if a.body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer)); err != nil && a.status >= 300 {
		return answer{}, err
	}
	if a.status >= 300 {
		a.reason, a.detail, a.retryAfter = readProblem(a.body)
	}
	if wait, ok := parseRetryAfter(response.Header.Get("Retry-After"), c.now()); ok {
		a.retryAfter = wait
	}
	return a, nil
}

// requestTime is the time for one request if nothing sets another.
const requestTime = 30 * time.Second

// http1 returns the transport of clients that name none. It speaks HTTP/1.1 alone, because a host that
// answers in HTTP/2 can hold a request of net/http beyond its timeout.
var http1 = sync.OnceValue(func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.ForceAttemptHTTP2, t.TLSNextProto = false, map[string]func(string, *tls.Conn) http.RoundTripper{}
	t.TLSClientConfig = &tls.Config{NextProtos: []string{"http/1.1"}} // that of the clone offers HTTP/2, too
	return t
})

// sendWithoutRedirects makes a request and follows no redirect. The answer may take as long as
// [Client.Timeout] says, and wait in addition.
func sendWithoutRedirects(with *http.Client, request *http.Request, timeout, wait time.Duration) (*http.Response, error) {
	var client http.Client
	if with != nil {
		client = *with
	} else {
		client.Transport = http1()
		timeout = cmp.Or(timeout, requestTime)
	}
	if timeout > 0 {
		client.Timeout = timeout + wait
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Do(request)
	if err == nil && response.StatusCode == http.StatusSwitchingProtocols { // no timeout would end a read of its body
		response.Body.Close()
		return nil, errors.New("it answered 101 Switching Protocols, which was not asked for")
	}
	return response, err
}

// parseRetryAfter reads a number of seconds or a date (RFC 9110 §10.2.3).
func parseRetryAfter(text string, now time.Time) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}
