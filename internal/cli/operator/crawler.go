package operator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/internal/cli"
	"gazetteer/lint/format"
)

// crawlerCommand is what an operator tells the crawler about single hosts.
func (a *verbs) crawlerCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "crawler",
		Short: "Block hosts, let them in again, have one visited again",
		Long: `Crawler tells the crawler about single hosts. A host that is blocked is not
visited any more, and what it published is removed at once: its pages and the API
say so instead. A long list is better kept in the file that crawler.block_list_file
names, which is read again at SIGHUP.

Owners of hosts need none of this: they opt out by robots.txt, or on the page
/bot of a server.`,
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
		Use: "block HOST", Short: "Visit a host no more, and remove what it published",
		Example: "  gazetteer crawler block www.example.com\n  gazetteer crawler block --subdomains --why 'its owner wrote to us' example.com",
		Args:    cli.ExactArgs(1, "one HOST"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withOperator(c.Context(), func(server *cli.Client) error {
				var b crawler.Block
				raw, err := server.SendJSON(c.Context(), http.MethodPost, "/admin/blocks", api.BlockBody{Host: args[0], Subdomains: subdomains, Why: why}, nil, &b)
				if err != nil || a.JSON {
					return a.PrintJSON(raw, err)
				}
				_, err = fmt.Fprintf(a.Out, "%s is blocked, and what was published there is removed.\n", formatScope(b))
				return err
			})
		},
	}
	c.Flags().BoolVar(&subdomains, "subdomains", false, "all hosts below it, too")
	c.Flags().StringVar(&why, "why", "", "for those who look")
	return c
}

func (a *verbs) unblockCommand() *cobra.Command {
	return &cobra.Command{
		Use: "unblock HOST", Short: "Let a host be visited again, no matter who blocked it",
		Long: `Unblock lets a host be visited again, even when its owner blocked it. It is
visited when somebody names it, for example with: gazetteer crawl HOST`,
		Args: cli.ExactArgs(1, "one HOST"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.withOperator(c.Context(), func(server *cli.Client) error {
				var left api.BlockList
				raw, err := server.SendJSON(c.Context(), http.MethodDelete, "/admin/blocks/"+url.PathEscape(args[0]), nil, nil, &left)
				if err != nil || a.JSON {
					return a.PrintJSON(raw, err)
				}
				_, err = fmt.Fprintf(a.Out, "%s may be visited again.\n", format.Visible(args[0]))
				return err
			})
		},
	}
}

func (a *verbs) blockedCommand() *cobra.Command {
	return &cobra.Command{
		Use: "blocked", Short: "List the hosts that are not visited, and who asked for that",
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withOperator(c.Context(), func(server *cli.Client) error {
				var list api.BlockList
				if _, err := server.GetJSON(c.Context(), "/admin/blocks", &list); err != nil {
					return err
				}
				return a.printBlocks(list.Blocks)
			})
		},
	}
}

// printBlocks shows one block a line.
func (a *verbs) printBlocks(blocks []crawler.Block) error {
	for _, b := range blocks {
		if a.JSON {
			text, err := json.Marshal(b)
			if err != nil {
				return fmt.Errorf("write a block: %w", err)
			}
			if err := cli.WriteJSONText(a.Out, text); err != nil {
				return err
			}
			continue
		}
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

// formatScope says what a block covers.
func formatScope(b crawler.Block) string {
	if b.Subdomains {
		return "*." + format.Visible(b.Host)
	}
	return format.Visible(b.Host)
}

func (a *verbs) recrawlCommand() *cobra.Command {
	return &cobra.Command{
		Use: "recrawl HOST", Short: "Have a known host visited again, at most once in 10 minutes",
		Long: `Recrawl has a known host visited again by the running server, with the intervals
that every visit keeps. It may be asked for once in 10 minutes.`,
		Args: cli.ExactArgs(1, "one HOST"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.WithServer(c.Context(), cli.Operate, func(server *cli.Client) error {
				var s answer.Submission
				raw, err := server.SendJSON(c.Context(), http.MethodPost, "/api/v1/services/"+url.PathEscape(args[0])+"/recrawl", nil, nil, &s)
				if err != nil || a.JSON {
					return a.PrintJSON(raw, err)
				}
				_, err = fmt.Fprintf(a.Out, "%s is visited again as soon as its turn comes.\n", format.Visible(s.Host))
				return err
			})
		},
	}
}
