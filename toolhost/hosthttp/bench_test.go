package hosthttp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"gazetteer/internal/cputime"
	"gazetteer/protocol/altar"
)

// flushingConn writes what a runtime has answered when it reads on: in one system call what came in
// one.
type flushingConn struct {
	net.Conn
	ready   bool // the handshake is over: one goroutine reads and writes
	pending []byte
}

func (c *flushingConn) Write(p []byte) (int, error) {
	if !c.ready {
		return c.Conn.Write(p)
	}
	c.pending = append(c.pending, p...)
	if len(c.pending) < 64<<10 {
		return len(p), nil
	}
	return len(p), c.flush()
}

func (c *flushingConn) Read(p []byte) (int, error) {
	if err := c.flush(); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *flushingConn) flush() error {
	if len(c.pending) == 0 {
		return nil
	}
	_, err := c.Conn.Write(c.pending)
	c.pending = c.pending[:0]
	return err
}

// leanClient is an HTTP client with one keep-alive connection. It costs far less than that of
// net/http, whose cost would be most of the measured one.
type leanClient struct {
	conn    net.Conn
	reader  *bufio.Reader
	request []byte
}

func newLeanClient(addr string) (*leanClient, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &leanClient{conn: conn, reader: bufio.NewReader(conn)}, nil
}

// post sends a body and reads the answer, which must have the status 200 and a Content-Length.
func (c *leanClient) post(path string, body []byte) error {
	c.request = append(append(append(c.request[:0], "POST "...), path...), " HTTP/1.1\r\nHost: host.test\r\nAuthorization: Bearer me-token\r\nContent-Length: "...)
	c.request = append(strconv.AppendInt(c.request, int64(len(body)), 10), "\r\n\r\n"...)
	c.request = append(c.request, body...)
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	for length := -1; ; {
		line, err := c.reader.ReadSlice('\n')
		switch {
		case err != nil:
			return err
		case bytes.HasPrefix(line, []byte("HTTP/1.1 ")) && !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")):
			return errors.New(string(line))
		case bytes.HasPrefix(line, []byte("Content-Length: ")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[16:]))); err != nil {
				return err
			}
		case len(line) == 2:
			_, err := c.reader.Discard(length)
			return err
		}
	}
}

// echoRuntime answers every call until the connection ends. Like the client, it parses only what it
// needs: the work of a runtime is not the Host's.
func (h *testHost) echoRuntime() {
	var flushing *flushingConn
	dialer := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		flushing = &flushingConn{Conn: conn}
		return flushing, err
	}}
	p := h.connectWith(&http.Client{Transport: dialer}, "rt", "echo", "count")
	flushing.ready = true
	go func() {
		var reply []byte
		for {
			_, text, err := p.ws.Read(context.Background())
			if err != nil {
				return
			}
			id, rest, found := bytes.Cut(bytes.TrimPrefix(text, []byte(`{"type":"ToolCall","invocation_id":"`)), []byte{'"'})
			if !found || len(id) == len(text) {
				continue
			}
			if bytes.Contains(rest[:min(len(rest), 200)], []byte(`"tool_name":"count"`)) {
				p.flood(string(id))
				continue
			}
			_, parameters, _ := bytes.Cut(rest, []byte(`"parameters":`))
			parameters = parameters[:bytes.LastIndexByte(parameters, ',')] // timeout_ms is last
			reply = append(append(reply[:0], `{"type":"ToolResult","invocation_id":"`...), id...)
			reply = append(append(append(reply, `","status":"success","payload":`...), parameters...), '}')
			p.ws.Write(context.Background(), websocket.MessageText, reply)
		}
	}()
}

const floodChunks = 20_000

var floodPayload = json.RawMessage(`{"text":"` + strings.Repeat("x", 100) + `"}`)

func (p *peer) flood(id string) {
	var text []byte
	for i := range int64(floodChunks) {
		text = append(text[:0], `{"type":"StreamChunk",`...)
		text = append(text, altar.AppendStreamChunk(nil, &altar.StreamChunk{InvocationID: id, ChunkID: i, Payload: floodPayload, IsFinal: i == floodChunks-1})[1:]...)
		if p.ws.Write(context.Background(), websocket.MessageText, text) != nil {
			return
		}
	}
}

// bareEcho is a WebSocket server that echoes its input, and floods on request.
func bareEcho(b *testing.B) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer ws.CloseNow()
		for {
			_, text, err := ws.Read(context.Background())
			if err != nil {
				return
			}
			if string(text) == "flood" {
				chunk := altar.Encode(altar.StreamChunk{InvocationID: "x", ChunkID: 10_000, Payload: floodPayload})
				for range floodChunks {
					ws.Write(context.Background(), websocket.MessageText, chunk)
				}
				continue
			}
			ws.Write(context.Background(), websocket.MessageText, text)
		}
	}))
	b.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http")
}

var benchParameters = `{"text":"` + strings.Repeat("x", 100) + `","n":12345}`

// reportCPU reports the processor time of an operation, which is more reliable than the clock on a
// shared machine. Call the returned function at the end.
func reportCPU(b *testing.B) func() {
	before := cputime.Used()
	return func() { b.ReportMetric(float64(cputime.Used()-before)/float64(b.N), "cpu-ns/op") }
}

func BenchmarkCall(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("bare-%d", callers), func(b *testing.B) {
			url := bareEcho(b)
			frame := []byte(callBody("0123456789abcdef", "echo", benchParameters))
			b.SetParallelism((callers + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
			run := func(next func() bool) {
				ws, _, err := websocket.Dial(context.Background(), url, nil)
				if err != nil {
					b.Error(err)
					return
				}
				defer ws.CloseNow()
				for next() {
					if err := ws.Write(context.Background(), websocket.MessageText, frame); err != nil {
						b.Error(err)
					}
					if _, _, err := ws.Read(context.Background()); err != nil {
						b.Error(err)
						return
					}
				}
			}
			each(b, callers, run)
		})
		// What a client over HTTP costs without any host behind it: the least that a call can cost is
		// this and a bare echo.
		b.Run(fmt.Sprintf("http-%d", callers), func(b *testing.B) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				io.Copy(w, r.Body)
			}))
			defer server.Close()
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
			defer client.CloseIdleConnections()
			each(b, callers, func(next func() bool) {
				for next() {
					response, err := client.Post(server.URL, "application/json", strings.NewReader(callBody("0123456789abcdef", "echo", benchParameters)))
					if err != nil {
						b.Error(err)
						return
					}
					io.Copy(io.Discard, response.Body)
					response.Body.Close()
				}
			})
		})
		// The same with the lean client: what the HTTP exchange of the next row costs without the host.
		b.Run(fmt.Sprintf("lean-http-%d", callers), func(b *testing.B) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				w.Header().Set("Content-Type", "application/json")
				w.Write(text)
			}))
			defer server.Close()
			each(b, callers, func(next func() bool) {
				client, err := newLeanClient(server.Listener.Addr().String())
				if err != nil {
					b.Error(err)
					return
				}
				defer client.conn.Close()
				body := []byte(callBody("0123456789abcdef", "echo", benchParameters))
				for next() {
					if err := client.post("/", body); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
		b.Run(fmt.Sprintf("host-%d", callers), func(b *testing.B) {
			h := newTestHost(b, nil)
			h.echoRuntime()
			path := callPath(h.session("me-token", `{}`))
			var count atomic.Int64
			each(b, callers, func(next func() bool) {
				client, err := newLeanClient(h.addr)
				if err != nil {
					b.Error(err)
					return
				}
				defer client.conn.Close()
				body := []byte(callBody("0123456789abcdef", "echo", benchParameters))
				id := body[len(`{"invocation_id":"`):][:16]
				for next() {
					number := strconv.AppendInt(nil, 1e15+count.Add(1), 10) // as long as the id of the echo
					copy(id, number)
					if err := client.post(path, body); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
		// The same with the client of net/http.
		b.Run(fmt.Sprintf("host-net-http-%d", callers), func(b *testing.B) {
			h := newTestHost(b, nil)
			h.echoRuntime()
			session := h.session("me-token", `{}`)
			var count atomic.Int64
			each(b, callers, func(next func() bool) {
				for next() {
					body := callBody(fmt.Sprint(count.Add(1)), "echo", benchParameters)
					r, _ := http.NewRequest("POST", "http://"+h.addr+callPath(session), strings.NewReader(body))
					r.Header.Set("Authorization", "Bearer me-token")
					response, err := h.http.Do(r)
					if err != nil {
						b.Error(err)
						return
					}
					io.Copy(io.Discard, response.Body)
					response.Body.Close()
					if response.StatusCode != 200 {
						b.Error(response.Status)
					}
				}
			})
		})
	}
}

// each runs a function in so many goroutines, b.N calls of next together.
func each(b *testing.B, callers int, run func(next func() bool)) {
	defer reportCPU(b)()
	if callers == 1 {
		run(b.Loop)
		return
	}
	b.SetParallelism((callers + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
	b.RunParallel(func(pb *testing.PB) { run(pb.Next) })
}

func BenchmarkChunks(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		ws, _, err := websocket.Dial(context.Background(), bareEcho(b), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer ws.CloseNow()
		defer reportCPU(b)()
		for b.Loop() {
			ws.Write(context.Background(), websocket.MessageText, []byte("flood"))
			for range floodChunks {
				if _, _, err := ws.Read(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(floodChunks)*float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
	})
	b.Run("host", func(b *testing.B) {
		h := newTestHost(b, nil)
		h.echoRuntime()
		session := h.session("me-token", `{}`)
		defer reportCPU(b)()
		for i := 0; b.Loop(); i++ {
			response, _ := h.stream(context.Background(), session, fmt.Sprint(i), "count")
			text, err := io.ReadAll(response.Body)
			if err != nil || bytes.Count(text, []byte("\nid: ")) != floodChunks-1 {
				b.Fatalf("%d chunks, %v: %.200s", bytes.Count(text, []byte("\nid: ")), err, text[max(0, len(text)-300):])
			}
		}
		b.ReportMetric(float64(floodChunks)*float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
	})
}

// BenchmarkIdle measures the memory of 1,000 runtimes and 10,000 sessions, clients' side included.
func BenchmarkIdle(b *testing.B) {
	for b.Loop() {
		h := newTestHost(b, nil)
		for i := range 1000 {
			h.connect(fmt.Sprintf("rt-%d", i), "echo")
		}
		for range 10_000 {
			h.session("me-token", `{}`)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-sys")
		b.ReportMetric(float64(m.HeapAlloc+m.StackInuse)/(1<<20), "MiB-used")
	}
}
