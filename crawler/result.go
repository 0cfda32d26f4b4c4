package crawler

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/protocol"
)

// finishVisit completes the host's record and the result at the end of the visit.
func (s *session) finishVisit(took time.Duration) {
	v := s.visit
	h := &v.host
	h.Visited = s.c.now()
	h.Visits++
	h.Failures++
	readable := h.Robots != nil && h.Robots.Status == http.StatusOK // else robots.txt itself has failed
	for _, f := range v.result.Fetches {
		withheld := f.Outcome == fetch.RefusedByRobots && readable
		if f.Kind != fetch.KindRobots && (classOf(f.Outcome) == classGood || f.Outcome == fetch.Absent || withheld) {
			h.Failures = 0
		}
	}
	// The alias is only requested after the authoritative path.
	alias, ai := string(document.AIAlias), string(document.AI)
	if at, ok := h.NotBefore[alias]; ok && at.Before(h.NotBefore[ai]) {
		h.NotBefore[alias] = h.NotBefore[ai]
	}
	h.Due = dueAfter(h.NotBefore)
	if !h.Due.After(h.Visited) { // no request, so no new information
		h.Due = h.Visited.Add(minFreshness)
	}
	r := &v.result
	r.Host, r.NextDue, r.TLS, r.Took = h.Name, h.Due, h.TLS, took
	for _, d := range s.visit.docs {
		r.Documents++
		r.Operations += len(d.Operations)
		r.Errors += countErrors(d)
	}
	r.Requests, r.State = v.requests, stateOf(r.Documents, r.Fetches)
	r.Summary = summarizeVisit(r.Fetches, s.visit.docs)
}

// summarizeVisit describes a host after a visit in one line.
func summarizeVisit(fetches []fetch.Fetch, stored map[document.Kind]*document.Document) string {
	var parts []string
	for _, kind := range document.Kinds() {
		if d := stored[kind]; d != nil {
			parts = append(parts, fmt.Sprintf("%s %s%s", kind, formatOperations(len(d.Operations)), describeErrors(d)))
		}
	}
	said := map[string]bool{}
	for _, f := range fetches {
		reason := string(f.Outcome)
		if f.Detail != "" {
			reason += ": " + f.Detail
		}
		// The results of the affected documents report the effect of robots.txt. If a host
		// publishes one format, the absence of another is not reported; neither is a repeated
		// reason.
		if f.Kind == fetch.KindRobots || classOf(f.Outcome) == classGood || f.Outcome == fetch.Absent || said[reason] {
			continue
		}
		said[reason] = true
		if f.Outcome == fetch.Unreadable {
			reason = fmt.Sprintf("%s: %s: %s", f.Outcome, f.URL, f.Detail)
		}
		if len(parts) > 0 {
			reason = f.Kind + " " + reason
		}
		parts = append(parts, reason)
	}
	if len(parts) == 0 {
		return "absent: publishes neither an AI Discovery document nor an AGIS summary"
	}
	return strings.Join(parts, "; ")
}

// maxNamedRules bounds the rules that the line of a document names.
const maxNamedRules = 3

// countErrors counts the findings that are errors.
func countErrors(d *document.Document) int {
	n := 0
	for _, f := range d.Findings {
		if f.Severity == protocol.Error {
			n++
		}
	}
	return n
}

// describeErrors counts the findings of a document that are errors and names their rules, "" without
// an error.
func describeErrors(d *document.Document) string {
	n := countErrors(d)
	if n == 0 {
		return ""
	}
	var rules []string
	for _, f := range d.Findings {
		if f.Severity == protocol.Error && !slices.Contains(rules, f.Code) {
			rules = append(rules, f.Code)
		}
	}
	if len(rules) > maxNamedRules {
		rules = append(rules[:maxNamedRules], "…")
	}
	times := "once"
	if n > 1 {
		times = fmt.Sprintf("%d times", n)
	}
	return fmt.Sprintf(" (breaks its draft %s: %s)", times, strings.Join(rules, ", "))
}

func formatOperations(n int) string {
	if n == 1 {
		return "1 operation"
	}
	return fmt.Sprintf("%d operations", n)
}

// MaxShownName is the number of bytes of a bad host name in a result: more than any valid name has.
const MaxShownName = 300

// BadHost returns the result for a text that is not a host name; err is the reason.
func BadHost(asked string, err error, now time.Time) Result {
	asked = protocol.ClipBytes(asked, MaxShownName)
	return Result{
		Host: asked, State: Refused,
		Fetches: []fetch.Fetch{{URL: asked, Outcome: fetch.BadHost, Detail: err.Error(), At: now}},
		Summary: string(fetch.BadHost) + ": " + err.Error(),
	}
}

// notAllowed returns the result for a host that its owner or the operator does not want visited.
func notAllowed(host, why string, now time.Time) Result {
	return Result{
		Host: host, State: Refused,
		Fetches: []fetch.Fetch{{URL: "https://" + host + "/", Outcome: fetch.OptedOut, Detail: why, At: now}},
		Summary: "not visited: " + why,
	}
}

// Outcome returns the outcome that describes the visit best: OK when there is a current document,
// otherwise that of the last fetch.
func (r Result) Outcome() fetch.Outcome {
	_, outcome := r.decidingFetch()
	return outcome
}

// decidingFetch returns the kind and the outcome that describe the visit best.
func (r Result) decidingFetch() (kind string, outcome fetch.Outcome) {
	for _, f := range slices.Backward(r.Fetches) {
		if kind == "" || outcome != fetch.OK && f.Outcome == fetch.OK && f.Kind != fetch.KindRobots {
			kind, outcome = f.Kind, f.Outcome
		}
	}
	if r.Documents > 0 {
		outcome = fetch.OK
	}
	return kind, outcome
}
