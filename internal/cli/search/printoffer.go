package search

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/internal/cli"
	"gazetteer/join"
	"gazetteer/lint/format"
	"gazetteer/registry/evidence"
)

// printOffers prints a page of offers; joined says that only operations with an agent were asked for.
func (a *verbs) printOffers(page api.OrchestratePage, view viewFlags, joined bool) {
	now := a.Environment.Now()
	var reasons []string // why operations have no agent
	var rows []row
	for _, o := range page.Operations {
		if view.long {
			a.printOffer(o, now)
			continue
		}
		rows = append(rows, offerRows(o)...)
		if o.None != "" && !slices.Contains(reasons, o.None) {
			reasons = append(reasons, o.None)
		}
	}
	a.printRows(rows)
	for _, reason := range reasons {
		fmt.Fprintf(a.Out, "No agent: %s.\n", format.Visible(reason))
	}
	if len(reasons) > 0 {
		fmt.Fprintln(a.Out, "--long shows how such an operation is called; --joined leaves it out.")
	}
	switch n := len(page.Operations); {
	case n > 0:
		total := page.Total
		if joined || page.Passed > 0 {
			total = unknownTotal // that of page counts operations without such an agent, and more than the three of a service
		}
		view.printPosition(a, n, total, page.Next != "")
	case page.Passed > 0:
		fmt.Fprintf(a.Out, "Of %s examined, none has such an agent: leave out --join, --joined and --require to see them.\n", cli.Plural(page.Passed, "operation"))
	case page.Total > 0:
		fmt.Fprintf(a.Out, "%s, but none with such an agent.\n", cli.Plural(page.Total, "operation"))
	default:
		fmt.Fprintln(a.Out, "Nobody offers that.")
	}
	a.printBehind(page.Behind)
	for _, c := range page.Concerns {
		fmt.Fprintf(a.Out, "Take care with %s: %s (%s)\n", format.Visible(c.Namespace), format.Visible(c.Message), format.Visible(strings.Join(append(c.Hosts, c.Names...), ", ")))
	}
	if len(page.Operations) == 0 && page.Passed > 0 {
		return // the note says the same again
	}
	if page.Passed > 0 {
		fmt.Fprintf(a.Out, "left out: %s without such an agent\n", cli.Plural(page.Passed, "operation"))
	}
	if page.Note != "" {
		fmt.Fprintln(a.Out, format.Visible(formatNote(page.Note)))
	}
}

// offerRows returns one row for an operation, and one row for each of its agents.
func offerRows(o answer.ServedOperation) []row {
	rows := []row{hitRow(o.Hit.Hit, cautions(o.Freshness, o.Caution))}
	for _, agent := range o.Agents {
		inbox := cmp.Or(agent.Inbox, "no inbox")
		rows = append(rows, row{name: "  " + string(agent.Strength) + "  " + formatAgent(agent), text: inbox, part: true})
	}
	if o.None != "" {
		rows = append(rows, row{name: "  no agent", part: true})
	}
	return rows
}

// printOffer writes an operation in the format of a search, with the agents that serve it.
func (a *verbs) printOffer(o answer.ServedOperation, now time.Time) {
	printHitLines(a, o.Hit.Hit, now, cautions(o.Freshness, o.Caution)...)
	line := a.printDetail
	for _, agent := range o.Agents {
		line("agent", formatAgent(agent))
		line("joined", string(agent.Strength)+": "+agent.Says)
		for _, l := range agent.Links {
			line("", "    "+formatLink(l, now))
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
		line("shown", formatEvidence(agent.Evidence))
	}
	if o.More > 0 {
		line("more", cli.Plural(o.More, "agent")+" that only claim it or rank lower")
	}
	if o.None != "" {
		line("agent", "none: "+o.None)
	}
	for _, l := range o.Omitted {
		line("left out", l.DID+": "+l.Why)
	}
	fmt.Fprintln(a.Out)
}

// formatAgent returns the AIR ID or the DID of an agent, its handle, and its own name in quotes.
func formatAgent(a join.ServingAgent) string {
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

// linkNames describes the kinds of links between an agent and an operation.
var linkNames = map[string]string{
	evidence.AssociationDomain:   "domain",
	evidence.AssociationParent:   "domain above",
	evidence.AssociationCreator:  "DID of its creator",
	evidence.AssociationEndpoint: "endpoint",
	evidence.AssociationClaim:    "claim",
	join.LinkDocument:            "document",
	join.LinkDIDHost:             "DID on the host",
}

// formatLink describes one link: its kind, the place to check it, and the time of the last check.
func formatLink(l join.Link, now time.Time) string {
	text := linkNames[l.By] + " " + l.What
	if l.Source != "" {
		text += ", see " + l.Source
	}
	if !l.Date.IsZero() {
		text += ", " + cli.FormatAge(now, l.Date)
	}
	return text
}

// formatEvidence lists the valid evidence of an agent with its grade.
func formatEvidence(signals []evidence.Signal) string {
	var held []string
	for _, s := range signals {
		if s.Holds {
			held = append(held, s.Grade+" "+s.Signal)
		}
	}
	if len(held) == 0 {
		return "only its own statements"
	}
	return strings.Join(held, ", ")
}
