package aidiscovery

import "strings"

// namesFields reports whether a description of an answer names what is in it,
// as the draft advises ("products[] {id, name, price, stock}", §3.3). Prose
// that names fields counts ("the order with id and state"), and so does the
// name of a single field or type. In doubt the answer is yes: only texts such
// as "Successful operation" say nothing that a caller could use.
func namesFields(returns string) bool {
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
	// One word may be the name of a field; several without a link are prose.
	return !empty && len(words) == 1
}

// isIdentifier reports whether a word is written as names of fields are:
// snake_case, camelCase, a.path, or with a digit or hyphen inside.
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
	// fieldNouns are what fields are called often, and the types of an answer
	// that has no fields.
	fieldNouns = wordSet("id ids identifier url urls uri link name names title status state count total price amount token key " +
		"date time timestamp email address text string number integer boolean bool csv pdf none nothing empty")
	// emptyWords do not say what an answer holds.
	emptyWords = wordSet("the a an of ok success successful successfully operation response result results reply answer output data payload body " +
		"json object objects array list item items value values returned returns created updated deleted done yes true request default")
)
