package changefeed

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"gazetteer/document"
	"gazetteer/document/diff"
)

// Kind says what happened.
type Kind string

// The kinds of items about a host.
const (
	// ServiceAppeared: a host published its first document.
	ServiceAppeared Kind = "service-appeared"
	// ServiceGone: a host no longer publishes any document.
	ServiceGone Kind = "service-gone"
	// ServiceReturned: a host that had gone publishes a document again.
	ServiceReturned Kind = "service-returned"
	// ServiceWithdrawn: a host is no longer shown, at the request of its owner or of the operator.
	// Its other items are removed.
	ServiceWithdrawn Kind = "service-withdrawn"
	// DocumentAdded: a host published a document of one more format.
	DocumentAdded Kind = "document-added"
	// DocumentChanged: a document has other bytes.
	DocumentChanged Kind = "document-changed"
	// DocumentRemoved: a document is gone, and the host publishes others.
	DocumentRemoved Kind = "document-removed"
	// DocumentReturned: a document that was gone is published again, beside others.
	DocumentReturned Kind = "document-returned"
	// DocumentFlapping: a document changes back and forth, or all the time. The item counts on.
	DocumentFlapping Kind = "document-flapping"
	// StateChanged: one of the five states of a host changed.
	StateChanged Kind = "state-changed"
)

// The kinds of items about an agent.
const (
	AgentRegistered Kind = "agent-registered"
	AgentUpdated    Kind = "agent-updated"
	// AgentRotated: the agent has another key.
	AgentRotated Kind = "agent-rotated"
	// AgentEnded: the agent was deactivated, suspended, deleted, merged into another one or erased.
	AgentEnded Kind = "agent-ended"
	// AgentRestored: the agent is back in service.
	AgentRestored Kind = "agent-restored"
)

// Kinds returns every kind of item.
func Kinds() []Kind {
	return []Kind{
		ServiceAppeared, ServiceGone, ServiceReturned, ServiceWithdrawn, DocumentAdded, DocumentChanged, DocumentRemoved,
		DocumentReturned, DocumentFlapping, StateChanged, AgentRegistered, AgentUpdated, AgentRotated, AgentEnded, AgentRestored,
	}
}

// Limits of one item.
const (
	maxChanges = 20
	maxVerbs   = 50
	maxRules   = 50
	maxText    = 200 // bytes of a text that quotes a document
)

// An Item is one event. Its texts can be untrusted: escape them on output. They contain no control
// characters.
type Item struct {
	// Position is the place of the item in the feed, from 1.
	Position uint64 `json:"-"`
	// ID names the item permanently, also after the feed was rebuilt: a UUID as a URN.
	ID   string `json:"id" doc:"names the item permanently"`
	Kind Kind   `json:"kind" doc:"what happened"`
	// At is when it was seen. An item that counts has the time of its beginning in Since.
	At       time.Time     `json:"at" doc:"when it was seen"`
	Severity diff.Severity `json:"severity" enum:"none,low,medium,high" doc:"how much it may hurt those who call the service or write to the agent"`
	Title    string        `json:"title" doc:"what happened, in a sentence"`

	Host      string          `json:"host,omitempty" doc:"the host that it is about"`
	Documents []document.Kind `json:"documents,omitempty" doc:"the formats of the documents that it is about"`
	// From and To are the digests of the versions before and after.
	From string `json:"from,omitempty" doc:"the digest of the version before"`
	To   string `json:"to,omitempty" doc:"the digest of the new version"`
	// Changes says what changed from version to version, the gravest first, at most 20; MoreChanges
	// counts the others.
	Changes     []Change `json:"changes,omitempty" doc:"what changed from version to version, the gravest first, at most 20"`
	MoreChanges int      `json:"more_changes,omitempty" doc:"how many changes are not listed"`
	// Verbs are those of the operations concerned, at most 50.
	Verbs     []string `json:"verbs,omitempty" doc:"the verbs of the operations concerned, at most 50"`
	Namespace string   `json:"namespace,omitempty" doc:"the namespace of the service"`
	// RulesBroken are the rules that the new version breaks and the one before did not, RulesRepaired
	// those that it keeps again.
	RulesBroken   []string `json:"rules_broken,omitempty" doc:"rules that the new version breaks and the one before did not"`
	RulesRepaired []string `json:"rules_repaired,omitempty" doc:"rules that the new version keeps and the one before broke"`
	// Since and Count belong to DocumentFlapping: when it began, and how many changes there were.
	Since time.Time `json:"since,omitzero" doc:"when a document began to change back and forth"`
	Count int       `json:"count,omitempty" doc:"how many times it changed since then"`
	// States belong to StateChanged.
	States []StateChange `json:"states,omitempty" doc:"the states of the host that changed"`
	// Unsettled: the states change so often that single changes are not told for now.
	Unsettled bool `json:"unsettled,omitempty" doc:"the states change so often that single changes are not listed for now"`
	// By says who had a host withdrawn: owner or operator.
	By string `json:"by,omitempty" doc:"who had the host withdrawn: owner or operator"`

	// Agent is the AIR ID of an agent, Event what happened as its history names it, Fields the members
	// of its record that changed.
	Agent  string   `json:"air_id,omitempty" doc:"the agent that it is about"`
	Event  string   `json:"event,omitempty" doc:"what happened to the agent, as in its history"`
	Fields []string `json:"changed_fields,omitempty" doc:"the members of the agent's record that changed"`
}

// A Change is one change between two versions of a document: see [diff.Change].
type Change struct {
	Kind      diff.Kind     `json:"kind" doc:"what sort of change it is"`
	Severity  diff.Severity `json:"severity" enum:"none,low,medium,high" doc:"how much it may hurt callers"`
	Operation string        `json:"operation,omitempty" doc:"the operation; absent for a change of the service"`
	From      string        `json:"from,omitempty" doc:"the value before, cut at 200 bytes"`
	To        string        `json:"to,omitempty" doc:"the value after, cut at 200 bytes"`
}

// A StateChange is one state of a host with its verdicts before and after.
type StateChange struct {
	Name string `json:"name" doc:"the state"`
	From string `json:"from" doc:"the verdict before"`
	To   string `json:"to" doc:"the verdict after"`
}

// nameItem returns the permanent name of an item that these texts tell from all others.
func nameItem(texts ...string) string {
	sum := sha256.Sum256([]byte("gazetteer change\x00" + strings.Join(texts, "\x00")))
	sum[6] = sum[6]&0x0f | 0x80 // version 8 and variant of RFC 9562
	sum[8] = sum[8]&0x3f | 0x80
	h := hex.EncodeToString(sum[:16])
	return "urn:uuid:" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// The first bytes of the terms that items are found by.
const (
	hostTerm      = 'h'
	verbTerm      = 'v'
	namespaceTerm = 'n'
	ruleTerm      = 'r'
	severityTerm  = 's'
	agentTerm     = 'a'
	kindTerm      = 'k'
)

// listTerms returns the terms that an item is found by, each once.
func (i *Item) listTerms() []string {
	terms := []string{string(severityTerm) + i.Severity.String(), string(kindTerm) + string(i.Kind)}
	add := func(kind byte, values ...string) {
		for _, v := range values {
			if v != "" {
				terms = append(terms, string(kind)+v)
			}
		}
	}
	add(hostTerm, i.Host)
	add(agentTerm, i.Agent)
	add(namespaceTerm, strings.ToLower(i.Namespace))
	for _, v := range i.Verbs {
		add(verbTerm, strings.ToUpper(v))
	}
	add(ruleTerm, i.RulesBroken...)
	add(ruleTerm, i.RulesRepaired...)
	slices.Sort(terms)
	return slices.Compact(terms)
}
