package aidiscovery

import "gazetteer/protocol"

// A Document is an AI Discovery document (§3.1). Members that are missing or have a wrong type keep
// their zero value.
type Document struct {
	Version      string // aiendpoint
	Service      Service
	Capabilities []Capability
	Auth         *Auth // nil when absent
	TokenHints   TokenHints
	RateLimits   RateLimits
	Meta         Meta
	// Root is the whole tree, for what the fields above do not hold.
	Root *protocol.Node
}

// A Service describes the publisher of the document (§3.2).
type Service struct {
	Name        string
	Description string
	Category    []string
	// Language holds BCP 47 tags; nil means the draft's default, English.
	Language []string
}

// A Capability is one operation that an agent can invoke (§3.3).
type Capability struct {
	ID          string
	Description string
	// Endpoint is the address as written: a path, or an absolute URI.
	Endpoint string
	Method   string
	Params   []NamedParam
	Returns  string
	// Pointer is the RFC 6901 pointer of the capability in the document.
	Pointer string
}

// A NamedParam is one member of params, in the order of the document.
type NamedParam struct {
	Name string
	// Text is the description as written, Param the result of [ParseParam] for it.
	Text string
	Param
}

// Auth says how callers authenticate (§3.4).
type Auth struct {
	Type   string
	Header string
	Docs   string
}

// TokenHints says how callers can get shorter answers (§3.5).
type TokenHints struct {
	CompactMode    bool
	FieldFiltering bool
	DeltaSupport   bool
}

// RateLimits is the number of calls that a caller may make (§3.6).
type RateLimits struct {
	RequestsPerMinute  int // 0 when not stated
	AgentTierAvailable bool
}

// Meta describes the document, not the service (§3.7). Dates and addresses are as written.
type Meta struct {
	LastUpdated string
	Changelog   string
	Status      string
}
