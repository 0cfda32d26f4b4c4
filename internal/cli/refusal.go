package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"gazetteer/internal/exit"
	"gazetteer/internal/nearest"
	"gazetteer/lint/format"
	"gazetteer/registry/proofofwork"
)

// refusal contains the registry's additions to the members that all problems share.
type refusal struct {
	Code     string            `json:"code"`
	Expected string            `json:"expected"`
	Got      string            `json:"got"`
	Base     string            `json:"signature_base"`
	AirID    string            `json:"air_id"`
	Work     *proofofwork.Task `json:"work"`
}

// A RefusedError is an answer that refuses a request.
type RefusedError struct {
	Status int
	Code   string            // the kind of problem
	AirID  string            // the agent that it is about, "" for none
	Work   *proofofwork.Task // the required proof of work; nil for none
	err    error
}

func (e *RefusedError) Error() string { return e.err.Error() }

func (e *RefusedError) Unwrap() error { return e.err }

// refusalError is StatusError with the expected and the received values, and with the names of flags.
func refusalError(response *http.Response, body []byte) error {
	status := response.StatusCode
	var r refusal
	json.Unmarshal(body, &r) // an invalid body adds nothing
	err := StatusError(status, body)
	var e *exit.Error
	if !errors.As(err, &e) {
		return err
	}
	text := e.Err.Error()
	if at, found := findNoServer(response, body, r.Code); found {
		text = fmt.Sprintf("there is no Gazetteer at %s: the server there answered %d %s", at, status, http.StatusText(status))
		e = &exit.Error{Code: exit.Network}
	}
	if response.Request != nil && r.Code == "" && (status == http.StatusBadGateway || status == http.StatusGatewayTimeout) { // no Gazetteer sends them
		text = fmt.Sprintf("the proxy at %s answered %d %s: the server behind it does not answer; try again in a minute", response.Request.URL.Host, status, http.StatusText(status))
	}
	if rest, ok := strings.CutPrefix(text, unknownAgent); ok && r.AirID != "" {
		text = unknownAgent + ": " + format.Visible(r.AirID) + rest
	}
	if response.Request != nil {
		text = nameChoices(text, response.Request.URL.Query())
	}
	if r.Expected != "" {
		text += "\n  expected: " + format.Visible(r.Expected)
	}
	if r.Got != "" {
		text += "\n  got:      " + format.Visible(r.Got)
	}
	return &exit.Error{Code: e.Code, Err: &RefusedError{Status: status, Code: r.Code, AirID: r.AirID, Work: r.Work, err: errors.New(text)}}
}

// unknownAgent is the text for an agent that is not known, as in the AIR reference.
const unknownAgent = "Agent not found"

// noRouteCode is the code of an address below which a Gazetteer serves nothing.
const noRouteCode = "not-found"

// findNoServer returns the address of a server that refused a request, if no Gazetteer is there:
// another program answered, or a Gazetteer that is not below the path.
func findNoServer(response *http.Response, body []byte, code string) (string, bool) {
	if !isOfStranger(response.StatusCode) || response.Request == nil {
		return "", false
	}
	at := *response.Request.URL
	at.Path, _, _ = strings.Cut(at.Path, "/api/v1/")
	at.RawPath, at.RawQuery = "", ""
	below := code == noRouteCode && at.Path != "" && at.Path != response.Request.URL.Path
	return at.String(), below || !isProblem(body)
}

// isOfStranger reports whether a server other than Gazetteer answers with a status to its addresses
// and methods. A proxy answers with others before a Gazetteer that is down.
func isOfStranger(status int) bool {
	return status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
}

// isProblem reports whether a body is a problem of a Gazetteer, or an error of the AIR reference.
func isProblem(body []byte) bool {
	var p problem
	return json.Unmarshal(body, &p) == nil && p.formatText() != ""
}

// oneOf matches the refusal of a parameter that has a list of values. After a colon, the question of
// formatText can follow the list; nameChoices asks its own.
var oneOf = regexp.MustCompile(`^(\w+): "[^"]*" is not one of ([^\n]+)`)

// nameChoices names in such a refusal the flag, the refused value and the similar ones.
func nameChoices(text string, query url.Values) string {
	m := oneOf.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	list, _, _ := strings.Cut(m[2], ": ")
	choices := strings.Split(list, ", ")
	for _, value := range query[m[1]] {
		if slices.Contains(choices, value) {
			continue
		}
		return CheckChoice("--"+strings.ReplaceAll(m[1], "_", "-"), value, choices).Error()
	}
	return text
}

// CheckChoice refuses a value that is none of the choices, with those that are similar to it. What
// names the flag or the argument.
func CheckChoice(what, value string, choices []string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	question := nearest.Question(value, choices)
	if question != "" {
		question += " "
	}
	return exit.Usagef("%s %s: %swant one of %s", what, format.Visible(value), question, strings.Join(choices, ", "))
}

// IsRefusedWithStatus reports whether an error is an answer of that status.
func IsRefusedWithStatus(err error, status int) bool {
	var e *RefusedError
	return errors.As(err, &e) && e.Status == status
}

// RefusesOperator reports whether an error is the answer of a server that accepts no requests of its
// operator at that address: it has no such path, or wants credentials.
func RefusesOperator(err error) bool {
	var e *RefusedError
	return errors.As(err, &e) && (e.Status == http.StatusUnauthorized || e.Status == http.StatusNotFound && e.Code == "not-found")
}
