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
	r := NewProblem(agentProblemKind(err), view.Error, agentHelp(err))
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
	if e, ok := errors.AsType[*registry.Refusal](err); ok {
		p.Rule, p.Expected, p.Got, p.SignatureBase, p.Work = e.Code, e.Expected, e.Got, e.Base, e.Work
		if e.Wait > 0 {
			r.WithRetry(e.Wait)
		}
	}
	if e, ok := errors.AsType[*registry.Error](err); ok {
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

// agentProblemKind returns the kind of problem for an error of the registry.
func agentProblemKind(err error) problemKind {
	if e, ok := errors.AsType[*registry.Error](err); ok {
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
	for _, row := range []struct {
		is   error
		sort problemKind
	}{
		{registry.ErrHandleTaken, conflict}, {registry.ErrState, contradiction},
		{registry.ErrNoAgent, NoAgent}, {registry.ErrNoKey, noKey}, {registry.ErrNotFound, noPart},
		{registry.ErrNoSecret, unauthorized}, {registry.ErrWrongSecret, unauthorized}, {registry.ErrUnauthorized, unauthorized},
		{registry.ErrForbidden, forbidden}, {registry.ErrGone, agentGone}, {registry.ErrTooMany, rateLimited},
	} {
		if errors.Is(err, row.is) {
			return row.sort
		}
	}
	return BadField // registry.ErrNothingToUpdate
}

// agentHelp returns how to correct an error of the registry.
func agentHelp(err error) string {
	if e, ok := errors.AsType[*registry.Error](err); ok {
		return cmp.Or(e.Help, "the members of the body are described in /openapi.json")
	}
	if e, ok := errors.AsType[*registry.Refusal](err); ok && e.Help != "" {
		return e.Help
	}
	switch {
	case errors.Is(err, registry.ErrHandleTaken):
		return "choose another username"
	case errors.Is(err, registry.ErrNoAgent):
		return "check the id for mistyped characters; it may also belong to another registry"
	case errors.Is(err, registry.ErrNoSecret), errors.Is(err, registry.ErrWrongSecret):
		return "sign the request with the agent's key (RFC 9421), or send the agent_secret that the registration answered, in the header X-Agent-Secret"
	case errors.Is(err, registry.ErrNoKey):
		return "register with a public_key (Ed25519, base64url)"
	case errors.Is(err, registry.ErrGone):
		return "this is for good; its keys and history can still be read, unless it was erased"
	case errors.Is(err, registry.ErrNothingToUpdate):
		return "name at least one member that changes"
	default:
		return "see the agent's record and history for its state"
	}
}

// WithAirID adds the requested AIR ID to the refusal of err, where the reference has it.
func WithAirID(err error, airID string) error {
	r := ProblemFor(err)
	if s := r.Problem.Status; s == http.StatusNotFound || s == http.StatusGone {
		r.Problem.AirID = answer.CleanText(airID, 60)
	}
	return r
}
