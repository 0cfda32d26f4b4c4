package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gazetteer/document"
	"gazetteer/index"
)

func (a *app) searchCommand() *cobra.Command {
	limit := 10
	c := &cobra.Command{
		Use:   "search WORDS...",
		Short: "Find operations by intent",
		Long: `Search ranks operations by what they do. Words are free; filters narrow:

  gazetteer search book a table
  gazetteer search verb:BOOK table
  gazetteer search exchange rates host:rates.example
  gazetteer search ns:acme-reservations
  gazetteer search class:reservation cancel

Exit code 1 when nothing is found.`,
		Args: needArgs(1, "words to search for"),
		RunE: func(c *cobra.Command, words []string) error {
			return a.ask(c.Context(), false, func(server *client) error {
				return a.search(c.Context(), server, strings.Join(words, " "), limit)
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", limit, "operations to show, 1 to 100")
	return c
}

func (a *app) search(ctx context.Context, c *client, words string, limit int) error {
	var result index.Result
	query := url.Values{"q": {words}, "limit": {strconv.Itoa(limit)}}
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

func (a *app) printHits(r index.Result, words string) {
	if len(r.Hits) == 0 {
		fmt.Fprintf(a.out, "Nothing offers %q.\n", visible(words))
		if r.Note != "" {
			fmt.Fprintln(a.out, visible(r.Note))
		}
		if len(r.Near) > 0 {
			fmt.Fprintf(a.out, "Verbs that are offered: %s\n", visible(strings.Join(r.Near, ", ")))
		}
		return
	}
	now := time.Now()
	for _, h := range r.Hits {
		printHit(a, h, now)
	}
	fmt.Fprintf(a.out, "%d of %s\n", len(r.Hits), plural(r.Total, "operation"))
}

// printHit writes one operation: what it does, who offers it, how to call it,
// why it is here, and how fresh the evidence is.
func printHit(a *app, h index.Hit, now time.Time) {
	printHitLines(a, h, now)
	fmt.Fprintln(a.out)
}

func printHitLines(a *app, h index.Hit, now time.Time) {
	o := h.Operation
	fmt.Fprintln(a.out, strings.TrimSpace(visible(o.Verb)+" "+visible(nameOf(o))))
	field := func(name, text string) {
		if text != "" {
			fmt.Fprintf(a.out, "  %-8s %s\n", name, visible(text))
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
}

// nameOf is the operation's path, or its id where it has none.
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
