package answer

import (
	"slices"
	"strings"

	"gazetteer/document"
	"gazetteer/index/entry"
)

// FindTwins pairs the operations that two documents of a host describe, by the same rule as a
// search: the map leads from the place of an operation in the one document to the place in the
// other, which remains. The map is nil if the host does not publish both formats.
func FindTwins(documents []document.Document) (yields, remains *document.Document, twins map[int]int) {
	yieldingKind, remainingKind := entry.TwinKinds()
	for i := range documents {
		switch documents[i].Kind {
		case yieldingKind:
			yields = &documents[i]
		case remainingKind:
			remains = &documents[i]
		}
	}
	if yields == nil || remains == nil {
		return nil, nil, nil
	}
	places := make(map[string][]int) // of the remaining operations, in their order
	for i := range remains.Operations {
		if key := entry.TwinKey(&remains.Operations[i]); key != "" {
			places[key] = append(places[key], i)
		}
	}
	twins = make(map[int]int)
	for i := range yields.Operations {
		o := &yields.Operations[i]
		key := entry.TwinKey(o)
		left := places[key]
		if len(left) == 0 { // one operation has one twin
			continue
		}
		// Several operations can have the same words, such as "Cancels a message" of two lists.
		n := max(0, slices.IndexFunc(left, func(place int) bool { return hasPath(o.Call.URL, remains.Operations[place].Path) }))
		twins[i] = left[n]
		places[key] = slices.Delete(left, n, n+1)
	}
	return yields, remains, twins
}

// hasPath reports whether an address ends in the path of an AGIS endpoint.
func hasPath(address, path string) bool { return path != "" && strings.HasSuffix(address, path) }
