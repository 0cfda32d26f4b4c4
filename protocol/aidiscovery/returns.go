package aidiscovery

import "strings"

// NamesFields reports whether the description of an answer names its fields, as the draft
// recommends ("products[] {id, name, price, stock}", §3.3). Prose with field names counts ("the
// order with id and state"), and so does the name of a single field or type. In case of doubt the
// result is true: only texts such as "Successful operation" tell a caller nothing.
func NamesFields(returns string) bool {
	if strings.ContainsAny(returns, "{}[]<>|=,;*`\"") {
		return true
	}
	words := strings.FieldsFunc(returns, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || r == '\n' })
	if len(words) == 0 {
		return false
	}
	empty := true // every word is one that says nothing
	for i, word := range words {
		bare := strings.Trim(word, ".:!()")
		if isIdentifier(bare) {
			return true
		}
		bare = strings.ToLower(bare)
		if linking[bare] && i < len(words)-1 || fieldNouns[bare] {
			return true
		}
		empty = empty && emptyWords[bare]
	}
	// A single word may be a field name; several words without a linking word are prose.
	return !empty && len(words) == 1
}

// isIdentifier reports whether a word is written like a field name: snake_case, camelCase, a.path,
// or with a digit or hyphen inside.
func isIdentifier(word string) bool {
	if strings.ContainsAny(word, "_.:") {
		return true
	}
	for i := 1; i < len(word); i++ {
		if word[i] >= 'A' && word[i] <= 'Z' && word[i-1] >= 'a' && word[i-1] <= 'z' {
			return true
		}
	}
	return false
}

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

var (
	// linking words introduce or join parts of an answer.
	linking = wordSet("with containing contains contain including includes include and plus having has fields field columns keys consisting comprising")
	// fieldNouns are common names of fields, and the types of an answer without fields.
	fieldNouns = wordSet("id ids identifier url urls uri link name names title status state count total price amount token key " +
		"date time timestamp email address text string number integer boolean bool csv pdf none nothing empty")
	// emptyWords say nothing about the content of an answer.
	emptyWords = wordSet("the a an of ok success successful successfully operation response result results reply answer output data payload body " +
		"json object objects array list item items value values returned returns created updated deleted done yes true request default")
)
