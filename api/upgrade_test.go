package api_test

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"gazetteer/api/route"
)

// acceptUpgrade answers the handshake of RFC 6455 §4.2.2 and echoes all bytes.
func acceptUpgrade(c *gin.Context) {
	sum := sha1.Sum([]byte(c.GetHeader("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	conn, buffered, err := c.Writer.Hijack()
	if err != nil {
		c.Status(http.StatusInternalServerError)
		return
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+
		base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
	io.Copy(conn, buffered)
}

// TestUpgradedConnectionsPassUntouched checks that bytes after an upgrade are not read as header
// lines, and that every line before it is.
func TestUpgradedConnectionsPassUntouched(t *testing.T) {
	h := newTestServer(t, options{handlers: func(e *gin.Engine) { e.GET("/upgrade", acceptUpgrade) }})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := route.NewServer(h.api.Handler(), nil)
	go server.Serve(route.StrictLines(l))
	t.Cleanup(func() { server.Close() })
	dial := func() (net.Conn, *bufio.Reader) {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		conn.SetDeadline(time.Now().Add(time.Minute))
		return conn, bufio.NewReader(conn)
	}
	const head = "GET /upgrade HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

	conn, reader := dial()
	io.WriteString(conn, head+"\r\n")
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusSwitchingProtocols || response.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		t.Fatalf("%s %v", response.Status, response.Header)
	}
	// A masked frame, and bytes that no header may hold: bare line feeds, a folded line, NUL.
	frames := "\x82\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58" + "\n\n folded\nX: y\n\x00\r\n\r\nGET /healthz HTTP/1.1\n\n" + strings.Repeat("\n \x00", 5000)
	go io.WriteString(conn, frames)
	echo := make([]byte, len(frames))
	if _, err := io.ReadFull(reader, echo); err != nil || string(echo) != frames {
		t.Fatalf("%d of %d bytes came back: %v", len(strings.TrimRight(string(echo), "\x00")), len(frames), err)
	}

	conn, reader = dial()
	io.WriteString(conn, head+"X-Bare: a\nX-More: b\r\n\r\n")
	if response, err = http.ReadResponse(reader, nil); err != nil || response.StatusCode != http.StatusBadRequest {
		t.Errorf("a bare line feed in the handshake: %v %v", response, err)
	}
}
