package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gazetteer/internal/nearest"

	"gazetteer/internal/exit"
)

// UsageError returns the error of a wrong command line, with a pointer to the help.
func UsageError(c *cobra.Command, format string, args ...any) error {
	return exit.Usagef(format+"\nsee: %s --help", append(args, c.CommandPath())...)
}

// MinArgs requires at least n arguments.
func MinArgs(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < n {
			return UsageError(c, "%s needs %s", c.Name(), what)
		}
		return nil
	}
}

// ExactArgs requires exactly n arguments.
func ExactArgs(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) > n:
			return UsageError(c, "%s needs %s, and got %q in addition: put a text with spaces in quotes", c.Name(), what, strings.Join(args[n:], " "))
		case len(args) < n:
			return UsageError(c, "%s needs %s", c.Name(), what)
		}
		return nil
	}
}

// MaxArgs accepts at most n arguments.
func MaxArgs(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			return UsageError(c, "%s takes %s, got %q", c.Name(), what, strings.Join(args, " "))
		}
		return nil
	}
}

// NoArgs accepts no arguments.
func NoArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError(c, "%s takes no arguments, got %q", c.Name(), strings.Join(args, " "))
	}
	return nil
}

// RequireVerb is for a command whose first argument must be one of its subcommands: cobra runs
// those itself, so an argument that arrives here is unknown.
func RequireVerb(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2 // typing errors
	mean := ""
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		mean = ": did you mean " + strings.Join(near, " or ") + "?"
	}
	if args[0] == "list" && c.Name() == "agent" {
		mean = ": gazetteer agents lists the agents of a registry"
	}
	return UsageError(c, "unknown command %q for %s%s", args[0], c.CommandPath(), mean)
}

// HelpCommand returns cobra's help command, but refuses unknown commands.
func HelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil {
				return UsageError(c.Root(), "%v", err)
			}
			if err := RequireVerb(about, rest); err != nil {
				return err
			}
			about.InitDefaultHelpFlag() // cobra does so when it runs a command
			return about.Help()
		},
	}
}

// flagKinds describes the values that flags of each type accept.
var flagKinds = map[string]string{"int": "a whole number", "bool": "true or false"}

// FlagError describes the error of a flag in plain words, without the terms of package strconv.
func FlagError(c *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if kind, known := flagKinds[invalid.GetFlag().Value.Type()]; known {
			err = fmt.Errorf("--%s %s: want %s", invalid.GetFlag().Name, invalid.GetValue(), kind)
		}
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		if question := nearest.Question(name, names); question != "" && len(name) > 1 {
			return UsageError(c, "there is no flag --%s: %s", name, strings.Replace(question, "mean ", "mean --", 1))
		}
		return UsageError(c, "there is no flag %s", strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "unknown flag:"), "unknown shorthand flag:")))
	}
	return UsageError(c, "%v", err)
}
