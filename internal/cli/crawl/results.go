package crawl

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"gazetteer/crawler"
	"gazetteer/crawler/hostlist"
	"gazetteer/fetch"
	"gazetteer/internal/cli"
	"gazetteer/lint/format"
)

// crawlResults prints results, and counts the results without a document.
type crawlResults struct {
	*verbs
	progress *cli.Progress

	mu    sync.Mutex // guards the output and following
	empty int
	// For the last line: hosts by state, their operations, and the number of requests.
	states               map[crawler.State]int
	operations, requests int
	// faulty is the first host without a document, or with one that breaks its draft.
	faulty string
	// blocked is set if faulty is a host that its owner or the operator does not want visited.
	blocked bool
	// notDue is the first host that was not visited because it is not due yet.
	notDue string
}

// formatSummary summarizes the results of a list in one line.
func (s *crawlResults) formatSummary(took time.Duration) string {
	hosts := 0
	var parts []string
	for _, state := range []crawler.State{crawler.Listed, crawler.Empty, crawler.Refused, crawler.Failing, crawler.Unvisited} {
		n := s.states[state]
		if hosts += n; n == 0 {
			continue
		}
		part := fmt.Sprintf("%d %s", n, state)
		if state == crawler.Listed {
			part += " with " + cli.Plural(s.operations, "operation")
		}
		parts = append(parts, part)
	}
	if hosts == 0 {
		return "no results after " + took.Round(100*time.Millisecond).String()
	}
	return fmt.Sprintf("%s: %s; %s in %s", cli.Plural(hosts, "host"), strings.Join(parts, ", "), cli.Plural(s.requests, "request"), took.Round(100*time.Millisecond))
}

// printRefusedLine reports that a line of a list names no host.
func (s *crawlResults) printRefusedLine(wrong *hostlist.LineError) error {
	r := crawler.BadHost(wrong.Err.Host, wrong, s.Environment.Now())
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode a result: %w", err)
	}
	return s.countAndPrint(r, line)
}

// countAndPrint prints a result, with --json its unchanged line.
func (s *crawlResults) countAndPrint(r crawler.Result, line []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Documents == 0 {
		s.empty++
	}
	if (r.Documents == 0 || r.Errors > 0) && r.State != crawler.Unvisited && r.Outcome() != fetch.BadHost && s.faulty == "" {
		s.faulty, s.blocked = r.Host, r.Outcome() == fetch.OptedOut
	}
	if r.NotDue && s.notDue == "" {
		s.notDue = r.Host
	}
	s.states[r.State]++
	s.operations += r.Operations
	s.requests += r.Requests
	return s.printResult(s.progress, r, line)
}

func (a *verbs) printResult(p *cli.Progress, r crawler.Result, line []byte) error {
	if a.JSON {
		return cli.WriteJSONText(a.Out, line)
	}
	// On a terminal the results and the status line share one screen.
	if p.Live && cli.IsTerminal(a.Out) {
		p.PrintLine("%s", formatResult(r, a.Environment.Now()))
		return nil
	}
	_, err := fmt.Fprintln(a.Out, formatResult(r, a.Environment.Now()))
	return err
}

// formatResult describes the result of a visit in one line.
func formatResult(r crawler.Result, now time.Time) string {
	text := fmt.Sprintf("%-36s  %s", format.Visible(r.Host), format.Visible(r.Summary))
	if n := len(r.New); n > 0 {
		text += fmt.Sprintf("; names %s not seen before", cli.Plural(n, "host"))
	}
	if r.NextDue.IsZero() { // there is none
		return text
	}
	return text + "; next visit " + cli.FormatWait(now, r.NextDue)
}
