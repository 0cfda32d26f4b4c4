// Package conformance assesses a host by five states, each with its evidence: whether the host is
// reachable, whether its documents are well-formed, whether they conform to their drafts, whether
// they agree with one another, and whether they answer today.
//
// Begin with [Judge]. It uses only the last fetch of each kind and the current documents:
// operations are never called. The crawler stores a [Turn] when the assessment of a host changes;
// [Turns] reads this history. Package conformance/standing follows the store and knows the present
// states of all hosts.
package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/protocol"
)

// Name names one of the five states.
type Name string

// The states. If one of them fails, the later ones say little.
const (
	// Reachable: the host answered a request of the last visit.
	Reachable Name = "reachable"
	// WellFormed: every discovery document that it serves can be read.
	WellFormed Name = "well-formed"
	// Conformant: no document breaks a rule of its draft.
	Conformant Name = "conformant"
	// Consistent: its documents agree with one another.
	Consistent Name = "consistent"
	// Answers: every current document was served at the last visit.
	Answers Name = "answers"
)

// Names returns the states in their order.
func Names() []Name { return []Name{Reachable, WellFormed, Conformant, Consistent, Answers} }

// Verdict says whether a state holds.
type Verdict string

// The verdicts.
const (
	Yes Verdict = "yes"
	No  Verdict = "no"
	// Unknown: there is no evidence either way; for example, a single document cannot contradict
	// another.
	Unknown Verdict = "unknown"
)

// PublisherClass is the kind of publisher that a host is. Most classes are for hosts without a
// document.
type PublisherClass string

// The classes.
const (
	// Publishes: the host has a current document.
	Publishes PublisherClass = "publishes"
	// OtherDialect: the host publishes a document of another dialect instead, such as llms.txt.
	OtherDialect PublisherClass = "other-dialect"
	// OtherFormat: the discovery paths have documents of another published format.
	OtherFormat PublisherClass = "other-format"
	// Withheld: robots.txt forbids the discovery paths.
	Withheld PublisherClass = "withheld-by-robots"
	// CatchAll: the host gives the same answer for every path.
	CatchAll PublisherClass = "catch-all"
	// Unreadable: the answers at the discovery paths are not documents.
	Unreadable PublisherClass = "unreadable"
	// Failing: the discovery paths answer with an error, or redirect to places from which documents
	// are not accepted.
	Failing PublisherClass = "failing"
	// Nothing: the host answers, and publishes nothing.
	Nothing PublisherClass = "nothing"
	// Silent: the host does not answer.
	Silent PublisherClass = "silent"
	// OptedOut: the owner asked not to be visited. Nothing else of such a host is stored.
	OptedOut PublisherClass = "opted-out"
	// Excluded: the operator of this server has excluded the host. Nothing else of it is stored.
	Excluded PublisherClass = "excluded"
	// Unvisited: no visit is complete yet.
	Unvisited PublisherClass = "unvisited"
)

// Classes returns the classes, those with documents first.
func Classes() []PublisherClass {
	return []PublisherClass{Publishes, OtherDialect, OtherFormat, CatchAll, Withheld, Unreadable, Failing, Nothing, Silent, OptedOut, Excluded, Unvisited}
}

// Input is the data about one host.
type Input struct {
	// Fetches are the last fetches of each kind.
	Fetches []fetch.Fetch
	// Documents are the current documents.
	Documents []document.Document
}

// Judgment is the assessment of a host.
type Judgment struct {
	Class  PublisherClass `json:"class"`
	States []State        `json:"states" doc:"the five states, in their order"`
}

// State is one state with its evidence.
type State struct {
	Name    Name    `json:"name"`
	Verdict Verdict `json:"verdict" enum:"yes,no,unknown"`
	// Level is the conformance level reached, for the state conformant.
	Level int `json:"level,omitempty"`
	// At is the time of the measurement, zero if there was none.
	At time.Time `json:"at,omitzero"`
	// Evidence lists the reasons, at most twenty.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Evidence is one reason for a verdict. Its texts can be untrusted.
type Evidence struct {
	Kind    string        `json:"kind" doc:"the document, or robots"`
	URL     string        `json:"url,omitempty"`
	Outcome fetch.Outcome `json:"outcome,omitempty"`
	// Code, Line, Column and Pointer are the rule and the place in the text, if it has one.
	Code    string `json:"code,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Pointer string `json:"pointer,omitempty"`
	Text    string `json:"text"`
	Help    string `json:"help,omitempty"`
}

const maxEvidence = 20

// Judge assesses a host.
func Judge(in Input) Judgment {
	slices.SortFunc(in.Fetches, func(a, b fetch.Fetch) int { return strings.Compare(a.Kind, b.Kind) })
	states := []State{in.judgeReachable(), in.judgeForm(), in.judgeConformance(), in.judgeConsistency(), in.judgeAnswers()}
	for i := range states {
		states[i].Evidence = states[i].Evidence[:min(len(states[i].Evidence), maxEvidence)]
	}
	return Judgment{Class: in.classifyHost(states[0].Verdict), States: states}
}

// State returns the state of that name.
func (j Judgment) State(name Name) State {
	for _, s := range j.States {
		if s.Name == name {
			return s
		}
	}
	return State{Name: name, Verdict: Unknown}
}

func (in Input) classifyHost(reachable Verdict) PublisherClass {
	has := func(o fetch.Outcome) bool {
		return slices.ContainsFunc(in.Fetches, func(f fetch.Fetch) bool { return f.Kind != fetch.KindRobots && f.Outcome == o })
	}
	switch {
	case slices.ContainsFunc(in.Documents, func(d document.Document) bool { return !slices.Contains(document.OnDemandKinds(), d.Kind) }):
		return Publishes
	case len(in.Documents) > 0:
		return OtherDialect
	case len(in.Fetches) == 0:
		return Unvisited
	case has(fetch.OtherFormat):
		return OtherFormat
	case has(fetch.CatchAll):
		return CatchAll
	case has(fetch.RefusedByRobots):
		return Withheld
	case reachable != Yes:
		return Silent
	case slices.ContainsFunc(in.Fetches, func(f fetch.Fetch) bool { return slices.Contains(unreadable, f.Outcome) }):
		return Unreadable
	case slices.ContainsFunc(in.Fetches, failsDiscovery):
		return Failing
	}
	return Nothing
}

// failsDiscovery reports whether a discovery path answered neither with a document nor with "not
// found".
func failsDiscovery(f fetch.Fetch) bool {
	switch f.Outcome {
	case fetch.OK, fetch.Unchanged, fetch.Absent, fetch.RefusedByRobots:
		return false
	}
	return f.Kind != fetch.KindRobots && !slices.Contains(unreadable, f.Outcome)
}

// judgeReachable looks for an answer with any status; a refusal counts.
func (in Input) judgeReachable() State {
	s := State{Name: Reachable, Verdict: Unknown}
	for _, f := range in.Fetches {
		s.At = laterTime(s.At, f.At)
		if f.Status > 0 || f.Outcome == fetch.OK || f.Outcome == fetch.Unchanged {
			s.Verdict = Yes
		}
	}
	if s.Verdict == Yes || len(in.Fetches) == 0 {
		return s
	}
	s.Verdict = No
	for _, f := range in.Fetches {
		s.addFetch(f)
	}
	return s
}

// unreadable are the outcomes of an answer that is not a document of its kind.
var unreadable = []fetch.Outcome{fetch.Unreadable, fetch.OtherFormat, fetch.BadMediaType, fetch.TooLarge, fetch.CatchAll}

func (in Input) judgeForm() State {
	s := State{Name: WellFormed, Verdict: Unknown}
	for _, f := range in.Fetches {
		switch {
		case f.Kind == fetch.KindRobots:
			continue
		case slices.Contains(unreadable, f.Outcome):
			s.Verdict = No
			if len(f.Findings) == 0 {
				s.addFetch(f)
			}
			s.addFindings(f.Kind, f.URL, f.Findings, func(protocol.Finding) bool { return true })
		case (f.Outcome == fetch.OK || f.Outcome == fetch.Unchanged) && s.Verdict == Unknown:
			s.Verdict = Yes
		}
		s.At = laterTime(s.At, f.At)
	}
	return s
}

// judgeConformance collects the errors of the current documents. The level is that of the AGIS
// document, and 1 without one: the other formats have one level.
func (in Input) judgeConformance() State {
	s := State{Name: Conformant, Verdict: Unknown}
	for _, d := range in.Documents {
		if d.Kind.IsAlias() {
			continue
		}
		s.At = laterTime(s.At, d.FetchedAt)
		if d.Valid() {
			if s.Verdict == Unknown {
				s.Verdict = Yes
			}
			s.Level = max(s.Level, d.Level)
			continue
		}
		s.Verdict = No
		s.addFindings(string(d.Kind), d.URL, d.Findings, func(f protocol.Finding) bool { return f.Severity == protocol.Error })
	}
	if s.Verdict != Yes {
		s.Level = 0
	}
	return s
}

// contradictions are the codes of findings about two documents of a host that disagree.
var contradictions = []string{document.CodeDiffers, document.CodeContradicts, "WK111", "AI112"}

// Contradicts reports whether findings of this code mean that two documents of a host disagree.
func Contradicts(code string) bool { return slices.Contains(contradictions, code) }

// judgeConsistency reports contradictions between the documents of a host; a single document cannot
// contradict another.
func (in Input) judgeConsistency() State {
	s := State{Name: Consistent, Verdict: Unknown}
	if len(in.Documents) > 1 {
		s.Verdict = Yes
	}
	for _, d := range in.Documents {
		s.At = laterTime(s.At, d.FetchedAt)
		contradicts := func(f protocol.Finding) bool { return Contradicts(f.Code) }
		if slices.ContainsFunc(d.Findings, contradicts) {
			s.Verdict = No
			s.addFindings(string(d.Kind), d.URL, d.Findings, contradicts)
		}
	}
	return s
}

// judgeAnswers reports whether the current documents were served at the last visit, or are kept
// from an earlier one. For a host without documents, discovery paths that fail count.
func (in Input) judgeAnswers() State {
	s := State{Name: Answers, Verdict: Unknown}
	if len(in.Documents) == 0 {
		for _, f := range in.Fetches {
			if failsDiscovery(f) {
				s.Verdict, s.At = No, laterTime(s.At, f.At)
				s.addFetch(f)
			}
		}
		return s
	}
	for _, d := range in.Documents {
		i := slices.IndexFunc(in.Fetches, func(f fetch.Fetch) bool { return f.Kind == string(d.Kind) })
		if i < 0 {
			continue
		}
		f := in.Fetches[i]
		s.At = laterTime(s.At, f.At)
		if f.Outcome == fetch.OK || f.Outcome == fetch.Unchanged {
			if s.Verdict == Unknown {
				s.Verdict = Yes
			}
			continue
		}
		s.Verdict = No
		s.addFetch(f)
	}
	return s
}

func laterTime(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (s *State) addFetch(f fetch.Fetch) {
	text := string(f.Outcome)
	if f.Status > 0 {
		text = fmt.Sprintf("%s (%d)", text, f.Status)
	}
	if f.Detail != "" {
		text += ": " + f.Detail
	}
	s.Evidence = append(s.Evidence, Evidence{Kind: f.Kind, URL: f.URL, Outcome: f.Outcome, Text: text})
}

// addFindings adds the findings that count.
func (s *State) addFindings(kind, url string, findings []protocol.Finding, counts func(protocol.Finding) bool) {
	for _, f := range findings {
		if counts(f) {
			s.Evidence = append(s.Evidence, Evidence{
				Kind: kind, URL: url, Code: f.Code, Line: f.Line, Column: f.Column, Pointer: f.Pointer, Text: f.Message, Help: f.Help,
			})
		}
	}
}
