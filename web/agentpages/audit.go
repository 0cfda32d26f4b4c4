package agentpages

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gazetteer/api/answer"
	"gazetteer/store"
	"gazetteer/web/frame"

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
	Growth  *growthView
}

type leafView struct {
	Index   string
	Number  int64
	What    string
	Link    string // to what it is about, "" for none
	Subject string
	At      frame.Moment
	Hash    string
}

// growthView is a drawing of how many leaves there were when.
type growthView struct {
	Says   string
	Line   string // points of a polyline
	Area   string
	From   string
	To     string
	Top    string
	Points []growthPoint
}

type growthPoint struct {
	At   frame.Moment
	Size string
}

// logPage shows how the transparency log stands, how it grows, and how to check
// it.
func (p *Pages) logPage(c *gin.Context) (frame.View, error) {
	s, err := p.answers.LogStatus(c.Request.Context())
	if errors.Is(err, answer.ErrNoLog) {
		return frame.View{Name: "log", Title: "Transparency log", Body: logView{Without: true}}, nil
	}
	if err != nil {
		return frame.View{}, err
	}
	v := logView{Origin: s.Origin, Key: s.Key, Size: frame.FormatNumber(int(s.Size)), Root: s.Root, Signed: s.Signed, Growth: p.growthOf(s.Growth)}
	scheme := "https"
	if strings.HasPrefix(c.Request.Host, "127.") || strings.HasPrefix(c.Request.Host, "localhost") {
		scheme = "http"
	}
	v.Where = scheme + "://" + c.Request.Host + "/log"
	for _, l := range s.Newest {
		v.Newest = append(v.Newest, p.leafViewOf(l))
	}
	return frame.View{Name: "log", Title: "Transparency log", Body: v}, nil
}

// leafViewOf says in words what a leaf is about.
func (p *Pages) leafViewOf(l answer.LogLeaf) leafView {
	v := leafView{Index: frame.FormatNumber(int(l.Index)), Number: l.Index, At: p.MomentOf(l.At), Hash: l.Hash, Subject: l.Key}
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

// The drawing of the growth, in units of its own.
const (
	growthWidth  = 720
	growthHeight = 180
)

// growthOf draws how many leaves there were when; nil when that is one moment.
func (p *Pages) growthOf(points []answer.GrowthPoint) *growthView {
	if len(points) < 2 {
		return nil
	}
	first, last := points[0], points[len(points)-1]
	span, top := last.At.Sub(first.At).Seconds(), float64(last.Size)
	v := &growthView{
		From: first.At.UTC().Format("2 January 2006"), To: last.At.UTC().Format("2 January 2006"), Top: frame.FormatNumber(int(last.Size)),
		Says: fmt.Sprintf("From %s leaves to %s between %s and %s", frame.FormatNumber(int(first.Size)), frame.FormatNumber(int(last.Size)),
			first.At.UTC().Format("2 January 2006 15:04 UTC"), last.At.UTC().Format("2 January 2006 15:04 UTC")),
	}
	var line []string
	for _, point := range points {
		x := growthWidth * point.At.Sub(first.At).Seconds() / span
		y := growthHeight * (1 - float64(point.Size)/top)
		line = append(line, strconv.FormatFloat(x, 'f', 1, 64)+","+strconv.FormatFloat(y, 'f', 1, 64))
		v.Points = append(v.Points, growthPoint{p.MomentOf(point.At), frame.FormatNumber(int(point.Size))})
	}
	v.Line = strings.Join(line, " ")
	v.Area = fmt.Sprintf("0,%d %s %d,%d", growthHeight, v.Line, growthWidth, growthHeight)
	return v
}
