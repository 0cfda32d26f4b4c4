package transfer

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/store"
)

const (
	maxExportLine    = 1 << 20   // bytes
	maxExport        = 256 << 20 // bytes
	maxExportEntries = 100000
)

// exportLimits limit one line of an export.
var exportLimits = protocol.Limits{Bytes: maxExportLine, Depth: 24, Members: 20000, Number: 32}

// parsedExport is an export that was read and is consistent.
type parsedExport struct {
	head       exportHead
	entries    []registry.HistoryEntry
	raw        [][]byte // the entries as they are stored
	attested   []registry.Attestation
	agent      registry.Agent
	secretHash []byte
	// provedKeys are the keys that have signed something for the agent.
	provedKeys map[string]bool
}

// An ImportResult describes the evidence for an import.
type ImportResult struct {
	Agent registry.Agent `json:"agent"`
	// Origin is the DID host of the registry that exported it.
	Origin  string `json:"origin"`
	Entries int    `json:"entries"` // that were imported
	// Signed is the number of entries with a valid signature of a key of the agent. The others rest
	// on the word of the exporting registry only.
	Signed int `json:"signed"`
	// Notes tell the operator what could not be imported.
	Notes []string `json:"notes"`
}

// Import stores an agent that [Transfer.Export] wrote, with its AIR ID and its whole history, as
// the operator. It verifies the export first: the lines are complete, the entries are chained and
// agree with the record, every change of a key has its signatures, and every signature of the agent
// is valid. It does not adopt what another registry has proved or observed: domains are checked
// again here, and attestations count only if this registry has them. The error is an
// [*registry.Error] that names the line, and a [*registry.Refusal] with [registry.ErrState] when
// the AIR ID or a key is in use.
func (t *Transfer) Import(ctx context.Context, from io.Reader) (ImportResult, error) {
	x, err := readExport(from)
	if err != nil {
		return ImportResult{}, err
	}
	signed, err := x.verifyHistory()
	if err != nil {
		return ImportResult{}, err
	}
	for ctx.Err() == nil {
		result, err := t.storeImport(ctx, x)
		if errors.Is(err, store.ErrConflict) || errors.Is(err, registry.ErrHandleTaken) {
			continue // somebody was first with the handle, a key or the ID: look again
		}
		if err != nil {
			return ImportResult{}, err
		}
		result.Signed = signed
		t.log.Info("agent imported", "air_id", result.Agent.AirID, "origin", result.Origin, "entries", result.Entries, "signed", signed)
		return result, nil
	}
	return ImportResult{}, ctx.Err()
}

// readExport reads the lines in their order.
func readExport(from io.Reader) (*parsedExport, error) {
	lines := bufio.NewScanner(io.LimitReader(from, maxExport+1))
	lines.Buffer(make([]byte, 64<<10), maxExportLine+1)
	lines.Split(scanTerminatedLines)
	x, sum, n, size := &parsedExport{provedKeys: map[string]bool{}}, sha256.New(), 0, 0
	for lines.Scan() {
		text := lines.Bytes()
		n++
		if size += len(text) + 1; size > maxExport {
			return nil, exportError(n, "too-large", "the export is too large", fmt.Sprintf("at most %d bytes are read", maxExport))
		}
		if _, err := protocol.ReadJSON(text, exportLimits); err != nil {
			return nil, exportError(n, "syntax", "it cannot be read", err.Error())
		}
		if n == 1 {
			if err := x.readHead(text); err != nil {
				return nil, err
			}
		} else {
			var l exportLine
			if err := json.Unmarshal(text, &l); err != nil {
				return nil, exportError(n, "type", "it has members of the wrong type", protocol.ClipBytes(err.Error(), registry.MaxQuoted))
			}
			if l.End != 0 {
				return x, x.checkEnd(lines, l, n, sum.Sum(nil))
			}
			if err := x.addLine(l, n); err != nil {
				return nil, err
			}
		}
		sum.Write(text)
		sum.Write([]byte{'\n'})
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, exportError(n+1, "too-large", "the line is too long", fmt.Sprintf("at most %d bytes are read", maxExportLine))
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read an export: %w", err)
	}
	if n == 0 {
		return nil, exportError(1, "empty", "the file is empty", "export the agent again")
	}
	return nil, exportError(n+1, "cut", "the last line is missing", "the file was cut off: export the agent again")
}

// scanTerminatedLines splits the input into lines and requires an end of the last one, so that no
// byte of an export is ignored.
func scanTerminatedLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF {
		return len(data), nil, nil
	}
	return 0, nil, nil
}

func (x *parsedExport) readHead(text []byte) error {
	if err := json.Unmarshal(text, &x.head); err != nil || x.head.Export != exportName {
		return exportError(1, "format", "it is no export of an agent", `it begins with {"export":"`+exportName+`"`)
	}
	if x.head.Version != exportVersion {
		return exportError(1, "version", fmt.Sprintf("the export has version %d", x.head.Version), fmt.Sprintf("this program reads version %d: use the program that wrote it, or a newer one", exportVersion))
	}
	if err := did.CheckAirID(x.head.AirID); err != nil {
		return errorAtLine(1, registry.FieldError("air_id", "", err))
	}
	if _, err := registry.ParseHost(x.head.Registry); err != nil {
		return exportError(1, "registry", "it does not name its registry", "registry is a host, with a port where one is needed")
	}
	if x.head.Entries < 1 || x.head.Entries > maxExportEntries {
		return exportError(1, "count", fmt.Sprintf("it announces %d entries", x.head.Entries), fmt.Sprintf("an agent has 1 to %d", maxExportEntries))
	}
	return nil
}

// storedEntry returns the stored form of an entry: as it was exported, but without texts of an
// attestation, which could not be erased together with the attester.
func storedEntry(exported []byte, e registry.HistoryEntry) ([]byte, error) {
	if e.Attestation == nil || *e.Attestation == e.Attestation.WithoutTexts() {
		return bytes.Clone(exported), nil
	}
	named := e.Attestation.WithoutTexts()
	e.Attestation = &named
	value, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("import entry %d: %w", e.N, err)
	}
	return value, nil
}

// addLine adds a line in the required order: entries, attestations, agent.
func (x *parsedExport) addLine(l exportLine, n int) error {
	switch {
	case x.agent.AirID != "":
		return exportError(n, "order", "it is after the agent", "only the last line may")
	case l.Entry != nil && len(x.attested) == 0 && len(x.entries) < x.head.Entries:
		var e registry.HistoryEntry
		if err := json.Unmarshal(l.Entry, &e); err != nil {
			return exportError(n, "type", "the entry has members of the wrong type", protocol.ClipBytes(err.Error(), registry.MaxQuoted))
		}
		value, err := storedEntry(l.Entry, e)
		if err != nil {
			return err
		}
		x.entries, x.raw = append(x.entries, e), append(x.raw, value)
	case l.Attestation != nil && len(x.entries) == x.head.Entries:
		x.attested = append(x.attested, *l.Attestation)
	case l.Agent != nil && len(x.entries) == x.head.Entries:
		x.agent, x.secretHash = *l.Agent, l.SecretHash
		if x.agent.AirID != x.head.AirID {
			return exportError(n, "air-id", "the agent is not the one of the first line", "do not join exports")
		}
	default:
		return exportError(n, "order", fmt.Sprintf("it is in the wrong place, after %d of %d entries", len(x.entries), x.head.Entries), "the order is entries, attestations, agent")
	}
	return nil
}

// checkEnd checks the last line.
func (x *parsedExport) checkEnd(lines *bufio.Scanner, l exportLine, n int, sum []byte) error {
	switch {
	case x.agent.AirID == "":
		return exportError(n, "order", "the agent is missing before the end", "the file was changed: export the agent again")
	case l.End != n-1 || l.SHA256 != hex.EncodeToString(sum):
		return exportError(n, "digest", "the lines before it are not those that were written", "the file was changed or damaged: export the agent again")
	case lines.Scan():
		return exportError(n+1, "order", "it is after the end", "import one agent at a time")
	}
	return lines.Err()
}

// isErased reports whether the record of an agent holds only what an erasure leaves.
func isErased(record store.Record) bool {
	var agent registry.Agent
	return record.Decode(&agent) == nil && agent.Status == registry.Erased
}

// storeImport stores a verified export.
func (t *Transfer) storeImport(ctx context.Context, x *parsedExport) (ImportResult, error) {
	now := t.registry.Timestamp()
	result := ImportResult{Origin: x.head.Registry, Entries: len(x.entries), Notes: []string{}}
	note := func(format string, a ...any) { result.Notes = append(result.Notes, fmt.Sprintf(format, a...)) }
	switch record, err := t.store.Get(ctx, store.AgentKey(x.head.AirID)); {
	case err == nil && isErased(record):
		return result, &registry.Refusal{Kind: registry.ErrGone, Code: registry.Erased, Message: "the agent " + x.head.AirID + " was erased here",
			Help: "an erasure is permanent, and an AIR ID never assigned twice, so no export brings the agent back: its owner must register a new one"}
	case err == nil:
		return result, &registry.Refusal{Kind: registry.ErrState, Code: "air-id-taken", Message: "the AIR ID " + x.head.AirID + " is in use here", Help: "an agent is never overwritten, and an AIR ID never assigned twice: if it is the same agent, it is already here; if not, its owner must register a new one"}
	case !errors.Is(err, store.ErrNotFound):
		return result, fmt.Errorf("read agent %s: %w", x.head.AirID, err)
	}
	if x.agent.Status == registry.Erased {
		return result, &registry.Refusal{Kind: registry.ErrGone, Code: registry.Erased, Message: "the agent is erased", Help: "nothing is left of it to be imported"}
	}
	c := t.registry.NewChange(x.agent.PublicCopy())
	a := &c.Agent
	a.SecretHash, a.Observed = x.secretHash, nil
	if x.head.Registry != t.registry.Host().Authority() {
		a.Imported, a.Origin = now, cmp.Or(a.Origin, x.head.Registry)
	}
	if to, err := did.ParseWeb(a.MovedTo); err == nil && to.SameHost(t.registry.Host()) {
		a.MovedTo = "" // it has arrived
	}
	if err := t.checkImport(a, x.head.Registry, now); err != nil {
		return result, errorAtLine(len(x.entries)+len(x.attested)+2, err)
	}
	claimed, err := t.keepProofs(ctx, a, x)
	if err != nil {
		return result, err
	}
	switch {
	case claimed:
		note("the history has no proof that the agent holds its key: it counts as claimed until the agent signs here")
	case len(a.SecretHash) == 0 && a.KeyProof == "":
		note("the import has neither a secret nor a proved key: the agent cannot be changed until it signs with its key")
	}
	for i := range a.Domains {
		d := &a.Domains[i]
		if d.Proved() {
			note("the domain %s is checked again", d.Name)
		}
		if *d = (registry.Domain{Name: d.Name, Requested: now, Withdrawn: d.Withdrawn}); !d.Withdrawn.IsZero() {
			d.Checked = d.Withdrawn
		}
	}
	if err := t.keepKnownAttestations(ctx, c, x, note); err != nil {
		return result, err
	}
	if err := t.reserveHandle(ctx, c, note); err != nil {
		return result, err
	}
	if err := t.reserveKeys(ctx, c); err != nil {
		return result, err
	}
	if err := c.AddEntry(registry.HistoryEntry{Event: registry.EventImported, Actor: registry.ActorAdmin, Origin: x.head.Registry, Fields: []string{"agent"}}); err != nil {
		return result, err
	}
	if err := t.writeHistory(ctx, c, x); err != nil {
		return result, err
	}
	result.Agent = c.Agent
	return result, nil
}

// keepProofs keeps the proofs of the keys that the history shows, or that this registry has seen
// before it lost the agent. It reports whether the record has a proof of the current key that neither
// shows.
func (t *Transfer) keepProofs(ctx context.Context, a *registry.Agent, x *parsedExport) (claimed bool, err error) {
	keep := func(key []byte, proof *string) error {
		if *proof == "" {
			return nil
		}
		multikey := did.FormatMultikey(key)
		held, err := t.registry.HoldsKey(ctx, multikey, a.AirID)
		if err == nil && !held && !x.provedKeys[multikey] || !registry.IsKeyProof(*proof) {
			*proof = ""
		}
		return err
	}
	claimed = a.KeyProof != ""
	if err := keep(a.PublicKey, &a.KeyProof); err != nil {
		return false, err
	}
	for i := range a.Retired {
		if err := keep(a.Retired[i].PublicKey, &a.Retired[i].Proof); err != nil {
			return false, err
		}
	}
	return claimed && a.KeyProof == "", nil
}

// checkImport checks a record like a registration, because the source registry may have other
// rules.
func (t *Transfer) checkImport(a *registry.Agent, origin string, now time.Time) error {
	if !slices.Contains([]string{registry.Active, registry.Suspended, registry.Deactivated, registry.Deleted, registry.Merged}, a.Status) {
		return &registry.Error{Field: "status", Code: "value", Message: fmt.Sprintf("its status is %q", protocol.ClipBytes(a.Status, registry.MaxQuoted)), Help: "export the agent again"}
	}
	latest := now.Add(registry.MaxSignatureAhead)
	if a.Updated.After(latest) || a.Created.After(a.Updated) || a.Created.IsZero() || a.KeySince.After(latest) || a.Imported.After(latest) {
		return &registry.Error{Field: "updated", Code: "time", Message: "it was changed in the future, or before it was made", Help: "set the clocks of both machines"}
	}
	if origin != t.registry.Host().Authority() {
		a.HandleLost = nil // there, not here
	}
	if err := checkNamed(a); err != nil {
		return err
	}
	// The ids of its endpoints begin with its DID, which differs here.
	if host, err := registry.ParseHost(origin); err == nil {
		before := did.AgentDID(host, a.AirID).String()
		a.ServiceEndpoints = slices.Clone(a.ServiceEndpoints)
		for i := range a.ServiceEndpoints {
			if rest, ok := strings.CutPrefix(a.ServiceEndpoints[i].ID, before+"#"); ok {
				a.ServiceEndpoints[i].ID = t.registry.DID(a.AirID) + "#" + rest
			}
		}
	}
	return t.registry.CheckRecord(a)
}

// checkNamed checks the registry and the agents that a record names.
func checkNamed(a *registry.Agent) error {
	refuse := func(field string) error {
		return &registry.Error{Field: field, Code: "value", Message: "its " + field + " is not what a registry writes there", Help: "export the agent again"}
	}
	if a.Origin != "" {
		if host, err := registry.ParseHost(a.Origin); err != nil || host.Authority() != a.Origin {
			return refuse("origin")
		}
	}
	if (a.Status == registry.Merged) != (a.MergedInto != "") || a.MergedInto != "" && did.CheckAirID(a.MergedInto) != nil {
		return refuse("merged_into")
	}
	if len(a.Absorbed) > maxAbsorbed || slices.ContainsFunc(a.Absorbed, func(id string) bool { return did.CheckAirID(id) != nil }) {
		return refuse("absorbed")
	}
	if slices.ContainsFunc(a.Retired, func(k registry.RetiredKey) bool { return !isWord(k.By) }) {
		return refuse("retired")
	}
	if lost := a.HandleLost; lost != nil {
		if folded, err := did.FoldHandle(lost.Handle); err != nil || folded != lost.Handle || did.CheckAirID(lost.To) != nil {
			return refuse("handle_lost")
		}
	}
	return nil
}

// keepKnownAttestations keeps the attestations that this registry has.
func (t *Transfer) keepKnownAttestations(ctx context.Context, c *registry.Change, x *parsedExport, note func(string, ...any)) error {
	signatures := map[int]string{}
	for _, a := range x.attested {
		signatures[a.N] = a.Signature
	}
	here := func(numbers []int, mine func(registry.Attestation) bool) (kept []int, err error) {
		for _, n := range numbers {
			a, _, err := t.registry.LoadAttestation(ctx, n)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return nil, err
			}
			if err == nil && mine(a) && a.Signature == signatures[n] {
				kept = append(kept, n)
			}
		}
		return kept, nil
	}
	a, before := &c.Agent, len(c.Agent.Attested)+len(c.Agent.Issued)
	var err error
	if a.Attested, err = here(a.Attested, func(at registry.Attestation) bool { return at.Subject == a.AirID }); err != nil {
		return err
	}
	if a.Issued, err = here(a.Issued, func(at registry.Attestation) bool { return at.Attester == a.AirID }); err != nil {
		return err
	}
	if lost := before - len(a.Attested) - len(a.Issued); lost > 0 {
		note("%d attestations are from another registry: they stay in the history, and do not count here", lost)
	}
	about, err := t.registry.LoadAttestations(ctx, a.Attested)
	a.Standing = registry.SummarizeAttestations(about)
	return err
}

// reserveHandle claims the handle if it is available. The change writes it with everything else.
func (t *Transfer) reserveHandle(ctx context.Context, c *registry.Change, note func(string, ...any)) error {
	handle := c.Agent.Handle
	if handle == "" {
		return nil
	}
	c.Agent.Handle = ""
	if folded, err := did.ClaimHandle(handle); err != nil || folded != handle {
		note("the handle %s cannot be claimed here", protocol.ClipBytes(handle, registry.MaxQuoted))
		return nil
	}
	if t.registry.CheckHandleReserved(c.Agent, handle) != nil {
		note("the handle %s is reserved for this registry", handle)
		return nil
	}
	switch err := t.registry.CheckHandleAvailable(ctx, handle, c.Agent.AirID); {
	case errors.Is(err, registry.ErrHandleTaken):
		note("the handle %s is already in use here", handle)
		return nil
	case err != nil:
		return err
	}
	c.Agent.Handle = handle
	return nil
}

// reserveKeys makes the agent the holder of the keys that it has proved, and of the key of a
// pending recovery.
func (t *Transfer) reserveKeys(ctx context.Context, c *registry.Change) error {
	var keys []string
	for _, k := range c.Agent.Keys() {
		if k.Proof != "" {
			keys = append(keys, did.FormatMultikey(k.PublicKey))
		}
	}
	if p := c.Agent.Recovery; p != nil {
		keys = append(keys, did.FormatMultikey(p.To))
	}
	for _, multikey := range keys {
		w, err := t.registry.ReserveKey(ctx, multikey, c.Agent.AirID)
		if e, ok := errors.AsType[*registry.Refusal](err); ok && e.Code == "key-used" {
			continue // noted as its own still, as after a loss of the agent's record
		}
		if err != nil {
			return err
		}
		c.AddWrite(w)
	}
	return nil
}

// writeHistory writes the agent with its entries. The beginning of a long history is written before
// the rest: it cannot be read without the agent's record, and another attempt writes the same.
func (t *Transfer) writeHistory(ctx context.Context, c *registry.Change, x *parsedExport) error {
	rest := x.raw
	n := 1
	if len(rest) > registry.EntriesPerWrite { // a refused agent leaves nothing
		if err := c.CheckPolicy(ctx); err != nil {
			return err
		}
	}
	for ; len(rest) > registry.EntriesPerWrite; rest = rest[registry.EntriesPerWrite:] {
		var writes []store.Write
		for _, value := range rest[:registry.EntriesPerWrite] {
			writes = append(writes, store.Put(store.EntryKey(c.Agent.AirID, n), value))
			n++
		}
		if _, err := t.store.Apply(ctx, writes...); err != nil {
			return fmt.Errorf("import agent %s: %w", c.Agent.AirID, err)
		}
	}
	for _, value := range rest {
		c.AddWrite(store.Put(store.EntryKey(c.Agent.AirID, n), value))
		n++
	}
	return c.Commit(ctx)
}
