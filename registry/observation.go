package registry

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxDomains is how many domains an agent may have.
const MaxDomains = 5

// A Domain is one whose control an agent shows: its owner published the agent's
// DID and key there, and the agent asked for it. It is looked at again and again.
type Domain struct {
	Name string `json:"name"`
	// Method is how it was proved last, "dns" or "https"; "" before.
	Method string `json:"method,omitempty"`
	// Key is the multikey that was found there.
	Key       string    `json:"key,omitempty"`
	Requested time.Time `json:"asked"`
	// Since is when it was proved first; zero before.
	Since   time.Time `json:"since,omitzero"`
	Checked time.Time `json:"checked,omitzero"`
	// Failures are those in a row; with the third the proof is withdrawn.
	Failures  int       `json:"failures,omitempty"`
	Withdrawn time.Time `json:"withdrawn,omitzero"`
	// Probes are the last check, step by step.
	Probes []Probe `json:"looks,omitempty"`
}

// Proved reports whether the domain counts: it was proved and not withdrawn.
func (d Domain) Proved() bool { return !d.Since.IsZero() && d.Withdrawn.IsZero() }

// A Look is one thing that was asked to prove a domain. All but Asked may quote
// the answer of a stranger.
type Probe struct {
	Query         string   `json:"asked"`           // "TXT _gazetteer.example.com"
	Server        string   `json:"where,omitempty"` // the server or address that answered
	Values        []string `json:"got,omitempty"`   // at most ten values, each cut at 300 bytes
	OmittedValues int      `json:"more,omitempty"`  // how many values are not shown
	Expected      string   `json:"expected"`
	Found         bool     `json:"found"`
	Problem       string   `json:"problem,omitempty"` // why it is not what is expected
}

// String tells the look in one line.
func (l Probe) String() string {
	text := l.Query
	if l.Server != "" {
		text += " at " + l.Server
	}
	if l.Found {
		return text + ": found"
	}
	text += ": " + l.Problem
	if len(l.Values) > 0 {
		text += ": got " + strconv.Quote(strings.Join(l.Values, " | "))
		if l.OmittedValues > 0 {
			text += fmt.Sprintf(" and %d more", l.OmittedValues)
		}
	}
	return text
}

// An Observation is what was seen of an agent outside of what it says.
type Observation struct {
	Holds  bool      `json:"holds"`
	At     time.Time `json:"at"`
	Source string    `json:"source"` // the URL that was asked
	// Detail says what came back; it may quote a stranger.
	Detail string `json:"detail,omitempty"`
}

// DomainRecord is what the owner of a domain publishes for an agent: as one
// value of a TXT record at _gazetteer before the domain or at the domain itself,
// or as one line of the file [DomainFile] over HTTPS. Other values and lines may
// stand beside it.
func (r *Registry) DomainRecord(a Agent) string {
	return DomainRecordFor(r.DID(a.AirID), a.Multikey())
}

// DomainRecordFor is what the owner of a domain publishes for the agent with that DID and
// key in use.
func DomainRecordFor(id, multikey string) string {
	return DomainRecordPrefix + id + "; key=" + multikey
}

// DomainRecordPrefix is what a value that names an agent begins with.
const DomainRecordPrefix = "gazetteer-agent="
