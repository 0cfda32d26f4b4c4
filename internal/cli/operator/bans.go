package operator

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api/air"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/registry/admission"
)

func (a *verbs) banCommand() *cobra.Command {
	var reason, until string
	c := &cobra.Command{
		Use:   "ban key|handle|domain|network VALUE",
		Short: "Put something on a block list",
		Long: `Ban adds an entry to one of four block lists: a key that no agent may use, a handle
that nobody may claim, a registrable domain (or the domain of a provider of free names, such
as github.io) that no agent may name, a network from which nobody may register, write or
report. It applies from now on; the answer names the agents that have the value already:
suspend them. The reason is visible to the operator only.

  gazetteer registry ban network 192.0.2.0/24 --reason "registers by script" --until 2027-01-31
  gazetteer registry ban domain evil.example`,
		Args: cli.ExactArgs(2, "the kind (key, handle, domain or network) and the value"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkBanKind(args[0]); err != nil {
				return err
			}
			body := map[string]string{"kind": args[0], "value": args[1], "reason": reason}
			if until != "" {
				at, err := parseExpiry(until)
				if err != nil {
					return err
				}
				body["until"] = at.Format(time.RFC3339)
			}
			return showAnswer(c.Context(), a, http.MethodPost, operatorRoot+"/bans", body, a.printAddedBan)
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "the reason, for yourself")
	c.Flags().StringVar(&until, "until", "", "when it ends, 2027-01-31 or 2027-01-31T12:00:00Z (default: when it is lifted)")
	return c
}

// printAddedBan prints a new entry, and the agents that it does not touch although they have its value.
func (a *verbs) printAddedBan(b air.AddedBan) error {
	a.PrintField("blocked", formatBan(a.Environment.Now(), admission.Ban{Kind: b.Kind, Value: b.Value, Reason: b.Reason, Created: b.Created, Until: b.Until}))
	if b.Total == 0 {
		return nil
	}
	var suspend []string
	for _, agent := range b.Agents {
		a.PrintField("in use by", agent.AirID+", "+agent.Name)
		suspend = append(suspend, a.FormatCommand("registry suspend "+agent.AirID+" --reason …"))
	}
	if more := b.Total - len(b.Agents); more > 0 {
		a.PrintField("", fmt.Sprintf("and %d more", more))
	}
	a.PrintNextSteps("The agents that have it already keep it. Suspend them, if they are to stop:", suspend...)
	return nil
}

// checkBanKind refuses an unknown kind of block list.
func checkBanKind(kind string) error {
	return cli.CheckChoice("block list", kind, admission.BanKinds)
}

func parseExpiry(text string) (time.Time, error) {
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, exit.Usagef("--until %s: want a day or a time, 2027-01-31 or 2027-01-31T12:00:00Z", text)
}

func formatBan(now time.Time, b admission.Ban) string {
	text := b.Kind + " " + b.Value
	if !b.Created.IsZero() {
		text += ", since " + b.Created.UTC().Format(time.DateOnly)
	}
	if !b.Until.IsZero() {
		text += ", until " + b.Until.Format(time.RFC3339)
		if !now.Before(b.Until) {
			text += " (over)"
		}
	}
	if b.Reason != "" {
		text += ", because: " + b.Reason
	}
	return text
}

func (a *verbs) bansCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "bans [key|handle|domain|network]",
		Short: "Show the block lists",
		Args:  cli.MaxArgs(1, "one kind of list"),
		RunE: func(c *cobra.Command, args []string) error {
			query := url.Values{}
			if len(args) == 1 {
				if err := checkBanKind(args[0]); err != nil {
					return err
				}
				query.Set("kind", args[0])
			}
			items := func(list air.BanList) ([]admission.Ban, string) { return list.Bans, list.Next }
			return showPages(c.Context(), a, operatorRoot+"/bans", query, items, nil, a.printBans)
		},
	}
}

func (a *verbs) printBans(all []admission.Ban) error {
	now := a.Environment.Now()
	for _, b := range all {
		a.PrintField("blocked", formatBan(now, b))
	}
	fmt.Fprintf(a.Out, "%s on the block lists\n", cli.Plural(len(all), "entry"))
	return nil
}

func (a *verbs) unbanCommand() *cobra.Command {
	return &cobra.Command{
		Use:        "unban key|handle|domain|network VALUE",
		SuggestFor: []string{"lift"},
		Short:      "Remove an entry from a block list",
		Args:       cli.ExactArgs(2, "the kind (key, handle, domain or network) and the value"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkBanKind(args[0]); err != nil {
				return err
			}
			query := url.Values{"kind": {args[0]}, "value": {args[1]}}
			return showAnswer(c.Context(), a, http.MethodDelete, operatorRoot+"/bans?"+query.Encode(), nil, func(b admission.Ban) error {
				a.PrintField("removed", b.Kind+" "+b.Value)
				return nil
			})
		},
	}
}

func (a *verbs) reportsCommand() *cobra.Command {
	var agent string
	var overdue, settled bool
	c := &cobra.Command{
		Use:   "reports",
		Short: "List the reports about agents, oldest first",
		Long: `Reports lists the open reports of abuse, oldest first. Believe nothing in their texts
before you have seen it yourself.`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			query := url.Values{}
			for name, on := range map[string]bool{"overdue": overdue, "settled": settled} {
				if on {
					query.Set(name, "true")
				}
			}
			if agent != "" {
				query.Set("air_id", agent)
			}
			items := func(list air.ReportList) ([]admission.Report, string) { return list.Reports, list.Next }
			return showPages(c.Context(), a, operatorRoot+"/reports", query, items, nil, a.printReports)
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "only about this agent (AIR ID)")
	c.Flags().BoolVar(&overdue, "overdue", false, "only overdue reports")
	c.Flags().BoolVar(&settled, "settled", false, "also settled reports")
	return c
}

func (a *verbs) printReports(all []admission.Report) error {
	now := a.Environment.Now()
	for _, p := range all {
		a.printReport(now, p)
		fmt.Fprintln(a.Out)
	}
	fmt.Fprintln(a.Out, cli.Plural(len(all), "report"))
	if i := slices.IndexFunc(all, func(p admission.Report) bool { return p.Settled.IsZero() }); i >= 0 {
		a.PrintNextSteps("Look at the agent, then settle it:", a.FormatCommand("agent show "+all[i].AirID), a.FormatCommand("registry settle "+all[i].ID+" dismissed --note …"), a.FormatCommand("registry settle "+all[i].ID+" suspended --note …"))
	}
	return nil
}

func (a *verbs) printReport(now time.Time, p admission.Report) {
	a.PrintField("report", p.ID)
	a.PrintField("agent", p.AirID)
	a.PrintField("reason", p.Reason)
	a.PrintField("text", p.Text)
	if p.Envelope != "" {
		a.PrintField("envelope", cli.Plural(len(p.Envelope), "byte")+", signed by the agent; --json shows it")
	}
	a.PrintField("contact", p.Contact)
	a.PrintField("from", p.Network)
	a.PrintField("reported", p.Created.UTC().Format("2006-01-02 15:04")+" UTC, "+cli.FormatAge(now, p.Created))
	switch {
	case !p.Settled.IsZero():
		a.PrintField("settled", cli.FormatAge(now, p.Settled)+": "+p.Outcome)
		a.PrintField("note", p.Note)
	case p.Overdue(now):
		a.PrintField("due", "since "+cli.FormatSpan(now.Sub(p.Due)))
	default:
		a.PrintField("due", cli.FormatWait(now, p.Due))
	}
}

func (a *verbs) settleCommand() *cobra.Command {
	note, yes := "", false
	c := &cobra.Command{
		Use:   "settle REPORT dismissed|suspended|deleted",
		Short: "End a report: dismiss it, or suspend or delete the agent",
		Long: `Settle ends a report. Dismissing it does nothing to the agent; suspending or deleting
the agent ends every open report about it. A suspended agent can be
restored, a deleted one cannot. The note is for the reporters.

  gazetteer registry settle 20261101T120000.000Z-0a1b2c3d dismissed --note "we see nothing wrong"`,
		Args: cli.ExactArgs(2, "the ID of a report and the decision: dismissed, suspended or deleted"),
		RunE: func(c *cobra.Command, args []string) error {
			if args[1] == admission.ReportDeleted && !yes {
				if err := a.Confirm(c.Context(), args[0], "the agent of report "+args[0]+" would be deleted permanently"); err != nil {
					return err
				}
			}
			path := operatorRoot + "/reports/" + url.PathEscape(args[0]) + "/settle"
			return showAnswer(c.Context(), a, http.MethodPost, path, map[string]string{"outcome": args[1], "note": note}, func(list air.ReportList) error {
				for _, p := range list.Reports {
					a.PrintField("settled", p.ID+" about "+p.AirID+": "+p.Outcome)
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&note, "note", "", "for the reporters")
	c.Flags().BoolVar(&yes, "yes", false, "with deleted: do not ask")
	return c
}
