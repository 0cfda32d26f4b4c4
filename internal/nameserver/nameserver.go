// Package nameserver is a name server on loopback for tests: it answers questions
// for TXT records over UDP and, what does not fit there, over TCP.
package nameserver

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// A Server answers questions for TXT records on loopback, over UDP and, what
// does not fit there, over TCP.
type Server struct {
	Address string // host and port

	mu     sync.Mutex          // guards following
	zone   map[string][]string // name to values
	broken bool                // SERVFAIL to everything
	asked  int
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: tcp.Addr().String(), zone: map[string][]string{}}
	var all sync.WaitGroup
	all.Go(func() {
		buffer := make([]byte, 4096)
		for {
			n, from, err := udp.ReadFrom(buffer)
			if err != nil {
				return
			}
			if reply := s.reply(buffer[:n], 512); reply != nil {
				udp.WriteTo(reply, from)
			}
		}
	})
	all.Go(func() {
		for {
			conn, err := tcp.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				var size [2]byte
				if _, err := io.ReadFull(conn, size[:]); err != nil {
					return
				}
				question := make([]byte, binary.BigEndian.Uint16(size[:]))
				if _, err := io.ReadFull(conn, question); err != nil {
					return
				}
				reply := s.reply(question, 65535)
				binary.BigEndian.PutUint16(size[:], uint16(len(reply)))
				conn.Write(append(size[:], reply...))
			})
		}
	})
	t.Cleanup(func() {
		tcp.Close()
		udp.Close()
		all.Wait()
	})
	return s
}

// Publish sets the values of a name.
func (s *Server) Publish(name string, values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.zone[name+"."] = values
}

// Asked returns how many questions were asked.
func (s *Server) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Fail makes it answer SERVFAIL to everything, or no longer.
func (s *Server) Fail(broken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = broken
}

func (s *Server) reply(question []byte, most int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var p dnsmessage.Parser
	h, err := p.Start(question)
	if err != nil {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	s.asked++
	answer := dnsmessage.Message{Header: dnsmessage.Header{ID: h.ID, Response: true, RecursionAvailable: true}, Questions: []dnsmessage.Question{q}}
	values, known := s.zone[strings.ToLower(q.Name.String())]
	switch {
	case s.broken:
		answer.RCode = dnsmessage.RCodeServerFailure
	case !known:
		answer.RCode = dnsmessage.RCodeNameError
	}
	for _, v := range values {
		answer.Answers = append(answer.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}, Body: &dnsmessage.TXTResource{TXT: chunks(v)}})
	}
	packed, err := answer.Pack()
	if err != nil {
		return nil
	}
	if len(packed) > most {
		answer.Answers, answer.Truncated = nil, true
		packed, _ = answer.Pack()
	}
	return packed
}

// chunks cuts a text into the strings of 255 bytes that a TXT record is made of.
func chunks(text string) []string {
	var out []string
	for c := range slices.Chunk([]byte(text), 255) {
		out = append(out, string(c))
	}
	return out
}
