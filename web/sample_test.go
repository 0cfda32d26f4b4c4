package web_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"gazetteer/api"
	"gazetteer/api/answer"
	"gazetteer/api/route"
	calls "gazetteer/call"
	"gazetteer/census"
	"gazetteer/changefeed"
	"gazetteer/conformance/standing"
	"gazetteer/crawler"
	"gazetteer/crawler/owner"
	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/internal/teststore"
	"gazetteer/join"
	"gazetteer/protocol"
	"gazetteer/protocol/did"
	"gazetteer/protocol/httpsig"
	"gazetteer/registry"
	"gazetteer/registry/admission"
	"gazetteer/registry/directory"
	"gazetteer/registry/evidence"
	"gazetteer/web"
	"gazetteer/web/docpages"
)

// now is when the sample pages are read.
var now = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// sample is a set of answers made by hand, so that every member of every page
// can hold whatever a test wants: word writes the text of each free field.
type sample struct {
	word func(field string) string
	hits int   // of every search
	err  error // of every answer
	// reportErr is that of a report that is made.
	reportErr error
}

func plainWord(field string) string { return field }

func (s sample) service() document.Service {
	return document.Service{
		Name: s.word("Ristorante"), Description: s.word("Tables and meals"), Version: s.word("1.0"),
		Domain: s.word("hospitality"), Namespace: s.word("ristorante"), Categories: []string{s.word("food")},
		Languages: []string{"it"}, Protocols: []string{s.word("http")}, Auth: s.word("api_key"),
		Docs: s.word("https://docs.ristorante.test/"), AGTP: s.word("agtp://ristorante.test"),
	}
}

func (s sample) operation(n int) document.Operation {
	return document.Operation{
		ID: s.word("BOOK /table") + fmt.Sprint(n), Verb: s.word("BOOK"), Path: s.word("/table"), Intent: s.word("Reserve a table"),
		Outcome: s.word("The table is held"), Returns: s.word("A reservation"), Actor: s.word("agent"),
		Capability: s.word("transaction"), Effect: document.Reversible, Errors: []string{s.word("full")},
		Parameters: []document.Parameter{
			{Name: s.word("date"), Type: s.word("string"), Required: true, Description: s.word("The day"), In: "body"},
			{Name: s.word("guests"), Type: s.word("integer"), In: "query"},
		},
		Call: document.Call{Protocol: "http", Method: s.word("POST"), URL: s.word("https://ristorante.test/tables")},
	}
}

func (s sample) FindEmptyFilters(context.Context, query.Query) ([]answer.EmptyFilter, error) {
	return []answer.EmptyFilter{
		{Key: "verb", Filter: query.Query{Verbs: []string{s.word("BOK")}}, Near: []string{s.word("BOOK")}},
		{Key: "ns", Filter: query.Query{Namespaces: []string{s.word("taxi")}}, Without: 3},
	}, s.err
}

func (s sample) Search(_ context.Context, q query.Query) (index.Result, error) {
	r := index.Result{Total: s.hits, Seq: 7, More: q.Offset+q.Limit < s.hits}
	if s.hits == 0 {
		r.Near = []string{s.word("BOOK")}
	} else if q.Offset == 0 && q.Words != "" {
		r.Services = []index.ServiceHit{{Host: "ristorante.test", Kind: document.AGIS, Service: s.service(), Operations: 2}}
		r.Classes = []index.ClassHit{{Host: "ristorante.test", Kind: document.AGIS, Class: document.DataClass{Name: s.word("reservation")}}}
	}
	for _, f := range q.Facets {
		if r.Facets == nil {
			r.Facets = map[string][]index.Count{"effect": {{Value: "reversible", Operations: s.hits}, {Value: "unknown", Operations: 1}}}
			r.FacetValues = map[string]int{"verb": 1412}
		}
		for n := range min(20, s.hits) {
			r.Facets[f] = append(r.Facets[f], index.Count{Value: fmt.Sprint(s.word("value"), n), Operations: s.hits - n})
		}
	}
	for n := q.Offset; n < min(s.hits, q.Offset+q.Limit); n++ {
		r.Hits = append(r.Hits, index.Hit{
			Host: "ristorante.test", Service: s.service(), Operation: s.operation(n), Score: 3,
			Why: index.Why{
				Clause: s.word("book tables cheap"),
				Matched: []index.Match{
					{Term: s.word("book"), Field: "act", Kind: "exact", Text: s.word("book")},
					{Term: s.word("tables"), Field: "what", Kind: "stem", Text: s.word("table")},
				},
				Verb: &index.Verb{Asked: s.word("BOOKING"), Offered: s.word("BOOK"), Relation: "stem"}, Coverage: .67, Missing: []string{s.word("cheap")},
			},
			Kind: document.AGIS, Source: document.OwnerPublished, Document: s.word("https://ristorante.test/.well-known/agis.json"),
			Digest: "sha256:" + strings.Repeat("ab", 32), FetchedAt: now.Add(-3 * time.Minute), ChangedAt: now.Add(-time.Hour), Findings: "warning",
		})
	}
	return r, s.err
}

// Hits are as fresh as the sample says, but for the second, whose host fell silent. The document of the third
// has errors.
func (s sample) Hits(_ context.Context, found []index.Hit, _ time.Time) ([]answer.Hit, error) {
	var hits []answer.Hit
	for i, h := range found {
		h.Caution = calls.Caution(h.Operation, h.Service)
		if i == 2 {
			h.Findings = "error"
		}
		full := answer.Hit{Hit: h, Freshness: answer.Freshness{FetchedAt: h.FetchedAt, ChangedAt: h.ChangedAt}}
		if i == 1 {
			full.Freshness.Stale, full.Freshness.Why = true, s.word("the visit of 2026-03-13 ended with timeout")
		}
		hits = append(hits, full)
	}
	return hits, s.err
}

func (s sample) summary() answer.ServiceSummary {
	v := s.service()
	return answer.ServiceSummary{
		Host: "ristorante.test", Name: v.Name, Description: v.Description, Namespace: v.Namespace, Domain: v.Domain,
		Kinds: []document.Kind{document.AI, document.AGIS}, Operations: 2, FetchedAt: now.Add(-3 * time.Minute), Findings: "error",
	}
}

func (s sample) ListServices(_ context.Context, q census.ServiceQuery) (answer.ServiceListing, error) {
	if q.Words == "nothing" {
		return answer.ServiceListing{All: 1}, s.err
	}
	return answer.ServiceListing{Services: []answer.ServiceSummary{s.summary()}, Total: 1, All: 1, Categories: []census.CategoryCount{{Name: s.word("finance"), Services: 1}}}, s.err
}

func (s sample) Service(_ context.Context, name string) (answer.Service, error) {
	host, err := fetch.CheckHost(name)
	if err != nil {
		return answer.Service{}, err
	}
	state := answer.State{
		Added: now.Add(-48 * time.Hour), Visited: now.Add(-3 * time.Minute), Due: now.Add(24 * time.Hour), Depth: 1,
		FoundOn: "guide.test", Failures: 2,
		TLS:    &fetch.TLS{Version: "TLS 1.3", Expires: now.Add(60 * 24 * time.Hour), Issuer: s.word("Some Authority R3"), Keys: "ECDSA P-256, RSA 2048", Chain: 2},
		Robots: &answer.RobotsView{FetchedAt: now.Add(-3 * time.Minute), Status: 200, Disallowed: []string{s.word("/ai")}, Why: s.word("Disallow: /ai")},
		Fetches: []fetch.Fetch{
			{Kind: "agis", URL: "https://ristorante.test/agis.yaml", Outcome: fetch.OK, Status: 200, At: now.Add(-3 * time.Minute), Took: 12},
			{Kind: "ai", URL: "https://ristorante.test/.well-known/ai", Outcome: fetch.Absent, Status: 404, At: now.Add(-3 * time.Minute), Took: 8, Detail: s.word("not there"), Redirects: []string{s.word("https://www.ristorante.test/ai")}},
		},
	}
	switch host {
	case "ristorante.test":
	case "withdrawn.test":
		return answer.Service{}, &answer.WithdrawnError{Host: host, Block: crawler.Block{Host: host, By: crawler.ByOwner, Since: now}}
	case "blocked.test":
		return answer.Service{}, &answer.WithdrawnError{Host: host, Block: crawler.Block{Host: "test", By: crawler.ByOperator, Since: now, Subdomains: true}}
	case "empty.test", "xn--80ak6aa92e.test":
		return answer.Service{ServiceSummary: answer.ServiceSummary{Host: host}, State: state}, s.err
	default:
		return answer.Service{}, fmt.Errorf("%w: %s", answer.ErrNoService, host)
	}
	doc := document.Document{
		Kind: document.AGIS, Host: host, URL: s.word("https://ristorante.test/agis.yaml"), Digest: "sha256:" + strings.Repeat("ab", 32),
		Size: 4321, MediaType: s.word("application/yaml"), Source: document.Linked, FetchedAt: now.Add(-3 * time.Minute), ChangedAt: now.Add(-time.Hour),
		Service: s.service(), Operations: []document.Operation{s.operation(0), s.operation(1)},
		DataClasses: []document.DataClass{{Name: s.word("reservation"), Description: s.word("who eats when"), Sensitivity: s.word("internal")}},
		Findings: []protocol.Finding{
			{Code: "AGIS117", Severity: protocol.Warning, Pointer: s.word("/endpoints/0/method"), Line: 4, Column: 12, Message: s.word("mixed case"), Help: s.word("write BOOK"), Section: "AGIS §4.3"},
			{Code: "AGIS101", Severity: protocol.Error, Message: s.word("no intent"), Help: s.word("add one"), Section: "AGIS §8"},
			{Code: "AGIS900", Severity: protocol.Info, Message: s.word("a hint"), Section: "AGIS §9"},
		},
	}
	alias := doc
	alias.Kind, alias.URL, alias.Findings = document.AIAlias, "https://ristorante.test/ai", nil
	alias.Level, alias.Operations = 1, nil
	return answer.Service{
		ServiceSummary: s.summary(),
		Documents: []answer.DocumentView{
			{Document: doc, Versions: []answer.Version{{Digest: doc.Digest, Seen: now.Add(-time.Hour), Size: 4321, URL: doc.URL}}},
			{Document: alias},
		},
		Related: []string{"hotel.test", "xn--80ak6aa92e.test"}, State: state,
	}, s.err
}

func (s sample) AgentsOf(_ context.Context, host string) (join.Joined, error) {
	if host == "empty.test" {
		return join.Joined{None: "no document of the service names an agent"}, s.err
	}
	link := func(by, what, source string) join.Link {
		return join.Link{By: by, Side: join.SideBoth, What: s.word(what), Source: s.word(source), Date: now.Add(-time.Hour)}
	}
	did := "did:wba:gazetteer.test:agents:" + airID
	return join.Joined{
		Agents: []join.ServingAgent{
			{Contact: join.Contact{AirID: airID, DID: did, Inbox: s.word("https://relay.test/inbox"), Key: &join.Key{ID: did + "#key-1", PublicKeyMultibase: s.word("z6Mk")}},
				Name: s.word("Alice"), Strength: join.Proved, Says: s.word("it has proved its domain"), UpdatedAt: now.Add(-time.Hour),
				Links: []join.Link{link(evidence.AssociationDomain, "ristorante.test", "TXT _gazetteer.ristorante.test"), link(join.LinkDocument, did, "https://ristorante.test/.well-known/agis.json")}},
			{Contact: join.Contact{DID: s.word("did:web:elsewhere.test")}, Strength: join.Claimed, Says: s.word("only the service claims this"), Unresolved: s.word("its registry did not answer"),
				Links: []join.Link{link(join.LinkDocument, "did:web:elsewhere.test", "")}},
		},
		More: 3, Omitted: []join.OmittedAgent{{DID: s.word("did:wba:gazetteer.test:agents:AIR-0000-0000-0000"), Why: s.word("Agent is suspended")}},
	}, s.err
}

func (s sample) Verbs(context.Context) ([]index.VerbCount, error) {
	return []index.VerbCount{{Verb: s.word("BOOK"), Operations: 12, Services: 8}, {Verb: "CANCEL", Operations: 1, Services: 1}}, s.err
}

func (s sample) Namespaces(context.Context) ([]index.ValueCount, error) {
	return []index.ValueCount{{Value: s.word("acme"), Operations: 3, Services: 1}, {Value: "dining", Operations: 5, Services: 2}}, s.err
}

func (s sample) NamespaceClaim(_ context.Context, host, _ string) (answer.Claim, bool, error) {
	return answer.Claim{Host: host, Relation: "foreign-name", Proof: s.word("the namespace is the name of another domain")}, true, s.err
}

func (s sample) Namespace(_ context.Context, name string) (answer.Namespace, error) {
	return answer.Namespace{
		NamespaceCount: answer.NamespaceCount{Namespace: name, Operations: 5, Services: 2},
		Claims: []answer.Claim{
			{Host: "dining.test", Service: s.word("Dining"), Relation: "own-name", Proof: "the namespace is the name of the domain dining.test", Since: now},
			{Host: "thief.test", Relation: "foreign-name", Proof: s.word("the namespace is the name of another domain"), Since: now},
		},
		Concerns: []answer.Concern{
			{Code: "collision", Message: "hosts of 2 domains declare the namespace " + s.word("dining"), Hosts: []string{"dining.test", "thief.test"}},
			{Code: "lookalike", Message: "other namespaces look similar", Names: []string{s.word("d1ning"), ".."}},
		},
	}, s.err
}

func (s sample) DataClass(_ context.Context, name string) (answer.DataClass, error) {
	return answer.DataClass{
		ClassCount: answer.ClassCount{Class: name, Operations: 5, Services: 1},
		Holders:    []answer.Holder{{Host: "dining.test", Description: s.word("tables that are free"), Sensitivity: s.word("low"), RequiresAuthorization: true, FetchedAt: now}},
	}, s.err
}

func (s sample) DataClasses(ctx context.Context) ([]index.ValueCount, error) {
	return s.Namespaces(ctx)
}

func (s sample) Suggest(_ context.Context, _, _ string, _ int, kinds ...string) ([]index.Suggestion, error) {
	all := []index.Suggestion{
		{Text: s.word("BOOK"), Kind: index.SuggestVerb, Operations: 7}, {Text: s.word("table"), Kind: index.SuggestNoun, Operations: 2},
		{Text: s.word("exchange rates"), Kind: index.SuggestClass, Operations: 2}, {Text: "ristorante.test", Kind: index.SuggestService, Operations: 2},
	}
	return slices.DeleteFunc(all, func(s index.Suggestion) bool { return len(kinds) > 0 && !slices.Contains(kinds, s.Kind) }), s.err
}

func (s sample) Similar(context.Context, string, int) ([]index.SimilarService, error) {
	return []index.SimilarService{
		{Host: "hotel.test", Service: s.service(), Score: .8, Classes: []string{s.word("reservation")}, Verbs: []string{s.word("BOOK"), "CANCEL"}},
		{Host: "far.test", Score: .1},
	}, s.err
}

func (s sample) VerbFamily(context.Context, string) ([]index.RelatedVerb, error) {
	verb := func(v, relation string) index.RelatedVerb {
		return index.RelatedVerb{VerbCount: index.VerbCount{Verb: v, Operations: 12, Services: 8}, Relation: relation}
	}
	return []index.RelatedVerb{verb("BOOK", "exact"), verb(s.word("RESERVE"), "synonym"), verb("CANCEL", "antonym")}, s.err
}

func (s sample) ExplainService(_ context.Context, v answer.Service) (answer.Explanation, error) {
	return answer.Explanation{Host: v.Host, Why: "a sample", States: v.Conformance.States}, nil
}

// HostStates: a sample knows none.
func (s sample) HostStates() *standing.Follower               { return nil }
func (s sample) Stats(context.Context) (*census.Stats, error) { return nil, answer.ErrNoCensus }

func (s sample) CountedHosts(_ context.Context, figure, _ string, _ int) (answer.CountedHosts, error) {
	if figure == "none" {
		return answer.CountedHosts{}, answer.ErrNoFigure
	}
	return answer.CountedHosts{}, answer.ErrNoCensus
}

func (s sample) LatestChanges(_ context.Context, f changefeed.Filter, _ uint64, _ int) (changefeed.Page, error) {
	if len(f.Hosts) > 0 {
		return changefeed.Page{}, s.err
	}
	return changefeed.Page{More: true, Next: 7, Items: []changefeed.Item{
		{
			Position: 9, Kind: changefeed.DocumentChanged, At: now, Severity: diff.High, Host: "ristorante.test", Documents: []document.Kind{document.AI},
			Title: s.word("ristorante.test: book_table moved to another host"), From: "sha256:a", To: "sha256:b",
			Changes: []changefeed.Change{{Kind: diff.EndpointHostChanged, Severity: diff.High}, {Kind: diff.PriceRaised, Severity: diff.Medium, Operation: s.word("book_table")}},
		},
		{Position: 8, Kind: changefeed.AgentRotated, At: now, Severity: diff.Medium, Agent: airID, Title: "Agent " + airID + " has a new key"},
	}}, s.err
}

func (s sample) CompareVersions(_ context.Context, host string, kind document.Kind, from, _ string) (*answer.VersionDiff, error) {
	if host != "ristorante.test" || from == "none" {
		return nil, answer.ErrNoDocument
	}
	operation, before := "book_table", s.word("https://ristorante.test/book")
	return &answer.VersionDiff{
		Host: host, Kind: kind, Result: diff.Result{Severity: diff.High, Invalid: []string{"b"}, Changes: []diff.Change{{Kind: diff.EndpointHostChanged, Severity: diff.High, Operation: &operation, Path: "/capabilities/0/endpoint", From: &before, Help: "Ask."}}},
		From: answer.ComparedVersion{Digest: "sha256:a", Seen: now, Bytes: []byte("{\"name\": \"old " + s.word("text") + " stays\"}")},
		To:   answer.ComparedVersion{Digest: "sha256:b", Seen: now, Bytes: []byte("{\"name\": \"new " + s.word("text") + " stays\"}")},
	}, s.err
}

func (s sample) Figures(context.Context) (answer.Figures, error) {
	return answer.Figures{Services: 214, Operations: 12345, Verbs: 2, Visited: now.Add(-20 * time.Second)}, s.err
}

const airID = "AIR-7KQ2-M9XD-41VB"

func (s sample) Agent(_ context.Context, id string) (answer.AgentAnswer, error) {
	if id != airID && id != "alice" {
		return answer.AgentAnswer{}, fmt.Errorf("%w: %s", registry.ErrNoAgent, id)
	}
	self := "did:wba:gazetteer.test:agents:" + airID
	return answer.AgentAnswer{
		Agent: registry.Agent{
			AirID: airID, Name: s.word("Alice"), Handle: s.word("alice"),
			CreatorDID: s.word("did:wba:ristorante.test"), CreatorName: s.word("Ristorante"), CreatorType: s.word("organization"),
			Description: s.word("Books tables"), Editable: registry.Editable{Capabilities: []string{s.word("book")}, SecurityCertifications: []string{s.word("ISO")}, OpenSource: true,
				CodeRepository: s.word("https://code.test/alice"), DocumentationURL: s.word("https://docs.test/alice")},
			Status: "active", Created: now.Add(-60 * 24 * time.Hour), Updated: now.Add(-time.Hour),
			PublicKey: sampleKey(1), KeySince: now.Add(-48 * time.Hour), KeyProof: registry.ProofStatement, Commitment: "sha-256:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
			Retired:  []registry.RetiredKey{{PublicKey: sampleKey(2), From: now.Add(-60 * 24 * time.Hour), Until: now.Add(-48 * time.Hour), Proof: registry.ProofSignature, By: "rotation"}},
			Recovery: &registry.PendingRecovery{To: sampleKey(3), Asked: now.Add(-time.Hour), Due: now.Add(71 * time.Hour)},
			Domains: []registry.Domain{
				{Name: "ristorante.test", Method: "dns", Requested: now.Add(-time.Hour), Since: now.Add(-time.Hour), Checked: now.Add(-time.Minute), Probes: []registry.Probe{
					{Query: "TXT _gazetteer.ristorante.test", Server: "192.0.2.53:53", Values: []string{s.word("gazetteer-agent=x")}, OmittedValues: 2, Expected: s.word("gazetteer-agent=x"), Found: true},
				}},
				{Name: "hotel.test", Requested: now.Add(-time.Hour), Checked: now.Add(-time.Minute), Failures: 1, Probes: []registry.Probe{
					{Query: "GET https://hotel.test/.well-known/gazetteer-agents", Server: "192.0.2.9:443", Values: []string{s.word("another line")}, Expected: s.word("gazetteer-agent=x"), Problem: s.word("no value names the agent")},
				}},
				{Name: "inn.test", Requested: now.Add(-time.Hour), Checked: now.Add(-time.Minute), Failures: 1, Probes: []registry.Probe{
					{Query: registry.NoProbe, Expected: s.word("gazetteer-agent=x"), Problem: s.word("no request was sent")},
				}},
			},
			Entries: 3,
		},
		DID: did.Document{
			Context: did.Contexts(), ID: self, AlsoKnownAs: []string{s.word("did:wba:ristorante.test")},
			VerificationMethod: []did.VerificationMethod{{ID: self + did.KeyFragment, Type: did.TypeEd25519, Controller: self, PublicKeyMultibase: "z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH"}},
			Authentication:     []string{self + did.KeyFragment}, AssertionMethod: []string{self + did.KeyFragment},
			Service: []did.Service{{ID: self + "#inbox", Type: did.TypeInbox, ServiceEndpoint: s.word("https://relay.test/inbox/alice")}},
		},
	}, s.err
}

// sampleKey is a key of the sample.
func sampleKey(n byte) ed25519.PublicKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize)).Public().(ed25519.PublicKey)
}

// neighbor is the AIR ID of an agent that attests the sample's.
const neighbor = "AIR-0000-0000-0007"

func (s sample) AgentDetails(ctx context.Context, id string) (answer.AgentDetails, error) {
	found, err := s.Agent(ctx, id)
	if err != nil {
		return answer.AgentDetails{}, err
	}
	a := found.Agent
	first := a
	first.PublicKey = sampleKey(2)
	said := func(n int, from, to string) registry.Attestation {
		return registry.Attestation{N: n, Subject: to, Attester: from, Type: "safety_review", Statement: s.word("We have looked"), Payload: s.word(`{"statement":"We have looked"}`),
			Signature: "z3", Key: "z6Mk", Root: "hotel.test", Weight: 375.5, Created: now.Add(-time.Hour)}
	}
	ring := said(8, airID, neighbor)
	ring.Weight, ring.Why = 0, "circular attestation: the subject attests the attester, itself or through others"
	gone := said(6, neighbor, airID)
	gone.Revoked = now.Add(-time.Minute)
	return answer.AgentDetails{
		AgentAnswer: found, Entries: 3, Logged: true, Record: s.word("gazetteer-agent=x"), Names: map[string]string{neighbor: s.word("Concierge")},
		About: []registry.Attestation{gone, said(7, neighbor, airID)}, Issued: []registry.Attestation{ring},
		Evidence: []evidence.Signal{
			{Signal: registry.SignalKey, Grade: registry.Proved, Holds: true, What: "z6Mk", Detail: "by statement", Source: "/api/v1/agents/" + airID + "/history", Date: now, Cost: "its private key"},
			{Signal: registry.SignalDomain, Grade: registry.Proved, Holds: true, What: "ristorante.test", Source: "TXT _gazetteer.ristorante.test", Date: now, Cost: "ten dollars"},
			{Signal: registry.SignalInbox, Grade: registry.Observed, Holds: true, What: s.word("https://relay.test/inbox/alice"), Detail: "it answers: it refused an empty test message with 400, as it should", Source: s.word("https://relay.test/inbox/alice"), Date: now.Add(-time.Hour), Cost: "a web server"},
			{Signal: registry.SignalAttestations, Grade: registry.Proved, What: "none by an agent with a proved domain", Cost: "one domain each"},
			{Signal: registry.SignalDomain, Grade: registry.Claimed, What: "hotel.test", Detail: s.word("no value names the agent"), Cost: "nothing"},
			{Signal: registry.SignalRepository, Grade: registry.Claimed, What: s.word("https://code.test/alice"), Detail: "not checked yet"},
			{Signal: registry.SignalClaims, Grade: registry.Claimed, What: "creator_name: " + s.word("Ristorante"), Date: now, Cost: "nothing"},
			{Signal: registry.SignalClaims, Grade: registry.Claimed, What: "documentation_url: " + s.word("https://docs.test/alice"), Date: now, Cost: "nothing"},
		},
		History: []registry.HistoryEntry{
			{N: 3, AirID: airID, Event: registry.EventRotated, Actor: registry.ActorOwner, Fields: []string{"public_key"}, At: now.Add(-48 * time.Hour), Agent: &a,
				Authority: &registry.Authority{By: registry.ProofStatement, Key: "z6MkOld", Signed: s.word("gazetteer rotation 1\n"), Signatures: map[string]string{"z6MkOld": "z1", "z6MkNew": "z2"}}},
			{N: 2, AirID: airID, Event: registry.EventUpdated, Actor: registry.ActorOwner, Fields: []string{"service_endpoints", "documentation_url"}, At: now.Add(-50 * time.Hour), Agent: &first},
			{N: 1, AirID: airID, Event: registry.EventRegistered, Actor: registry.ActorRegistrant, At: now.Add(-60 * 24 * time.Hour), Agent: &first},
		},
	}, s.err
}

func (sample) RegistrationPolicy(context.Context) (admission.PolicyState, error) {
	return admission.PolicyState{Mode: admission.ModeOpen}, nil
}

func (s sample) FindAgents(ctx context.Context, q directory.Query, verb string) ([]directory.Result, int, error) {
	found, err := s.Agent(ctx, airID)
	var agents []directory.Result
	for range min(max(s.hits-q.Offset, 0), q.Limit) {
		agents = append(agents, directory.Result{Agent: found.Agent, Signals: []string{registry.SignalKey, registry.SignalDomain}})
	}
	return agents, s.hits, err
}

// reportID is the one report that there is.
const reportID = "20260314T092000.000Z-0a1b2c3d"

func (s sample) Report(_ context.Context, airID string, q admission.ReportRequest) (admission.Report, error) {
	if q.Text == "" {
		return admission.Report{}, &registry.Error{Field: "text", Code: "required", Message: "Field 'text' is required", Help: "say what happened"}
	}
	return admission.Report{ID: reportID, AirID: airID}, s.reportErr
}

func (s sample) ReportByID(_ context.Context, id string) (admission.Report, error) {
	if id != reportID {
		return admission.Report{}, &registry.Refusal{Kind: registry.ErrNotFound, Code: "report-unknown", Message: "unknown report"}
	}
	p := admission.Report{ID: id, AirID: airID, Reason: "spam", Created: now.Add(-time.Hour), Due: now.Add(71 * time.Hour)}
	if s.hits == 0 {
		p.Settled, p.Outcome, p.Note = now, admission.ReportSuspended, s.word("seen, and true")
	}
	return p, s.err
}

func (s sample) LogStatus(context.Context, int64) (answer.LogStatus, error) {
	if s.hits == 0 {
		return answer.LogStatus{}, cmp.Or(s.err, answer.ErrNoLog)
	}
	leaf := func(n int64, key, event string) answer.LogLeaf {
		return answer.LogLeaf{Index: n, Key: key, Event: event, Hash: "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", At: now.Add(time.Duration(n-1300) * time.Minute)}
	}
	erased := leaf(1230, "agent/"+neighbor+"/00000001", "")
	erased.Erased, erased.At = true, time.Time{}
	return answer.LogStatus{
		Origin: "gazetteer.test/log", Key: "gazetteer.test/log+00000000+AAAA", Size: 1234, Root: "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", Signed: "gazetteer.test/log\n1234\n",
		Newest: []answer.LogLeaf{leaf(1233, "agent/"+airID+"/00000003", registry.EventRotated), leaf(1232, "ver/test.ristorante/agis/20260314T092000.000Z-sha256:"+strings.Repeat("ab", 32), ""),
			leaf(1231, s.word("other"), s.word("something")), erased},
		Growth: []answer.GrowthPoint{{At: now.Add(-30 * 24 * time.Hour), Size: 1}, {At: now.Add(-5 * 24 * time.Hour), Size: 800}, {At: now, Size: 1234}},
	}, s.err
}

// both are answers and catalog in one.
type both interface {
	web.Answers
	web.Catalog
}

// replaceable are answers that a test replaces between requests, so that one engine serves all.
type replaceable struct{ both }

// engine mounts the pages over answers as the program does: on the engine of an
// API, here with an empty store.
func engine(t testing.TB, a both) http.Handler {
	t.Helper()
	return mount(t, a, web.Options{Now: func() time.Time { return now }})
}

func mount(t testing.TB, a both, o web.Options) http.Handler {
	t.Helper()
	gin.SetMode(gin.TestMode)
	s := teststore.New(t)
	answers := &answer.Answers{Store: s}
	host, err := api.New(api.Options{Options: route.Options{Answers: answers}})
	if err != nil {
		t.Fatal(err)
	}
	p := web.New(a, a, o)
	p.Mount(host.Engine())
	reference, err := docpages.New(p.Frame, host.OpenAPI(), answers, "https://gazetteer.test")
	if err != nil {
		t.Fatal(err)
	}
	reference.Mount(host.Engine())
	p.MountOperator(host.Operator)
	host.SetNotFound(p.NotFound)
	return listeners{host.Handler(), host.OperatorHandler()}
}

// listeners are the handlers of one server: the public one, and that of its operator.
type listeners struct {
	http.Handler
	operator http.Handler
}

// get asks the handler for a page and returns the answer.
func get(t testing.TB, h http.Handler, target string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	return ask(t, h, http.MethodGet, target, header...)
}

func ask(t testing.TB, h http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, nil)
	r.Header.Set("Accept", "text/html")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Rules, Rule and Validate are the real ones: they need nothing but the text.
func (s sample) Rules(q answer.RuleQuery) []answer.RuleView { return new(answer.Answers).Rules(q) }

func (s sample) Rule(code string) (answer.RuleView, error) {
	if s.err != nil {
		return answer.RuleView{}, s.err
	}
	return new(answer.Answers).Rule(code)
}

func (s sample) CrawlLog(_ context.Context, host string, before time.Time, limit int) ([]crawler.CrawlLogEntry, error) {
	if host == "unknown.test" {
		return nil, answer.ErrNoService
	}
	if host == "empty.test" {
		return nil, s.err
	}
	var out []crawler.CrawlLogEntry
	for i := range limit {
		out = append(out, crawler.CrawlLogEntry{
			Host: host, Visited: []string{host, s.word("other.test")}[i%2], Why: s.word("due again"), At: now.Add(-time.Duration(i) * time.Hour), Interrupted: i%3 == 0,
			Requests: []crawler.Request{{Made: fetch.Made{URL: s.word("https://ristorante.test/robots.txt"), Status: 200 * (i % 2), Took: 7, WireBytes: 12}, Why: s.word("before anything else")}},
		})
	}
	return out, s.err
}

func (s sample) Submit(_ context.Context, hosts []string, _ netip.Addr) ([]answer.Submission, error) {
	if s.err != nil {
		return nil, s.err
	}
	var out []answer.Submission
	for i, host := range hosts {
		state := []string{"waiting", "visited", "refused"}[i%3]
		if state == "visited" {
			host = "ristorante.test"
		}
		out = append(out, answer.Submission{Host: host, State: state, Due: now.Add(time.Second), Detail: s.word("it is an address"), Help: s.word("give a name")})
	}
	return out, nil
}

// Submission knows two hosts, one of them visited.
func (s sample) Submission(_ context.Context, host string) (answer.Submission, error) {
	switch host {
	case "ristorante.test", "empty.test":
		return answer.Submission{Host: host, State: "visited", Visited: now.Add(-time.Minute), Due: now.Add(time.Hour)}, s.err
	case "new.example.com":
		return answer.Submission{Host: host, State: "waiting", Due: now.Add(time.Second)}, s.err
	}
	return answer.Submission{}, fmt.Errorf("%w: %s", answer.ErrNoService, host)
}

// HandleOwnerRequest does as the host's first label says, and else finds no proof.
func (s sample) HandleOwnerRequest(_ context.Context, kind owner.RequestKind, host string, subdomains bool, _ netip.Addr, _ *httpsig.Message) (owner.RequestResult, error) {
	a := owner.RequestResult{Host: host, Request: kind, Subdomains: subdomains, Publish: owner.Publication{Value: "gazetteer-opt-out=" + host}}
	switch {
	case s.err != nil:
		return a, s.err
	case strings.HasPrefix(host, "proved."):
		a.Done, a.Proof = true, s.word("TXT _gazetteer."+host)
	default:
		a.Probes = []registry.Probe{{Query: s.word("TXT " + host), Server: s.word("192.0.2.1:53"), Values: []string{s.word("v=spf1")}, OmittedValues: 2, Problem: s.word("no value is the one that is expected")}}
	}
	return a, nil
}

func (s sample) Recrawl(_ context.Context, host string, _ netip.Addr, _ *httpsig.Message) (answer.Submission, error) {
	return answer.Submission{Host: host, State: "visited", Due: now}, s.err
}

func (s sample) Validate(ctx context.Context, in answer.ValidationRequest) ([]answer.ValidationResult, error) {
	if s.err != nil {
		return nil, s.err
	}
	return (&answer.Answers{Validator: answer.NewValidator(answer.ValidatorOptions{Now: func() time.Time { return now }})}).Validate(ctx, in)
}

// Document is a text of which the second line breaks a rule.
func (s sample) Document(_ context.Context, host string, kind document.Kind, _ string) (answer.RawDocument, error) {
	return answer.RawDocument{Kind: kind, Host: host, Digest: "sha256:" + strings.Repeat("ab", 32), URL: s.word("https://ristorante.test/.well-known/ai"), Bytes: []byte("{\n" + s.word(`  "aiendpoint": "1.0"`) + "\n}\n")}, s.err
}
