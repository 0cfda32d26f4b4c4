//go:build unix

package hosthttp

import "syscall"

// tryWrite writes as many bytes as the system takes without waiting.
func tryWrite(conn syscall.RawConn, p []byte) (n int, err error) {
	closed := conn.Write(func(fd uintptr) bool {
		for n < len(p) {
			var wrote int
			if wrote, err = syscall.Write(int(fd), p[n:]); wrote > 0 {
				n += wrote
			}
			if err != nil && err != syscall.EINTR {
				break
			}
		}
		return true
	})
	if err == syscall.EAGAIN || err == syscall.EINTR {
		err = nil
	}
	if closed != nil {
		err = closed
	}
	return n, err
}
