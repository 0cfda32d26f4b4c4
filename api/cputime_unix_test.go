//go:build unix

package api_test

import (
	"syscall"
	"time"
)

// cpuTime is how long this process has worked so far: what a benchmark compares
// where others use the machine, too.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
