package route

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"gazetteer/api/answer"
	"gazetteer/crawler"
	"gazetteer/crawler/owner"
	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/index"
	"gazetteer/registry"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/tiles"
	"gazetteer/store"
)

// An errorProblem is a row of [errorProblems].
type errorProblem struct {
	is           error
	also         []error // more errors with the same problem
	kind         ProblemKind
	detail, help string
	retry        time.Duration
	parameter    string
	failure      bool // for the log
}

// errorProblems has the problem of each error value of the packages below, the caller's errors first.
// An empty detail means the text of the error.
var errorProblems = []errorProblem{
	{
		is: owner.ErrNotOut, kind: NotOptedOut,
		detail: "the owner of this host has not opted out, so there is nothing to withdraw",
		help:   "to have the host visited, run gazetteer crawl HOST or send POST /api/v1/submissions",
	},
	{
		is: owner.ErrOperator, kind: blockedHost,
		detail: "it is the operator of this server who does not visit the host",
		help:   "ask the operator; the page /bot has the address",
	},
	{
		is: crawler.ErrBlocked, kind: blockedHost,
		detail: "the host is not visited",
		help:   "ask for the host itself to learn who blocked it",
	},
	{
		is: answer.ErrNoOwnerRequests, kind: Unavailable,
		detail: "this server accepts no requests of owners",
		help:   "ask the operator; the page /bot has the address",
		retry:  time.Hour,
	},
	{
		is: answer.ErrNoService, kind: NoService,
		detail: "nothing is known of this host",
		help:   "have it visited with gazetteer crawl HOST or POST /api/v1/submissions; /api/v1/services lists the known hosts",
	},
	{
		is: answer.ErrNoDocument, kind: noDocument,
		detail: "the host has no such document, now or among its stored versions",
		help:   "see /api/v1/services/{host} for its documents and their versions",
	},
	{
		is: answer.ErrOneVersion, kind: noDocument,
		detail: "no version before this one is stored",
		help:   "name two versions with from and to; /api/v1/services/{host}/documents/{kind}/versions lists them",
	},
	{
		is: diff.ErrUnlike, also: []error{document.ErrUnreadable, document.ErrOtherFormat}, kind: notComparable,
		help: "compare other versions; AI Discovery documents, AGIS documents and AGIS summaries can be compared if they can be read",
	},
	{
		is: answer.ErrNoVerb, kind: NoVerb,
		detail: "no operation has this verb",
		help:   "see /api/v1/verbs for those that are offered",
	},
	{
		is: answer.ErrNoNamespace, kind: noNamespace,
		detail: "no service uses this namespace",
		help:   "see /api/v1/namespaces for those that are used",
	},
	{
		is: answer.ErrNoClass, kind: noClass,
		detail: "no service declares this data class",
		help:   "see /api/v1/data-classes for those that are held",
	},
	{
		is: answer.ErrNoName, kind: NoName,
		detail: "no operation has this name",
		help:   "give an AIR ID, a handle, a did:wba or NAMESPACE.VERB; /api/v1/search finds by words",
	},
	{
		is: answer.ErrNothingToValidate, kind: BadBody,
		detail: "there is nothing to judge, or two things at once",
		help:   "send one document, or one address",
	},
	{
		is: answer.ErrNoFetcher, kind: Unavailable,
		detail: "documents are not fetched on request here",
		help:   "send the document itself as the body",
	},
	{
		is: answer.ErrNoCrawl, kind: Unavailable,
		detail: "this server does not crawl",
		help:   "name the host to a server that does; the operator of this one sets crawler.enabled = true",
		retry:  time.Hour,
	},
	{
		is: answer.ErrBusy, kind: Unavailable,
		detail: "too many documents are being fetched for others",
		help:   "try again in a few seconds, or send the document itself",
		retry:  5 * time.Second,
	},
	{
		is: answer.ErrNoRule, kind: noRule,
		detail:    "no rule has this code",
		help:      "see /api/v1/rules for all of them",
		parameter: "code",
	},
	{
		is: answer.ErrNoStates, kind: Unavailable,
		detail: "the states of hosts are not followed here",
		help:   "leave is out",
		retry:  time.Hour,
	},
	{
		is: answer.ErrNoDirectory, kind: Unavailable,
		detail: "agents are not listed here",
		help:   "look an agent up by its AIR ID or handle",
		retry:  time.Hour,
	},
	{
		is: answer.ErrNoFeed, kind: Unavailable,
		detail: "this server has no feed of changes",
		help:   "ask the operator of this server",
		retry:  time.Hour,
	},
	{
		is: answer.ErrNoFigure, kind: BadParameter,
		help: "a figure has a family and a value, such as state:conformant=yes; /api/v1/stats lists them",
	},
	{
		is: answer.ErrNoCensus, kind: Unavailable,
		detail: "the figures of all hosts are not followed here",
		help:   "ask the server that crawls",
		retry:  time.Hour,
	},
	{
		is: answer.ErrNoLog, kind: Unavailable,
		detail: "this server has no transparency log",
		help:   "ask the operator of this server",
		retry:  time.Hour,
	},
	{
		is: audit.ErrRange, kind: notInLog,
		help: "see /log/checkpoint for the size of the newest tree, and /log/entries for the leaves of a record",
	},
	{
		is: tiles.ErrNoFile, kind: notInLog,
		detail: "the log has no such file, or not yet",
		help:   "files are named as C2SP tlog-tiles has it, for example /log/tile/0/000 and /log/tile/entries/000.p/7; /log/checkpoint has the size of the tree",
	},
	{
		is: audit.ErrGrowing, also: []error{audit.ErrClosed}, kind: Unavailable,
		detail: "the log cannot be read at the moment",
		help:   "try again later",
		retry:  30 * time.Second,
	},
	{
		is: registry.ErrHandleTaken, kind: conflict,
		help: "choose another handle; if it is the name of a domain of yours (example_com of example.com), prove the domain, and then claim it from an agent that has not proved it",
	},
	{is: registry.ErrState, kind: contradiction},
	{
		is: registry.ErrNoAgent, kind: NoAgent,
		help: "check the id for mistyped characters; it may also belong to another registry",
	},
	{is: registry.ErrNoKey, kind: noKey, help: "register with a public_key (Ed25519, base64url)"},
	{is: registry.ErrNotFound, kind: noPart},
	{
		is: registry.ErrNoSecret, also: []error{registry.ErrWrongSecret}, kind: unauthorized,
		help: "sign the request with the agent's key (RFC 9421), or send the agent_secret that the registration answered, in the header X-Agent-Secret",
	},
	{is: registry.ErrUnauthorized, kind: unauthorized},
	{is: registry.ErrForbidden, kind: forbidden},
	{
		is: registry.ErrGone, kind: agentGone,
		help: "this is for good; its keys and history can still be read, unless it was erased",
	},
	{is: registry.ErrTooMany, kind: rateLimited},
	{is: registry.ErrNothingToUpdate, kind: BadField, help: "name at least one member that changes"},
	{
		is: store.ErrConflict, kind: conflict,
		detail: "the record was changed in the meantime",
		help:   "read it again and repeat the change",
	},
	{
		is: context.Canceled, kind: clientGone,
		detail:  "the request was given up before it was answered",
		failure: true,
	},
	{
		is: store.ErrReplaced, kind: Unavailable,
		detail: "a file of the store was removed or replaced while the server runs; nothing new is stored",
		help:   "try again later; reading still works",
		retry:  5 * time.Minute,
	},
	{
		is: store.ErrFull, kind: Unavailable,
		detail: "there is no space for new data at the moment",
		help:   "try again later; reading still works",
		retry:  5 * time.Minute,
	},
	{
		is: store.ErrUnknown, also: []error{store.ErrClosed}, kind: Unavailable,
		detail: "nothing can be written at the moment; it is not known whether this was",
		help:   "read it back in a minute, and repeat it if it is not there",
		retry:  time.Minute, failure: true,
	},
	{
		is: answer.ErrSearchTimeout, kind: searchTime,
		detail: "the search was stopped because it exceeded the time limit",
		help:   "ask for less: fewer words, no phrase, or a filter such as verb: or host:",
		retry:  2 * time.Second,
	},
	{
		is: answer.ErrTooManySearches, kind: searches,
		detail: "as many searches run and wait as may at a time",
		help:   "try again after the time in Retry-After",
		retry:  time.Second,
	},
	{
		is: index.ErrUnavailable, kind: NotReady,
		detail: "the index is being rebuilt, so nothing can be searched",
		help:   "try again in a few seconds; services, documents and agents can be read meanwhile",
		retry:  5 * time.Second,
	},
	{
		is: index.ErrClosed, kind: Unavailable,
		detail: "the server is stopping",
		help:   "try again in a moment",
		retry:  5 * time.Second,
	},
	{
		is: context.DeadlineExceeded, kind: Unavailable,
		detail: "the answer took too long",
		help:   "try again later",
		retry:  10 * time.Second, failure: true,
	},
	{
		is: answer.ErrDamaged, also: []error{store.ErrCorrupt}, kind: damaged,
		detail:  "what is stored does not match its checksum, so it is not shown",
		help:    "the document is available from its host; the operator of this server should check the store",
		failure: true,
	},
}

// findProblem returns the row of an error.
func findProblem(err error) (errorProblem, bool) {
	for _, row := range errorProblems {
		if errors.Is(err, row.is) || slices.ContainsFunc(row.also, func(is error) bool { return errors.Is(err, is) }) {
			return row, true
		}
	}
	return errorProblem{}, false
}

// tableProblem returns the problem for an error in the table, and for any other error the problem
// of an internal failure.
func tableProblem(err error) *Error {
	if row, found := findProblem(err); found {
		r := NewProblem(row.kind, cmp.Or(row.detail, err.Error()), row.help)
		if row.retry > 0 {
			r.WithRetry(row.retry)
		}
		if row.parameter != "" {
			r.WithLocation(Location{Parameter: row.parameter})
		}
		return r
	}
	return NewProblem(internal, "the request was fine; the failure is ours", "try again later; if the error persists, report the instance given here to the operator")
}

// isServerState reports whether an error is no failure: the caller can correct it, or it is a state
// of the server that its metrics and /readyz show.
func isServerState(err error) bool {
	if typedProblem(err) != nil {
		return true
	}
	row, found := findProblem(err)
	return found && !row.failure
}
