package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"gazetteer/internal/exit"
	"gazetteer/internal/nearest"
)

// problem contains the members of an RFC 9457 body that a user needs.
type problem struct {
	Code   string `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Help   string `json:"help"`
	Cause  string `json:"cause"` // for the operator
	Rule   string `json:"rule"`  // that the value breaks
	Retry  int    `json:"retry_after_seconds"`
	Error  any    `json:"error"`
	Where  struct {
		Parameter string `json:"parameter"`
		Column    int    `json:"column"`
	} `json:"where"`
}

func (p problem) formatText() string {
	text := cmp.Or(p.Detail, p.Title)
	if s, ok := p.Error.(string); ok && text == "" {
		text = s
	}
	if p.Where.Parameter != "" && p.Where.Column > 0 {
		text += fmt.Sprintf(" (at character %d of %s)", p.Where.Column, p.parameterName())
	}
	if question := p.suggestValue(); question != "" {
		text += ": " + question
	}
	if text = joinLines(text); p.Help != "" {
		text += "\n" + joinLines(p.Help)
	}
	if p.Cause != "" && !strings.Contains(p.Detail, p.Cause) {
		text += "\ncause: " + joinLines(p.Cause)
	}
	return text
}

// joinLines returns a text of a server as one line, so that no line of it looks like one of the command.
func joinLines(text string) string { return strings.Join(strings.Fields(text), " ") }

// quotedValue matches the refused value in a detail.
var quotedValue = regexp.MustCompile(`"([^"]{1,100})"`)

// listedValues matches the values that a help lists.
var listedValues = regexp.MustCompile(`(?:[\w-]+, ){2,}(?:and )?[\w-]+(?: and [\w-]+)?`)

// suggestValue returns a question for the value of a list in the help that is similar to the one that
// the detail quotes, "" for none, and for a problem that asks itself.
func (p problem) suggestValue() string {
	m := quotedValue.FindStringSubmatch(p.Detail)
	list := listedValues.FindString(p.Help)
	if m == nil || list == "" || len(m[1]) < 3 || strings.Contains(p.Detail+p.Help, "did you mean ") {
		return ""
	}
	return nearest.Question(m[1], strings.FieldsFunc(list, func(r rune) bool { return r == ' ' || r == ',' }))
}

// parameterName returns the user's name of the wrong parameter.
func (p problem) parameterName() string {
	if p.Where.Parameter == "q" {
		return "the query"
	}
	return p.Where.Parameter
}

// blockedHostCode is the code of a host that the operator has excluded: like an unknown one, it has
// nothing to show.
const blockedHostCode = "blocked-host"

// airIDRule is the rule that a malformed AIR ID breaks.
const airIDRule = "air-id"

// nameWait puts the time to wait into a help, once, and not at all if the detail names it.
func nameWait(help, detail string, wait time.Duration) string {
	const header = "wait for the time in Retry-After"
	text := "try again in " + formatWholeSpan(wait)
	switch {
	case strings.Contains(detail, "again in "):
		return strings.TrimLeft(strings.Replace(strings.Replace(help, header+", or ", "", 1), header, "", 1), ",; ")
	case strings.Contains(help, header):
		return strings.Replace(help, header, text, 1)
	}
	return strings.TrimPrefix(help+"; "+text, "; ")
}

// formatWholeSpan is FormatSpan for a wait: it rounds up, so that the wait is over after it.
func formatWholeSpan(wait time.Duration) string {
	for _, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute} {
		if wait > 2*unit {
			return FormatSpan((wait + unit - 1).Truncate(unit))
		}
	}
	return FormatSpan(wait)
}

// StatusError converts a refusal to an error with the command's exit code.
func StatusError(status int, body []byte) error {
	var p problem
	json.Unmarshal(body, &p) // an invalid body contains no message for a user
	if status == http.StatusTooManyRequests && p.Retry > 0 {
		p.Help = nameWait(p.Help, p.Detail, time.Duration(p.Retry)*time.Second)
	}
	text := p.formatText()
	if text == "" {
		text = fmt.Sprintf("the server answered %d %s", status, http.StatusText(status))
	}
	switch {
	case status < 300:
		return exit.Networkf("%s instead of 200 OK", text)
	case status < 400: // see followOnlyReads
		return exit.Networkf("%s: a command that changes something follows no redirect; name the address in --server that it leads to", text)
	case status == http.StatusNotFound && p.Rule == airIDRule: // malformed, and not only unknown
		return &exit.Error{Code: exit.Usage, Err: errors.New(text)}
	case status == http.StatusNotFound, status == http.StatusGone, p.Code == blockedHostCode:
		return &exit.Error{Code: exit.NotFound, Err: errors.New(text)}
	case status < 500 && status != http.StatusTooManyRequests:
		return &exit.Error{Code: exit.Usage, Err: errors.New(text)}
	default:
		return &exit.Error{Code: exit.Network, Err: errors.New(text)}
	}
}
