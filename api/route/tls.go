package route

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"gazetteer/limit"
)

// ServeTLS is [http.Server.ServeTLS] with the certificates of server.TLSConfig, for HTTP/1 and with
// [StrictLines]: that function must see the decrypted bytes, which net/http reads from connections of
// its own.
func ServeTLS(server *http.Server, l net.Listener) error {
	handler := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(tlsConnKey{}).(*tls.Conn); ok {
			state := conn.ConnectionState()
			r.TLS = &state
		}
		handler.ServeHTTP(w, r)
	})
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if strict, ok := conn.(*strictConn); ok {
			if encrypted, ok := strict.Conn.(*tlsConn); ok {
				return context.WithValue(ctx, tlsConnKey{}, encrypted.Conn)
			}
		}
		return ctx
	}
	return server.Serve(StrictLines(tlsListener{l, server.TLSConfig, server.ErrorLog}))
}

// tlsConnKey is the key of the *tls.Conn in the context of a request.
type tlsConnKey struct{}

type tlsListener struct {
	net.Listener
	config *tls.Config
	log    *log.Logger // for handshakes that fail
}

func (l tlsListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tlsConn{WrappedConn: limit.WrappedConn{Conn: tls.Server(c, l.config)}, log: l.log}, nil
}

// A tlsConn does its handshake in the first Read, which the goroutine of the connection calls. Its
// NetConn is the *tls.Conn: nobody may write to the connection inside of that.
type tlsConn struct {
	limit.WrappedConn
	log  *log.Logger
	done bool // the handshake; the goroutine that reads owns it
}

func (c *tlsConn) Read(p []byte) (int, error) {
	if !c.done {
		c.done = true
		if err := c.handshake(c.Conn.(*tls.Conn)); err != nil {
			return 0, err
		}
	}
	return c.Conn.Read(p)
}

// handshake has the time of a header, and then the header has its own.
func (c *tlsConn) handshake(encrypted *tls.Conn) error {
	encrypted.SetDeadline(time.Now().Add(headerTime))
	err := encrypted.Handshake()
	if err == nil {
		encrypted.SetDeadline(time.Time{})
		encrypted.SetReadDeadline(time.Now().Add(headerTime))
		return nil
	}
	if plain, ok := errors.AsType[tls.RecordHeaderError](err); ok && plain.Conn != nil && isRequestLine(plain.RecordHeader) {
		io.WriteString(plain.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nThis address speaks HTTPS: the request was plain HTTP.\n")
	}
	if c.log != nil {
		c.log.Printf("TLS handshake with %s: %v", c.RemoteAddr(), err)
	}
	return err
}

// isRequestLine reports whether the first bytes of a connection begin an HTTP request.
func isRequestLine(first [5]byte) bool {
	switch string(first[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH":
		return true
	}
	return false
}
