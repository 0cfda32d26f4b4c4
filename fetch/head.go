package fetch

import (
	"bufio"
	"bytes"
	"errors"
)

// errBareLF and errTwoLengths refuse headers that readers interpret differently, which allows
// passing off one answer as two.
var (
	errBareLF     = errors.New("a line of the header ends in LF alone, not in CR LF (RFC 9112 §2.2)")
	errTwoLengths = errors.New("the header has both Content-Length and Transfer-Encoding (RFC 9112 §6.3)")
)

// headBytes is the number of bytes of a header that are passed on at a time; a longer line is
// split.
const headBytes = 1 << 10

// A headReader passes on the bytes of an answer. It reads a header line by line, refuses what
// net/http would accept leniently, and stops at its end until the first byte of the body is wanted.
type headReader struct {
	in *bufio.Reader

	inBody  bool
	notHTTP bool // by its first line: that is told better than how its lines end
	begun   bool // the first line was
	inLine  bool // a piece of a line was handed on
	afterCR bool // that piece ended in CR
	// State of the current header:
	length, transfer bool

	rest   []byte // read and not handed on yet
	failed error
}

// expectHeader prepares for the header of another answer.
func (r *headReader) expectHeader() {
	*r = headReader{in: r.in}
}

// Buffered returns how many bytes were read ahead.
func (r *headReader) Buffered() int { return r.in.Buffered() + len(r.rest) }

func (r *headReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 && r.failed != nil {
		return 0, r.failed
	}
	if len(r.rest) == 0 && r.inBody {
		return r.in.Read(p)
	}
	if len(r.rest) == 0 {
		if r.rest, r.failed = r.readPiece(); len(r.rest) == 0 {
			return 0, r.failed
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// readPiece reads a line of the header, or as much of it as fits. The bytes are valid until the
// next call.
func (r *headReader) readPiece() ([]byte, error) {
	text, err := r.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		err = nil
	}
	if err != nil {
		return text, err
	}
	begins, afterCR := !r.inLine, r.afterCR
	r.inLine, r.afterCR = text[len(text)-1] != '\n', text[len(text)-1] == '\r'
	if !r.begun {
		r.begun, r.notHTTP = true, !bytes.HasPrefix(text, []byte("HTTP/"))
	}
	if !r.inLine && !r.notHTTP && !bytes.HasSuffix(text, []byte("\r\n")) && !(afterCR && len(text) == 1) {
		return nil, errBareLF
	}
	if begins {
		r.length = r.length || isField(text, "content-length")
		r.transfer = r.transfer || isField(text, "transfer-encoding")
		r.inBody = len(text) == 2 && !r.inLine
	}
	if r.inBody && r.length && r.transfer {
		return nil, errTwoLengths
	}
	return text, nil
}

// isField reports that a line of a header begins with a name.
func isField(line []byte, name string) bool {
	return len(line) > len(name) && line[len(name)] == ':' && bytes.EqualFold(line[:len(name)], []byte(name))
}
