package main

import (
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/spf13/cobra"

	"gazetteer/lint/format"
)

// app is what the verbs share: where they read and write, and the global flags.
type app struct {
	streams
	edge edge

	configFile string
	dataDir    string
	server     string
	settings   []string
	json       bool
}

func newRoot(s streams, e edge) *cobra.Command {
	a := &app{streams: s, edge: e}
	root := &cobra.Command{
		Use:   "gazetteer",
		Short: "Search engine and registry of the agent web",
		Long: `Gazetteer crawls what services publish for agents (AI Discovery, AGIS), keeps
it, searches it by intent, and runs a registry that resolves agents to their
inbox.

Try it:  gazetteer demo
Use it:  gazetteer serve &  gazetteer crawl example.com  gazetteer find book a table
Join it: gazetteer init  gazetteer validate ai.json  gazetteer validate example.com

Exit codes: 0 done, 1 not found or findings, 2 usage, 3 network or server,
4 data or internal.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          onlyVerbs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	flags := root.PersistentFlags()
	flags.StringVar(&a.configFile, "config", "", "configuration file (default: config.toml here, if there is one)")
	flags.StringVar(&a.dataDir, "data-dir", "", "data directory (over data_dir of the configuration)")
	flags.StringVar(&a.server, "server", "", "address of a running server, for example http://127.0.0.1:8080")
	flags.StringArrayVar(&a.settings, "set", nil, "set one key of the configuration, for example crawler.workers=8")
	flags.BoolVar(&a.json, "json", false, "write JSON")
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand())
	root.AddCommand(a.serveCommand(), a.demoCommand(), a.crawlCommand(), a.searchCommand(), a.findCommand(), a.resolveCommand(), a.crawlLogCommand(), a.crawlerCommand(), a.compactCommand(), a.versionCommand())
	root.AddCommand(a.logCommand(), a.agentCommand(), a.registryCommand())
	root.AddCommand(a.documentCommands()...)
	return root
}

// config loads the configuration with the flags over it.
func (a *app) config() (Config, error) {
	settings := a.settings
	if a.dataDir != "" {
		settings = append(settings[:len(settings):len(settings)], "data_dir="+a.dataDir)
	}
	return loadConfig(a.configFile, os.Environ(), settings)
}

// logger writes text on a terminal and JSON elsewhere, one line an event. A
// value that came from the network, an error that quotes it too, has every hidden
// character escaped: those that move the cursor, and those that reorder a line.
func logger(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	l.UnmarshalText([]byte(level)) // Config.check has refused what does not parse
	options := &slog.HandlerOptions{Level: l, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value.Any().(type) {
		case string:
			a.Value = slog.StringValue(format.Visible(v))
		case error:
			a.Value = slog.StringValue(visibleLines(v.Error()))
		}
		return a
	}}
	if isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// listenTCP listens on an address, which by names the way to change.
func listenTCP(addr, by string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, networkf("listen on %s: %v; choose another with %s", addr, err, by)
	}
	return l, nil
}
