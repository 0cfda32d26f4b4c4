package agentpages

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/store"
	"gazetteer/web/frame"
	"gazetteer/web/plot"

	"github.com/gin-gonic/gin"
)

// logView is the page of the transparency log.
type logView struct {
	Without bool // this server keeps no log
	Origin  string
	Key     string
	Size    string
	Root    string
	Signed  string
	Where   string // the address of the log, for commands
	Newest  []leafView
	Pages   frame.PageLinks
	Below   bool // the leaves are not the newest ones
	Growth  *plot.Plot
}

type leafView struct {
	Index   string
	Number  int64
	What    string
	Link    string // to what it is about, "" for none
	Subject string
	At      frame.Moment
}

// logPage shows the present state of the transparency log, its growth, and how to verify it.
func (p *Pages) logPage(c *gin.Context) (frame.WebPage, error) {
	before := int64(0)
	if text := c.Query("before"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return frame.WebPage{}, frame.BadRequest(fmt.Sprintf("There is no leaf %q", frame.ClipPlain(30, text)), "The number of a leaf is 1 or more.")
		}
		before = n
	}
	s, err := p.answers.LogStatus(c.Request.Context(), before)
	if errors.Is(err, answer.ErrNoLog) {
		return frame.WebPage{Name: "log", Title: "Transparency log", Body: logView{Without: true}}, nil
	}
	if err != nil {
		return frame.WebPage{}, err
	}
	v := logView{Origin: s.Origin, Key: s.Key, Size: frame.FormatNumber(int(s.Size)), Root: s.Root, Signed: s.Signed, Growth: growthOf(s.Growth)}
	v.Where = p.BaseAddress + "/log"
	for _, l := range s.Newest {
		v.Newest = append(v.Newest, p.leafViewOf(l))
	}
	if n := len(s.Newest); n > 0 && s.Newest[n-1].Index > 0 {
		v.Pages.Next = fmt.Sprintf("/log?before=%d#newest", s.Newest[n-1].Index)
	}
	if v.Below = before > 0; v.Below {
		v.Pages.First = "/log#newest"
	}
	return frame.WebPage{Name: "log", Title: "Transparency log", Body: v,
		Description: "The log of all documents and agents of this registry, which nobody can change unseen: its newest entries, and who cosigned it."}, nil
}

// leafViewOf describes the content of a leaf.
func (p *Pages) leafViewOf(l answer.LogLeaf) leafView {
	v := leafView{Index: frame.FormatNumber(int(l.Index)), Number: l.Index, At: p.MomentOf(l.At), Subject: l.Key}
	parts := store.SplitKey(l.Key)
	switch {
	case len(parts) >= 2 && strings.HasPrefix(l.Key, store.AgentPrefix):
		v.What, v.Subject, v.Link = eventWords[l.Event], parts[1], frame.AgentPath(parts[1])
	case len(parts) == 4 && strings.HasPrefix(l.Key, store.VersionPrefix):
		v.What, v.Subject, v.Link = "New version: "+frame.KindName(parts[2]), parts[1], "/services/"+parts[1]
	}
	switch {
	case l.Erased:
		v.What = "Erased; its hash stays"
	case l.Deleted:
		v.What = "Content was erased"
	case v.What == "":
		v.What = l.Event
	}
	return v
}

// growthOf draws the number of leaves over time; nil if there is nothing to draw.
func growthOf(points []answer.GrowthPoint) *plot.Plot {
	var all []plot.Point
	for _, p := range points {
		all = append(all, plot.Point{At: p.At, Value: float64(p.Size)})
	}
	return plot.NewTotals("Leaves", "", all)
}
