package crawler

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"

	"gazetteer/document"
)

const (
	// mostRedirects is how many redirects of one fetch are followed (AI
	// Discovery §2.2; RFC 9309 §2.3.1.2 has the same number).
	mostRedirects = 5
	locationBytes = 2048 // of a Location that is followed
	// kindRobots is the kind of a fetch of robots.txt.
	kindRobots = "robots"
)

// newCollector returns the collector that executes requests, one at a time and
// nothing more: robots, politeness, redirects, limits, revisits and encodings
// are this package's. It is built by Init, because NewCollector lets COLLY_*
// variables of the environment override the program.
func newCollector(rt http.RoundTripper) *colly.Collector {
	c := &colly.Collector{}
	c.Init()
	c.SetClient(&http.Client{Transport: rt})
	c.SetRedirectHandler(func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse })
	c.AllowURLRevisit = true
	c.IgnoreRobotsTxt = true
	c.ParseHTTPErrorResponse = true
	c.MaxBodySize = 0 // it cuts silently; the transport refuses
	c.DisableCookies()
	return c
}

// An ask is one thing to be fetched in a session: a document of the host that
// is visited, or the robots.txt of a host on the way to it. It becomes its
// Fetch, redirect by redirect.
type ask struct {
	kind string
	host string   // where url leads: whose robots and politeness apply
	of   string   // for robots: the host whose paths it judges
	url  *url.URL // the next request
	prev Fetch    // the last fetch of this kind, for validators
	// copied says that the bytes of prev are stored, so a 304 is of use.
	copied bool
	fetch  Fetch
}

func newAsk(kind, host, address string, now time.Time) (*ask, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	return &ask{kind: kind, host: host, url: u, fetch: Fetch{Kind: kind, URL: address, At: now}}, nil
}

// robotsPath is what robots.txt is asked about.
func (a *ask) robotsPath() string {
	return a.url.RequestURI()
}

// header returns the request header. Validators are sent only to the address
// they came from.
func (a *ask) header(userAgent string) http.Header {
	h := http.Header{"User-Agent": {userAgent}, "Accept": {accepts(a.kind)}}
	if a.conditional() {
		if a.prev.ETag != "" {
			h.Set("If-None-Match", a.prev.ETag)
		}
		if a.prev.LastModified != "" {
			h.Set("If-Modified-Since", a.prev.LastModified)
		}
	}
	return h
}

func (a *ask) conditional() bool {
	from := a.prev.Final
	if from == "" {
		from = a.prev.URL
	}
	return a.copied && from == a.url.String() && (a.prev.ETag != "" || a.prev.LastModified != "")
}

// accepts is the Accept header for a kind.
func accepts(kind string) string {
	switch kind {
	case kindRobots:
		return "text/plain, */*;q=0.5"
	case string(document.AGIS):
		return "application/agis+json, application/agis+yaml, application/agis, application/json, application/yaml, text/yaml;q=0.9, text/plain;q=0.5"
	default:
		return "application/json"
	}
}

// A settlement is the end of an ask.
type settlement struct {
	outcome Outcome
	detail  string
	// definite says that the host answered, whole, and what it answered is no
	// document: what was stored of it before is no longer current.
	definite bool
}

// request makes one request over the wire and reports how the ask goes on:
// with a redirect (next is set) or settled. An OK settlement has the body in
// a.fetch.Body.
func (c *Crawler) request(ctx context.Context, w *wire, a *ask) (next *url.URL, end settlement) {
	x := &exchange{limit: robotsBytes, cut: true}
	if format, ok := document.FormatOf(document.Kind(a.kind)); ok {
		x.limit, x.cut = format.HardSize, false
	}
	w.exchange = x
	var body []byte
	collector := c.collector.Clone()
	collector.Context = withWire(ctx, w)
	collector.OnResponse(func(r *colly.Response) { body = r.Body })
	begun := time.Now()
	err := collector.Request(http.MethodGet, a.url.String(), nil, nil, a.header(c.userAgent))
	w.exchange = nil

	f := &a.fetch
	f.Took += Millis(time.Since(begun).Milliseconds())
	f.Status, f.Remote = x.status, x.remote
	f.MediaType, f.RetryAfter, f.Fresh = "", 0, 0
	f.WireBytes += x.wireBytes
	if err != nil {
		return nil, judgeError(err)
	}
	if final := a.url.String(); final != f.URL {
		f.Final = final
	}
	f.MediaType = clip(x.header.Get("Content-Type"), 200)
	f.RetryAfter = retryAfter(x.header.Get("Retry-After"), c.now())
	f.Fresh = freshness(x.header)
	if isRedirect(x.status) {
		return c.redirect(a, x.header.Get("Location"))
	}
	end = c.judgeStatus(a, x)
	if end.outcome != OK {
		return nil, end
	}
	if x.wasCut { // the last line may be a part of one: half a rule is another rule
		body = body[:lastLineEnd(body)]
	}
	f.ETag, f.LastModified = validator(x.header.Get("ETag")), validator(x.header.Get("Last-Modified"))
	f.Bytes, f.Body = int64(len(body)), body
	return nil, end
}

// validator keeps a validator of sane length. A part of one would be another, so
// a longer one is not kept at all.
func validator(value string) string {
	if len(value) > 500 {
		return ""
	}
	return value
}

// lastLineEnd returns where the last whole line of text ends.
func lastLineEnd(text []byte) int {
	return strings.LastIndexAny(string(text), "\r\n") + 1
}

func isRedirect(status int) bool {
	return slices.Contains([]int{301, 302, 303, 307, 308}, status)
}

// redirect judges a Location and returns the address to go on with.
func (c *Crawler) redirect(a *ask, location string) (*url.URL, settlement) {
	if len(a.fetch.Redirects) == mostRedirects {
		return nil, settlement{outcome: TooManyRedirects, detail: fmt.Sprintf("more than %d redirects", mostRedirects)}
	}
	next, end := c.target(a.url, location)
	a.fetch.Redirects = append(a.fetch.Redirects, clip(location, 500))
	return next, end
}

// target judges an address that a stranger wants us to ask, before anything is
// resolved or dialled, and returns it with its host in normal form. The
// settlement is set when it must not be asked.
func (c *Crawler) target(base *url.URL, location string) (*url.URL, settlement) {
	bad := func(format string, args ...any) (*url.URL, settlement) {
		return nil, settlement{outcome: BadRedirect, detail: fmt.Sprintf(format, args...)}
	}
	switch {
	case location == "":
		return bad("the redirect has no Location")
	case len(location) > locationBytes:
		return bad("the address is %d bytes long; at most %d are followed", len(location), locationBytes)
	case strings.ContainsFunc(location, func(r rune) bool { return r <= ' ' || r == '\\' || r == 0x7f }):
		return bad("the address %.100q holds a blank, a control character or a backslash", location)
	}
	u, err := base.Parse(location)
	if err != nil {
		return bad("the address %.100q cannot be read", location)
	}
	switch {
	case u.Scheme == "http":
		return nil, settlement{outcome: InsecureRedirect, detail: fmt.Sprintf("to %.200q; only https is followed", u.String())}
	case u.Scheme != "https" || u.Opaque != "":
		return bad("the address %.100q is not https", location)
	case u.User != nil:
		return bad("the address %.100q carries user information", location)
	}
	host, err := CheckHost(u.Hostname())
	if ipv6 := strings.HasPrefix(u.Host, "["); ipv6 || err != nil {
		var wrong *HostError
		if ipv6 || errors.As(err, &wrong) && wrong.Address {
			return nil, settlement{outcome: BlockedAddress, detail: fmt.Sprintf("the address %.100q leads to no public host", location)}
		}
		return bad("the address %.100q: %v", location, err)
	}
	if !portAllowed(u.Port(), c.ports) {
		return bad("port %s of the address %.100q is not asked", u.Port(), location)
	}
	port := u.Port()
	u.Host, u.Fragment, u.RawFragment = host, "", ""
	if port != "" && port != "443" {
		u.Host = net.JoinHostPort(host, port)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, settlement{}
}

// judgeStatus settles an answer that is no redirect.
func (c *Crawler) judgeStatus(a *ask, x *exchange) settlement {
	status := x.status
	answered := fmt.Sprintf("answered %d %s", status, http.StatusText(status))
	switch {
	case a.kind == kindRobots && status >= 200 && status < 300:
		return settlement{outcome: OK}
	case status == 200 || status == 203:
		if why := wrongMediaType(a.kind, a.url, a.fetch.MediaType); why != "" {
			return settlement{BadMediaType, why, true}
		}
		return settlement{outcome: OK}
	case status == 304 && a.conditional():
		return settlement{outcome: Unchanged}
	case status == 404 || status == 410:
		return settlement{Absent, answered, true}
	case status == 401 || status == 403:
		return settlement{Forbidden, answered + "; discovery must not need authentication", false}
	case status == 429:
		return settlement{outcome: Throttled, detail: answered}
	case status >= 500:
		return settlement{outcome: ServerError, detail: answered}
	default:
		return settlement{outcome: BadStatus, detail: answered}
	}
}

// wrongMediaType says what is wrong with a Content-Type, "" when nothing is.
func wrongMediaType(kind string, from *url.URL, contentType string) string {
	if kind == kindRobots {
		return "" // RFC 9309 §2.3 asks for text/plain; nobody heeds it
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		media = strings.ToLower(strings.TrimSpace(contentType))
	}
	format, ok := document.FormatOf(document.Kind(kind))
	if !ok {
		return "no format is called " + kind
	}
	if slices.Contains(format.MediaTypes, media) || kind == string(document.AGIS) && isAGISText(media, from.Path) {
		return ""
	}
	want := format.MediaTypes[0]
	if media == "" {
		return "no Content-Type; serve the document as " + want
	}
	return fmt.Sprintf("Content-Type is %.60q; serve the document as %s", media, want)
}

// isAGISText accepts an AGIS document that is served as plain text when its name
// says what it is.
func isAGISText(media, name string) bool {
	return media == "text/plain" && slices.Contains([]string{".agis", ".yaml", ".yml"}, strings.ToLower(path.Ext(name)))
}

// judgeError settles an exchange that ended without a whole answer.
func judgeError(err error) settlement {
	var (
		blocked  *BlockedError
		large    *tooLargeError
		encoding *encodingError
		dns      *net.DNSError
		phase    *phaseError
	)
	switch {
	case errors.As(err, &blocked):
		return settlement{outcome: BlockedAddress, detail: blocked.Error()}
	case errors.As(err, &large):
		return settlement{TooLarge, large.Error(), true}
	case errors.As(err, &encoding):
		return settlement{outcome: Unreadable, detail: encoding.Error()}
	case errors.As(err, &dns):
		return settlement{outcome: DNSFailed, detail: clip(dns.Error(), 200)}
	case isTimeout(err):
		detail := "no whole answer in time"
		if errors.As(err, &phase) {
			detail = "no connection in time (" + phase.phase + ")"
		}
		return settlement{outcome: Timeout, detail: detail}
	case errors.As(err, &phase) && phase.phase == "tls":
		return settlement{outcome: TLSFailed, detail: clip(phase.err.Error(), 200)}
	}
	var asked *url.Error
	if errors.As(err, &asked) {
		err = asked.Err
	}
	return settlement{outcome: Unreachable, detail: clip(err.Error(), 200)}
}

func isTimeout(err error) bool {
	var timed interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timed) && timed.Timeout()
}

// clip shortens a stranger's text to at most n bytes of whole characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

const (
	leastRetryAfter = time.Second
	mostRetryAfter  = 24 * time.Hour
)

// retryAfter reads a Retry-After header in either form (RFC 9110 §10.2.3) as a
// delay between 1 second and 24 hours; 0 when there is none to be read.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseUint(value, 10, 32)
		if err != nil { // more digits than any delay needs
			return mostRetryAfter
		}
		return min(max(time.Duration(seconds)*time.Second, leastRetryAfter), mostRetryAfter)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), leastRetryAfter), mostRetryAfter)
}

// freshness reads how long an answer stays fresh from Cache-Control and Age
// (RFC 9111 §4.2): 0 when it does not say, a nanosecond when it says "not at
// all", so that both can be told apart.
func freshness(h http.Header) time.Duration {
	const stale = time.Nanosecond
	directives := strings.Split(strings.ToLower(strings.Join(h.Values("Cache-Control"), ",")), ",")
	fresh := time.Duration(0)
	for _, d := range directives {
		name, value, _ := strings.Cut(strings.TrimSpace(d), "=")
		switch name {
		case "no-store", "no-cache":
			return stale
		case "max-age":
			seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31)
			if errors.Is(err, strconv.ErrRange) {
				seconds, err = 1<<31-1, nil
			}
			if err == nil {
				fresh = max(time.Duration(seconds)*time.Second, stale)
			}
		}
	}
	age, err := strconv.ParseUint(h.Get("Age"), 10, 31)
	if err == nil && fresh > 0 {
		fresh = max(fresh-time.Duration(age)*time.Second, stale)
	}
	return fresh
}
