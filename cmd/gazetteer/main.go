// Command gazetteer is the search engine and registry of the agent web in one program: it crawls
// what services publish for agents, stores it, answers "who can do this?", and resolves agents to
// their inbox.
//
// newRoot in root.go lists the commands of internal/cli; internal/server opens and runs
// everything behind them. Nothing is decided here.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/gin-gonic/gin"

	"gazetteer/fetch"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal drains; a second one, with the handler gone, ends at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, server.Environment{}))
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, s cli.Streams, e server.Environment) int {
	gin.SetMode(gin.ReleaseMode) // or it prints every route
	syscall.Umask(0o077)         // what libraries create is private too
	root := newRoot(s, e)
	root.SetArgs(args)
	err := cli.Execute(ctx, root)
	code := cli.ExitCode(err)
	var host *fetch.HostError
	if errors.As(err, &host) && code == exit.Data {
		code = exit.Usage
	}
	if err != nil && err.Error() != "" && code != 130 {
		fmt.Fprintf(s.Err, "gazetteer: %s\n", cli.VisibleLines(cli.Describe(cli.Explain(err))))
	}
	return code
}
