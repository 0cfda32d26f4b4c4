package altar

import "fmt"

// A Code is a standard error code (appendix A).
type Code string

// The codes of appendix A.
const (
	ToolNotFound        Code = "TOOL_NOT_FOUND"
	InvalidParameters   Code = "INVALID_PARAMETERS"
	RuntimeUnavailable  Code = "RUNTIME_UNAVAILABLE"
	SessionInvalid      Code = "SESSION_INVALID"
	AuthorizationFailed Code = "AUTHORIZATION_FAILED"
	ExecutionTimeout    Code = "EXECUTION_TIMEOUT"
	ExecutionFailed     Code = "EXECUTION_FAILED"
	InternalError       Code = "INTERNAL_ERROR"
)

// Known reports whether the code is in appendix A.
func (c Code) Known() bool {
	switch c {
	case ToolNotFound, InvalidParameters, RuntimeUnavailable, SessionInvalid, AuthorizationFailed, ExecutionTimeout, ExecutionFailed, InternalError:
		return true
	}
	return false
}

// An Error is the structured error of section 5.4.
type Error struct {
	Code    Code           `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Errorf returns an error with a code.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// With adds a detail and returns the error.
func (e *Error) With(name string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[name] = value
	return e
}
