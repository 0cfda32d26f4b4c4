package cli

import (
	"encoding/json"
	"errors"

	"gazetteer/internal/exit"
	"gazetteer/lint/format"
	"gazetteer/registry"
)

// refusal contains the registry's additions to the members that all problems share.
type refusal struct {
	Code     string              `json:"code"`
	Expected string              `json:"expected"`
	Got      string              `json:"got"`
	Base     string              `json:"signature_base"`
	AirID    string              `json:"air_id"`
	Work     *registry.WorkProof `json:"work"`
}

// A RefusedError is an answer that refuses a request.
type RefusedError struct {
	Status int
	Code   string              // the kind of problem
	AirID  string              // the agent that it is about, "" for none
	Work   *registry.WorkProof // the required proof of work; nil for none
	err    error
}

func (e *RefusedError) Error() string { return e.err.Error() }

func (e *RefusedError) Unwrap() error { return e.err }

// refusalError is [StatusError] with the expected and the received values.
func refusalError(status int, body []byte) error {
	var r refusal
	json.Unmarshal(body, &r) // an invalid body adds nothing
	err := StatusError(status, body)
	var e *exit.Error
	if !errors.As(err, &e) {
		return err
	}
	text := e.Err.Error()
	if r.Expected != "" {
		text += "\n  expected: " + format.Visible(r.Expected)
	}
	if r.Got != "" {
		text += "\n  got:      " + format.Visible(r.Got)
	}
	return &exit.Error{Code: e.Code, Err: &RefusedError{Status: status, Code: r.Code, AirID: r.AirID, Work: r.Work, err: errors.New(text)}}
}

// IsRefusedWithStatus reports whether an error is an answer of that status.
func IsRefusedWithStatus(err error, status int) bool {
	var e *RefusedError
	return errors.As(err, &e) && e.Status == status
}
