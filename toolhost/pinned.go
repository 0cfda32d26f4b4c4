package toolhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"gazetteer/call"
	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/altar"
	"gazetteer/store"
)

// ErrNoContract says that there is no contract of a name.
var ErrNoContract = errors.New("there is no such contract")

// ErrNoProposal says that nothing can be proposed.
var ErrNoProposal = errors.New("nothing to propose")

// A Change is what an owner changed behind a contract since it was approved. The contract stays as it is
// until the operator approves the change.
type Change struct {
	Contract string `json:"contract"`
	// Severity is that of the worst change for those who call the operation.
	Severity diff.Severity `json:"severity"`
	Changes  []diff.Change `json:"changes"`
	// From and To are the calls before and after, such as "POST https://example.com/tables"; To is empty
	// when the operation is gone.
	From string `json:"from"`
	To   string `json:"to"`
	// Renamed is the new id of the operation, where it has the same call under another id.
	Renamed string `json:"renamed,omitempty"`
	// Digest is that of the document with the change, "" when the document is gone.
	Digest string `json:"digest,omitempty"`

	next *Contract // the contract with the change
}

// documentsOf returns the current documents of a host.
func (h *Host) documentsOf(ctx context.Context, host string) ([]document.Document, error) {
	var list []document.Document
	for r, err := range h.o.Store.List(ctx, store.DocumentsOf(host), "") {
		if err != nil {
			return nil, fmt.Errorf("read the documents of %s: %w", host, err)
		}
		var d document.Document
		if err := json.Unmarshal(r.Value, &d); err != nil {
			return nil, fmt.Errorf("read %s: %w", r.Key, err)
		}
		list = append(list, d)
	}
	return list, nil
}

// Propose makes contracts of the operations that a host publishes, or of one of them, and stores those
// that are new as proposals. Operations that cannot be called over HTTPS are skipped, with the reason.
func (h *Host) Propose(ctx context.Context, host, operation string) (proposed []Contract, skipped map[string]string, err error) {
	if err := h.checkOwner(ctx, host); err != nil {
		return nil, nil, err
	}
	documents, err := h.documentsOf(ctx, host)
	if err != nil {
		return nil, nil, err
	}
	skipped = map[string]string{}
	for _, d := range documents {
		for _, o := range d.Operations {
			if operation != "" && o.ID != operation {
				continue
			}
			if reason := reasonAgainst(o, d.Service); reason != "" {
				skipped[o.ID] = reason
				continue
			}
			if name, known := h.findPinned(d.Host, o.ID); known {
				skipped[o.ID] = "the contract " + name + " is there already"
				continue
			}
			c, err := h.contractOf(ctx, d, o, "", proposed)
			if err != nil {
				skipped[o.ID] = err.Error()
				continue
			}
			c.State = Proposed
			proposed = append(proposed, c)
		}
	}
	if len(proposed) == 0 && len(skipped) == 0 {
		return nil, nil, fmt.Errorf("%w: %s publishes no such operation that was crawled", ErrNoProposal, host)
	}
	return proposed, skipped, h.PutContracts(ctx, proposed)
}

// reasonAgainst says why an operation cannot be a contract, "" when it can.
func reasonAgainst(o document.Operation, s document.Service) string {
	how := call.Of(o, s)
	switch {
	case how.OnlyAGTP != "":
		return "it is called over AGTP, and not over HTTP: " + how.OnlyAGTP
	case len(how.Missing) > 0:
		return "its document does not tell " + strings.Join(how.Missing, " and ")
	case how.HTTPBinding == "" && !strings.HasPrefix(how.URL, "https://"):
		return "it is not called over HTTPS"
	}
	return ""
}

// findPinned returns the contract of an operation.
func (h *Host) findPinned(host, operation string) (name string, found bool) {
	for _, c := range h.Contracts() {
		if c.Pin != nil && c.Pin.Host == host && c.Pin.Operation == operation {
			return c.Name, true
		}
	}
	return "", false
}

// contractOf makes the contract of an operation. name "" finds one that is free.
func (h *Host) contractOf(ctx context.Context, d document.Document, o document.Operation, name string, taken []Contract) (Contract, error) {
	tool := call.Tools([]call.Offer{{ID: o.ID, Host: d.Host, Service: d.Service, Operation: o}})[0]
	if name == "" {
		name = h.freeName(tool.Name, d.Host, taken)
	}
	made, err := altar.ContractOf(altar.MCPTool{Name: name, Description: tool.Description, InputSchema: tool.Input})
	if err != nil {
		return Contract{}, err
	}
	if o.Effect != document.EffectUnknown {
		made.Effect = string(o.Effect)
	}
	return Contract{Contract: made, Added: time.Now().UTC(), Pin: &Pin{Host: d.Host, Kind: d.Kind, Operation: o.ID, Digest: d.Digest, Copy: o, Namespace: d.Service.Namespace, URL: d.URL, RequestsPerMinute: h.readRate(ctx, d)}}, nil
}

// readRate returns how many requests per minute a document allows, 0 when it does not say.
func (h *Host) readRate(ctx context.Context, d document.Document) int {
	if d.Kind != document.AI {
		return 0 // AGIS declares none
	}
	r, err := h.o.Store.Get(ctx, store.BlobKey(d.Digest))
	if err != nil {
		return 0 // the text has been dropped; the limits of the service itself still hold
	}
	parsed, _, err := aidiscovery.Parse(r.Value, aidiscovery.Options{})
	if err != nil {
		return 0
	}
	return parsed.RateLimits.RequestsPerMinute
}

// freeName returns a name that no contract has.
func (h *Host) freeName(name, host string, taken []Contract) string {
	used := func(name string) bool {
		_, known := h.Contract(name)
		for _, c := range taken {
			known = known || c.Name == name
		}
		return known
	}
	if !used(name) {
		return name
	}
	suffix := "_" + strings.NewReplacer(".", "_", ":", "_").Replace(host)
	name = name[:min(len(name), max(64-len(suffix), 8))] + suffix
	name = name[:min(len(name), 60)]
	for i, base := 2, name; used(name); i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	return name
}

// checkOwner refuses a host whose owner has opted out.
func (h *Host) checkOwner(ctx context.Context, host string) error {
	if h.o.Blocked == nil {
		return nil
	}
	blocked, err := h.o.Blocked(ctx, host)
	if err != nil {
		return err
	}
	if blocked {
		return fmt.Errorf("%w: %s", ErrNoProposal, suspendedReason(host))
	}
	return nil
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
	change.Digest = current.Digest
	operation := findOperation(current, c.Pin)
	if operation != nil {
		next, err := h.contractOf(ctx, *current, *operation, c.Name, nil)
		if err != nil {
			return nil, err
		}
		next.Allow, next.When, next.State, next.Streaming, next.TimeoutMS = c.Allow, c.When, c.State, c.Streaming, c.TimeoutMS
		change.next, change.To = &next, callOf(*operation)
		if operation.ID != c.Pin.Operation {
			change.Renamed = operation.ID
		}
	}
	change.Changes, change.Severity = h.compare(ctx, c.Pin, current)
	if operation != nil && len(change.Changes) == 0 && reflect.DeepEqual(withoutPlace(*operation), withoutPlace(c.Pin.Copy)) {
		return nil, nil // the document changed elsewhere
	}
	return change, nil
}

// withoutPlace returns an operation without its place in the document.
func withoutPlace(o document.Operation) document.Operation {
	o.Pointer = ""
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
		if d.Operations[i].Call == pin.Copy.Call {
			return &d.Operations[i]
		}
	}
	return nil
}

// compare returns what changed for those who call the operation of a pin.
func (h *Host) compare(ctx context.Context, pin *Pin, current *document.Document) ([]diff.Change, diff.Severity) {
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

// ContractStatuses returns every contract with how it stands now, in order of name.
func (h *Host) ContractStatuses(ctx context.Context) ([]ContractStatus, error) {
	list := []ContractStatus{}
	for _, c := range h.Contracts() {
		status := ContractStatus{Contract: c}
		if c.Pin != nil && c.State != Revoked {
			if err := h.checkOwner(ctx, c.Pin.Host); errors.Is(err, ErrNoProposal) {
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

// suspendedReason says why a contract of a host is suspended.
func suspendedReason(host string) string {
	return host + " is not visited any more: its owner or the operator has asked for that"
}

// Approve approves a proposal or a revoked contract, or takes the change over that waits behind an
// approved one.
func (h *Host) Approve(ctx context.Context, name string, allow []string) (Contract, error) {
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
			return Contract{}, fmt.Errorf("%w: %s publishes the operation no more; revoke the contract", ErrNoProposal, c.Pin.Host)
		}
		c = *change.next
	}
	c.State, c.Reason = Approved, ""
	if allow != nil {
		c.Allow = allow
	}
	return c, h.PutContract(ctx, c)
}

// Revoke ends a contract: it cannot be called any more.
func (h *Host) Revoke(ctx context.Context, name string) (Contract, error) {
	c, ok := h.Contract(name)
	if !ok {
		return Contract{}, fmt.Errorf("%w: %.80s", ErrNoContract, name)
	}
	c.State = Revoked
	return c, h.PutContract(ctx, c)
}
