package crawl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
)

// crawlLogPage is the answer of /api/v1/services/{host}/crawl-log.
type crawlLogPage struct {
	Host   string                  `json:"host"`
	Visits []crawler.CrawlLogEntry `json:"visits"`
	Next   string                  `json:"next"`
}

func (a *verbs) crawlLogCommand() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:   "crawl-log HOST",
		Short: "Show every request that was made to a host, and why",
		Long: `Crawl-log shows the requests to a host in the last 90 days, the latest first: each
with its time, its answer, its duration and its reason. A visit reads the documents;
a check looks for a proof, for example. It is for owners of hosts who want to know
what this crawler does.

  gazetteer crawl-log www.example.com
  gazetteer crawl-log --limit 1 www.example.com
  gazetteer --json crawl-log www.example.com

Times are in UTC. Exit code 1 if the host is unknown.`,
		Args: cli.OneHost,
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 1 {
				return exit.Usagef("--limit %d: want 1 or more", limit)
			}
			return a.WithServer(c.Context(), cli.Read, func(server *cli.Client) error { return a.printCrawlLog(c.Context(), server, args[0], limit) })
		},
	}
	c.Flags().IntVarP(&limit, "limit", "n", 20, "how many visits and checks to show")
	return c
}

// printCrawlLog prints page after page until it has printed the requested number.
func (a *verbs) printCrawlLog(ctx context.Context, c *cli.Client, host string, limit int) error {
	if !a.JSON {
		a.printConnection(ctx, c, host)
	}
	query := url.Values{}
	shown := 0
	for {
		query.Set("limit", strconv.Itoa(min(100, limit-shown)))
		var page crawlLogPage
		if _, err := c.GetJSON(ctx, "/api/v1/services/"+url.PathEscape(host)+"/crawl-log?"+query.Encode(), &page); err != nil {
			if e, ok := errors.AsType[*exit.Error](err); ok && e.Code == exit.NotFound && strings.HasPrefix(err.Error(), "nothing is known of") {
				return exit.NotFoundf("nothing is known of %s\nTo have it visited: %s\nThe known services: %s", host, a.FormatCommand("crawl "+cli.QuoteForShell(host)), a.FormatCommand("services"))
			}
			return err
		}
		for _, v := range page.Visits {
			if err := a.printVisit(v); err != nil {
				return err
			}
		}
		shown += len(page.Visits)
		if page.Next == "" || shown >= limit {
			break
		}
		query.Set("cursor", page.Next)
	}
	if shown == 0 && !a.JSON {
		fmt.Fprintf(a.Out, "No requests to %s in the last 90 days.\n", format.Visible(host))
	}
	return nil
}

// printConnection prints the TLS details of the last connection to a host. It prints nothing for a
// host that has withdrawn. Other errors appear in the crawl log, too.
func (a *verbs) printConnection(ctx context.Context, c *cli.Client, host string) {
	var s answer.Service
	if _, err := c.GetJSON(ctx, "/api/v1/services/"+url.PathEscape(host), &s); err != nil || s.State.TLS == nil {
		return
	}
	t := s.State.TLS
	fmt.Fprintf(a.Out, "%s: %s; it expires on %s\n", format.Visible(s.Host), format.Visible(t.String()), t.Expires.UTC().Format(time.DateOnly))
}

// printVisit prints one visit: one line per request, or one JSON object.
func (a *verbs) printVisit(v crawler.CrawlLogEntry) error {
	if a.JSON {
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("write the visit: %w", err)
		}
		return cli.WriteJSONText(a.Out, text)
	}
	fmt.Fprintf(a.Out, "%s  %s", v.At.UTC().Format(time.DateTime), format.Visible(v.Why))
	if v.Check {
		fmt.Fprint(a.Out, " (a check, no visit)")
	}
	if v.Visited != v.Host {
		fmt.Fprintf(a.Out, " (on a visit to %s)", format.Visible(v.Visited))
	}
	if v.Interrupted {
		fmt.Fprint(a.Out, ", cut short")
	}
	fmt.Fprintln(a.Out)
	for _, r := range v.Requests {
		status := "no answer"
		if r.Status > 0 {
			status = strconv.Itoa(r.Status)
		}
		fmt.Fprintf(a.Out, "  %-9s  %s  %d bytes in %d ms; %s\n", status, format.Visible(r.URL), r.WireBytes, int64(r.Took), format.Visible(r.Why))
	}
	return nil
}
