package server

import (
	"log"
	"log/slog"
	"strings"
)

// captureStandardLog sends the global log of libraries (bleve, and net/http about hostile peers) to
// our logger, so that all log lines have one format.
func captureStandardLog(l *slog.Logger) {
	log.SetFlags(0)
	log.SetOutput(writerFunc(func(p []byte) (int, error) {
		l.Debug("library", "text", strings.TrimSpace(string(p)))
		return len(p), nil
	}))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
