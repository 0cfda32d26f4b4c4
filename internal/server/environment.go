package server

import (
	"context"
	"crypto/x509"
	"net"
	"time"

	"gazetteer/registry/evidence"
)

// Environment is what lies outside of the program: the network, the name server and the clock. The
// zero value is the real one; the demo and the tests put a small internet in its place.
type Environment struct {
	Dial  func(next DialFunc) DialFunc // nil: public addresses only
	Roots *x509.CertPool               // nil: the system's
	DNS   evidence.DNS                 // nil: the name server of the configuration
	// Clock tells the time that every rule with a duration is measured by; nil is time.Now. Timers
	// and the deadlines of connections run by the real time.
	Clock func() time.Time
}

// DialFunc connects to an address, as net.Dialer.DialContext does.
type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// Now is the time of the environment.
func (e Environment) Now() time.Time {
	if e.Clock == nil {
		return time.Now()
	}
	return e.Clock()
}
