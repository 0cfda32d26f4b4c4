package agentpages

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"gazetteer/api/answer"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/evidence"
	"gazetteer/web/frame"
)

// A didCheck is one field of a DID document with the result of its check.
type didCheck struct {
	Field string
	Value string
	State string // "good", "claim" or "bad", for the style sheet
	Word  string // what was found
	Link  string // to what it rests on, "" for none
}

// didChecks checks a DID document field by field: the registry's own entries against the draft, the
// agent's statements against the evidence.
func (p *Pages) didChecks(d answer.AgentDetails) []didCheck {
	doc := d.DID
	var rows []didCheck
	add := func(field, value, state, word, link string) {
		rows = append(rows, didCheck{field, value, state, word, link})
	}
	rule := func(field, value string, holds bool, good, bad string) {
		if holds {
			add(field, value, "good", good, "")
			return
		}
		add(field, value, "bad", bad, "")
	}
	text, err := json.Marshal(doc)
	whole := ""
	if err == nil {
		if _, err = did.ParseDocument(text, doc.ID); err != nil {
			whole = err.Error()
		}
	}
	rule("Whole document", frame.FormatCount(len(text), "byte"), err == nil, "valid (A2A §3.3)", "not valid (A2A §3.3): "+whole)
	web, err := did.ParseWeb(doc.ID)
	airID, _ := web.AirID()
	rule("id", doc.ID, err == nil && airID == d.Agent.AirID, "names this agent", "names another agent")
	rule("@context", strings.Join(doc.Context, " "), slices.Equal(doc.Context, did.Contexts()), "as prescribed (A2A §3.3)", "not as prescribed (A2A §3.3)")
	creator, seen := signalOf(d, registry.SignalDID)
	for _, other := range doc.AlsoKnownAs {
		switch {
		case other == d.Agent.MovedTo:
			add("alsoKnownAs", other, "claim", "signed by its key; the other document is not checked", "#history")
		case seen && creator.Holds && other == d.Agent.CreatorDID:
			add("alsoKnownAs", other, "good", "its own document lists this agent's key", "#evidence")
		case seen:
			add("alsoKnownAs", other, "claim", "claimed: "+creator.Detail, "#evidence")
		default:
			add("alsoKnownAs", other, "claim", "claimed: not checked", "#evidence")
		}
	}
	current := doc.ID + did.KeyFragment
	for _, m := range doc.VerificationMethod {
		field := "verificationMethod " + strings.TrimPrefix(m.ID, doc.ID)
		switch {
		case m.ID != current:
			add(field, m.PublicKeyMultibase, "good", "retired on "+dateOf(m.Revoked)+"; no longer signs", "#keys")
		case d.Agent.KeyProof != "":
			add(field, m.PublicKeyMultibase, "good", "possession "+proofWords[d.Agent.KeyProof], entryLink(d, keyEntry(d, d.Agent.PublicKey)))
		default:
			add(field, m.PublicKeyMultibase, "claim", "claimed: "+proofWords[""], entryLink(d, keyEntry(d, d.Agent.PublicKey)))
		}
	}
	for _, relation := range []struct {
		field string
		ids   []string
	}{{"authentication", doc.Authentication}, {"assertionMethod", doc.AssertionMethod}} {
		rule(relation.field, strings.Join(relation.ids, " "), slices.Equal(relation.ids, []string{current}), "the current key, and no other", "not the current key alone")
	}
	return append(rows, p.serviceChecks(d)...)
}

// serviceChecks checks the services of a DID document.
func (p *Pages) serviceChecks(d answer.AgentDetails) []didCheck {
	var rows []didCheck
	inbox, seen := signalOf(d, registry.SignalInbox)
	for _, s := range d.DID.Service {
		row := didCheck{Field: "service " + s.Type, Value: s.ServiceEndpoint, State: "claim", Word: "claimed: not checked", Link: entryLink(d, newestEntry(d, "service_endpoints"))}
		switch {
		case s.Type == did.TypeTrustScore:
			row.State, row.Word, row.Link = "good", "this registry's own endpoint; its answer is computed from claims", "#trust"
		case s.Type != did.TypeInbox || s.ServiceEndpoint != d.DID.Inbox() || !seen:
		case inbox.Holds:
			row.State, row.Word, row.Link = "good", inbox.Detail+", "+p.MomentOf(inbox.Date).Ago, "#evidence"
		case inbox.Detail != "":
			row.Word, row.Link = "claimed: "+inbox.Detail, "#evidence"
		}
		rows = append(rows, row)
	}
	return rows
}

// signalOf finds one piece of evidence.
func signalOf(d answer.AgentDetails, name string) (evidence.Signal, bool) {
	i := slices.IndexFunc(d.Evidence, func(s evidence.Signal) bool { return s.Signal == name })
	if i < 0 {
		return evidence.Signal{}, false
	}
	return d.Evidence[i], true
}

// dateOf returns the date of a time in RFC 3339 in words, and any other text unchanged.
func dateOf(text string) string {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return t.UTC().Format("2 January 2006")
}
