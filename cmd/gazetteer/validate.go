package main

import (
	"time"

	"github.com/spf13/cobra"

	"gazetteer/lint/command"
)

// validateSession bounds one fetch for a person who waits at a terminal, waits
// for politeness and retries included.
const validateSession = time.Minute

// documentCommands are the verbs that judge and make documents: validate, convert
// and init. They are those of gazlint, with the configuration's way to the
// network.
func (a *app) documentCommands() []*cobra.Command {
	validate := command.Validate(a.world())
	validate.PreRunE = func(c *cobra.Command, _ []string) error {
		if a.json && !c.Flags().Changed("format") {
			return c.Flags().Set("format", "json")
		}
		return nil
	}
	return []*cobra.Command{validate, command.Convert(a.world()), command.Init(a.world())}
}

func (a *app) world() command.World {
	return command.World{
		Program: "gazetteer", Version: buildInfo().Version, In: a.in, Out: a.out, Err: a.err,
		Fetcher: func() (command.Fetcher, error) {
			config, err := a.config()
			if err != nil {
				return nil, err
			}
			return newFetcher(config, a.edge, validateSession, nil)
		},
	}
}
