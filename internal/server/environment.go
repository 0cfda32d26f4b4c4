package server

import (
	"context"
	"crypto/x509"
	"net"
	"time"

	"gazetteer/registry/evidence"
)

// Environment contains what the program uses from outside: the network, the name server and the
// clock. The zero value is the real environment. The demo and the tests replace it with a small
// internet.
type Environment struct {
	Dial  func(next DialFunc) DialFunc // nil: public addresses only
	Roots *x509.CertPool               // nil: the system's
	DNS   evidence.DNS                 // nil: the name server of the configuration
	// Clock returns the time that all rules with a duration use; nil means time.Now. Timers and the
	// deadlines of connections use the real time.
	Clock func() time.Time
	// VisitTimeout is the longest visit of the crawler to one host; 0 means the crawler's default.
	VisitTimeout time.Duration
}

// DialFunc connects to an address, as net.Dialer.DialContext does.
type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// Now returns the time of the environment.
func (e Environment) Now() time.Time {
	if e.Clock == nil {
		return time.Now()
	}
	return e.Clock()
}
