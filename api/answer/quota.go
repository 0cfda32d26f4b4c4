package answer

import (
	"errors"
	"fmt"
	"time"

	"gazetteer/limit"
)

// A QuotaError says that a client has exceeded a limit.
type QuotaError struct {
	Message string
	Help    string        // what to do instead
	Wait    time.Duration // until there is room again
}

func (e *QuotaError) Error() string { return e.Message }

// quotaError describes an exceeded limit of a client, or of all clients together, for the caller. Of
// what there were too many is a plural. Other errors, and nil, are returned as they are.
func quotaError(err error, what, help string) error {
	e, ok := errors.AsType[*limit.ExceededError](err)
	switch {
	case !ok:
		return err
	case e.All:
		return &QuotaError{"this server accepts no more " + what + " from your network at the moment: all clients together have sent too many", help, e.Wait}
	}
	return &QuotaError{fmt.Sprintf("your network has sent too many %s: at most %d an hour", what, e.Quota), help, e.Wait}
}

// targetError describes an exceeded limit of a host or a domain.
func targetError(err error, what, help string) error {
	if e, ok := errors.AsType[*limit.ExceededError](err); ok {
		return &QuotaError{fmt.Sprintf("there were too many %s: at most %d an hour", what, e.Quota), help, e.Wait}
	}
	return err
}

// ownOfTarget is how many requests about one host or domain each wider network may send in an hour,
// in addition to those of all clients together.
const ownOfTarget = 4

// targetRule returns the rule for requests that concern one host or domain, for
// [limit.Limiter.TakeTarget].
func targetRule(name string, each int) limit.Rule {
	return limit.Rule{Name: name, Each: each, All: -1, Own: min(ownOfTarget, each)}
}
