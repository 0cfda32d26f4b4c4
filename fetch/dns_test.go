package fetch_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"gazetteer/document"
	"gazetteer/fetch"
)

// A nameServer answers questions on loopback, over UDP and TCP.
type nameServer struct {
	udp  net.PacketConn
	tcp  net.Listener
	work sync.WaitGroup
}

// answer builds the answer to a question; false is silence.
type answer func(q dnsmessage.Question, m *dnsmessage.Message) bool

func openNameServer(t *testing.T, say answer) *nameServer {
	t.Helper()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{udp: udp, tcp: tcp}
	s.work.Go(func() {
		in := make([]byte, 1500)
		for {
			n, from, err := udp.ReadFrom(in)
			if err != nil {
				return
			}
			if out := reply(in[:n], say); len(out) > 512 {
				udp.WriteTo(reply(in[:n], truncated), from)
			} else if out != nil {
				udp.WriteTo(out, from)
			}
		}
	})
	s.work.Go(func() {
		for {
			c, err := tcp.Accept()
			if err != nil {
				return
			}
			s.work.Go(func() {
				defer c.Close()
				c.SetDeadline(time.Now().Add(10 * time.Second))
				var size [2]byte
				if _, err := io.ReadFull(c, size[:]); err != nil {
					return
				}
				in := make([]byte, binary.BigEndian.Uint16(size[:]))
				if _, err := io.ReadFull(c, in); err != nil {
					return
				}
				out := reply(in, say)
				c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...))
			})
		}
	})
	t.Cleanup(func() {
		udp.Close()
		tcp.Close()
		s.work.Wait()
	})
	return s
}

func truncated(_ dnsmessage.Question, m *dnsmessage.Message) bool {
	m.Truncated = true
	return true
}

func reply(in []byte, say answer) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(in); err != nil || len(m.Questions) != 1 {
		return nil
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	if !say(m.Questions[0], &m) {
		return nil
	}
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	return out
}

// resolver asks this server alone.
func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		if strings.HasPrefix(network, "tcp") {
			return d.DialContext(ctx, "tcp", s.tcp.Addr().String())
		}
		return d.DialContext(ctx, "udp", s.udp.LocalAddr().String())
	}}
}

func record(q dnsmessage.Question, m *dnsmessage.Message, name string, body dnsmessage.ResourceBody) {
	m.Answers = append(m.Answers, dnsmessage.Resource{
		Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Class: q.Class}, Body: body,
	})
}

// Whatever a name server answers, the fetch ends with the outcome that says so,
// and what is said of it does not name our name server.
func TestNameServersThatMisbehave(t *testing.T) {
	status := func(code dnsmessage.RCode) answer {
		return func(_ dnsmessage.Question, m *dnsmessage.Message) bool {
			m.RCode = code
			return true
		}
	}
	addresses := func(count int, a [4]byte) answer {
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
		say     answer
		outcome fetch.Outcome
		detail  string
	}{
		{"NXDOMAIN", status(dnsmessage.RCodeNameError), fetch.DNSFailed, "no address is known"},
		{"SERVFAIL", status(dnsmessage.RCodeServerFailure), fetch.DNSFailed, "fail to answer"},
		{"REFUSED", status(dnsmessage.RCodeRefused), fetch.DNSFailed, ""},
		{"nothing", status(dnsmessage.RCodeSuccess), fetch.DNSFailed, "no address is known"},
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
		{"an answer cut off over TCP too", truncated, fetch.DNSFailed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := openNameServer(t, c.say)
			guard, err := fetch.NewGuard(fetch.GuardOptions{Resolver: server.resolver()})
			if err != nil {
				t.Fatal(err)
			}
			client, err := fetch.New(fetch.Options{Guard: guard, ConnectTimeout: time.Second})
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
			if _, port, _ := net.SplitHostPort(server.udp.LocalAddr().String()); strings.Contains(told, port) || strings.Contains(told, ":53") || strings.Contains(told, "lookup") {
				t.Errorf("it tells of our name server: %s", told)
			}
		})
	}
}
