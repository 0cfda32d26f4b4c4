// Command gazetteer-bench measures how well and how fast operations are found.
// It is for those who work on the search; the program itself does not need it.
//
//	gazetteer-bench relevance --data DIR
//
// reads records, queries and judgments, puts the records through the real
// store and index, asks every query of [gazetteer/index.Index.Search], which
// answers the API too, and prints the results. Begin in relevance.go; data.go
// says which files it reads, measure.go what the figures mean, speed.go how times
// are taken.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit codes, beside 0.
const (
	exitBelow  = 1 // a figure is below its floor
	exitFailed = 2 // the figures could not be taken
)

// errBelow says that a figure is below its floor; what is below has been
// printed.
var errBelow = errors.New("below the floors")

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	root := &cobra.Command{
		Use:           "gazetteer-bench",
		Short:         "Measure how well and how fast operations are found",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newRelevance(), newFit())
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errBelow):
		fmt.Fprintln(errOut, "gazetteer-bench:", err)
		return exitBelow
	default:
		fmt.Fprintln(errOut, "gazetteer-bench:", err)
		return exitFailed
	}
}
