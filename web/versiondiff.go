package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"gazetteer/api/answer"
	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// diffView shows two versions of a document, and what the change means to callers.
type diffView struct {
	Host, Kind, KindID string
	Severity, Tone     string
	From, To           versionView
	Invalid            []string // which versions break rules: earlier, later
	Changes            []versionChangeView
	Before, After      []markedText
	Unmarked           bool // the versions differ too much, or are too long, for marks
	Query              string
}

type versionChangeView struct {
	Kind, Severity, Tone string
	Operation            string
	Path                 string
	From, To             *string
	Help                 string
}

// markedText is a part of a version: changed words are marked.
type markedText struct {
	Text   string
	Change bool
}

// Lines are the lines of the text.
func (t markedText) Lines() []string { return strings.Split(t.Text, "\n") }

// maxDiffText is how many bytes of a version the page compares word by word.
const maxDiffText = 48 << 10

// diffPage shows what changed from version to version.
func (p *Pages) diffPage(c *gin.Context) (frame.View, error) {
	ctx, host, kind := c.Request.Context(), c.Param("host"), document.Kind(c.Param("kind"))
	d, err := p.answers.CompareVersions(ctx, host, kind, c.Query("from"), c.Query("to"))
	switch {
	case errors.Is(err, answer.ErrNoDocument), errors.Is(err, answer.ErrOneVersion):
		return frame.View{}, frame.ErrNoPage
	case errors.Is(err, diff.ErrUnlike), errors.Is(err, document.ErrUnreadable), errors.Is(err, document.ErrOtherFormat):
		return frame.View{}, &frame.BadRequest{What: "These two versions cannot be compared", Help: "One of them cannot be read, or the format has no operations."}
	case err != nil:
		return frame.View{}, hostError(host, err)
	}
	v := diffView{
		Host: d.Host, Kind: frame.KindName(string(kind)), KindID: string(kind), Severity: d.Severity.String(), Tone: severityTones[d.Severity],
		From:  versionView{Digest: d.From.Digest, Seen: p.MomentOf(d.From.Seen), Size: frame.FormatSize(len(d.From.Bytes))},
		To:    versionView{Digest: d.To.Digest, Seen: p.MomentOf(d.To.Seen), Size: frame.FormatSize(len(d.To.Bytes))},
		Query: "from=" + d.From.Digest + "&to=" + d.To.Digest,
	}
	for _, side := range d.Invalid {
		v.Invalid = append(v.Invalid, map[string]string{"a": "earlier", "b": "later"}[side])
	}
	for _, change := range d.Changes {
		view := versionChangeView{
			Kind: strings.ReplaceAll(string(change.Kind), "-", " "), Severity: change.Severity.String(), Tone: severityTones[change.Severity],
			Path: change.Path, From: change.From, To: change.To, Help: change.Help,
		}
		if change.Operation != nil {
			view.Operation = *change.Operation
		}
		v.Changes = append(v.Changes, view)
	}
	v.Before, v.After, v.Unmarked = markChanges(layOut(d.From.Bytes), layOut(d.To.Bytes))
	return frame.View{Name: "diff", Title: "What changed in the " + v.Kind + " of " + v.Host, JSON: "/api/v1/services/" + d.Host + "/documents/" + string(kind) + "/diff?" + v.Query, Body: v}, nil
}

// layOut writes JSON with one member a line, so that two spellings can be compared; other texts stay.
func layOut(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") == nil {
		return strings.ToValidUTF8(b.String(), "\uFFFD")
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

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

// markChanges marks the words that one text has and the other lacks (Myers, An O(ND) Difference
// Algorithm). Texts that are too long or too different come back unmarked.
func markChanges(a, b string) (before, after []markedText, unmarked bool) {
	cut := func(text string) string {
		if len(text) <= maxDiffText {
			return text
		}
		end := maxDiffText
		for !utf8.RuneStart(text[end]) {
			end--
		}
		return text[:end] + "\n…"
	}
	a, b = cut(a), cut(b)
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
		return []markedText{{Text: a}}, []markedText{{Text: b}}, true
	}
	mark := func(words []string, kept []bool) []markedText {
		var parts []markedText
		for i, w := range words {
			inside := i >= head && i < len(words)-tail
			change := inside && !kept[i-head]
			if n := len(parts); n > 0 && parts[n-1].Change == change {
				parts[n-1].Text += w
				continue
			}
			parts = append(parts, markedText{Text: w, Change: change})
		}
		return parts
	}
	return mark(x, keptX), mark(y, keptY), false
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

// copyReached copies what a number of edits reaches: diagonal k stands at k+edits.
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
