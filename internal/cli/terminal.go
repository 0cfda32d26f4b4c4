package cli

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

// IsTerminal reports whether w is a terminal that can show a status line.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Progress prints lines, and on a terminal one live status line below them.
// Without a terminal there are only the lines.
type Progress struct {
	mu    sync.Mutex // guards w and shown
	w     io.Writer
	Live  bool
	shown bool
}

func NewProgress(w io.Writer) *Progress { return &Progress{w: w, Live: IsTerminal(w)} }

// PrintLine prints one line above the status line.
func (p *Progress) PrintLine(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.eraseStatus()
	fmt.Fprintf(p.w, format+"\n", args...)
}

// Run shows status every quarter of a second until ctx ends, then removes the status line. Without
// a terminal it only waits.
func (p *Progress) Run(ctx context.Context, status func() (string, bool)) {
	if !p.Live {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			p.mu.Lock()
			p.eraseStatus()
			p.mu.Unlock()
			return
		case <-tick.C:
			if s, ok := status(); ok {
				p.showStatus(s)
			}
		}
	}
}

// FormatCrawlStatus describes the progress of a crawl in one line.
func FormatCrawlStatus(s crawler.Status) string {
	return fmt.Sprintf("%d visited · %d under way · %d waiting · %d without a document · %.1f/s",
		s.Visits, s.InFlight, s.Due, s.Errors, s.Rate)
}

func (p *Progress) showStatus(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f, ok := p.w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 1 && len([]rune(text)) >= width {
			text = string([]rune(text)[:width-1])
		}
	}
	p.eraseStatus()
	io.WriteString(p.w, text)
	p.shown = true
}

// eraseStatus clears the status line. The caller holds mu.
func (p *Progress) eraseStatus() {
	if p.shown {
		io.WriteString(p.w, "\r\x1b[K")
		p.shown = false
	}
}

// VisibleLines is visible for our own texts of several lines. It keeps their line breaks.
func VisibleLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = format.Visible(l)
	}
	return strings.Join(lines, "\n")
}
