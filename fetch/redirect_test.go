package fetch

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// FuzzLocation checks that every accepted Location leads to an https address of a public host on an
// allowed port, also in the form from which the request line is made.
func FuzzLocation(f *testing.F) {
	for _, seed := range []string{
		"/a", "//b.test/c", "https://b.test", "https://b.test:443/x?y#z", "https://b.test:8443/", "http://b.test/", "https://127.0.0.1/",
		"https://[::1]/", "https://me@b.test/", `https://a.test\@b.test/`, "javascript:alert(1)", "https:opaque", "https://ＢÜCHER.example/",
		"?x", "#y", "https://b.test/%2e%2e/%zz", "https:///x", "https://0x7f.1/",
	} {
		f.Add(seed)
	}
	t, err := NewTransport(Options{})
	if err != nil {
		f.Fatal(err)
	}
	base := &url.URL{Scheme: "https", Host: "a.test", Path: "/.well-known/ai"}
	f.Fuzz(func(tt *testing.T, location string) {
		u, end := t.parseTarget(base, location)
		if (u == nil) == (end.Outcome == "") {
			tt.Fatalf("%q: neither an address nor an end, or both: %v, %+v", location, u, end)
		}
		a, told := t.NewAskFor("", location, time.Unix(0, 0))
		if (told.Outcome == "") != (a.url != nil) {
			tt.Fatalf("%q: the ask is %+v, the end %+v", location, a, told)
		}
		if u == nil {
			return
		}
		again, err := url.Parse(u.String())
		if err != nil {
			tt.Fatalf("%q became %q, which cannot be read: %v", location, u, err)
		}
		host, err := CheckHost(again.Hostname())
		if err != nil || host != again.Hostname() || again.Scheme != "https" || again.User != nil || again.Fragment != "" {
			tt.Errorf("%q became %q: %v", location, u, err)
		}
		if port := again.Port(); port != "" && port != "443" {
			tt.Errorf("%q became %q", location, u)
		}
		if _, err := netip.ParseAddr(host); err == nil || strings.ContainsAny(u.RequestURI(), " \r\n\t") || u.RequestURI()[0] != '/' {
			tt.Errorf("%q became %q, asked as %q", location, u, u.RequestURI())
		}
	})
}

// FuzzRetryAfter checks that numbers of any length and dates of any year give a time within the
// limits, and that a number within them is exact.
func FuzzRetryAfter(f *testing.F) {
	now := time.Unix(1.7e9, 0)
	for _, seed := range []string{"120", "604800", "2592000", "2592001", "-5", "soon", "99999999999999999999", "Wed, 21 Oct 2115 07:28:00 GMT", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if d := parseRetryAfter(value, now); d != 0 && (d < minRetryAfter || d > maxRetryAfter) {
			t.Errorf("%q is %v", value, d)
		} else if seconds, err := strconv.ParseUint(value, 10, 32); err == nil && seconds > 0 && seconds <= 30*24*3600 && d != time.Duration(seconds)*time.Second {
			t.Errorf("%q is %v", value, d)
		}
	})
}
