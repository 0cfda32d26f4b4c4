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
	"gazetteer/lint/format"
)

// A World is where the commands meet the world.
type Environment struct {
	// Program is how a person calls the program, Version its version.
	Program, Version string
	In               io.Reader
	Out, Err         io.Writer
	// Fetcher opens the way to the network. It is called when the first
	// address or host is to be fetched, at most once a command. With nil there
	// is no network.
	Fetcher func() (Fetcher, error)
	// Now is the clock; nil is the real one.
	Now func() time.Time
}

// A Fetcher fetches documents under the crawler's rules. A [fetch.Client] is
// one. What a site does is in the answer; an error is ours or the caller's.
type Fetcher interface {
	// Document asks for one document at an https address; kind "" leaves open
	// what it is.
	Document(ctx context.Context, kind document.Kind, address string) (fetch.Answer, error)
	// Host asks for all that a host publishes.
	Host(ctx context.Context, host string) ([]fetch.Answer, error)
}

// Commands returns all commands of this package.
func Commands(w Environment) []*cobra.Command {
	return []*cobra.Command{Validate(w), Convert(w), Init(w)}
}

// UsageErrors gives the exit code of wrong use to what cobra itself finds wrong
// with a command line: unknown flags, and commands that do not exist.
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

// Exit codes.
const (
	ExitFindings = 1
	ExitUsage    = 2
	ExitInput    = 3
)

// exitError is an error that knows its exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// ExitCode returns the code that a program should end with after an error of
// these commands, and false for an error of another origin.
func ExitCode(err error) (int, bool) {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code, true
	}
	return 0, false
}

func usageErrorf(f string, args ...any) error { return &exitError{ExitUsage, fmt.Errorf(f, args...)} }
func inputErrorf(f string, args ...any) error { return &exitError{ExitInput, fmt.Errorf(f, args...)} }

// exitSilently ends the program with a code after everything has been said.
func exitSilently(code int) error { return &exitError{code, errors.New("")} }

func (w Environment) currentTime() time.Time {
	if w.Now == nil {
		return time.Now()
	}
	return w.Now()
}

// printError writes a line about the work to the error stream. The arguments may be
// text of strangers.
func (w Environment) printError(f string, args ...any) {
	lines := strings.Split(fmt.Sprintf(f, args...), "\n")
	for i, l := range lines {
		lines[i] = format.Visible(l)
	}
	fmt.Fprintln(w.Err, strings.Join(lines, "\n"))
}

// supportsColor reports whether colours may be written to s.
func supportsColor(s any) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(s)
}

// terminalWidth is how many columns s has, 0 when it is no terminal.
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

// parseToday reads a date of the command line; "" is the present day.
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
