package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// wrongUse is a wrong command line, with where to read what would be right.
func wrongUse(c *cobra.Command, format string, args ...any) error {
	return usagef(format+"\nsee: %s --help", append(args, c.CommandPath())...)
}

// needArgs wants n arguments or more.
func needArgs(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < n {
			return wrongUse(c, "%s needs %s", c.Name(), what)
		}
		return nil
	}
}

// exactly wants n arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > n:
			return wrongUse(c, "%s needs %s, and got %q besides: a text with spaces stands in quotes", c.Name(), what, strings.Join(args[n:], " "))
		case len(args) < n:
			return wrongUse(c, "%s needs %s", c.Name(), what)
		}
		return nil
	}
}

// atMost takes up to n arguments.
func atMost(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			return wrongUse(c, "%s takes %s, got %q", c.Name(), what, strings.Join(args, " "))
		}
		return nil
	}
}

// noArgs takes none.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return wrongUse(c, "%s takes no arguments, got %q", c.Name(), strings.Join(args, " "))
	}
	return nil
}

// onlyVerbs is for a command whose first argument can only be a verb of its own:
// cobra runs those itself, so that what comes here is none.
func onlyVerbs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2 // slips of the pen
	mean := ""
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		mean = ": did you mean " + strings.Join(near, " or ") + "?"
	}
	return wrongUse(c, "unknown command %q for %s%s", args[0], c.CommandPath(), mean)
}

// helpCommand is cobra's, but that it refuses what is no verb.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil {
				return wrongUse(c.Root(), "%v", err)
			}
			if err := onlyVerbs(about, rest); err != nil {
				return err
			}
			about.InitDefaultHelpFlag() // cobra does so when it runs a command
			return about.Help()
		},
	}
}

// flagKinds say what a flag of a type wants.
var flagKinds = map[string]string{"int": "a whole number", "bool": "true or false"}

// flagError says what is wrong with a flag, in the words of people rather than of
// the package strconv.
func flagError(c *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if kind, known := flagKinds[invalid.GetFlag().Value.Type()]; known {
			err = fmt.Errorf("--%s %s: want %s", invalid.GetFlag().Name, invalid.GetValue(), kind)
		}
	}
	return wrongUse(c, "%v", err)
}
