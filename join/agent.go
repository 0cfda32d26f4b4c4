package join

import (
	"net/url"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/registry/evidence"
)

// A Strength says how well the link between a service and an agent is shown.
type Strength string

// The strengths, the strongest first.
const (
	// Proved: it was shown that the owner of the domain controls the agent.
	Proved Strength = "proved"
	// Mutual: the service names the agent, and the agent the service.
	Mutual Strength = "mutual"
	// Claimed: one of them says so, and the other does not.
	Claimed Strength = "claimed"
)

// strengths lists all of them, the strongest first.
var strengths = []Strength{Proved, Mutual, Claimed}

// The kinds of a [Link], beside the Association constants of package evidence.
const (
	// LinkDocument: a document of the service names the agent.
	LinkDocument = "document"
	// LinkDIDHost: the DID of the agent belongs to the host of the service itself.
	LinkDIDHost = "did-host"
)

// Who states a [Link].
const (
	SideService = "service"
	SideAgent   = "agent"
	SideBoth    = "both" // seen or shown: neither could say it alone
)

// A Link is one statement that joins an agent to a service. What and Detail may quote untrusted
// texts.
type Link struct {
	By     string    `json:"by"`               // domain, parent-domain, did-host, creator-did, document, endpoint or claim
	Side   string    `json:"side"`             // who says so: service, agent, or both
	What   string    `json:"what"`             // the domain, the DID, the URL
	Source string    `json:"source,omitempty"` // where it can be checked
	Detail string    `json:"detail,omitempty"`
	Date   time.Time `json:"date,omitzero"` // when it was seen or said last
}

// A Key is the current signing key of an agent.
type Key struct {
	ID                 string    `json:"id"` // {did}#key-1
	Type               string    `json:"type"`
	PublicKeyMultibase string    `json:"publicKeyMultibase"`
	Since              time.Time `json:"since,omitzero"` // zero when only another registry knows
}

// A Contact says where to write to an agent, and with which key its answers are signed.
type Contact struct {
	AirID string `json:"air_id,omitempty"` // "" for a DID without one
	DID   string `json:"did"`
	Inbox string `json:"inbox"`         // the first A2AInbox, "" when there is none
	Key   *Key   `json:"key,omitempty"` // nil when it has none
}

// ContactOf returns the contact in the DID document of an agent of this registry, which has checked
// the key and the address of the inbox. Every answer with a contact uses ContactOf or
// [FarContactOf], so that all of them agree.
func ContactOf(d did.Document) Contact {
	c := Contact{DID: d.ID, Inbox: d.Inbox()}
	if w, err := did.ParseWeb(d.ID); err == nil {
		c.AirID, _ = w.AirID()
	}
	for _, m := range d.VerificationMethod {
		if m.ID == d.ID+did.KeyFragment && m.Controller == d.ID && m.Revoked == "" {
			c.Key = &Key{ID: m.ID, Type: m.Type, PublicKeyMultibase: m.PublicKeyMultibase}
			break
		}
	}
	return c
}

// FarContactOf returns the contact in a DID document that another host published. It ignores an
// inbox that is not at an absolute https address (A2A §3.4), and a key that must not be trusted.
func FarContactOf(d did.Document) Contact {
	c := ContactOf(d)
	if u, err := url.Parse(c.Inbox); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		c.Inbox = ""
	}
	if _, err := d.Key(); err != nil {
		c.Key = nil
	}
	return c
}

// A ServingAgent is an agent that serves a service, with the evidence for that. All texts are
// untrusted: escape them on output.
type ServingAgent struct {
	Contact
	Name   string `json:"name,omitempty"` // as it calls itself
	Handle string `json:"handle,omitempty"`

	Strength Strength `json:"strength"`
	// Says describes the link, and who states it, in one sentence for a person.
	Says  string `json:"says"`
	Links []Link `json:"links"`
	// Evidence is the evidence about the agent, without its own statements.
	Evidence []evidence.Signal `json:"evidence"`

	// UpdatedAt is when the record of an agent of this registry changed last. ResolvedAt is when
	// the DID document of an agent of another registry was resolved.
	UpdatedAt  time.Time `json:"updated_at,omitzero"`
	ResolvedAt time.Time `json:"resolved_at,omitzero"`
	// Unresolved says why only the DID of an agent is known; "" when more is known.
	Unresolved string `json:"unresolved,omitempty"`

	signalCount int // signals that hold, for the order
}

// An OmittedAgent is an agent that is not offered, and why.
type OmittedAgent struct {
	DID   string `json:"did"`
	AirID string `json:"air_id,omitempty"`
	Why   string `json:"why"`
	// Missing is the missing evidence.
	Missing []string `json:"missing_evidence,omitempty"`
}

// Joined lists the agents of one service, the strongest join first.
type Joined struct {
	Agents []ServingAgent `json:"agents"`
	// More counts further agents of the host that are not shown.
	More    int            `json:"more_agents,omitempty"`
	Omitted []OmittedAgent `json:"left_out,omitempty"` // at most five
	// None says why there is no agent; "" when there is one.
	None string `json:"no_agent,omitempty"`
}
