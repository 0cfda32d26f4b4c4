package operatorpages

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"gazetteer/index"
	"gazetteer/toolhost"
	"gazetteer/web/frame"
)

// Contracts is the data of the page of contracts, from the tool host.
type Contracts interface {
	// ContractStatuses returns every contract, in order of name.
	ContractStatuses(ctx context.Context) ([]toolhost.ContractStatus, error)
	// Changes returns the changes that wait for approval, in order of name.
	Changes(ctx context.Context) ([]toolhost.Change, error)
	// Approve approves a contract, or its pending change.
	Approve(ctx context.Context, name string, approval toolhost.Approval) (toolhost.Contract, error)
	// Revoke ends a contract.
	Revoke(ctx context.Context, name string) (toolhost.Contract, error)
	// Runtimes returns the connected runtimes, in order of id.
	Runtimes() []toolhost.RuntimeStatus
}

// maxContractForm is the size of the form of one contract.
const maxContractForm = 4 << 10

type contractsView struct {
	Enabled   bool
	Trouble   string // why the last form was refused
	Waiting   []waitingChange
	Contracts []contractRow
	Runtimes  []runtimeRow
}

// A runtimeRow is one connected runtime.
type runtimeRow struct {
	ID, Identity, Since, Tools string
	Running                    int
}

// A contractRow is one contract with the actions of the operator.
type contractRow struct {
	Name, State, Reason, Allow, Runtimes, Waiting, InputNote string
	Source                                                   contractSource
	Effect                                                   frame.Effect
	CanApprove, CanRevoke                                    bool
}

// A contractSource is the operation that a contract was made from; Calls is the host that it calls if
// that is another one. It is zero for a contract of the operator's own.
type contractSource struct{ Host, Operation, Calls string }

// A waitingChange is a pending change of a contract.
type waitingChange struct {
	Contract, Severity, From, To, Renamed, Digest string
	Gone                                          bool
	Lines                                         []changeLine
}

type changeLine struct{ Severity, Kind, Path, From, To string }

// contractsPage shows every contract, the pending changes, and the connected runtimes.
func (p *Pages) contractsPage(c *gin.Context) (frame.WebPage, error) {
	v, err := p.viewContracts(c.Request.Context())
	return frame.WebPage{Name: "contracts", Title: "Contracts", Body: v}, err
}

func (p *Pages) viewContracts(ctx context.Context) (contractsView, error) {
	v := contractsView{Enabled: p.contracts != nil}
	if !v.Enabled {
		return v, nil
	}
	list, err := p.contracts.ContractStatuses(ctx)
	if err != nil {
		return v, err
	}
	for _, c := range list {
		row := contractRow{
			Name: c.Name, State: c.State, Reason: c.Reason, Effect: effectOf(c), Waiting: c.Waiting, InputNote: c.InputNote, Allow: c.DescribeClients(), Runtimes: c.DescribeRuntimes(),
			CanApprove: c.State == toolhost.Proposed || c.State == toolhost.Revoked, CanRevoke: c.State == toolhost.Approved,
		}
		if c.Pin != nil {
			row.Source = contractSource{c.Pin.Host, c.Pin.Operation, c.Pin.OtherHost()}
		}
		v.Contracts = append(v.Contracts, row)
	}
	for _, r := range p.contracts.Runtimes() {
		v.Runtimes = append(v.Runtimes, runtimeRow{r.ID, r.Identity, r.Connected.Format(time.DateTime), strings.Join(r.Tools, ", "), r.Running})
	}
	changes, err := p.contracts.Changes(ctx)
	if err != nil {
		return v, err
	}
	for _, c := range changes {
		w := waitingChange{Contract: c.Contract, Severity: c.Severity.String(), From: c.From, To: c.To, Renamed: c.Renamed, Digest: c.Digest, Gone: c.To == ""}
		for _, each := range c.Changes {
			w.Lines = append(w.Lines, changeLine{each.Severity.String(), string(each.Kind), each.Path, textOrNone(each.From), textOrNone(each.To)})
		}
		v.Waiting = append(v.Waiting, w)
	}
	return v, nil
}

// effectOf returns the effect of a contract as the cards of operations show it.
func effectOf(c toolhost.ContractStatus) frame.Effect {
	if c.Effect == "" && c.DescribeEffect() != "" {
		return frame.EffectOf(index.Effect{Source: index.EffectInferred, Destructive: true, From: "name or description"})
	}
	return frame.EffectOf(index.Effect{Source: index.EffectDeclared, Value: c.Effect})
}

func textOrNone(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// submitContract approves or revokes a contract. It approves a change only in the form that the
// operator saw; a document that has changed since is shown again.
func (p *Pages) submitContract(c *gin.Context) (frame.WebPage, error) {
	if err := frame.ReadForm(c, maxContractForm); err != nil {
		return frame.WebPage{}, err
	}
	ctx, r := c.Request.Context(), c.Request
	name, digest := r.PostFormValue("name"), r.PostFormValue("digest")
	trouble := ""
	var err error
	switch {
	case p.contracts == nil:
		trouble = "This server has no tool host."
	case r.PostFormValue("do") == "revoke":
		_, err = p.contracts.Revoke(ctx, name)
	case r.PostFormValue("do") == "approve":
		var changes []toolhost.Change
		if changes, err = p.contracts.Changes(ctx); err != nil {
			break
		}
		i := slices.IndexFunc(changes, func(each toolhost.Change) bool { return each.Contract == name })
		if i >= 0 && changes[i].Digest != digest || i < 0 && digest != "" {
			trouble = "The document has changed since this page was shown. Nothing was approved: review the current change."
			break
		}
		_, err = p.contracts.Approve(ctx, name, toolhost.Approval{})
	default:
		trouble = "The form names nothing to do."
	}
	if errors.Is(err, toolhost.ErrNoContract) || errors.Is(err, toolhost.ErrNoProposal) || errors.Is(err, toolhost.ErrBlocked) {
		trouble, err = frame.AsSentence(err.Error()), nil
	}
	if err != nil {
		return frame.WebPage{}, err
	}
	if trouble == "" {
		return frame.WebPage{Status: http.StatusSeeOther, Location: prefix + "contracts"}, nil
	}
	v, err := p.viewContracts(ctx)
	v.Trouble = trouble
	return frame.WebPage{Name: "contracts", Title: "Contracts", Status: http.StatusConflict, Body: v}, err
}
