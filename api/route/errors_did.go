package route

import (
	"errors"
	"gazetteer/api/answer"
	"gazetteer/registry/resolve"
	"time"
)

// didProblem returns why the DID of another host cannot be resolved; nil for other errors.
func didProblem(err error) *Error {
	if e, ok := errors.AsType[*answer.NameError](err); ok {
		return NewProblem(BadParameter, "Invalid DID: "+e.Message, e.Help).WithLocation(Location{Parameter: "name"})
	}
	e, ok := errors.AsType[*resolve.Error](err)
	if !ok {
		return nil
	}
	at := Location{Parameter: "name"}
	switch text := answer.CleanText(e.Error(), 500); {
	case errors.Is(err, resolve.ErrDeactivated):
		return NewProblem(agentGone, text, "its registry says that it is gone permanently").WithLocation(at)
	case errors.Is(err, resolve.ErrUnreachable):
		return NewProblem(Unavailable, text, "try again in a moment").WithLocation(at).WithRetry(5 * time.Second)
	case errors.Is(err, resolve.ErrNoHost):
		return NewProblem(noDID, text, "check the host in the DID for mistyped characters; if the host is right, its owner must publish an address for it").WithLocation(at)
	default:
		return NewProblem(noDID, text, "check the DID for mistyped characters, or ask its owner to publish the document").WithLocation(at)
	}
}
