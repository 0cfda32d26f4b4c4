//go:build !unix

package hosthttp

import "syscall"

// tryWrite writes nothing: this platform cannot write without waiting.
func tryWrite(syscall.RawConn, []byte) (int, error) { return 0, nil }
