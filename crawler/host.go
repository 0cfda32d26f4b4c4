package crawler

import (
	"time"

	"gazetteer/document"
)

// An Outcome is the class of a fetch's result: what the site did, as data.
type Outcome string

// The outcomes.
const (
	OK               Outcome = "ok"
	Unchanged        Outcome = "not-modified"      // 304 to our conditional request
	Absent           Outcome = "absent"            // 404 or 410
	Forbidden        Outcome = "forbidden"         // 401 or 403: it must not need authentication
	RefusedByRobots  Outcome = "refused-by-robots" // robots.txt disallows it, or could not be had (RFC 9309 §2.3.1)
	TooLarge         Outcome = "too-large"         // over 262,144 bytes, or over the wire limit
	InsecureRedirect Outcome = "insecure-redirect" // https to anything else (AI Discovery §2.2)
	TooManyRedirects Outcome = "too-many-redirects"
	BadRedirect      Outcome = "bad-redirect" // no or an unusable Location
	BadMediaType     Outcome = "bad-media-type"
	OtherFormat      Outcome = "other-format" // another published format at the same path
	Unreadable       Outcome = "unreadable"   // not the format at all: bad encoding, bad JSON, cut short
	BlockedAddress   Outcome = "blocked-address"
	BadHost          Outcome = "bad-host" // not a public host name: IP literal, single label, port
	TLSFailed        Outcome = "tls"
	DNSFailed        Outcome = "dns"
	Timeout          Outcome = "timeout"
	Unreachable      Outcome = "unreachable" // refused, reset, protocol error
	Throttled        Outcome = "throttled"   // 429
	ServerError      Outcome = "server-error"
	BadStatus        Outcome = "bad-status"
)

// A Fetch is one request of ours, its redirects included, and what came of it.
// It is a value also when it failed.
type Fetch struct {
	Kind    string    `json:"kind"` // a document.Kind, or "robots"
	URL     string    `json:"url"`  // asked
	Final   string    `json:"final,omitempty"`
	Outcome Outcome   `json:"outcome"`
	Detail  string    `json:"detail,omitempty"` // for a person; untrusted text
	Status  int       `json:"status,omitempty"`
	At      time.Time `json:"at"`
	Took    Millis    `json:"took_ms"`
	// MediaType is the Content-Type as sent.
	MediaType    string        `json:"media_type,omitempty"`
	ETag         string        `json:"etag,omitempty"`
	LastModified string        `json:"last_modified,omitempty"`
	Redirects    []string      `json:"redirects,omitempty"` // each address we were sent to
	Remote       string        `json:"remote,omitempty"`    // IP address that answered
	WireBytes    int64         `json:"wire_bytes,omitempty"`
	Bytes        int64         `json:"bytes,omitempty"` // decoded
	Digest       string        `json:"digest,omitempty"`
	RetryAfter   time.Duration `json:"retry_after_ns,omitempty"`
	// Fresh is how long the server says the answer stays fresh; 0 when it does
	// not say.
	Fresh time.Duration `json:"fresh_ns,omitempty"`
	// Repeats counts the visits directly before this one that ended in an
	// outcome of the same sort; revisit intervals grow with it.
	Repeats int `json:"repeats,omitempty"`

	Body []byte `json:"-"`
}

// Millis is a duration written as whole milliseconds.
type Millis int64

// A Host is the crawl state of one host: one record of the frontier. Due is
// the only order the frontier needs; a host stays due until the result of its
// visit is committed together with its new Due.
type Host struct {
	Name string `json:"name"`
	// Due is when the next visit may begin.
	Due time.Time `json:"due"`
	// Depth counts links from a seed (0) to here. Links are followed to depth 3.
	Depth int `json:"depth"`
	// FoundOn is the host whose document named this one, "" for seeds.
	FoundOn string    `json:"found_on,omitempty"`
	Added   time.Time `json:"added"`
	// Visited is when the last visit ended, zero before the first.
	Visited time.Time `json:"visited,omitzero"`
	Visits  int       `json:"visits"`
	// Failures counts visits in a row that got no document and no clear "absent".
	Failures int `json:"failures"`
	// Fetches holds the last fetch of each kind, "robots" among them.
	Fetches map[string]Fetch `json:"fetches,omitempty"`
	// NotBefore holds, for each kind, when its next request may be made (24 h
	// after a 404 at the least: AI Discovery §4.3).
	NotBefore map[string]time.Time `json:"not_before,omitempty"`
	Robots    *Robots              `json:"robots,omitempty"`
}

// Robots is what a host's robots.txt said of the paths we ask for.
type Robots struct {
	FetchedAt  time.Time     `json:"fetched_at"`
	Status     int           `json:"status,omitempty"`
	Disallowed []string      `json:"disallowed,omitempty"` // of our paths; ["*"] when all are
	Delay      time.Duration `json:"delay_ns,omitempty"`   // crawl-delay, within our limit
	// Open is set when no path at all is forbidden, so paths besides ours (of a
	// redirect, of an AGIS document) need no second look at the file.
	Open bool   `json:"open,omitempty"`
	Why  string `json:"why,omitempty"` // the rule or the failure, for a person
}

// Listed reports whether the host has at least one current document.
func (h *Host) Listed() bool {
	for _, f := range h.Fetches {
		if f.Digest != "" && f.Kind != string(document.AIAlias) {
			return true
		}
	}
	return false
}

// A Result is what one visit to a host came to, for those who wait for it.
type Result struct {
	Host    string  `json:"host"`
	Fetches []Fetch `json:"fetches"` // in the order they were made
	// Summary is one line for a person, for example
	// "ai 3 operations; agis 12 operations" or "refused-by-robots: Disallow: /".
	Summary    string        `json:"summary"`
	Documents  int           `json:"documents"`     // current, after the visit
	Operations int           `json:"operations"`    // in them
	New        []string      `json:"new,omitempty"` // hosts found and added
	NextDue    time.Time     `json:"next_due"`
	Took       time.Duration `json:"took_ns"`
	// NotDue is set when nothing was asked because the host is not due before
	// NextDue; the rest then describes its last visit.
	NotDue bool `json:"not_due,omitempty"`
}
