package main

import (
	"context"
	"net/netip"
	"time"

	"gazetteer/api/answer"
	"gazetteer/crawler/owner"
	"gazetteer/fetch"
	"gazetteer/limit"
	"gazetteer/registry"
	"gazetteer/registry/resolve"
)

// openWishes returns what takes the wishes of owners of hosts. Blocking works in
// every process; only one that crawls visits a host again.
func (h *house) openWishes(e edge, limits *limit.Set) (*answer.OwnerRequests, error) {
	web, err := newHTTPS(h.config, e)
	if err != nil {
		return nil, err
	}
	told := &recorded{web, h.recorder, "somebody who says that the host is theirs had a proof of it looked for"}
	// A resolver of its own: what is kept for others must not prove a wish.
	resolver, err := resolve.New(resolve.Options{Fetcher: told, Size: 100})
	if err != nil {
		return nil, err
	}
	o := answer.OwnerRequestOptions{
		Owners:    owner.New(owner.Options{Crawler: h.crawler, DNS: registry.NewDNS(h.config.Registry.DNS), Web: told, Resolver: resolver}),
		PerClient: h.config.API.FetchesPerHour, PerDomain: h.config.API.FetchesPerHostHour, All: h.config.API.FetchesGlobalPerHour, Limits: limits,
	}
	if h.config.Crawler.Enabled {
		o.Recrawl, o.Add = h.crawler.Recrawl, h.crawler.Add
	}
	return answer.NewOwnerRequests(o), nil
}

// recorded is a client whose requests are written into the ledger of the hosts
// that got them.
type recorded struct {
	*resolve.HTTPS
	recorder *recorder
	why      string
}

// Get asks for an https URL: see [resolve.HTTPS.Get].
func (r *recorded) Get(ctx context.Context, address, accept string, limit int) (resolve.Page, error) {
	begun := time.Now()
	page, err := r.HTTPS.Get(ctx, address, accept, limit)
	r.note(begun, page)
	return page, err
}

// Post sends a JSON body: see [resolve.HTTPS.Post].
func (r *recorded) Post(ctx context.Context, address, body string, limit int) (resolve.Page, error) {
	begun := time.Now()
	page, err := r.HTTPS.Post(ctx, address, body, limit)
	r.note(begun, page)
	return page, err
}

// note writes down a request that reached somebody.
func (r *recorded) note(begun time.Time, page resolve.Page) {
	if page.Remote == "" {
		return
	}
	m := fetch.Made{At: begun, URL: page.URL, Status: page.Status, Took: fetch.Millis(time.Since(begun).Milliseconds()), WireBytes: int64(len(page.Body))}
	if a, err := netip.ParseAddrPort(page.Remote); err == nil {
		m.Remote = a.Addr().Unmap().String()
	}
	r.recorder.take(m, r.why)
}
