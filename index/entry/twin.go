package entry

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strings"
	"unicode"

	"gazetteer/document"
)

// TwinField is the keyword field that identifies the same operation in two documents of one host.
const TwinField = "twin"

// twinKeyBytes is the length of a key before it is encoded. It distinguishes the operations of one
// host.
const twinKeyBytes = 3

// minTwinWords is the minimum number of words of an intent that identifies an operation.
const minTwinWords = 3

// TwinKey returns the key of an operation: a short digest of the words of its intent, "" if the
// intent has too few words to identify an operation.
func TwinKey(o *document.Operation) string {
	words := strings.FieldsFunc(strings.ToLower(o.Intent), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) < minTwinWords && !slices.ContainsFunc(words, func(w string) bool { return w[0] >= 0x80 }) {
		return ""
	}
	if len(words) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(words, " ")))
	return base64.RawURLEncoding.EncodeToString(sum[:twinKeyBytes])
}

// TwinKinds returns the kind of document whose twins are omitted, and the kind whose twins remain.
// An AGIS document describes an operation in more detail than an AI Discovery document.
func TwinKinds() (yields, remains document.Kind) { return document.AI, document.AGIS }
