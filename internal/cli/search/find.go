package search

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gazetteer/api"
	"gazetteer/index/query"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
)

// findFlags contains the flags of the command.
type findFlags struct {
	filters       filterFlags
	require, join string
	joined        bool
	viewFlags
	readingFlags
}

func (a *verbs) findCommand() *cobra.Command {
	f := &findFlags{viewFlags: viewFlags{limit: 5}, filters: filterFlags{}}
	c := &cobra.Command{
		Use:   "find [WORDS...]",
		Short: "Find who can do something, and the inbox to write to",
		Long: `Find asks as an orchestrator does: it ranks operations as search does, and shows
the agents that serve each one, with the strength of the link:

  proved   the owner of the service's domain names the agent
  mutual   the service names the agent, and the agent names the service
  claimed  only one of them says so

  gazetteer find book a table
  gazetteer find --verb BOOK --protocol negotiate
  gazetteer find book a table --join proved --require domain,inbox
  gazetteer find --class reservation --joined

--require names evidence that must hold for an agent, separated by commas: key,
age, domain, did, inbox, agis, repository, attestations.

Exit code 1 when nothing is found.`,
		RunE: func(c *cobra.Command, words []string) error {
			if err := cmp.Or(f.viewFlags.checkValues(), f.readingFlags.checkFit()); err != nil {
				return err
			}
			asked := f.buildQuery(strings.Join(words, " "))
			if !asked.Has("q") && !slices.ContainsFunc(api.OrchestrateFilters(), asked.Has) {
				return cli.UsageError(c, "find needs words, or one of --"+strings.Join(api.OrchestrateFilters(), ", --"))
			}
			return a.WithServer(c.Context(), cli.Read, func(server *cli.Client) error { return a.findOffers(c.Context(), server, asked, f.viewFlags) })
		},
	}
	flags := c.Flags()
	f.filters.addTo(flags, query.FiltersOf(api.OrchestrateFilters()...))
	flags.StringVar(&f.require, "require", "", "required evidence of an agent, for example domain,inbox")
	flags.StringVar(&f.join, "join", "", "only operations with an agent whose link is at least this strong: proved, mutual or claimed")
	flags.BoolVar(&f.joined, "joined", false, "only operations that have an agent")
	f.viewFlags.addTo(flags, "operations")
	f.readingFlags.addTo(flags)
	return c
}

// buildQuery returns the question as parameters of the API.
func (f *findFlags) buildQuery(words string) url.Values {
	q := url.Values{"limit": {strconv.Itoa(f.limit)}}
	f.filters.addToQuery(q)
	for name, value := range map[string]string{"q": strings.TrimSpace(words), "require": f.require, "join": f.join} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if f.joined {
		q.Set("joined", "true")
	}
	f.addToQuery(q)
	return q
}

func (a *verbs) findOffers(ctx context.Context, c *cli.Client, asked url.Values, view viewFlags) error {
	var page api.OrchestratePage
	raw, err := fetchPage(ctx, c, "/api/v1/orchestrate", asked, view.page, &page)
	if err != nil {
		return err
	}
	if a.JSON {
		if err := cli.WriteJSONText(a.Out, raw); err != nil {
			return err
		}
	} else {
		a.printOffers(page, view, asked.Has("join") || asked.Has("joined"))
	}
	if len(page.Operations) == 0 {
		if !a.JSON && page.Total == 0 {
			a.printNextOffer(ctx, c, asked, page.Near)
		}
		return exit.ErrSilent
	}
	return nil
}

// printNextOffer says after a question without an answer what is known instead.
func (a *verbs) printNextOffer(ctx context.Context, c *cli.Client, asked url.Values, near []string) {
	conditions := conditionsIn(asked.Get("q"))
	for _, key := range api.OrchestrateFilters() {
		for _, value := range asked[key] {
			conditions = append(conditions, condition{key, strings.TrimPrefix(value, "-")})
		}
	}
	if a.printSuggestions(ctx, c, conditions) {
		return
	}
	if len(near) > 0 {
		a.printNear(near)
		return
	}
	fmt.Fprintf(a.Out, "The verbs that are offered: %s\n", a.FormatCommand("verbs"))
}
