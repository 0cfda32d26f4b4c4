package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// Describe returns the text of an error for a user: the texts of the network and of the file system
// in it are replaced by plain words. An error that is formatted with %v or %s keeps its raw text.
func Describe(err error) string {
	text := err.Error()
	describeParts(err, func(raw, plain string) { text = strings.ReplaceAll(text, raw, plain) })
	return text
}

// describeParts calls replace for the errors in the tree of err that have plain words, an outer one
// before those in it.
func describeParts(err error, replace func(raw, plain string)) {
	switch e := err.(type) {
	case nil:
		return
	case *url.Error:
		plain := describeNetworkError(e.Err)
		if at, parseErr := url.Parse(e.URL); parseErr == nil && at.Host != "" {
			plain = at.Scheme + "://" + at.Host + ": " + plain
		}
		replace(e.Error(), plain)
	case *net.OpError:
		if plain := describeListenError(e); plain != "" {
			replace(e.Error(), plain)
		}
	case *fs.PathError:
		if plain := describeFileError(e); plain != "" {
			replace(e.Error(), plain)
		}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		describeParts(e.Unwrap(), replace)
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			describeParts(part, replace)
		}
	}
}

// describeFileError describes why a file cannot be used, "" if it has no plain words for that.
func describeFileError(e *fs.PathError) string {
	switch {
	case errors.Is(e, fs.ErrNotExist) && !FileExists(filepath.Dir(e.Path)):
		return "there is no directory " + filepath.Dir(e.Path)
	case errors.Is(e, fs.ErrNotExist):
		return "there is no file " + e.Path
	case errors.Is(e, fs.ErrPermission):
		return "there is no permission to use " + e.Path
	case errors.Is(e, fs.ErrExist):
		return e.Path + " exists"
	case errors.Is(e, syscall.EISDIR):
		return e.Path + " is a directory"
	case errors.Is(e, syscall.ENOTDIR):
		return "a part of the path " + e.Path + " is not a directory"
	case errors.Is(e, syscall.ENOSPC), errors.Is(e, syscall.EDQUOT):
		return "the disk of " + e.Path + " is full: free disk space (move backups away), or use another disk"
	}
	return ""
}

// describeListenError describes why a server cannot listen on an address, "" if it has no plain
// words for that.
func describeListenError(e *net.OpError) string {
	var address *net.AddrError
	var name *net.DNSError
	switch {
	case e.Op != "listen":
		return ""
	case errors.Is(e, syscall.EADDRINUSE):
		return "another program listens there"
	case errors.Is(e, syscall.EADDRNOTAVAIL):
		return "this machine does not have that address"
	case errors.Is(e, syscall.EACCES):
		return "there is no permission to use that port"
	case errors.As(e, &address) && strings.Contains(address.Err, "missing port"):
		return "it has no port; want HOST:PORT, for example 127.0.0.1:8080"
	case errors.As(e, &name):
		return describeNetworkError(e)
	case errors.As(e, &address):
		return "want HOST:PORT, for example 127.0.0.1:8080"
	}
	return ""
}

// notHTTP matches the texts of package http, which have no type, for an answer that is not one of HTTP.
var notHTTP = regexp.MustCompile(`malformed (?:HTTP|MIME)|transport connection broken|readLoopPeekFailLocked`)

// tlsAlert matches the beginning of an alert of TLS, as package http quotes it: the answer of a TLS server
// to plain HTTP.
var tlsAlert = regexp.MustCompile(`"\\x15\\x03`)

// describeNetworkError describes why a server did not answer.
func describeNetworkError(err error) string {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		return fmt.Sprintf("the name %s has no address", name.Name)
	case errors.As(err, &name):
		return fmt.Sprintf("the address of %s cannot be looked up", name.Name)
	case errors.As(err, &certificate):
		return "its certificate is not valid: " + strings.TrimPrefix(certificate.Err.Error(), "x509: ")
	case errors.Is(err, http.ErrSchemeMismatch):
		return "it speaks HTTP and not HTTPS: begin the address with http://"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens on that address"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was closed"
	case errors.Is(err, io.EOF):
		return "it closed the connection without an answer"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it was cut off"
	case strings.Contains(err.Error(), "malformed HTTP") && tlsAlert.MatchString(err.Error()):
		return "it speaks HTTPS and not HTTP: begin the address with https://"
	case notHTTP.MatchString(err.Error()):
		return "it does not speak HTTP"
	case strings.HasPrefix(err.Error(), "stopped after "): // by http.Client
		return "it redirects more than ten times"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	default:
		return err.Error()
	}
}
