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

// statusPage shows how the server stands.
func (p *Pages) statusPage(*gin.Context) (pageView, error) {
	s := p.serverStatus()
	v := statusView{Version: s.Version, Started: p.momentOf(s.Started), Ready: s.Ready, Stored: formatNumber(int(s.Store))}
	if s.Index < s.Store {
		v.Behind = formatCount(int(s.Store-s.Index), "change")
	}
	if s.Crawler != nil {
		c := s.Crawler
		v.Crawl = &crawlView{
			Known: formatNumber(c.Known), Waiting: formatNumber(c.Waiting), Due: formatNumber(c.Due), InFlight: formatNumber(c.InFlight),
			Visits: formatNumber(c.Visits), Documents: formatNumber(c.Documents), Errors: formatNumber(c.Errors),
			Rate: fmt.Sprintf("%.1f", c.Rate), Paused: c.Paused,
		}
	}
	return pageView{name: "status", title: "Status", body: v}, nil
}

// serverStatus is how the server stands; without one to tell, nothing is known.
func (p *Pages) serverStatus() api.ServerStatus {
	if p.stand == nil {
		return api.ServerStatus{At: p.now()}
	}
	return p.stand()
}
