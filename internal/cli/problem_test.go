package cli

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// The error names the character of the query at which the mistake is.
func TestRefusalsHaveColumn(t *testing.T) {
	for body, want := range map[string]string{
		`{"detail": "a quotation mark is not closed", "help": "add it", "where": {"parameter": "q", "column": 6}}`: "a quotation mark is not closed (at character 6 of the query)\nadd it",
		`{"detail": "there is no verb", "where": {"parameter": "name", "column": 3}}`:                              "there is no verb (at character 3 of name)",
		`{"detail": "\"vrb\" is not a field", "help": "the fields are host, effect, state and verb"}`:              "\"vrb\" is not a field: did you mean verb?\nthe fields are host, effect, state and verb",
		`{"detail": "\"x\" is not an agent", "help": "write a handle of a-z, 0-9 and _, or a DID, such as a.b"}`:   "\"x\" is not an agent\nwrite a handle of a-z, 0-9 and _, or a DID, such as a.b",
		`{"detail": "\"vrb\" is not a field", "help": "did you mean verb? the fields are host, effect, and verb"}`: "\"vrb\" is not a field\ndid you mean verb? the fields are host, effect, and verb",
		`{"detail": "limit: \"ten\" is not a whole number", "where": {"parameter": "limit"}}`:                      "limit: \"ten\" is not a whole number",
	} {
		if got := StatusError(400, []byte(body)).Error(); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", body, got, want)
		}
	}
}

// The cause of a failure follows the detail, unless the detail has it already.
func TestCauseIsShownOnce(t *testing.T) {
	for body, want := range map[string]string{
		`{"detail": "the disk is full", "cause": "write data/store.bolt: no space left"}`:           "the disk is full\ncause: write data/store.bolt: no space left",
		`{"detail": "a witness has not cosigned: the answer is 500", "cause": "the answer is 500"}`: "a witness has not cosigned: the answer is 500",
	} {
		if got := StatusError(http.StatusServiceUnavailable, []byte(body)).Error(); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", body, got, want)
		}
	}
}

// A refusal because of a limit says when to try again; the header is not visible to the user.
func TestRefusalsSayWhenToTryAgain(t *testing.T) {
	for body, want := range map[string]string{
		`{"detail": "at most 30 an hour", "help": "wait for the time in Retry-After", "retry_after_seconds": 115}`:                                  "at most 30 an hour\ntry again in 115 seconds",
		`{"detail": "at most 30 an hour", "help": "wait for the time in Retry-After, or sign the request", "retry_after_seconds": 20}`:              "at most 30 an hour\ntry again in 20 seconds, or sign the request",
		`{"detail": "this agent has claimed 3 handles", "help": "prove a domain to claim more, or wait", "retry_after_seconds": 3600}`:              "this agent has claimed 3 handles\nprove a domain to claim more, or wait; try again in 60 minutes",
		`{"detail": "this agent was changed very often", "retry_after_seconds": 12}`:                                                                "this agent was changed very often\ntry again in 12 seconds",
		`{"detail": "the host can be visited again in 10 minutes: it was", "help": "wait for the time in Retry-After", "retry_after_seconds": 600}`: "the host can be visited again in 10 minutes: it was",
		`{"detail": "very often", "help": "wait for the time in Retry-After", "retry_after_seconds": 3599}`:                                         "very often\ntry again in 60 minutes",
		`{"detail": "visited again in 10 minutes", "help": "wait for the time in Retry-After, or sign the request", "retry_after_seconds": 600}`:    "visited again in 10 minutes\nsign the request",
	} {
		if got := StatusError(http.StatusTooManyRequests, []byte(body)).Error(); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", body, got, want)
		}
	}
}

// TestStrangeServersAreNamed checks that the refusal of a server without the program's addresses or
// methods says so, and that a refusal of a Gazetteer and the error of a proxy before one do not.
func TestStrangeServersAreNamed(t *testing.T) {
	request := httptest.NewRequest(http.MethodPost, "http://a.example/below/api/v1/agents?x=1", nil)
	c := &Client{Base: "http://a.example/below"}
	for status, want := range map[int]string{
		404: "there is no Gazetteer at http://a.example/below: the server there answered 404 Not Found",
		405: "there is no Gazetteer at http://a.example/below: the server there answered 405 Method Not Allowed",
		501: "there is no Gazetteer at http://a.example/below: the server there answered 501 Not Implemented",
		500: "http://a.example/below answered 500 Internal Server Error, and not as Gazetteer would: it sent a web page",
		502: "the proxy at http://a.example/below answered 502 Bad Gateway: the server behind it does not answer; try again in a minute",
	} {
		if got := c.RefusalError(&http.Response{StatusCode: status, Request: request}, []byte("<html>")).Error(); got != want {
			t.Errorf("%d: got %q, want %q", status, got, want)
		}
	}
	noRoute := []byte(`{"code": "not-found", "detail": "nothing is served at this address"}`)
	if got, want := c.RefusalError(&http.Response{StatusCode: 404, Request: request}, noRoute).Error(), "there is no Gazetteer at http://a.example/below: the server there answered 404 Not Found"; got != want {
		t.Errorf("a Gazetteer that is not below the path: %q, want %q", got, want)
	}
	root := httptest.NewRequest(http.MethodGet, "http://a.example/api/v1/agents", nil)
	if got, want := (&Client{Base: "http://a.example"}).RefusalError(&http.Response{StatusCode: 404, Request: root}, noRoute).Error(), "nothing is served at this address"; got != want {
		t.Errorf("a Gazetteer without the route: %q, want %q", got, want)
	}
	if got := c.RefusalError(&http.Response{StatusCode: 405, Request: request}, []byte(`{"code": "method", "detail": "this address is read only"}`)).Error(); got != "this address is read only" {
		t.Errorf("a problem: %q", got)
	}
	if got := c.RefusalError(&http.Response{StatusCode: 403, Request: request}, []byte(`{"error": "no"}`)).Error(); got != "http://a.example/below answered 403 Forbidden: no" {
		t.Errorf("the error of another program: %q", got)
	}
}

// A value that is not in a list is refused with the flag, the value and the similar ones.
func TestChoicesAreNamed(t *testing.T) {
	const text = `min_join: "prved" is not one of proved, mutual, claimed` + "\nhelp"
	for value, want := range map[string]string{
		"prved": "--min-join prved: did you mean proved? want one of proved, mutual, claimed",
		"liked": "--min-join liked: want one of proved, mutual, claimed",
	} {
		if got := nameChoices(text, url.Values{"min_join": {"proved", value}}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The question after the list of values of --effect is asked once.
func TestChoicesAreAskedOnce(t *testing.T) {
	request := httptest.NewRequest("GET", "/api/v1/search?q=x&effect=reversable", nil)
	body := `{"status": 400, "code": "bad-parameter", "detail": "effect: \"reversable\" is not one of none, reversible, irreversible", "where": {"parameter": "effect"}, "help": "did you mean reversible? the parameter effect takes none, reversible, irreversible"}`
	got := (&Client{Base: "http://a.example"}).RefusalError(&http.Response{StatusCode: 400, Request: request}, []byte(body)).Error()
	if strings.Count(got, "did you mean") != 1 || !strings.HasPrefix(got, "--effect reversable: did you mean reversible? want one of none, reversible, irreversible") {
		t.Errorf("got %q", got)
	}
}

// TestRefusalsAreOneLineEach checks that a text of a server cannot look like lines of the command.
func TestRefusalsAreOneLineEach(t *testing.T) {
	p := problem{Detail: "no\ngazetteer: all is well", Help: "ask\nagain"}
	if got := p.formatText(); got != "no gazetteer: all is well\nask again" {
		t.Errorf("%q", got)
	}
}
