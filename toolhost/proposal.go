package toolhost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gazetteer/call"
	"gazetteer/document"
	"gazetteer/index/entry"
	"gazetteer/protocol/aidiscovery"
	"gazetteer/protocol/altar"
	"gazetteer/store"
)

// ErrNoContract says that there is no contract of a name.
var ErrNoContract = errors.New("there is no such contract")

// ErrNoProposal says that nothing can be proposed.
var ErrNoProposal = errors.New("nothing to propose")

// ErrBlocked says that a host is not visited any more, as its owner or the operator wishes: its
// contracts are suspended, and no new ones are made.
var ErrBlocked = errors.New("the host is blocked")

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
// that are new as proposals. Operations that cannot be called over HTTPS are skipped, with the reason,
// and so are those of documents that are not valid (AI Discovery §4.1, AGIS §11). An operation that two
// documents describe becomes one contract, with its call over HTTP.
func (h *Host) Propose(ctx context.Context, host, operation string) (proposed []Contract, skipped map[string]string, err error) {
	if err := h.checkOwner(ctx, host); err != nil {
		return nil, nil, err
	}
	documents, err := h.documentsOf(ctx, host)
	if err != nil {
		return nil, nil, err
	}
	skipped = map[string]string{}
	detailed := slices.ContainsFunc(documents, func(d document.Document) bool { return d.Kind.HasSchemas() })
	twins := pairTwins(documents)
	if twin, ok := twins.over[operation]; ok {
		operation = twin.ID
	}
	for _, d := range documents {
		if d.Kind.IsSummary() && detailed {
			continue // it names the operations of the full document, without their calls
		}
		from := h.readSource(ctx, d, twins)
		for _, o := range d.Operations {
			if operation != "" && o.ID != operation {
				continue
			}
			if reason := h.reasonToSkip(&d, &o, twins); reason != "" {
				skipped[o.ID] = reason
				continue
			}
			c, err := h.contractOf(from, o, "", proposed)
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
	return proposed, skipped, h.putContracts(ctx, proposed)
}

// reasonToSkip says why no contract of an operation is proposed, "" when one is.
func (h *Host) reasonToSkip(d *document.Document, o *document.Operation, twins twins) string {
	if reason := cmp.Or(reasonAgainst(*o, d.Service), reasonAgainstDocument(d)); reason != "" {
		return reason
	}
	if c := h.findPinned(d.Host, o); c != nil {
		if c.Pin.Operation != o.ID {
			return "it has the same call as the contract " + c.Name + ", of which it is a change"
		}
		return "it has the contract " + c.Name + " already"
	}
	if twin, ok := twins.over[o.ID]; ok && d.Kind == twins.kind {
		return "the contract of " + twin.ID + " calls the same operation over HTTP"
	}
	if twin, ok := twins.of[o.ID]; ok && d.Kind != twins.kind {
		if c := h.findPinned(d.Host, &twin); c != nil && c.State != Revoked {
			return "the contract " + c.Name + " calls the same operation; revoke it first if you prefer the call over HTTP"
		}
	}
	return ""
}

// twins are the operations that two valid documents of a host describe, where the document that yields
// in a search ([entry.FindTwins]) says how to call them over HTTPS.
type twins struct {
	kind document.Kind                 // of the document that remains in a search
	over map[string]document.Operation // by the id in that document, the twin that is called over HTTPS
	of   map[string]document.Operation // by the id of that twin, the operation that remains
}

func pairTwins(documents []document.Document) twins {
	yields, remains, pairs := entry.FindTwins(documents)
	t := twins{over: map[string]document.Operation{}, of: map[string]document.Operation{}}
	if len(pairs) == 0 || reasonAgainstDocument(yields) != "" || reasonAgainstDocument(remains) != "" {
		return t
	}
	t.kind = remains.Kind
	for y, r := range pairs {
		one, other := yields.Operations[y], remains.Operations[r]
		if one.Call.Protocol == "http" && reasonAgainst(one, yields.Service) == "" {
			t.over[other.ID], t.of[one.ID] = one, other
		}
	}
	return t
}

// reasonAgainstDocument says why no operation of a document can be a contract, "" when it can.
func reasonAgainstDocument(d *document.Document) string {
	switch {
	case d.Kind.IsAlias():
		return "its document was found only at /ai, which clients must not treat as valid"
	case !d.Valid():
		return "its document has errors: gazetteer validate " + d.Host + " names them"
	}
	return ""
}

// reasonAgainst says why an operation cannot be a contract, "" when it can.
func reasonAgainst(o document.Operation, s document.Service) string {
	how := call.Of(o, s)
	switch {
	case how.OnlyAGTP != "":
		return "it is called over AGTP, and not over HTTP: " + how.OnlyAGTP
	case len(how.Missing) > 0:
		return "its document does not say " + strings.Join(how.Missing, " and ")
	case how.HTTPBinding == "" && !strings.HasPrefix(how.URL, "https://"):
		return "its address is not https"
	}
	return ""
}

// findPinned returns the contract of an operation, or else one that is not revoked and has the same
// call; nil for none.
func (h *Host) findPinned(host string, o *document.Operation) *Contract {
	var same *Contract
	for _, c := range h.Contracts() {
		if c.Pin == nil || c.Pin.Host != host {
			continue
		}
		if c.Pin.Operation == o.ID {
			return &c
		}
		if c.State != Revoked && hasSameCall(o, &c.Pin.Copy) {
			same = &c
		}
	}
	return same
}

// hasSameCall reports whether two operations are called in the same way. All AGIS operations of a
// service have one address: their calls differ by verb and path.
func hasSameCall(a, b *document.Operation) bool {
	return a.Call.URL != "" && a.Call == b.Call && (a.Call.Protocol == "http" || a.Verb == b.Verb && a.Path == b.Path)
}

// A source is a document that contracts are made from.
type source struct {
	document.Document
	schemas           map[string]json.RawMessage // of inputs, by the pointer of the operation
	requestsPerMinute int
	twins             twins
}

// readSource reads what the text of a document says beyond its operations. When the text has been
// dropped, the parameters of the operations stand alone and the limits of the service itself still
// hold.
func (h *Host) readSource(ctx context.Context, d document.Document, twins twins) source {
	from := source{Document: d, twins: twins}
	text, err := h.o.Store.Get(ctx, store.BlobKey(d.Digest))
	if err != nil {
		return from
	}
	if d.Kind.HasSchemas() {
		from.schemas = call.InputSchemas(text.Value)
	} else if format, ok := document.FormatOf(d.Kind); ok {
		// The error is left alone: a text that is no longer readable declares no limit.
		parsed, _ := format.Parse(text.Value, document.ParseOptions{})
		if ai, ok := parsed.Document.(*aidiscovery.Document); ok {
			from.requestsPerMinute = ai.RateLimits.RequestsPerMinute
		}
	}
	return from
}

// contractOf makes the contract of an operation. name "" finds one that is free. The JSON Schema of the
// document is kept beside the parameters. An operation that declares no effect has that of its twin,
// unless its own words say that it ends something.
func (h *Host) contractOf(from source, o document.Operation, name string, taken []Contract) (Contract, error) {
	tool := call.Tools([]call.ToolSource{{ID: o.ID, Host: from.Host, Service: from.Service, Operation: o, Input: from.schemas[o.Pointer]}})[0]
	if name == "" {
		name = h.freeName(tool.Name, from.Host, taken)
	}
	made, err := altar.ContractOf(altar.MCPTool{Name: name, Description: tool.Description, InputSchema: tool.Input})
	if err != nil {
		return Contract{}, err
	}
	if o.Effect != document.EffectUnknown {
		made.Effect = string(o.Effect)
	} else if twin, ok := from.twins.of[o.ID]; ok && from.Kind != from.twins.kind && twin.Effect != document.EffectUnknown && !isIrreversible(&made) {
		made.Effect = string(twin.Effect)
	}
	note := tool.InputNote
	if from.Kind.HasSchemas() && from.schemas[o.Pointer] == nil {
		note = "the JSON Schema of the document cannot be read, and only names and types of parameters are checked"
	}
	return Contract{Contract: made, Added: h.o.Now().UTC(), InputNote: note, Pin: &Pin{
		Host: from.Host, Kind: from.Kind, Operation: o.ID, Digest: from.Digest, Copy: o, Namespace: from.Service.Namespace, URL: from.URL, RequestsPerMinute: from.requestsPerMinute,
	}}, nil
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

// checkOwner returns [ErrBlocked] for a host that is not visited any more.
func (h *Host) checkOwner(ctx context.Context, host string) error {
	if h.o.Blocked == nil {
		return nil
	}
	blocked, err := h.o.Blocked(ctx, host)
	if err != nil {
		return err
	}
	if blocked {
		return fmt.Errorf("%w: %s", ErrBlocked, suspendedReason(host))
	}
	return nil
}

// checkSuspension refuses a contract if the owner of its host has opted out, or if that is not known.
func (h *Host) checkSuspension(ctx context.Context, c *contract) *altar.Error {
	if c.Pin == nil || h.checkOwner(ctx, c.Pin.Host) == nil {
		return nil
	}
	return altar.Errorf(altar.RuntimeUnavailable, "the contract is suspended: %s", suspendedReason(c.Pin.Host)).With("reason", Suspended)
}

// SuspensionOf returns the error of a call to a contract that is suspended and that a client may
// otherwise call in a session, nil for any other contract.
func (h *Host) SuspensionOf(ctx context.Context, client, sessionID, tool string) *altar.Error {
	h.mu.Lock()
	s, err := h.findSession(client, sessionID, h.o.Now())
	c := h.contracts[tool]
	h.mu.Unlock()
	if err != nil || c == nil || !c.allowsClient(client, s) {
		return nil
	}
	return h.checkSuspension(ctx, c)
}

// suspendedReason says why a contract of a host is suspended.
func suspendedReason(host string) string {
	return host + " is not visited any more, as its owner or the operator wishes"
}
