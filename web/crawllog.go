package web

import (
	"fmt"
	"time"

	"gazetteer/crawler"
	"gazetteer/web/frame"

	"github.com/gin-gonic/gin"
)

// visitsPerPage is the number of visits on one page of a host's crawl log.
const visitsPerPage = 20

type crawlLogView struct {
	Host   string
	Visits []visitView
	First  bool // the list begins here
	Pages  frame.PageLinks
}

type visitView struct {
	At       frame.Moment
	Why      string
	Visited  string // another host that the visit was to, "" when it was this one
	Cut      bool
	Check    bool
	Requests []requestView
}

type requestView struct {
	URL    string
	Status string
	What   string // bytes and time
	Why    string
}

// crawlLogPage shows an owner every request that was made to a host.
func (p *Pages) crawlLogPage(c *gin.Context) (frame.WebPage, error) {
	var before time.Time
	if text := c.Query("before"); text != "" {
		var err error
		if before, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return frame.WebPage{}, frame.BadRequest(fmt.Sprintf("%q is not a time the list could continue behind", frame.ClipPlain(40, text)), "Begin at the first page.")
		}
	}
	host := c.Param("host")
	visits, err := p.answers.CrawlLog(c.Request.Context(), host, before, visitsPerPage+1)
	if err != nil {
		return frame.WebPage{}, p.hostError(c.Request.Context(), host, err)
	}
	v := crawlLogView{Host: host, First: before.IsZero()}
	address := "/services/" + host + "/crawl-log"
	if !v.First {
		v.Pages.First = address
	}
	if len(visits) > visitsPerPage {
		visits = visits[:visitsPerPage]
		v.Pages.Next = address + "?before=" + visits[visitsPerPage-1].At.UTC().Format(time.RFC3339Nano)
	}
	for _, visit := range visits {
		v.Visits = append(v.Visits, p.visitOf(visit))
	}
	return frame.WebPage{Name: "crawllog", Title: "Requests to " + host, Feeds: feedsOf(host), Body: v,
		Description: "Every request that the crawler made to " + host + " in the last 90 days, and why."}, nil
}

func (p *Pages) visitOf(e crawler.CrawlLogEntry) visitView {
	v := visitView{At: p.MomentOf(e.At), Why: frame.AsSentence(e.Why), Cut: e.Interrupted, Check: e.Check}
	if e.Visited != e.Host {
		v.Visited = e.Visited
	}
	for _, r := range e.Requests {
		status := "no answer"
		if r.Status > 0 {
			status = fmt.Sprintf("HTTP %d", r.Status)
		}
		why := r.Why
		if why == e.Why {
			why = "" // the line above the requests says it
		}
		v.Requests = append(v.Requests, requestView{
			URL: r.URL, Status: status, Why: why, What: frame.FormatCount(int(r.WireBytes), "byte") + " in " + frame.FormatNumber(int(r.Took)) + " ms",
		})
	}
	return v
}
