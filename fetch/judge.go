package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"gazetteer/document"
	"gazetteer/protocol"
)

// judgeStatus settles an answer that is not a redirect.
func judgeStatus(a *Ask, status int) AskResult {
	answered := fmt.Sprintf("answered %d %s", status, http.StatusText(status))
	switch {
	case a.Kind == KindRobots && status >= 200 && status < 300:
		return AskResult{Outcome: OK}
	case status == 200 || status == 203:
		if why := wrongMediaType(a.Kind, a.url, a.Fetch.MediaType); why != "" {
			return AskResult{Outcome: BadMediaType, Detail: why, Definite: true}
		}
		return AskResult{Outcome: OK}
	case status == 304 && a.isConditional():
		return AskResult{Outcome: Unchanged}
	case status == 404 || status == 410:
		return AskResult{Outcome: Absent, Detail: answered, Definite: true}
	case status == 401 || status == 403:
		return AskResult{Outcome: Forbidden, Detail: answered + "; discovery must not need authentication"}
	case status == 429:
		return AskResult{Outcome: Throttled, Detail: answered}
	case status >= 500:
		return AskResult{Outcome: ServerError, Detail: answered}
	default:
		return AskResult{Outcome: BadStatus, Detail: answered}
	}
}

// wrongMediaType describes the fault of a Content-Type, "" if there is none.
func wrongMediaType(kind string, from *url.URL, contentType string) string {
	if kind == "" {
		return "" // the caller tells the format from the bytes
	}
	if kind == KindRobots {
		return "" // RFC 9309 §2.3 asks for text/plain; most sites send other types, too
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		media = strings.ToLower(strings.TrimSpace(contentType))
	}
	format, ok := document.FormatOf(document.Kind(kind))
	if !ok {
		return "no format is called " + kind
	}
	if slices.Contains(format.MediaTypes, media) || media == "text/plain" && slices.Contains(format.TextEndings, strings.ToLower(path.Ext(from.Path))) {
		return ""
	}
	want := format.MediaTypes[0]
	if media == "" {
		return "no Content-Type; serve the document as " + want
	}
	return fmt.Sprintf("Content-Type is %.60q; serve the document as %s", media, want)
}

// judgeError settles an exchange that ended without a complete answer.
func judgeError(err error) AskResult {
	var (
		blocked  *BlockedError
		large    *tooLargeError
		encoding *encodingError
		dns      *net.DNSError
		phase    *phaseError
		op       *net.OpError
	)
	switch {
	case errors.As(err, &blocked):
		return AskResult{Outcome: BlockedAddress, Detail: blocked.Error()}
	case errors.As(err, &large):
		return AskResult{Outcome: TooLarge, Detail: large.Error(), Definite: true}
	case errors.As(err, &encoding):
		return AskResult{Outcome: Unreadable, Detail: encoding.Error()}
	case errors.As(err, &dns):
		return AskResult{
			Outcome: DNSFailed, Detail: dnsProblem(dns), NamesFailed: !dns.IsNotFound && (dns.IsTimeout || dns.IsTemporary),
			NoNameServer: lacksNameServer(dns),
		}
	case isTimeout(err):
		detail := "no whole answer in time"
		if errors.As(err, &phase) {
			detail = "no connection in time (" + phase.phase + ")"
		}
		return AskResult{Outcome: Timeout, Detail: detail}
	case errors.As(err, &phase) && phase.phase == "tls":
		detail, certificate := tlsProblem(phase.err)
		return AskResult{Outcome: TLSFailed, Detail: detail, certificate: certificate}
	case errors.As(err, &op) && (op.Op == "local error" || op.Op == "remote error"): // as crypto/tls calls an alert
		return AskResult{Outcome: TLSFailed, Detail: "the TLS connection failed: " + protocol.ClipBytes(withoutAddresses(op), 150)}
	}
	if asked, ok := errors.AsType[*url.Error](err); ok {
		err = asked.Err
	}
	return AskResult{Outcome: Unreachable, Detail: protocol.ClipBytes(connectionProblem(err), 200)}
}

// Reason explains why a request of net/http had no complete answer, for a person and without our
// own addresses.
func Reason(err error) string {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	if errors.As(err, &certificate) || errors.As(err, &record) {
		detail, _ := tlsProblem(err)
		return detail
	}
	return judgeError(err).Detail
}

// connectionProblem says why there was no answer, or no complete one.
func connectionProblem(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the host refuses the connection"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route to the address of the host"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the host closed the connection before its answer was whole"
	}
	text := withoutAddresses(err)
	if strings.Contains(text, "HTTP response to HTTPS client") {
		return "the host uses plain HTTP where TLS is expected"
	}
	for _, ours := range []string{"connect: ", "net/http: ", "HTTP/1.x transport connection broken: ", "http: "} {
		text = strings.TrimPrefix(text, ours)
	}
	return "the answer is no HTTP that can be read: " + text
}

// dnsProblem says why a name has no address. The text of the error itself names our name server,
// which must stay private.
func dnsProblem(err *net.DNSError) string {
	name := protocol.Quote(strings.TrimSuffix(err.Name, "."))
	switch {
	case err.IsNotFound:
		return "no address is known for the name " + name
	case lacksNameServer(err):
		return "this server could not reach its own name server to look up " + name
	case err.IsTimeout:
		return "the name servers of " + name + " did not answer in time"
	case err.IsTemporary:
		return "the name servers of " + name + " fail to answer"
	}
	return "what the name servers answer for " + name + " cannot be used"
}

// socketErrors begin the texts of errors of a connection to a name server, as [net.OpError] writes them. A
// [net.DNSError] does not wrap them.
var socketErrors = []string{"dial udp", "dial tcp", "read udp", "read tcp", "write udp", "write tcp"}

// lacksNameServer reports whether a lookup failed because our name server refuses connections or has no
// route. One that does not answer in time may wait for those of the name.
func lacksNameServer(err *net.DNSError) bool {
	return err.IsTemporary && !err.IsTimeout && slices.ContainsFunc(socketErrors, func(begin string) bool { return strings.HasPrefix(err.Err, begin) })
}

// withoutAddresses returns the text of an error without the addresses of our connection.
func withoutAddresses(err error) string {
	text := err.Error()
	var op *net.OpError
	for errors.As(err, &op) {
		if op.Source != nil {
			text = strings.ReplaceAll(text, op.Error(), op.Err.Error())
		}
		err = op.Err
	}
	return text
}

func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	if asked, ok := errors.AsType[*url.Error](err); ok { // it would answer for what it wraps, and looks only one deep
		err = asked.Err
	}
	var timed interface{ Timeout() bool }
	return errors.As(err, &timed) && timed.Timeout()
}
