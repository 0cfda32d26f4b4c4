package search

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api/answer"
	"gazetteer/conformance"
	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/internal/cli"
	"gazetteer/lint/format"
)

// explainCommand returns the command explain.
func (a *verbs) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain HOST",
		Short: "Show what the crawler saw at a host, and why the host is listed or not",
		Long: `Explain shows what the crawler saw at a host: whether the host is listed and why;
the five states (reachable, well-formed, conformant, consistent, answers), with the
rule and the line for each state that fails; the requests of the last visit; the
changes of the states in the last thirty days; the hosts that link to it; what a new
visit would do, and when the next one is due. Times are in UTC.

  gazetteer explain www.example.com
  gazetteer --json explain www.example.com

Exit code 1 if the host is unknown.`,
		Args: cli.OneHost,
		RunE: func(c *cobra.Command, args []string) error {
			return a.WithServer(c.Context(), cli.Read, func(server *cli.Client) error { return a.explainHost(c.Context(), server, args[0]) })
		},
	}
}

func (a *verbs) explainHost(ctx context.Context, c *cli.Client, host string) error {
	path := "/api/v1/services/" + url.PathEscape(host)
	var e answer.Explanation
	raw, err := c.GetJSON(ctx, path+"/explanation", &e)
	if err != nil || a.JSON {
		return a.PrintJSON(raw, a.explainUnknownHost(ctx, c, host, err))
	}
	style := cli.NewStyle(a.Out)
	listed := "not listed"
	if e.Listed {
		listed = "listed"
	}
	fmt.Fprintf(a.Out, "%s  %s: %s\n", style.Bold(format.Visible(e.Host)), listed, e.Why)
	if l, found := fetch.FindLookalike(e.Host); found {
		fmt.Fprintf(a.Out, "The name %s. Check that it is the host you mean.\n", l)
	}
	fmt.Fprintln(a.Out)
	for _, state := range e.States {
		a.printState(state)
	}
	if e.LastVisit != nil {
		a.printLastVisit(*e.LastVisit)
	}
	now := a.Environment.Now()
	a.printHistory(e.History)
	fmt.Fprintf(a.Out, "\nLinks: named by %s, names %s\n", cli.Plural(e.Links.TotalIn, "host"), cli.Plural(e.Links.TotalOut, "host"))
	for _, from := range e.Links.In[:min(len(e.Links.In), 10)] {
		fmt.Fprintf(a.Out, "  named by %s\n", format.Visible(from))
	}
	fmt.Fprintln(a.Out, "\nA visit that anyone requests would:")
	a.printPreview(now, e.Recheck)
	a.printOwnerPreview(now, e.Recheck, e.OwnerRecheck)
	if !e.Due.IsZero() {
		fmt.Fprintf(a.Out, "\nThe next visit is due %s.\n", cli.FormatWait(now, e.Due))
	}
	if e.Page != "" {
		fmt.Fprintf(a.Out, "\nFor the owner: a badge and the form that stops the visits are at %s\n", format.Visible(e.Page))
	}
	again := a.FormatCommand("crawl --again " + e.Host)
	if !e.Recheck.NotBefore.After(now) {
		again += "    # visits it now"
	}
	a.PrintNextSteps("More:", again, a.FormatCommand("crawl-log "+e.Host))
	return nil
}

// printHistory writes the last thirty days as one character each, and the last changes.
func (a *verbs) printHistory(h answer.HostHistory) {
	if h.Begins.IsZero() {
		fmt.Fprintln(a.Out, "\nThe history of its states begins with the next visit.")
		return
	}
	marks := map[string]string{"good": "+", "flawed": "~", "bad": "!", "changing": "?", "empty": ".", "unknown": " "}
	var strip strings.Builder
	for _, d := range h.Days {
		strip.WriteString(marks[d.Mark()])
	}
	fmt.Fprintf(a.Out, "\nThe last 30 days (since %s; + good, ~ flawed, ! bad, ? flapping, . nothing published):\n  [%s]\n", h.Begins.UTC().Format(time.DateOnly), strip.String())
	for _, t := range h.Turns[:min(len(h.Turns), 5)] {
		s := t.Standing
		what := fmt.Sprintf("%s; reachable %s, well-formed %s, conformant %s, consistent %s, answers %s", s.Class, s.Reachable, s.WellFormed, s.Conformant, s.Consistent, s.Answers)
		if t.Flapping {
			what = "changes all the time; " + what
		}
		fmt.Fprintf(a.Out, "  %s  %s\n", t.Time().UTC().Format(time.DateTime), what)
	}
}

// printPreview writes the requests that a visit would make.
func (a *verbs) printPreview(now time.Time, p crawler.Preview) {
	if p.NotBefore.After(now) {
		fmt.Fprintf(a.Out, "  be possible %s\n", cli.FormatWait(now, p.NotBefore))
	}
	a.printSteps(p.Steps)
}

// printOwnerPreview writes how a visit that the owner requests differs from one that anyone
// requests.
func (a *verbs) printOwnerPreview(now time.Time, anyone, owner crawler.Preview) {
	differ := slices.DeleteFunc(slices.Clone(owner.Steps), func(s crawler.PreviewStep) bool { return slices.Contains(anyone.Steps, s) })
	sameTime := owner.NotBefore.Equal(anyone.NotBefore)
	if len(differ) == 0 && sameTime {
		fmt.Fprintln(a.Out, "\nA visit that the owner requests, with a signature, would do the same.")
		return
	}
	fmt.Fprintln(a.Out, "\nA visit that the owner requests, with a signature, ignores earlier answers. It would do the same, except:")
	switch {
	case owner.NotBefore.After(now):
		fmt.Fprintf(a.Out, "  be possible %s\n", cli.FormatWait(now, owner.NotBefore))
	case !sameTime:
		fmt.Fprintln(a.Out, "  be possible now")
	}
	a.printSteps(differ)
}

// printSteps writes the requests of a visit that was not made yet, one per line.
func (a *verbs) printSteps(steps []crawler.PreviewStep) {
	for _, s := range steps {
		verb := "ask for"
		if !s.Asked {
			verb = "not ask for"
		}
		fmt.Fprintf(a.Out, "  %s %s: %s\n", verb, format.Visible(s.URL), s.Why)
	}
}

// printState writes a state, with the evidence if it is a failure.
func (a *verbs) printState(s conformance.State) {
	text := string(s.Verdict)
	switch {
	case s.Verdict == conformance.Unknown:
		text = "nothing to judge by"
	case s.Level > 0:
		text += ", level " + strconv.Itoa(s.Level)
	}
	fmt.Fprintf(a.Out, "  %-12s %s\n", s.Name, text)
	for _, e := range s.Evidence {
		where := e.Kind
		if e.Line > 0 {
			where += fmt.Sprintf(" %d:%d", e.Line, e.Column)
		}
		fmt.Fprintf(a.Out, "    %s\n", format.Visible(strings.TrimSpace(where+"  "+strings.TrimSpace(e.Code+" "+e.Text))))
		if e.Help != "" {
			fmt.Fprintf(a.Out, "      help: %s\n", format.Visible(e.Help))
		}
	}
}

// printLastVisit writes the requests of a visit, one per line.
func (a *verbs) printLastVisit(v crawler.CrawlLogEntry) {
	fmt.Fprintf(a.Out, "\nThe last visit, %s: %s\n", v.At.UTC().Format(time.DateTime), format.Visible(v.Why))
	for _, r := range v.Requests {
		status := "no answer"
		if r.Status > 0 {
			status = strconv.Itoa(r.Status)
		}
		fmt.Fprintf(a.Out, "  %-9s  %s  %s\n", status, format.Visible(r.URL), format.Visible(r.Why))
	}
}
