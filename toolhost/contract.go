package toolhost

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"gazetteer/document"
	"gazetteer/protocol/altar"
	"gazetteer/protocol/effect"
	"gazetteer/store"
)

// The states of a contract.
const (
	Proposed  = "proposed"  // waits for the operator
	Approved  = "approved"  // may be called
	Revoked   = "revoked"   // the operator has ended it
	Suspended = "suspended" // the owner of its host has opted out
)

// A Contract is what the operator has decided about a tool: the Altar contract and who may call it. It
// is stored as JSON at contract/{name}.
type Contract struct {
	altar.Contract
	// Allow lists the ids of the clients that may call it: nil for every client, "*" for every client,
	// empty for none.
	Allow []string `json:"allow,omitzero"`
	// Runtimes lists the ids of the runtime identities that may fulfill it; "*" means all of them.
	// Nil means all for a contract that the operator wrote, and only [HTTPRuntime] for one with a
	// Pin.
	Runtimes []string `json:"runtimes,omitzero"`
	// When restricts it to some sessions; nil for none.
	When  *Condition `json:"when,omitempty"`
	State string     `json:"state"`
	// InputNote says what the contract does not check of the document's input; "" when it checks all.
	InputNote string `json:"input_note,omitempty"`
	// Reason says why it is in this state, where there is one.
	Reason string    `json:"reason,omitempty"`
	Added  time.Time `json:"added"`
	// Pin ties it to the document that it came from; nil for a contract of the operator's own.
	Pin *Pin `json:"pin,omitempty"`
}

// HTTPRuntime is the id of the runtime inside the program. No runtime from outside can have it.
const HTTPRuntime = "http"

// Words of the lists of runtimes and clients that stand for every id.
const (
	everyID    = "*"
	anyRuntime = "any" // as the operator writes it
)

// runtimeList returns a list of runtimes as it is stored.
func runtimeList(ids []string) []string {
	if slices.Contains(ids, anyRuntime) {
		return []string{everyID}
	}
	return ids
}

// AllowedRuntimes returns the ids of the runtime identities that may fulfill the contract, and true when
// every one may.
func (c *Contract) AllowedRuntimes() (ids []string, every bool) {
	if c.Runtimes == nil && c.Pin != nil {
		return []string{HTTPRuntime}, false
	}
	return c.Runtimes, c.Runtimes == nil || slices.Contains(c.Runtimes, everyID)
}

// DescribeClients says who may call the contract.
func (c *Contract) DescribeClients() string {
	return describeIDs("client", c.Allow, c.Allow == nil || slices.Contains(c.Allow, everyID))
}

// DescribeEffect names the effect of the contract: the declared one, or irreversible where calls need a
// confirmation because of the name or the description. "" when nothing is known.
func (c *Contract) DescribeEffect() string {
	if c.Effect == "" && isIrreversible(&c.Contract) {
		return altar.Irreversible + " by its name or description"
	}
	return c.Effect
}

// DescribeRuntimes says who may execute the contract.
func (c *Contract) DescribeRuntimes() string {
	ids, every := c.AllowedRuntimes()
	return describeIDs("runtime", ids, every)
}

func describeIDs(kind string, ids []string, every bool) string {
	switch {
	case every:
		return "every " + kind
	case len(ids) == 0:
		return "no " + kind
	}
	return strings.Join(ids, ", ")
}

// A Condition is what a session must have for a contract to be callable in it. The tenant of a session
// is one of those of its client's identity.
type Condition struct {
	TenantID string `json:"tenant_id,omitempty"`
}

// A Pin names the operation of a document that a contract was made from, and keeps a copy of it, so
// that a change of the document does not change the contract.
type Pin struct {
	Host      string             `json:"host"`
	Kind      document.Kind      `json:"kind"`
	Operation string             `json:"operation"` // the ID in the document
	Digest    string             `json:"digest"`    // of the document
	Copy      document.Operation `json:"copy"`
	Namespace string             `json:"namespace,omitempty"` // AGIS vocabulary.namespace, for the HTTP binding
	// URL is where the document came from.
	URL string `json:"url"`
	// RequestsPerMinute is the rate that the document declares (AI Discovery 3.6); 0 when it
	// declares none.
	RequestsPerMinute int `json:"requests_per_minute,omitempty"`
}

// DescribeSource says what a contract was made from, and which host it calls if that is another one: a
// credential of that host goes there.
func (p *Pin) DescribeSource() string {
	source := p.Host + " " + p.Operation
	if host := p.OtherHost(); host != "" {
		source += ", which calls " + host
	}
	return source
}

// OtherHost returns the host that a contract calls, "" if it is the one that published the operation.
func (p *Pin) OtherHost() string {
	u, err := url.Parse(p.Copy.Call.URL)
	if err != nil || u.Host == p.Host {
		return ""
	}
	return u.Host
}

// ContractFile is a contract as an operator's file has it: a contract that is approved as it is added.
type ContractFile struct {
	altar.Contract
	Allow    []string   `json:"allow,omitzero"`
	Runtimes []string   `json:"runtimes,omitzero"`
	When     *Condition `json:"when,omitempty"`
}

// maxContracts bounds the contracts of one Host.
const maxContracts = 10_000

// ReadContracts reads a JSON list of contracts, strictly. One without parameters gets those of its JSON
// Schema, if it has one.
func ReadContracts(text []byte) ([]ContractFile, error) {
	value, err := altar.ReadValue(text)
	if err != nil {
		return nil, fmt.Errorf("the contracts are not well-formed JSON: %w", err)
	}
	if err := refuseNullMembers(value); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var list []ContractFile
	if err := decoder.Decode(&list); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok { // its text names types of Go
			return nil, fmt.Errorf("want a JSON list of contracts, with members as docs/altar.md has them; found %s at byte %d (%s)", wrong.Value, wrong.Offset, cmp.Or(wrong.Field, "the list"))
		}
		return nil, fmt.Errorf("want a JSON list of contracts: %w", err)
	}
	if len(list) == 0 {
		return nil, errors.New("the list has no contract")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the list of contracts")
	}
	names := map[string]bool{}
	for i := range list {
		if list[i].Parameters == nil && list[i].InputSchema != nil {
			var err error
			if list[i].Parameters, err = altar.ParametersOf(list[i].InputSchema); err != nil {
				return nil, fmt.Errorf("contract %d: input_schema: %w", i+1, err)
			}
		}
		if err := list[i].Check(); err != nil {
			return nil, fmt.Errorf("contract %d: %w", i+1, err)
		}
		if names[list[i].Name] {
			return nil, fmt.Errorf("contract %d: the name %s is there twice", i+1, list[i].Name)
		}
		names[list[i].Name] = true
	}
	return list, nil
}

// refuseNullMembers refuses a contract with a member that is null: as allow, it would mean everyone
// where a program meant nobody.
func refuseNullMembers(value any) error {
	list, _ := value.([]any)
	for i, each := range list {
		members, _ := each.(map[string]any)
		for name, v := range members {
			if v == nil {
				return fmt.Errorf("contract %d: %.140q is null: leave the member out instead", i+1, name)
			}
		}
	}
	return nil
}

// contract is a contract that may be called, with the values that are derived from it.
type contract struct {
	Contract
	schema       *jsonschema.Schema // nil without an InputSchema
	irreversible bool
	digest       [sha256.Size]byte // of all of the contract
}

// compileContract prepares a contract for calls.
func compileContract(c Contract) (*contract, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("contract %s: %w", c.Name, err)
	}
	out := &contract{Contract: c, irreversible: isIrreversible(&c.Contract), digest: sha256.Sum256(text)}
	if c.InputSchema == nil {
		return out, nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.InputSchema))
	if err != nil {
		return nil, fmt.Errorf("contract %s: input_schema: %w", c.Name, err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(refuseLoader{})
	const at = "contract:input"
	if err := compiler.AddResource(at, doc); err != nil {
		return nil, fmt.Errorf("contract %s: input_schema: %w", c.Name, err)
	}
	if out.schema, err = compiler.Compile(at); err != nil {
		return nil, fmt.Errorf("contract %s: input_schema: %w", c.Name, err)
	}
	return out, nil
}

// refuseLoader loads nothing: a schema with references to other documents is refused.
type refuseLoader struct{}

func (refuseLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %s; want a schema without references to other documents", url)
}

// isIrreversible reports whether the effect of a contract cannot be undone: it is declared so, or
// it is not declared and the first word of the name, or the main verb of the description, is one of
// deletion or ending.
func isIrreversible(c *altar.Contract) bool {
	switch c.Effect {
	case altar.Irreversible:
		return true
	case "":
	default:
		return false
	}
	for i, r := range c.Name {
		if r == '_' || r == '-' || i > 0 && unicode.IsUpper(r) {
			if effect.Of(strings.ToUpper(c.Name[:i])) == effect.End {
				return true
			}
			break
		}
	}
	return effect.Of(strings.ToUpper(c.Name)) == effect.End || effect.Of(effect.Compare(anyMethod, c.Description).Verb) == effect.End
}

// anyMethod is a method that no verb contradicts, so that effect.Compare only finds the main verb of a
// description.
const anyMethod = "DO"

// allowsClient reports whether a client may call the contract in a session.
func (c *contract) allowsClient(client string, s *session) bool {
	if !listAllows(c.Allow, client) {
		return false
	}
	return c.When == nil || c.When.TenantID == "" || c.When.TenantID == s.tenant
}

// allowsRuntime reports whether a runtime may fulfill the contract.
func (c *contract) allowsRuntime(r *Runtime) bool {
	ids, every := c.AllowedRuntimes()
	return every || slices.Contains(ids, r.identity.ID)
}

// listAllows reports whether a list names an id: nil and "*" stand for every id.
func listAllows(list []string, id string) bool {
	return list == nil || slices.Contains(list, id) || slices.Contains(list, everyID)
}

// checkParameters checks parameters against the contract and its JSON Schema.
func (c *contract) checkParameters(v any) *altar.Error {
	if err := c.CheckParameters(v); err != nil {
		return c.suggestParameters(err, v)
	}
	if c.schema == nil {
		return nil
	}
	err := c.schema.Validate(jsonValue(v))
	if err == nil {
		return nil
	}
	var problems []altar.Problem
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		problems = appendProblems(problems, invalid)
	}
	if len(problems) == 0 {
		problems = []altar.Problem{{Message: err.Error()}}
	}
	return altar.ParametersError(problems)
}

// appendProblems appends the innermost causes of a validation error.
func appendProblems(list []altar.Problem, e *jsonschema.ValidationError) []altar.Problem {
	if len(list) >= 20 {
		return list
	}
	if len(e.Causes) == 0 {
		path := ""
		for _, part := range e.InstanceLocation {
			path += "/" + escapePointer(part)
		}
		if missing, ok := e.ErrorKind.(*kind.Required); ok {
			for _, name := range missing.Missing {
				list = append(list, altar.Problem{Path: path + "/" + escapePointer(name), Message: "is missing"})
			}
			return list
		}
		message := e.Error()
		if _, after, found := strings.Cut(message, "': "); found {
			message = after
		}
		return append(list, altar.Problem{Path: path, Message: message})
	}
	for _, cause := range e.Causes {
		list = appendProblems(list, cause)
	}
	return list
}

func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// jsonValue returns a value with the numbers of encoding/json, which the validator knows.
func jsonValue(v any) any {
	switch v := v.(type) {
	case altar.Number:
		return json.Number(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = jsonValue(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = jsonValue(v[i])
		}
		return out
	}
	return v
}

// loadContracts reads the contracts of the store.
func (h *Host) loadContracts(ctx context.Context) error {
	for r, err := range h.o.Store.List(ctx, store.ContractPrefix, "") {
		if store.Damaged(r, err) {
			h.o.Log.Error("a contract is damaged and cannot be called", "key", r.Key, "error", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("read the contracts: %w", err)
		}
		var c Contract
		if err := json.Unmarshal(r.Value, &c); err != nil {
			return fmt.Errorf("read %s: %w", r.Key, err)
		}
		h.setContract(c)
	}
	return nil
}

// setContract replaces the contract of this name in memory. One that cannot be compiled cannot be
// called.
func (h *Host) setContract(c Contract) {
	compiled, err := compileContract(c)
	if err != nil {
		h.o.Log.Error("a contract cannot be called", "contract", c.Name, "error", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known[c.Name] = c
	if err != nil || c.State != Approved {
		delete(h.contracts, c.Name)
		return
	}
	h.contracts[c.Name] = compiled
}

// putContract stores a contract in place of one with its name and enables it if it is approved.
// Runtimes are asked again which tools they can execute.
func (h *Host) putContract(ctx context.Context, c Contract) error {
	return h.putContracts(ctx, []Contract{c})
}

// putContracts is [Host.putContract] for several, all or none.
func (h *Host) putContracts(ctx context.Context, list []Contract) error {
	var writes []store.Write
	for i := range list {
		if err := list[i].Check(); err != nil {
			return err
		}
		if _, err := compileContract(list[i]); err != nil {
			return err
		}
		text, err := json.Marshal(list[i])
		if err != nil {
			return fmt.Errorf("write contract %s: %w", list[i].Name, err)
		}
		writes = append(writes, store.Put(store.ContractKey(list[i].Name), text))
	}
	h.changing.Lock()
	defer h.changing.Unlock()
	if len(h.Contracts())+len(list) > maxContracts {
		return fmt.Errorf("there would be more than %d contracts", maxContracts)
	}
	if len(writes) == 0 {
		return nil
	}
	if _, err := h.o.Store.Apply(ctx, writes...); err != nil {
		return fmt.Errorf("store the contracts: %w", err)
	}
	for _, c := range list {
		h.setContract(c)
	}
	h.requestFulfillment()
	return nil
}

// AddContracts stores contracts of the operator's own and approves them.
func (h *Host) AddContracts(ctx context.Context, list []ContractFile) error {
	contracts := make([]Contract, len(list))
	for i, f := range list {
		contracts[i] = Contract{Contract: f.Contract, Allow: f.Allow, Runtimes: runtimeList(f.Runtimes), When: f.When, State: Approved, Added: h.o.Now().UTC()}
	}
	return h.putContracts(ctx, contracts)
}

// Contracts returns every contract, in order of name.
func (h *Host) Contracts() []Contract {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.SortedFunc(maps.Values(h.known), func(a, b Contract) int { return strings.Compare(a.Name, b.Name) })
}

// Contract returns a contract by name, and false when there is none.
func (h *Host) Contract(name string) (Contract, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.known[name]
	return c, ok
}
