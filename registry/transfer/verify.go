package transfer

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"gazetteer/protocol"
	"gazetteer/protocol/did"
	"gazetteer/registry"
)

// verifyHistory checks that every entry follows from the one before, and that all signatures in the
// history are valid. It returns the number of signed entries.
func (x *parsedExport) verifyHistory() (signed int, err error) {
	hosts := x.entryHosts()
	used := map[string]bool{} // what the agent has signed
	var before registry.HistoryEntry
	for i, e := range x.entries {
		line := i + 2
		if err := x.checkEntry(before, e, i+1); err != nil {
			return 0, errorAtLine(line, err)
		}
		host, err := registry.ParseHost(hosts[i])
		if err != nil {
			return 0, exportError(line, "registry", "it does not name its registry", "origin is a host, with a port where one is needed")
		}
		own, err := verifyEntry(before.Agent, e, host)
		if err != nil {
			return 0, errorAtLine(line, err)
		}
		if len(own) > 0 {
			if used[e.Authority.Signed] {
				return 0, exportError(line, "signature", "it rests on what the agent has signed for an earlier entry", "the history was changed: export the agent again")
			}
			used[e.Authority.Signed] = true
			signed++
		}
		for _, key := range own {
			// The signature of a registration, which everybody can read, does not name the agent: an
			// export of another agent could have it.
			x.provedKeys[key] = x.provedKeys[key] || i > 0
		}
		before = e
	}
	line := len(x.entries) + len(x.attested) + 2
	for i, a := range x.attested {
		if a.Why == registry.Erased {
			continue // its content is gone
		}
		if err := registry.CheckSigned("signature_multibase", a.Key, []byte(a.Payload), a.Signature); err != nil {
			return 0, errorAtLine(len(x.entries)+2+i, err)
		}
	}
	if !sameRecord(*before.Agent, x.agent) {
		return 0, exportError(line, "record", "the agent differs from its last entry", "the file was changed: export the agent again")
	}
	return signed, nil
}

// entryHosts returns the registry in which each entry was made.
func (x *parsedExport) entryHosts() []string {
	out := make([]string, len(x.entries))
	host := x.head.Registry
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = host
		if e := x.entries[i]; e.Event == registry.EventImported && e.Origin != "" {
			host = e.Origin
		}
	}
	return out
}

// checkEntry checks whether an entry is the n-th of the agent.
func (x *parsedExport) checkEntry(before, e registry.HistoryEntry, n int) error {
	refuse := func(code, message string) error {
		return &registry.Error{Code: code, Message: message, Help: "the history was changed: export the agent again"}
	}
	prev := before.Hash
	if n == 1 {
		prev = registry.Genesis
	}
	switch {
	case e.N != n || e.AirID != x.head.AirID:
		return refuse("order", fmt.Sprintf("it is entry %d of %s, not entry %d of %s", e.N, protocol.ClipBytes(e.AirID, registry.MaxQuoted), n, x.head.AirID))
	case e.PrevHash != prev:
		return refuse("chain", "it is not chained to the entry before")
	case e.Hash != e.ComputeHash():
		return refuse("hash", "its hash does not match its content")
	case e.At.Before(before.At):
		return refuse("time", "it is older than the entry before")
	case !isWord(e.Event) || !isWord(e.Actor) || slices.ContainsFunc(e.Fields, func(f string) bool { return !isWord(f) }):
		return refuse("event", "its event, its actor or a changed member is no word")
	case e.Authority != nil && !isAuthority(*e.Authority):
		return refuse("authority", "what it rests on is neither a kind of proof nor a key")
	case e.Origin != "" && e.Event != registry.EventImported:
		return refuse("registry", "it names an origin, and is no import")
	case e.Agent == nil || e.Agent.AirID != e.AirID || e.Agent.Entries != n || e.Agent.LastHash != e.Hash:
		return refuse("record", "it lacks the record of the agent at that time")
	case (n == 1) != (e.Event == registry.EventRegistered):
		return refuse("event", "a history begins with the registration, and has one")
	}
	return nil
}

// isWord reports whether a text can be the name of an event, an actor or a member of a record.
func isWord(text string) bool {
	return text != "" && len(text) <= maxWord && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz_-") == ""
}

// maxWord is the length of the longest name of an event, an actor or a member.
const maxWord = 40

// isAuthority reports whether what a change rests on has the form that a registry gives it.
func isAuthority(a registry.Authority) bool {
	if a.Key != "" {
		if _, err := did.ParseMultikey(a.Key); err != nil {
			return false
		}
	}
	return isWord(a.By)
}

// verifyEntry verifies the signatures of an entry that was made in the registry of host, and that
// keys change only with the required signatures. Before is the agent before the entry, nil for the
// first one. It returns the keys of the agent that have signed the entry.
func verifyEntry(before *registry.Agent, e registry.HistoryEntry, host did.Web) (own []string, err error) {
	agentDID := did.AgentDID(host, e.AirID).String()
	if a := e.Authority; a != nil && a.Signed != "" {
		for by, signature := range a.Signatures {
			if err := registry.CheckSigned("signatures", by, []byte(a.Signed), signature); err != nil {
				return nil, err
			}
			if isAgentKey(before, *e.Agent, by) && isStatementOfAgent(a.Signed, e, host, agentDID) {
				own = append(own, by)
			}
		}
	}
	if len(own) == 0 && !keepsMove(before, e) {
		return nil, &registry.Error{Code: "moved", Message: "it names another DID under which the agent continues, without a signature of its key", Help: "the history was changed: export the agent again"}
	}
	if before != nil {
		return own, checkKeyChange(*before, e, agentDID, e.Authority)
	}
	if len(e.Agent.Retired) > 0 || e.Agent.Recovery != nil || e.Agent.MovedTo != "" {
		return nil, &registry.Error{Code: "key", Message: "an agent that was just registered has retired keys, or has moved", Help: "the history was changed: export the agent again"}
	}
	return own, nil
}

// keepsMove reports whether an entry leaves the DID under which the agent continues elsewhere as it
// was. An import at that place removes it.
func keepsMove(before *registry.Agent, e registry.HistoryEntry) bool {
	if before == nil {
		return e.Agent.MovedTo == ""
	}
	return e.Agent.MovedTo == before.MovedTo || e.Event == registry.EventImported && e.Agent.MovedTo == ""
}

// isAgentKey reports whether a key belongs to the agent before or after an entry.
func isAgentKey(before *registry.Agent, now registry.Agent, multikey string) bool {
	return now.Multikey() == multikey || before != nil && before.Multikey() == multikey ||
		now.Recovery != nil && did.FormatMultikey(now.Recovery.To) == multikey
}

// isStatementOfAgent reports whether a signed text is about this agent in that registry: a
// statement that names the agent, or the signature base of a request to it. A text that was signed
// for something else does not count.
func isStatementOfAgent(text string, e registry.HistoryEntry, host did.Web, agentDID string) bool {
	first, rest, _ := strings.Cut(text, "\n")
	switch first {
	case "gazetteer registration 1":
		return e.Event == registry.EventRegistered && strings.HasPrefix(rest, "registry: "+host.Authority()+"\n")
	case "gazetteer rotation 1", "gazetteer recovery 1":
		return strings.HasPrefix(rest, "agent: "+agentDID+"\n")
	case "gazetteer merge 1":
		return strings.Contains("\n"+rest, "\nfrom: "+agentDID+"\n") || strings.Contains("\n"+rest, "\ninto: "+agentDID+"\n")
	}
	return strings.HasPrefix(first, `"`) && (e.Event == registry.EventRegistered || strings.Contains(text, e.AirID))
}

// checkKeyChange checks whether an entry may change the keys of an agent as it does.
func checkKeyChange(before registry.Agent, e registry.HistoryEntry, agentDID string, a *registry.Authority) error {
	now := *e.Agent
	refuse := func(message string) error {
		return &registry.Error{Code: "key", Message: message, Help: "the history was changed: export the agent again"}
	}
	if len(now.Retired) < len(before.Retired) || !slices.EqualFunc(before.Retired, now.Retired[:len(before.Retired)], sameKey) {
		return refuse("it has other retired keys than the entry before")
	}
	if !keepsCommitment(before, e) {
		return refuse("it has another commitment to a recovery key than the entry before, without a recovery")
	}
	if p, q := before.Recovery, now.Recovery; p != nil && q != nil && (!bytes.Equal(p.To, q.To) || p.Next != q.Next || !p.Due.Equal(q.Due)) {
		return refuse("a recovery that is under way has changed")
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
		return refuse("the key is new, and the previous one is not among the retired keys")
	}
	switch {
	case e.Event == registry.EventRecovered && before.Recovery != nil && bytes.Equal(before.Recovery.To, now.PublicKey) && !e.At.Before(before.Recovery.Due):
		return nil // judged when it was asked for
	case e.Event == registry.EventRotated && a != nil && isStatementOfKeys(a.Signed, "rotation", agentDID, before.Multikey(), now.Multikey()) && a.Signatures[before.Multikey()] != "" && a.Signatures[now.Multikey()] != "":
		return nil
	}
	return refuse("the key is another, without the signatures of both keys")
}

// keepsCommitment reports whether an entry changes the commitment to a recovery key only as a registry
// does: the first one is free, and a recovery that takes effect brings its own.
func keepsCommitment(before registry.Agent, e registry.HistoryEntry) bool {
	if e.Event == registry.EventRecovered && before.Recovery != nil {
		return e.Agent.Commitment == before.Recovery.Next
	}
	return before.Commitment == "" || e.Agent.Commitment == before.Commitment
}

func sameKey(a, b registry.RetiredKey) bool { return bytes.Equal(a.PublicKey, b.PublicKey) }

// checkRecoveryRequest checks that a recovery was signed by the key that the agent had committed
// to.
func checkRecoveryRequest(before registry.Agent, p registry.PendingRecovery, e registry.HistoryEntry, agentDID string, a *registry.Authority) error {
	to := did.FormatMultikey(p.To)
	if e.Event == registry.EventRecovery && a != nil && isStatementOfKeys(a.Signed, "recovery", agentDID, before.Multikey(), to) &&
		strings.Contains(a.Signed, "\nnext recovery: "+cmp.Or(p.Next, "none")+"\n") && a.Signatures[a.Key] != "" && a.Signatures[to] != "" {
		if key, err := did.ParseMultikey(a.Key); err == nil && registry.RecoveryCommitment(key) == before.Commitment {
			return nil
		}
	}
	return &registry.Error{Code: "key", Message: "a recovery is under way that the recovery key has not signed", Help: "the history was changed: export the agent again"}
}

// isStatementOfKeys reports whether a signed text is a statement of that kind about those keys.
func isStatementOfKeys(text, kind, agentDID, from, to string) bool {
	head := registry.FormatStatement(kind, [2]string{"agent", agentDID}, [2]string{"from", from}, [2]string{"to", to})
	return strings.HasPrefix(text, string(head))
}

// sameRecord compares a record with the one in the last entry, except for members that change
// without an entry.
func sameRecord(a, b registry.Agent) bool {
	for _, x := range []*registry.Agent{&a, &b} {
		*x = x.PublicCopy()
		x.Observed = nil
		x.Issued, x.KeyProof = nil, "" // an attester's own history says nothing of attesting
		x.Domains = slices.Clone(x.Domains)
		for i := range x.Domains {
			d := &x.Domains[i]
			d.Checked, d.Failures, d.Probes, d.EarlierProbes = time.Time{}, 0, nil, nil
		}
		if len(x.Domains) == 0 {
			x.Domains = nil
		}
	}
	return reflect.DeepEqual(a, b)
}
