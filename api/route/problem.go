package route

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/crawler/owner"
	"gazetteer/fetch"
	"gazetteer/index/query"
	"gazetteer/limit"
	"gazetteer/protocol"
	"gazetteer/protocol/did"
	"gazetteer/registry/audit"
	"gazetteer/registry/proofofwork"
)

// A Problem is the body of every refusal and failure: an RFC 9457 problem
// document. It says each thing once: what is wrong, by which rule, where, and how
// to fix it. Only Cause, which the operator alone gets, holds a path or a text of the store.
type Problem struct {
	// Type is where the problem is described: /openapi.json#/x-problems/{code}.
	Type   string `json:"type" doc:"where this sort of problem is described"`
	Title  string `json:"title" doc:"the sort of problem, the same each time"`
	Status int    `json:"status" doc:"the HTTP status of this answer"`
	Detail string `json:"detail" doc:"what is wrong this time"`
	// Instance is a URN that the server's log repeats; only for our own failures.
	Instance string `json:"instance,omitempty" doc:"the name of this occurrence in the server's log"`
	// Code names the kind of problem permanently.
	Code string `json:"code" doc:"the sort of problem, stable, for programs"`
	// Rule is the code of the rule that was broken, Section its place in the draft.
	Rule    string    `json:"rule,omitempty" doc:"the rule that was broken"`
	Section string    `json:"section,omitempty" doc:"the place in the draft or RFC"`
	Where   *Location `json:"where,omitempty" doc:"where in the request"`
	Help    string    `json:"help,omitempty" doc:"how to fix it"`
	// Cause is the error behind a failure, for the operator only.
	Cause string `json:"cause,omitempty" doc:"the error behind a failure; only on the operator's listeners"`
	// AirID, Username and Hint are members of the AIR reference.
	AirID    string `json:"air_id,omitempty" doc:"the requested AIR ID"`
	Username string `json:"username,omitempty" doc:"the requested handle"`
	Hint     string `json:"hint,omitempty" doc:"the help again, for clients of the AIR reference"`
	// Reason and the four members after it are members of the reference, for attestations.
	Reason         string `json:"reason,omitempty" doc:"why the agent may not"`
	AttestationID  int    `json:"attestation_id,omitempty" doc:"the attestation"`
	ClaimedSubject string `json:"claimed_subject,omitempty" doc:"the agent named in the address"`
	ActualSubject  string `json:"actual_subject,omitempty" doc:"whose attestation it is"`
	RevokedAt      string `json:"revoked_at,omitempty" doc:"when the attestation was revoked"`
	MaxAge         int    `json:"max_age_seconds,omitempty" doc:"how old a signed time may be"`
	// Expected and Got are the expected and the received value; SignatureBase is the text that the
	// server verifies a failed signature against.
	Expected      string `json:"expected,omitempty" doc:"what was wanted"`
	Got           string `json:"got,omitempty" doc:"what came"`
	SignatureBase string `json:"signature_base,omitempty" doc:"the text that the signature was held against"`
	// Work is the proof of work that a registration needs.
	Work *proofofwork.Task `json:"work,omitempty" doc:"the proof of work that a registration needs while very many agents are registered"`
	// Missing are the required signals of evidence that do not hold.
	Missing []string `json:"missing_evidence,omitempty" doc:"the missing evidence"`
	// Alternatives are names that exist, the likeliest first, for one that does not.
	Alternatives []string `json:"alternatives,omitempty" doc:"names that exist and may be meant, the likeliest first"`
	// Retry is the number of seconds until another attempt makes sense.
	Retry int `json:"retry_after_seconds,omitempty" doc:"seconds to wait before the next attempt"`

	// Error and Message are members of the AIR reference, and set on its paths alone.
	Error   string `json:"error,omitempty" doc:"the detail again, on the paths of the AIR reference"`
	Message string `json:"message,omitempty" doc:"an explanation, where the AIR reference has one"`
}

// Location is a place in a request: a parameter, or a place in its body.
type Location struct {
	Parameter string `json:"parameter,omitempty"`
	Header    string `json:"header,omitempty"`
	// Pointer is the JSON Pointer of the offending node of the body, "" also for the whole body.
	Pointer string `json:"pointer,omitempty"`
	// Line and Column count from 1, in characters: a Hangul syllable is one, and so is each code
	// point of an emoji. With a line they are a place in the body; without one, the column is a
	// place in the text of the parameter or of the node.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// A ProblemKind is a row of the table of problems. Its code is stable.
type ProblemKind struct {
	Code   string `json:"code"`
	Status int    `json:"status"`
	Title  string `json:"title"`
}

// The kinds of problems. A code never gets another meaning.
var (
	badRequest         = newKind("bad-request", 400, "The request cannot be understood")
	BadQuery           = newKind("bad-query", 400, "The search query cannot be read")
	unknownParameter   = newKind("unknown-parameter", 400, "There is no such parameter")
	repeated           = newKind("repeated-parameter", 400, "The parameter is given more than once")
	BadParameter       = newKind("bad-parameter", 400, "The parameter has an impossible value")
	BadHost            = newKind("bad-host", 400, "This is not the name of a public host")
	badCursor          = newKind("bad-cursor", 400, "The cursor is not one of ours for this request")
	BadBody            = newKind("bad-body", 400, "The body cannot be read")
	BadField           = newKind("bad-field", 400, "A member of the body has an impossible value")
	unauthorized       = newKind("unauthorized", 401, "The request does not prove who sends it")
	forbidden          = newKind("forbidden", 403, "The agent may not do this")
	notComparable      = newKind("not-comparable", 422, "The two versions cannot be compared")
	foreignPage        = newKind("foreign-page", 403, "A page of another site may not send this")
	notSigned          = newKind("not-signed", 403, "The log has not signed this")
	problemNoRoute     = newKind("not-found", 404, "There is nothing at this address")
	NoService          = newKind("no-service", 404, "The host is not known")
	noDocument         = newKind("no-document", 404, "The document is not known")
	NoVerb             = newKind("no-verb", 404, "No operation has this verb")
	noNamespace        = newKind("no-namespace", 404, "No service uses this namespace")
	noClass            = newKind("no-data-class", 404, "No service declares this data class")
	NoOperation        = newKind("no-operation", 404, "The operation is not known")
	NoName             = newKind("no-name", 404, "Nothing has this name")
	NoAgent            = newKind("no-agent", 404, "The agent is not known")
	noKey              = newKind("no-key", 404, "The agent has no public key")
	noPart             = newKind("no-part", 404, "The agent has nothing of this sort")
	noDID              = newKind("no-did", 404, "The DID does not resolve")
	noRule             = newKind("no-rule", 404, "No rule has this code")
	notInLog           = newKind("not-in-log", 404, "The log does not have this")
	NoSchema           = newKind("no-schema", 404, "No schema has this name")
	wrongMethod        = newKind("method-not-allowed", 405, "The address does not support this method")
	bodyTimeoutProblem = newKind("body-timeout", 408, "The body did not arrive in time")
	conflict           = newKind("conflict", 409, "Somebody else took or changed it first")
	contradiction      = newKind("contradiction", 409, "This contradicts what is registered")
	NotOptedOut        = newKind("not-opted-out", 409, "There is no opt-out of this host to withdraw")
	blockedHost        = newKind("blocked-host", 403, "The operator does not visit this host")
	OptedOut           = newKind("opted-out", 410, "The owner does not want this host to be shown")
	agentGone          = newKind("agent-gone", 410, "The agent no longer exists")
	NoEvidence         = newKind("no-evidence", 412, "The agent does not show the required evidence")
	OtherVersion       = newKind("other-version", 412, "The record was changed in the meantime")
	cursorGone         = newKind("cursor-gone", 410, "The cursor leads nowhere any more")
	bodyTooLarge       = newKind("body-too-large", 413, "The body is too large")
	badProof           = newKind("bad-proof", 422, "The proof is invalid")
	wrongMediaType     = newKind("unsupported-media-type", 415, "The form of the body is not supported")
	rateLimited        = newKind("rate-limited", 429, "Too many requests")
	internal           = newKind("internal", 500, "Internal error")
	damaged            = newKind("damaged", 500, "The stored bytes are damaged")
	clientGone         = ProblemKind{"client-gone", 499, "The client left"} // for the log: nobody reads it
	NotReady           = newKind("not-ready", 503, "Not ready yet")
	searchTime         = newKind("search-timeout", 503, "The search took too long")
	searches           = newKind("too-many-searches", 503, "Too many searches at the same time")
	Unavailable        = newKind("unavailable", 503, "Not possible at the moment")
)

// problemKinds is the whole table, by code.
var problemKinds = map[string]ProblemKind{}

// ProblemKinds lists all kinds of problems by status and code.
func ProblemKinds() []ProblemKind {
	return slices.SortedFunc(maps.Values(problemKinds), func(a, b ProblemKind) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), strings.Compare(a.Code, b.Code))
	})
}

func newKind(code string, status int, title string) ProblemKind {
	problemKinds[code] = ProblemKind{code, status, title}
	return problemKinds[code]
}

// An Error is a problem before it is sent to the client.
type Error struct {
	Problem Problem
	Plain   bool          // for clients of the AIR reference: application/json
	retry   time.Duration // for Retry-After; 0 is none
	Current string        // where the newest of what was asked for is, for Link
	Cause   error         // for our log only
	Nth     int           // which value of a parameter it is about, from 1; 0 when it is not about one
}

// NewProblem returns a refusal of a kind, with the specific mistake and its correction.
func NewProblem(s ProblemKind, detail, help string) *Error {
	return &Error{Problem: Problem{
		Type: ProblemType(s), Title: s.Title, Status: s.Status, Code: s.Code,
		Detail: detail, Help: help,
	}}
}

// ProblemType returns the address of a kind's row in the table of problems.
func ProblemType(s ProblemKind) string { return "/openapi.json#/x-problems/" + s.Code }

func (r *Error) Error() string { return r.Problem.Code + ": " + r.Problem.Detail }

// GetStatus, GetHeaders, ContentType and MarshalJSON are the methods that huma requires of an error
// that it sends as it is.
func (r *Error) GetStatus() int { return r.Problem.Status }

// GetHeaders returns the headers of the refusal.
func (r *Error) GetHeaders() http.Header {
	h := http.Header{}
	if r.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(limit.CeilSeconds(r.retry)))
	}
	if r.Current != "" {
		h.Set("Link", "<"+r.Current+`>; rel="current"`)
	}
	if r.Problem.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Signature realm="agents", AgentSecret realm="agents"`)
	}
	return h
}

// ContentType returns the media type of the body. The reference's clients expect plain JSON, so the
// routes that they use answer with that.
func (r *Error) ContentType(string) string {
	if r.Plain {
		return "application/json"
	}
	return "application/problem+json"
}

// MarshalJSON encodes the problem. The standard encoder replaces invalid UTF-8, so a client's text
// cannot break the answer about it.
func (r *Error) MarshalJSON() ([]byte, error) {
	p := r.Problem
	// An address without a route may be one of the reference's.
	reference := r.Plain || p.Code == problemNoRoute.Code || p.Code == wrongMethod.Code
	switch {
	case !reference:
		p.Error, p.Message, p.Hint = "", "", ""
	case p.Status == http.StatusTooManyRequests:
		p.Error, p.Message = p.Detail, cmp.Or(p.Message, p.Detail)
	default:
		p.Error = p.Detail
	}
	return json.Marshal(p)
}

// Unwrap makes the cause visible to errors.Is.
func (r *Error) Unwrap() error { return r.Cause }

// WithLocation adds the place.
func (r *Error) WithLocation(w Location) *Error {
	r.Problem.Where = &w
	return r
}

// WithAlternatives adds names that may be meant; none change nothing.
func (r *Error) WithAlternatives(names []string) *Error {
	r.Problem.Alternatives = names
	return r
}

// WithValueIndex sets which value of the parameter is wrong, counted from 0.
func (r *Error) WithValueIndex(i int) *Error {
	r.Nth = i + 1
	return r
}

// withRule adds the rule and its section.
func (r *Error) withRule(rule, section string) *Error {
	r.Problem.Rule, r.Problem.Section = rule, section
	return r
}

// WithRetry tells the client to try again after d.
func (r *Error) WithRetry(d time.Duration) *Error {
	r.retry = max(d, time.Second)
	r.Problem.Retry = limit.CeilSeconds(r.retry)
	return r
}

// WithCause keeps the error behind the refusal for our log.
func (r *Error) WithCause(err error) *Error {
	r.Cause = err
	return r
}

// ProblemFor converts any error of the packages below to a problem for the client: errors with
// details of their own first, then the values of [errorProblems].
func ProblemFor(err error) *Error {
	if r, ok := errors.AsType[*Error](err); ok {
		return r
	}
	if r := typedProblem(err); r != nil {
		return r.WithCause(err)
	}
	return tableProblem(err).WithCause(err)
}

// typedProblem returns the problem for an error whose type has details; nil for other errors.
func typedProblem(err error) *Error {
	if e, ok := errors.AsType[*query.Error](err); ok {
		return NewProblem(BadQuery, e.Message, e.Help).WithLocation(Location{Parameter: "q", Column: e.Offset + 1})
	}
	if e, ok := errors.AsType[*fetch.HostError](err); ok {
		return NewProblem(BadHost, "the host name cannot be used: "+e.Problem, e.Help).WithLocation(Location{Parameter: "host"})
	}
	if e, ok := errors.AsType[*protocol.SyntaxError](err); ok {
		return NewProblem(BadBody, "the body cannot be read: "+e.Message, "send one JSON object in UTF-8, with each member once").
			withRule(e.Problem.String(), "RFC 8259").
			WithLocation(Location{Pointer: e.Pointer, Line: e.Line, Column: e.Column})
	}
	if e, ok := errors.AsType[*answer.QuotaError](err); ok {
		return NewProblem(rateLimited, e.Message, "wait for the time in Retry-After, or "+e.Help).WithRetry(e.Wait)
	}
	if e, ok := errors.AsType[*answer.WithdrawnError](err); ok {
		if e.Block.By == crawler.ByOwner {
			return NewProblem(OptedOut, e.Why(), e.Help())
		}
		return NewProblem(blockedHost, e.Why(), e.Help())
	}
	if e, ok := errors.AsType[*crawler.SoonError](err); ok {
		return NewProblem(rateLimited, e.Error(), "wait for the time in Retry-After").WithRetry(e.Wait)
	}
	if e, ok := errors.AsType[*owner.CoveredError](err); ok {
		return NewProblem(NotOptedOut, e.Error(), "withdraw that one: run gazetteer opt-in "+e.By+" or send POST /api/v1/services/"+e.By+"/opt-in")
	}
	if e, ok := errors.AsType[*audit.QueryError](err); ok {
		return NewProblem(BadParameter, e.Error(), "").WithLocation(Location{Parameter: e.Parameter})
	}
	if r := agentProblem(err); r != nil {
		return r
	}
	if r := didProblem(err); r != nil {
		return r
	}
	if e, ok := errors.AsType[*did.Error](err); ok {
		return NewProblem(BadParameter, e.Message, e.Help).withRule(e.Code, "")
	}
	return nil
}

// fieldPointer turns "service_endpoints[0].type" into a JSON Pointer.
func fieldPointer(field string) string {
	return "/" + strings.NewReplacer("[", "/", "].", "/", "]", "", ".", "/").Replace(field)
}

// JoinWords joins words for a sentence: `a, b and c`.
func JoinWords(words []string) string {
	words = slices.Clone(words)
	slices.Sort(words)
	switch n := len(words); n {
	case 0:
		return "none"
	case 1:
		return words[0]
	default:
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
}
