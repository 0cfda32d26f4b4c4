package web

import (
	"fmt"

	"gazetteer/api"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

type statusView struct {
	Version string
	Started frame.Moment
	Ready   bool
	Stored  string
	Behind  string // how far the index is behind, "" when it is not
	Crawl   *crawlView
}

type crawlView struct {
	Known, Waiting, Due, InFlight, Visits, Documents, Errors string
	Rate                                                     string
	Paused                                                   string
}

// statusPage shows how the server stands.
func (p *Pages) statusPage(*gin.Context) (frame.View, error) {
	s := p.serverStatus()
	v := statusView{Version: s.Version, Started: p.MomentOf(s.Started), Ready: s.Ready, Stored: frame.FormatNumber(int(s.Store))}
	if s.Index < s.Store {
		v.Behind = frame.FormatCount(int(s.Store-s.Index), "change")
	}
	if s.Crawler != nil {
		c := s.Crawler
		v.Crawl = &crawlView{
			Known: frame.FormatNumber(c.Known), Waiting: frame.FormatNumber(c.Waiting), Due: frame.FormatNumber(c.Due), InFlight: frame.FormatNumber(c.InFlight),
			Visits: frame.FormatNumber(c.Visits), Documents: frame.FormatNumber(c.Documents), Errors: frame.FormatNumber(c.Errors),
			Rate: fmt.Sprintf("%.1f", c.Rate), Paused: c.Paused,
		}
	}
	return frame.View{Name: "status", Title: "Status", Body: v}, nil
}

// serverStatus is how the server stands; without one to tell, nothing is known.
func (p *Pages) serverStatus() api.ServerStatus {
	if p.stand == nil {
		return api.ServerStatus{At: p.Now()}
	}
	return p.stand()
}
