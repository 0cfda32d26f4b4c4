package resolve_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
	"gazetteer/protocol/a2a"
	"gazetteer/registry/resolve"
)

// TestAbsentHostIsFinal checks that the DID of a host without an address does not resolve, and that
// the failure of a name server is temporary.
func TestAbsentHostIsFinal(t *testing.T) {
	for _, c := range []struct {
		name  string
		codes map[dnsmessage.Type]dnsmessage.RCode // of the answers; none have a record
		want  error
		says  string
	}{
		{"NXDOMAIN", map[dnsmessage.Type]dnsmessage.RCode{dnsmessage.TypeA: dnsmessage.RCodeNameError, dnsmessage.TypeAAAA: dnsmessage.RCodeNameError}, resolve.ErrNoHost, "no address is known"},
		{"no record", nil, resolve.ErrNoHost, "no address is known"},
		{"SERVFAIL", map[dnsmessage.Type]dnsmessage.RCode{dnsmessage.TypeA: dnsmessage.RCodeServerFailure, dnsmessage.TypeAAAA: dnsmessage.RCodeServerFailure}, resolve.ErrUnreachable, "fail to answer"},
		{"SERVFAIL for IPv4 and no record for IPv6", map[dnsmessage.Type]dnsmessage.RCode{dnsmessage.TypeA: dnsmessage.RCodeServerFailure}, resolve.ErrUnreachable, "fail to answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, err := fakenet.OpenNameServer("127.0.0.1:0", func(q dnsmessage.Question, m *dnsmessage.Message) bool {
				m.RCode = c.codes[q.Type]
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { server.Close() })
			names := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, server.Address())
			}}
			guard, err := fetch.NewGuard(fetch.GuardOptions{Resolver: names})
			if err != nil {
				t.Fatal(err)
			}
			https, err := resolve.NewHTTPS(resolve.HTTPSOptions{Dial: guard.DialContext})
			if err != nil {
				t.Fatal(err)
			}
			r, err := resolve.New(resolve.Options{Fetcher: https})
			if err != nil {
				t.Fatal(err)
			}
			_, err = r.Resolve(t.Context(), "did:web:shop.example.com")
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), server.Address()) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.says)
			}
			_, err = resolve.Directory{Resolver: r}.Resolve(t.Context(), "did:web:shop.example.com")
			if final := errors.Is(err, a2a.ErrUnknownSender); final != (c.want == resolve.ErrNoHost) {
				t.Errorf("for mail: %v", err)
			}
		})
	}
}
