package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
)

// floors are the least figures that a folder must reach: for each set, and for
// their mean under the name macro. A measure that is left out has no floor.
type floors map[string]map[string]float64

// known are the floors of the folders that are known, by digest.
//
//go:embed floors.json
var known []byte

// macro is the name of the mean over the sets.
const macro = "macro"

// below says which figures are below their floors.
func (o *relevanceOptions) below(c *collection, r *report) ([]string, error) {
	f, err := o.readFloors(c.digest)
	if err != nil {
		return nil, fmt.Errorf("read the floors: %w", err)
	}
	var below []string
	for _, set := range slices.Sorted(maps.Keys(f)) {
		figures, measured := r.Sets[set]
		if set == macro {
			figures, measured = r.Macro, true
		}
		if !measured {
			below = append(below, fmt.Sprintf("%s was not measured", set))
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(f[set])) {
			value, ok := figures.named(name)
			if !ok {
				return nil, fmt.Errorf("the floors name %q, which is no measure", name)
			}
			if floor := f[set][name]; value < floor {
				below = append(below, fmt.Sprintf("%s %s is %.4f, its floor %.4f", set, name, value, floor))
			}
		}
	}
	return below, nil
}

// readFloors returns the floors of a file, else those of known data.
func (o *relevanceOptions) readFloors(digest string) (floors, error) {
	if o.floors != "" {
		text, err := os.ReadFile(o.floors)
		if err != nil {
			return nil, err
		}
		var f floors
		return f, json.Unmarshal(text, &f)
	}
	if o.pool != "" {
		digest += " pool"
	}
	var all map[string]floors
	if err := json.Unmarshal(known, &all); err != nil {
		return nil, err
	}
	return all[digest], nil
}

// named returns a measure by its name.
func (f figures) named(name string) (float64, bool) {
	switch name {
	case "hit@1":
		return f.Hit1, true
	case "recall@5":
		return f.Recall5, true
	case "mrr@10":
		return f.MRR10, true
	case "ndcg@10":
		return f.NDCG10, true
	}
	return 0, false
}
