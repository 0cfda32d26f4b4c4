package server

import (
	"os"
	"runtime/debug"

	"gazetteer/internal/config"
)

// TuneMemory makes the garbage collector run less often while memory is free: a crawl allocates
// much and retains little. GOGC and GOMEMLIMIT take precedence.
func TuneMemory(config config.Config) {
	if !config.Crawler.Enabled || os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(1 << 30)
}
