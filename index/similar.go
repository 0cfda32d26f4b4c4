package index

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"gazetteer/document"
	"gazetteer/index/wordvec"
)

// A SimilarService is a service that does much of what another does.
type SimilarService struct {
	Host    string           `json:"host"`
	Kind    document.Kind    `json:"kind"`
	Service document.Service `json:"service"`
	Score   float64          `json:"score"` // 0 to 1
	// Classes and Verbs are those that both have, sorted.
	Classes []string `json:"classes,omitempty"`
	Verbs   []string `json:"verbs,omitempty"`
}

// The parts of a similarity: the cosine of what the two services' operations mean
// on average, and how much of their data classes and of their verbs they share
// (of all that either has).
const (
	meaningPart = 0.7
	classPart   = 0.15
	verbPart    = 0.15
)

// Similar returns the services most like that of a host, at most limit (10 when 0,
// at most 100), best first. It is empty for a host that is not known. Hosts are
// compared document by document, and each is named once.
func (x *Index) Similar(ctx context.Context, host string, limit int) ([]SimilarService, error) {
	if limit == 0 {
		limit = 10
	}
	if limit < 1 || limit > maxLimit {
		return nil, &QueryError{Message: "a limit out of range", Help: "ask for 1 to 100 services"}
	}
	similar := []SimilarService{}
	err := x.read(func(l *live, _ uint64, snapshot *scorch.IndexSnapshot, v *view) error {
		profiles, err := v.profiles(ctx, snapshot)
		if err != nil {
			return err
		}
		similar, err = x.similarTo(ctx, profiles, canonicalHost(host), limit)
		return err
	})
	return similar, err
}

// A profile sums up one document.
type profile struct {
	*run
	mean           meaning
	classes, verbs map[string]bool
}

// profiles sums up all documents that a search may return operations of.
func (v *view) profiles(ctx context.Context, snapshot *scorch.IndexSnapshot) ([]profile, error) {
	var all []profile
	for i, s := range snapshot.Segments() {
		vs := &v.segments[i]
		classes, err := vs.column(s, classField)
		if err != nil {
			return nil, err
		}
		verbs, err := vs.column(s, verbField)
		if err != nil {
			return nil, err
		}
		for r := range vs.runs {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			p := profile{run: &vs.runs[r], classes: make(map[string]bool), verbs: make(map[string]bool)}
			sum := make([]float32, vs.meanings.dim)
			for _, n := range vs.operationsOf(uint32(r)) {
				if !vs.searched.has(n) {
					continue
				}
				m := vs.meanings.at(n)
				for i, x := range m.vector {
					sum[i] += m.scale * float32(x)
				}
				p.verbs[verbs.values[verbs.of(n)]] = true
			}
			if len(p.verbs) == 0 {
				continue
			}
			delete(p.verbs, "")
			for _, at := range classes.runs[r] {
				p.classes[classes.values[at]] = true
			}
			p.mean = newMeaning(sum)
			all = append(all, p)
		}
	}
	return all, nil
}

// similarTo orders profiles by how much they are like those of a host.
func (x *Index) similarTo(ctx context.Context, profiles []profile, host string, limit int) ([]SimilarService, error) {
	best := make(map[string]SimilarService)
	for _, own := range profiles {
		if own.host != host {
			continue
		}
		for _, other := range profiles {
			if other.host == host {
				continue
			}
			s := SimilarService{Host: other.host, Kind: other.kind}
			var classes, verbs float64
			s.Classes, classes = shared(own.classes, other.classes)
			s.Verbs, verbs = shared(own.verbs, other.verbs)
			cosine := float64(wordvec.DotInt8(own.mean.vector, other.mean.vector)) * float64(own.mean.scale) * float64(other.mean.scale)
			s.Score = meaningPart*max(0, cosine) + classPart*classes + verbPart*verbs
			if old, met := best[s.Host]; !met || s.Score > old.Score {
				best[s.Host] = s
			}
		}
	}
	similar := []SimilarService{}
	for _, s := range best {
		similar = append(similar, s)
	}
	slices.SortFunc(similar, func(a, b SimilarService) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Host, b.Host))
	})
	similar = similar[:min(limit, len(similar))]
	for i := range similar {
		t, err := x.texts.find(ctx, source{similar[i].Host, similar[i].Kind})
		if err != nil {
			return nil, err
		}
		if t != nil {
			similar[i].Service = t.Service
		}
	}
	return similar, nil
}

// shared returns what is in both sets, sorted, and its share of what is in either.
func shared(a, b map[string]bool) ([]string, float64) {
	var both []string
	for value := range a {
		if b[value] {
			both = append(both, value)
		}
	}
	slices.Sort(both)
	if len(both) == 0 {
		return nil, 0
	}
	return both, float64(len(both)) / float64(len(a)+len(b)-len(both))
}
