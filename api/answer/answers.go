// Package answer has the answers of Gazetteer as values, without HTTP. The API's routes send them
// and the pages show them. Start with [Answers], whose methods make them.
package answer

import (
	"context"
	"errors"
	"time"

	"gazetteer/census"
	"gazetteer/changefeed"
	"gazetteer/conformance"
	"gazetteer/conformance/standing"
	"gazetteer/crawler"
	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/join"
	"gazetteer/protocol/did"
	"gazetteer/registry"
	"gazetteer/registry/audit"
	"gazetteer/registry/audit/witness"
	"gazetteer/registry/directory"
	"gazetteer/registry/registrar"
	"gazetteer/store"
)

// Answers computes what the routes and the pages show. Any number of requests may use it at the
// same time; do not copy it.
type Answers struct {
	Store    store.Store
	Index    Searcher
	Registry *registrar.Registrar
	// Directory finds agents; the caller that makes it also runs it. Nil: agents are neither listed
	// nor searched.
	Directory *directory.Directory
	// Joiner joins services with agents; nil: services have no agents.
	Joiner *join.Joiner
	// Resolver finds the DID documents of others; nil: only our own are found.
	Resolver registry.Resolver
	// Log is the transparency log; nil: there is none.
	Log *audit.Log
	// Feed is the feed of changes; nil: there is none.
	Feed *changefeed.Feed
	// Witness cosigns the checkpoints of other logs; nil: none are cosigned.
	Witness       *witness.Witness
	Crawler       CrawlStatus    // nil in a process that does not crawl
	Validator     *Validator     // judges documents on request
	Submitter     *Submitter     // takes hosts that strangers name; nil: none are taken
	OwnerRequests *OwnerRequests // accepts requests of owners of hosts; nil: none are accepted
	// Blocks knows the hidden hosts; nil: all hosts are shown.
	Blocks Blocker
	// Standing knows the present states and links of all hosts; nil: they are unknown.
	Standing *standing.Follower
	// Census has the figures of all hosts; nil: they are counted at each request, without those
	// over time.
	Census *census.Live
	// Now tells the time; nil: time.Now.
	Now func() time.Time

	hosts     hostCache
	summaries summaryCache
}

func (a *Answers) now() time.Time {
	if a.Now == nil {
		return time.Now()
	}
	return a.Now()
}

// Errors of Answers for missing things. Test with errors.Is; the error for an agent is
// [registry.ErrNoAgent].
var (
	ErrNoService  = errors.New("no such service")
	ErrNoDocument = errors.New("no such document")
	ErrNoVerb     = errors.New("no operation has this verb")
	ErrNoName     = errors.New("nothing has this name")
	// ErrNoDirectory: this process has no directory of agents.
	ErrNoDirectory = errors.New("there is no directory of agents")
	// ErrNoStates: this process does not follow the states of hosts.
	ErrNoStates = errors.New("the states of hosts are not known here")
	// ErrNoCensus: this process does not follow the figures of all hosts.
	ErrNoCensus = errors.New("the figures of all hosts are not followed")
	// ErrNoLog: this process has no transparency log.
	ErrNoLog = errors.New("there is no transparency log")
	// ErrDamaged: stored bytes do not have the digest they are filed under.
	ErrDamaged = errors.New("the stored bytes do not match their digest")
)

// Searcher is the part of the index that Answers needs; [NewLimitedSearcher] limits one.
type Searcher interface {
	Search(ctx context.Context, q query.Query) (index.Result, error)
	Explore(ctx context.Context, q query.Query, fields []string, limit int) (map[string][]index.Count, error)
	Hosts(ctx context.Context, q query.Query) ([]string, error)
	Suggest(ctx context.Context, before, typed string, limit int, kinds ...string) ([]index.Suggestion, error)
	Similar(ctx context.Context, host string, limit int) ([]index.SimilarService, error)
	Verbs(ctx context.Context) ([]index.VerbCount, error)
	VerbFamily(ctx context.Context, word string) ([]index.RelatedVerb, error)
	Namespaces(ctx context.Context) ([]index.ValueCount, error)
	DataClasses(ctx context.Context) ([]index.ValueCount, error)
	// Cursor is the place in the log up to which answers are based.
	Cursor() store.Cursor
}

// CrawlStatus is the part of the crawler that Answers needs.
type CrawlStatus interface {
	Status() crawler.Status
}

// ServiceSummary is one row of a list of services.
type ServiceSummary struct {
	Host        string          `json:"host"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Namespace   string          `json:"namespace,omitempty"`
	Domain      string          `json:"domain,omitempty"`
	Kinds       []document.Kind `json:"kinds"`
	Operations  int             `json:"operations"`
	FetchedAt   time.Time       `json:"fetched_at"`
	Findings    string          `json:"findings,omitempty"` // worst severity
	// Categories are those that the documents name, and the domain, in lower case.
	Categories []string `json:"categories,omitempty" doc:"the categories that its documents name, and its domain, in lowercase"`
	// ChangedAt and Level are for the pages: the last change of a document, and the highest level.
	ChangedAt time.Time `json:"-"`
	Level     int       `json:"-"`
}

// ServicePage is one page of services, in order of host key.
type ServicePage struct {
	Services []ServiceSummary `json:"services"`
	Seq      uint64           `json:"seq"`
	// Total is that of the census, and 0 without one.
	Total int    `json:"total,omitempty" doc:"number of services on all pages, some seconds old; absent for none"`
	Note  string `json:"note,omitempty" doc:"why no service is selected"`
	// After is the key after which the next page begins, "" on the last. Routes send it only inside
	// an authenticated cursor.
	After string `json:"-"`
}

// Service describes one host: its documents and its last visit. A visited host without documents
// has an empty list.
type Service struct {
	ServiceSummary
	Documents []DocumentView `json:"documents"`
	// Related lists the hosts that its documents name.
	Related []string `json:"related,omitempty"`
	State   State    `json:"state"`
	// Conformance judges what the host publishes by the five states, with the evidence.
	Conformance conformance.Judgment `json:"conformance"`
}

// DocumentView is a current document with its stored versions.
type DocumentView struct {
	document.Document
	Versions []Version `json:"versions"` // newest first, at most 100
	// Freshness says why the document is stale; nil for one that is not.
	Freshness *Staleness `json:"freshness,omitempty" doc:"why the document is stale; absent if it is not"`
}

// Version is one stored version of a document.
type Version struct {
	Digest string    `json:"digest"`
	Seen   time.Time `json:"seen"`
	Size   int       `json:"size"`
	URL    string    `json:"url"`
}

// RawDocument is a document as its host sent it: the bytes, byte for byte.
type RawDocument struct {
	Kind   document.Kind
	Host   string
	Digest string
	// MediaType as the host sent it, "" for a version that is not the current one.
	MediaType string
	URL       string
	Seen      time.Time // when these bytes were first seen
	Bytes     []byte
}

// State is the crawl state of a host, for people and programs.
type State struct {
	Added    time.Time     `json:"added"`
	Visited  time.Time     `json:"visited,omitzero"`
	Due      time.Time     `json:"due"`
	Depth    int           `json:"depth"`
	FoundOn  string        `json:"found_on,omitempty"`
	Failures int           `json:"failures"`
	Fetches  []fetch.Fetch `json:"fetches"` // the last of each kind, by kind
	Robots   *RobotsView   `json:"robots,omitempty"`
	// TLS describes the last connection to the host.
	TLS *fetch.TLS `json:"tls,omitempty"`
}

// RobotsView is what a host's robots.txt says about the paths that we request.
type RobotsView struct {
	FetchedAt  time.Time     `json:"fetched_at"`
	Status     int           `json:"status,omitempty"`
	Disallowed []string      `json:"disallowed,omitempty" doc:"of the paths we ask for; only * when all are"`
	Delay      time.Duration `json:"delay_ns,omitempty" doc:"the Crawl-delay that is obeyed"`
	Open       bool          `json:"open,omitempty" doc:"no path at all is forbidden"`
	Why        string        `json:"why,omitempty" doc:"the rule or the failure"`
}

// AgentAnswer is an agent with its computed DID document.
type AgentAnswer struct {
	Agent registry.Agent
	DID   did.Document
	Seq   uint64
}
