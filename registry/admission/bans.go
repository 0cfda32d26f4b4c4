package admission

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"gazetteer/internal/psl"
	"gazetteer/limit"
	"gazetteer/protocol"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/store"
)

// The block lists of a registry.
const (
	BanKey     = "key"     // a multikey, which no agent takes into use or brings in its history
	BanHandle  = "handle"  // which nobody claims
	BanDomain  = "domain"  // a registrable domain, or a provider's of free names, which no agent names
	BanNetwork = "network" // an IP prefix, from which nobody registers, writes or reports
)

// BanKinds are the kinds of block lists.
var BanKinds = []string{BanKey, BanHandle, BanDomain, BanNetwork}

const (
	maxBans = 100000
)

// A Ban is one entry of the operator's block lists. It applies to later changes: use
// [registry.Registry.Suspend] for agents that already have the key, the handle or the domain.
type Ban struct {
	Kind  string `json:"kind"` // one of the Ban constants
	Value string `json:"value"`
	// Reason is the operator's note. Refused clients do not see it.
	Reason  string    `json:"reason,omitempty"`
	Created time.Time `json:"created"`
	Until   time.Time `json:"until,omitzero"` // zero: until it is lifted
}

// UnmarshalJSON reads an entry. Entries stored by early versions call the kind "sort".
func (b *Ban) UnmarshalJSON(text []byte) error {
	type entry Ban
	var v struct {
		entry
		Sort string `json:"sort"`
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	*b = Ban(v.entry)
	b.Kind = cmp.Or(b.Kind, v.Sort)
	return nil
}

// blockLists caches the block lists.
type blockLists struct {
	// mu is held for reading during a write that the policy admitted, and for writing while the
	// policy or a block list changes. After such a change has returned, no write follows that was
	// admitted by the earlier state.
	mu      sync.RWMutex
	bans    map[[2]string]Ban // by kind and value; nil until they were read
	lengths map[int]int       // of network prefixes: how many have a length
}

// HoldPolicy calls write while neither the policy nor a block list changes, and returns its error.
func (p *Policy) HoldPolicy(ctx context.Context, write func() error) error {
	if err := p.loadBans(ctx); err != nil {
		return err
	}
	p.blockLists.mu.RLock()
	defer p.blockLists.mu.RUnlock()
	return write()
}

// loadBans reads the block lists into the cache once.
func (p *Policy) loadBans(ctx context.Context) error {
	p.blockLists.mu.RLock()
	known := p.blockLists.bans != nil
	p.blockLists.mu.RUnlock()
	if known {
		return nil
	}
	p.blockLists.mu.Lock()
	defer p.blockLists.mu.Unlock()
	bans, lengths := map[[2]string]Ban{}, map[int]int{}
	for record, err := range p.store.List(ctx, store.BanPrefix, "") {
		if err != nil {
			return fmt.Errorf("read the block lists: %w", err) // an entry that cannot be read must not let anybody in
		}
		var b Ban
		if err := record.Decode(&b); err != nil {
			return err
		}
		bans[[2]string{b.Kind, b.Value}] = b
		lengths[b.prefixLength()]++
	}
	p.blockLists.bans, p.blockLists.lengths = bans, lengths
	return nil
}

// prefixLength returns the [prefixLengthKey] of a network; 0 for other kinds.
func (b Ban) prefixLength() int {
	p, err := netip.ParsePrefix(b.Value)
	if b.Kind != BanNetwork || err != nil {
		return 0
	}
	return prefixLengthKey(p.Addr(), p.Bits())
}

func prefixLengthKey(a netip.Addr, bits int) int {
	if a.Is4() {
		return 1000 + bits
	}
	return bits
}

// activeBan returns the entry that applies now. The caller holds mu.
func (g *blockLists) activeBan(kind, value string, now time.Time) (Ban, bool) {
	b, ok := g.bans[[2]string{kind, value}]
	return b, ok && (b.Until.IsZero() || now.Before(b.Until))
}

// checkNetwork refuses a client from a blocked network. The caller holds the policy.
func (p *Policy) checkNetwork(client netip.Addr, now time.Time) error {
	if !client.IsValid() {
		return nil
	}
	client = client.Unmap().WithZone("")
	for bits := range client.BitLen() + 1 {
		if p.blockLists.lengths[prefixLengthKey(client, bits)] == 0 {
			continue
		}
		if b, ok := p.blockLists.activeBan(BanNetwork, netip.PrefixFrom(client, bits).Masked().String(), now); ok {
			return banRefusal(b, "the network "+b.Value+" is on the block list of this registry")
		}
	}
	return nil
}

// CheckAgent refuses an agent whose change brings in a blocked key, handle or domain. The caller
// holds the policy, see [Policy.HoldPolicy].
func (p *Policy) CheckAgent(old, a registry.Agent, now time.Time) error {
	if len(p.blockLists.bans) == 0 {
		return nil
	}
	before := heldKeys(old) // a recovery was checked when it was requested
	for key := range heldKeys(a) {
		if before[key] {
			continue
		}
		if b, ok := p.blockLists.activeBan(BanKey, did.FormatMultikey([]byte(key)), now); ok {
			return banRefusal(b, describeBannedKey(a, key))
		}
	}
	if a.Handle != "" && a.Handle != old.Handle {
		if b, ok := p.blockLists.activeBan(BanHandle, a.Handle, now); ok {
			return banRefusal(b, "the handle "+a.Handle+" is on the block list of this registry")
		}
	}
	named := old.NamedDomains()
	for _, domain := range a.NamedDomains() {
		if slices.Contains(named, domain) {
			continue
		}
		for _, name := range psl.Above(domain) {
			if b, ok := p.blockLists.activeBan(BanDomain, name, now); ok {
				return banRefusal(b, "the domain "+name+" is on the block list of this registry")
			}
		}
	}
	return nil
}

// heldKeys returns the bytes of the keys that an agent has or had, and of that of a pending recovery.
func heldKeys(a registry.Agent) map[string]bool {
	keys := map[string]bool{}
	for _, k := range a.Keys() {
		keys[string(k.PublicKey)] = true
	}
	if a.Recovery != nil {
		keys[string(a.Recovery.To)] = true
	}
	return keys
}

// describeBannedKey says that a key of an agent is on the block list. An import brings keys that the
// agent no longer uses.
func describeBannedKey(a registry.Agent, key string) string {
	for _, k := range a.Retired {
		if string(k.PublicKey) == key {
			return "the key " + did.FormatMultikey(k.PublicKey) + ", which the agent used until " + k.Until.Format(time.RFC3339) + ", is on the block list of this registry"
		}
	}
	return "the key is on the block list of this registry"
}

// IsOf reports whether an agent has the key, the handle or the domain of an entry.
func (b Ban) IsOf(a registry.Agent) bool {
	switch b.Kind {
	case BanKey:
		return len(a.PublicKey) > 0 && did.FormatMultikey(a.PublicKey) == b.Value
	case BanHandle:
		return a.Handle == b.Value
	case BanDomain:
		return slices.ContainsFunc(a.NamedDomains(), func(domain string) bool { return slices.Contains(psl.Above(domain), b.Value) })
	}
	return false
}

func banRefusal(b Ban, message string) error {
	return &registry.Refusal{Kind: registry.ErrForbidden, Code: "banned-" + b.Kind, Message: message, Help: "if that is a mistake, ask the operator of the registry to lift it"}
}

// CheckNetwork refuses a client whose network is blocked. [Admission.Register], [Admission.Report]
// and writes with credentials check it themselves. The error is a [*registry.Refusal] with
// [registry.ErrForbidden].
func (p *Policy) CheckNetwork(ctx context.Context, client netip.Addr) error {
	return p.HoldPolicy(ctx, func() error { return p.checkNetwork(client, p.now()) })
}

// Ban adds an entry to a block list, or replaces it, as the operator. It returns the entry in its
// normal form: a multikey, a folded handle, a registrable domain or that of a provider of free names, or
// the prefix of an address. When
// Ban has returned, nothing that the entry refuses is admitted. The error is an [*registry.Error]
// for a value, and a [*registry.Refusal] with [registry.ErrState] when the lists are full.
func (p *Policy) Ban(ctx context.Context, b Ban) (Ban, error) {
	value, err := normalizeBanValue(b.Kind, b.Value)
	if err != nil {
		return Ban{}, err
	}
	if b.Kind == BanDomain && !psl.HasDomain(value) && !psl.IsProvider(value) {
		return Ban{}, &registry.Error{Field: "value", Code: "value", Message: fmt.Sprintf("Field 'value' is no registrable domain: anybody can register names below %q", value),
			Help: "name the domains one by one, such as evil.example"}
	}
	now := p.recordTime()
	b.Value, b.Created, b.Until = value, now, b.Until.UTC()
	if b.Reason, err = registry.ValidateText("reason", b.Reason, registry.MaxReason, registry.ManyLines); err != nil {
		return Ban{}, err
	}
	if !b.Until.IsZero() && !b.Until.After(now) {
		return Ban{}, &registry.Error{Field: "until", Code: "value", Message: "Field 'until' is in the past", Help: "leave it out to block until further notice"}
	}
	text, err := json.Marshal(b)
	if err != nil {
		return Ban{}, fmt.Errorf("write a block list: %w", err)
	}
	if err := p.loadBans(ctx); err != nil {
		return Ban{}, err
	}
	p.blockLists.mu.Lock()
	defer p.blockLists.mu.Unlock()
	at := [2]string{b.Kind, b.Value}
	_, known := p.blockLists.bans[at]
	if !known && len(p.blockLists.bans) >= maxBans {
		return Ban{}, &registry.Refusal{Kind: registry.ErrState, Code: "bans-many", Message: fmt.Sprintf("the block lists have %d entries", maxBans), Help: "lift old entries; a prefix replaces many addresses"}
	}
	if _, err := p.store.Apply(ctx, store.Put(store.BanKey(b.Kind, b.Value), text)); err != nil {
		return Ban{}, fmt.Errorf("write a block list: %w", err)
	}
	if p.blockLists.bans[at] = b; !known {
		p.blockLists.lengths[b.prefixLength()]++
	}
	p.log.Info("block list extended", "kind", b.Kind, "value", b.Value)
	return b, nil
}

// LiftBan removes an entry from a block list, as the operator. The error is an [*registry.Error]
// for a value, and a [*registry.Refusal] with [registry.ErrNotFound] when there is no such entry.
func (p *Policy) LiftBan(ctx context.Context, kind, value string) (Ban, error) {
	value, err := normalizeBanValue(kind, value)
	if err != nil {
		return Ban{}, err
	}
	if err := p.loadBans(ctx); err != nil {
		return Ban{}, err
	}
	p.blockLists.mu.Lock()
	defer p.blockLists.mu.Unlock()
	at := [2]string{kind, value}
	b, known := p.blockLists.bans[at]
	if !known {
		return Ban{}, &registry.Refusal{Kind: registry.ErrNotFound, Code: "ban-unknown", Message: "the block list has no such entry", Got: value, Help: "write it as the list shows it"}
	}
	if _, err := p.store.Apply(ctx, store.Delete(store.BanKey(kind, value))); err != nil {
		return Ban{}, fmt.Errorf("write a block list: %w", err)
	}
	delete(p.blockLists.bans, at)
	p.blockLists.lengths[b.prefixLength()]--
	p.log.Info("block list shortened", "kind", kind, "value", value)
	return b, nil
}

// Bans returns at most limit entries of one block list, or of all with "", in the order of
// "kind/value", beginning after the given one. Expired entries are included. A limit outside 1 to
// [registry.MaxList] means MaxList. Next is the position of the next list, "" at the end.
func (p *Policy) Bans(ctx context.Context, kind, after string, limit int) (bans []Ban, next string, err error) {
	if limit < 1 || limit > registry.MaxList {
		limit = registry.MaxList
	}
	prefix := store.BanPrefix
	if kind != "" {
		if !slices.Contains(BanKinds, kind) {
			return nil, "", unknownBanKind(kind)
		}
		prefix = store.BansOf(kind)
	}
	if after != "" {
		after = store.BanPrefix + after
	}
	for k, err := range readKept[Ban](ctx, p.store, prefix, after, "list the block lists") {
		if err != nil {
			return nil, "", err
		}
		if len(bans) == limit {
			return bans, next, nil
		}
		bans, next = append(bans, k.value), strings.TrimPrefix(k.Key, store.BanPrefix)
	}
	return bans, "", nil
}

func unknownBanKind(kind string) error {
	return &registry.Error{Field: "kind", Code: "value", Message: "unknown block list " + fmt.Sprintf("%q", protocol.ClipBytes(kind, registry.MaxQuoted)), Help: "it is one of " + strings.Join(BanKinds, ", ")}
}

// normalizeBanValue returns a value in its normal form.
func normalizeBanValue(kind, text string) (string, error) {
	text = strings.TrimSpace(text)
	refuse := func(message, help string) (string, error) {
		return "", &registry.Error{Field: "value", Code: "value", Message: "Field 'value' is no " + kind + ": " + message, Help: help}
	}
	switch kind {
	case BanKey:
		multikey := registry.NormalizeMultikey(text)
		if _, err := did.ParseMultikey(multikey); err != nil {
			return "", registry.FieldError("value", "Invalid key: ", err)
		}
		return multikey, nil
	case BanHandle:
		handle, err := did.FoldHandle(text)
		if err != nil {
			return "", registry.FieldError("value", "Invalid handle: ", err)
		}
		return handle, nil
	case BanDomain:
		name := strings.TrimSuffix(strings.ToLower(text), ".")
		if e, ok := errors.AsType[*did.Error](did.CheckDomain(name)); ok {
			return refuse(e.Message, e.Help)
		}
		return psl.Domain(name), nil
	case BanNetwork:
		return normalizeNetwork(text)
	}
	return "", unknownBanKind(kind)
}

func normalizeNetwork(text string) (string, error) {
	refuse := func(message, help string) (string, error) {
		return "", &registry.Error{Field: "value", Code: "value", Message: "Field 'value' is no network: " + message, Help: help}
	}
	p, err := netip.ParsePrefix(text)
	if a, addrErr := netip.ParseAddr(text); addrErr == nil {
		p = limit.Network(a)
		err = nil
	}
	if err != nil {
		return refuse(protocol.Quote(text)+" cannot be read", "write 192.0.2.0/24, 2001:db8::/48 or one address")
	}
	if p.Addr().Is4In6() {
		return refuse("it is an IPv4 address in IPv6 form", "write it as IPv4")
	}
	least := 16
	if p.Addr().Is4() {
		least = 8
	}
	if p.Bits() < least {
		return refuse(fmt.Sprintf("the prefix is shorter than /%d", least), "to refuse everybody, close registration")
	}
	return p.Masked().String(), nil
}
