package index

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"gazetteer/document"
	"gazetteer/index/query"
	"gazetteer/index/semantic"
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
	embeddingPart = 0.7
	classPart     = 0.15
	verbPart      = 0.15
)

// Similar returns the services most like that of a host, at most limit (10 when 0,
// at most 100), best first. It is empty for a host that is not known. Hosts are
// compared document by document, and each is named once.
func (x *Index) Similar(ctx context.Context, host string, limit int) ([]SimilarService, error) {
	if limit == 0 {
		limit = 10
	}
	if limit < 1 || limit > query.MaxLimit {
		return nil, &query.Error{Message: "a limit out of range", Help: "ask for 1 to 100 services"}
	}
	similar := []SimilarService{}
	err := x.withSnapshot(func(v *view, _ uint64) error {
		profiles, err := v.listProfiles(ctx)
		if err != nil {
			return err
		}
		for _, l := range mostSimilar(profiles, query.CanonicalHost(host), limit) {
			s, err := x.similarService(ctx, l)
			if err != nil {
				return err
			}
			similar = append(similar, s)
		}
		return nil
	})
	return similar, err
}

// A profile sums up one version of a document: what its operations mean on
// average, and the names of its data classes and verbs, sorted.
type profile struct {
	mean           semantic.Embedding
	classes, verbs []string
}

// profiles are those of a segment, by run. They are made when somebody first asks
// for them, and stay true as the segment does.
type profiles struct {
	mu    sync.Mutex // guards following
	byRun []profile
}

// A profiled document is one that a search may return operations of.
type profiled struct {
	source
	*profile
}

// listProfiles returns those of all documents that a search may return operations of.
func (v *view) listProfiles(ctx context.Context) ([]profiled, error) {
	var all []profiled
	for i, s := range v.snapshot.Segments() {
		vs := &v.segments[i]
		byRun, err := vs.readProfiles(ctx, s)
		if err != nil {
			return nil, err
		}
		for r := range vs.runs {
			if vs.searchable.hasAny(vs.operationsOf(uint32(r))) {
				all = append(all, profiled{vs.runs[r].source, &byRun[r]})
			}
		}
	}
	return all, nil
}

// readProfiles returns the profiles of a segment's runs.
func (d *segmentData) readProfiles(ctx context.Context, s *scorch.SegmentSnapshot) ([]profile, error) {
	d.profiles.mu.Lock()
	defer d.profiles.mu.Unlock()
	if d.profiles.byRun != nil {
		return d.profiles.byRun, nil
	}
	classes, err := d.readColumn(s, query.ClassField)
	if err != nil {
		return nil, err
	}
	verbs, err := d.readColumn(s, query.VerbField)
	if err != nil {
		return nil, err
	}
	byRun := make([]profile, len(d.runs))
	for r := range byRun {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var used []uint32
		sum := make([]float32, d.meanings.dim)
		for n, to := d.operationsOf(uint32(r)); n < to; n++ {
			m := d.meanings.embeddingOf(n)
			for i, x := range m.Vector {
				sum[i] += m.Scale * float32(x)
			}
			used = append(used, verbs.valueOf(n))
		}
		byRun[r] = profile{mean: semantic.NewEmbedding(sum), classes: classes.valueNames(classes.runs[r]), verbs: verbs.valueNames(used)}
	}
	d.profiles.byRun = byRun
	return byRun, nil
}

// valueNames returns values of the column, sorted and each once, without that of
// nothing.
func (c *column) valueNames(at []uint32) []string {
	at = slices.Clone(at)
	slices.Sort(at) // as the values are
	var names []string
	for _, i := range slices.Compact(at) {
		if c.values[i] != "" {
			names = append(names, c.values[i])
		}
	}
	return names
}

// A likeness is how much a document is like one of a host.
type similarity struct {
	own, other *profiled
	score      float64
}

// mostSimilar returns the documents that are most like those of a host, the best of
// each other host, best first.
func mostSimilar(all []profiled, host string, limit int) []similarity {
	best := make(map[string]similarity)
	for i := range all {
		own := &all[i]
		if own.host != host {
			continue
		}
		for j := range all {
			other := &all[j]
			if other.host == host {
				continue
			}
			l := similarity{own, other, own.similarityTo(other.profile)}
			if old, met := best[other.host]; !met || l.score > old.score {
				best[other.host] = l
			}
		}
	}
	ordered := slices.SortedFunc(maps.Values(best), func(a, b similarity) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.other.host, b.other.host))
	})
	return ordered[:min(limit, len(ordered))]
}

// similarityTo returns how much two documents are alike, 0 to 1.
func (p *profile) similarityTo(other *profile) float64 {
	return embeddingPart*max(0, float64(p.mean.Cosine(other.mean))) +
		classPart*overlapShare(p.classes, other.classes) + verbPart*overlapShare(p.verbs, other.verbs)
}

// similarService tells of a likeness what an answer tells.
func (x *Index) similarService(ctx context.Context, l similarity) (SimilarService, error) {
	s := SimilarService{Host: l.other.host, Kind: l.other.kind, Score: l.score,
		Classes: slices.Collect(intersectSorted(l.own.classes, l.other.classes)), Verbs: slices.Collect(intersectSorted(l.own.verbs, l.other.verbs))}
	t, err := x.documents.readDocument(ctx, l.other.source)
	if err != nil {
		return SimilarService{}, err
	}
	if t != nil {
		s.Service = t.Service
	}
	return s, nil
}

// intersectSorted yields what is in two sorted lists.
func intersectSorted(a, b []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(a) > 0 && len(b) > 0 {
			switch c := strings.Compare(a[0], b[0]); {
			case c < 0:
				a = a[1:]
			case c > 0:
				b = b[1:]
			default:
				if !yield(a[0]) {
					return
				}
				a, b = a[1:], b[1:]
			}
		}
	}
}

// overlapShare is how many of the names in either list are in both.
func overlapShare(a, b []string) float64 {
	n := 0
	for range intersectSorted(a, b) {
		n++
	}
	if n == 0 {
		return 0
	}
	return float64(n) / float64(len(a)+len(b)-n)
}
