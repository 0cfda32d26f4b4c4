package entry

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"gazetteer/document"
	"gazetteer/protocol/effect"
)

// TwinField is the keyword field that identifies the same operation in two documents of one host. Its
// values are those of [TwinKeys.Value].
const TwinField = "twin"

// twinKeyBytes is the length of a key before it is encoded. It distinguishes the operations of one
// host.
const twinKeyBytes = 3

// minTwinWords is the minimum number of words of an intent that identifies an operation.
const minTwinWords = 3

// TwinKeys identify an operation among those of its host, by what it says and by how it is called.
// Each key is a short digest, or "" if the operation does not have it.
type TwinKeys struct {
	Words string // of the words of the intent, if they are enough to identify an operation
	Call  string // of the path, and of whether the call reads, ends something or does neither
}

// TwinKeysOf returns the keys of an operation.
func TwinKeysOf(o *document.Operation) TwinKeys {
	class, _ := ClassOf(o)
	return twinKeysOf(o, class)
}

// twinKeysOf returns the keys of an operation whose effects are known.
func twinKeysOf(o *document.Operation, class effect.Class) TwinKeys {
	return TwinKeys{Words: twinKey(identifyingWords(o.Intent)), Call: twinKey(calledPath(o, class))}
}

// Value returns the keys as one value of [TwinField], "" if there is none.
func (k TwinKeys) Value() string {
	if k == (TwinKeys{}) {
		return ""
	}
	return k.Words + "." + k.Call
}

// ParseTwinKeys reads a value of [TwinField].
func ParseTwinKeys(value string) TwinKeys {
	words, call, _ := strings.Cut(value, ".")
	return TwinKeys{words, call}
}

// PairTwins pairs the operations that two documents of a host describe: first those with the same
// words, then those with the same call, if no other operation of either document that is left has
// it. The map leads from the place of an operation in the document that yields to the place of its
// twin in the other one.
func PairTwins(yields, remains []TwinKeys) map[int]int {
	pairs := make(map[int]int)
	places := placesBy(remains, func(k TwinKeys) string { return k.Words })
	for i, k := range yields {
		left := places[k.Words]
		if len(left) == 0 { // one operation has one twin
			continue
		}
		// Several operations can have the same words, such as "Cancels a message" of two lists.
		n := max(0, slices.IndexFunc(left, func(place int) bool { return remains[place].Call == k.Call }))
		pairs[i] = left[n]
		places[k.Words] = slices.Delete(left, n, n+1)
	}
	byCall := func(k TwinKeys) string { return k.Call }
	paired := make([]bool, len(remains))
	for _, place := range pairs {
		paired[place] = true
	}
	theirs := placesBy(remains, byCall)
	for call, mine := range placesBy(yields, byCall) {
		mine = slices.DeleteFunc(mine, func(i int) bool { _, ok := pairs[i]; return ok })
		left := slices.DeleteFunc(theirs[call], func(place int) bool { return paired[place] })
		if len(mine) == 1 && len(left) == 1 {
			pairs[mine[0]] = left[0]
		}
	}
	return pairs
}

// FindTwins pairs the operations that two documents of a host describe, by the same rule as a
// search: the map leads from the place of an operation in the one document to the place in the
// other, which remains. The map is nil if the host does not publish both formats.
func FindTwins(documents []document.Document) (yields, remains *document.Document, twins map[int]int) {
	yieldingKind, remainingKind := TwinKinds()
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
	return yields, remains, PairTwins(twinKeys(yields), twinKeys(remains))
}

// twinKeys returns the keys of the operations of a document, in its order.
func twinKeys(d *document.Document) []TwinKeys {
	keys := make([]TwinKeys, len(d.Operations))
	for i := range d.Operations {
		keys[i] = TwinKeysOf(&d.Operations[i])
	}
	return keys
}

// placesBy returns the places of the operations that have a key, in order, by that key.
func placesBy(all []TwinKeys, key func(TwinKeys) string) map[string][]int {
	places := make(map[string][]int)
	for i, k := range all {
		if key := key(k); key != "" {
			places[key] = append(places[key], i)
		}
	}
	return places
}

// TwinKinds returns the kind of document whose twins are omitted, and the kind whose twins remain.
// An AGIS document describes an operation in more detail than an AI Discovery document.
func TwinKinds() (yields, remains document.Kind) { return document.AI, document.AGIS }

// twinKey returns a short digest of a text, "" for "".
func twinKey(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:twinKeyBytes])
}

// identifyingWords returns the words of an intent, "" if they are too few to identify an operation.
func identifyingWords(intent string) string {
	words := strings.FieldsFunc(strings.ToLower(intent), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) < minTwinWords && !slices.ContainsFunc(words, func(w string) bool { return w[0] >= 0x80 }) {
		return ""
	}
	return strings.Join(words, " ")
}

// calledPath returns the path that a call of o names, behind the kind of the call; "" if it names none.
func calledPath(o *document.Operation, class effect.Class) string {
	path := o.NounPath()
	if path == "" {
		return ""
	}
	return callKind(o, class) + " " + path
}

// callKind returns whether a call reads, ends something or does neither: in AGIS by its declared effect and
// its verb, otherwise by its HTTP method.
func callKind(o *document.Operation, class effect.Class) string {
	var reads, ends bool
	if o.Path == "" {
		reads = o.Call.Method == http.MethodGet || o.Call.Method == http.MethodHead
		ends = o.Call.Method == http.MethodDelete
	} else {
		reads, ends = o.Effect == document.Informational, class == effect.End
	}
	switch {
	case reads:
		return "read"
	case ends:
		return "end"
	default:
		return "change"
	}
}
