package web

import (
	"fmt"

	"gazetteer/api"

	"github.com/gin-gonic/gin"
)

type statusView struct {
	Version string
	Started moment
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

// status shows how the server stands.
func (p *Pages) status(*gin.Context) (view, error) {
	s := p.standing()
	v := statusView{Version: s.Version, Started: p.moment(s.Started), Ready: s.Ready, Stored: number(int(s.Store))}
	if s.Index < s.Store {
		v.Behind = count(int(s.Store-s.Index), "change")
	}
	if s.Crawler != nil {
		c := s.Crawler
		v.Crawl = &crawlView{
			Known: number(c.Known), Waiting: number(c.Waiting), Due: number(c.Due), InFlight: number(c.InFlight),
			Visits: number(c.Visits), Documents: number(c.Documents), Errors: number(c.Errors),
			Rate: fmt.Sprintf("%.1f", c.Rate), Paused: c.Paused,
		}
	}
	return view{name: "status", title: "Status", body: v}, nil
}

// standing is how the server stands; without one to tell, nothing is known.
func (p *Pages) standing() api.ServerStatus {
	if p.stand == nil {
		return api.ServerStatus{At: p.now()}
	}
	return p.stand()
}
