package main

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
	"gazetteer/lint/format"
)

// crawlerCommand is what an operator tells the crawler about single hosts.
func (a *app) crawlerCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "crawler",
		Short: "Block hosts, let them in again, have one visited again",
		Long: `Crawler tells the crawler about single hosts. A host that is blocked is not
visited any more, and what it published is removed at once: its pages and the API
say so instead. A long list is better kept in the file that crawler.block_list
names, which is read again at SIGHUP.

Owners of hosts need none of this: they opt out by robots.txt, or on the page
/bot of a server.`,
		Args: onlyVerbs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.blockCommand(), a.unblockCommand(), a.blockedCommand(), a.recrawlCommand())
	return c
}

func (a *app) blockCommand() *cobra.Command {
	var subdomains bool
	var why string
	c := &cobra.Command{
		Use: "block HOST", Short: "Visit a host no more, and remove what it published",
		Example: "  gazetteer crawler block www.example.com\n  gazetteer crawler block --subdomains --why 'its owner wrote to us' example.com",
		Args:    exactly(1, "one HOST"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.askOperator(c.Context(), func(server *client) error {
				var b crawler.Block
				raw, err := server.write(c.Context(), http.MethodPost, "/admin/blocks", api.BlockBody{Host: args[0], Subdomains: subdomains, Why: why}, nil, &b)
				if err != nil || a.json {
					return a.orJSON(raw, err)
				}
				_, err = fmt.Fprintf(a.out, "%s is blocked, and what was published there is removed.\n", scope(b))
				return err
			})
		},
	}
	c.Flags().BoolVar(&subdomains, "subdomains", false, "all hosts below it, too")
	c.Flags().StringVar(&why, "why", "", "for those who look")
	return c
}

func (a *app) unblockCommand() *cobra.Command {
	return &cobra.Command{
		Use: "unblock HOST", Short: "Let a host be visited again, whoever blocked it",
		Long: `Unblock lets a host be visited again, whoever blocked it: also the owner. It is
visited when somebody names it, for example with: gazetteer crawl HOST`,
		Args: exactly(1, "one HOST"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.askOperator(c.Context(), func(server *client) error {
				var left api.BlockList
				raw, err := server.write(c.Context(), http.MethodDelete, "/admin/blocks/"+url.PathEscape(args[0]), nil, nil, &left)
				if err != nil || a.json {
					return a.orJSON(raw, err)
				}
				_, err = fmt.Fprintf(a.out, "%s may be visited again.\n", format.Visible(args[0]))
				return err
			})
		},
	}
}

func (a *app) blockedCommand() *cobra.Command {
	return &cobra.Command{
		Use: "blocked", Short: "List the hosts that are not visited, and whose wish that is",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.askOperator(c.Context(), func(server *client) error {
				var list api.BlockList
				if _, err := server.get(c.Context(), "/admin/blocks", &list); err != nil {
					return err
				}
				return a.printBlocks(list.Blocks)
			})
		},
	}
}

// printBlocks shows one block a line.
func (a *app) printBlocks(blocks []crawler.Block) error {
	for _, b := range blocks {
		if a.json {
			text, err := json.Marshal(b)
			if err != nil {
				return fmt.Errorf("write a block: %w", err)
			}
			if err := writeJSONText(a.out, text); err != nil {
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
		if _, err := fmt.Fprintf(a.out, "%s  since %s, by the %s%s\n", scope(b), b.Since.UTC().Format(time.DateOnly), format.Visible(string(b.By)), format.Visible(why)); err != nil {
			return err
		}
	}
	return nil
}

// scope says what a block covers.
func scope(b crawler.Block) string {
	if b.Subdomains {
		return "*." + format.Visible(b.Host)
	}
	return format.Visible(b.Host)
}

func (a *app) recrawlCommand() *cobra.Command {
	return &cobra.Command{
		Use: "recrawl HOST", Short: "Have a known host visited again, at most once in 10 minutes",
		Long: `Recrawl has a known host visited again by the running server, with the intervals
that every visit keeps. It may be asked for once in 10 minutes.`,
		Args: exactly(1, "one HOST"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.ask(c.Context(), false, func(server *client) error {
				var s answer.Submission
				raw, err := server.write(c.Context(), http.MethodPost, "/api/v1/services/"+url.PathEscape(args[0])+"/recrawl", nil, nil, &s)
				if err != nil || a.json {
					return a.orJSON(raw, err)
				}
				_, err = fmt.Fprintf(a.out, "%s is visited again as soon as its turn comes.\n", format.Visible(s.Host))
				return err
			})
		},
	}
}
