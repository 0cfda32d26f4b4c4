//go:build unix

package fetch

import (
	"net"
	"syscall"
)

// hasPendingBytes reports whether bytes, or the end, of a connection wait to be read. It is false
// where that cannot be determined.
func hasPendingBytes(c net.Conn) bool {
	s, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	came := false
	err = raw.Read(func(fd uintptr) bool {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		came = err != syscall.EAGAIN && err != syscall.EWOULDBLOCK && err != syscall.EINTR
		return true
	})
	return err == nil && came
}
