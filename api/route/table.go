package route

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"gazetteer/api/airjson"
	"gazetteer/protocol/a2a"
	"gazetteer/registry/audit/witness"
	"gazetteer/relay/relayhttp"
)

// A Route is one row of [Table]: everything that is decided about an address apart from its work. A
// zero member means the rule that nearly all routes follow:
//
//   - public: the route answers on the public listener and on the operator's;
//   - methods: a GET that is no stream answers HEAD as well, and every address answers OPTIONS and 405;
//   - CORS: a page of any origin may read the answer to a public GET, without credentials, and may
//     write nothing;
//   - body: none is read;
//   - time: [answerTimeout] for the whole answer;
//   - caching: the response has an ETag and may be stored if the client revalidates it before each
//     use; a handler may allow more.
type Route struct {
	ID      string // the operation ID in the OpenAPI document
	Method  string
	Path    string // with parameters in braces
	Summary string
	// Operator routes answer on the operator's listener only.
	Operator bool
	// AIR routes have the shapes and the error members of the AIR reference.
	AIR bool
	// Body is the size of the largest request body in bytes, or streamed.
	Body int64
	// Stream names the kind of an endless answer. It has no time limit; the number of streams of a
	// kind is limited, and [Mux.EndStreams] ends them.
	Stream string
	// NoStore forbids every cache to keep the answer.
	NoStore bool
	// The relay's handler serves these routes. It limits their bodies and waiting times, writes its
	// own errors, and is not buffered. A request is authorized by its signatures alone, never by
	// its origin, so pages of any origin may send it.
	Relay bool
	// Altar routes are served by the tool host's handler, which asks for an identity, limits bodies and
	// times, and has the errors of its draft. They are not buffered.
	Altar bool
	// Shared routes have a first segment in common with pages, so that no other address below it
	// belongs to the API.
	Shared bool
}

// streamed is the Body of a route that reads its body in pieces and enforces its own limits.
const streamed = -1

// Table is every route of the API, public and operator's. The OpenAPI documents, which serve their
// own table, are the only routes beside it.
var Table = []Route{
	// Search, services, documents and the program itself.
	{ID: "list-changes", Method: http.MethodGet, Path: "/api/v1/changes", Summary: "New, changed, removed and returned services and agents: a feed to follow"},
	{ID: "changes-atom", Method: http.MethodGet, Path: "/api/v1/changes/atom", Summary: "The same feed as Atom, newest first, for feed readers"},
	{ID: "changes-json-feed", Method: http.MethodGet, Path: "/api/v1/changes/feed.json", Summary: "The same feed as JSON Feed 1.1, newest first, for feed readers"},
	{ID: "stream-changes", Method: http.MethodGet, Path: "/api/v1/changes/stream", Summary: "The same feed as server-sent events, as changes happen", Stream: "changes"},
	{ID: "list-data-classes", Method: http.MethodGet, Path: "/api/v1/data-classes", Summary: "The data classes that services declare, sorted by name"},
	{ID: "data-class", Method: http.MethodGet, Path: "/api/v1/data-classes/{class}", Summary: "A data class: its services, and their operations"},
	{ID: "explore", Method: http.MethodPost, Path: "/api/v1/explore", Summary: "Counts of the values of a field in operations", Body: MaxAgentBody, NoStore: true},
	{ID: "export-operations", Method: http.MethodPost, Path: "/api/v1/export", Summary: "Chosen operations as MCP tools, functions with a JSON Schema, or curl commands", Body: MaxAgentBody},
	{ID: "list-namespaces", Method: http.MethodGet, Path: "/api/v1/namespaces", Summary: "The namespaces that qualify verbs, sorted by name"},
	{ID: "namespace", Method: http.MethodGet, Path: "/api/v1/namespaces/{ns}", Summary: "A namespace: its users with their evidence, its verbs and operations"},
	{ID: "orchestrate", Method: http.MethodGet, Path: "/api/v1/orchestrate", Summary: "Operations for a task in order of relevance, with the agents that serve them"},
	{ID: "resolve", Method: http.MethodGet, Path: "/api/v1/resolve", Summary: "The inbox of an agent, or the services that offer NAMESPACE.VERB"},
	{ID: "list-rules", Method: http.MethodGet, Path: "/api/v1/rules", Summary: "The rules that documents are judged by"},
	{ID: "rule", Method: http.MethodGet, Path: "/api/v1/rules/{code}", Summary: "A rule with its section and an example"},
	{ID: "search", Method: http.MethodGet, Path: "/api/v1/search", Summary: "Find operations by words and filters, in order of relevance"},
	{ID: "search-by-body", Method: http.MethodPost, Path: "/api/v1/search", Summary: "The same search, with a JSON object as the query", Body: MaxAgentBody},
	{ID: "list-services", Method: http.MethodGet, Path: "/api/v1/services", Summary: "List services, sorted by host"},
	{ID: "service", Method: http.MethodGet, Path: "/api/v1/services/{host}", Summary: "All that is known of a host"},
	{ID: "explain-service", Method: http.MethodGet, Path: "/api/v1/services/{host}/explanation", Summary: "The observations at a host, why it is listed or not, the history of its states, and the effect of a new visit"},
	{ID: "service-badge", Method: http.MethodGet, Path: "/api/v1/services/{host}/badge.svg", Summary: "A badge with the conformance, the state and the last visit of a host"},
	{ID: "crawl-log", Method: http.MethodGet, Path: "/api/v1/services/{host}/crawl-log", Summary: "Every request made to a host in the last 90 days, and why"},
	{ID: "document", Method: http.MethodGet, Path: "/api/v1/services/{host}/documents/{kind}", Summary: "A current document, byte for byte"},
	{ID: "list-versions", Method: http.MethodGet, Path: "/api/v1/services/{host}/documents/{kind}/versions", Summary: "The stored versions of a document, newest first"},
	{ID: "version", Method: http.MethodGet, Path: "/api/v1/services/{host}/documents/{kind}/versions/{digest}", Summary: "A stored version of a document, byte for byte"},
	{ID: "compare-versions", Method: http.MethodGet, Path: "/api/v1/services/{host}/documents/{kind}/diff", Summary: "What changed between two stored versions of a document, by severity for its callers"},
	{ID: "opt-in", Method: http.MethodPost, Path: "/api/v1/services/{host}/opt-in", Summary: "Withdraw an opt-out: the host may be visited again", Body: 4 << 10, NoStore: true},
	{ID: "opt-out", Method: http.MethodPost, Path: "/api/v1/services/{host}/opt-out", Summary: "Stop visits to a host, and remove its published documents", Body: 4 << 10, NoStore: true},
	{ID: "recrawl", Method: http.MethodPost, Path: "/api/v1/services/{host}/recrawl", Summary: "Have a host visited again now, at most once in 10 minutes", NoStore: true},
	{ID: "similar-services", Method: http.MethodGet, Path: "/api/v1/services/{host}/similar", Summary: "Services with similar operations"},
	{ID: "status", Method: http.MethodGet, Path: "/api/v1/status", Summary: "The state of the crawl, the store and the index", NoStore: true},
	{ID: "stats", Method: http.MethodGet, Path: "/api/v1/stats", Summary: "The figures of all hosts: formats, states, rules broken, verbs, survival, changes and more"},
	{ID: "stats-hosts", Method: http.MethodGet, Path: "/api/v1/stats/hosts", Summary: "The hosts that a figure counts"},
	{ID: "stats-series", Method: http.MethodGet, Path: "/api/v1/stats/series", Summary: "The figures of all hosts over time, week by week"},
	{ID: "status-stream", Method: http.MethodGet, Path: "/api/v1/status/stream", Summary: "The same every second, as server-sent events", Stream: "status"},
	{ID: "submit", Method: http.MethodPost, Path: "/api/v1/submissions", Summary: "Submit hosts to the crawler", Body: 64 << 10},
	{ID: "submission", Method: http.MethodGet, Path: "/api/v1/submissions/{host}", Summary: "The state of a submitted host"},
	{ID: "suggest", Method: http.MethodGet, Path: "/api/v1/suggest", Summary: "Verbs, nouns, data classes, services and namespaces that start with the given text"},
	{ID: "validate", Method: http.MethodPost, Path: "/api/v1/validate", Summary: "Check a document, or the document at an address", Body: 1 << 20, NoStore: true},
	{ID: "list-verbs", Method: http.MethodGet, Path: "/api/v1/verbs", Summary: "The verbs that services offer, sorted by name"},
	{ID: "verb", Method: http.MethodGet, Path: "/api/v1/verbs/{verb}", Summary: "A verb, related verbs, and the operations that use it"},
	{ID: "health", Method: http.MethodGet, Path: "/healthz", Summary: "The process is alive", NoStore: true},
	{ID: "log-checkpoint", Method: http.MethodGet, Path: "/log/checkpoint", Summary: "The newest signed checkpoint of the transparency log"},
	{ID: "log-consistency", Method: http.MethodGet, Path: "/log/consistency", Summary: "The consistency proof between two trees"},
	{ID: "log-entries", Method: http.MethodGet, Path: "/log/entries", Summary: "The leaves of a record and of those below it, newest first"},
	{ID: "log-inclusion", Method: http.MethodGet, Path: "/log/inclusion", Summary: "A leaf with its inclusion proof"},
	{ID: "log-key", Method: http.MethodGet, Path: "/log/key", Summary: "The public key of the log; prefer a copy from another source"},
	{ID: "log-proof", Method: http.MethodGet, Path: "/log/proof", Summary: "Proof and checkpoint of a leaf in one text (C2SP tlog-proof)"},
	{ID: "log-tile", Method: http.MethodGet, Path: "/log/tile/*path", Summary: "A tile of hashes, or of leaves below entries/ (C2SP tlog-tiles); the path has slashes"},
	{ID: "readiness", Method: http.MethodGet, Path: "/readyz", Summary: "The kinds of work that are possible: reading, writing, signing; 503 while the requested one is not", NoStore: true},
	{ID: "schema", Method: http.MethodGet, Path: "/schemas/{name}", Summary: "The JSON Schema (2020-12) of a format, for editors"},
	{ID: "add-checkpoint", Method: http.MethodPost, Path: "/witness/add-checkpoint", Summary: "Have a checkpoint cosigned that contains the one before (C2SP tlog-witness)", Body: witness.MaxAdd},
	{ID: "witness-checkpoint", Method: http.MethodGet, Path: "/witness/checkpoint", Summary: "The newest checkpoint of another log that was cosigned here"},
	{ID: "witness-key", Method: http.MethodGet, Path: "/witness/key", Summary: "The public key that this server cosigns the checkpoints of other logs with; prefer a copy from another source"},

	// The registry, its log and its witness, in the dialect of the AIR reference.
	{ID: "registry-did", Method: http.MethodGet, Path: "/.well-known/did.json", Summary: "The DID document of the registry itself, with the key of its log", AIR: true},
	{ID: "resolve-did", Method: http.MethodGet, Path: "/1.0/identifiers/{did}", Summary: "Resolve a did:wba or did:web, ours or another's (DID Resolution over HTTP); with Accept: application/did+json the answer is the document alone", AIR: true},
	{ID: "did-json", Method: http.MethodGet, Path: "/agents/{id}/did.json", Summary: "The DID document of an agent, where its DID leads", AIR: true, Shared: true},
	{ID: "list-agents", Method: http.MethodGet, Path: "/api/v1/agents", Summary: "Agents, sorted by the amount of proved or observed evidence", AIR: true},
	{ID: "agent-by-username", Method: http.MethodGet, Path: "/api/v1/agents/by-username/{username}", Summary: "The public record of the agent with this handle", AIR: true},
	{ID: "check-name", Method: http.MethodGet, Path: "/api/v1/agents/check-name", Summary: "Which agents have a name; names are not unique", AIR: true},
	{ID: "check-username", Method: http.MethodGet, Path: "/api/v1/agents/check-username", Summary: "Whether a handle can be claimed", AIR: true},
	{ID: "register-agent", Method: http.MethodPost, Path: "/api/v1/agents/register", Summary: "Register an agent; the answer shows its secret this once", AIR: true, Body: MaxAgentBody},
	{ID: "agent", Method: http.MethodGet, Path: "/api/v1/agents/{air_id}", Summary: "The public record of an agent", AIR: true},
	{ID: "update-agent", Method: http.MethodPut, Path: "/api/v1/agents/{air_id}", Summary: "Change an agent's record; signed by its key, or with its secret", AIR: true, Body: MaxAgentBody},
	{ID: "agent-application", Method: http.MethodGet, Path: "/api/v1/agents/{air_id}/application", Summary: "The state of a registration that waits for the operator's approval", AIR: true, NoStore: true},
	{ID: "list-attestations", Method: http.MethodGet, Path: "/api/v1/agents/{air_id}/attestations", Summary: "What others attest of an agent, oldest first", AIR: true},
	{ID: "attest", Method: http.MethodPost, Path: "/api/v1/agents/{air_id}/attestations", Summary: "Attest another agent; signed with the attester's key, sent by the attester", AIR: true, Body: MaxAgentBody},
	{ID: "revoke-attestation", Method: http.MethodDelete, Path: "/api/v1/agents/{air_id}/attestations/{n}", Summary: "Revoke an attestation; only its attester can", AIR: true},
	{ID: "agent-badge", Method: http.MethodGet, Path: "/api/v1/agents/{air_id}/badge.svg", Summary: "A badge with the evidence of an agent, or its score", AIR: true},
	{ID: "deactivate-agent", Method: http.MethodPost, Path: "/api/v1/agents/{air_id}/deactivate", Summary: "Deactivate an agent permanently; its keys and history stay", AIR: true},
	{ID: "agent-dependents", Method: http.MethodGet, Path: "/api/v1/agents/{air_id}/dependents", Summary: "Agents that depend on an agent, directly or through others", AIR: true},
	{ID: "did-document", Method: http.MethodGet, Path: "/api/v1/agents/{air_id}/did-document", Summary: "The DID document of an agent", AIR: true},
	{ID: "agent-domains", Method: http.MethodGet, Path: "/api/v1/agents/{air_id}/domains", Summary: "The domains of an agent, with the last check of each", AIR: true},
	{ID: "prove-domain", Method: http.MethodPost, Path: "/api/v1/agents/{air_id}/domains", Summary: "Check whether the owner of a domain names the agent; the answer has each request and its response", AIR: true, Body: MaxAgentBody},
	{ID: "give-up-domain", Method: http.MethodDelete, Path: "/api/v1/agents/{air_id}/domains/{domain}", Summary: "Remove a domain from an agent", AIR: true},
	{ID: "erase-agent", Method: http.MethodPost, Path: "/api/v1/agents/{air_id}/erase", Summary: "Erase the data of an agent; hashes in the log stay. It cannot be undone", AIR: true},
	{ID: "agent-evidence", Method: http.MethodGet, Path: "/api/v1/agents/{air_id}/evidence", Summary: "The evidence about an agent, each item marked claimed, proved or observed", AIR: true},
	{ID: "export-agent", Method: http.MethodGet, Path: "/api/v1/agents/{air_id}/export", Summary: "An agent with its whole history, for another registry; signed by its key", AIR: true},
	{ID: "agent-graph", Method: http.MethodGet, Path: "/api/v1/agents/{air_id}/graph", Summary: "The attestations about an agent and by it", AIR: true},
	{ID: "agent-history", Method: http.MethodGet, Path: "/api/v1/agents/{air_id}/history", Summary: "The history of an agent, oldest first, each entry with its proof", AIR: true},
	{ID: "agent-keys", Method: http.MethodGet, Path: "/api/v1/agents/{air_id}/keys", Summary: "The keys of an agent, the current one first, with when each was in use", AIR: true},
	{ID: "rotate-key", Method: http.MethodPost, Path: "/api/v1/agents/{air_id}/keys", Summary: "Replace the current key; signed by both", AIR: true, Body: MaxAgentBody},
	{ID: "merge-agent", Method: http.MethodPost, Path: "/api/v1/agents/{air_id}/merge", Summary: "End an agent in favor of another of its owner; signed by both", AIR: true, Body: MaxAgentBody},
	{ID: "recover-agent", Method: http.MethodPost, Path: "/api/v1/agents/{air_id}/recovery", Summary: "Take over an agent with its recovery key, after a delay, or cancel that", AIR: true, Body: MaxAgentBody},
	{ID: "report-agent", Method: http.MethodPost, Path: "/api/v1/agents/{air_id}/reports", Summary: "Report abuse of an agent to the operator of this registry; the answer has the time by which the operator reviews it", AIR: true, Body: airjson.MaxReportBody},
	{ID: "trust-score", Method: http.MethodGet, Path: "/api/v1/agents/{air_id}/trust-score", Summary: "The score of an agent by the reference registry's formula", AIR: true},
	{ID: "recent-attestations", Method: http.MethodGet, Path: "/api/v1/attestations/recent", Summary: "The latest attestations", AIR: true},
	{ID: "audit-anchor", Method: http.MethodGet, Path: "/api/v1/audit/anchor", Summary: "The newest tree cosigned by an external witness; null for none", AIR: true},
	{ID: "audit-verify", Method: http.MethodGet, Path: "/api/v1/audit/verify", Summary: "Check entries of the log against its signed tree, here; gazetteer log verify does it without trust in this server", AIR: true},
	{ID: "new-challenge", Method: http.MethodPost, Path: "/api/v1/challenges", Summary: "A challenge, to prove possession of a key at registration", AIR: true, NoStore: true},
	{ID: "graph-stats", Method: http.MethodGet, Path: "/api/v1/graph/stats", Summary: "Counts of active attestations", AIR: true},
	{ID: "registry-health", Method: http.MethodGet, Path: "/api/v1/health", Summary: "The registry answers", AIR: true, NoStore: true},
	{ID: "openapi-yaml", Method: http.MethodGet, Path: "/api/v1/openapi.yaml", Summary: "The description of this API in OpenAPI 3.1, in YAML", AIR: true},
	{ID: "report", Method: http.MethodGet, Path: "/api/v1/reports/{id}", Summary: "The state of a report; its text is visible to the operator only", AIR: true, NoStore: true},

	// The relay, in the dialect of the draft and in that of the reference.
	{ID: "relay-health", Method: http.MethodGet, Path: "/health", Summary: "The state of the relay, and the edition of the draft that it follows", NoStore: true},
	{ID: "push", Method: http.MethodPost, Path: "/inbox/{inbox}", Summary: "Deliver a signed envelope to an inbox; the answer has a signed receipt", Relay: true, Body: a2a.MaxEnvelope, NoStore: true},
	{ID: "acknowledge", Method: http.MethodPost, Path: "/inbox/{inbox}/ack", Summary: "Delete mail that was processed; signed with the key of the inbox", Relay: true, Body: relayhttp.MaxAckBytes, NoStore: true},
	{ID: "pull", Method: http.MethodGet, Path: "/inbox/{inbox}/pull", Summary: "A page of the mail that waits, in the form of the draft; signed with the key of the inbox", Relay: true, Stream: relayhttp.PollKind, NoStore: true},
	{ID: "inbox-rules", Method: http.MethodGet, Path: "/inbox/{inbox}/rules", Summary: "Who may write to an inbox, and its wake-up address; signed with the key of the inbox", Relay: true, NoStore: true},
	{ID: "set-inbox-rules", Method: http.MethodPut, Path: "/inbox/{inbox}/rules", Summary: "Set who may write to an inbox, and its wake-up address; signed with the key of the inbox", Relay: true, Body: relayhttp.MaxAckBytes, NoStore: true},
	{ID: "stream-mail", Method: http.MethodGet, Path: "/inbox/{inbox}/stream", Summary: "Mail as server-sent events; signed with the key of the inbox", Relay: true, Stream: relayhttp.StreamKind, NoStore: true},
	{ID: "pull-deployed", Method: http.MethodGet, Path: "/pull/{inbox}", Summary: "A page of the mail that waits, in the form of the reference, or a stream with stream=1", Relay: true, Stream: relayhttp.PollKind, NoStore: true},
	{ID: "acknowledge-deployed", Method: http.MethodPost, Path: "/ack/{inbox}", Summary: "Delete mail that was processed, in the form of the reference", Relay: true, Body: relayhttp.MaxAckBytes, NoStore: true},

	// The tool host, in the binding of docs/altar.md.
	{ID: "altar-mcp", Method: http.MethodPost, Path: "/altar/v1/mcp", Summary: "The tools of an identified client over the Model Context Protocol", Altar: true, Body: 1 << 20, Stream: "tool-mcp", NoStore: true},
	{ID: "connect-runtime", Method: http.MethodGet, Path: "/altar/v1/runtimes", Summary: "The WebSocket of a runtime, which executes tools", Altar: true, Stream: "runtime", NoStore: true},
	{ID: "create-session", Method: http.MethodPost, Path: "/altar/v1/sessions", Summary: "Make a session for calls of tools (Altar CreateSession)", Altar: true, Body: 64 << 10, NoStore: true},
	{ID: "destroy-session", Method: http.MethodDelete, Path: "/altar/v1/sessions/{session_id}", Summary: "End a session and the calls that run in it (Altar DestroySession)", Altar: true, NoStore: true},
	{ID: "call-tool", Method: http.MethodPost, Path: "/altar/v1/sessions/{session_id}/calls", Summary: "Call a tool (Altar ToolCall): one result, or chunks as server-sent events", Altar: true, Body: 1 << 20, Stream: "tool-call", NoStore: true},
	{ID: "list-tools", Method: http.MethodGet, Path: "/altar/v1/sessions/{session_id}/tools", Summary: "The tools that the client may call in a session now", Altar: true, NoStore: true},

	// The operator's.
	{ID: "list-contracts", Method: http.MethodGet, Path: "/admin/altar/contracts", Summary: "The contracts of the tool host, sorted by name", Operator: true, NoStore: true},
	{ID: "add-contracts", Method: http.MethodPost, Path: "/admin/altar/contracts", Summary: "Add contracts of the operator's own and approve them", Operator: true, Body: 4 << 20, NoStore: true},
	{ID: "list-contract-changes", Method: http.MethodGet, Path: "/admin/altar/changes", Summary: "Changes by owners to approved contracts", Operator: true, NoStore: true},
	{ID: "approve-contract", Method: http.MethodPost, Path: "/admin/altar/contracts/{name}/approve", Summary: "Approve a proposed contract, or the pending change of an approved one", Operator: true, Body: 64 << 10, NoStore: true},
	{ID: "revoke-contract", Method: http.MethodPost, Path: "/admin/altar/contracts/{name}/revoke", Summary: "End a contract: it cannot be called any more", Operator: true, NoStore: true},
	{ID: "propose-contracts", Method: http.MethodPost, Path: "/admin/altar/proposals", Summary: "Propose contracts from the documents of a host, for approval by the operator", Operator: true, Body: 4 << 10, NoStore: true},
	{ID: "list-identities", Method: http.MethodGet, Path: "/admin/altar/identities", Summary: "The identities that may connect to the tool host, in the order of their addition", Operator: true, NoStore: true},
	{ID: "add-identity", Method: http.MethodPost, Path: "/admin/altar/identities", Summary: "Give a runtime or a client access to the tool host", Operator: true, Body: 64 << 10, NoStore: true},
	{ID: "remove-identity", Method: http.MethodDelete, Path: "/admin/altar/identities/{id}", Summary: "End an identity, its runtimes and its sessions", Operator: true, NoStore: true},
	{ID: "list-runtimes", Method: http.MethodGet, Path: "/admin/altar/runtimes", Summary: "The connected runtimes and their contracts", Operator: true, NoStore: true},
	{ID: "erase-agent-by-operator", Method: http.MethodPost, Path: "/admin/agents/{air_id}/erase", Summary: "Erase the data of an agent, for an owner who has lost every key", Operator: true, AIR: true},
	{ID: "export-with-secret", Method: http.MethodGet, Path: "/admin/agents/{air_id}/export", Summary: "An agent with its whole history and, if wished, the hash of its secret", Operator: true, AIR: true},
	{ID: "merge-by-operator", Method: http.MethodPost, Path: "/admin/agents/{air_id}/merge", Summary: "End an agent in favor of another, for an owner who has lost a key", Operator: true, AIR: true, Body: MaxAgentBody},
	{ID: "restore-agent", Method: http.MethodPost, Path: "/admin/agents/{air_id}/restore", Summary: "Put a suspended agent back into service", Operator: true, AIR: true},
	{ID: "suspend-agent", Method: http.MethodPost, Path: "/admin/agents/{air_id}/suspend", Summary: "Take an agent out of service until it is restored", Operator: true, AIR: true, Body: MaxAgentBody},
	{ID: "list-blocks", Method: http.MethodGet, Path: "/admin/blocks", Summary: "The blocked hosts, and who blocked them", Operator: true, NoStore: true},
	{ID: "block-host", Method: http.MethodPost, Path: "/admin/blocks", Summary: "Stop visits to a host, and remove its published documents", Operator: true, Body: 4 << 10},
	{ID: "unblock-host", Method: http.MethodDelete, Path: "/admin/blocks/{host}", Summary: "Let a host be visited again; the opt-out of its owner only with owner=true", Operator: true},
	{ID: "backup", Method: http.MethodPost, Path: "/admin/backup", Summary: "Write a backup of the data directory into a new directory, while it serves, one line of JSON for each part", Operator: true, Stream: "backup", NoStore: true},
	{ID: "write-census", Method: http.MethodPost, Path: "/admin/census", Summary: "Write the figures of all hosts for a date into a new directory, one line of JSON for each step", Operator: true, Stream: "census", NoStore: true},
	{ID: "compact", Method: http.MethodPost, Path: "/admin/compact", Summary: "Drop old deletions from the store and give its unused disk space back, while it serves", Operator: true, Stream: "compaction", NoStore: true},
	{ID: "crawl", Method: http.MethodPost, Path: "/admin/crawl", Summary: "Add hosts and wait for their results, one line of JSON each", Operator: true, Body: 4 << 20, Stream: "crawl"},
	{ID: "registry-status", Method: http.MethodGet, Path: "/admin/registry", Summary: "The admission policy, and the tasks that wait for the operator", Operator: true, AIR: true, NoStore: true},
	{ID: "list-applications", Method: http.MethodGet, Path: "/admin/registry/applications", Summary: "Registrations that wait for approval, sorted by AIR ID", Operator: true, AIR: true, NoStore: true},
	{ID: "approve-application", Method: http.MethodPost, Path: "/admin/registry/applications/{air_id}/approve", Summary: "Make an agent of a registration that waits", Operator: true, AIR: true},
	{ID: "refuse-application", Method: http.MethodPost, Path: "/admin/registry/applications/{air_id}/refuse", Summary: "Refuse a registration that waits", Operator: true, AIR: true, Body: MaxAgentBody},
	{ID: "list-bans", Method: http.MethodGet, Path: "/admin/registry/bans", Summary: "The block lists", Operator: true, AIR: true, NoStore: true},
	{ID: "ban", Method: http.MethodPost, Path: "/admin/registry/bans", Summary: "Put something on a block list", Operator: true, AIR: true, Body: MaxAgentBody},
	{ID: "lift-ban", Method: http.MethodDelete, Path: "/admin/registry/bans", Summary: "Take something off a block list", Operator: true, AIR: true},
	{ID: "set-admission-policy", Method: http.MethodPut, Path: "/admin/registry/admission", Summary: "Set the admission policy: how new agents are registered", Operator: true, AIR: true, Body: MaxAgentBody},
	{ID: "import-agent", Method: http.MethodPost, Path: "/admin/registry/import", Summary: "Take an agent over from its export; all of it is verified first", Operator: true, AIR: true, Body: streamed},
	{ID: "resume-signing", Method: http.MethodPost, Path: "/admin/registry/log/resume", Summary: "Check the whole transparency log, and let it sign again after it was halted", Operator: true, AIR: true, Stream: "resumption", NoStore: true},
	{ID: "list-reports", Method: http.MethodGet, Path: "/admin/registry/reports", Summary: "Reports of abuse, oldest first", Operator: true, AIR: true, NoStore: true},
	{ID: "settle-report", Method: http.MethodPost, Path: "/admin/registry/reports/{id}/settle", Summary: "End a report: dismissed, or by suspending or deleting the agent", Operator: true, AIR: true, Body: MaxAgentBody},
	{ID: "operator-status", Method: http.MethodGet, Path: "/admin/status", Summary: "The state of the crawl, the store and the index", Operator: true, NoStore: true},
	{ID: "recheck-agents", Method: http.MethodPost, Path: "/api/v1/admin/cron/did-wba-resolve", Summary: "Run the due checks of each agent now; they also run automatically", Operator: true, AIR: true},
	{ID: "publish-anchor", Method: http.MethodPost, Path: "/api/v1/admin/cron/publish-anchor", Summary: "Ask the witnesses to cosign the newest tree of the log, which also happens by itself", Operator: true, AIR: true},
	{ID: "recent-registrations", Method: http.MethodGet, Path: "/api/v1/admin/recent", Summary: "The newest active agents", Operator: true, AIR: true, NoStore: true},
	{ID: "registry-stats", Method: http.MethodGet, Path: "/api/v1/admin/stats", Summary: "Counts of active agents", Operator: true, AIR: true, NoStore: true},
	{ID: "delete-agent", Method: http.MethodDelete, Path: "/api/v1/agents/{air_id}", Summary: "Delete an agent softly: its history stays", Operator: true, AIR: true},
}

// Op returns the description of the route with that ID, for handlers to add parameters and
// responses to.
func Op(id string) huma.Operation { return Complete(huma.Operation{OperationID: id}) }

// Complete fills in what the table says of the operation. It panics for an ID that has no row: the
// program is wrong then.
func Complete(op huma.Operation) huma.Operation {
	r := findRoute(op.OperationID)
	op.Method, op.Path, op.Summary = r.Method, r.Path, r.Summary
	op.Tags = []string{tagOf(r)}
	return op
}

func findRoute(id string) Route {
	at := slices.IndexFunc(Table, func(r Route) bool { return r.ID == id })
	if at < 0 {
		panic("route: no row of the table has the ID " + id)
	}
	return Table[at]
}

// timeLimit returns the time limit of an answer; 0 for a stream.
func (r Route) timeLimit() time.Duration {
	if r.Stream != "" {
		return 0
	}
	return answerTimeout
}

// acceptsAnyOrigin reports whether pages of any origin may write to a path.
func acceptsAnyOrigin(path string) bool {
	return slices.ContainsFunc(Table, func(r Route) bool { return r.Relay && r.matchesPath(path) })
}

// matchesPath reports whether a path is one of the route's.
func (r Route) matchesPath(path string) bool {
	pattern, morePattern, morePath := r.Path, true, true
	for morePattern && morePath {
		var want, segment string
		want, pattern, morePattern = strings.Cut(pattern, "/")
		segment, path, morePath = strings.Cut(path, "/")
		switch {
		case strings.HasPrefix(want, "*"):
			return true
		case !strings.HasPrefix(want, "{") && want != segment:
			return false
		}
	}
	return morePattern == morePath
}

// byFullPath returns the rows by method and by the path as gin has it.
func byFullPath() map[string]Route {
	rows := map[string]Route{}
	for _, r := range Table {
		path := strings.NewReplacer("{", ":", "}", "").Replace(r.Path)
		rows[r.Method+" "+path] = r
		if r.Method == http.MethodGet {
			rows[http.MethodHead+" "+path] = r
		}
	}
	return rows
}

// publicDescription is the path of the public OpenAPI document.
const publicDescription = "/openapi.json"

// ownsPath reports whether a path belongs to the public API, not to the pages: a route answers
// there, or its first segment is one of the API alone.
func ownsPath(path string) bool {
	if path == publicDescription {
		return true
	}
	for _, r := range Table {
		if r.Operator {
			continue
		}
		first, more := firstSegment(r.Path)
		if r.matchesPath(path) || more && !r.Shared && strings.HasPrefix(path, first+"/") {
			return true
		}
	}
	return false
}

// firstSegment returns the first segment of a path with its slash, and whether others follow.
func firstSegment(path string) (first string, more bool) {
	i := strings.IndexByte(path[1:], '/')
	if i < 0 {
		return path, false
	}
	return path[:i+1], true
}

// isOperatorRoute reports whether a request is for the operator's listener only.
func isOperatorRoute(method, path string) bool {
	return path == "/admin" || strings.HasPrefix(path, "/admin/") || isReferenceOperatorRoute(method, path)
}

// Paths that other packages name.
const (
	AgentsPath   = "/api/v1/agents/"
	OperatorPath = "/api/v1/admin/" // the operator's routes of the AIR reference
)

// isReferenceOperatorRoute reports whether a request is one that the AIR reference takes from its
// operator, with a key in a header. Here no key opens these routes, because a key in a header can be
// guessed and leaked: they answer on the operator's listener only.
func isReferenceOperatorRoute(method, path string) bool {
	if strings.HasPrefix(path, OperatorPath) {
		return true
	}
	return slices.ContainsFunc(Table, func(r Route) bool {
		return r.Operator && r.Method == method && !strings.HasPrefix(r.Path, "/admin/") && r.matchesPath(path)
	})
}
