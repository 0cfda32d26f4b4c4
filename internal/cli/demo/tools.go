package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"gazetteer/api"
	"gazetteer/internal/cli"
	"gazetteer/protocol/altar"
	"gazetteer/toolhost"
)

// toolOperation is the operation of the demo's restaurant that the demo calls through the tool host.
const toolOperation = "FIND /restaurants"

// checkTools creates a contract for an operation that a search finds, approves it and calls it
// through the tool host, whose runtime calls the service.
func (d *demo) checkTools(ctx context.Context) (string, error) {
	operator, ok := cli.NewSocketClient(d.server.Config.DataDir)
	if !ok {
		return "", errors.New("the socket of the data directory does not answer")
	}
	name, err := d.proposeTool(ctx, operator)
	if err != nil {
		return "", err
	}
	var approved toolhost.Contract
	if _, err := operator.SendJSON(ctx, http.MethodPost, "/admin/altar/contracts/"+name+"/approve", api.ApprovalBody{}, nil, &approved); err != nil {
		return "", fmt.Errorf("approve the contract: %w", err)
	}
	var session altar.SessionCreated
	if _, err := operator.SendJSON(ctx, http.MethodPost, "/altar/v1/sessions", altar.CreateSession{}, nil, &session); err != nil {
		return "", fmt.Errorf("open a session: %w", err)
	}
	call := altar.ToolCall{InvocationID: "demo", ToolName: name, Parameters: json.RawMessage(`{"location": "Milan", "party_size": 2}`)}
	var result altar.ToolResult
	if _, err := operator.SendJSON(ctx, http.MethodPost, "/altar/v1/sessions/"+session.SessionID+"/calls", call, nil, &result); err != nil {
		return "", fmt.Errorf("call the tool: %w", err)
	}
	var found struct {
		Restaurants []struct {
			Name string `json:"name"`
		} `json:"restaurants"`
	}
	if err := json.Unmarshal(result.Payload, &found); err != nil || len(found.Restaurants) == 0 {
		return "", fmt.Errorf("the tool returns %s: %w", result.Payload, err)
	}
	return fmt.Sprintf("%s (%s at %s) returns %s", name, toolOperation, demoDomain, found.Restaurants[0].Name), nil
}

// proposeTool returns the name of the contract of toolOperation. An existing directory already has
// the contract.
func (d *demo) proposeTool(ctx context.Context, operator *cli.Client) (string, error) {
	var proposed api.Proposals
	if _, err := operator.SendJSON(ctx, http.MethodPost, "/admin/altar/proposals", api.ProposalBody{Host: demoDomain, Operation: toolOperation}, nil, &proposed); err != nil {
		return "", fmt.Errorf("propose a contract: %w", err)
	}
	var list api.ContractList
	if _, err := operator.GetJSON(ctx, "/admin/altar/contracts", &list); err != nil {
		return "", fmt.Errorf("list the contracts: %w", err)
	}
	i := slices.IndexFunc(list.Contracts, func(c toolhost.ContractStatus) bool {
		return c.Pin != nil && c.Pin.Host == demoDomain && c.Pin.Operation == toolOperation
	})
	if i < 0 {
		return "", fmt.Errorf("no contract of %s: %v", toolOperation, proposed.Skipped)
	}
	return list.Contracts[i].Name, nil
}
