package server

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// catchHangups returns a channel with a value for each SIGHUP, and a function that ends this. It is
// called before the server says that it is ready: from then on the signal must not end a server
// whose service manager sends it to every process that it reloads. On a terminal it does, unless
// there are files to read again, because the terminal is gone.
func (h *Server) catchHangups() (again chan os.Signal, stop func()) {
	again = make(chan os.Signal, 1)
	if h.Config.Crawler.BlockListFile != "" || h.toolsCertificate != nil || !term.IsTerminal(int(os.Stderr.Fd())) {
		signal.Notify(again, syscall.SIGHUP)
	}
	return again, func() { signal.Stop(again) }
}

// reloadOnHangup reads the block list and the certificate of the tool host again at each SIGHUP
// until ctx ends. What cannot be read stays as it was.
func (h *Server) reloadOnHangup(ctx context.Context, again <-chan os.Signal) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			h.reloadFiles(ctx)
			h.notifyCaughtUp(ctx)
		}
	}
}

func (h *Server) reloadFiles(ctx context.Context) {
	if h.Config.FileChanged() {
		h.log.Warn("the configuration has changed since the start, and is read at a start only: restart the server to apply it; `gazetteer serve --check` finds faults before", "file", h.Config.File)
	}
	if h.Config.Crawler.BlockListFile == "" && h.toolsCertificate == nil {
		h.log.Info("nothing to read again: neither a block list nor altar.tls_certificate is configured; the other keys are read at a start only")
		return
	}
	if h.Config.Crawler.BlockListFile != "" {
		if err := h.ApplyBlockList(ctx); err != nil && !errors.Is(err, context.Canceled) {
			h.log.Error("the block list was not read again; the one before stays in force", "error", err)
		}
	}
	if h.toolsCertificate != nil {
		if err := h.toolsCertificate.read(); err != nil {
			h.log.Error("the certificate of the tool host was not read again; the one before stays in use", "error", err)
		}
	}
}
