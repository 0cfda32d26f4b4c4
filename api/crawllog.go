package api

import (
	"context"
	"fmt"
	"time"

	"gazetteer/api/answer"
	"gazetteer/api/route"
	"gazetteer/crawler"
	"gazetteer/fetch"
)

// CrawlLogPage is one page of the requests that a host received.
type CrawlLogPage struct {
	Host   string                  `json:"host"`
	Visits []crawler.CrawlLogEntry `json:"visits" doc:"visits and checks, the latest first"`
	Next   string                  `json:"next,omitempty" doc:"the cursor of the next page; absent on the last"`
}

type crawlLogInput struct {
	Host   string `path:"host" maxLength:"255" doc:"the name of a host"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"how many visits on one page, 1 to 100"`
	Cursor string `query:"cursor" doc:"where the page begins, from the answer before"`
}

func (a *API) getCrawlLog(ctx context.Context, in *crawlLogInput) (*route.Output[CrawlLogPage], error) {
	host, err := fetch.CheckHost(in.Host)
	if err != nil {
		return nil, err
	}
	list := "crawl-log " + host
	c, err := a.ReadCursor(ctx, in.Cursor, list)
	if err != nil {
		return nil, err
	}
	var before time.Time
	if c.After != "" {
		if before, err = time.Parse(time.RFC3339Nano, c.After); err != nil {
			return nil, fmt.Errorf("read the place in the crawl log: %w", err)
		}
	}
	// One more than requested shows whether there is another page.
	visits, err := a.Answers.CrawlLog(ctx, host, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out := route.JSON(CrawlLogPage{Host: host, Visits: answer.OrEmpty(visits)})
	if len(visits) > in.Limit {
		out.Body.Visits = visits[:in.Limit]
		last := visits[in.Limit-1].At.UTC().Format(time.RFC3339Nano)
		out.Body.Next, out.Link = a.NextPage(ctx, "/api/v1/services/"+host+"/crawl-log", list, route.Cursor{After: last})
	}
	return out, nil
}
