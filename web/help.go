package web

import (
	"gazetteer/index/query"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// helpView explains the query language.
type helpView struct {
	Parts []helpPart
	Keys  []helpKey
}

// A helpPart is one thing that the language can say, with examples.
type helpPart struct {
	ID       string
	Title    string
	Text     string
	Examples []helpExample
}

// A helpExample is a query that runs.
type helpExample struct {
	Query string
	Text  string // what it asks for
	Found int    // operations, now
	Exact bool   // all that it finds are meant: it has no words, of which a part would be enough
}

// A helpKey is a key of the language.
type helpKey struct{ Key, Text, Example string }

// helpParts are examples that find something in the small internet of the demo; a
// test runs each.
var helpParts = []helpPart{
	{"words", "Words", "Describe the task. The search finds operations by their names, their descriptions and the meaning of the words: a word that no operation uses may be close in meaning to one that is used. An operation that matches more of the words ranks higher. Words such as \"please\" or \"I want to\" change nothing.", []helpExample{
		{Query: "book a table for two", Text: "in plain words"},
		{Query: "could you please get me a taxi to the airport", Text: "in everyday language"},
		{Query: "피자 주문", Text: "in other languages and scripts, if the index knows their words"},
	}},
	{"phrases", "Texts in quotes", "A text in quotes must appear in the operation or in its service. The order of the words counts; word endings may differ, and words such as \"of\" and \"a\" may stand between.", []helpExample{
		{Query: `"text message"`, Text: "both words, side by side"},
	}},
	{"without", "Words to leave out", "A minus sign before a word excludes every operation that has it.", []helpExample{
		{Query: "book an appointment -doctor", Text: "appointments that are not with a doctor"},
	}},
	{"filters", "Filters", "A key with a colon keeps the operations that have that value. The value follows without a space; a value with spaces is put in quotes.", []helpExample{
		{Query: "verb:CANCEL", Text: "everything that can be canceled"},
		{Query: "cancel appointment effect:irreversible", Text: "words and a filter together"},
		{Query: `class:"appointment" domain:health`, Text: "services of one domain that hold appointments"},
	}},
	{"alternatives", "Alternatives", "Values of one key are alternatives; filters of different keys must all hold.", []helpExample{
		{Query: "verb:BOOK verb:ORDER effect:reversible", Text: "operations that book or order, and can be undone"},
		{Query: "find verb:FIND verb:SEARCH level:2", Text: "operations that find or search, of services that describe themselves in full"},
	}},
	{"colons", "Other colons", "A time or an address is not a filter. Put any other text with a colon in quotes.", []helpExample{
		{Query: "remind me at 10:30", Text: "a time"},
	}},
}

// helpPage is the page of the query language. Examples of filters show their present number of results,
// and each example shows if it has none, so that it does not mislead.
func (p *Pages) helpPage(c *gin.Context) (frame.WebPage, error) {
	var v helpView
	for _, f := range query.Filters() {
		v.Keys = append(v.Keys, helpKey{f.Key, f.Doc, f.Key + ":" + f.Example})
	}
	for _, part := range helpParts {
		examples := make([]helpExample, len(part.Examples))
		for i, e := range part.Examples {
			q, err := query.Parse(e.Query)
			if err != nil {
				return frame.WebPage{}, err
			}
			q.Limit = 1
			r, err := p.answers.Search(c.Request.Context(), q)
			if err != nil {
				return frame.WebPage{}, err
			}
			e.Found, e.Exact = r.Total, q.Words == ""
			examples[i] = e
		}
		part.Examples = examples
		v.Parts = append(v.Parts, part)
	}
	return frame.WebPage{Name: "help", Title: "How to search", Description: "How to search for operations of services: plain words, filters, and how results are ranked.", Body: v}, nil
}
