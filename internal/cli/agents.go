package cli

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"gazetteer/api/air"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
)

// IsUnknownAgent reports whether a server knows no agent of a name. A registration that waits is not found
// either, for a reason of its own.
func IsUnknownAgent(err error) bool {
	refused, ok := errors.AsType[*RefusedError](err)
	return ok && refused.Code == "no-agent" && strings.HasPrefix(err.Error(), unknownAgent)
}

// ExplainUnknownAgent names the agent in the error of an unknown one, with similar agents and the next
// command. Other errors stay as they are.
func (a *App) ExplainUnknownAgent(ctx context.Context, c *Client, name string, err error) error {
	if !IsUnknownAgent(err) {
		return err
	}
	return exit.NotFoundf("no agent is known as %s%s\nThe agents here: %s", format.Visible(name), SuggestAgents(ctx, c, name), a.FormatCommand("agents"))
}

// SuggestAgents returns a line with up to three agents whose record contains a word, "" for none.
func SuggestAgents(ctx context.Context, c *Client, word string) string {
	word = strings.TrimPrefix(word, "@")
	var page air.AgentList
	query := url.Values{"q": {word}, "limit": {"3"}}
	if _, err := c.GetJSON(ctx, "/api/v1/agents?"+query.Encode(), &page); err != nil {
		return ""
	}
	if len(page.Agents) == 0 {
		return suggestHandle(ctx, c, word)
	}
	var found []string
	for _, g := range page.Agents {
		found = append(found, format.Visible(page.Name(g.AirID))+" ("+format.Visible(g.Name)+")")
	}
	return "\nDid you mean " + strings.Join(found, " or ") + "?"
}

// suggestHandle returns a line with the handles that are spelled like an unknown one, "" for none.
func suggestHandle(ctx context.Context, c *Client, handle string) string {
	if strings.Contains(handle, ":") {
		return "" // a DID
	}
	var unknown struct {
		Alternatives []string `json:"alternatives"`
	}
	path := "/api/v1/resolve?" + url.Values{"name": {handle}}.Encode()
	if _, err := c.GetJSON(ctx, path, &unknown, http.StatusNotFound); err != nil || len(unknown.Alternatives) == 0 {
		return ""
	}
	for i, name := range unknown.Alternatives {
		unknown.Alternatives[i] = format.Visible(name)
	}
	return "\nDid you mean " + strings.Join(unknown.Alternatives, " or ") + "?"
}
