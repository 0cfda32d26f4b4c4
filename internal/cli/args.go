package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gazetteer/fetch"
	"gazetteer/internal/exit"
	"gazetteer/internal/nearest"
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

// OneHost requires exactly one argument, the name of a public host.
func OneHost(c *cobra.Command, args []string) error {
	if err := ExactArgs(1, "one HOST")(c, args); err != nil {
		return err
	}
	_, err := fetch.CheckHost(args[0])
	return err
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

// verbElsewhere says which command does what an unknown one seems to be for.
var verbElsewhere = map[string]string{
	"agent list":         "gazetteer agents lists the agents of a registry",
	"agent history":      "gazetteer agent export writes an agent with its history, and the page of the agent shows it",
	"gazetteer submit":   "the page /submit of a server adds a host, for programs POST /api/v1/submissions; gazetteer crawl adds one to a server of your own",
	"gazetteer recrawl":  "gazetteer crawler recrawl requests another visit of a host",
	"gazetteer badge":    "the page of a host has its badge: /services/HOST",
	"gazetteer withdraw": "gazetteer opt-out removes a host from a registry",
	"gazetteer approve":  "gazetteer registry approve admits registrations that wait",
	"gazetteer block":    "gazetteer crawler block stops the visits to a host",
	"gazetteer unblock":  "gazetteer crawler unblock allows the visits to a host again",
	"gazetteer blocked":  "gazetteer crawler blocked lists the blocked hosts",
	"gazetteer ban":      "gazetteer registry ban adds a line to the block lists of the registry",
	"gazetteer reports":  "gazetteer registry reports lists the reports about agents",
	"gazetteer suspend":  "gazetteer registry suspend takes an agent out of service",
	"gazetteer erase":    "gazetteer registry erase removes an agent for its owner; owners use gazetteer agent deactivate --erase",
	"gazetteer export":   "gazetteer search --as curl WORDS exports the operations that it finds; --as mcp and --as functions write tools for a model",
	"gazetteer status":   "gazetteer registry shows the state of the registry, and the page /status and /readyz that of the server",
	"gazetteer stop":     "a server stops at SIGINT or SIGTERM: Ctrl-C, kill, or systemctl stop gazetteer",
	"gazetteer hosts":    "gazetteer services lists the known services",
	"gazetteer register": "gazetteer agent new registers an agent",
	"crawler crawl":      "gazetteer crawl visits hosts",
	"crawler opt-out":    "gazetteer opt-out is for owners; gazetteer crawler block is for the operator",
	"crawler opt-in":     "gazetteer opt-in is for owners; gazetteer crawler unblock is for the operator",
}

// flagElsewhere explains why a command does not have a flag that commands beside it have.
var flagElsewhere = map[string]string{
	"erase --reason": "nothing of the agent stays that could have a reason; registry suspend, delete and merge store one",
}

// RequireVerb is for a command whose first argument must be one of its subcommands: cobra runs
// those itself, so an argument that arrives here is unknown.
func RequireVerb(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	mean := ""
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
		if slices.Contains(sub.SuggestFor, args[0]) {
			mean = ": did you mean " + sub.Name() + "?"
		}
	}
	if question := nearest.Question(args[0], names); question != "" {
		mean = ": " + question
	}
	if verb := verbElsewhere[c.Name()+" "+args[0]]; verb != "" {
		mean = ": " + verb
	}
	return UsageError(c, "unknown command %q for %s%s", args[0], c.CommandPath(), mean)
}

// Execute runs the command line of a root command. A request for help with an unknown command is the
// same error as that command.
func Execute(ctx context.Context, root *cobra.Command) error {
	var unknown error
	printHelp := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c.HasSubCommands() {
			unknown = RequireVerb(c, c.Flags().Args())
		}
		if unknown == nil {
			printHelp(c, args)
		}
	})
	if err := root.ExecuteContext(ctx); err != nil {
		return err
	}
	return unknown
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

// span is a time span that is not negative, as the value of a flag.
type span time.Duration

// SpanVar declares a flag for a time span that is not negative.
func SpanVar(flags *pflag.FlagSet, to *time.Duration, name string, value time.Duration, usage string) {
	*to = value
	flags.Var((*span)(to), name, usage)
}

// Set implements pflag.Value.
func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = errors.New("it is negative")
	}
	if err == nil {
		*s = span(d)
	}
	return err
}

// String implements pflag.Value.
func (s *span) String() string { return time.Duration(*s).String() }

// Type implements pflag.Value.
func (s *span) Type() string { return "duration" }

// flagKinds describes the values that flags of each type accept.
var flagKinds = map[string]string{"int": "a whole number", "bool": "true or false", "float64": "a number",
	"duration": "a time span such as 30s, 10m or 2h", "stringToString": "NAME=VALUE"}

// FlagError describes the error of a flag in plain words, without the terms of package strconv.
func FlagError(c *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		if kind, known := flagKinds[invalid.GetFlag().Value.Type()]; known {
			err = fmt.Errorf("--%s %s: want %s", invalid.GetFlag().Name, invalid.GetValue(), kind)
		}
	}
	var empty *pflag.ValueRequiredError
	if errors.As(err, &empty) {
		err = fmt.Errorf("--%s needs a value", empty.GetFlag().Name)
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 {
			return RequireVerb(c, args) // the flag may be right for the command that was meant
		}
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		name := unknown.GetSpecifiedName()
		if question := nearest.Question(name, names); question != "" && len(name) > 1 {
			return UsageError(c, "there is no flag --%s: %s", name, strings.NewReplacer("mean ", "mean --", " or ", " or --").Replace(question))
		}
		similar := findSimilarFlags(name, names)
		if letters := unknown.GetSpecifiedShortnames(); letters != "" {
			if letters == name && similar != "" {
				return UsageError(c, "there is no flag -%s: did you mean %s? A word that begins with - goes after --: %s -- -%s", name, similar, c.CommandPath(), letters)
			}
			return UsageError(c, "there is no flag -%s; a word that begins with - goes after --: %s -- -%s", name, c.CommandPath(), letters)
		}
		if similar != "" {
			return UsageError(c, "there is no flag --%s: did you mean %s?", name, similar)
		}
		if why := flagElsewhere[c.Name()+" --"+name]; why != "" {
			return UsageError(c, "there is no flag --%s: %s", name, why)
		}
		if sibling := siblingWithFlag(c, name); sibling != nil {
			return UsageError(c, "there is no flag --%s here: %s has it", name, sibling.CommandPath())
		}
		return UsageError(c, "there is no flag --%s", name)
	}
	return UsageError(c, "%v", err)
}

// findSimilarFlags returns the flags that another form of a name may mean: the long ones that begin with
// a single letter, or the one of which the name is another number, as capabilities is of capability.
// "" if there are none, or too many.
func findSimilarFlags(name string, flags []string) string {
	const most = 3
	var found []string
	for _, flag := range flags {
		if len(name) == 1 && strings.HasPrefix(flag, name) || len(flag) >= 5 && strings.HasPrefix(name, flag[:len(flag)-1]) {
			found = append(found, "--"+flag)
		}
	}
	if len(found) > most {
		return ""
	}
	return strings.Join(found, " or ")
}

// siblingWithFlag returns the first command beside c that has a flag of its own with this name, or
// nil. The commands of the root are too different to be meant.
func siblingWithFlag(c *cobra.Command, name string) *cobra.Command {
	if c.Parent() == nil || !c.Parent().HasParent() {
		return nil
	}
	for _, sibling := range c.Parent().Commands() {
		if sibling != c && sibling.IsAvailableCommand() && sibling.LocalFlags().Lookup(name) != nil {
			return sibling
		}
	}
	return nil
}
