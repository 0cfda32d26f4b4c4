package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"unicode"

	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/store"

	"github.com/gin-gonic/gin"
)

// problemView is the page for what could not be answered: what happened, and
// what the reader can do.
type problemView struct {
	Status int
	Title  string
	What   string
	Help   string
	Links  []problemLink
	// Mistake is set for a query that could not be read.
	Mistake *queryMistake
}

// queryMistake shows a query with a caret below the character at fault.
type queryMistake struct {
	Query  string
	Before string
	At     string
	After  string
	Caret  string
	What   string
	Help   string
}

type problemLink struct{ Text, Address string }

// What a reader can ask wrongly.
var errNoPage = errors.New("no such page")

type badRequest struct{ what, help string }

func (e *badRequest) Error() string { return e.what }

type noHost struct {
	host string
	why  *fetch.HostError // why it cannot be a host at all, nil when it is merely unknown
}

func (e *noHost) Error() string { return "no host " + e.host }

type noVerb struct {
	verb string
	near []string
}

func (e *noVerb) Error() string { return "no verb " + e.verb }

type noAgent struct {
	id  string
	why *did.Error // why it cannot be an id at all, nil when it is merely unknown
}

func (e *noAgent) Error() string { return "no agent " + e.id }

type noRule struct{ code string }

func (e *noRule) Error() string { return "no rule " + e.code }

// hostError and agentError add what was asked to a "not there".
func hostError(host string, err error) error {
	if e, ok := errors.AsType[*fetch.HostError](err); ok {
		return &noHost{host: host, why: e}
	}
	if errors.Is(err, answer.ErrNoService) {
		return &noHost{host: host}
	}
	return err
}

func agentError(id string, err error) error {
	if e, ok := errors.AsType[*did.Error](err); ok {
		return &noAgent{id: id, why: e}
	}
	if errors.Is(err, registry.ErrNoAgent) {
		return &noAgent{id: id}
	}
	return err
}

// errorPage makes the page for an error. Our own failures are logged and shown
// without detail.
func (p *Pages) errorPage(c *gin.Context, err error) pageView {
	v := problemOf(err)
	if v.Status >= 500 {
		p.log.Error("page failed", "path", c.Request.URL.Path, "status", v.Status, "error", err)
		c.Header("Retry-After", "5")
	}
	return pageView{name: "problem", title: v.Title, status: v.Status, body: v}
}

var searchLink = problemLink{"Search", "/"}

// problemOf sorts an error by who can do something about it.
func problemOf(err error) problemView {
	if errors.Is(err, index.ErrUnavailable) {
		return problemView{
			Status: http.StatusServiceUnavailable, Title: "The index is being rebuilt",
			What:  "Nothing was lost: the index is made anew from the store, and search comes back by itself.",
			Help:  "Try again in a few seconds. Services can be read meanwhile.",
			Links: []problemLink{{"Services", "/services"}},
		}
	}
	if v, ok := callerProblem(err); ok {
		return v
	}
	switch {
	case errors.Is(err, answer.ErrSearchTimeout), errors.Is(err, answer.ErrTooManySearches):
		return problemView{
			Status: http.StatusServiceUnavailable, Title: "The search was not finished",
			What:  "It took too long, or too many others search at the same time.",
			Help:  "Try again in a moment, with fewer words or with a filter such as verb: or host:.",
			Links: []problemLink{searchLink},
		}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		errors.Is(err, index.ErrClosed), errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrUnknown):
		return problemView{
			Status: http.StatusServiceUnavailable, Title: "Not available just now",
			What: "The answer could not be had in time, or the server is being restarted.",
			Help: "Try again in a few seconds.",
		}
	}
	return problemView{
		Status: http.StatusInternalServerError, Title: "Something broke here",
		What: "The fault is ours, not yours, and has been written to the log.",
		Help: "Try again in a while, or ask something else.", Links: []problemLink{searchLink},
	}
}

// callerProblem covers what the reader asked wrongly.
func callerProblem(err error) (problemView, bool) {
	if errors.Is(err, errNoPage) {
		return problemView{
			Status: http.StatusNotFound, Title: "There is no such page",
			What:  "Nothing lives at this address.",
			Help:  "Perhaps the address was cut short. These are the places to begin:",
			Links: []problemLink{searchLink, {"Services", "/services"}, {"Verbs", "/verbs"}, {"Agents", "/agents"}},
		}, true
	}
	if e, ok := errors.AsType[*query.Error](err); ok {
		return queryProblem(e), true
	}
	if e, ok := errors.AsType[*badRequest](err); ok {
		return problemView{
			Status: http.StatusBadRequest, Title: "That cannot be asked",
			What: e.what + ".", Help: e.help, Links: []problemLink{searchLink},
		}, true
	}
	if e, ok := errors.AsType[*noHost](err); ok {
		return hostProblem(e), true
	}
	if e, ok := errors.AsType[*answer.WithdrawnError](err); ok {
		return withdrawnProblem(e), true
	}
	if e, ok := errors.AsType[*noVerb](err); ok {
		return verbProblem(e), true
	}
	if e, ok := errors.AsType[*noValue](err); ok {
		return problemView{
			Status: http.StatusNotFound, Title: "Nothing goes by this name",
			What:  fmt.Sprintf("No service names the %s %q.", e.shelf.thing, clipPlain(60, e.value)),
			Help:  "Perhaps it was withdrawn, or is written otherwise.",
			Links: []problemLink{{e.shelf.title, e.shelf.path}, searchLink},
		}, true
	}
	if e, ok := errors.AsType[*noAgent](err); ok {
		return agentProblem(e), true
	}
	if e, ok := errors.AsType[*noRule](err); ok {
		return problemView{
			Status: http.StatusNotFound, Title: "There is no such rule",
			What:  fmt.Sprintf("No rule has the code %q.", clipPlain(40, e.code)),
			Help:  "Codes look like AI303, AGIS302 or WK104.",
			Links: []problemLink{{"All rules", "/rules"}, {"Check a document", "/validate"}},
		}, true
	}
	return problemView{}, false
}

// queryProblem is for a query that came otherwise than by the search page.
func queryProblem(e *query.Error) problemView {
	m := mistakeIn(e)
	return problemView{Status: http.StatusBadRequest, Title: "That query cannot be read", What: m.What, Help: m.Help, Mistake: &m}
}

func mistakeIn(e *query.Error) queryMistake {
	chars := []rune(e.Query)
	at := max(0, min(e.Offset, len(chars)))
	m := queryMistake{Query: e.Query, Before: oneLine(plainText(string(chars[:at]))), At: " ", What: asSentence(e.Message), Help: asSentence(e.Help)}
	if at < len(chars) {
		m.At = oneLine(plainText(string(chars[at : at+1])))
		m.After = oneLine(plainText(string(chars[at+1:])))
	}
	m.Caret = caretIndent(m.Before)
	return m
}

func hostProblem(e *noHost) problemView {
	if e.why != nil {
		return problemView{
			Status: http.StatusNotFound, Title: "Not a host",
			What:  fmt.Sprintf("%q cannot be a host that is visited: %s.", clipPlain(120, e.host), plainText(e.why.Problem)),
			Help:  "A service lives under a public host name such as api.example.com, without scheme, port or path.",
			Links: []problemLink{{"All services", "/services"}, searchLink},
		}
	}
	return problemView{
		Status: http.StatusNotFound, Title: "This host is not known here",
		What:  fmt.Sprintf("%s has never been visited, and no service that was visited names it.", plainText(e.host)),
		Help:  fmt.Sprintf("If it is yours, publish an AI Discovery document at https://%s/.well-known/ai. The operator of this index adds it with: gazetteer crawl %s", plainText(e.host), plainText(e.host)),
		Links: []problemLink{{"All services", "/services"}, searchLink},
	}
}

// withdrawnProblem is the page of a host that is not shown.
func withdrawnProblem(e *answer.WithdrawnError) problemView {
	v := problemView{
		Status: http.StatusGone, Title: "This host is not shown", What: asSentence(plainText(e.Why())),
		Help:  "If it is yours and shall be visited after all, say so on the page about the crawler.",
		Links: []problemLink{{"The crawler", "/bot?host=" + url.QueryEscape(e.Block.Host)}, {"What it was asked", "/services/" + e.Host + "/crawl-log"}, {"All services", "/services"}},
	}
	if e.Block.By != crawler.ByOwner {
		v.Status, v.Help = http.StatusForbidden, "The page about the crawler says how to reach the operator."
	}
	return v
}

func verbProblem(e *noVerb) problemView {
	v := problemView{
		Status: http.StatusNotFound, Title: "Nobody offers this verb",
		What: fmt.Sprintf("No operation bears the verb %q.", clipPlain(60, e.verb)),
		Help: "Verbs are single imperative words such as BOOK or CANCEL.",
	}
	for _, n := range e.near {
		v.Links = append(v.Links, problemLink{plainText(n), verbPath(n)})
	}
	v.Links = append(v.Links, problemLink{"All verbs", "/verbs"})
	return v
}

func agentProblem(e *noAgent) problemView {
	v := problemView{
		Status: http.StatusNotFound, Title: "No such agent",
		What:  fmt.Sprintf("No agent is registered here as %q.", clipPlain(120, e.id)),
		Help:  "Check the id. An agent of another registry is known only there.",
		Links: []problemLink{{"Look up another agent", "/agents"}},
	}
	if e.why != nil {
		v.What = fmt.Sprintf("%q cannot be the id of an agent: %s.", clipPlain(120, e.id), plainText(e.why.Message))
		v.Help = asSentence(plainText(e.why.Help))
	}
	return v
}

// asSentence begins s with a capital letter and ends it with a full stop, unless
// it ends in something that a stop would be taken for a part of.
func asSentence(s string) string {
	if s == "" {
		return s
	}
	chars := []rune(s)
	s = strings.ToUpper(string(chars[0])) + string(chars[1:])
	if last := chars[len(chars)-1]; unicode.IsLetter(last) || unicode.IsDigit(last) || last == ')' || last == '"' {
		return s + "."
	}
	return s
}

// oneLine turns white space into single spaces' width, so that a caret on the
// line below stays where it belongs.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return r
	}, s)
}
