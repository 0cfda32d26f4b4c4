package search

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api/answer"
	"gazetteer/conformance"
	"gazetteer/crawler"
	"gazetteer/internal/cli"
	"gazetteer/internal/lookalike"
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
	if l, found := lookalike.FindHost(e.Host); found {
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
	a.printPreviews(now, e)
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

// printPreviews writes when the next visit is due, and which addresses a visit would leave out that
// anyone, or the owner, requests. It requests all others.
func (a *verbs) printPreviews(now time.Time, e answer.Explanation) {
	if e.Due.IsZero() {
		fmt.Fprintln(a.Out, "\nNo visit is due.")
	} else {
		fmt.Fprintf(a.Out, "\nThe next visit is due %s.\n", cli.FormatWait(now, e.Due))
	}
	a.printPreview(now, "anyone can request one", e.Recheck)
	a.printPreview(now, "the owner can request one, with a signature,", e.OwnerRecheck)
}

// printPreview writes when somebody can request a visit, and the addresses that it would leave out.
func (a *verbs) printPreview(now time.Time, who string, p crawler.Preview) {
	when := "now"
	if p.NotBefore.After(now) {
		when = cli.FormatWait(now, p.NotBefore)
	}
	var omitted []crawler.PreviewStep
	for _, s := range p.Steps {
		if !s.Asked {
			omitted = append(omitted, s)
		}
	}
	switch {
	case len(omitted) == 0 && len(p.Steps) > 0:
		fmt.Fprintf(a.Out, "  %s %s; it asks for everything\n", who, when)
	case len(p.Steps) == 0:
		fmt.Fprintf(a.Out, "  %s %s\n", who, when)
	default:
		fmt.Fprintf(a.Out, "  %s %s; it does not ask for\n", who, when)
	}
	for _, s := range omitted {
		fmt.Fprintf(a.Out, "    %s: %s\n", format.Visible(s.URL), s.Why)
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
