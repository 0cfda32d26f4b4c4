package crawler_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gazetteer/document"
	"gazetteer/fetch"
	"gazetteer/internal/fakenet"
	"gazetteer/protocol"
)

// TestEveryAddressFormIsRefused checks that no form of such an address is reached by a redirect
// over https or http, by a document that a summary names, by a related service, or by a submitted
// name; only hosts under .test are ever dialed.
func TestEveryAddressFormIsRefused(t *testing.T) {
	forms := fakenet.AddressForms()
	if len(forms) < 110 {
		t.Fatalf("%d forms, want 110", len(forms))
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var mu sync.Mutex
		var strange []string
		dial := w.net.Dial(nil)
		w.opts.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if host, port, err := net.SplitHostPort(addr); err != nil || !strings.HasSuffix(host, ".test") || port != "443" {
				mu.Lock()
				strange = append(strange, addr)
				mu.Unlock()
			}
			return dial(ctx, network, addr)
		}
		var hosts []string
		for i, form := range forms {
			for door, pages := range map[string]map[string]http.Handler{
				"https":   {aiPath: redirect("https://" + form + "/.well-known/ai")},
				"http":    {aiPath: redirect("http://" + form + "/")},
				"related": {summaryPath: json200(summary("agtp://x.test", "agtp://"+form, "https://"+form+"/", form))},
				"named":   {summaryPath: json200(summary("https://" + form + "/full.agis"))},
			} {
				host := fmt.Sprintf("%s%d.test", door, i)
				w.net.Serve(host, fakenet.Site{Handler: &site{pages: pages}, HTTP1: true})
				hosts = append(hosts, host)
			}
		}
		w.run()
		for host, r := range w.crawl(hosts...) {
			if len(r.New) > 0 {
				t.Errorf("%s added %q", host, r.New)
			}
		}
		for i, form := range forms {
			over := func(door string, kind document.Kind) fetch.Outcome {
				return w.host(fmt.Sprintf("%s%d.test", door, i)).Fetches[string(kind)].Outcome
			}
			if got := over("https", document.AI); got != fetch.BlockedAddress && got != fetch.BadRedirect {
				t.Errorf("a redirect to https://%s is %q", form, got)
			}
			if got := over("http", document.AI); got != fetch.InsecureRedirect && got != fetch.BlockedAddress && got != fetch.BadRedirect {
				t.Errorf("a redirect to http://%s is %q", form, got)
			}
			if got := over("named", document.AGIS); got == fetch.OK {
				t.Errorf("the document at https://%s was fetched", form)
			}
			for item := range 3 {
				if !hasFindingAt(w.stored(fmt.Sprintf("related%d.test", i), document.AGISSummary), fmt.Sprintf("/related_services/%d", item)) {
					t.Errorf("no finding names the related service %d of %s", item, form)
				}
			}
			var wrong *fetch.HostError
			if err := w.crawler.Add(t.Context(), form); !errors.As(err, &wrong) {
				t.Errorf("%s is taken for a host: %v", form, err)
			}
		}
		time.Sleep(oneDay)
		synctest.Wait()
		if len(strange) > 0 {
			t.Errorf("dialed: %q", strange)
		}
		if known := w.crawler.Status().Known; known != len(hosts) {
			t.Errorf("%d hosts are known, want the %d that were named", known, len(hosts))
		}
	})
}

// hasFindingAt reports whether a finding of a document is about a place in it.
func hasFindingAt(d *document.Document, pointer string) bool {
	return slices.ContainsFunc(d.Findings, func(f protocol.Finding) bool { return f.Pointer == pointer })
}
