package fetch

import (
	"context"
	"net"
	"time"
)

// resolverTimeout is how long a name server may take before the question is asked again,
// of it or of the next one. It is the half of the least time for resolving and
// connecting: the standard resolver waits five seconds unless resolv.conf says
// less, so that a question lost on the way, or the first of two name servers that
// is dead, would be the end of every lookup.
const resolverTimeout = 2 * time.Second

// NewResolver returns a resolver that asks the name servers of this machine
// (resolv.conf, with its attempts and, where it is shorter, its timeout) and loses
// patience with one that is silent for so long.
func NewResolver(patience time.Duration) *net.Resolver {
	return newResolver(patience, new(net.Dialer).DialContext)
}

// newResolver is NewResolver with another way to name servers.
func newResolver(patience time.Duration, dial func(ctx context.Context, network, address string) (net.Conn, error)) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		// The standard resolver knows by the type whether it speaks datagrams.
		if udp, ok := conn.(*net.UDPConn); ok {
			return deadlineUDPConn{udp, patience}, nil
		}
		return deadlineConn{conn, patience}, nil
	}}
}

// deadlineConn is a connection whose deadlines are near.
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

// nearerDeadline returns a deadline, or the end of patience when that comes first.
func nearerDeadline(t time.Time, patience time.Duration) time.Time {
	if end := time.Now().Add(patience); t.IsZero() || end.Before(t) {
		return end
	}
	return t
}
