// Package hostlist reads lists of hosts to visit: names as people write them, and the lists of
// popular hosts that others publish. Start with [Read].
package hostlist

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"gazetteer/fetch"
	"gazetteer/protocol"
	"gazetteer/store"
)

// A LineError names a line of a list that has no host. Reading continues after it.
type LineError struct {
	Line int
	Err  *fetch.HostError
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// maxLine is the maximum length of a line, in bytes.
const maxLine = 64 << 10

// Read yields the hosts of a list, normalized by [fetch.CheckHost], a *[LineError] for each
// line without a host, and any other error last. Each line has one of these forms:
//
//	www.example.com	           a name or an address, as a person writes it
//	17,example.com	            rank and name, as in the lists of Tranco and others
//	4711 <tab> com.example.www	vertices of the Common Crawl's graphs: a number,
//		                          the reversed name, and perhaps more
//	1 … com.example	           its ranks: five columns, the last or the one
//		                          before the last the reversed name
//
// Blank lines, a heading, and everything after a "#" are skipped. A list packed with gzip is
// unpacked.
func Read(r io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		in := bufio.NewReaderSize(r, maxLine)
		if magic, _ := in.Peek(2); bytes.Equal(magic, []byte("\x1f\x8b")) {
			unpacked, err := gzip.NewReader(in)
			if err != nil {
				yield("", fmt.Errorf("unpack the list: %w", err))
				return
			}
			in = bufio.NewReaderSize(unpacked, maxLine)
		}
		for number := 1; ; number++ {
			line, err := readLine(in)
			if errors.Is(err, bufio.ErrBufferFull) {
				long := &fetch.HostError{
					Host: line, Problem: fmt.Sprintf("the line is longer than %d bytes", maxLine), Help: "give one host a line",
				}
				if !yield("", &LineError{number, long}) {
					return
				}
				line, err = "", skipLine(in)
			}
			if name := nameOf(line); name != "" {
				host, wrong := fetch.CheckHost(name)
				if why, ok := errors.AsType[*fetch.HostError](wrong); ok {
					wrong = &LineError{number, why}
				}
				if !yield(host, wrong) {
					return
				}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield("", fmt.Errorf("read the list after line %d: %w", number, err))
				return
			}
		}
	}
}

// readLine returns the next line, or only the beginning of a line that is too long.
func readLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return protocol.ClipBytes(string(line), 100), err
	}
	return strings.TrimPrefix(string(line), "\ufeff"), err
}

// skipLine skips the rest of a line.
func skipLine(in *bufio.Reader) error {
	for {
		if _, err := in.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// nameOf returns the part of a line that names a host, or "".
func nameOf(line string) string {
	line, _, _ = strings.Cut(line, "#")
	line = strings.TrimSpace(line)
	if columns := strings.Split(line, "\t"); len(columns) > 1 {
		return nameFromColumns(columns)
	}
	rank, name, ok := strings.Cut(line, ",")
	if !ok {
		return line
	}
	name, _, _ = strings.Cut(name, ",")
	name = strings.Trim(strings.TrimSpace(name), `"`)
	if !isNumber(strings.Trim(strings.TrimSpace(rank), `"`)) {
		if strings.Contains(name, ".") {
			return line // no rank: the line is reported as it is
		}
		return "" // a heading
	}
	return name
}

// nameFromColumns returns the host name of a Common Crawl line, which holds it in reverse.
func nameFromColumns(columns []string) string {
	for i, c := range columns {
		c = strings.TrimSpace(c)
		if !isNumber(c) && (i > 0 || strings.Contains(c, ".")) {
			return store.ReverseHost(c)
		}
	}
	return ""
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}
