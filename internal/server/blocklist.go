package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"gazetteer/fetch"
)

// maxBlockList bounds the operator's file, in bytes.
const maxBlockList = 64 << 20

// readBlockList reads the hosts that the crawler must not visit from the operator's file.
func readBlockList(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the block list: %w", err)
	}
	defer f.Close() // only read
	entries, err := parseBlockList(f)
	if err != nil {
		return nil, fmt.Errorf("read the block list %s: %w", path, err)
	}
	return entries, nil
}

// parseBlockList reads one host per line. "*.example.com" names a host and its subdomains. A #
// begins a comment.
func parseBlockList(r io.Reader) ([]string, error) {
	// Read one byte more than the limit to detect a longer file: a truncated list would allow
	// visits to hosts that it names.
	rest := &io.LimitedReader{R: r, N: maxBlockList + 1}
	var entries []string
	lines := bufio.NewScanner(rest)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if _, err := fetch.CheckHost(strings.TrimPrefix(line, "*.")); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		entries = append(entries, line)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if rest.N == 0 {
		return nil, fmt.Errorf("it is longer than %d MiB: block whole domains with *.example.com", maxBlockList>>20)
	}
	return entries, nil
}

// ApplyBlockList makes the crawler obey the operator's list.
func (h *Server) ApplyBlockList(ctx context.Context) error {
	entries, err := readBlockList(h.Config.Crawler.BlockListFile)
	if err != nil {
		return err
	}
	if err := h.Crawler.SetBlockList(ctx, entries); err != nil {
		return fmt.Errorf("block list %s: %w", h.Config.Crawler.BlockListFile, err)
	}
	h.log.Info("block list read", "file", h.Config.Crawler.BlockListFile, "entries", len(entries))
	return nil
}
