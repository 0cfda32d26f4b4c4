package cli

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gazetteer/internal/exit"
)

func TestErrorsOfNetworkAndFilesAreDescribed(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	_, inUse := net.Listen("tcp", busy.Addr().String())
	_, noPort := net.Listen("tcp", "foo")
	_, missing := os.ReadFile(filepath.Join(t.TempDir(), "none"))
	_, folder := os.Create(filepath.Join(t.TempDir(), "none", "file"))
	_, directory := os.ReadFile(t.TempDir())
	_, refused := http.Get("http://127.0.0.1:1/inbox/x")
	for want, err := range map[string]error{
		"listen: another program listens there": fmt.Errorf("listen: %w", inUse),
		"it has no port":                        noPort,
		"import: there is no file ":             exit.Usagef("import: %w", missing),
		"is a directory":                        directory,
		"send to x: http://127.0.0.1:1: nothing listens on that address": fmt.Errorf("send to x: %w", errors.Join(refused)),
		"write: there is no directory ":                                  fmt.Errorf("write: %w", folder),
		"unchanged":                                                      errors.New("unchanged"),
	} {
		if got := Describe(err); !strings.Contains(got, want) || strings.Contains(got, "dial") || strings.Contains(got, "bind") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestServerWithoutTLSIsNamed asks a server for HTTPS that speaks HTTP alone.
func TestServerWithoutTLSIsNamed(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	app := &App{Server: strings.Replace(server.URL, "http://", "https://", 1), Timeout: time.Minute}
	err := app.WithServer(t.Context(), Read, func(c *Client) error {
		_, err := c.GetJSON(t.Context(), "/health", nil)
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "it speaks HTTP and not HTTPS: begin the address with http://") {
		t.Errorf("%v", err)
	}
}
