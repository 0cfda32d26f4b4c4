// Command gazetteer is the search engine and registry of the agent web in one
// program: it crawls what services publish for agents, keeps it, answers "who
// can do this?", and resolves agents to their inbox.
//
// Start with newRoot in root.go, which lists the verbs. house.go opens and wires
// the packages and runs them; client.go is how every other verb talks to a
// running server. Nothing is decided here that another package could decide.
package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/gin-gonic/gin"

	"gazetteer/fetch"
	"gazetteer/registry"
)

// edge is where the program meets the world. The zero value is the real one:
// the demo and the tests put a small internet in its place.
type edge struct {
	dial  func(next dialFunc) dialFunc // nil: public addresses only
	roots *x509.CertPool               // nil: the system's
	dns   registry.DNS                 // nil: the name server of the configuration
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal drains; a second one, with the handler gone, ends at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}, edge{}))
}

type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, s streams, e edge) int {
	gin.SetMode(gin.ReleaseMode) // or it prints every route
	syscall.Umask(0o077)         // what libraries create is private too
	root := newRoot(s, e)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := exitCode(err)
	var host *fetch.HostError
	if errors.As(err, &host) && code == exitData {
		code = exitUsage
	}
	if err != nil && err.Error() != "" && code != 130 {
		fmt.Fprintf(s.err, "gazetteer: %s\n", visibleLines(explain(err).Error()))
	}
	return code
}
