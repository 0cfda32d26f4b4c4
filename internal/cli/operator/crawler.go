package operator

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api/operator"
	"gazetteer/crawler"
	"gazetteer/internal/cli"
	"gazetteer/lint/format"
)

// crawlerCommand returns the command with which an operator controls the crawler for single hosts.
func (a *verbs) crawlerCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "crawler",
		Short: "Block and unblock hosts, and visit a host again",
		Long: `Crawler manages single hosts. A blocked host is no longer visited, and its documents
are removed at once: its pages and the API say so instead. For a long list use the
file that crawler.block_list_file names; SIGHUP reads it again.

Owners of hosts need recrawl alone: they opt out in robots.txt, with gazetteer
opt-out, or on the page /bot of a server.`,
		Args: cli.RequireVerb,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.blockCommand(), a.unblockCommand(), a.blockedCommand(), a.recrawlCommand())
	return c
}

func (a *verbs) blockCommand() *cobra.Command {
	var subdomains bool
	var why string
	c := &cobra.Command{
		Use: "block HOST", Short: "Stop visiting a host, and remove its documents",
		Example: "  gazetteer crawler block www.example.com\n  gazetteer crawler block --subdomains --why 'its owner wrote to us' example.com",
		Args:    oneScope,
		RunE: func(c *cobra.Command, args []string) error {
			host, below := strings.CutPrefix(args[0], scopePrefix)
			return showAnswer(c.Context(), a, http.MethodPost, "/admin/blocks", operator.BlockBody{Host: host, Subdomains: subdomains || below, Why: why}, func(b crawler.Block) error {
				_, err := fmt.Fprintf(a.Out, "%s is blocked, and its published documents are removed.\n", formatScope(b))
				return err
			})
		},
	}
	c.Flags().BoolVar(&subdomains, "subdomains", false, "also its subdomains")
	c.Flags().StringVar(&why, "why", "", "the reason, which the list of blocked hosts shows")
	return c
}

func (a *verbs) unblockCommand() *cobra.Command {
	owner := false
	c := &cobra.Command{
		Use: "unblock HOST", Short: "Allow visits to a host again",
		Long: `Unblock allows visits to a host again. The next visit begins when somebody names the
host, for example with: gazetteer crawl HOST
Remove a host from the file of crawler.block_list_file first: the next reading of
the file blocks it again.

An opt-out of the host's owner stays, and unblock says so: only the owner withdraws
it, with gazetteer opt-in. With --owner, unblock lifts it against the owner's will.`,
		Args: oneScope,
		RunE: func(c *cobra.Command, args []string) error {
			path := "/admin/blocks/" + url.PathEscape(strings.TrimPrefix(args[0], scopePrefix))
			if owner {
				path += "?owner=true"
			}
			return showAnswer(c.Context(), a, http.MethodDelete, path, nil, func(list operator.BlockList) error {
				host := strings.TrimPrefix(args[0], scopePrefix)
				fmt.Fprintf(a.Out, "The block of %s is lifted. Its documents are back after the next visit: %s\n", format.Visible(args[0]), a.FormatCommand("crawl "+format.Visible(host)))
				if list.Note != "" {
					fmt.Fprintf(a.Out, "note: %s\n", format.Visible(list.Note))
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&owner, "owner", false, "also lift the opt-out of the host's owner, against the owner's will")
	return c
}

func (a *verbs) blockedCommand() *cobra.Command {
	return &cobra.Command{
		Use: "blocked", Short: "List the blocked hosts, and who blocked them",
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withOperator(c.Context(), func(server *cli.Client) error {
				var list operator.BlockList
				if _, err := server.GetJSON(c.Context(), "/admin/blocks", &list); err != nil {
					return err
				}
				return a.printBlocks(list.Blocks)
			})
		},
	}
}

// printBlocks prints one block per line, or that there is none.
func (a *verbs) printBlocks(blocks []crawler.Block) error {
	if a.JSON {
		return cli.WriteJSON(a.Out, append([]crawler.Block{}, blocks...))
	}
	if len(blocks) == 0 {
		_, err := fmt.Fprintln(a.Out, "No host is blocked.")
		return err
	}
	for _, b := range blocks {
		why := b.Why
		if b.By == crawler.ByOwner {
			why = "proved by " + b.Proof
		}
		if why != "" {
			why = ", " + why
		}
		if _, err := fmt.Fprintf(a.Out, "%s  since %s, by the %s%s\n", formatScope(b), b.Since.UTC().Format(time.DateOnly), format.Visible(string(b.By)), format.Visible(why)); err != nil {
			return err
		}
	}
	return nil
}

// scopePrefix stands before a host in a block list, and in the list of blocks, if the block includes
// the hosts below it.
const scopePrefix = "*."

// oneScope accepts one host, or *.HOST.
func oneScope(c *cobra.Command, args []string) error {
	hosts := slices.Clone(args)
	if len(hosts) == 1 {
		hosts[0] = strings.TrimPrefix(hosts[0], scopePrefix)
	}
	return cli.OneHost(c, hosts)
}

// formatScope describes the scope of a block.
func formatScope(b crawler.Block) string {
	if b.Subdomains {
		return scopePrefix + format.Visible(b.Host)
	}
	return format.Visible(b.Host)
}
