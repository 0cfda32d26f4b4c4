package answer

import (
	"slices"

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
		key := entry.TwinKey(&yields.Operations[i])
		if left := places[key]; len(left) > 0 { // one operation has one twin
			twins[i], places[key] = left[0], slices.Delete(left, 0, 1)
		}
	}
	return yields, remains, twins
}
