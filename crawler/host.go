package crawler

import (
	"maps"
	"slices"
	"time"

	"gazetteer/conformance"
	"gazetteer/document"
	"gazetteer/fetch"
)

// A Host is the crawl state of one host, stored as one record of the frontier. Due alone decides
// the order. A host stays due until the result of its visit is committed together with its new Due.
type Host struct {
	Name string `json:"name"`
	// Track holds the present states of the host and since when; nil before the first visit, and in
	// records of hosts that were not visited since Gazetteer keeps this history.
	Track *conformance.Track `json:"track,omitempty"`
	// Due is the earliest time of the next visit.
	Due time.Time `json:"due"`
	// Depth counts links from a seed (0) to here. Links are followed to depth 3.
	Depth int `json:"depth"`
	// FoundOn is the host whose document named this one, "" for seeds.
	FoundOn string    `json:"found_on,omitempty"`
	Added   time.Time `json:"added"`
	// Visited is the end of the last visit, zero before the first.
	Visited time.Time `json:"visited,omitzero"`
	Visits  int       `json:"visits"`
	// Wished is the time of the last request for a visit; ByOwner tells whether its owner or
	// the operator sent it: see [Crawler.Recrawl].
	Wished  time.Time `json:"wished,omitzero"`
	ByOwner bool      `json:"wished_by_owner,omitempty"`
	// OwnerProved is the time of the owner's last signed request for a visit, zero for never.
	OwnerProved time.Time `json:"owner_proved,omitzero"`
	// Failures counts consecutive visits that found neither a document nor a clear absence, and that
	// robots.txt did not forbid.
	Failures int `json:"failures"`
	// Fetches holds the last fetch of each kind, "robots" among them.
	Fetches map[string]fetch.Fetch `json:"fetches,omitempty"`
	// NotBefore holds, for each kind, the earliest time of its next request (at least 24 h after a
	// 404: AI Discovery §4.3).
	NotBefore map[string]time.Time `json:"not_before,omitempty"`
	Robots    *fetch.Robots        `json:"robots,omitempty"`
	// Rates holds, for each kind, the rate of changes of its document.
	Rates map[string]Rate `json:"rates,omitempty"`
	// Distinct is set when the host has shown that it distinguishes paths.
	Distinct bool `json:"distinct,omitempty"`
	// TLS describes the last connection to the host itself.
	TLS *fetch.TLS `json:"tls,omitempty"`
}

// Listed reports whether the host has at least one current document.
func (h *Host) Listed() bool {
	for _, f := range h.Fetches {
		if f.Digest != "" && !document.Kind(f.Kind).IsAlias() {
			return true
		}
	}
	return false
}

// requestedKinds returns the kinds that each visit requests.
func requestedKinds() []string {
	var kinds []string
	for _, f := range document.Formats {
		if f.Request == document.Always {
			kinds = append(kinds, string(f.Kind))
		}
	}
	return kinds
}

// Judge judges the host by its last fetches and its current documents.
func (h *Host) Judge(docs []document.Document) conformance.Judgment {
	return conformance.Judge(conformance.Input{Fetches: slices.Collect(maps.Values(h.Fetches)), Documents: docs})
}

// A Result is the outcome of one visit to a host, for waiting callers.
type Result struct {
	Host string `json:"host"`
	// State summarizes the fetches.
	State   State         `json:"state"`
	Fetches []fetch.Fetch `json:"fetches"` // in the order they were made
	// Summary is one line for a person, for example
	// "ai 3 operations; agis 12 operations" or "refused-by-robots: Disallow: /".
	Summary    string    `json:"summary"`
	Documents  int       `json:"documents"`     // current, after the visit
	Operations int       `json:"operations"`    // in them
	Errors     int       `json:"errors"`        // findings in them that are errors
	Requests   int       `json:"requests"`      // made in this visit, redirects included
	New        []string  `json:"new,omitempty"` // hosts found and added
	NextDue    time.Time `json:"next_due,omitzero"`
	// TLS describes the last connection to the host itself; nil before the first.
	TLS  *fetch.TLS    `json:"tls,omitempty"`
	Took time.Duration `json:"took_ns"`
	// NotDue is set if nothing was requested because the host is not due before NextDue; the other
	// fields then describe its last visit.
	NotDue bool `json:"not_due,omitempty"`
}

// A State summarizes a host after a visit.
type State string

// The states of a host.
const (
	Listed    State = "listed"    // it has a current document
	Empty     State = "empty"     // it answers, but has no readable document
	Refused   State = "refused"   // it must not be requested, or its robots.txt forbids it
	Failing   State = "failing"   // no answer, or a temporary error
	Unvisited State = "unvisited" // no visit has finished yet
)

// stateOf returns the state of a host with this many documents and these fetches.
func stateOf(documents int, fetches []fetch.Fetch) State {
	if documents > 0 {
		return Listed
	}
	state := Unvisited
	for _, f := range fetches {
		if f.Kind == fetch.KindRobots {
			continue // its effect is part of the outcomes of the affected documents
		}
		switch classOf(f.Outcome) {
		case classBusy, classDown:
			return Failing
		case classRefused:
			state = Refused
		default:
			if slices.Contains([]fetch.Outcome{fetch.OptedOut, fetch.BlockedAddress, fetch.BadHost}, f.Outcome) {
				state = Refused
			} else if state == Unvisited {
				state = Empty
			}
		}
	}
	return state
}
