package evidence

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// DNS asks for TXT records. [NewDNS] returns one that asks the network.
type DNS interface {
	// TXT returns the values at a name, none if it has none, and the server that was asked, also
	// with an error.
	TXT(ctx context.Context, name string) (values []string, server string, err error)
}

// dnsTimeout is how long one question may take.
const dnsTimeout = 5 * time.Second

// NewDNS returns a resolver that asks a server, "192.0.2.1:53", or the servers
// of this machine when server is "".
func NewDNS(server string) DNS { return networkDNS{server} }

type networkDNS struct{ server string }

func (d networkDNS) TXT(ctx context.Context, name string) ([]string, string, error) {
	ctx, cancel := context.WithTimeout(ctx, dnsTimeout)
	defer cancel()
	var mu sync.Mutex // guards asked: the resolver dials from goroutines of its own
	asked := d.server
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		if d.server != "" {
			address = d.server
		}
		mu.Lock()
		asked = address
		mu.Unlock()
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	// The final dot prevents the search list of the local network from being used.
	values, err := resolver.LookupTXT(ctx, strings.TrimSuffix(name, ".")+".")
	mu.Lock()
	defer mu.Unlock()
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		if e.IsNotFound {
			return nil, asked, nil
		}
		if e.IsTimeout {
			return nil, asked, fmt.Errorf("no answer within %s", dnsTimeout)
		}
		if e.IsTemporary || strings.Contains(e.Err, "misbehaving") {
			return nil, asked, errors.New("it fails to answer")
		}
		// The rest of the error names the addresses of our connection.
		return nil, asked, errors.New("it cannot be reached, or its answer cannot be used")
	}
	return values, asked, err
}
