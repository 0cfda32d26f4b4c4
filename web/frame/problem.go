package frame

import (
	"errors"
	"net/http"
	"strings"
	"unicode"

	"github.com/gin-gonic/gin"
)

// Problem is the page for what could not be answered: what happened, and
// what the reader can do.
type Problem struct {
	Status int
	Title  string
	What   string
	Help   string
	Links  []Link
	// Mistake is set for a query that could not be read.
	Mistake *QueryMistake
}

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

// What a reader can ask wrongly.
var ErrNoPage = errors.New("no such page")

type BadRequest struct{ What, Help string }

func (e *BadRequest) Error() string { return e.What }

// Problem returns the page for a request that cannot be read.
func (e *BadRequest) Problem() Problem {
	return Problem{
		Status: http.StatusBadRequest, Title: "This request cannot be answered",
		What: AsSentence(e.What), Help: e.Help, Links: []Link{SearchLink},
	}
}

// An Explained error has a page of its own.
type Explained interface {
	error
	// Problem returns the page.
	Problem() Problem
}

// errorPage makes the page for an error. Our own failures are logged and shown
// without detail.
func (f *Frame) errorPage(c *gin.Context, err error, building bool) View {
	v := f.problemOf(err, building)
	if v.Status >= 500 {
		f.log.Error("page failed", "route", c.FullPath(), "status", v.Status, "error", err)
		c.Header("Retry-After", "5")
	}
	return View{Name: "problem", Title: v.Title, Status: v.Status, Body: v}
}

var SearchLink = Link{"Search", "/"}

// problemOf chooses the page for an error by who can do something about it.
func (f *Frame) problemOf(err error, building bool) Problem {
	if v, ok := f.explain(err, building); ok {
		return v
	}
	if e, ok := errors.AsType[Explained](err); ok {
		return e.Problem()
	}
	if errors.Is(err, ErrNoPage) {
		return Problem{
			Status: http.StatusNotFound, Title: "There is no such page",
			What:  "Nothing lives at this address.",
			Help:  "Perhaps the address was cut short. These are the places to begin:",
			Links: []Link{SearchLink, {"Services", "/services"}, {"Verbs", "/verbs"}, {"Agents", "/agents"}},
		}
	}
	return Problem{
		Status: http.StatusInternalServerError, Title: "Something broke here",
		What: "The fault is ours, not yours, and has been written to the log.",
		Help: "Try again in a while, or ask something else.", Links: []Link{SearchLink},
	}
}

// AsSentence begins s with a capital letter and ends it with a full stop, unless
// it ends in something that a stop would be taken for a part of.
func AsSentence(s string) string {
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

// OneLine turns white space into single spaces' width, so that a caret on the
// line below stays where it belongs.
func OneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return r
	}, s)
}
