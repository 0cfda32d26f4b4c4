package resolve

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"gazetteer/fetch"
	"gazetteer/limit"
)

// HTTPSOptions configure an [HTTPS].
type HTTPSOptions struct {
	// Dial connects to "name:port" and decides which addresses may be reached: DialContext of a
	// fetch.Guard, which refuses those inside networks. It is required, because without it an
	// untrusted DID could reach anything.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Roots that certificates are verified against; the system's when nil.
	Roots     *x509.CertPool
	UserAgent string        // "Gazetteer" when empty
	Timeout   time.Duration // one request with its body; 5 s when 0
}

// HTTPS sends single requests to foreign hosts: over HTTPS only, without following redirects, on a
// new connection each, limited in size and time. Its methods may be called from any goroutine.
type HTTPS struct {
	client  *http.Client
	agent   string
	timeout time.Duration
}

// NewHTTPS returns a client. It fails when Dial is missing.
func NewHTTPS(o HTTPSOptions) (*HTTPS, error) {
	if o.Dial == nil {
		return nil, errors.New("resolve: no Dial given that says which addresses may be reached")
	}
	o.Timeout = cmp.Or(o.Timeout, 5*time.Second)
	o.UserAgent = cmp.Or(o.UserAgent, "Gazetteer")
	transport := &http.Transport{
		DialContext:            o.Dial,
		TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives:      true,
		DisableCompression:     true, // a small answer must not become a large one
		MaxResponseHeaderBytes: 16 << 10,
	}
	client := &http.Client{Transport: fetch.HTTP1(transport), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &HTTPS{client: client, agent: o.UserAgent, timeout: o.Timeout}, nil
}

// A Page is an HTTP answer.
type Page struct {
	URL       string
	Remote    string // address and port that answered
	Status    int
	MediaType string // without parameters, "" for none or a broken one
	Location  string // of a redirect, which was not followed
	Body      []byte
}

// A TooLargeError says that a body is larger than the limit.
type TooLargeError struct {
	URL   string
	Limit int // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the answer of %s is larger than %d bytes", e.URL, e.Limit)
}

// An unansweredError says why there was no complete answer. Strangers read it, so its text has neither
// our addresses nor those of our name servers.
type unansweredError struct{ err error }

func (e *unansweredError) Error() string { return fetch.Reason(e.err) }
func (e *unansweredError) Unwrap() error { return e.err }

// Get requests an https URL and reads at most so many bytes of the body. No status is an error; an error
// means that there was no complete answer, and the page then holds the known part. For a larger body
// the error is a [*TooLargeError].
func (c *HTTPS) Get(ctx context.Context, address, accept string, most int) (Page, error) {
	return c.doRequest(ctx, http.MethodGet, address, accept, "", most)
}

// Post sends a JSON body; otherwise it does the same as [HTTPS.Get].
func (c *HTTPS) Post(ctx context.Context, address, body string, most int) (Page, error) {
	return c.doRequest(ctx, http.MethodPost, address, "application/json", body, most)
}

func (c *HTTPS) doRequest(ctx context.Context, method, address, accept, body string, most int) (Page, error) {
	page := Page{URL: address}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return page, fmt.Errorf("%q is no https URL", address)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var remote atomic.Value // the trace may come from a goroutine of net/http
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		remote.Store(i.Conn.RemoteAddr().String())
	}})
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return page, fmt.Errorf("ask for %s: %w", address, err)
	}
	request.Header.Set("User-Agent", c.agent)
	request.Header.Set("Accept", accept)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := c.client.Do(request)
	page.Remote, _ = remote.Load().(string)
	if err != nil {
		return page, &unansweredError{err}
	}
	defer answer.Body.Close()
	page.Status, page.Location = answer.StatusCode, answer.Header.Get("Location")
	page.MediaType, _, _ = mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if answer.ContentLength > int64(most) {
		return page, &TooLargeError{URL: address, Limit: most}
	}
	page.Body, err = limit.ReadAll(answer.Body, int64(most))
	switch {
	case errors.Is(err, limit.ErrTooLarge):
		return page, &TooLargeError{URL: address, Limit: most}
	case err != nil:
		return page, &unansweredError{err}
	}
	return page, nil
}
