// Package document converts a draft's terms to our neutral ones. [Read] takes the bytes of one
// published document and its [Kind] and returns a [Document]: the service, its operations, its data
// classes, its links, and the findings about it. The table [Formats] has one row for each format; a
// new format is one package below protocol and one row here.
//
// A Document is a value. The crawler stores it and the index and the pages read it back, so every
// exported field is part of the stored form.
package document

import (
	"time"

	"gazetteer/protocol"
)

// Kind names a format: a row of [Formats].
type Kind string

// The kinds of documents.
const (
	// AI is an AI Discovery document at /.well-known/ai (AI Discovery §2.1).
	AI Kind = "ai"
	// AIAlias is an AI Discovery document that only /ai serves. It is not authoritative (AI
	// Discovery §4.1), and searches omit it unless they ask for it.
	AIAlias Kind = "ai-alias"
	// AGISSummary is the summary at /.well-known/agis.json (AGIS §11.1).
	AGISSummary Kind = "agis-summary"
	// AGIS is a full AGIS document in YAML or JSON (AGIS §8, §10). It has no
	// well-known path: it is reached through the summary's agis_document.
	AGIS Kind = "agis"
	// LLMS is the description of a site for language models at /llms.txt
	// (https://llmstxt.org). It is requested only if the operator asks for it.
	LLMS Kind = "llms-txt"
)

// Effect is what performing an operation does to the world, as its document
// declares it: impact_tier of AGIS (§6.2). It is never guessed from a verb or an
// HTTP method.
type Effect string

// The effects. Unknown means that the effect is not declared: for every operation of AI Discovery
// and of a summary, which have no member for it, and for an endpoint whose impact_tier is missing
// or none of the three.
const (
	EffectUnknown Effect = "unknown"
	Informational Effect = "informational"
	Reversible    Effect = "reversible"
	Irreversible  Effect = "irreversible"
)

// A Source says how we obtained a document. A document that did not come from the owner's host is
// never served as the owner's.
type Source string

// The sources of a document.
const (
	// OwnerPublished was fetched from the well-known location of its host.
	OwnerPublished Source = "owner-published"
	// Linked was fetched from an address that the host's own document names.
	Linked Source = "linked"
)

// A Document is a document that a host publishes in one format, in neutral terms. All text in it is
// untrusted: escape it on output.
type Document struct {
	Kind Kind `json:"kind"`
	// Host is the requested authority, in ASCII lower case. The document is stored under it even if
	// a redirect led to another host.
	Host string `json:"host"`
	// URL is where the bytes finally came from.
	URL string `json:"url"`
	// Digest is "sha256:" and the lowercase hex SHA-256 of the raw bytes.
	Digest string `json:"digest"`
	Size   int    `json:"size"` // of the raw bytes
	// MediaType as the server sent it.
	MediaType string    `json:"media_type,omitempty"`
	Source    Source    `json:"source"`
	FetchedAt time.Time `json:"fetched_at"`
	// ChangedAt is when a fetch first returned these bytes.
	ChangedAt time.Time `json:"changed_at"`

	Service    Service     `json:"service"`
	Operations []Operation `json:"operations,omitempty"`
	// DataClasses are the entries of the data_manifest of an AGIS document (§8.3), or the names
	// that a summary lists as data_classes (§11.1). They belong to the service: neither draft
	// relates them to operations.
	DataClasses []DataClass `json:"data_classes,omitempty"`
	Links       []Link      `json:"links,omitempty"`
	// Findings are the findings of the format's reader, in the order of the text. The code that
	// fetched the document adds those about the transport or another document.
	Findings []protocol.Finding `json:"findings,omitempty"`
	// Level is the conformance level reached: 0 if a finding is an error, else 1, and 2 for an AGIS
	// document that declares everything that Level 2 requires (AGIS §3.3, Table 4). AI Discovery
	// and summaries have no Level 2.
	Level int `json:"level"`
}

// Valid reports whether no finding is an error.
func (d *Document) Valid() bool {
	worst, any := protocol.Worst(d.Findings)
	return !any || worst < protocol.Error
}

// A Service is who a document speaks for.
type Service struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	Version     string   `json:"version,omitempty"`
	Domain      string   `json:"domain,omitempty"`    // AGIS vocabulary.domain
	Namespace   string   `json:"namespace,omitempty"` // AGIS vocabulary.namespace
	Categories  []string `json:"categories,omitempty"`
	Languages   []string `json:"languages,omitempty"` // BCP 47
	// Protocols are AGIS interaction_protocols. Only a summary has them (§11.1), so the crawler
	// copies those of the summary to the full document, see [Protocols].
	Protocols []string `json:"protocols,omitempty"`
	Auth      string   `json:"auth,omitempty"` // AI Discovery auth.type
	// AuthHeader is the header for the credentials (AI Discovery auth.header).
	AuthHeader string `json:"auth_header,omitempty"`
	Docs       string `json:"docs,omitempty"` // documentation URL
	AGTP       string `json:"agtp,omitempty"` // agtp:// address
}

// An Operation is one thing that a service can be asked to do: the unit of search.
type Operation struct {
	// ID is unique in the document: "BOOK /reservation" (AGIS) or the
	// capability id (AI Discovery).
	ID string `json:"id"`
	// Verb is the imperative word in upper case (AGIS method). For AI
	// Discovery it is derived from the capability id or description and
	// VerbDerived is set.
	Verb        string `json:"verb"`
	VerbDerived bool   `json:"verb_derived,omitempty"`
	// Path is the noun path of AGIS, for example "/reservation"; "" elsewhere.
	Path string `json:"path,omitempty"`
	// Intent is AGIS semantic.intent, or the description of a capability.
	Intent  string `json:"intent,omitempty"`
	Outcome string `json:"outcome,omitempty"` // AGIS semantic.outcome
	// Returns is AI Discovery returns; for AGIS the names of the properties of
	// output, or its description when it has none.
	Returns    string `json:"returns,omitempty"`
	Actor      string `json:"actor,omitempty"`      // AGIS semantic.actor
	Capability string `json:"capability,omitempty"` // AGIS semantic.capability, a class
	Effect     Effect `json:"effect"`
	// Idempotent says whether doing it twice does no more than doing it once
	// (AGIS is_idempotent, §6.2); nil when the document does not say, as AI
	// Discovery and summaries cannot.
	Idempotent *bool `json:"idempotent,omitempty"`
	// Parameters are the properties of input (AGIS), or params (AI Discovery), and the parameters
	// that occur only in the path.
	Parameters []Parameter `json:"parameters,omitempty"`
	Errors     []string    `json:"errors,omitempty"` // names of AGIS errors
	Call       Call        `json:"call"`
	// Pointer leads back to the operation in the raw bytes.
	Pointer string `json:"pointer"`
}

// A Parameter is one input of an operation.
type Parameter struct {
	Name     string `json:"name"`
	Type     string `json:"type,omitempty"`
	Required bool   `json:"required,omitempty"`
	// Description is the text of the document; constraints and hints of how
	// people say the value follow in parentheses.
	Description string `json:"description,omitempty"`
	// In is the location of the parameter in an HTTP call: "path", "query" or "body"; "" if the
	// document does not say.
	In string `json:"in,omitempty"`
	// Sample is a value that the document gives as an example, as the default, in an enumeration or
	// as the minimum, in JSON; "" if it gives none.
	Sample string `json:"sample,omitempty"`
}

// Call says how to invoke an operation, as far as its document says.
type Call struct {
	// Protocol is "http" (Method and URL are set) or "agtp" (URL is set,
	// AGIS verb and path are sent).
	Protocol string `json:"protocol"`
	Method   string `json:"method,omitempty"`
	URL      string `json:"url,omitempty"`
}

// A DataClass is a kind of data that a service declares (AGIS §8.3).
type DataClass struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Sensitivity is a word like those of [Effect] (§8.3), or "high", as written.
	Sensitivity string `json:"sensitivity,omitempty"`
	// RequiresAuthorization says that callers need permission to read it (§8.3).
	RequiresAuthorization bool `json:"requires_authorization,omitempty"`
}

// Relations of links.
const (
	RelRelated      = "related"       // related_services (AGIS §11.1)
	RelAGISDocument = "agis-document" // the full AGIS document (AGIS §11.1)
	RelMCPTools     = "mcp-tools"     // mcp_tools_list
	RelPage         = "page"          // a page that llms.txt lists; never visited as a service
)

// A Link is an address that a document names.
type Link struct {
	Rel string `json:"rel"`
	// URL as written in the document.
	URL string `json:"url"`
	// Host is the host the address names in ASCII lower case, "" when it has
	// none that could be visited.
	Host string `json:"host,omitempty"`
}
