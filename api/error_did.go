package api

import (
	"errors"
	"gazetteer/api/answer"
	"gazetteer/registry/resolve"
	"time"
)

// didProblem says why the DID of another host leads nowhere; nil for another
// error.
func didProblem(err error) *problemError {
	if e, ok := errors.AsType[*answer.NameError](err); ok {
		return newProblem(badParameter, "Invalid DID: "+e.Message, e.Help).withLocation(Location{Parameter: "name"})
	}
	e, ok := errors.AsType[*resolve.Error](err)
	if !ok {
		return nil
	}
	at := Location{Parameter: "name"}
	switch text := answer.CleanText(e.Error(), 500); {
	case errors.Is(err, resolve.ErrDeactivated):
		return newProblem(agentGone, text, "its registry says that it is gone for good").withLocation(at)
	case errors.Is(err, resolve.ErrUnreachable):
		return newProblem(unavailable, text, "try again in a moment").withLocation(at).withRetry(5 * time.Second)
	default:
		return newProblem(noDID, text, "check the DID for mistyped characters, or ask its owner to publish the document").withLocation(at)
	}
}
