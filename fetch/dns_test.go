package fetch_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
)

// asking returns a resolver that asks this server alone.
func asking(s *fakenet.NameServer) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, s.Address())
	}}
}

func record(q dnsmessage.Question, m *dnsmessage.Message, name string, body dnsmessage.ResourceBody) {
	m.Answers = append(m.Answers, dnsmessage.Resource{
		Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Class: q.Class}, Body: body,
	})
}

// TestFaultyNameServers checks that every answer of a name server ends the fetch with the matching
// outcome, and that no message names our name server.
func TestFaultyNameServers(t *testing.T) {
	status := func(code dnsmessage.RCode) fakenet.Responder {
		return func(_ dnsmessage.Question, m *dnsmessage.Message) bool {
			m.RCode = code
			return true
		}
	}
	addresses := func(count int, a [4]byte) fakenet.Responder {
		return func(q dnsmessage.Question, m *dnsmessage.Message) bool {
			for range count {
				if q.Type == dnsmessage.TypeA {
					record(q, m, q.Name.String(), &dnsmessage.AResource{A: a})
				}
			}
			return true
		}
	}
	for _, c := range []struct {
		name    string
		say     fakenet.Responder
		outcome fetch.Outcome
		detail  string
	}{
		{"NXDOMAIN", status(dnsmessage.RCodeNameError), fetch.DNSFailed, "no address is known"},
		{"SERVFAIL", status(dnsmessage.RCodeServerFailure), fetch.DNSFailed, "fail to answer"},
		{"REFUSED", status(dnsmessage.RCodeRefused), fetch.DNSFailed, ""},
		{"nothing", status(dnsmessage.RCodeSuccess), fetch.DNSFailed, "no address is known"},
		{"SERVFAIL for IPv4 and nothing for IPv6", func(q dnsmessage.Question, m *dnsmessage.Message) bool {
			if q.Type == dnsmessage.TypeA {
				m.RCode = dnsmessage.RCodeServerFailure
			}
			return true
		}, fetch.DNSFailed, "fail to answer"},
		{"silence for IPv4 and nothing for IPv6", func(q dnsmessage.Question, _ *dnsmessage.Message) bool {
			return q.Type != dnsmessage.TypeA
		}, fetch.DNSFailed, "did not answer in time"},
		{"silence", func(dnsmessage.Question, *dnsmessage.Message) bool { return false }, fetch.DNSFailed, ""},
		{"a loop of CNAMEs", func(q dnsmessage.Question, m *dnsmessage.Message) bool {
			record(q, m, "shop.example.com.", &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName("www.example.com.")})
			record(q, m, "www.example.com.", &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName("shop.example.com.")})
			return true
		}, fetch.DNSFailed, "no address is known"},
		{"a CNAME to a private address", func(q dnsmessage.Question, m *dnsmessage.Message) bool {
			record(q, m, "shop.example.com.", &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName("localhost.")})
			if q.Type == dnsmessage.TypeA {
				record(q, m, "localhost.", &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}})
			}
			return true
		}, fetch.BlockedAddress, ""},
		{"1,000 private addresses", addresses(1000, [4]byte{10, 0, 0, 7}), fetch.BlockedAddress, ""},
		{"an answer cut off over TCP too", fakenet.CutOff, fetch.DNSFailed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			server, err := fakenet.OpenNameServer("127.0.0.1:0", c.say)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { server.Close() })
			guard, err := fetch.NewGuard(fetch.GuardOptions{Resolver: asking(server)})
			if err != nil {
				t.Fatal(err)
			}
			timeout := time.Minute
			if strings.HasPrefix(c.name, "silence") {
				timeout = time.Second
			}
			client, err := fetch.New(fetch.Options{Guard: guard, ConnectTimeout: timeout})
			if err != nil {
				t.Fatal(err)
			}
			a, err := client.Document(t.Context(), document.AI, "https://shop.example.com/.well-known/ai")
			if err != nil {
				t.Fatal(err)
			}
			if a.Outcome != c.outcome || !strings.Contains(a.Detail, c.detail) || !strings.Contains(a.Detail, "shop.example.com") {
				t.Errorf("outcome %q (%s), want %q (%s)", a.Outcome, a.Detail, c.outcome, c.detail)
			}
			told := a.Detail
			for _, f := range a.Findings {
				told += f.Message + f.Help
			}
			if _, port, _ := net.SplitHostPort(server.Address()); strings.Contains(told, port) || strings.Contains(told, ":53") || strings.Contains(told, "lookup") {
				t.Errorf("it tells of our name server: %s", told)
			}
		})
	}
}

// TestNameServerThatRefuses checks that a lookup which our own name server does not take is told as such,
// and not as a fault of the name servers of the host.
func TestNameServerThatRefuses(t *testing.T) {
	server, err := fakenet.OpenNameServer("127.0.0.1:0", fakenet.CutOff)
	if err != nil {
		t.Fatal(err)
	}
	server.Close()
	guard, err := fetch.NewGuard(fetch.GuardOptions{Resolver: asking(server)})
	if err != nil {
		t.Fatal(err)
	}
	client, err := fetch.New(fetch.Options{Guard: guard, ConnectTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	a, err := client.Document(t.Context(), document.AI, "https://shop.example.com/.well-known/ai")
	if err != nil {
		t.Fatal(err)
	}
	if want := `this server could not reach its own name server to look up "shop.example.com"`; a.Outcome != fetch.DNSFailed || a.Detail != want {
		t.Errorf("outcome %q (%s)", a.Outcome, a.Detail)
	}
}
