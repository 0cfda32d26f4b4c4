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
	"gazetteer/lint/format"
)

// explainCommand is the verb explain.
func (a *verbs) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain HOST",
		Short: "Tell the owner of a host what was seen there, and why it is listed or not",
		Long: `Explain tells what this crawler saw at a host: whether it is listed and why, the
five states (reachable, well-formed, conformant, consistent, answers) with the
rule and the line behind each that fails, the last visit request by request, and
when the next one is due.

  gazetteer explain www.example.com
  gazetteer --json explain www.example.com

Exit code 1 when the host is not known.`,
		Args: cli.ExactArgs(1, "one HOST"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.WithServer(c.Context(), cli.Read, func(server *cli.Client) error { return a.explainHost(c.Context(), server, args[0]) })
		},
	}
}

// classTexts say in a sentence what a class means for the listing.
var classTexts = map[conformance.Class]string{
	conformance.Publishes:   "listed: it publishes documents for agents",
	conformance.OtherFormat: "not listed: documents of another format stand at the discovery paths",
	conformance.Withheld:    "not listed: its robots.txt does not let this crawler look",
	conformance.CatchAll:    "not listed: it answers every path alike, so nothing can be told from its answers",
	conformance.Unreadable:  "not listed: what it serves at the discovery paths is no document",
	conformance.Failing:     "not listed: its discovery paths fail to answer with a document",
	conformance.Nothing:     "not listed: it answers, and publishes no document for agents",
	conformance.Silent:      "not listed: it did not answer at the last visit",
	conformance.Unvisited:   "not listed: no visit has come to its end yet",
}

func (a *verbs) explainHost(ctx context.Context, c *cli.Client, host string) error {
	path := "/api/v1/services/" + url.PathEscape(host)
	var s answer.Service
	raw, err := c.GetJSON(ctx, path, &s)
	if err != nil || a.JSON {
		return a.PrintJSON(raw, err)
	}
	style := cli.NewStyle(a.Out)
	fmt.Fprintf(a.Out, "%s  %s\n\n", style.Bold(format.Visible(s.Host)), classTexts[s.Conformance.Class])
	for _, state := range s.Conformance.States {
		a.printState(state)
	}
	var log struct {
		Visits []crawler.Entry `json:"visits"`
	}
	if _, err := c.GetJSON(ctx, path+"/crawl-log?limit=1", &log); err != nil {
		return err
	}
	for _, visit := range log.Visits {
		a.printLastVisit(visit)
	}
	now := a.Environment.Now()
	if !s.State.Due.IsZero() {
		fmt.Fprintf(a.Out, "\nThe next visit is due %s. After a change anyone may ask for one now, once in 10 minutes:\n", cli.FormatWait(now, s.State.Due))
		fmt.Fprintf(a.Out, "  POST %s/recrawl at the address of the registry\n", path)
	}
	a.PrintNextSteps("More:", a.FormatCommand("validate "+s.Host), a.FormatCommand("crawl-log "+s.Host))
	return nil
}

// printState writes a state, and for one that fails the evidence.
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

// printLastVisit writes the requests of a visit, one a line.
func (a *verbs) printLastVisit(v crawler.Entry) {
	fmt.Fprintf(a.Out, "\nThe last visit, %s: %s\n", v.At.UTC().Format(time.DateTime), format.Visible(v.Why))
	for _, r := range v.Requests {
		status := "no answer"
		if r.Status > 0 {
			status = strconv.Itoa(r.Status)
		}
		fmt.Fprintf(a.Out, "  %-9s  %s  %s\n", status, format.Visible(r.URL), format.Visible(r.Why))
	}
}
