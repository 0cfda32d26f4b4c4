package server

import (
	"os"
	"runtime/debug"

	"gazetteer/internal/config"
)

// TuneMemory lets the garbage collector run more rarely while there is room: a
// crawl makes much garbage and keeps little. GOGC and GOMEMLIMIT win.
func TuneMemory(config config.Config) {
	if !config.Crawler.Enabled || os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(1 << 30)
}
