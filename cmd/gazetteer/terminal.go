package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"gazetteer/crawler"
	"gazetteer/lint/format"
)

// isTerminal reports whether w is a terminal that a status line can live on.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// progress prints lines, and on a terminal one live status line below them.
// Without a terminal there are only the lines.
type progress struct {
	mu    sync.Mutex // guards w and shown
	w     io.Writer
	live  bool
	shown bool
}

func newProgress(w io.Writer) *progress { return &progress{w: w, live: isTerminal(w)} }

// line prints one line above the status line.
func (p *progress) line(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// run shows status every quarter of a second until ctx ends, then takes the
// status line away. Without a terminal it only waits.
func (p *progress) run(ctx context.Context, status func() (crawler.Status, bool)) {
	if !p.live {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			p.mu.Lock()
			p.erase()
			p.mu.Unlock()
			return
		case <-tick.C:
			if s, ok := status(); ok {
				p.show(statusLine(s))
			}
		}
	}
}

func statusLine(s crawler.Status) string {
	return fmt.Sprintf("%d visited · %d under way · %d waiting · %d without a document · %.1f/s",
		s.Visits, s.InFlight, s.Due, s.Errors, s.Rate)
}

func (p *progress) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 1 && len([]rune(text)) >= width {
			text = string([]rune(text)[:width-1])
		}
	}
	p.erase()
	io.WriteString(p.w, text)
	p.shown = true
}

// erase clears the status line. The caller holds mu.
func (p *progress) erase() {
	if p.shown {
		io.WriteString(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// visibleLines is visible for our own texts of several lines: their line breaks
// stay.
func visibleLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = format.Visible(l)
	}
	return strings.Join(lines, "\n")
}
