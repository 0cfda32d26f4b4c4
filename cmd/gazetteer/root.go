package main

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/internal/cli"
	"gazetteer/internal/cli/agent"
	"gazetteer/internal/cli/altar"
	"gazetteer/internal/cli/auditlog"
	"gazetteer/internal/cli/crawl"
	"gazetteer/internal/cli/demo"
	"gazetteer/internal/cli/envelope"
	"gazetteer/internal/cli/mail"
	"gazetteer/internal/cli/operator"
	"gazetteer/internal/cli/search"
	"gazetteer/internal/server"
	"gazetteer/internal/version"
	"gazetteer/lint/command"
)

func newRoot(s cli.Streams, e server.Environment) *cobra.Command {
	a := &cli.App{Streams: s, Environment: e}
	root := &cobra.Command{
		Use:   "gazetteer",
		Short: "Search engine and registry of the agent web",
		Long: `Gazetteer crawls what services publish for agents (AI Discovery, AGIS), stores
it, searches it by intent, and runs a registry that resolves agents to their
inbox.

  gazetteer demo                    try it on a small internet of its own
  gazetteer serve                   crawl, index and serve
  gazetteer crawl example.com       add a host
  gazetteer find book a table       who can do it, and the inbox to write to
  gazetteer validate example.com    check what a host publishes

A command talks to the server that --server names, to the one that runs on the
data directory, or to the one on the configured address. Crawl and the commands
of the operator need the data directory.

Exit codes: 0 done, 1 not found or findings, 2 usage, 3 network or server,
4 data or internal.`,
		Version:       version.Read().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cli.RequireVerb,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	flags := root.PersistentFlags()
	flags.StringVar(&a.ConfigFile, "config", "", "configuration file (default: config.toml here, if there is one)")
	flags.StringVar(&a.DataDir, "data-dir", "", "data directory (over data_dir of the configuration)")
	flags.StringVar(&a.Server, "server", "", "address of a running server, for example http://127.0.0.1:8080")
	flags.StringArrayVar(&a.Settings, "set", nil, "set one key of the configuration, for example crawler.workers=8")
	cli.SpanVar(flags, &a.Timeout, "timeout", time.Minute, "longest pause in the answer of a server; the whole answer may take ten times as long; 0: no limit, which is the default of backup, census, compact, crawl and registry resume-signing")
	flags.BoolVar(&a.JSON, "json", false, "write JSON")
	root.SetVersionTemplate(version.Read().Describe("gazetteer"))
	root.Flags().BoolP("version", "v", false, "print the version, the commit and the date")
	root.SetFlagErrorFunc(cli.FlagError)
	command.WrapFlags(root)
	root.SetHelpCommand(cli.HelpCommand())
	root.AddCommand(a.ServeCommand(), demo.Command(a))
	root.AddCommand(crawl.Commands(a)...)
	root.AddCommand(search.Commands(a)...)
	root.AddCommand(agent.Commands(a)...)
	root.AddCommand(mail.Commands(a)...)
	root.AddCommand(envelope.Commands(a)...)
	root.AddCommand(operator.Commands(a)...)
	root.AddCommand(auditlog.Commands(a)...)
	root.AddCommand(altar.Commands(a)...)
	root.AddCommand(a.VersionCommand())
	root.AddCommand(a.DocumentCommands()...)
	groupCommands(root)
	return root
}

// commandGroups order the commands in the help by what a reader wants to do.
var commandGroups = []struct{ title, commands string }{
	{"Find services and agents:", "search find show services verbs agents resolve changes mcp"},
	{"Run an agent:", "agent send inbox thread envelope log"},
	{"Publish a service:", "init validate diff convert explain crawl-log opt-out opt-in"},
	{"Call tools:", "tool contracts altar"},
	{"Run a server:", "demo serve crawl crawler registry census backup restore check compact"},
}

func groupCommands(root *cobra.Command) {
	for _, g := range commandGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for name := range strings.FieldsSeq(g.commands) {
			for _, c := range root.Commands() {
				if c.Name() == name {
					c.GroupID = g.title
				}
			}
		}
	}
}
