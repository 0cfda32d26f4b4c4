package crawl

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"time"

	"gazetteer/crawler"
	"gazetteer/crawler/hostlist"
	"gazetteer/fetch"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/protocol"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// crawlRequest is the body of POST /admin/crawl.
type crawlRequest struct {
	Hosts []string `json:"hosts"`
}

func (a *verbs) crawlCommand() *cobra.Command {
	var asked crawlFlags
	var file string
	c := &cobra.Command{
		Use:   "crawl HOST... | - | --file LIST",
		Short: "Add hosts and wait for their results",
		Long: `Crawl adds hosts to the frontier and waits until each has a result, one line
each. A host that is not due yet is not visited again: its last result is shown
with the time of the next visit.

"-" reads a list of hosts from standard input, --file from a file, which may be
packed with gzip. A line is a name or an address ("www.example.com"), a rank and
a name ("17,example.com"), or a line of the vertices or ranks of the Common
Crawl's graphs; # begins a comment. A line without a host name has the result
bad-host, with its number, and the other lines are visited.

--again has a known host visited now, although it is not due: after a repair, for
example. That is possible once in 10 minutes for each host.

With --json a line is an object: host, state (listed, empty, refused, failing,
unvisited), fetches with the outcome and status of each endpoint, requests that
were made, and next_due.

Exit code 1 if a host has no document. With --once that is an outcome like any
other, and exit code 0 means that every host has an outcome.`,
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if asked.names, err = checkNames(args); err != nil {
				return err
			}
			switch {
			case asked.again && file != "":
				return exit.Usagef("--again needs the names of the hosts on the command line")
			case file != "":
				list, err := os.Open(file)
				if err != nil {
					return exit.Usagef("read hosts: %w", err)
				}
				defer list.Close()
				asked.list = list
			case len(args) == 0:
				return cli.UsageError(c, "crawl needs a host, for example: gazetteer crawl example.com")
			}
			return a.WithServer(c.Context(), cli.Crawl, func(server *cli.Client) error {
				return a.crawlHosts(c.Context(), server.UnlimitedByDefault(c), asked)
			})
		},
	}
	c.Flags().StringVar(&file, "file", "", "read hosts from this list")
	c.Flags().BoolVar(&asked.once, "once", false, "exit code 0 if every host has an outcome of any kind")
	c.Flags().BoolVar(&asked.again, "again", false, "visit the named hosts now, although they are not due")
	c.Flags().StringVar(&a.DataDir, "data", "", "the same as --data-dir")
	c.Flags().Lookup("data").Hidden = true // scripts use this name
	return c
}

// crawlFlags contains the flags of a crawl.
type crawlFlags struct {
	names []string  // of the command line, and "-"
	list  io.Reader // nil: none
	once  bool
	again bool // known hosts are visited again before they are due
}

// checkNames refuses invalid public host names before the first request.
func checkNames(args []string) ([]string, error) {
	var names []string
	for _, arg := range args {
		if arg != "-" {
			host, err := fetch.CheckHost(arg)
			if err != nil {
				return nil, err
			}
			arg = host
		}
		names = append(names, arg)
	}
	return names, nil
}

// readHosts yields the hosts of the command line, of standard input and of the list. It yields a
// *hostlist.LineError for each line of a list without a host name.
func (a *verbs) readHosts(asked crawlFlags) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, name := range asked.names {
			if name != "-" {
				if !yield(name, nil) {
					return
				}
				continue
			}
			for host, err := range hostlist.Read(a.In) {
				if !yield(host, err) {
					return
				}
			}
		}
		if asked.list == nil {
			return
		}
		for host, err := range hostlist.Read(asked.list) {
			if !yield(host, err) {
				return
			}
		}
	}
}

const (
	// hostsPerRequest is the number of hosts in one request. That many of the longest names fit
	// into it.
	hostsPerRequest = 10_000
	// maxRequests is the number of concurrent requests.
	maxRequests = 100
)

// crawlHosts sends the hosts to the server while it reads them, and prints each result when it
// arrives. A list of any length begins at once, and a slow domain with many hosts does not delay
// other hosts.
func (a *verbs) crawlHosts(ctx context.Context, c *cli.Client, asked crawlFlags) error {
	if err := checkOperator(ctx, c); err != nil {
		return err
	}
	if asked.again {
		if err := a.requestVisits(ctx, c, asked.names); err != nil {
			return err
		}
	}
	p := cli.NewProgress(a.Err)
	watching, done := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		p.Run(watching, func() (string, bool) {
			var s struct {
				Crawler crawler.Status `json:"crawler"`
			}
			_, err := c.GetJSON(watching, "/admin/status", &s)
			return cli.FormatCrawlStatus(s.Crawler), err == nil
		})
	}()
	results := &crawlResults{verbs: a, progress: p, states: map[crawler.State]int{}}
	begun := time.Now()
	err := a.crawlAll(ctx, c, asked, results)
	done()
	<-watched
	interrupted := ctx.Err() != nil
	if asked.list != nil && !a.JSON && (err == nil || interrupted) {
		p.PrintLine("%s", results.formatSummary(time.Since(begun)))
	}
	if asked.list != nil && !a.JSON && interrupted {
		p.PrintLine("Interrupted. To go on, run the same command again: it visits no host again that was visited and is not due.")
	}
	if asked.list == nil && !a.JSON && err == nil && results.faulty != "" {
		title := "Why, with rules and lines:"
		if results.blocked {
			title = "Who blocked it, and how the owner or the operator allows visits again:"
		}
		p.PrintLine("%s\n  %s", title, a.FormatCommand("explain "+cli.QuoteForShell(results.faulty)))
	}
	if asked.list == nil && !a.JSON && err == nil && results.notDue != "" {
		p.PrintLine("To visit it now:\n  %s", a.FormatCommand("crawl --again "+cli.QuoteForShell(results.notDue)))
	}
	if err == nil && results.empty > 0 && !asked.once {
		return exit.ErrSilent
	}
	return err
}

// checkOperator refuses the address of a server that is not the one of its admin_listen.
func checkOperator(ctx context.Context, c *cli.Client) error {
	if c.Local {
		return nil
	}
	var status struct {
		Crawler crawler.Status `json:"crawler"`
	}
	_, err := c.GetJSON(ctx, "/admin/status", &status)
	if cli.RefusesOperator(err) {
		return exit.Usagef("crawl is for the operator of the server: run it on the server's machine, with --data-dir and without --server, or name the address of admin_listen; anybody can add a host at %s/submit, and request a new visit at %s/bot", c.Base, c.Base)
	}
	return err
}

// requestVisits makes known hosts due now. A host that is not known yet is visited anyway.
func (a *verbs) requestVisits(ctx context.Context, c *cli.Client, names []string) error {
	for _, name := range names {
		if name == "-" {
			return exit.Usagef("--again needs the names of the hosts on the command line")
		}
		var state struct{}
		_, err := c.SendJSON(ctx, http.MethodPost, "/api/v1/services/"+url.PathEscape(name)+"/recrawl", nil, nil, &state)
		if e, ok := errors.AsType[*exit.Error](err); ok && e.Code == exit.NotFound {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// crawlAll crawls the hosts and returns when every host has a result.
func (a *verbs) crawlAll(ctx context.Context, c *cli.Client, asked crawlFlags, results *crawlResults) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxRequests)
	var chunk []string
	send := func() {
		if len(chunk) == 0 || ctx.Err() != nil {
			return
		}
		hosts := chunk
		chunk = nil
		group.Go(func() error {
			return cli.PostForLines(ctx, c, "/admin/crawl", crawlRequest{hosts}, results.countAndPrint)
		})
	}
	known, refused := map[string]bool{}, map[string]bool{}
	for host, err := range a.readHosts(asked) {
		var line *hostlist.LineError
		switch {
		case errors.As(err, &line):
			err = nil
			if name := protocol.ClipBytes(line.Err.Host, crawler.MaxShownName); !refused[name] {
				refused[name] = true
				err = results.printRefusedLine(line)
			}
		case err == nil && !known[host]:
			known[host] = true
			chunk = append(chunk, host)
		}
		if err != nil {
			send() // crawl the hosts that were read, even if reading the rest failed
			return errors.Join(group.Wait(), err)
		}
		if len(chunk) == hostsPerRequest {
			send()
		}
	}
	send()
	if err := group.Wait(); err != nil {
		return err
	}
	if len(known)+results.empty == 0 {
		return exit.Usagef("the list names no host: give one a line")
	}
	return nil
}
