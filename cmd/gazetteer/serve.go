package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) serveCommand() *cobra.Command {
	var listen string
	var noCrawl bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Crawl on schedule, index, and serve the API and the pages",
		Long: `Serve opens the data directory, visits the hosts it knows when they are due,
follows the store into the index, and answers on the address of the
configuration until it is interrupted. Running work is then finished within
shutdown_grace.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if listen != "" {
				a.settings = append(a.settings, "listen="+listen)
			}
			if noCrawl {
				a.settings = append(a.settings, "crawler.enabled=false")
			}
			config, err := a.config()
			if err != nil {
				return err
			}
			return a.serve(c.Context(), config)
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "address to listen on (over listen of the configuration)")
	c.Flags().BoolVar(&noCrawl, "no-crawl", false, "fetch nothing, only serve what is there")
	return c
}

func (a *app) serve(ctx context.Context, config Config) (err error) {
	l := logger(a.err, config.LogLevel)
	tuneMemory(config)
	public, err := listenTCP(config.Listen, "--listen")
	if err != nil {
		return err
	}
	defer public.Close()
	h, err := openHouse(ctx, config, a.edge, l, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	h.tell = serviceManager(l)
	if config.Crawler.BlockList != "" {
		if err := h.applyBlockList(ctx); err != nil {
			return &exitError{exitUsage, err}
		}
	}
	if config.Crawler.Enabled {
		if err := h.crawler.Add(ctx, config.Crawler.Seeds...); err != nil {
			return fmt.Errorf("crawler.seeds: %w", err)
		}
	}
	return h.run(ctx, public, config.Crawler.Enabled, func() {
		l.Info("serving", "address", "http://"+public.Addr().String(), "data_dir", config.DataDir, "head", h.store.Head().Seq)
		h.tell("READY=1\nSTATUS=serving " + config.DataDir + "; the index catches up")
	})
}

// tuneMemory lets the garbage collector run more rarely while there is room: a
// crawl makes much garbage and keeps little. GOGC and GOMEMLIMIT win.
func tuneMemory(config Config) {
	if !config.Crawler.Enabled || os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(1 << 30)
}
