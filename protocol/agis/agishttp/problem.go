package agishttp

import (
	"encoding/json"
	"net/http"
	"strconv"

	"gazetteer/protocol"
)

// A Problem is a refusal: the body of RFC 9457 with additional members. The last three repeat code
// and detail under the names that other conventions use.
type Problem struct {
	// Type is always "about:blank"; Code tells the kinds apart.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	// Code is the rule that was broken, for example "AGIS301", or the name of
	// a problem that no rule describes, for example "unknown-grammar".
	Code string `json:"code"`
	// Pass is the validation pass of §9.1 that refused the method, 0 for
	// problems that no pass finds.
	Pass int `json:"pass,omitempty"`
	// Section is the place in the draft.
	Section string `json:"section,omitempty"`
	// Help says how to correct the request.
	Help string `json:"help,omitempty"`
	// Header names the header that is at fault.
	Header string `json:"header,omitempty"`
	// Declared lists the verbs that could be used instead: those of the path, or of the whole
	// service if no endpoint has the path.
	Declared []string `json:"declared,omitempty"`

	Error     string `json:"error"`
	ErrorCode string `json:"errorCode"`
	Message   string `json:"message"`
}

func newProblem(status int, code, title, detail, help string) *Problem {
	return &Problem{
		Type: "about:blank", Title: title, Status: status, Detail: detail, Code: code,
		Section: "AGIS §10.1", Help: help, Error: detail, ErrorCode: code, Message: detail,
	}
}

func (p *Problem) inHeader(header string) *Problem {
	p.Header = header
	return p
}

// methodProblem is the problem of a method that pass 2 or 3 refuses.
func methodProblem(header string, f protocol.Finding) *Problem {
	p := newProblem(http.StatusBadRequest, f.Code, "Grammar violation", f.Message, f.Help).inHeader(header)
	p.Section = f.Section
	p.Pass = passOf(f.Code)
	return p
}

// passOf returns the validation pass of a code, which is its hundreds digit.
func passOf(code string) int {
	if len(code) != len("AGIS000") {
		return 0
	}
	pass, err := strconv.Atoi(code[4:5])
	if err != nil {
		return 0
	}
	return pass
}

// ServeHTTP answers with the problem.
func (p *Problem) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	body, err := json.Marshal(p)
	if err != nil { // strings and numbers always marshal
		panic(err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	// The client may have disconnected, so the error is of no use.
	_, _ = w.Write(append(body, '\n'))
}
