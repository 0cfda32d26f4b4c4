//go:build !unix

package fetch

import "net"

// pending reports that bytes, or the end, of a connection wait to be read. Here
// that cannot be told.
func pending(net.Conn) bool { return false }
