package route

import (
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/danielgtaylor/huma/v2"
)

// The tags that operations are listed by.
const (
	tagSearch    = "search"
	tagServices  = "services"
	tagValidator = "validator"
	tagAgents    = "agents"
	tagRelay     = "relay"
	tagTools     = "tools"
	tagLog       = "log"
	tagServer    = "server"
	tagOperator  = "operator"
)

// describeTags describes the tags, in the order in which a reader meets them.
func describeTags() []*huma.Tag {
	return []*huma.Tag{
		{Name: tagSearch, Description: "Find operations by intent, the agents that serve them, and their inboxes."},
		{Name: tagServices, Description: "What hosts publish: services, documents with their versions, verbs, namespaces and data classes; and how hosts are submitted and withdrawn."},
		{Name: tagValidator, Description: "Check documents by the rules of their drafts."},
		{Name: tagAgents, Description: "The registry of agents (AIR): registration, keys, domains, attestations and evidence. Paths, shapes and error members are those of the public reference registry.",
			ExternalDocs: &huma.ExternalDocs{Description: "The reference registry", URL: "https://github.com/AgentIdentityRegistry/agent-identity-registry"}},
		{Name: tagRelay, Description: "Inboxes of agents on this server: messages are pushed, pulled and acknowledged."},
		{Name: tagTools, Description: "The tool host (Altar): sessions, tools under contract, and calls."},
		{Name: tagLog, Description: "The transparency log, its proofs, and the witness."},
		{Name: tagServer, Description: "The state of this server, and the description of its API."},
		{Name: tagOperator, Description: "Routes of the operator, on the operator's listener only."},
	}
}

// tagPrefixes tell the tag of a route by the beginning of its path; the first that fits counts. Those
// of a tag are in the order in which a reader meets them, see [PathRank].
var tagPrefixes = []struct{ prefix, tag string }{
	{"/admin/", tagOperator}, {"/api/v1/admin/", tagOperator},
	{"/api/v1/search", tagSearch}, {"/api/v1/orchestrate", tagSearch}, {"/api/v1/resolve", tagSearch}, {"/api/v1/export", tagSearch},
	{"/api/v1/explore", tagSearch}, {"/api/v1/suggest", tagSearch},
	{"/api/v1/validate", tagValidator}, {"/api/v1/rules", tagValidator}, {"/schemas/", tagValidator},
	{"/log/", tagLog}, {"/witness/", tagLog}, {"/api/v1/audit/", tagLog},
	{"/api/v1/status", tagServer}, {"/healthz", tagServer}, {"/readyz", tagServer}, {"/api/v1/health", tagServer}, {"/api/v1/openapi", tagServer},
}

// PathRank orders the paths of a tag for a reader; equal ranks are in the order of the alphabet.
func PathRank(path string) int {
	return slices.IndexFunc(tagPrefixes, func(p struct{ prefix, tag string }) bool { return strings.HasPrefix(path, p.prefix) })
}

// tagOf returns the tag of a route.
func tagOf(r Route) string {
	for _, p := range tagPrefixes {
		if strings.HasPrefix(r.Path, p.prefix) {
			return p.tag
		}
	}
	switch {
	case r.Operator:
		return tagOperator
	case r.Relay:
		return tagRelay
	case r.Altar:
		return tagTools
	case r.AIR, strings.HasPrefix(r.Path, "/1.0/identifiers"):
		return tagAgents
	}
	return tagServices
}

// The names of the security schemes.
const (
	schemeSignature = "signature"
	schemeSecret    = "agentSecret"
)

// securitySchemes describe how a request proves who sends it. Reads need none.
func securitySchemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		schemeSignature: {Type: "apiKey", In: "header", Name: "Signature",
			Description: "An HTTP message signature (RFC 9421) with the agent's Ed25519 key, in Signature and Signature-Input, over the method, the path and, for a body, Content-Digest. gazetteer signs such requests; docs/registry.md shows one whole."},
		schemeSecret: {Type: "apiKey", In: "header", Name: "X-Agent-Secret",
			Description: "The secret from the response to the registration of the agent. It permits changes of the agent's record only; keys, domains and attestations require a signature."},
	}
}

// signedOnly are the operations that take a signature and no secret.
var signedOnly = []string{"rotate-key", "merge-agent", "recover-agent", "export-agent", "acknowledge", "pull", "stream-mail", "pull-deployed", "acknowledge-deployed"}

// completeDescription adds to every operation what tools expect: a description that is a sentence,
// and the security schemes of writes.
func completeDescription(d *huma.OpenAPI) error {
	examples, err := Examples()
	if err != nil {
		return err
	}
	codes, err := Codes()
	if err != nil {
		return err
	}
	// Huma describes its own error, which no route answers with.
	for _, unused := range []string{"V2ErrorModel", "V2ErrorDetail"} {
		delete(d.Components.Schemas.Map(), unused)
	}
	used := map[string]bool{}
	for _, item := range d.Paths {
		for method, op := range map[string]*huma.Operation{http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodDelete: item.Delete} {
			if op == nil {
				continue
			}
			used[op.Tags[0]] = true
			if e, ok := examples[op.OperationID]; ok {
				if err := addExample(op, method, d.Servers[0].URL, e); err != nil {
					return err
				}
			}
			addCodes(op, codes[op.OperationID])
			if op.Description == "" {
				op.Description = asSentence(op.Summary)
			}
			switch {
			case slices.Contains(signedOnly, op.OperationID):
				op.Security = []map[string][]string{{schemeSignature: {}}}
			case slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.Name == "X-Agent-Secret" }):
				op.Security = []map[string][]string{{schemeSignature: {}}, {schemeSecret: {}}}
			}
		}
	}
	d.Tags = slices.DeleteFunc(d.Tags, func(t *huma.Tag) bool { return !used[t.Name] }) // the public listener has no routes of the operator
	return nil
}

// asSentence ends a text with a full stop and begins it with a capital.
func asSentence(text string) string {
	runes := []rune(strings.TrimRight(text, "."))
	if len(runes) == 0 {
		return ""
	}
	runes[0] = unicode.ToUpper(runes[0])
	return string(runes) + "."
}
