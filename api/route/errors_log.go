package route

import (
	"context"
	"errors"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/witness"
	"net/http"
	"time"
)

// ResumeProblem returns why a halted log does not sign again, for the operator.
func ResumeProblem(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, audit.ErrClosed) {
		return err
	}
	return NewProblem(contradiction, err.Error(), "repair what it names, and try again").WithCause(err)
}

// CosignProblem returns why a checkpoint was not cosigned, for its log.
func CosignProblem(e *witness.Refusal) *Error {
	switch e.Status {
	case http.StatusForbidden:
		return NewProblem(notSigned, e.Problem, "sign it with the key that the operator of this witness was given").WithCause(e)
	case http.StatusNotFound:
		return NewProblem(NoName, e.Problem, "the operator lists the logs that are cosigned in registry.witness_for").WithCause(e)
	case http.StatusUnprocessableEntity:
		return NewProblem(badProof, e.Problem, "send the consistency proof from the size that was cosigned last").WithCause(e)
	}
	return NewProblem(BadBody, e.Problem, "it is written as C2SP tlog-witness has it").WithCause(e)
}

func NoWitness() *Error {
	return NewProblem(Unavailable, "this server is no witness", "ask the operator of this server").WithRetry(time.Hour)
}
