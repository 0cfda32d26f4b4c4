package cli

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"gazetteer/api/air"
	"gazetteer/internal/exit"
	"gazetteer/lint/format"
)

// ExplainUnknownAgent names the agent in the error of an unknown one, with similar agents and the next
// command. Other errors stay as they are.
func (a *App) ExplainUnknownAgent(ctx context.Context, c *Client, name string, err error) error {
	if refused, ok := errors.AsType[*RefusedError](err); !ok || refused.Code != "no-agent" || !strings.HasPrefix(err.Error(), "Agent not found") {
		return err // a registration that waits is not found either, for a reason of its own
	}
	return exit.NotFoundf("no agent is known as %s%s\nThe agents here: %s", format.Visible(name), SuggestAgents(ctx, c, name), a.FormatCommand("agents"))
}

// SuggestAgents returns a line with up to three agents whose record contains a word, "" for none.
func SuggestAgents(ctx context.Context, c *Client, word string) string {
	var page air.AgentList
	query := url.Values{"q": {strings.TrimPrefix(word, "@")}, "limit": {"3"}}
	if _, err := c.GetJSON(ctx, "/api/v1/agents?"+query.Encode(), &page); err != nil {
		return ""
	}
	var found []string
	for _, g := range page.Agents {
		found = append(found, format.Visible(page.Name(g.AirID))+" ("+format.Visible(g.Name)+")")
	}
	if found == nil {
		return ""
	}
	return "\nDid you mean " + strings.Join(found, " or ") + "?"
}
