package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"gazetteer/api/route"
)

// describeRawBytes sends bytes over a socket and returns the statuses of the answers until the
// server closes the connection or sends nothing more, and whether it closed it.
func describeRawBytes(t *testing.T, h *testServer, text string) (statuses []int, closed bool) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	conn.SetReadDeadline(time.Now().Add(patience))
	in := bufio.NewReader(conn)
	for {
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			return statuses, !errors.Is(err, os.ErrDeadlineExceeded)
		}
		body, _ := io.ReadAll(response.Body)
		checkNoLeak(t, "raw", body)
		statuses = append(statuses, response.StatusCode)
		if response.Close {
			_, err := in.Peek(1)
			return statuses, err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
}

// TestRequestSmuggling checks that no request is answered that another reader of the same bytes
// would not have seen, and the connection ends.
func TestRequestSmuggling(t *testing.T) {
	h := newTestServer(t, options{handlers: func(e *gin.Engine) {
		e.GET("/api/v1/test-smuggled", func(*gin.Context) { t.Error("the smuggled request was answered") })
	}})
	smuggled := "GET /api/v1/test-smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
	post := "POST /api/v1/agents/register HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	find := "POST /api/v1/search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	chunked := "9\r\n{\"q\":\"a\"}\r\n0\r\n\r\n" // a search that is answered
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"both lengths":                 {post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled, 400},
		"both lengths, a good body":    {find + "Content-Length: 19\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked + smuggled, 400},
		"both lengths, reversed":       {find + "Transfer-Encoding: chunked\r\nContent-Length: 19\r\n\r\n" + chunked + smuggled, 400},
		"two lengths":                  {post + "Content-Length: 0\r\nContent-Length: 52\r\n\r\n" + smuggled, 400},
		"chunks in HTTP/1.0":           {"GET /healthz HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + smuggled, 400},
		"a length with a sign":         {post + "Content-Length: +0\r\n\r\n" + smuggled, 400},
		"a coding that is none":        {post + "Transfer-Encoding: xchunked\r\n\r\n" + smuggled, 501},
		"two codings":                  {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" + smuggled, 501},
		"two hosts":                    {"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + smuggled, 400},
		"no host":                      {"GET /healthz HTTP/1.1\r\n\r\n" + smuggled, 400},
		"a carriage return alone":      {"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\rC: d\r\n\r\n" + smuggled, 400},
		"a space before the colon":     {"GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n" + smuggled, 400},
		"a whole address":              {"GET http://other.example/healthz HTTP/1.1\r\nHost: other.example\r\n\r\n" + smuggled, 400},
		"a NUL in the path":            {"GET /heal\x00thz HTTP/1.1\r\nHost: x\r\n\r\n" + smuggled, 400},
		"a NUL in a header":            {"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\x00c\r\n\r\n" + smuggled, 400},
		"a method that is none":        {"G{T /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + smuggled, 400},
		"a line goes on in the next":   {"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n" + smuggled, 400},
		"a line goes on after a tab":   {"GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n\tc\r\n\r\n" + smuggled, 400},
		"the first line goes on":       {"GET /healthz HTTP/1.1\r\n Host: x\r\n\r\n" + smuggled, 400},
		"lines end in LF alone":        {"GET /healthz HTTP/1.1\nHost: x\n\n" + smuggled, 400},
		"one line ends in LF alone":    {"GET /healthz HTTP/1.1\r\nHost: x\nA: b\r\n\r\n" + smuggled, 400},
		"the header ends in LF alone":  {"GET /healthz HTTP/1.1\r\nHost: x\r\n\n" + smuggled, 400},
		"LF alone before the request":  {"\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + smuggled, 400},
		"a version to come":            {"GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n" + smuggled, 505},
		"headers without end":          {"GET /healthz HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 64<<10) + "\r\n\r\n" + smuggled, 431},
		"a body too large, never sent": {post + "Content-Length: 70000\r\n\r\n" + smuggled, 413},
	} {
		t.Run(name, func(t *testing.T) {
			statuses, closed := describeRawBytes(t, h.forTest(t), c.text)
			if len(statuses) != 1 || statuses[0] != c.want || !closed {
				t.Errorf("statuses %v, closed %v; want one %d and an end", statuses, closed, c.want)
			}
		})
	}
}

// TestMalformedBytesAfterValidRequest checks that each request on a connection is looked at, and a
// body may hold any bytes.
func TestMalformedBytesAfterValidRequest(t *testing.T) {
	h := newTestServer(t, options{})
	get := "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
	folded := "GET /healthz HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n"
	post := func(body string) string {
		return fmt.Sprintf("POST /api/v1/agents/register HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	chunked := "POST /api/v1/agents/register HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
	for name, c := range map[string]struct {
		text string
		want []int
	}{
		"behind two reads":              {get + get + folded + get, []int{200, 200, 400}},
		"behind a body":                 {post("{}") + folded + get, []int{400, 400}}, // {} registers nobody
		"a body of lines":               {post("{\n \"a\": 1,\n\t\"b\": 2\n}\n\n x") + get + folded, []int{400, 200, 400}},
		"an empty line behind a body":   {post("{}") + "\r\n" + get + folded, []int{400, 200, 400}},
		"nothing behind a chunked body": {chunked + folded + get, []int{400}},
	} {
		t.Run(name, func(t *testing.T) {
			statuses, closed := describeRawBytes(t, h.forTest(t), c.text)
			if !slices.Equal(statuses, c.want) || !closed {
				t.Errorf("statuses %v, closed %v; want %v and an end", statuses, closed, c.want)
			}
		})
	}
}

// TestKeepAlive checks that honest requests share a connection.
func TestKeepAlive(t *testing.T) {
	h := newTestServer(t, options{})
	one := "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
	statuses, _ := describeRawBytes(t, h, one+one+strings.Replace(one, "Host: x", "Host: x\r\nConnection: close", 1))
	if len(statuses) != 3 {
		t.Errorf("statuses %v", statuses)
	}
}

// TestAccessLog checks that there is one line for each request, without any text of the client.
func TestAccessLog(t *testing.T) {
	h := newTestServer(t, options{})
	h.get("/api/v1/search?q=private+illness", 200)
	h.get("/api/v1/services/secret-name.example", 404)
	h.get("/secret-place", 404)
	h.request("BREW", "/healthz", "")
	h.request("HEAD", "/healthz", "")
	lines := h.log.lines(t, "request")
	want := []struct {
		method, route string
		status        float64
	}{
		{"GET", "/api/v1/search", 200}, {"GET", "/api/v1/services/:host", 404}, {"GET", "none", 404}, {"other", "none", 405}, {"HEAD", "/healthz", 200},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d: %v", len(lines), len(want), lines)
	}
	for i, w := range want {
		l := lines[i]
		if l["method"] != w.method || l["route"] != w.route || l["status"] != w.status || l["client"] != "127.0.0.0/24" {
			t.Errorf("line %d is %v, want %+v", i, l, w)
		}
		if _, ok := l["took"]; !ok {
			t.Errorf("line %d has no took", i)
		}
	}
	for _, private := range []string{"illness", "secret-name", "secret-place", "127.0.0.1", "BREW"} {
		if strings.Contains(h.log.all(), private) {
			t.Errorf("the log says %q", private)
		}
	}
}

// TestServerLimits checks that a server without one of these can be held up by one client.
func TestServerLimits(t *testing.T) {
	s := route.NewServer(http.NotFoundHandler(), nil)
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 || s.MaxHeaderBytes <= 0 || s.ErrorLog == nil {
		t.Errorf("a limit is missing: %+v", s)
	}
}
