package server

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"gazetteer/internal/config"
)

// maxGCPercent makes the garbage collector run rarely while the memory in use is small: a crawl
// allocates much and retains little.
const maxGCPercent = 400

// TuneMemory makes the garbage collector run rarely until [Server.Run] bounds the garbage. GOGC
// and GOMEMLIMIT take precedence.
func TuneMemory(config config.Config) {
	if config.Crawler.Enabled && !isMemoryConfigured() {
		debug.SetGCPercent(maxGCPercent)
	}
}

// isMemoryConfigured reports whether the environment configures the garbage collector.
func isMemoryConfigured() bool {
	return os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != ""
}

const (
	memoryPeriod = time.Second
	crawlMemory  = 92 << 20 // the soft limit of limitCrawlMemory while little is in use
	// serverGarbage is the garbage that boundGarbage lets a server accumulate while little is in use.
	serverGarbage = 256 << 20
)

// boundGarbage bounds the garbage in the memory of a server to serverGarbage or, where more than
// twice that is in use, to half of what is in use. With a fixed percentage of 400, a server that uses
// 120 MiB during an attack takes 600 MiB; a fixed limit of its memory would make the collector of a
// large registry run all the time. It runs until ctx ends and then restores the setting.
func boundGarbage(ctx context.Context) error {
	if isMemoryConfigured() {
		return nil
	}
	defer debug.SetGCPercent(debug.SetGCPercent(maxGCPercent))
	return followMemory(ctx, func(used int64) { debug.SetGCPercent(gcPercent(used)) })
}

// gcPercent returns the percentage of the memory in use that boundGarbage lets become garbage.
func gcPercent(used int64) int {
	return int(min(100*max(serverGarbage, used/2)/max(used, 1), maxGCPercent))
}

// limitCrawlMemory keeps the memory of a process small that only crawls: the garbage collector runs
// rarely below crawlMemory, and more often near it. With more memory in use, the limit is one and a
// half times that, so that collection never takes most of the processor time. It runs until ctx
// ends and then restores the settings.
func limitCrawlMemory(ctx context.Context) error {
	if isMemoryConfigured() {
		return nil
	}
	defer debug.SetGCPercent(debug.SetGCPercent(maxGCPercent))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(crawlMemory))
	return followMemory(ctx, func(used int64) { debug.SetMemoryLimit(max(crawlMemory, used+used/2)) })
}

// followMemory calls adapt with the bytes that are in use after a garbage collection, again and again
// until ctx ends.
func followMemory(ctx context.Context, adapt func(used int64)) error {
	ticker := time.NewTicker(memoryPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
		metrics.Read(sample)
		adapt(int64(sample[0].Value.Uint64() + sample[1].Value.Uint64()))
	}
}
