package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/document"
	"gazetteer/document/diff"
	"gazetteer/internal/worddiff"
	"gazetteer/protocol"
	"gazetteer/web/changepages"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// diffView shows two versions of a document, and the meaning of the change for callers.
type diffView struct {
	Host, Kind, KindID string
	Severity, Tone     string
	From, To           versionView
	Invalid            []string // which versions break rules: earlier, later
	Changes            []versionChangeView
	Rows               []diffRow
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

// maxDiffText is the number of bytes of a version that the page compares word by word.
const maxDiffText = 48 << 10

// diffPage shows what changed from version to version.
func (p *Pages) diffPage(c *gin.Context) (frame.WebPage, error) {
	ctx, host, kind := c.Request.Context(), c.Param("host"), document.Kind(c.Param("kind"))
	d, err := p.answers.CompareVersions(ctx, host, kind, c.Query("from"), c.Query("to"))
	switch {
	case errors.Is(err, answer.ErrNoDocument):
		v := newMissingDocument(host, kind, nil)
		v.What = fmt.Sprintf("This version of the document %q of %s is not stored.", frame.ClipPlain(40, string(kind)), frame.ClipPlain(120, host))
		return frame.WebPage{}, v
	case errors.Is(err, answer.ErrOneVersion):
		return frame.WebPage{}, frame.BadRequest("No earlier version of this document is stored", "Its first change will be shown here.")
	case errors.Is(err, diff.ErrUnlike), errors.Is(err, document.ErrUnreadable), errors.Is(err, document.ErrOtherFormat):
		return frame.WebPage{}, frame.BadRequest("These two versions cannot be compared", "One of them cannot be read, or the format has no operations.")
	case err != nil:
		return frame.WebPage{}, p.hostError(ctx, host, err)
	}
	v := diffView{
		Host: d.Host, Kind: frame.KindName(string(kind)), KindID: string(kind), Severity: d.Severity.String(), Tone: changepages.SeverityTone(d.Severity),
		From:  versionView{Digest: d.From.Digest, Seen: p.MomentOf(d.From.Seen), Size: frame.FormatSize(len(d.From.Bytes))},
		To:    versionView{Digest: d.To.Digest, Seen: p.MomentOf(d.To.Seen), Size: frame.FormatSize(len(d.To.Bytes))},
		Query: "from=" + d.From.Digest + "&to=" + d.To.Digest,
	}
	for _, side := range d.Invalid {
		v.Invalid = append(v.Invalid, map[string]string{"a": "earlier", "b": "later"}[side])
	}
	for _, change := range d.Changes {
		view := versionChangeView{
			Kind: frame.TitleOf(string(change.Kind)), Severity: change.Severity.String(), Tone: changepages.SeverityTone(change.Severity),
			Path: change.Path, From: change.From, To: change.To, Help: change.Help,
		}
		if change.Operation != nil {
			view.Operation = *change.Operation
		}
		v.Changes = append(v.Changes, view)
	}
	before, after, unmarked := worddiff.Compare(protocol.ClipBytes(layOut(d.From.Bytes), maxDiffText), protocol.ClipBytes(layOut(d.To.Bytes), maxDiffText))
	v.Rows, v.Unmarked = pairBlocks(worddiff.FoldUnchanged(before, after, false, unmarked), worddiff.FoldUnchanged(after, before, true, unmarked)), unmarked
	return frame.WebPage{Name: "diff", Title: "What changed in the " + v.Kind + " of " + v.Host, JSON: "/api/v1/services/" + d.Host + "/documents/" + string(kind) + "/diff?" + v.Query, Feeds: feedsOf(d.Host), Body: v}, nil
}

// A diffRow is a part of both versions, side by side, or lines that both have, folded.
type diffRow struct {
	Folded        *worddiff.Block
	Before, After []worddiff.Block
}

// pairBlocks puts the blocks of two versions side by side. If their folded lines do not correspond, all
// blocks are in one row.
func pairBlocks(before, after []worddiff.Block) []diffRow {
	if !slices.EqualFunc(before, after, func(a, b worddiff.Block) bool { return a.Folded == b.Folded }) {
		return []diffRow{{Before: before, After: after}}
	}
	rows := make([]diffRow, len(before))
	for i := range before {
		if after[i].Folded > 0 {
			rows[i].Folded = &after[i]
			continue
		}
		rows[i].Before, rows[i].After = before[i:i+1], after[i:i+1]
	}
	return rows
}

// layOut writes JSON with one member a line, so that two spellings can be compared; other texts stay.
func layOut(text []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") == nil {
		return strings.ToValidUTF8(b.String(), "\uFFFD")
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}
