package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/crawler"
	"gazetteer/fetch"
)

// crawlRequest is the body of POST /admin/crawl.
type crawlRequest struct {
	Hosts []string `json:"hosts"`
}

func (a *app) crawlCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "crawl HOST... | -",
		Short: "Add hosts and wait for their results",
		Long: `Crawl adds hosts to the frontier and waits until each has a result, one line
each. A host that is not due yet is not visited again: its last result is shown
with the time of the next visit. "-" reads hosts from standard input, --file
from a file, one a line, # begins a comment.

Exit code 1 when a host came to no document.`,
		RunE: func(c *cobra.Command, args []string) error {
			hosts, err := a.hosts(args, file)
			if err != nil {
				return err
			}
			return a.ask(c.Context(), true, func(server *client) error { return a.crawl(c.Context(), server, hosts) })
		},
	}
	c.Flags().StringVar(&file, "file", "", "read hosts from this file")
	return c
}

// hosts gathers the hosts of the command line, the file and standard input, and
// refuses what is no public host name before anything is asked.
func (a *app) hosts(args []string, file string) ([]string, error) {
	var names []string
	for _, arg := range args {
		if arg != "-" {
			names = append(names, arg)
			continue
		}
		more, err := readHosts(a.in)
		if err != nil {
			return nil, usagef("read hosts from standard input: %v", err)
		}
		names = append(names, more...)
	}
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usagef("read hosts: %v", err)
		}
		defer f.Close()
		more, err := readHosts(f)
		if err != nil {
			return nil, usagef("read hosts from %s: %v", file, err)
		}
		names = append(names, more...)
	}
	if len(names) == 0 {
		return nil, usagef("crawl needs a host, for example: gazetteer crawl example.com")
	}
	for i, name := range names {
		host, err := fetch.CheckHost(name)
		if err != nil {
			return nil, err
		}
		names[i] = host
	}
	return names, nil
}

// readHosts reads one host a line; # begins a comment.
func readHosts(r io.Reader) ([]string, error) {
	var hosts []string
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if text = strings.TrimSpace(text); text != "" {
			hosts = append(hosts, text)
		}
	}
	return hosts, lines.Err()
}

func (a *app) crawl(ctx context.Context, c *client, hosts []string) error {
	if !c.local {
		return usagef("hosts are added by the owner of the data directory: run crawl on the server's machine, with --data-dir and without --server")
	}
	p := newProgress(a.err)
	watching, done := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		p.run(watching, func() (crawler.Status, bool) {
			var s struct {
				Crawler crawler.Status `json:"crawler"`
			}
			_, err := c.get(watching, "/admin/status", &s)
			return s.Crawler, err == nil
		})
	}()
	empty := 0
	err := c.lines(ctx, "/admin/crawl", crawlRequest{hosts}, func(line []byte) error {
		var r crawler.Result
		if err := json.Unmarshal(line, &r); err != nil {
			return networkf("the server sent a result that is none: %v", err)
		}
		if r.Documents == 0 {
			empty++
		}
		return a.printResult(p, r, line)
	})
	done()
	<-watched
	if err == nil && empty > 0 {
		return errQuiet
	}
	return err
}

func (a *app) printResult(p *progress, r crawler.Result, line []byte) error {
	if a.json {
		return writeJSONText(a.out, line)
	}
	// On a terminal results and status line share one screen.
	if p.live && isTerminal(a.out) {
		p.line("%s", resultLine(r, time.Now()))
		return nil
	}
	_, err := fmt.Fprintln(a.out, resultLine(r, time.Now()))
	return err
}

// resultLine says what a visit came to, in one line.
func resultLine(r crawler.Result, now time.Time) string {
	text := fmt.Sprintf("%-36s  %s", visible(r.Host), visible(r.Summary))
	if n := len(r.New); n > 0 {
		text += fmt.Sprintf("; names %s not seen before", plural(n, "host"))
	}
	return text + "; next visit " + until(now, r.NextDue)
}
