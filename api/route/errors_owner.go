package route

import (
	"errors"
	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/crawler/owner"
	"time"
)

// ownerProblem returns the problem for an error of an owner request.
func ownerProblem(err error) *Error {
	if e, ok := errors.AsType[*answer.WithdrawnError](err); ok {
		if e.Block.By == crawler.ByOwner {
			return NewProblem(optedOut, e.Why(), e.Help())
		}
		return NewProblem(blockedHost, e.Why(), e.Help())
	}
	if e, ok := errors.AsType[*crawler.SoonError](err); ok {
		return NewProblem(rateLimited, e.Error(), "wait for the time in Retry-After").WithRetry(e.Wait)
	}
	if e, ok := errors.AsType[*owner.CoveredError](err); ok {
		return NewProblem(NotOptedOut, e.Error(), "withdraw that one: POST /api/v1/services/"+e.By+"/opt-in")
	}
	switch {
	case errors.Is(err, owner.ErrNotOut):
		return NewProblem(NotOptedOut, "the owner of this host has not opted out, so there is nothing to withdraw", "name the host to have it visited: POST /api/v1/submissions")
	case errors.Is(err, owner.ErrOperator):
		return NewProblem(blockedHost, "it is the operator of this server who does not visit the host", "ask the operator; the page /bot has the address")
	case errors.Is(err, crawler.ErrBlocked): // by somebody who was faster
		return NewProblem(blockedHost, "the host is not visited", "ask for the host itself to learn who blocked it")
	case errors.Is(err, answer.ErrNoOwnerRequests):
		return NewProblem(Unavailable, "this server accepts no requests of owners", "ask the operator; the page /bot has the address").WithRetry(time.Hour)
	}
	return nil
}
