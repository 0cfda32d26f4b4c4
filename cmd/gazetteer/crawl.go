package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/lint/format"
)

// crawlRequest is the body of POST /admin/crawl.
type crawlRequest struct {
	Hosts []string `json:"hosts"`
}

func (a *app) crawlCommand() *cobra.Command {
	var asked crawlOf
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
Crawl's graphs; # begins a comment. A line that names no host has the result
bad-host, with its number, and the rest goes on.

With --json a line is an object: host, state (listed, empty, refused, failing,
unvisited), fetches with the outcome and status of each endpoint, requests that
were made, and next_due.

Exit code 1 when a host came to no document; with --once that is an outcome like
any other, and 0 says that every host has one.`,
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if asked.names, err = checkNames(args); err != nil {
				return err
			}
			switch {
			case file != "":
				list, err := os.Open(file)
				if err != nil {
					return usagef("read hosts: %v", err)
				}
				defer list.Close()
				asked.list = list
			case len(args) == 0:
				return wrongUse(c, "crawl needs a host, for example: gazetteer crawl example.com")
			}
			return a.ask(c.Context(), true, func(server *client) error { return a.crawl(c.Context(), server, asked) })
		},
	}
	c.Flags().StringVar(&file, "file", "", "read hosts from this list")
	c.Flags().BoolVar(&asked.once, "once", false, "exit code 0 when every host has an outcome, whatever it is")
	c.Flags().StringVar(&a.dataDir, "data", "", "the same as --data-dir")
	return c
}

// crawlOf is what a crawl was asked for.
type crawlOf struct {
	names []string  // of the command line, and "-"
	list  io.Reader // nil: none
	once  bool
}

// checkNames refuses what is no public host name before anything is asked.
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

// hosts yields the hosts of the command line, of standard input and of the list,
// with a *crawler.LineError for each line of a list that names none.
func (a *app) hosts(asked crawlOf) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, name := range asked.names {
			if name != "-" {
				if !yield(name, nil) {
					return
				}
				continue
			}
			for host, err := range crawler.ReadHosts(a.in) {
				if !yield(host, err) {
					return
				}
			}
		}
		if asked.list == nil {
			return
		}
		for host, err := range crawler.ReadHosts(asked.list) {
			if !yield(host, err) {
				return
			}
		}
	}
}

const (
	// crawlChunk is how many hosts are handed over at once: that many of the
	// longest names fit into one request.
	crawlChunk = 10_000
	// mostChunks is how many of those are waited for at a time.
	mostChunks = 100
)

// crawl hands the hosts over as they are read, and shows each result as it
// comes: a list of any length begins at once, and a domain with many hosts, which
// takes its time, holds up no others.
func (a *app) crawl(ctx context.Context, c *client, asked crawlOf) error {
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
	results := &crawlResults{app: a, progress: p, states: map[crawler.State]int{}}
	begun := time.Now()
	err := a.crawlAll(ctx, c, asked, results)
	done()
	<-watched
	if asked.list != nil && !a.json && err == nil {
		p.line("%s", results.summary(time.Since(begun)))
	}
	if err == nil && results.empty > 0 && !asked.once {
		return errQuiet
	}
	return err
}

// crawlAll returns when every host has a result.
func (a *app) crawlAll(ctx context.Context, c *client, asked crawlOf, results *crawlResults) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(mostChunks)
	var chunk []string
	send := func() {
		if len(chunk) == 0 || ctx.Err() != nil {
			return
		}
		hosts := chunk
		chunk = nil
		group.Go(func() error { return c.lines(ctx, "/admin/crawl", crawlRequest{hosts}, results.take) })
	}
	known, refused := map[string]bool{}, map[string]bool{}
	for host, err := range a.hosts(asked) {
		var line *crawler.LineError
		switch {
		case errors.As(err, &line):
			err = nil
			if name := fetch.Clip(line.Err.Host, crawler.MaxShownName); !refused[name] {
				refused[name] = true
				err = results.refuse(line)
			}
		case err == nil && !known[host]:
			known[host] = true
			chunk = append(chunk, host)
		}
		if err != nil {
			send() // what was read is crawled, whatever became of the rest
			return errors.Join(group.Wait(), err)
		}
		if len(chunk) == crawlChunk {
			send()
		}
	}
	send()
	if err := group.Wait(); err != nil {
		return err
	}
	if len(known)+results.empty == 0 {
		return usagef("the list names no host: give one a line")
	}
	return nil
}

// crawlResults shows results, and counts those without a document.
type crawlResults struct {
	*app
	progress *progress

	mu    sync.Mutex // guards the output and following
	empty int
	// For the last line: hosts by state, their operations, and requests made.
	states               map[crawler.State]int
	operations, requests int
}

// summary says in one line what a list came to.
func (s *crawlResults) summary(took time.Duration) string {
	hosts := 0
	var parts []string
	for _, state := range []crawler.State{crawler.Listed, crawler.Empty, crawler.Refused, crawler.Failing, crawler.Unvisited} {
		n := s.states[state]
		if hosts += n; n == 0 {
			continue
		}
		part := fmt.Sprintf("%d %s", n, state)
		if state == crawler.Listed {
			part += " with " + plural(s.operations, "operation")
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("%s: %s; %s in %s", plural(hosts, "host"), strings.Join(parts, ", "), plural(s.requests, "request"), took.Round(100*time.Millisecond))
}

// take shows a result as the server sends it.
func (s *crawlResults) take(line []byte) error {
	var r crawler.Result
	if err := json.Unmarshal(line, &r); err != nil {
		return networkf("the server sent a result that is none: %v", err)
	}
	return s.show(r, line)
}

// refuse shows that a line of a list names no host.
func (s *crawlResults) refuse(wrong *crawler.LineError) error {
	r := crawler.BadHost(wrong.Err.Host, wrong, time.Now())
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode a result: %w", err)
	}
	return s.show(r, line)
}

func (s *crawlResults) show(r crawler.Result, line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Documents == 0 {
		s.empty++
	}
	s.states[r.State]++
	s.operations += r.Operations
	s.requests += r.Requests
	return s.printResult(s.progress, r, line)
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
	text := fmt.Sprintf("%-36s  %s", format.Visible(r.Host), format.Visible(r.Summary))
	if n := len(r.New); n > 0 {
		text += fmt.Sprintf("; names %s not seen before", plural(n, "host"))
	}
	if r.NextDue.IsZero() { // there is none
		return text
	}
	return text + "; next visit " + until(now, r.NextDue)
}
