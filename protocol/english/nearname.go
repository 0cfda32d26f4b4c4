package english

// NearName returns the name in names that a word probably means: in another spelling of letter
// case, hyphens and underscores, or with one error, two in a word of more than four letters. It
// returns "" if no name is that close. It does not allocate, because hostile documents have many
// unknown names.
func NearName(word string, names []string) string {
	var wordBuffer, nameBuffer [longestNear]byte
	lower := foldInto(&wordBuffer, word)
	reach := 1
	if len(lower) > 4 {
		reach = 2
	}
	best := ""
	for _, name := range names {
		candidate := foldInto(&nameBuffer, name)
		if len(candidate) < 3 || len(lower)-len(candidate) > reach || len(candidate)-len(lower) > reach {
			continue
		}
		if d := editDistance(lower, candidate); d <= reach {
			best, reach = name, d-1
		}
	}
	return best
}

// foldInto writes a word in lower case without hyphens and underscores, and returns it. It is empty
// when the word is too long.
func foldInto(buffer *[longestNear]byte, word string) []byte {
	n := 0
	for i := range len(word) {
		c := word[i]
		if c == '-' || c == '_' {
			continue
		}
		if n == len(buffer) {
			return nil
		}
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		buffer[n] = c
		n++
	}
	return buffer[:n]
}

// DidYouMean returns "did you mean X? " for the name that [NearName] finds, and "" for none.
func DidYouMean(word string, names []string) string {
	if name := NearName(word, names); name != "" {
		return "did you mean " + name + "? "
	}
	return ""
}
