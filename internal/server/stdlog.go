package server

import (
	"log"
	"log/slog"
	"strings"
)

// captureStandardLog sends what libraries write to the global log (bleve, and
// net/http about hostile peers) to ours, so that a terminal and a log file see
// one kind of line.
func captureStandardLog(l *slog.Logger) {
	log.SetFlags(0)
	log.SetOutput(writerFunc(func(p []byte) (int, error) {
		l.Debug("library", "text", strings.TrimSpace(string(p)))
		return len(p), nil
	}))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
