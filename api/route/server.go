package route

import (
	"log/slog"
	"net/http"
	"time"
)

// The limits of one connection. A client that is slower than these is cut off,
// so that idle and dripping connections hold nothing for long.
const (
	headerTime   = 5 * time.Second
	readTime     = 20 * time.Second // headers and body
	WriteTime    = 60 * time.Second // from the end of the headers to the end of the answer
	idleTime     = 60 * time.Second
	maxHeaderLen = 16 << 10
)

// NewServer returns an HTTP server for handler with every limit set. The caller
// gives it a listener, by way of [StrictLines], and shuts it down. What net/http
// says of broken connections goes to the log at debug level: strangers write most
// of it.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler:           lastInChunks(handler),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		WriteTimeout:      WriteTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeaderLen,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// lastInChunks closes a connection behind a body in chunks. [StrictLines] does not
// see where that ends, and a request that had a length, too, may be two in
// disguise (RFC 9112 §6.3): net/http has dropped the Content-Length by now.
func lastInChunks(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		handler.ServeHTTP(w, r)
	})
}
