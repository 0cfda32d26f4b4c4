package evidence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// DNS looks up TXT records. [NewDNS] returns one that queries the network.
type DNS interface {
	// TXT returns the values at a name, none if it has none. The error does not name the server:
	// clients see the answer, and must not learn which resolver the operator uses.
	TXT(ctx context.Context, name string) (values []string, err error)
}

// dnsTimeout is the time limit of one query.
const dnsTimeout = 5 * time.Second

// NewDNS returns a resolver that queries a server, "192.0.2.1:53", or the servers of this machine
// if server is "".
func NewDNS(server string) DNS { return networkDNS{server} }

type networkDNS struct{ server string }

func (d networkDNS) TXT(ctx context.Context, name string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, dnsTimeout)
	defer cancel()
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, cmp.Or(d.server, address))
	}}
	// The final dot prevents the search list of the local network from being used.
	values, err := resolver.LookupTXT(ctx, strings.TrimSuffix(name, ".")+".")
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		switch {
		case e.IsNotFound:
			return nil, nil
		case e.IsTimeout:
			return nil, fmt.Errorf("no answer within %s", dnsTimeout)
		case e.IsTemporary || strings.Contains(e.Err, "misbehaving"):
			return nil, errors.New("it fails to answer")
		}
		// The rest of the error names the server and the addresses of our connection.
		return nil, errors.New("it cannot be reached, or its answer cannot be used")
	}
	return values, err
}
