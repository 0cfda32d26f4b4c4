package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"
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

// parseBlockList reads one host per line. "*.example.com" names a host and all hosts below it. A #
// begins a comment.
func parseBlockList(r io.Reader) ([]string, error) {
	// Read one byte more than the limit to detect a longer file: a truncated list would allow
	// visits to hosts that it names.
	rest := &io.LimitedReader{R: r, N: maxBlockList + 1}
	var entries []string
	lines := bufio.NewScanner(rest)
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line != "" {
			entries = append(entries, line)
		}
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

// catchHangups returns a channel with a value for each SIGHUP, and a function that ends this. It is
// called before the server says that it is ready: from then on the signal must not end a server
// whose service manager sends it to every process that it reloads. On a terminal without a block
// list it does, because the terminal is gone.
func (h *Server) catchHangups() (again chan os.Signal, stop func()) {
	again = make(chan os.Signal, 1)
	if h.Config.Crawler.BlockListFile != "" || !term.IsTerminal(int(os.Stderr.Fd())) {
		signal.Notify(again, syscall.SIGHUP)
	}
	return again, func() { signal.Stop(again) }
}

// reloadOnHangup reads the block list again at each SIGHUP until ctx ends. If the list cannot be
// read, the previous one stays in force. Without a list the signal changes nothing.
func (h *Server) reloadOnHangup(ctx context.Context, again <-chan os.Signal) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			if h.Config.Crawler.BlockListFile == "" {
				h.log.Info("nothing to read again: no block list is configured")
			} else if err := h.ApplyBlockList(ctx); err != nil && !errors.Is(err, context.Canceled) {
				h.log.Error("the block list was not read again; the one before stays in force", "error", err)
			}
			h.notifyCaughtUp(ctx)
		}
	}
}
