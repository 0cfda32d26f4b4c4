package search

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gazetteer/api"
	"gazetteer/api/air"
	"gazetteer/api/answer"
	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/index/entry"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/nearest"
	"gazetteer/join"
	"gazetteer/lint/format"
	"gazetteer/protocol"
)

// fetchPage requests a page of a list by following the cursors from the first page, and decodes it
// into v; raw is the unchanged answer. It returns an error if the list has fewer pages.
func fetchPage[T any](ctx context.Context, c *cli.Client, path string, query url.Values, page int, v *T) (raw []byte, err error) {
	for n := 1; ; n++ {
		*v = *new(T)
		if raw, err = c.GetJSON(ctx, path+"?"+query.Encode(), v); err != nil || n == page {
			return raw, err
		}
		var next struct {
			Next string `json:"next"`
		}
		if json.Unmarshal(raw, &next) != nil || next.Next == "" {
			return nil, noPageError(page, n)
		}
		query.Set("cursor", next.Next)
	}
}

func noPageError(page, pages int) error {
	return exit.NotFoundf("page %d does not exist: the list has %s", page, cli.Plural(pages, "page"))
}

// listCommand returns a command that shows one page of a list.
func (a *verbs) listCommand(use, short, what string, list func(ctx context.Context, c *cli.Client, view viewFlags) error) *cobra.Command {
	view := viewFlags{limit: 20}
	c := &cobra.Command{
		Use: use, Short: short, Args: cli.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := view.checkValues(); err != nil {
				return err
			}
			return a.WithServer(c.Context(), cli.Read, func(server *cli.Client) error { return list(c.Context(), server, view) })
		},
	}
	view.addTo(c.Flags(), what)
	return c
}

// servicesCommand returns the command services.
func (a *verbs) servicesCommand() *cobra.Command {
	var states []string
	var words, category string
	command := a.listCommand("services [WORDS]", "List the known services, those of one domain together", "services", func(ctx context.Context, c *cli.Client, view viewFlags) error {
		var page api.ServiceList
		query := url.Values{"limit": {strconv.Itoa(view.limit)}, "is": states}
		if words != "" {
			query.Set("q", words)
		}
		if category != "" {
			query.Set("category", category)
		}
		raw, err := fetchPage(ctx, c, "/api/v1/services", query, view.page, &page)
		if err != nil {
			return err
		}
		if len(page.Services) == 0 && category != "" {
			if question := nearest.Question(category, listNames(ctx, c, "services", "categories")); question != "" {
				fmt.Fprintf(a.notes(), "category %s: %s\n", format.Visible(category), format.Visible(question))
			}
		}
		if a.JSON {
			return a.printJSONList(raw, len(page.Services))
		}
		var rows []row
		for _, s := range page.Services {
			entry := row{name: s.Host, place: cli.Plural(s.Operations, "operation"), text: s.Name}
			if !view.long {
				rows = append(rows, entry)
			} else {
				a.printRows([]row{entry})
				a.printDetail("does", s.Description)
				a.printDetail("domain", s.Domain)
				a.printDetail("in", strings.Join(s.Categories, ", "))
				a.printDetail("fetched", cli.FormatAge(a.Environment.Now(), s.FetchedAt))
			}
		}
		a.printRows(rows)
		filtered := words != "" || category != "" || len(states) > 0
		err = a.endList(len(page.Services), totalOfServices(page, view), page.Next != "", view, "service", filtered)
		if len(page.Services) == 0 && !filtered {
			fmt.Fprintf(a.Out, "To add a host: %s\n", a.describeAdding(c, "example.com"))
		}
		return err
	})
	command.Long = `Services lists the hosts that publish documents for agents. Hosts of one domain stand
together: lunch.acme.example and mail.acme.example are both at acme. WORDS select the
services that have all of them in their host or name.

  gazetteer services acme
  gazetteer services --category finance --limit 100`
	command.Args = func(_ *cobra.Command, args []string) error {
		words = strings.Join(args, " ")
		return nil
	}
	command.Flags().StringVar(&category, "category", "", "category that the service names, such as finance")
	command.Flags().StringSliceVar(&states, "is", nil, "required states of the host: reachable, well-formed, conformant, consistent, answers; with a minus sign, excluded ones")
	return command
}

// totalOfServices returns the total of a page, or [unknownTotal] if the server does not know it or
// counted before it added the last services of the page.
func totalOfServices(page api.ServiceList, view viewFlags) int {
	if page.Total < (view.page-1)*view.limit+len(page.Services) {
		return unknownTotal
	}
	return page.Total
}

// verbsCommand returns the command verbs.
func (a *verbs) verbsCommand() *cobra.Command {
	command := a.listCommand("verbs", "List the verbs that services offer, in order", "verbs", func(ctx context.Context, c *cli.Client, view viewFlags) error {
		var page struct {
			Verbs []index.VerbCount `json:"verbs"`
			Total int               `json:"total"`
			Next  string            `json:"next"`
		}
		raw, err := fetchPage(ctx, c, "/api/v1/verbs", url.Values{"limit": {strconv.Itoa(view.limit)}}, view.page, &page)
		if err != nil {
			return err
		}
		if a.JSON {
			return a.printJSONList(raw, len(page.Verbs))
		}
		var rows []row
		for _, v := range page.Verbs {
			rows = append(rows, row{name: v.Verb, place: cli.Plural(v.Operations, "operation"), text: cli.Plural(v.Services, "service")})
		}
		a.printRows(rows)
		return a.endList(len(page.Verbs), page.Total, page.Next != "", view, "verb", false)
	})
	command.Flags().Lookup("long").Hidden = true // a verb has no details
	return command
}

// agentsCommand returns the command agents.
func (a *verbs) agentsCommand() *cobra.Command {
	var words string
	command := a.listCommand("agents [WORDS]", "List the agents of the registry, those with the most evidence first", "agents", func(ctx context.Context, c *cli.Client, view viewFlags) error {
		var page air.AgentList
		query := url.Values{"limit": {strconv.Itoa(view.limit)}, "offset": {strconv.Itoa((view.page - 1) * view.limit)}}
		if words != "" {
			query.Set("q", words)
		}
		raw, err := c.GetJSON(ctx, "/api/v1/agents?"+query.Encode(), &page)
		if err != nil {
			return err
		}
		if len(page.Agents) == 0 && view.page > 1 {
			return noPageError(view.page, max(1, (page.Total+view.limit-1)/view.limit))
		}
		if a.JSON {
			return a.printJSONList(raw, len(page.Agents))
		}
		var rows []row
		for _, g := range page.Agents {
			entry := row{name: page.Name(g.AirID), place: g.Name, text: g.Description}
			if !view.long {
				rows = append(rows, entry)
			} else {
				a.printRows([]row{entry})
				a.printDetail("created", g.Created)
			}
		}
		a.printRows(rows)
		return a.endList(len(page.Agents), page.Total, (view.page-1)*view.limit+len(page.Agents) < page.Total, view, "agent", words != "")
	})
	command.Long = `Agents lists the agents of the registry, those with the most evidence first. WORDS
select the agents that have all of them in their name, handle, description,
capabilities or AIR ID.

  gazetteer agents
  gazetteer agents books tables`
	command.Args = func(_ *cobra.Command, args []string) error {
		words = strings.Join(args, " ")
		return nil
	}
	return command
}

// printDetail writes one named line below an entry of a list.
func (a *verbs) printDetail(name, text string) {
	if text != "" {
		fmt.Fprintf(a.Out, "  %-8s %s\n", name, format.Visible(text))
	}
}

// endList prints how many entries were shown. It returns [exit.ErrSilent] for an empty list; filtered
// says that it had conditions.
func (a *verbs) endList(shown, total int, more bool, view viewFlags, what string, filtered bool) error {
	style := cli.NewStyle(a.Out)
	text := view.formatPosition(shown, total, more, what)
	switch {
	case shown == 0 && filtered:
		text = "No " + what + " fulfills these conditions."
	case shown == 0:
		text = "There are no " + what + "s here."
	}
	fmt.Fprintln(a.Out, style.Dim(text))
	if shown == 0 {
		return exit.ErrSilent
	}
	return nil
}

// printJSONList prints the unchanged page of a list. It returns [exit.ErrSilent] for an empty one, as
// endList does.
func (a *verbs) printJSONList(raw []byte, shown int) error {
	if err := cli.WriteJSONText(a.Out, raw); err != nil || shown > 0 {
		return err
	}
	return exit.ErrSilent
}

// notes returns the stream for texts beside an answer: they must not be in the midst of JSON.
func (a *verbs) notes() io.Writer {
	if a.JSON {
		return a.Err
	}
	return a.Out
}

// showCommand returns the command show.
func (a *verbs) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show HOST",
		Short: "Show one service: its operations, its documents and its last visit",
		Long: `Show prints what is known about one host: the service, its operations, their
documents, the agents whom the owner of its domain names, and the next visit.

  gazetteer show www.example.com

Exit code 1 if the host is unknown.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && namesAgent(args[0]) {
				name := format.Visible(args[0])
				return exit.Usagef("%s names an agent, and show shows the service of a host: gazetteer agent show %s", name, name)
			}
			return cli.OneHost(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.WithServer(c.Context(), cli.Read, func(server *cli.Client) error { return a.showService(c.Context(), server, args[0]) })
		},
	}
}

// namesAgent reports whether a name is a handle, a DID or an AIR ID, and no host.
func namesAgent(name string) bool {
	return strings.HasPrefix(name, "@") || strings.HasPrefix(name, "did:") || strings.HasPrefix(strings.ToUpper(name), "AIR-")
}

func (a *verbs) showService(ctx context.Context, c *cli.Client, host string) error {
	var s answer.Service
	raw, err := c.GetJSON(ctx, "/api/v1/services/"+url.PathEscape(host), &s)
	if err != nil || a.JSON {
		return a.PrintJSON(raw, a.explainUnknownHost(ctx, c, host, err))
	}
	style := cli.NewStyle(a.Out)
	fmt.Fprintln(a.Out, strings.TrimSpace(style.Bold(s.Host)+"  "+format.Visible(s.Name)))
	a.printDetail("does", s.Description)
	remark, err := squattingRemark(ctx, c, s)
	if err != nil {
		return err
	}
	a.printDetail("names", s.Namespace+remark)
	a.printDetail("domain", s.Domain)
	now := a.Environment.Now()
	for _, d := range s.Documents {
		stale := ""
		if d.Freshness != nil {
			stale = ", stale: " + d.Freshness.Why
		}
		a.printDetail("from", fmt.Sprintf("%s, fetched %s%s%s", d.URL, cli.FormatAge(now, d.FetchedAt), describeFindings(d.Findings), stale))
	}
	if err := a.printProvedAgents(ctx, c, s); err != nil {
		return err
	}
	if !s.State.Due.IsZero() {
		a.printDetail("visit", "next "+cli.FormatWait(now, s.State.Due))
	}
	if len(s.Documents) == 0 {
		fmt.Fprintf(a.Out, "\nNo document of this host is stored. Why:\n  %s\n", a.FormatCommand("explain "+s.Host))
		return nil
	}
	fmt.Fprintln(a.Out)
	a.printRows(listOperations(s.Documents))
	a.PrintNextSteps("More:", a.FormatCommand("search --long host:"+s.Host), a.FormatCommand("find host:"+s.Host), a.FormatCommand("explain "+s.Host))
	return nil
}

// listOperations lists the operations of a service: one that two documents describe once, as the page of
// the service does.
func listOperations(views []answer.DocumentView) []row {
	documents := make([]document.Document, len(views))
	for i, v := range views {
		documents[i] = v.Document
	}
	yields, _, twins := entry.FindTwins(documents)
	var rows []row
	for i, d := range documents {
		for n, o := range d.Operations {
			_, twin := twins[n]
			if twin && &documents[i] == yields || o.Path == "" && o.Intent == "" && describedElsewhere(views, o.Verb) {
				continue // a summary names the verb only
			}
			rows = append(rows, row{name: strings.TrimSpace(o.Verb + " " + OperationName(o)), text: o.Intent})
		}
	}
	return rows
}

// printProvedAgents prints the agents whom the owner of a service's domain has named.
func (a *verbs) printProvedAgents(ctx context.Context, c *cli.Client, s answer.Service) error {
	if s.Operations == 0 {
		return nil // agents are joined with operations
	}
	var page api.OrchestratePage
	query := url.Values{"host": {s.Host}, "join": {string(join.Proved)}, "limit": {"1"}}
	if _, err := c.GetJSON(ctx, "/api/v1/orchestrate?"+query.Encode(), &page); err != nil {
		return err
	}
	for _, o := range page.Operations {
		for _, agent := range o.Agents {
			if o.Hit.Host == s.Host && agent.Strength == join.Proved {
				a.printDetail("agent", formatAgent(agent)+", "+cmp.Or(agent.Inbox, "no inbox"))
			}
		}
	}
	return nil
}

// describeFindings counts the errors and warnings of a document, for a list after it; "" if it has none.
func describeFindings(findings []protocol.Finding) string {
	counts := map[protocol.Severity]int{}
	for _, f := range findings {
		counts[f.Severity]++
	}
	text := ""
	for _, severity := range []protocol.Severity{protocol.Error, protocol.Warning} {
		if n := counts[severity]; n > 0 {
			text += ", " + cli.Plural(n, severity.String())
		}
	}
	return text
}

// squattingRemark says that the namespace of a service is the name of somebody else's domain, or
// returns "".
func squattingRemark(ctx context.Context, c *cli.Client, s answer.Service) (string, error) {
	if s.Namespace == "" {
		return "", nil
	}
	var n answer.Namespace
	if _, err := c.GetJSON(ctx, "/api/v1/namespaces/"+url.PathEscape(s.Namespace), &n); err != nil {
		if isNotFound(err) {
			return "", nil // its document is not indexed yet
		}
		return "", err
	}
	for _, claim := range n.Claims {
		if claim.Host == s.Host && claim.Foreign() {
			return " (perhaps squatting: " + claim.Proof + ")", nil
		}
	}
	return "", nil
}

// describedElsewhere reports whether a document describes a verb beyond its name.
func describedElsewhere(documents []answer.DocumentView, verb string) bool {
	return slices.ContainsFunc(documents, func(d answer.DocumentView) bool {
		return slices.ContainsFunc(d.Operations, func(o document.Operation) bool {
			return o.Verb == verb && (o.Path != "" || o.Intent != "")
		})
	})
}
