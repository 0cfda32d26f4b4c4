package route

import (
	"bytes"
	"io"
	"net"
	"testing"
	"testing/iotest"

	"gazetteer/limit"
)

// reading is a connection that only reads.
type reading struct {
	net.Conn
	from io.Reader
}

func (r reading) Read(p []byte) (int, error) { return r.from.Read(p) }

// FuzzStrictLines checks that the result does not depend on how the bytes are split into reads,
// that it consists of the input up to the first bad line, and that the first header has no bad
// line.
func FuzzStrictLines(f *testing.F) {
	for _, text := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", "GET / HTTP/1.1\nA: b\n\n", "\r\n\r\nGET / HTTP/1.1\r\n\r\n\n",
		"POST / HTTP/1.1\r\ncontent-length:\t 3 \r\n\r\n\n\n\nGET / HTTP/1.1\r\n\r\n\n", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\n\n",
		"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "\r\nGET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
		"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n\n", "P\r\nContent-Length: -1\r\n\r\n\n", "P\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\n\n\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		whole, err := io.ReadAll(&strictConn{WrappedConn: limit.WrappedConn{Conn: reading{from: bytes.NewReader(sent)}}})
		if err != nil {
			t.Fatal(err)
		}
		apart, err := io.ReadAll(&strictConn{WrappedConn: limit.WrappedConn{Conn: reading{from: iotest.OneByteReader(bytes.NewReader(sent))}}})
		if err != nil || !bytes.Equal(whole, apart) {
			t.Fatalf("at once %q, byte by byte %q, %v", whole, apart, err)
		}
		good, refused := bytes.CutSuffix(whole, []byte(invalidHeader))
		if !bytes.HasPrefix(sent, good) && refused || !refused && !bytes.Equal(whole, sent) {
			t.Fatalf("%q became %q", sent, whole)
		}
		header, _, _ := bytes.Cut(bytes.TrimLeft(good, "\r\n"), []byte("\r\n\r\n"))
		for i, line := range bytes.Split(header, []byte("\r\n")) {
			if bytes.ContainsRune(line, '\n') || i > 0 && len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
				t.Fatalf("%q was handed on", line)
			}
		}
	})
}
