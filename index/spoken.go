package index

import (
	"slices"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"gazetteer/document"
)

// spoken returns for each host the interaction protocols that its AGIS summary
// names. The full document says nothing of them (AGIS §11.1 has them, §7 and §8
// have not), but its operations stand in for those of the summary: who looks for
// a protocol means them. A view reads them once.
func (v *view) spoken(snapshot *scorch.IndexSnapshot) (map[string][]string, error) {
	v.listMu.Lock()
	defer v.listMu.Unlock()
	if v.speaks != nil {
		return v.speaks, nil
	}
	speaks := make(map[string][]string)
	for i, s := range snapshot.Segments() {
		vs := &v.segments[i]
		c, err := vs.column(s, protocolField)
		if err != nil {
			return nil, err
		}
		for r, run := range vs.runs {
			if run.kind != document.AGISSummary || len(c.runs[r]) == 0 || !vs.alive(run) {
				continue
			}
			for _, at := range c.runs[r] {
				speaks[run.host] = append(speaks[run.host], c.values[at])
			}
		}
	}
	v.speaks = speaks
	return speaks, nil
}

// addSpoken adds to found the operations of full documents whose summary names
// one of the protocols. found has a set for each segment.
func (v *view) addSpoken(snapshot *scorch.IndexSnapshot, protocols []string, segment int, found bitset) error {
	speaks, err := v.spoken(snapshot)
	if err != nil {
		return err
	}
	s := &v.segments[segment]
	for _, r := range s.runs {
		if r.kind != document.AGIS {
			continue
		}
		if of := speaks[r.host]; slices.ContainsFunc(protocols, func(p string) bool { return slices.Contains(of, p) }) {
			for _, n := range s.order[r.from:r.to] {
				found.add(n)
			}
		}
	}
	return nil
}

// countSpoken adds to counts, which are of all, the protocols that the summaries of
// full documents name; perRun has how many operations of each run count.
func (v *view) countSpoken(snapshot *scorch.IndexSnapshot, segment int, perRun []uint32, all []string, counts []int) error {
	speaks, err := v.spoken(snapshot)
	if err != nil {
		return err
	}
	s := &v.segments[segment]
	for r, n := range perRun {
		if n == 0 || s.runs[r].kind != document.AGIS {
			continue
		}
		for _, protocol := range speaks[s.runs[r].host] {
			if at := slices.Index(all, protocol); at > 0 {
				counts[at] += int(n)
			}
		}
	}
	return nil
}
