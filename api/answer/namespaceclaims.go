package answer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/index/query"
	"gazetteer/internal/lookalike"
	"gazetteer/internal/psl"
	"gazetteer/store"
)

// The relations between a host and a namespace, the strongest first. Anybody can write any
// namespace into a document (AGIS §8.2); the owner of a domain is the only thing that a fetch over
// HTTPS proves.
const (
	// relationOwnDomain: the namespace is the host's own domain name.
	relationOwnDomain = "own-domain"
	// relationOwnName: the namespace is, or begins with, the name of the host's domain.
	relationOwnName = "own-name"
	// relationDeclared: the host declares it, and there is no further evidence for or against it.
	relationDeclared = "declared"
	// relationDomainOnly: the host declares no namespace; the domain of its vocabulary, which many
	// hosts may share, qualifies its verbs.
	relationDomainOnly = "domain-only"
	// relationForeignName: the host declares it, but it is the name of another host's
	// domain.
	relationForeignName = "foreign-name"
	// relationForeignDomain: the host declares it, but it is a domain name of others.
	relationForeignDomain = "foreign-domain"
)

// A Claim is the evidence of one host for a namespace that it uses.
type Claim struct {
	Host       string        `json:"host"`
	Service    string        `json:"service,omitempty"`
	Kind       document.Kind `json:"kind" doc:"the document with this statement"`
	Operations int           `json:"operations" doc:"how many operations it qualifies there"`
	// Relation is one of the constants above, Proof the same in words.
	Relation string `json:"relation" doc:"own-domain, own-name, declared, domain-only, foreign-name or foreign-domain"`
	Proof    string `json:"proof" doc:"the relation in words"`
	// Since is when the oldest version of the document was first fetched.
	Since     time.Time `json:"since,omitzero" doc:"when the first version of the document was seen"`
	FetchedAt time.Time `json:"fetched_at"`
	Digest    string    `json:"digest"`
}

// A Concern is a warning about a name for callers.
type Concern struct {
	Code    string   `json:"code" doc:"collision, foreign-domain, foreign-name or lookalike"`
	Message string   `json:"message"`
	Hosts   []string `json:"hosts,omitempty" doc:"those that it is about"`
	Names   []string `json:"names,omitempty" doc:"namespaces that look alike"`
}

// maxClaims is the largest number of hosts that are judged for one namespace.
const maxClaims = 100

// judgeClaims judges every host that uses a namespace, those with the best proof first.
func (a *Answers) judgeClaims(ctx context.Context, namespace string) ([]Claim, []Concern, error) {
	namespace = strings.ToLower(strings.TrimSpace(namespace))
	counts, err := a.Index.Explore(ctx, query.Query{Namespaces: []string{namespace}}, []string{"host"}, MaxExplored)
	if err != nil {
		return nil, nil, err
	}
	owner, err := a.namespaceOwner(ctx, namespace)
	if err != nil {
		return nil, nil, err
	}
	bearers, err := a.hostsNamedLike(ctx, namespace)
	if err != nil {
		return nil, nil, err
	}
	var claims []Claim
	for _, c := range counts["host"][:min(len(counts["host"]), maxClaims)] {
		claim, found, err := a.readClaim(ctx, c.Value, namespace)
		if err != nil {
			return nil, nil, err
		}
		if !found {
			continue // it has changed since it was indexed
		}
		claim.Operations = c.Operations
		claims = append(claims, claim)
		if domainHasName(psl.Domain(c.Value), namespace) && !slices.Contains(bearers, c.Value) {
			bearers = append(bearers, c.Value)
		}
	}
	slices.Sort(bearers)
	for i := range claims {
		claims[i].judgeRelation(namespace, owner, bearers)
	}
	slices.SortStableFunc(claims, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(slices.Index(relationOrder, a.Relation), slices.Index(relationOrder, b.Relation)), a.Since.Compare(b.Since), strings.Compare(a.Host, b.Host))
	})
	concerns, err := a.findConcerns(ctx, namespace, owner, bearers, claims)
	return claims, concerns, err
}

var relationOrder = []string{relationOwnDomain, relationOwnName, relationDeclared, relationDomainOnly, relationForeignName, relationForeignDomain}

// readClaim reads the document of a host that uses a namespace.
func (a *Answers) readClaim(ctx context.Context, host, namespace string) (Claim, bool, error) {
	best, found := Claim{}, false
	for _, kind := range document.NamespaceKinds() {
		d, there, err := a.readDocument(ctx, host, kind)
		if err != nil {
			return best, false, err
		}
		own := strings.EqualFold(strings.TrimSpace(d.Service.Namespace), namespace)
		if !there || !own && (d.Service.Namespace != "" || !strings.EqualFold(strings.TrimSpace(d.Service.Domain), namespace)) {
			continue
		}
		s, err := a.readSummary(ctx, host)
		if err != nil {
			return best, false, err
		}
		best = Claim{Host: host, Service: s.Name, Kind: kind, FetchedAt: d.FetchedAt, Digest: d.Digest, Relation: relationDomainOnly}
		if own {
			best.Relation = relationDeclared
		}
		found = true
		break
	}
	if !found {
		return best, false, nil
	}
	for record, err := range a.Store.List(ctx, store.VersionsOf(host, string(best.Kind)), "") {
		if err != nil {
			return best, false, fmt.Errorf("list the versions of %s of %s: %w", best.Kind, host, err)
		}
		v, err := decodeRecord[Version](record)
		if err != nil {
			return best, false, err
		}
		best.Since = v.Seen
		break
	}
	return best, true, nil
}

// NamespaceClaim is the evidence of one host for the namespace of its documents, false if it
// declares none.
func (a *Answers) NamespaceClaim(ctx context.Context, host, namespace string) (Claim, bool, error) {
	namespace = strings.ToLower(strings.TrimSpace(namespace))
	if namespace == "" {
		return Claim{}, false, nil
	}
	claim, found, err := a.readClaim(ctx, host, namespace)
	if err != nil || !found {
		return Claim{}, false, err
	}
	owner, err := a.namespaceOwner(ctx, namespace)
	if err != nil {
		return Claim{}, false, err
	}
	bearers, err := a.hostsNamedLike(ctx, namespace)
	if err != nil {
		return Claim{}, false, err
	}
	claim.judgeRelation(namespace, owner, bearers)
	return claim, true, nil
}

// Foreign reports whether the namespace is the name of somebody else's domain.
func (c Claim) Foreign() bool {
	return c.Relation == relationForeignName || c.Relation == relationForeignDomain
}

// judgeRelation completes a claim: owner is the registrable domain that the namespace
// names, "" for none, and bearers are the known hosts whose domain bears its name.
func (c *Claim) judgeRelation(namespace, owner string, bearers []string) {
	site := psl.Domain(c.Host)
	switch {
	case c.Relation == relationDomainOnly:
		c.Proof = fmt.Sprintf("the document declares no namespace; %q is the domain of its vocabulary, which anybody may share", namespace)
	case owner != "" && owner == site:
		c.Relation = relationOwnDomain
		c.Proof = fmt.Sprintf("the namespace is a name of the domain %s, from which the document was fetched over HTTPS", owner)
	case owner != "":
		c.Relation = relationForeignDomain
		c.Proof = fmt.Sprintf("the namespace is a name of the domain %s, and the host belongs to %s", owner, site)
	case domainHasName(site, namespace):
		c.Relation = relationOwnName
		c.Proof = fmt.Sprintf("the namespace begins with the name of the domain %s, from which the document was fetched over HTTPS", site)
	case hostHasName(c.Host, namespace):
		c.Relation = relationOwnName
		c.Proof = fmt.Sprintf("the namespace begins with the name of the host %s, from which the document was fetched over HTTPS", c.Host)
	case len(bearers) > 0:
		c.Relation = relationForeignName
		c.Proof = fmt.Sprintf("the document declares the namespace %.80q, which begins with the name of another domain: %s", namespace, psl.Domain(bearers[0]))
	default:
		c.Proof = "the document declares the namespace; a namespace is not reserved, so nothing more can be shown"
	}
}

// domainHasName reports whether a namespace is the name of a registrable domain, without
// its public suffix, or begins with it: acme-reservations on acme.example.
func domainHasName(site, namespace string) bool {
	name, _, _ := strings.Cut(site, ".")
	rest, found := strings.CutPrefix(namespace, name)
	return found && name != "" && (rest == "" || strings.IndexByte(namespaceSeparators, rest[0]) >= 0)
}

// hostHasName reports whether a namespace is the name of a host, without its public suffix and with any signs
// between the labels, or begins with it: files-acme on files.acme.example. The name of the registrable domain
// is then part of the namespace, which so is not the name of another domain alone.
func hostHasName(host, namespace string) bool {
	_, suffix, _ := strings.Cut(psl.Domain(host), ".")
	name := strings.ReplaceAll(strings.TrimSuffix(host, "."+suffix), ".", "-")
	rest, found := strings.CutPrefix(strings.Map(func(r rune) rune {
		if strings.ContainsRune(namespaceSeparators, r) {
			return '-'
		}
		return r
	}, namespace), name)
	return found && name != "" && (rest == "" || rest[0] == '-')
}

// namespaceSeparators are the signs between the words of a namespace.
const namespaceSeparators = "-_.:/"

// namespaceOwner returns the registrable domain that a namespace names, in the order of
// the DNS or in reverse (com.example.shop), and "" for one that is no domain name:
// a word with a dot in it is one if its end is a known public suffix, or a host of
// that domain is known here.
func (a *Answers) namespaceOwner(ctx context.Context, namespace string) (string, error) {
	if !strings.Contains(namespace, ".") {
		return "", nil
	}
	labels := strings.Split(namespace, ".")
	slices.Reverse(labels)
	for _, name := range []string{namespace, strings.Join(labels, ".")} {
		host, err := fetch.CheckHost(name)
		if err != nil {
			continue
		}
		site := psl.Domain(host)
		suffix, listed := publicsuffix.PublicSuffix(host)
		if (listed || strings.Contains(suffix, ".")) && site != suffix {
			return site, nil
		}
		for _, known := range []string{host, site} {
			if _, there, err := a.HostKnown(ctx, known); err != nil || there {
				return site, err
			}
		}
	}
	return "", nil
}

// maxNamedHosts is the largest number of hosts listed because their domain has a name.
const maxNamedHosts = 10

// hostsNamedLike returns hosts with documents here whose registrable domain has the name that a
// namespace is, or begins with.
func (a *Answers) hostsNamedLike(ctx context.Context, namespace string) ([]string, error) {
	words := []string{namespace}
	if first := strings.FieldsFunc(namespace, func(r rune) bool { return strings.ContainsRune(namespaceSeparators, r) }); len(first) > 1 {
		words = append(words, first[0])
	}
	var hosts []string
	for _, word := range words {
		suggestions, err := a.Index.Suggest(ctx, "", word, MaxLimit, index.SuggestService)
		if err != nil {
			return nil, err
		}
		for _, s := range suggestions {
			if domainHasName(psl.Domain(s.Text), namespace) && !slices.Contains(hosts, s.Text) && len(hosts) < maxNamedHosts {
				hosts = append(hosts, s.Text)
			}
		}
	}
	return hosts, nil
}

// findConcerns returns the concerns about a namespace as a whole.
func (a *Answers) findConcerns(ctx context.Context, namespace, owner string, bearers []string, claims []Claim) ([]Concern, error) {
	var concerns []Concern
	var foreign, named, declaring []string
	sites := map[string]bool{}
	for _, c := range claims {
		switch c.Relation {
		case relationDomainOnly:
			continue
		case relationForeignDomain:
			foreign = append(foreign, c.Host)
		case relationForeignName:
			named = append(named, c.Host)
		}
		declaring = append(declaring, c.Host)
		sites[psl.Domain(c.Host)] = true
	}
	if len(sites) > 1 {
		concerns = append(concerns, Concern{
			Code: "collision", Hosts: declaring,
			Message: fmt.Sprintf("hosts of %d domains declare the namespace %.80q; nobody can reserve a namespace, so compare the evidence of each", len(sites), namespace),
		})
	}
	if len(foreign) > 0 {
		concerns = append(concerns, Concern{
			Code: relationForeignDomain, Hosts: foreign,
			Message: fmt.Sprintf("the namespace is a name of the domain %s, to which these hosts do not belong: they may be squatting", owner),
		})
	}
	if len(named) > 0 {
		concerns = append(concerns, Concern{
			Code: relationForeignName, Hosts: named,
			Message: "the namespace begins with the name of another domain (" + strings.Join(registrableDomains(bearers), ", ") + "): these hosts may be squatting on it",
		})
	}
	alike, err := a.FindLookalikes(ctx, namespace)
	if err == nil && len(alike) > 0 {
		concerns = append(concerns, Concern{
			Code: "lookalike", Names: alike,
			Message: "other namespaces look similar: make sure that this is the right one",
		})
	}
	return concerns, err
}

// registrableDomains returns the registrable domains of hosts, each once.
func registrableDomains(hosts []string) []string {
	var sites []string
	for _, h := range hosts {
		if site := psl.Domain(h); !slices.Contains(sites, site) {
			sites = append(sites, site)
		}
	}
	return sites
}

// maxLookalikes is the largest number of similar namespaces in an answer.
const maxLookalikes = 10

// FindLookalikes returns the other namespaces that a person could confuse with this one.
func (a *Answers) FindLookalikes(ctx context.Context, namespace string) ([]string, error) {
	all, err := a.Index.Namespaces(ctx)
	if err != nil {
		return nil, err
	}
	var alike []string
	mine := lookalike.Skeleton(namespace)
	for _, v := range all {
		if v.Value != namespace && mine != "" && lookalike.Skeleton(v.Value) == mine && len(alike) < maxLookalikes {
			alike = append(alike, v.Value)
		}
	}
	return alike, nil
}
