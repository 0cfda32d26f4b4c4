package main

import (
	"io"
	"log/slog"
	"net"
	"os"
	"strings"

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
		Args:          cobra.NoArgs,
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
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%v\nsee: %s --help", err, c.CommandPath())
	})
	root.AddCommand(a.serveCommand(), a.demoCommand(), a.crawlCommand(), a.searchCommand(), a.findCommand(), a.resolveCommand(), a.crawlLogCommand(), a.crawlerCommand(), a.versionCommand())
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
// value that came from the network has its control characters escaped by both
// handlers; text form also escapes what could reorder a line.
func logger(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	l.UnmarshalText([]byte(level)) // Config.check has refused what does not parse
	options := &slog.HandlerOptions{Level: l, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindString {
			a.Value = slog.StringValue(format.Visible(a.Value.String()))
		}
		return a
	}}
	if isTerminal(w) {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}

// needArgs is cobra.MinimumNArgs with our exit code and the verb's own words.
func needArgs(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("%s needs %s\nsee: %s --help", c.Name(), what, c.CommandPath())
		}
		return nil
	}
}

// noArgs is cobra.NoArgs with our exit code.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments, got %q\nsee: %s --help", c.Name(), strings.Join(args, " "), c.CommandPath())
	}
	return nil
}

// listenTCP opens the public listener with an error that a person can use.
func listenTCP(addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, networkf("listen on %s: %v; choose another with --listen", addr, err)
	}
	return l, nil
}
