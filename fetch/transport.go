package fetch

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// gzipSlack is what gzip may add to bytes that it cannot compress. drainBytes is how much of an
	// unwanted body is read to keep the connection.
	gzipSlack = 1 << 10
	// drainBytes of an unwanted body are read to keep the connection.
	drainBytes = 16 << 10
)

// Options configure a [Transport], and with it a [Client]. Durations of 0 mean the default.
type Options struct {
	// Guard dials names and refuses forbidden addresses. Nil means a strict guard for Ports.
	Guard *Guard
	// Dial replaces the Guard in tests and in the demo.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Roots verify certificates. Nil means the system's roots.
	Roots *x509.CertPool
	// Ports lists the HTTPS ports that redirects and links may use; only 443 when empty. A Guard
	// must allow them too.
	Ports     []uint16
	UserAgent string // "Gazetteer/0.1"; robots.txt knows us as [RobotsToken]

	Timeout        time.Duration // one request, connecting and body included; 10 s
	ConnectTimeout time.Duration // resolving and connecting; two fifths of Timeout, 4 s at the least
	TLSTimeout     time.Duration // the TLS handshake; half of Timeout, 5 s at the least
	IdleTimeout    time.Duration // within an answer, from one byte to the next; as TLSTimeout

	// Resolver finds the addresses of a host for [Transport.Resolve] where Dial replaces the Guard;
	// without one they stay unknown.
	Resolver Resolver
	// VerifyFullChains checks every signature of every certificate chain. Otherwise an
	// intermediate certificate that was verified is trusted for a day, which halves the cost of a
	// first fetch.
	VerifyFullChains bool

	// Made, when set, receives every request. It is called from the goroutine that made the request
	// and must not block.
	Made func(Made)

	// Now is the clock that dates are compared with; time.Now when nil.
	Now func() time.Time

	// The remaining options are for a [Client].

	SessionTimeout time.Duration // one call, waits for politeness included; 1 min
	MaxCrawlDelay  time.Duration // longest Crawl-delay honored; 10 s
	// Retries is how often a request that met a server error is repeated, 0 to 3 times (AI
	// Discovery §4.3), with growing pauses.
	Retries int
}

// setDefaults fills in the defaults.
func (o *Options) setDefaults() error {
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	// A longer timeout for slow hosts applies to every part of it.
	o.ConnectTimeout = cmp.Or(o.ConnectTimeout, max(4*time.Second, o.Timeout*2/5))
	o.TLSTimeout = cmp.Or(o.TLSTimeout, max(5*time.Second, o.Timeout/2))
	o.IdleTimeout = cmp.Or(o.IdleTimeout, max(5*time.Second, o.Timeout/2))
	o.SessionTimeout = cmp.Or(o.SessionTimeout, time.Minute)
	o.MaxCrawlDelay = cmp.Or(o.MaxCrawlDelay, 10*time.Second)
	o.Retries = min(max(o.Retries, 0), maxRetries)
	o.UserAgent = cmp.Or(o.UserAgent, RobotsToken+"/0.1")
	if len(o.Ports) == 0 {
		o.Ports = []uint16{443}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Dial != nil {
		o.Guard = nil
		return nil
	}
	if o.Guard == nil {
		guard, err := NewGuard(GuardOptions{Ports: o.Ports})
		if err != nil {
			return err
		}
		o.Guard = guard
	}
	o.Dial = o.Guard.DialContext
	return nil
}

// A Transport executes one request at a time over the [Connection] in the request's context: HTTPS
// only, no redirects, its own gzip, with limits on the size of header and body and on time. It
// reads the whole body, so its answer is complete or an error: nothing is cut silently. It is an
// http.RoundTripper for the requests of [Connection.Send], and may be shared.
type Transport struct {
	o   Options // Guard is nil when Dial takes its place
	tls *tls.Config
}

// NewTransport returns a transport. It opens no connection yet.
func NewTransport(o Options) (*Transport, error) {
	if err := o.setDefaults(); err != nil {
		return nil, fmt.Errorf("transport: %w", err)
	}
	config := &tls.Config{
		RootCAs:    o.Roots,
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		// Only a classical key share is sent. The hybrid with ML-KEM costs a tenth of a first
		// fetch, and the fetched data is public; a server without X25519 may still ask for P-256.
		CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384},
	}
	if !o.VerifyFullChains {
		useChainCache(config)
	}
	return &Transport{o, config}, nil
}

// Resolve returns the addresses of a host in the order to try them, at most 4, each checked; none
// when only Options.Dial knows them. The result is set when the host cannot be asked.
func (t *Transport) Resolve(ctx context.Context, host string) ([]netip.Addr, AskResult) {
	ctx, cancel := context.WithTimeout(ctx, t.o.ConnectTimeout)
	defer cancel()
	var addrs []netip.Addr
	var err error
	switch {
	case t.o.Guard != nil:
		addrs, err = t.o.Guard.Resolve(ctx, host)
	case t.o.Resolver != nil:
		addrs, err = resolveHost(ctx, t.o.Resolver, host)
	}
	if err != nil {
		return nil, judgeError(&phaseError{"connect", err})
	}
	return addrs[:min(len(addrs), maxDialed)], AskResult{}
}

// executeRequest executes one request on the connection in its context.
func (t *Transport) executeRequest(ctx context.Context, address string, header http.Header) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header = header
	resp, err := t.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// An exchange is one request and its answer, kept beside the http types because those have no place
// for how it ended.
type exchange struct {
	limit int  // decoded bytes of the body
	cut   bool // a longer body is cut there (robots.txt), not refused

	remote    string      // IP address of the other side
	status    int         // 0: no answer
	header    http.Header // as received
	tls       *tls.ConnectionState
	wireBytes int64
	ended     bool // the body was read to its end
	wasCut    bool
	lost      *Made // before this one, over a connection that had ended; nil when none was
}

// connectionKey is the key of the connection in the context of a request. The crawler executes
// requests by colly, which hands the context on to this transport but returns the body alone. So the
// connection in the context is the way by which a request reaches its own connection, and by which
// status, headers and failures come back as a value. Nothing else reads it.
type connectionKey struct{}

// Errors of an exchange, besides those of the network.
type (
	// tooLargeError: the header or body is over its limit.
	tooLargeError struct{ what string }
	// encodingError: the bytes are not what their encoding says.
	encodingError struct{ why string }
	// phaseError: no connection was made; phase is "connect" or "tls".
	phaseError struct {
		phase string
		err   error
	}
)

func (e *tooLargeError) Error() string { return e.what }
func (e *encodingError) Error() string { return e.why }
func (e *phaseError) Error() string    { return e.phase + ": " + e.err.Error() }
func (e *phaseError) Unwrap() error    { return e.err }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(asked *http.Request) (*http.Response, error) {
	w, ok := asked.Context().Value(connectionKey{}).(*Connection)
	if !ok || w.exchange == nil {
		return nil, errors.New("request without a wire")
	}
	// The URL was parsed again on its way here: it must still be the one that was judged.
	if err := t.checkAllowed(asked, w.host); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(asked.Context(), t.o.Timeout)
	defer cancel()
	resp, body, err := w.roundTrip(ctx, asked)
	if err != nil {
		return nil, err
	}
	// The answer passed up is complete and decoded. Its original header stays in the exchange:
	// without Location, Content-Type and Content-Encoding, no caller follows, transcodes or
	// unpacks.
	return &http.Response{
		Status: resp.Status, StatusCode: resp.StatusCode,
		Proto: resp.Proto, ProtoMajor: resp.ProtoMajor, ProtoMinor: resp.ProtoMinor,
		Header:        http.Header{"Content-Type": {"application/octet-stream"}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Uncompressed:  true,
		Request:       asked,
	}, nil
}

// checkAllowed restricts a request to the host of its connection, to HTTPS and to the allowed
// ports.
func (t *Transport) checkAllowed(req *http.Request, host string) error {
	switch {
	case req.Method != http.MethodGet:
		return errors.New("only GET is requested, not " + req.Method)
	case req.URL.Scheme != "https":
		return &BlockedError{Host: req.URL.Host, Why: "only https is requested, not " + req.URL.Scheme}
	case req.URL.Hostname() != host:
		return &BlockedError{Host: req.URL.Host, Why: "the connection is to " + host}
	case !portAllowed(req.URL.Port(), t.o.Ports):
		return &BlockedError{Host: req.URL.Host, Why: "port " + req.URL.Port() + " is not allowed"}
	}
	return nil
}

// portAllowed reports whether the port of an https URL ("" is 443) is in the list.
func portAllowed(port string, ports []uint16) bool {
	port = cmp.Or(port, "443")
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && slices.Contains(ports, uint16(n))
}

// readBody returns the decoded body of a 2xx answer, and nothing for any other answer, whose body
// is only drained as far as that saves the connection.
func (x *exchange) readBody(resp *http.Response) ([]byte, error) {
	body := &countingReader{from: resp.Body, count: &x.wireBytes, ended: &x.ended}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		if resp.ContentLength <= drainBytes {
			// An error here costs the connection, not the answer.
			_, _ = io.CopyN(io.Discard, body, drainBytes+1)
		}
		return nil, nil
	}
	wireLimit := int64(x.limit) + gzipSlack
	if resp.ContentLength > wireLimit && !x.cut {
		return nil, &tooLargeError{fmt.Sprintf("Content-Length is %d bytes; at most %d are accepted", resp.ContentLength, x.limit)}
	}
	body.limit = wireLimit
	decoded, err := newDecoder(resp.Header.Values("Content-Encoding"), body)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(decoded, int64(x.limit)+1))
	over := len(text) > x.limit || body.isOverLimit()
	switch {
	case over && x.cut:
		x.wasCut = true
		return text[:min(len(text), x.limit)], nil
	case over:
		return nil, &tooLargeError{fmt.Sprintf("the body is over %d bytes", x.limit)}
	case err != nil:
		return nil, err
	}
	return text, nil
}

// newDecoder decodes the content encoding. Only gzip, applied once, was requested.
func newDecoder(encodings []string, body io.Reader) (io.Reader, error) {
	switch encoding := strings.ToLower(strings.TrimSpace(strings.Join(encodings, ","))); encoding {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			return nil, gzipError(err)
		}
		return gzipReader{unpacked}, nil
	default:
		return nil, &encodingError{fmt.Sprintf("Content-Encoding %.40q was not requested; use gzip or none", encoding)}
	}
}

// gzipReader distinguishes damage in the packed bytes from network failures.
type gzipReader struct{ *gzip.Reader }

func (r gzipReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	return n, gzipError(err)
}

func gzipError(err error) error {
	switch {
	case err == nil || err == io.EOF:
		return err
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, io.ErrUnexpectedEOF),
		strings.HasPrefix(err.Error(), "flate:"):
		return &encodingError{"the gzip body is damaged or cut short: " + err.Error()}
	}
	return err
}

// errWireLimit ends a body that is longer than its limit on transferred bytes.
var errWireLimit = errors.New("over the limit on the wire")

// countingReader counts the bytes that pass, records the end, and fails after more than limit
// bytes; limit 0 means none.
type countingReader struct {
	from  io.Reader
	count *int64
	ended *bool
	limit int64
}

func (r *countingReader) isOverLimit() bool { return r.limit > 0 && *r.count > r.limit }

func (r *countingReader) Read(p []byte) (int, error) {
	if r.isOverLimit() {
		return 0, errWireLimit
	}
	if room := r.limit - *r.count + 1; r.limit > 0 && int64(len(p)) > room {
		p = p[:room]
	}
	n, err := r.from.Read(p)
	*r.count += int64(n)
	*r.ended = *r.ended || err == io.EOF
	return n, err
}
