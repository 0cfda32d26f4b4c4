package answer

import (
	"context"
	"fmt"
	"gazetteer/index/query"
	"gazetteer/join"
	"gazetteer/protocol/did"
	"strings"
	"time"
)

// Resolution is the answer to "where do I write to": for the id of an agent its DID document and
// inbox, for a name NAMESPACE.VERB every operation with that name.
type Resolution struct {
	Asked string `json:"asked"`
	// Kind is "agent" or "verb".
	Kind       string        `json:"kind"`
	AirID      string        `json:"air_id,omitempty"`
	DID        string        `json:"did,omitempty"`
	Inbox      string        `json:"inbox,omitempty"` // the first A2AInbox, "" when there is none
	Key        *join.Key     `json:"key,omitempty"`   // what the agent signs with now
	Document   *did.Document `json:"did_document,omitempty"`
	Candidates []Candidate   `json:"candidates,omitempty" doc:"the operations that bear the name, those best proved first"`
	// Total counts the candidates, of which at most 100 are listed.
	Total int `json:"total,omitempty" doc:"how many operations bear the name; at most 100 are listed"`
	// Ambiguous is set if several services have operations with the name: the caller chooses,
	// because nothing is chosen silently.
	Ambiguous bool `json:"ambiguous,omitempty"`
	// Concerns are collisions, and possible squatting.
	Concerns []Concern `json:"concerns,omitempty" doc:"collisions, and possible squatting"`
	Seq      uint64    `json:"seq"`
	Behind   uint64    `json:"behind,omitempty" doc:"the number of records that the index is behind the store"`
}

// A Candidate is an operation with the name, and the evidence of its host for the namespace.
type Candidate struct {
	Hit
	Claim Claim `json:"claim" doc:"what the host has to show for the namespace"`
}

// Resolve returns where to write to, at a given time. An AIR ID, a handle or a did:wba leads to the
// agent; NAMESPACE.VERB leads to every operation with that name, and none is chosen if there are
// several services ([Resolution.Ambiguous]). The error is [ErrNoName] or [registry.ErrNoAgent] for
// an unknown name, and a [*registry.Refusal] for an agent that has ended. The DID of another host
// is resolved if admit allows it; nil: never. fresh asks for a document that is not cached.
func (a *Answers) Resolve(ctx context.Context, name string, admit func() error, fresh bool, now time.Time) (Resolution, error) {
	name = strings.TrimSpace(name)
	if namespace, verb, ok := SplitVerb(name); ok {
		return a.resolveVerb(ctx, name, namespace, verb, now)
	}
	return a.resolveContact(ctx, name, admit, fresh)
}

func (a *Answers) resolveVerb(ctx context.Context, name, namespace, verb string, now time.Time) (Resolution, error) {
	q := query.Query{Namespaces: []string{namespace}, Verbs: []string{verb}, Limit: MaxLimit}
	found, err := a.Index.Search(ctx, q)
	if err != nil {
		return Resolution{}, err
	}
	if len(found.Hits) == 0 {
		return Resolution{}, fmt.Errorf("%w: %s", ErrNoName, name)
	}
	counts, err := a.Index.Explore(ctx, q, []string{"host"}, 2)
	if err != nil {
		return Resolution{}, err
	}
	hits, err := a.Hits(ctx, found.Hits, now)
	if err != nil {
		return Resolution{}, err
	}
	claims, concerns, err := a.judgeClaims(ctx, namespace)
	if err != nil {
		return Resolution{}, err
	}
	r := Resolution{
		Asked: name, Kind: "verb", Total: found.Total, Ambiguous: len(counts["host"]) > 1, Concerns: concerns,
		Seq: found.Seq, Behind: a.Behind(found.Seq),
	}
	for _, c := range claims { // in their order
		for _, h := range hits {
			if h.Host == c.Host {
				r.Candidates = append(r.Candidates, Candidate{h, c})
			}
		}
	}
	listed := map[string]bool{}
	for _, c := range claims {
		listed[c.Host] = true
	}
	for _, h := range hits {
		if !listed[h.Host] { // of a host beyond those that were judged
			r.Candidates = append(r.Candidates, Candidate{h, Claim{Host: h.Host, Kind: h.Kind, Relation: relationDeclared, Proof: "not judged: too many hosts use the namespace", FetchedAt: h.FetchedAt, Digest: h.Digest}})
		}
	}
	return r, nil
}

// SplitVerb cuts NAMESPACE.VERB at the last dot. Handles and AIR IDs have no dot, and a DID has
// colons, so a name with a dot and without a colon is that of a verb.
func SplitVerb(name string) (namespace, verb string, ok bool) {
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || dot == len(name)-1 || strings.Contains(name, ":") || strings.HasPrefix(name, "@") {
		return "", "", false
	}
	return name[:dot], strings.ToUpper(name[dot+1:]), true
}

// MaxLimit is the most entries on one page of any list.
const MaxLimit = 100
