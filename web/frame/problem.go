package frame

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/gin-gonic/gin"
)

// A Problem is an error with a separate page: what happened, and what the reader can do.
type Problem struct {
	Status int
	Title  string
	What   string
	Help   string
	Links  []Link
	// MayAppear is set for a name that can be missing because the index is being built.
	MayAppear bool
	// Mistake is set for a query that could not be read.
	Mistake *QueryMistake
}

func (p *Problem) Error() string { return p.What }

// QueryMistake shows a query with a caret below the character at fault.
type QueryMistake struct {
	Query  string
	Before string
	At     string
	After  string
	Caret  string
	What   string
	Help   string
}

type Link struct{ Text, Address string }

// ErrNoPage means that an address leads to no page.
var ErrNoPage = errors.New("no such page")

// BadRequest returns the problem of a request that cannot be read.
func BadRequest(what, help string) *Problem {
	return &Problem{
		Status: http.StatusBadRequest, Title: "This request cannot be answered",
		What: AsSentence(what), Help: help, Links: []Link{SearchLink},
	}
}

// NewNotFound returns the problem of a thing that does not exist, with a title such as "Agent not found".
func NewNotFound(thing, what, help string, links ...Link) *Problem {
	return &Problem{Status: http.StatusNotFound, Title: TitleOf(thing) + " not found", What: what, Help: help, Links: links}
}

// errorPage makes the page for an error. Our own failures are logged and shown without detail. A
// state of the server, such as an index that is being rebuilt, is not logged: any client could fill
// the log.
func (f *Frame) errorPage(c *gin.Context, err error, building bool) WebPage {
	v := f.problemOf(err, building)
	if v.Status == http.StatusInternalServerError {
		f.log.Error("page failed", "route", c.FullPath(), "status", v.Status, "error", err)
	}
	if v.Status >= http.StatusInternalServerError {
		c.Header("Retry-After", "5")
	}
	return WebPage{Name: "problem", Title: v.Title, Status: v.Status, Body: v}
}

var SearchLink = Link{"Search", "/"}

// problemOf chooses the page for an error by who can do something about it.
func (f *Frame) problemOf(err error, building bool) *Problem {
	if v := f.explain(err, building); v != nil {
		return v
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if errors.Is(err, ErrNoPage) {
		return NewNotFound("page", "No page has this address. It may have been cut short.", "Start here:",
			append([]Link{SearchLink, {"Services", "/services"}, {"Verbs", "/verbs"}, {"Agents", "/agents"}}, f.links...)...)
	}
	return &Problem{
		Status: http.StatusInternalServerError, Title: "Something broke here",
		What: "The fault is ours, not yours, and has been written to the log.",
		Help: "Try again in a while, or ask something else.", Links: []Link{SearchLink},
	}
}

// initialisms are words that errors of the network begin with and that people write in capitals.
var initialisms = []string{"dns", "http", "https", "tls"}

// AsSentence capitalizes the first letter of s, or an abbreviation, and adds a full stop, unless s ends in a character
// to which a full stop would seem to belong.
func AsSentence(s string) string {
	if s == "" {
		return s
	}
	chars := []rune(s)
	s = strings.ToUpper(string(chars[0])) + string(chars[1:])
	if word, rest, cut := strings.Cut(string(chars), ":"); cut && strings.HasPrefix(rest, " ") && slices.Contains(initialisms, word) {
		s = strings.ToUpper(word) + ":" + rest
	}
	if last := chars[len(chars)-1]; unicode.IsLetter(last) || unicode.IsDigit(last) || last == ')' || last == '"' {
		return s + "."
	}
	return s
}

// OneLine replaces each white space character by one space, so that a caret on the next line keeps
// its place.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return r
	}, s)
}
