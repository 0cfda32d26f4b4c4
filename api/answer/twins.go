package answer

import (
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
	return yields, remains, entry.PairTwins(twinKeys(yields), twinKeys(remains))
}

// twinKeys returns the keys of the operations of a document, in its order.
func twinKeys(d *document.Document) []entry.TwinKeys {
	keys := make([]entry.TwinKeys, len(d.Operations))
	for i := range d.Operations {
		keys[i] = entry.TwinKeysOf(&d.Operations[i])
	}
	return keys
}
