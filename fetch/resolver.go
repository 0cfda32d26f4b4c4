package fetch

import (
	"context"
	"net"
	"time"
)

// resolverTimeout is how long a name server may take before the question is repeated to it or sent
// to the next one. It is half of the minimum time for resolving and connecting: the standard
// resolver waits five seconds unless resolv.conf says less, so a lost question, or a dead first
// name server, would fail every lookup.
const resolverTimeout = 2 * time.Second

// newResolver returns a resolver that asks the name servers of this machine (resolv.conf, with its
// attempts and, where it is shorter, its timeout) and gives up on a server that is silent for this
// long. dial reaches the name servers.
func newResolver(patience time.Duration, dial func(ctx context.Context, network, address string) (net.Conn, error)) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		// The standard resolver tells by the type whether the connection is a datagram one.
		if udp, ok := conn.(*net.UDPConn); ok {
			return deadlineUDPConn{udp, patience}, nil
		}
		return deadlineConn{conn, patience}, nil
	}}
}

// deadlineConn is a connection with early deadlines.
type deadlineConn struct {
	net.Conn
	patience time.Duration
}

// SetDeadline implements net.Conn.
func (c deadlineConn) SetDeadline(t time.Time) error {
	return c.Conn.SetDeadline(nearerDeadline(t, c.patience))
}

// deadlineUDPConn is the same for datagrams.
type deadlineUDPConn struct {
	*net.UDPConn
	patience time.Duration
}

// SetDeadline implements net.Conn.
func (c deadlineUDPConn) SetDeadline(t time.Time) error {
	return c.UDPConn.SetDeadline(nearerDeadline(t, c.patience))
}

// nearerDeadline returns the earlier of a deadline and the end of the resolver timeout.
func nearerDeadline(t time.Time, patience time.Duration) time.Time {
	if end := time.Now().Add(patience); t.IsZero() || end.Before(t) {
		return end
	}
	return t
}
