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
	"gazetteer/protocol"
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
	// Stranger says that no Gazetteer sent it: the status says nothing about the thing asked for.
	Stranger bool
	err      error
}

func (e *RefusedError) Error() string { return e.err.Error() }

func (e *RefusedError) Unwrap() error { return e.err }

// RefusalError is StatusError with the expected and the received values, and with the names of flags. A
// refusal that no Gazetteer sends is an error of the network.
func (c *Client) RefusalError(response *http.Response, body []byte) error {
	status := response.StatusCode
	if status == http.StatusOK {
		return c.strangeError(DescribeBody(body))
	}
	var r refusal
	json.Unmarshal(body, &r) // an invalid body adds nothing
	if strange, ok := c.strangeRefusal(response, body, r.Code); ok {
		return &exit.Error{Code: exit.Network, Err: &RefusedError{Status: status, Stranger: true, err: strange}}
	}
	return c.describeRefusal(response, body, r)
}

// describeRefusal is RefusalError for a refusal of a Gazetteer, whose body may not have arrived.
func (c *Client) describeRefusal(response *http.Response, body []byte, r refusal) error {
	status := response.StatusCode
	err := StatusError(status, body)
	var e *exit.Error
	if !errors.As(err, &e) {
		return err
	}
	text := e.Err.Error()
	if rest, ok := strings.CutPrefix(text, unknownAgent); ok && r.AirID != "" {
		text = unknownAgent + ": " + format.Visible(r.AirID) + rest
	}
	if r.Code == "" && status >= 400 && isProblem(body) { // the error of another program names nothing of ours
		text = fmt.Sprintf("%s answered %d %s: %s", c.place(), status, http.StatusText(status), text)
	}
	if response.Request != nil {
		text = nameChoices(text, response.Request.URL.Query())
	}
	if to := response.Header.Get("Location"); status/100 == 3 && to != "" {
		text += "\n  it leads to: " + format.Visible(joinLines(protocol.ClipBytes(to, maxLocation)))
	}
	if r.Expected != "" {
		text += "\n  expected: " + format.Visible(r.Expected)
	}
	if r.Got != "" {
		text += "\n  got:      " + format.Visible(r.Got)
	}
	return &exit.Error{Code: e.Code, Err: &RefusedError{Status: status, Code: r.Code, AirID: r.AirID, Work: r.Work, err: errors.New(text)}}
}

// maxLocation is the number of bytes of a redirect that an error shows.
const maxLocation = 200

// unknownAgent is the text for an agent that is not known, as in the AIR reference.
const unknownAgent = "Agent not found"

// noRouteCode is the code of an address below which a Gazetteer serves nothing.
const noRouteCode = "not-found"

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

// IsRefusedWithStatus reports whether an error is an answer of that status, of a Gazetteer or of the AIR
// reference.
func IsRefusedWithStatus(err error, status int) bool {
	var e *RefusedError
	return errors.As(err, &e) && e.Status == status && !e.Stranger
}

// RefusesOperator reports whether an error is the answer of a server that accepts no requests of its
// operator at that address: it has no such path, or wants credentials.
func RefusesOperator(err error) bool {
	var e *RefusedError
	return errors.As(err, &e) && !e.Stranger && (e.Status == http.StatusUnauthorized || e.Status == http.StatusNotFound && e.Code == "not-found")
}
