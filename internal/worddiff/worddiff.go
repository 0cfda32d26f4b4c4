// Package worddiff marks the words that differ between two texts (Myers, An O(ND) Difference
// Algorithm). Start with [Compare].
package worddiff

import (
	"strings"
	"unicode"
)

// A Part is a part of a text: changed words are marked.
type Part struct {
	Text   string
	Change bool
}

// Lines returns the lines of the part.
func (t Part) Lines() []string { return strings.Split(t.Text, "\n") }

// splitWords cuts a text into words, single other characters, and white space.
func splitWords(text string) []string {
	class := func(r rune) int {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			return 1
		case unicode.IsSpace(r):
			return 2
		}
		return 0
	}
	var words []string
	start, last := 0, -1
	for i, r := range text {
		now := class(r)
		if i > start && (now != last || now == 0) {
			words = append(words, text[start:i])
			start = i
		}
		last = now
	}
	if start < len(text) {
		words = append(words, text[start:])
	}
	return words
}

// maxEdits bounds the work of a comparison: texts that differ more are shown without marks.
const maxEdits = 600

// Compare marks the words that one text has and the other lacks. Texts in which more than 600 words
// differ come back unmarked.
func Compare(a, b string) (before, after []Part, unmarked bool) {
	x, y := splitWords(a), splitWords(b)
	head := 0
	for head < len(x) && head < len(y) && x[head] == y[head] {
		head++
	}
	tail := 0
	for tail < len(x)-head && tail < len(y)-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	keptX, keptY, ok := matchWords(x[head:len(x)-tail], y[head:len(y)-tail])
	if !ok {
		return []Part{{Text: a}}, []Part{{Text: b}}, true
	}
	mark := func(text string, words []string, kept []bool) []Part {
		var parts []Part
		start, end := 0, 0 // of the last part: to join words one by one would copy it each time
		for i, w := range words {
			inside := i >= head && i < len(words)-tail
			change := inside && !kept[i-head]
			end += len(w)
			if n := len(parts); n > 0 && parts[n-1].Change == change {
				parts[n-1].Text = text[start:end]
				continue
			}
			start = end - len(w)
			parts = append(parts, Part{Text: w, Change: change})
		}
		return parts
	}
	return mark(a, x, keptX), mark(b, y, keptY), false
}

// matchWords says which words of x and y belong to a longest common subsequence, and false where more
// than maxEdits words differ.
func matchWords(x, y []string) (keptX, keptY []bool, ok bool) {
	keptX, keptY = make([]bool, len(x)), make([]bool, len(y))
	most := min(len(x)+len(y), maxEdits)
	furthest := make([]int, 2*most+3)
	var trace [][]int // of each number of edits, the part of furthest that it reaches
	for edits := 0; edits <= most; edits++ {
		for k := -edits; k <= edits; k += 2 {
			at := 0
			switch {
			case edits == 0:
			case k == -edits || k != edits && furthest[most+k] < furthest[most+k+2]:
				at = furthest[most+k+2]
			default:
				at = furthest[most+k] + 1
			}
			for at < len(x) && at-k < len(y) && at-k >= 0 && x[at] == y[at-k] {
				at++
			}
			furthest[most+k+1] = at
			if k == len(x)-len(y) && at >= len(x) {
				trace = append(trace, copyReached(furthest, most, edits))
				walkBack(trace, x, y, keptX, keptY)
				return keptX, keptY, true
			}
		}
		trace = append(trace, copyReached(furthest, most, edits))
	}
	return nil, nil, false
}

// copyReached copies the positions that a number of edits reaches: that of diagonal k is at index
// k+edits.
func copyReached(furthest []int, most, edits int) []int {
	return append([]int(nil), furthest[most+1-edits:most+2+edits]...)
}

// walkBack follows the edits from the ends of both texts and notes the words that they share.
func walkBack(trace [][]int, x, y []string, keptX, keptY []bool) {
	i, j := len(x), len(y)
	for edits := len(trace) - 1; edits > 0; edits-- {
		reached := func(k int) int { // with one edit less; -1 where it cannot be
			if at := k + edits - 1; at >= 0 && at < len(trace[edits-1]) {
				return trace[edits-1][at]
			}
			return -1
		}
		k := i - j
		from := k - 1
		if k == -edits || k != edits && reached(k-1) < reached(k+1) {
			from = k + 1
		}
		i0 := reached(from)
		j0 := i0 - from
		startX, startY := i0, j0 // of the words that both have, behind the edit
		if from == k-1 {
			startX++
		} else {
			startY++
		}
		for i > startX && j > startY {
			i, j = i-1, j-1
			keptX[i], keptY[j] = true, true
		}
		i, j = i0, j0
	}
	for i > 0 && j > 0 {
		i, j = i-1, j-1
		keptX[i], keptY[j] = true, true
	}
}
