package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/internal/lookalike"
	"gazetteer/store"
	"gazetteer/web/frame"
)

// newUnknownHost returns the problem of a host that is not known. why says why the name cannot be that
// of a host at all, nil when it is merely unknown; near are known hosts of a similar name.
func newUnknownHost(host string, why *fetch.HostError, near []string) *frame.Problem {
	v := describeUnknownHost(host, why)
	for _, other := range slices.Backward(near) {
		v.Links = slices.Insert(v.Links, 0, frame.Link{Text: frame.PlainText(other), Address: frame.ServicePath(other)})
	}
	return v
}

func describeUnknownHost(host string, why *fetch.HostError) *frame.Problem {
	if why != nil {
		return frame.NewNotFound("host",
			fmt.Sprintf("%q cannot be the name of a public host: %s.", frame.ClipPlain(120, host), frame.PlainText(why.Problem)),
			"A service has a public host name such as api.example.com, without scheme, port or path.",
			frame.Link{Text: "All services", Address: "/services"}, frame.SearchLink)
	}
	if ascii, err := fetch.CheckHost(host); err == nil {
		host = ascii
	}
	name, warning := frame.PlainText(host), ""
	if l, found := lookalike.FindHost(host); found {
		warning = fmt.Sprintf(" This name %s: check that it is the host you mean.", l)
	}
	return frame.NewNotFound("host",
		fmt.Sprintf("%s has never been visited, and no visited service refers to it.%s", name, warning),
		fmt.Sprintf("If it publishes a description at https://%s/.well-known/ai, add it and it will be visited. You can also check first what a visit would find.", name),
		frame.Link{Text: "Add " + name, Address: "/submit?host=" + url.QueryEscape(host)},
		frame.Link{Text: "Check " + name, Address: "/validate?url=" + url.QueryEscape(host)},
		frame.Link{Text: "All services", Address: "/services"}, frame.SearchLink)
}

// newUnknownVerb returns the problem of a verb that no operation has, with similar ones.
func newUnknownVerb(verb string, near []string) *frame.Problem {
	v := frame.NewNotFound("verb", fmt.Sprintf("No operation has the verb %q.", frame.ClipPlain(60, verb)), "Verbs are single imperative words such as BOOK or CANCEL.")
	v.MayAppear = true
	for _, n := range near {
		v.Links = append(v.Links, frame.Link{Text: frame.PlainText(n), Address: frame.VerbPath(n)})
	}
	v.Links = append(v.Links, frame.Link{Text: "All verbs", Address: "/verbs"})
	return v
}

// hostError converts a "not found" error to a problem that names the requested host, and known hosts
// of a similar name.
func (p *Pages) hostError(ctx context.Context, host string, err error) error {
	if e, ok := errors.AsType[*fetch.HostError](err); ok {
		return newUnknownHost(host, e, answer.NearHosts(ctx, p.catalog, host))
	}
	if errors.Is(err, answer.ErrNoService) {
		return newUnknownHost(host, nil, answer.NearHosts(ctx, p.catalog, host))
	}
	return err
}

// newMissingDocument returns the problem of a document that a host does not have, with those that it
// has.
func newMissingDocument(host string, kind document.Kind, documents []answer.DocumentView) *frame.Problem {
	v := frame.NewNotFound("document", fmt.Sprintf("No document %q of %s is stored.", frame.ClipPlain(40, string(kind)), frame.ClipPlain(120, host)), "")
	for _, d := range documents {
		v.Links = append(v.Links, frame.Link{Text: frame.KindName(string(d.Kind)), Address: frame.ServicePath(host) + "/documents/" + string(d.Kind)})
	}
	v.Links = append(v.Links, frame.Link{Text: frame.ClipPlain(120, host), Address: frame.ServicePath(host)})
	return v
}

// explainError returns the page for errors of other packages. A name that is missing from the index
// may appear while the index is being built.
func explainError(err error, building bool) *frame.Problem {
	missing, ok := errors.AsType[*frame.Problem](err)
	if errors.Is(err, index.ErrUnavailable) || building && ok && missing.MayAppear {
		return &frame.Problem{
			Status: http.StatusServiceUnavailable, Title: "The index is being rebuilt",
			What:  "Nothing was lost: the index is rebuilt from the store, and search returns when that is done.",
			Help:  "Try again in a few seconds. Services can be read meanwhile.",
			Links: []frame.Link{{Text: "Services", Address: "/services"}, {Text: "Status", Address: "/status"}},
		}
	}
	if e, ok := errors.AsType[*query.Error](err); ok { // on another page than the search page
		m := mistakeIn(e)
		return &frame.Problem{Status: http.StatusBadRequest, Title: "The query is not valid", What: m.What, Help: m.Help, Mistake: &m}
	}
	if e, ok := errors.AsType[*answer.WithdrawnError](err); ok {
		return withdrawnProblem(e)
	}
	switch {
	case errors.Is(err, answer.ErrNoCensus):
		return &frame.Problem{
			Status: http.StatusServiceUnavailable, Title: "No census",
			What:  "This server does not follow the figures of all hosts.",
			Help:  "gazetteer census writes them to a folder.",
			Links: []frame.Link{{Text: "Services", Address: "/services"}, {Text: "Status", Address: "/status"}},
		}
	case errors.Is(err, answer.ErrSearchTimeout), errors.Is(err, answer.ErrTooManySearches):
		return &frame.Problem{
			Status: http.StatusServiceUnavailable, Title: "The search was not finished",
			What:  "It took too long, or too many searches are running.",
			Help:  "Try again in a moment, with fewer words or with a filter such as verb: or host:.",
			Links: []frame.Link{frame.SearchLink},
		}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled),
		errors.Is(err, index.ErrClosed), errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrUnknown):
		return &frame.Problem{
			Status: http.StatusServiceUnavailable, Title: "Not available just now",
			What: "The answer did not arrive in time, or the server is restarting.",
			Help: "Try again in a few seconds.",
		}
	}
	return nil
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
func withdrawnProblem(e *answer.WithdrawnError) *frame.Problem {
	v := &frame.Problem{
		Status: http.StatusGone, Title: "This host is not shown", What: frame.AsSentence(frame.PlainText(e.Why())),
		Help:  "If it is yours and you want it visited again, say so on the page about the crawler.",
		Links: []frame.Link{{Text: "The crawler", Address: "/bot?host=" + url.QueryEscape(e.Block.Host)}, {Text: "Requests to this host", Address: "/services/" + e.Host + "/crawl-log"}, {Text: "All services", Address: "/services"}},
	}
	if e.Block.By != crawler.ByOwner {
		v.Status, v.Help = http.StatusForbidden, "The page about the crawler has the operator's address. The operator ends the block with gazetteer crawler unblock "+frame.PlainText(e.Block.Host)+"."
	}
	return v
}
