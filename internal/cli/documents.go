package cli

import (
	"time"

	"github.com/spf13/cobra"

	"gazetteer/internal/server"
	"gazetteer/internal/version"
	"gazetteer/lint/command"
)

// validateSession bounds one fetch for a user at a terminal, including retries and the crawler's
// waits.
const validateSession = time.Minute

// DocumentCommands returns the commands that check and create documents: validate, diff, convert
// and init. gazlint has the same commands; these use the network settings of the configuration.
func (a *App) DocumentCommands() []*cobra.Command {
	validate := command.Validate(a.newDocumentEnvironment())
	validate.PreRunE = a.writeJSONByFlag
	compare := command.Diff(a.newDocumentEnvironment())
	compare.PreRunE = a.writeJSONByFlag
	convert := command.Convert(a.newDocumentEnvironment())
	convert.PreRunE = a.writeJSONByFlag
	initialize := command.Init(a.newDocumentEnvironment())
	initialize.PreRunE = func(c *cobra.Command, _ []string) error {
		if a.JSON {
			return UsageError(c, "init asks questions and writes files: it has no --json")
		}
		return nil
	}
	commands := []*cobra.Command{validate, compare, convert, initialize}
	for _, c := range commands {
		hideServerFlags(c)
	}
	return commands
}

// hideServerFlags leaves the flags that select a server out of the help of a command that uses none.
func hideServerFlags(c *cobra.Command) {
	c.SetHelpFunc(func(c *cobra.Command, args []string) {
		for _, name := range []string{"server", "data-dir", "timeout"} {
			f := c.Root().PersistentFlags().Lookup(name)
			f.Hidden = true
			defer func() { f.Hidden = false }()
		}
		c.Root().HelpFunc()(c, args)
	})
}

// writeJSONByFlag lets the global flag --json select the format of a command with several formats.
func (a *App) writeJSONByFlag(c *cobra.Command, _ []string) error {
	if a.JSON && !c.Flags().Changed("format") {
		return c.Flags().Set("format", "json")
	}
	return nil
}

func (a *App) newDocumentEnvironment() command.Environment {
	return command.Environment{
		Program: "gazetteer", Version: version.Read().Version, In: a.In, Out: a.Out, Err: a.Err,
		Fetcher: func() (command.Fetcher, error) {
			config, err := a.Config()
			if err != nil {
				return nil, err
			}
			return server.NewFetcher(config, a.Environment, validateSession, nil)
		},
	}
}
