package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"

	"gazetteer/index/query"
	"gazetteer/join"
	"gazetteer/protocol/did"
	"gazetteer/registry"
)

// Resolution answers "where do I write to": for an id of an agent its DID
// document and inbox, for a name NAMESPACE.VERB every operation that bears it.
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
	// Ambiguous is set when more than one service bears the name: the caller
	// chooses, nothing is picked silently.
	Ambiguous bool `json:"ambiguous,omitempty"`
	// Concerns are collisions, and what looks like squatting.
	Concerns []Concern `json:"concerns,omitempty" doc:"collisions, and what looks like squatting"`
	Seq      uint64    `json:"seq"`
	Behind   uint64    `json:"behind,omitempty" doc:"how many records the index is behind the store"`
}

// A Candidate is an operation that bears a name, and what its host has to show for
// the namespace.
type Candidate struct {
	Hit
	Claim Claim `json:"claim" doc:"what the host has to show for the namespace"`
}

// resolveRoute declares how names become addresses.
func (a *API) resolveRoute(h huma.API) {
	resolve := getOperation("resolve", "/api/v1/resolve", "Where to write to: an agent's inbox, or who offers NAMESPACE.VERB")
	resolve.Responses = map[string]*huma.Response{"300": {
		Description: "More than one service bears the name: the caller chooses among the candidates.",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: schemaOf[Resolution](h)}},
	}}
	addRoute(a, h, resolve, a.resolveName)
}

type resolveInput struct {
	Name   string `query:"name" required:"true" doc:"an AIR ID, a handle with or without @, a did:wba or did:web, or NAMESPACE.VERB"`
	client netip.Addr
}

// Resolve reads what huma does not (huma.Resolver).
func (in *resolveInput) Resolve(ctx huma.Context) []error {
	in.client = clientAddress(humagin.Unwrap(ctx))
	return nil
}

func (a *API) resolveName(ctx context.Context, in *resolveInput) (*output[Resolution], error) {
	if err := checkName(strings.TrimSpace(in.Name)); err != nil {
		return nil, err
	}
	r, err := a.answers.Resolve(ctx, in.Name, a.admitLookup(ctx, in.client), a.now())
	if e, ok := errors.AsType[*registry.Error](err); ok && e.Code == "id" {
		return nil, newProblem(badParameter, fmt.Sprintf("%.80q is no AIR ID, no handle, no DID and no NAMESPACE.VERB", cleanText(in.Name, 80)), e.Help+", or "+verbForm).
			withLocation(Location{Parameter: "name"})
	}
	if errors.Is(err, ErrNoName) {
		return nil, a.nameProblem(ctx, in.Name, err)
	}
	if err != nil {
		return nil, err
	}
	out := jsonOutput(r)
	if r.Ambiguous {
		out.Status = http.StatusMultipleChoices
	}
	return out, nil
}

// verbForm says how the name of a verb is written.
const verbForm = "NAMESPACE.VERB with the last dot between the two, such as acme-reservations.BOOK"

// checkName refuses a name that is empty, or half of NAMESPACE.VERB.
func checkName(name string) error {
	bad := func(message string, column int) error {
		return newProblem(badParameter, message, "write "+verbForm+"; or an AIR ID, a handle or a DID").withLocation(Location{Parameter: "name", Column: column})
	}
	switch dot := strings.LastIndexByte(name, '.'); {
	case name == "":
		return bad("name is missing", 1)
	case strings.Trim(name, ".") == "":
		return bad("before and behind the dot there is nothing", 1)
	case strings.ContainsAny(name, ":@") || dot < 0:
		return nil
	case strings.TrimSpace(name[:dot]) == "":
		return bad("before the dot there is no namespace", 1)
	case strings.TrimSpace(name[dot+1:]) == "":
		return bad("behind the last dot there is no verb", utf8.RuneCountInString(name[:dot])+1)
	}
	return nil
}

// nameProblem says what there is instead of a NAMESPACE.VERB that nobody offers.
func (a *API) nameProblem(ctx context.Context, name string, cause error) error {
	r := problemFor(cause)
	namespace, _, _ := splitVerb(strings.TrimSpace(name))
	counts, err := a.answers.Index.Explore(ctx, query.Query{Namespaces: []string{namespace}}, []string{"verb"}, defaultLimit)
	if err != nil {
		return err
	}
	var verbs []string
	for _, c := range counts["verb"] {
		verbs = append(verbs, c.Value)
	}
	if len(verbs) > 0 {
		return newProblem(noName, fmt.Sprintf("the namespace %.80q has no such verb", namespace), "it has "+joinWords(verbs)).withCause(r.cause)
	}
	alike, err := a.answers.findLookalikes(ctx, strings.ToLower(namespace))
	if err != nil {
		return err
	}
	if len(alike) > 0 {
		return newProblem(noName, fmt.Sprintf("there is no namespace %.80q", namespace), "nearly like it are "+joinWords(alike)).withCause(r.cause)
	}
	return newProblem(noName, fmt.Sprintf("there is no namespace %.80q", namespace), "every namespace is listed at /api/v1/namespaces; /api/v1/search finds operations by words").withCause(r.cause)
}

// Resolve answers where to write to, as it stands at a time. An AIR ID, a handle or
// a did:wba leads to the agent; NAMESPACE.VERB to every operation that bears the
// name, of which none is picked when there are several services
// ([Resolution.Ambiguous]). The error is [ErrNoName], or [registry.ErrNoAgent],
// when the name leads nowhere, and a [*registry.Refusal] for an agent that is gone.
// The DID of another host is looked for when admit lets it; nil: never.
func (a *Answers) Resolve(ctx context.Context, name string, admit func() error, now time.Time) (Resolution, error) {
	name = strings.TrimSpace(name)
	if namespace, verb, ok := splitVerb(name); ok {
		return a.resolveVerb(ctx, name, namespace, verb, now)
	}
	return a.resolveContact(ctx, name, admit)
}

func (a *Answers) resolveVerb(ctx context.Context, name, namespace, verb string, now time.Time) (Resolution, error) {
	q := query.Query{Namespaces: []string{namespace}, Verbs: []string{verb}, Limit: maxLimit}
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

// splitVerb cuts NAMESPACE.VERB at the last dot. Handles and AIR IDs have no
// dot, and a DID has colons, so what has a dot and no colon names a verb.
func splitVerb(name string) (namespace, verb string, ok bool) {
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 || dot == len(name)-1 || strings.Contains(name, ":") || strings.HasPrefix(name, "@") {
		return "", "", false
	}
	return name[:dot], strings.ToUpper(name[dot+1:]), true
}
