package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

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
		return "its certificate is not valid: " + certificate.Err.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens on that address"
	case errors.Is(err, syscall.ECONNRESET):
		return "the connection was closed"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	default:
		return err.Error()
	}
}
