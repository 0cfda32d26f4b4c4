package main

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/join"
	"gazetteer/lint/format"
	"gazetteer/registry"
)

// find is what the verb is asked for.
type find struct {
	verbs, namespaces, classes, hosts, protocols []string
	require, join                                string
	joined                                       bool
	limit                                        int
}

func (a *app) findCommand() *cobra.Command {
	f := &find{limit: 5}
	c := &cobra.Command{
		Use:   "find [WORDS...]",
		Short: "Find who can do something, and the inbox to write to",
		Long: `Find asks as an orchestrator does: it ranks operations as search does, and joins
each with the agents that serve it. By what an agent is joined is said each time:

  proved   the owner of the service's domain names the agent
  mutual   the service names the agent, and the agent names the service
  claimed  only one of them says so

  gazetteer find book a table
  gazetteer find --verb BOOK --protocol negotiate
  gazetteer find book a table --join proved --require domain,inbox
  gazetteer find --class reservation --joined

--require takes evidence that must hold of an agent, with commas between: key, age,
domain, did, inbox, agis, repository, attestations.

Exit code 1 when nothing is found.`,
		RunE: func(c *cobra.Command, words []string) error {
			query := f.query(strings.Join(words, " "))
			if !f.asks(query) {
				return wrongUse(c, "find needs words, or one of --verb, --ns, --class, --host, --protocol")
			}
			return a.ask(c.Context(), false, func(server *client) error { return a.find(c.Context(), server, query) })
		},
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.verbs, "verb", nil, "a verb the operation must bear, for example BOOK")
	flags.StringArrayVar(&f.namespaces, "ns", nil, "a namespace the service must have")
	flags.StringArrayVar(&f.classes, "class", nil, "a data class the service must hold")
	flags.StringArrayVar(&f.hosts, "host", nil, "the host of the service")
	flags.StringArrayVar(&f.protocols, "protocol", nil, "an interaction protocol: request, negotiate, confirm or query")
	flags.StringVar(&f.require, "require", "", "evidence that must hold of an agent, for example domain,inbox")
	flags.StringVar(&f.join, "join", "", "the weakest join that is taken: proved, mutual or claimed (default claimed)")
	flags.BoolVar(&f.joined, "joined", false, "leave out operations that have no agent")
	flags.IntVar(&f.limit, "limit", f.limit, "operations to show, 1 to 100")
	return c
}

// query is the question as the API takes it.
func (f *find) query(words string) url.Values {
	q := url.Values{"limit": {strconv.Itoa(f.limit)}}
	for name, values := range map[string][]string{"verb": f.verbs, "ns": f.namespaces, "class": f.classes, "host": f.hosts, "protocol": f.protocols} {
		if len(values) > 0 {
			q[name] = values
		}
	}
	for name, value := range map[string]string{"q": strings.TrimSpace(words), "require": f.require, "join": f.join} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.joined {
		q.Set("joined", "true")
	}
	return q
}

// asks reports whether a question asks for something.
func (f *find) asks(q url.Values) bool {
	for _, name := range []string{"q", "verb", "ns", "class", "host", "protocol"} {
		if q.Has(name) {
			return true
		}
	}
	return false
}

func (a *app) find(ctx context.Context, c *client, query url.Values) error {
	var page api.OrchestratePage
	raw, err := c.get(ctx, "/api/v1/orchestrate?"+query.Encode(), &page)
	if err != nil {
		return err
	}
	if a.json {
		if err := writeJSONText(a.out, raw); err != nil {
			return err
		}
	} else {
		a.printOffers(page)
	}
	if len(page.Operations) == 0 {
		return errQuiet
	}
	return nil
}

func (a *app) printOffers(page api.OrchestratePage) {
	now := time.Now()
	for _, o := range page.Operations {
		a.printOffer(o, now)
	}
	switch n := len(page.Operations); {
	case n > 0:
		fmt.Fprintf(a.out, "%d of %s\n", n, plural(page.Total, "operation"))
	case page.Total > 0:
		fmt.Fprintf(a.out, "%s, but none with an agent that is wanted.\n", plural(page.Total, "operation"))
	default:
		fmt.Fprintln(a.out, "Nobody offers that.")
	}
	a.printBehind(page.Behind)
	for _, c := range page.Concerns {
		fmt.Fprintf(a.out, "Take care with %s: %s (%s)\n", format.Visible(c.Namespace), format.Visible(c.Message), format.Visible(strings.Join(append(c.Hosts, c.Names...), ", ")))
	}
	if page.Passed > 0 {
		fmt.Fprintf(a.out, "%s without such an agent left out\n", plural(page.Passed, "operation"))
	}
	if page.Note != "" {
		fmt.Fprintln(a.out, format.Visible(sentenceOf(page.Note)))
	}
	if len(page.Near) > 0 {
		fmt.Fprintf(a.out, "Verbs that are offered: %s\n", format.Visible(strings.Join(page.Near, ", ")))
	}
}

// printOffer writes an operation as a search does, and the agents behind it.
func (a *app) printOffer(o answer.ServedOperation, now time.Time) {
	var remarks []remark
	if o.Freshness.Stale {
		remarks = append(remarks, remark{"stale", o.Freshness.Why})
	}
	if o.Caution != "" {
		remarks = append(remarks, remark{"caution", o.Caution})
	}
	printHitLines(a, o.Hit.Hit, now, remarks...)
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(a.out, "  %-8s %s\n", name, format.Visible(text))
		}
	}
	for _, agent := range o.Agents {
		line("agent", agentName(agent))
		line("joined", string(agent.Strength)+": "+agent.Says)
		for _, l := range agent.Links {
			line("", "    "+linkText(l, now))
		}
		switch {
		case agent.Unresolved != "":
			line("inbox", "not known: "+agent.Unresolved)
		case agent.Inbox == "":
			line("inbox", "none: it cannot be written to by A2A")
		default:
			line("inbox", agent.Inbox)
		}
		if agent.Key != nil {
			line("key", agent.Key.PublicKeyMultibase+", "+agent.Key.ID)
		}
		line("shown", evidenceText(agent.Evidence))
	}
	if o.More > 0 {
		line("more", plural(o.More, "agent")+" that only claim it or come behind these")
	}
	if o.None != "" {
		line("agent", "none: "+o.None)
	}
	for _, l := range o.Left {
		line("left out", l.DID+": "+l.Why)
	}
	fmt.Fprintln(a.out)
}

// agentName is what an agent is called, with what it calls itself in quotes.
func agentName(a join.Agent) string {
	text := a.DID
	if a.AirID != "" && !a.UpdatedAt.IsZero() { // this registry's
		text = a.AirID
	}
	if a.Handle != "" {
		text += " @" + a.Handle
	}
	if a.Name != "" {
		text += " " + strconv.Quote(a.Name)
	}
	return text
}

// linkWords say by what an agent is joined.
var linkWords = map[string]string{
	registry.AssociationDomain:   "domain",
	registry.AssociationParent:   "domain above",
	registry.AssociationCreator:  "DID of its creator",
	registry.AssociationEndpoint: "endpoint",
	registry.AssociationClaim:    "claim",
	join.LinkDocument:            "document",
	join.LinkDIDHost:             "DID on the host",
}

// linkText says what one link is, where it can be checked, and when it was seen.
func linkText(l join.Link, now time.Time) string {
	text := linkWords[l.By] + " " + l.What
	if l.Source != "" {
		text += ", see " + l.Source
	}
	if !l.Date.IsZero() {
		text += ", " + ago(now, l.Date)
	}
	return text
}

// evidenceText lists what holds of an agent, with its grade.
func evidenceText(signals []registry.Signal) string {
	var held []string
	for _, s := range signals {
		if s.Holds {
			held = append(held, s.Grade+" "+s.Signal)
		}
	}
	if len(held) == 0 {
		return "nothing beyond what it says itself"
	}
	return strings.Join(held, ", ")
}
