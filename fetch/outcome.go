package fetch

import (
	"time"

	"gazetteer/protocol"
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
	BadAddress       Outcome = "bad-address" // not an https address that can be asked
	BadHost          Outcome = "bad-host"    // not a public host name: IP literal, single label, port
	TLSFailed        Outcome = "tls"
	DNSFailed        Outcome = "dns"
	Timeout          Outcome = "timeout"
	Unreachable      Outcome = "unreachable" // refused, reset, protocol error
	Throttled        Outcome = "throttled"   // 429
	ServerError      Outcome = "server-error"
	BadStatus        Outcome = "bad-status"
	OptedOut         Outcome = "opted-out" // the owner, or our operator, asked us not to visit
	CatchAll         Outcome = "catch-all" // the host answers every path alike, so this is not a document
)

// Outcomes returns all outcomes.
func Outcomes() []Outcome {
	return []Outcome{OK, Unchanged, Absent, Forbidden, RefusedByRobots, TooLarge, InsecureRedirect, TooManyRedirects, BadRedirect, BadMediaType,
		OtherFormat, Unreadable, BlockedAddress, BadAddress, BadHost, TLSFailed, DNSFailed, Timeout, Unreachable, Throttled, ServerError, BadStatus,
		OptedOut, CatchAll}
}

// A Fetch is one request, including its redirects, and its result. It is also a value if it failed.
type Fetch struct {
	Kind    string  `json:"kind"` // a document.Kind, or "robots"
	URL     string  `json:"url"`  // asked
	Final   string  `json:"final,omitempty"`
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail,omitempty"` // for a person; untrusted text
	// NamesFailed says of a DNSFailed that the name servers gave no answer.
	NamesFailed bool      `json:"names_failed,omitempty"`
	Status      int       `json:"status,omitempty"`
	At          time.Time `json:"at"`
	Took        Millis    `json:"took_ms"`
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
	// Fresh is how long the server says the answer stays fresh; 0 when it does not say.
	Fresh time.Duration `json:"fresh_ns,omitempty"`
	// Repeats counts the visits directly before this one with an outcome of the same class; revisit
	// intervals grow with it.
	Repeats int `json:"repeats,omitempty"`

	// Findings lists, when there is no document, everything that is wrong with the answer and its
	// bytes. The findings of a document are stored with it.
	Findings []protocol.Finding `json:"findings,omitempty"`

	// Body is the fetched body, nil if there is none.
	Body []byte `json:"-"`
}

// Millis is a duration written as whole milliseconds.
type Millis int64
