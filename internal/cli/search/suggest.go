package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"gazetteer/api/air"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/nearest"
	"gazetteer/lint/format"
)

// printSuggestions prints, after a search without results, the filters with unknown values and the
// most similar known values; or that there is nothing to search yet.
func (a *verbs) printSuggestions(ctx context.Context, c *cli.Client, words string) {
	var known struct{ Services []json.RawMessage }
	if _, err := c.GetJSON(ctx, "/api/v1/services?limit=1", &known); err == nil && len(known.Services) == 0 {
		fmt.Fprintf(a.Out, "No service is known here yet. To add a host: %s\n", a.describeAdding(c, "example.com"))
		return
	}
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

// describeAdding says how to add a host: with a command, or on a page of a server that accepts no
// requests of an operator from here.
func (a *verbs) describeAdding(c *cli.Client, host string) string {
	if c.Local {
		return a.FormatCommand("crawl " + cli.QuoteForShell(host))
	}
	return c.Base + "/submit?" + url.Values{"host": {host}}.Encode()
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
	case "domain":
		names := append(listNames(ctx, c, "services", "domain"), listNames(ctx, c, "services", "categories")...)
		slices.Sort(names)
		return slices.Compact(names)
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

// explainUnknownHost adds similar hosts and the next commands to the error of an unknown host. A host
// that is known and not shown has a reason of its own.
func (a *verbs) explainUnknownHost(ctx context.Context, c *cli.Client, host string, err error) error {
	var e *exit.Error
	if !errors.As(err, &e) || e.Code != exit.NotFound || !strings.HasPrefix(err.Error(), "nothing is known of") {
		return err
	}
	hosts := listNames(ctx, c, "services", "host")
	question := ""
	if below := slices.DeleteFunc(slices.Clone(hosts), func(known string) bool { return !strings.HasSuffix(known, "."+host) }); len(below) > 0 {
		question = ": did you mean " + strings.Join(below[:min(len(below), 3)], " or ") + "?"
	} else if near := nearest.Question(host, hosts); near != "" {
		question = ": " + near
	}
	return exit.NotFoundf("nothing is known of %s%s\nTo have it visited: %s\nThe known services: %s", host, question,
		a.describeAdding(c, host), a.FormatCommand("services"))
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
		verbs := listNames(ctx, c, "verbs", "verb")
		if slices.Contains(verbs, verb) {
			return exit.NotFoundf("no service offers %s\nServices with the verb: %s", id, a.FormatCommand("search verb:"+cli.QuoteForShell(verb)))
		}
		question := nearest.Question(verb, verbs)
		if question != "" {
			question = "; " + question
		}
		return exit.NotFoundf("no service offers %s: there is no verb %s%s\nWhat the namespace offers: %s", id, verb, question, a.FormatCommand("search ns:"+cli.QuoteForShell(namespace)))
	case id == strings.ToUpper(id) && !strings.HasPrefix(id, "AIR-"):
		return exit.NotFoundf("%s is no agent. A verb is named with its namespace, as in acme-reservations.%s\nWho offers it: %s", id, id, a.FormatCommand("search verb:"+cli.QuoteForShell(id)))
	default:
		question := ""
		if near := findAgents(ctx, c, id); near != nil {
			question = "\nDid you mean " + strings.Join(near, " or ") + "?"
		}
		return exit.NotFoundf("no agent is known as %s: want an AIR ID, a handle, a did:wba identifier, or NAMESPACE.VERB%s\nThe agents here: %s", id, question, a.FormatCommand("agents"))
	}
}

// findAgents returns up to three agents whose record contains a word, as "AIR-… (name)".
func findAgents(ctx context.Context, c *cli.Client, word string) []string {
	var page air.AgentList
	if _, err := c.GetJSON(ctx, "/api/v1/agents?"+url.Values{"q": {word}, "limit": {"3"}}.Encode(), &page); err != nil {
		return nil
	}
	var found []string
	for _, g := range page.Agents {
		found = append(found, g.AirID+" ("+format.Visible(g.Name)+")")
	}
	return found
}
