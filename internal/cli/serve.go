package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/internal/config"
	"gazetteer/internal/exit"
	"gazetteer/internal/server"
	"gazetteer/lint/format"
	"gazetteer/store"
	"gazetteer/store/boltfile"
)

// ServeCommand returns the command serve.
func (a *App) ServeCommand() *cobra.Command {
	var listen string
	var noCrawl, check bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Crawl on schedule, index, and serve the API and the pages",
		Long: `Serve opens the data directory, visits the hosts it knows when they are due,
follows the store into the index, and answers on the address of the
configuration until it is interrupted. Running work is then finished within
shutdown_grace.

With --check it reads the configuration and looks at the data directory as a start
would, reports every fault with its line, and ends: run it before you restart a server.`,
		Example: `  gazetteer serve --listen 127.0.0.1:8090 --no-crawl
  gazetteer serve --check --config /etc/gazetteer/config.toml`,
		Args: NoArgs,
		RunE: func(verb *cobra.Command, _ []string) error {
			invite := *a // the socket in the data directory needs no other settings
			if listen != "" {
				a.Settings = append(a.Settings, "listen="+listen)
			}
			if noCrawl {
				a.Settings = append(a.Settings, "crawler.enabled=false")
			}
			c, err := a.Config()
			if err != nil {
				return err
			}
			if check {
				return a.checkConfiguration(c)
			}
			return a.runServer(verb.Context(), c, &invite)
		},
	}
	c.Flags().StringVar(&listen, "listen", "", "address to listen on, instead of listen in the configuration")
	c.Flags().BoolVar(&noCrawl, "no-crawl", false, "fetch nothing, only serve what is there")
	c.Flags().BoolVar(&check, "check", false, "check the configuration and the data directory, and end; change nothing and open no port")
	return c
}

// checkConfiguration reports the faults of a configuration that only the parts of a server find.
func (a *App) checkConfiguration(c config.Config) error {
	if err := server.CheckSettings(c); err != nil {
		return err
	}
	for _, warning := range server.Warnings(c) {
		fmt.Fprintln(a.Err, format.Visible("warning: "+warning))
	}
	what := "The configuration is valid. No file was read: there is no config.toml here, and --config names none."
	if c.File != "" {
		what = c.File + " is valid, with the environment and the flags of this command."
	}
	fmt.Fprintln(a.Out, format.Visible(what))
	return nil
}

// runServer serves until ctx ends. invite has the flags of the commands that it proposes to the user.
func (a *App) runServer(ctx context.Context, settings config.Config, invite *App) (err error) {
	l := NewLogger(a.Err, settings.LogLevel)
	server.TuneMemory(settings)
	// Asked before the address: that of the running server is in use, too.
	if held := boltfile.Holder(settings.DataDir); held != nil {
		return describeRunningServer(ctx, held)
	}
	public, err := server.ListenTCP(settings.Listen, "--listen")
	if err != nil {
		return err
	}
	defer public.Close()
	if settings.PublicURL == "" {
		settings.PublicURL = config.LocalURL(public.Addr().String())
		if at, err := netip.ParseAddrPort(public.Addr().String()); err == nil && !at.Addr().IsLoopback() {
			l.Warn("public_url is not set: DID documents and links contain the address of the listener", "public_url", settings.PublicURL)
		}
	}
	// Nothing is written before the whole configuration is known to work.
	if err := server.CheckHostLists(settings); err != nil {
		return err
	}
	listeners, err := server.Listen(settings, public)
	if err != nil {
		return err
	}
	defer listeners.Close()
	h, err := server.Open(ctx, settings, a.Environment, l, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	h.NotifyManager = server.NewServiceNotifier(l)
	crawl := settings.Crawler.Enabled
	if err := storeCrawlLists(ctx, h, settings); errors.Is(err, store.ErrFull) {
		// Without its block list the crawler could visit hosts that it must not visit.
		l.Error("nothing is crawled until the next start, because the disk is too full to store the block list and the seeds: free disk space, or lower min_free_bytes, and restart", "error", err)
		crawl = false
	} else if err != nil {
		return err
	}
	err = h.Run(ctx, listeners, crawl, func() {
		serving := []any{"address", "http://" + public.Addr().String(), "data_dir", settings.DataDir, "head", h.Store.Head().Seq}
		if settings.AdminListen != "" {
			serving = append(serving, "operator", "http://"+settings.AdminListen+"/admin/")
		}
		l.Info("serving", serving...)
		if IsTerminal(a.Err) {
			fmt.Fprint(a.Err, invite.formatInvitation("http://"+public.Addr().String(), crawl))
		}
		h.NotifyManager("READY=1\nSTATUS=serving " + settings.DataDir + "; the index catches up")
	})
	if err == nil {
		l.Info("stopped", "data_dir", settings.DataDir, "head", h.Store.Head().Seq)
	}
	return err
}

// storeCrawlLists stores the block list and the seeds of the configuration.
func storeCrawlLists(ctx context.Context, h *server.Server, settings config.Config) error {
	if settings.Crawler.BlockListFile != "" {
		if err := h.ApplyBlockList(ctx); err != nil {
			return &exit.Error{Code: exit.Usage, Err: err}
		}
	}
	if settings.Crawler.Enabled {
		if err := h.Crawler.Add(ctx, settings.Crawler.Seeds...); err != nil {
			return fmt.Errorf("crawler.seeds: %w", err)
		}
	}
	return nil
}

// describeRunningServer adds the address of the server that has a data directory to the error about it.
func describeRunningServer(ctx context.Context, held *boltfile.HeldError) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var catalog struct{ Linkset []struct{ Anchor string } }
	c, ok := NewSocketClient(held.Dir)
	if !ok {
		return held // it is starting
	}
	if _, err := c.GetJSON(ctx, catalogPath, &catalog); err != nil || len(catalog.Linkset) == 0 {
		return held
	}
	return fmt.Errorf("a server of this data directory already runs at %s: %w", strings.TrimSuffix(catalog.Linkset[0].Anchor, catalogPath), held)
}

// catalogPath is where a server lists its own addresses, the catalog's first.
const catalogPath = "/.well-known/api-catalog"

// formatInvitation returns the text that tells the user which address to open, and what to ask.
func (a *App) formatInvitation(address string, crawling bool) string {
	text := fmt.Sprintf("\nOpen %s in a browser, or ask from another terminal in this directory:\n\n", address)
	if crawling {
		text += "  " + a.FormatCommand("crawl example.com") + "\n"
	}
	return text + "  " + a.FormatCommand("search book a table") + "\n\nStop with Ctrl-C.\n\n"
}
