package server

import (
	"context"
	"net/netip"
	"time"

	"gazetteer/api/answer"
	"gazetteer/crawler/owner"
	"gazetteer/fetch"
	"gazetteer/limit"
	"gazetteer/registry/resolve"
)

// openOwnerRequests returns the service for requests of owners of hosts. Every process can block a
// host; only a process that crawls can visit it again.
func (h *Server) openOwnerRequests(e Environment, limits *limit.Set) (*answer.OwnerRequests, error) {
	web, err := newHTTPS(h.Config, e)
	if err != nil {
		return nil, err
	}
	told := &recordingClient{web, h.recorder, "a claimed owner of the host requested a check of a proof"}
	// Use a separate resolver: answers cached for other purposes must not prove a request.
	resolver, err := resolve.New(resolve.Options{Fetcher: told, Size: 100, Now: e.Now})
	if err != nil {
		return nil, err
	}
	o := answer.OwnerRequestOptions{
		Owners:    owner.New(owner.Options{Now: e.Now, Crawler: h.Crawler, DNS: newDNS(h.Config, e), Web: told, Resolver: resolver}),
		PerClient: h.Config.API.FetchesPerHour, PerDomain: h.Config.API.FetchesPerHostPerHour, All: h.Config.API.FetchesGlobalPerHour, Limits: limits,
	}
	if h.Config.Crawler.Enabled {
		o.Recrawl, o.Add = h.Crawler.Recrawl, h.Crawler.Add
	}
	return answer.NewOwnerRequests(o), nil
}

// recordingClient is a client that records its requests in the crawl logs of the requested hosts.
type recordingClient struct {
	*resolve.HTTPS
	recorder *recorder
	why      string
}

// Get requests an https URL: see [resolve.HTTPS.Get].
func (r *recordingClient) Get(ctx context.Context, address, accept string, limit int) (resolve.Page, error) {
	begun := time.Now()
	page, err := r.HTTPS.Get(ctx, address, accept, limit)
	r.recordPage(begun, page)
	return page, err
}

// Post sends a JSON body: see [resolve.HTTPS.Post].
func (r *recordingClient) Post(ctx context.Context, address, body string, limit int) (resolve.Page, error) {
	begun := time.Now()
	page, err := r.HTTPS.Post(ctx, address, body, limit)
	r.recordPage(begun, page)
	return page, err
}

// recordPage records a request that reached a server.
func (r *recordingClient) recordPage(begun time.Time, page resolve.Page) {
	if page.Remote == "" {
		return
	}
	m := fetch.Made{At: begun, URL: page.URL, Status: page.Status, Took: fetch.Millis(time.Since(begun).Milliseconds()), WireBytes: int64(len(page.Body))}
	if a, err := netip.ParseAddrPort(page.Remote); err == nil {
		m.Remote = a.Addr().Unmap().String()
	}
	r.recorder.enqueueRequest(m, r.why)
}
