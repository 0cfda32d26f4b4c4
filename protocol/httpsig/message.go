package httpsig

import (
	"cmp"
	"net/http"
	"strings"
)

// A Message is a request that is signed or verified. Its fields are as the client sent them.
type Message struct {
	Method    string
	Scheme    string // "https" or "http"
	Authority string // host, and port where one was written
	Path      string // as it stood in the request, still escaped
	Query     string // without "?"
	Header    http.Header
	Body      []byte
}

// FromRequest returns the message of a request whose body has been read. The scheme is that of the
// request's URL; on a server it is https for TLS connections and http otherwise. A server behind a
// proxy that terminates TLS must set Scheme itself.
func FromRequest(r *http.Request, body []byte) Message {
	m := Message{
		Method: r.Method, Scheme: r.URL.Scheme, Authority: r.Host, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery,
		Header: r.Header, Body: body,
	}
	m.Method = cmp.Or(m.Method, http.MethodGet)
	m.Authority = cmp.Or(m.Authority, r.URL.Host)
	if m.Scheme == "" {
		m.Scheme = "http"
		if r.TLS != nil {
			m.Scheme = "https"
		}
	}
	return m
}

// authority is the value of @authority: lower case, without the scheme's default port (RFC 9421
// §2.2.3).
func (m Message) authority() string { return NormalAuthority(m.Authority, m.Scheme) }

// NormalAuthority returns an authority as @authority has it: in lower case, and
// without the port when it is the default one of the scheme.
func NormalAuthority(authority, scheme string) string {
	authority = strings.ToLower(authority)
	switch strings.ToLower(scheme) {
	case "https":
		return strings.TrimSuffix(authority, ":443")
	case "http":
		return strings.TrimSuffix(authority, ":80")
	}
	return authority
}

// path is the value of @path (RFC 9421 §2.2.6).
func (m Message) path() string {
	if m.Path == "" {
		return "/"
	}
	return m.Path
}
