package answer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gazetteer/document"
	"gazetteer/index"
	"gazetteer/index/query"
)

// Errors of the catalog. Test with errors.Is.
var (
	ErrNoNamespace = errors.New("no service uses this namespace")
	ErrNoClass     = errors.New("no service declares this data class")
)

// A Relative is an offered verb that is related to another one, with the hosts that offer it.
type Relative struct {
	index.RelatedVerb
	OfferedBy []index.Count `json:"offered_by" doc:"hosts that offer it, those with the most operations first; at most ten"`
}

const (
	// maxFamily is the largest number of relatives of a verb, maxOfferers that of hosts for each.
	maxFamily   = 30
	maxOfferers = 10
)

// Verb returns a verb with its related verbs and the hosts that offer each. The error is
// [ErrNoVerb] if nobody offers it; the relatives are returned all the same. The case of the verb
// does not matter.
func (a *Answers) Verb(ctx context.Context, verb string) (index.VerbCount, []Relative, error) {
	verb = strings.ToUpper(verb)
	related, err := a.Index.VerbFamily(ctx, verb)
	if err != nil {
		return index.VerbCount{}, nil, err
	}
	own := index.VerbCount{Verb: verb}
	family := []Relative{}
	for _, r := range related[:min(len(related), maxFamily)] {
		counts, err := a.Index.Explore(ctx, query.Query{Verbs: []string{r.Verb}}, []string{"host"}, maxOfferers)
		if err != nil {
			return own, nil, err
		}
		family = append(family, Relative{r, OrEmpty(counts["host"])})
		if r.Verb == verb {
			own = r.VerbCount
		}
	}
	if own.Operations == 0 {
		return own, family, fmt.Errorf("%w: %s", ErrNoVerb, verb)
	}
	return own, family, nil
}

// NamespaceCount is one namespace of the catalog.
type NamespaceCount struct {
	Namespace  string `json:"namespace"`
	Operations int    `json:"operations"`
	Services   int    `json:"services"`
}

// Namespaces lists the namespaces that qualify verbs, in order. If a document declares no
// namespace, the domain of its vocabulary is used (AGIS §8.2).
func (a *Answers) Namespaces(ctx context.Context) ([]NamespaceCount, error) {
	values, err := a.Index.Namespaces(ctx)
	list := make([]NamespaceCount, len(values))
	for i, v := range values {
		list[i] = NamespaceCount{v.Value, v.Operations, v.Services}
	}
	return list, err
}

// A Namespace describes one namespace.
type Namespace struct {
	NamespaceCount
	Claims   []Claim       `json:"claims" doc:"the hosts that use it, each with its evidence, the strongest first; at most 100"`
	Concerns []Concern     `json:"concerns,omitempty" doc:"collisions, and possible squatting"`
	Verbs    []index.Count `json:"verbs" doc:"its verbs, the most frequent first"`
}

// Namespace describes a namespace. The case of the name does not matter. The error is
// [ErrNoNamespace] if no service uses it.
func (a *Answers) Namespace(ctx context.Context, name string) (Namespace, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	all, err := a.Namespaces(ctx)
	if err != nil {
		return Namespace{}, err
	}
	at := slices.IndexFunc(all, func(n NamespaceCount) bool { return n.Namespace == name })
	if at < 0 {
		return Namespace{}, fmt.Errorf("%w: %s", ErrNoNamespace, name)
	}
	n := Namespace{NamespaceCount: all[at]}
	if n.Claims, n.Concerns, err = a.judgeClaims(ctx, name); err != nil {
		return n, err
	}
	counts, err := a.Index.Explore(ctx, query.Query{Namespaces: []string{name}}, []string{"verb"}, MaxExplored)
	n.Claims, n.Verbs = OrEmpty(n.Claims), OrEmpty(counts["verb"])
	return n, err
}

// ClassCount is one data class of the catalog.
type ClassCount struct {
	Class      string `json:"class"`
	Operations int    `json:"operations" doc:"of the services that declare it"`
	Services   int    `json:"services"`
}

// DataClasses lists the data classes that services hold, in order.
func (a *Answers) DataClasses(ctx context.Context) ([]ClassCount, error) {
	values, err := a.Index.DataClasses(ctx)
	list := make([]ClassCount, len(values))
	for i, v := range values {
		list[i] = ClassCount{v.Value, v.Operations, v.Services}
	}
	return list, err
}

// A DataClass describes one data class.
type DataClass struct {
	ClassCount
	Holders []Holder `json:"holders" doc:"the services that declare it, those with the most operations first; at most 100"`
}

// A Holder is a service that declares a data class.
type Holder struct {
	Host                  string        `json:"host"`
	Service               string        `json:"service,omitempty"`
	Kind                  document.Kind `json:"kind" doc:"the document with this statement"`
	Operations            int           `json:"operations"`
	Description           string        `json:"description,omitempty" doc:"of the class, by this service"`
	Sensitivity           string        `json:"sensitivity,omitempty"`
	RequiresAuthorization bool          `json:"requires_authorization,omitempty"`
	FetchedAt             time.Time     `json:"fetched_at"`
	Digest                string        `json:"digest"`
}

// DataClass describes a data class. The case of the name does not matter. The error is [ErrNoClass]
// if no service holds it.
func (a *Answers) DataClass(ctx context.Context, name string) (DataClass, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	all, err := a.DataClasses(ctx)
	if err != nil {
		return DataClass{}, err
	}
	at := slices.IndexFunc(all, func(c ClassCount) bool { return c.Class == name })
	if at < 0 {
		return DataClass{}, fmt.Errorf("%w: %s", ErrNoClass, name)
	}
	c := DataClass{ClassCount: all[at], Holders: []Holder{}}
	counts, err := a.Index.Explore(ctx, query.Query{Classes: []string{name}}, []string{"host"}, maxClaims)
	if err != nil {
		return c, err
	}
	for _, host := range counts["host"] {
		holder, found, err := a.readHolder(ctx, host.Value, name)
		if err != nil {
			return c, err
		}
		if found {
			holder.Operations = host.Operations
			c.Holders = append(c.Holders, holder)
		}
	}
	return c, nil
}

// readHolder reads the declaration of a data class in a host's document.
func (a *Answers) readHolder(ctx context.Context, host, class string) (Holder, bool, error) {
	for _, kind := range document.NamespaceKinds() {
		d, there, err := a.readDocument(ctx, host, kind)
		if err != nil {
			return Holder{}, false, err
		}
		at := slices.IndexFunc(d.DataClasses, func(c document.DataClass) bool { return strings.EqualFold(strings.TrimSpace(c.Name), class) })
		if !there || at < 0 {
			continue
		}
		s, err := a.readSummary(ctx, host)
		if err != nil {
			return Holder{}, false, err
		}
		c := d.DataClasses[at]
		return Holder{
			Host: host, Service: s.Name, Kind: kind, Description: c.Description, Sensitivity: c.Sensitivity,
			RequiresAuthorization: c.RequiresAuthorization, FetchedAt: d.FetchedAt, Digest: d.Digest,
		}, true, nil
	}
	return Holder{}, false, nil
}

// MaxExplored is the largest number of values of a field in an answer.
const MaxExplored = 1000
