package server

import (
	"context"
	"crypto/x509"
	"net"

	"gazetteer/registry/evidence"
)

// Environment is where the program meets the world. The zero value is the real one:
// the demo and the tests put a small internet in its place.
type Environment struct {
	Dial  func(next DialFunc) DialFunc // nil: public addresses only
	Roots *x509.CertPool               // nil: the system's
	DNS   evidence.DNS                 // nil: the name server of the configuration
}

type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)
