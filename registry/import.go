package registry

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
	"reflect"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/did"
	"gazetteer/store"
)

const (
	maxExportLine    = 1 << 20   // bytes
	maxExport        = 256 << 20 // bytes
	maxExportEntries = 100000
)

// exportLimits bound one line of an export.
var exportLimits = protocol.Limits{Bytes: maxExportLine, Depth: 24, Members: 20000, Number: 32}

// An export that was read and found to agree with itself.
type parsedExport struct {
	head       exportHead
	entries    []Entry
	raw        [][]byte // the entries as they are stored
	attested   []Attestation
	agent      Agent
	secretHash []byte
	// provedKeys are the keys that have signed something of the agent.
	provedKeys map[string]bool
}

// An Imported says what an import rests on.
type ImportResult struct {
	Agent Agent `json:"agent"`
	// Origin is the DID host of the registry that exported it.
	Origin  string `json:"origin"`
	Entries int    `json:"entries"` // that were imported
	// Signed is how many of them a key of the agent has signed, and that hold. For
	// the others there is only the word of the registry that exported them.
	Signed int `json:"signed"`
	// Notes say what could not be taken over, for a person.
	Notes []string `json:"notes"`
}

// Import stores an agent that [Registry.Export] wrote, with its AIR ID and its
// whole history, as the operator. It is verified first: the lines are whole, the
// entries are chained and agree with the record, a key takes the place of another
// only where the history holds the signatures for it, and every signature of the
// agent verifies. What another registry has proved or observed is not: its
// domains are looked at here, and attestations count only if this registry has
// them. The error is an [*Error] that names the line, and a [*Refusal] with
// [ErrState] when the AIR ID or a key is in use.
func (r *Registry) Import(ctx context.Context, from io.Reader) (ImportResult, error) {
	x, err := readExport(from)
	if err != nil {
		return ImportResult{}, err
	}
	signed, err := x.verifyHistory()
	if err != nil {
		return ImportResult{}, err
	}
	for ctx.Err() == nil {
		result, err := r.storeImport(ctx, x)
		if errors.Is(err, store.ErrConflict) || errors.Is(err, ErrHandleTaken) {
			continue // somebody was first with the handle, a key or the ID: look again
		}
		if err != nil {
			return ImportResult{}, err
		}
		result.Signed = signed
		r.log.Info("agent imported", "air_id", result.Agent.AirID, "origin", result.Origin, "entries", result.Entries, "signed", signed)
		return result, nil
	}
	return ImportResult{}, ctx.Err()
}

// readExport reads the lines, in their order.
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
				return nil, exportError(n, "type", "it has members of the wrong type", clipText(err.Error()))
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
	return nil, exportError(n+1, "cut", "the last line is missing", "the file was cut off: export the agent again")
}

// scanTerminatedLines splits into lines, of which the last must end too, so that no byte of
// an export goes unseen.
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
		return errorAtLine(1, fieldError("air_id", "", err))
	}
	if _, err := parseHost(x.head.Registry); err != nil {
		return exportError(1, "registry", "it does not name the registry that it comes from", "registry is a host, with a port where one is needed")
	}
	if x.head.Entries < 1 || x.head.Entries > maxExportEntries {
		return exportError(1, "count", fmt.Sprintf("it announces %d entries", x.head.Entries), fmt.Sprintf("an agent has 1 to %d", maxExportEntries))
	}
	return nil
}

// addLine takes a line in its place: entries, attestations, the agent.
func (x *parsedExport) addLine(l exportLine, n int) error {
	switch {
	case x.agent.AirID != "":
		return exportError(n, "order", "it stands behind the agent", "only the last line may")
	case l.Entry != nil && len(x.attested) == 0 && len(x.entries) < x.head.Entries:
		var e Entry
		if err := json.Unmarshal(l.Entry, &e); err != nil {
			return exportError(n, "type", "the entry has members of the wrong type", clipText(err.Error()))
		}
		x.entries, x.raw = append(x.entries, e), append(x.raw, bytes.Clone(l.Entry))
	case l.Attestation != nil && len(x.entries) == x.head.Entries:
		x.attested = append(x.attested, *l.Attestation)
	case l.Agent != nil && len(x.entries) == x.head.Entries:
		x.agent, x.secretHash = *l.Agent, l.SecretHash
		if x.agent.AirID != x.head.AirID {
			return exportError(n, "air-id", "the agent is another than the first line says", "do not join exports")
		}
	default:
		return exportError(n, "order", fmt.Sprintf("it stands where it does not belong, behind %d of %d entries", len(x.entries), x.head.Entries), "first come all entries, then the attestations, then the agent")
	}
	return nil
}

// checkEnd judges the last line.
func (x *parsedExport) checkEnd(lines *bufio.Scanner, l exportLine, n int, sum []byte) error {
	switch {
	case x.agent.AirID == "":
		return exportError(n, "order", "there is no agent before the end", "the file was changed: export the agent again")
	case l.End != n-1 || l.SHA256 != hex.EncodeToString(sum):
		return exportError(n, "digest", "the lines before it are not those that were written", "the file was changed or damaged: export the agent again")
	case lines.Scan():
		return exportError(n+1, "order", "it stands behind the end", "import one agent at a time")
	}
	return lines.Err()
}

// verifyHistory walks through the history: every entry follows from the one before, and
// what stands there as signed is. It returns how many entries are signed.
func (x *parsedExport) verifyHistory() (signed int, err error) {
	hosts := x.entryHosts()
	var before Entry
	for i, e := range x.entries {
		line := i + 2
		if err := x.checkEntry(before, e, i+1); err != nil {
			return 0, errorAtLine(line, err)
		}
		host, err := parseHost(hosts[i])
		if err != nil {
			return 0, exportError(line, "registry", "it does not name the registry that it comes from", "origin is a host, with a port where one is needed")
		}
		own, err := verifyEntry(before.Agent, e, host)
		if err != nil {
			return 0, errorAtLine(line, err)
		}
		if len(own) > 0 {
			signed++
		}
		for _, key := range own {
			x.provedKeys[key] = true
		}
		before = e
	}
	line := len(x.entries) + len(x.attested) + 2
	for i, a := range x.attested {
		if a.Why == Erased {
			continue // its content is gone
		}
		if err := checkSigned("signature_multibase", a.Key, []byte(a.Payload), a.Signature); err != nil {
			return 0, errorAtLine(len(x.entries)+2+i, err)
		}
	}
	if !sameRecord(*before.Agent, x.agent) {
		return 0, exportError(line, "record", "the agent is not as its last entry says", "the file was changed: export the agent again")
	}
	return signed, nil
}

// entryHosts returns in which registry each entry was made.
func (x *parsedExport) entryHosts() []string {
	out := make([]string, len(x.entries))
	host := x.head.Registry
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = host
		if e := x.entries[i]; e.Event == EventImported && e.Origin != "" {
			host = e.Origin
		}
	}
	return out
}

// parseHost reads the DID host of a registry.
func parseHost(text string) (did.Web, error) {
	host, err := did.ParseWeb("did:wba:" + strings.Replace(text, ":", "%3A", 1))
	if err == nil && len(host.Path) > 0 {
		err = fmt.Errorf("%q is no host", clipText(text))
	}
	return host, err
}

// checkEntry judges whether an entry is the n-th of the agent.
func (x *parsedExport) checkEntry(before, e Entry, n int) error {
	refuse := func(code, message string) error {
		return &Error{Code: code, Message: message, Help: "the history was changed: export the agent again"}
	}
	prev := before.Hash
	if n == 1 {
		prev = genesis
	}
	switch {
	case e.N != n || e.AirID != x.head.AirID:
		return refuse("order", fmt.Sprintf("it is entry %d of %s, not entry %d of %s", e.N, clipText(e.AirID), n, x.head.AirID))
	case e.PrevHash != prev:
		return refuse("chain", "it is not chained to the entry before")
	case e.Hash != e.computeHash():
		return refuse("hash", "its hash is not that of what it says")
	case e.At.Before(before.At):
		return refuse("time", "it is older than the entry before")
	case e.Agent == nil || e.Agent.AirID != e.AirID || e.Agent.Entries != n || e.Agent.LastHash != e.Hash:
		return refuse("record", "it does not hold the record of the agent at that time")
	case (n == 1) != (e.Event == EventRegistered):
		return refuse("event", "a history begins with the registration, and has one")
	}
	return nil
}

// verifyEntry verifies the signatures of an entry, made in the registry of host when the
// agent was as before, and that the key changes only by them; before is nil for
// the first. It returns the agent's keys that have signed it.
func verifyEntry(before *Agent, e Entry, host did.Web) (own []string, err error) {
	agentDID := did.AgentDID(host, e.AirID).String()
	if a := e.Authority; a != nil && a.Signed != "" {
		for by, signature := range a.Signatures {
			if err := checkSigned("signatures", by, []byte(a.Signed), signature); err != nil {
				return nil, err
			}
			if isAgentKey(before, *e.Agent, by) && isStatementOfAgent(a.Signed, e, host, agentDID) {
				own = append(own, by)
			}
		}
	}
	if before != nil {
		return own, checkKeyChange(*before, e, agentDID, e.Authority)
	}
	if len(e.Agent.Retired) > 0 || e.Agent.Recovery != nil {
		return nil, &Error{Code: "key", Message: "an agent that was just registered has retired keys", Help: "the history was changed: export the agent again"}
	}
	return own, nil
}

// isAgentKey reports whether a key is the agent's, before an entry or after it.
func isAgentKey(before *Agent, now Agent, multikey string) bool {
	return now.multikey() == multikey || before != nil && before.multikey() == multikey ||
		now.Recovery != nil && did.FormatMultikey(now.Recovery.To) == multikey
}

// isStatementOfAgent reports whether a signed text is of this agent in that registry, so that
// what somebody signed elsewhere is not taken for it: a statement that names it, or
// the base of a request to it.
func isStatementOfAgent(text string, e Entry, host did.Web, agentDID string) bool {
	first, rest, _ := strings.Cut(text, "\n")
	switch first {
	case "gazetteer registration 1":
		return e.Event == EventRegistered && strings.HasPrefix(rest, "registry: "+host.Authority()+"\n")
	case "gazetteer rotation 1", "gazetteer recovery 1":
		return strings.HasPrefix(rest, "agent: "+agentDID+"\n")
	case "gazetteer merge 1":
		return strings.Contains("\n"+rest, "\nfrom: "+agentDID+"\n") || strings.Contains("\n"+rest, "\ninto: "+agentDID+"\n")
	}
	return strings.HasPrefix(first, `"`) && (e.Event == EventRegistered || strings.Contains(text, e.AirID))
}

// checkKeyChange judges whether the keys of an agent may be, after an entry, what they
// are.
func checkKeyChange(before Agent, e Entry, agentDID string, a *Authority) error {
	now := *e.Agent
	refuse := func(message string) error {
		return &Error{Code: "key", Message: message, Help: "the history was changed: export the agent again"}
	}
	if bytes.Equal(before.PublicKey, now.PublicKey) {
		if len(before.Retired) != len(now.Retired) {
			return refuse("it has other retired keys than the entry before")
		}
		if p := now.Recovery; p != nil && before.Recovery == nil {
			return checkRecoveryRequest(before, *p, e, agentDID, a)
		}
		return nil
	}
	if len(now.Retired) != len(before.Retired)+1 || !bytes.Equal(now.Retired[len(before.Retired)].PublicKey, before.PublicKey) {
		return refuse("the key is another, and the one before does not stand among the retired ones")
	}
	switch {
	case e.Event == EventRecovered && before.Recovery != nil && bytes.Equal(before.Recovery.To, now.PublicKey) && !e.At.Before(before.Recovery.Due):
		return nil // judged when it was asked for
	case e.Event == EventRotated && a != nil && isStatementOfKeys(a.Signed, "rotation", agentDID, before.multikey(), now.multikey()) && a.Signatures[before.multikey()] != "" && a.Signatures[now.multikey()] != "":
		return nil
	}
	return refuse("the key is another, without the signatures of both keys")
}

// checkRecoveryRequest judges a recovery that was asked for: the key that the agent had committed
// to must have signed it.
func checkRecoveryRequest(before Agent, p PendingRecovery, e Entry, agentDID string, a *Authority) error {
	to := did.FormatMultikey(p.To)
	if e.Event == EventRecovery && a != nil && isStatementOfKeys(a.Signed, "recovery", agentDID, before.multikey(), to) && a.Signatures[a.Key] != "" && a.Signatures[to] != "" {
		if key, err := did.ParseMultikey(a.Key); err == nil && RecoveryCommitment(key) == before.Commitment {
			return nil
		}
	}
	return &Error{Code: "key", Message: "a recovery is under way that the recovery key has not signed", Help: "the history was changed: export the agent again"}
}

// isStatementOfKeys reports whether a signed text is a statement of that sort about those keys.
func isStatementOfKeys(text, kind, agentDID, from, to string) bool {
	head := formatStatement(kind, [2]string{"agent", agentDID}, [2]string{"from", from}, [2]string{"to", to})
	return strings.HasPrefix(text, string(head))
}

// sameRecord compares a record with that in the last entry, but for what changes
// without one.
func sameRecord(a, b Agent) bool {
	for _, x := range []*Agent{&a, &b} {
		*x = x.publicCopy()
		x.Observed, x.NextCheck = nil, time.Time{}
		x.Issued, x.KeyProof = nil, "" // an attester's own history says nothing of attesting
		x.Domains = slices.Clone(x.Domains)
		for i := range x.Domains {
			d := &x.Domains[i]
			d.Checked, d.Failures, d.Probes = time.Time{}, 0, nil
		}
		if len(x.Domains) == 0 {
			x.Domains = nil
		}
	}
	return reflect.DeepEqual(a, b)
}

// storeImport stores what was verified.
func (r *Registry) storeImport(ctx context.Context, x *parsedExport) (ImportResult, error) {
	now := r.timestamp()
	result := ImportResult{Origin: x.head.Registry, Entries: len(x.entries), Notes: []string{}}
	note := func(format string, a ...any) { result.Notes = append(result.Notes, fmt.Sprintf(format, a...)) }
	switch _, err := r.store.Get(ctx, store.AgentKey(x.head.AirID)); {
	case err == nil:
		return result, &Refusal{Kind: ErrState, Code: "air-id-taken", Message: "the AIR ID " + x.head.AirID + " is in use here", Help: "an agent is never overwritten, and an AIR ID never given twice: if it is the same agent, it is here already; if not, its owner registers here anew"}
	case !errors.Is(err, store.ErrNotFound):
		return result, fmt.Errorf("read agent %s: %w", x.head.AirID, err)
	}
	if x.agent.Status == Erased {
		return result, &Refusal{Kind: ErrGone, Code: Erased, Message: "the agent is erased", Help: "nothing is left of it to be imported"}
	}
	c := &change{r: r, now: now, agent: x.agent.clone(), others: map[string]*change{}}
	a := &c.agent
	a.SecretHash, a.Nonces, a.WriteBudgetUntil, a.Observed = x.secretHash, nil, 0, nil
	if x.head.Registry != r.host.Authority() {
		a.Imported, a.Origin = now, cmp.Or(a.Origin, x.head.Registry)
	}
	if err := r.checkImport(a, x.head.Registry, now); err != nil {
		return result, errorAtLine(len(x.entries)+len(x.attested)+2, err)
	}
	if a.KeyProof != "" && !x.provedKeys[a.multikey()] {
		a.KeyProof = ""
		note("nothing in the history shows that the agent holds its key: it counts as claimed")
	}
	for i := range a.Retired {
		if k := &a.Retired[i]; !x.provedKeys[did.FormatMultikey(k.PublicKey)] {
			k.Proof = ""
		}
	}
	if len(a.SecretHash) == 0 && a.KeyProof == "" {
		note("neither a secret nor a proved key came along: until it signs with its key, nobody can change the agent")
	}
	for i := range a.Domains {
		d := &a.Domains[i]
		if d.proved() {
			note("the domain %s is looked at again", d.Name)
		}
		if *d = (Domain{Name: d.Name, Requested: now, Withdrawn: d.Withdrawn}); !d.Withdrawn.IsZero() {
			d.Checked = d.Withdrawn
		}
	}
	if err := c.keepKnownAttestations(ctx, x, note); err != nil {
		return result, err
	}
	if err := c.reserveHandle(ctx, note); err != nil {
		return result, err
	}
	if err := c.reserveImportedKeys(ctx); err != nil {
		return result, err
	}
	if err := c.addEntry(Entry{Event: EventImported, Actor: ActorAdmin, Origin: x.head.Registry, Fields: []string{"agent"}}); err != nil {
		return result, err
	}
	if err := c.importHistory(ctx, x); err != nil {
		return result, err
	}
	result.Agent = c.agent
	return result, nil
}

// checkImport holds the values of a record that is to be imported against what is
// asked of a registration: the registry that it comes from may have asked less.
func (r *Registry) checkImport(a *Agent, origin string, now time.Time) error {
	if !slices.Contains([]string{Active, Suspended, Deactivated, Deleted, Merged}, a.Status) {
		return &Error{Field: "status", Code: "value", Message: fmt.Sprintf("its status is %q", clipText(a.Status)), Help: "export the agent again"}
	}
	if a.Updated.After(now.Add(maxSignatureAhead)) || a.Created.After(a.Updated) || a.Created.IsZero() {
		return &Error{Field: "updated", Code: "time", Message: "it was changed in the future, or before it was made", Help: "set the clocks of both machines"}
	}
	if name, err := checkName(a.Name); err != nil || name != a.Name {
		return cmp.Or(err, error(&Error{Field: "name", Code: "text", Message: "the name has space around it", Help: "export the agent again"}))
	}
	if _, err := validateText("creator_name", a.CreatorName, maxCreatorName, oneLine); err != nil {
		return err
	}
	if _, err := validateText("reason", a.Reason, maxDescription, manyLines); err != nil {
		return err
	}
	if _, err := checkCreatorType(a.CreatorType); err != nil {
		return err
	}
	if a.CreatorDID != r.DID(a.AirID) {
		if err := r.checkCreator(a.CreatorDID); err != nil {
			return err
		}
	}
	if err := checkCommitment("recovery_commitment", a.Commitment); err != nil {
		return err
	}
	for _, k := range a.Keys() {
		if _, err := did.ParseMultikey(did.FormatMultikey(k.PublicKey)); err != nil {
			return fieldError("public_key", "Invalid public_key: ", err)
		}
	}
	if a.Recovery != nil {
		if _, err := did.ParseMultikey(did.FormatMultikey(a.Recovery.To)); err != nil {
			return fieldError("recovery", "Invalid key: ", err)
		}
	}
	if len(a.Domains) > maxDomains {
		return &Error{Field: "domains", Code: "count", Message: fmt.Sprintf("it has %d domains, at most %d", len(a.Domains), maxDomains), Help: "export the agent again"}
	}
	for _, d := range a.Domains {
		if _, err := checkDomain(d.Name); err != nil {
			return err
		}
	}
	// The ids of its endpoints begin with its DID, which is another here.
	if host, err := parseHost(origin); err == nil {
		before := did.AgentDID(host, a.AirID).String()
		a.ServiceEndpoints = slices.Clone(a.ServiceEndpoints)
		for i := range a.ServiceEndpoints {
			if rest, ok := strings.CutPrefix(a.ServiceEndpoints[i].ID, before+"#"); ok {
				a.ServiceEndpoints[i].ID = r.DID(a.AirID) + "#" + rest
			}
		}
	}
	_, err := r.applyUpdate(a, Update{Description: &a.Description, Capabilities: &a.Capabilities, SecurityCertifications: &a.SecurityCertifications,
		CodeRepository: &a.CodeRepository, DocumentationURL: &a.DocumentationURL, ServiceEndpoints: &a.ServiceEndpoints})
	return err
}

// keepKnownAttestations keeps those that this registry has itself.
func (c *change) keepKnownAttestations(ctx context.Context, x *parsedExport, note func(string, ...any)) error {
	signatures := map[int]string{}
	for _, a := range x.attested {
		signatures[a.N] = a.Signature
	}
	here := func(numbers []int, mine func(Attestation) bool) (kept []int, err error) {
		for _, n := range numbers {
			a, _, err := c.r.loadAttestation(ctx, n)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return nil, err
			}
			if err == nil && mine(a) && a.Signature == signatures[n] {
				kept = append(kept, n)
			}
		}
		return kept, nil
	}
	a, before := &c.agent, len(c.agent.Attested)+len(c.agent.Issued)
	var err error
	if a.Attested, err = here(a.Attested, func(at Attestation) bool { return at.Subject == a.AirID }); err != nil {
		return err
	}
	if a.Issued, err = here(a.Issued, func(at Attestation) bool { return at.Attester == a.AirID }); err != nil {
		return err
	}
	if lost := before - len(a.Attested) - len(a.Issued); lost > 0 {
		note("%d attestations are of another registry: they stand in the history, and do not count here", lost)
	}
	about, err := c.r.loadAttestations(ctx, a.Attested)
	a.Standing = summarizeAttestations(about)
	return err
}

// reserveHandle claims the handle if it can be had; the writes are made with the rest.
func (c *change) reserveHandle(ctx context.Context, note func(string, ...any)) error {
	handle := c.agent.Handle
	if handle == "" {
		return nil
	}
	c.agent.Handle = ""
	if folded, err := did.ClaimHandle(handle); err != nil || folded != handle {
		note("the handle %s cannot be claimed here", clipText(handle))
		return nil
	}
	h, _, err := c.r.loadHandle(ctx, handle)
	if err != nil {
		return err
	}
	if err := h.checkAvailable(handle, c.agent.AirID, c.now); err != nil {
		note("the handle %s is taken here", handle)
		return nil
	}
	c.agent.Handle = handle
	return nil
}

// reserveImportedKeys makes the agent the holder of the keys that it has proved, and of the
// one that a recovery is to bring.
func (c *change) reserveImportedKeys(ctx context.Context) error {
	var keys []string
	for _, k := range c.agent.Keys() {
		if k.Proof != "" {
			keys = append(keys, did.FormatMultikey(k.PublicKey))
		}
	}
	if p := c.agent.Recovery; p != nil {
		keys = append(keys, did.FormatMultikey(p.To))
	}
	for _, multikey := range keys {
		w, err := c.r.reserveKey(ctx, multikey, c.agent.AirID)
		if e, ok := errors.AsType[*Refusal](err); ok && e.Code == "key-used" {
			continue // noted as its own still, as after a loss of the agent's record
		}
		if err != nil {
			return err
		}
		c.addWrite(w)
	}
	return nil
}

// importHistory writes the agent with the entries that it had. Of a history too
// long for one write the beginning goes before: without the agent's record nobody
// reads it, and another attempt writes the same.
func (c *change) importHistory(ctx context.Context, x *parsedExport) error {
	rest := x.raw
	n := 1
	for ; len(rest) > entriesPerWrite; rest = rest[entriesPerWrite:] {
		var writes []store.Write
		for _, value := range rest[:entriesPerWrite] {
			writes = append(writes, store.Put(store.EntryKey(c.agent.AirID, n), value))
			n++
		}
		if _, err := c.r.store.Apply(ctx, writes...); err != nil {
			return fmt.Errorf("import agent %s: %w", c.agent.AirID, err)
		}
	}
	for _, value := range rest {
		c.addWrite(store.Put(store.EntryKey(c.agent.AirID, n), value))
		n++
	}
	return c.commit(ctx)
}
