package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"gazetteer/api/mcpserver"
	"gazetteer/internal/cli"
	"gazetteer/internal/version"
)

func (a *verbs) mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Offer the registry to a language model over standard input and output",
		Long: `Mcp speaks the Model Context Protocol over standard input and output, as desktop
clients start it. The tools are those of a server's address /mcp: search, find
agents, show a service, resolve a name, validate a document, export operations as
tools, list changes.

  gazetteer mcp --server https://registry.example

In the configuration of a client:

  {"mcpServers": {"gazetteer": {"command": "gazetteer", "args": ["mcp"]}}}

A client that reaches the server over HTTP needs no command: its address is that of
the server, followed by /mcp.`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.WithServer(c.Context(), cli.Read, func(server *cli.Client) error {
				tools := mcpserver.New(mcpserver.Options{Request: newRequester(server), Version: version.Read().Version})
				err := mcpserver.RunStdio(c.Context(), tools, io.NopCloser(a.In), writeNopCloser{a.Out})
				if errors.Is(err, io.EOF) {
					return nil // the client has closed its side
				}
				return err
			})
		},
	}
}

// newRequester returns a function that sends the requests of the tools to a server.
func newRequester(server *cli.Client) mcpserver.Requester {
	return func(ctx context.Context, r mcpserver.Request) (mcpserver.Response, error) {
		request, err := http.NewRequestWithContext(ctx, r.Method, server.Base+r.Path, bytes.NewReader(r.Body))
		if err != nil {
			return mcpserver.Response{}, err
		}
		if r.MediaType != "" {
			request.Header.Set("Content-Type", r.MediaType)
		}
		response, err := server.Do(request)
		if err != nil {
			return mcpserver.Response{}, err
		}
		body, err := server.ReadAnswer(response)
		if err != nil {
			return mcpserver.Response{}, err
		}
		return mcpserver.Response{Status: response.StatusCode, Header: response.Header, Body: body}, nil
	}
}

// writeNopCloser leaves standard output open when a session ends.
type writeNopCloser struct{ io.Writer }

func (writeNopCloser) Close() error { return nil }
