package jcs

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxMarks is the longest run of combining marks that x/text normalizes. From 30 on it inserts
// U+034F between them (the stream-safe format of UAX 15), which is not part of Normalization Form
// C.
const maxMarks = 10

// normalizeNFC returns a text in UTF-8 in Normalization Form C, and whether it differs
// from the text. It returns an unchanged text as it is, without a copy.
func normalizeNFC(text []byte) (normal []byte, changed bool) {
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		if !neverChanges(r) {
			if norm.NFC.QuickSpan(text) == len(text) {
				return text, false
			}
			normal = appendNFC(make([]byte, 0, len(text)), text)
			return normal, !bytes.Equal(normal, text)
		}
		i += size
	}
	return text, false
}

// neverChanges reports whether every text of such runes is in Normalization Form C. It covers the
// blocks that are common in natural texts, not all blocks.
func neverChanges(r rune) bool {
	switch {
	case r < 0x300: // Latin
		return true
	case r < 0x0400:
		return false
	case r <= 0x0482, r >= 0x0620 && r <= 0x064A: // Cyrillic, Arabic
		return true
	case r < 0x3041:
		return r >= 0x2010 && r <= 0x2027 || r >= 0x3000 && r <= 0x3029 // punctuation
	case r <= 0x3096, r >= 0x30A1 && r <= 0x30FA: // Hiragana, Katakana
		return true
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0xAC00 && r <= 0xD7A3: // Han, Hangul
		return true
	}
	return r >= 0xFF01 && r <= 0xFF5E || r >= 0x1F300 && r <= 0x1FAFF // full width, pictures
}

// appendNFC appends a text in UTF-8 in Normalization Form C.
func appendNFC(out, text []byte) []byte {
	if !hasManyMarks(text) {
		return norm.NFC.Append(out, text...)
	}
	return appendComposed(out, decomposeText(text))
}

// hasManyMarks reports whether more than maxMarks successive runes are non-starters or decompose
// into some.
func hasManyMarks(text []byte) bool {
	run := 0
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			run = 0
			i++
			continue
		}
		p := norm.NFD.Properties(text[i:])
		if p.CCC() == 0 && p.TrailCCC() == 0 {
			run = 0
		} else if run++; run > maxMarks {
			return true
		}
		i += max(p.Size(), 1)
	}
	return false
}

// mark is a rune with its canonical combining class.
type mark struct {
	r     rune
	class uint8
}

// decomposeText returns the canonical decomposition of a text in canonical order
// (Unicode §3.11).
func decomposeText(text []byte) []mark {
	out := make([]mark, 0, len(text))
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r >= 0xAC00 && r <= 0xD7A3 { // a Hangul syllable, by arithmetic
			s := r - 0xAC00
			out = append(out, mark{0x1100 + s/588, 0}, mark{0x1161 + s%588/28, 0})
			if t := s % 28; t != 0 {
				out = append(out, mark{0x11A7 + t, 0})
			}
			i += size
			continue
		}
		p := norm.NFD.Properties(text[i:])
		if parts := p.Decomposition(); parts == nil {
			out = append(out, mark{r, p.CCC()})
		} else {
			for _, part := range string(parts) {
				out = append(out, mark{part, norm.NFD.PropertiesString(string(part)).CCC()})
			}
		}
		i += size
	}
	for i := 0; i < len(out); {
		end := i + 1
		for end < len(out) && out[end].class != 0 {
			end++
		}
		run := out[i:end]
		if run[0].class == 0 {
			run = run[1:]
		}
		slices.SortStableFunc(run, func(a, b mark) int { return int(a.class) - int(b.class) })
		i = end
	}
	return out
}

// appendComposed composes decomposed runes and appends the result (Unicode §3.11, the canonical
// composition algorithm).
func appendComposed(out []byte, runes []mark) []byte {
	starter := -1     // the last starter's place
	last := uint8(0)  // the class of the rune that was kept last behind it
	kept := runes[:0] // in place: no more are kept than were read
	var known [256]composedPair
	for _, m := range runes {
		adjacent := starter == len(kept)-1
		if starter >= 0 && (adjacent || last != 0 && last < m.class) {
			first := kept[starter].r
			pair := &known[byte(first)^byte(first>>8)^byte(m.r)*31]
			if pair.first != first || pair.second != m.r {
				*pair = composedPair{first: first, second: m.r}
				pair.composite, pair.composes = composePair(first, m.r)
			}
			if pair.composes {
				kept[starter].r = pair.composite
				continue
			}
		}
		if m.class == 0 {
			starter = len(kept)
		}
		last = m.class
		kept = append(kept, m)
	}
	for _, m := range kept {
		out = utf8.AppendRune(out, m.r)
	}
	return out
}

// A composedPair is what composePair has returned. A hostile text of megabytes repeats few pairs, and
// the normalizer takes some 300 ns for each.
type composedPair struct {
	first, second, composite rune
	composes                 bool
}

// composePair returns the primary composite of two runes.
func composePair(a, b rune) (rune, bool) {
	var buf [16]byte
	pair := norm.NFC.AppendString(buf[:0], string([]rune{a, b}))
	r, size := utf8.DecodeRune(pair)
	return r, size == len(pair)
}
