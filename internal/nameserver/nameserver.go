// Package nameserver is a name server on loopback for tests that publish TXT
// records. It is built on fakenet's name server; use that one for faulty answers.
package nameserver

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"gazetteer/internal/fakenet"
)

// A Server answers questions for TXT records on loopback, over UDP and, what
// does not fit there, over TCP.
type Server struct {
	Address string // host and port

	mu     sync.Mutex          // guards the following fields
	zone   map[string][]string // name to values
	broken bool                // SERVFAIL to everything
	asked  int
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{zone: map[string][]string{}}
	server, err := fakenet.OpenNameServer("127.0.0.1:0", s.answerQuestion)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	s.Address = server.Address()
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

func (s *Server) answerQuestion(q dnsmessage.Question, m *dnsmessage.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	values, known := s.zone[strings.ToLower(q.Name.String())]
	switch {
	case s.broken:
		m.RCode = dnsmessage.RCodeServerFailure
	case !known:
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, v := range values {
		m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}, Body: &dnsmessage.TXTResource{TXT: splitText(v)}})
	}
	return true
}

// splitText cuts a text into the strings of 255 bytes that a TXT record is made of.
func splitText(text string) []string {
	var out []string
	for c := range slices.Chunk([]byte(text), 255) {
		out = append(out, string(c))
	}
	return out
}
