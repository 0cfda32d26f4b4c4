package operator

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api/air"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/registry"
	"gazetteer/registry/admission"
)

// registryCommand returns the command with which the operator manages the registry.
func (a *verbs) registryCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "registry",
		Short: "Manage the registry: admission, block lists, reports, agents",
		Long: `The commands of the operator of a registry. They run on the registry's machine and
talk to the socket in the data directory, which only its owner can open.

  gazetteer registry                             the state, and what waits for you
  gazetteer registry admission approval          review new agents before they are admitted
  gazetteer registry applications                list the registrations that wait
  gazetteer registry approve AIR-7G3K-M9JQ-X2PT  admit one of them
  gazetteer registry ban network 192.0.2.0/24
  gazetteer registry reports                     list the reports about agents
  gazetteer registry suspend AIR-7G3K-M9JQ-X2PT --reason "sends spam"`,
		Args: cli.RequireVerb,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.withOperator(c.Context(), func(server *cli.Client) error {
				return cli.ShowAnswer(c.Context(), a.App, server, http.MethodGet, operatorRoot, nil, nil, func(v air.RegistryStatus) error {
					a.printStatus(v, readProblems(c.Context(), server))
					return nil
				})
			})
		},
	}
	c.AddCommand(a.admissionCommand(), a.applicationsCommand(), a.approveCommand(), a.refuseCommand())
	c.AddCommand(a.banCommand(), a.bansCommand(), a.unbanCommand(), a.reportsCommand(), a.settleCommand())
	c.AddCommand(a.suspendCommand(), a.restoreCommand(), a.deleteCommand(), a.eraseCommand())
	c.AddCommand(a.mergeCommand(), a.exportCommand(), a.importCommand(), a.cosignCommand(), a.resumeSigningCommand())
	return c
}

// readProblems returns what the server cannot do at the moment, and why: with a full disk it writes
// nothing. A server that answers no such question has none to show.
func readProblems(ctx context.Context, server *cli.Client) []string {
	var ready struct {
		Problems []string `json:"problems"`
	}
	if _, err := server.GetJSON(ctx, "/readyz", &ready); err != nil {
		return nil
	}
	return ready.Problems
}

func (a *verbs) printStatus(v air.RegistryStatus, problems []string) {
	a.printAdmission(v.Admission)
	waiting := cli.Plural(v.Waiting, "registration")
	if v.Waiting == registry.MaxList {
		waiting += " or more"
	}
	a.PrintField("waiting", waiting)
	reports := cli.Plural(v.Reports.Open, "report") + " open"
	if v.Reports.Open > 0 {
		reports += fmt.Sprintf(", %d overdue, the oldest is %s old", v.Reports.Overdue, formatHours(v.Reports.OldestHour))
	}
	a.PrintField("reports", reports)
	if v.Halted != nil {
		a.PrintField("log", v.Halted.String())
	}
	if v.Halted == nil && v.Blocked != "" {
		a.PrintField("log", "cannot sign at the moment, and tries again: "+v.Blocked)
	}
	a.PrintField("erasures", v.Unerased)
	for _, w := range v.Witnesses {
		a.PrintField("witness", formatFailingWitness(a.Environment.Now(), w))
	}
	for _, problem := range problems {
		if v.Halted == nil && v.Blocked == "" || !strings.HasPrefix(problem, "sign: ") { // the line of the log says it
			a.PrintField("problem", problem)
		}
	}
	var steps []string
	if v.Reports.Open > 0 {
		steps = append(steps, a.FormatCommand("registry reports"))
	}
	if v.Waiting > 0 {
		steps = append(steps, a.FormatCommand("registry applications"))
	}
	if len(steps) > 0 {
		a.PrintNextSteps("Look at them:", steps...)
	}
}

// formatHours returns a number of whole hours in words.
func formatHours(hours int) string {
	if hours == 0 {
		return "less than an hour"
	}
	return cli.FormatSpan(time.Duration(hours) * time.Hour)
}

// formatFailingWitness describes a witness that did not cosign, in one line.
func formatFailingWitness(now time.Time, w air.FailingWitness) string {
	last := "it has not cosigned since the start of the server"
	if w.AnsweredAt != nil {
		last = "it cosigned " + cli.FormatAge(now, *w.AnsweredAt) + " for the last time"
	}
	return w.Witness + " does not cosign the log: " + strings.TrimPrefix(w.Problem, "ask the witness "+w.Witness+": ") + "; " + last
}

func (a *verbs) printAdmission(d admission.PolicyState) {
	now := a.Environment.Now()
	words := map[string]string{
		admission.ModeOpen: "open: new agents are admitted at once", admission.ModeApproval: "approval: new agents wait until you approve them",
		admission.ModeClosed: "closed: no new agents are admitted",
	}
	a.PrintField("admission", words[d.Mode])
	switch {
	case !d.SelfClosed.IsZero():
		a.PrintField("", "it was open until "+cli.FormatAge(now, d.SelfClosed)+", when no operator had used the registry for a week; open it with: "+a.FormatCommand("registry admission open"))
	case !d.Closes.IsZero():
		a.PrintField("", "it changes to approval "+cli.FormatWait(now, d.Closes)+" unless an operator uses the registry before then")
	}
	if !d.Since.IsZero() {
		a.PrintField("set", cli.FormatAge(now, d.Since))
	}
	note := d.Note
	if note == "" && d.Mode != admission.ModeOpen {
		note = "none: applicants see no address to write to; --note gives one"
	}
	a.PrintField("note", note)
}

func (a *verbs) admissionCommand() *cobra.Command {
	note := ""
	c := &cobra.Command{
		Use:        "admission [open|approval|closed]",
		SuggestFor: []string{"door"},
		Short:      "Show or set how new agents are admitted",
		Long: `Admission sets how new agents are admitted: open (at once), approval (after your
review), or closed (not at all). It holds until you change it, also after a
restart. Applicants that are not admitted at once see the note: put an address
there. Without --note it stays as it is. An open admission changes to approval
by itself after a week in which no operator used the registry.

  gazetteer registry admission approval --note "write to admin@registry.example"`,
		Args: cli.MaxArgs(1, "one mode"),
		RunE: func(c *cobra.Command, args []string) error {
			show := func(d admission.PolicyState) error {
				a.printAdmission(d)
				return nil
			}
			newNote := c.Flags().Changed("note")
			if len(args) > 0 {
				return a.withOperator(c.Context(), func(server *cli.Client) error {
					if !newNote {
						var v air.RegistryStatus
						if _, err := server.GetJSON(c.Context(), operatorRoot, &v); err != nil {
							return err
						}
						note = v.Admission.Note
					}
					return cli.ShowAnswer(c.Context(), a.App, server, http.MethodPut, operatorRoot+"/admission", map[string]string{"mode": args[0], "note": note}, nil, show)
				})
			}
			if newNote {
				return exit.Usagef("--note needs a mode: gazetteer registry admission approval --note …")
			}
			return showAnswer(c.Context(), a, http.MethodGet, operatorRoot, nil, func(v air.RegistryStatus) error { return show(v.Admission) })
		},
	}
	c.Flags().StringVar(&note, "note", "", "shown to applicants that are not admitted at once (default: as before)")
	return c
}

func (a *verbs) cosignCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cosign",
		Short: "Ask the witnesses to cosign the transparency log now",
		Long: `Cosign asks the witnesses of registry.witnesses to cosign the newest tree of the
transparency log. The server does the same once an hour. A witness that knows a
longer tree, or another one of the same length, refuses: an older copy of the log
has been restored.`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return showAnswer(c.Context(), a, http.MethodPost, "/api/v1/admin/cron/publish-anchor", nil, func(v air.AnchorAnswer) error {
				if v.Anchor == nil {
					return exit.NotFoundf("the log has no entries yet: there is nothing to cosign")
				}
				a.PrintField("cosigned", cli.Plural(int(v.Anchor.EntryCount), "leaf")+" by "+v.Anchor.Witness+" at "+v.Anchor.AnchoredAt)
				a.PrintField("root", formatRoot(v.Anchor.TipHash))
				return nil
			})
		},
	}
}

// formatRoot returns the root of a tree as checkpoints and log verify write it, in base64. The API has
// it in hexadecimal, as the AIR reference.
func formatRoot(inHex string) string {
	root, err := hex.DecodeString(inHex)
	if err != nil {
		return inHex
	}
	return base64.StdEncoding.EncodeToString(root)
}

func (a *verbs) resumeSigningCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "resume-signing",
		Short: "Resume signing of a halted transparency log",
		Long: `Resume-signing checks every leaf and every hash of the transparency log, its lock
and, if a witness has contradicted it, all witnesses. The log signs again only if
everything is right; it then also signs what was written in the meantime.

A log halts itself when a witness contradicts it, when another process has signed
for it, or when one of its files is damaged. It stays halted across restarts. The
reason and the repair are shown by: gazetteer registry

Exit code 1 if something is still wrong.`,
		Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			err := a.withUnlimitedOperator(c, func(server *cli.Client) error {
				return cli.ShowAnswer(c.Context(), a.App, server, http.MethodPost, operatorRoot+"/log/resume", nil, nil, a.printSigning)
			})
			if cli.IsRefusedWithStatus(err, http.StatusConflict) {
				return exit.NotFoundf("%v", err)
			}
			return err
		},
	}
}

func (a *verbs) printSigning(v air.SigningState) error {
	a.PrintField("log", v.Origin+", "+cli.Plural(int(v.Leaves), "leaf"))
	if !v.Signs {
		a.PrintField("", "it is not halted, but cannot sign at the moment; see the log of the server")
		return nil
	}
	a.PrintField("", "it signs")
	return nil
}

// sortApplications puts the oldest first; the server sorts by AIR ID.
func sortApplications(all []air.ApplicationView) {
	slices.SortStableFunc(all, func(v, w air.ApplicationView) int { return v.Asked.Compare(w.Asked) })
}

func (a *verbs) applicationsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "applications",
		Short: "List the registrations that wait for approval, the oldest first",
		Args:  cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			items := func(list air.ApplicationList) ([]air.ApplicationView, string) { return list.Applications, list.Next }
			return showPages(c.Context(), a, operatorRoot+"/applications", url.Values{}, items, sortApplications, a.printApplications)
		},
	}
}

// printApplications prints the registrations, the one that expires first at the top and the newest
// next to the prompt.
func (a *verbs) printApplications(all []air.ApplicationView) error {
	now := a.Environment.Now()
	for _, w := range all {
		a.PrintField("agent", w.Agent.AirID+"  "+w.Agent.Name)
		a.PrintField("says", w.Agent.Description)
		a.PrintField("can", strings.Join(w.Agent.Capabilities, ", "))
		a.PrintField("creator", formatCreator(w.Agent.Creator))
		a.PrintField("docs", w.Agent.Transparency.DocumentationURL)
		a.PrintField("code", w.Agent.Transparency.CodeRepository)
		if w.Proof != "" {
			a.PrintField("key", "proved by "+w.Proof)
		} else {
			a.PrintField("key", "claimed, not proved")
		}
		a.PrintField("applied", cli.FormatAge(now, w.Asked)+", from "+cmp.Or(w.Network, "this machine")+", expires "+cli.FormatWait(now, w.Expires))
		fmt.Fprintln(a.Out)
	}
	fmt.Fprintf(a.Out, "%s waiting\n", cli.Plural(len(all), "registration"))
	if len(all) > 0 {
		a.PrintNextSteps("Approve one, or refuse it:", a.FormatCommand("registry approve "+all[0].Agent.AirID), a.FormatCommand("registry refuse "+all[0].Agent.AirID+" --reason …"))
	}
	return nil
}

func (a *verbs) approveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "approve AIR-ID…",
		Short: "Admit registrations that wait",
		Args:  airIDArgs(cli.MinArgs(1, "the AIR IDs of registrations")),
		RunE: func(c *cobra.Command, args []string) error {
			for _, id := range args {
				if err := a.changeAgent(c.Context(), operatorRoot+"/applications/"+url.PathEscape(id)+"/approve", nil); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (a *verbs) refuseCommand() *cobra.Command {
	reason := ""
	c := &cobra.Command{
		Use:   "refuse AIR-ID…",
		Short: "Refuse registrations that wait",
		Long: `Refuse ends waiting registrations. Anyone who asks for the AIR ID of one sees the
reason; the registration itself is deleted at once.

  gazetteer registry refuse AIR-7G3K-M9JQ-X2PT --reason "we know of no such company"`,
		Args: airIDArgs(cli.MinArgs(1, "the AIR IDs of registrations")),
		RunE: func(c *cobra.Command, args []string) error {
			if reason == "" {
				return exit.Usagef("refuse needs --reason, which the applicant sees")
			}
			return a.withOperator(c.Context(), func(server *cli.Client) error {
				for _, id := range args {
					err := cli.ShowAnswer(c.Context(), a.App, server, http.MethodPost, operatorRoot+"/applications/"+url.PathEscape(id)+"/refuse", map[string]string{"reason": reason}, nil, func(v air.RefusedApplication) error {
						a.PrintField("refused", v.AirID)
						a.PrintField("reason", v.Reason)
						return nil
					})
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "the reason, which the applicant sees")
	return c
}
