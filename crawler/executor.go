package crawler

import (
	"context"
	"net/http"

	"github.com/gocolly/colly/v2"
)

// newCollector returns the collector that executes single requests and does nothing else: robots,
// politeness, redirects, limits, revisits and encodings are handled by this package. It is built by
// Init, because NewCollector lets COLLY_* environment variables override the program.
func newCollector(rt http.RoundTripper) *colly.Collector {
	c := &colly.Collector{}
	c.Init()
	c.SetClient(&http.Client{Transport: rt})
	c.SetRedirectHandler(func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse })
	c.AllowURLRevisit = true
	c.IgnoreRobotsTxt = true
	c.ParseHTTPErrorResponse = true
	c.MaxBodySize = 0 // colly truncates silently; the transport refuses
	c.DisableCookies()
	return c
}

// executeRequest executes one request on the session's connection; it is a fetch.Get.
func (c *Crawler) executeRequest(ctx context.Context, address string, header http.Header) (body []byte, err error) {
	collector := c.collector.Clone()
	collector.Context = ctx
	collector.OnResponse(func(r *colly.Response) { body = r.Body })
	err = collector.Request(http.MethodGet, address, nil, nil, header)
	return body, err
}
