package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"golang.org/x/net/publicsuffix"
	"golang.org/x/text/unicode/norm"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/index"
	"gazetteer/store"
)

// What a host has to show for a namespace, the strongest first. A namespace is
// anybody's to write into a document (AGIS §8.2); who a domain belongs to is the
// only thing that a fetch over https proves.
const (
	// ownDomain: the namespace is a domain name, and that of the host.
	ownDomain = "own-domain"
	// ownName: the namespace is, or begins with, the name of the host's domain.
	ownName = "own-name"
	// declared: the host declares it, and nothing else speaks for it or against.
	declared = "declared"
	// domainOnly: the host declares no namespace; the domain of its vocabulary
	// qualifies its verbs, which many may share.
	domainOnly = "domain-only"
	// foreignName: the host declares it, but it is the name of another host's
	// domain.
	foreignName = "foreign-name"
	// foreignDomain: the host declares it, but it is a domain name of others.
	foreignDomain = "foreign-domain"
)

// A Claim is what one host has to show for a namespace that it uses.
type Claim struct {
	Host       string        `json:"host"`
	Service    string        `json:"service,omitempty"`
	Kind       document.Kind `json:"kind" doc:"the document that says so"`
	Operations int           `json:"operations" doc:"how many operations it qualifies there"`
	// Relation is one of the constants above, Proof the same in words.
	Relation string `json:"relation" doc:"own-domain, own-name, declared, domain-only, foreign-name or foreign-domain"`
	Proof    string `json:"proof" doc:"the relation in words"`
	// Since is when the oldest version of the document was seen.
	Since     time.Time `json:"since,omitzero" doc:"when the first version of the document was seen"`
	FetchedAt time.Time `json:"fetched_at"`
	Digest    string    `json:"digest"`
}

// A Concern is something about a name that a caller should know before using it.
type Concern struct {
	Code    string   `json:"code" doc:"collision, foreign-domain, foreign-name or lookalike"`
	Message string   `json:"message"`
	Hosts   []string `json:"hosts,omitempty" doc:"those that it is about"`
	Names   []string `json:"names,omitempty" doc:"namespaces that look alike"`
}

// maxClaims is how many hosts are judged for one namespace.
const maxClaims = 100

// claims judges every host that uses a namespace, the best proved first.
func (a *Answers) claims(ctx context.Context, namespace string) ([]Claim, []Concern, error) {
	namespace = strings.ToLower(strings.TrimSpace(namespace))
	counts, err := a.Index.Explore(ctx, index.Query{Namespaces: []string{namespace}}, []string{"host"}, maxExplored)
	if err != nil {
		return nil, nil, err
	}
	owner, err := a.ownerOf(ctx, namespace)
	if err != nil {
		return nil, nil, err
	}
	bearers, err := a.bearers(ctx, namespace)
	if err != nil {
		return nil, nil, err
	}
	var claims []Claim
	for _, c := range counts["host"][:min(len(counts["host"]), maxClaims)] {
		claim, found, err := a.claim(ctx, c.Value, namespace)
		if err != nil {
			return nil, nil, err
		}
		if !found {
			continue // it has changed since it was indexed
		}
		claim.Operations = c.Operations
		claims = append(claims, claim)
		if bears(registrable(c.Value), namespace) && !slices.Contains(bearers, c.Value) {
			bearers = append(bearers, c.Value)
		}
	}
	slices.Sort(bearers)
	for i := range claims {
		claims[i].judge(namespace, owner, bearers)
	}
	slices.SortStableFunc(claims, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(slices.Index(relations, a.Relation), slices.Index(relations, b.Relation)), a.Since.Compare(b.Since), strings.Compare(a.Host, b.Host))
	})
	concerns, err := a.concerns(ctx, namespace, owner, bearers, claims)
	return claims, concerns, err
}

var relations = []string{ownDomain, ownName, declared, domainOnly, foreignName, foreignDomain}

// claim reads the document of a host that uses a namespace.
func (a *Answers) claim(ctx context.Context, host, namespace string) (Claim, bool, error) {
	best, found := Claim{}, false
	for _, kind := range []document.Kind{document.AGIS, document.AGISSummary, document.AI, document.AIAlias} {
		d, there, err := a.document(ctx, host, kind)
		if err != nil {
			return best, false, err
		}
		own := strings.EqualFold(strings.TrimSpace(d.Service.Namespace), namespace)
		if !there || !own && (d.Service.Namespace != "" || !strings.EqualFold(strings.TrimSpace(d.Service.Domain), namespace)) {
			continue
		}
		best = Claim{Host: host, Service: d.Service.Name, Kind: kind, FetchedAt: d.FetchedAt, Digest: d.Digest, Relation: domainOnly}
		if own {
			best.Relation = declared
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
		v, err := decode[Version](record)
		if err != nil {
			return best, false, err
		}
		best.Since = v.Seen
		break
	}
	return best, true, nil
}

// judge completes a claim: owner is the registrable domain that the namespace
// names, "" for none, and bearers are the known hosts whose domain bears its name.
func (c *Claim) judge(namespace, owner string, bearers []string) {
	site := registrable(c.Host)
	switch {
	case c.Relation == domainOnly:
		c.Proof = fmt.Sprintf("the document declares no namespace; %q is the domain of its vocabulary, which anybody may share", namespace)
	case owner != "" && owner == site:
		c.Relation = ownDomain
		c.Proof = fmt.Sprintf("the namespace is a name of the domain %s, from which the document was fetched over https", owner)
	case owner != "":
		c.Relation = foreignDomain
		c.Proof = fmt.Sprintf("the namespace is a name of the domain %s, and the host belongs to %s", owner, site)
	case bears(site, namespace):
		c.Relation = ownName
		c.Proof = fmt.Sprintf("the namespace is the name of the domain %s, from which the document was fetched over https", site)
	case len(bearers) > 0:
		c.Relation = foreignName
		c.Proof = fmt.Sprintf("the document declares the namespace, which is the name of another domain: %s", registrable(bearers[0]))
	default:
		c.Proof = "the document declares the namespace; a namespace is not reserved, so nothing more can be shown"
	}
}

// registrable is the registrable domain of a host, or the host where it has none.
func registrable(host string) string {
	if site, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return site
	}
	return host
}

// bears reports whether a namespace is the name of a registrable domain, without
// its public suffix, or begins with it: acme-reservations on acme.example.
func bears(site, namespace string) bool {
	name, _, _ := strings.Cut(site, ".")
	rest, found := strings.CutPrefix(namespace, name)
	return found && name != "" && (rest == "" || strings.IndexByte("-_.:/", rest[0]) >= 0)
}

// ownerOf returns the registrable domain that a namespace names, in the order of
// the DNS or in reverse (com.example.shop), and "" for one that is no domain name:
// a word with a dot in it is one if its end is a known public suffix, or a host of
// that domain is known here.
func (a *Answers) ownerOf(ctx context.Context, namespace string) (string, error) {
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
		site := registrable(host)
		suffix, listed := publicsuffix.PublicSuffix(host)
		if (listed || strings.Contains(suffix, ".")) && site != suffix {
			return site, nil
		}
		for _, known := range []string{host, site} {
			if _, there, err := a.known(ctx, known); err != nil || there {
				return site, err
			}
		}
	}
	return "", nil
}

// maxBearers is how many hosts are named whose domain bears a name.
const maxBearers = 10

// bearers returns hosts that publish something here and whose registrable domain
// bears the name that a namespace is, or begins with.
func (a *Answers) bearers(ctx context.Context, namespace string) ([]string, error) {
	words := []string{namespace}
	if first := strings.FieldsFunc(namespace, func(r rune) bool { return strings.ContainsRune("-_.:/", r) }); len(first) > 1 {
		words = append(words, first[0])
	}
	var hosts []string
	for _, word := range words {
		suggestions, err := a.Index.Suggest(ctx, word, maxLimit, index.SuggestService)
		if err != nil {
			return nil, err
		}
		for _, s := range suggestions {
			if bears(registrable(s.Text), namespace) && !slices.Contains(hosts, s.Text) && len(hosts) < maxBearers {
				hosts = append(hosts, s.Text)
			}
		}
	}
	return hosts, nil
}

// concerns says what is wrong about a namespace as a whole.
func (a *Answers) concerns(ctx context.Context, namespace, owner string, bearers []string, claims []Claim) ([]Concern, error) {
	var concerns []Concern
	var foreign, named, declaring []string
	sites := map[string]bool{}
	for _, c := range claims {
		switch c.Relation {
		case domainOnly:
			continue
		case foreignDomain:
			foreign = append(foreign, c.Host)
		case foreignName:
			named = append(named, c.Host)
		}
		declaring = append(declaring, c.Host)
		sites[registrable(c.Host)] = true
	}
	if len(sites) > 1 {
		concerns = append(concerns, Concern{
			Code: "collision", Hosts: declaring,
			Message: fmt.Sprintf("hosts of %d domains declare the namespace %.80q; a namespace is not reserved, so compare what each has to show", len(sites), namespace),
		})
	}
	if len(foreign) > 0 {
		concerns = append(concerns, Concern{
			Code: foreignDomain, Hosts: foreign,
			Message: fmt.Sprintf("the namespace is a name of the domain %s, to which these hosts do not belong: they may be squatting on it", owner),
		})
	}
	if len(named) > 0 {
		concerns = append(concerns, Concern{
			Code: foreignName, Hosts: named,
			Message: "the namespace is the name of another domain (" + strings.Join(sitesOf(bearers), ", ") + "): these hosts may be squatting on it",
		})
	}
	alike, err := a.lookalikes(ctx, namespace)
	if err == nil && len(alike) > 0 {
		concerns = append(concerns, Concern{
			Code: "lookalike", Names: alike,
			Message: "other namespaces look nearly like this one: make sure that it is the one that is meant",
		})
	}
	return concerns, err
}

// sitesOf are the registrable domains of hosts, each once.
func sitesOf(hosts []string) []string {
	var sites []string
	for _, h := range hosts {
		if site := registrable(h); !slices.Contains(sites, site) {
			sites = append(sites, site)
		}
	}
	return sites
}

// maxAlike is how many namespaces are named that look alike.
const maxAlike = 10

// lookalikes returns the other namespaces that a person could take for this one.
func (a *Answers) lookalikes(ctx context.Context, namespace string) ([]string, error) {
	all, err := a.Index.Namespaces(ctx)
	if err != nil {
		return nil, err
	}
	var alike []string
	mine := skeleton(namespace)
	for _, v := range all {
		if v.Value != namespace && mine != "" && skeleton(v.Value) == mine && len(alike) < maxAlike {
			alike = append(alike, v.Value)
		}
	}
	return alike, nil
}

// confusable maps characters to the one that they are taken for: the digits and
// capitals of any sans-serif face, and the letters of other scripts that UTS #39
// holds to be the same as a Latin one.
var confusable = strings.NewReplacer(
	"0", "o", "1", "l", "i", "l", "5", "s", "rn", "m", "vv", "w",
	"а", "a", "с", "c", "ԁ", "d", "е", "e", "һ", "h", "і", "l", "ј", "j", "ӏ", "l", "о", "o", "р", "p", "ѕ", "s", "у", "y", "х", "x", "ԛ", "q", "ԝ", "w",
	"α", "a", "ι", "l", "ν", "v", "ο", "o", "ρ", "p", "υ", "u",
)

// skeleton reduces a name to what remains when it is only glanced at.
func skeleton(name string) string {
	name = strings.ToLower(norm.NFKC.String(name))
	return confusable.Replace(strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return r
	}, name))
}
