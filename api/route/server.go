package route

import (
	"cmp"
	"log/slog"
	"net/http"
	"os"
	"time"
)

// The limits of one connection. A slower client is disconnected, so that idle and dripping
// connections hold nothing for long.
const (
	headerTime   = 5 * time.Second
	readTime     = 20 * time.Second // headers and body
	WriteTime    = 60 * time.Second // from the end of the headers to the end of the answer
	idleTime     = 60 * time.Second
	maxHeaderLen = 16 << 10
)

// NewServer returns an HTTP server for handler with every limit set. The caller gives it a
// listener, wrapped by [StrictLines], and shuts it down. Errors of connections that net/http
// reports are logged at debug level, because clients cause most of them.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	return &http.Server{
		Handler:           enlargeStack(limitBodies(handler)),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		WriteTimeout:      WriteTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeaderLen,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// requestStack makes the stack of a goroutine 32 kB large, which most changes need; a read needs 16 kB.
const requestStack = 16 << 10

// enlargeStack makes the stack of a new connection's goroutine large enough for the handler at once.
// Otherwise Go doubles it two or three times while functions call each other, and each time copies
// it: a third of the processor time of a short request. Collections make the stacks of waiting
// requests small again.
func enlargeStack(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		useStack()
		handler.ServeHTTP(w, r)
	})
}

//go:noinline
func useStack() byte {
	var frame [requestStack]byte
	return frame[len(os.Args)%len(frame)] // an index that the compiler does not know: it keeps the frame
}

// limitBodies gives each body its time, also where the handler does not read it: net/http reads the
// rest of a short body before it sends the answer. It closes a connection after a chunked body:
// [StrictLines] does not see where it ends, and a request that also had a length may be two requests
// in disguise (RFC 9112 §6.3); by now net/http has dropped the Content-Length.
func limitBodies(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			// The server restores the deadline of the connection for the next request.
			http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
		}
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}
