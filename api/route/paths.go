package route

// Paths that other packages name.
const (
	AgentsPath   = "/api/v1/agents/"
	OperatorPath = "/api/v1/admin/" // the operator's routes of the AIR reference
)

// operatorOnly refuses requests that only the operator may make.
func operatorOnly() *Error {
	r := NewProblem(unauthorized, "Unauthorized", "the operator's routes answer only on the Unix socket in the data directory; owners of an agent use /deactivate and /erase")
	r.Plain = true
	return r
}

// exportLine begins the message about a place in an export.
const exportLine = "line "
