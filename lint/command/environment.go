package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/nearest"
	"gazetteer/lint/format"
)

// An Environment is everything outside of the commands that they may use.
type Environment struct {
	// Program is the name by which the program is called, Version its version.
	Program, Version string
	In               io.Reader
	Out, Err         io.Writer
	// Fetcher opens the network. It is called at most once for each command, before the first
	// fetch. nil means no network.
	Fetcher func() (Fetcher, error)
	// Now is the clock; nil is the real one.
	Now func() time.Time
}

// A Fetcher fetches documents by the crawler's rules. A [fetch.Client] is one. Faults of a site are
// part of the answer; an error is a fault of this program or its caller.
type Fetcher interface {
	// Document fetches one document from an https address. Kind "" leaves its kind open.
	Document(ctx context.Context, kind document.Kind, address string) (fetch.Answer, error)
	// Host fetches everything that a host publishes.
	Host(ctx context.Context, host string) ([]fetch.Answer, error)
}

// Commands returns all commands of this package.
func Commands(w Environment) []*cobra.Command {
	return []*cobra.Command{Validate(w), Diff(w), Convert(w), Init(w)}
}

// UsageErrors gives errors that cobra finds in a command line, such as unknown flags and commands,
// the exit code for wrong use.
func UsageErrors(root *cobra.Command) {
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageErrorf("%v\nsee: %s --help", err, c.CommandPath())
	})
	root.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usageErrorf("there is no command %q\nsee: %s --help", args[0], c.CommandPath())
		}
		return nil
	}
}

// suggest returns a question for the names that are similar to a word, with a space after it; "" if none is.
func suggest(word string, names []string) string {
	if question := nearest.Question(word, names); question != "" {
		return question + " "
	}
	return ""
}

// helpWidth is the number of columns of the longest line that describes a flag.
const helpWidth = 100

// WrapFlags breaks the descriptions of flags in the help of all commands into lines of helpWidth
// columns.
func WrapFlags(root *cobra.Command) {
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "FlagUsages", fmt.Sprint("FlagUsagesWrapped ", helpWidth)))
}

// Exit codes.
const (
	ExitFindings = 1
	ExitUsage    = 2
	ExitInput    = 3
)

// exitError is an error with its exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// ExitCode returns the exit code for an error of these commands, and false for any other error.
func ExitCode(err error) (int, bool) {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code, true
	}
	return 0, false
}

func usageErrorf(f string, args ...any) error { return &exitError{ExitUsage, fmt.Errorf(f, args...)} }
func inputErrorf(f string, args ...any) error { return &exitError{ExitInput, fmt.Errorf(f, args...)} }

// exitSilently returns an error that ends the program with a code and no message.
func exitSilently(code int) error { return &exitError{code, errors.New("")} }

func (w Environment) currentTime() time.Time {
	if w.Now == nil {
		return time.Now()
	}
	return w.Now()
}

// printError writes a line to the error stream. The arguments may be untrusted texts.
func (w Environment) printError(f string, args ...any) {
	lines := strings.Split(fmt.Sprintf(f, args...), "\n")
	for i, l := range lines {
		lines[i] = format.Visible(l)
	}
	fmt.Fprintln(w.Err, strings.Join(lines, "\n"))
}

// supportsColor reports whether s shows colors.
func supportsColor(s any) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(s)
}

// terminalWidth returns the number of columns of s, 0 if it is not a terminal.
func terminalWidth(s any) int {
	if !isTerminal(s) {
		return 0
	}
	columns, _, err := term.GetSize(int(s.(*os.File).Fd()))
	if err != nil {
		return 0
	}
	return columns
}

func isTerminal(s any) bool {
	f, ok := s.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// parseToday parses a date of the command line; "" is the current day.
func (w Environment) parseToday(flag string) (time.Time, error) {
	if flag == "" {
		return w.currentTime(), nil
	}
	day, err := time.Parse(time.DateOnly, flag)
	if err != nil {
		return time.Time{}, usageErrorf("--today %s: want a date such as 2026-11-21", flag)
	}
	return day, nil
}
