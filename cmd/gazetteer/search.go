package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/lint/format"
)

// searchFlags say how much of a search is wanted, and in which form.
type searchFlags struct {
	limit  int
	facets []string
	within int
	as     string
}

// parameters are those of the request. Where a number of tokens decides how much
// there is, there is no limit unless one was given.
func (f searchFlags) parameters(words string, limited bool) url.Values {
	query := url.Values{"q": {words}}
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
	return query
}

func (a *app) searchCommand() *cobra.Command {
	flags := searchFlags{limit: 10}
	c := &cobra.Command{
		Use:   "search WORDS...",
		Short: "Find operations by intent",
		Long: `Search ranks operations by what they do. Words are free; filters narrow:

  gazetteer search book a table
  gazetteer search verb:BOOK table
  gazetteer search exchange rates host:rates.example
  gazetteer search ns:acme-reservations
  gazetteer search class:reservation cancel
  gazetteer search book a table --facets verb,effect
  gazetteer search book a table --as curl
  gazetteer search book a table --within-tokens 500

--as writes the operations for callers: mcp is the result of tools/list of the
Model Context Protocol, functions are JSON-schema functions, and curl is a line
for the shell for each operation that can be called over HTTP, with {name} where
a value belongs. --within-tokens writes as many operations as fit a number of
tokens, as JSON in a short form.

Exit code 1 when nothing is found.`,
		Args: needArgs(1, "words to search for"),
		RunE: func(c *cobra.Command, words []string) error {
			return a.ask(c.Context(), false, func(server *client) error {
				text := strings.Join(words, " ")
				query := flags.parameters(text, c.Flags().Changed("limit"))
				if flags.as != "" || flags.within > 0 {
					return a.searchAs(c.Context(), server, query)
				}
				return a.search(c.Context(), server, text, query)
			})
		},
	}
	c.Flags().IntVar(&flags.limit, "limit", flags.limit, "operations to show, 1 to 100")
	c.Flags().StringSliceVar(&flags.facets, "facets", nil, "fields to count the values of, with commas between")
	c.Flags().IntVar(&flags.within, "within-tokens", 0, "as many operations as fit so many tokens, in a short form")
	c.Flags().StringVar(&flags.as, "as", "", "mcp, functions or curl: the operations in that form")
	return c
}

// searchAs writes the answer as it came: it is for programs.
func (a *app) searchAs(ctx context.Context, c *client, query url.Values) error {
	response, err := c.send(ctx, http.MethodGet, "/api/v1/search?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err != nil {
		return networkf("read the answer of %s: %v", c.base, err)
	}
	if response.StatusCode != http.StatusOK {
		return statusError(response.StatusCode, raw)
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		fmt.Fprint(a.out, visibleLines(string(raw)))
		if !strings.HasPrefix(string(raw), "curl ") {
			return errQuiet
		}
		return nil
	}
	var found struct{ Hits, Tools, Functions []json.RawMessage }
	if err := json.Unmarshal(raw, &found); err != nil {
		return networkf("%s did not answer as Gazetteer would: %v", c.base, err)
	}
	if err := writeJSONText(a.out, raw); err != nil {
		return err
	}
	if len(found.Hits)+len(found.Tools)+len(found.Functions) == 0 {
		return errQuiet
	}
	return nil
}

// searchAnswer is the part of an answer that a person reads.
type searchAnswer struct {
	index.Result
	Hits   []searchHit `json:"hits"`
	Behind uint64      `json:"behind"`
}

// searchHit is a hit with what the answer adds to it.
type searchHit struct {
	index.Hit
	Caution   string `json:"caution"`
	Freshness struct {
		Stale bool   `json:"stale"`
		Why   string `json:"why"`
	} `json:"freshness"`
}

func (a *app) search(ctx context.Context, c *client, words string, query url.Values) error {
	var result searchAnswer
	raw, err := c.get(ctx, "/api/v1/search?"+query.Encode(), &result)
	if err != nil {
		return err
	}
	if a.json {
		if err := writeJSONText(a.out, raw); err != nil {
			return err
		}
	} else {
		a.printHits(result, words)
	}
	if len(result.Hits) == 0 {
		return errQuiet
	}
	return nil
}

func (a *app) printHits(r searchAnswer, words string) {
	if len(r.Hits) == 0 {
		fmt.Fprintf(a.out, "Nothing offers %q.\n", format.Visible(words))
		if r.Note != "" {
			fmt.Fprintln(a.out, format.Visible(r.Note))
		}
		if len(r.Near) > 0 {
			fmt.Fprintf(a.out, "Verbs that are offered: %s\n", format.Visible(strings.Join(r.Near, ", ")))
		}
		return
	}
	now := time.Now()
	for _, h := range r.Hits {
		printHit(a, h.Hit, now, h.remarks()...)
	}
	for _, field := range slices.Sorted(maps.Keys(r.Facets)) {
		fmt.Fprintf(a.out, "%-12s %s\n", format.Visible(field), format.Visible(countsText(r.Facets[field])))
	}
	fmt.Fprintf(a.out, "%d of %s\n", len(r.Hits), plural(r.Total, "operation"))
	if r.Note != "" {
		fmt.Fprintln(a.out, format.Visible(sentenceOf(r.Note)))
	}
	a.printBehind(r.Behind)
}

// sentenceOf makes a sentence of a note.
func sentenceOf(note string) string { return strings.ToUpper(note[:1]) + note[1:] + "." }

// printBehind says that an answer may lack what is new.
func (a *app) printBehind(records uint64) {
	if records > 0 {
		fmt.Fprintf(a.out, "The index is behind by %s: what is new may be missing.\n", plural(int(min(records, math.MaxInt32)), "record"))
	}
}

// A remark is one more line about a hit.
type remark struct{ name, text string }

// remarks are what a person should know before using what a hit says.
func (h searchHit) remarks() []remark {
	var remarks []remark
	if h.Freshness.Stale {
		remarks = append(remarks, remark{"stale", h.Freshness.Why})
	}
	if h.Caution != "" {
		remarks = append(remarks, remark{"caution", h.Caution})
	}
	return remarks
}

func countsText(counts []index.Count) string {
	parts := make([]string, len(counts))
	for i, c := range counts {
		parts[i] = c.Value + " " + strconv.Itoa(c.Operations)
	}
	return strings.Join(parts, ", ")
}

// printHit writes one operation: what it does, who offers it, how to call it,
// why it is here, how fresh the evidence is, and more that is known of it.
func printHit(a *app, h index.Hit, now time.Time, more ...remark) {
	printHitLines(a, h, now, more...)
	fmt.Fprintln(a.out)
}

func printHitLines(a *app, h index.Hit, now time.Time, more ...remark) {
	o := h.Operation
	fmt.Fprintln(a.out, strings.TrimSpace(format.Visible(o.Verb)+" "+format.Visible(nameOf(o))))
	field := func(name, text string) {
		if text != "" {
			fmt.Fprintf(a.out, "  %-8s %s\n", name, format.Visible(text))
		}
	}
	field("does", o.Intent)
	field("service", h.Service.Name+" ("+h.Host+")")
	field("call", callText(o))
	field("with", parametersText(o.Parameters))
	field("why", whyText(h.Why))
	field("fresh", fmt.Sprintf("fetched %s from %s, %s", ago(now, h.FetchedAt), h.Document, shortDigest(h.Digest)))
	switch h.Findings {
	case "error":
		field("caution", "its document breaks its draft: see /services/"+h.Host)
	case "warning":
		field("caution", "its document has warnings: see /services/"+h.Host)
	}
	for _, r := range more {
		field(r.name, r.text)
	}
}

// issuerName is the operation's path, or its id where it has none.
func nameOf(o document.Operation) string {
	if o.Path != "" {
		return o.Path
	}
	if o.ID == o.Verb {
		return ""
	}
	return o.ID
}

func callText(o document.Operation) string {
	switch o.Call.Protocol {
	case "http":
		return o.Call.Method + " " + o.Call.URL
	case "agtp":
		return strings.Join(slices.DeleteFunc([]string{o.Verb, o.Path, "at", o.Call.URL}, func(s string) bool { return s == "" }), " ")
	default:
		return ""
	}
}

// parametersText lists parameters with where they go; * marks required ones.
func parametersText(params []document.Parameter) string {
	parts := make([]string, 0, len(params))
	for _, p := range params {
		text := p.Name
		if p.Required {
			text += "*"
		}
		if p.In != "" {
			text += " (" + p.In + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func whyText(w index.Why) string {
	var parts []string
	if w.Clause != "" {
		parts = append(parts, "answers “"+w.Clause+"”")
	}
	if w.Verb != nil {
		parts = append(parts, fmt.Sprintf("offers the verb %s (%s)", w.Verb.Offered, w.Verb.Relation))
	}
	for _, m := range w.Matched {
		text := m.Term
		switch {
		case m.Kind == "vector":
			text += ", near in meaning to " + m.Text + ","
		case m.Text != "" && !strings.EqualFold(m.Text, m.Term):
			text += "→" + m.Text
		}
		parts = append(parts, text+" in "+fieldWords[m.Field])
	}
	if len(w.Missing) > 0 {
		parts = append(parts, "without: "+strings.Join(w.Missing, ", "))
	}
	if len(parts) == 0 {
		return "passes the filters"
	}
	return strings.Join(parts, "; ")
}

// fieldWords says in words where a query word was found.
var fieldWords = map[string]string{
	"act":  "what it is called",
	"what": "what it does",
	"ctx":  "its service, data or parameters",
}

func shortDigest(digest string) string {
	if len(digest) > 19 {
		return digest[:19]
	}
	return digest
}
