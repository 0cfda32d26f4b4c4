package route

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"gazetteer/api/airjson"
	"gazetteer/api/answer"
	"gazetteer/protocol"
	"gazetteer/registry"
)

// agentProblem returns the problem for an error of the registry: our kinds, the reference's words.
func agentProblem(err error) *Error {
	view, ok := airjson.NewErrorView(err, "")
	if !ok {
		return nil
	}
	return AgentProblemIn(err, view)
}

// AgentProblemIn returns the refusal for an error of the registry in the given words.
func AgentProblemIn(err error, view airjson.ErrorView) *Error {
	field, isField := errors.AsType[*registry.Error](err)
	refusal, isRefusal := errors.AsType[*registry.Refusal](err)
	kind, help := BadField, "see the agent's record and history for its state"
	if row, found := findProblem(err); found {
		kind, help = row.kind, cmp.Or(row.help, help)
	}
	if isField {
		kind, help = fieldProblem(field), cmp.Or(field.Help, "the members of the body are described in /openapi.json")
	} else if isRefusal {
		help = cmp.Or(refusal.Help, help)
	}
	r := NewProblem(kind, view.Error, help)
	p := &r.Problem
	p.Username, p.AirID, p.Reason = view.Username, view.AirID, view.Reason
	p.AttestationID, p.ClaimedSubject, p.ActualSubject = view.AttestationID, view.ClaimedSubject, view.ActualSubject
	p.RevokedAt, p.MaxAge = view.RevokedAt, view.MaxAgeSeconds
	if view.Message != "" {
		p.Message = view.Message
	}
	if view.Hint != "" {
		p.Hint, p.Help = view.Hint, view.Hint
	}
	if e := refusal; isRefusal {
		p.Rule, p.Expected, p.Got, p.SignatureBase, p.Work = e.Code, e.Expected, e.Got, e.Base, e.Work
		if e.Wait > 0 {
			r.WithRetry(e.Wait)
		}
	}
	if e := field; isField {
		p.Rule = e.Code
		switch {
		case e.Field == "id":
			r.WithLocation(Location{Parameter: "name"})
		case e.Field == "require":
			r.WithLocation(Location{Parameter: "require"})
		case strings.HasPrefix(e.Field, exportLine):
			n, _ := strconv.Atoi(strings.TrimPrefix(e.Field, exportLine)) // 0, which is left out, when it is none
			r.WithLocation(Location{Line: n})
		case e.Field != "" && p.Status == BadField.Status:
			r.WithLocation(Location{Pointer: fieldPointer(e.Field)})
		}
	}
	return r
}

// fieldProblem returns the kind of problem for a wrong value.
func fieldProblem(e *registry.Error) ProblemKind {
	switch {
	case e.Code == protocol.TooLarge.String() && e.Field == "":
		return bodyTooLarge
	case e.Field == "":
		return BadBody
	case e.Field == "air_id": // a path that can lead to no agent
		return NoAgent
	case e.Field == "id", e.Field == "require":
		return BadParameter
	default:
		return BadField
	}
}

// airIDRule is the rule that a malformed AIR ID breaks.
const airIDRule = "air-id"

// WithAirID adds the requested AIR ID to the refusal of err, where the reference has it. The help for
// a malformed one names the route that takes the other names of an agent.
func WithAirID(err error, airID string) error {
	r := ProblemFor(err)
	if s := r.Problem.Status; s == http.StatusNotFound || s == http.StatusGone {
		r.Problem.AirID = answer.CleanText(airID, 60)
	}
	if r.Problem.Rule == airIDRule {
		r.Problem.Help += "; GET /api/v1/resolve finds an agent by its handle or DID"
	}
	return r
}

// exportLine begins the message about a place in an export.
const exportLine = "line "
