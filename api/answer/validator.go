package answer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/limit"
	"gazetteer/lint"
)

// A Fetcher fetches documents under the crawler's rules. A [fetch.Client] is
// one. What a site does is in the answer; an error is ours or the caller's.
type Fetcher interface {
	// Document requests one document at an https address; kind "" leaves its kind open.
	Document(ctx context.Context, kind document.Kind, address string) (fetch.Answer, error)
	// Host requests all documents of a host.
	Host(ctx context.Context, host string) ([]fetch.Answer, error)
}

// Errors of [Answers.Validate]. Test with errors.Is.
var (
	// ErrNoFetcher: this server fetches nothing on request.
	ErrNoFetcher = errors.New("documents are not fetched on request here")
	// ErrNothingToValidate: the request has neither a text nor an address, or both.
	ErrNothingToValidate = errors.New("give one text or one address")
	// ErrBusy: too many documents are being fetched for others.
	ErrBusy = errors.New("too many documents are being fetched at the moment")
)

// The number of fetches that anonymous requests can cause at a time, and of those one client.
const (
	maxConcurrentFetches  = 32
	maxConcurrentOfClient = 4
)

// A Validator checks documents: a given text, or the documents at an address. A fetch is work for
// another server, so the number of fetches is limited per client and per host.
type Validator struct {
	fetcher Fetcher
	clients *limit.Limiter
	hosts   *limit.Limiter
	fetches *limit.Slots
	now     func() time.Time
}

// ValidatorOptions shape a [Validator]. The zero value fetches nothing.
type ValidatorOptions struct {
	Fetcher Fetcher // nil: texts only
	// PerClient is how many fetches one client may cause in an hour, PerHost how
	// often one host may be asked on request, All how many there may be
	// together. 0 means 30, 12 and 600; a negative number lifts the limit.
	PerClient, PerHost, All int
	Now                     func() time.Time // the day documents are judged on; nil: time.Now
	Limits                  *limit.Set       // has the clock and lists the limits; may be nil
}

// NewValidator returns a validator. It starts nothing.
func NewValidator(o ValidatorOptions) *Validator {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Validator{
		fetcher: o.Fetcher, now: o.Now,
		clients: o.Limits.Limiter(limit.SharedRule("fetches", cmp.Or(o.PerClient, 30), cmp.Or(o.All, 600))),
		hosts:   o.Limits.Limiter(targetRule("fetches-host", cmp.Or(o.PerHost, 12))),
		fetches: o.Limits.Slots(limit.SlotRule{Name: "fetches", All: maxConcurrentFetches, Each: maxConcurrentOfClient, Fair: maxConcurrentFetches / maxConcurrentOfClient / 2}),
	}
}

// A ValidationRequest is a request to check a text, or the document at an address.
type ValidationRequest struct {
	// Name is the name of the text in the result.
	Name string
	Text []byte
	// Address is an https address, or the name of a host, of which all is
	// fetched that it publishes.
	Address string
	// As is the kind of document, "" to tell it from the text.
	As document.Kind
	// URL is the assumed address of Text; it may be empty.
	URL string
	// Level 2 requires the fields of AGIS Level 2.
	Level int
	// Client is the address of the client. Requests of the operator, which have the zero address, are
	// not counted.
	Client netip.Addr
}

// A ValidationResult is the result for one text, with the text.
type ValidationResult struct {
	lint.Result
	Text []byte
}

// Validate judges a submission, and answers one judgment for a text or an
// address, one for each document of a host. What is wrong with the documents or
// with the way they are served is in the judgments. The error is
// [ErrNothingToValidate], [ErrNoFetcher], [ErrBusy], a *[fetch.HostError] for an
// address without a public host, a *[QuotaError] for a client over its limit, or that
// of ctx.
func (a *Answers) Validate(ctx context.Context, s ValidationRequest) ([]ValidationResult, error) {
	return a.Validator.validateRequest(ctx, s)
}

func (j *Validator) validateRequest(ctx context.Context, s ValidationRequest) ([]ValidationResult, error) {
	if (s.Address == "") == (s.Text == nil) {
		return nil, ErrNothingToValidate
	}
	inputs := []lint.Input{{Name: s.Name, Text: s.Text, Kind: s.As, URL: s.URL}}
	if s.Address != "" {
		var err error
		if inputs, err = j.fetchInputs(ctx, s); err != nil {
			return nil, err
		}
	}
	results := lint.CheckAll(inputs, lint.Options{Today: j.now(), Level: s.Level})
	judgments := make([]ValidationResult, len(results))
	for i, r := range results {
		judgments[i] = ValidationResult{Result: r, Text: inputs[i].Text}
	}
	return judgments, nil
}

// fetchInputs fetches the documents at an address, if a slot is free.
func (j *Validator) fetchInputs(ctx context.Context, s ValidationRequest) ([]lint.Input, error) {
	host, whole, err := parseTarget(s.Address)
	if err != nil {
		return nil, err
	}
	if j.fetcher == nil {
		return nil, ErrNoFetcher
	}
	release, err := j.fetches.Acquire(ctx, s.Client) // before anything is counted: nothing is fetched without a slot
	if e, ok := errors.AsType[*limit.ExceededError](err); ok && !e.All {
		return nil, &QuotaError{fmt.Sprintf("%d addresses are being fetched for your network already", e.Quota), "send the text itself", e.Wait}
	}
	if err != nil {
		return nil, ErrBusy
	}
	defer release()
	if err := j.admitFetch(ctx, s.Client, host); err != nil {
		return nil, err
	}
	var answers []fetch.Answer
	if whole {
		answers, err = j.fetcher.Host(ctx, host)
	} else {
		answers = make([]fetch.Answer, 1)
		answers[0], err = j.fetcher.Document(ctx, s.As, s.Address)
	}
	if err != nil {
		return nil, fmt.Errorf("fetch what is to be judged: %w", err)
	}
	return lintInputs(answers, s.As), nil
}

// parseTarget reads an address. whole is set for the name of a host, including one that is written
// as an address without a path: it means all documents of the host.
func parseTarget(address string) (host string, whole bool, err error) {
	name := strings.TrimSpace(address)
	u, err := url.Parse(name)
	if err == nil && strings.Contains(name, "://") {
		whole = (u.Path == "" || u.Path == "/") && u.RawQuery == "" && u.Fragment == "" && u.Scheme != "http"
		if !whole {
			name = u.Hostname()
		}
	} else {
		whole = true
	}
	host, err = fetch.CheckHost(name)
	return host, whole, err
}

// admitFetch counts the fetch against its client and its host.
func (j *Validator) admitFetch(ctx context.Context, client netip.Addr, host string) error {
	if !client.IsValid() {
		return nil
	}
	counted, err := j.clients.Reserve(ctx, client)
	if err != nil {
		return quotaError(err, "addresses to be fetched", "send the text itself")
	}
	if err := j.hosts.TakeTarget(ctx, client, host); err != nil {
		counted.Cancel()
		return targetError(err, "visits to "+host, "send the text itself")
	}
	return nil
}

// lintInputs converts fetched documents to inputs of the checks. An answer without a body is an
// input, too, with the findings of the fetch.
func lintInputs(answers []fetch.Answer, as document.Kind) []lint.Input {
	var inputs []lint.Input
	for _, a := range answers {
		if a.Body == nil && len(a.Findings) == 0 {
			continue // absent, and nothing is wrong with that
		}
		inputs = append(inputs, lint.Input{Name: a.URL, Text: a.Body, Kind: as, URL: a.Address(), Fetched: &a})
	}
	return inputs
}
