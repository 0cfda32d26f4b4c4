package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/nearest"
	"gazetteer/lint/format"
)

// printSuggestions prints, after a search without results, the filters with unknown values and the
// most similar known values.
func (a *verbs) printSuggestions(ctx context.Context, c *cli.Client, words string) {
	for word := range strings.FieldsSeq(words) {
		key, value, isFilter := strings.Cut(strings.TrimPrefix(word, "-"), ":")
		if !isFilter || value == "" {
			continue
		}
		if question := nearest.Question(value, listValues(ctx, c, key)); question != "" {
			fmt.Fprintf(a.Out, "%s %s: %s\n", key, format.Visible(value), format.Visible(question))
		}
	}
}

// listValues returns the possible values of a filter; none if they are not known.
func listValues(ctx context.Context, c *cli.Client, key string) []string {
	switch key {
	case "ns":
		return listNames(ctx, c, "namespaces", "namespace")
	case "verb":
		return listNames(ctx, c, "verbs", "verb")
	case "host":
		return listNames(ctx, c, "services", "host")
	default:
		return nil
	}
}

// maxNamePages bounds the pages of names that are read for a suggestion.
const maxNamePages = 20

// listNames reads the distinct names in a list of the API: member contains the name of an entry, or
// its names. A list that cannot be read gives no suggestions.
func listNames(ctx context.Context, c *cli.Client, list, member string) []string {
	var names []string
	cursor := ""
	for range maxNamePages {
		page := map[string]any{}
		if _, err := c.GetJSON(ctx, "/api/v1/"+list+"?limit=100"+cursor, &page); err != nil {
			return names
		}
		entries, _ := page[list].([]any)
		for _, entry := range entries {
			if fields, ok := entry.(map[string]any); ok {
				values, several := fields[member].([]any)
				if !several {
					values = []any{fields[member]}
				}
				for _, value := range values {
					if name, ok := value.(string); ok && !slices.Contains(names, name) {
						names = append(names, name)
					}
				}
			}
		}
		next, _ := page["next"].(string)
		if next == "" {
			return names
		}
		cursor = "&cursor=" + next
	}
	return names
}

// explainUnresolved adds similar names to the error of an unknown name.
func explainUnresolved(ctx context.Context, c *cli.Client, a *verbs, id string, err error) error {
	var e *exit.Error
	if !errors.As(err, &e) || e.Code != exit.NotFound {
		return err
	}
	namespace, verb, qualified := strings.Cut(id, ".")
	switch {
	case qualified:
		if question := nearest.Question(namespace, listNames(ctx, c, "namespaces", "namespace")); question != "" && !strings.Contains(question, " "+namespace+"?") {
			return exit.NotFoundf("no service offers %s: there is no namespace %s; %s\nServices with the verb: %s", id, namespace, question, a.FormatCommand("search verb:"+cli.QuoteForShell(verb)))
		}
		return exit.NotFoundf("no service offers %s\nServices with the verb: %s", id, a.FormatCommand("search verb:"+cli.QuoteForShell(verb)))
	case id == strings.ToUpper(id) && !strings.HasPrefix(id, "AIR-"):
		return exit.NotFoundf("%s is no agent. A verb is named with its namespace, as in acme-reservations.%s\nWho offers it: %s", id, id, a.FormatCommand("search verb:"+cli.QuoteForShell(id)))
	default:
		return exit.NotFoundf("no agent is known as %s: want an AIR ID, a handle, a did:wba identifier, or NAMESPACE.VERB\nThe agents here: %s", id, a.FormatCommand("agents"))
	}
}
