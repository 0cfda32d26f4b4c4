package view

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"gazetteer/index/entry"
	"gazetteer/index/query"
	"gazetteer/index/semantic"
	"gazetteer/index/tokens"
)

// The weights of the parts of a similarity: the cosine of the mean embeddings of the two services'
// operations, and the shares of data classes and of verbs that both have.
const (
	embeddingPart = 0.7
	classPart     = 0.15
	verbPart      = 0.15
)

// A DocumentProfile summarizes one version of a document: the mean embedding of its operations, and the
// sorted names of its data classes and verbs.
type DocumentProfile struct {
	mean           semantic.Embedding
	Classes, Verbs []string

	classBits, verbBits uint64 // one for the hash of each name
}

// profiles has the profiles of a segment, by run. They are made on first use and stay valid because
// a segment never changes.
type profiles struct {
	mu    sync.Mutex // guards the following fields
	byRun []DocumentProfile
}

// A profiledDocument is a document with operations that a search may return.
type profiledDocument struct {
	entry.Source
	*DocumentProfile
}

// ListProfiles returns the profiles of all documents with operations that a search may return. The
// list is made once for each view.
func (v *View) ListProfiles(ctx context.Context) ([]profiledDocument, error) {
	v.profilesMu.Lock()
	defer v.profilesMu.Unlock()
	if v.profiled != nil {
		return v.profiled, nil
	}
	shared, err := v.columnsOf(query.ClassField)
	if err != nil {
		return nil, err
	}
	var all []profiledDocument
	for i, s := range v.snapshot.Segments() {
		vs := &v.Segments[i]
		byRun, err := vs.readProfiles(ctx, s)
		if err != nil {
			return nil, err
		}
		for r := range vs.Runs {
			if vs.Searchable.HasAny(vs.OperationsOf(uint32(r))) {
				all = append(all, profiledDocument{vs.Runs[r].Source, byRun[r].withClasses(shared.columns[i], r)})
			}
		}
	}
	v.profiled = all
	return all, nil
}

// withClasses returns the profile with the data classes that a column has for the document.
func (p *DocumentProfile) withClasses(c *column, run int) *DocumentProfile {
	if len(c.runs[run]) == len(p.Classes) {
		return p
	}
	extended := *p
	extended.Classes = slices.Clone(p.Classes)
	for _, at := range c.runs[run] {
		extended.Classes = append(extended.Classes, c.values[at])
	}
	slices.Sort(extended.Classes)
	extended.Classes = slices.Compact(extended.Classes)
	for _, bit := range hashBits(extended.Classes) {
		extended.classBits |= bit
	}
	return &extended
}

// readProfiles returns the profiles of a segment's runs.
func (d *SegmentData) readProfiles(ctx context.Context, s *scorch.SegmentSnapshot) ([]DocumentProfile, error) {
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
	byRun := make([]DocumentProfile, len(d.Runs))
	means := make([]int8, len(d.Runs)*d.Meanings.Dim) // side by side, because they are read one after the other
	for r := range byRun {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var used []uint32
		sum := make([]float32, d.Meanings.Dim)
		for n, to := d.OperationsOf(uint32(r)); n < to; n++ {
			m := d.Meanings.EmbeddingOf(n)
			for i, x := range m.Vector {
				sum[i] += m.Scale * float32(x)
			}
			used = append(used, verbs.valueOf(n))
		}
		p := DocumentProfile{mean: semantic.NewEmbedding(sum), Classes: classes.valueNames(classes.runs[r]), Verbs: verbs.valueNames(used)}
		at := means[r*d.Meanings.Dim : (r+1)*d.Meanings.Dim]
		copy(at, p.mean.Vector)
		p.mean.Vector = at
		for _, bit := range hashBits(p.Classes) {
			p.classBits |= bit
		}
		for _, bit := range hashBits(p.Verbs) {
			p.verbBits |= bit
		}
		byRun[r] = p
	}
	d.profiles.byRun = byRun
	return byRun, nil
}

// A Similarity is the similarity of a document to one of a host.
type Similarity struct {
	Own, Other *profiledDocument
	Score      float64
}

// MostSimilar returns the documents that are most similar to those of a host, the best of each
// other host, best first.
func MostSimilar(all []profiledDocument, host string, limit int) []Similarity {
	best := make(map[string]Similarity)
	cosines := make([]float32, len(all))
	for i := range all {
		if all[i].Host == host {
			addMostSimilar(best, all, cosines, &all[i], limit)
		}
	}
	ordered := slices.SortedFunc(maps.Values(best), func(a, b Similarity) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Other.Host, b.Other.Host))
	})
	return ordered[:min(limit, len(ordered))]
}

// surePlaces is the number of documents that are compared in full for each requested one, before
// the cosine excludes any.
const surePlaces = 8

// addMostSimilar adds the documents that are most similar to own to the best of each host, for at
// least limit hosts. It compares a document in full only if its cosine and the bits of its names leave
// it a chance to be among them. room is a buffer for the cosines.
func addMostSimilar(best map[string]Similarity, all []profiledDocument, cosines []float32, own *profiledDocument, limit int) {
	for j := range all {
		if cosines[j] = -1; all[j].Host != own.Host {
			cosines[j] = max(0, own.mean.Cosine(all[j].mean))
		}
	}
	sure := nthLargest(slices.Clone(cosines), min(surePlaces*limit, len(cosines)))
	compare := func(j int) {
		other := &all[j]
		s := Similarity{own, other, own.similarityTo(other.DocumentProfile)}
		if old, met := best[other.Host]; !met || s.Score > old.Score {
			best[other.Host] = s
		}
	}
	for j, c := range cosines {
		if c >= max(sure, 0) {
			compare(j)
		}
	}
	classBits, verbBits := hashBits(own.Classes), hashBits(own.Verbs)
	least := 0.0 // the score of the last requested one
	if len(best) >= limit {
		scores := make([]float64, 0, len(best))
		for _, s := range best {
			scores = append(scores, s.Score)
		}
		least = nthLargest(scores, limit)
	}
	for j, c := range cosines {
		if c < 0 || c >= sure || embeddingPart*float64(c)+classPart+verbPart+rounding < least {
			continue
		}
		other := all[j].DocumentProfile
		if embeddingPart*float64(c)+classPart*maxOverlap(classBits, len(other.Classes), other.classBits)+
			verbPart*maxOverlap(verbBits, len(other.Verbs), other.verbBits)+rounding >= least {
			compare(j)
		}
	}
}

// rounding is more than the differences that the order of additions causes.
const rounding = 1e-9

// maxOverlap returns an upper bound of the [overlapShare] of a list of names, given by the bit of each,
// and another one of n names with these bits.
func maxOverlap(names []uint64, n int, bits uint64) float64 {
	common := 0
	for _, bit := range names {
		if bits&bit != 0 {
			common++
		}
	}
	if common = min(common, n); common == 0 {
		return 0
	}
	return float64(common) / float64(len(names)+n-common)
}

// hashBits returns a bit for the hash of each name.
func hashBits(names []string) []uint64 {
	bits := make([]uint64, len(names))
	for i, name := range names {
		bits[i] = 1 << (tokens.HashText(name) % 64)
	}
	return bits
}

// similarityTo returns the similarity of two documents, 0 to 1.
func (p *DocumentProfile) similarityTo(other *DocumentProfile) float64 {
	return embeddingPart*max(0, float64(p.mean.Cosine(other.mean))) +
		classPart*overlapShare(p.Classes, other.Classes) + verbPart*overlapShare(p.Verbs, other.Verbs)
}

// IntersectSorted yields the common elements of two sorted lists.
func IntersectSorted(a, b []string) iter.Seq[string] {
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

// overlapShare returns the share of the names in either list that are in both.
func overlapShare(a, b []string) float64 {
	n := 0
	for range IntersectSorted(a, b) {
		n++
	}
	if n == 0 {
		return 0
	}
	return float64(n) / float64(len(a)+len(b)-n)
}
