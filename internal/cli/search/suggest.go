package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"gazetteer/index"
	"gazetteer/internal/cli"
	"gazetteer/internal/exit"
	"gazetteer/internal/nearest"
	"gazetteer/lint/format"
)

// printSuggestions prints, after a search without results, the filters with unknown values and the
// most similar known values; or that there is nothing to search yet. It reports whether it printed
// anything.
func (a *verbs) printSuggestions(ctx context.Context, c *cli.Client, conditions []condition) bool {
	var known struct{ Services []json.RawMessage }
	if _, err := c.GetJSON(ctx, "/api/v1/services?limit=1", &known); err == nil && len(known.Services) == 0 {
		fmt.Fprintf(a.Out, "No service is known here yet. To add a host: %s\n", a.describeAdding(c, "example.com"))
		return true
	}
	printed := false
	for _, is := range conditions {
		if !isUnknown(ctx, c, is) {
			continue
		}
		answer := cmp.Or(nearest.Question(is.value, listValues(ctx, c, is.key)), "nothing here has it")
		fmt.Fprintf(a.Out, "%s %s: %s\n", is.key, format.Visible(is.value), format.Visible(answer))
		printed = true
	}
	return printed
}

// isUnknown reports whether no operation fulfills a condition alone.
func isUnknown(ctx context.Context, c *cli.Client, is condition) bool {
	if strings.ContainsAny(is.value, " \"") {
		return false // it would be another query
	}
	var found struct {
		Total int `json:"total"`
	}
	query := url.Values{"q": {is.key + ":" + is.value}, "limit": {"1"}, "exact": {"true"}}
	_, err := c.GetJSON(ctx, "/api/v1/search?"+query.Encode(), &found)
	return err == nil && found.Total == 0
}

// A condition is a filter of a search with one of its values.
type condition struct{ key, value string }

// conditionsIn returns the filters in the words of a search.
func conditionsIn(words string) []condition {
	var list []condition
	for word := range strings.FieldsSeq(words) {
		if key, value, isFilter := strings.Cut(strings.TrimPrefix(word, "-"), ":"); isFilter && value != "" {
			list = append(list, condition{key, value})
		}
	}
	return list
}

// describeAdding says how to add a host: with a command, or on a page of a server that accepts no
// requests of an operator from here.
func (a *verbs) describeAdding(c *cli.Client, host string) string {
	if c.Local {
		return a.FormatCommand("crawl " + cli.QuoteForShell(host))
	}
	return c.Base + "/submit?" + url.Values{"host": {host}}.Encode()
}

// listValues returns possible values of a filter; none if they are not known.
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
	case "class", "protocol", "lang":
		return countedValues(ctx, c, key)
	default:
		return nil
	}
}

// countedValues returns the most frequent values of a filter among all operations.
func countedValues(ctx context.Context, c *cli.Client, key string) []string {
	var counted struct {
		Facets map[string][]index.Count `json:"facets"`
	}
	query := url.Values{"q": {"idempotent:yes idempotent:no idempotent:unknown"}, "facets": {key}, "limit": {"1"}}
	if _, err := c.GetJSON(ctx, "/api/v1/search?"+query.Encode(), &counted); err != nil {
		return nil
	}
	var values []string
	for _, count := range counted.Facets[key] {
		values = append(values, count.Value)
	}
	return values
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

func isNotFound(err error) bool {
	e, ok := errors.AsType[*exit.Error](err)
	return ok && e.Code == exit.NotFound
}

// explainUnknownHost adds similar hosts and the next commands to the error of an unknown host. A host
// that is known and not shown has a reason of its own.
func (a *verbs) explainUnknownHost(ctx context.Context, c *cli.Client, host string, err error) error {
	if !isNotFound(err) || !strings.HasPrefix(err.Error(), "nothing is known of") {
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

// isKnownHost reports whether the server knows a host of that name.
func (a *verbs) isKnownHost(ctx context.Context, c *cli.Client, name string) bool {
	var known struct{}
	_, err := c.GetJSON(ctx, "/api/v1/services/"+url.PathEscape(name), &known)
	return err == nil
}

// explainUnresolved adds similar names to the error of an unknown name.
func explainUnresolved(ctx context.Context, c *cli.Client, a *verbs, id string, err error) error {
	refused, ok := errors.AsType[*cli.RefusedError](err)
	switch {
	case !isNotFound(err), ok && refused.Status == http.StatusGone: // an agent that has ended is known
		return err
	case ok && refused.Code == "": // not the refusal of a Gazetteer
		return err
	case ok && refused.Code == "no-did": // the DID of another host: the server says what its host answered
		return err
	}
	namespace, verb, qualified := strings.Cut(id, ".")
	switch {
	case qualified && a.isKnownHost(ctx, c, id):
		return exit.NotFoundf("%s is a host, and resolve takes an agent or NAMESPACE.VERB\nWhat is known of the host: %s", id, a.FormatCommand("show "+cli.QuoteForShell(id)))
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
		return exit.NotFoundf("%s is not an agent. A verb is named with its namespace, as in acme-reservations.%s\nWho offers it: %s", id, id, a.FormatCommand("search verb:"+cli.QuoteForShell(id)))
	default:
		return exit.NotFoundf("no agent is known as %s: want an AIR ID, a handle, a did:wba identifier, or NAMESPACE.VERB%s\nThe agents here: %s", id, cli.SuggestAgents(ctx, c, id), a.FormatCommand("agents"))
	}
}
