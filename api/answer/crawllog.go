package answer

import (
	"context"
	"errors"
	"fmt"
	"gazetteer/crawler"
	"gazetteer/fetch"
	"gazetteer/store"
	"time"
)

// CrawlLog returns the requests that a host received in the last 90 days, at most limit visits, the
// latest first; before, if not zero, leaves out visits that are not older. The error is a
// *[fetch.HostError] for an invalid host name, and [ErrNoService] for an unknown host.
func (a *Answers) CrawlLog(ctx context.Context, host string, before time.Time, limit int) ([]crawler.CrawlLogEntry, error) {
	host, err := fetch.CheckHost(host)
	if err != nil {
		return nil, err
	}
	entries, err := crawler.ReadCrawlLog(ctx, a.Store, host, a.now(), before, limit)
	if err != nil {
		return nil, fmt.Errorf("read the requests to %s: %w", host, err)
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
