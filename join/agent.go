package join

import (
	"net/url"
	"time"

	"gazetteer/protocol/did"
	"gazetteer/registry/evidence"
)

// A Strength is how much stands behind a join.
type Strength string

// The strengths, the strongest first.
const (
	// Proved: the agent was shown to be the domain owner's.
	Proved Strength = "proved"
	// Mutual: the service names the agent, and the agent the service.
	Mutual Strength = "mutual"
	// Claimed: one of them says so, and the other does not.
	Claimed Strength = "claimed"
)

// strengths lists them all, the strongest first.
var strengths = []Strength{Proved, Mutual, Claimed}

// What a [Link] is made of, beside the Association constants of package evidence.
const (
	// LinkDocument: a document of the service names the agent.
	LinkDocument = "document"
	// LinkDIDHost: the DID of the agent lies on the host of the service itself.
	LinkDIDHost = "did-host"
)

// Whose word a [Link] is.
const (
	SideService = "service"
	SideAgent   = "agent"
	SideBoth    = "both" // seen or shown: neither could say it alone
)

// A Link is one thing that joins an agent to a service. What and Detail may quote
// strangers.
type Link struct {
	By     string    `json:"by"`               // domain, parent-domain, did-host, creator-did, document, endpoint or claim
	Side   string    `json:"side"`             // who says so: service, agent, or both
	What   string    `json:"what"`             // the domain, the DID, the URL
	Source string    `json:"source,omitempty"` // where it can be checked
	Detail string    `json:"detail,omitempty"`
	Date   time.Time `json:"date,omitzero"` // when it was seen or said last
}

// A Key is what an agent signs with now.
type Key struct {
	ID                 string    `json:"id"` // {did}#key-1
	Type               string    `json:"type"`
	PublicKeyMultibase string    `json:"publicKeyMultibase"`
	Since              time.Time `json:"since,omitzero"` // zero when only another registry knows
}

// A Contact is where an agent is written to, and whose signature its answers bear.
type Contact struct {
	AirID string `json:"air_id,omitempty"` // "" for a DID without one
	DID   string `json:"did"`
	Inbox string `json:"inbox"`         // the first A2AInbox, "" when there is none
	Key   *Key   `json:"key,omitempty"` // nil when it has none
}

// ContactOf reads the contact out of the DID document of an agent of this
// registry, which has checked its key and where its inbox may be. Everything that tells where
// an agent is written to uses it, or [FarContactOf], so that all tell the same.
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

// FarContactOf reads the contact out of a DID document that another host
// published. An inbox that is not at an absolute https address is none (A2A §3.4),
// and a key that nobody should trust is none either.
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

// An Agent is one that serves a service, and why that is believed. All texts are
// strangers': escape them on output.
type Agent struct {
	Contact
	Name   string `json:"name,omitempty"` // as it calls itself
	Handle string `json:"handle,omitempty"`

	Strength Strength `json:"strength"`
	// Says tells a person in one sentence what joins it, and whose word that is.
	Says  string `json:"says"`
	Links []Link `json:"links"`
	// Evidence is what there is to judge the agent by, without what it says of
	// itself alone.
	Evidence []evidence.Signal `json:"evidence"`

	// UpdatedAt is when the record of an agent of this registry changed last; it was
	// read now. ResolvedAt is when the DID document of another's was.
	UpdatedAt  time.Time `json:"updated_at,omitzero"`
	ResolvedAt time.Time `json:"resolved_at,omitzero"`
	// Unresolved says why nothing is known of an agent but its DID; "" when it is.
	Unresolved string `json:"unresolved,omitempty"`

	held int // signals that hold, for the order
}

// A Left is an agent that is not offered, and why.
type Left struct {
	DID   string `json:"did"`
	AirID string `json:"air_id,omitempty"`
	Why   string `json:"why"`
	// Missing is the required evidence that does not hold.
	Missing []string `json:"missing_evidence,omitempty"`
}

// Joined are the agents of one service, the strongest join first.
type Joined struct {
	Agents []Agent `json:"agents"`
	// More counts further agents that belong to the host and are not shown.
	More int    `json:"more_agents,omitempty"`
	Left []Left `json:"left_out,omitempty"` // at most five
	// None says why there is no agent; "" when there is one.
	None string `json:"no_agent,omitempty"`
}
