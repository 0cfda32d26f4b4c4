package server

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"gazetteer/internal/config"
)

// TuneMemory makes the garbage collector run less often while memory is free: a crawl allocates
// much and retains little. GOGC and GOMEMLIMIT take precedence.
func TuneMemory(config config.Config) {
	if !config.Crawler.Enabled || isMemoryConfigured() {
		return
	}
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(1 << 30)
}

// isMemoryConfigured reports whether the environment configures the garbage collector.
func isMemoryConfigured() bool {
	return os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != ""
}

const (
	crawlMemory       = 92 << 20 // the soft limit of limitCrawlMemory while little is in use
	crawlMemoryPeriod = time.Second
)

// limitCrawlMemory keeps the memory of a process small that only crawls: the garbage collector runs
// rarely below crawlMemory, and more often near it. With more memory in use, the limit is one and a
// half times that, so that collection never takes most of the processor time. It runs until ctx
// ends and then restores the settings.
func limitCrawlMemory(ctx context.Context) error {
	if isMemoryConfigured() {
		return nil
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(crawlMemory))
	ticker := time.NewTicker(crawlMemoryPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
		metrics.Read(sample)
		used := sample[0].Value.Uint64() + sample[1].Value.Uint64()
		debug.SetMemoryLimit(max(crawlMemory, int64(used+used/2)))
	}
}
