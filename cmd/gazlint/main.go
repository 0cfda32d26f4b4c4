// Command gazlint checks, converts and creates the documents that services publish for agents: AI
// Discovery documents, AGIS documents and AGIS summaries. It is the part of gazetteer that a
// service owner needs, without server, index and store.
//
// The commands are in package lint/command. main passes them their environment.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"gazetteer/fetch"
	"gazetteer/internal/version"
	"gazetteer/lint/command"
	"gazetteer/lint/format"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal finds no handler and ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(runCommand(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}, fetch.Options{}))
}

type streams struct {
	in       io.Reader
	out, err io.Writer
}

// exitInternal reports a fault of the program.
const exitInternal = 4

// runCommand executes one command line and returns the exit code. o configures fetches.
func runCommand(ctx context.Context, args []string, s streams, o fetch.Options) int {
	root := newRoot(s, o)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if ctx.Err() != nil {
		return 130 // ended by a signal, as shells say it
	}
	if err.Error() != "" {
		lines := strings.Split(err.Error(), "\n")
		for i, l := range lines {
			lines[i] = format.Visible(l)
		}
		fmt.Fprintf(s.err, "gazlint: %s\n", strings.Join(lines, "\n"))
	}
	if code, ours := command.ExitCode(err); ours {
		return code
	}
	return exitInternal
}

func newRoot(s streams, o fetch.Options) *cobra.Command {
	root := &cobra.Command{
		Use:   "gazlint",
		Short: "Check, convert and create documents for agents",
		Long: `Gazlint checks what services publish for agents: AI Discovery documents
(/.well-known/ai), AGIS documents and their summaries (/.well-known/agis.json).

Begin:   gazlint init
Check:   gazlint validate ai.json
         gazlint validate www.example.com
Explain: gazlint validate --rule AI418

Exit codes: 0 done, 1 findings, 2 usage, 3 something could not be read,
4 internal.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	build := version.Read()
	root.Version = build.Version
	root.SetVersionTemplate(build.Describe("gazlint"))
	root.Flags().BoolP("version", "v", false, "print the version, the commit and the date")
	world := command.Environment{
		Program: "gazlint", Version: build.Version, In: s.in, Out: s.out, Err: s.err,
		Fetcher: func() (command.Fetcher, error) { return fetch.New(o) },
	}
	root.AddCommand(command.Commands(world)...)
	root.AddCommand(&cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit and the date of this program",
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(s.out, build.Describe("gazlint"))
			return err
		},
	})
	command.UsageErrors(root)
	command.WrapFlags(root)
	return root
}
