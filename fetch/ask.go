package fetch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"gazetteer/document"
	"gazetteer/protocol"
	"gazetteer/protocol/aidiscovery"
)

// KindRobots is the kind of a fetch of robots.txt.
const KindRobots = "robots"

// An Ask is one thing to fetch: a document, or the robots.txt of a host on the way to one. It
// becomes its Fetch, redirect by redirect: see [Connection.Send]. It belongs to one goroutine.
type Ask struct {
	Kind string // a document.Kind, or [KindRobots]
	Host string // where the next request goes: whose robots.txt and politeness apply
	// Of is, for a robots.txt, the host whose paths it judges.
	Of   string
	Prev Fetch // the last fetch of this kind, for its validators
	// Copied says that the bytes of Prev are available, so that a 304 is useful.
	Copied bool
	// Fetch is the result so far. The caller sets Outcome and Detail from the [AskResult].
	Fetch Fetch

	// Header is that of the last answer, nil before the first.
	Header http.Header
	// TLS is the connection of the last answer, nil before the first.
	TLS *tls.ConnectionState
	// Hops are the addresses that redirects led to, resolved as far as they can be read. The last
	// one is included even when it was not followed.
	Hops []string
	// Slowest is the longest time that one of the requests took.
	Slowest time.Duration
	// Made is the last request. Lost is set when an earlier attempt failed because the host had
	// closed the connection in the meantime.
	Made Made
	Lost *Made
	// AliasBody is, for [document.AI], what /ai answered, for a caller that
	// compares both.
	AliasBody []byte

	// asked is the address of the first request as the rules judge it: in normal form if it can be
	// requested, and with the fragment that was not sent.
	asked string
	url   *url.URL // the next request; nil when the address cannot be asked
}

// NewAsk returns the ask for a well-known path of a host that [CheckHost] has accepted.
func NewAsk(kind, host, path string, now time.Time) *Ask {
	u := &url.URL{Scheme: "https", Host: host, Path: path}
	return &Ask{Kind: kind, Host: host, url: u, asked: u.String(), Fetch: Fetch{Kind: kind, URL: u.String(), At: now}}
}

// NewAskFor returns the ask for an address that a document names. The result is set, and final, if
// the address must not be requested.
func (t *Transport) NewAskFor(kind, address string, now time.Time) (*Ask, AskResult) {
	a := &Ask{Kind: kind, asked: address, Fetch: Fetch{Kind: kind, URL: protocol.ClipBytes(address, locationBytes), At: now}}
	u, end := t.parseTarget(&url.URL{Scheme: "https"}, address)
	switch end.Outcome {
	case "":
		a.url, a.Host, a.asked = u, u.Hostname(), u.String()
		if _, fragment, ok := strings.Cut(address, "#"); ok {
			a.asked += "#" + fragment
		}
	case InsecureRedirect:
		end.Outcome, end.Detail = BadAddress, fmt.Sprintf("the address %.100q is plain http; only https is requested", address)
	case BadRedirect:
		end.Outcome = BadAddress
	}
	return a, end
}

// Robots returns the ask for the robots.txt of the host that a will request next.
func (a *Ask) Robots(now time.Time) *Ask {
	r := NewAsk(KindRobots, a.url.Host, "/robots.txt", now)
	r.Host, r.Of = a.Host, a.Host
	return r
}

// Path returns what robots.txt judges: path and query of the next request.
func (a *Ask) Path() string { return a.url.RequestURI() }

// requestHeader returns the request header. Validators are only sent to the address they came from.
func (a *Ask) requestHeader(userAgent string) http.Header {
	h := http.Header{"User-Agent": {userAgent}, "Accept": {acceptHeader(a.Kind)}}
	if a.isConditional() {
		if a.Prev.ETag != "" {
			h.Set("If-None-Match", a.Prev.ETag)
		}
		if a.Prev.LastModified != "" {
			h.Set("If-Modified-Since", a.Prev.LastModified)
		}
	}
	return h
}

func (a *Ask) isConditional() bool {
	from := a.Prev.Final
	from = cmp.Or(from, a.Prev.URL)
	return a.Copied && from == a.url.String() && (a.Prev.ETag != "" || a.Prev.LastModified != "")
}

// acceptHeader returns the Accept header for a kind.
func acceptHeader(kind string) string {
	switch kind {
	case KindRobots:
		return "text/plain, */*;q=0.5"
	case "":
		return "application/json, application/agis+json, application/agis+yaml, application/yaml, */*;q=0.5"
	}
	format, ok := document.FormatOf(document.Kind(kind))
	switch {
	case !ok:
		return "application/json"
	case format.Accept != "":
		return format.Accept
	default:
		return strings.Join(format.MediaTypes, ", ")
	}
}

// An AskResult is how an ask ended.
type AskResult struct {
	// Outcome is never "" at the end.
	Outcome Outcome
	Detail  string // for a person; untrusted text
	// Definite says that the host gave a complete answer that is not a document: a stored document
	// is then no longer current.
	Definite bool
	// NamesFailed says of a DNSFailed that the name servers gave no answer, which a later request may
	// get: the name itself may be fine.
	NamesFailed bool
	// NoNameServer says of NamesFailed that our own name server could not be reached, which says nothing
	// of the host.
	NoNameServer bool

	certificate bool // of a TLSFailed: it was the certificate
}

// Unreachable reports that the host gave no answer of any kind, so that further requests are
// useless for now.
func (a *Ask) Unreachable(end AskResult) bool {
	if a.Fetch.Status != 0 {
		return false
	}
	return slices.Contains([]Outcome{DNSFailed, TLSFailed, Timeout, Unreachable, BlockedAddress}, end.Outcome)
}

// A Get executes one request over the connection in its context, with a [Transport] as its
// http.RoundTripper, and returns the body of the answer. It follows no redirects and changes
// nothing.
type Get func(ctx context.Context, address string, header http.Header) (body []byte, err error)

// Send makes the next request of a. Either the ask is settled, with the body of an OK or a
// [BadMediaType] in a.Fetch.Body, or the result is zero: then a redirect leads to a.Host, which may
// be another host. get executes the request; nil means the transport alone.
func (w *Connection) Send(ctx context.Context, a *Ask, get Get) AskResult {
	x := &exchange{limit: aidiscovery.HardSize}
	if format, ok := document.FormatOf(document.Kind(a.Kind)); ok {
		x.limit = format.HardSize
	}
	if a.Kind == KindRobots {
		x.limit, x.cut = robotsBytes, true
	}
	if get == nil {
		get = w.transport.executeRequest
	}
	w.exchange = x
	begun := time.Now()
	body, err := get(context.WithValue(ctx, connectionKey{}, w), a.url.String(), a.requestHeader(w.transport.o.UserAgent))
	took := time.Since(begun) + w.spent
	w.exchange, w.spent = nil, 0

	f := &a.Fetch
	f.Took += Millis(took.Milliseconds())
	a.Slowest = max(a.Slowest, took)
	f.Status, f.Remote = x.status, x.remote
	f.MediaType, f.RetryAfter, f.Fresh = "", 0, 0
	f.WireBytes += x.wireBytes
	a.Header, a.TLS = x.header, x.tls
	a.Made = Made{
		At: w.transport.o.Now().Add(-took), URL: a.url.String(), Status: x.status, Remote: x.remote, Took: Millis(took.Milliseconds()),
		WireBytes: x.wireBytes, Conditional: a.isConditional(),
	}
	a.Lost = x.lost
	if w.transport.o.Made != nil {
		if a.Lost != nil {
			w.transport.o.Made(*a.Lost)
		}
		w.transport.o.Made(a.Made)
	}
	if err != nil {
		return judgeError(err)
	}
	if final := a.url.String(); final != f.URL {
		f.Final = final
	}
	f.MediaType = protocol.ClipBytes(x.header.Get("Content-Type"), 200)
	f.RetryAfter = parseRetryAfter(x.header.Get("Retry-After"), w.transport.o.Now())
	f.Fresh = parseFreshness(x.header, w.transport.o.Now())
	if isRedirect(x.status) {
		return w.transport.followRedirect(a, x.header.Get("Location"))
	}
	end := judgeStatus(a, x.status)
	if end.Outcome != OK && end.Outcome != BadMediaType {
		return end
	}
	if x.wasCut { // the last line may be a part of one: half a rule is another rule
		body = body[:bytes.LastIndexAny(body, "\r\n")+1] // whole lines alone
	}
	f.Bytes, f.Body = int64(len(body)), body
	if end.Outcome == OK {
		f.ETag, f.LastModified = cleanValidator(x.header.Get("ETag")), cleanValidator(x.header.Get("Last-Modified"))
	}
	return end
}

// A Made is one request that was sent to a host, or was on its way there.
type Made struct {
	At          time.Time `json:"at"`
	URL         string    `json:"url"`
	Status      int       `json:"status,omitempty"` // 0: no answer
	Remote      string    `json:"remote,omitempty"` // IP address that was asked
	Took        Millis    `json:"took_ms"`
	WireBytes   int64     `json:"wire_bytes,omitempty"`  // of the body
	Conditional bool      `json:"conditional,omitempty"` // only for what changed
}

// ConnectionTLS describes the TLS connection of the last answer, nil without one.
func (a *Ask) ConnectionTLS() *TLS { return describeTLS(a.TLS) }
