package fakenet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// A NameServer answers questions over UDP and TCP, as badly as a test wants.
type NameServer struct {
	udp  net.PacketConn
	tcp  net.Listener
	say  Responder
	work sync.WaitGroup
}

// Responder puts the answer to a question into a message; false is silence. It is
// called from several goroutines.
type Responder func(q dnsmessage.Question, m *dnsmessage.Message) bool

// maxDatagram is how long an answer over UDP may be (RFC 1035, section 4.2.1):
// for a longer one clients are sent to TCP.
const maxDatagram = 512

// OpenNameServer starts a name server at an address, "127.0.0.1:53" for example;
// with port 0 at one that is free for UDP and TCP. Close stops it.
func OpenNameServer(address string, say Responder) (*NameServer, error) {
	const tries = 8 // a port that is free for TCP may be somebody's over UDP
	var failed error
	for range tries {
		tcp, err := net.Listen("tcp", address)
		if err != nil {
			return nil, fmt.Errorf("open a name server: %w", err)
		}
		udp, err := net.ListenPacket("udp", tcp.Addr().String())
		if err != nil {
			failed = errors.Join(err, tcp.Close())
			continue
		}
		s := &NameServer{udp: udp, tcp: tcp, say: say}
		s.work.Go(s.serveUDP)
		s.work.Go(s.serveTCP)
		return s, nil
	}
	return nil, fmt.Errorf("open a name server: %w", failed)
}

// Address is where it takes questions, over UDP and over TCP.
func (s *NameServer) Address() string { return s.tcp.Addr().String() }

// Close stops the server and waits until it has.
func (s *NameServer) Close() error {
	err := errors.Join(s.udp.Close(), s.tcp.Close())
	s.work.Wait()
	return err
}

func (s *NameServer) serveUDP() {
	in := make([]byte, 1500)
	for {
		n, from, err := s.udp.ReadFrom(in)
		if err != nil {
			return
		}
		out := replyTo(in[:n], s.say)
		if len(out) > maxDatagram {
			out = replyTo(in[:n], CutOff)
		}
		if out != nil {
			_, _ = s.udp.WriteTo(out, from) // the client may be gone
		}
	}
}

func (s *NameServer) serveTCP() {
	for {
		c, err := s.tcp.Accept()
		if err != nil {
			return
		}
		s.work.Go(func() {
			defer c.Close()
			s.answerTCP(c)
		})
	}
}

// answerTCP answers the one question of a connection. Whatever fails, the client is
// the one to notice.
func (s *NameServer) answerTCP(c net.Conn) {
	const most = 10 * time.Second // for the question, so that Close is not held up
	var size [2]byte
	if c.SetDeadline(time.Now().Add(most)) != nil {
		return
	}
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return
	}
	in := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, in); err != nil {
		return
	}
	if out := replyTo(in, s.say); out != nil {
		_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...))
	}
}

// CutOff says that the answer does not fit: ask over TCP.
func CutOff(_ dnsmessage.Question, m *dnsmessage.Message) bool {
	m.Truncated = true
	return true
}

// replyTo returns the answer to a question, nil for none.
func replyTo(in []byte, say Responder) []byte {
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
