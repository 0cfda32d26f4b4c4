//go:build !unix

package fetch

import "net"

// hasPendingBytes reports whether bytes, or the end, of a connection wait to be read. This platform
// cannot tell.
func hasPendingBytes(net.Conn) bool { return false }
