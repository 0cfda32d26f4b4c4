// Package history stores figures of a server over the last hours, for plots. Begin with [Open]; then
// [History.Run] takes a sample at intervals, and [History.Samples] returns them.
//
// The file holds one sample a line, in JSON, oldest first:
//
//	{"at":"2026-03-14T09:26:30Z","known":310,"due":4,"visits":1200,"store":9120,"behind":0}
package history

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Interval is the time between two samples, Span the age up to which they are kept.
const (
	Interval = 30 * time.Second
	Span     = 12 * time.Hour
)

// maxSamples is the number of samples that are read from a file and kept.
const maxSamples = 2 * int(Span/Interval)

// Sample holds the figures of a server at one time.
type Sample struct {
	At     time.Time `json:"at"`
	Known  int       `json:"known"`  // hosts
	Due    int       `json:"due"`    // hosts that wait for their visit
	Visits int       `json:"visits"` // since the start of the server
	Store  uint64    `json:"store"`  // changes stored
	Behind uint64    `json:"behind"` // changes that the index has not read yet
}

// History holds the samples of the last hours, in memory and in a file. Any number of goroutines may
// use it at once.
type History struct {
	path string

	mu      sync.RWMutex // guards the following fields
	samples []Sample     // oldest first
	lines   int          // in the file
}

// Open reads the samples in the file at path, which may be missing. It skips lines that it cannot
// read: a server that was killed may have left half of one.
func Open(path string) (*History, error) {
	h := &History{path: path}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		h.lines++
		var s Sample
		if json.Unmarshal(lines.Bytes(), &s) == nil && (len(h.samples) == 0 || s.At.After(h.samples[len(h.samples)-1].At)) {
			h.samples = append(h.samples, s)
		}
	}
	h.samples = h.samples[max(0, len(h.samples)-maxSamples):]
	return h, nil
}

// Samples returns the samples since a time, oldest first.
func (h *History) Samples(since time.Time) []Sample {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var found []Sample
	for _, s := range h.samples {
		if !s.At.Before(since) {
			found = append(found, s)
		}
	}
	return found
}

// Run takes a sample at once and then at each interval until ctx ends. It skips a sample that read
// reports as not known yet. A sample that cannot be written stays in memory, and report gets the error.
func (h *History) Run(ctx context.Context, read func() (s Sample, known bool), report func(error)) {
	ticker := time.NewTicker(Interval)
	defer ticker.Stop()
	for {
		if s, known := read(); known {
			if err := h.Add(s); err != nil {
				report(err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Add adds a sample, which is newer than all others, and writes it.
func (h *History) Add(s Sample) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.samples); n > 0 && !s.At.After(h.samples[n-1].At) {
		return nil // the clock was set back
	}
	h.samples = append(h.samples, s)
	old := 0
	for old < len(h.samples) && h.samples[old].At.Before(s.At.Add(-Span)) {
		old++
	}
	h.samples = h.samples[max(old, len(h.samples)-maxSamples):]
	if h.lines >= maxSamples {
		return h.rewriteFile()
	}
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	h.lines++
	return nil
}

// rewriteFile replaces the file by one with the samples in memory.
func (h *History) rewriteFile() error {
	var b bytes.Buffer
	for _, s := range h.samples {
		line, err := json.Marshal(s)
		if err != nil {
			return err
		}
		b.Write(append(line, '\n'))
	}
	temporary := filepath.Join(filepath.Dir(h.path), "."+filepath.Base(h.path)+".new")
	if err := os.WriteFile(temporary, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	if err := os.Rename(temporary, h.path); err != nil {
		return fmt.Errorf("write the history: %w", err)
	}
	h.lines = len(h.samples)
	return nil
}
