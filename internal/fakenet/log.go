package fakenet

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"slices"
	"time"
)

// A Request is one request as the server saw it.
type Request struct {
	Host   string // as asked, lower case, without port
	Method string
	Path   string // with the query, as sent
	Proto  string // "HTTP/1.1" or "HTTP/2.0"
	// TLS is false for a request that came over plain HTTP: a downgrade.
	TLS bool
	// Conn numbers the connections of a Net from 1 in the order they were
	// opened; two requests with one number shared a connection.
	Conn   uint64
	Remote string // the client's address; "pipe" with Options.Memory
	// Header holds every header of the request.
	Header http.Header
	// Begun is when the header had arrived, Ended when the handler returned.
	// Ended is zero while the handler runs.
	Begun, Ended time.Time
	Status       int   // 0 while nothing was written
	Bytes        int64 // of the body, as the handler wrote it
}

// Requests returns every request so far, in the order they began.
func (n *Net) Requests() []Request {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.requests)
}

// ServeHTTP logs the request and hands it to the handler of its host.
func (n *Net) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = foldHost(host)
	site, entry, ok := n.beginRequest(host, r)
	if !ok {
		return // closing
	}
	defer n.served.Done()
	seen := &recordingWriter{ResponseWriter: w}
	defer n.endRequest(entry, seen)
	switch {
	case site.Handler == nil, r.TLS != nil && foldHost(r.TLS.ServerName) != host:
		http.Error(seen, "no such host here", http.StatusMisdirectedRequest)
	default:
		site.Handler.ServeHTTP(seen, r)
	}
}

// beginRequest writes the request into the log and returns its place there, and false
// when the Net is closing. It counts the handler in n.served.
func (n *Net) beginRequest(host string, r *http.Request) (site Site, entry int, ok bool) {
	conn, _ := r.Context().Value(connKey{}).(uint64)
	site, _ = n.siteOf(host)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return Site{}, 0, false
	}
	n.served.Add(1)
	n.requests = append(n.requests, Request{
		Host: host, Method: r.Method, Path: r.RequestURI, Proto: r.Proto,
		TLS: r.TLS != nil, Conn: conn, Remote: r.RemoteAddr,
		Header: r.Header.Clone(), Begun: time.Now(),
	})
	return site, len(n.requests) - 1, true
}

func (n *Net) endRequest(entry int, w *recordingWriter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	q := &n.requests[entry]
	q.Ended, q.Status, q.Bytes = time.Now(), w.status, w.bytes
}

// recordingWriter notes what a handler wrote. Flush and Hijack are reached through
// http.NewResponseController.
type recordingWriter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (w *recordingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *recordingWriter) WriteHeader(status int) {
	w.status = cmp.Or(w.status, status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *recordingWriter) Write(p []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// trackConn keeps the set of open connections. A hijacked one stays in it, because
// the server no longer closes it.
func (n *Net) trackConn(c net.Conn, state http.ConnState) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch state {
	case http.StateNew:
		n.conns[c] = struct{}{}
	case http.StateClosed:
		delete(n.conns, c)
	}
}

type connKey struct{}

// numberConn gives each connection the next number.
func (n *Net) numberConn(ctx context.Context, _ net.Conn) context.Context {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lastConn++
	return context.WithValue(ctx, connKey{}, n.lastConn)
}
