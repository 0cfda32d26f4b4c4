package fetch

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// A name server that is silent costs our patience and no more: then the question
// is asked again, of it or of the next.
func TestSilentNameServer(t *testing.T) {
	// The standard resolver reads resolv.conf once, and that not in a bubble.
	nobody := newResolver(time.Minute, func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("nobody is there") })
	if _, err := nobody.LookupNetIP(t.Context(), "ip4", "shop.example.com."); err == nil {
		t.Error("nobody answers")
	}
	synctest.Test(t, func(t *testing.T) {
		const patience = 500 * time.Millisecond // less than any resolv.conf says
		asked := 0
		resolver := newResolver(patience, func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			asked++
			if asked == 1 {
				go io.Copy(io.Discard, server)
			} else {
				go answerOnce(server)
			}
			return client, nil
		})
		begun := time.Now()
		addrs, err := resolver.LookupNetIP(t.Context(), "ip4", "shop.example.com.")
		if err != nil || len(addrs) != 1 || asked != 2 || time.Since(begun) != patience {
			t.Errorf("%v, %v after %s and %d questions", addrs, err, time.Since(begun), asked)
		}
		synctest.Wait()
	})
}

// answerOnce answers one question over TCP with one address.
func answerOnce(c net.Conn) {
	defer c.Close()
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return
	}
	in := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, in); err != nil {
		return
	}
	var m dnsmessage.Message
	if m.Unpack(in) != nil {
		return
	}
	m.Response, m.Additionals = true, nil
	m.Answers = []dnsmessage.Resource{{
		Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET}, Body: &dnsmessage.AResource{A: [4]byte{8, 8, 8, 8}},
	}}
	out, err := m.Pack()
	if err != nil {
		return
	}
	c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...))
}
