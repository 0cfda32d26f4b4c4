package fetch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// answers reads an answer and what follows it in both ways: as net/http does, and
// over a headReader.
func answers(text string) (plain, headed string, err error) {
	whole := func(r *bufio.Reader) (string, error) {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return "", err
		}
		body, err := io.ReadAll(resp.Body)
		rest, _ := io.ReadAll(r)
		return fmt.Sprint(resp.Status, resp.Header, string(body), err, resp.Trailer, string(rest)), nil
	}
	plain, _ = whole(bufio.NewReader(strings.NewReader(text)))
	in := &headReader{in: bufio.NewReaderSize(iotest.HalfReader(strings.NewReader(text)), 32)}
	in.expectHeader()
	headed, err = whole(bufio.NewReaderSize(in, 16))
	return plain, headed, err
}

// TestHeadIsPassedOn checks that a headReader passes accepted bytes on unchanged, whatever the
// length of a line and the size of the reads.
func TestHeadIsPassedOn(t *testing.T) {
	for length := range 80 {
		text := "HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", length) + "\r\nContent-Length: 4\r\n\r\n\na\r\nHTTP/1.1 404 Not Found\n"
		if plain, headed, err := answers(text); err != nil || plain != headed || plain == "" {
			t.Errorf("%d: %q, %v; want %q", length, headed, err, plain)
		}
	}
	for text, want := range map[string]error{
		"HTTP/1.1 200 OK\n\n":                                                        errBareLF,
		"HTTP/1.1 200 OK\r\nX: y\n\r\n":                                              errBareLF,
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 40) + "\n\r\n":                errBareLF,
		"HTTP/1.1 200 OK\r\nX: y\r\n\n":                                              errBareLF,
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n": errTwoLengths,
		"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 1\r\n\r\n": errTwoLengths,
	} {
		if _, _, err := answers(text); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
	// An answer that is not HTTP is reported as such.
	if _, _, err := answers("{\n}\n"); err == nil || errors.Is(err, errBareLF) {
		t.Errorf("no HTTP: %v", err)
	}
	// Each answer is judged by itself.
	in := &headReader{in: bufio.NewReader(strings.NewReader("HTTP/1.1 103 Early Hints\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"))}
	r := bufio.NewReader(in)
	var got []int
	for range 2 {
		in.expectHeader()
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, resp.StatusCode)
	}
	if !reflect.DeepEqual(got, []int{103, 200}) {
		t.Errorf("answers %v", got)
	}
}

// FuzzHead checks that a head is read as net/http reads it, or refused.
func FuzzHead(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}more")
	f.Add("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: y\r\n\r\n")
	f.Add("HTTP/1.1 200 OK\r\n folded\r\nX: y\n\r\n")
	f.Add("HTTP/1.0 200\r\n\r\n\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		if plain, headed, err := answers(text); err == nil && plain != headed {
			t.Errorf("%q\nis read as %q\nby net/http %q", text, headed, plain)
		}
	})
}
