package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api"
	"gazetteer/registry"
)

// registryCommand is how the operator looks after the registry.
func (a *app) registryCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "registry",
		Short: "Look after the registry: who gets in, who is blocked, what is reported",
		Long: `What the operator of a registry does, on the machine that it runs on: the verbs
talk to the socket in the data directory, which only its owner can open.

  gazetteer registry                        how it stands, and what waits for you
  gazetteer registry door approval          look at new agents before they are taken
  gazetteer registry approve AIR-…          make an agent of a registration that waits
  gazetteer registry ban network 192.0.2.0/24
  gazetteer registry reports                what others say against agents
  gazetteer registry suspend AIR-… --reason "sends junk"`,
		Args: onlyVerbs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.askOperator(c.Context(), func(server *client) error { return a.registryStanding(c.Context(), server) })
		},
	}
	c.AddCommand(a.registryDoorCommand(), a.registryApplicationsCommand(), a.registryApproveCommand(), a.registryRefuseCommand())
	c.AddCommand(a.registryBanCommand(), a.registryBansCommand(), a.registryLiftCommand(), a.registryReportsCommand(), a.registrySettleCommand())
	c.AddCommand(a.registrySuspendCommand(), a.registryRestoreCommand(), a.registryDeleteCommand(), a.registryEraseCommand())
	c.AddCommand(a.registryMergeCommand(), a.registryExportCommand(), a.registryImportCommand(), a.registryCosignCommand())
	return c
}

// askOperator is ask for the operator's verbs.
func (a *app) askOperator(ctx context.Context, use func(*client) error) error {
	err := a.askAgents(ctx, use)
	if a.server != "" && (refusedWith(err, http.StatusNotFound) || refusedWith(err, http.StatusUnauthorized)) {
		var refused *refusedError
		if errors.As(err, &refused) && refused.code != "no-agent" && refused.code != "no-part" {
			return usagef("%s does not take what only the operator may ask: run this on the machine of the registry, without --server, or name the address of admin_listen", a.server)
		}
	}
	return err
}

const operatorRoot = "/admin/registry"

// operate sends one of the operator's requests, and decodes the answer into v.
// With --json the answer is written as it came, and done is true.
func (a *app) operate(ctx context.Context, server *client, method, path string, body, v any) (done bool, err error) {
	raw, err := server.write(ctx, method, path, body, nil, v)
	if err != nil || !a.json {
		return false, err
	}
	return true, writeJSONText(a.out, raw)
}

// operatorAgent is the path of what the operator does with an agent.
func operatorAgent(airID, below string) string {
	return "/admin/agents/" + url.PathEscape(airID) + below
}

func (a *app) registryStanding(ctx context.Context, server *client) error {
	var v api.RegistryStatus
	if done, err := a.operate(ctx, server, http.MethodGet, operatorRoot, nil, &v); done || err != nil {
		return err
	}
	a.printDoor(v.Admission)
	waiting := plural(v.Waiting, "registration")
	if v.Waiting == registry.MaxList {
		waiting += " or more"
	}
	a.field("waiting", waiting)
	reports := plural(v.Reports.Open, "report") + " open"
	if v.Reports.Open > 0 {
		reports += fmt.Sprintf(", %d overdue, the oldest is %s old", v.Reports.Overdue, span(time.Duration(v.Reports.OldestHour)*time.Hour))
	}
	a.field("reports", reports)
	switch {
	case v.Reports.Open > 0:
		a.next("Look at them:", a.command("registry reports"))
	case v.Waiting > 0:
		a.next("Look at them:", a.command("registry applications"))
	}
	return nil
}

func (a *app) printDoor(d registry.PolicyState) {
	now := time.Now()
	words := map[string]string{
		registry.ModeOpen: "open: new agents are taken at once", registry.ModeApproval: "approval: new agents wait until you approve them",
		registry.ModeClosed: "closed: no new agents are taken",
	}
	a.field("door", words[d.Mode])
	switch {
	case !d.SelfClosed.IsZero():
		a.field("", "it closed itself "+ago(now, d.SelfClosed)+", for nobody looked after it; open it with: "+a.command("registry door open"))
	case !d.Closes.IsZero():
		a.field("", "it closes itself "+until(now, d.Closes)+" if nobody looks after it")
	}
	if !d.Since.IsZero() {
		a.field("set", ago(now, d.Since))
	}
	a.field("note", d.Note)
}

func (a *app) registryDoorCommand() *cobra.Command {
	note := ""
	c := &cobra.Command{
		Use:   "door [open|approval|closed]",
		Short: "Show or set how new agents are taken",
		Long: `Door says how new agents are taken: open (at once), approval (after you have
looked at them), or closed (not at all). It holds until you set something else,
over restarts. The note is told to everybody who is not taken at once: put an
address there. An open door that nobody looks after closes itself to approval
after a week.

  gazetteer registry door approval --note "write to door@registry.example"`,
		Args: atMost(1, "one mode"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.askOperator(c.Context(), func(server *client) error {
				if len(args) == 0 {
					if note != "" {
						return usagef("--note is told along with a mode: gazetteer registry door approval --note …")
					}
					var v api.RegistryStatus
					if done, err := a.operate(c.Context(), server, http.MethodGet, operatorRoot, nil, &v); done || err != nil {
						return err
					}
					a.printDoor(v.Admission)
					return nil
				}
				var d registry.PolicyState
				if done, err := a.operate(c.Context(), server, http.MethodPut, operatorRoot+"/door", map[string]string{"mode": args[0], "note": note}, &d); done || err != nil {
					return err
				}
				a.printDoor(d)
				return nil
			})
		},
	}
	c.Flags().StringVar(&note, "note", "", "told to those who are not taken at once")
	return c
}

func (a *app) registryCosignCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cosign",
		Short: "Ask the witnesses to cosign the transparency log now",
		Long: `Cosign asks the witnesses of registry.witnesses to cosign the newest tree of the
transparency log, which happens by itself once an hour. A witness that knows a
longer tree, or another of the same length, refuses: then an older copy of the log
was put back.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.askOperator(c.Context(), func(server *client) error {
				var v api.AnchorAnswer
				if done, err := a.operate(c.Context(), server, http.MethodPost, "/api/v1/admin/cron/publish-anchor", nil, &v); done || err != nil {
					return err
				}
				if v.Anchor == nil {
					return notFoundf("the log has no entries yet: there is nothing to cosign")
				}
				a.field("cosigned", plural(int(v.Anchor.EntryCount), "leaf")+" by "+v.Anchor.Witness+" at "+v.Anchor.AnchoredAt)
				a.field("root", v.Anchor.TipHash)
				return nil
			})
		},
	}
}

// eachPage asks for the pages of a list, until one has no next.
func (a *app) eachPage(path string, query url.Values, page func(path string) (next string, err error)) error {
	for {
		next, err := page(path + "?" + query.Encode())
		if next == "" || err != nil {
			return err
		}
		query.Set("after", next)
	}
}

func (a *app) registryApplicationsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "applications",
		Short: "List the registrations that wait for your approval",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.askOperator(c.Context(), func(server *client) error { return a.registryApplications(c.Context(), server) })
		},
	}
}

func (a *app) registryApplications(ctx context.Context, server *client) error {
	all := []api.ApplicationView{}
	err := a.eachPage(operatorRoot+"/applications", url.Values{}, func(path string) (string, error) {
		var list api.ApplicationList
		_, err := server.write(ctx, http.MethodGet, path, nil, nil, &list)
		all = append(all, list.Applications...)
		return list.Next, err
	})
	if err != nil || a.json {
		return errors.Join(err, a.jsonOf(err, all))
	}
	now := time.Now()
	for _, w := range all {
		a.field("agent", w.Agent.AirID+"  "+w.Agent.Name)
		a.field("says", w.Agent.Description)
		a.field("creator", creatorText(w.Agent.Creator))
		if w.Proof != "" {
			a.field("key", "proved by "+w.Proof)
		} else {
			a.field("key", "possession is only claimed")
		}
		a.field("asked", ago(now, w.Asked)+", from "+orElse(w.Network, "this machine")+", runs out "+until(now, w.Expires))
		fmt.Fprintln(a.out)
	}
	fmt.Fprintf(a.out, "%s waiting\n", plural(len(all), "registration"))
	if len(all) > 0 {
		a.next("Take one, or refuse it:", a.command("registry approve "+all[0].Agent.AirID), a.command("registry refuse "+all[0].Agent.AirID+" --reason …"))
	}
	return nil
}

// jsonOf writes v unless something failed.
func (a *app) jsonOf(failed error, v any) error {
	if failed != nil {
		return nil
	}
	return writeJSON(a.out, v)
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func creatorText(v registry.CreatorView) string {
	text := v.DID
	if v.Name != "" {
		text = v.Name + ", " + text
	}
	return text
}

func (a *app) registryApproveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "approve AIR-ID",
		Short: "Make an agent of a registration that waits",
		Args:  exactly(1, "the AIR ID of a registration"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.askOperator(c.Context(), func(server *client) error {
				return a.operateAgent(c.Context(), server, http.MethodPost, operatorRoot+"/applications/"+url.PathEscape(args[0])+"/approve", nil)
			})
		},
	}
}

// operateAgent sends what is done with an agent and tells how it stands then.
func (a *app) operateAgent(ctx context.Context, server *client, method, path string, body any) error {
	var v api.AgentStatusAnswer
	if done, err := a.operate(ctx, server, method, path, body, &v); done || err != nil {
		return err
	}
	a.field("agent", v.AirID)
	a.field("status", v.Status)
	a.field("", v.Message)
	return nil
}

func (a *app) registryRefuseCommand() *cobra.Command {
	reason := ""
	c := &cobra.Command{
		Use:   "refuse AIR-ID",
		Short: "Refuse a registration that waits",
		Long: `Refuse ends a registration that waits. The reason is shown to whoever asks for its
AIR ID; what was registered is forgotten at once.

  gazetteer registry refuse AIR-7G3K-M9JQ-X2PT --reason "we know of no such company"`,
		Args: exactly(1, "the AIR ID of a registration"),
		RunE: func(c *cobra.Command, args []string) error {
			if reason == "" {
				return usagef("refuse needs --reason, which is shown to whoever has registered")
			}
			return a.askOperator(c.Context(), func(server *client) error {
				var v api.RefusedApplication
				done, err := a.operate(c.Context(), server, http.MethodPost, operatorRoot+"/applications/"+url.PathEscape(args[0])+"/refuse", map[string]string{"reason": reason}, &v)
				if done || err != nil {
					return err
				}
				a.field("refused", v.AirID)
				a.field("reason", v.Reason)
				return nil
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for whoever has registered")
	return c
}
