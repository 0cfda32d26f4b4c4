package search

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gazetteer/index/query"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
)

// searchFlags selects the size and the format of a search answer.
type searchFlags struct {
	viewFlags
	readingFlags
	facets  []string
	within  int
	as      string
	fields  []string
	filters filterFlags
}

// filterFlags has the values of the filters that have a flag, by key.
type filterFlags map[string]*[]string

// addTo declares one flag for each filter.
func (f filterFlags) addTo(flags *pflag.FlagSet, filters []query.Filter) {
	for _, row := range filters {
		f[row.Key] = flags.StringArray(row.Key, nil, row.Doc+" (example: "+row.Example+")")
	}
}

// addToWords returns the words of a request with the filters as words.
func (f filterFlags) addToWords(words string) string {
	all := []string{words}
	for _, key := range slices.Sorted(maps.Keys(f)) {
		for _, value := range *f[key] {
			all = append(all, key+":"+value)
		}
	}
	return strings.TrimSpace(strings.Join(all, " "))
}

// addToQuery adds the filters as parameters of a request.
func (f filterFlags) addToQuery(parameters url.Values) {
	for key, values := range f {
		if len(*values) > 0 {
			parameters[key] = *values
		}
	}
}

// readingFlags controls the interpretation of the words of a request, and the exclusions.
type readingFlags struct {
	exact, safe bool
	minFit      float64
}

// addTo declares the flags.
func (f *readingFlags) addTo(flags *pflag.FlagSet) {
	flags.BoolVar(&f.exact, "exact", false, "disable spelling correction")
	flags.BoolVar(&f.safe, "safe", false, "leave out operations that end or remove something or cannot be undone")
	flags.Float64Var(&f.minFit, "min-fit", 0, "leave out operations that fit the request less than this, 0 to 1")
}

// checkFit refuses a fit outside 0 to 1.
func (f *readingFlags) checkFit() error {
	if !(f.minFit >= 0 && f.minFit <= 1) {
		return exit.Usagef("--min-fit %g: want 0 to 1", f.minFit)
	}
	return nil
}

// addToQuery adds the parameters of a request.
func (f *readingFlags) addToQuery(query url.Values) {
	if f.exact {
		query.Set("exact", "true")
	}
	if f.safe {
		query.Set("safe", "true")
	}
	if f.minFit > 0 {
		query.Set("min_fit", strconv.FormatFloat(f.minFit, 'g', -1, 64))
	}
}

// buildQuery returns the parameters of the request. If a number of tokens bounds the answer, there
// is no default limit of hits.
func (f searchFlags) buildQuery(words string, limited bool) url.Values {
	query := url.Values{}
	if words != "" {
		query.Set("q", words)
	}
	f.filters.addToQuery(query)
	if limited || f.within == 0 {
		query.Set("limit", strconv.Itoa(f.limit))
	}
	if len(f.facets) > 0 {
		query.Set("facets", strings.Join(f.facets, ","))
	}
	if f.within > 0 {
		query.Set("within_tokens", strconv.Itoa(f.within))
	}
	if f.as != "" {
		query.Set("as", f.as)
	}
	switch {
	case len(f.fields) > 0:
		query.Set("fields", strings.Join(f.fields, ","))
	case f.long && f.as == "" && f.within == 0:
		query.Set("fields", "all")
	}
	f.addToQuery(query)
	return query
}

func (a *verbs) searchCommand() *cobra.Command {
	flags := searchFlags{viewFlags: viewFlags{limit: 10}, filters: filterFlags{}}
	c := &cobra.Command{
		Use:   "search WORDS...",
		Short: "Find operations by intent",
		Long: `Search ranks operations by what they do. Use any words; filters, as words or as flags,
narrow the result:

  gazetteer search book a table
  gazetteer search verb:BOOK table
  gazetteer search table --verb BOOK
  gazetteer search exchange rates host:rates.example
  gazetteer search ns:acme-reservations
  gazetteer search class:reservation cancel
  gazetteer search book a table --facets verb,effect
  gazetteer search book a table --as curl
  gazetteer search book a table --within-tokens 500
  gazetteer search book a table -n 20 --page 2 --long
  gazetteer search book a table --safe --min-fit 0.5

Misspelled words are corrected, and the answer says so; --exact searches for them as
written. Operations that probably do not fit the request are marked [weak]; --min-fit
leaves them out. Operations whose document breaks its draft are marked [errors]. --safe
leaves out operations that end or remove something, as declared or as inferred from
verb and text.

--as writes the operations for callers: mcp is the result of tools/list of the
Model Context Protocol, functions are JSON-schema functions, and curl is a shell
command for each operation that can be called over HTTP, with {name} instead of each
value. It leaves out documents with errors unless the words ask for them, as in
state:invalid. --within-tokens writes as many operations as fit a number of tokens, as JSON
in a short form.

--json writes the members of each operation that a caller needs to choose and call it;
--fields id,why,provenance writes those members of its whole form instead, and
--long or --fields all the whole form.

Exit code 1 when nothing is found.`,
		RunE: func(c *cobra.Command, words []string) error {
			if err := cmp.Or(flags.viewFlags.checkValues(), flags.readingFlags.checkFit()); err != nil {
				return err
			}
			if c.Flags().Changed("within-tokens") && flags.within < 1 {
				return exit.Usagef("--within-tokens %d: want 1 or more", flags.within)
			}
			text := strings.Join(words, " ")
			asked := flags.buildQuery(text, c.Flags().Changed("limit"))
			if !asked.Has("q") && !slices.ContainsFunc(query.Filters(), func(f query.Filter) bool { return asked.Has(f.Key) }) {
				return cli.UsageError(c, "search needs words to search for, or a filter such as --verb BOOK")
			}
			return a.WithServer(c.Context(), cli.Read, func(server *cli.Client) error {
				if len(flags.fields) > 0 && !a.JSON {
					return exit.Usagef("--fields chooses members of JSON: give --json, too")
				}
				if flags.as != "" || flags.within > 0 {
					return a.searchAs(c.Context(), server, asked)
				}
				return a.searchOperations(c.Context(), server, flags.filters.addToWords(text), asked, flags.viewFlags)
			})
		},
	}
	flags.viewFlags.addTo(c.Flags(), "operations")
	flags.readingFlags.addTo(c.Flags())
	flags.filters.addTo(c.Flags(), query.Filters())
	c.Flags().StringSliceVar(&flags.facets, "facets", nil, "fields whose values are counted, separated by commas")
	c.Flags().StringSliceVar(&flags.fields, "fields", nil, "with --json: members of each result, separated by commas, or all")
	c.Flags().IntVar(&flags.within, "within-tokens", 0, "as many operations as fit into that many tokens, in a short form")
	c.Flags().StringVar(&flags.as, "as", "", "mcp, functions or curl: the operations in that form")
	return c
}

// searchAs writes the unchanged answer, for programs.
func (a *verbs) searchAs(ctx context.Context, c *cli.Client, query url.Values) error {
	request, err := c.NewRequest(ctx, http.MethodGet, "/api/v1/search?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := c.Send(request)
	if err != nil {
		return err
	}
	raw, err := c.ReadAnswer(response)
	if err != nil {
		return err
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") && len(raw) > 0 {
		fmt.Fprint(a.Out, cli.VisibleLines(string(raw)))
		if !strings.HasPrefix(string(raw), "curl ") {
			return exit.ErrSilent
		}
		return nil
	}
	var found struct{ Hits, Tools, Functions []json.RawMessage }
	if err := c.Decode(raw, &found); err != nil {
		return err
	}
	if err := cli.WriteJSONText(a.Out, raw); err != nil {
		return err
	}
	if len(found.Hits)+len(found.Tools)+len(found.Functions) == 0 {
		return exit.ErrSilent
	}
	return nil
}

func (a *verbs) searchOperations(ctx context.Context, c *cli.Client, words string, query url.Values, view viewFlags) error {
	var result searchAnswer
	raw, err := fetchPage(ctx, c, "/api/v1/search", query, view.page, &result)
	if err != nil {
		return err
	}
	if a.JSON {
		if err := cli.WriteJSONText(a.Out, raw); err != nil {
			return err
		}
	} else {
		a.printHits(result, words, view)
	}
	if len(result.Hits) == 0 {
		if !a.JSON {
			if !a.printSuggestions(ctx, c, conditionsIn(words)) {
				a.printNear(result.Near)
			}
		}
		return exit.ErrSilent
	}
	return nil
}
