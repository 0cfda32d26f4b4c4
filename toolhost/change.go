package toolhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/store"
)

// A Change is what an owner changed behind a contract since it was approved. The contract stays as
// it is until the operator approves the change.
type Change struct {
	Contract string `json:"contract"`
	// Severity is that of the worst change for callers of the operation.
	Severity diff.Severity `json:"severity"`
	Changes  []diff.Change `json:"changes"`
	// From and To are the calls before and after, such as "POST https://example.com/tables"; To is
	// empty when the operation is gone.
	From string `json:"from"`
	To   string `json:"to"`
	// Renamed is the new id of the operation, where it has the same call under another id.
	Renamed string `json:"renamed,omitempty"`
	// Digest is that of the document with the change, "" when the document is gone.
	Digest string `json:"digest,omitempty"`

	next   *Contract // the contract with the change
	reason string    // why the change cannot be approved, "" when it can
}

// Change returns what an owner changed behind a contract, nil when nothing did.
func (h *Host) Change(ctx context.Context, name string) (*Change, error) {
	c, ok := h.Contract(name)
	if !ok {
		return nil, fmt.Errorf("%w: %.80s", ErrNoContract, name)
	}
	if c.Pin == nil {
		return nil, nil
	}
	current, err := h.currentDocument(ctx, c.Pin)
	if err != nil {
		return nil, err
	}
	change := &Change{Contract: name, From: callOf(c.Pin.Copy)}
	if current == nil {
		change.Severity = diff.High
		return change, nil
	}
	if current.Digest == c.Pin.Digest {
		return nil, nil
	}
	change.Digest, change.reason = current.Digest, reasonAgainstDocument(current)
	operation := findOperation(current, c.Pin)
	if operation != nil {
		documents, err := h.documentsOf(ctx, c.Pin.Host)
		if err != nil {
			return nil, err
		}
		next, err := h.contractOf(h.readSource(ctx, *current, pairTwins(documents)), *operation, c.Name, nil)
		if err != nil {
			return nil, err
		}
		next.Allow, next.Runtimes, next.When, next.State, next.Streaming, next.TimeoutMS = c.Allow, c.Runtimes, c.When, c.State, c.Streaming, c.TimeoutMS
		change.next, change.To = &next, callOf(*operation)
		if operation.ID != c.Pin.Operation {
			change.Renamed = operation.ID
		}
	}
	change.Changes, change.Severity = h.compareDocuments(ctx, c.Pin, current)
	if operation != nil && len(change.Changes) == 0 && reflect.DeepEqual(withoutPlace(*operation), withoutPlace(c.Pin.Copy)) {
		return nil, nil // the document changed elsewhere
	}
	return change, nil
}

// withoutPlace returns an operation without its place in the document, and without the samples of its
// parameters, which older pins lack.
func withoutPlace(o document.Operation) document.Operation {
	o.Pointer, o.Parameters = "", slices.Clone(o.Parameters)
	for i := range o.Parameters {
		o.Parameters[i].Sample = ""
	}
	return o
}

func callOf(o document.Operation) string { return strings.TrimSpace(o.Call.Method + " " + o.Call.URL) }

// currentDocument returns the document that a contract came from as it is now, nil when it is gone.
func (h *Host) currentDocument(ctx context.Context, pin *Pin) (*document.Document, error) {
	r, err := h.o.Store.Get(ctx, store.DocumentKey(pin.Host, string(pin.Kind)))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the document of %s: %w", pin.Host, err)
	}
	var d document.Document
	if err := json.Unmarshal(r.Value, &d); err != nil {
		return nil, fmt.Errorf("read %s: %w", r.Key, err)
	}
	return &d, nil
}

// findOperation returns the operation of a pin: that of its id, or else the one with the same call.
func findOperation(d *document.Document, pin *Pin) *document.Operation {
	for i := range d.Operations {
		if d.Operations[i].ID == pin.Operation {
			return &d.Operations[i]
		}
	}
	for i := range d.Operations {
		if hasSameCall(&d.Operations[i], &pin.Copy) {
			return &d.Operations[i]
		}
	}
	return nil
}

// compareDocuments returns what changed for callers of the operation of a pin.
func (h *Host) compareDocuments(ctx context.Context, pin *Pin, current *document.Document) ([]diff.Change, diff.Severity) {
	old, oldErr := h.o.Store.Get(ctx, store.BlobKey(pin.Digest))
	now, nowErr := h.o.Store.Get(ctx, store.BlobKey(current.Digest))
	if oldErr != nil || nowErr != nil {
		return nil, diff.None // the copy of the pin is compared, then
	}
	result, err := diff.Compare(diff.Input{Kind: pin.Kind, URL: pin.URL, Bytes: old.Value}, diff.Input{Kind: pin.Kind, URL: current.URL, Bytes: now.Value})
	if err != nil {
		return nil, diff.None
	}
	var list []diff.Change
	worst := diff.None
	for _, c := range result.Changes {
		if c.Operation != nil && *c.Operation != pin.Operation {
			continue
		}
		list = append(list, c)
		worst = max(worst, c.Severity)
	}
	return list, worst
}

// Changes returns the changes that wait behind all contracts, in order of name.
func (h *Host) Changes(ctx context.Context) ([]Change, error) {
	list := []Change{}
	for _, c := range h.Contracts() {
		if c.Pin == nil || c.State == Revoked {
			continue
		}
		change, err := h.Change(ctx, c.Name)
		if err != nil {
			return nil, err
		}
		if change != nil {
			list = append(list, *change)
		}
	}
	return list, nil
}

// A ContractStatus is a contract as the operator sees it now: its State is [Suspended], with a Reason,
// when its host is not visited any more.
type ContractStatus struct {
	Contract
	// Waiting is the severity of the change that waits for approval, "" when none does.
	Waiting string `json:"waiting,omitempty"`
}

// ContractStatuses returns every contract with its present state, in order of name.
func (h *Host) ContractStatuses(ctx context.Context) ([]ContractStatus, error) {
	list := []ContractStatus{}
	for _, c := range h.Contracts() {
		status := ContractStatus{Contract: c}
		if c.Pin != nil && c.State != Revoked {
			if err := h.checkOwner(ctx, c.Pin.Host); errors.Is(err, ErrBlocked) {
				status.State, status.Reason = Suspended, suspendedReason(c.Pin.Host)
			} else if err != nil {
				return nil, err
			}
			change, err := h.Change(ctx, c.Name)
			if err != nil {
				return nil, err
			}
			if change != nil && status.State != Suspended {
				status.Waiting = change.Severity.String()
			}
		}
		list = append(list, status)
	}
	return list, nil
}

// An Approval says who may use a contract that is approved. A list that is nil leaves the
// contract's own as it is.
type Approval struct {
	Allow    []string // ids of the clients that may call it
	Runtimes []string // ids of the runtime identities that may fulfill it; "any" for every one
}

// Approve approves a proposal or a revoked contract, or takes the change over that waits behind an
// approved one.
func (h *Host) Approve(ctx context.Context, name string, approval Approval) (Contract, error) {
	c, ok := h.Contract(name)
	if !ok {
		return Contract{}, fmt.Errorf("%w: %.80s", ErrNoContract, name)
	}
	change, err := h.Change(ctx, name)
	if err != nil {
		return Contract{}, err
	}
	if change != nil && c.State != Revoked {
		if change.next == nil {
			return Contract{}, fmt.Errorf("%w: %s no longer publishes the operation; revoke the contract", ErrNoProposal, c.Pin.Host)
		}
		if change.reason != "" {
			return Contract{}, fmt.Errorf("%w: the change is not approved, and the contract stays as it is: %s", ErrNoProposal, change.reason)
		}
		c = *change.next
	}
	c.State, c.Reason = Approved, ""
	if approval.Allow != nil {
		c.Allow = approval.Allow
	}
	if approval.Runtimes != nil {
		c.Runtimes = runtimeList(approval.Runtimes)
	}
	if ids, every := c.AllowedRuntimes(); !every {
		c.Runtimes = ids // written down, so that the operator sees it
	}
	return c, h.putContract(ctx, c)
}

// Revoke ends a contract: it cannot be called any more.
func (h *Host) Revoke(ctx context.Context, name string) (Contract, error) {
	c, ok := h.Contract(name)
	if !ok {
		return Contract{}, fmt.Errorf("%w: %.80s", ErrNoContract, name)
	}
	c.State = Revoked
	return c, h.putContract(ctx, c)
}
