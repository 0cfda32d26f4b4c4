package privatenet

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// memoryHostsEnv sets how many good hosts TestMemoryOfACrawl adds to the standard ones, and has the
// memory judged.
const memoryHostsEnv = "MEMORY_HOSTS"

// crawlMemory is what a crawl of 5,000 mixed hosts at 1,000 a second may take, in bytes.
const crawlMemory = 200 << 20

// TestMemoryOfACrawl crawls the standard hosts, of which many misbehave, with 300 good ones, or
// MEMORY_HOSTS, at 1,000 visits a second, and tells how much memory the program took at the most.
func TestMemoryOfACrawl(t *testing.T) {
	hosts, judged := 300, false
	if n, err := strconv.Atoi(os.Getenv(memoryHostsEnv)); err == nil {
		hosts, judged = n, true
	}
	w := openWorld(t, true)
	w.good(hosts)
	w.connections()
	data := filepath.Join(t.TempDir(), "data")
	p := w.begin(data, "", "--file", w.file(w.list), "--set", "crawler.rate=1000")
	results := p.end(0)
	usage, ok := p.command.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("the system does not tell what a process took")
	}
	peak := usage.Maxrss << 10
	t.Logf("%d hosts: %d MiB at the most", len(results), peak>>20)
	if judged && peak > crawlMemory {
		t.Errorf("the crawl took %d MiB, want at most %d", peak>>20, crawlMemory>>20)
	}
}
