package aidiscovery

import "gazetteer/protocol"

// A Document is an AI Discovery document (§3.1). What a broken document lacks
// or gives a wrong type is left at its zero value.
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

// A Service is who publishes the document (§3.2).
type Service struct {
	Name        string
	Description string
	Category    []string
	// Language holds BCP 47 tags; nil means the draft's default, English.
	Language []string
}

// A Capability is one thing an agent can invoke (§3.3).
type Capability struct {
	ID          string
	Description string
	// Endpoint as written: a path, or an absolute URI.
	Endpoint string
	Method   string
	Params   []NamedParam
	Returns  string
	// Pointer leads to the capability in the document.
	Pointer string
}

// A NamedParam is one member of params, in the order of the document.
type NamedParam struct {
	Name string
	// Text is the description as written, Param what [ParseParam] reads in it.
	Text string
	Param
}

// Auth is how callers authenticate (§3.4).
type Auth struct {
	Type   string
	Header string
	Docs   string
}

// TokenHints tells how answers can be made shorter (§3.5).
type TokenHints struct {
	CompactMode    bool
	FieldFiltering bool
	DeltaSupport   bool
}

// RateLimits is how often a caller may call (§3.6).
type RateLimits struct {
	RequestsPerMinute  int // 0 when not stated
	AgentTierAvailable bool
}

// Meta is about the document, not the service (§3.7). Dates and addresses are
// as written.
type Meta struct {
	LastUpdated string
	Changelog   string
	Status      string
}
