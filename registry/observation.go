package registry

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxDomains is the number of domains of an agent.
const MaxDomains = 5

// A Domain is a domain that an agent has proved to control: its owner published the agent's DID and
// key, and the agent requested the check. It is checked again regularly.
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
	// Failures are the failed checks in a row. The third one withdraws the proof.
	Failures  int       `json:"failures,omitempty"`
	Withdrawn time.Time `json:"withdrawn,omitzero"`
	// Probes are the questions and answers of the last check.
	Probes []Probe `json:"probes,omitempty"`
	// EarlierProbes are Probes in the spelling of entries that were written before December 2026. They
	// keep it when they are written again, because an entry is a leaf of the transparency log. Only an
	// [HistoryEntry] has them: reading an agent moves them to Probes.
	EarlierProbes []Probe `json:"looks,omitempty" hidden:"true"`
}

// Proved reports whether the domain was proved and the proof not withdrawn.
func (d Domain) Proved() bool { return !d.Since.IsZero() && d.Withdrawn.IsZero() }

// A Probe is one query to prove a domain. All members but Query may quote an untrusted answer.
type Probe struct {
	Query         string   `json:"asked"`           // "TXT _gazetteer.example.com"
	Server        string   `json:"where,omitempty"` // the address that answered; none for a name server, which is the operator's
	Values        []string `json:"got,omitempty"`   // at most ten values, each cut at 300 bytes
	OmittedValues int      `json:"more,omitempty"`  // how many values are not shown
	Expected      string   `json:"expected"`
	Found         bool     `json:"found"`
	Problem       string   `json:"problem,omitempty"` // why it is not what is expected
}

// NoProbe is the query of the probe that stands for all of them at a server that asks no other hosts.
const NoProbe = "nothing"

// String returns the probe in one line.
func (l Probe) String() string {
	if l.Query == NoProbe {
		return l.Problem
	}
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

// An Observation is a fact about an agent that the registry saw itself, outside the agent's own
// words.
type Observation struct {
	Holds  bool      `json:"holds"`
	At     time.Time `json:"at"`
	Source string    `json:"source"` // the URL that was asked
	// Detail is the answer; it may quote an untrusted text.
	Detail string `json:"detail,omitempty"`
}

// DomainRecord returns what the owner of a domain publishes for an agent: one value of a TXT record
// at _gazetteer before the domain or at the domain itself, or one line of a file over HTTPS. Other
// values and lines may exist beside it.
func (r *Registry) DomainRecord(a Agent) string {
	return DomainRecordFor(r.DID(a.AirID), a.Multikey())
}

// DomainRecordFor returns what the owner of a domain publishes for the agent with that DID and
// current key.
func DomainRecordFor(id, multikey string) string {
	return DomainRecordPrefix + id + "; key=" + multikey
}

// DomainRecordPrefix is the beginning of a value that names an agent.
const DomainRecordPrefix = "gazetteer-agent="
