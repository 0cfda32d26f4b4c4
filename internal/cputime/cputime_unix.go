//go:build unix

// Package cputime measures the processor time of this process, which benchmarks compare and tests
// limit, because other work on the machine hardly changes it.
package cputime

import (
	"syscall"
	"time"
)

// Used returns the processor time, in user and in kernel mode, that this process has used since its
// start.
func Used() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
