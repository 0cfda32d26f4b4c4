package web

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/document"
	"gazetteer/lint"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// sourceView is a document as its host sent it, with the findings beside their lines.
type sourceView struct {
	Host, Kind, KindID string
	URL                frame.ExternalLink
	Size               string
	Seen               frame.Moment
	Counts             string
	Lines              []sourceLine
	Rest               int        // lines that are not shown
	Elsewhere          []lineNote // findings without a line
}

// maxSource is how many bytes of a document the page shows; the API has all.
const maxSource = 48 << 10

// sourcePage shows a document line by line.
func (p *Pages) sourcePage(c *gin.Context) (frame.View, error) {
	ctx, host, kind := c.Request.Context(), c.Param("host"), document.Kind(c.Param("kind"))
	service, err := p.answers.Service(ctx, host)
	if err != nil {
		return frame.View{}, hostError(host, err)
	}
	i := slices.IndexFunc(service.Documents, func(d answer.DocumentView) bool { return d.Kind == kind })
	if i < 0 {
		return frame.View{}, frame.ErrNoPage
	}
	raw, err := p.answers.Document(ctx, host, kind, "")
	if errors.Is(err, answer.ErrNoDocument) {
		return frame.View{}, frame.ErrNoPage
	}
	if err != nil {
		return frame.View{}, err
	}
	d := service.Documents[i]
	v := sourceView{
		Host: service.Host, Kind: frame.KindName(string(kind)), KindID: string(kind), URL: frame.ExternalLinkOf(raw.URL),
		Size: frame.FormatSize(len(raw.Bytes)), Seen: p.MomentOf(d.FetchedAt), Counts: countsOf(d.Findings),
	}
	text := raw.Bytes[:min(len(raw.Bytes), maxSource)]
	shown := resultOf(1, answer.ValidationResult{Result: lint.Result{Kind: kind, Findings: d.Findings}, Text: text})
	v.Lines, v.Rest = shown.Lines, shown.Rest+strings.Count(string(raw.Bytes[len(text):]), "\n")
	for _, f := range shown.Findings {
		if f.First.Anchor == "" {
			v.Elsewhere = append(v.Elsewhere, lineNote{f.Code, f.Message, f.Tone})
		}
	}
	return frame.View{Name: "source", Title: fmt.Sprintf("%s of %s", v.Kind, v.Host), Body: v}, nil
}
