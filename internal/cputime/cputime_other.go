//go:build !unix

package cputime

import "time"

// Used returns 0: the processor time is known on Unix alone.
func Used() time.Duration { return 0 }
