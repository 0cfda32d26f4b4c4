package web

import (
	"testing"

	"gazetteer/crawler"
	"gazetteer/fetch"
)

// TestReasonOnce checks that the reason of a check is not repeated beside each of its requests.
func TestReasonOnce(t *testing.T) {
	request := func(why string) crawler.Request {
		return crawler.Request{Made: fetch.Made{URL: "https://a.example/robots.txt", Status: 200}, Why: why}
	}
	v := (&Pages{}).visitOf(crawler.CrawlLogEntry{Host: "a.example", Why: "a visitor requested a check", Requests: []crawler.Request{
		request("a visitor requested a check"), request("robots.txt, before anything else"),
	}})
	if got := v.Requests[0].Why; got != "" {
		t.Errorf("the first request repeats %q", got)
	}
	if got := v.Requests[1].Why; got != "robots.txt, before anything else" {
		t.Errorf("the second request has the reason %q", got)
	}
}
