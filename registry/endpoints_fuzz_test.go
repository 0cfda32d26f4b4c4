package registry

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// FuzzCheckEndpoints checks that every published endpoint leads over https to an address that is
// not private in form, under distinct ids of the agent.
func FuzzCheckEndpoints(f *testing.F) {
	const self = "did:wba:registry.test:agents:AIR-0000-0000-0000"
	f.Add("", "A2AInbox", "https://a.test/", self+"#A2AInbox-2", "A2AInbox", "https://b.test:8443/x")
	f.Add(self+"#a%20b", "https://x.test/#T", "https://[::ffff:127.0.0.1]/", "", "T%", "https://0x7f.1/")
	f.Add(self+"#key-1", "AIRTrustScore", "javascript:alert(1)", self+"#TRUST-score", "x", "http://localhost/")
	f.Fuzz(func(t *testing.T, id1, type1, url1, id2, type2, url2 string) {
		r := &Registry{}
		out, err := r.checkEndpoints(self, []ServiceEndpoint{{id1, type1, url1}, {id2, type2, url2}})
		if err != nil {
			if e, ok := err.(*Error); !ok || e.Code == "" || !strings.HasPrefix(e.Field, "service_endpoints") {
				t.Errorf("a refusal without a rule: %#v", err)
			}
			return
		}
		if out[0].ID == out[1].ID {
			t.Errorf("both have the id %s", out[0].ID)
		}
		for _, e := range out {
			fragment, own := strings.CutPrefix(e.ID, self+"#")
			if !own || fragment == "" || strings.ContainsAny(fragment, "# <>\"") || strings.EqualFold(fragment, "key-1") || strings.EqualFold(fragment, "trust-score") {
				t.Errorf("id %q", e.ID)
			}
			if strings.HasPrefix(e.Type, "AIR") || strings.HasPrefix(e.Type, "A2A") && e.Type != "A2AInbox" {
				t.Errorf("type %q", e.Type)
			}
			u, err := url.Parse(e.ServiceEndpoint)
			if err != nil || u.Scheme != "https" || u.User != nil || u.Hostname() == "" {
				t.Errorf("address %q (%v)", e.ServiceEndpoint, err)
				continue
			}
			if a, err := netip.ParseAddr(u.Hostname()); err == nil && (a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.Is4In6() && a.Unmap().IsPrivate()) {
				t.Errorf("address %q", e.ServiceEndpoint)
			}
		}
	})
}
