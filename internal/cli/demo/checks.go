package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/internal/cli"
	"gazetteer/internal/cli/search"
	"gazetteer/store"
)

// runChecks runs every check of the demo, prints each result, and returns the number of failed
// checks.
func (d *demo) runChecks(ctx context.Context) (failed int, err error) {
	checks := []struct {
		name string
		run  func(context.Context) (string, error)
		// fetches is true for a check that judges the fetches of this run.
		fetches bool
	}{
		{"every host has its expected outcome", d.checkOutcomes, false},
		{"the servers saw a polite crawler", d.checkPoliteness, true},
		{"services change, and the feed tells what it means to their callers", d.checkChanges, false},
		{"intent phrases find their operation", d.checkSearch, false},
		{"agents register and resolve to their inboxes", d.checkAgent, false},
		{"who can BOOK a table? the service, and the inbox to write to", d.checkFind, false},
		{"a sealed offer to book a table gets a counter, and a counter its acceptance", d.checkNegotiation, false},
		{"a contract of a crawled operation is approved, and called through the tool host", d.checkTools, false},
		{"no address of the demo leads nowhere", d.checkAddresses, false},
		{"the index is at the end of the log", d.checkIndex, false},
	}
	type outcome struct {
		Check string `json:"check"`
		OK    bool   `json:"ok"`
		Saw   string `json:"saw"`
	}
	report := struct {
		OK     bool      `json:"ok"`
		Hosts  int       `json:"hosts"`
		Visits int       `json:"visits"`
		Took   float64   `json:"took_s"`
		Checks []outcome `json:"checks"`
	}{Hosts: len(d.net.Hosts()), Checks: []outcome{}}
	d.printf("")
	for _, c := range checks {
		if c.fetches && d.countVisits() == 0 {
			continue // this run fetched nothing that could be judged
		}
		saw, err := c.run(ctx)
		if ctx.Err() != nil {
			return failed, ctx.Err()
		}
		mark := "ok    "
		if err != nil {
			failed++
			mark, saw = "FAILED", err.Error()
		}
		report.Checks = append(report.Checks, outcome{c.name, err == nil, saw})
		if !d.once {
			saw = firstLines(saw)
		}
		d.printf("%s  %s: %s", mark, c.name, cli.VisibleLines(saw))
	}
	report.Visits = d.countVisits()
	report.OK, report.Took = failed == 0, time.Since(d.began).Seconds()
	if d.JSON {
		return failed, cli.WriteJSON(d.Out, report)
	}
	first := d.countFirstVisits()
	d.printf("\n%s in %.1f s, after %s and %d repeated.", formatVerdict(failed), report.Took, cli.Plural(first, "first visit"), report.Visits-first)
	if failed > 0 {
		d.printf("Checks fail on a machine that is too busy: hosts then time out. Start the demo again, with an empty directory if you use --keep.")
	}
	return failed, nil
}

// maxLines is the number of lines of a failed check that a person is shown.
const maxLines = 4

// firstLines returns the first lines of a text, and says how many lines it leaves out.
func firstLines(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= maxLines {
		return text
	}
	return strings.Join(lines[:maxLines], "\n") + fmt.Sprintf("\n  … and %d more; demo --once shows all", len(lines)-maxLines)
}

func formatVerdict(failed int) string {
	if failed == 0 {
		return "All checks passed"
	}
	return cli.Plural(failed, "check") + " failed"
}

// ReadHost reads a host's record; an unknown host is the zero Host.
func ReadHost(ctx context.Context, s store.Store, name string) (crawler.Host, error) {
	var h crawler.Host
	r, err := s.Get(ctx, store.HostKey(name))
	if errors.Is(err, store.ErrNotFound) {
		return h, nil
	}
	if err != nil {
		return h, fmt.Errorf("read the state of %s: %w", name, err)
	}
	if err := json.Unmarshal(r.Value, &h); err != nil {
		return h, fmt.Errorf("read the state of %s: %w", name, err)
	}
	return h, nil
}

// checkOutcomes compares the outcome of each fetch with the host's label.
func (d *demo) checkOutcomes(ctx context.Context) (string, error) {
	var wrong []string
	visited, refused := 0, 0
	for _, h := range d.net.Hosts() {
		state, err := ReadHost(ctx, d.server.Store, h.Name)
		if err != nil {
			return "", err
		}
		if !h.Reachable {
			if state.Visits > 0 {
				wrong = append(wrong, h.Name+": visited, although it is too far from any seed")
			}
			continue
		}
		visited++
		for kind, want := range h.Expect {
			got := state.Fetches[kind].Outcome
			if got == fetch.Unchanged { // of a later visit
				got = fetch.OK
			}
			if string(got) != want {
				wrong = append(wrong, fmt.Sprintf("%s: %s is %q, want %q (%s)", h.Name, kind, got, want, h.Note))
			}
			if got != fetch.OK && got != fetch.Absent {
				refused++
			}
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return "", fmt.Errorf("%d differ:\n  %s", len(wrong), strings.Join(wrong, "\n  "))
	}
	return fmt.Sprintf("%d hosts visited, %d fetches refused or failed for the labeled reason", visited, refused), nil
}

// checkPoliteness judges the crawl by the logs of the servers.
func (d *demo) checkPoliteness(context.Context) (string, error) {
	asked := map[string]bool{}
	requests := d.net.Requests()
	unreachable := map[string]bool{}
	for _, h := range d.net.Hosts() {
		unreachable[h.Name] = !h.Reachable
	}
	for _, r := range requests {
		switch {
		case !r.TLS:
			return "", fmt.Errorf("%s%s was requested over plain HTTP", r.Host, r.Path)
		case unreachable[r.Host]:
			return "", fmt.Errorf("%s was requested, although it is too far from any seed", r.Host)
		case r.Path == "/robots.txt":
			asked[r.Host] = true
		case !asked[r.Host] && d.keep == "":
			return "", fmt.Errorf("%s%s was requested before robots.txt", r.Host, r.Path)
		}
	}
	return fmt.Sprintf("%d requests, none over plain HTTP; robots.txt first on the %d visited hosts that accept a connection", len(requests), len(asked)), nil
}

// demoQueries are phrases of a natural user.
var demoQueries = []string{
	"book a table", "send a text message", "exchange rates", "weather forecast", "translate text", "create a payment",
}

func (d *demo) checkSearch(ctx context.Context) (string, error) {
	var saw []string
	for _, q := range demoQueries {
		var r index.Result
		if err := d.getJSON(ctx, "/api/v1/search?"+url.Values{"q": {q}, "limit": {"1"}, "fields": {"all"}}.Encode(), &r); err != nil {
			return "", fmt.Errorf("search %q: %w", q, err)
		}
		if len(r.Hits) == 0 {
			return "", fmt.Errorf("nothing was found for %q", q)
		}
		h := r.Hits[0]
		if len(h.Why.Matched) == 0 || h.Digest == "" || h.FetchedAt.IsZero() {
			return "", fmt.Errorf("the hit for %q lacks its explanation or its source", q)
		}
		saw = append(saw, fmt.Sprintf("\n          %-20s  %s %s at %s", q, h.Operation.Verb, search.OperationName(h.Operation), h.Host))
	}
	return fmt.Sprintf("%d of %d, for example%s", len(saw), len(demoQueries), strings.Join(saw[:1], "")), nil
}

func (d *demo) checkIndex(ctx context.Context) (string, error) {
	head := d.server.Store.Head()
	if err := d.server.Index.WaitFor(ctx, head.Seq); err != nil {
		return "", err
	}
	at := d.server.Index.Cursor()
	if at.Store != head.Store || at.Incarnation != head.Incarnation || at.Seq < head.Seq {
		return "", fmt.Errorf("the index is at %v, the store at %v", at, head)
	}
	return fmt.Sprintf("both at sequence %d", at.Seq), nil
}

// getJSON sends a request to the public address, without credentials.
func (d *demo) getJSON(ctx context.Context, path string, v any) error {
	response, err := d.fetchPage(ctx, path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, 16<<20))
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 && response.StatusCode != http.StatusMultipleChoices {
		return cli.StatusError(response.StatusCode, raw)
	}
	return json.Unmarshal(raw, v)
}

func (d *demo) fetchPage(ctx context.Context, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base+path, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(request)
}

// countFirstVisits returns the number of hosts whose first visit was in this run.
func (d *demo) countFirstVisits() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.expected - len(d.waiting)
}

// countVisits returns the number of visits in this run.
func (d *demo) countVisits() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.visits
}
