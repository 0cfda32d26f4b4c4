package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/store"
)

// CrawlLog returns what a host was asked in the last 90 days, the latest visit
// first, at most limit visits; before, when not zero, leaves out what is not
// older. The error is a *[fetch.HostError] for what cannot be a host, and
// [ErrNoService] for one that nobody ever named.
func (a *Answers) CrawlLog(ctx context.Context, host string, before time.Time, limit int) ([]crawler.Entry, error) {
	host, err := fetch.CheckHost(host)
	if err != nil {
		return nil, err
	}
	entries, err := crawler.Ledger(ctx, a.Store, host, time.Now(), before, limit)
	if err != nil {
		return nil, fmt.Errorf("read what %s was asked: %w", host, err)
	}
	if len(entries) > 0 {
		return entries, nil
	}
	_, err = a.Store.Get(ctx, store.HostKey(host))
	if errors.Is(err, store.ErrNotFound) {
		if e := (*WithdrawnError)(nil); errors.As(a.checkShown(ctx, host), &e) {
			return nil, e
		}
		return nil, fmt.Errorf("%w: %s", ErrNoService, host)
	}
	return entries, err
}

// CrawlLogPage is one page of what a host was asked.
type CrawlLogPage struct {
	Host   string          `json:"host"`
	Visits []crawler.Entry `json:"visits" doc:"the latest first"`
	Next   string          `json:"next,omitempty" doc:"the cursor of the next page; absent on the last"`
}

type crawlLogInput struct {
	Host   string `path:"host" maxLength:"255" doc:"the name of a host"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"how many visits on one page, 1 to 100"`
	Cursor string `query:"cursor" doc:"where the page begins, from the answer before"`
}

func (a *API) getCrawlLog(ctx context.Context, in *crawlLogInput) (*output[CrawlLogPage], error) {
	host, err := fetch.CheckHost(in.Host)
	if err != nil {
		return nil, err
	}
	route := "crawl-log " + host
	c, err := a.readCursor(ctx, in.Cursor, route)
	if err != nil {
		return nil, err
	}
	var before time.Time
	if c.After != "" {
		if before, err = time.Parse(time.RFC3339Nano, c.After); err != nil {
			return nil, fmt.Errorf("read the place in the crawl log: %w", err)
		}
	}
	// One more than asked for tells whether there is another page.
	visits, err := a.answers.CrawlLog(ctx, host, before, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out := jsonOutput(CrawlLogPage{Host: host, Visits: orEmpty(visits)})
	if len(visits) > in.Limit {
		out.Body.Visits = visits[:in.Limit]
		last := visits[in.Limit-1].At.UTC().Format(time.RFC3339Nano)
		out.Body.Next, out.Link = a.nextPage(ctx, "/api/v1/services/"+host+"/crawl-log", route, cursor{After: last})
	}
	return out, nil
}
