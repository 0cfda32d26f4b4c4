package tokens

// HashText returns the FNV-1a hash of a text.
func HashText(text string) uint32 {
	h := uint32(2166136261)
	for i := range len(text) {
		h = (h ^ uint32(text[i])) * 16777619
	}
	return h
}
