// Package mcphttp serves Model Context Protocol servers over stateless streamable HTTP: each POST is
// answered by itself, with JSON, even for refused requests. Make the handler with [Handler].
package mcphttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"gazetteer/limit"
)

// Options say how a [Handler] answers.
type Options struct {
	// PublicURL is where clients reach the server. Requests to other host names are refused.
	PublicURL string
	MaxBody   int64        // bytes of the largest request
	Log       *slog.Logger // nil: silent
	// Tools are the tools of the server whose plain calls need nothing of a session and have one text
	// as their result, by name.
	Tools map[string]mcp.ToolHandler
	// Implementation describes the server that has the tools.
	Implementation *mcp.Implementation
}

// Handler serves what server returns for a request. It keeps nothing between requests. Requests with
// a Host or an Origin that does not belong to this server are refused with 403, so that a page whose
// name was led to this machine (DNS rebinding) reaches nothing.
func Handler(server func(*http.Request) *mcp.Server, o Options) http.Handler {
	inner := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: o.MaxBody, PropagateRequestCancellation: true, Logger: o.Log,
		DisableLocalhostProtection: true, // checkOrigin is stricter
	})
	own := ""
	if u, err := url.Parse(o.PublicURL); err == nil {
		own = u.Hostname()
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkOrigin(r, own); err != nil {
			writeError(w, http.StatusForbidden, err.Error())
			return
		}
		body, err := limit.ReadOrDrain(r, o.MaxBody)
		if errors.Is(err, limit.ErrTooLarge) {
			w.Header().Set("Connection", "close")
			writeError(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", o.MaxBody))
			return
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			w.Header().Set("Connection", "close")
			writeError(w, http.StatusRequestTimeout, "the body did not arrive in time")
			return
		}
		if err != nil {
			writeError(w, http.StatusBadRequest, "the body was cut off")
			return
		}
		if refusal := CheckMessages(body); refusal != nil {
			status := http.StatusBadRequest
			if refusal.id != nil { // clients read no body of other statuses
				status = http.StatusOK
			}
			writeRefusal(w, status, refusal)
			return
		}
		if call, plain := readPlainCall(r, body); plain {
			if tool := o.Tools[call.name]; tool != nil {
				call.answer(w, r, tool, o.Implementation)
				return
			}
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer := &refusalRecorder{ResponseWriter: w}
		inner.ServeHTTP(answer, r)
		if answer.status != 0 {
			answer.writeRefusal(r, body)
		}
	})
}

// A refusalRecorder passes answers on, but keeps a refusal in plain text, and one of an unknown method,
// which the library of sessionlessVersion writes in JSON.
type refusalRecorder struct {
	http.ResponseWriter
	status int // of the refusal; 0 for none
	text   bytes.Buffer
}

func (w *refusalRecorder) WriteHeader(status int) {
	inJSON := strings.HasPrefix(w.Header().Get("Content-Type"), "application/json")
	if status == http.StatusNotFound || status >= http.StatusBadRequest && !inJSON {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *refusalRecorder) Write(p []byte) (int, error) {
	if w.status != 0 {
		return w.text.Write(p)
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (w *refusalRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// writeRefusal writes the refusal in our words, if there are any, as a JSON-RPC error.
func (w *refusalRecorder) writeRefusal(r *http.Request, body []byte) {
	text := strings.TrimSpace(w.text.String())
	switch {
	case strings.HasPrefix(text, "JSON RPC not handled") || w.status == http.StatusNotFound && json.Valid([]byte(text)):
		refusal := refuseMethod(body, r.Header.Get("Mcp-Protocol-Version") == sessionlessVersion)
		// Clients of the versions with sessions read no body of other statuses; the later version
		// prescribes 404.
		if refusal.id != nil && w.status != http.StatusNotFound {
			w.status = http.StatusOK
		}
		writeRefusal(w.ResponseWriter, w.status, refusal)
	case strings.HasPrefix(text, "malformed payload"):
		writeError(w.ResponseWriter, w.status, notMessage)
	default:
		writeError(w.ResponseWriter, w.status, text)
	}
}

// writeError writes a refusal of the messages as a whole.
func writeError(w http.ResponseWriter, status int, message string) {
	writeRefusal(w, status, &Refusal{code: jsonrpc.CodeInvalidRequest, message: message})
}

func writeRefusal(w http.ResponseWriter, status int, r *Refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(r.JSON()) // a client that left needs no answer
}

// checkOrigin refuses a request to another name than the server's own, and one from a page of
// another server.
func checkOrigin(r *http.Request, own string) error {
	if host := hostOf(r.Host); !isOwnHost(host, own) {
		return fmt.Errorf("this server does not answer for the host %.100q; public_url in its configuration names the one it answers for", host)
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !isOwnOrigin(u.Hostname(), hostOf(r.Host), own) {
		return fmt.Errorf("pages of the origin %.100q may not use this server", origin)
	}
	return nil
}

// hostOf returns the name in a Host header.
func hostOf(authority string) string {
	if host, _, err := net.SplitHostPort(authority); err == nil {
		return host
	}
	return strings.Trim(authority, "[]")
}

// isOwnHost reports whether a host can only be this server: its public name, the local machine, or an
// address. A rebinding page always has a name, which is none of these.
func isOwnHost(host, own string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || host != "" && strings.EqualFold(host, own) {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}

// isOwnOrigin reports whether a page is from this server or from this machine.
func isOwnOrigin(origin, host, own string) bool {
	address, err := netip.ParseAddr(origin)
	return strings.EqualFold(origin, host) || own != "" && strings.EqualFold(origin, own) || origin == "localhost" || err == nil && address.IsLoopback()
}
