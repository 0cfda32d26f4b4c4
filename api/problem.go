package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"gazetteer/api/answer"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/limit"
	"gazetteer/protocol"
	"gazetteer/protocol/did"
	"gazetteer/store"
)

// A Problem is the body of every refusal and failure: an RFC 9457 problem
// document that also carries the members which other conventions read. It says
// what is wrong, by which rule, where, and how to mend it; it never holds a
// path, a package, a stack or a text of the store.
type Problem struct {
	// Type is where the problem is described: /openapi.json#/x-problems/{code}.
	Type   string `json:"type" doc:"where this sort of problem is described"`
	Title  string `json:"title" doc:"the sort of problem, the same each time"`
	Status int    `json:"status" doc:"the HTTP status of this answer"`
	Detail string `json:"detail" doc:"what is wrong this time"`
	// Instance is a URN that the server's log repeats; only with our own failures.
	Instance string `json:"instance,omitempty" doc:"the name of this occurrence in the server's log"`
	// Code names the sort of problem for ever.
	Code string `json:"code" doc:"the sort of problem, stable, for programs"`
	// Rule is the code of the rule that was broken, Section its place in the draft.
	Rule    string    `json:"rule,omitempty" doc:"the rule that was broken"`
	Section string    `json:"section,omitempty" doc:"the place in the draft or RFC"`
	Where   *Location `json:"where,omitempty" doc:"where in the request"`
	Help    string    `json:"help,omitempty" doc:"how to mend it"`
	// AirID, Username and Hint stand where the AIR reference has them.
	AirID    string `json:"air_id,omitempty" doc:"the AIR ID that was asked for"`
	Username string `json:"username,omitempty" doc:"the handle that was asked for"`
	Hint     string `json:"hint,omitempty" doc:"the help again, for clients of the AIR reference"`
	// Reason and the four behind it stand where the reference has them, for
	// attestations.
	Reason         string `json:"reason,omitempty" doc:"why the agent may not"`
	AttestationID  int    `json:"attestation_id,omitempty" doc:"the attestation that is meant"`
	ClaimedSubject string `json:"claimed_subject,omitempty" doc:"whose attestation the address says it is"`
	ActualSubject  string `json:"actual_subject,omitempty" doc:"whose attestation it is"`
	RevokedAt      string `json:"revoked_at,omitempty" doc:"when the attestation was revoked"`
	MaxAge         int    `json:"max_age_seconds,omitempty" doc:"how old a signed time may be"`
	// Expected and Got are what was wanted and what came, SignatureBase what the
	// server holds a signature against that does not verify.
	Expected      string `json:"expected,omitempty" doc:"what was wanted"`
	Got           string `json:"got,omitempty" doc:"what came"`
	SignatureBase string `json:"signature_base,omitempty" doc:"the text that the signature was held against"`
	// Missing are the signals of evidence that were required and do not hold.
	Missing []string `json:"missing_evidence,omitempty" doc:"the required evidence that does not hold"`
	// Retry is after how many seconds it may be tried again.
	Retry int `json:"retry_after_seconds,omitempty" doc:"seconds after which to try again"`

	// What other conventions read: the AIR reference, ARD.
	Error     string `json:"error" doc:"the detail again, for clients of the AIR reference"`
	ErrorCode string `json:"errorCode" doc:"the code of the ARD convention"`
	Message   string `json:"message" doc:"the detail again, for clients of the ARD convention"`
}

// Location is a place in a request: a parameter, or a place in its body.
type Location struct {
	Parameter string `json:"parameter,omitempty"`
	Header    string `json:"header,omitempty"`
	// Pointer is the JSON Pointer of the offending node of the body, "" also
	// for the whole of it.
	Pointer string `json:"pointer,omitempty"`
	// Line and Column count from 1, in characters: a Hangul syllable is one, and so is
	// each code point of an emoji. With a line they are a place in the body, without
	// one the column is a place in the text of the parameter or of the node.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// A sort is a row of the table of problems.
type problemKind struct {
	Code   string `json:"code"`
	Status int    `json:"status"`
	Title  string `json:"title"`
}

// The sorts of problems. A code is never used again for something else.
var (
	badRequest         = problemKind{"bad-request", 400, "The request cannot be understood"}
	badQuery           = problemKind{"bad-query", 400, "The search query cannot be read"}
	unknownParameter   = problemKind{"unknown-parameter", 400, "There is no such parameter"}
	repeated           = problemKind{"repeated-parameter", 400, "The parameter is given more than once"}
	badParameter       = problemKind{"bad-parameter", 400, "The parameter has an impossible value"}
	badHost            = problemKind{"bad-host", 400, "This is not the name of a public host"}
	badCursor          = problemKind{"bad-cursor", 400, "The cursor is not one of ours for this request"}
	badBody            = problemKind{"bad-body", 400, "The body cannot be read"}
	badField           = problemKind{"bad-field", 400, "A member of the body has an impossible value"}
	unauthorized       = problemKind{"unauthorized", 401, "The request does not prove who sends it"}
	forbidden          = problemKind{"forbidden", 403, "The agent may not do this"}
	notSigned          = problemKind{"not-signed", 403, "The log has not signed this"}
	problemNoRoute     = problemKind{"not-found", 404, "There is nothing at this address"}
	noService          = problemKind{"no-service", 404, "The host is not known"}
	noDocument         = problemKind{"no-document", 404, "The document is not known"}
	noVerb             = problemKind{"no-verb", 404, "No operation bears this verb"}
	noNamespace        = problemKind{"no-namespace", 404, "No service uses this namespace"}
	noClass            = problemKind{"no-data-class", 404, "No service holds this data class"}
	noOperation        = problemKind{"no-operation", 404, "The operation is not known"}
	noName             = problemKind{"no-name", 404, "Nothing bears this name"}
	noAgent            = problemKind{"no-agent", 404, "The agent is not known"}
	noKey              = problemKind{"no-key", 404, "The agent has no public key"}
	noPart             = problemKind{"no-part", 404, "The agent has nothing of this sort"}
	noDID              = problemKind{"no-did", 404, "The DID does not resolve"}
	noRule             = problemKind{"no-rule", 404, "No rule has this code"}
	noSchema           = problemKind{"no-schema", 404, "No schema has this name"}
	wrongMethod        = problemKind{"method-not-allowed", 405, "The address does not take this method"}
	bodyTimeoutProblem = problemKind{"body-timeout", 408, "The body did not arrive in time"}
	conflict           = problemKind{"conflict", 409, "Somebody else was first"}
	contradiction      = problemKind{"contradiction", 409, "This contradicts what is registered"}
	notOptedOut        = problemKind{"not-opted-out", 409, "There is no opt-out of this host to withdraw"}
	blockedHost        = problemKind{"blocked-host", 403, "The operator does not visit this host"}
	optedOut           = problemKind{"opted-out", 410, "The owner does not want this host to be shown"}
	agentGone          = problemKind{"agent-gone", 410, "The agent is no more"}
	noEvidence         = problemKind{"no-evidence", 412, "The agent does not show the required evidence"}
	otherVersion       = problemKind{"other-version", 412, "The record was changed meanwhile"}
	cursorGone         = problemKind{"cursor-gone", 410, "The cursor leads nowhere any more"}
	bodyTooLarge       = problemKind{"body-too-large", 413, "The body is too large"}
	badProof           = problemKind{"bad-proof", 422, "The proof does not hold"}
	wrongMediaType     = problemKind{"unsupported-media-type", 415, "The body is in a form that is not taken here"}
	rateLimited        = problemKind{"rate-limited", 429, "Too many requests"}
	internal           = problemKind{"internal", 500, "We failed"}
	damaged            = problemKind{"damaged", 500, "The stored bytes are damaged"}
	clientGone         = problemKind{"client-gone", 499, "The client left"} // for the log: nobody reads it
	notReady           = problemKind{"not-ready", 503, "Not ready yet"}
	searchTime         = problemKind{"search-timeout", 503, "The search took too long"}
	searches           = problemKind{"too-many-searches", 503, "Too many searches at the same time"}
	unavailable        = problemKind{"unavailable", 503, "Not possible at the moment"}
)

// problemKinds is the whole table, for the OpenAPI document.
func problemKinds() map[string]problemKind {
	table := map[string]problemKind{}
	for _, s := range []problemKind{
		badRequest, badQuery, unknownParameter, repeated, badParameter, badHost, badCursor, badBody, badField,
		unauthorized, forbidden, notSigned, problemNoRoute, noService, noDocument, noVerb, noNamespace, noClass, noOperation, noName, noAgent, noKey, noPart, noDID, noRule, noSchema, wrongMethod,
		bodyTimeoutProblem, conflict, contradiction, notOptedOut, blockedHost, optedOut, agentGone, noEvidence, otherVersion, cursorGone, bodyTooLarge, badProof, wrongMediaType, rateLimited, internal, damaged, notReady, searchTime, searches, unavailable,
	} {
		table[s.Code] = s
	}
	return table
}

// A refusal is a problem on its way to the client.
type problemError struct {
	problem Problem
	plain   bool          // for clients of the AIR reference: application/json
	retry   time.Duration // for Retry-After; 0 is none
	current string        // where the newest of what was asked for is, for Link
	cause   error         // for our log only
	nth     int           // which value of a parameter it is about, from 1; 0 when it is not about one
}

// newProblem returns a refusal of that sort, saying what is wrong this time and how
// to mend it.
func newProblem(s problemKind, detail, help string) *problemError {
	return &problemError{problem: Problem{
		Type: problemType(s), Title: s.Title, Status: s.Status, Code: s.Code,
		Detail: detail, Help: help,
		Error: detail, Message: detail, ErrorCode: ardCode(s.Status),
	}}
}

// problemType is the address of the row of a sort in the table of problems.
func problemType(s problemKind) string { return "/openapi.json#/x-problems/" + s.Code }

func (r *problemError) Error() string { return r.problem.Code + ": " + r.problem.Detail }

// GetStatus, GetHeaders, ContentType and MarshalJSON are what huma asks of an
// error that it shall send as it is.
func (r *problemError) GetStatus() int { return r.problem.Status }

// GetHeaders returns what belongs to the refusal beside its body.
func (r *problemError) GetHeaders() http.Header {
	h := http.Header{}
	if r.retry > 0 {
		h.Set("Retry-After", strconv.Itoa(limit.CeilSeconds(r.retry)))
	}
	if r.current != "" {
		h.Set("Link", "<"+r.current+`>; rel="current"`)
	}
	if r.problem.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Signature realm="agents", AgentSecret realm="agents"`)
	}
	return h
}

// ContentType returns the media type of the body. The reference's clients look
// for plain JSON, so the routes they use answer with that.
func (r *problemError) ContentType(string) string {
	if r.plain {
		return "application/json"
	}
	return "application/problem+json"
}

// MarshalJSON writes the problem. The standard encoder replaces invalid UTF-8,
// so what a client sent cannot break the answer about it.
func (r *problemError) MarshalJSON() ([]byte, error) { return json.Marshal(r.problem) }

// Unwrap makes the cause visible to errors.Is.
func (r *problemError) Unwrap() error { return r.cause }

// withLocation adds the place.
func (r *problemError) withLocation(w Location) *problemError {
	r.problem.Where = &w
	return r
}

// withValueIndex says which value of the parameter it is about, from 0.
func (r *problemError) withValueIndex(i int) *problemError {
	r.nth = i + 1
	return r
}

// withRule adds the rule and its section.
func (r *problemError) withRule(rule, section string) *problemError {
	r.problem.Rule, r.problem.Section = rule, section
	return r
}

// withRetry asks to try again no sooner than d.
func (r *problemError) withRetry(d time.Duration) *problemError {
	r.retry = max(d, time.Second)
	r.problem.Retry = limit.CeilSeconds(r.retry)
	return r
}

// withCause keeps the error behind the refusal for our log.
func (r *problemError) withCause(err error) *problemError {
	r.cause = err
	return r
}

// admitClient counts one of what a client does against a limit, or refuses it and says when to
// come back. A client without an address, which came over the operator's socket, is not counted.
func admitClient(ctx context.Context, l *limit.Limiter, client netip.Addr, what string) error {
	e, exceeded := errors.AsType[*limit.ExceededError](l.Take(ctx, client))
	if !exceeded {
		return nil
	}
	detail := fmt.Sprintf("Rate limit exceeded: at most %d %s an hour from one address", e.Quota, what)
	if e.All {
		detail = "Rate limit exceeded: the registry takes no more " + what + " at the moment"
	}
	return newProblem(rateLimited, detail, "wait as long as Retry-After says").withRetry(e.Wait)
}

// ardCode is the code of the ARD convention for a status.
func ardCode(status int) string {
	switch {
	case status == 401:
		return "UNAUTHENTICATED"
	case status == 404, status == 410:
		return "NOT_FOUND"
	case status == 429:
		return "RATE_LIMIT_EXCEEDED"
	case status >= 500:
		return "INTERNAL_ERROR"
	default:
		return "INVALID_ARGUMENT"
	}
}

// problemFor turns any error of the packages below into what the client is told
// about it. It is the error table of the whole API.
func problemFor(err error) *problemError {
	if r, ok := errors.AsType[*problemError](err); ok {
		return r
	}
	if r := callerProblem(err); r != nil {
		return r.withCause(err)
	}
	return serverProblem(err).withCause(err)
}

// callerProblem covers what the caller can mend; nil for the rest.
func callerProblem(err error) *problemError {
	if e, ok := errors.AsType[*query.Error](err); ok {
		return newProblem(badQuery, e.Message, e.Help).withLocation(Location{Parameter: "q", Column: e.Offset + 1})
	}
	if e, ok := errors.AsType[*fetch.HostError](err); ok {
		return newProblem(badHost, "the host name cannot be used: "+e.Problem, e.Help).withLocation(Location{Parameter: "host"})
	}
	if e, ok := errors.AsType[*protocol.SyntaxError](err); ok {
		return newProblem(badBody, "the body is not valid JSON: "+e.Message, "send one JSON object in UTF-8, with each member once").
			withRule(e.Problem.String(), "RFC 8259").
			withLocation(Location{Pointer: e.Pointer, Line: e.Line, Column: e.Column})
	}
	if e, ok := errors.AsType[*answer.QuotaError](err); ok {
		return newProblem(rateLimited, e.Message, "wait as long as Retry-After says, or "+e.Help).withRetry(e.Wait)
	}
	if r := ownerProblem(err); r != nil {
		return r
	}
	if r := agentProblem(err); r != nil {
		return r
	}
	if r := didProblem(err); r != nil {
		return r
	}
	if e, ok := errors.AsType[*did.Error](err); ok {
		return newProblem(badParameter, e.Message, e.Help).withRule(e.Code, "")
	}
	switch {
	case errors.Is(err, answer.ErrNoService):
		return newProblem(noService, "nothing is known of this host", "see /api/v1/services for those that are known")
	case errors.Is(err, answer.ErrNoDocument):
		return newProblem(noDocument, "the host has no such document, now or among its stored versions", "see /api/v1/services/{host} for its documents and their versions")
	case errors.Is(err, answer.ErrNoVerb):
		return newProblem(noVerb, "no operation bears this verb", "see /api/v1/verbs for those that are offered")
	case errors.Is(err, answer.ErrNoNamespace):
		return newProblem(noNamespace, "no service uses this namespace", "see /api/v1/namespaces for those that are used")
	case errors.Is(err, answer.ErrNoClass):
		return newProblem(noClass, "no service says that it holds this data class", "see /api/v1/data-classes for those that are held")
	case errors.Is(err, answer.ErrNoName):
		return newProblem(noName, "no operation bears this name", "give an AIR ID, a handle, a did:wba or NAMESPACE.VERB; /api/v1/search finds by words")
	case errors.Is(err, answer.ErrNothingToValidate):
		return newProblem(badBody, "there is nothing to judge, or two things at once", "send one document, or one address")
	case errors.Is(err, answer.ErrNoFetcher):
		return newProblem(unavailable, "documents are not fetched on request here", "send the document itself as the body")
	case errors.Is(err, answer.ErrNoCrawl):
		return newProblem(unavailable, "this process does not crawl", "name the host to a server that does").withRetry(time.Hour)
	case errors.Is(err, answer.ErrBusy):
		return newProblem(unavailable, "too many documents are being fetched for others", "try again in a few seconds, or send the document itself").withRetry(5 * time.Second)
	case errors.Is(err, answer.ErrNoRule):
		return newProblem(noRule, "no rule has this code", "see /api/v1/rules for all of them").withLocation(Location{Parameter: "code"})
	case errors.Is(err, ErrNoSchema):
		return newProblem(noSchema, "no schema has this name", "ask for one of "+schemaNames()).withLocation(Location{Parameter: "name"})
	case errors.Is(err, answer.ErrNoDirectory):
		return newProblem(unavailable, "agents are not listed here", "look an agent up by its AIR ID or handle").withRetry(time.Hour)
	case errors.Is(err, answer.ErrNoLog):
		return newProblem(unavailable, "no transparency log is kept here", "ask the operator of this server").withRetry(time.Hour)
	case errors.Is(err, store.ErrConflict):
		return newProblem(conflict, "the record was changed meanwhile", "read it again and repeat the change")
	default:
		return nil
	}
}

// fieldPointer turns "service_endpoints[0].type" into a JSON Pointer.
func fieldPointer(field string) string {
	return "/" + strings.NewReplacer("[", "/", "].", "/", "]", "", ".", "/").Replace(field)
}

// serverProblem covers what is wrong on our side. What it was stands in our log.
func serverProblem(err error) *problemError {
	switch {
	case errors.Is(err, context.Canceled):
		return newProblem(clientGone, "the request was given up before it was answered", "")
	case errors.Is(err, store.ErrFull):
		return newProblem(unavailable, "there is no room for new data at the moment", "try again later; reading still works").withRetry(5 * time.Minute)
	case errors.Is(err, store.ErrUnknown), errors.Is(err, store.ErrClosed):
		return newProblem(unavailable, "nothing can be written at the moment; it is not known whether this was", "read it back in a minute, and repeat it if it is not there").withRetry(time.Minute)
	case errors.Is(err, answer.ErrSearchTimeout):
		return newProblem(searchTime, "the search was given up because it took longer than a search may", "ask for less: fewer words, no phrase, or a filter such as verb: or host:").withRetry(2 * time.Second)
	case errors.Is(err, answer.ErrTooManySearches):
		return newProblem(searches, "as many searches run and wait as may at a time", "try again as soon as Retry-After says").withRetry(time.Second)
	case errors.Is(err, index.ErrUnavailable):
		return newProblem(notReady, "the index is being rebuilt, so nothing can be searched", "try again in a few seconds; services, documents and agents can be read meanwhile").withRetry(5 * time.Second)
	case errors.Is(err, index.ErrClosed):
		return newProblem(unavailable, "the server is stopping", "try again in a moment").withRetry(5 * time.Second)
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem(unavailable, "the answer took too long", "try again later").withRetry(10 * time.Second)
	case errors.Is(err, answer.ErrDamaged), errors.Is(err, store.ErrCorrupt):
		return newProblem(damaged, "what is stored does not match its checksum, so it is not shown", "the document can be had from its host; the operator of this server should check the store")
	default:
		return newProblem(internal, "the request was fine; the failure is ours", "try again later; if it stays, tell the operator the instance given here")
	}
}

// joinWords joins words for a sentence: `a, b and c`.
func joinWords(words []string) string {
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
