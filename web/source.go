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
	"gazetteer/lint"
	"gazetteer/protocol"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// sourceView is a document as its host sent it, with the findings at their lines.
type sourceView struct {
	Host, Kind, KindID string
	URL                frame.ExternalLink
	Size               string
	Seen               frame.Moment
	Counts             string
	Lines              []sourceLine
	Rest               int        // lines that are not shown
	Elsewhere          []lineNote // findings without a line
	LaidOut            bool       // the text was sent in long lines, and is shown with one member a line
}

// maxSource is the number of bytes of a document that the page shows; the API has all.
const maxSource = 48 << 10

// longLine is the length of a line, in bytes, from which on JSON is laid out for reading.
const longLine = 400

// layOutSource returns a document of long lines, as programs write JSON, with one member per line,
// and the findings at their new lines. It returns any other document unchanged, with false.
func layOutSource(text []byte, findings []protocol.Finding) ([]byte, []protocol.Finding, bool) {
	long := slices.ContainsFunc(bytes.Split(text, []byte("\n")), func(line []byte) bool { return len(line) > longLine })
	var b bytes.Buffer
	if !long || json.Indent(&b, text, "", "  ") != nil {
		return text, findings, false
	}
	root, err := protocol.ReadJSON(b.Bytes(), protocol.Limits{Bytes: b.Len() + 1})
	if err != nil {
		return text, findings, false
	}
	places := map[string]*protocol.Node{}
	var collect func(n *protocol.Node)
	collect = func(n *protocol.Node) {
		places[n.Pointer] = n
		for _, item := range n.Items {
			collect(item)
		}
	}
	collect(root)
	moved := slices.Clone(findings)
	for i, f := range moved {
		if n := places[f.Pointer]; n != nil && f.Line > 0 {
			moved[i].Line, moved[i].Column = n.Line, n.Column
		}
	}
	return b.Bytes(), moved, true
}

// sourcePage shows a document line by line.
func (p *Pages) sourcePage(c *gin.Context) (frame.WebPage, error) {
	ctx, host, kind := c.Request.Context(), c.Param("host"), document.Kind(c.Param("kind"))
	service, err := p.answers.Service(ctx, host)
	if err != nil {
		return frame.WebPage{}, p.hostError(ctx, host, err)
	}
	i := slices.IndexFunc(service.Documents, func(d answer.DocumentView) bool { return d.Kind == kind })
	if i < 0 {
		return frame.WebPage{}, newMissingDocument(service.Host, kind, service.Documents)
	}
	raw, err := p.answers.Document(ctx, host, kind, "")
	if errors.Is(err, answer.ErrNoDocument) { // it has gone in the meantime
		return frame.WebPage{}, newMissingDocument(service.Host, kind, nil)
	}
	if err != nil {
		return frame.WebPage{}, err
	}
	d := service.Documents[i]
	v := sourceView{
		Host: service.Host, Kind: frame.KindName(string(kind)), KindID: string(kind), URL: frame.ExternalLinkOf(raw.URL),
		Size: frame.FormatSize(len(raw.Bytes)), Seen: p.MomentOf(d.FetchedAt), Counts: countsOf(d.Findings),
	}
	whole, findings, laidOut := layOutSource(raw.Bytes, d.Findings)
	text := whole[:min(len(whole), maxSource)]
	shown := resultOf(1, answer.ValidationResult{Result: lint.Result{Kind: kind, Findings: findings}, Text: text})
	v.Lines, v.Rest, v.LaidOut = shown.Lines, shown.Rest+strings.Count(string(whole[len(text):]), "\n"), laidOut
	for _, f := range shown.Findings {
		if f.First.Anchor == "" {
			v.Elsewhere = append(v.Elsewhere, lineNote{Code: f.Code, Message: f.Message, Tone: f.Tone})
		}
	}
	return frame.WebPage{Name: "source", Title: fmt.Sprintf("%s of %s", v.Kind, v.Host), Feeds: feedsOf(host), Body: v,
		Description: fmt.Sprintf("The %s of %s as it was read, with line numbers and findings.", v.Kind, v.Host)}, nil
}
