package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/protocol/english"
	"gazetteer/store"
	"gazetteer/web/frame"
)

// noHost is a name of which nothing is known.
type noHost struct {
	host string
	why  *fetch.HostError // why it cannot be a host at all, nil when it is merely unknown
	near []string         // known hosts of a similar name
}

func (e *noHost) Error() string { return "no host " + e.host }

// Problem returns the page for a host that is not known.
func (e *noHost) Problem() frame.Problem {
	v := e.unknown()
	for _, host := range slices.Backward(e.near) {
		v.Links = slices.Insert(v.Links, 0, frame.Link{Text: frame.PlainText(host), Address: frame.ServicePath(host)})
	}
	return v
}

func (e *noHost) unknown() frame.Problem {
	if e.why != nil {
		return frame.Problem{
			Status: http.StatusNotFound, Title: "Not a host",
			What:  fmt.Sprintf("%q cannot be the name of a public host: %s.", frame.ClipPlain(120, e.host), frame.PlainText(e.why.Problem)),
			Help:  "A service has a public host name such as api.example.com, without scheme, port or path.",
			Links: []frame.Link{{Text: "All services", Address: "/services"}, frame.SearchLink},
		}
	}
	host := e.host
	if ascii, err := fetch.CheckHost(host); err == nil {
		host = ascii
	}
	name, lookalike := frame.PlainText(host), ""
	if l, found := fetch.FindLookalike(host); found {
		lookalike = fmt.Sprintf(" This name %s: check that it is the host you mean.", l)
	}
	return frame.Problem{
		Status: http.StatusNotFound, Title: "This host is not known here",
		What: fmt.Sprintf("%s has never been visited, and no visited service refers to it.%s", name, lookalike),
		Help: fmt.Sprintf("If it publishes a description at https://%s/.well-known/ai, add it and it will be visited. You can also check first what a visit would find.", name),
		Links: []frame.Link{
			{Text: "Add " + name, Address: "/submit?host=" + url.QueryEscape(host)},
			{Text: "Check " + name, Address: "/validate?url=" + url.QueryEscape(host)}, {Text: "All services", Address: "/services"}, frame.SearchLink,
		},
	}
}

type noVerb struct {
	verb string
	near []string
}

func (e *noVerb) Error() string { return "no verb " + e.verb }

// Problem returns the page for a verb that no operation has.
func (e *noVerb) Problem() frame.Problem {
	v := frame.Problem{
		Status: http.StatusNotFound, Title: "No service offers this verb",
		What: fmt.Sprintf("No operation has the verb %q.", frame.ClipPlain(60, e.verb)),
		Help: "Verbs are single imperative words such as BOOK or CANCEL.",
	}
	for _, n := range e.near {
		v.Links = append(v.Links, frame.Link{Text: frame.PlainText(n), Address: frame.VerbPath(n)})
	}
	v.Links = append(v.Links, frame.Link{Text: "All verbs", Address: "/verbs"})
	return v
}

type noRule struct{ code string }

func (e *noRule) Error() string { return "no rule " + e.code }

// Problem returns the page for a code that no rule has.
func (e *noRule) Problem() frame.Problem {
	return frame.Problem{
		Status: http.StatusNotFound, Title: "There is no such rule",
		What:  fmt.Sprintf("No rule has the code %q.", frame.ClipPlain(40, e.code)),
		Help:  "Codes look like AI303, AGIS302 or WK104.",
		Links: []frame.Link{{Text: "All rules", Address: "/rules"}, {Text: "Check a document", Address: "/validate"}},
	}
}

// hostError converts a "not found" error to a noHost that names the requested host, and known hosts
// of a similar name.
func (p *Pages) hostError(ctx context.Context, host string, err error) error {
	if e, ok := errors.AsType[*fetch.HostError](err); ok {
		return &noHost{host: host, why: e, near: p.nearHosts(ctx, host)}
	}
	if errors.Is(err, answer.ErrNoService) {
		return &noHost{host: host, near: p.nearHosts(ctx, host)}
	}
	return err
}

// maxNear is the number of similar names that the page for an unknown name links to.
const maxNear = 3

// nearHosts returns known hosts whose names begin as host does, and one that host probably
// misspells. It returns none if the index cannot answer: they only help.
func (p *Pages) nearHosts(ctx context.Context, host string) []string {
	label, _, _ := strings.Cut(strings.ToLower(host), ".")
	var near []string
	for _, typed := range []string{label, label[:min(len(label), 3)]} {
		if len(typed) < 3 {
			continue
		}
		found, err := p.catalogue.Suggest(ctx, typed, query.MaxLimit, index.SuggestService)
		if err != nil {
			return near
		}
		hosts := make([]string, len(found))
		for i, s := range found {
			hosts[i] = s.Text
		}
		if near = nearNames(host, label, hosts); len(near) > 0 {
			return near
		}
	}
	return near
}

// nearNames returns the name that word probably misspells, then those that begin with prefix.
func nearNames(word, prefix string, names []string) []string {
	var near []string
	if name := english.NearName(word, names); name != "" {
		near = append(near, name)
	}
	for _, name := range names {
		if len(near) < maxNear && len(prefix) >= 3 && strings.HasPrefix(name, prefix) && !slices.Contains(near, name) {
			near = append(near, name)
		}
	}
	return near
}

// noDocument is a document that a host does not have, or a version of one that is not stored.
type noDocument struct {
	host      string
	kind      document.Kind
	version   bool                  // the document may exist
	documents []answer.DocumentView // those that the host has
}

func (e *noDocument) Error() string { return "no document " + string(e.kind) + " of " + e.host }

// Problem returns the page for a document that a service does not have.
func (e *noDocument) Problem() frame.Problem {
	v := frame.Problem{
		Status: http.StatusNotFound, Title: "This document is not stored here",
		What: fmt.Sprintf("No document %q of %s is stored.", frame.ClipPlain(40, string(e.kind)), frame.ClipPlain(120, e.host)),
	}
	if e.version {
		v.What = fmt.Sprintf("This version of the document %q of %s is not stored.", frame.ClipPlain(40, string(e.kind)), frame.ClipPlain(120, e.host))
	}
	for _, d := range e.documents {
		v.Links = append(v.Links, frame.Link{Text: frame.KindName(string(d.Kind)), Address: frame.ServicePath(e.host) + "/documents/" + string(d.Kind)})
	}
	v.Links = append(v.Links, frame.Link{Text: frame.ClipPlain(120, e.host), Address: frame.ServicePath(e.host)})
	return v
}

// explainError returns the page for errors of other packages. A name that is missing from the index
// may appear while the index is being built.
func explainError(err error, building bool) (frame.Problem, bool) {
	_, verb := errors.AsType[*noVerb](err)
	_, value := errors.AsType[*noValue](err)
	if errors.Is(err, index.ErrUnavailable) || building && (verb || value) {
		return frame.Problem{
			Status: http.StatusServiceUnavailable, Title: "The index is being rebuilt",
			What:  "Nothing was lost: the index is rebuilt from the store, and search returns when that is done.",
			Help:  "Try again in a few seconds. Services can be read meanwhile.",
			Links: []frame.Link{{Text: "Services", Address: "/services"}, {Text: "Status", Address: "/status"}},
		}, true
	}
	if e, ok := errors.AsType[*query.Error](err); ok { // on another page than the search page
		m := mistakeIn(e)
		return frame.Problem{Status: http.StatusBadRequest, Title: "That query cannot be read", What: m.What, Help: m.Help, Mistake: &m}, true
	}
	if e, ok := errors.AsType[*answer.WithdrawnError](err); ok {
		return withdrawnProblem(e), true
	}
	switch {
	case errors.Is(err, answer.ErrSearchTimeout), errors.Is(err, answer.ErrTooManySearches):
		return frame.Problem{
			Status: http.StatusServiceUnavailable, Title: "The search was not finished",
			What:  "It took too long, or too many searches are running.",
			Help:  "Try again in a moment, with fewer words or with a filter such as verb: or host:.",
			Links: []frame.Link{frame.SearchLink},
		}, true
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		errors.Is(err, index.ErrClosed), errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrUnknown):
		return frame.Problem{
			Status: http.StatusServiceUnavailable, Title: "Not available just now",
			What: "The answer did not arrive in time, or the server is restarting.",
			Help: "Try again in a few seconds.",
		}, true
	}
	return frame.Problem{}, false
}

func mistakeIn(e *query.Error) frame.QueryMistake {
	chars := []rune(e.Query)
	at := max(0, min(e.Offset, len(chars)))
	m := frame.QueryMistake{Query: e.Query, Before: frame.OneLine(frame.PlainText(string(chars[:at]))), At: " ", What: frame.AsSentence(e.Message), Help: frame.AsSentence(e.Help)}
	if at < len(chars) {
		m.At = frame.OneLine(frame.PlainText(string(chars[at : at+1])))
		m.After = frame.OneLine(frame.PlainText(string(chars[at+1:])))
	}
	m.Caret = frame.CaretIndent(m.Before)
	return m
}

// withdrawnProblem is the page of a host that is not shown.
func withdrawnProblem(e *answer.WithdrawnError) frame.Problem {
	v := frame.Problem{
		Status: http.StatusGone, Title: "This host is not shown", What: frame.AsSentence(frame.PlainText(e.Why())),
		Help:  "If it is yours and you want it visited again, say so on the page about the crawler.",
		Links: []frame.Link{{Text: "The crawler", Address: "/bot?host=" + url.QueryEscape(e.Block.Host)}, {Text: "Requests to this host", Address: "/services/" + e.Host + "/crawl-log"}, {Text: "All services", Address: "/services"}},
	}
	if e.Block.By != crawler.ByOwner {
		v.Status, v.Help = http.StatusForbidden, "The page about the crawler has the operator's address."
	}
	return v
}
